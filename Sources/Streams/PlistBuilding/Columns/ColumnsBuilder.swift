// Builds columns. Rows are dictionaries at a depth of the stream, and declared members become columns.

import PlistStreaming
import StringTables

/// A sink that builds typed columns from the members of dictionaries. Each dictionary becomes a row.
///
/// ```swift
/// var builder = ColumnsBuilder(["id": .integer, "title": .string, "score": .real])
/// // … a reader sends `[{"id": 1, "title": "a"}, …]` …
/// let columns = try builder.takeResult()
/// ```
///
/// A missing member or a null becomes null in its row, so columns never shift. Members that aren't columns are skipped with
/// their content. If a column is repeated in a row, the last value is used. A value with another type than its column,
/// including a container, is an error with its path. Integers can also be stored as reals.
///
/// A dot in a name separates the names of inner dictionaries: `address.zip` is the member `zip` of the member `address`. A
/// key that itself contains a dot also stands for the column with that name.
///
/// After a reader's error, the builder is empty and accepts the next stream like a new one. Until then, ``rowCount`` is the
/// number of complete rows.
@safe
public struct ColumnsBuilder: PlistSink, ~Copyable {
    /// The columns, whose memory belongs to the builder.
    @usableFromInline var columns: UnsafeMutableBufferPointer<ColumnBuffer>
    /// The column of the next value, or -1.
    @usableFromInline var current = -1
    @usableFromInline var next = 0
    @usableFromInline var row = 0
    /// The number of columns that have a value in this row.
    @usableFromInline var filled = 0
    /// The number of open containers.
    @usableFromInline var depth = 0
    /// The depth of rows plus 1, which is the depth of their members.
    @usableFromInline let rowDepth: Int
    /// The dictionary whose members are received: the row or a dictionary in it.
    @usableFromInline var level = 0
    /// The depth of the members of that dictionary.
    @usableFromInline var levelDepth: Int
    /// The level of the dictionary that the next value opens if it is one, or -1.
    @usableFromInline var inner = -1
    /// The levels of the dictionaries around the current one.
    private var outer: [Int] = []
    let names: ColumnNames
    let depthLimit: Int
    /// The columns as members for readers of text, and the state of their record buffer.
    let members: RecordMembers
    let records: UnsafeMutablePointer<RecordState>
    /// The number of complete rows of an abandoned stream. It is nil after the next message.
    var abandonedRowCount: Int?

    /// Creates a builder.
    /// - Parameters:
    ///   - columns: The names and types of the columns. If a name is repeated, the first one is used.
    ///   - depth: The number of containers around each row. A negative number is treated as 0.
    ///   - depthLimit: The maximum depth. If it is exceeded, `limitExceeded` is thrown.
    public init(_ columns: KeyValuePairs<String, ColumnType>, depth: Int = 1, depthLimit: Int = 1_024) {
        self.init(columns: columns.map { ($0, $1) }, depth: depth, depthLimit: depthLimit)
    }

    /// Creates a builder for columns that are known only at run time.
    public init(columns declared: [(name: String, type: ColumnType)], depth: Int = 1, depthLimit: Int = 1_024) {
        var names = ColumnNames()
        let types = declared.filter { names.add($0.name) }.map(\.type)
        unsafe columns = .allocate(capacity: types.count)
        for (index, type) in types.enumerated() {
            let place = names.places[index]
            let name = UnsafeMutableRawBufferPointer.allocate(byteCount: place.name.utf8.count, alignment: 8)
            unsafe name.copyBytes(from: place.name.utf8)
            let inner = place.name.withUTF8Span { names.target(of: $0, at: place.level).level }
            unsafe columns.initializeElement(
                at: index,
                to: ColumnBuffer(
                    name: UnsafeRawBufferPointer(name), type: type, level: place.level, inner: inner))
        }
        self.names = names
        self.depthLimit = depthLimit
        rowDepth = min(max(0, depth), .max - 1) + 1
        levelDepth = rowDepth
        unsafe members = RecordMembers(
            types.enumerated().map { index, type in (name: names.places[index].name, kind: type.kind, offset: 0) })
        unsafe records = .allocate(capacity: 1)
        unsafe records.initialize(to: RecordState())
        prepareRecordBuffer()
    }

    deinit {
        for index in unsafe columns.indices {
            unsafe columns[index].deallocate()
            unsafe columns[index].name.deallocate()
        }
        unsafe columns.deallocate()
        unsafe members.deallocate()
        unsafe records.pointee.deallocate()
        unsafe records.deinitialize(count: 1)
        unsafe records.deallocate()
    }

    /// The names and types of the columns.
    package var declared: [(name: String, type: ColumnType)] {
        unsafe columns.indices.map { unsafe (names.paths[$0], columns[$0].type) }
    }

    /// The number of complete rows.
    public var rowCount: Int { abandonedRowCount ?? row }

    /// Returns the columns of all rows so far, and empties the builder, even if it throws.
    /// - Throws: An error of the kind `unexpectedEnd` within a container, and after a stream that ended with an error.
    public mutating func takeResult() throws(StreamError) -> Columns {
        guard depth == 0, abandonedRowCount == nil else {
            let error = located(.unexpectedEnd, "the rows are not complete")
            reset()
            throw error
        }
        var result: [Column] = []
        for index in unsafe columns.indices {
            // A row that messages outside the grammar left open doesn't count.
            while unsafe columns[index].count > row { unsafe columns[index].removeLast() }
            while unsafe columns[index].count < row { unsafe columns[index].appendNull() }
            let buffer = unsafe columns[index]
            unsafe result.append(Column(ColumnMemory(buffer), name: names.paths[index]))
            unsafe columns[index] = ColumnBuffer(
                name: buffer.name, type: buffer.type, level: buffer.level, inner: buffer.inner)
        }
        defer { row = 0 }
        unsafe records.pointee.expectedCount = 0
        return Columns(columns: result, rowCount: row)
    }

    /// Removes all rows, also after an error, but keeps the memory for the next rows.
    public mutating func reset() {
        for index in unsafe columns.indices { unsafe columns[index].removeAll() }
        (row, depth, current, inner) = (0, 0, -1, -1)
        (level, levelDepth) = (0, rowDepth)
        outer = []
        unsafe RecordState.discard(records)
        abandonedRowCount = nil
    }

    /// Discards all rows, including those of earlier streams, because an error ended the stream.
    public mutating func cancel(with error: StreamError) {
        let count = rowCount
        reset()
        abandonedRowCount = count
    }

    // MARK: Messages

    /// Opens a row, or another dictionary.
    public mutating func beginDictionary() throws(StreamError) {
        try beginContainer("a dictionary")
        if depth == rowDepth { (next, filled) = (0, 0) }
    }

    /// Closes a row. Columns without a value become null.
    public mutating func endDictionary() throws(StreamError) {
        if depth == rowDepth {
            row &+= 1
            if unsafe filled != columns.count {
                for index in unsafe columns.indices where unsafe columns[index].count < row {
                    unsafe columns[index].appendNull()
                }
            }
        }
        try endContainer()
    }

    /// Opens an array.
    public mutating func beginArray() throws(StreamError) {
        try beginContainer("an array")
        if depth == rowDepth { throw located(.typeMismatch, "expected a dictionary, found an array") }
    }

    /// Closes an array.
    public mutating func endArray() throws(StreamError) { try endContainer() }

    private mutating func beginContainer(_ kind: String) throws(StreamError) {
        guard depth < depthLimit else {
            throw located(.limitExceeded, "more than \(depthLimit) levels of nesting")
        }
        abandonedRowCount = nil
        if inner >= 0 && kind == "a dictionary" {
            outer.append(level)
            level = inner
            levelDepth = depth + 1
        } else if current >= 0 || inner >= 0 {
            throw mismatch(kind)
        }
        depth += 1
        (current, inner) = (-1, -1)
    }

    private mutating func endContainer() throws(StreamError) {
        guard depth > 0 else { throw located(.misuse, "got the end of a container, but none is open") }
        if depth == levelDepth, let around = outer.popLast() {
            level = around
            levelDepth = depth - 1
        }
        depth -= 1
        (current, inner) = (-1, -1)
    }

    // PERF: JSONRecords/columns; inlinable messages, so that a reader of another package stores values in its loop.
    /// Names the value that follows.
    @inlinable
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        guard depth == levelDepth else { return }
        if unsafe next < columns.count && columns[next].level == level,
            unsafe columns[next].words.isEqual(to: utf8, columns[next].name.baseAddress)
        {
            current = next
            unsafe inner = columns[next].inner
            next &+= 1
        } else {
            findColumn(utf8)
        }
    }

    @usableFromInline
    mutating func findColumn(_ key: RawSpan) {
        let target = names.target(of: key, at: level)
        (current, inner) = (target.column, target.level)
        if current >= 0 { next = current + 1 }
    }

    /// Prepares the current column for a value in this row. Returns false if the value isn't stored in a column of this type.
    @inlinable @inline(__always)  // PERF: see writeKey.
    mutating func openRow(_ type: ColumnType) -> Bool {
        guard current >= 0, unsafe columns[current].type == type else { return false }
        if unsafe columns[current].count != row { removeDuplicate() }
        if unsafe columns[current].count == columns[current].capacity { unsafe columns[current].grow() }
        filled &+= 1
        return true
    }

    @usableFromInline
    mutating func removeDuplicate() {
        unsafe columns[current].removeLast()
        filled -= 1
    }

    /// Adds an integer, also to a column of reals.
    @inlinable
    public mutating func writeInteger(_ value: Int64) throws(StreamError) {
        guard openRow(.integer) else {
            guard current >= 0, unsafe columns[current].type == .real else {
                return try refuse { "integer \(value)" }
            }
            return try writeReal(Double(value))
        }
        // SAFETY: openRow has reserved space for a value at `count`.
        unsafe columns[current].values.storeBytes(of: value, toByteOffset: 8 &* columns[current].count, as: Int64.self)
        unsafe columns[current].count &+= 1
        current = -1
    }

    /// Adds a floating-point number.
    @inlinable
    public mutating func writeReal(_ value: Double) throws(StreamError) {
        guard openRow(.real) else { return try refuse { "real \(value)" } }
        // SAFETY: see writeInteger.
        unsafe columns[current].values.storeBytes(of: value, toByteOffset: 8 &* columns[current].count, as: Double.self)
        unsafe columns[current].count &+= 1
        current = -1
    }

    /// Adds a Boolean.
    @inlinable
    public mutating func writeBool(_ value: Bool) throws(StreamError) {
        guard openRow(.bool) else { return try refuse { "\(value)" } }
        // SAFETY: see writeInteger.
        unsafe columns[current].values.storeBytes(of: value, toByteOffset: columns[current].count, as: Bool.self)
        unsafe columns[current].count &+= 1
        current = -1
    }

    /// Adds a string.
    @inlinable
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        guard openRow(.string) else { return try refuse { "a string" } }
        unsafe columns[current].appendText(utf8)
        // SAFETY: see writeInteger.
        unsafe columns[current].values.storeBytes(
            of: Int64(columns[current].textCount), toByteOffset: 8 &* columns[current].count, as: Int64.self)
        unsafe columns[current].count &+= 1
        current = -1
    }

    /// Adds null.
    public mutating func writeNull() throws(StreamError) {
        guard current >= 0 else {
            if inner >= 0 {
                inner = -1
                return
            }
            return try refuse { "null" }
        }
        if unsafe columns[current].count != row { removeDuplicate() }
        unsafe columns[current].appendNull()
        filled += 1
        current = -1
    }

    /// Adds an unsigned integer. An integer beyond 64 bits with sign is an error, unless the column has reals.
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        if current >= 0, unsafe columns[current].type == .real { return try writeReal(Double(value)) }
        if value <= UInt64(Int64.max) { return try writeInteger(Int64(value)) }
        try refuse { "integer \(value)" }
    }

    /// Adds the nearest number to a column of reals. In other columns, and if the number is too large, it is an error.
    public mutating func writeNumber(text: RawSpan) throws(StreamError) {
        if current >= 0, unsafe columns[current].type == .real, let value = NumberText.real(text, as: Double.self) {
            return try writeReal(value)
        }
        try refuse { NumberText.real(text, as: Double.self).map { "real \($0)" } ?? "a number too large" }
    }
    /// Throws an error, because columns can't have data.
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) { try refuse { "data" } }
    /// Throws an error, because columns can't have dates.
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) { try refuse { "a date" } }

    // MARK: Errors

    /// Skips a value that isn't in a column. Throws an error for a value of the wrong type, or if a row is expected.
    @usableFromInline @inline(never)
    mutating func refuse(_ found: () -> String) throws(StreamError) {
        abandonedRowCount = nil
        if current >= 0 || inner >= 0 { throw mismatch(found()) }
        if depth == rowDepth - 1 { throw located(.typeMismatch, "expected a dictionary, found \(found())") }
        if depth == 0 { throw located(.typeMismatch, "expected an array of records, found \(found())") }
    }

    private func mismatch(_ found: String) -> StreamError {
        let expected: String
        if current < 0 {
            expected = "a dictionary"
        } else {
            switch unsafe columns[current].type {
            case .integer: expected = "an integer"
            case .real: expected = "a number"
            case .bool: expected = "a Boolean"
            case .string: expected = "a string"
            }
        }
        let path = StreamPath(rowPath.steps + (current < 0 ? names.steps(toLevel: inner) : names.steps(to: current)))
        return StreamError(.typeMismatch, "expected \(expected), found \(found)", path: path)
    }

    // PERF: see the same function of `PropertyListBuilder`.
    mutating func located(_ kind: StreamError.Kind, _ message: String) -> StreamError {
        StreamError(kind, message, path: rowPath)
    }

    /// The path of the row. Rows are numbered continuously, regardless of the containers around them.
    private var rowPath: StreamPath { rowDepth == 1 || depth == 0 ? StreamPath() : StreamPath([.index(row)]) }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

// The rows are in `ColumnsBuilder+Tests`.
extension ColumnsBuilder: SelfTesting {
    /// The in-class tests of the builder.
    public static var testSelectors: TestSelectors {
        [
            "testFillsColumnsOfEachType": testFillsColumnsOfEachType,
            "testComparesNamesByBytes": testComparesNamesByBytes,
            "testKeepsRowsAlignedWithNulls": testKeepsRowsAlignedWithNulls,
            "testSkipsOtherMembers": testSkipsOtherMembers,
            "testLastOfDuplicateMembersWins": testLastOfDuplicateMembersWins,
            "testRejectsOtherTypesWithPath": testRejectsOtherTypesWithPath,
            "testGrowsToManyRows": testGrowsToManyRows,
            "testFindsRowsAtOtherDepths": testFindsRowsAtOtherDepths,
            "testFillsColumnsOfInnerDictionaries": testFillsColumnsOfInnerDictionaries,
            "testRejectsOtherValuesForInnerDictionaries": testRejectsOtherValuesForInnerDictionaries,
            "testIsReusableAfterReset": testIsReusableAfterReset,
            "testStaysAlignedAfterMisuse": testStaysAlignedAfterMisuse,
            "testIsEmptyAfterAnError": testIsEmptyAfterAnError,
        ]
    }
}
#endif
