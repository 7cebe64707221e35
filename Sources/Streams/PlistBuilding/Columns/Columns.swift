// The result of `ColumnsBuilder`: columns of equal length, by name or index, with typed values and nulls.

import StringTables

/// A table of typed columns with one value or null for each row.
public struct Columns: Sendable {
    /// The columns in the order they were declared.
    public let columns: [Column]
    /// The number of rows, which is the same for every column.
    public let rowCount: Int

    /// The first column with each name.
    private let indexes: KeySet

    init(columns: [Column], rowCount: Int) {
        self.columns = columns
        self.rowCount = rowCount
        indexes = KeySet(columns.map(\.name))
    }

    /// The column with the name, or nil; names are told apart by their bytes, as keys are.
    ///
    /// - Complexity: O(1).
    public subscript(name: String) -> Column? { indexes.index(of: name).map { columns[$0] } }
}

/// A column: typed values side by side, and which rows are null.
public struct Column: Sendable {
    /// The name of the members whose values these are.
    public let name: String
    /// The type of the values.
    public let type: ColumnType
    let memory: ColumnMemory

    init(_ memory: ColumnMemory, name: String) {
        self.name = name
        self.memory = memory
        type = unsafe memory.buffer.type
    }

    /// The number of rows.
    public var count: Int { unsafe memory.buffer.count }

    /// The number of rows without a value.
    public var nullCount: Int { unsafe memory.buffer.nullCount }

    /// Tells whether a row has no value.
    /// - Precondition: The row is in `0..<count`.
    public func isNull(_ row: Int) -> Bool {
        check(row)
        return unsafe memory.buffer.nulls[row / 64] & (1 << UInt64(row % 64)) != 0
    }

    /// The integer of a row, or nil for null and in columns of other types.
    public func integer(_ row: Int) -> Int64? {
        guard type == .integer, !isNull(row) else { return nil }
        return unsafe memory.buffer.values.load(fromByteOffset: 8 * row, as: Int64.self)
    }

    /// The real of a row, or nil for null and in columns of other types.
    public func real(_ row: Int) -> Double? {
        guard type == .real, !isNull(row) else { return nil }
        return unsafe memory.buffer.values.load(fromByteOffset: 8 * row, as: Double.self)
    }

    /// The Boolean of a row, or nil for null and in columns of other types.
    public func bool(_ row: Int) -> Bool? {
        guard type == .bool, !isNull(row) else { return nil }
        return unsafe memory.buffer.values.load(fromByteOffset: row, as: Bool.self)
    }

    /// The string of a row, or nil for null and in columns of other types.
    public func string(_ row: Int) -> String? {
        guard type == .string, !isNull(row) else { return nil }
        // SAFETY: ends never decrease, and none is beyond the text.
        let end = unsafe Int(memory.buffer.values.load(fromByteOffset: 8 * row, as: Int64.self))
        let start = unsafe row == 0 ? 0 : Int(memory.buffer.values.load(fromByteOffset: 8 * (row - 1), as: Int64.self))
        return unsafe String(
            decoding: UnsafeRawBufferPointer(start: memory.buffer.text + start, count: end - start), as: UTF8.self)
    }

    /// Calls a closure with all integers, 0 for nulls; with nothing in columns of other types.
    public func withIntegers<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<Int64>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: values of this type were stored; the memory lives as long as the column.
        let values = unsafe memory.buffer.values.assumingMemoryBound(to: Int64.self)
        defer { withExtendedLifetime(memory) {} }
        return try unsafe body(UnsafeBufferPointer(start: values, count: type == .integer ? count : 0))
    }

    /// Calls a closure with all reals, 0 for nulls; with nothing in columns of other types.
    public func withReals<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<Double>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: see withIntegers.
        let values = unsafe memory.buffer.values.assumingMemoryBound(to: Double.self)
        defer { withExtendedLifetime(memory) {} }
        return try unsafe body(UnsafeBufferPointer(start: values, count: type == .real ? count : 0))
    }

    /// Calls a closure with the text of all strings and the end of each in it; with nothing in columns of other types.
    public func withText<Result, Failure: Error>(
        _ body: (_ text: UnsafeRawBufferPointer, _ ends: UnsafeBufferPointer<Int64>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: see withIntegers.
        let ends = unsafe memory.buffer.values.assumingMemoryBound(to: Int64.self)
        defer { withExtendedLifetime(memory) {} }
        return try unsafe body(
            UnsafeRawBufferPointer(start: memory.buffer.text, count: type == .string ? memory.buffer.textCount : 0),
            UnsafeBufferPointer(start: ends, count: type == .string ? count : 0))
    }

    private func check(_ row: Int) { precondition(row >= 0 && row < count, "row out of range") }
}

/// The memory of a complete column, which does not change and is freed with the last column that uses it.
@safe
final class ColumnMemory: @unchecked Sendable {
    let buffer: ColumnBuffer

    init(_ buffer: ColumnBuffer) { unsafe self.buffer = buffer }

    deinit { unsafe buffer.deallocate() }
}
