// Tests TestRun, and with it Worker: whole runs of test executables that are shell scripts. The other
// tests of those types change their process in other ways.

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
import InClassTesting
import TestEvents

extension TestRun: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testReportsInTheOrderOfThePlan": testReportsInTheOrderOfThePlan,
            "testRefusesForeignEvents": testRefusesForeignEvents,
            "testReportsDuplicateEntries": testReportsDuplicateEntries,
            "testLargeLimitsDoNotOverflow": testLargeLimitsDoNotOverflow,
            "testRefusesLimitsBelowZero": testRefusesLimitsBelowZero,
            "testReportsFailuresInLists": testReportsFailuresInLists,
            "testReportsOutputOfFailedTests": testReportsOutputOfFailedTests,
            "testRetriesFailedTests": testRetriesFailedTests,
            "testReportsMissingExecutables": testReportsMissingExecutables,
            "testRunsSelectedTests": testRunsSelectedTests,
            "testIsolatedTestsMakeOnlyTheirLists": testIsolatedTestsMakeOnlyTheirLists,
        ]
            + .each("testDeadWorkersFailOnlyTheirTest", deaths) { words, issue in
                let module = try executable([("a", ""), ("b", words), ("c", "")])
                expectEqual(try lines(module), afterB("b failed; \(issue)"))
            }
            + .each("testAssignsStrayIssuesToTheirTests", strayIssues, testAssignsStrayIssuesToTheirTests)
            + .each("testRejectsProtocolErrors", protocolErrors) { opening, text in
                let module = try executable([("a", "exit 3"), ("b", "")], opening: opening)
                expectEqual(expectThrows(RunError.self) { _ = try lines(module) }, .protocolMismatch(text))
            }
            + .each("testReportsUnlistedAndLostTests", lists, testReportsUnlistedAndLostTests)
            // The limit allows for a busy machine.
            + .timeLimit(
                .seconds(300),
                [
                    "testEndsHangingTests": testEndsHangingTests,
                    "testMaximumLimitOverridesOwnLimits": testMaximumLimitOverridesOwnLimits,
                    "testStopsAfterFailureOrSignal": testStopsAfterFailureOrSignal,
                    "testReportsWorkersThatDieOutsideTests": testReportsWorkersThatDieOutsideTests,
                    "testSharesTestsAmongWorkers": testSharesTestsAmongWorkers,
                    "testReportsLateFailuresOfIsolatedTests": testReportsLateFailuresOfIsolatedTests,
                    "testBlamesIsolatedTestsForLateDeaths": testBlamesIsolatedTestsForLateDeaths,
                ])
    }

    // MARK: Test executables

    /// A test of a test executable: its name and its shell commands.
    package typealias Script = (name: String, words: String)

    /// Creates a test executable with such tests of the type `T`.
    ///
    /// - Parameters:
    ///   - opening: the commands before the announcement of the plan.
    ///   - commanded: the commands before each part of the plan.
    ///   - closing: the commands after all tests.
    package static func executable(
        _ tests: [Script], opening: String = "", commanded: String = "", closing: String = ""
    ) throws -> ModuleDescription {
        let plan = tests.map { "say 'planned\\t\($0.name)'" }.joined(separator: "\n")
        let cases = tests.enumerated().map { "\($0.offset)) \($0.element.words)\n;;" }.joined(separator: "\n")
        let text = #"""
            #!/bin/sh
            exec 3>/dev/fd/$3 4</dev/fd/$4
            say() { printf '%b\n' "$1" >&3; }
            issue() { say "issue\t${index:--1}\texpectation\t/s.swift\t3\t5\t$1\t2\t\t$2\t0"; }
            fail() { failed=1; issue "$1" '0\t'; }
            # Whether the executable has been here before.
            again() { [ -e "$0.$1" ] || { : > "$0.$1"; return 1; }; }
            at=0 time=1000 hash=7 failed=
            \#(opening)
            say 'version\t8'
            if [ $5 != known ]; then
            say 'list\tT\tunit\tM\t0'
            \#(plan)
            fi
            say "ready\t\#(tests.count)\t$hash"
            while read -r verb ranges <&4; do
            \#(commanded)
            set -- $ranges
            while [ $# -gt 0 ]; do
            index=$1
            while [ $index -lt $2 ]; do
            say "begin\t$index\t$at"
            case $index in
            \#(cases)
            esac
            say "end\t$index\t$time\t$at"
            [ "$verb$failed" = try1 ] && break 2
            index=$((index + 1))
            done
            shift 2
            done
            say idle
            done
            \#(closing)
            say finished
            """#
        var module = ModuleDescription()
        module.module = "M"
        module.executable = "\(try temporaryDirectory())/\(UInt32.random(in: 0 ... .max))"
        try FileAccess.write(Array(text.utf8), to: module.executable)
        chmod(module.executable, 0o755)
        return module
    }

    /// Runs a test executable and returns a line for each event, and a line with the counts unless all tests passed.
    private static func lines(
        _ module: ModuleDescription, _ change: (inout RunOptions) -> Void = { _ in }
    ) throws -> [String] {
        // Threads that run tasks block all signals. Their child processes inherit that.
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var options = RunOptions()
        change(&options)
        var lines: [String] = []
        let tally = try TestRun(module, options: options) { lines.append(line($0)) }.run()
        let counts = [
            ("planned", tally.planned), ("passed", tally.passed), ("failed", tally.failed), ("skipped", tally.skipped),
            ("flaky", tally.flaky), ("not run", tally.notRun), ("known", tally.knownIssues),
            ("of the module", tally.moduleIssues), ("warned", tally.warnings), ("unselected", tally.unselected),
        ]
        let text = counts.filter { $0.1 != 0 }.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
        if tally.passed < tally.planned || counts[4...].contains(where: { $0.1 != 0 }) { lines.append(text) }
        return lines
    }

    private static func line(_ event: RunEvent) -> String {
        switch event {
        case .planned(let module, let tests):
            return "\(module): \(tests.map(\.testName).joined(separator: " "))"
        case .began(let test): return "\(test.testName)?"
        case .ended(let result):
            var parts = ["\(result.test.testName) \(result.outcome.rawValue)"]
            for attempt in result.earlierAttempts {
                let issues = attempt.issues.map { " \($0.got)\($0.message)" }.joined()
                parts.append("before: \(attempt.outcome.rawValue)\(issues)")
            }
            if let reason = result.skipReason { parts.append(reason) }
            for issue in result.issues { parts += [text(of: issue)] + issue.notes }
            if !result.output.isEmpty { parts.append("wrote \(String(decoding: result.output, as: UTF8.self))") }
            if result.omittedOutputCount > 0 { parts.append("and \(result.omittedOutputCount) before") }
            return parts.joined(separator: "; ")
        case .failedLate(let test, let issue):
            return (["late \(test.testName): \(text(of: issue))"] + issue.notes).joined(separator: "; ")
        case .moduleIssue(_, let issue):
            let expected = issue.isComparison ? " instead of \(issue.expected)" : ""
            let text = "\(issue.place.path):\(issue.place.line): \(text(of: issue))\(expected)"
            return ([text] + issue.notes).joined(separator: "; ")
        case .warning(let warning): return "\(warning.place.path):\(warning.place.line): \(warning.text)"
        }
    }

    private static func text(of issue: TestIssue) -> String {
        issue.isComparison ? "got \(issue.got)" : issue.message
    }

    // MARK: Results

    private static func testReportsInTheOrderOfThePlan() throws {
        let module = try executable([
            ("a", ""), ("b", "fail 1"), ("c", "say 'skip\\twhy'"), ("d", "issue 1 '1\\tbecause'"),
            ("e", "time=9000000"),
        ])
        let expected = [
            "M: a b c d e", "a?", "a passed", "b?", "b failed; got 1", "c?", "c skipped; why", "d?", "d passed; got 1",
            "e?", "e passed", "5 planned, 3 passed, 1 failed, 1 skipped, 1 known",
        ]
        expectEqual(try lines(module), expected)
        expectEqual(try lines(module) { $0.isStable = true }, expected, "stable")
        let news = expected.filter { !$0.hasSuffix("?") && $0 != "a passed" && $0 != "e passed" }
        expectEqual(try lines(module) { $0.reportsOnlyNews = true }, news, "news")
        let slow = try lines(module) { $0.slowMilliseconds = 8 }
        expectEqual(slow.suffix(2).first, "\(module.executable):1: T.e took 9 ms, more than 8 ms")
        expectEqual(try lines(module) { $0.isListing = true }, ["M: a b c d e", "5 planned"], "a list")
        expectTrue(
            try lines(module) { $0.shuffleSeed = 3 }.contains("b failed; got 1; the order was shuffled with seed 3"))
    }

    /// The events of three tests. The second test fails.
    private static func afterB(_ result: String) -> [String] {
        ["M: a b c", "a?", "a passed", "b?", result, "c?", "c passed", "3 planned, 2 passed, 1 failed"]
    }

    private static let intrusion = "wrote to descriptor 198, which testlogger needs for results"

    private static func exit(_ status: Int) -> String { "exited with status \(status) before the test ended" }

    private static var deaths: [(words: String, issue: String)] {
        let alone = "it also fails when it runs alone"
        let afterOthers = "it passes when it runs alone; it failed in a process that had run T.a before"
        return [
            ("kill -SEGV $$", "crashed with SIGSEGV; \(alone)"), ("exit 3", "\(exit(3)); \(alone)"),
            ("exit 0", "\(exit(0)); \(alone)"), ("again b || exit 3", "\(exit(3)); \(afterOthers)"),
            ("again b && fail 1 || exit 3", "\(exit(3)); when it runs alone, it fails in a different way"),
            ("say 'crash\\t8'; kill -KILL $$", "crashed with SIGFPE; \(alone)"),
            ("say nonsense; say idle", intrusion),
        ]
    }

    private static func testRefusesForeignEvents() throws {
        let lateFailure = "late b: got 1; recorded after T.b ended"
        for (words, late, counts) in [
            ("say 'end\\t1\\t5\\t0'; fail 1", [lateFailure], "2 passed, 1 failed"),
            ("say 'end\\t1\\t5\\t0'", [], "3 passed"),
        ] {
            let module = try executable([("a", ""), ("b", words), ("c", "")])
            expectEqual(
                try lines(module),
                ["M: a b c", "a?", "a passed", "b?", "b passed"] + late + [
                    "\(module.executable):1: wrote to descriptor 198, which testlogger needs for results after its last test",
                    "c?", "c passed", "3 planned, \(counts), 1 of the module",
                ], words)
        }
    }

    private static func testReportsDuplicateEntries() throws {
        let twice = try executable([("a", ""), ("a", ""), ("b", "")])
        expectEqual(
            try lines(twice),
            [
                "M: a a b", "a?", "a passed", "a failed; duplicate entry; only the first one runs", "b?",
                "b passed", "3 planned, 2 passed, 1 failed",
            ])
    }

    private static var strayIssues: [(words: String, lines: [String])] {
        func stray(_ index: Int, _ line: Int) -> String {
            "say 'issue\\t\(index)\\texpectation\\t'$0.swift'\\t\(line)\\t5\\t1\\t2\\t\\t0\\t\\t0'"
        }
        let unknown = "recorded by a detached task, a thread or a child process; the test is unknown"
        let oneFailed = "2 planned, 1 passed, 1 failed"
        let late = "late a: got 1; recorded after T.a ended"
        return [
            (stray(0, 1), [late, "b passed", oneFailed]), (stray(-1, 3), [late, "b passed", oneFailed]),
            (stray(1, 1), ["b failed; got 1", oneFailed]), (stray(-1, 5), ["b failed; got 1", oneFailed]),
            (
                stray(-1, 7),
                [
                    ":7: got 1 instead of 2; \(unknown); T.b was running", "b passed",
                    "2 planned, 2 passed, 1 of the module",
                ]
            ),
            (
                "say 'end\\t1\\t5\\t0'; \(stray(-1, 7)); say nonsense; sleep 60",
                [
                    "b passed", ":7: got 1 instead of 2; \(unknown); no test was running",
                    "2 planned, 2 passed, 2 of the module",
                ]
            ),
        ]
    }

    /// An issue without a task belongs to the test around its place, not to the running test.
    private static func testAssignsStrayIssuesToTheirTests(_ row: (words: String, lines: [String])) throws {
        var module = try executable([("a", ""), ("b", row.words)])
        module.sources = ["\(module.executable).swift"]
        let text = """
            extension T { static var testSelectors: TestSelectors { ["a": testA, "b": testB] }
                static func testA() {
                }
                static func testB() {
                }
                static func other() {
                } }
            """
        try FileAccess.write(Array(text.utf8), to: module.sources[0])
        // Only a selection of all tests checks the lists.
        let found = try lines(module) {
            $0.choice.filters = [try? TestPattern("T")].compactMap(\.self)
            $0.isBuildStep = true
        }.map { $0.replacing(module.sources[0], with: "") }
        expectEqual(found.filter { !$0.hasPrefix(":1: ") }, ["M: a b", "a?", "a passed", "b?"] + row.lines)
    }

    /// Expects the lines of runs with a test that hangs. On a busy machine, a short limit also ends other tests, so the
    /// runs are repeated with longer limits.
    private static func expectLines(
        _ expected: (_ executable: String, _ limit: Int) -> [String], _ name: String,
        of executable: () throws -> ModuleDescription, _ change: (inout RunOptions, _ limit: Int) -> Void
    ) throws {
        for limit in [80, 1_000, 30_000] {
            let module = try executable()
            let found = try lines(module) { change(&$0, limit) }
            let expectedLines = expected(module.executable, limit)
            if found == expectedLines || limit == 30_000 { return expectEqual(found, expectedLines, name) }
        }
    }

    private static func testReportsLateFailuresOfIsolatedTests() throws {
        let stray = "say 'issue\\t0\\texpectation\\t/s.swift\\t1\\t5\\t1\\t2\\t\\t0\\t\\t0'"
        try expectLines(
            { _, _ in
                [
                    "M: a b", "a?", "a passed", "b?", "late a: got 1; recorded after T.a ended", "b passed",
                    "2 planned, 1 passed, 1 failed",
                ]
            }, "a process of its own",
            of: {
                try executable([
                    // The process of b begins after a has ended.
                    ("a", "{ while [ ! -e $0.b ]; do sleep 0.01; done; \(stray); : > $0.late; } &"),
                    ("b", ": > $0.b; while [ ! -e $0.late ]; do sleep 0.01; done"),
                ])
            }, { ($0.isolatesTests, $0.lateMilliseconds, $0.timeoutMilliseconds) = (true, $1, $1) })
    }

    private static func testBlamesIsolatedTestsForLateDeaths() throws {
        for (signal, end) in [("KILL", "crashed with SIGKILL"), ("USR1", "exited with status 0")] {
            try expectLines(
                { _, _ in
                    [
                        "M: a b", "a?", "a passed", "b?",
                        "late a: \(end) after its last test; recorded after T.a ended",
                        "b passed", "2 planned, 1 passed, 1 failed",
                    ]
                }, "a process that ends after its test: \(end)",
                of: {
                    try executable(
                        [
                            (
                                "a",
                                "echo $$ > $0.a; { while [ ! -e $0.b ]; do sleep 0.01; done; kill -\(signal) $$; } &"
                            ),
                            // The process of b begins when a has ended, and b waits for the end of the process of a.
                            ("b", ": > $0.b; while kill -0 $(cat $0.a) 2> /dev/null; do sleep 0.01; done"),
                        ], opening: "trap 'exit 0' USR1")
                }, { ($0.isolatesTests, $0.lateMilliseconds, $0.timeoutMilliseconds) = (true, $1, $1) })
        }
    }

    /// The first process creates all lists. The others only create the lists of their test's type.
    private static func testIsolatedTestsMakeOnlyTheirLists() throws {
        let module = try executable([("a", ""), ("b", "fail 1"), ("c", "")], opening: "echo $5 >> $0.plans")
        let found = try lines(module) {
            $0.isolatesTests = true
            $0.lateMilliseconds = 1
        }
        expectEqual(found, afterB("b failed; got 1"))
        let plans = String(decoding: try FileAccess.contents(of: "\(module.executable).plans"), as: UTF8.self)
        expectEqual(plans, "unknown\n0:T\n0:T\n")
        let other = try executable(
            [("a", ""), ("b", "")],
            opening: #"if [ $5 != unknown ]; then say() { printf '%b\n' "$1" | sed s/T/U/ >&3; }; fi"#)
        expectThrows(RunError.self) { _ = try lines(other) { $0.isolatesTests = true } }
    }

    private static func time(_ milliseconds: Int) -> String { IssueLocator.time(milliseconds) }

    private static func testEndsHangingTests() throws {
        let rows: [(text: String, words: String)] = [
            ("timed out after LIMIT", "sleep 600"),
            ("\(exit(3)); it also fails when it runs alone", "again b && sleep 600; exit 3"),
        ]
        for (text, words) in rows {
            try expectLines(
                { afterB("b failed; \(text.replacing("LIMIT", with: time($1)))") }, words,
                of: { try executable([("a", ""), ("b", words), ("c", "")]) }, { $0.timeoutMilliseconds = $1 })
        }
        let flooding = try executable([("a", ""), ("b", "echo 0123456789; sleep 600"), ("c", "")])
        let found = try lines(flooding) {
            $0.outputFileByteCountMax = 10
            $0.outputByteCountMax = 6
        }
        expectEqual(found, afterB("b failed; printed more than 0 MB; wrote 56789\n; and 5 before"))
    }

    /// The maximum limit applies to every test, and also to the start and the end of a worker.
    private static func testMaximumLimitOverridesOwnLimits() throws {
        let own = #"say() { [ "$1" != 'list\tT\tunit\tM\t0' ] || set -- "${1}600000"; printf '%b\n' "$1" >&3; }"#
        try expectLines(
            { afterB("b failed; timed out after \(time($1))") }, "test",
            of: { try executable([("a", ""), ("b", "sleep 600"), ("c", "")], opening: own) },
            { $0.timeoutMillisecondsMax = $1 })
        try expectLines(
            { ["\($0):1: timed out after \(time($1)) before it listed its tests", "1 of the module"] }, "list",
            of: { try executable([("a", "")], opening: "sleep 600") }, { $0.timeoutMillisecondsMax = $1 })
        try expectLines(
            { executable, limit in
                [
                    "M: a", "a?", "a passed",
                    "\(executable):1: timed out after \(time(limit)) after its last test",
                    "1 planned, 1 passed, 1 of the module",
                ]
            }, "end", of: { try executable([("a", "")], closing: "sleep 600") }, { $0.timeoutMillisecondsMax = $1 })
    }

    private static func testReportsOutputOfFailedTests() throws {
        let tests: [Script] = [
            ("a", "echo one; at=$((at + 4))"), ("b", "echo two; at=$((at + 4)); fail 1"), ("c", "echo three; exit 3"),
        ]
        for (count, expected) in [(100, ["two\n", "three\n"]), (2, ["o\n; and 2 before", "e\n; and 4 before"])] {
            let found = try lines(try executable(tests)) { $0.outputByteCountMax = count }
            expectEqual(
                found.filter { $0.contains("failed;") },
                [
                    "b failed; got 1; wrote \(expected[0])",
                    "c failed; exited with status 3 before the test ended; it also fails when it runs alone; wrote \(expected[1])",
                ])
        }
    }

    // MARK: Attempts and ends

    private static func testRetriesFailedTests() throws {
        let late = "say 'issue\\t0\\texpectation\\t/s.swift\\t1\\t5\\t7\\t2\\t\\t0\\t\\t0'"
        let module = try executable([
            ("a", "again a1 || fail 1"), ("b", "[ -e $0.b1 ] || \(late); again b1 && again b2 || exit 3"),
            ("c", "if again c1; then again c2 && fail 6 || fail 5; else fail 4; fi"),
        ])
        expectEqual(
            try lines(module) { $0.retryCount = 2 }.filter { !$0.hasSuffix("?") },
            [
                "M: a b c", "a passed; before: failed 1 7",
                "b passed; before: failed exited with status 3 before the test ended; before: failed exited with status 3 before the test ended",
                "c failed; before: failed 4; before: failed 5; got 6",
                "3 planned, 2 passed, 1 failed, 2 flaky",
            ])
    }

    private static func testStopsAfterFailureOrSignal() throws {
        let module = try executable([("a", ""), ("b", "fail 1"), ("c", ""), ("d", "")])
        let start = ["M: a b c d", "a?", "a passed", "b?", "b failed; got 1"]
        expectEqual(
            try lines(module) { $0.stopsAtFirstFailure = true },
            start + ["4 planned, 1 passed, 1 failed, 2 not run"])
        expectEqual(
            try lines(try executable([("a", "again a || fail 1"), ("b", ""), ("c", "fail 2"), ("d", "")])) {
                $0.stopsAtFirstFailure = true
                $0.retryCount = 1
            }.filter { !$0.hasSuffix("?") },
            [
                "M: a b c d", "a passed; before: failed 1", "b passed", "c failed; before: failed 2; got 2",
                "4 planned, 2 passed, 1 failed, 1 flaky, 1 not run",
            ])
        Interruption.watchSignals()
        defer { Interruption.forget() }
        // The run ends before the second attempt, so the first attempt counts.
        expectEqual(
            try lines(try executable([("a", "fail 1"), ("b", "kill -TERM $PPID; sleep 600"), ("c", "")])) {
                $0.retryCount = 1
                $0.timeoutMilliseconds = 300_000
                // The signal may arrive before the event that b has begun.
            }.filter { !$0.hasSuffix("?") },
            [
                "M: a b c", "a failed; got 1", "b failed; was running when SIGTERM ended the run",
                "3 planned, 2 failed, 1 not run",
            ])
        for (isBuildStep, end) in [
            (false, ["b failed; was running when SIGTERM ended the run", "3 planned, 1 passed, 1 failed, 1 not run"]),
            (true, ["3 planned, 1 passed, 2 not run"]),
        ] {
            Interruption.forget()
            expectEqual(
                try lines(try executable([("a", ""), ("b", "kill -TERM $PPID; sleep 600"), ("c", "")])) {
                    $0.isBuildStep = isBuildStep
                    $0.timeoutMilliseconds = 300_000
                }, ["M: a b c", "a?", "a passed", "b?"] + end, "a step of a build: \(isBuildStep)")
        }
    }

    /// Sanitizers make tests slow, so the limits are longer.
    private static func testLargeLimitsDoNotOverflow() throws {
        let sanitized = try executable([("a", "")])
        try FileAccess.write(Array("\"-fsanitize=address\"\n".utf8), to: "\(sanitized.executable).link")
        for limit in [Int.max / 5, Int.max / 5 + 1, Int.max] {
            expectEqual(
                try lines(sanitized) { $0.timeoutMilliseconds = limit },
                ["M: a", "a?", "a passed"], "\(limit)")
        }
    }

    /// An expectation in a list, or in the rows of a table, belongs to no test.
    private static func testReportsFailuresInLists() throws {
        let failing = try executable([("a", "")], opening: "issue 1 '0\\t'\nissue 2 '1\\tlater'")
        expectEqual(
            try lines(failing),
            ["M: a", "a?", "a passed", "/s.swift:3: got 1 instead of 2", "1 planned, 1 passed, 1 of the module"])
    }

    /// The tests run with the usual limit, and the run fails.
    private static func testRefusesLimitsBelowZero() throws {
        for limit in [-1, Int.min] {
            let list = "say() { [ \"$1\" != 'planned\\ta' ] || printf 'list\\tU\\tunit\\tM\\t\(limit)\\n' >&3; "
            let refused = try executable([("a", "")], opening: list + "printf '%b\\n' \"$1\" >&3; }")
            expectEqual(
                try lines(refused),
                [
                    "M: a", "a?", "a passed",
                    "\(refused.executable):1: negative time limit of \(limit) ms for tests of U",
                    "1 planned, 1 passed, 1 of the module",
                ])
        }
    }

    // MARK: Test executables that are not as they should be

    private static var protocolErrors: [(opening: String, text: String)] {
        [
            (
                "say 'version\\t1'",
                "the test executable uses version 1 of the protocol, but this testlogger uses 8; build again"
            ),
            ("say nonsense", "the test executable sent an unknown event; build again"),
            ("say 'planned\\ta'", "the test executable announced a test without a list"),
            ("say 'ready\\t3\\t7'", "the test executable announced 3 tests but counted 0"),
            (
                "say 'issue\\t9\\texpectation\\t\\t0\\t0\\t1\\t2\\t\\t0\\t\\t0'",
                "the test executable named an unknown test"
            ),
            ("say 'begin\\t9\\t0'", "the test executable began an unknown test"),
            (
                "[ $5 = known ] && hash=8",
                "the tests differ from process to process; names and rows that are made at run time must not depend on "
                    + "the order of a Set or Dictionary, or on the time"
            ),
        ]
    }

    private static func testReportsMissingExecutables() throws {
        var nothing = ModuleDescription()
        nothing.executable = "\(try temporaryDirectory())/nothing"
        let error = expectThrows(RunError.self) { _ = try lines(nothing) }
        expectEqual(error, .system(SystemError("start \(nothing.executable)", code: ENOENT)))
    }

    private static func testReportsWorkersThatDieOutsideTests() throws {
        let tests: [Script] = [("a", ""), ("b", "")]
        let passes = ["M: a b", "a?", "a passed", "b?", "b passed"]
        let rows: [(ModuleDescription, [String])] = [
            (
                try executable(tests, opening: "exit 5"),
                ["exited with status 5 before it listed its tests", "1 of the module"]
            ),
            (
                try executable(tests, commanded: "exit 5"),
                [
                    "M: a b", "exited with status 5 after its last test",
                    "2 planned, 2 not run, 1 of the module",
                ]
            ),
            (
                try executable(tests, closing: "kill -ABRT $$"),
                passes + [
                    "crashed with SIGABRT after its last test",
                    "2 planned, 2 passed, 1 of the module",
                ]
            ),
            // Only the worker itself may end its process, after it has announced that.
            (
                try executable(tests, closing: "exit 0"),
                passes + [
                    "exited with status 0 after its last test", "2 planned, 2 passed, 1 of the module",
                ]
            ),
            (
                try executable(tests, closing: "say finished; exit 5"),
                passes + [
                    "exited with status 5 after its last test", "2 planned, 2 passed, 1 of the module",
                ]
            ),
            // Another worker runs the remaining tests.
            (
                try executable([("a", "again a || { say 'end\\t0\\t5\\t0'; exit 0; }"), ("b", "")]),
                passes.dropLast(2) + [
                    "exited with status 0 after its last test", "b?", "b passed",
                    "2 planned, 2 passed, 1 of the module",
                ]
            ),
        ]
        for (module, expected) in rows {
            let found = try lines(module).map { $0.replacing("\(module.executable):1: ", with: "") }
            expectEqual(found, expected)
        }
        // A worker must run the tests that it gets.
        for stops in [false, true] {
            let lazy = try executable(tests, commanded: "say idle; continue")
            expectEqual(
                try lines(lazy) { $0.stopsAtFirstFailure = stops },
                [
                    "M: a b",
                    "\(lazy.executable):1: wrote to descriptor 198, which testlogger needs for results after its last test",
                    "2 planned, 2 not run, 1 of the module",
                ])
        }
        // The start of a worker may take longer than a test, but its end may not.
        for limit in [100, 4_000] {
            let slow = try executable(tests, opening: "sleep \(Double(limit) / 500)", closing: "sleep 600")
            let found = try lines(slow) { $0.timeoutMilliseconds = limit }
            let expected =
                passes + [
                    "\(slow.executable):1: timed out after \(time(limit)) after its last test",
                    "2 planned, 2 passed, 1 of the module",
                ]
            // On a busy machine, the tests themselves may take longer than the short limit.
            if found == expected || limit > 100 { return expectEqual(found, expected) }
        }
    }

    // MARK: Choices

    private static func testRunsSelectedTests() throws {
        let module = try executable([("a", "fail 1"), ("b", ""), ("c", "")])
        func names(_ change: (inout RunOptions) -> Void) throws -> String? {
            try lines(module, change).first
        }
        expectEqual(try names { $0.choice.isFailedOnly = true }, "M: ", "none has failed yet")
        expectEqual(
            try lines(module) { $0.choice.names = ["T.b"] },
            ["M: b", "b?", "b passed", "1 planned, 1 passed, 2 unselected"])
        expectEqual(try names { _ in }, "M: a b c")
        expectEqual(try names { $0.choice.isFailedOnly = true }, "M: a", "what failed in the last run")
        let before = try executable([("a", ""), ("b", "time=3000000"), ("c", "again c || fail 1")])
        _ = try lines(before)
        expectEqual(
            try lines(before).filter { $0.hasSuffix("?") }, ["c?", "a?", "b?"], "what failed in the last run is first")
    }

    private typealias ListRow = (members: String, names: [String], opening: String, lines: [String])

    private static var lists: [ListRow] {
        let list = "static var testSelectors: TestSelectors { [\"testA\": testA, \"testB\": testB] }"
        let functions = "static func testA() {}\nstatic func testB() {}"
        let other = "T runs another list"
        let warning = "say 'untested\\tT\\tit is generic'"
        return [
            ("\(list)\n\(functions)", ["testA", "testB"], "", []),
            (
                "\(list)\n\(functions)\nstatic func testC() {}", ["testA", "testB"], "",
                ["6: test 'testC' of T is in no list and doesn't run", "2 planned, 2 passed, 1 warned"]
            ),
            (
                "\(list)\n\(functions)", ["testA"], "",
                ["3: entry 'testB' of T doesn't run: \(other)", "1 planned, 1 passed, 1 of the module"]
            ),
            (
                "\(list)\n\(functions)", [], warning,
                [
                    "3: entry 'testA' of T doesn't run: it is generic",
                    "3: entry 'testB' of T doesn't run: it is generic", "2 of the module",
                ]
            ),
            (
                "#if X\n\(list)\n#else\nstatic var testSelectors: TestSelectors { [:] }\n#endif\n\(functions)", [],
                "say 'untested\\tT\\t'", []
            ),
            (
                functions, [], warning.replacing("T\\t", with: "U\\t"),
                ["1: U: its tests don't run: it is generic", "1 warned"]
            ),
        ]
    }

    private static func testReportsUnlistedAndLostTests(_ row: ListRow) throws {
        var module = try executable(row.names.map { ($0, "") }, opening: row.opening)
        module.sources = ["\(module.executable).swift"]
        let text = "import InClassTesting\nstruct T: SelfTesting {\n\(row.members)\n}\n"
        try FileAccess.write(Array(text.utf8), to: module.sources[0])
        // Like a compiled source, the file is older than the test executable.
        let moment = timeval(tv_sec: 1_000, tv_usec: 0)
        utimes(module.sources[0], [moment, moment])
        let found = try lines(module) { $0.isBuildStep = true }.map {
            $0.replacing("\(module.sources[0]):", with: "")
        }
        expectEqual(found.filter { line in ["M:", "test"].allSatisfy { !line.hasPrefix($0) } }, row.lines)
    }

    private static func testSharesTestsAmongWorkers() throws {
        // With several workers, the tests wait until a second worker exists.
        let words =
            "echo $$ >> $0.workers; "
            + "while [ -e $0.shared ] && [ $(sort -u $0.workers | wc -l) = 1 ]; do sleep 0.01; done"
        let module = try executable((1...4).map { ("t\($0)", words) })
        for (count, isExpected) in [(1, { $0 == 1 }), (3, { $0 > 1 && $0 <= 3 })] as [(Int, (Int) -> Bool)] {
            unlink("\(module.executable).workers")
            if count > 1 { try FileAccess.write([], to: "\(module.executable).shared") }
            let found = try lines(module) {
                $0.workerCountMax = count
                $0.timeoutMilliseconds = 300_000
            }
            expectEqual(found.filter { !$0.hasSuffix("?") }.dropFirst(), (1...4).map { "t\($0) passed" }[...])
            let workers = String(decoding: try FileAccess.contents(of: "\(module.executable).workers"), as: UTF8.self)
            expectTrue(isExpected(Set(workers.split(separator: "\n")).count), "\(count): \(workers)")
        }
    }
}
#endif
