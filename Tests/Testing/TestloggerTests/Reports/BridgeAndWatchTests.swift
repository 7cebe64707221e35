// Tests the ways to run in-class tests without a build step: `swift test`, which has a case for each in-class test, and
// `--watch`, which runs tests after an editor saves a file.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import Foundation
import Testing

extension PackageTests {
    @Suite(.serialized)
    struct BridgeAndWatchTests {
        // MARK: Bridge

        /// A package whose module is tested both in the build and by `swift test`, and the result of `swift test`.
        private static let bridge = Result {
            let package = try FixturePackage("Bridge", as: "Bridged")
            let result = try package.swift("test")
            return (package, result)
        }

        private static let cases = ["Adds", "NeverOwes", "Fixture", "Skips", "Known", "Async", "Obeys"]
            .map { "Account.test\($0)" }

        /// Every in-class test is a separate case in `swift test`.
        @Test func swiftTestRunsEachTestAsACase() throws {
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

        /// Tests in `swift test` find the resources of their module.
        @Test func swiftTestFindsResources() throws {
            let (_, result) = try Self.bridge.get()
            for name in ["Letter.testIsGolden", "Letter.testIsKept"] {
                #expect(
                    result.text.contains(
                        try Regex("Test case passing 1 argument test → \(name)\\b.* to testsWithResources")),
                    "\(name): \(result)")
            }
        }

        /// A failing in-class test fails in `swift test`, at its location, and no other test fails.
        @Test func swiftTestReportsFailures() throws {
            let (package, _) = try Self.bridge.get()
            let result = try package.swift("test", "--skip-build", environment: ["LEDGER_RED": "please"])
            #expect(result.status == 1, "\(result)")
            let source = try package.text(of: "Sources/Ledger/Account.swift").components(separatedBy: "\n")
            let line = try #require(source.firstIndex { $0.contains("static func testObeys") })
            let issues = result.lines.filter { $0.contains("recorded an issue") }
            try #require(issues.count == 1, "\(result)")
            #expect(issues[0].contains("test → Account.testObeys"), "\(result)")
            #expect(issues[0].contains(try Regex("at Account\\.swift:\(line + 1):\\d+: ")), "\(result)")
            #expect(
                result.text.contains(#"got "please" instead of expected nil for wish for red"#), "\(result)")
        }

        /// A test's name identifies its case in every run, so that an editor can run the case again.
        @Test func swiftTestIdentifiesCasesByName() throws {
            let (package, _) = try Self.bridge.get()
            let events = package.file("events.jsonl")
            _ = try package.swift(
                "test", "--skip-build", "--event-stream-output-path", events.path, "--event-stream-version", "0")
            let text = try String(contentsOf: events, encoding: .utf8)
            // swift-testing sets `isStable` for arguments that identify a case in every run.
            #expect(!text.contains("isStable: false"), "\(text)")
            for name in Self.cases {
                let bytes = Array("\"\(name)\"".utf8)
                #expect(text.contains("bytes: \(bytes))], discriminator: 0, isStable: true"), "\(name): \(text)")
            }
        }

        // MARK: Watching

        @Test func watchRunsTestsAfterEachSave() throws {
            let package = try AcceptanceTests.shared.get()
            let path = "Sources/Watched/Watched.swift"
            let program = try package.startTestlogger(["--watch", "--stable-output", "Watched"])
            func runs(_ text: String) throws -> Int { try program.outputSoFar.components(separatedBy: text).count - 1 }
            try program.wait(for: "the first run") { try runs("1 test, 1 passed\n") == 1 }
            try package.replace("answer = 42", with: "answer = 41", in: path)
            try program.wait(for: "a failed run") { try runs("1 test, 0 passed, 1 failed\n") == 1 }
            #expect(
                try runs("\(path):11:51: error: got 41 instead of expected 42 for the answer (Watched.testAnswer)\n")
                    == 1)
            // A source that doesn't compile doesn't end the watch.
            try package.replace("answer = 41", with: "answer: = 41", in: path)
            try program.wait(for: "the compiler's error") { try runs("Watched.swift:6:") > 0 }
            try package.replace("answer: = 41", with: "answer = 42", in: path)
            try program.wait(for: "a passed run") { try runs("1 test, 1 passed\n") == 2 }
            // If one save caused two runs, the second would end before the run of the next save.
            try package.replace("answer = 42", with: "answer = 40", in: path)
            try program.wait(for: "another failed run") { try runs("1 test, 0 passed, 1 failed\n") == 2 }
            #expect(try runs("1 test, ") == 4, "a save is one run")
            program.send(SIGINT)
            let result = try program.result()
            #expect(result.status == 128 + SIGINT, "\(result)")
            #expect(result.errors == "", "\(result)")
            #expect(try package.processes() == [])
        }
    }
}

extension PackageTests.BridgeAndWatchTests {
    @Suite(.serialized, .slow)
    struct SlowTests {
        /// This test is slow because the whole package is compiled again for coverage. The report covers the tested
        /// module.
        @Test func reportsCoverageOfABuild() throws {
            let package = try FixturePackage("Bridge", as: "Covered")
            let built = try package.swift("test", "--enable-code-coverage")
            #expect(built.status == 0, "\(built)")
            let result = try package.testlogger(["--coverage", "Ledger"])
            #expect(result.status == 0, "\(result)")
            #expect(
                result.output.contains(/coverage: \d+ % of \d+ lines of Sources\/Ledger\/Account\.swift\n/),
                "\(result)")
        }
    }
}
