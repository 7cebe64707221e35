// The destinations for the output of formats: memory, files and descriptors.

/// A destination of bytes: `[UInt8]`, a file or a descriptor. PlistBuilding adds `Data`.
public protocol ByteSink {
    /// Calls a closure with an empty output, and keeps the appended bytes if the closure doesn't throw.
    ///
    /// - Throws: The errors of the closure; ``StreamError/Kind/cannotWrite``.
    mutating func withOutput(_ body: (inout ByteOutput) throws(StreamError) -> Void) throws(StreamError)
}

extension [UInt8]: ByteSink {
    /// Appends the bytes that a closure writes.
    public mutating func withOutput(_ body: (inout ByteOutput) throws(StreamError) -> Void) throws(StreamError) {
        var output = ByteOutput(capacity: ByteOutput.smallCapacity)
        try body(&output)
        // SAFETY: the bytes are copied within the closures.
        output.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe append(contentsOf: $0) } }
    }
}

// PERF: JSONTyped/documents; text is copied and checked once.
/// A sink that converts the written bytes to a string.
@usableFromInline
package struct StringSink: ByteSink {
    /// The text, or nil if the written bytes aren't UTF-8.
    @usableFromInline package private(set) var text: String?

    @usableFromInline
    package init() { text = nil }

    @usableFromInline
    package mutating func withOutput(
        _ body: (inout ByteOutput) throws(StreamError) -> Void
    ) throws(StreamError) {
        var output = ByteOutput(capacity: ByteOutput.smallCapacity)
        try body(&output)
        text = output.withBytes { String(validating: $0) }
    }
}

/// A sink whose bytes are stored elsewhere, so that a copy of the sink has the same destination: a file or a descriptor.
public protocol ExternalByteSink: ByteSink {}

/// A file that is replaced when all of its new contents are written.
///
/// After an error the old file stays. Links are followed, and the mode and the owner stay.
public struct FileSink: ExternalByteSink, Sendable {
    /// The path; `-` is standard output.
    public var path: String

    /// Creates a sink.
    public init(path: String) { self.path = path }

    /// Replaces the file with the bytes that a closure writes.
    public mutating func withOutput(_ body: (inout ByteOutput) throws(StreamError) -> Void) throws(StreamError) {
        let file = try OutputFile(path: path)
        var output = ByteOutput(descriptor: file.descriptor)
        try body(&output)
        try output.flush()
        try file.commit()
    }
}

/// A descriptor that the caller closes, such as standard output.
public struct DescriptorSink: ExternalByteSink, Sendable {
    /// The number of the descriptor.
    public var descriptor: Int32

    /// Creates a sink.
    public init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Writes the bytes that a closure appends. After an error, a part of them may have been written.
    public mutating func withOutput(_ body: (inout ByteOutput) throws(StreamError) -> Void) throws(StreamError) {
        var output = ByteOutput(descriptor: descriptor)
        try body(&output)
        try output.flush()
    }
}

extension ExternalByteSink where Self == FileSink {
    /// The file at a path, which is replaced when all of its new contents are written.
    public static func file(_ path: String) -> FileSink { FileSink(path: path) }
}

extension ExternalByteSink where Self == DescriptorSink {
    /// A descriptor that the caller closes, such as 1, standard output.
    public static func descriptor(_ number: Int32) -> DescriptorSink { DescriptorSink(number) }
}
