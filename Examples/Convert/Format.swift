// The formats of the command and the names by which they are asked for.

/// A format that is read and written.
enum Format: String, CaseIterable {
    case json
    case jsonLines = "jsonl"
    case sqlite

    /// The names that `--from` and `--to` accept, and the endings of file names.
    static let names: [String: Format] = [
        "json": .json, "jsonl": .jsonLines, "ndjson": .jsonLines, "sqlite": .sqlite, "sqlite3": .sqlite, "db": .sqlite,
    ]

    /// The format of a file by its ending; JSON for `-`, the standard streams.
    init?(path: String) {
        if path == "-" {
            self = .json
            return
        }
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        guard let dot = name.lastIndex(of: "."), let format = Self.names[name[name.index(after: dot)...].lowercased()]
        else { return nil }
        self = format
    }

    /// Whether a document is any number of values, and not one.
    var isSequence: Bool { self == .jsonLines }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension Format: SelfTesting {
    static var testSelectors: TestSelectors { ["testIsKnownByItsEnding": testIsKnownByItsEnding] }

    private static func testIsKnownByItsEnding() {
        let rows: [(String, Format?)] = [
            ("a.json", .json), ("/tmp/x.y/B.JSON", .json), ("a.jsonl", .jsonLines), ("a.ndjson", .jsonLines),
            ("-", .json), ("a.sqlite", .sqlite), ("a.db", .sqlite), ("a.sqlite3", .sqlite),
            ("a.txt", nil), ("json", nil), ("a.json/b", nil), ("", nil),
        ]
        for (path, format) in rows { expectEqual(Format(path: path), format, path) }
    }
}
#endif
