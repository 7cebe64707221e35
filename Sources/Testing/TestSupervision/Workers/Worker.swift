// One process that runs an image: its pipes, its lines, its output file, its end.

internal import InClassSystem
import TestEvents

/// A running test image.
final class Worker {
    /// Numbers that neither the system nor a test is likely to use.
    static let eventDescriptor: Int32 = 198
    private static let commandDescriptor: Int32 = 199

    let process: pid_t
    private let events: Int32
    private var commands: Int32
    /// What has been read and not yet taken, between two offsets; raw memory, which a debug build can search and fill
    /// without a call a byte.
    private var buffer: UnsafeMutableRawPointer
    private var capacity = 1 << 17
    private var pendingStart = 0
    private var pendingEnd = 0
    private var end: ProcessEnd?

    /// Starts an image.
    ///
    /// - Parameters:
    ///   - output: the file that receives what the tests write; nil to leave it to this process's own output.
    ///   - plan: `unknown` to have it announce its tests, `known` for only their number and hash, or `FIRST:TYPE` for those
    ///     of one type.
    init(image: String, module: String, output: Int32?, environment: [String: String], plan: String)
        throws(SystemError)
    {
        let eventPipe = try ChildProcess.pipe()
        let commandPipe: (read: Int32, write: Int32)
        do throws(SystemError) { commandPipe = try ChildProcess.pipe() } catch {
            close(eventPipe.read)
            close(eventPipe.write)
            throw error
        }
        let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer {
            close(eventPipe.write)
            close(commandPipe.read)
            close(nothing)
        }
        events = eventPipe.read
        _ = fcntl(events, F_SETFL, O_NONBLOCK)
        commands = commandPipe.write
        do throws(SystemError) {
            process = try ChildProcess.start(
                [
                    image, "--in-class-worker", module, "\(Self.eventDescriptor)", "\(Self.commandDescriptor)",
                    plan,
                ],
                // Swift's own crash reporter takes longer than ours and says it elsewhere.
                environment: environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 },
                descriptors: [
                    (nothing, 0), (output ?? 1, 1), (output ?? 2, 2), (eventPipe.write, Self.eventDescriptor),
                    (commandPipe.read, Self.commandDescriptor),
                ], isGroup: true)
        } catch {
            close(eventPipe.read)
            close(commandPipe.write)
            throw error
        }
        // Last of all: what is not whole has no end in which it could be freed.
        buffer = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    }

    deinit {
        buffer.deallocate()
        closeCommands()
        close(events)
        if end == nil {
            kill(process, SIGKILL)
            _ = reap(until: .now + Self.patience)
        }
    }

    /// How long the process may take to be gone once it is killed; one that hangs in the system may never be.
    private static let patience = Duration.seconds(5)

    /// Waits for the process to end, and ends with it what a test has started in its group and left behind.
    ///
    /// The group's number may be somebody else's as soon as the process has been waited for.
    private func reap(until deadline: ContinuousClock.Instant) -> ProcessEnd? {
        while !ChildProcess.hasEnded(process) {
            if ContinuousClock.now >= deadline {
                kill(-process, SIGKILL)
                return nil
            }
            usleep(500)
        }
        kill(-process, SIGKILL)
        return ChildProcess.wait(for: process)
    }

    /// Tells the worker to run ranges of its plan, and whether to stop at the first failure.
    func run(_ ranges: [Range<Int>], stopsAtFailure: Bool) {
        var text = stopsAtFailure ? "try" : "run"
        for range in ranges { text += " \(range.lowerBound) \(range.upperBound)" }
        // A worker that is gone is noticed when its events end.
        try? FileAccess.write(Array("\(text)\n".utf8), to: commands, name: "")
    }

    /// Tells the worker that there is nothing more to run.
    func closeCommands() {
        if commands >= 0 { close(commands) }
        commands = -1
    }

    /// Waits for events, at most so many milliseconds, and reads what has come.
    ///
    /// - Returns: false when there will be no more.
    func receive(waiting milliseconds: Int) -> Bool {
        if milliseconds > 0 {
            var descriptor = pollfd(fd: events, events: Int16(POLLIN), revents: 0)
            let ready = poll(&descriptor, 1, Int32(clamping: milliseconds))
            if ready == 0 || ready < 0 && errno == EINTR { return !hasEnded }
        }
        makeSpace()
        let count = read(events, buffer + pendingEnd, capacity - pendingEnd)
        if count < 0, errno == EINTR { return true }
        if count < 0, errno == EAGAIN { return !hasEnded }
        guard count > 0 else { return false }
        pendingEnd += count
        return true
    }

    /// Makes room for the next read behind what is pending.
    private func makeSpace() {
        if pendingStart == pendingEnd {
            pendingStart = 0
            pendingEnd = 0
        }
        guard capacity - pendingEnd < 1 << 15 else { return }
        let count = pendingEnd - pendingStart
        if count > capacity / 2 {
            // A line of this length: an issue with a long text.
            let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity * 2, alignment: 16)
            memcpy(larger, buffer + pendingStart, count)
            buffer.deallocate()
            buffer = larger
            capacity *= 2
        } else {
            memmove(buffer, buffer + pendingStart, count)
        }
        pendingStart = 0
        pendingEnd = count
    }

    /// Takes the next whole line of what has been read, if there is one.
    func nextLine() -> EventLine? {
        let start = buffer + pendingStart
        // SAFETY: memchr is asked of what lies between the start of a line and the end of what has been read.
        guard let newline = memchr(start, 0x0A, pendingEnd - pendingStart) else { return nil }
        let length = newline - start
        pendingStart += length + 1
        return EventLine(UnsafeRawBufferPointer(start: start, count: length))
    }

    /// Waits until any of several workers has said something, at most so many milliseconds.
    ///
    /// - Returns: the indices of those that have.
    static func wait(for workers: [Worker], milliseconds: Int) -> [Int] {
        var descriptors = workers.map { pollfd(fd: $0.events, events: Int16(POLLIN), revents: 0) }
        guard poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: milliseconds)) > 0 else { return [] }
        return descriptors.indices.filter { descriptors[$0].revents != 0 }
    }

    /// A Boolean value that indicates whether the process is gone although something it started still holds the pipe.
    private var hasEnded: Bool {
        if end != nil { return true }
        guard ChildProcess.hasEnded(process) else { return false }
        end = reap(until: .now)
        return true
    }

    func send(signal: Int32) {
        if end == nil { kill(process, signal) }
    }

    /// Waits for the process to be gone, now that nothing more will be heard of it.
    ///
    /// - Returns: how it ended; nil when it went on without a word, its descriptor closed, and had to be ended.
    func waitForEnd() -> ProcessEnd? {
        if let end { return end }
        // A process closes its descriptors a moment before it is gone.
        end = reap(until: .now + .milliseconds(500))
        if let end { return end }
        send(signal: SIGKILL)
        end = reap(until: .now + Self.patience) ?? .killed(signal: SIGKILL)
        return nil
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

enum WorkerTests {}

extension WorkerTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testReadsLinesOfAnyLength": testReadsLinesOfAnyLength] }

    /// Short ones, more than the buffer holds at a time, those that it has to grow for, and short ones again; they come in
    /// pieces that end anywhere.
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
        let worker = try Worker(image: path, module: "M", output: 2, environment: [:], plan: "unknown")
        var found: [String] = []
        while worker.receive(waiting: 100) {
            while let line = worker.nextLine() {
                guard case .event(.skip(let reason)) = line else { return fail("line \(found.count) is another") }
                found.append(reason)
            }
        }
        expectEqual(found.count, expected.count, "lines")
        expectTrue(found == expected, "another line than was written")
        expectEqual(worker.waitForEnd(), .exited(0))
    }
}
#endif
