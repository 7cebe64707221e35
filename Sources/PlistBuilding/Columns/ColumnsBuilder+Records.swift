// Lending the memory of columns to a reader that stores plain members itself, and taking the rows it has stored.

import PlistStreaming

extension ColumnsBuilder {
    // PERF: JSONRecords/columns; inlinable, so that a reader of another package calls the builder itself.
    /// The memory of the columns, lent to the readers of this package.
    @inlinable
    public static var memoryPort: MemoryPort? {
        // SAFETY: the functions take the address of a sink of this type, which is valid during the call.
        unsafe MemoryPort(
            lendingOf: Self.self,
            records: (
                { sink throws(StreamError) in
                    try unsafe sink.assumingMemoryBound(to: Self.self).pointee.lendColumns()
                },
                { sink throws(StreamError) in try unsafe sink.assumingMemoryBound(to: Self.self).pointee.takeRows() }
            ), arrays: nil)
    }

    /// Lends the memory of the columns to a reader that stores plain members itself.
    @usableFromInline
    mutating func lendColumns() throws(StreamError) -> RecordPort? {
        guard !isLent else { throw notInTurn() }
        guard depth == rowDepth - 1, names.areFlat, unsafe columns.count == members.count, depth < depthLimit else {
            return nil
        }
        var room = Int.max
        for index in unsafe columns.indices {
            if unsafe columns[index].count == columns[index].capacity {
                unsafe columns[index].grow(expecting: records.pointee.expectedCount)
            }
            unsafe room = min(room, columns[index].capacity - columns[index].count)
            // SAFETY: the columns stay at their addresses as long as the builder lives.
            let column = unsafe (columns.baseAddress.unsafelyUnwrapped + index)
            let values = unsafe column.pointee.values
            unsafe members.start[index].offset = Int(bitPattern: values) + row * column.pointee.stride
            unsafe members.start[index].column =
                column.pointee.type == .string ? UnsafeMutableRawPointer(column) : nil
        }
        guard room < .max else { return nil }
        unsafe records.pointee.members = members.start
        unsafe records.pointee.memberCount = members.count
        unsafe records.pointee.table = members.table
        unsafe records.pointee.longestName = members.longestName
        unsafe records.pointee.base = 0
        unsafe records.pointee.stride = 8
        unsafe records.pointee.room = room
        unsafe records.pointee.complete = members.count == 64 ? .max : 1 << UInt64(members.count) - 1
        unsafe (records.pointee.doneCount, records.pointee.isOpen) = (0, false)
        // What a reader stores goes on behind rows that are complete.
        abandonedRowCount = nil
        isLent = true
        return unsafe RecordPort(UnsafeMutableRawPointer(records))
    }

    /// Takes the rows that a reader has stored; the last one may be open.
    @usableFromInline
    mutating func takeRows() throws(StreamError) {
        guard isLent, unsafe (0...records.pointee.room).contains(records.pointee.doneCount) else { throw notInTurn() }
        isLent = false
        let doneCount = unsafe records.pointee.doneCount
        row += doneCount
        for index in unsafe columns.indices { unsafe columns[index].count += doneCount }
        guard unsafe records.pointee.isOpen else { return }
        (depth, current, inner) = (depth + 1, -1, -1)
        unsafe next = records.pointee.next
        let seen = unsafe records.pointee.seen
        filled = seen.nonzeroBitCount
        for index in unsafe columns.indices where seen & 1 << UInt64(index) != 0 { unsafe columns[index].count += 1 }
    }

    private mutating func notInTurn() -> StreamError {
        located(.misuse, "memory was lent and taken back out of turn, or more of it filled than there was")
    }
}
