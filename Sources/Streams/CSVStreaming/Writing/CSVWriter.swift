// The sink that writes delimited text: records, columns and order of messages. CSVWriter+Values writes the texts of
// values.

public import PlistStreaming

/// A sink that writes delimited text to memory or to a file descriptor.
///
/// It takes an array of dictionaries or an array of arrays. The columns are the members of the first dictionary, unless
/// the options have others. Records may also come without an array around them. A record is written when it is
/// complete. Missing members and null are empty fields, and the empty string is `""`. Strings that would be read as
/// something else are in quotes. A ``CSVReader`` with `fieldType` `.inferred` therefore reads the same values back,
/// with these exceptions:
///
/// - Dates become text in RFC 3339 format, with as many digits of a second as needed to read back the same date, at
///   most nine. Data becomes Base64.
/// - Missing members become null.
/// - Doubles with an exponent become numbers with a text. Whole doubles above 2^53 that are written without an exponent
///   become strings. So do numbers that fit neither into 64 bits nor into a double.
///
/// With all fields in quotes, ``CSVWriterOptions/Quoting/all``, numbers and Booleans become strings.
///
/// ```swift
/// var writer = CSVWriter()
/// try writer.write([["a": 1, "b": 2]])
/// try writer.finish()
/// writer.text
/// ```
///
/// Messages outside the grammar of `PlistSink` throw `misuse`; containers within records throw `unrepresentable`.
public struct CSVWriter: PlistSink, ~Copyable {
    let options: CSVWriterOptions
    private var output: ByteOutput
    /// The texts of the fields of the current record, one after another, and the end of each.
    var line: ByteOutput = ByteOutput(capacity: 1024)
    private var ends: [Int] = []
    /// The columns that these fields belong to.
    private var places: [Int] = []

    /// The columns, available when the first record has begun.
    private var columns: Columns = Columns()
    private var state: State = .root
    private var isInArray: Bool = false
    private(set) var recordCount: Int = 0
    private var hasHeader: Bool = false
    /// The column of the next value; -1 if the value is omitted.
    private var column: Int = -1
    /// The column that probably comes next.
    private var next: Int = 0

    private struct Columns {
        var names: [[UInt8]] = []
        var indexes: [[UInt8]: Int] = [:]
        /// The last record with a value for each column, from 0; -1 if there isn't one.
        var lastRecords: [Int] = []
        var count = 0
        /// A Boolean value that indicates whether records are dictionaries.
        var areNamed = true
        /// A Boolean value that indicates whether the first record determines the columns.
        var isOpen = true
        /// A Boolean value that indicates whether a record has begun.
        var isBegun = false

        mutating func add(_ name: [UInt8]) -> Bool {
            guard indexes.updateValue(count, forKey: name) == nil else { return false }
            names.append(name)
            lastRecords.append(-1)
            count += 1
            return true
        }
    }

    private enum State { case root, array, key, value, ended }

    /// Creates a writer to memory.
    public init(options: CSVWriterOptions = CSVWriterOptions()) {
        self.init(options: options, output: ByteOutput())
    }

    /// Creates a writer to a file descriptor. The caller remains responsible for closing it.
    ///
    /// The writer uses `bufferByteCount` bytes of memory, plus that of a record.
    public init(descriptor: Int32, bufferByteCount: Int = 1 << 16, options: CSVWriterOptions = CSVWriterOptions()) {
        self.init(options: options, output: ByteOutput(descriptor: descriptor, bufferByteCount: bufferByteCount))
    }

    /// Creates a writer to an output, which ``returnOutput(_:)`` returns.
    init(options: CSVWriterOptions, taking output: inout ByteOutput) {
        self.init(options: options, output: ByteOutput(capacity: 0))
        swap(&self.output, &output)
    }

    /// Returns the output that the writer was created with.
    mutating func returnOutput(_ output: inout ByteOutput) { swap(&self.output, &output) }

    private init(options: CSVWriterOptions, output: consuming ByteOutput) {
        self.options = options
        self.output = output
    }

    /// Ends the text: checks that it is complete, and writes the contents of the buffer.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` within a record or an array,
    ///   ``/PlistStreaming/StreamError/Kind/cannotWrite`` if writing to the descriptor fails.
    public mutating func finish() throws(StreamError) {
        guard state == .ended || state == .root else { throw StreamError(.misuse, "finished within an open container") }
        if !columns.isBegun, options.columns != nil { try begin(named: true) }
        if recordCount == 0 { try writeHeader() }
        try output.flush()
    }

    /// Discards the written text so that the next text can reuse the writer's memory.
    public mutating func reset() {
        output.removeAll()
        discardRecord()
        columns = Columns()
        (state, isInArray, recordCount, hasHeader) = (.root, false, 0, false)
    }

    /// The text in memory so far. For a writer to a descriptor, only the characters that it hasn't begun to write.
    public var text: String {
        // SAFETY: all appended text is ASCII or was checked.
        unsafe output.text
    }

    /// A copy of the bytes in memory so far.
    public var bytes: [UInt8] { output.bytes }

    /// Calls a closure with the bytes in memory so far.
    public func withBytes<Value, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try output.withBytes(body)
    }

    // MARK: Messages

    /// True.
    public static var hasColumns: Bool { true }

    /// Uses the names as columns, unless the options have columns. The text then has a header even without records.
    public mutating func expectColumns(_ names: [String]) throws(StreamError) {
        guard state == .root, recordCount == 0, !columns.isBegun, options.columns == nil else { return }
        var made = Columns()
        (made.isBegun, made.isOpen) = (true, false)
        // Records with duplicate names throw an error with their position.
        for name in names where !made.add(Array(name.utf8)) { return }
        if made.count > 0 { columns = made }
    }

    /// Opens the array of records, or a record that is an array.
    public mutating func beginArray() throws(StreamError) {
        switch state {
        case .root where recordCount == 0:
            (state, isInArray) = (.array, true)
        case .root, .array:
            try beginRecord(named: false)
            state = .value
        case .key, .value, .ended:
            throw nested("an array")
        }
    }

    /// Closes a record that is an array and writes it, or closes the array of records.
    public mutating func endArray() throws(StreamError) {
        if state == .array {
            state = .ended
        } else if state == .value, !columns.areNamed {
            try endRecord()
        } else {
            throw StreamError(.misuse, "got endArray without an open array")
        }
    }

    /// Opens a record.
    public mutating func beginDictionary() throws(StreamError) {
        guard state == .root || state == .array else { throw nested("a dictionary") }
        try beginRecord(named: true)
        state = .key
    }

    /// Closes a record and writes it.
    public mutating func endDictionary() throws(StreamError) {
        guard state == .key else { throw StreamError(.misuse, "got endDictionary without an open dictionary") }
        try endRecord()
    }

    /// Finds the column of the next value.
    ///
    /// - Throws: `unknownMember` for a member without a column, `duplicateKey` for a name that occurs twice in a
    ///   record, `invalidText` for a name that isn't UTF-8.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        guard state == .key else { throw StreamError(.misuse, "got writeKey outside a dictionary") }
        column = try index(of: utf8)
        state = .value
    }

    /// Discards the open record; earlier records remain written.
    public mutating func cancel(with error: StreamError) {
        discardRecord()
        state = .ended
    }

    // MARK: Records

    private mutating func beginRecord(named isNamed: Bool) throws(StreamError) {
        if !columns.isBegun { try begin(named: isNamed) }
        guard columns.areNamed == isNamed || options.columns != nil && recordCount == 0 else {
            let (expected, found) = isNamed ? ("an array", "a dictionary") : ("a dictionary", "an array")
            throw located(StreamError(.typeMismatch, "expected \(expected) like the records before, found \(found)"))
        }
        columns.areNamed = isNamed
        next = 0
    }

    /// Begins the text with the columns of the options, if any.
    private mutating func begin(named isNamed: Bool) throws(StreamError) {
        var made = Columns()
        (made.areNamed, made.isBegun, made.isOpen) = (isNamed, true, options.columns == nil)
        for name in options.columns ?? [] {
            guard made.add(Array(name.utf8)) else {
                throw StreamError(.duplicateKey, "two columns have the same name, \(ShownText.quoted(name.utf8))")
            }
        }
        columns = made
    }

    private mutating func index(of key: RawSpan) throws(StreamError) -> Int {
        if !columns.isOpen, next < columns.count, Self.isEqual(key, columns.names[next]) {
            try take(next)
            return next - 1
        }
        let name = Array(copying: key)
        if let index = columns.indexes[name] {
            try take(index)
            return index
        }
        guard columns.isOpen else {
            if options.unknownMembers == .ignore { return -1 }
            let message = "the records before have no such column; list all columns in CSVWriterOptions.columns"
            throw located(StreamError(.unknownMember, message), name)
        }
        guard String(validating: key) != nil else { throw StreamError(.invalidText, "the name is not valid UTF-8") }
        _ = columns.add(name)
        try take(columns.count - 1)
        return columns.count - 1
    }

    /// Notes that a column has a value in this record.
    private mutating func take(_ index: Int) throws(StreamError) {
        guard columns.lastRecords[index] != recordCount else {
            throw located(StreamError(.duplicateKey, "the member is repeated"), columns.names[index])
        }
        columns.lastRecords[index] = recordCount
        next = index + 1
    }

    private static func isEqual(_ key: RawSpan, _ name: [UInt8]) -> Bool {
        // SAFETY: the buffers do not leave the closures.
        unsafe key.withUnsafeBytes { key in unsafe key.count == name.count && key.elementsEqual(name) }
    }

    /// Notes the end of the text of a field; `beginField` has returned its column.
    mutating func endField() {
        if column >= 0 {
            ends.append(line.count)
            places.append(column)
        } else {
            line.truncate(to: ends.last ?? 0)
        }
        state = !columns.areNamed ? .value : .key
    }

    /// Finds the column of a value.
    mutating func beginField() throws(StreamError) {
        guard state == .value else {
            if state == .key { throw StreamError(.misuse, "expected writeKey or endDictionary, got a value") }
            if state == .ended { throw StreamError(.misuse, "got a value after the end") }
            throw located(StreamError(.unrepresentable, "expected a record, found a single value"))
        }
        guard !columns.areNamed else { return }
        column = places.count
        guard columns.isOpen || column < columns.count else {
            throw located(
                StreamError(.unrepresentable, "expected \(columns.count) fields like the records before, found more"))
        }
    }

    private mutating func endRecord() throws(StreamError) {
        if columns.isOpen {
            if !columns.areNamed { columns.count = places.count }
            columns.isOpen = false
            guard columns.count > 0 else {
                throw located(StreamError(.unrepresentable, "expected a record with fields, found none"))
            }
        }
        guard columns.areNamed || places.count == columns.count else {
            throw located(
                StreamError(
                    .unrepresentable, "expected \(columns.count) fields like the records before, found \(places.count)"
                ))
        }
        let isEmpty = columns.count == 1 && line.count == 0
        let hasHeader = options.dialect.hasHeader && (columns.areNamed || options.columns != nil)
        guard !isEmpty || hasHeader else {
            throw located(
                StreamError(.unrepresentable, "expected a value, found only null, which would be an empty line"))
        }
        if recordCount == 0 { try writeHeader() }
        try writeRecord(columns.count)
        recordCount += 1
        discardRecord()
        state = isInArray ? .array : .root
    }

    private mutating func discardRecord() {
        line.removeAll()
        ends.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
    }

    private mutating func writeRecord(_ count: Int) throws(StreamError) {
        let (ends, places) = (ends, places)
        let isInOrder = places.count == count && (count < 2 || places.indices.allSatisfy { places[$0] == $0 })
        var fields = isInOrder ? [] : [Int](repeating: -1, count: count)
        if !isInOrder { for (field, place) in places.enumerated() { fields[place] = field } }
        try output.reserve(line.count + count + 2)
        for index in 0..<count {
            if index > 0 { output.appendReserved(options.dialect.delimiter) }
            let field = isInOrder ? index : fields[index]
            guard field >= 0 else { continue }
            let range = (field == 0 ? 0 : ends[field - 1])..<ends[field]
            line.withBytes { bytes in output.appendReserved(bytes.extracting(range)) }
        }
        endLine()
    }

    private mutating func endLine() {
        if options.lineEnd == .crlf { output.appendReserved(0x0D) }
        output.appendReserved(0x0A)
    }

    private mutating func writeHeader() throws(StreamError) {
        guard options.dialect.hasHeader, !columns.names.isEmpty, !hasHeader else { return }
        hasHeader = true
        var names = ByteOutput()
        for (index, name) in columns.names.enumerated() {
            if index > 0 { try names.append(options.dialect.delimiter) }
            try name.withRawSpan { bytes throws(StreamError) in
                try FieldQuoting(options).write(bytes, .either, isFirst: index == 0, to: &names)
            }
        }
        // A single empty name would be an empty line.
        if names.count == 0 {
            guard let quote = options.dialect.quote else {
                throw StreamError(.unrepresentable, "a single empty name needs quotes, but the dialect has none")
            }
            for _ in 0..<2 { try names.append(quote) }
        }
        try names.withBytes { bytes throws(StreamError) in
            try output.reserve(bytes.byteCount + 2)
            output.appendReserved(bytes)
        }
        endLine()
    }

    // MARK: Errors

    private func nested(_ found: String) -> StreamError {
        if state == .ended { return StreamError(.misuse, "got \(found) after the end") }
        if state == .key { return StreamError(.misuse, "expected writeKey or endDictionary, got \(found)") }
        return atField(StreamError(.unrepresentable, "expected a single value, found \(found)"))
    }

    /// Adds the path of the current value to an error.
    func atField(_ error: StreamError) -> StreamError {
        if !columns.areNamed {
            return error.located(at: StreamPath([.index(recordCount), .index(places.count)]))
        }
        return located(error, columns.names.indices.contains(column) ? columns.names[column] : nil)
    }

    private func located(_ error: StreamError, _ name: [UInt8]? = nil) -> StreamError {
        var path = StreamPath([.index(recordCount)])
        if let name { path = path.member(String(decoding: name, as: UTF8.self)) }
        return error.located(at: path)
    }

    /// A Boolean value that indicates whether the current field is the first one of its line.
    var isFirstColumn: Bool { column == 0 }
}
