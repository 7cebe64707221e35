// Files and other descriptors, read in chunks into one buffer that is used again.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A file or another descriptor that is read in chunks.
///
/// Chunks are read and not mapped: that is as fast, takes a fixed amount of memory, and a file that another process
/// shortens meanwhile is a short file instead of a crash.
@safe
public struct InputFile: ~Copyable {
    private let descriptor: Int32
    private let isOwned: Bool
    /// Gets the number of bytes of each chunk behind which reading goes on.
    private let noteBytes: ((Int) -> Void)?
    private let ahead = Ahead()

    /// What was looked at before it is read.
    private final class Ahead {
        var bytes: [UInt8] = []
        /// Whether nothing comes behind these bytes.
        var isAll = false
    }

    /// Opens a file for reading.
    ///
    /// - Throws: ``StreamError/Kind/cannotRead``.
    public init(path: String) throws(StreamError) { try self.init(path: path, noteBytes: nil) }

    /// Opens a file whose reader tells its sink of all errors, that it cannot be opened among them.
    @usableFromInline
    package init(path: String, abandon: (StreamError) -> Void) throws(StreamError) {
        do throws(StreamError) { try self.init(path: path) } catch {
            abandon(error)
            throw error
        }
    }

    /// Opens a file for reading, of which somebody is told how far it is read.
    package init(path: String, noteBytes: ((Int) -> Void)?) throws(StreamError) {
        self.noteBytes = noteBytes
        // SAFETY: the path is a string that outlives the call.
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        isOwned = true
        guard descriptor >= 0 else {
            throw StreamError(.cannotRead, "cannot open \(path.debugDescription): \(ByteOutput.systemMessage(errno))")
        }
    }

    /// Reads from a descriptor that stays the caller's to close, such as standard input.
    public init(descriptor: Int32) { self.init(descriptor: descriptor, noteBytes: nil) }

    package init(descriptor: Int32, noteBytes: ((Int) -> Void)?) {
        self.noteBytes = noteBytes
        self.descriptor = descriptor
        isOwned = false
    }

    deinit {
        if isOwned && descriptor >= 0 { close(descriptor) }
    }

    /// The size of a regular file in bytes, nil for pipes and terminals.
    public var byteCount: Int? {
        var status = stat()
        // SAFETY: the structure lives on the stack for the call.
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    /// Reads from where the descriptor is to the end and hands over each chunk, whose bytes are valid for the call.
    ///
    /// A chunk's bytes are all the memory used. Pipes deliver less at a time.
    /// - Throws: ``StreamError/Kind/cannotRead``, or what the closure throws; for errors of other types,
    ///   ``StreamError/Kind/receiverFailed`` with the error as its cause.
    public func readChunks<Failure: Error>(
        of chunkByteCount: Int = 256 << 10,
        _ body: (RawSpan) throws(Failure) -> Void
    ) throws(StreamError) {
        let capacity = max(1, chunkByteCount)
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 64)
        defer { unsafe buffer.deallocate() }
        while true {
            // SAFETY: the buffer has `capacity` bytes.
            let count = try unsafe readChunk(UnsafeMutableRawBufferPointer(start: buffer, count: capacity))
            if count == 0 { return }
            do throws(Failure) {
                // SAFETY: the first `count` bytes were just read, and the span does not leave the closure.
                try body(unsafe UnsafeRawBufferPointer(start: buffer, count: count).bytes)
            } catch {
                // Those with a position are about the bytes.
                throw error as? StreamError ?? StreamError(ofReceiver: error)
            }
            noteBytes?(count)
        }
    }

    /// Reads the next bytes into memory that has at least one, and returns how many there are; 0 at the end. Those that were
    /// looked at come first.
    package func readChunk(_ buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Int {
        if ahead.bytes.isEmpty { return ahead.isAll ? 0 : try unsafe readDescriptor(into: buffer) }
        let count = min(ahead.bytes.count, buffer.count)
        // SAFETY: the buffer has room for so many.
        unsafe buffer.copyBytes(from: ahead.bytes[..<count])
        ahead.bytes.removeFirst(count)
        return count
    }

    private func readDescriptor(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Int {
        while true {
            // SAFETY: the count is the buffer's.
            let count = unsafe read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else {
                throw StreamError(.cannotRead, "cannot read: \(ByteOutput.systemMessage(errno))")
            }
        }
    }

    /// Calls a closure with the bytes that are read next, all of them if they are fewer; they are read all the same.
    ///
    /// Waits until a pipe has them or is at its end.
    /// - Throws: ``StreamError/Kind/cannotRead``.
    package func withNextBytes<Value>(_ byteCount: Int, _ body: (RawSpan) -> Value) throws(StreamError) -> Value {
        var buffer = [UInt8](repeating: 0, count: byteCount)
        while ahead.bytes.count < byteCount, !ahead.isAll {
            let room = byteCount - ahead.bytes.count
            let count = try readNext(room, &buffer)
            ahead.bytes += buffer[..<count]
            ahead.isAll = count == 0
        }
        return unsafe ahead.bytes.withUnsafeBytes { bytes in
            // SAFETY: the span does not leave the closure.
            body(unsafe UnsafeRawBufferPointer(rebasing: bytes.prefix(byteCount)).bytes)
        }
    }

    private func readNext(_ byteCount: Int, _ buffer: inout [UInt8]) throws(StreamError) -> Int {
        let result: Result<Int, StreamError> = unsafe buffer.withUnsafeMutableBytes { buffer in
            // SAFETY: the part lies within the buffer.
            do throws(StreamError) {
                return .success(
                    try unsafe readDescriptor(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(byteCount))))
            } catch { return .failure(error) }
        }
        return try result.get()
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum InputFileTests {}

extension InputFileTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsChunksToTheEnd": testReadsChunksToTheEnd,
            "testReportsWhatItCannotRead": testReportsWhatItCannotRead,
            "testPassesOnErrorsOfTheClosure": testPassesOnErrorsOfTheClosure,
            "testReadsWhatWasLookedAt": testReadsWhatWasLookedAt,
            "testTellsWhoeverWaitsForIt": testTellsWhoeverWaitsForIt,
        ]
    }

    private static func testReadsChunksToTheEnd() throws {
        var ends: [Int32] = [-1, -1]
        // SAFETY: the array has room for the two descriptors.
        try requireEqual(unsafe pipe(&ends), 0, "pipe")
        defer { close(ends[0]) }
        var output = ByteOutput(descriptor: ends[1])
        try "0123456789".withUTF8Span { try output.append($0) }
        try output.flush()
        close(ends[1])
        let file = InputFile(descriptor: ends[0])
        expectNil(file.byteCount, "the size of a pipe")
        var chunks: [[UInt8]] = []
        try file.readChunks(of: 4) { chunk in chunks.append(Array(copying: chunk)) }
        expectEqual(chunks.map(\.count), [4, 4, 2], "sizes of chunks")
        expectEqual(chunks.flatMap { $0 }, Array("0123456789".utf8), "bytes")
    }

    private static func testPassesOnErrorsOfTheClosure() throws {
        let path = try temporaryDirectory() + "/file"
        // SAFETY: the path is a string that outlives the call.
        let descriptor = unsafe open(path, O_CREAT | O_WRONLY, 0o600)
        var output = ByteOutput(descriptor: descriptor)
        try output.append(0x61)
        try output.flush()
        close(descriptor)
        let error = expectThrows(StreamError.self, "an error of its own") {
            try InputFile(path: path).readChunks { _ in throw CancellationError() }
        }
        expectTrue(error?.cause is CancellationError, "the cause")
        let stop = expectThrows(StreamError.self, "an error of a stream") {
            try InputFile(path: path).readChunks { _ in throw StreamError.stopRequest() }
        }
        expectTrue(stop?.isStopRequest ?? false, "is a stop request")
    }

    private static func testReportsWhatItCannotRead() {
        let missing = expectThrows(StreamError.self, "a missing file") { _ = try InputFile(path: "/nonexistent/file") }
        expectEqual(missing?.kind, .cannotRead, "kind of a missing file")
        let directory = expectThrows(StreamError.self, "a directory") {
            try InputFile(path: "/").readChunks { _ in fail("got bytes of a directory") }
        }
        expectEqual(directory?.kind, .cannotRead, "kind of a directory")
    }

    private static func testReadsWhatWasLookedAt() throws {
        // Packets come one at a time, as what is written to a pipe bit by bit does; an empty one is the end. The rest of one
        // that is larger than what it is read into is lost, so that all chunks here have room for one.
        #if canImport(Glibc)
        let kind = Int32(SOCK_DGRAM.rawValue)
        #else
        let kind = SOCK_DGRAM
        #endif
        for (count, chunk) in [(0, 4), (2, 4), (3, 100), (7, 1), (7, 3), (100, 2), (100, 100)] {
            var ends: [Int32] = [-1, -1]
            // SAFETY: the array has room for the two descriptors; each packet is a literal that outlives the call.
            try requireEqual(unsafe socketpair(AF_UNIX, kind, 0, &ends), 0, "sockets")
            defer { for end in ends { close(end) } }
            for text in ["01", "2", "3456", ""] {
                expectEqual(unsafe send(ends[1], text, text.utf8.count, 0), text.utf8.count, "sent")
            }
            let file = InputFile(descriptor: ends[0])
            for _ in 0..<2 {
                let seen = try file.withNextBytes(count) { String(validating: $0) }
                expectEqual(seen, String("0123456".prefix(count)), "the first \(count)")
            }
            var text = ""
            try file.readChunks(of: chunk) { bytes in
                expectLessThanOrEqual(bytes.byteCount, chunk, "bytes of a chunk")
                text += String(validating: bytes) ?? "?"
            }
            expectEqual(text, "0123456", "chunks of \(chunk) behind a look at \(count)")
        }
    }

    private static func testTellsWhoeverWaitsForIt() throws {
        var errors: [StreamError] = []
        let missing = expectThrows(StreamError.self, "a missing file") {
            _ = try InputFile(path: "/nonexistent/file") { errors.append($0) }
        }
        expectEqual(errors, missing.map { [$0] } ?? [], "what was told")
        _ = try InputFile(path: "/dev/null") { errors.append($0) }
        expectEqual(errors.count, 1, "errors")
    }
}
#endif
