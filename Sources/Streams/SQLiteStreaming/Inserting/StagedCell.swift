// A value that is being written into a row, and the types that take it: a parameter of a statement, or the result of a
// virtual table's column. Text and blobs are in other memory, at the offset stored in the cell.

import CSystemSQLite

/// One value of a row that is kept until the row is inserted.
@usableFromInline
package struct StagedCell: BitwiseCopyable, Sendable {
    @usableFromInline
    package enum Tag: UInt8, BitwiseCopyable, Sendable {
        /// The imported record doesn't have the member.
        case absent
        case null, integer, real, text, blob
        /// The number of a row of another table, for a to-one relationship of an import.
        case link
    }

    /// The integer, the bits of the real, or the offset of the bytes.
    @usableFromInline package var bits: UInt64
    /// The number of bytes of text and blobs.
    @usableFromInline package var length: UInt32
    @usableFromInline package var tag: Tag

    @inlinable
    package init(bits: UInt64, length: UInt32, tag: Tag) {
        (self.bits, self.length, self.tag) = (bits, length, tag)
    }

    @inlinable package static var absent: StagedCell { StagedCell(bits: 0, length: 0, tag: .absent) }
    @inlinable package static var null: StagedCell { StagedCell(bits: 0, length: 0, tag: .null) }
    @inlinable
    package static func integer(_ value: Int64) -> StagedCell {
        StagedCell(bits: UInt64(bitPattern: value), length: 0, tag: .integer)
    }
    @inlinable
    package static func real(_ value: Double) -> StagedCell {
        StagedCell(bits: value.bitPattern, length: 0, tag: .real)
    }
    @inlinable
    package static func link(_ row: Int) -> StagedCell { StagedCell(bits: UInt64(row), length: 0, tag: .link) }

    @inlinable package var integer: Int64 { Int64(bitPattern: bits) }
    @inlinable package var real: Double { Double(bitPattern: bits) }
    @inlinable package var offset: Int { Int(truncatingIfNeeded: bits) }

    // PERF: SQLite/insert, SQLiteImport; called for each cell, so it is inlinable for the importer.
    /// Passes the cell to a destination. Text and blobs are at their offset from a base address and must stay there.
    @inlinable @inline(__always)
    package func pass(to destination: some CellDestination, _ base: UnsafeRawPointer) -> Int32 {
        // SAFETY: that many initialized bytes are at the cell's offset from the address; no text is longer than SQLite's
        // limit.
        let byteCount = Int32(truncatingIfNeeded: length)
        return switch tag {
        case .integer: destination.set(integer: integer)
        case .real: destination.set(real: real)
        case .text: unsafe destination.set(text: base + offset, byteCount: byteCount, isPassing: false)
        case .blob: unsafe destination.set(blob: base + offset, byteCount: byteCount, isPassing: false)
        case .absent, .null, .link: destination.setNull()
        }
    }
}

/// A destination for a cell: the result of a virtual table's column, or a parameter of a statement. All functions return a
/// result code.
@usableFromInline
package protocol CellDestination {
    func setNull() -> Int32
    func set(integer: Int64) -> Int32
    func set(real: Double) -> Int32
    /// Stores text. Unless it is passing, it stays in memory until the row is inserted, and doesn't have to be copied.
    func set(text: UnsafeRawPointer, byteCount: Int32, isPassing: Bool) -> Int32
    func set(blob: UnsafeRawPointer, byteCount: Int32, isPassing: Bool) -> Int32
}

/// A parameter of a statement as the destination of a cell.
@unsafe
package struct ParameterDestination: CellDestination {
    let statement: OpaquePointer
    /// The index of the parameter, from 1.
    let index: Int32

    package init(statement: OpaquePointer, index: Int32) {
        unsafe self.statement = unsafe statement
        unsafe self.index = index
    }

    package func setNull() -> Int32 { unsafe sqlite3_bind_null(statement, index) }
    package func set(integer: Int64) -> Int32 { unsafe sqlite3_bind_int64(statement, index, integer) }
    package func set(real: Double) -> Int32 { unsafe sqlite3_bind_double(statement, index, real) }

    // SAFETY: the statement is stepped, or gets new values, before bytes that aren't passing are freed.
    package func set(text: UnsafeRawPointer, byteCount: Int32, isPassing: Bool) -> Int32 {
        unsafe sqlite3_bind_text(
            statement, index, text.assumingMemoryBound(to: CChar.self), byteCount, isPassing ? csqlite_transient() : nil
        )
    }

    package func set(blob: UnsafeRawPointer, byteCount: Int32, isPassing: Bool) -> Int32 {
        unsafe sqlite3_bind_blob(statement, index, blob, byteCount, isPassing ? csqlite_transient() : nil)
    }
}

/// The result of a column of the virtual table, which is null unless a cell sets it.
@unsafe
package struct ResultDestination: CellDestination {
    let context: OpaquePointer

    package init(context: OpaquePointer) { unsafe self.context = unsafe context }

    package func setNull() -> Int32 { SQLITE_OK }

    package func set(integer: Int64) -> Int32 {
        unsafe sqlite3_result_int64(context, integer)
        return SQLITE_OK
    }

    package func set(real: Double) -> Int32 {
        unsafe sqlite3_result_double(context, real)
        return SQLITE_OK
    }

    // SAFETY: SQLite stores the row before it asks for the next one, so bytes that aren't passing don't have to be copied.
    package func set(text: UnsafeRawPointer, byteCount: Int32, isPassing: Bool) -> Int32 {
        unsafe sqlite3_result_text(
            context, text.assumingMemoryBound(to: CChar.self), byteCount, isPassing ? csqlite_transient() : nil)
        return SQLITE_OK
    }

    package func set(blob: UnsafeRawPointer, byteCount: Int32, isPassing: Bool) -> Int32 {
        unsafe sqlite3_result_blob(context, blob, byteCount, isPassing ? csqlite_transient() : nil)
        return SQLITE_OK
    }
}
