// What tests have started and left behind, also what has left their process group: while a run goes on, Linux gives such
// processes to this one, which ends them. macOS gives them to launchd; there only process groups are ended.
//
// Sources: prctl(2), PR_SET_CHILD_SUBREAPER, and proc(5).

internal import InClassSystem

/// The processes that the tests of one run leave behind.
struct Orphans {
    /// How long processes may take to be gone once they are killed.
    private static let patience = Duration.seconds(2)

    /// The children that this process had before any test ran: those of a shell that has become this process, say.
    private var foreign: Set<pid_t> = []

    /// Becomes the parent of what descendants leave behind, or ceases to be, where the system has such a thing.
    mutating func adopt(_ adopts: Bool) {
        // An ignored signal would have the system throw away how a child has ended.
        signal(SIGCHLD, SIG_DFL)
        if adopts { foreign = Self.children() }
        inclass_adopt_orphans(adopts ? 1 : 0)
    }

    /// Ends what tests have left behind; to be called while no worker runs.
    ///
    /// - Complexity: O(children); a wait for a process that cannot be ended is soon given up.
    func end() {
        let deadline = ContinuousClock.now + Self.patience
        // A process that is ended hands its own children on to this one, hence again until there are none.
        while ContinuousClock.now < deadline {
            let processes = Self.children().subtracting(foreign)
            if processes.isEmpty { return }
            for process in processes { kill(process, SIGKILL) }
            for process in processes { _ = ChildProcess.wait(for: process, until: deadline) }
        }
    }

    /// The children of this process that have not ended.
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
            "testEndsWhatItIsLeft": testEndsWhatItIsLeft,
            "testSparesWhatNoTestHasStarted": testSparesWhatNoTestHasStarted,
        ]
    }

    /// Has a shell leave a process behind, in another session, and says which.
    private static func leave(_ words: String) -> pid_t {
        guard
            let (_, output) = try? ChildProcess.run(["sh", "-c", "\(words) setsid sleep 60 > /dev/null 2>&1 & echo $!"]
            ),
            let orphan = pid_t(String(decoding: output.dropLast(), as: UTF8.self))
        else { exit(1) }
        // Until then it is the shell's, with the shell's environment.
        for _ in 0..<6000 where FileAccess.systemText(at: "/proc/\(orphan)/comm") != "sleep\n" { usleep(10_000) }
        return orphan
    }

    private static func isAlive(_ process: pid_t) -> Bool { kill(process, 0) == 0 }

    /// In a child process, which has no other children and whose changes are its own.
    private static func testEndsWhatItIsLeft() throws {
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

    private static func testSparesWhatNoTestHasStarted() throws {
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
