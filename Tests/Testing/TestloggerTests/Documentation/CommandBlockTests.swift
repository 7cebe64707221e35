// Runs every command block of README and the articles, in order and in the package of a new user, and compares the
// output with the output that they show. The table `ArticleRunner.elsewhere` names the tests that run other blocks, or
// the reason that a block isn't run.

import Foundation
import Testing

extension TestloggerTests {
    /// Checks of the blocks that don't run them.
    @Suite
    struct CommandBlockTests {
        @Test func everyBlockHasALanguage() throws {
            let articles = try Article.all.get()
            #expect(articles.count > 25 && articles.flatMap(\.blocks).count > 60)
            for article in articles {
                for block in article.blocks {
                    #expect(!block.language.isEmpty, "\(article.path):\(block.line) has no language")
                }
            }
        }

        /// No command is `testlogger` without a path, because users don't have it in `PATH`.
        @Test func commandsUseNoBareTestlogger() throws {
            for article in try Article.all.get() {
                for block in article.blocks where ["sh", "console"].contains(block.language) {
                    for line in block.lines {
                        let isOnNoPath = line.hasPrefix("testlogger") || line.hasPrefix("$ testlogger")
                        #expect(!isOnNoPath, "\(article.path): \(line)")
                    }
                }
                // MPWTest's own program is also named testlogger.
                let spans = article.text.matches(of: /`(testlogger [^`]+)`/).map(\.1)
                #expect(spans.allSatisfy { $0 == "testlogger Framework" }, "\(article.path): \(spans)")
            }
        }

        @Test func elsewhereMatchesBlocksAndTests() throws {
            for entry in ArticleRunner.elsewhere {
                let article = try Article.named(entry.article)
                #expect(
                    article.blocks.contains { $0.name == entry.what } || article.commands.contains(entry.what),
                    "no article holds it any more: \(entry)")
                if let test = entry.why.wholeMatch(of: /(\w+Tests)\.(\w+)/) {
                    let folder = Fixtures.checkout.appending(path: "Tests/Testing/TestloggerTests")
                    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
                    let path = try #require(paths.first { $0.hasSuffix("/\(test.1).swift") })
                    let file = folder.appending(path: path)
                    #expect(try String(contentsOf: file, encoding: .utf8).contains("func \(test.2)("), "\(entry)")
                } else if entry.why.hasSuffix(".md") {
                    let lines = try Article.named(entry.why).blocks.filter { $0.language == "sh" }.flatMap(\.lines)
                    #expect(lines.contains { ArticleRunner.command(in: $0) == entry.what }, "\(entry)")
                }
            }
        }

        /// An article without a `Page` must not contain commands to run.
        @Test func articlesWithoutPagesContainNoCommands() throws {
            let pages = PackageTests.CommandBlockTests.Page.allCases.map(\.rawValue)
            for article in try Article.all.get() where !pages.contains(article.name) {
                try ArticleRunner(article.name, in: Fixtures.folder).ends()
            }
        }
    }
}

extension PackageTests {
    enum CommandBlockTests {
        /// The articles that contain commands to run, in reading order.
        enum Page: String, CaseIterable, CustomTestStringConvertible {
            case gettingStarted = "GettingStarted.md"
            case readme = "README.md"
            case writingTests = "WritingTests.md"
            case runningTests = "RunningTests.md"
            case fixing = "FixingAndLookingCloser.md"
            case crashes = "CrashesAndTimeouts.md"
            case flaky = "FlakyTests.md"
            case debugging = "Debugging.md"

            var testDescription: String { rawValue }
        }
    }
}

extension PackageTests.CommandBlockTests {
    @Suite(.serialized, .slow)
    struct SlowTests {
        @Test(arguments: Page.allCases)
        func commandsPrintWhatArticlesShow(page: Page) throws {
            // The other pages start with the package that the first page creates.
            let package = try Self.package.get()
            var runner = try ArticleRunner(page.rawValue, in: package.folder)
            switch page {
            case .gettingStarted: return
            case .readme: try readme(&runner)
            case .writingTests: try writingTests(&runner, package)
            case .runningTests: try runningTests(&runner, package)
            case .fixing: try fixing(&runner, package)
            case .crashes: try crashes(&runner, package)
            case .flaky: try flaky(&runner, package)
            case .debugging: try debugging(&runner, package)
            }
            try runner.ends()
        }

        private static let stack = "Sources/Stacks/Stack.swift"
        /// The text of the source that README shows.
        private static let shown = Result {
            try String(
                contentsOf: Fixtures.checkout.appending(path: "Examples/QuickStart/\(stack)"), encoding: .utf8)
        }

        /// The same text with the mistake that README suggests.
        private static let broken = Result {
            let readme = try Article.named("README.md").text
            let body = try #require(readme.firstMatch(of: /the body of `pop\(\)` to `([^`]+)`/)).1
            let text = try shown.get()
            try #require(text.contains("elements.popLast()"))
            return text.replacing("elements.popLast()", with: body)
        }

        /// The package of a new user: a library that SwiftPM creates, with the changes that the first article
        /// describes.
        private static let package = Result {
            let package = FixturePackage(at: NewUser.folder.appending(path: "Stacks"))
            _ = try NewUser.address.get()
            try FileManager.default.createDirectory(at: package.folder, withIntermediateDirectories: true)
            var runner = try ArticleRunner(Page.gettingStarted.rawValue, in: package.folder)
            try runner.run("swift package init --type library --name Stacks", 0)
            try runner.runs(0, 0)
            try package.write(broken.get(), to: stack)
            try runner.runs(asShownWith: 1)
            try package.write(shown.get(), to: stack)
            #expect(try !runner.run("swift build", 0).text.contains("passed"), "a green build is quiet")
            try runner.runs(0)
            try runner.ends()
            return package
        }

        private func readme(_ runner: inout ArticleRunner) throws {
            runner.folder = try NewUser.clone.get()
            let first = try runner.runs("swift run --package-path Examples/QuickStart app", 0)
            #expect(first.output == "popped 2\n")
            let package = FixturePackage(at: runner.folder.appending(path: "Examples/QuickStart"))
            runner.folder = package.folder
            try package.write(Self.broken.get(), to: Self.stack)
            try runner.runs(asShownWith: 1)
            try runner.runs("swift run", 1)
            try runner.runs("IN_CLASS_TESTS_OFF=1 swift build", 0)
            let results = try runner.runs(1, 1, 1, 1, 1, 0)
            #expect(results[2].output.contains("passed Stack.testPush ("), "\(results[2])")
            for part in results[3...4] { #expect(part.output.contains("\n1 test, 0 passed, 1 failed ("), "\(part)") }
            try package.write(Self.shown.get(), to: Self.stack)
            let green = try runner.runs("swift build", 0)
            #expect(!green.text.contains("passed"), "a green build is quiet: \(green)")
            try runner.run("swift package testlogger", 0)
        }

        /// Returns a source with one failing test, which consists of these statements.
        private func failing(_ statements: [String]) -> String {
            """
            struct Stack {
                var elements = [1, 2, 3, 4]
                var count: Int { elements.count }
                var first: Int? { elements.first }
            }

            // MARK: - In-class tests

            #if DEBUG || IN_CLASS_TESTS
            import InClassTesting

            extension Stack: SelfTesting {
                static var testSelectors: TestSelectors { ["testPush": testPush] }

                /// Fails.
                static func testPush() throws {
                    let stack = Stack()
            \(statements.map { "        \($0)" }.joined(separator: "\n"))
                }
            }
            #endif

            """
        }

        private func writingTests(_ runner: inout ArticleRunner, _ package: FixturePackage) throws {
            let shown = runner.article.blocks.filter { $0.heading == "Expectations" && $0.language == "swift" }
            let lines = try #require(shown.first).lines
            try package.write(failing(lines + ["_ = first"]), to: Self.stack)
            try runner.shows(runner.run("swift build", 1))
        }

        private func runningTests(_ runner: inout ArticleRunner, _ package: FixturePackage) throws {
            try package.write(Self.shown.get(), to: Self.stack)
            try runner.runs(0, 0, 0)
            let listed = #"public static var testSelectors: TestSelectors"#
            let further = #"public static var testSelectorsByType: [TestType: TestSelectors]"#
            try package.replace(
                listed, with: "\(further) { [\"network\": [\"testAsks\": {}]] }\n\n    \(listed)", in: Self.stack)
            try package.write(runner.next("text").text, to: ".testlogger")
            let result = try runner.run("swift package testlogger Stacks", 0)
            #expect(result.output.contains("5 tests, 5 passed"), "\(result)")
            try package.remove(".testlogger")
            try package.write(failing([#"expectEqual(stack.count, 5, "count after push")"#]), to: Self.stack)
            try runner.shows(runner.run("swift package testlogger --shuffle 2754", 1))
        }

        private func fixing(_ runner: inout ArticleRunner, _ package: FixturePackage) throws {
            // Accepting actual values.
            for (line, value) in zip(try runner.next("sh").lines, 3...) {
                let wrong = try Self.shown.get()
                    .replacing("expectEqual(pop(), 2,", with: "expectEqual(pop(), \(value),")
                try package.write(wrong, to: Self.stack)
                let result = try runner.run(line, 1)
                #expect(try package.text(of: Self.stack) == Self.shown.get(), "\(result)")
            }
            try goldenFiles(&runner, package)
            // Coverage.
            let coverage = try runner.runs(0)[0]
            #expect(coverage.output.contains(" lines of Sources/Stacks/Stack.swift"), "\(coverage)")
            // Mutants that the tests don't notice.
            let sample = try #require(runner.article.blocks.first { $0.text.contains("// no mutants: ") }).text
            let unsaid = sample.replacing(/\ +\/\/ no mutants: .+/, with: "")
            try package.write(Self.mutated.replacing("SAMPLE\n", with: unsaid), to: Self.stack)
            try runner.shows(runner.runs(0, 0)[0])
            try package.write(Self.mutated.replacing("SAMPLE\n", with: sample), to: Self.stack)
            let noticed = try runner.run("swift package testlogger --mutants \(Self.stack)", 0)
            #expect(noticed.output.contains("(100 %)"), "\(noticed)")
            // Debugging.
            try package.write(Self.shown.get(), to: Self.stack)
            try runner.run("swift build", 0)
            let started = try runner.runs(0, variables: ["IN_CLASS_DEBUGGER": "echo"])[0]
            #expect(started.output.contains(".img --in-class-debug Stacks Stack.testPush\n"), "\(started)")
        }

        private func goldenFiles(_ runner: inout ArticleRunner, _ package: FixturePackage) throws {
            let manifest = try package.text(of: "Package.swift")
            let lines = try #require(runner.article.blocks.first { $0.text.contains("expectGolden") }).lines
            try package.write(
                manifest + """
                    package.targets.append(
                        .target(
                            name: "Menus", dependencies: [.product(name: "InClassTesting", package: "InClassTesting")],
                            resources: [.copy("Goldens")]))

                    """, to: "Package.swift")
            try package.write("coffee 2.50\ncake 3.00\ntea 2.10\n", to: "Sources/Menus/Goldens/menu.txt")
            try package.write(
                """
                struct Menu {
                    var text: String { "coffee 2.50\\ncake 3.00\\ntea 2.20\\n" }
                }

                #if DEBUG || IN_CLASS_TESTS
                import InClassTesting

                extension Menu: SelfTesting {
                    static var testSelectors: TestSelectors { ["testText": testText] }

                    static func testText() {
                        let menu = Menu()
                        \(try #require(lines.last))
                    }
                }
                #endif

                """, to: "Sources/Menus/Menu.swift")
            try runner.shows(runner.run("swift package testlogger Menus", 1))
            try package.write(manifest, to: "Package.swift")
            try package.remove("Sources/Menus")
        }

        private static let mutated = """
            struct Stack {
                var elements: [Int] = []

                mutating func push(_ element: Int) { elements.append(element) }

                mutating func pop() -> Int? { elements.popLast() }
            }

            // An extension by itself.

            SAMPLE

            #if DEBUG || IN_CLASS_TESTS
            import InClassTesting

            extension Stack: SelfTesting {
                static var testSelectors: TestSelectors { ["testPush": testPush, "testLarger": testLarger] }

                static func testPush() {
                    var stack = Stack()
                    stack.push(4)
                    expectEqual(stack.pop(), 4)
                    expectNil(stack.pop())
                }

                static func testLarger() {
                    expectEqual(larger(1, 2), 2)
                    expectEqual(larger(2, 1), 2)
                    expectEqual(larger(2, 2), 2)
                }
            }
            #endif

            """

        private func crashes(_ runner: inout ArticleRunner, _ package: FixturePackage) throws {
            try package.write(
                """
                struct Stack {
                    var elements: [Int] = []

                    /// Nothing is checked here.
                    subscript(index: Int) -> Int { elements[index] }
                }

                #if DEBUG || IN_CLASS_TESTS
                import InClassTesting

                extension Stack: SelfTesting {
                    static var testSelectors: TestSelectors {
                        ["testDeep": testDeep]
                    }

                    static func testDeep() {
                        expectEqual(Stack()[0], 4, "the first")
                    }
                }
                #endif

                """, to: Self.stack)
            try runner.shows(runner.run("swift build", 1))
        }

        private func flaky(_ runner: inout ArticleRunner, _ package: FixturePackage) throws {
            let saves = NewUser.folder.appending(path: "saves")
            try package.write(
                """
                enum Stack {}

                #if DEBUG || IN_CLASS_TESTS
                import Foundation
                import InClassTesting

                extension Stack: SelfTesting {
                    static var testSelectors: TestSelectors { ["testSaves": testSaves] }

                    /// Fails every other time, whoever runs it.
                    static func testSaves() {
                        let file = open(\(FixturePackage.literal(saves.path)), O_WRONLY | O_APPEND | O_CREAT, 0o600)
                        defer { close(file) }
                        expectEqual(write(file, "s", 1), 1, "bytes saved")
                        expectTrue(lseek(file, 0, SEEK_CUR).isMultiple(of: 2), "is saved")
                    }
                }
                #endif

                """, to: Self.stack)
            for result in try runner.runs(1, 1) {
                #expect(result.output.contains("for is saved (Stack.testSaves)\n"), "\(result)")
            }
            try FileManager.default.removeItem(at: saves)
            try package.write(runner.next("text").text, to: ".testlogger")
            let result = try runner.run("swift build", 0)
            #expect(result.output.contains("1 flaky"), "\(result)")
            try package.remove(".testlogger")
        }

        private func debugging(_ runner: inout ArticleRunner, _ package: FixturePackage) throws {
            try package.write(Self.shown.get(), to: Self.stack)
            // `echo` replaces the debugger and prints its arguments.
            let results = try runner.runs(0, 0, variables: ["IN_CLASS_DEBUGGER": "echo"])
            let words = results[1].output
            #expect(words.contains("\(package.file(Self.stack).path):34 "), "the line of the test: \(words)")
            #expect(words.contains(".img --in-class-debug Stacks Stack.testPush\n"), "\(words)")
            let executable = try runner.runs(0)[0]
            #expect(executable.text.contains("Stack.testPush is over"), "\(executable)")
        }
    }
}
