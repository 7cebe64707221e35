// Rows on their way into a table: cells of a fixed size, text and blobs in one block of bytes behind them.

import PlistBuilding
import PlistStreaming

/// A cell of a buffered row.
@unsafe
struct BufferedCell {
    enum Kind: UInt8 { case null, integer, real, text, blob }

    /// An integer, the bits of a real, or the offset of the bytes.
    var payload: Int
    var byteCount: Int32
    var kind: Kind
}

/// Rows of cells, filled by the messages of values, column by column.
///
/// A value message stores the cell of `column` in the row under construction; containers are refused.
@safe
struct RowBuffer: PlistSink, ~Copyable {
    let columnCount: Int
    var dateFormat: SQLiteDateFormat
    /// The longest text or blob.
    let byteLimit: Int
    /// The number of complete rows.
    private(set) var rowCount = 0
    /// The column of the value to come.
    var column = 0

    // SAFETY: `cells` has room for `rowCapacity` rows, of which the complete ones and the begun one are initialized;
    // `bytes` has `byteCapacity` bytes, of which `byteCount` are initialized.
    private(set) var cells: UnsafeMutablePointer<BufferedCell>
    private var rowCapacity = 64
    private(set) var bytes: UnsafeMutableRawPointer
    private(set) var byteCount = 0
    private var byteCapacity = 4096
    /// The cells of the row under construction.
    private var current: UnsafeMutablePointer<BufferedCell>

    init(columnCount: Int, dateFormat: SQLiteDateFormat, byteLimit: Int) {
        self.columnCount = columnCount
        self.dateFormat = dateFormat
        self.byteLimit = min(byteLimit, Int(Int32.max))
        let cells = UnsafeMutablePointer<BufferedCell>.allocate(capacity: max(1, columnCount) * rowCapacity)
        unsafe self.cells = unsafe cells
        unsafe current = unsafe cells
        unsafe bytes = .allocate(byteCount: byteCapacity, alignment: 8)
    }

    deinit {
        unsafe cells.deallocate()
        unsafe bytes.deallocate()
    }

    /// Begins a row of nulls.
    mutating func beginRow() {
        if rowCount == rowCapacity { growCells() }
        unsafe current = unsafe cells + rowCount &* columnCount
        for index in 0..<columnCount {
            unsafe (current + index).initialize(to: BufferedCell(payload: 0, byteCount: 0, kind: .null))
        }
        column = 0
    }

    /// Completes the row.
    mutating func endRow() { rowCount &+= 1 }

    /// Forgets all rows and keeps the memory.
    mutating func removeAll() {
        rowCount = 0
        byteCount = 0
        unsafe current = unsafe cells
    }

    private mutating func growCells() {
        let larger = UnsafeMutablePointer<BufferedCell>.allocate(capacity: max(1, columnCount) * rowCapacity * 2)
        unsafe larger.moveInitialize(from: cells, count: rowCount * columnCount)
        unsafe cells.deallocate()
        unsafe cells = unsafe larger
        rowCapacity *= 2
    }

    @inline(never)
    private mutating func growBytes(by count: Int) {
        byteCapacity = max(byteCapacity * 2, byteCount + count)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: byteCapacity, alignment: 8)
        unsafe larger.copyMemory(from: bytes, byteCount: byteCount)
        unsafe bytes.deallocate()
        unsafe bytes = unsafe larger
    }

    /// Copies a cell of a template row, whose bytes are in another buffer, into the row under construction.
    mutating func copyCell(_ index: Int, from template: borrowing RowBuffer) {
        var cell = unsafe template.cells[index]
        if unsafe cell.kind == .text || cell.kind == .blob {
            let count = unsafe Int(cell.byteCount)
            if byteCapacity - byteCount < count { growBytes(by: count) }
            // SAFETY: the check above has made room; the template has the bytes.
            unsafe (bytes + byteCount).copyMemory(from: template.bytes + cell.payload, byteCount: count)
            unsafe cell.payload = byteCount
            byteCount += count
        }
        unsafe current[index] = unsafe cell
    }

    @inline(__always)  // PERF: SQLite/messages; once a value.
    private mutating func store(_ kind: BufferedCell.Kind, _ payload: Int, _ count: Int32 = 0) {
        precondition(column >= 0 && column < columnCount, "column out of range")
        // SAFETY: checked on the line above; the row under construction has `columnCount` cells.
        unsafe current[column] = BufferedCell(payload: payload, byteCount: count, kind: kind)
    }

    private mutating func store(_ kind: BufferedCell.Kind, _ source: RawSpan) throws(StreamError) {
        let count = source.byteCount
        guard count <= byteLimit else {
            let error = SQLiteError(
                .tooBig, "found \(count) bytes, more than the limit of \(byteLimit) of this connection")
            throw error.streamError(.limitExceeded)
        }
        if byteCapacity &- byteCount < count { growBytes(by: count) }
        // SAFETY: the check above has made room.
        unsafe source.withUnsafeBytes { buffer in
            if let address = buffer.baseAddress {
                unsafe (bytes + byteCount).copyMemory(from: address, byteCount: count)
            }
        }
        store(kind, byteCount, Int32(truncatingIfNeeded: count))
        byteCount &+= count
    }

    // MARK: Values

    mutating func writeNull() throws(StreamError) { store(.null, 0) }
    mutating func writeBool(_ value: Bool) throws(StreamError) { store(.integer, value ? 1 : 0) }
    mutating func writeInteger(_ value: Int64) throws(StreamError) {
        store(.integer, Int(truncatingIfNeeded: value))
    }

    mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        guard value <= UInt64(Int64.max) else {
            throw StreamError(.unrepresentable, "expected an integer below 2^63, found \(value)")
        }
        store(.integer, Int(truncatingIfNeeded: value))
    }

    mutating func writeReal(_ value: Double) throws(StreamError) {
        guard !value.isNaN else {
            throw StreamError(.unrepresentable, "expected a number, found NaN, which SQLite has not")
        }
        store(.real, Int(bitPattern: UInt(truncatingIfNeeded: value.bitPattern)))
    }

    mutating func writeNumber(text: RawSpan) throws(StreamError) {
        switch try NumberText.kept(text) {
        case .integer(let value): try writeInteger(value)
        case .real(let value): try writeReal(value)
        }
    }

    mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        if let offset = TextCheck.firstNUL(in: utf8) { throw TextCheck.foundNUL(at: offset) }
        try store(.text, utf8)
    }

    mutating func writeData(_ bytes: RawSpan) throws(StreamError) { try store(.blob, bytes) }

    mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        switch dateFormat.stored(secondsSince2001: seconds) {
        case .real(let value): try writeReal(value)
        case .text(let text): try text.withUTF8Span { (span) throws(StreamError) in try store(.text, span) }
        default: throw StreamError(.unrepresentable, SQLiteDateFormat.foundOtherYears)
        }
    }

    // MARK: Containers

    mutating func beginArray() throws(StreamError) { throw Self.refusal("an array") }
    mutating func endArray() throws(StreamError) { throw Self.refusal("an array") }
    mutating func beginDictionary() throws(StreamError) { throw Self.refusal("a dictionary") }
    mutating func endDictionary() throws(StreamError) { throw Self.refusal("a dictionary") }
    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { throw Self.refusal("a dictionary") }

    /// The error that a container was found where a value of a column should be.
    static func refusal(_ found: String) -> StreamError {
        StreamError(.typeMismatch, "expected a value that a column holds, found \(found)")
    }
}
