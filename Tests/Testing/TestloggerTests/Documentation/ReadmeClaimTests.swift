// Tests the statements of README and the articles about results and safety, each with a module of one file. If a
// statement changes, check its claim here.

import Foundation
import Testing

#if os(Linux)
extension TestloggerTests {
    @Suite(.serialized)
    struct ReadmeClaimTests {
        private static let articles = Result {
            try Article.all.get().map { $0.text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        }

        /// Expects README or an article to contain this text, ignoring line breaks.
        private func claim(_ words: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            #expect(
                try Self.articles.get().contains { $0.contains(words) }, "in no article: \(words)",
                sourceLocation: sourceLocation)
        }

        /// Compiles a file with a type that has this test list and these members.
        private func compile(_ list: String, _ members: String) throws -> CompiledModule {
            try CompiledModule(
                named: "claim-\(UUID().uuidString)",
                source: """
                    import Glibc
                    import InClassTesting
                    enum Claimed {}
                    extension Claimed: SelfTesting {
                        static var testSelectors: TestSelectors { [\(list)] }
                        \(members.replacing("\n", with: "\n    "))
                    }

                    """, options: ["-swift-version", "6"])
        }

        /// Compiles a file and runs the tests in its list.
        private func run(_ list: String, _ members: String, _ words: String...) throws -> ProgramResult {
            try compile(list, members).testlogger(["-v"] + words)
        }

        // MARK: Lists

        @Test func reportsMistakesInLists() throws {
            try claim("An entry without a function does not compile.")
            let refused = #expect(throws: ProgramError.self) {
                try compile(#""testOne": testOne, "testGone": testGone"#, "static func testOne() {}")
            }
            let text = try #require(refused?.description)
            #expect(text.contains("Source.swift:5:") && text.contains("cannot find 'testGone' in scope"), "\(text)")

            // The scan of sources needs the description that a build makes, so check the golden file of its output.
            try claim("If a function `test…` is in no list, the build warns at its declaration")
            try claim("A name that is listed twice is an error")
            let golden = try String(
                contentsOf: Fixtures.checkout.appending(path: "Tests/Testing/TestloggerTests/Goldens/lists.txt"),
                encoding: .utf8)
            for line in [
                "Sources/Lists/Lists.swift:12:25: warning: test 'testForgotten' of Forgetful is in no list",
                "Sources/Lists/Lists.swift:8:48: fixit: ", "Sources/Lists/Lists.swift:47:9: error: duplicate entry",
            ] { #expect(golden.contains(line), "\(line)") }
            let result = try run(#""testOne": testOne, "testOne": testOne"#, "static func testOne() {}")
            #expect(result.status == 1, "\(result)")
        }

        // MARK: Containment

        @Test func crashesFailOnlyTheirTest() throws {
            try claim(
                "A crash, hang, stack overflow or call of `exit` fails only the current test, at its line. "
                    + "The remaining tests still run.")
            let members = """
                static func testCrashes() { var list: [Int] = []; list.removeLast() }
                static func testHangs() { while getpid() > 0 {} }
                static func testOverflows() { _ = Self.deep(1) }
                static func testExits() { exit(0) }
                static func testPasses() {}
                @inline(never) static func deep(_ n: Int) -> Int { n > 0 ? deep(n + 1) + 1 : 0 }
                """
            let names = ["testCrashes", "testPasses", "testHangs", "testOverflows", "testExits", "testRuns"]
            let list = names.map { "\"\($0)\": \($0 == "testRuns" ? "testPasses" : $0)" }.joined(separator: ", ")
            let result = try run(list, members, "--timeout", "1000", "--jobs", "1")
            #expect(result.status == 1, "\(result)")
            for (line, name) in [(6, "testCrashes"), (7, "testHangs"), (8, "testOverflows"), (9, "testExits")] {
                #expect(
                    result.lines.contains {
                        ($0.hasPrefix("Source.swift:\(line):") || line == 8 && $0.hasPrefix("Source.swift:11:"))
                            && $0.contains(": error: ") && $0.contains("(Claimed.\(name))")
                    }, "\(name): \(result)")
            }
            for name in ["testPasses", "testRuns"] {
                #expect(result.lines.contains("passed Claimed.\(name)"), "\(name): \(result)")
            }
        }

        @Test func testsDoNotSeeChangedProcessState() throws {
            try claim(
                "When a test has changed the state of its process, the next test runs in a new process")
            let members = """
                static func testChanges() {
                    close(1)
                    expectEqual(chdir("/"), 0)
                    setenv("CLAIMED", "changed", 1)
                    // The hard limit is for the superuser to raise again.
                    var limit = rlimit()
                    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                    limit.rlim_cur = 5
                    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                    signal(SIGTERM, SIG_IGN)
                    var mask = sigset_t()
                    sigprocmask(SIG_BLOCK, nil, &mask)
                    let wasBlocked = sigismember(&mask, SIGUSR1) == 1
                    sigemptyset(&mask)
                    sigaddset(&mask, SIGUSR1)
                    sigprocmask(wasBlocked ? SIG_UNBLOCK : SIG_BLOCK, &mask, nil)
                }
                static func testNext() {
                    expectGreaterThanOrEqual(fcntl(1, F_GETFD), 0, "output")
                    expectFalse(String(cString: getcwd(nil, 0)) == "/", "folder")
                    expectNil(getenv("CLAIMED"), "environment")
                    var limit = rlimit()
                    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                    expectGreaterThan(limit.rlim_cur, 5, "limit")
                    var action = sigaction()
                    sigaction(SIGTERM, nil, &action)
                    expectTrue(unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0, "handler")
                    var mask = sigset_t()
                    sigprocmask(SIG_BLOCK, nil, &mask)
                    expectEqual(sigismember(&mask, SIGUSR1), sigismember(&mask, SIGUSR2), "mask")
                }
                """
            let result = try run(#""testChanges": testChanges, "testNext": testNext"#, members, "--jobs", "1")
            #expect(result.status == 0, "\(result)")
            #expect(result.lines.contains("2 tests, 2 passed"), "\(result)")
        }

        @Test func endsProcessesStartedByTests() throws {
            try claim("Processes that a test starts end with the run.")
            let mark = "1\(Int.random(in: 100_000..<900_000))"
            let members = """
                static func testStarts() { expectEqual(popen("setsid sleep \(mark) & sleep \(mark)", "r") == nil, false) }
                """
            _ = try run(#""testStarts": testStarts"#, members)
            let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int($0) != nil }
            let left = processes.filter { process in
                let words = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
                return String(decoding: words, as: UTF8.self).contains(mark)
            }
            #expect(left == [], "processes that sleep for \(mark) seconds")
        }

        @Test func showsOutputOfFailedTestsOnly() throws {
            try claim("The output of a test, to standard output and standard error, is shown only if the test fails.")
            let members = """
                static func testPasses() { print("of the test that passes") }
                static func testFails() { print("of the test that fails"); fail("on purpose") }
                """
            let result = try run(#""testPasses": testPasses, "testFails": testFails"#, members)
            #expect(result.status == 1)
            #expect(!result.text.contains("of the test that passes"), "\(result)")
            #expect(result.text.contains("of the test that fails"), "\(result)")
        }

        // MARK: Statuses

        @Test func exitStatusesMatchTheTable() throws {
            try claim(
                "| 0 | all tests passed | | 1 | a test failed | | 2 | the command line is wrong | "
                    + "| 3 | the tests could not run | | 4 | there is nothing to run |")
            #expect(try run(#""testOne": testOne"#, "static func testOne() {}").status == 0)
            #expect(try run(#""testOne": testOne"#, #"static func testOne() { fail("on purpose") }"#).status == 1)
            #expect(try run(#""testOne": testOne"#, "static func testOne() {}", "--nothing").status == 2)
            #expect(try run(#""testOne": testOne"#, "static func testOne() {}", "--filter", "none").status == 4)
            let text = Fixtures.folder.appending(path: "claim.o")
            try Data("no object".utf8).write(to: text)
            let refused = try RunningPrograms.run([Fixtures.testlogger.path, text.path], in: Fixtures.folder)
            #expect(refused.status == 3, "\(refused)")
        }

        // MARK: Releases

        @Test func releasesContainNoTests() throws {
            try claim("Tests are not included in release builds")
            let source = Fixtures.checkout.appending(path: "Examples/QuickStart/Sources/Stacks/Stack.swift")
            let text = try String(contentsOf: source, encoding: .utf8)
            let start = try #require(text.firstRange(of: "// MARK: - In-class tests"))
            let folder = Fixtures.folder.appending(path: "claimed release")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let objects = try [text, String(text[..<start.lowerBound])].map { text in
                let file = folder.appending(path: "Stack.swift")
                try Data(text.utf8).write(to: file)
                let result = try RunningPrograms.run(
                    ["swiftc", "-O", "-c", "-module-name", "Stacks", "-parse-as-library", "Stack.swift"], in: folder)
                try #require(result.status == 0, "\(result)")
                return try Data(contentsOf: folder.appending(path: "Stack.o"))
            }
            #expect(objects[0] == objects[1], "the object is that of the file without its tests")
        }
    }
}
#endif
