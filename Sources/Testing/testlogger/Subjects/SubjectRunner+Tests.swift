// Tests whole commands. Shell scripts replace the compiler and the test executable. The modules are linked and run, and the
// exit status and the output are compared.

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
import InClassTesting
import TestEvents
import TestSupervision

extension SubjectRunner: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testExitStatusShowsTheOutcome": testExitStatusShowsTheOutcome,
            "testReportsWhyNoTestsRan": testReportsWhyNoTestsRan,
            "testStopsBuildsOrLetsThemContinue": testStopsBuildsOrLetsThemContinue,
            "testReportsTestsThatNoBuildRuns": testReportsTestsThatNoBuildRuns,
            "testPassesModulesThatDontUseTheLibrary": testPassesModulesThatDontUseTheLibrary,
            "testBuildsRunOnlyUnpassedTests": testBuildsRunOnlyUnpassedTests,
            "testAppliesOptionsOfThePackage": testAppliesOptionsOfThePackage,
            "testReportsOptionsThatExcludeAllTests": testReportsOptionsThatExcludeAllTests,
            "testWarnsAboutMisspelledTypes": testWarnsAboutMisspelledTypes,
            "testReportsRemovedFailedTests": testReportsRemovedFailedTests,
            "testOldBuildsDoNotTestNewSources": testOldBuildsDoNotTestNewSources,
            "testFindsSourcesByAnyPath": testFindsSourcesByAnyPath,
            "testPrintsOutputWithoutCapture": testPrintsOutputWithoutCapture,
            "testReportsCrashReasonsWithoutCapture": testReportsCrashReasonsWithoutCapture,
            "testListsTheTenSlowestTests": testListsTheTenSlowestTests, "testWritesReports": testWritesReports,
            "testKeepsDirectoriesUntilTheNextRun": testKeepsDirectoriesUntilTheNextRun,
            "testAcceptsActualValues": testAcceptsActualValues, "testAcceptsGoldens": testAcceptsGoldens,
            "testReportsReasonsForNotAccepting": testReportsReasonsForNotAccepting,
        ]
            + .each("testRepeatsTests", repetitions, named: { "\($0.words) \($0.script)" }) { row in
                expectEqual(try Scene([("b", row.script)]).outcome(row.words), row.outcome)
            }
            + .each("testAcceptsLargeLimits", ["--slow", "--timeout", "--retries", "--jobs"]) { option in
                expectEqual(try Scene([("a", "")]).outcome(option, "\(Int.max)"), ["passed", "1 test, 1 passed"])
            }
            + .each("testKeepsLiteralsOfPassedExpectations", metTests, named: \.name) {
                try testKeepsLiteralsOfPassedExpectations($0)
            }
            + .each("testFailsWhenAReportCannotBePrinted", ["--json", "--junit"], testFailsWhenAReportCannotBePrinted)
            // The limit allows for a busy machine.
            + .timeLimit(.seconds(300), ["testRunsAllTestsBeforeAccepting": testRunsAllTestsBeforeAccepting])
    }

    private static let failure = "/s.swift:3:5: error: got 1 instead of expected 2 (T.b)"

    private static func testExitStatusShowsTheOutcome() throws {
        let scene = try Scene([("a", ""), ("b", "fail 1"), ("c", "say 'skip\\twhy'")])
        let skip = "skipped T.c because why"
        let all = "3 tests, 1 passed, 1 failed, 1 skipped"
        let nothing = ["nothingToRun", "error: the selection contains no tests of module 'M'"]
        func noMatch(_ name: String) -> [String] {
            ["nothingToRun", "error: no test matches '\(name)'; did you mean 'T.a'?"]
        }
        let coloured = failure.replacing("error:", with: "\u{1B}[1;31merror:\u{1B}[0m")
        let rows: [(words: String, outcome: [String])] = [
            ("", ["failed", failure, skip, all]), ("--filter T.a", ["passed", "1 test, 1 passed"]),
            ("--filter T.x", noMatch("T.x")), ("--skip T", nothing),
            ("--failed", ["failed", failure, "1 test, 0 passed, 1 failed"]), ("--shard 1/9 --skip T.b", ["passed"]),
            ("-l", ["passed", "T.a", "T.b", "T.c"]), ("--exact --filter T.a", ["passed", "1 test, 1 passed"]),
            ("--exact --filter T.", noMatch("T.")), ("--exact --filter a", noMatch("a")),
            ("--skip T --no-tests pass", ["passed"]), ("--filter T.x --no-tests pass", ["passed"]),
            ("--test-type slow --no-tests pass", ["passed"]),
            ("--filter T.a --filter T.x --no-tests pass", noMatch("T.x") + ["1 test, 1 passed"]),
            ("--shard 1/9 --skip T.b --no-tests=fail", nothing),
            ("--filter T.a --failed", ["passed", "nothing failed in the last run"]),
            ("--color always --filter T.b", ["failed", coloured, "1 test, 0 passed, 1 failed"]),
            ("-v", ["failed", "passed T.a", failure, "failed T.b", skip, all]),
            ("--slow 60000 --filter T.a|T.c", ["passed", skip, "2 tests, 1 passed, 1 skipped"]),
            ("--fail-fast --skip T.a", ["failed", failure, "2 tests, 0 passed, 1 failed, 1 not run"]),
            ("--jobs x", ["none"]), ("/no/executable", ["usage", "error: there is no file /no/executable"]),
        ]
        for row in rows {
            expectEqual(try scene.outcome(row.words.split(separator: " ").map(String.init)), row.outcome, row.words)
        }
        expectEqual(try Scene([]).outcome(), ["nothingToRun", "error: module 'M' lists no tests"])
        expectEqual(
            try Scene([("a", "")], opening: "say nonsense").outcome(),
            ["notRun", "error: the test executable sent an unknown event; build again"])
        expectEqual(
            try Scene([("a", "exit 3"), ("b", "")], opening: "[ $5 = known ] && hash=8").outcome().last,
            "error: the tests differ from process to process; names and rows that are made at run time must not "
                + "depend on the order of a Set or Dictionary, or on the time")
    }

    private static func obstacle(_ module: inout ModuleDescription) { module.obstacle = "no toolchain" }
    private static func unsupported(_ module: inout ModuleDescription) { module.unsupported = "no such language" }

    private static func testReportsWhyNoTestsRan() throws {
        let scene = try Scene([("a", "")])
        let start = "error: tests of module 'M' not run: "
        expectEqual(try scene.outcome(changed: obstacle), ["notRun", "\(start)no toolchain"])
        expectEqual(try scene.outcome(changed: unsupported), ["notRun", "\(start)no such language"])
        expectEqual(try scene.outcome(), ["passed", "1 test, 1 passed"])
        unlink(scene.module.executable)
        try scene.write("#!/bin/sh\necho undefined; exit 1\n", to: "clang")
        chmod(scene.module.clang, 0o755)
        symlink(scene.module.clang, "\(scene.folder)/ld.lld")
        let unlinked = "Package.swift:1:1: error: the tests of module 'M' can't be linked"
        expectEqual(try scene.outcome(), ["notRun", unlinked, "  ' undefined"])
        #if !os(macOS)
        try FileAccess.write([0x42, 0x43, 0xC0, 0xDE], to: scene.module.objects[0])
        let left =
            "error: the tests of module 'M' are compiled out of this build; "
            + "'-Xswiftc -DIN_CLASS_TESTS' keeps them in a release build"
        expectEqual(try scene.outcome(), ["nothingToRun", left])
        expectEqual(try scene.build(), ["passed"], "in a build")
        #endif
    }

    private static func testStopsBuildsOrLetsThemContinue() throws {
        func expect(
            _ scene: Scene, _ outcome: [String], goesOn: Bool, if change: Scene.ModuleChange? = nil,
            _ variables: [String: String] = [:], line: UInt = #line
        ) throws {
            expectEqual(try scene.build(changed: change, variables: variables), outcome, line: line)
            expectEqual(FileAccess.exists(scene.marker), goesOn, "marker", line: line)
            unlink(scene.marker)
        }
        let scene = try Scene([("a", "")])
        let start = "Package.swift:1:1: #: tests of module 'M' not run: "
        let (error, warning) = (start.replacing("#", with: "error"), start.replacing("#", with: "warning"))
        let stopped = ["notRun", "\(error)no toolchain"]
        let warned = ["passed", "\(warning)no toolchain"]
        try expect(scene, stopped, goesOn: false, if: obstacle, ["IN_CLASS_TESTS_REQUIRED": "1"])
        try expect(scene, warned, goesOn: true, if: obstacle)
        try expect(scene, ["notRun", "\(error)no such language"], goesOn: false, if: unsupported)
        try expect(scene, ["passed"], goesOn: true, ["IN_CLASS_TESTS_OFF": "1"])
        expectFalse(FileAccess.exists(scene.module.executable), "nothing was linked")
        for no in ["0", "", "false", "NO", "off"] {
            let variables = ["IN_CLASS_TESTS_OFF": no, "IN_CLASS_TESTS_REQUIRED": no]
            try expect(scene, warned, goesOn: true, if: obstacle, variables)
        }
        try expect(scene, ["passed"], goesOn: true)
        try expect(Scene([("b", "fail 1")]), ["failed", failure, "1 test, 0 passed, 1 failed"], goesOn: false)
        let empty = "a.swift:1:1: warning: module 'M' lists no tests; a type lists its tests in testSelectors"
        try expect(Scene([]), ["passed", empty], goesOn: true)
        let unwritten = try scene.outcome("--marker", "/no/marker", changed: { $0.target = "other" })
        expectEqual(unwritten.map { String($0.prefix(20)) }, ["notRun", "error: cannot create"])
        expectFalse(FileAccess.exists(scene.marker), "marker")
    }

    private static func testReportsTestsThatNoBuildRuns() throws {
        let scene = try Scene([("a", "")])
        let error = "Package.swift:3:5: error: move the plugin"
        let warning = "Package.swift:3:5: warning: move the tests"
        expectEqual(try scene.build(changed: { $0.advice = error }), ["passed"], "no list")
        unlink(scene.marker)
        try scene.write("extension T {\n    static var testSelectors: TestSelectors { [:] }\n}\n", to: "a.swift")
        expectEqual(try scene.build(changed: { $0.advice = error }), ["notRun", error])
        expectFalse(FileAccess.exists(scene.marker))
        expectEqual(try scene.outcome(changed: { $0.advice = error }).first, "passed", "by hand")
        expectEqual(try scene.build(changed: { $0.advice = warning }), ["passed", warning])
        expectEqual(try scene.outcome(changed: { $0.advice = warning }), ["nothingToRun", warning])
    }

    private static func testPassesModulesThatDontUseTheLibrary() throws {
        let scene = try Scene([("a", "fail 3")])
        let indirect: (inout ModuleDescription) -> Void = { ($0.isIndirect, $0.target) = (true, "a") }
        expectEqual(try scene.build(changed: indirect), ["passed"])
        expectEqual(try scene.outcome(changed: indirect), ["nothingToRun", "error: module 'M' lists no tests"])
        let names = "inclass_main $s1M1TV14InClassTesting04SelfC0AAMc"
        try FileAccess.write([0x42, 0x43, 0xC0, 0xDE] + Array(names.utf8), to: scene.module.objects[0])
        expectEqual(try scene.build(changed: indirect).first, "failed")
        expectEqual(try Scene([]).build(changed: { $0.isIndirect = true }), ["passed"], "no warning")
    }

    private static func expectBuild(
        _ scene: Scene, runs names: String, _ message: String, line: UInt = #line, if change: Scene.ModuleChange? = nil
    ) throws {
        expectEqual(try scene.build(changed: change), ["passed"], message, line: line)
        expectEqual(try scene.log(), names, message, line: line)
    }

    private static func testBuildsRunOnlyUnpassedTests() throws {
        let scene = try Scene([
            ("a", "echo a >> $0.log"), ("b", "echo b >> $0.log; again b || say 'skip\\twhy'"),
            ("c", "echo c >> $0.log"),
        ])
        let object = scene.module.objects[0]
        try expectBuild(scene, runs: "abc", "first")
        try expectBuild(scene, runs: "b", "the one that was skipped")
        try expectBuild(scene, runs: "", "all have passed")
        utimes(object, nil)
        try expectBuild(scene, runs: "", "an object is newer, and the same")
        try FileAccess.write(FileAccess.contents(of: object) + [0], to: object)
        try expectBuild(scene, runs: "abc", "an object is another")
        try expectBuild(scene, runs: "", "again")
        try FileAccess.write([], to: "\(scene.folder)/M.in-class-passed")
        try expectBuild(scene, runs: "abc", "nothing is known")
        try expectBuild(scene, runs: "abc", "another description") { $0.target = "N" }
        expectEqual(try scene.outcome(), ["passed", "3 tests, 3 passed"], "by hand")
        // A failure isn't recorded as a pass.
        let failing = try Scene([("b", "again b || fail 1")])
        expectEqual(try failing.build().first, "failed")
        expectEqual(try failing.build(), ["passed"], "the second time")
    }

    /// The options apply in a build and by hand, unless the command line overrides them. After a change of the file,
    /// all tests run again.
    private static func testAppliesOptionsOfThePackage() throws {
        let scene = try Scene([("a", "echo a >> $0.log"), ("b", "echo b >> $0.log; fail 1"), ("c", "echo c >> $0.log")])
        try scene.write("--skip T.b\n", to: PackageOptions.fileName)
        try expectBuild(scene, runs: "ac", "in a build")
        try expectBuild(scene, runs: "", "again")
        expectEqual(try scene.outcome(), ["passed", "2 tests, 2 passed"], "by hand")
        expectEqual(try scene.outcome("--exact", "--filter", "T.a"), ["passed", "1 test, 1 passed"], "a pattern still")
        let sum = "2 tests, 1 passed, 1 failed"
        expectEqual(try scene.outcome("--skip", "T.a"), ["failed", failure, sum], "the command line wins")
        _ = try scene.log()
        try scene.write("--skip T.[bc]\n", to: PackageOptions.fileName)
        let moment = timeval(tv_sec: 2_000, tv_usec: 0)
        utimes("\(scene.folder)/\(PackageOptions.fileName)", [moment, moment])
        try expectBuild(scene, runs: "a", "in a build that is told otherwise")
        try scene.write("\n--test-type slow\n--tmeout 5\n", to: PackageOptions.fileName)
        let complaint = ".testlogger:3:1: error: unknown option '--tmeout'; did you mean '--timeout'?"
        expectEqual(try scene.build(), ["usage", complaint])
        expectEqual(try scene.outcome(), ["usage", complaint])
        try scene.write("--test-type slow\n--test-type unit\n", to: PackageOptions.fileName)
        expectEqual(
            try scene.outcome("--filter", "T.c"), ["passed", "1 test, 1 passed"], "no module needs to have all")
    }

    private static func testPrintsOutputWithoutCapture() throws {
        let scene = try Scene([
            ("a", "echo one; echo two >&2"), ("b", "echo three; fail 1"), ("c", "sleep 0.05; echo four"),
        ])
        let found = try scene.outcome("--no-capture", "-v")
        expectEqual(
            found.filter { !$0.contains("T.") },
            ["failed", "one", "two", "three", "four", "3 tests, 2 passed, 1 failed"])
        expectEqual(found.filter { $0.contains("T.") }, ["passed T.a", failure, "failed T.b", "passed T.c"])
    }

    /// The reason for a crash is known although the output went to the terminal, and it is printed only once.
    private static func testReportsCrashReasonsWithoutCapture() throws {
        let crash = "echo 'M/a.swift:3: Fatal error: no' >&2; kill -ILL $$"
        let passing = [("a", "")]
        for before in [[], passing] {
            for words in [[], ["--retries", "1"]] {
                let found = try Scene(before + [("b", crash)]).outcome(["--no-capture"] + words)
                let error =
                    "a.swift:3:1: error: crashed with SIGILL: no (T.b)"
                expectEqual(found.count { $0 == error }, 1, "\(found)")
                let printed = found.count { $0 == "M/a.swift:3: Fatal error: no" }
                expectEqual(printed, words.isEmpty ? 1 : 2, "once for each attempt: \(found)")
            }
        }
    }

    private static func testListsTheTenSlowestTests() throws {
        let times = [2, 16, 6, 20, 10, 24, 14, 4, 18, 8, 22, 12]
        let tests: [TestRun.Script] = times.map { ("t\($0)", "time=\($0)000000") }
        let found = try Scene(tests).outcome("--slow", "2")
        expectEqual(
            found.filter { $0.hasPrefix("slowest: ") }, times.sorted(by: >).prefix(10).map { "slowest: T.t\($0)" })
        expectEqual(found.filter { $0.contains(" ms, more than 2") }.count, 11, "warnings: \(found)")
        expectEqual(found.first, "passed")
        expectTrue(found.last?.hasPrefix("12 tests, 12 passed") ?? false, "\(found)")
        expectFalse(try Scene(tests).outcome().contains { $0.contains("slowest") }, "unless it is asked for")
    }

    private static var repetitions: [(script: String, words: [String], outcome: [String])] {
        let place = "/s.swift:3:5:"
        let flaky = "flaky (passed on attempt 2): got 1 instead of expected 2 (T.b)"
        let sum = ["flaky T.b", "1 test, 1 passed, 1 flaky"]
        let again = "again 1 || fail 1"
        return [
            (
                "again 1 && again 2 && fail 1", ["--until-failure"],
                ["failed", failure, "failed in repetition 3", "3 tests, 2 passed, 1 failed"]
            ),
            ("", ["--repeat", "3"], ["passed", "3 tests, 3 passed"]),
            ("fail 1", ["--fail-fast", "--repeat", "3"], ["failed", failure, "1 test, 0 passed, 1 failed"]),
            (again, ["--repeat", "2"], ["failed", failure, "failed in repetition 2", "2 tests, 1 passed, 1 failed"]),
            (again, ["--retries", "1"], ["passed", "\(place) warning: \(flaky)"] + sum),
            (again, ["--retries", "1", "--fail-on-flaky"], ["failed", "\(place) error: \(flaky)"] + sum),
        ]
    }

    /// The directories of all repetitions are kept.
    private static func testKeepsDirectoriesUntilTheNextRun() throws {
        let words = "d=$IN_CLASS_TEMPORARY/T.b; mkdir -p $d; : > $d/file; say \"directory\\t$d\"; fail 1"
        let scene = try Scene([("b", words)])
        func kept() throws -> [String] {
            let start = "/s.swift:3:5: note: its temporary directory is kept: "
            return try scene.outcome("--repeat", "2").filter { $0.hasPrefix(start) }.map {
                String($0.dropFirst(start.count))
            }
        }
        let first = try kept()
        expectEqual(first.map { FileAccess.exists("\($0)/file") }, [true, true], "\(first)")
        let second = try kept()
        expectEqual(first.map(FileAccess.exists), [false, false], "\(first)")
        expectEqual(second.map { FileAccess.exists("\($0)/file") }, [true, true], "\(second)")
        _ = try scene.outcome("--skip", "T.b")
        expectEqual(second.map(FileAccess.exists), [false, false], "after a run of something else")
    }

    private static func testWritesReports() throws {
        let scene = try Scene([("a", ""), ("b", "fail 1")])
        let sum = "2 tests, 1 passed, 1 failed"
        func path(_ name: String) -> String { "\(scene.folder)/\(name)" }
        expectEqual(try scene.outcome("--junit", path("j.xml"), "--json", path("j.json")), ["failed", failure, sum])
        expectTrue(try scene.text("j.xml").contains("tests=\"2\" failures=\"1\""), "JUnit's")
        let events = try scene.text("j.json").split(separator: "\n")
        expectTrue(events.first?.contains("\"event\":\"plan\"") ?? false, "JSON's first line")
        expectTrue(events.last?.contains("\"event\":\"summary\"") ?? false, "JSON's last line")
        let refused = try scene.outcome("--junit", "/no/j.xml", "--json", path("k.json"))
        expectTrue(refused[2].hasPrefix("error: cannot create /no/j.xml"), "\(refused)")
        expectTrue(FileAccess.exists(path("k.json")), "the others are written")
        for (option, first) in [("--json", "{\"version\":1,\"event\":\"plan\""), ("--junit", "<?xml")] {
            let found = try scene.outcome(option, "-")
            expectEqual(found[0], "failed", option)
            expectTrue(found[1].hasPrefix(first), "\(option): \(found[1])")
            expectFalse(found.contains(sum), option)
        }
        try scene.write("before\n", to: "s.md")
        let annotation = "::error file=/s.swift,line=3,col=5,title=T.b::got 1 instead of expected 2 (T.b)"
        let summary = ["GITHUB_STEP_SUMMARY": path("s.md")]
        expectEqual(try scene.outcome("--github", variables: summary), ["failed", failure, annotation, sum])
        expectTrue(try scene.text("s.md").hasPrefix("before\n## In-class tests failed"), "what others wrote stays")
        let onGitHub = ["GITHUB_ACTIONS": "true"]
        expectTrue(try scene.outcome(variables: onGitHub).contains(annotation), "inside GitHub Actions")
    }

    private static func testFailsWhenAReportCannotBePrinted(_ option: String) throws {
        #if os(Linux)
        let scene = try Scene([("a", "")])
        for (file, status) in [("/dev/full", ExitStatus.notRun), ("/dev/null", .passed)] {
            expectExit(.exit(status.rawValue), "\(option) to \(file)") {
                dup2(open(file, O_WRONLY), 1)
                _exit((try? TestLogger.status([scene.description, option, "-"]))?.rawValue ?? 9)
            }
        }
        #endif
    }
}
#endif
