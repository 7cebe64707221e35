// What is read of texts and databases: the same messages, whoever gets them.

import CSVStreaming
import JSONStreaming
import PlistStreaming
import PropertyListFiles
import SQLiteStreaming
import XMLStreaming

/// Something that sends messages, once.
protocol ValueSource: ~Copyable {
    func send(to sink: ValueSink) throws(StreamError)
}

/// A file or standard input, whose progress is shown while it is read.
private final class ReportedSource: ByteSource {
    private var input: ByteInput
    private let progress: Progress

    /// Opens a file; `-` is standard input.
    init(_ path: String, _ progress: Progress) throws(StreamError) {
        input = path == "-" ? try DescriptorSource(0).open() : try FileSource(path: path).open()
        self.progress = progress
    }

    /// Begins to read; can be called once.
    func open() -> ByteInput {
        ByteInput { (body) throws(StreamError) in
            try self.input.next { (chunk) throws(StreamError) in
                try body(chunk)
                self.progress.advance(by: chunk.byteCount)
            }
        }
    }
}

/// A file or a stream in one of the formats that are read from the first byte to the last.
struct TextSource: ValueSource, ~Copyable {
    private let file: ReportedSource
    private let arguments: Arguments
    private let warnings: Warnings
    private let progress: Progress
    /// Whether the file can be read more than once.
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
        let records = RecordSelection(sink, path: path)
        try sendAll(to: records)
        try records.finish()
    }

    private func sendAll(to sink: ValueSink) throws(StreamError) {
        defer { progress.finish() }
        var sink = sink
        switch arguments.from {
        case .json, .jsonLines: try sendJSON(to: &sink)
        case .csv, .tsv: try sink.readCSV(file, options: delimitedOptions)
        case .propertyList: try sendPropertyList(to: &sink)
        case .binaryPropertyList: try sink.readBinaryPlist(file)
        case .openStep: try sendText(.openStep, to: sink)
        case .xml: try sendXML(to: sink)
        case .sqlite: throw StreamError(.misuse, "a database is no text")
        }
    }

    /// Sends JSON to a sink that the reader is to know.
    func sendJSON<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        defer { progress.finish() }
        try sink.readJSON(file, options: JSONReaderOptions(allowsMultipleValues: arguments.from.isSequence))
    }

    private func sendXML(to sink: ValueSink) throws(StreamError) {
        // A table has no place for the name of the root; that of its children is the table's.
        let isTable = arguments.to == .sqlite || arguments.to.isDelimited || arguments.to == .jsonLines
        let hasRecords = isTable && arguments.records == nil
        var values = XMLValues(
            hasRecords ? RootAttributes(sink, warnings) : sink, isTable: isTable || arguments.records != nil,
            hasRecords: hasRecords)
        try values.readXML(file)
        guard let words = values.leftOut.words, let offset = values.leftOut.firstOffset else { return }
        // A stream cannot be read again.
        let position = isRegular ? PartFinder.position(ofPartAt: offset, inFile: arguments.input) : nil
        warnings.add("what \(arguments.to.rawValue) does not have is left out: \(words)", in: position)
    }

    private func sendPropertyList(to sink: inout ValueSink) throws(StreamError) {
        guard isRegular else { return try sendPropertyListStream(to: sink) }
        switch try PropertyListFormat(of: .file(arguments.input)) {
        case .binary: try sink.readBinaryPlist(file)
        case .xml: try sendText(.xml, to: sink)
        case .openStep: try sendText(.openStep, to: sink)
        }
    }

    private func sendText(_ format: PropertyListFormat, to sink: ValueSink) throws(StreamError) {
        var text = PropertyListText(format, sink)
        var input = file.open()
        while try input.next({ (chunk) throws(StreamError) in try text.feed(chunk) }) {}
        try finish(&text)
    }

    private func finish(_ text: inout PropertyListText) throws(StreamError) {
        try text.finish()
        let (count, first) = text.comments { offset in
            // A stream cannot be read again.
            isRegular ? PartFinder.position(ofPartAt: offset, inFile: arguments.input) : nil
        }
        if count > 0 { warnings.add("comments of a property list are left out", in: first, count: count) }
    }

    /// A stream is read once, and its first bytes say how; what is not binary is read in pieces.
    private func sendPropertyListStream(to sink: ValueSink) throws(StreamError) {
        var first: [UInt8] = []
        var text: PropertyListText?
        var input = file.open()
        while try input.next({ (chunk) throws(StreamError) in
            if text != nil {
                try text?.feed(chunk)
                return
            }
            first += Array(copying: chunk)
            guard first.count >= 1_024, !first.starts(with: "bplist".utf8) else { return }
            let format = first.withUnsafeBytes { PropertyListFormat(firstBytes: $0.bytes) }
            text = PropertyListText(format, sink)
            try first.withRawSpan { (bytes) throws(StreamError) in try text?.feed(bytes) }
            first = []
        }) {}
        let format = first.withUnsafeBytes { PropertyListFormat(firstBytes: $0.bytes) }
        if text == nil, format == .binary {
            var sink = sink
            return try sink.readBinaryPlist(first)
        }
        var whole = text.take() ?? PropertyListText(format, sink)
        try first.withRawSpan { (bytes) throws(StreamError) in try whole.feed(bytes) }
        try finish(&whole)
    }

    private var delimitedOptions: CSVReaderOptions {
        // Delimited text keeps the text of every field, whatever its type.
        let keepsText = arguments.to.isDelimited
        return CSVReaderOptions(
            dialect: arguments.dialect(of: arguments.from), columns: arguments.columns,
            fieldType: keepsText ? .inferred : arguments.fieldType,
            fieldTypes: keepsText ? arguments.fieldTypes.mapValues { _ in .inferred } : arguments.fieldTypes)
    }
}

extension Arguments {
    /// The dialect of delimited text; what is said of it holds for both sides where there are two.
    func dialect(of format: Format, isWritten: Bool = false) -> CSVDialect {
        let usual = format == .tsv ? UInt8(ascii: "\t") : UInt8(ascii: ",")
        let chosen = isWritten ? writtenDelimiter ?? delimiter : delimiter
        return CSVDialect(delimiter: format == .csv ? chosen ?? usual : usual, hasHeader: hasHeader)
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
        do throws(SQLiteError) {
            let views = try database.names(of: "view")
            if !views.isEmpty { warnings.add("views are not converted: \(Warnings.list(views))") }
        } catch {
            throw error.streamError(.cannotRead)
        }
    }

    /// Sends one table as the array of its rows, several as a dictionary of arrays.
    func send(to sink: ValueSink) throws(StreamError) {
        if let query = arguments.query { return try database.send(query: query, to: sink) }
        if names.count == 1 { return try database.send(names[0], columns: arguments.columns, to: sink) }
        try sink.beginDictionary()
        for name in names {
            try name.withUTF8Span { (span) throws(StreamError) in try sink.writeKey(span) }
            do throws(StreamError) {
                try database.send(name, columns: nil, to: sink)
            } catch {
                // What the sink says has the whole path already.
                let isWhole = error.path?.steps.first == .key(name)
                guard error.sqliteError == nil, let inner = error.path, !isWhole else { throw error }
                throw StreamError(
                    error.kind, error.message, position: error.position, path: StreamPath([.key(name)] + inner.steps))
            }
        }
        try sink.endDictionary()
    }
}

/// A property list in one of the forms of text that comes in pieces.
private struct PropertyListText: ~Copyable {
    private var xml: XMLPlistReader<ValueSink>?
    private var openStep: OpenStepPlistReader<ValueSink>?

    init(_ format: PropertyListFormat, _ sink: ValueSink) {
        xml = nil
        openStep = nil
        if format == .xml { xml = XMLPlistReader(sink: sink) } else { openStep = OpenStepPlistReader(sink: sink) }
    }

    mutating func feed(_ bytes: RawSpan) throws(StreamError) {
        try xml?.feed(bytes)
        try openStep?.feed(bytes)
    }

    mutating func finish() throws(StreamError) {
        try xml?.finish()
        try openStep?.finish()
    }

    /// The number of comments, and where the first one is.
    ///
    /// - Parameter position: Finds an offset in XML.
    mutating func comments(_ position: (Int) -> StreamPosition?) -> (count: Int, first: StreamPosition?) {
        if let found = openStep?.comments { return found }
        guard let found = xml?.comments else { return (0, nil) }
        return (found.count, found.firstOffset.flatMap(position))
    }
}
