// What is remembered of a module's last run, in a file beside the build's products: the tests that failed, how long the
// slow ones took, which temporary directories stayed, and when it was. The build, the plugin and a person's own runs
// share it, although each has an image of its own.

import TestEvents

struct LastRun: Equatable {
    /// How long a test takes that is worth remembering, in nanoseconds: all others are alike.
    static let slowTime = 1_000_000

    /// The names of the tests that failed.
    var failed: Set<String> = []
    /// The times of slow tests in nanoseconds, by name.
    var times: [String: Int] = [:]
    /// The temporary directories of tests that failed.
    var keptDirectories: [String] = []
    /// The paths of the sources that have changed since they were compiled for it, or before without all of their tests
    /// having run since then.
    var changed: Set<String> = []
    /// A Boolean value that indicates whether there was a run before.
    var isThere = false

    init() {}

    /// Recalls the last run of a module.
    init(_ module: ModuleDescription) {
        let times = Self.paths(module).compactMap { path in
            FileAccess.modificationTime(of: path).map { (path: path, time: $0) }
        }
        guard let (path, time) = times.max(by: { $0.time < $1.time }), let bytes = try? FileAccess.contents(of: path)
        else {
            self.init()
            return
        }
        self.init(text: String(decoding: bytes, as: UTF8.self))
        isThere = true
        // What is as old was written afterwards or during the run: the clock of files takes milliseconds for a step.
        changed.formUnion(module.sources.filter { FileAccess.changeTime(of: $0) ?? 0 >= time })
    }

    private init(text: String) {
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: "\t", maxSplits: 2).map(String.init)
            switch (fields.first, fields.count) {
            case ("failed", 2): failed.insert(fields[1])
            case ("kept", 2): keptDirectories.append(fields[1])
            case ("changed", 2): changed.insert(fields[1])
            case ("time", 3): times[fields[2]] = Int(fields[1])
            default: break
            }
        }
    }

    /// The times of the slow tests of a plan by index.
    func times(in plan: [PlannedTest]) -> [Int: Int] {
        if times.isEmpty { return [:] }
        var known: [Int: Int] = [:]
        for (index, test) in plan.enumerated() { known[index] = times[test.name] }
        return known
    }

    /// Puts what a new run says in place of what is remembered of the tests in it; what it did not run stays.
    ///
    /// - Parameters:
    ///   - isOfAll: whether it ran all tests there are.
    ///   - ran: the names of the tests that have run.
    ///   - isDone: whether it ran all tests of the source with a path.
    mutating func update(
        failed newFailures: Set<String>, times newTimes: [String: Int], isOfAll: Bool, ran: () -> Set<String>,
        isDone: (String) -> Bool
    ) {
        changed = isOfAll ? [] : changed.filter { !isDone($0) }
        if isOfAll {
            failed = []
            times = [:]
        } else if !failed.isEmpty || !times.isEmpty {
            let ran = ran()
            failed.subtract(ran)
            times = times.filter { !ran.contains($0.key) }
        }
        failed.formUnion(newFailures)
        times.merge(newTimes) { $1 }
    }

    /// Remembers a run.
    ///
    /// A memory that cannot be kept is no failure: the next run is merely less well informed.
    func store(for module: ModuleDescription) {
        for path in Self.paths(module) where (try? FileAccess.write(Array(text.utf8), to: path)) != nil { return }
    }

    private var text: String {
        let lines =
            failed.sorted().map { "failed\t\($0)\n" } + times.sorted { $0.key < $1.key }.map { "time\t\($1)\t\($0)\n" }
            + keptDirectories.map { "kept\t\($0)\n" }
            + changed.filter { !$0.contains("\n") }.sorted().map { "changed\t\($0)\n" }
        return lines.joined()
    }

    /// Where the memory is: beside the products, or beside the image where a sandbox allows no more.
    private static func paths(_ module: ModuleDescription) -> [String] {
        let shared =
            module.bundleFolder.isEmpty || module.module.isEmpty
            ? [] : ["\(module.bundleFolder)/\(module.module).img.memory"]
        return shared + ["\(module.image).memory"]
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension LastRun: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsWhatItWrites": testReadsWhatItWrites,
            "testForgetsOnlyWhatRanAgain": testForgetsOnlyWhatRanAgain,
            "testIgnoresWhatItDoesNotKnow": testIgnoresWhatItDoesNotKnow,
        ]
    }

    private static func testReadsWhatItWrites() {
        var lastRun = LastRun()
        lastRun.failed = ["T.a", "Table<Int, String>.b c"]
        lastRun.times = ["T.a": 1_500_000, "T.c d": .max]
        lastRun.keptDirectories = ["/tmp/in-class-tests-1/T.a"]
        lastRun.changed = ["/p/a.swift", "/p/b c.swift"]
        expectEqual(LastRun(text: lastRun.text), lastRun)
        expectEqual(LastRun(text: ""), LastRun())
    }

    private static func testForgetsOnlyWhatRanAgain() {
        var lastRun = LastRun()
        lastRun.update(
            failed: ["a", "b"], times: ["a": 5, "c": 6], isOfAll: false, ran: { [] }, isDone: { _ in true })
        lastRun.changed = ["x", "y"]
        lastRun.update(failed: ["c"], times: ["a": 7], isOfAll: false, ran: { ["a", "c"] }, isDone: { $0 == "y" })
        expectEqual(lastRun.failed, ["b", "c"])
        expectEqual(lastRun.changed, ["x"], "whose tests have not all run")
        expectEqual(lastRun.times, ["a": 7])
        lastRun.update(failed: ["d"], times: [:], isOfAll: true, ran: { [] }, isDone: { _ in false })
        expectEqual(lastRun.failed, ["d"])
        expectEqual(lastRun.changed, [])
        expectEqual(lastRun.times, [:])
    }

    private static func testIgnoresWhatItDoesNotKnow() {
        expectEqual(LastRun(text: "T.old\nfailed\nfailed\tx\ty\ntime\tx\ty\nnew\tx\n"), LastRun())
    }
}
#endif
