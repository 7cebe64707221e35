// Rows of one column side by side: what a reader stores that goes through some records column by column.

import PlistStreaming

/// The rows of a lent column that a reader stores at once, before it goes on to the next column.
@unsafe
package struct ColumnRun {
    private let column: UnsafeMutablePointer<ColumnBuffer>
    /// The index of the first row behind those that the column had when it was lent.
    private let row: Int
    /// Where the values are, of 8 bytes each, or of one for Booleans.
    package let values: UnsafeMutableRawPointer

    /// Begins so many rows behind those that the column had when it was lent.
    package init(_ buffer: UnsafeMutableRawPointer, row: Int) {
        // SAFETY: builders keep the columns at their addresses; they have room for the rows that they lend.
        unsafe column = buffer.assumingMemoryBound(to: ColumnBuffer.self)
        unsafe self.row = row
        unsafe values = column.pointee.values + (column.pointee.count + row) * column.pointee.stride
    }

    /// Where the text of the next string goes, behind which so many bytes may be written.
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

    /// Adds the text of a string, which ends that of a row.
    package func append(_ utf8: RawSpan, _ index: Int) {
        unsafe ColumnBuffer.append(utf8, to: UnsafeMutableRawPointer(column), endAt: values + 8 * index)
    }

    /// Stores a null.
    package func storeNull(_ index: Int) {
        unsafe ColumnBuffer.storeNull(to: UnsafeMutableRawPointer(column), row: row + index)
    }

    /// Takes back the rows, of which so many may be stored.
    package func takeBack(_ count: Int) {
        let first = unsafe column.pointee.count + row
        for row in first..<first + count {
            let bit = UInt64(1) << UInt64(row % 64)
            guard unsafe column.pointee.nulls[row / 64] & bit != 0 else { continue }
            unsafe column.pointee.nulls[row / 64] &= ~bit
            unsafe column.pointee.nullCount -= 1
        }
        guard unsafe column.pointee.type == .string else { return }
        // SAFETY: the row before has an end, as every row of strings has.
        unsafe column.pointee.textCount =
            first == 0 ? 0 : Int(column.pointee.values.load(fromByteOffset: 8 * (first - 1), as: Int64.self))
    }
}
