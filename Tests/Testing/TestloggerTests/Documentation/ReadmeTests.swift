// Checks that the code in README consists of lines of the repository's files, and that all other examples in README and
// the articles compile.

import Foundation
import Testing

extension TestloggerTests {
    @Suite
    struct ReadmeTests {
        @Test func showsLinesOfFiles() throws {
            let readme = try String(contentsOf: Fixtures.checkout.appending(path: "README.md"), encoding: .utf8)
            var shown: [String] = []
            for part in readme.components(separatedBy: "<!-- ").dropFirst() {
                let path = try #require(part.components(separatedBy: " -->").first)
                let block = try #require(part.components(separatedBy: "```swift\n").dropFirst().first)
                let text = try #require(block.components(separatedBy: "```").first)
                let file = try String(contentsOf: Fixtures.checkout.appending(path: path), encoding: .utf8)
                var left = file.components(separatedBy: "\n")[...]
                for line in text.components(separatedBy: "\n") where !line.isEmpty {
                    let index = try #require(left.firstIndex(of: line), "\(path) has no line \(line)")
                    left = left[(index + 1)...]
                }
                shown.append(path)
            }
            #expect(shown.count == 1, "every file is marked: \(shown)")
        }

        @Test func readingTheCodeNamesExistingFiles() throws {
            let sources = Fixtures.checkout.appending(path: "Sources/Streams")
            let walk = sources.appending(path: "PlistStreaming/PlistStreaming.docc/ReadingTheCode.md")
            let paths = try String(contentsOf: walk, encoding: .utf8).matches(of: /`([^`]+\.swift)`/).map(\.1)
            #expect(paths.count > 20)
            for path in paths {
                #expect(FileManager.default.fileExists(atPath: sources.appending(path: String(path)).path), "\(path)")
            }
        }

        @Test func namesEveryOption() throws {
            let article = try String(
                contentsOf: Fixtures.checkout.appending(
                    path: "Sources/Testing/InClassTesting/InClassTesting.docc/RunningTests.md"), encoding: .utf8)
            let help = try String(
                contentsOf: Fixtures.checkout.appending(path: "Tests/Testing/TestloggerTests/Goldens/help.txt"),
                encoding: .utf8
            )
            let options = help.matches(of: /--[a-z-]+/).map { String($0.output) }
            #expect(options.count > 20)
            for option in Set(options)
            where !["--help", "--enable-code-coverage", "--verbose"].contains(option) {
                #expect(article.contains(option), "\(option) is in no table")
            }
        }

        #if os(Linux)
        /// The folder of the built modules, which examples import.
        private static let modules = Fixtures.testlogger.deletingLastPathComponent().appending(path: "Modules")

        /// The declarations that an article's examples use but don't show, keyed by article.
        private static let preludes = [
            "AddingAFormat.md": """
            import PlistBuilding
            struct CBORReader {
                struct Head { var argument: UInt64 = 0 }
                var limits: StreamLimits
                var start = 0
                var next = 0
                mutating func read(_ bytes: RawSpan, into sink: inout some PlistSink & ~Copyable) throws(StreamError) {
                    try readText(Head(), bytes, into: &sink)
                }
            }
            extension CBORWriter {
                func write(string: RawSpan, type: UInt8) throws(StreamError) {}
                func writeNumber(_ scalar: borrowing StreamScalar) throws(StreamError) {}
            }

            """,
            "CrashesAndTimeouts.md": """
            import InClassTesting
            struct Stack {
                var elements: [Int] = []
                subscript(index: Int) -> Int { elements[index] }
                static func testDeep() {}
                static func testAnswers() {}
            }
            enum Tool { static func main(_ words: [String]) {} }

            """,
            "FixingAndLookingCloser.md": """
            import InClassTesting
            struct Stack {}
            struct Menu { var text = "" }
            let menu = Menu()

            """,
            "Formats.md": """
            import CSVStreaming
            import Foundation
            import JSONStreaming
            struct Task: StreamObject { var title = "" }
            struct Event: StreamObject { var id = 0 }
            struct Response { var body = AsyncStream<Data> { $0.finish() } }
            let response = Response()

            """,
            "PlistBuilding.md": """
            import PlistBuilding
            struct Address: StreamObject { var zip = "" }
            struct Person: StreamObject { var address = Address() }
            var person = Person()

            """,
            "WritingTests.md": """
            import InClassTesting
            struct Account {
                init(owner: String) throws {}
                static func testStartsEmpty() {}
                func testReport() {}
                mutating func testDeposit() throws {}
            }
            struct Sum {
                var value = 0
                init() {}
                init(_ text: String) throws {}
                static func testIsEmpty() {}
                func testAdds(_ row: [Int]) throws {}
            }
            let stack = [1, 2, 3, 4]
            final class Store {
                var onChange = {}
                func add(_ number: Int) { onChange() }
            }
            let store = Store()

            """,
        ]

        /// Compiles all Swift blocks in README and the articles.
        @Test(.enabled(if: FileManager.default.fileExists(atPath: modules.path), "the modules lie elsewhere"))
        func examplesCompile() throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "examples-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let stack = Fixtures.checkout.appending(path: "Examples/QuickStart/Sources/Stacks/Stack.swift").path
            try compile(
                ["-emit-module", "-module-name", "Stacks", "-enable-testing", "-parse-as-library", stack], in: folder)
            var count = 0
            for article in try Article.all.get() {
                var blocks = article.blocks.filter { $0.language == "swift" }.map(\.text)
                let isFirst = article.path.hasSuffix("/\(article.name.dropLast(3)).docc/\(article.name)")
                #expect(!isFirst || blocks.contains { $0.contains("import ") }, "\(article.path) has no example")
                count += blocks.count
                // Blocks with swift-testing cases and blocks with manifests are compiled separately.
                let tests = blocks.filter { $0.contains("import Testing") }
                let manifests = blocks.filter { $0.contains("import PackageDescription") }
                blocks.removeAll { (tests + manifests).contains($0) }
                for text in tests {
                    try typecheck(text, of: article, as: "Tests.swift", ["-parse-as-library"], in: folder)
                }
                for text in manifests {
                    try typecheck(
                        text, of: article, try ["-I", Self.manifestModules, "-package-description-version", "6.2.0"],
                        in: folder)
                }
                guard !blocks.isEmpty else { continue }
                // Later blocks of an article may use the declarations in earlier ones.
                let text = (Self.preludes[article.name] ?? "") + blocks.joined(separator: "\n")
                try typecheck(text, of: article, in: folder)
            }
            #expect(count > 30, "\(count) blocks")
        }

        /// The toolchain's folder of the modules that manifests import.
        private static var manifestModules: String {
            get throws {
                let information = try RunningPrograms.run(["swiftc", "-print-target-info"], in: Fixtures.folder)
                let path = try #require(information.output.firstMatch(of: /"runtimeResourcePath"\s*:\s*"([^"]+)"/)).1
                return "\(path)/pm/ManifestAPI"
            }
        }

        /// Type-checks the code of an article. The file name `main.swift` allows statements outside of functions.
        private func typecheck(
            _ text: String, of article: Article, as name: String = "main.swift", _ options: [String] = [],
            in folder: URL
        ) throws {
            try Data(text.utf8).write(to: folder.appending(path: name))
            try compile(["-typecheck", "-warnings-as-errors", name] + options, in: folder, for: article.path)
        }

        private func compile(_ words: [String], in folder: URL, for name: String = "") throws {
            let options = ["-swift-version", "6", "-DDEBUG", "-I", Self.modules.path, "-I", folder.path]
            let result = try RunningPrograms.run(["swiftc"] + words + options + Fixtures.moduleMaps, in: folder)
            #expect(result.status == 0, "\(name): \(result)")
        }
        #endif
    }
}
