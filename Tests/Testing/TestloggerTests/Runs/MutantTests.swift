// Tests `--mutants`, which reports each change of a source that no test notices, at its location, and leaves the
// package unchanged.

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
    struct MutantTests {
        private static let path = "Sources/Stacks/Stack.swift"
        private static let manifest = """
            // swift-tools-version: 6.2
            import PackageDescription
            let package = try Package(
                name: "Mutants", platforms: [.macOS(.v15)],
                dependencies: [DEPENDENCY],
                targets: [
                    .target(name: "Numbers"),
                    .target(
                        name: "Stacks",
                        dependencies: ["Numbers", .product(name: "InClassTesting", package: "InClassTesting")]),
                    .target(
                        name: "Order",
                        dependencies: [.product(name: "InClassTesting", package: "InClassTesting")]),
                    .target(
                        name: "Left",
                        dependencies: [.product(name: "InClassTesting", package: "InClassTesting")]),
                    .target(
                        name: "Touched",
                        dependencies: [.product(name: "InClassTesting", package: "InClassTesting")]),
                ])
            """
        private static let source = """
            import Numbers

            struct Stack {
                private(set) var items: [Int] = []
                var pushCount = 0

                mutating func push(_ item: Int) -> Bool {
                    guard items.count < Limits.count else { return false }
                    items.append(item)
                    pushCount += 1
                    return true
                }

                func sum(below limit: Int) -> Int {
                    items.filter { $0 < limit }.reduce(0) { $0 + $1 }
                }

                /// Without its step it never ends, and with another it fills the memory.
                static func halvings(_ number: Int) -> Int {
                    var rests = [number]
                    while rests[rests.count - 1] > 1 { rests.append(rests[rests.count - 1] / 2) }
                    return rests.count - 1
                }

                static func larger(_ one: Int, _ other: Int) -> Int {
                    one < other ? other : one  // no mutants: of equal ones each is right
                }

                func isReached() -> Bool { 1 < 2 }

                /// Joined, and there is nothing else to do with them.
                var text: String { String(items.count) + String(items.count) }
            }

            #if DEBUG || IN_CLASS_TESTS
            import InClassTesting

            extension Stack: SelfTesting {
                static var testSelectors: TestSelectors {
                    // However long a test may take, what hangs with a mutant is ended soon.
                    .timeLimit(.seconds(3600), [
                        "testPushes": {
                            var stack = Stack()
                            expectTrue(stack.push(1) && stack.push(2))
                            expectFalse(stack.push(3))
                            expectEqual(stack.items, [1, 2])
                            expectEqual(stack.sum(below: 4), 3)
                            expectEqual(stack.text, "22")
                        },
                        "testHalves": { expectEqual(halvings(8), 3) },
                        "testLarger": { expectEqual(larger(1, 2), 2) },
                        "testIsWhereItWas": { expectTrue(#filePath.hasSuffix("/Sources/Stacks/Stack.swift")) },
                    ])
                }
            }
            #endif

            """

        /// A source whose second test passes only after the first.
        private static let orderSource = """
            enum Order {
                nonisolated(unsafe) static var isReady = false
                static func early(_ number: Int) -> Int { number + 1 }
                static func late(_ number: Int) -> Int { number * 2 }
                static func isSmall(_ number: Int) -> Bool { number < 10 }
            }

            #if DEBUG || IN_CLASS_TESTS
            import InClassTesting

            extension Order: SelfTesting {
                static var testSelectors: TestSelectors {
                    [
                        "testFirst": {
                            isReady = true
                            expectEqual(early(1), 2)
                        },
                        "testSecond": {
                            expectTrue(isReady)
                            expectEqual(late(3), 6)
                            expectTrue(isSmall(3))
                        },
                    ]
                }
            }
            #endif

            """

        /// A source whose test makes the source newer, as an edit during the run would.
        private static let touchedSource = """
            import Foundation

            enum Touched {
                static func touch(_ path: String) throws {
                    try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: path)
                }
                static func isSmall(_ number: Int) -> Bool { number < 10 }
            }

            #if DEBUG || IN_CLASS_TESTS
            import InClassTesting

            extension Touched: SelfTesting {
                static var testSelectors: TestSelectors {
                    [
                        "testIsSmall": {
                            try touch(#filePath)
                            expectTrue(isSmall(3))
                        }
                    ]
                }
            }
            #endif

            """

        /// A source whose test leaves a file behind if it fails early because of a mutant. The next run finds and
        /// deletes the file.
        private static let leftSource = """
            import Foundation

            enum Left {
                static func count(_ path: String) -> Int {
                    let count = (FileManager.default.contents(atPath: path)?.count ?? 0) + 1
                    FileManager.default.createFile(atPath: path, contents: Data(count: count))
                    return count
                }
                static func clear(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }
                static func isSmall(_ number: Int) -> Bool { number < 10 }
            }

            #if DEBUG || IN_CLASS_TESTS
            import InClassTesting

            extension Left: SelfTesting {
                static var testSelectors: TestSelectors {
                    [
                        "testCounts": {
                            let path = String(#filePath.dropLast("Sources/Left/Left.swift".count)) + ".build/left"
                            expectEqual(count(path), 1)
                            try clear(path)
                            expectTrue(isSmall(3))
                        }
                    ]
                }
            }
            #endif

            """

        private static let shared = Result {
            let package = try FixturePackage(
                named: "Mutants",
                files: [
                    "Package.swift": manifest.replacing("DEPENDENCY", with: try FixturePackage.dependency),
                    "Sources/Numbers/Limits.swift": "public enum Limits { public static let count = 2 }\n",
                    path: source,
                    "Sources/Order/Order.swift": orderSource,
                    "Sources/Left/Left.swift": leftSource,
                    "Sources/Touched/Touched.swift": touchedSource,
                ])
            let result = try package.swift("package", "testlogger", "--list")
            guard result.status == 0 else { throw ProgramError(description: "Mutants does not build: \(result)") }
            return package
        }

        let package: FixturePackage

        init() throws { package = try Self.shared.get() }

        private static let survivors = [
            ":10:9: warning: 'pushCount += 1' removed: no test fails",
            ":10:19: warning: '+=' changed to '-=': no test fails",
            ":10:22: warning: '1' changed to '2': no test fails",
            ":15:27: warning: '<' changed to '<=': no test fails",
        ].map { path + $0 }

        private func survivors(_ words: [String]) throws -> (survivors: [String], summary: String) {
            let result = try package.testlogger(["--mutants", "--stable-output"] + words)
            #expect(result.status == 0, "\(result)")
            return (result.lines.filter { $0.contains(": warning: ") }, result.lines.last { !$0.isEmpty } ?? "")
        }

        /// Returns the modification times of everything in a folder, keyed by path.
        private func files(of folder: String) throws -> [String: Date] {
            let names = try FileManager.default.subpathsOfDirectory(atPath: package.file(folder).path)
            return try Dictionary(
                uniqueKeysWithValues: names.map { ($0, try package.modificationTime(of: "\(folder)/\($0)")) })
        }

        @Test func reportsSurvivingMutants() throws {
            let before = try files(of: "Sources")
            let objects = try package.built(".o").map { try package.modificationTime(of: $0) }
            let clock = ContinuousClock.now
            let (found, summary) = try survivors(["Stacks"])
            #expect(found.sorted() == Self.survivors.sorted())
            #expect(summary == "mutants: 17 noticed (80 %), 4 survived, 1 not compiled")
            #expect(ContinuousClock.now - clock < .seconds(300), "what hangs is ended soon")
            #expect(try package.text(of: Self.path) == Self.source)
            #expect(try files(of: "Sources") == before)
            #expect(try package.built(".o").map { try package.modificationTime(of: $0) } == objects)
            #expect(package.built(".yaml").allSatisfy { !$0.contains("/mutants/") }, "nothing is left")
            #expect(
                try self.survivors(["Stacks", "--changed"]).summary
                    == "no source has changed since its mutants were tried")
        }

        fileprivate func choosesMutantsBySourceLineAndSeed() throws {
            // Other tests change the source without a build.
            let build = try package.build()
            #expect(build.status == 0, "\(build)")
            #expect(try survivors(["\(Self.path):10"]).survivors.sorted() == Self.survivors[...2].sorted())
            #expect(try survivors(["\(Self.path):10", "\(Self.path):15", "--shard", "1/1"]).survivors.count == 4)
            let lines = [10, 15].map { "\(Self.path):\($0)" }
            let (one, other) = (try survivors(lines + ["--shuffle", "7"]), try survivors(lines + ["--shuffle", "7"]))
            #expect(one == other)
            #expect(try survivors(lines + ["--shuffle", "8"]).survivors != one.survivors, "another order")
            let shards = try (1...3).flatMap { try survivors(lines + ["--shard", "\($0)/3"]).survivors }
            #expect(shards.sorted() == Self.survivors.sorted())
        }

        @Test func keepsTheOrderOfDependentTests() throws {
            let result = try package.testlogger(["--mutants", "--stable-output", "Order"])
            let place = "Sources/Order/Order.swift:5:"
            #expect(
                result.lines.filter { $0.contains("warning: ") }.sorted()
                    == [
                        "\(place)57: warning: '<' changed to '<=': no test fails",
                        "\(place)59: warning: '10' changed to '11': no test fails",
                        "warning: tests of module 'Order' fail without a mutant if other tests run first",
                    ].sorted(), "\(result)")
        }

        fileprivate func ignoresFilesLeftByOtherMutants() throws {
            for seed in 1...3 {
                let summary = try survivors(["Left", "--shuffle", "\(seed)"]).summary
                #expect(summary == "mutants: 4 noticed (57 %), 3 survived, seed \(seed)")
                try? FileManager.default.removeItem(at: package.file(".build/left"))
            }
        }

        @Test func stopsWhenASourceChanges() throws {
            _ = try package.swift("build", "--target", "Touched")
            let result = try package.testlogger(["--mutants", "--stable-output", "Touched"])
            #expect(result.status == 3)
            #expect(
                result.lines.contains {
                    $0.hasSuffix("Touched.swift changed during mutation testing; build again")
                }, "\(result)")
        }

        #if os(Linux)
        /// Interrupts the whole process group, as a terminal does. SwiftPM then ends its plugin at once, and the plugin
        /// can't end other processes any more.
        @Test func interruptionLeavesNoProcesses() throws {
            let program = try RunningPrograms.start(
                ["swift", "package", "testlogger", "--mutants", "Stacks"], in: package.folder)
            try program.wait(for: "the source of a mutant") { !package.built(".o.swift").isEmpty }
            kill(-program.process, SIGINT)
            #expect(try program.result().status != 0)
            try RunningPrograms.wait(for: "the end of all processes") { try package.processes().isEmpty }
            #expect(package.built(".o.swift") == [], "what it has made is gone with it")
        }
        #endif

        @Test func stopsAtTheEndOfTheBudget() throws {
            let result = try package.testlogger(["--mutants", "--budget", "1", "--stable-output", "Stacks"])
            #expect(result.lines.contains { $0.hasSuffix(" not tried") }, "\(result)")
        }

        @Test func reportsWhyThereAreNoMutants() throws {
            defer { try? package.write(Self.source, to: Self.path) }
            let rows = [
                (
                    ["Numbers.swift"], 2,
                    "no module that was built here contains Numbers.swift"
                ),
                (["\(Self.path):29"], 4, "the tests reach no line with a mutant"),
                (["Stacks", "--filter", "testNone"], 4, "the tests reach no line with a mutant"),
            ]
            for (words, status, text) in rows {
                let result = try package.testlogger(["--mutants"] + words)
                #expect(result.status == status && result.lines.contains("error: \(text)"), "\(words): \(result)")
            }
            try package.replace("// no mutants: of equal ones each is right", with: "// no mutants", in: Self.path)
            let unbuilt = try package.testlogger(["--mutants", "Stacks"])
            #expect(
                unbuilt.status == 3 && unbuilt.lines.contains { $0.hasSuffix("compiled; build again") }, "\(unbuilt)"
            )
            let unexplained = try package.swift("package", "testlogger", "--mutants", Self.path)
            let line = "\(Self.path):26:36: error: expected a reason, as in '// no mutants: both orders are right'"
            #expect(unexplained.status != 0 && unexplained.lines.map(package.relative).contains(line), "\(unexplained)")
            try package.replace("expectEqual(halvings(8), 3)", with: "expectEqual(halvings(8), 4)", in: Self.path)
            try package.replace("// no mutants", with: "", in: Self.path)
            let red = try package.swift("package", "testlogger", "--mutants", "--stable-output", Self.path)
            #expect(red.lines.contains("error: mutation testing needs tests that pass"), "\(red)")
            #expect(red.lines.contains { $0.hasSuffix("got 3 instead of expected 4 (Stack.testHalves)") }, "\(red)")
        }
    }
}

extension PackageTests.MutantTests {
    /// Each of these tries dozens of mutants.
    @Suite(.serialized, .slow)
    struct SlowTests {
        private let tests = try? PackageTests.MutantTests()

        @Test func choosesMutantsBySourceLineAndSeed() throws {
            try #require(tests).choosesMutantsBySourceLineAndSeed()
        }

        @Test func ignoresFilesLeftByOtherMutants() throws {
            try #require(tests).ignoresFilesLeftByOtherMutants()
        }
    }
}
