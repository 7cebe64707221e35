// Tests features that use other programs: coverage with the toolchain's tools, and debugging with gdb.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct ToolTests {
        // MARK: Coverage

        /// The coverage report contains the count of each line, but no lines of tests.
        @Test func reportsCoverageByLine() throws {
            let package = try FixturePackage(
                compiling: "Bridge", options: ["-profile-generate", "-profile-coverage-mapping"])
            let result = try package.testlogger(["--stable-output", "--coverage", "Ledger"])
            #expect(result.status == 0, "\(result)")
            let path = try #require(result.output.firstMatch(of: /coverage: by line in (.+)/)).1
            let report = try package.text(of: String(path)).split(separator: "\n")
            #expect(report.first == "SF:\(package.file("Sources/Ledger/Account.swift").path)")
            #expect(report.filter { $0.hasPrefix("SF:") }.count == 1 && report.last == "end_of_record")
            var counts: [Int: Int] = [:]
            for line in report {
                guard let found = line.wholeMatch(of: /DA:(\d+),(\d+)/) else { continue }
                counts[Int(found.1) ?? 0] = Int(found.2)
            }
            let source = try package.text(of: "Sources/Ledger/Account.swift").components(separatedBy: "\n")
            var known = 0
            for (index, line) in source.enumerated() {
                guard let found = line.firstMatch(of: /\/\/ reached: (\d+)/) else { continue }
                #expect(counts[index + 1] == Int(found.1), "line \(index + 1): \(line)")
                known += 1
            }
            #expect(known == 5)
            let tests = try #require(source.firstIndex { $0.hasPrefix("#if DEBUG") })
            #expect(counts.keys.allSatisfy { $0 <= tests }, "lines of tests: \(counts)")
            let reached = counts.values.filter { $0 > 0 }.count
            #expect(report.contains("LF:\(counts.count)") && report.contains("LH:\(reached)"))
            #expect(
                result.output.contains(
                    "coverage: \(reached * 100 / counts.count) % of \(counts.count) lines of Sources/Ledger/Account.swift\n"
                ),
                "\(result)")
            // No raw profiles of the test executable are left behind.
            #expect(package.built(".profraw").filter { $0.contains("Ledger.img") } == [])
        }

        @Test func reportsMissingProfiles() throws {
            let package = try SharedPackages.diagnostics.get()
            let result = try package.testlogger(["--coverage", "Orchard"])
            #expect(result.status == 3, "\(result)")
            #expect(result.errors.contains("no profile was written; build with '--enable-code-coverage'"), "\(result)")
        }

        // MARK: Debugging

        private static let hasDebugger = RunningPrograms.path(of: "gdb") != nil

        /// Runs a test under gdb with these commands.
        private func debug(_ test: String, _ module: String, _ commands: String...) throws -> ProgramResult {
            try SharedPackages.diagnostics.get().startTestlogger(
                ["--debug", test, module], environment: ["IN_CLASS_DEBUGGER": "gdb"],
                input: (["set width 0", "set pagination off", "set confirm off"] + commands + ["quit", ""]).joined(
                    separator: "\n")
            ).result()
        }

        private func line(of text: String, in path: String) throws -> Int {
            let lines = try SharedPackages.diagnostics.get().text(of: path).components(separatedBy: "\n")
            return try #require(lines.firstIndex { $0.contains(text) }) + 1
        }

        @Test(.enabled(if: hasDebugger, "gdb is not installed"))
        func debuggerStopsAtTheTest() throws {
            let result = try debug("Pear.testRots", "Orchard", "run", "bt 1", "continue")
            let line = try line(of: "func testRots", in: "Sources/Orchard/Pears.swift")
            #expect(
                result.output.contains(try Regex("Breakpoint 1, .*testRots.*\\s+at .*Pears\\.swift:\(line)")),
                "\(result)")
            #expect(result.text.contains("Pear.testRots is over"), "\(result)")
            #expect(!result.text.contains("testGrows"), "exactly that test: \(result)")
        }

        @Test(.enabled(if: hasDebugger, "gdb is not installed"))
        func debuggerStopsAtTheCrash() throws {
            let result = try debug("Hostile.testUnwrapsNil", "Hostile", "run", "continue", "bt")
            let line = try line(of: "print(missing!)", in: "Sources/Hostile/Hostile.swift")
            #expect(
                result.output.contains("received signal SIGILL") || result.output.contains("received signal SIGTRAP"))
            #expect(result.output.contains("Hostile.swift:\(line)"), "\(result)")
            // The test writes directly to the terminal.
            #expect(result.output.contains("before the crash"), "\(result)")
        }

        @Test func reportsMissingDebugger() throws {
            let result = try SharedPackages.diagnostics.get().testlogger(
                ["--debug", "Pear.testRots", "Orchard"], environment: ["IN_CLASS_DEBUGGER": "no-such-debugger"])
            #expect(
                result.status == 3 && result.errors.contains("there is no no-such-debugger on the PATH"), "\(result)")
        }

        // MARK: Watching

        @Test func refusesToWatchOtherExecutables() throws {
            let package = try SharedPackages.diagnostics.get()
            #expect(try package.testlogger(["--list", "Watched"]).status == 0)
            let executable = try #require(package.built("/Watched.img").first)
            let result = try package.testlogger(["--watch", executable])
            #expect(result.status == 2 && result.errors.contains("'--watch' needs modules"), "\(result)")
        }
    }
}
