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
    private static let eventDescriptor: Int32 = 198
    private static let commandDescriptor: Int32 = 199

    let process: pid_t
    private let events: Int32
    private var commands: Int32
    private var pending: [UInt8] = []
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
                ])
        } catch {
            close(eventPipe.read)
            close(commandPipe.write)
            throw error
        }
    }

    deinit {
        closeCommands()
        close(events)
        if end == nil {
            kill(process, SIGKILL)
            _ = ChildProcess.wait(for: process)
        }
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
    /// - Returns: the lines that have arrived, or nil when there will be none any more.
    func lines(waiting milliseconds: Int) -> [ArraySlice<UInt8>]? {
        var descriptor = pollfd(fd: events, events: Int16(POLLIN), revents: 0)
        let ready = poll(&descriptor, 1, Int32(clamping: milliseconds))
        if ready == 0 || ready < 0 && errno == EINTR { return hasEnded ? nil : [] }
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(events, &chunk, chunk.count)
        if count < 0, errno == EINTR { return [] }
        guard count > 0 else { return nil }
        pending += chunk[..<count]
        guard let last = pending.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        let lines = pending[..<last].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        pending.removeSubrange(...last)
        return lines
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

    /// Waits for the process to be gone.
    func waitForEnd() -> ProcessEnd {
        if let end { return end }
        let reached = ChildProcess.wait(for: process)
        end = reached
        return reached
    }
}
