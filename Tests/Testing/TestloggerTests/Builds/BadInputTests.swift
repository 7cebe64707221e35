// Tests invalid packages, objects and machines. Each case must produce a message that describes the problem and its
// location.

import Foundation
import Testing

extension PackageTests {
    @Suite(.serialized)
    struct BadInputTests {
        static let shared = Result { try FixturePackage("Shop", as: "BadInput") }
        private static let source = "Sources/Stock/Stock.swift"
        let package: FixturePackage
        private let original: String

        init() throws {
            package = try Self.shared.get()
            original = try String(
                contentsOf: Fixtures.checkout.appending(path: "Tests/Testing/Fixtures/Shop/\(Self.source)"),
                encoding: .utf8)
        }

        /// Restores the original source. Tests leave the text that they built last.
        private func restore() throws { try package.write(original, to: Self.source) }

        private var path: String { package.file(Self.source).path }

        /// Builds with a text appended to the library's source and expects these messages. Their line numbers are
        /// relative to the text.
        private func expectBuild(
            with addition: String, fails: Bool, _ messages: [String], sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            try package.write(original + addition, to: Self.source)
            let start = original.split(separator: "\n", omittingEmptySubsequences: false).count - 1
            let result = try package.build()
            #expect((result.status != 0) == fails, "\(result)", sourceLocation: sourceLocation)
            for message in messages {
                let line = try #require(message.split(separator: ":").first.flatMap { Int($0) })
                let text = "\(path):\(start + line):\(message.drop { $0 != ":" }.dropFirst())"
                #expect(
                    result.lines.contains { $0.hasPrefix(text) }, "\(text): \(result)", sourceLocation: sourceLocation)
            }
        }

        // MARK: Lists

        /// The compiler's errors are shown in the compiler's own words.
        @Test func showsCompilerErrorsOfLists() throws {
            try expectBuild(
                with: """
                    extension Int: @retroactive SelfTesting {}
                    enum Careless {}
                    extension Careless: SelfTesting {
                        static var testSelectors: TestSelectors { ["testLost": testLost] }
                    }

                    """, fails: true,
                [
                    "1:1: error: type 'Int' does not conform to protocol 'SelfTesting'",
                    "4:60: error: cannot find 'testLost' in scope",
                ])
        }

        @Test func warnsAboutEmptyAndIncompleteLists() throws {
            try expectBuild(
                with: """
                    enum Idle {}
                    extension Idle: SelfTesting {
                        static var testSelectors: TestSelectors { [:] }
                    }
                    enum Forgetful {}
                    extension Forgetful: SelfTesting {
                        static var testSelectors: TestSelectors { ["testKnown": testKnown] }
                        private static func testKnown() {}
                        private static func testLost() {}
                    }

                    """, fails: false,
                [
                    "3:16: warning: Idle: its list of tests is empty",
                    "9:25: warning: test 'testLost' of Forgetful is in no list and doesn't run",
                ])
        }

        @Test func reportsDuplicateEntries() throws {
            try expectBuild(
                with: """
                    enum Twice {}
                    extension Twice: SelfTesting {
                        static var testSelectors: TestSelectors { ["testOne": testOne, "testOne": testOne] }
                        private static func testOne() {}
                    }

                    """, fails: true, ["3:68: error: duplicate entry"])
        }

        @Test func reportsThrowingFixtures() throws {
            try expectBuild(
                with: """
                    struct Unwilling: Error {}
                    extension Unwilling: FixtureTesting {
                        static var testSelectors: TestSelectors { ["testSelf": fixture(testSelf)] }
                        static func testFixture() throws -> Unwilling { throw Unwilling() }
                        private func testSelf() {}
                    }

                    """, fails: true,
                ["5:18: error: testFixture() threw Unwilling()"])
        }

        @Test func reportsCrashingLists() throws {
            try expectBuild(
                with: """
                    enum Explosive {}
                    extension Explosive: SelfTesting {
                        static var testSelectors: TestSelectors { fatalError("no list") }
                    }

                    """, fails: true, ["3:47: error: crashed with"])
        }

        @Test func warnsAboutModulesWithoutTests() throws {
            let start = try #require(original.firstRange(of: "#if DEBUG"))
            try package.write(original[..<start.lowerBound] + "import InClassTesting\n", to: Self.source)
            let result = try package.build()
            #expect(result.status == 0, "\(result)")
            #expect(
                result.lines.contains { $0.hasPrefix("\(path):1:1: warning: module 'Stock' lists no tests") },
                "\(result)")
        }

        // MARK: Output

        /// The output of a passing test isn't shown, even if it looks like an error.
        @Test func hidesOutputOfPassingTests() throws {
            try restore()
            try package.replace(
                #"add(2, of: "pens")"#, with: #"add(2, of: "pens"); print("x.swift:3:1: error: 100% \"printed\"")"#,
                in: Self.source)
            let result = try package.build()
            #expect(result.status == 0, "\(result)")
            #expect(!result.text.contains("printed"), "\(result)")
        }

        // MARK: Sources

        @Test func ignoresObjectsOfDeletedSources() throws {
            try restore()
            let extra = "Sources/Stock/Extra.swift"
            try package.write(
                """
                import InClassTesting

                enum Extra {}
                extension Extra: SelfTesting {
                    static var testSelectors: TestSelectors { ["testExtra": testExtra] }
                    private static func testExtra() { fail("of a source that will be deleted") }
                }

                """, to: extra)
            var result = try package.build()
            #expect(result.status != 0)
            #expect(result.text.contains("Extra.swift:6:43: error: of a source that will be deleted"), "\(result)")
            try package.remove(extra)
            result = try package.build()
            #expect(result.status == 0, "\(result)")
            #expect(!result.text.contains("Extra"), "\(result)")
        }

        /// A failure is reported at the path that the compiler uses: that of the link, not of its destination.
        @Test func reportsLinkedSourcesAtTheLink() throws {
            try restore()
            let outside = Fixtures.folder.appending(path: "outside/Linked.swift")
            try FileManager.default.createDirectory(
                at: outside.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(
                """
                import InClassTesting

                enum Linked {}
                extension Linked: SelfTesting {
                    static var testSelectors: TestSelectors { ["testLinked": testLinked] }
                    private static func testLinked() { expectEqual(1, 2, "linked") }
                    private static func testLost() {}
                }

                """.utf8
            ).write(to: outside)
            let link = package.file("Sources/Stock/Linked.swift")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: outside)
            defer { try? FileManager.default.removeItem(at: link) }
            let result = try package.build()
            #expect(result.status != 0)
            #expect(
                result.lines.contains(
                    "\(link.path):6:51: error: got 1 instead of expected 2 for linked (Linked.testLinked)"), "\(result)"
            )
            #expect(
                result.lines.contains { $0.hasPrefix("\(link.path):7:25: warning: test 'testLost' of Linked") },
                "\(result)")
        }

        /// SwiftPM itself rejects sources outside the package, before it runs a plugin.
        @Test func rejectsTargetsOutsideThePackage() throws {
            let other = try FixturePackage(
                named: "Outsider",
                files: [
                    "Package.swift": """
                    // swift-tools-version: 6.2
                    import PackageDescription
                    let package = Package(name: "Outsider", targets: [.target(name: "Out", path: "../outside")])
                    """
                ])
            let result = try other.build()
            #expect(result.status != 0)
            #expect(result.text.contains("is outside the package root"), "\(result)")
        }

        // MARK: Toolchains and objects

        /// Returns the path of the description that the build plugin wrote for the library.
        private func description() throws -> String {
            try restore()
            #expect(try package.build().status == 0)
            return try #require(package.built("/InClassTests/debug/Stock.inclass").first)
        }

        /// Runs testlogger as a build step with a changed description, and expects a warning that the tests didn't run.
        private func expectNotRun(
            changing old: String, to new: String, because reason: String,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let text = try String(contentsOfFile: description(), encoding: .utf8)
            #expect(text.contains(old), sourceLocation: sourceLocation)
            let changed = package.file("Changed.inclass").path
            let lines = text.split(separator: "\n").map { $0.hasPrefix(old) ? Substring(new) : $0 }
            try package.write(lines.joined(separator: "\n") + "\n", to: "Changed.inclass")
            let past = Date(timeIntervalSince1970: 1_000_000_000)
            for _ in 0..<2 {
                // testlogger makes its input newer, so that each build repeats the step and the warning.
                try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: changed)
                let result = try package.testlogger(["--marker", package.file("marker").path, changed])
                #expect(result.status == 0, "a missing prerequisite fails no build", sourceLocation: sourceLocation)
                let place = "\(package.file("Package.swift").path):1:1: warning: tests of module 'Stock' not run: "
                #expect(result.output == place + reason + "\n", sourceLocation: sourceLocation)
                #expect(try package.modificationTime(of: changed) > past, sourceLocation: sourceLocation)
            }
            // If the machine must run tests, the warning is an error.
            let required = try package.testlogger(
                ["--marker", package.file("required").path, changed], environment: ["IN_CLASS_TESTS_REQUIRED": "1"])
            #expect(required.status == 3 && !package.exists("required"), sourceLocation: sourceLocation)
            #expect(
                required.output == "\(package.file("Package.swift").path):1:1: error: tests of module 'Stock' not run: "
                    + reason + "\n", sourceLocation: sourceLocation)
            // If a user starts testlogger, it reports an error.
            let result = try package.testlogger([changed])
            #expect(result.status == 3, sourceLocation: sourceLocation)
            #expect(
                result.errors == "error: tests of module 'Stock' not run: \(reason)\n", sourceLocation: sourceLocation)
        }

        @Test func warnsIfClangIsMissing() throws {
            try expectNotRun(
                changing: "clang\t", to: "clang\t/nowhere/clang", because: "there is no clang at /nowhere/clang")
        }

        @Test func warnsIfTheToolchainLacksClang() throws {
            try expectNotRun(
                changing: "clang\t", to: "obstacle\tthe toolchain has no clang", because: "the toolchain has no clang")
        }

        @Test(.enabled(if: RunningPrograms.path(of: "clang") != nil, "clang is not on the path"))
        func warnsAboutObjectsOfOtherArchitectures() throws {
            #if arch(x86_64)
            let target = "aarch64-linux-gnu"
            #else
            let target = "x86_64-linux-gnu"
            #endif
            try package.write("int answer(void) { return 42; }\n", to: "other.c")
            let object = package.file("other.o").path
            let compiled = try RunningPrograms.run(
                ["clang", "--target=\(target)", "-c", "other.c", "-o", "other.o"], in: package.folder)
            #expect(compiled.status == 0, "\(compiled)")
            try expectNotRun(
                changing: "test-executable\t", to: "object\t\(object)",
                because: "\(object) is an object for another machine; cross-compiled tests can't run here")
            let result = try package.testlogger([object])
            #expect(result.status == 3)
        }

        /// Runs testlogger as a build step with lines added to the description, and expects an error that gives this
        /// reason.
        private func expectFailed(
            adding lines: String, because reason: String, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let text = try String(contentsOfFile: description(), encoding: .utf8)
            try package.write(text + lines + "\n", to: "Failing.inclass")
            defer { try? package.remove("Failing.inclass") }
            let result = try package.testlogger([
                "--marker", package.file("failing").path, package.file("Failing.inclass").path,
            ])
            #expect(result.status == 3, "\(result)", sourceLocation: sourceLocation)
            #expect(
                result.output.hasPrefix(
                    "\(package.file("Package.swift").path):1:1: error: tests of module 'Stock' not run: "),
                "\(result)", sourceLocation: sourceLocation)
            #expect(result.output.contains(reason), "\(result)", sourceLocation: sourceLocation)
            #expect(!package.exists("failing"), sourceLocation: sourceLocation)
        }

        /// Files that can't be written, missing objects and files that aren't objects are errors.
        @Test func reportsWhyTestsCannotRun() throws {
            try expectFailed(
                adding: "test-executable\t/nowhere/Stock.img", because: "cannot create /nowhere/Stock.img.link")
            try expectFailed(adding: "file-map\t/nowhere/map.json", because: "cannot open /nowhere/map.json")
            try expectFailed(adding: "object\t/nowhere/some.o", because: "cannot open /nowhere/some.o")
            try expectFailed(adding: "object\t/", because: "cannot read /: Is a directory")
            try expectFailed(adding: "object\t/dev/full", because: "cannot read /dev/full")
            try package.write("no object\n", to: "text.o")
            try expectFailed(adding: "object\t\(package.file("text.o").path)", because: "text.o isn't an object file")
            try expectFailed(adding: "unsupported\tit is not", because: "it is not")
            // The linker can't write the test executable because a folder has its path. The linker's own message is shown.
            let text = try String(contentsOfFile: description(), encoding: .utf8)
            let folder = package.file("folder.img")
            try FileManager.default.createDirectory(
                at: folder.appending(path: "full"), withIntermediateDirectories: true)
            try package.write(text + "test-executable\t\(folder.path)\n", to: "Failing.inclass")
            let result = try package.testlogger(["--marker", "failing", package.file("Failing.inclass").path])
            #expect(result.status == 3 && !package.exists("failing"), "\(result)")
        }

        /// Link-time optimization produces bitcode instead of machine code. testlogger links it, too.
        @Test(.enabled(if: RunningPrograms.path(of: "clang") != nil, "clang is not on the path"))
        func linksBitcode() throws {
            let text = try String(contentsOfFile: description(), encoding: .utf8)
            try package.write("int answer(void) { return 42; }\n", to: "bitcode.c")
            let compiled = try RunningPrograms.run(
                ["clang", "-flto", "-c", "bitcode.c", "-o", "bitcode.o"], in: package.folder)
            #expect(compiled.status == 0, "\(compiled)")
            try package.write(text + "object\t\(package.file("bitcode.o").path)\n", to: "Bitcode.inclass")
            defer { try? package.remove("Bitcode.inclass") }
            let result = try package.testlogger(["-v", package.file("Bitcode.inclass").path])
            #expect(result.status == 0 && result.output.contains("passed Stock.testAdds"), "\(result)")
        }

        @Test func reportsMissingAndInvalidObjects() throws {
            let result = try package.testlogger([package.file("missing.o").path])
            #expect(result.status == 2)
            try package.write("no object at all\n", to: "text.o")
            let text = try package.testlogger(["text.o"])
            #expect(text.status == 3)
            #expect(text.errors.contains("text.o isn't an object file"), "\(text)")
        }

        @Test func reportsInvalidDescriptions() throws {
            try package.write("module\tStock\nnonsense\n", to: "Broken.inclass")
            let result = try package.testlogger(["Broken.inclass"])
            #expect(result.status == 2)
            #expect(
                result.errors.contains("Broken.inclass:2:1: error: expected 'key<TAB>value' but found 'nonsense'"),
                "\(result)")
        }

        /// If objects can't be linked, the error contains the linker's words, but readers must not mistake them for
        /// locations.
        @Test func reportsErrorsOfTheLinker() throws {
            let text = try String(contentsOfFile: description(), encoding: .utf8)
            try package.write(text + "library\tno-such-library\n", to: "Unlinkable.inclass")
            let result = try package.testlogger([
                "--marker", package.file("unlinked").path, package.file("Unlinkable.inclass").path,
            ])
            #expect(result.status != 0)
            #expect(!package.exists("unlinked"))
            let found = try SwiftBuildScraper().diagnostics(in: result.text)
            #expect(found.count == 1 && found.first?.severity == "error" && found.first?.line == 1, "\(result)")
            #expect(result.text.contains("no-such-library"), "\(result)")
            try FileManager.default.removeItem(at: package.file("Unlinkable.inclass"))
        }

        // MARK: Arguments

        /// A module's name, its objects and its test executable all select the same tests.
        @Test func acceptsModulesObjectsAndExecutables() throws {
            let description = try description()
            let expected = "passed Stock.testAdds\npassed Stock.testRuns\n2 tests, 2 passed\n"
            #expect(try package.testlogger(["-v", "--stable-output", "Stock"]).output == expected)
            let executable = description.replacing(".inclass", with: ".img")
            #expect(try package.testlogger(["-v", "--stable-output", executable]).output == expected)
            let objects = package.built(".swift.o").filter {
                $0.hasSuffix("/debug/Stock.build/Stock.swift.o") || $0.contains("/debug/InClassTesting.build/")
            }
            #expect(objects.count > 5)
            #expect(try package.testlogger(["-v", "--stable-output"] + objects).output == expected)
        }
    }
}
