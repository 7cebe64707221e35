// Builds the documentation of every public module with DocC, without warnings, and checks that the module's first page
// lists every symbol and article in a topic.

import Foundation
import Testing

#if os(Linux) && DEBUG
extension TestloggerTests {
    @Suite
    struct DocumentationTests {
        /// The documented modules. Each module links only to modules before it.
        private static let order = [
            "InClassTesting", "PlistStreaming", "StringTables", "PlistBuilding", "PlistCoding", "JSONStreaming",
            "CSVStreaming", "XMLStreaming", "PropertyListFiles", "SQLiteStreaming", "SQLiteImporting", "ItemRepository",
        ]

        /// The folder of the built modules and their documentation comments.
        private static let modules = Fixtures.testlogger.deletingLastPathComponent().appending(path: "Modules")

        private static func catalogue(_ module: String) -> URL {
            (Fixtures.modules[module] ?? Fixtures.checkout).appending(path: "\(module).docc")
        }

        @Test func everyLibraryHasACatalogue() throws {
            let documented = Fixtures.modules.keys.filter {
                FileManager.default.fileExists(atPath: Self.catalogue($0).path)
            }
            #expect(documented.sorted() == Self.order.sorted())
            let manifest = try String(
                contentsOf: Fixtures.checkout.appending(path: "Package.swift"), encoding: .utf8)
            let libraries = manifest.matches(of: /\.library\(name: "(\w+)"/).map { String($0.1) }
            #expect(libraries.sorted() == Self.order.sorted(), "every library has a catalogue")
        }

        /// Articles have a heading at least every 60 lines, so that a reader always sees one.
        @Test func articlesHaveFrequentHeadings() throws {
            for module in Self.order {
                let folder = Self.catalogue(module)
                for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
                where name.hasSuffix(".md") {
                    let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
                    var heading = 0
                    for (index, line) in text.components(separatedBy: "\n").enumerated() {
                        if line.hasPrefix("#") { heading = index }
                        #expect(index - heading <= 60, "\(module)/\(name):\(index + 1) is far from its heading")
                        if index - heading > 60 { break }
                    }
                }
            }
        }

        @Test(
            .enabled(if: RunningPrograms.path(of: "docc") != nil, "docc is not installed"),
            .enabled(if: FileManager.default.fileExists(atPath: modules.path), "the modules lie elsewhere"))
        func buildsWithoutWarnings() throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "documentation-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            try Self.extractSymbols(into: folder)
            var dependencies: [String] = []
            for module in Self.order {
                let archive = folder.appending(path: "\(module).doccarchive")
                let result = try RunningPrograms.run(
                    [
                        "docc", "convert", Self.catalogue(module).path, "--additional-symbol-graph-dir",
                        folder.appending(path: module).path, "--fallback-display-name", module,
                        "--fallback-bundle-identifier", module, "--warnings-as-errors",
                        "--enable-experimental-external-link-support", "--output-path", archive.path,
                    ] + dependencies, in: folder)
                #expect(result.status == 0, "\(module): \(result)")
                guard result.status == 0 else { continue }
                dependencies += ["--dependency", archive.path]
                let page = archive.appending(path: "data/documentation/\(module.lowercased()).json")
                #expect(try Self.unsorted(in: page) == [], "not in a topic of \(module).md")
            }
        }

        /// Writes the public symbols of each module, with their comments, into a folder with the module's name.
        private static func extractSymbols(into folder: URL) throws {
            let information = try RunningPrograms.run(["swiftc", "-print-target-info"], in: Fixtures.folder)
            let triple = try #require(information.output.firstMatch(of: /"unversionedTriple"\s*:\s*"([^"]+)"/)).1
            let programs = try order.map { module in
                let output = folder.appending(path: module)
                try FileManager.default.createDirectory(at: output, withIntermediateDirectories: true)
                let words = [
                    "swift", "symbolgraph-extract", "-module-name", module, "-I", modules.path, "-target", "\(triple)",
                    "-minimum-access-level", "public", "-output-dir", output.path,
                ]
                return try RunningPrograms.start(words + Fixtures.moduleMaps, in: folder)
            }
            for program in programs {
                let result = try program.result()
                #expect(result.status == 0, "\(result)")
            }
        }

        private struct Page: Decodable {
            struct Topic: Decodable {
                var generated: Bool?
                var identifiers: [String]
            }
            var topicSections: [Topic]
        }

        /// Returns the symbols and articles that a module's first page lists only in generated topics.
        private static func unsorted(in page: URL) throws -> [String] {
            try JSONDecoder().decode(Page.self, from: Data(contentsOf: page)).topicSections
                .filter { $0.generated == true }.flatMap(\.identifiers)
        }
    }
}
#endif
