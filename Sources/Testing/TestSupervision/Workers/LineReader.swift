// Reads the lines that a worker writes to a pipe, without waiting for them.

internal import InClassSystem

final class LineReader {
    private let descriptor: Descriptor
    /// The bytes that have been read. Pending bytes haven't been parsed yet. In a debug build, raw memory can be
    /// searched and filled without a call for each byte.
    private var buffer: UnsafeMutableRawPointer
    private var capacity = 1 << 17
    private var pendingStart = 0
    private var pendingEnd = 0

    init(_ descriptor: Descriptor) {
        self.descriptor = descriptor
        buffer = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        _ = fcntl(descriptor.number, F_SETFL, O_NONBLOCK)
    }

    deinit { buffer.deallocate() }

    /// Reads the available bytes.
    ///
    /// - Parameter hasEnded: a Boolean value that indicates whether the worker has ended. In that case, a process that
    ///   it has started may still hold the pipe open.
    /// - Returns: false if no more bytes will be sent.
    func receive(hasEnded: Bool) -> Bool {
        makeSpace()
        let count = read(descriptor.number, buffer + pendingEnd, capacity - pendingEnd)
        if count > 0 { pendingEnd += count }
        return count > 0 || count < 0 && (errno == EINTR || errno == EAGAIN && !hasEnded)
    }

    /// Makes space for the next read.
    private func makeSpace() {
        guard capacity - pendingEnd < 1 << 15 else { return }
        pendingEnd -= pendingStart
        memmove(buffer, buffer + pendingStart, pendingEnd)
        pendingStart = 0
        guard pendingEnd > capacity / 2 else { return }
        // A line may be this long if an issue contains a long text.
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity * 2, alignment: 16)
        memcpy(larger, buffer, pendingEnd)
        buffer.deallocate()
        buffer = larger
        capacity *= 2
    }

    /// Returns the next complete line, or nil. The line is valid until the next `receive`.
    func nextLine() -> UnsafeRawBufferPointer? {
        let start = buffer + pendingStart
        // SAFETY: memchr searches between the start of a line and the end of the pending bytes.
        guard let newline = memchr(start, 0x0A, pendingEnd - pendingStart) else { return nil }
        let length = newline - start
        pendingStart += length + 1
        return UnsafeRawBufferPointer(start: start, count: length)
    }

    /// Waits until one of several workers has sent bytes or closed its pipe.
    static func wait(for readers: [LineReader], milliseconds: Int) {
        var descriptors = readers.map { pollfd(fd: $0.descriptor.number, events: Int16(POLLIN), revents: 0) }
        poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: milliseconds))
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting
import TestEvents

extension LineReader: SelfTesting {
    static var testSelectors: TestSelectors { ["testReadsLinesOfAnyLength": testReadsLinesOfAnyLength] }

    /// Reads short lines, more lines than fit into the buffer, lines that the buffer must grow for, and short lines
    /// again. They arrive in pieces that end anywhere.
    private static func testReadsLinesOfAnyLength() throws {
        let shorts = (0..<20_000).map { "line \($0)" }
        let longs = [0, 1, 70_000, 131_071, 131_072, 300_000, 5, 900_000, 0, 7].map {
            String(repeating: "x", count: $0)
        }
        let expected = shorts + longs + shorts + longs.reversed()
        let path = "\(try temporaryDirectory())/lines"
        try FileAccess.write(Array(expected.map { "skip\t\($0)\n" }.joined().utf8), to: path)
        let pipe = try ChildProcess.makePipe()
        let process = try ChildProcess.start(["cat", path], descriptors: [(pipe.write, 1)])
        pipe.write.release()
        let reader = LineReader(pipe.read)
        var found: [String] = []
        while reader.receive(hasEnded: false) {
            while let line = reader.nextLine() {
                guard case .skip(let reason) = TestEvent(line) else { return fail("line \(found.count) is another") }
                found.append(reason)
            }
            wait(for: [reader], milliseconds: 100)
        }
        expectEqual(found.count, expected.count, "lines")
        expectTrue(found == expected, "another line than was written")
        expectEqual(ChildProcess.wait(for: process), .exited(0))
    }
}
#endif
