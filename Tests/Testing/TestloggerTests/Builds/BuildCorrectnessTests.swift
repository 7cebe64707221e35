// Checks that a successful build means that all tests passed: everything that a test can read is an input of the build,
// tests that didn't run are reported, and a run tests the requested build. The package has a local package next to its
// own modules.

import Foundation
import Testing

extension PackageTests {
    @Suite(.serialized)
    struct BuildCorrectnessTests {
        private static let shared = Result { try makePackage() }
        private static let source = "Sources/Pantry/Pantry.swift"
        private static let part = "Part/Sources/Shelf/Shelf.swift"
        fileprivate let package: FixturePackage

        init() throws { package = try Self.shared.get() }

        private static func makePackage() throws -> FixturePackage {
            let dependency = try FixturePackage.dependency
            let package = try FixturePackage(
                named: "Honest",
                files: [
                    "Package.swift": """
                    // swift-tools-version: 6.2
                    import PackageDescription
                    let library = Target.Dependency.product(name: "InClassTesting", package: "InClassTesting")
                    let package = Package(
                        name: "Honest", platforms: [.macOS(.v15)], dependencies: [\(dependency), .package(path: "Part")],
                        targets: [
                            .target(
                                name: "Pantry", dependencies: [library, .product(name: "Shelf", package: "Part")],
                                resources: [.copy("Stores")],
                                plugins: [.plugin(name: "InClassTests", package: "InClassTesting")]),
                            .executableTarget(
                                name: "eat", dependencies: ["Pantry"],
                                plugins: [.plugin(name: "InClassTests", package: "InClassTesting")]),
                        ])

                    """,
                    "Part/Package.swift": """
                    // swift-tools-version: 6.2
                    import PackageDescription
                    let package = Package(
                        name: "Part", platforms: [.macOS(.v15)], products: [.library(name: "Shelf", targets: ["Shelf"])],
                        dependencies: [\(dependency)],
                        targets: [
                            .target(
                                name: "Shelf",
                                dependencies: [.product(name: "InClassTesting", package: "InClassTesting")],
                                resources: [.process("label.txt")])
                        ])

                    """,
                    source: sourceText, part: partText, "Sources/Pantry/Stores/jars/jam.txt": "plum\n",
                    "Part/Sources/Shelf/label.txt": "top\n", "market/bread.txt": "rye\n",
                    "Sources/eat/main.swift": "import Pantry\nprint(\"eaten:\", Pantry.jarCount)\n",
                ])
            try FileManager.default.createSymbolicLink(
                atPath: package.file("Sources/Pantry/Stores/market").path, withDestinationPath: "../../../market")
            return package
        }

        private static let sourceText = """
            import Foundation
            import Shelf

            public enum Pantry {
                public static let jarCount = 3

                static var jam: String {
                    let file = Bundle.module.bundleURL.appending(path: "Stores/jars/jam.txt")
                    return (try? String(contentsOf: file, encoding: .utf8)) ?? ""
                }
            }

            #if DEBUG || IN_CLASS_TESTS
            import InClassTesting

            extension Pantry: SelfTesting {
                public static var testSelectors: TestSelectors {
                    [
                        "testCounts": testCounts, "testJam": testJam, "testBread": testBread, "testLabel": testLabel,
                        "testGuest": testGuest,
                    ]
                }
                private static func testCounts() { expectEqual(jarCount, 3, "jars") }
                private static func testJam() { expectEqual(jam, "plum\\n", "jam") }
                private static func testBread() { expectGolden("rye\\n", "Stores/market/bread.txt") }
                private static func testLabel() { expectEqual(Shelf.label, "top\\n", "label") }
                private static func testGuest() throws {
                    let path = #filePath.replacing("Sources/Pantry/Pantry.swift", with: "guest")
                    if !FileManager.default.fileExists(atPath: path) { try skip("there is no guest") }
                    fail("a guest")
                }
            }
            #endif

            """

        private static let partText = """
            import Foundation

            public enum Shelf {
                public static let boardCount = 5
                public static var label: String {
                    let file = Bundle.module.url(forResource: "label", withExtension: "txt")
                    return file.flatMap { try? String(contentsOf: $0, encoding: .utf8) } ?? ""
                }
            }

            #if DEBUG || IN_CLASS_TESTS
            import InClassTesting

            extension Shelf: SelfTesting {
                public static var testSelectors: TestSelectors { ["testBoards": testBoards] }
                private static func testBoards() { expectEqual(boardCount, 5, "boards") }
            }
            #endif

            """

        /// Builds and expects this failure, or success if it is nil.
        private func expectBuild(
            _ system: BuildSystem, _ words: [String] = ["build"], _ failure: String? = nil,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let result = try RunningPrograms.swift(
                words.prefix(1) + system.options + words.dropFirst(), in: package.folder)
            #expect((result.status == 0) == (failure == nil), "\(result)", sourceLocation: sourceLocation)
            if let failure {
                #expect(result.text.contains(failure), "\(result)", sourceLocation: sourceLocation)
            } else {
                #expect(!result.text.contains("error:"), "\(result)", sourceLocation: sourceLocation)
            }
        }

        /// Changes a file and expects a failure, then restores it and expects success.
        private func expectBuild(
            _ system: BuildSystem, changing path: String, _ old: String, _ new: String, fails failure: String,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            try package.replace(old, with: new, in: path)
            try expectBuild(system, ["build"], failure, sourceLocation: sourceLocation)
            try package.replace(new, with: old, in: path)
            try expectBuild(system, sourceLocation: sourceLocation)
        }

        // MARK: Inputs

        /// A change of anything that a test reads makes the test run again: files in folders that are copied as a
        /// whole, also behind links, a dependency's resources, and the module's description. Skipped tests run in each
        /// build, and the tests of a local package run, too.
        @Test func runsTestsAgainAfterChangesOfInputs() throws { try runsTestsAgainAfterChangesOfInputs(.native) }

        fileprivate func runsTestsAgainAfterChangesOfInputs(_ system: BuildSystem) throws {
            try expectBuild(system)
            try expectBuild(
                system, changing: "Sources/Pantry/Stores/jars/jam.txt", "plum", "fig",
                fails: "Pantry.swift:24:48: error: got \"fig\\n\" instead of expected \"plum\\n\" for jam")
            try expectBuild(
                system, changing: "market/bread.txt", "rye", "oat",
                fails: "Pantry.swift:25:51: error: got line 1 \"rye\" instead of expected \"oat\" for Stores/market")
            try expectBuild(
                system, changing: "Part/Sources/Shelf/label.txt", "top", "low",
                fails: "Pantry.swift:26:50: error: got \"low\\n\" instead of expected \"top\\n\" for label")
            try expectBuild(
                system, changing: Self.part, "boardCount, 5", "boardCount, 6",
                fails: "Shelf.swift:16:51: error: got 5 instead of expected 6 for boards")
            // The file isn't an input of the build, but the skipped test runs in each build.
            try package.write("", to: "guest")
            try expectBuild(system, ["build"], "Pantry.swift:30:13: error: a guest")
            try package.remove("guest")
            try expectBuild(system)
        }

        @Test func noticesChangedLinkerSettings() throws {
            try expectBuild(.native)
            try expectBuild(
                .native, changing: "Package.swift", "resources: [.copy(\"Stores\")]",
                "resources: [.copy(\"Stores\")], linkerSettings: [.linkedLibrary(\"no-such-library\")]",
                fails: "the tests of module 'Pantry' can't be linked")
        }

        // MARK: Not run

        /// Options of the program that `swift run` starts aren't options of SwiftPM.
        @Test func ignoresOptionsOfStartedPrograms() throws {
            try package.replace("jarCount, 3", with: "jarCount, 4", in: Self.source)
            defer { try? package.replace("jarCount, 4", with: "jarCount, 3", in: Self.source) }
            let failure = "error: got 3 instead of expected 4 for jars"
            try expectBuild(.native, ["run", "eat", "--arch", "foo"], failure)
            try expectBuild(.native, ["run", "-c", "debug", "eat", "--swift-sdk", "foo"], failure)
            try expectBuild(.native, ["run", "-v", "eat", "--experimental-prepare-for-indexing"], failure)
            try expectBuild(.native, ["build"], failure)
        }

        /// Preparing an index builds only modules: nothing is linked and no test runs. The next build runs tests as
        /// usual.
        fileprivate func indexingRunsNoTests() throws {
            try package.replace("jarCount, 3", with: "jarCount, 4", in: Self.source)
            defer { try? package.replace("jarCount, 4", with: "jarCount, 3", in: Self.source) }
            for _ in 0..<2 { try expectBuild(.native, ["build", "--experimental-prepare-for-indexing"]) }
            try expectBuild(.native, ["build"], "error: got 3 instead of expected 4 for jars")
        }

        fileprivate func environmentVariableDisablesTests(_ system: BuildSystem) throws {
            try package.replace("jarCount, 3", with: "jarCount, 4", in: Self.source)
            defer { try? package.replace("jarCount, 4", with: "jarCount, 3", in: Self.source) }
            for _ in 0..<2 {
                let result = try package.build(system, environment: ["IN_CLASS_TESTS_OFF": "1"])
                #expect(result.status == 0, "\(result)")
            }
            let result = try package.build(system, environment: ["IN_CLASS_TESTS_OFF": "0"])
            #expect(result.status != 0 && result.text.contains("got 3 instead of expected 4 for jars"), "\(result)")
            try expectBuild(system, ["build"], "error: got 3 instead of expected 4 for jars")
        }

        /// Builds notice changes and the deletion of the package's options file. Swift Build also notices a new file.
        /// The native build system notices a new file when the manifest or a source changes.
        @Test func noticesChangedPackageOptions() throws { try noticesChangedPackageOptions(.native) }

        fileprivate func noticesChangedPackageOptions(_ system: BuildSystem) throws {
            let name = ".testlogger"
            defer { try? FileManager.default.removeItemIfThere(package.file(name)) }
            let mistake = "\(name):2:1: error: unknown option '--tmeout'; did you mean '--timeout'?"
            for round in 0..<2 {
                try expectBuild(system)
                try package.write("# wrong\n--tmeout 5000\n", to: name)
                if system == .native, round == 0 { try package.touch("Package.swift") }
                if system == .native, round == 1 {
                    try package.replace("jarCount, 3", with: "jarCount, 2 + 1", in: Self.source)
                }
                try expectBuild(system, ["build"], mistake)
                try package.write("# right\n--timeout 5000\n", to: name)
                try expectBuild(system)
                // Write in place, so that only the file itself becomes newer.
                let file = try FileHandle(forWritingTo: package.file(name))
                try file.seekToEnd()
                try file.write(contentsOf: Data("--jobs none\n".utf8))
                try file.close()
                try expectBuild(system, ["build"], "\(name):3:8: error: option '--jobs' expects a number of workers")
                try FileManager.default.removeItem(at: package.file(name))
                try expectBuild(system)
            }
            if system == .native { try package.replace("jarCount, 2 + 1", with: "jarCount, 3", in: Self.source) }
            try expectBuild(system)
        }

        // MARK: Plugin and command

        /// The build, the plugin and the command share the record of failed tests. Their exit statuses are those in
        /// README.
        func sharesTheRecordOfFailedTests() throws {
            try package.replace("jarCount, 3", with: "jarCount, 4", in: Self.source)
            try expectBuild(.native, ["build"], "error: got 3 instead of expected 4 for jars")
            let red = "1 test, 0 passed, 1 failed"
            var result = try package.swift("package", "testlogger", "--failed")
            #expect(result.status == 1 && result.output.contains(red), "\(result)")
            result = try package.swift("run", "testlogger", "--failed", "Pantry")
            #expect(result.status == 1 && result.output.contains(red), "\(result)")
            result = try package.swift("run", "testlogger", "Larder")
            #expect(result.status == 2 && result.errors.contains("known are Pantry, Shelf"), "\(result)")
            result = try package.swift("run", "testlogger", "Pantry", "--filter", "nothing")
            #expect(result.status == 4, "\(result)")
            result = try package.swift("package", "testlogger", "Pantry", "--filter", "nothing")
            #expect(result.status == 1, "\(result)")
            // In a build, Pantry's tests wait for those of Shelf. The command doesn't wait and reports all failures.
            try package.replace("boardCount = 5", with: "boardCount = 6", in: Self.part)
            result = try package.swift("package", "testlogger")
            #expect(result.status == 1 && result.output.contains("6 tests, 3 passed, 2 failed, 1 skipped"), "\(result)")
            try package.replace("boardCount = 6", with: "boardCount = 5", in: Self.part)
            // The source has changed since it was built.
            try package.replace("jarCount, 4", with: "jarCount, 3", in: Self.source)
            result = try package.testlogger(["Pantry"])
            let warning = "\(package.file(Self.source).path):1:1: warning: changed since module 'Pantry' was built"
            #expect(result.status == 1 && result.output.contains(warning), "\(result)")
            result = try package.swift("package", "testlogger", "Shelf", "Pantry")
            #expect(result.status == 0 && !result.text.contains("changed since"), "\(result)")
            #expect(result.output.contains("6 tests, 5 passed, 1 skipped"), "\(result)")
        }

        /// The testlogger of one build tests only that build, even if another build is newer.
        @Test func testsOnlyTheBuildOfTheCommand() throws {
            try expectBuild(.native)
            let products = package.file("other/triple/debug")
            try FileManager.default.createDirectory(at: products, withIntermediateDirectories: true)
            defer { try? package.remove("other") }
            try RunningPrograms.install(Fixtures.testlogger, to: products.appending(path: "testlogger"))
            let description = try #require(package.built("/InClassTests/debug/Shelf.inclass").first)
            let lines = try String(contentsOfFile: description, encoding: .utf8).split(separator: "\n")
            let moved = lines.map { $0.hasPrefix("bundles\t") ? "bundles\t\(products.path)" : $0 }
            try package.write(moved.joined(separator: "\n") + "\n", to: "other/plugins/outputs/Shelf.inclass")
            func list(_ module: String) throws -> ProgramResult {
                try RunningPrograms.run([products.path + "/testlogger", "--list", module], in: package.folder)
            }
            var result = try list("Shelf")
            #expect(result.status == 0 && result.output == "Shelf.testBoards\n", "\(result)")
            result = try list("Pantry")
            #expect(result.status == 2 && result.errors.contains("(known are Shelf)"), "\(result)")
        }

        /// SwiftPM doesn't allow plugins to watch. The error contains a command that does.
        @Test func refusesToWatchThroughSwiftPM() throws {
            let result = try package.swift("package", "testlogger", "--watch", "--filter", "a|b", "Shelf")
            #expect(result.status == 1, "\(result)")
            let command = try #require(result.text.firstMatch(of: /run: ('?)(.+)\1 --watch --filter 'a\|b' Shelf/))
            #expect(FileManager.default.isExecutableFile(atPath: package.file(String(command.2)).path), "\(result)")
        }

        /// A signal that ends SwiftPM also ends its child processes.
        @Test func endsProcessesWithSwiftPM() throws {
            try package.replace("expectEqual(boardCount, 5, \"boards\")", with: "while true {}", in: Self.part)
            defer {
                try? package.replace("while true {}", with: "expectEqual(boardCount, 5, \"boards\")", in: Self.part)
            }
            let program = try RunningPrograms.start(
                ["swift", "package", "testlogger", "-vv", "--timeout", "1000000", "Shelf"], in: package.folder)
            try program.wait(for: "the test executable") { try package.processes().count >= 4 && hasTestExecutable() }
            program.send(SIGTERM)
            _ = try program.result()
            try RunningPrograms.wait(for: "the end of all processes") { try package.processes().isEmpty }
        }

        /// Returns whether a test executable is running.
        private func hasTestExecutable() throws -> Bool {
            try package.processes().contains { process in
                let words = try? Data(contentsOf: URL(filePath: "/proc/\(process)/cmdline"))
                return words.map { String(decoding: $0, as: UTF8.self).contains("Shelf.img") } ?? false
            }
        }
    }
}

extension PackageTests.BuildCorrectnessTests {
    @Suite(.serialized, .slow)
    struct SlowTests {
        private let tests = try? PackageTests.BuildCorrectnessTests()

        @Test func sharesTheRecordOfFailedTests() throws { try #require(tests).sharesTheRecordOfFailedTests() }

        @Test func runsTestsAgainUnderSwiftBuild() throws {
            try #require(tests).runsTestsAgainAfterChangesOfInputs(.swiftbuild)
        }

        /// This test is slow because SwiftPM recompiles the plugin if a variable has changed.
        @Test(arguments: BuildSystem.allCases)
        func environmentVariableDisablesTests(system: BuildSystem) throws {
            try #require(tests).environmentVariableDisablesTests(system)
        }

        @Test func noticesChangedPackageOptions() throws {
            try #require(tests).noticesChangedPackageOptions(.swiftbuild)
        }

        /// This test is slow because all modules are built for the index, and again after it.
        @Test func indexingRunsNoTests() throws { try #require(tests).indexingRunsNoTests() }

        /// The plugin makes the build that coverage needs.
        @Test func reportsCoverageThroughSwiftPM() throws {
            let result = try #require(tests).package.swift("package", "testlogger", "--coverage", "Shelf")
            #expect(result.status == 0, "\(result)")
            #expect(result.output.contains(/coverage: \d+ % of \d+ lines of .*Shelf\.swift/), "\(result)")
        }
    }
}
