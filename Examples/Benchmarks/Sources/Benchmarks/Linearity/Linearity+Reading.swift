// The quantities that grow when JSON is read: keys, rows, depth, text, digits, errors, unknown members.

import JSONStreaming
import PlistBuilding
import PlistStreaming

struct LinearityRow: StreamObject, Codable {
    var id = 0
    var title = ""
    var weight = 0.5
    var note: String?

    static func many(_ count: Int) -> [Self] {
        (0..<count).map {
            Self(id: $0 + 1, title: "row \($0)", weight: Double($0) / 4, note: $0 % 3 == 0 ? nil : "ö\n")
        }
    }

    static func json(_ count: Int) -> [UInt8] {
        LargeText.array(count) {
            "{\"id\":\($0 + 1),\"title\":\"row \($0)\",\"weight\":\(Double($0) / 4),\"note\":null}"
        }
    }

    /// Returns rows with an invalid last row.
    static func jsonWithError(_ count: Int) -> [UInt8] { json(count).dropLast() + Array(",{\"id\":\"x\"}]".utf8) }

    /// Returns one row with the given number of unknown members.
    static func jsonWithUnknown(_ count: Int) -> [UInt8] {
        LargeText.joined(count, "[{\"id\":1,", "\"title\":\"\",\"weight\":1}]") { "\"n\($0)\":[1,{}]," }
    }
}

private final class RowObject: StreamObject {
    var id = 0
    var title = ""
    var weight = 0.5
    var note: String?
    init() {}
}

struct LinearityTree: StreamObject, Codable {
    var name = ""
    var children: [LinearityTree] = []

    static func deep(_ depth: Int) -> LinearityTree {
        (0..<depth).reduce(LinearityTree()) { tree, _ in LinearityTree(name: "a", children: [tree]) }
    }

    static func json(_ depth: Int) -> [UInt8] { LargeText.nested(depth, "{\"name\":\"a\",\"children\":[", "", "]}") }
}

/// Generators of JSON texts of any size.
enum LargeText {
    static func joined(_ count: Int, _ beginning: String, _ end: String, _ piece: (Int) -> String) -> [UInt8] {
        var text = beginning
        for index in 0..<count { text += piece(index) }
        return Array((text + end).utf8)
    }

    /// Returns an array of the given number of values.
    static func array(_ count: Int, _ value: (Int) -> String) -> [UInt8] {
        joined(count, "[", "]") { ($0 > 0 ? "," : "") + value($0) }
    }

    /// Returns an object with the given number of members with different names.
    static func object(_ count: Int, _ value: (Int) -> String) -> [UInt8] {
        joined(count, "{", "}") { "\($0 > 0 ? "," : "")\"name \($0)\":\(value($0))" }
    }

    static func nested(_ depth: Int, _ opening: String, _ inner: String, _ closing: String) -> [UInt8] {
        Array((String(repeating: opening, count: depth) + inner + String(repeating: closing, count: depth)).utf8)
    }

    /// Returns an array that contains one string.
    static func string(_ count: Int, _ piece: String) -> [UInt8] { joined(count, "[\"", "\"]") { _ in piece } }
}

/// The error thrown if an operation that must throw doesn't.
struct NoErrorThrown: Error {}

func mustThrow(_ body: () throws -> Void) throws {
    do { try body() } catch { return }
    throw NoErrorThrown()
}

private let limitless = JSONReaderOptions(
    limits: StreamLimits(depth: .max, stringByteCount: .max, numberByteCount: .max))
private let collecting = BuilderOptions(unknownMembers: .collect, unknownMemberLimit: .max)

private func build<Value: StreamValue>(
    _ type: Value.Type, _ bytes: [UInt8], _ options: BuilderOptions = BuilderOptions()
) throws {
    var builder = try ObjectBuilder<Value>(options: options)
    try builder.readJSON(bytes, options: limitless)
    _ = try builder.takeResult()
}

private func tree(_ bytes: [UInt8]) throws {
    var builder = PropertyListBuilder(depthLimit: .max)
    try builder.readJSON(bytes, options: limitless)
    _ = try builder.takeResult()
}

private func stream<Value: StreamValue>(
    _ type: Value.Type, _ bytes: [UInt8], _ options: BuilderOptions = BuilderOptions()
) throws {
    var stream = try RecordStream<Value>(options: options) { _ throws(StreamError) in }
    try stream.readJSON(bytes)
}

private func columns(_ bytes: [UInt8], _ columns: [(name: String, type: ColumnType)]) throws {
    var builder = ColumnsBuilder(columns: columns)
    try builder.readJSON(bytes)
    _ = try builder.takeResult()
}

/// Reads a text in chunks of the given number of bytes.
private func inPieces(_ bytes: [UInt8], _ size: Int) throws {
    var reader = JSONReader(sink: PropertyListBuilder(), options: limitless)
    try bytes.withUnsafeBufferPointer { buffer in
        let span = UnsafeRawBufferPointer(buffer).bytes
        for start in stride(from: 0, to: bytes.count, by: size) {
            try reader.feed(span.extracting(start..<min(bytes.count, start + size)))
        }
    }
    try reader.finish()
}

var readingEntryPoints: [EntryPoint] {
    keyAndRowEntryPoints + depthEntryPoints + textEntryPoints + errorEntryPoints + streamEntryPoints
}

private var keyAndRowEntryPoints: [EntryPoint] {
    let numbered = { LargeText.object($0) { "\($0)" } }
    return [
        EntryPoint("JSON, dictionary, keys", numbered) { try build([String: Int].self, $0) },
        EntryPoint("JSON, tree, keys", numbered) { try tree($0) },
        EntryPoint("JSON, tree, one key again and again", { LargeText.joined($0, "{", "\"a\":0}") { "\"a\":\($0)," } })
        {
            try tree($0)
        },
        EntryPoint(
            "JSON, tree, keys again and again",
            { LargeText.array($0) { "{\"a\($0 % 1_000)\":1,\"b\":{\"a\($0 % 7)\":2}}" } }
        ) { try tree($0) },
        EntryPoint("JSON, dictionaries of dictionaries", { LargeText.object($0) { "{\"a\($0)\":{\"b\":\($0)}}" } }) {
            try build([String: [String: [String: Int]]].self, $0)
        },
        EntryPoint("JSON, structures, rows", LinearityRow.json) { try build([LinearityRow].self, $0) },
        EntryPoint("JSON, objects, rows", LinearityRow.json) { try build([RowObject].self, $0) },
        EntryPoint("JSON, tree, rows", LinearityRow.json) { try tree($0) },
        EntryPoint("JSON, rows by byte", LinearityRow.json) { try inPieces($0, 1) },
        EntryPoint("JSON, nulls treated as missing", { LargeText.array($0) { _ in "{\"id\":null,\"title\":null}" } }) {
            try build([LinearityRow].self, $0, BuilderOptions(nulls: .treatAsMissing))
        },
    ]
}

private var depthEntryPoints: [EntryPoint] {
    [
        EntryPoint("JSON, depth of arrays", { LargeText.nested($0, "[", "", "]") }) { try tree($0) },
        EntryPoint("JSON, depth of objects", { LargeText.nested($0, "{\"a\":", "1", "}") }) { try tree($0) },
        EntryPoint("JSON, depth of structures", largest: 480, LinearityTree.json) { text in
            for _ in 0..<100 { try build(LinearityTree.self, text) }
        },
        EntryPoint(
            "JSON, unknown depth", { Array("[{\"x\":".utf8) + LargeText.nested($0, "[", "", "]") + Array("}]".utf8) }
        ) {
            try build([LinearityRow].self, $0, BuilderOptions(depthLimit: .max))
        },
    ]
}

private var textEntryPoints: [EntryPoint] {
    [
        EntryPoint("JSON, escapes", { LargeText.string($0, "\\u00e9\\n\\ud83d\\ude00") }) {
            try build([String].self, $0)
        },
        EntryPoint("JSON, a long string", { LargeText.string($0, "long and ö ") }) { try build([String].self, $0) },
        EntryPoint("JSON, a long string in pieces of 64 bytes", { LargeText.string($0, "long and ö ") }) {
            try inPieces($0, 64)
        },
        EntryPoint("JSON, a long string with escapes by byte", { LargeText.string($0, "long\\n") }) {
            try inPieces($0, 1)
        },
        EntryPoint("JSON, a long unknown string", { LargeText.joined($0, "[{\"x\":\"", "\"}]") { _ in "ö\\n long" } }) {
            try build([LinearityRow].self, $0)
        },
        EntryPoint("JSON, whitespace in pieces of 64 bytes", { LargeText.joined($0, "[", "]") { _ in " \n\t" } }) {
            try inPieces($0, 64)
        },
        EntryPoint("JSON, digits of a real", { LargeText.joined($0, "[0.", "]") { _ in "7" } }) {
            try build([Double].self, $0)
        },
        EntryPoint("JSON, digits of an integer", { LargeText.joined($0, "[", "]") { _ in "7" } }) { try tree($0) },
        EntryPoint("JSON, digits by byte", { LargeText.joined($0, "[0.", "]") { _ in "7" } }) { try inPieces($0, 1) },
        EntryPoint("JSON, zeros of an exponent", { LargeText.joined($0, "[1e", "1]") { _ in "0" } }) {
            try build([Double].self, $0)
        },
        EntryPoint(
            "JSON, numbers of 700 digits", { LargeText.array($0) { "\($0).\(String(repeating: "3", count: 700))1" } }
        ) { try build([Double].self, $0) },
    ]
}

private var errorEntryPoints: [EntryPoint] {
    let unknown = { LargeText.array($0) { "{\"id\":\($0),\"more\":\"\($0)\"}" } }
    return [
        EntryPoint("JSON, an error at the end", LinearityRow.jsonWithError) { text in
            try mustThrow { try build([LinearityRow].self, text) }
        },
        EntryPoint("JSON, an error behind lines", { LargeText.joined($0, "[", "x]") { _ in " 1,\n" } }) { text in
            try mustThrow { try tree(text) }
        },
        EntryPoint("JSON, an error in the depth", { LargeText.nested($0, "[", "x", "]") }) { text in
            try mustThrow { try tree(text) }
        },
        EntryPoint("JSON, errors", { $0 }) { count in
            let text = Array("[{\"id\":1},{\"title\":7}]".utf8)
            for _ in 0..<count { try mustThrow { try build([LinearityRow].self, text) } }
        },
        EntryPoint("JSON, unknown members of one object", LinearityRow.jsonWithUnknown) {
            try build([LinearityRow].self, $0)
        },
        EntryPoint("JSON, unknown members of one object, collected", LinearityRow.jsonWithUnknown) {
            try build([LinearityRow].self, $0, collecting)
        },
        EntryPoint("JSON, unknown members of rows, collected", unknown) {
            try build([LinearityRow].self, $0, collecting)
        },
    ]
}

private var streamEntryPoints: [EntryPoint] {
    let unknown = { LargeText.array($0) { "{\"id\":\($0),\"more\":\"\($0)\"}" } }
    return [
        EntryPoint("stream, structures", LinearityRow.json) { try stream(LinearityRow.self, $0) },
        EntryPoint("stream, objects", LinearityRow.json) { try stream(RowObject.self, $0) },
        EntryPoint("stream, unknown members, collected", unknown) { try stream(LinearityRow.self, $0, collecting) },
        EntryPoint("columns, rows", LinearityRow.json) {
            try columns($0, [("id", .integer), ("title", .string), ("weight", .real), ("note", .string)])
        },
        EntryPoint(
            "columns, names",
            { (count: Int) -> ([(name: String, type: ColumnType)], [UInt8]) in
                let names = (0..<count).map { (name: "name \($0)", type: ColumnType.integer) }
                return (names, Array("[".utf8) + LargeText.object(count) { "\($0)" } + Array("]".utf8))
            }
        ) { names, text in try columns(text, names) },
        EntryPoint(
            "columns, a value that comes last",
            { LargeText.joined($0, "[", "{\"title\":\"x\"}]") { "{\"id\":\($0)}," } }
        ) {
            try columns($0, [("id", .integer), ("title", .string)])
        },
    ]
}
