// Stores a module's last run in a file next to the build's products: the failed tests, the times of slow tests, the
// kept temporary directories and the time of the run. The build, the plugin and other runs share the file, although
// each of them has its own test executable.

import TestEvents

struct LastRun: Equatable {
    /// The shortest recorded time of a test, in nanoseconds.
    static let slowTime = 1_000_000

    /// The names of the failed tests.
    var failed: Set<String> = []
    /// The times of slow tests in nanoseconds, by name.
    var times: [String: Int] = [:]
    /// The temporary directories of failed tests.
    var keptDirectories: [String] = []
    /// The paths of sources with tests that have not run since the source changed.
    var changed: Set<String> = []
    /// A Boolean value that indicates whether an earlier run has been recorded.
    var isThere = false

    init() {}

    /// Reads the record of a module's last run.
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
        // If a source has the same time, it was changed during or after the run, because file times have steps of
        // milliseconds.
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

    /// Returns the times of a plan's slow tests by index.
    func times(in plan: [PlannedTest]) -> [Int: Int] {
        if times.isEmpty { return [:] }
        var known: [Int: Int] = [:]
        for (index, test) in plan.enumerated() { known[index] = times[test.name] }
        return known
    }

    /// Replaces the record of the tests in a new run.
    ///
    /// - Parameters:
    ///   - ran: the names of these tests, or nil if the run has run all tests.
    ///   - unfinished: the paths of sources with tests that have not run.
    mutating func update(
        failed newFailures: Set<String>, times newTimes: [String: Int], ran: Set<String>?, unfinished: Set<String>
    ) {
        changed.formIntersection(unfinished)
        failed = ran.map(failed.subtracting) ?? []
        times = times.filter { ran?.contains($0.key) == false }
        failed.formUnion(newFailures)
        times.merge(newTimes) { $1 }
    }

    /// Stores the record. An error is ignored, because the next run works without the record, too.
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

    /// Returns the possible paths of the file: next to the products, or next to the test executable if a sandbox requires it.
    private static func paths(_ module: ModuleDescription) -> [String] {
        let shared =
            module.bundleFolder.isEmpty || module.module.isEmpty
            ? [] : ["\(module.bundleFolder)/\(module.module).img.memory"]
        return shared + ["\(module.executable).memory"]
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension LastRun: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRoundTripsThroughText": testRoundTripsThroughText,
            "testForgetsOnlyTestsThatRanAgain": testForgetsOnlyTestsThatRanAgain,
            "testIgnoresUnknownLines": testIgnoresUnknownLines,
        ]
    }

    private static func testRoundTripsThroughText() {
        var lastRun = LastRun()
        lastRun.failed = ["T.a", "Table<Int, String>.b c"]
        lastRun.times = ["T.a": 1_500_000, "T.c d": .max]
        lastRun.keptDirectories = ["/tmp/in-class-tests-1/T.a"]
        lastRun.changed = ["/p/a.swift", "/p/b c.swift"]
        expectEqual(LastRun(text: lastRun.text), lastRun)
        expectEqual(LastRun(text: ""), LastRun())
    }

    private static func testForgetsOnlyTestsThatRanAgain() {
        var lastRun = LastRun()
        lastRun.update(failed: ["a", "b"], times: ["a": 5, "c": 6], ran: [], unfinished: [])
        lastRun.changed = ["x", "y"]
        lastRun.update(failed: ["c"], times: ["a": 7], ran: ["a", "c"], unfinished: ["x", "z"])
        expectEqual(lastRun.failed, ["b", "c"])
        expectEqual(lastRun.changed, ["x"], "whose tests have not all run")
        expectEqual(lastRun.times, ["a": 7])
        lastRun.update(failed: ["d"], times: [:], ran: nil, unfinished: [])
        expectEqual(lastRun.failed, ["d"])
        expectEqual(lastRun.changed, [])
        expectEqual(lastRun.times, [:])
    }

    private static func testIgnoresUnknownLines() {
        expectEqual(LastRun(text: "T.old\nfailed\nfailed\tx\ty\ntime\tx\ty\nnew\tx\n"), LastRun())
    }
}
#endif
