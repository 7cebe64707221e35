// Tests behavior that depends on how a module is compiled: the language mode, the optimizer and sanitizers. Also tests
// the effects of a run on processes and files around it.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct CompiledModuleTests {
        private static let head = "import Foundation\nimport InClassTesting\n"

        // MARK: Language modes

        private static let modes = Result {
            try CompiledModule(
                named: "modes",
                source: """
                    public import InClassTesting
                    public struct Stack {}
                    extension Stack: FixtureTesting {
                        public static func testFixture() -> Stack { Stack() }
                        public static var testSelectors: TestSelectors { [
                            "testA": testA, "testAsync": testAsync, "testMain": testMain, "testB": fixture(testB),
                            "testC": fixture { try await $0.testC() }, "testD": { expectEqual(1, 1) },
                        ] }
                        public static var testSelectorsByType: [TestType: TestSelectors] {
                            ["slow": .timeLimit(.milliseconds(5), ["testA": testA])]
                        }
                        static func testA() throws {}
                        static func testAsync() async throws {}
                        @MainActor static func testMain() { MainActor.assertIsolated() }
                        func testB() throws {}
                        mutating func testC() async throws {}
                    }
                    struct Table<Value> { var value: Value }
                    extension Table: SelfTesting where Value == Int {
                        static var testSelectors: TestSelectors { ["testT": testT, "testU": { testT() }] }
                        static func testT() {}
                    }
                    final class View {}
                    @MainActor extension View: @MainActor SelfTesting {
                        static var testSelectors: TestSelectors { ["testS": testS, "testC": { testS() }] }
                        static func testS() { MainActor.assertIsolated() }
                    }
                    enum Rows {}
                    extension Rows: SelfTesting {
                        static func row() {}
                        static var rows: [(String, TestBody)] { [("a", row), ("b", {})] }
                        static var testSelectors: TestSelectors { TestSelectors(rows) }
                    }
                    """)
        }

        /// Test lists and the framework's API cause no warnings in any language mode.
        @Test(arguments: [
            ["-swift-version", "5"], ["-swift-version", "5", "-strict-concurrency=targeted"],
            ["-swift-version", "5", "-strict-concurrency=complete"], ["-swift-version", "6"],
            ["-swift-version", "6", "-enable-upcoming-feature", "InternalImportsByDefault"],
            ["-swift-version", "6", "-default-isolation", "MainActor"],
            [
                "-swift-version", "6", "-default-isolation", "MainActor", "-enable-upcoming-feature",
                "InferIsolatedConformances", "-enable-upcoming-feature", "NonisolatedNonsendingByDefault",
            ],
        ])
        func listsDoNotWarn(mode: [String]) throws {
            let module = try Self.modes.get()
            let result = try module.check(mode)
            #expect(result.status == 0 && !result.text.contains("warning:"), "\(result)")
        }

        @Test func swift5MethodsRunOnTheirActors() throws {
            let result = try Self.modes.get().testlogger()
            #expect(result.output.hasSuffix("12 tests, 12 passed\n"), "\(result)")
        }

        // MARK: Lists

        private static let lists = """
            import InClassTesting
            struct Plain {}
            extension Plain {
                static var testSelectors: TestSelectors { [
                    "testPlain": testPlain, // Plain
                ] }
                static func testPlain() {}
            }
            struct Inline: SelfTesting {
                static var testSelectors: TestSelectors { [
                    "testInline": testInline, // Inline
                ] }
                static func testInline() {}
            }
            class Base {
                class var testSelectors: TestSelectors { ["testBase": testBase] }
                class func testBase() {}
            }
            extension Base: SelfTesting {}
            final class Sub: Base {
                override class var testSelectors: TestSelectors { [
                    "testSub": testSub, // Sub
                ] }
                class func testSub() {}
            }
            protocol Suite: SelfTesting {}
            extension Suite {
                static var testSelectors: TestSelectors { [
                    "testSuite": {}, // Suite
                ] }
            }
            enum Useful: Suite {}
            """

        /// Every listed test runs or is reported as an error at its line.
        @Test(arguments: [
            ([], ["Plain"]), (["-O"], ["Inline", "Plain", "Suite"]),
        ])
        func listedTestsRunOrAreReported(options: [String], marks: [String]) throws {
            let module = try CompiledModule(named: "lists\(options.count)", source: Self.lists, options: options)
            let result = try module.testlogger()
            let errors = result.lines.filter { $0.contains(": error: ") }
            let lines = errors.compactMap { $0.split(separator: ":").dropFirst().first.flatMap { Int($0) } }
            #expect(try lines.sorted() == marks.map { try module.line($0) }.sorted(), "\(result)")
            #expect(errors.allSatisfy { $0.contains("doesn't run") }, "\(result)")
            #expect(result.status == 1)
        }

        // MARK: Sanitizers

        fileprivate static let disturbed = """
            import InClassTesting
            #if canImport(Darwin)
            import Darwin
            #else
            import Glibc
            #endif
            final class Box: @unchecked Sendable { var number = 0; var me: Box? }
            enum Fine {}
            extension Fine: SelfTesting {
                static var testSelectors: TestSelectors { [
                    "testExits": testExits, "testFolder": { _ = try temporaryDirectory() },
                    "testTasks": { await withTaskGroup(of: Int.self) { group in
                        for number in 0..<20 { group.addTask { number } }
                        for await _ in group {}
                    } },
                ] }
                /// The process has two threads when it is forked, and so has the fork.
                static func testExits() {
                    func start(_ body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?) -> pthread_t {
                        var thread = pthread_self()
                        pthread_create(&thread, nil, body, nil)
                        return thread
                    }
                    let thread = start { _ in usleep(300_000); return nil }
                    expectExit(.exit(3)) {
                        pthread_join(start { _ in nil }, nil)
                        exit(3)
                    }
                    pthread_join(thread, nil)
                }
            }
            #if RACE
            enum Race {}
            extension Race: SelfTesting {
                static var testSelectors: TestSelectors { ["testRace": testRace, "testAfter": {}] }
                static func testRace() {
                    let box = Box()
                    let context = Unmanaged.passUnretained(box).toOpaque()
                    var threads = [pthread_t](repeating: pthread_self(), count: 2)
                    for index in 0..<2 {
                        pthread_create(&threads[index], nil, { context in
                            for _ in 0..<10 {
                                Unmanaged<Box>.fromOpaque(context!).takeUnretainedValue().number += 1 // RACE
                                usleep(1000)
                            }
                            return nil
                        }, context)
                    }
                    for thread in threads { pthread_join(thread, nil) }
                }
            }
            #elseif LEAK
            enum Leak {}
            extension Leak: SelfTesting {
                static var testSelectors: TestSelectors { ["testLeak": testLeak, "testAfter": {}] }
                static func testLeak() {
                    // What is left in a register or on the stack is no leak to the sanitizer.
                    for _ in 0..<100 {
                        let boxes = (0..<2).map { _ in Box() } // LEAK
                        (boxes[0].me, boxes[1].me) = (boxes[1], boxes[0])
                    }
                }
            }
            #elseif USE
            enum Use {}
            extension Use: SelfTesting {
                static var testSelectors: TestSelectors { ["testUse": testUse, "testAfter": {}] }
                static func testUse() {
                    let pointer = UnsafeMutablePointer<Int>.allocate(capacity: 1)
                    pointer.initialize(to: 4)
                    pointer.deallocate()
                    expectEqual(pointer.pointee, 5) // USE
                }
            }
            #endif
            """

        // MARK: Options

        /// Each test detects changes that earlier tests made to its process.
        @Test(arguments: [1, 2])
        func isolatedTestsRunInSeparateProcesses(jobs: Int) throws {
            let module = try CompiledModule(
                named: "isolated\(jobs)",
                source: Self.head + """
                    enum Counted {
                        nonisolated(unsafe) static var count = 0
                        static func add() {
                            count += 1
                            expectEqual(count, 1, "tests of this process")
                        }
                    }
                    extension Counted: SelfTesting {
                        static var testSelectors: TestSelectors {
                            .each("testCounts", Array(1...6)) { _ in add() } + ["testCrashes": { fatalError("crash") }]
                        }
                    }
                    """)
            #expect(try module.testlogger(["--jobs", "1"]).output.contains("7 tests, 1 passed, 6 failed"))
            let result = try module.testlogger(["--isolate", "--jobs", "\(jobs)"])
            #expect(result.output.contains("7 tests, 6 passed, 1 failed"), "\(result)")
            #expect(result.status == 1)
        }

        @Test func addsUnlistedTestsToTheirLists() throws {
            let head = """
                import InClassTesting
                struct Stack { init() {} }

                """
            let tests = """
                    static func testA() {}
                    static func testB() async throws {}
                }
                extension Stack: FixtureTesting {
                    static func testFixture() -> Stack { Stack() }
                    func testC() {}
                    func testD() throws {}
                }

                """
            let module = try CompiledModule(
                named: "unlisted",
                source: head + """
                    extension Stack {
                        static var testSelectors: TestSelectors { ["testD": fixture { try $0.testD() }] }

                    """ + tests)
            let result = try module.testlogger(["--fix-lists", "--stable-output"])
            #expect(result.status == 0)
            let note = #"Source.swift:4:48: note: added "testA": testA; build to run it"#
            #expect(result.output.contains(note), "\(result)")
            let fixed = try String(contentsOf: module.source, encoding: .utf8)
            #expect(
                fixed == head + """
                    extension Stack {
                        static var testSelectors: TestSelectors { ["testA": testA, "testB": testB, \
                    "testC": fixture(testC), "testD": fixture { try $0.testD() }] }

                    """ + tests)
            let again = try CompiledModule(named: "listed", source: fixed).testlogger(["--fix-lists"])
            #expect(
                again.output == """
                    4 tests, 4 passed
                    nothing to add: all tests are in lists

                    """)
        }

        // MARK: Processes and files

        @Test func testsDoNotSeeEarlierSettings() throws {
            let module = try CompiledModule(
                named: "settings",
                source: Self.head + """
                    enum Settings {}
                    extension Settings: SelfTesting {
                        static var testSelectors: TestSelectors { ["testSets": testSets, "testFinds": testFinds] }
                        static func testSets() {
                            signal(SIGUSR1, SIG_IGN)
                            signal(SIGTERM, SIG_IGN)
                            var limit = rlimit()
                            getrlimit(RLIMIT, &limit)
                            limit.rlim_cur = 50
                            expectEqual(setrlimit(RLIMIT, &limit), 0)
                            alarm(1)
                            umask(0o777)
                            setenv("SET_BY_TEST", "1", 1)
                            chdir("/")
                        }
                        static func testFinds() {
                            var limit = rlimit()
                            getrlimit(RLIMIT, &limit)
                            expectNotEqual(limit.rlim_cur, 50)
                            for number in [SIGUSR1, SIGTERM] {
                                var action = sigaction()
                                sigaction(number, nil, &action)
                                expectTrue(action.isDefault)
                            }
                            expectEqual(alarm(0), 0)
                            expectNotEqual(umask(0o22), 0o777)
                            expectNil(getenv("SET_BY_TEST"))
                            expectNotEqual(FileManager.default.currentDirectoryPath, "/")
                        }
                    }
                    #if canImport(Darwin)
                    private let RLIMIT = RLIMIT_NOFILE
                    extension sigaction { var isDefault: Bool { __sigaction_u.__sa_handler == nil } }
                    #else
                    private let RLIMIT = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
                    extension sigaction { var isDefault: Bool { __sigaction_handler.sa_handler == nil } }
                    #endif
                    """)
            let result = try module.testlogger(["--jobs", "1"])
            #expect(result.output.hasSuffix("2 tests, 2 passed\n"), "\(result)")
        }

        #if os(Linux)
        /// A shell that testlogger replaces can have child processes. testlogger must not end these processes and those
        /// that they leave behind.
        @Test func endsOnlyProcessesOfTests() throws {
            let module = try CompiledModule(
                named: "orphans",
                source: Self.head + """
                    enum Leaving {}
                    extension Leaving: SelfTesting {
                        static var testSelectors: TestSelectors { ["testLeaves": testLeaves] }
                        static func testLeaves() {
                            // Foundation's Process waits for everybody who has inherited its socket.
                            let command = "setsid sleep 61 > /dev/null 2>&1 & echo $! > left"
                            var words: [UnsafeMutablePointer<CChar>?] = ["sh", "-c", command].map { (word: String) in
                                strdup(word)
                            } + [nil]
                            var shell: pid_t = 0
                            expectEqual(posix_spawnp(&shell, "sh", nil, nil, &words, environ), 0)
                            expectEqual(waitpid(shell, nil, 0), shell)
                        }
                    }
                    """)
            let result = try RunningPrograms.run(
                ["sh", "-c", "sleep 62 & echo $! > own; exec \(module.command)"], in: module.folder)
            #expect(result.output.hasSuffix("1 test, 1 passed\n"), "\(result)")
            func process(_ name: String) throws -> pid_t {
                let text = try String(contentsOf: module.folder.appending(path: name), encoding: .utf8)
                return try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
            }
            #expect(try kill(process("own"), 0) == 0, "a child of the shell")
            #expect(try kill(process("left"), 0) != 0, "a child of the test")
            _ = try kill(process("own"), SIGKILL)
            // The reader of the output outlives testlogger, because it starts reading after testlogger has ended.
            let reader = "while kill -0 $$ 2> /dev/null; do sleep 0.01; done; cat > log"
            let read = try RunningPrograms.run(
                ["bash", "-c", "exec \(module.command) > >(\(reader))"], in: module.folder)
            #expect(read.status == 0, "\(read)")
            try RunningPrograms.wait(for: "the reader's log") {
                let log = try? String(contentsOf: module.folder.appending(path: "log"), encoding: .utf8)
                return log?.hasSuffix("1 test, 1 passed\n") ?? false
            }
        }
        #endif

        @Test func acceptanceKeepsLinksAndModes() throws {
            let module = try CompiledModule(
                named: "accepting",
                source: Self.head + """
                    enum Sum {}
                    extension Sum: SelfTesting {
                        static var testSelectors: TestSelectors { ["testSum": { expectEqual(1 + 1, 3) }] }
                    }
                    """)
            let target = module.folder.appending(path: "Target.swift")
            let files = FileManager.default
            try files.moveItem(at: module.source, to: target)
            try files.createSymbolicLink(atPath: module.source.path, withDestinationPath: "Target.swift")
            try files.setAttributes([.posixPermissions: 0o444], ofItemAtPath: target.path)
            let refused = try module.testlogger(["--accept"])
            #expect(refused.text.contains("which is read-only"), "\(refused)")
            try files.setAttributes([.posixPermissions: 0o640], ofItemAtPath: target.path)
            let result = try module.testlogger(["--accept"])
            #expect(try String(contentsOf: target, encoding: .utf8).contains("expectEqual(1 + 1, 2)"), "\(result)")
            #expect(try files.destinationOfSymbolicLink(atPath: module.source.path) == "Target.swift")
            #expect(try files.attributesOfItem(atPath: target.path)[.posixPermissions] as? Int == 0o640)
        }
    }
}

#if os(Linux)
extension TestloggerTests.CompiledModuleTests {
    /// This suite is slow because each sanitizer needs a separate build of InClassTesting.
    @Suite(.serialized, .slow)
    struct SlowTests {
        typealias CompiledModuleTests = TestloggerTests.CompiledModuleTests

        @Test(arguments: [
            ("address", "FINE", ""), ("thread", "FINE", ""), ("thread", "RACE", "ThreadSanitizer: "),
            ("address", "LEAK", "LeakSanitizer: leak of "), ("address", "USE", "AddressSanitizer: heap-use-after-free"),
        ])
        func sanitizersReportOnlyRealErrors(sanitizer: String, kind: String, text: String) throws {
            let module = try CompiledModule(
                named: "\(sanitizer)-\(kind)", source: CompiledModuleTests.disturbed, options: ["-D\(kind)"],
                sanitizer: sanitizer)
            let result = try module.testlogger(["-v"])
            let errors = result.lines.filter { $0.contains(": error: ") }
            if text.isEmpty {
                #expect(result.status == 0 && errors.isEmpty, "\(result)")
                return
            }
            #expect(result.status == 1, "\(result)")
            #expect(errors.count == 1 && errors[0].contains("error: \(text)"), "\(result)")
            #expect(try errors.first?.hasPrefix("Source.swift:\(module.line(kind)):") ?? false, "\(result)")
            #expect(result.lines.contains { $0.hasPrefix("passed ") && $0.contains(".testAfter") }, "\(result)")
            // Leaks are found after all tests have run. Other errors are reported for their tests.
            #expect(result.lines.contains { $0.hasPrefix("failed ") } == (kind != "LEAK"), "\(result)")
        }
    }
}
#endif
