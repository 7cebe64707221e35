// The bytes of a whole file in memory, for formats that cannot be read from the front.

import PlistStreaming

/// The bytes of a whole file or another descriptor, in memory.
@usableFromInline
struct WholeInput: ~Copyable {
    @usableFromInline var memory: ByteOutput

    /// Reads to the end.
    ///
    /// - Throws: `cannotRead`, and `limitExceeded` for more bytes than the limit.
    @usableFromInline
    init(_ file: borrowing InputFile, limit: Int) throws(StreamError) {
        var memory = ByteOutput(capacity: min(max(file.byteCount ?? 0, 4_096), limit))
        try file.readChunks { (chunk) throws(StreamError) in
            guard chunk.byteCount <= limit - memory.count else {
                throw StreamError(
                    .limitExceeded, "more than \(limit) bytes of input", position: StreamPosition(inBinary: limit))
            }
            try memory.append(chunk)
        }
        self.memory = memory
    }

    /// Calls a closure with the bytes.
    @inlinable
    func withBytes<Value>(_ body: (RawSpan) throws(StreamError) -> Value) throws(StreamError) -> Value {
        try memory.withBytes(body)
    }
}
