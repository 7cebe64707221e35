// A value on its way into a row, and what takes it: a parameter of a statement, or the result of a virtual table's column.
// Text and blobs lie in other memory, at an offset that the cell has.

import CSystemSQLite

/// One value of a row that is kept until the row is inserted.
@usableFromInline
package struct StagedCell: BitwiseCopyable, Sendable {
    @usableFromInline
    package enum Tag: UInt8, BitwiseCopyable, Sendable {
        /// The record that is imported does not have the member.
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

    // PERF: SQLite/insert, SQLiteImport; once a cell, so inlinable for the importer.
    /// Gives the cell to what takes it; text and blobs lie at their offset from an address, and stay there.
    @inlinable @inline(__always)
    package func give(to taker: some CellTaker, _ base: UnsafeRawPointer) -> Int32 {
        // SAFETY: the cell has the offset of so many initialized bytes behind the address; no text is longer than SQLite's limit.
        let byteCount = Int32(truncatingIfNeeded: length)
        return switch tag {
        case .integer: taker.take(integer: integer)
        case .real: taker.take(real: real)
        case .text: unsafe taker.take(text: base + offset, byteCount: byteCount, isPassing: false)
        case .blob: unsafe taker.take(blob: base + offset, byteCount: byteCount, isPassing: false)
        case .absent, .null, .link: taker.takeNull()
        }
    }
}

/// What takes a cell: the result of a virtual table's column, or a parameter of a statement. All return a result code.
@usableFromInline
package protocol CellTaker {
    func takeNull() -> Int32
    func take(integer: Int64) -> Int32
    func take(real: Double) -> Int32
    /// Takes text. Unless it is passing it stays where it is until the row is inserted, and need not be copied.
    func take(text: UnsafeRawPointer, byteCount: Int32, isPassing: Bool) -> Int32
    func take(blob: UnsafeRawPointer, byteCount: Int32, isPassing: Bool) -> Int32
}

/// A parameter of a statement that takes a cell.
@unsafe
package struct ParameterTaker: CellTaker {
    let statement: OpaquePointer
    /// From 1.
    let index: Int32

    package init(statement: OpaquePointer, index: Int32) {
        unsafe self.statement = unsafe statement
        unsafe self.index = index
    }

    package func takeNull() -> Int32 { unsafe sqlite3_bind_null(statement, index) }
    package func take(integer: Int64) -> Int32 { unsafe sqlite3_bind_int64(statement, index, integer) }
    package func take(real: Double) -> Int32 { unsafe sqlite3_bind_double(statement, index, real) }

    // SAFETY: the statement is stepped or bound anew before what does not pass is gone.
    package func take(text: UnsafeRawPointer, byteCount: Int32, isPassing: Bool) -> Int32 {
        unsafe sqlite3_bind_text(
            statement, index, text.assumingMemoryBound(to: CChar.self), byteCount, isPassing ? csqlite_transient() : nil
        )
    }

    package func take(blob: UnsafeRawPointer, byteCount: Int32, isPassing: Bool) -> Int32 {
        unsafe sqlite3_bind_blob(statement, index, blob, byteCount, isPassing ? csqlite_transient() : nil)
    }
}

/// The result of a column of the virtual table, which is null until it takes something else.
@unsafe
package struct ResultTaker: CellTaker {
    let context: OpaquePointer

    package init(context: OpaquePointer) { unsafe self.context = unsafe context }

    package func takeNull() -> Int32 { SQLITE_OK }

    package func take(integer: Int64) -> Int32 {
        unsafe sqlite3_result_int64(context, integer)
        return SQLITE_OK
    }

    package func take(real: Double) -> Int32 {
        unsafe sqlite3_result_double(context, real)
        return SQLITE_OK
    }

    // SAFETY: SQLite has stored the row before it asks for the next one, so that what does not pass is not copied.
    package func take(text: UnsafeRawPointer, byteCount: Int32, isPassing: Bool) -> Int32 {
        unsafe sqlite3_result_text(
            context, text.assumingMemoryBound(to: CChar.self), byteCount, isPassing ? csqlite_transient() : nil)
        return SQLITE_OK
    }

    package func take(blob: UnsafeRawPointer, byteCount: Int32, isPassing: Bool) -> Int32 {
        unsafe sqlite3_result_blob(context, blob, byteCount, isPassing ? csqlite_transient() : nil)
        return SQLITE_OK
    }
}
