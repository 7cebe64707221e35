// Provides record buffers to readers that store plain members of columns themselves, and takes the stored rows.

import PlistStreaming

extension ColumnsBuilder {
    // PERF: JSONRecords/columns; inlinable, so that a reader of another package calls the builder directly.
    /// The port that provides the memory of the columns to the readers of this package.
    @inlinable
    public static var memoryPort: MemoryPort? {
        // SAFETY: the functions take the address of a sink of this type, which is valid during the call.
        unsafe MemoryPort(
            recordBuffersOf: Self.self,
            begin: { (sink, kind) throws(StreamError) in
                try unsafe sink.assumingMemoryBound(to: Self.self).pointee.beginRecordBuffer(of: kind)
            },
            end: { (sink) throws(StreamError) in
                try unsafe sink.assumingMemoryBound(to: Self.self).pointee.endRecordBuffer()
            },
            expected: { sink in unsafe sink.assumingMemoryBound(to: Self.self).pointee.expectedValue },
            checkHeader: { sink, names in
                unsafe sink.assumingMemoryBound(to: Self.self).pointee.problem(ofHeader: names)
            },
            // Rows without any column are valid: all their values are null, as declared.
            watchNames: { _, _ in })
    }

    /// Returns the problem in a header, if the column names are those of the next rows.
    @usableFromInline
    func problem(ofHeader header: [String]) -> NameProblem? {
        guard depth == rowDepth - 1 else { return nil }
        return NameCheck(known: names.ofRows, owner: "column to build").problem(ofHeader: header)
    }

    /// The next expected value: an array of rows at the depth of the stream, dictionaries as rows, and the types of columns.
    @usableFromInline
    var expectedValue: ExpectedValue {
        guard depth >= rowDepth else { return ExpectedValue(depth == rowDepth - 1 ? .dictionary : .array) }
        if inner >= 0 { return ExpectedValue(.dictionary) }
        guard depth == levelDepth, current >= 0 else { return ExpectedValue(.nothing) }
        let kind: ExpectedValue.Kind =
            switch unsafe columns[current].type {
            case .integer: .integer
            case .real: .real
            case .bool: .bool
            case .string: .text
            }
        return ExpectedValue(kind, isOptional: true)
    }

    /// Sets the properties that are the same for all stored rows.
    func prepareRecordBuffer() {
        unsafe records.pointee.take(members)
        unsafe records.pointee.complete = RecordState.bits(members.count)
        unsafe records.pointee.skipsUnknown = true
        unsafe records.pointee.stride = 8
    }

    /// Provides the memory of the columns to a reader that stores plain members itself.
    @usableFromInline
    mutating func beginRecordBuffer(of kind: RecordBufferKind) throws(StreamError) -> RecordPort? {
        guard unsafe records.pointee.bufferKind == nil else { throw located(.misuse, RecordBufferKind.misuseMessage) }
        guard kind == .records, depth == rowDepth - 1, names.areFlat, unsafe columns.count == members.count,
            depth < depthLimit
        else { return nil }
        var capacity = Int.max
        for index in unsafe columns.indices {
            // A row that messages outside the grammar left open doesn't count.
            guard unsafe columns[index].count == row else { return nil }
            if unsafe row == columns[index].capacity {
                unsafe columns[index].grow(expecting: records.pointee.expectedCount)
            }
            unsafe capacity = min(capacity, columns[index].capacity - row)
            // SAFETY: the columns stay at their addresses as long as the builder lives.
            let column = unsafe (columns.baseAddress.unsafelyUnwrapped + index)
            unsafe members.start[index].column = UnsafeMutableRawPointer(column)
            unsafe members.start[index].offset =
                Int(bitPattern: column.pointee.values) + row * column.pointee.stride
        }
        guard capacity < .max else { return nil }
        unsafe records.pointee.capacity = capacity
        unsafe records.pointee.depth = depthLimit - depth - 1
        // The reader stores its rows after the complete ones.
        abandonedRowCount = nil
        return unsafe RecordState.begin(kind, records)
    }

    /// Takes the rows that a reader has stored. The last row may be open.
    @usableFromInline
    mutating func endRecordBuffer() throws(StreamError) {
        guard unsafe RecordState.end(records) != nil else { throw located(.misuse, RecordBufferKind.misuseMessage) }
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
}
