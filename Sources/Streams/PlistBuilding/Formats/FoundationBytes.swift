// Makes Foundation's types sources and destinations of bytes.

public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Data: ByteSource {
    /// Begins to read.
    public func open() throws(StreamError) -> ByteInput { ByteInput(Array(self)) }

    /// Calls a closure with the bytes.
    @inlinable
    public func withBytes(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) -> Bool {
        try body(bytes)
        return true
    }
}

extension Data: ByteSink {
    /// The minimum number of bytes for adopting memory instead of copying it.
    private static var adoptedByteCount: Int { 1 << 16 }

    /// Appends the bytes that a closure writes.
    public mutating func withOutput(_ body: (inout ByteOutput) throws(StreamError) -> Void) throws(StreamError) {
        var output = ByteOutput(capacity: ByteOutput.smallCapacity)
        try body(&output)
        // PERF: JSONTyped/encoder; large documents are not copied.
        if isEmpty, output.count >= Self.adoptedByteCount, let memory = unsafe output.takeMemory() {
            // SAFETY: the block was allocated by `malloc`, and the data owns it from now on.
            self = unsafe Data(
                bytesNoCopy: memory.baseAddress.unsafelyUnwrapped, count: memory.count, deallocator: .free)
            return
        }
        // SAFETY: the bytes are copied within the closure.
        output.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe append(contentsOf: $0) } }
    }
}

extension URL: ByteSource {
    /// Opens the file.
    ///
    /// - Throws: `cannotRead`, also if the URL isn't a file URL.
    public func open() throws(StreamError) -> ByteInput {
        guard isFileURL else {
            throw StreamError(.cannotRead, "cannot open \(absoluteString.debugDescription): expected the URL of a file")
        }
        return try FileSource(path: path).open()
    }
}
