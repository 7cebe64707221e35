// Compiles the module in the article on the event stream, and compares the events of its run with those in the article.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct EventStreamTests {
        private static let article = Result { try Article.named("EventStream.md") }

        /// Returns the only block of a language in the article.
        private static func block(_ language: String) throws -> String { try article.get().block(language) }

        private static let module = Result {
            let module = try CompiledModule(
                named: "events", source: block("swift"), options: ["-swift-version", "6"])
            let result = try module.testlogger(["--json", "events.json"])
            #expect(result.status == 1, "\(result)")
            return module
        }

        /// Returns a text with the module's name and the source's path replaced by those in the article.
        private static func shown(_ text: String, path: String, module: String) -> String {
            let text = text.replacing("M/Source.swift", with: "Stacks/Stack.swift")
            return text.replacing(path, with: "Sources/Stacks/Stack.swift")
                .replacing(module, with: module.replacing("M", with: "Stacks"))
        }

        private func events() throws -> String {
            try String(contentsOf: Self.module.get().folder.appending(path: "events.json"), encoding: .utf8)
        }

        @Test func sampleMatchesARun() throws {
            let text = try Self.shown(events(), path: "Source.swift", module: "\"module\":\"M\"")
            #expect(try text == Self.block("json"), "\(text)")
        }

        /// The article's tables contain every event and member of a run with many kinds of tests.
        @Test func articleNamesEveryEventAndMember() throws {
            let golden = Fixtures.checkout.appending(
                path: "Tests/Testing/TestloggerTests/Goldens/reports-json-lines.txt")
            let article = try Self.article.get().text
            var names: Set<String> = []
            for event in try ReportedEvent.read(events() + String(contentsOf: golden, encoding: .utf8)) {
                names.formUnion(event.members.keys)
                names.insert(event.event)
            }
            #expect(names.count > 35)
            for name in names.sorted() { #expect(article.contains("`\(name)`"), "\(name) is not in the article") }
            let source = try String(
                contentsOf: Fixtures.checkout.appending(
                    path: "Sources/Testing/TestReporting/Reports/JSONLinesReport.swift"),
                encoding: .utf8)
            for match in source.matches(of: /(?:json|place|replacement|\$0)\.add\(\s*"(\w+)"/) {
                #expect(article.contains("`\(match.1)`"), "\(match.1) is not in the article")
            }
        }

        #if os(Linux)
        /// Expects the article to show the lines of a worker that runs all tests except the last.
        @Test func linesMatchThoseOfAWorker() throws {
            let module = try Self.module.get()
            let worker = "./M.img --in-class-worker M 7 8 unknown 7>events.txt 8<&0 >output.txt 2>&1"
            let command = "printf 'run 0 4\\n' | { \(worker); }"
            let result = try RunningPrograms.run(["sh", "-e", "-c", command], in: module.folder)
            #expect(result.status == 0, "\(result)")
            let text = try String(contentsOf: module.folder.appending(path: "events.txt"), encoding: .utf8)
            let stable = text.replacing(/(?m)^(end\t\d+)\t\d+/) { "\($0.1)\t52000" }
            let shown = Self.shown(stable, path: module.source.path, module: "\tM\t")
            #expect(try shown == Self.block("text"), "\(shown)")
        }
        #endif
    }
}
