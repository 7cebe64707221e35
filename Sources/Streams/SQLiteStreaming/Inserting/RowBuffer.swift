// Rows waiting to be inserted into a table: cells of a fixed size, and one block of memory with the bytes of text and blobs.

import PlistBuilding
import PlistStreaming

/// Rows of cells, filled column by column by the messages of values.
///
/// A message stores the cell of `column` in the row under construction. Containers are rejected.
@safe
struct RowBuffer: CellsOnly, ~Copyable {
    private(set) var columnCount: Int
    var dateFormat: SQLiteDateFormat
    /// The length limit of texts and blobs in bytes.
    let byteLimit: Int
    /// The number of complete rows.
    private(set) var rowCount = 0
    /// The column of the next value.
    var column = 0

    // SAFETY: freed by the deinitializer; the complete rows and the row under construction have all their cells.
    private var cellMemory = unsafe GrowingMemory<StagedCell>()
    private var byteMemory = unsafe GrowingMemory<UInt8>()
    /// The number of cells before the row under construction.
    private var start = 0

    init(columnCount: Int, dateFormat: SQLiteDateFormat, byteLimit: Int) {
        self.columnCount = columnCount
        self.dateFormat = dateFormat
        self.byteLimit = min(byteLimit, Int(Int32.max))
        unsafe cellMemory.reserve(64 * max(1, columnCount))
        unsafe byteMemory.reserve(4_096)
    }

    deinit {
        unsafe cellMemory.deallocate()
        unsafe byteMemory.deallocate()
    }

    /// The cells of all rows and the bytes of their texts and blobs, valid until the next change.
    var cells: UnsafePointer<StagedCell> { unsafe UnsafePointer(cellMemory.start.unsafelyUnwrapped) }
    var bytes: UnsafeRawPointer { unsafe UnsafeRawPointer(byteMemory.start.unsafelyUnwrapped) }
    var byteCount: Int { unsafe byteMemory.count }

    /// Begins a row of nulls, replacing an incomplete one.
    mutating func beginRow() {
        start = rowCount &* columnCount
        unsafe cellMemory.removeLast(cellMemory.count &- start)
        for _ in 0..<columnCount { unsafe cellMemory.append(.null) }
        column = 0
    }

    /// Completes the row under construction.
    mutating func endRow() { rowCount &+= 1 }

    /// Removes all rows and keeps the memory.
    mutating func removeAll() {
        (rowCount, start) = (0, 0)
        unsafe cellMemory.removeLast(cellMemory.count)
        unsafe byteMemory.removeLast(byteCount)
    }

    /// Adds columns to the row under construction, which must be the only one.
    mutating func addColumns(_ count: Int) {
        precondition(rowCount == 0, "expected no complete rows")
        columnCount += count
        for _ in 0..<count { unsafe cellMemory.append(.null) }
    }

    /// Removes the complete rows and keeps the one under construction, and the bytes of all rows.
    mutating func removeCompleteRows() {
        for index in 0..<columnCount { unsafe cellMemory[index] = cellMemory[start + index] }
        unsafe cellMemory.removeLast(cellMemory.count - columnCount)
        (rowCount, start) = (0, 0)
    }

    /// Copies a cell of a template row, whose bytes are in another buffer, into the row under construction.
    mutating func copyCell(_ index: Int, from template: borrowing RowBuffer) {
        var cell = unsafe template.cells[index]
        if cell.tag == .text || cell.tag == .blob {
            // SAFETY: the template owns the bytes.
            let text = unsafe UnsafeRawBufferPointer(start: template.bytes + cell.offset, count: Int(cell.length))
            cell.bits = unsafe UInt64(append(text))
        }
        unsafe cellMemory[start + index] = cell
    }

    @inline(__always)  // PERF: SQLite/messages; once a value.
    private mutating func store(_ cell: StagedCell) {
        precondition(column >= 0 && column < columnCount, "column out of range")
        unsafe cellMemory[start &+ column] = cell
    }

    private mutating func store(_ tag: StagedCell.Tag, _ source: RawSpan) throws(StreamError) {
        let count = source.byteCount
        guard count <= byteLimit else {
            let error = SQLiteError(
                .tooBig, "expected at most \(byteLimit) bytes, the limit of the connection, found \(count)")
            throw error.streamError(.limitExceeded)
        }
        // SAFETY: the bytes are copied within the closure.
        let offset = unsafe source.withUnsafeBytes { unsafe append($0) }
        store(StagedCell(bits: UInt64(offset), length: UInt32(truncatingIfNeeded: count), tag: tag))
    }

    /// Appends bytes and returns their offset.
    @inline(__always)  // PERF: SQLite/messages; once a text.
    private mutating func append(_ source: UnsafeRawBufferPointer) -> Int {
        let offset = byteCount
        unsafe byteMemory.append(contentsOf: source.bindMemory(to: UInt8.self))
        return offset
    }

    // MARK: Values

    mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        switch copy scalar {
        case .null: store(.null)
        case .bool(let value): store(.integer(value ? 1 : 0))
        case .integer(let value): store(.integer(value))
        case .unsigned(let value):
            guard let integer = Int64(exactly: value) else {
                throw StreamError(.unrepresentable, "expected an integer below 2^63, found \(value)")
            }
            store(.integer(integer))
        case .real(let value):
            guard !value.isNaN else { throw StreamError(.unrepresentable, SQLiteValue.foundNaN) }
            store(.real(value))
        case .number(let text):
            switch try NumberText.kept(text, rounding: true) {
            case .integer(let value): store(.integer(value))
            case .real(let value): store(.real(value))
            }
        case .string(let utf8):
            if let offset = TextCheck.firstNUL(in: utf8) { throw TextCheck.foundNUL(at: offset) }
            try store(.text, utf8)
        case .data(let bytes): try store(.blob, bytes)
        case .date(let seconds):
            switch dateFormat.stored(secondsSince2001: seconds) {
            case .real(let value): try writeReal(value)
            case .text(let text): try text.withUTF8Span { (span) throws(StreamError) in try store(.text, span) }
            default: throw StreamError(.unrepresentable, SQLiteDateFormat.foundOtherYears)
            }
        }
    }
}

/// A sink for the values of cells, which can't be containers.
protocol CellsOnly: ScalarSink, ~Copyable {}

extension CellsOnly where Self: ~Copyable {
    mutating func beginArray() throws(StreamError) { throw RowBuffer.refusal("an array") }
    mutating func endArray() throws(StreamError) { throw RowBuffer.refusal("an array") }
    mutating func beginDictionary() throws(StreamError) { throw RowBuffer.refusal("a dictionary") }
    mutating func endDictionary() throws(StreamError) { throw RowBuffer.refusal("a dictionary") }
    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { throw RowBuffer.refusal("a dictionary") }
}

extension RowBuffer {
    /// Makes the error for a container where a value is expected.
    static func refusal(_ found: String) -> StreamError {
        StreamError(.typeMismatch, "expected a value that a column can store, found \(found)")
    }
}
