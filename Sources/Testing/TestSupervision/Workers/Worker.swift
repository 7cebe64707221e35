// Runs a test image in a process, reads its lines and detects its end.

internal import InClassSystem
import TestEvents

/// A running test image.
final class Worker {
    /// The number of a descriptor that the system and tests are unlikely to use.
    static let eventDescriptor: Int32 = 198
    private static let commandDescriptor: Int32 = 199

    let process: pid_t
    private let events: Descriptor
    private let commands: Descriptor
    /// The bytes that have been read. Pending bytes haven't been parsed yet. In a debug build, raw memory can be
    /// searched and filled without a call for each byte.
    private var buffer: UnsafeMutableRawPointer
    private var capacity = 1 << 17
    private var pendingStart = 0
    private var pendingEnd = 0
    private var end: ProcessEnd?

    /// Starts an image.
    ///
    /// - Parameters:
    ///   - output: receives the output of the tests, or nil for this process's own output.
    ///   - plan: `unknown` if the worker announces its tests, `known` if it announces only their number and hash, or `FIRST:TYPE`
    ///     for the tests of a type.
    init(image: String, module: String, output: Descriptor?, environment: [String: String], plan: String)
        throws(SystemError)
    {
        let (eventPipe, commandPipe) = (try ChildProcess.pipe(), try ChildProcess.pipe())
        let outputs = [1, 2].map { output ?? Descriptor(fcntl($0, F_DUPFD_CLOEXEC, 0)) }
        events = eventPipe.read
        commands = commandPipe.write
        _ = fcntl(events.number, F_SETFL, O_NONBLOCK)
        process = try ChildProcess.start(
            [image, "--in-class-worker", module, "\(Self.eventDescriptor)", "\(Self.commandDescriptor)", plan],
            // Swift's own crash reporter is slower, and its report isn't an event.
            environment: environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 },
            descriptors: [
                (Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)), 0), (outputs[0], 1), (outputs[1], 2),
                (eventPipe.write, Self.eventDescriptor), (commandPipe.read, Self.commandDescriptor),
            ], isGroup: true)
        // Allocate the buffer last, because an initializer that throws doesn't run `deinit`.
        buffer = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    }

    deinit {
        buffer.deallocate()
        send(signal: SIGKILL)
        // A process that hangs in the kernel can't be ended.
        let deadline = ContinuousClock.now + .seconds(5)
        while reap() == nil, ContinuousClock.now < deadline { usleep(500) }
        if end == nil { kill(-process, SIGKILL) }
    }

    /// Returns the end of the process, or nil if it hasn't ended. Also ends the processes that a test has left in its
    /// group.
    func reap() -> ProcessEnd? {
        if end == nil, ChildProcess.hasEnded(process) {
            // After the wait, another group may have the same number.
            kill(-process, SIGKILL)
            end = ChildProcess.wait(for: process)
        }
        return end
    }

    /// Sends the command that runs ranges of the plan. If requested, the worker stops at the first failure.
    func run(_ ranges: [Range<Int>], stopsAtFailure: Bool) {
        var text = stopsAtFailure ? "try" : "run"
        for range in ranges { text += " \(range.lowerBound) \(range.upperBound)" }
        // If the worker has ended, its events end, too.
        try? FileAccess.write(Array("\(text)\n".utf8), to: commands.number, name: "")
    }

    /// Closes the commands, so that the worker ends after its current command.
    func closeCommands() { commands.close() }

    /// Reads the available bytes without waiting.
    ///
    /// - Returns: false if no more bytes will be sent. If the process has ended, a process that it has started may
    ///   still hold the pipe open.
    func receive() -> Bool {
        // Check this before the read, because the process may send events until it ends.
        let hasEnded = reap() != nil
        makeSpace()
        let count = read(events.number, buffer + pendingEnd, capacity - pendingEnd)
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
    static func wait(for workers: [Worker], milliseconds: Int) {
        var descriptors = workers.map { pollfd(fd: $0.events.number, events: Int16(POLLIN), revents: 0) }
        poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: milliseconds))
    }

    func send(signal: Int32) {
        if end == nil { kill(process, signal) }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

enum WorkerTests {}

extension WorkerTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testReadsLinesOfAnyLength": testReadsLinesOfAnyLength] }

    /// Reads short lines, more lines than fit into the buffer, lines that the buffer must grow for, and short lines
    /// again. They arrive in pieces that end anywhere.
    private static func testReadsLinesOfAnyLength() throws {
        let shorts = (0..<20_000).map { "line \($0)" }
        let longs = [0, 1, 70_000, 131_071, 131_072, 300_000, 5, 900_000, 0, 7].map {
            String(repeating: "x", count: $0)
        }
        let expected = shorts + longs + shorts + longs.reversed()
        let path = "\(try temporaryDirectory())/image"
        try FileAccess.write(Array(expected.map { "skip\t\($0)\n" }.joined().utf8), to: "\(path).lines")
        try FileAccess.write(Array("#!/bin/sh\ncat $0.lines > /dev/fd/$3\n".utf8), to: path)
        chmod(path, 0o755)
        let worker = try Worker(
            image: path, module: "M", output: try ChildProcess.temporaryFile(), environment: [:], plan: "unknown")
        var found: [String] = []
        while worker.receive() {
            while let line = worker.nextLine() {
                guard case .skip(let reason) = TestEvent(line) else { return fail("line \(found.count) is another") }
                found.append(reason)
            }
            Worker.wait(for: [worker], milliseconds: 100)
        }
        expectEqual(found.count, expected.count, "lines")
        expectTrue(found == expected, "another line than was written")
        var end = worker.reap()
        while end == nil {
            usleep(500)
            end = worker.reap()
        }
        expectEqual(end, .exited(0))
    }
}
#endif
