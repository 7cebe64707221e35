// Ends the processes that tests have started and left behind, even outside their process group. During a run, Linux
// makes them children of this process, which ends them. On macOS, they become children of launchd, and only process
// groups are ended.
//
// Sources: prctl(2), PR_SET_CHILD_SUBREAPER, and proc(5).

internal import InClassSystem

/// The processes that the tests of a run leave behind.
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
