// A running `convert` process for tests, with a pipe to its standard input and an optional terminal for its standard
// error.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import Foundation

/// A started process and the ends of its streams.
final class RunningConvert {
    let process: pid_t
    private var input: Int32
    /// The test's end of the terminal, or -1 without a terminal.
    private let terminal: Int32
    /// The process's end of the terminal. It stays open so that no output is lost when the process closes its end.
    private let childTerminal: Int32
    private var isEnded = false

    struct StartError: Error {
        let call: String
        let code = errno
    }

    /// Starts the command with its standard output redirected to a file.
    init(_ arguments: [String], in directory: URL, output: String = "/dev/null", hasTerminal: Bool = false) throws {
        var ends: [Int32] = [-1, -1]
        guard closedOnExecPipe(&ends) == 0 else { throw StartError(call: "pipe") }
        var (terminal, childTerminal) = (Int32(-1), Int32(-1))
        if hasTerminal {
            guard openpty(&terminal, &childTerminal, nil, nil, nil) == 0 else { throw StartError(call: "openpty") }
            for end in [terminal, childTerminal] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            _ = fcntl(terminal, F_SETFL, O_NONBLOCK)
        }
        #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        #else
        var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0o666)
        if hasTerminal {
            posix_spawn_file_actions_adddup2(&actions, childTerminal, STDERR_FILENO)
        } else {
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        }
        let command = ["sh", "-c", "cd \"$0\" && exec \"$@\"", directory.path, ConvertTests.command.path] + arguments
        var pointers = command.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        // Reset the signal mask because the thread of a test may block signals, and a child process inherits that.
        #if canImport(Darwin)
        var attributes: posix_spawnattr_t?
        #else
        var attributes = posix_spawnattr_t()
        #endif
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var process = pid_t()
        let code = posix_spawn(&process, "/bin/sh", &actions, &attributes, &pointers, environ)
        close(ends[0])
        guard code == 0 else {
            close(ends[1])
            throw StartError(call: "posix_spawn")
        }
        (self.process, input, self.terminal, self.childTerminal) = (process, ends[1], terminal, childTerminal)
    }

    deinit {
        closeInput()
        if !isEnded {
            kill(process, SIGKILL)
            _ = wait()
        }
        for end in [terminal, childTerminal] where end >= 0 { close(end) }
    }

    /// Waits until a condition is true.
    ///
    /// - Throws: `WaitError` with a description of the condition after ten minutes.
    func wait(for what: String, until condition: () throws -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(600)
        while try !condition() {
            if ContinuousClock.now > deadline { throw WaitError(description: "waited ten minutes for \(what)") }
            usleep(500)
        }
    }

    struct WaitError: Error, CustomStringConvertible {
        let description: String
    }

    /// Writes to the standard input. Returns when the process has read everything except for the contents of the pipe.
    func write(_ bytes: [UInt8]) throws {
        var start = 0
        while start < bytes.count {
            let count = bytes[start...].withUnsafeBytes { systemWrite(input, $0.baseAddress, $0.count) }
            guard count > 0 else { throw StartError(call: "write") }
            start += count
        }
    }

    func closeInput() {
        if input >= 0 { close(input) }
        input = -1
    }

    /// Returns the terminal's output since the last call.
    func terminalText() -> String {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while terminal >= 0 {
            let count = read(terminal, &buffer, buffer.count)
            guard count > 0 else { break }
            text += buffer[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Waits for the process to exit and returns its exit status, or the negated number of the signal that ended it.
    /// Kills the process after ten minutes.
    func wait() -> Int32 {
        var status: Int32 = 0
        do { try wait(for: "the end of convert") { waitpid(process, &status, WNOHANG) != 0 } } catch {
            print(error)
            kill(process, SIGKILL)
            waitpid(process, &status, 0)
        }
        isEnded = true
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
    }

    #if os(Linux)
    /// Returns the peak resident memory in bytes.
    func peakMemory() -> Int? {
        let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line.flatMap { Int($0.filter(\.isNumber)) }.map { $0 << 10 }
    }
    #endif
}

/// Creates a pipe that programs started by other tests never inherit.
private func closedOnExecPipe(_ ends: inout [Int32]) -> Int32 {
    #if os(Linux)
    // Swift's import of the C library doesn't include `pipe2`.
    typealias Pipe2 = @convention(c) (UnsafeMutablePointer<Int32>, Int32) -> Int32
    guard let address = dlsym(nil, "pipe2") else { return -1 }
    return unsafeBitCast(address, to: Pipe2.self)(&ends, O_CLOEXEC)
    #else
    let status = pipe(&ends)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return status
    #endif
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
