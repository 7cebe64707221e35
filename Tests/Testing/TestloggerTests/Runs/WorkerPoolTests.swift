// Tests that several workers report the same results in the same order as a single worker.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct WorkerPoolTests {
        private func run(_ words: String...) throws -> ProgramResult {
            try SharedPackages.runs.get().testlogger(["Runs", "--test-type", "many", "--stable-output", "-v"] + words)
        }

        /// Returns a result's lines without the notes about tests that ran again alone. These notes depend on the tests
        /// that ran before a crash.
        private func results(_ result: ProgramResult) -> [String] {
            result.lines.filter { !$0.contains("note: it fails alone") && !$0.contains("note: it passes alone") }
        }

        @Test func reportsResultsInTheOrderOfThePlan() throws {
            let serial = try run("--jobs", "1")
            #expect(serial.lines.contains("24 tests, 19 passed, 4 failed, 1 skipped"), "\(serial)")
            // The first run has no recorded times. The others have them.
            for jobs in ["2", "3", "16", "64"] {
                let parallel = try run("--jobs", jobs)
                #expect(results(parallel) == results(serial), "\(jobs) jobs")
            }
        }

        @Test func isolatesTestsInSeparateProcesses() throws {
            let serial = try run("--jobs", "1")
            for jobs in ["1", "3"] {
                let isolated = try run("--isolate", "--jobs", jobs)
                #expect(results(isolated) == results(serial), "\(jobs) jobs")
            }
        }

        @Test func reportsShuffledTestsInPlanOrder() throws {
            let serial = try run("--jobs", "1")
            let shuffled = try run("--jobs", "4", "--shuffle", "3")
            let notes = results(shuffled).filter { !$0.hasSuffix("note: the order was shuffled with seed 3") }
            #expect(notes == results(serial))
        }

        @Test func startsNoTestAfterAFailure() throws {
            // Tests that failed run first in the next run.
            _ = try run("--jobs", "1")
            let result = try run("--jobs", "1", "--fail-fast")
            #expect(result.lines.contains("24 tests, 0 passed, 1 failed, 23 not run"), "\(result)")
        }
    }
}
