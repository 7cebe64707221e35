// Runs the package Hostile as a whole, and checks that misbehaving tests affect no other tests.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct MisbehaviorTests {
        private static let package = Result { try FixturePackage(compiling: "Hostile") }

        let package: FixturePackage

        init() throws { package = try Self.package.get() }

        /// Returns variables with the expected state of a test's process, and with a marker that identifies all
        /// processes of the run.
        private func environment(_ marker: String) throws -> [String: String] {
            // A shell prints the mask, because a process can read its own mask only by changing it.
            let result = try RunningPrograms.run(["sh", "-c", "umask"], in: package.folder)
            let mask = try #require(Int(result.output.trimmingCharacters(in: .newlines), radix: 8))
            return ["HOSTILE_FOLDER": package.folder.path, "HOSTILE_MASK": "\(mask)", "HOSTILE_MARKER": marker]
        }

        /// Returns the location where each misbehavior must be reported, keyed by test. Sources mark it by a comment
        /// `error: name`.
        private func intendedPlaces() throws -> [String: String] {
            var places: [String: String] = [:]
            for name in ["Crashes", "Disturbances", "Hangs", "LifeCycles"] {
                let path = "Sources/Hostile/\(name).swift"
                for (index, line) in try package.text(of: path).components(separatedBy: "\n").enumerated() {
                    guard let found = line.firstMatch(of: /\/\/ error: (\w+)$/) else { continue }
                    places[String(found.1)] = "\(path):\(index + 1)"
                }
            }
            return places
        }

        private func expectNoOrphans(_ marker: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            #expect(
                try RunningPrograms.processes(with: "HOSTILE_MARKER=\(marker)") == [], sourceLocation: sourceLocation)
        }

        @Test(arguments: [1, 2])
        func misbehaviorFailsOnlyItsTest(jobs: Int) throws {
            try package.forgetLastRun()
            let marker = UUID().uuidString
            let start = ContinuousClock.now
            let result = try package.testlogger(
                [
                    "--jobs", "\(jobs)", "--timeout", "30000", "--json", package.file("events.json").path, "--junit",
                    package.file("junit.xml").path, "Hostile",
                ], environment: try environment(marker))
            let elapsed = ContinuousClock.now - start
            try expectNoOrphans(marker)
            #expect(result.status == 1, "\(result)")

            let events = try ReportedEvent.read(package.text(of: "events.json"))
            let plan = try #require(events.first { $0.event == "plan" }?.members["tests"] as? [[String: Any]])
                .map { ReportedEvent(members: $0) }
            let places = try intendedPlaces()
            let misbehaving = plan.filter { !($0["test"] ?? "").hasPrefix("testAfter") }
            #expect(misbehaving.count >= 25)
            #expect(plan.count == 2 * misbehaving.count)
            // Misbehaving and healthy tests alternate, so that each healthy test runs right after a misbehaving one.
            for (index, test) in plan.enumerated() {
                #expect(((test["test"] ?? "").hasPrefix("testAfter")) == (index % 2 == 1), "\(test.test)")
            }

            // Each planned test is reported once, and in order.
            let finished = events.filter { $0.event == "finished" }
            #expect(finished.map(\.test) == plan.map(\.test))
            for test in finished {
                let issues = events.filter { ["issue", "crashed"].contains($0.event) && $0.test == test.test }
                let found = issues.map { "\($0["file"] ?? ""):\($0.number("line") ?? 0)" }
                if (test["test"] ?? "").hasPrefix("testAfter") {
                    #expect(test["outcome"] == "passed" && found == [], "\(test.test): \(issues)")
                } else {
                    #expect(test["outcome"] == "failed", "\(test.test)")
                    #expect(found == [places[test["test"] ?? ""] ?? "marked in no source"], "\(test.test)")
                }
            }
            let summary = try #require(events.last)
            #expect(summary.number("planned") == plan.count)
            #expect(summary.number("passed") == plan.count - misbehaving.count)
            #expect(summary.number("failed") == misbehaving.count)
            #expect(summary.number("notRun") == 0 && summary.number("moduleIssues") == 0)

            // Programs that read diagnostics find one error for each misbehaving test, and don't mistake the tests'
            // output for errors.
            let errors = try IntendedDiagnostics(folder: package.folder.path).diagnostics(in: result.output)
                .filter { $0.severity == "error" }
            #expect(
                errors.map { "\($0.path):\($0.line)" }.sorted()
                    == misbehaving.map { "\(package.folder.path)/\(places[$0["test"] ?? ""] ?? "")" }.sorted())
            #expect(try VisualStudioCode().diagnostics(in: result.output).filter { $0.severity == "error" } == errors)

            // Each hanging test takes no longer than its time limit of 0.7 seconds.
            let hanging = plan.filter { $0["type"] == "Hangs" && !($0["test"] ?? "").hasPrefix("testAfter") }.count
            #expect(hanging == 10)
            #expect(elapsed < .milliseconds(hanging * 700) + .seconds(30 * (misbehaving.count - hanging)), "\(elapsed)")
            let precious = try Data(contentsOf: package.file("precious"))
            #expect(precious.count == 2 << 20, "a file that a test wrote is not the runner's to change")
            if JUnitReader.hasValidator { try JUnitReader.expectValid([package.file("junit.xml")]) }
        }

        /// A test that kills its parent process stops the build. The failures before that are still reported.
        @Test func reportsKilledSupervisor() throws {
            let marker = UUID().uuidString
            let program = try package.startTestlogger(
                ["--jobs", "1", "--timeout", "600000", "--test-type", "parent", "Hostile"],
                environment: environment(marker))
            try program.wait(for: "the first failure") {
                try program.outputSoFar.hasSuffix(": error: before the end (Remains.testFailsFirst)\n")
            }
            try Data().write(to: package.file("printed"))
            let result = try program.result()
            #expect(result.status == 3, "\(result)")
            let end =
                "/Package.swift:1:1: error: testlogger was ended by signal 9 (SIGKILL) from a test, or from the system"
            #expect(result.lines.contains { $0.contains(end) }, "\(result)")
            try expectNoOrphans(marker)
        }

        /// Failures that a passing test causes after its end are reported, and aren't blamed on other tests. A late
        /// failure of a task fails the test that started the task. A late exit, crash or hang is a failure of the
        /// module.
        ///
        /// A task ends with its worker, so the task and another test must be in the same worker.
        @Test(arguments: [
            (1, "task"), (1, "detached"), (1, "exit"), (2, "exit"), (1, "crash"), (2, "crash"), (1, "hang"),
            (2, "hang"),
        ])
        func reportsLateFailures(jobs: Int, kind: String) throws {
            try package.forgetLastRun()
            let marker = UUID().uuidString
            let result = try package.testlogger(
                ["-v", "--stable-output", "--jobs", "\(jobs)", "--timeout", "1000", "--test-type", kind, "Hostile"],
                environment: try environment(marker))
            try expectNoOrphans(marker)
            #expect(result.status == 1, "\(result)")
            let expected = [
                "task": ("testFailsLate", "too late"), "detached": ("testFailsDetached", "too late"),
                "exit": ("", "exited with status 7 after its last test"),
                "crash": ("testLeavesCrash", "crashed with SIG"),
                "hang": ("testLeavesHang", "timed out after 1 s after its last test"),
            ]
            let (name, message) = try #require(expected[kind])
            let place = name.isEmpty ? "Sources/Hostile/Crashes.swift:1" : try #require(intendedPlaces()[name])
            let errors = result.lines.filter { $0.contains(": error: ") }
            try #require(errors.count == 1, "\(result)")
            #expect(errors[0].hasPrefix("\(place):"), "\(result)")
            #expect(errors[0].contains(": error: \(message)"), "\(result)")
            #expect(result.lines.filter { $0.hasPrefix("passed ") }.count == 2, "\(result)")
            let isOfTest = ["task", "detached"].contains(kind)
            #expect(errors[0].hasSuffix(isOfTest ? "(Remains.\(name))" : "(module Hostile)"), "\(result)")
            let tally = isOfTest ? "1 passed, 1 failed" : "2 passed, 1 failure outside tests"
            #expect(
                result.output.hasSuffix("2 tests, \(tally)\(kind == "detached" ? ", 1 known issue" : "")\n"),
                "\(result)")
        }
    }
}
