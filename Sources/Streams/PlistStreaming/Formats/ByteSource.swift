// The sources of bytes that formats read: bytes in memory, text, files and descriptors.

/// A source of bytes: `[UInt8]`, `ArraySlice<UInt8>`, `String`, `Substring`, a file or a descriptor. PlistBuilding adds `Data`
/// and `URL`.
///
/// ```swift
/// let tasks = try JSON.decode([Task].self, from: .file("tasks.json"))
/// ```
public protocol ByteSource {
    /// Begins to read.
    ///
    /// - Throws: ``StreamError/Kind/cannotRead``.
    func open() throws(StreamError) -> ByteInput

    /// Calls a closure with all bytes if they are in memory.
    ///
    /// - Returns: True after the call; false, without a call, if the bytes have to be read. The default returns false.
    func withBytes(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) -> Bool

    /// A Boolean value that indicates whether the bytes are the UTF-8 of a string, even if they declare another encoding. False
    /// by default.
    var isText: Bool { get }
}

extension ByteSource {
    /// Returns false.
    @inlinable
    public func withBytes(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) -> Bool { false }

    /// False.
    public var isText: Bool { false }

    /// Calls a closure with all bytes, which are collected if they aren't in memory.
    ///
    /// - Parameters:
    ///   - limit: The largest number of bytes to collect.
    ///   - body: Receives the bytes, which are valid during the call.
    /// - Throws: The errors of the closure; ``StreamError/Kind/cannotRead``; ``StreamError/Kind/limitExceeded`` if the source
    ///   has more bytes.
    @inlinable
    public func withAllBytes<Result>(
        limit: Int = .max, _ body: (RawSpan) throws(StreamError) -> Result
    ) throws(StreamError) -> Result {
        var result: Result?
        if try withBytes({ (bytes) throws(StreamError) in result = try body(bytes) }), let result { return result }
        return try collectedBytes(limit: limit).withBytes(body)
    }

    @usableFromInline
    func collectedBytes(limit: Int) throws(StreamError) -> WholeInput {
        try WholeInput(self, limit: limit) { (bytes) throws(StreamError) in
            guard bytes.byteCount <= limit else { throw StreamError(.limitExceeded, "more than \(limit) bytes") }
        }
    }

    /// Calls a closure with all bytes if they are in memory, and with one chunk after the other otherwise.
    ///
    /// - Parameter body: Receives bytes, which are valid during the call.
    /// - Throws: The errors of the closure; ``StreamError/Kind/cannotRead``.
    @inlinable
    public func forEachChunk(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) {
        if try withBytes(body) { return }
        var input = try open()
        while try input.next(body) {}
    }
}

// PERF: JSONTyped/documents; readers are specialized for this type and the usual builders, for any source.
/// A type-erased source.
@usableFromInline
package struct AnyByteSource: ByteSource {
    private let source: any ByteSource

    @usableFromInline
    package init(_ source: some ByteSource) { self.source = source }

    @usableFromInline
    package func open() throws(StreamError) -> ByteInput { try source.open() }

    @usableFromInline
    package func withBytes(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) -> Bool {
        try source.withBytes(body)
    }

    @usableFromInline
    package var isText: Bool { source.isText }
}

/// Bytes that are read chunk by chunk.
///
/// Create an input from a closure to add your own source, such as decompression of another input.
public struct ByteInput: ~Copyable {
    /// Calls a closure with the next chunk and returns true, or returns false at the end.
    public typealias Next = (_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) -> Bool

    /// The number of bytes in a chunk of a file or of memory.
    static let chunkByteCount = 256 << 10

    private let advance: Next
    /// The number of bytes, if it is known before they are read.
    public let byteCount: Int?

    /// Creates an input of chunks that a closure provides; a chunk may be of any length.
    public init(byteCount: Int? = nil, _ next: @escaping Next) {
        self.byteCount = byteCount
        advance = next
    }

    /// Creates an input of bytes in memory.
    public init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    /// Creates an input of bytes in memory.
    public init(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        self.init(byteCount: bytes.count) { (body) throws(StreamError) in
            if rest.isEmpty { return false }
            let chunk = rest.prefix(Self.chunkByteCount)
            rest = rest.dropFirst(chunk.count)
            try chunk.withRawSpan(body)
            return true
        }
    }

    /// Creates an input of a file or descriptor.
    init(_ file: consuming InputFile) {
        let byteCount = file.byteCount
        let chunks = FileChunks(file)
        self.init(byteCount: byteCount) { (body) throws(StreamError) in try chunks.next(body) }
    }

    /// Calls a closure with the next chunk, whose bytes are valid during the call.
    ///
    /// - Returns: False at the end, without a call.
    /// - Throws: ``StreamError/Kind/cannotRead``, or the errors of the closure.
    public mutating func next(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) -> Bool {
        try advance(body)
    }
}

/// A file and the buffer for its chunks.
@safe
private final class FileChunks {
    private let file: InputFile
    // SAFETY: allocated here, freed in `deinit`, and accessible to others only during calls of `next`.
    private let buffer: UnsafeMutableRawBufferPointer

    init(_ file: consuming InputFile) {
        self.file = file
        unsafe buffer = .allocate(byteCount: ByteInput.chunkByteCount, alignment: 64)
    }

    deinit { unsafe buffer.deallocate() }

    func next(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) -> Bool {
        let count = try unsafe file.readChunk(buffer)
        if count == 0 { return false }
        // SAFETY: the first `count` bytes were just read, and the span is valid during the call.
        try body(unsafe UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes)
        return true
    }
}

/// An input whose first bytes were already read, to detect its format.
package final class InputWithBeginning: ByteSource {
    /// The first bytes, or all bytes if the input is shorter.
    package let beginning: [UInt8]
    private var rest: ByteInput
    /// A Boolean value that indicates whether the beginning is the whole input. Without it, a terminal would wait for more
    /// input after its end.
    private let isAll: Bool

    /// Opens a source and reads its first bytes.
    package init(_ source: some ByteSource, byteCount: Int) throws(StreamError) {
        var input = try source.open()
        var bytes: [UInt8] = []
        var isAll = false
        while bytes.count < byteCount, !isAll { isAll = try !input.next { bytes += Array(copying: $0) } }
        (beginning, self.isAll) = (bytes, isAll)
        rest = input
    }

    /// Begins to read with the first bytes. Call this function only once.
    package func open() throws(StreamError) -> ByteInput {
        var isFirst = true
        return ByteInput { (body) throws(StreamError) in
            guard isFirst, !self.beginning.isEmpty else { return self.isAll ? false : try self.rest.next(body) }
            isFirst = false
            try self.beginning.withRawSpan(body)
            return true
        }
    }
}

// MARK: - Sources

extension [UInt8]: ByteSource {
    /// Begins to read.
    public func open() throws(StreamError) -> ByteInput { ByteInput(self) }

    // PERF: JSONTyped/documents; inlinable, so that readers specialize.
    /// Calls a closure with the bytes.
    @inlinable
    public func withBytes(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) -> Bool {
        try withRawSpan(body)
        return true
    }
}

extension ArraySlice<UInt8>: ByteSource {
    /// Begins to read.
    public func open() throws(StreamError) -> ByteInput { ByteInput(self) }

    // PERF: JSONTyped/documents; inlinable, so that readers specialize.
    /// Calls a closure with the bytes.
    @inlinable
    public func withBytes(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) -> Bool {
        try withRawSpan(body)
        return true
    }
}

extension String: ByteSource {
    /// Begins to read.
    public func open() throws(StreamError) -> ByteInput { ByteInput(Array(utf8)) }

    /// Calls a closure with the UTF-8 of the string.
    public func withBytes(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) -> Bool {
        try withUTF8Span(body)
        return true
    }

    /// True.
    public var isText: Bool { true }
}

extension Substring: ByteSource {
    /// Begins to read.
    public func open() throws(StreamError) -> ByteInput { ByteInput(Array(utf8)) }

    /// Calls a closure with the UTF-8 of the string.
    public func withBytes(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) -> Bool {
        try String(self).withUTF8Span(body)
        return true
    }

    /// True.
    public var isText: Bool { true }
}

/// A file, opened when a format begins to read it.
public struct FileSource: ByteSource, Sendable {
    /// The path.
    public var path: String

    /// Creates a source.
    public init(path: String) { self.path = path }

    /// Opens the file.
    ///
    /// - Throws: ``StreamError/Kind/cannotRead``.
    public func open() throws(StreamError) -> ByteInput { ByteInput(try InputFile(path: path)) }
}

/// A descriptor that the caller closes, such as standard input.
public struct DescriptorSource: ByteSource, Sendable {
    /// The number of the descriptor.
    public var descriptor: Int32

    /// Creates a source.
    public init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Begins to read at the current offset of the descriptor.
    public func open() throws(StreamError) -> ByteInput { ByteInput(InputFile(descriptor: descriptor)) }
}

extension ByteSource where Self == FileSource {
    /// The file at a path.
    public static func file(_ path: String) -> FileSource { FileSource(path: path) }
}

extension ByteSource where Self == DescriptorSource {
    /// A descriptor that the caller closes, such as 0, standard input.
    public static func descriptor(_ number: Int32) -> DescriptorSource { DescriptorSource(number) }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import StreamingSystem
import InClassTesting

enum ByteSourceTests {}

extension ByteSourceTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsAllBytesOfEverySource": testReadsAllBytesOfEverySource,
            "testReadsMemoryInPieces": testReadsMemoryInPieces,
            "testRereadsTheBeginning": testRereadsTheBeginning,
            "testCollectsUpToALimit": testCollectsUpToALimit,
        ]
    }

    private static let text = "größer \u{0} 🙂"

    private static func chunks(of source: some ByteSource) throws -> [[UInt8]] {
        var chunks: [[UInt8]] = []
        var input = try source.open()
        while try input.next({ chunks.append(Array(copying: $0)) }) {}
        return chunks
    }

    /// A source whose chunks have one byte each, except for an empty chunk.
    private struct Pieces: ByteSource {
        func open() -> ByteInput {
            var bytes = Array(text.utf8)
            var hasPaused = false
            return ByteInput { (body) throws(StreamError) in
                if bytes.isEmpty { return false }
                if !hasPaused {
                    hasPaused = true
                    try ([] as [UInt8]).withRawSpan(body)
                    return true
                }
                let byte = [bytes.removeFirst()]
                try byte.withRawSpan(body)
                return true
            }
        }
    }

    private static func testReadsAllBytesOfEverySource() throws {
        let bytes = Array(text.utf8)
        let path = try temporaryDirectory() + "/text"
        var file = FileSink(path: path)
        try file.withOutput { (output) throws(StreamError) in
            try bytes.withRawSpan { (bytes) throws(StreamError) in try output.append(bytes) }
        }
        // SAFETY: the path is a string that outlives the call.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let around = ("<" + text + ">").dropFirst().dropLast()
        let sources: [any ByteSource] = [
            bytes, ([0] + bytes)[1...], text, around, .file(path), .descriptor(descriptor), Pieces(),
        ]
        for source in sources {
            if source is DescriptorSource { lseek(descriptor, 0, SEEK_SET) }
            expectEqual(try source.withAllBytes { Array(copying: $0) }, bytes, "all bytes of \(type(of: source))")
            if source is DescriptorSource { lseek(descriptor, 0, SEEK_SET) }
            expectEqual(try chunks(of: source).flatMap(\.self), bytes, "chunks of \(type(of: source))")
            expectEqual(source.isText, source is String || source is Substring, "text of \(type(of: source))")
        }
        let missing = expectThrows(StreamError.self, "no file") {
            try FileSource(path: path + "x").withAllBytes { _ in fail("got bytes") }
        }
        expectEqual(missing?.kind, .cannotRead, "kind")
    }

    private static func testReadsMemoryInPieces() throws {
        let bytes = [UInt8](repeating: 7, count: ByteInput.chunkByteCount + 1)
        expectEqual(try chunks(of: bytes).map(\.count), [ByteInput.chunkByteCount, 1], "chunks")
        expectEqual(try bytes.open().byteCount, bytes.count, "bytes")
        expectEqual(try chunks(of: [] as [UInt8]), [], "chunks of nothing")
    }

    private static func testRereadsTheBeginning() throws {
        for count in [0, 1, 3, 100] {
            let input = try InputWithBeginning(Pieces(), byteCount: count)
            expectEqual(input.beginning, Array(text.utf8.prefix(count)), "first bytes")
            expectEqual(try chunks(of: input).flatMap(\.self), Array(text.utf8), "all bytes")
        }
    }

    private static func testCollectsUpToALimit() throws {
        let count = text.utf8.count
        expectEqual(try Pieces().withAllBytes(limit: count) { $0.byteCount }, count, "bytes")
        let error = expectThrows(StreamError.self, "a lower limit") {
            try Pieces().withAllBytes(limit: count - 1) { _ in fail("got too many bytes") }
        }
        expectEqual(error?.kind, .limitExceeded, "kind")
    }
}
#endif
