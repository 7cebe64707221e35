// Defines the sink of all readers. It is a class, so that each reader is compiled once instead of once for each writer.

import PlistStreaming

/// A sink that is called by reference. Subclasses implement the messages.
class ValueSink: ScalarSink {
    /// The meaning of a root dictionary for a writer of a single table.
    enum RootDictionary {
        /// An ordinary value.
        case value
        /// A container whose only member is the array of the records.
        case records
        /// A container of the records, or an empty dictionary without records.
        case table
    }

    var rootDictionary = RootDictionary.value

    func beginArray() throws(StreamError) {}
    func endArray() throws(StreamError) {}
    func beginDictionary() throws(StreamError) {}
    func endDictionary() throws(StreamError) {}
    func writeKey(_ utf8: RawSpan) throws(StreamError) {}
    func write(_ scalar: borrowing StreamScalar) throws(StreamError) {}
    func cancel(with error: StreamError) {}
    func expectColumns(_ names: [String]) throws(StreamError) {}
}

/// A writer with a function that is called after the last message.
protocol TextWriter: PlistSink, ~Copyable {
    mutating func finish() throws(StreamError)
}

/// A filter before a writer. It warns about values that the writer's format doesn't support.
struct GapFilter<Writer: TextWriter & ~Copyable>: RootedSink, ~Copyable {
    private var writer: Writer
    /// The meaning of a dictionary at the root.
    var rootDictionary = ValueSink.RootDictionary.value
    private let isSequence: Bool
    private let format: Format
    /// A Boolean value that indicates whether the format has data and dates, but no null, and rounds numbers to doubles.
    private let isPropertyList: Bool
    /// A Boolean value that indicates whether all records have the same members, so that missing members become null.
    private let hasColumns: Bool
    private let warnings: Warnings
    /// A Boolean value that indicates whether the input is a database. In that case, warnings call data blobs.
    private let isOfDatabase: Bool
    /// A Boolean value that indicates whether the header consists of the members' names, with no other source.
    private let needsNames: Bool
    /// The progress of a database, counted in rows because the number of bytes is unknown.
    private let progress: Progress?
    /// A Boolean value that indicates whether elements are sent as roots: the elements of the root array, or of the
    /// array of all records.
    private let passesElements: Bool
    private var isInRootArray = false
    /// A Boolean value that indicates whether the root is a dictionary whose only member is written without the
    /// dictionary.
    private var isInRootMember = false
    private var rootMember: String?
    private var isBeginningArray = false
    private var path = MessagePath(keyLimit: 10_000)
    /// A Boolean value that indicates whether the key of the next value hasn't been sent yet, because the value may be
    /// null.
    private var hasKey = false
    /// The requested columns.
    private let columns: Set<[UInt8]>?
    /// The number of members in the current record that are columns. `columnCount` is the number in the first record.
    private var memberCount = 0
    private var columnCount: Int?

    init(_ writer: consuming Writer, _ arguments: Arguments, _ warnings: Warnings) {
        self.writer = writer
        self.warnings = warnings
        format = arguments.to
        isPropertyList = [.propertyList, .binaryPropertyList, .openStep].contains(format)
        hasColumns = format.isDelimited
        isOfDatabase = arguments.from == .sqlite
        needsNames = hasColumns && !arguments.hasNoHeader && arguments.writtenColumns == nil
        progress = isOfDatabase ? Progress(total: nil, unit: "rows") : nil
        passesElements = arguments.to == .jsonLines
        columns = arguments.writtenColumns.map { Set($0.map { Array($0.utf8) }) }
        columnCount = columns?.count
        // The values of a sequence become the elements of one array.
        isSequence = arguments.from.isSequence && arguments.records == nil
        if hasColumns { rootDictionary = .records }
    }

    /// Call this function before the first message.
    mutating func begin() throws(StreamError) { if isSequence { try beginArray() } }

    /// Call this function after the last message.
    mutating func finish() throws(StreamError) {
        if isSequence { try endArray() }
        progress?.finish()
        try writer.finish()
    }

    // MARK: Containers

    mutating func beginArray() throws(StreamError) {
        isBeginningArray = true
        defer { isBeginningArray = false }
        try beginValue()
        let isRoot = path.depth == (isInRootMember ? 1 : 0)
        if needsNames, !isRoot {
            warnings.add(
                "arrays have no names for a header; to read the file back, use --no-header", at: path.streamPath)
        }
        path.begin(isDictionary: false)
        if isRoot, passesElements { isInRootArray = true } else { try writer.beginArray() }
    }

    mutating func endArray() throws(StreamError) {
        path.end()
        let isRoot = path.depth == (isInRootMember ? 1 : 0)
        if isRoot, isInRootArray { isInRootArray = false } else { try writer.endArray() }
    }

    mutating func beginDictionary() throws(StreamError) {
        try beginValue()
        let isRoot = path.depth == 0
        path.begin(isDictionary: true)
        if isRoot, rootDictionary != .value {
            isInRootMember = true
            return
        }
        memberCount = 0
        try writer.beginDictionary()
    }

    mutating func endDictionary() throws(StreamError) {
        if isInRootMember, path.depth == 1 { return try endRootMember() }
        if hasColumns {
            if let columnCount, memberCount < columnCount {
                path.end()
                warnings.add("missing members become null", at: path.streamPath)
                path.begin(isDictionary: true)
            }
            columnCount = columnCount ?? memberCount
        }
        path.end()
        progress?.advance(by: 1)
        try writer.endDictionary()
    }

    /// Begins a member of the root: the array of the records.
    private mutating func beginRootMember() throws(StreamError) {
        let key = path.keyText
        guard rootMember == nil else {
            throw StreamError(
                .unrepresentable, "expected one array of records, found another member", path: path.streamPath)
        }
        rootMember = key
        warnings.add("the name of the records is left out: \(key)")
    }

    private mutating func endRootMember() throws(StreamError) {
        path.end()
        isInRootMember = false
        guard rootMember == nil else { return }
        guard rootDictionary == .table else {
            throw StreamError(.unrepresentable, "expected an array of records, found an empty dictionary")
        }
        if !passesElements {
            try writer.beginArray()
            try writer.endArray()
        }
    }

    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        let isRepeated = path.setKey(utf8)
        if isInRootMember, path.depth == 1 { return try beginRootMember() }
        if isRepeated {
            warnings.add("the dictionary contains this key twice, and both are written", at: path.streamPath)
        }
        if columns?.contains(Array(copying: utf8)) ?? true { memberCount += 1 }
        guard !isPropertyList else {
            hasKey = true
            return
        }
        do throws(StreamError) { try writer.writeKey(utf8) } catch {
            guard hasColumns, error.kind == .unknownMember else { throw error }
            throw StreamError(
                error.kind, "earlier records don't have this column; name all columns with --columns",
                path: error.path)
        }
    }

    private mutating func beginValue() throws(StreamError) {
        if isInRootMember, path.depth == 1, !isBeginningArray {
            throw StreamError(.unrepresentable, "expected an array of records", path: path.streamPath)
        }
        path.beginValue()
        guard hasKey else { return }
        hasKey = false
        try path.key.withRawSpan { (key) throws(StreamError) in try writer.writeKey(key) }
    }

    // MARK: Values

    mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        if case .null = copy scalar, isPropertyList { return try omitNull() }
        try beginValue()
        switch copy scalar {
        case .data where !isPropertyList:
            let what = isOfDatabase ? "blobs of the column \(path.keyText)" : "data"
            warnings.add("\(what) become text, in base64", at: path.streamPath)
        case .date(let seconds): warnOfDate(seconds)
        case .number(let text):
            if isPropertyList, !NumberText.isInteger(text), let real = NumberText.real(text, as: Double.self),
                !NumberText.hasDigits(of: text, real)
            {
                warnings.add("numbers with a fraction or an exponent become the nearest doubles", at: path.streamPath)
                return try writer.writeReal(real)
            }
        default: break
        }
        try scalar.send(to: &writer)
    }

    private mutating func omitNull() throws(StreamError) {
        guard hasKey else {
            path.beginValue()
            throw StreamError(
                .unrepresentable, "property lists can't contain null", path: path.streamPath)
        }
        hasKey = false
        warnings.add("null members are left out", at: path.streamPath)
    }

    private func warnOfDate(_ seconds: Double) {
        if !isPropertyList {
            warnings.add("dates become text", at: path.streamPath)
        } else if format != .binaryPropertyList, seconds != seconds.rounded(.down) {
            warnings.add("the fractions of seconds of dates are left out", at: path.streamPath)
        }
    }

    mutating func expectColumns(_ names: [String]) throws(StreamError) {
        if columnCount == nil, path.depth == 0 { columnCount = names.count }
        try writer.expectColumns(names)
    }

    mutating func cancel(with error: StreamError) {
        progress?.finish()
        writer.cancel(with: error)
    }
}

/// A sink whose meaning of a root dictionary can be set.
protocol RootedSink: ScalarSink, ~Copyable {
    var rootDictionary: ValueSink.RootDictionary { get set }
}

extension RecordSelection: RootedSink where Target: ~Copyable {
    /// The dictionary is an ordinary value, because the selected records are an array.
    var rootDictionary: ValueSink.RootDictionary {
        get { .value }
        set {}
    }
}

/// A sink that is called by reference.
final class SinkReference<Target: RootedSink & ~Copyable>: ValueSink {
    var target: Target

    init(_ target: consuming Target) {
        self.target = target
        super.init()
    }

    override var rootDictionary: RootDictionary {
        get { target.rootDictionary }
        set { target.rootDictionary = newValue }
    }
    override func beginArray() throws(StreamError) { try target.beginArray() }
    override func endArray() throws(StreamError) { try target.endArray() }
    override func beginDictionary() throws(StreamError) { try target.beginDictionary() }
    override func endDictionary() throws(StreamError) { try target.endDictionary() }
    override func writeKey(_ utf8: RawSpan) throws(StreamError) { try target.writeKey(utf8) }
    override func write(_ scalar: borrowing StreamScalar) throws(StreamError) { try target.write(scalar) }
    override func expectColumns(_ names: [String]) throws(StreamError) { try target.expectColumns(names) }
    override func cancel(with error: StreamError) { target.cancel(with: error) }
}
