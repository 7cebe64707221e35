// The README shows files of the repository; they are the same, word for word. Other examples, its own and those of the
// modules' articles, compile.

import Foundation
import Testing

extension TestloggerTests {
    @Suite
    struct ReadmeTests {
        @Test func showsFilesAsTheyAre() throws {
            let readme = try String(contentsOf: Fixtures.checkout.appending(path: "README.md"), encoding: .utf8)
            var shown: [String] = []
            for part in readme.components(separatedBy: "<!-- ").dropFirst() {
                let path = try #require(part.components(separatedBy: " -->").first)
                let block = try #require(part.components(separatedBy: "```swift\n").dropFirst().first)
                let text = try #require(block.components(separatedBy: "```").first)
                #expect(
                    try String(contentsOf: Fixtures.checkout.appending(path: path), encoding: .utf8) == text, "\(path)")
                shown.append(path)
            }
            #expect(shown.count == 2, "every file is marked: \(shown)")
        }

        @Test func walksThroughFilesThatAreThere() throws {
            let sources = Fixtures.checkout.appending(path: "Sources")
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
                    path: "Sources/InClassTesting/InClassTesting.docc/RunningTests.md"), encoding: .utf8)
            let help = try String(
                contentsOf: Fixtures.checkout.appending(path: "Tests/TestloggerTests/Goldens/help.txt"), encoding: .utf8
            )
            let options = help.matches(of: /--[a-z-]+/).map { String($0.output) }
            #expect(options.count > 20)
            for option in Set(options)
            where !["--help", "--enable-code-coverage", "--verbose"].contains(option) {
                #expect(article.contains(option), "\(option) is in no table")
            }
        }

        #if os(Linux)
        /// The modules that were built, which examples import.
        private static let modules = Fixtures.testlogger.deletingLastPathComponent().appending(path: "Modules")

        @Test(.enabled(if: FileManager.default.fileExists(atPath: modules.path), "the modules lie elsewhere"))
        func examplesCompile() throws {
            let sources = Fixtures.checkout.appending(path: "Sources")
            var examples: [String: String] = [:]
            for module in try FileManager.default.contentsOfDirectory(atPath: sources.path)
            where ["Streaming", "Building", "Coding", "Importing", "Tables", "Files", "Repository"].contains(
                where: module.hasSuffix)
            {
                let article = sources.appending(path: "\(module)/\(module).docc/\(module).md")
                // What comes later in an article may use what came before.
                examples[module] = try Self.blocks(of: article).joined(separator: "\n")
            }
            #expect(examples.count == 11 && examples.values.allSatisfy { $0.contains("import ") }, "\(examples.keys)")
            let last = try #require(Self.blocks(of: Fixtures.checkout.appending(path: "README.md")).last)
            let imports = ["JSONStreaming", "PlistBuilding", "SQLiteStreaming"].map { "import \($0)\n" }.joined()
            examples["README"] = imports + last
            let first = sources.appending(path: "InClassTesting/InClassTesting.docc/InClassTesting.md")
            examples["InClassTesting"] = try Self.blocks(of: first).joined(separator: "\n")
            let walk = sources.appending(path: "PlistStreaming/PlistStreaming.docc/ReadingTheCode.md")
            examples["ReadingTheCode"] = try Self.blocks(of: walk).joined(separator: "\n")

            let folder = FileManager.default.temporaryDirectory.appending(path: "examples-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            for (name, text) in examples {
                // The name makes it a file whose statements are those of a program.
                let file = folder.appending(path: "main.swift")
                try Data(text.utf8).write(to: file)
                let maps = ["CBlockMasks/include", "CStackAddress", "CSystemSQLite"].flatMap {
                    ["-Xcc", "-fmodule-map-file=\(sources.path)/\($0)/module.modulemap"]
                }
                let options = ["-swift-version", "6", "-DDEBUG", "-warnings-as-errors", "-I", Self.modules.path] + maps
                let result = try RunningPrograms.run(["swiftc", "-typecheck"] + options + [file.path], in: folder)
                #expect(result.status == 0, "\(name): \(result)")
            }
        }

        private static func blocks(of article: URL) throws -> [String] {
            try String(contentsOf: article, encoding: .utf8).components(separatedBy: "```swift\n").dropFirst()
                .map { $0.components(separatedBy: "```")[0] }
        }
        #endif
    }
}
