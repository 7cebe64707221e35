// Tests that an interrupted run reports its progress and leaves no processes running.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct InterruptionTests {
        let package: FixturePackage

        init() throws { package = try SharedPackages.diagnostics.get() }

        @Test(.enabled(if: JUnitReader.hasValidator, "xmllint is not installed"))
        func tenKilledRunsReportTheirProgress() throws { try killRuns(10) }

        /// Kills runs after an increasing number of their 40 tests.
        ///
        /// Every other run waits after that number of tests, so that it is killed before its end on any machine. The
        /// other runs continue until the signal arrives.
        func killRuns(_ kills: Int) throws {
            let folder = package.file("kills")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            var reports: [URL] = []
            for number in 0..<kills {
                let count = 40 * number / kills
                let stops = number % 2 == 0
                let report = folder.appending(path: "\(number).xml")
                let log = folder.appending(path: "\(number).log")
                var environment = ["COUNTING_LOG": log.path, "KILLED_RUN": folder.path]
                if stops { environment["COUNTING_END"] = "\(count)" }
                // Otherwise the tests that the last signal interrupted would run first.
                try package.forgetLastRun()
                let program = try package.startTestlogger(
                    ["--jobs", "\(1 + number / 2 % 2)", "--timeout", "600000", "--junit", report.path, "Counting"],
                    environment: environment)
                try program.wait(for: "\(count) tests") {
                    let logged = (try? String(contentsOf: log, encoding: .utf8))?.split(separator: "\n").count ?? 0
                    return try logged >= count && Self.hasBegun("KILLED_RUN=\(folder.path)", report)
                }
                program.send(SIGTERM)
                let result = try program.result()
                let moment = "killed after \(count) tests"
                let isCutShort = result.status == 128 + SIGTERM
                #expect(isCutShort || !stops && result.status == 1, "\(moment): \(result)")
                try expectComplete(report, log, isWhole: !isCutShort, moment)
                reports.append(report)
                #expect(try RunningPrograms.processes(with: "KILLED_RUN=\(folder.path)") == [], "\(moment)")
            }
            try JUnitReader.expectValid(reports)
        }

        /// Returns whether a run has started its waiting process, the process that runs the tests, and a worker, or has
        /// already written its report.
        private static func hasBegun(_ assignment: String, _ report: URL? = nil) throws -> Bool {
            if let report, access(report.path, F_OK) == 0 { return true }
            return try RunningPrograms.processes(with: assignment).count > 2
        }

        /// Compares a report with the log that the tests wrote.
        private func expectComplete(_ report: URL, _ log: URL, isWhole: Bool, _ moment: String) throws {
            let cases = try JUnitReader(Data(contentsOf: report)).cases
            let logged = ((try? String(contentsOf: log, encoding: .utf8)) ?? "").split(separator: "\n")
                .compactMap { $0.split(separator: " ").first.map { "Counting.Counting.\($0)" } }
            let outcomes = Dictionary(uniqueKeysWithValues: cases.map { ($0.name, $0) })
            #expect(outcomes.count == cases.count, "\(moment)")
            guard cases.count == 40 else {
                // If the run ended before it knew its tests, the report is empty or contains only an error.
                #expect(cases.isEmpty || cases.count == 1 && cases[0].outcome == "error", "\(moment): \(cases)")
                #expect(logged.isEmpty, "\(moment)")
                return
            }
            let interrupted = cases.filter {
                $0.elements.contains { $0.attributes["message"]?.contains("SIGTERM") ?? false }
            }
            .filter { $0.outcome == "error" }
            #expect(interrupted.count <= 2, "no more than were running, \(moment)")
            for test in Set(logged) {
                // The report contains the outcome of every test in the log. Only the last test of a worker may have
                // been interrupted.
                let known: Set<String> =
                    test.hasSuffix("07")
                    ? ["failure"] : test.hasSuffix("20") ? ["error"] : test.hasSuffix("30") ? ["skipped"] : ["passed"]
                let found = outcomes[test]?.outcome ?? "nothing"
                #expect(
                    known.contains(found) || interrupted.contains { $0.name == test }, "\(test) \(found), \(moment)")
            }
            for test in cases where test.outcome == "passed" {
                #expect(logged.contains(test.name), "\(test.name) passed, but never ran, \(moment)")
            }
            let unrun = cases.filter { $0.attributes["status"] == "notrun" }
            #expect(unrun.allSatisfy { $0.outcome == "skipped" && !logged.contains($0.name) }, "\(moment)")
            #expect(isWhole ? unrun.isEmpty : true, "\(moment)")
        }

        /// The report is written even if the reader of the output ends early.
        @Test func writesReportsIfOutputIsClosed() throws {
            let path = package.file("unread.xml").path
            let result = try RunningPrograms.run(
                ["sh", "-c", "\"$0\" -vv --junit \(path) Counting | true", Fixtures.testlogger.path], in: package.folder
            )
            #expect(result.status == 0, "\(result)")
            #expect(try JUnitReader(Data(contentsOf: package.file("unread.xml"))).cases.count == 40)
        }

        #if os(Linux)
        /// A killed testlogger can't end its workers. They end anyway.
        @Test func killedTesterLeavesNoWorkers() throws {
            let program = try package.startTestlogger(
                ["--test-type", "hanging", "--filter", "testLoops", "Hostile"], environment: ["KILLED_TESTER": "1"])
            try waitUntilTestLoops("KILLED_TESTER=1", program)
            program.send(SIGKILL)
            #expect(try program.result().status == -SIGKILL)
            try RunningPrograms.wait(for: "the end of the killed run's worker") {
                try RunningPrograms.processes(with: "KILLED_TESTER=1").isEmpty
            }
        }
        #endif

        /// Waits until the test of a run is in its endless loop.
        private func waitUntilTestLoops(_ assignment: String, _ program: RunningProgram) throws {
            // No other process of the run uses that much processor time.
            try program.wait(for: "the test's endless loop") {
                let processes = try RunningPrograms.processes(with: assignment)
                return processes.count == 3 && processes.contains { RunningPrograms.processorTime(of: $0) > 0.2 }
            }
        }

        /// A signal ends hanging tests at once, instead of at their time limit.
        @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGQUIT])
        func signalsEndHangingTests(signal: Int32) throws {
            let program = try package.startTestlogger(
                [
                    "-vv", "--test-type", "hanging", "--filter", "testLoops", "--timeout", "600000", "--junit",
                    package.file("hanging.xml").path, "Hostile",
                ],
                environment: ["HANGING_RUN": "\(signal)"])
            try waitUntilTestLoops("HANGING_RUN=\(signal)", program)
            program.send(signal)
            let result = try program.result()
            #expect(result.status == 128 + signal, "\(result)")
            #expect(try RunningPrograms.processes(with: "HANGING_RUN=\(signal)") == [])
            let cases = try JUnitReader(Data(contentsOf: package.file("hanging.xml"))).cases
            #expect(cases.map(\.outcome) == ["error"])
            let name = [SIGTERM: "SIGTERM", SIGINT: "SIGINT", SIGHUP: "SIGHUP", SIGQUIT: "SIGQUIT"][signal] ?? ""
            #expect(cases.first?.elements.first?.attributes["message"]?.contains("\(name) ended the run") ?? false)
        }

        /// If a step of a build fails, the build ends its other steps. Their tests aren't reported as failed.
        @Test func endedBuildStepReportsNoFailures() throws {
            let marker = package.file("ended.swift")
            let program = try package.startTestlogger(
                ["--marker", marker.path, "--test-type", "hanging", "--filter", "testLoops", "Hostile"],
                environment: ["HANGING_RUN": "step"])
            try waitUntilTestLoops("HANGING_RUN=step", program)
            program.send(SIGINT)
            let result = try program.result()
            #expect(result.status == 128 + SIGINT, "\(result)")
            #expect(result.lines.allSatisfy { !$0.contains("error:") && !$0.contains("warning:") }, "\(result)")
            #expect(!FileManager.default.fileExists(atPath: marker.path), "a step that was ended has not passed")
        }
    }
}

extension TestloggerTests.InterruptionTests {
    @Suite(.serialized, .slow)
    struct SlowTests {
        @Test(.enabled(if: JUnitReader.hasValidator, "xmllint is not installed"))
        func hundredKilledRunsReportTheirProgress() throws { try TestloggerTests.InterruptionTests().killRuns(100) }
    }
}
