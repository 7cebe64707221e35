// Writes all reports of one run, compares them with golden files, and checks them against the rules of the programs
// that read them.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct ReportTests {
        let package: FixturePackage

        init() throws { package = try SharedPackages.diagnostics.get() }

        /// The options that select passing, skipped, known, failing and crashing tests, wrong lists, and output that
        /// looks like reports.
        private static let words = [
            "--stable-output", "--jobs", "1", "--timeout", "1500", "--filter",
            "Quiet|LifeCycle|NothingThrows|SetUpThrows|TearDownThrows|Idle|Unpinned|^Speaking.test(Speaks|Writes|Closes)|Twice"
                + "|^Hostile.test(Passes|Unwraps|Exits$|CrashesAfter|Loops|StackOverflow)",
            "--test-type", "unit", "--test-type", "hanging", "Quiet", "LifeCycle", "Lists", "Speaking", "Hostile",
        ]

        /// The result of one run that writes all reports.
        private static let run = Result {
            let package = try SharedPackages.diagnostics.get()
            for name in ["all.xml", "all.json", "all.md"] {
                try FileManager.default.removeItemIfThere(package.file(name))
            }
            try package.forgetLastRun()
            let words = ["--github", "--junit", package.file("all.xml").path, "--json", package.file("all.json").path]
            return try package.testlogger(
                words + Self.words,
                environment: [
                    "GITHUB_STEP_SUMMARY": package.file("all.md").path, "GITHUB_WORKSPACE": package.folder.path,
                ])
        }

        private func golden(_ text: String) -> String {
            Goldens.withoutUnstableWords(text.replacing(package.folder.path, with: "…"))
        }

        @Test func printsOnlyItsOwnWorkflowCommands() throws {
            let result = try Self.run.get()
            #expect(result.status == 1)
            // GitHub reads lines that begin with `::` as commands. No line that a test printed may begin this way.
            let commands = result.lines.filter { $0.trimmingPrefix(while: \.isWhitespace).hasPrefix("::") }
            #expect(
                commands.allSatisfy { $0.contains("::error file=Sources/") || $0.contains("::warning file=Sources/") })
            #expect(result.output.contains("  ' ::error file=x.swift::printed"), "it is printed all the same")
            try Goldens.expect(golden(result.output), is: "reports-text-and-github")
        }

        @Test func annotatesFailuresForGitHub() throws {
            let result = try Self.run.get()
            let annotations = result.lines.filter { $0.hasPrefix("::error") || $0.hasPrefix("::warning") }
            let errors = annotations.filter { $0.hasPrefix("::error") }
            #expect((1...10).contains(errors.count))
            #expect(annotations.count - errors.count <= 10)
            // Crashes come before failed expectations.
            let crashes = errors.map {
                $0.contains("crashed with") || $0.contains("exited with") || $0.contains("timed out after")
            }
            #expect(crashes.first == true && crashes == crashes.sorted { $0 && !$1 }, "\(errors)")
            for annotation in annotations {
                let found = try #require(
                    annotation.wholeMatch(
                        of:
                            /::(?:error|warning) file=([^,:]+),line=(\d+),(?:endLine=\d+,)?col=(\d+)(?:,title=[^,:]*)?::(.+)/
                    ),
                    "\(annotation)")
                #expect(package.exists(String(found.1)), "a path relative to the workspace: \(annotation)")
                #expect(annotation.utf8.count <= 4096)
            }
            try Goldens.expect(golden(package.text(of: "all.md")), is: "reports-github-summary")
        }

        @Test(.enabled(if: JUnitReader.hasValidator, "xmllint is not installed"))
        func writesValidJUnitReports() throws {
            _ = try Self.run.get()
            try JUnitReader.expectValid([package.file("all.xml")])
            try Goldens.expect(golden(package.text(of: "all.xml")), is: "reports-junit")
            // `--junit -` prints the same report.
            let printed = try package.testlogger(["--junit", "-"] + Self.words)
            #expect(try golden(printed.output) == golden(package.text(of: "all.xml")))
        }

        /// GitLab and Jenkins have additional rules.
        @Test func junitCountsMatchTheCases() throws {
            _ = try Self.run.get()
            let xml = try package.text(of: "all.xml")
            let reader = try JUnitReader(Data(xml.utf8))
            let root = try #require(reader.suites.first)
            func count(_ outcome: String) -> Int { reader.cases.filter { $0.outcome == outcome }.count }
            #expect(root["tests"] == "\(reader.cases.count)")
            #expect(root["failures"] == "\(count("failure"))")
            #expect(root["errors"] == "\(count("error"))")
            #expect(root["skipped"] == "\(count("skipped"))")
            for (name, sum) in [
                ("tests", reader.cases.count), ("failures", count("failure")), ("errors", count("error")),
            ] {
                #expect(reader.suites.dropFirst().compactMap { $0[name].flatMap(Int.init) }.reduce(0, +) == sum)
            }
            #expect(Set(reader.cases.map(\.name)).count == reader.cases.count, "GitLab drops the second of a name")
            for test in reader.cases {
                let bad = test.elements.filter { ["failure", "error"].contains($0.name) }
                #expect(bad.count <= 1, "GitLab reads the first only: \(test.name)")
                #expect(bad.allSatisfy { $0.text.contains(".swift:") && !($0.attributes["message"] ?? "").isEmpty })
                #expect(!bad.isEmpty == (test.attributes["file"] != nil) || bad.isEmpty, "\(test.name)")
            }
            for scalar in xml.unicodeScalars where scalar.value < 0x20 {
                #expect("\t\n\r".unicodeScalars.contains(scalar))
            }
        }

        @Test func jsonLinesMatchThePlan() throws {
            _ = try Self.run.get()
            let text = try package.text(of: "all.json")
            let events = try ReportedEvent.read(text)
            #expect(events.allSatisfy { $0.number("version") == 1 })
            let planned = events.filter { $0.event == "plan" }
                .flatMap { $0.members["tests"] as? [[String: Any]] ?? [] }.map { ReportedEvent(members: $0).test }
            let finished = events.filter { $0.event == "finished" }
            #expect(finished.map(\.test) == planned)
            #expect(events.filter { $0.event == "started" }.count <= planned.count)
            let summary = try #require(events.last)
            #expect(summary.event == "summary")
            for outcome in ["passed", "failed", "skipped"] {
                #expect(summary.number(outcome) == finished.filter { $0["outcome"] == outcome }.count, "\(outcome)")
            }
            #expect(summary.number("planned") == planned.count)
            try Goldens.expect(golden(text), is: "reports-json-lines")
            try package.forgetLastRun()
            let printed = try package.testlogger(["--json", "-"] + Self.words)
            #expect(golden(printed.output) == golden(text))
        }

        /// If a report can't be written, testlogger reports an error and writes the other reports.
        @Test func reportsUnwritableFiles() throws {
            let json = package.file("still.json")
            let result = try package.testlogger([
                "--junit", package.file("nowhere/at/all.xml").path, "--json", json.path, "Quiet",
            ])
            #expect(result.status == 3, "\(result)")
            #expect(result.errors.contains("nowhere/at/all.xml"), "\(result)")
            #expect(try ReportedEvent.read(String(contentsOf: json, encoding: .utf8)).last?.event == "summary")
        }

        /// The results of several workers are reported in the same order as those of one worker, even if a worker
        /// crashes.
        @Test(arguments: [true, false])
        func reportsParallelRunsInOrder(isCalm: Bool) throws {
            let words = ["-v", "--stable-output", "--json", package.file("jobs.json").path, "Counting", "Orchard"]
            let log = package.file("jobs.log")
            var environment = ["COUNTING_LOG": log.path].merging(isCalm ? ["COUNTING_CALM": "1"] : [:]) { $1 }
            var told: [[String]] = []
            for jobs in [1, 2, 4, 7] {
                var workers: Set<Substring> = []
                // On a busy machine one worker may run all tests before another has started. In this case, repeat the
                // run with longer tests.
                for pause in [2, 20, 200] where jobs == 1 ? pause == 2 : workers.count < 2 {
                    environment["COUNTING_PAUSE"] = "\(pause)"
                    try FileManager.default.removeItemIfThere(log)
                    try package.forgetLastRun()
                    let result = try package.testlogger(["--jobs", "\(jobs)"] + words, environment: environment)
                    // Only the start of a test is written immediately, so leave out these events.
                    let events = try package.text(of: "jobs.json").split(separator: "\n")
                        .filter { !$0.contains("\"event\":\"started\"") }.map(String.init)
                    told.append(result.lines + events)
                    let logged = try String(contentsOf: log, encoding: .utf8).split(separator: "\n")
                    workers = Set(logged.compactMap { $0.split(separator: " ").last })
                }
                if isCalm { #expect(jobs == 1 ? workers.count == 1 : workers.count > 1, "\(jobs) jobs: \(workers)") }
            }
            #expect(told[0].count > 90)
            for other in told.dropFirst() { #expect(other == told[0]) }
        }
    }
}
