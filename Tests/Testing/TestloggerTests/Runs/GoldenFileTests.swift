// Tests the comparison of texts with files among the resources: the messages for differences, and the files that
// `--accept` writes.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct GoldenFileTests {
        private static let source = #"""
            import InClassTesting
            enum Menu {
                static var text: String { "coffee 2.50\ntea 2.20\n\nwater \"still\" \\ 0.00\n" }
            }
            extension Menu: SelfTesting {
                static var testSelectors: TestSelectors {
                    [
                        "testMissing": { expectGolden(text, "Goldens/deep/missing.txt") },
                        "testChanged": { expectGolden(text, "Goldens/menu.txt") },
                        "testUnended": { expectGolden("tea\r\ncake", "Goldens/unended.txt") },
                        "testTwoTexts": { for cup in ["tea", "coffee"] { expectGolden(cup, "Goldens/cup.txt") } },
                        "testOutside": { expectGolden(text, "../menu.txt") },
                        "testElsewhere": { expectGolden(text, "menu.txt") },
                        "testBroken": { expectGolden(text, "Goldens/broken.txt") },
                        "testKnown": { withKnownIssue("12") { expectGolden(text, "Goldens/known.txt") } },
                        "testSame": { expectGolden("tea", "Goldens/same.txt") },
                        "testLines": {
                            expectEqual(
                                text,
                                """
                                tea 2.10

                                  \("cake")
                                """)
                            expectEqual(text, """
                              tea 2.10\n
                              """, "the menu")
                        },
                    ]
                        + .each("testCup", ["tea", "coffee"]) { expectGolden("a cup of \($0)", "Goldens/\($0).txt") }
                }
            }

            """#

        private static let goldens: [(name: String, text: String)] = [
            ("menu.txt", "coffee 2.50\ntea 2.10\n\nwater 0.00\n"), ("unended.txt", "tea\ncake\n"), ("cup.txt", "cup"),
            ("same.txt", "tea"), ("known.txt", ""),
        ]

        @Test func recordsGoldens() throws {
            let module = try CompiledModule(named: "goldens", source: Self.source)
            let folder = module.folder.appending(path: "Goldens")
            try? FileManager.default.removeItem(at: folder)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for (name, text) in Self.goldens { try Data(text.utf8).write(to: folder.appending(path: name)) }
            try Data([0x61, 0x0A, 0xFF]).write(to: folder.appending(path: "broken.txt"))
            let description = module.folder.appending(path: "M.inclass")
            let lines = try String(contentsOf: description, encoding: .utf8)
            try Data("\(lines)own-resource\t\(folder.path)\n".utf8).write(to: description)
            var transcript: [String] = []
            for words in [[], ["--accept", "Source.swift:9"], ["--accept"], ["-v"]] {
                let command = (["testlogger", "--stable-output", "M.inclass"] + words).joined(separator: " ")
                try transcript.append(Goldens.transcript(of: module.testlogger(words), as: command))
            }
            try Goldens.expect(transcript.joined(separator: "\n"), is: "golden-files")
            func text(_ name: String) throws -> String {
                try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            }
            let menu = "coffee 2.50\ntea 2.20\n\nwater \"still\" \\ 0.00\n"
            #expect(try text("deep/missing.txt") == menu)
            #expect(try text("menu.txt") == menu)
            #expect(try Array(text("unended.txt").utf8) == Array("tea\r\ncake".utf8))
            #expect(try text("cup.txt") == "cup")
            #expect(try text("known.txt") == "")
            #expect(try text("tea.txt") == "a cup of tea")
            // Only the literal without interpolations is replaced, in its own layout. The other literal stays
            // unchanged.
            #expect(
                try String(contentsOf: module.source, encoding: .utf8)
                    == Self.source.replacing(
                        "                  tea 2.10\\n\n",
                        with: """
                                              coffee 2.50
                                              tea 2.20

                                              water "still" \\\\ 0.00


                            """))
        }
    }
}
