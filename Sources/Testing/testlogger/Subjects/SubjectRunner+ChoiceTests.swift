// Tests runs that exclude more tests than intended, because of `.testlogger` or because names are gone.

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
import InClassTesting
import TestSupervision

extension SubjectRunner {
    /// Creates a module with a unit test, `T.a`, and a test of another type, `U.n`.
    private static func sceneOfTwoTypes() throws -> Scene {
        let other = #"say() { [ "$1" != 'planned\tn' ] || say 'list\tU\tnetwork\tM\t0'; printf '%b\n' "$1" >&3; }"#
        return try Scene([("a", ""), ("n", "")], opening: other)
    }

    /// A build step knows only one module, so it warns. A command without tests to run fails.
    static func testReportsOptionsThatExcludeAllTests() throws {
        let scene = try sceneOfTwoTypes()
        let rest = "leaves none of the 2 tests of module 'M' to run"
        let rows: [(file: String, line: String)] = [
            ("--test-type nework", "1:13: #: test type 'nework' \(rest); did you mean 'network'?"),
            ("\n  --test-type=slow # x\n--skip T", "2:15: #: test type 'slow' \(rest)"),
            ("--skip .", "1:8: #: skipping '.' \(rest)"),
            ("--skip x\n--skip T\n--skip U", "2:8: #: skipping 'T' \(rest)"),
        ]
        for row in rows {
            try scene.write(row.file, to: PackageOptions.fileName)
            func line(_ severity: String) -> String { ".testlogger:" + row.line.replacing("#", with: severity) }
            for _ in 1...2 {
                expectEqual(try scene.build(), ["passed", line("warning")], row.file)
            }
            for words in [[], ["--shard", "1/2"], ["--filter", "T"]] {
                expectEqual(try scene.outcome(words), ["nothingToRun", line("error")], "\(row.file) \(words)")
            }
            expectEqual(try scene.outcome("--no-tests", "pass"), ["passed"], row.file)
            let given = ["--test-type", "network", "--skip", "T"]
            expectEqual(try scene.outcome(given), ["passed", "1 test, 1 passed"], row.file)
        }
        try scene.write("--test-type slow", to: PackageOptions.fileName)
        expectEqual(
            try Scene([("a", "")]).outcome(), ["passed", "1 test, 1 passed"], "the file of another package")
    }

    /// Any module may lack a test type. If the module has a similar type, a warning says so, even if other tests run.
    static func testWarnsAboutMisspelledTypes() throws {
        let scene = try sceneOfTwoTypes()
        try scene.write("--test-type unit\n--test-type nework", to: PackageOptions.fileName)
        let warning = ".testlogger:2:13: warning: module 'M' has no test type 'nework'; did you mean 'network'?"
        for _ in 1...2 { expectEqual(try scene.build(), ["passed", warning]) }
        expectEqual(try scene.outcome(), ["passed", warning, "1 test, 1 passed, 1 warning"])
        expectEqual(try scene.outcome("--list"), ["passed", "T.a"])
        let report = try scene.outcome("--json", "-")
        expectTrue(report.dropFirst().allSatisfy { $0.hasPrefix("{") }, "\(report)")
        expectTrue(report.contains { $0.contains("has no test type 'nework'") }, "\(report)")
        for types in ["--test-type unit\n--test-type slow", "--test-type network\n--test-type networks"] {
            try scene.write(types, to: PackageOptions.fileName)
            expectEqual(try scene.build(), ["passed"], types)
        }
    }

    /// A failed test that was renamed hasn't passed.
    static func testReportsRemovedFailedTests() throws {
        let plan = #"say() { printf '%b\n' "$(printf '%s' "$1" | sed "s/\(planned.t[bc]\)/\1$(cat $0.names)/")" >&3; }"#
        let scene = try Scene([("a", ""), ("b", "fail 1"), ("c", "fail 1")], opening: plan)
        func name(_ suffix: String) throws { try scene.write(suffix, to: "M.img.names") }
        func gone(_ names: String) -> String {
            "error: tests that failed in the last run no longer exist: \(names); a run of all tests forgets them"
        }
        try name("1")
        expectEqual(try scene.outcome().first, "failed")
        expectEqual(try scene.outcome("--failed").last, "2 tests, 0 passed, 2 failed")
        try name("2")
        for words in [["--failed"], ["--failed", "--no-tests", "pass"]] {
            expectEqual(try scene.outcome(words), ["nothingToRun", gone("T.b1, T.c1")], "\(words)")
        }
        expectEqual(try scene.outcome("--filter", "T.b").first, "failed")
        let found = try scene.outcome("--failed")
        expectEqual(found.first, "failed", "what is there is run")
        expectTrue(found.contains(gone("T.b1, T.c1")), "\(found)")
        expectEqual(found.last, "1 test, 0 passed, 1 failed")
        expectEqual(try scene.outcome("--skip", "T.[bc]").first, "passed", "not a run of all")
        expectTrue(try scene.outcome("--failed").contains(gone("T.b1, T.c1")))
        _ = try scene.outcome()
        expectEqual(try scene.outcome("--failed").last, "2 tests, 0 passed, 2 failed", "after a run of all")
    }

    /// A run of an old build tells nothing about later changes of the sources.
    static func testOldBuildsDoNotTestNewSources() throws {
        let scene = try Scene([("a", "")])
        mkdir("\(scene.folder)/M.build", 0o755)
        func save(_ path: String, at second: Int) throws {
            try scene.write("extension T { static var testSelectors: TestSelectors { [\"a\": a] } }", to: path)
            let moment = timeval(tv_sec: .init(second), tv_usec: 0)
            utimes("\(scene.folder)/\(path)", [moment, moment])
        }
        try save("a.swift", at: 1_000)
        try save("M.build/a.d", at: 2_000)
        let nothing = ["passed", "no source has changed since its tests ran"]
        let warning = "a.swift:1:1: warning: changed since module 'M' was built; the tests ran without this change"
        let all = "1 test, 1 passed"
        expectEqual(try scene.outcome("--changed"), ["passed", all], "the first run")
        expectEqual(try scene.outcome("--changed"), nothing)
        try save("a.swift", at: 3_000)
        for words in [[], ["--changed"], ["--changed"], ["--filter", "T.a"]] {
            expectEqual(try scene.outcome(words), ["passed", warning, "\(all), 1 warning"], "the old build, \(words)")
        }
        try save("M.build/a.d", at: 4_000)
        expectEqual(try scene.outcome("--changed"), ["passed", all], "the new build")
        expectEqual(try scene.outcome("--changed"), nothing)
        try save("other.swift", at: 500)
        rename("\(scene.folder)/other.swift", "\(scene.folder)/a.swift")
        expectEqual(try scene.outcome("--changed"), ["passed", all], "an older source in its place")
        expectEqual(try scene.outcome("--changed"), nothing)
        // The source was saved within one step of the file system's clock.
        try save("M.build/a.d", at: 4_000_000_000)
        let time = try requireNotNil(FileAccess.modificationTime(of: "\(scene.module.executable).memory"))
        let moment = timespec(tv_sec: time / 1_000_000_000, tv_nsec: time % 1_000_000_000)
        utimensat(AT_FDCWD, scene.module.sources[0], [moment, moment], 0)
        expectEqual(try scene.outcome("--changed"), ["passed", all], "as old as the memory")
    }

    static func testFindsSourcesByAnyPath() throws {
        let scene = try Scene([("a", ""), ("b", "")])
        let list = "{ [\n\"a\": a,\n\"b\": b] }"
        try scene.write("extension T { static var testSelectors: TestSelectors \(list) }", to: "a.swift")
        symlink(".", "\(scene.folder)/link")
        for path in ["a.swift", "\(scene.folder)/link/a.swift", "\(scene.folder)/link/./a.swift"] {
            expectEqual(try scene.outcome("\(path):2", "-v"), ["passed", "passed T.a", "1 test, 1 passed"], path)
        }
    }
}
#endif
