// Tests retries: failed tests run again in new processes, up to the requested number of times, and every report names
// the flaky tests.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct RetryTests {
        let package: FixturePackage
        let attempts: URL

        init() throws {
            package = try SharedPackages.runs.get()
            attempts = Fixtures.folder.appending(path: "attempts-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: attempts, withIntermediateDirectories: true)
        }

        private func run(_ words: String...) throws -> ProgramResult {
            try package.testlogger(
                ["Runs", "--filter", "Flaky", "--stable-output"] + words, environment: ["RUNS_ATTEMPTS": attempts.path])
        }

        private func attemptCount(_ name: String) throws -> Int {
            try String(contentsOf: attempts.appending(path: name), encoding: .utf8).split(separator: "\n").count
        }

        @Test(arguments: [1, 3])
        func passesFlakyTests(jobs: Int) throws {
            let result = try run("--retries", "2", "--jobs", "\(jobs)", "--skip", "Never")
            #expect(result.status == 0)
            #expect(
                result.lines == [
                    "Sources/Runs/Flaky.swift:29:74: warning: flaky (passed on attempt 3): got 1 instead of "
                        + "expected greater than 2 for attempt (Flaky.testPassesAtTheThird)",
                    "Sources/Runs/Flaky.swift:29:74: note: attempt 2 failed: got 2 instead of expected greater than 2 for attempt",
                    "flaky Flaky.testPassesAtTheThird",
                    "Sources/Runs/Flaky.swift:30:86: warning: flaky (passed on attempt 2): crashed with SIGILL: "
                        + "on purpose (Flaky.testCrashesAtFirst)",
                    "flaky Flaky.testCrashesAtFirst", "4 tests, 4 passed, 2 flaky", "",
                ], "\(result)")
            #expect(try attemptCount("third") == 3)
            #expect(try attemptCount("crash") == 2)
        }

        @Test func runsTestsOnceWithoutRetries() throws {
            let result = try run()
            #expect(result.status == 1)
            #expect(result.output.hasSuffix("5 tests, 2 passed, 3 failed\n"), "\(result)")
            #expect(try attemptCount("third") == 1)
            #expect(!result.output.contains("attempts"), "\(result)")
        }

        @Test func showsTheLastAttempt() throws {
            let result = try run("--retries", "2", "--filter", "Never")
            #expect(result.status == 1)
            #expect(
                result.lines.contains(
                    "Sources/Runs/Flaky.swift:31:63: error: got 3 instead of expected 0 for attempt (Flaky.testNeverPasses)"
                ), "\(result)")
            #expect(
                result.lines.contains("Sources/Runs/Flaky.swift:31:63: note: failed in all 3 attempts"), "\(result)")
            #expect(try attemptCount("never") == 3)
        }

        @Test func failsOnFlakyTestsOnRequest() throws {
            let result = try run("--retries", "2", "--skip", "Never", "--fail-on-flaky")
            #expect(result.status == 1)
            #expect(result.output.contains(":29:74: error: flaky (passed on attempt 3)"), "\(result)")
            #expect(result.output.hasSuffix("4 tests, 4 passed, 2 flaky\n"), "\(result)")
        }

        @Test func failFastWaitsForAllAttempts() throws {
            // The number of passed tests depends on the last run, because tests that failed in it run first.
            let result = try run("--retries", "2", "--fail-fast", "--jobs", "1")
            #expect(result.status == 1)
            #expect(result.output.contains(", 1 failed, "), "\(result)")
            #expect(result.output.contains(" not run"), "\(result)")
            #expect(try attemptCount("never") == 3)
        }

        /// JUnit reports name attempts with Surefire's elements.
        @Test func reportsNameAttempts() throws {
            let junit = attempts.appending(path: "report.xml").path
            let json = attempts.appending(path: "report.jsonl").path
            let result = try run("--retries", "1", "--junit", junit, "--json", json, "--jobs", "1")
            #expect(result.status == 1)
            let xml = try String(contentsOfFile: junit, encoding: .utf8)
            for (element, count) in [("flakyFailure", 0), ("flakyError", 1), ("rerunFailure", 2), ("rerunError", 0)] {
                #expect(xml.components(separatedBy: "<\(element) ").count - 1 == count, "\(element) in \(xml)")
            }
            #expect(xml.contains(#"tests="5" failures="2" errors="0" skipped="0""#), "\(xml)")
            let lines = try String(contentsOfFile: json, encoding: .utf8).split(separator: "\n")
            #expect(
                lines.last?.contains(#""passed":3,"failed":2,"skipped":0,"aborted":0,"notRun":0,"flaky":1"#) == true)
            #expect(lines.filter { $0.contains(#""attempt":2,"isFinal":true"#) }.count == 3)
        }
    }
}
