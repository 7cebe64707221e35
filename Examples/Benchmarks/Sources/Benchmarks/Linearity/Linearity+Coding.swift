// The quantities that grow for `Codable` (keys, rows, failed attempts, depth) and for writers.

import Foundation
import JSONStreaming
import PlistBuilding
import PlistStreaming

/// A value that tries one type after another when it is decoded.
private enum Either: Codable {
    case number(Int)
    case text(String)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int.self) {
            self = .number(number)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        }
    }
}

private enum AnyJSON: Decodable {
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case array([AnyJSON])
    case object([String: AnyJSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([AnyJSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: AnyJSON].self))
        }
    }
}

private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { Int(stringValue) }
    init(stringValue: String) { self.stringValue = stringValue }
    init(intValue: Int) { stringValue = "\(intValue)" }
}

private struct AllKeys: Decodable {
    var sum = 0

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        for key in container.allKeys { sum += try container.decode(Int.self, forKey: key) }
    }
}

/// Decodes all keys from the last to the first. Their values have another type.
private struct Backwards: Decodable {
    var sum = 0

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        for key in container.allKeys.reversed() where container.contains(key) {
            sum += (try? container.decode(Int.self, forKey: key)) ?? 1
        }
    }
}

/// Decodes an array without the elements of other types.
private struct Lossy: Decodable {
    var values: [Int] = []

    private struct Anything: Decodable {}

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        while !container.isAtEnd {
            if let value = try? container.decode(Int.self) {
                values.append(value)
            } else {
                _ = try container.decode(Anything.self)
            }
        }
    }
}

private struct Holder: Decodable {
    var values: [String: [String: Int]]
    var later: Int
}

private func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws {
    var decoder = JSONStreamDecoder()
    decoder.options.limits.numberByteCount = .max
    _ = try decoder.decode(type, from: bytes)
}

var decodingEntryPoints: [EntryPoint] {
    let numbered = { LargeText.object($0) { "\($0)" } }
    let quoted = { LargeText.object($0) { "\"\($0)\"" } }
    return [
        EntryPoint("decoder, [String: Int], keys", numbered) { try decode([String: Int].self, $0) },
        EntryPoint("decoder, [String: [String: Int]], keys", { LargeText.object($0) { "{\"a\":\($0)}" } }) {
            try decode([String: [String: Int]].self, $0)
        },
        EntryPoint("decoder, all keys", numbered) { try decode(AllKeys.self, $0) },
        EntryPoint("decoder, all keys backwards, of another type", quoted) { try decode(Backwards.self, $0) },
        EntryPoint("decoder, rows", LinearityRow.json) { try decode([LinearityRow].self, $0) },
        EntryPoint(
            "decoder, rows in pieces",
            { (count: Int) -> [[UInt8]] in
                let text = LinearityRow.json(count)
                return stride(from: 0, to: text.count, by: 100).map { Array(text[$0..<min(text.count, $0 + 100)]) }
            }
        ) { _ = try JSONStreamDecoder().decode([LinearityRow].self, from: Chunks(chunks: $0)) },
        EntryPoint("decoder, tries that fail", { LargeText.array($0) { "\"\($0)\"" } }) {
            try decode([Either].self, $0)
        },
        EntryPoint("decoder, tries of members that fail", quoted) { try decode([String: Either].self, $0) },
        EntryPoint("decoder, any JSON, rows", LinearityRow.json) { try decode([AnyJSON].self, $0) },
        EntryPoint("decoder, any JSON, keys", { LargeText.object($0) { "[\($0)]" } }) { try decode(AnyJSON.self, $0) },
        // Each error that a failed attempt throws holds its path as an array.
        EntryPoint(
            "decoder, any JSON, depth", largest: 240, { Data(LargeText.nested($0, "[1,", "2", "]")) },
            beside: { text in for _ in 0..<20 { _ = try JSONDecoder().decode(AnyJSON.self, from: text) } }
        ) { text in for _ in 0..<20 { _ = try JSONStreamDecoder().decode(AnyJSON.self, from: text) } },
        EntryPoint("decoder, lossy arrays", { LargeText.array($0) { $0 % 2 == 0 ? "1" : "{\"a\":[1]}" } }) {
            try decode(Lossy.self, $0)
        },
        EntryPoint(
            "decoder, keys again and again",
            { LargeText.joined($0, "{\"values\":{", "\"z\":{}},\"later\":1}") { "\"a\($0 % 5)\":{\"b\":1,\"b\":2}," } }
        ) { try decode(Holder.self, $0) },
        EntryPoint("decoder, depth", largest: 240, LinearityTree.json) { text in
            for _ in 0..<20 { try decode(LinearityTree.self, text) }
        },
        EntryPoint("decoder, unknown members", LinearityRow.jsonWithUnknown) { try decode([LinearityRow].self, $0) },
        EntryPoint("decoder, an error at the end", LinearityRow.jsonWithError) { text in
            try mustThrow { try decode([LinearityRow].self, text) }
        },
        EntryPoint("decoder, a long string", { LargeText.string($0, "ö\\n") }) { try decode([String].self, $0) },
        EntryPoint("decoder, digits", { LargeText.joined($0, "[0.", "]") { _ in "7" } }) {
            try decode([Double].self, $0)
        },
    ]
}

private func encode<Value: Encodable>(_ value: Value) throws {
    let _: Data = try JSONStreamEncoder().encode(value)
}

private func write<Value: StreamValue>(_ value: Value) throws {
    var writer = JSONWriter()
    try writer.write(value)
    try writer.finish()
}

private func numbers(_ count: Int) -> [String: Int] {
    Dictionary(uniqueKeysWithValues: (0..<count).map { ("name \($0)", $0) })
}

var encodingEntryPoints: [EntryPoint] {
    [
        EntryPoint("encoder, [String: Int], keys", numbers) { try encode($0) },
        EntryPoint("encoder, rows", LinearityRow.many) { try encode($0) },
        EntryPoint("encoder, enumerations", { (0..<$0).map { $0 % 2 == 0 ? Either.number($0) : .text("\($0)") } }) {
            try encode($0)
        },
        EntryPoint("encoder, depth", largest: 240, LinearityTree.deep) { tree in for _ in 0..<20 { try encode(tree) } },
        EntryPoint("encoder, a long string", { String(repeating: "\n\"ö\u{1}", count: $0) }) { try encode([$0]) },
        EntryPoint("writer, rows", LinearityRow.many) { try write($0) },
        EntryPoint("writer, depth", largest: 240, LinearityTree.deep) { tree in for _ in 0..<100 { try write(tree) } },
        EntryPoint("writer, escapes", { String(repeating: "\n\"ö\u{1}", count: $0) }) { try write([$0]) },
        EntryPoint("writer, keys", numbers) { try write($0) },
        EntryPoint(
            "writer, a tree",
            { (count: Int) -> PropertyList in
                var builder = PropertyListBuilder()
                try builder.readJSON(LargeText.object(count) { "[\($0)]" })
                return try builder.takeResult()
            }
        ) { list in
            var writer = JSONWriter()
            try writer.write(list)
            try writer.finish()
        },
    ]
}

/// A source of chunks of any size.
private struct Chunks: ByteSource {
    let chunks: [[UInt8]]

    func open() -> ByteInput {
        var rest = chunks[...]
        return ByteInput { (body) throws(StreamError) in
            guard let chunk = rest.popFirst() else { return false }
            _ = try chunk.withBytes(body)
            return true
        }
    }
}
