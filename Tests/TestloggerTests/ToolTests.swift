// What testlogger does together with other programs: coverage by the toolchain's, debugging by gdb, watching what an
// editor saves, and swift-testing's list of cases.

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
    struct ToolTests {
        // MARK: Bridge and coverage

        /// The package of a module that is tested both ways, built and run once, with coverage.
        private static let bridge = Result {
            let package = try FixturePackage("Bridge")
            let result = try package.swift("test", "--enable-code-coverage")
            return (package, result)
        }

        private static let cases = ["Adds", "NeverOwes", "Fixture", "Skips", "Known", "Async", "Obeys"]
            .map { "Account.test\($0)" }

        /// Every in-class test is a case of its own in `swift test`.
        @Test func bridge() throws {
            let (_, result) = try Self.bridge.get()
            #expect(result.status == 0, "\(result)")
            for name in Self.cases {
                #expect(
                    result.text.contains(
                        try Regex("Test case passing 1 argument test → \(name)\\b.* to inClassTests")),
                    "\(name): \(result)")
            }
            #expect(result.text.contains("with \(Self.cases.count) test cases passed"), "\(result)")
        }

        /// A red one is red there, with its place, and the only one.
        @Test func redBridge() throws {
            let (package, _) = try Self.bridge.get()
            let result = try package.swift(
                "test", "--enable-code-coverage", "--skip-build", environment: ["LEDGER_RED": "please"])
            #expect(result.status == 1, "\(result)")
            let source = try package.text(of: "Sources/Ledger/Account.swift").components(separatedBy: "\n")
            let line = try #require(source.firstIndex { $0.contains("static func testObeys") })
            let issues = result.lines.filter { $0.contains("recorded an issue") }
            #expect(issues.count == 1 && issues[0].contains("test → Account.testObeys"), "\(result)")
            #expect(
                result.text.contains(
                    try Regex(
                        "Account\\.swift:\(line + 1):\\d+: error: got \"please\" instead of expected nil for wish for red"
                    )),
                "\(result)")
        }

        /// The report names each line's count; lines of tests, and of their marks, are in none.
        @Test func coverage() throws {
            let (package, built) = try Self.bridge.get()
            try #require(built.status == 0)
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
            // Only what is asked for leaves profiles behind.
            #expect(package.built(".profraw").filter { $0.contains("Ledger.img") } == [])
        }

        @Test func coverageOfPlainBuild() throws {
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
            // Nothing stands between the test and the terminal.
            #expect(result.output.contains("before the crash"), "\(result)")
        }

        @Test func missingDebugger() throws {
            let result = try SharedPackages.diagnostics.get().testlogger(
                ["--debug", "Pear.testRots", "Orchard"], environment: ["IN_CLASS_DEBUGGER": "no-such-debugger"])
            #expect(
                result.status == 3 && result.errors.contains("there is no no-such-debugger on the PATH"), "\(result)")
        }

        // MARK: Watching

        @Test func watching() throws {
            let package = try SharedPackages.diagnostics.get()
            let path = "Sources/Watched/Watched.swift"
            let marker = UUID().uuidString
            let program = try package.startTestlogger(
                ["--watch", "--stable-output", "Watched"], environment: ["WATCHING_RUN": marker])
            func runs(_ text: String) throws -> Int { try program.outputSoFar.components(separatedBy: text).count - 1 }
            try program.wait { try runs("1 test, 1 passed\n") == 1 }
            try package.replace("answer = 42", with: "answer = 41", in: path)
            try program.wait { try runs("1 test, 0 passed, 1 failed\n") == 1 }
            #expect(
                try runs("\(path):11:51: error: got 41 instead of expected 42 for the answer (Watched.testAnswer)\n")
                    == 1)
            // What does not compile is said, and waited through.
            try package.replace("answer = 41", with: "answer: = 41", in: path)
            try program.wait { try runs("Watched.swift:6:") > 0 }
            try package.replace("answer: = 41", with: "answer = 42", in: path)
            try program.wait { try runs("1 test, 1 passed\n") == 2 }
            usleep(300_000)
            #expect(try runs("1 test, ") == 3, "a save is one run")
            program.send(SIGINT)
            let result = try program.result()
            #expect(result.status == 128 + SIGINT, "\(result)")
            #expect(result.errors == "", "\(result)")
            #expect(try RunningPrograms.processes(with: "WATCHING_RUN=\(marker)") == [])
        }

        @Test func watchingWhatIsNotBuiltHere() throws {
            let package = try SharedPackages.diagnostics.get()
            let image = try #require(package.built("/Watched.img").first)
            let result = try package.testlogger(["--watch", image])
            #expect(result.status == 2 && result.errors.contains("can be watched"), "\(result)")
        }
    }
}
