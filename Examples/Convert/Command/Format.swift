// The formats of the command and their names.

/// A format that can be read and written.
enum Format: String, CaseIterable {
    case json
    case jsonLines = "jsonl"
    case csv
    case tsv
    case sqlite
    /// A property list, in any form when it is read and in XML when it is written.
    case propertyList = "plist"
    case binaryPropertyList = "bplist"
    case openStep = "openstep"
    case xml

    /// The names that `--from` and `--to` accept, and the endings of file names.
    static let names: [String: Format] = [
        "json": .json, "jsonl": .jsonLines, "ndjson": .jsonLines, "csv": .csv, "tsv": .tsv, "tab": .tsv,
        "sqlite": .sqlite, "sqlite3": .sqlite, "db": .sqlite, "plist": .propertyList, "bplist": .binaryPropertyList,
        "openstep": .openStep, "strings": .openStep, "xml": .xml,
    ]

    /// Returns the format for a path by its extension, or JSON for `-`, which stands for the standard streams.
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

    /// A Boolean value that indicates whether a document contains any number of values instead of one.
    var isSequence: Bool { self == .jsonLines }
    /// A Boolean value that indicates whether a document is JSON or a sequence of JSON values.
    var isJSON: Bool { self == .json || self == .jsonLines }
    /// A Boolean value that indicates whether a document consists of records and fields.
    var isDelimited: Bool { self == .csv || self == .tsv }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension Format: SelfTesting {
    static var testSelectors: TestSelectors { ["testDetectsFormatByFileExtension": testDetectsFormatByFileExtension] }

    private static func testDetectsFormatByFileExtension() {
        let rows: [(String, Format?)] = [
            ("a.json", .json), ("/tmp/x.y/B.JSON", .json), ("a.jsonl", .jsonLines), ("a.ndjson", .jsonLines),
            ("-", .json), ("a.sqlite", .sqlite), ("a.db", .sqlite), ("a.sqlite3", .sqlite), ("a.csv", .csv),
            ("a.TSV", .tsv), ("a.plist", .propertyList), ("a.bplist", .binaryPropertyList), ("a.strings", .openStep),
            ("a.xml", .xml), ("a.txt", nil), ("json", nil), ("a.json/b", nil), ("", nil),
        ]
        for (path, format) in rows { expectEqual(Format(path: path), format, path) }
    }
}
#endif
