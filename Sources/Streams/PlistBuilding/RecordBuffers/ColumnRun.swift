// Stores adjacent rows of one column, for readers that process some records column by column.

import PlistStreaming

/// The rows of a column that a reader stores at once before it continues with the next column.
@unsafe
package struct ColumnRun {
    private let column: UnsafeMutablePointer<ColumnBuffer>
    /// The index of the first row, counted from the end of the rows that the column had when it was provided.
    private let row: Int
    /// The address of the values, which have 8 bytes each, or one byte for Booleans.
    package let values: UnsafeMutableRawPointer

    /// Begins at a number of rows after the rows that the column had when it was provided.
    package init(_ buffer: UnsafeMutableRawPointer, row: Int) {
        // SAFETY: builders keep the columns at their addresses, and the columns have space for the rows that they provide.
        unsafe column = buffer.assumingMemoryBound(to: ColumnBuffer.self)
        unsafe self.row = row
        unsafe values = column.pointee.values + (column.pointee.count + row) * column.pointee.stride
    }

    /// Returns the address for the text of the next string, with space for a number of bytes.
    package func textEnd(reserving byteCount: Int) -> UnsafeMutableRawPointer {
        if unsafe column.pointee.textCapacity - column.pointee.textCount < byteCount {
            unsafe column.pointee.growText(by: byteCount)
        }
        return unsafe column.pointee.text + column.pointee.textCount
    }

    /// The number of bytes of the text before the next string.
    package var textCount: Int {
        get { unsafe column.pointee.textCount }
        nonmutating set { unsafe column.pointee.textCount = newValue }
    }

    /// Adds the text of a string, which completes a row.
    package func append(_ utf8: RawSpan, _ index: Int) {
        unsafe ColumnBuffer.append(utf8, to: UnsafeMutableRawPointer(column), endAt: values + 8 * index)
    }

    /// Stores a null.
    package func storeNull(_ index: Int) {
        unsafe ColumnBuffer.storeNull(to: UnsafeMutableRawPointer(column), row: row + index)
    }

    /// Undoes the storage of a number of rows.
    package func takeBack(_ count: Int) {
        let first = unsafe column.pointee.count + row
        for row in first..<first + count {
            let bit = UInt64(1) << UInt64(row % 64)
            guard unsafe column.pointee.nulls[row / 64] & bit != 0 else { continue }
            unsafe column.pointee.nulls[row / 64] &= ~bit
            unsafe column.pointee.nullCount -= 1
        }
        guard unsafe column.pointee.type == .string else { return }
        // SAFETY: every row of strings has an end, including the previous row.
        unsafe column.pointee.textCount =
            first == 0 ? 0 : Int(column.pointee.values.load(fromByteOffset: 8 * (first - 1), as: Int64.self))
    }
}
