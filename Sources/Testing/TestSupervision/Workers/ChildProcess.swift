// Starts programs, waits for them, and ends the processes that they leave behind. Worker runs a test executable.
//
// Sources: prctl(2), PR_SET_CHILD_SUBREAPER, and proc(5).

internal import InClassSystem

/// The end of a process.
package enum ProcessEnd: Equatable, Sendable {
    case exited(Int32)
    case killed(signal: Int32)

    /// Creates the value from the status that `waitpid` reports.
    init(status: Int32) {
        self = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: status & 0x7F)
    }
}

/// Returns the name of a signal, such as SIGSEGV. A trap in Swift code is SIGILL on x86 and SIGTRAP on arm64.
func signalName(_ signal: Int32) -> String {
    let names = [
        SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL", SIGTRAP: "SIGTRAP",
        SIGABRT: "SIGABRT",
        SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGKILL: "SIGKILL", SIGSEGV: "SIGSEGV", SIGSYS: "SIGSYS",
        SIGPIPE: "SIGPIPE",
        SIGALRM: "SIGALRM", SIGTERM: "SIGTERM", SIGXCPU: "SIGXCPU", SIGXFSZ: "SIGXFSZ",
        SIGPROF: "SIGPROF", SIGVTALRM: "SIGVTALRM", SIGUSR1: "SIGUSR1", SIGUSR2: "SIGUSR2",
    ]
    return names[signal] ?? "signal \(signal)"
}

/// A file descriptor of this process. The descriptor is closed when its last reference is released.
final class Descriptor {
    private(set) var number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { release() }

    func release() {
        if number >= 0 { close(number) }
        number = -1
    }
}

package enum ChildProcess {
    /// Starts a program with some of this process's descriptors.
    ///
    /// - Parameters:
    ///   - descriptors: descriptors of this process, with their numbers in the child process. All others are closed there.
    ///   - isGroup: a Boolean value that indicates whether the child process gets a process group. In that case, the
    ///     processes that it leaves can be ended, too.
    static func start(
        _ words: [String], environment: [String: String] = [:], descriptors: [(ours: Descriptor, theirs: Int32)],
        isGroup: Bool = false
    ) throws(SystemError) -> pid_t {
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var variables = Self.environment(adding: environment).map { strdup($0) } + [nil]
        defer { for variable in variables { free(variable) } }
        let numbers = descriptors.flatMap { [$0.ours.number, $0.theirs] }
        var process: pid_t = 0
        let code = inclass_start(&process, &arguments, &variables, numbers, numbers.count, isGroup ? 1 : 0)
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

    /// Waits until a process ends, or until a deadline.
    ///
    /// - Returns: The end of the process, or nil if the process hasn't ended. A process that hangs in the kernel can't
    ///   be ended.
    static func wait(for process: pid_t, until deadline: ContinuousClock.Instant) -> ProcessEnd? {
        var nap: UInt32 = 100
        while !hasEnded(process) {
            if ContinuousClock.now >= deadline { return nil }
            usleep(nap)
            nap = min(nap * 2, 10_000)
        }
        return wait(for: process)
    }

    /// Starts a program without input, and discards its output.
    static func startInSilence(_ words: [String]) throws(SystemError) -> pid_t {
        let file = try temporaryFile()
        return try start(words, descriptors: [(file, 0), (file, 1), (file, 2)])
    }

    /// Ends a process unless it ends in time.
    ///
    /// - Returns: true if it has ended in time.
    @discardableResult
    static func end(_ process: pid_t, after patience: Duration) -> Bool {
        guard wait(for: process, until: .now + patience) == nil else { return true }
        kill(process, SIGKILL)
        _ = wait(for: process)
        return false
    }

    /// Returns whether a process has ended. The numbers of the process and of its group stay valid until `wait`.
    static func hasEnded(_ process: pid_t) -> Bool { inclass_has_ended(process) != 0 }

    /// Runs a program to its end and returns its output and error output.
    package static func run(_ words: [String], input: [UInt8] = []) throws(SystemError) -> (
        end: ProcessEnd, output: [UInt8]
    ) {
        let outputPipe = try makePipe()
        let inputFile = try temporaryFile(input)
        let process = try start(
            words, environment: ["LLVM_PROFILE_FILE": "/dev/null"],
            descriptors: [(inputFile, 0), (outputPipe.write, 1), (outputPipe.write, 2)])
        outputPipe.write.release()
        let output = FileAccess.rest(of: outputPipe.read.number) ?? []
        return (wait(for: process), output)
    }

    /// Creates a pipe that child processes don't inherit.
    static func makePipe() throws(SystemError) -> (read: Descriptor, write: Descriptor) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError("make a pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (Descriptor(ends[0]), Descriptor(ends[1]))
    }

    /// Creates a file without a name, with the offset at the start of its contents.
    static func temporaryFile(_ contents: [UInt8] = []) throws(SystemError) -> Descriptor {
        let folder = Environment.temporaryFolder
        var template = Array("\(folder)/testlogger-XXXXXX".utf8CString)
        let file = Descriptor(mkstemp(&template))
        guard file.number >= 0 else { throw SystemError("create a file in \(folder)") }
        unlink(template)
        _ = fcntl(file.number, F_SETFD, FD_CLOEXEC)
        guard pwrite(file.number, contents, contents.count, 0) == contents.count else {
            throw SystemError("write a file in \(folder)")
        }
        return file
    }
}

/// The processes that the tests of a run leave behind, even outside their process group. During a run, Linux makes them
/// children of this process, which ends them. On macOS, they become children of launchd, and only process groups are
/// ended.
struct Orphans {
    /// The time that killed processes may take to end.
    private static let patience = Duration.seconds(2)

    /// The child processes that this process had before the run, for example those of a shell that executed this program.
    private var foreign: Set<pid_t> = []

    /// Makes this process the parent of the processes that its descendants leave behind, or stops that. Linux only.
    mutating func adopt(_ adopts: Bool) {
        // If the signal is ignored, the system discards the status of child processes.
        signal(SIGCHLD, SIG_DFL)
        if adopts { foreign = Self.children() }
        inclass_adopt_orphans(adopts ? 1 : 0)
    }

    /// Ends the processes that tests have left behind. Call this function while no worker runs.
    func end() {
        let deadline = ContinuousClock.now + Self.patience
        // The children of an ended process become children of this process, so the loop looks again.
        while ContinuousClock.now < deadline {
            let processes = Self.children().subtracting(foreign)
            if processes.isEmpty { return }
            for process in processes { kill(process, SIGKILL) }
            for process in processes { _ = ChildProcess.wait(for: process, until: deadline) }
        }
    }

    /// Returns the child processes that have not ended.
    private static func children() -> Set<pid_t> {
        let list = FileAccess.systemText(at: "/proc/self/task/\(getpid())/children") ?? ""
        let processes = list.split(separator: " ").compactMap { pid_t($0) }
        return Set(processes.filter { waitpid($0, nil, WNOHANG) == 0 })
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension ChildProcess: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testWaitsUntilTheDeadline": testWaitsUntilTheDeadline,
            "testEndsProcessesAfterATime": testEndsProcessesAfterATime,
            "testReadsAllOutputDespiteSignals": testReadsAllOutputDespiteSignals,
            "testNamesSignals": testNamesSignals,
        ]
    }

    private static func testWaitsUntilTheDeadline() throws {
        let process = try start(["sleep", "60"], descriptors: [])
        expectFalse(hasEnded(process))
        expectNil(wait(for: process, until: .now + .milliseconds(5)))
        kill(process, SIGKILL)
        while !hasEnded(process) { usleep(100) }
        expectTrue(hasEnded(process), "asked twice")
        expectEqual(kill(process, 0), 0, "is still there")
        expectEqual(wait(for: process, until: .now), .killed(signal: SIGKILL))
    }

    private static func testNamesSignals() {
        expectEqual([1, 9, 15, 34].map(signalName), ["SIGHUP", "SIGKILL", "SIGTERM", "signal 34"])
    }

    private static func testEndsProcessesAfterATime() throws {
        let folder = try temporaryDirectory()
        for (nap, isEnded) in [("0", false), ("60", true)] {
            let process = try startInSilence(["sh", "-c", "echo a; sleep \(nap); echo > \(folder)/\(nap)"])
            end(process, after: isEnded ? .milliseconds(5) : .seconds(60))
            expectTrue(hasEnded(process), nap)
            expectEqual(FileAccess.exists("\(folder)/\(nap)"), !isEnded, nap)
        }
    }

    /// Runs in a child process, which has no other thread that a signal could interrupt.
    private static func testReadsAllOutputDespiteSignals() {
        expectExit(.exit(7)) {
            var all = sigset_t()
            sigfillset(&all)
            sigprocmask(SIG_UNBLOCK, &all, nil)
            inclass_handle(SIGUSR1, { _ in }, 0)
            // The signal arrives several times, so that it interrupts a read that waits for data.
            let words = "for i in 1 2 3; do sleep 0.01; kill -USR1 \(getpid()); done; sleep 0.01; echo a; exit 3"
            let result = try? run(["sh", "-c", words])
            exit(result?.output == Array("a\n".utf8) && result?.end == .exited(3) ? 7 : 2)
        }
    }
}

extension Orphans: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testEndsOrphanedProcesses": testEndsOrphanedProcesses,
            "testSparesProcessesStartedEarlier": testSparesProcessesStartedEarlier,
        ]
    }

    /// Starts a shell that leaves a process behind in another session, and returns that process.
    private static func leave(_ words: String) -> pid_t {
        guard
            let (_, output) = try? ChildProcess.run(["sh", "-c", "\(words) setsid sleep 60 > /dev/null 2>&1 & echo $!"]
            ),
            let orphan = pid_t(String(decoding: output.dropLast(), as: UTF8.self))
        else { exit(1) }
        // Until the shell's child executes `sleep`, it has the shell's environment.
        for _ in 0..<6000 where FileAccess.systemText(at: "/proc/\(orphan)/comm") != "sleep\n" { usleep(10_000) }
        return orphan
    }

    private static func isAlive(_ process: pid_t) -> Bool { kill(process, 0) == 0 }

    /// Runs in a child process without other children, because the changes affect the whole process.
    private static func testEndsOrphanedProcesses() throws {
        if TargetSystem.current != .linux { try skip("only Linux hands on what is left behind") }
        for words in ["", "env -i PATH=\"$PATH\""] {
            expectExit(.exit(7), "\(words)") {
                var orphans = Orphans()
                orphans.adopt(true)
                let orphan = leave(words)
                orphans.end()
                exit(isAlive(orphan) ? 2 : 7)
            }
        }
    }

    private static func testSparesProcessesStartedEarlier() throws {
        if TargetSystem.current != .linux { try skip("only Linux hands on what is left behind") }
        expectExit(.exit(7)) {
            var orphans = Orphans()
            guard let earlier = try? ChildProcess.start(["sleep", "60"], descriptors: []) else { exit(1) }
            orphans.adopt(true)
            let ours = leave("")
            orphans.end()
            let found = (isAlive(earlier), isAlive(ours))
            kill(earlier, SIGKILL)
            exit(found == (true, false) ? 7 : 2)
        }
    }
}
#endif
