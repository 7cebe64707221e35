// The result of `ColumnsBuilder`: columns of equal length, found by name or index, with typed values and nulls.

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

    /// The column with a name, or nil if no column has this name. Names are compared by their bytes, like keys.
    ///
    /// - Complexity: O(1).
    public subscript(name: String) -> Column? { indexes.index(of: name).map { columns[$0] } }
}

/// A column with typed values or nulls.
public struct Column: Sendable {
    /// The name of the members that have the values of this column.
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

    /// Returns whether a row has no value.
    /// - Precondition: The row is in `0..<count`.
    public func isNull(_ row: Int) -> Bool {
        check(row)
        return unsafe memory.buffer.nulls[row / 64] & (1 << UInt64(row % 64)) != 0
    }

    /// Returns the integer of a row, or nil for nulls and in columns of other types.
    public func integer(_ row: Int) -> Int64? {
        guard type == .integer, !isNull(row) else { return nil }
        return unsafe memory.buffer.values.load(fromByteOffset: 8 * row, as: Int64.self)
    }

    /// Returns the floating-point number of a row, or nil for nulls and in columns of other types.
    public func real(_ row: Int) -> Double? {
        guard type == .real, !isNull(row) else { return nil }
        return unsafe memory.buffer.values.load(fromByteOffset: 8 * row, as: Double.self)
    }

    /// Returns the Boolean of a row, or nil for nulls and in columns of other types.
    public func bool(_ row: Int) -> Bool? {
        guard type == .bool, !isNull(row) else { return nil }
        return unsafe memory.buffer.values.load(fromByteOffset: row, as: Bool.self)
    }

    /// Returns the string of a row, or nil for nulls and in columns of other types.
    public func string(_ row: Int) -> String? {
        guard type == .string, !isNull(row) else { return nil }
        // SAFETY: the ends never decrease, and are within the text.
        let end = unsafe Int(memory.buffer.values.load(fromByteOffset: 8 * row, as: Int64.self))
        let start = unsafe row == 0 ? 0 : Int(memory.buffer.values.load(fromByteOffset: 8 * (row - 1), as: Int64.self))
        return unsafe String(
            decoding: UnsafeRawBufferPointer(start: memory.buffer.text + start, count: end - start), as: UTF8.self)
    }

    /// Calls a closure with all integers, 0 for nulls. For columns of other types, the buffer is empty.
    public func withIntegers<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<Int64>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: values of this type were stored; the memory lives as long as the column.
        let values = unsafe memory.buffer.values.assumingMemoryBound(to: Int64.self)
        defer { withExtendedLifetime(memory) {} }
        return try unsafe body(UnsafeBufferPointer(start: values, count: type == .integer ? count : 0))
    }

    /// Calls a closure with all floating-point numbers, 0 for nulls. For columns of other types, the buffer is empty.
    public func withReals<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<Double>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: see withIntegers.
        let values = unsafe memory.buffer.values.assumingMemoryBound(to: Double.self)
        defer { withExtendedLifetime(memory) {} }
        return try unsafe body(UnsafeBufferPointer(start: values, count: type == .real ? count : 0))
    }

    /// Calls a closure with the text of all strings and the end offset of each string. For columns of other types, both
    /// buffers are empty.
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
