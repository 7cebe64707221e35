// One process that runs an image: its pipes, its lines, its output file, its end.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import TestEvents

/// A running test image.
final class Worker {
    /// Numbers that neither the system nor a test is likely to use.
    static let eventDescriptor: Int32 = 198
    private static let commandDescriptor: Int32 = 199

    let process: pid_t
    private let events: Int32
    private var commands: Int32
    private var pending: [UInt8] = []
    /// What one read fills; raw memory, which a debug build can fill and copy without a call a byte.
    private let chunk = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1 << 16)
    private var end: ProcessEnd?

    /// Starts an image.
    ///
    /// - Parameter output: the file that receives what the tests write.
    init(image: String, module: String, output: Int32, environment: [String: String]) throws(SystemError) {
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
        commands = commandPipe.write
        do throws(SystemError) {
            process = try ChildProcess.start(
                [image, "--in-class-worker", module, "\(Self.eventDescriptor)", "\(Self.commandDescriptor)"],
                // Swift's own crash reporter takes longer than ours and says it elsewhere.
                environment: environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 },
                descriptors: [
                    (nothing, 0), (output, 1), (output, 2), (eventPipe.write, Self.eventDescriptor),
                    (commandPipe.read, Self.commandDescriptor),
                ], isGroup: true)
        } catch {
            close(eventPipe.read)
            close(commandPipe.write)
            throw error
        }
    }

    deinit {
        chunk.deallocate()
        closeCommands()
        close(events)
        if end == nil { kill(process, SIGKILL) }
        // What a test has started and left behind goes with the worker.
        kill(-process, SIGKILL)
        if end == nil { _ = ChildProcess.wait(for: process) }
    }

    /// Tells the worker to run a range of its plan.
    func run(_ range: Range<Int>) {
        let line = Array("run \(range.lowerBound) \(range.upperBound)\n".utf8)
        // A worker that is gone is noticed when its events end.
        _ = write(commands, line, line.count)
    }

    /// Tells the worker that there is nothing more to run.
    func closeCommands() {
        if commands >= 0 { close(commands) }
        commands = -1
    }

    /// Waits for events, at most so many milliseconds.
    ///
    /// - Returns: the events that have arrived, nil in place of a line that is none; or nil when there will be no more.
    func events(waiting milliseconds: Int) -> [TestEvent?]? {
        var descriptor = pollfd(fd: events, events: Int16(POLLIN), revents: 0)
        let ready = poll(&descriptor, 1, Int32(clamping: milliseconds))
        if ready == 0 || ready < 0 && errno == EINTR { return hasEnded ? nil : [] }
        let count = read(events, chunk.baseAddress, chunk.count)
        if count < 0, errno == EINTR { return [] }
        guard count > 0 else { return nil }
        pending.append(contentsOf: UnsafeBufferPointer(rebasing: chunk[..<count]))
        return takePendingEvents()
    }

    /// Waits until any of several workers has said something, at most so many milliseconds.
    static func wait(for workers: [Worker], milliseconds: Int) {
        var descriptors = workers.map { pollfd(fd: $0.events, events: Int16(POLLIN), revents: 0) }
        _ = poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: milliseconds))
    }

    /// Reads all whole lines.
    private func takePendingEvents() -> [TestEvent?] {
        var found: [TestEvent?] = []
        var lineStart = 0
        pending.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            // SAFETY: memchr is asked of what lies between the start of a line and the end of the buffer.
            while let newline = memchr(base + lineStart, 0x0A, bytes.count - lineStart) {
                let lineEnd = UnsafeRawPointer(newline) - base
                found.append(TestEvent(line: UnsafeRawBufferPointer(rebasing: bytes[lineStart..<lineEnd])))
                lineStart = lineEnd + 1
            }
        }
        pending.removeFirst(lineStart)
        return found
    }

    /// Whether the process is gone although something it started still holds the pipe.
    private var hasEnded: Bool {
        if end != nil { return true }
        var status: Int32 = 0
        guard waitpid(process, &status, WNOHANG) == process else { return false }
        end = ProcessEnd(status: status)
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
        let patience = ContinuousClock.now + .milliseconds(500)
        while ContinuousClock.now < patience {
            if hasEnded { return end }
            usleep(500)
        }
        send(signal: SIGKILL)
        end = ChildProcess.wait(for: process)
        return nil
    }
}
