// Reads the inputs: text in all formats, and databases. For every output, an input sends the same messages.

import CSVStreaming
import JSONStreaming
import PlistStreaming
import PropertyListFiles
import SQLiteStreaming
import XMLStreaming

/// A source that sends its messages once.
protocol ValueSource {
    func send(to sink: ValueSink) throws(StreamError)
}

/// A file or standard input. Its progress is shown while it is read.
private final class ReportedSource: ByteSource {
    private var input: ByteInput
    private let progress: Progress

    /// Opens a file, or standard input for `-`.
    init(_ path: String, _ progress: Progress) throws(StreamError) {
        input = path == "-" ? try DescriptorSource(0).open() : try FileSource(path: path).open()
        self.progress = progress
    }

    /// Begins to read. Call this function only once.
    func open() -> ByteInput {
        ByteInput { (body) throws(StreamError) in
            try self.input.next { (chunk) throws(StreamError) in
                try body(chunk)
                self.progress.advance(by: chunk.byteCount)
            }
        }
    }
}

/// A file or a stream in a format that is read from the first byte to the last.
struct TextSource: ValueSource {
    private let file: ReportedSource
    private let arguments: Arguments
    private let warnings: Warnings
    private let progress: Progress
    /// A Boolean value that indicates whether the file can be read more than once.
    private let isRegular: Bool

    init(_ arguments: Arguments, _ warnings: Warnings) throws(StreamError) {
        self.arguments = arguments
        self.warnings = warnings
        let size = arguments.input == "-" ? nil : (try? OutputPlace(arguments.input))?.state?.size
        isRegular = size != nil
        let progress = Progress(total: size)
        self.progress = progress
        file = try ReportedSource(arguments.input, progress)
    }

    func send(to sink: ValueSink) throws(StreamError) {
        guard let path = arguments.records else { return try sendAll(to: sink) }
        let records = SinkReference(RecordSelection(sink, path: path))
        try sendAll(to: records)
        try records.target.finish()
    }

    private func sendAll(to sink: ValueSink) throws(StreamError) {
        defer { progress.finish() }
        var sink = sink
        switch arguments.from {
        case .json, .jsonLines: try sendJSON(to: &sink)
        case .csv, .tsv: try sink.readCSV(file, options: arguments.readerOptions)
        case .propertyList:
            let input = try InputWithBeginning(file, byteCount: 1_024)
            let format = input.beginning.withRawSpan { PropertyListFormat(firstBytes: $0) }
            try sendPropertyList(format, input, to: &sink)
        case .binaryPropertyList: try sendPropertyList(.binary, file, to: &sink)
        case .openStep: try sendPropertyList(.openStep, file, to: &sink)
        case .xml: try sendXML(to: sink)
        case .sqlite: throw StreamError(.misuse, "a database isn't text")
        }
    }

    /// Sends JSON to a sink. The reader is specialized for the sink's type.
    func sendJSON<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        defer { progress.finish() }
        var options = JSONReaderOptions(allowsMultipleValues: arguments.from.isSequence)
        options.digits = .ofLong
        try sink.readJSON(file, options: options)
    }

    private func sendXML(to sink: ValueSink) throws(StreamError) {
        var values = XMLValues(sink, arguments, warnings)
        try values.readXML(file)
        guard let summary = values.omitted.summary, let first = values.omitted.first else { return }
        warnings.add(
            "\(arguments.to.rawValue) can't represent these parts, which are left out: \(summary)",
            in: position(of: first))
    }

    /// Returns the place of a part of XML, or nil for a stream, which can't be read again.
    private func position(of place: XMLSourceRange) -> StreamPosition? {
        isRegular ? (try? place.position(in: .file(arguments.input))) ?? nil : nil
    }

    private func sendPropertyList(
        _ format: PropertyListFormat, _ source: some ByteSource, to sink: inout ValueSink
    ) throws(StreamError) {
        switch format {
        case .binary: try sink.readBinaryPlist(source)
        case .xml:
            var reader = XMLPlistReader(sink: sink)
            try feed(source, to: &reader)
            let (count, offset) = reader.comments
            warnOfComments(count, offset.flatMap { position(of: XMLSourceRange(byteRange: $0..<$0)) })
        case .openStep:
            var reader = OpenStepPlistReader(sink: sink)
            try feed(source, to: &reader)
            warnOfComments(reader.comments.count, reader.comments.first)
        }
    }

    private func feed(_ source: some ByteSource, to reader: inout some PushReader & ~Copyable) throws(StreamError) {
        try source.forEachChunk { (bytes) throws(StreamError) in try reader.feed(bytes) }
        try reader.finish()
    }

    private func warnOfComments(_ count: Int, _ first: StreamPosition?) {
        if count > 0 { warnings.add("comments of a property list are left out", in: first, count: count) }
    }
}

extension Arguments {
    /// The options for reading delimited text.
    var readerOptions: CSVReaderOptions {
        var options = csv
        options.dialect = dialect(delimiter: delimiter, comment: comment, of: from)
        options.columns = columns
        options.keepsDigits = true
        // Delimited text keeps the text of every field regardless of its type.
        guard to.isDelimited else { return options }
        options.fieldType = .inferred
        options.fieldTypes = csv.fieldTypes.mapValues { _ in .inferred }
        return options
    }

    /// Returns the dialect of delimited text. The header is the same in IN and OUT.
    func dialect(delimiter: UInt8?, comment: UInt8? = nil, of format: Format) -> CSVDialect {
        let usual = UInt8(ascii: format == .tsv ? "\t" : ",")
        return CSVDialect(
            delimiter: format == .csv ? delimiter ?? usual : usual, comment: comment, hasHeader: !hasNoHeader)
    }
}

/// The tables of a database, or the rows of one statement.
struct TableSource: ValueSource {
    private let database: DatabaseInput
    private let arguments: Arguments
    private let names: [String]

    init(_ database: DatabaseInput, _ arguments: Arguments, _ warnings: Warnings) throws(StreamError) {
        self.database = database
        self.arguments = arguments
        names = arguments.query == nil ? try database.tableNames(only: arguments.table) : []
        guard arguments.query == nil else { return }
        if arguments.to == .jsonLines || arguments.to.isDelimited || arguments.columns != nil, names.count != 1 {
            let found = names.isEmpty ? "none" : "\(names.count) (\(Warnings.list(names)))"
            let what = arguments.to == .jsonLines ? "lines" : "records"
            throw StreamError(
                .unrepresentable, "expected one table, whose rows are \(what), found \(found); see --table")
        }
        if arguments.table == nil { try Self.warnOfViews(database, warnings) }
    }

    static func warnOfViews(_ database: DatabaseInput, _ warnings: Warnings) throws(StreamError) {
        let views = try throwing(.cannotRead, database.names(of: "view"))
        if !views.isEmpty { warnings.add("views are not converted: \(Warnings.list(views))") }
    }

    /// Sends one table as an array of its rows, or several tables as a dictionary of arrays.
    func send(to sink: ValueSink) throws(StreamError) {
        var sink = sink
        if let query = arguments.query { return try database.connection.query(query, into: &sink) }
        if names.count == 1 {
            return try database.connection.query(table: names[0], columns: arguments.columns, into: &sink)
        }
        try sink.beginDictionary()
        for name in names {
            try name.withUTF8Span { (span) throws(StreamError) in try sink.writeKey(span) }
            do throws(StreamError) {
                try database.connection.query(table: name, into: &sink)
            } catch {
                // The errors of the sink already contain the whole path.
                let isWhole = error.path?.steps.first == .key(name)
                guard error.sqliteError == nil, let inner = error.path, !isWhole else { throw error }
                throw StreamError(
                    error.kind, error.message, position: error.position, path: StreamPath([.key(name)] + inner.steps))
            }
        }
        try sink.endDictionary()
    }
}
