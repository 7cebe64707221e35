// The members of one dictionary that a writer sorts: their names, and the offsets of their text.

import PlistStreaming

/// The members of a dictionary in the order of writing, to be sorted by name.
struct MemberOrder {
    private var members: [(name: [UInt8], start: Int)] = []

    /// Notes a member whose text begins at an offset of the output; `apply` writes the separators.
    mutating func add(_ name: RawSpan, at start: Int) {
        members.append((Array(copying: name), start))
    }

    /// Sorts the members at the end of the output, with commas between them.
    ///
    /// Members of the same name keep their order, so that the last one remains the last.
    /// - Complexity: O(*n* log *n*) comparisons; copies the members' text twice.
    func apply(to output: inout ByteOutput) throws(StreamError) {
        guard let first = members.first, members.count > 1 else { return }
        let text = output.withBytes { bytes in Array(copying: bytes.extracting(first.start..<bytes.byteCount)) }
        let ends = members.dropFirst().map { $0.start - first.start } + [text.count]
        let order = members.indices.sorted { left, right in
            if members[left].name == members[right].name { return left < right }
            return members[left].name.lexicographicallyPrecedes(members[right].name)
        }
        output.truncate(to: first.start)
        for (position, index) in order.enumerated() {
            if position > 0 { try output.append(UInt8(ascii: ",")) }
            let range = members[index].start - first.start..<ends[index]
            try unsafe text.withUnsafeBufferPointer { buffer throws(StreamError) in
                // SAFETY: the span does not leave the closure.
                try output.append(unsafe UnsafeRawBufferPointer(buffer).bytes.extracting(range))
            }
        }
    }
}
