// Reads files and other descriptors in chunks, into a reused buffer.

import StreamingSystem

/// A file or another descriptor that is read in chunks.
///
/// Chunks are read and not mapped. This is as fast, and uses a fixed amount of memory. If another process truncates the file
/// during reading, the result is a short file instead of a crash.
@safe
package struct InputFile: ~Copyable {
    private let descriptor: Int32
    private let isOwned: Bool

    /// Opens a file for reading.
    ///
    /// - Throws: ``StreamError/Kind/cannotRead``.
    package init(path: String) throws(StreamError) {
        // SAFETY: the path is a string that outlives the call.
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        isOwned = true
        guard descriptor >= 0 else {
            throw StreamError(.cannotRead, "cannot open \(path.debugDescription): \(ByteOutput.systemMessage(errno))")
        }
    }

    /// Reads from a descriptor that the caller closes, such as standard input.
    package init(descriptor: Int32) {
        self.descriptor = descriptor
        isOwned = false
    }

    deinit {
        if isOwned && descriptor >= 0 { close(descriptor) }
    }

    /// The size of a regular file in bytes, nil for pipes and terminals.
    package var byteCount: Int? {
        var status = stat()
        // SAFETY: the structure is on the stack during the call.
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    /// Reads from the current offset of the descriptor to the end, and passes each chunk to a closure. The bytes of a chunk are
    /// valid during the call.
    ///
    /// The memory in use is one chunk. Chunks of pipes may be smaller.
    /// - Throws: ``StreamError/Kind/cannotRead``, or the errors of the closure. Errors of other types are the cause of a
    ///   ``StreamError/Kind/receiverFailed``.
    package func readChunks<Failure: Error>(
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
                // Errors with a position are about the bytes.
                throw error as? StreamError ?? StreamError(ofReceiver: error)
            }
        }
    }

    /// Reads the next bytes into memory of at least one byte, and returns their number, which is 0 at the end.
    package func readChunk(_ buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Int {
        while true {
            // SAFETY: the count is the buffer's.
            let count = unsafe read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else {
                throw StreamError(.cannotRead, "cannot read: \(ByteOutput.systemMessage(errno))")
            }
        }
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
            "testReportsUnreadableFiles": testReportsUnreadableFiles,
            "testRethrowsErrorsOfTheClosure": testRethrowsErrorsOfTheClosure,
        ]
    }

    private static func testReadsChunksToTheEnd() throws {
        var ends: [Int32] = [-1, -1]
        // SAFETY: the array has two elements for the descriptors.
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

    private static func testRethrowsErrorsOfTheClosure() throws {
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

    private static func testReportsUnreadableFiles() {
        let missing = expectThrows(StreamError.self, "a missing file") { _ = try InputFile(path: "/nonexistent/file") }
        expectEqual(missing?.kind, .cannotRead, "kind of a missing file")
        let directory = expectThrows(StreamError.self, "a directory") {
            try InputFile(path: "/").readChunks { _ in fail("got bytes of a directory") }
        }
        expectEqual(directory?.kind, .cannotRead, "kind of a directory")
    }
}
#endif
