// Starts programs and waits for them. What a test image says while it runs is Worker's business.

internal import InClassSystem

/// How a process ended.
package enum ProcessEnd: Equatable, Sendable {
    case exited(Int32)
    case killed(signal: Int32)

    /// Reads what `waitpid` reports.
    init(status: Int32) {
        self = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: status & 0x7F)
    }
}

package enum ChildProcess {
    /// Starts a program with descriptors of ours under the numbers it expects.
    ///
    /// - Parameters:
    ///   - descriptors: ours, and the number each has in the child; all others are closed there.
    ///   - isGroup: make the child a process group, so that whatever it leaves behind can be ended with it.
    static func start(
        _ words: [String], environment: [String: String] = [:], descriptors: [(ours: Int32, theirs: Int32)],
        isGroup: Bool = false
    ) throws(SystemError) -> pid_t {
        var attributes = SystemCalls.emptyAttributes
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        if isGroup { posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP)) }
        var actions = SystemCalls.emptyActions
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (ours, theirs) in descriptors { posix_spawn_file_actions_adddup2(&actions, ours, theirs) }
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var variables = Self.environment(adding: environment).map { strdup($0) } + [nil]
        defer { for variable in variables { free(variable) } }
        var process: pid_t = 0
        let code = posix_spawnp(&process, words[0], &actions, &attributes, &arguments, &variables)
        guard code == 0 else { throw SystemError("start \(words[0])", code: code) }
        return process
    }

    private static func environment(adding changes: [String: String]) -> [String] {
        var result: [String] = []
        var next = inclass_environment()
        while let place = next, let variable = place.pointee {
            let text = String(cString: variable)
            let name = text.prefix { $0 != "=" }
            if changes[String(name)] == nil { result.append(text) }
            next = place + 1
        }
        return result + changes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    }

    /// Waits until a process ends.
    static func wait(for process: pid_t) -> ProcessEnd {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return ProcessEnd(status: status)
    }

    /// Waits until a process ends, no longer than a moment that nothing can delay.
    ///
    /// - Returns: how it ended; nil when it has not, as one that hangs in the system does not whatever is sent to it.
    static func wait(for process: pid_t, until deadline: ContinuousClock.Instant) -> ProcessEnd? {
        var status: Int32 = 0
        var nap: UInt32 = 100
        while true {
            let found = waitpid(process, &status, WNOHANG)
            if found == process { return ProcessEnd(status: status) }
            if found < 0, errno != EINTR { return .killed(signal: SIGKILL) }
            if ContinuousClock.now >= deadline { return nil }
            usleep(nap)
            nap = min(nap * 2, 10_000)
        }
    }

    /// Starts a program to whose output nobody listens.
    static func startInSilence(_ words: [String]) throws(SystemError) -> pid_t {
        let file = try temporaryFile()
        defer { close(file) }
        return try start(words, descriptors: [(file, 0), (file, 1), (file, 2)])
    }

    /// Ends a process that has not ended by then, and says whether it had; how it has is somebody else's to know.
    @discardableResult
    static func end(_ process: pid_t, after patience: Duration) -> Bool {
        guard wait(for: process, until: .now + patience) == nil else { return true }
        kill(process, SIGKILL)
        _ = wait(for: process)
        return false
    }

    /// Returns whether a process has ended; it is still there to be waited for, and so are its number and its group's.
    static func hasEnded(_ process: pid_t) -> Bool { inclass_has_ended(process) != 0 }

    /// Runs a program to its end and returns what it wrote to both of its output streams.
    package static func run(_ words: [String], input: [UInt8] = []) throws(SystemError) -> (
        end: ProcessEnd, output: [UInt8]
    ) {
        let outputPipe = try pipe()
        defer { close(outputPipe.read) }
        let inputFile = try temporaryFile(input)
        defer { close(inputFile) }
        let process: pid_t
        do throws(SystemError) {
            process = try start(
                words, environment: ["LLVM_PROFILE_FILE": "/dev/null"],
                descriptors: [(inputFile, 0), (outputPipe.write, 1), (outputPipe.write, 2)])
        } catch {
            close(outputPipe.write)
            throw error
        }
        close(outputPipe.write)
        let output = FileAccess.rest(of: outputPipe.read) ?? []
        return (wait(for: process), output)
    }

    /// Makes a pipe that no child inherits unless it is given to it.
    static func pipe() throws(SystemError) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        guard systemPipe(&ends) == 0 else { throw SystemError("make a pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// Makes a file without a name, with its offset at the start of the given contents.
    static func temporaryFile(_ contents: [UInt8] = []) throws(SystemError) -> Int32 {
        let folder = Environment.temporaryFolder
        var template = Array("\(folder)/testlogger-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw SystemError("create a file in \(folder)") }
        unlink(template)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        if !contents.isEmpty {
            guard pwrite(descriptor, contents, contents.count, 0) == contents.count else {
                let error = SystemError("write a file in \(folder)")
                close(descriptor)
                throw error
            }
        }
        return descriptor
    }
}

/// The system's `pipe`, whose name is taken inside the type.
private func systemPipe(_ ends: UnsafeMutablePointer<Int32>) -> Int32 { pipe(ends) }

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension ChildProcess: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testWaitsNoLongerThanAsked": testWaitsNoLongerThanAsked,
            "testEndsWhatGoesOn": testEndsWhatGoesOn,
            "testReadsAllOutputWhateverSignalsCome": testReadsAllOutputWhateverSignalsCome,
        ]
    }

    private static func testWaitsNoLongerThanAsked() throws {
        let process = try start(["sleep", "60"], descriptors: [])
        expectFalse(hasEnded(process))
        expectNil(wait(for: process, until: .now + .milliseconds(5)))
        kill(process, SIGKILL)
        while !hasEnded(process) { usleep(100) }
        expectTrue(hasEnded(process), "asked twice")
        expectEqual(kill(process, 0), 0, "is still there")
        expectEqual(wait(for: process, until: .now), .killed(signal: SIGKILL))
    }

    private static func testEndsWhatGoesOn() throws {
        let folder = try temporaryDirectory()
        for (nap, isEnded) in [("0", false), ("60", true)] {
            let process = try startInSilence(["sh", "-c", "echo a; sleep \(nap); echo > \(folder)/\(nap)"])
            end(process, after: isEnded ? .milliseconds(5) : .seconds(60))
            expectTrue(hasEnded(process), nap)
            expectEqual(FileAccess.exists("\(folder)/\(nap)"), !isEnded, nap)
        }
    }

    /// In a child process, which has no other thread that could be interrupted.
    private static func testReadsAllOutputWhateverSignalsCome() {
        expectExit(.exit(7)) {
            var all = sigset_t()
            sigfillset(&all)
            sigprocmask(SIG_UNBLOCK, &all, nil)
            inclass_handle(SIGUSR1, { _ in }, 0)
            // Again until it has come while nothing was there to be read.
            let words = "for i in 1 2 3; do sleep 0.01; kill -USR1 \(getpid()); done; sleep 0.01; echo a; exit 3"
            let result = try? run(["sh", "-c", words])
            exit(result?.output == Array("a\n".utf8) && result?.end == .exited(3) ? 7 : 2)
        }
    }
}
#endif
