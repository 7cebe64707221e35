// The bytes of a whole file in memory, for the binary form, which cannot be read from the front.

import PlistStreaming

/// The bytes of a binary property list from a file or another descriptor, in memory.
@usableFromInline
struct WholeInput: ~Copyable {
    @usableFromInline var memory: ByteOutput

    /// Reads to the end.
    ///
    /// - Throws: `cannotRead`, `limitExceeded` for more bytes than the limit, and what is wrong with the first bytes.
    @usableFromInline
    init(_ file: borrowing InputFile, limit: Int) throws(StreamError) {
        var memory = ByteOutput(capacity: min(max(file.byteCount ?? 0, 4_096), limit))
        try file.readChunks { (chunk) throws(StreamError) in
            let room = limit - memory.count
            try memory.append(chunk.extracting(0..<min(chunk.byteCount, room < .max ? room + 1 : room)))
            try memory.withBytes { (bytes) throws(StreamError) in
                try BinaryObjectTable.checkBeginning(bytes, limit: limit)
            }
        }
        self.memory = memory
    }

    /// Calls a closure with the bytes.
    @inlinable
    func withBytes<Value>(_ body: (RawSpan) throws(StreamError) -> Value) throws(StreamError) -> Value {
        try memory.withBytes(body)
    }
}
