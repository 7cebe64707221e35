// Parses README and the articles of the catalogs: their code blocks, and the commands in their text.

import Foundation
import Testing

struct Article {
    struct Block {
        let language: String
        /// The heading above the block.
        let heading: String
        /// The line number of the block's opening fence.
        let line: Int
        let lines: [String]

        var text: String { lines.map { "\($0)\n" }.joined() }
        /// A name that distinguishes the block from the other blocks of its article.
        var name: String { "\(heading): \(language)" }
    }

    /// The article's path in this checkout.
    let path: String
    let text: String
    private(set) var blocks: [Block] = []
    /// The calls of Swift's tools in inline code, with line breaks replaced by spaces.
    let commands: Set<String>

    var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    init(at path: String) throws {
        self.path = path
        text = try String(contentsOf: Fixtures.checkout.appending(path: path), encoding: .utf8)
        var heading = ""
        var prose: [String] = []
        var open: (language: String, line: Int, lines: [String])?
        for (index, line) in text.components(separatedBy: "\n").enumerated() {
            if line.hasPrefix("```") {
                if let block = open {
                    blocks.append(
                        Block(language: block.language, heading: heading, line: block.line, lines: block.lines))
                    open = nil
                } else {
                    open = (String(line.dropFirst(3)), index + 1, [])
                }
            } else if open != nil {
                open?.lines.append(line)
            } else {
                if let found = line.firstMatch(of: /^#+ +(.+)/) { heading = String(found.1) }
                prose.append(line)
            }
        }
        try #require(open == nil, "\(path): a block does not end")
        let spans = prose.joined(separator: "\n").replacing(/``[^`]+``/, with: "").matches(of: /`([^`]+)`/)
            .map { $0.1.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        commands = Set(spans.filter { $0.wholeMatch(of: /(?:[A-Z_]+=\S* )*swift(?: .+)?/) != nil })
    }

    /// README and the articles of all catalogs.
    static let all = Result {
        let articles = try Fixtures.modules.sorted { $0.key < $1.key }.flatMap { name, folder -> [Article] in
            let catalogue = folder.appending(path: "\(name).docc")
            guard FileManager.default.fileExists(atPath: catalogue.path) else { return [] }
            let path = catalogue.path.dropFirst(Fixtures.checkout.path.count + 1)
            return try FileManager.default.contentsOfDirectory(atPath: catalogue.path).sorted()
                .filter { $0.hasSuffix(".md") }.map { try Article(at: "\(path)/\($0)") }
        }
        return try [Article(at: "README.md")] + articles
    }

    /// Returns the article with this file name.
    static func named(_ name: String) throws -> Article {
        let found = try all.get().filter { $0.name == name }
        try #require(found.count == 1, "there is one \(name)")
        return found[0]
    }

    /// Returns the text of the only block of a language, in the whole article or below a heading.
    func block(_ language: String, below heading: String? = nil) throws -> String {
        let found = blocks.filter { $0.language == language && (heading == nil || $0.heading == heading) }
        try #require(found.count == 1, "\(name) has one block of \(language) below \(heading ?? "its title")")
        return found[0].text
    }
}
