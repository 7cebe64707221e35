// Compares the JSON writer with Foundation's encoders, RapidJSON's and yyjson's writers, and orjson. The inputs are the
// records used in the articles, doubles that need all their digits, and texts in many scripts.
// All native writers reuse their memory, as in a server. Foundation reads each result, and the sizes of the results
// must match.

import CJSONPeers
import Foundation
import JSONStreaming
import PlistBuilding
import PlistStreaming

let jsonWriterSuite = Suite(name: "JSONWriter") { scale in
    [
        try recordsGroup(scale.amount(full: 100_000, smoke: 10)),
        try realsGroup(scale.amount(full: 100_000, smoke: 10)),
        try stringsGroup(scale.amount(full: 20_000, smoke: 10)),
    ]
}

private struct Record: Codable {
    let hi: Int
    let there: Int
    let comment: String
}

/// The names of the peers that write.
private let peers = ["rapidjson writer", "yyjson writer", "orjson"].map { Goal(peer: $0) }

/// Checks the size of a written text and returns the sum of its values.
///
/// RapidJSON doesn't always find the shortest digits, so a text may be longer by one byte in 200.
private func sum<Value: Decodable>(
    _ text: Data, _ byteCount: Int, as type: [Value].Type, _ add: (Value) -> UInt64
) throws -> UInt64 {
    guard text.count >= byteCount, text.count - byteCount <= byteCount / 200 else {
        throw DifferentResults(description: "a text of \(text.count) bytes, where others have \(byteCount)")
    }
    return try JSONDecoder().decode(type, from: text).reduce(0) { $0 &+ add($1) }
}

/// Returns a case of the writer that either reuses its memory or allocates new memory for each text.
private func ours(
    _ name: String, isReused: Bool = true, goal: Double? = 30, sum: @escaping (Data) throws -> UInt64,
    _ write: @escaping (inout JSONWriter) throws(StreamError) -> Void
) -> Case {
    let reused = ReusedWriter()
    func writer() -> ReusedWriter { isReused ? reused : ReusedWriter() }
    return Case(
        name: name, peer: "JSONEncoder", goal: goal, also: goal == nil ? [] : peers,
        check: { try sum(try writer().write(write) { Data($0) }) }
    ) {
        try writer().write(write) { UInt64($0.count) }
    }
}

private func foundation<Value: Encodable>(_ value: Value, sum: @escaping (Data) throws -> UInt64) -> Case {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return Case(name: "JSONEncoder", check: { try sum(try encoder.encode(value)) }) {
        UInt64(try encoder.encode(value).count)
    }
}

/// The peers in C, C++ and Python.
private func others<Element>(
    _ job: String, _ input: NativeInput<Element>, _ sample: JSONSample, sum: @escaping (Data) throws -> UInt64
) throws -> [Case] {
    let function = "write_\(job)"
    return NativePeers.writers("rapidjson", "rapidjson writer", function, input, sum: sum)
        + NativePeers.writers("rapidjson_sse42", "rapidjson writer, SSE4.2", function, input, sum: sum)
        + NativePeers.writers("yyjson", "yyjson writer, and its tree", function, input, sum: sum)
        + (try PythonPeers.cases("yyjson", "yyjson writer, of PyPI, of a tree", job: function, sample))
        + (try PythonPeers.cases("orjson", "orjson", job: function, sample))
}

private func recordsGroup(_ count: Int) throws -> Group {
    let records = (0..<count).map { Record(hi: $0, there: $0, comment: "comment") }
    let dictionaries = records.map { ["hi": $0.hi, "there": $0.there, "comment": $0.comment] as [String: Any] }
    func serialized() throws -> Data { try JSONSerialization.data(withJSONObject: dictionaries) }
    let sample = try JSONSample.records(count)
    func added(_ text: Data) throws -> UInt64 {
        try sum(text, sample.byteCount, as: [Record].self) { UInt64($0.hi + $0.there + $0.comment.utf8.count) }
    }
    func write(_ json: inout JSONWriter) throws(StreamError) {
        try json.beginArray()
        for record in records {
            try json.beginDictionary()
            try json.writeKey("hi")
            try json.writeInteger(Int64(record.hi))
            try json.writeKey("there")
            try json.writeInteger(Int64(record.there))
            try json.writeKey("comment")
            try record.comment.withUTF8Span { text throws(StreamError) in try json.writeString(text) }
            try json.endDictionary()
        }
        try json.endArray()
    }
    let input = NativeInput(records) { record, copy in
        cjsonpeers_record(hi: Int64(record.hi), there: Int64(record.there), comment: copy(record.comment))
    }
    return try Group(
        name: "records",
        work: Work(count: count, unit: "object", byteCount: sample.byteCount, eventCount: 8 * count + 2),
        cases: [
            ours("JSONWriter", sum: added, write),
            ours("JSONWriter, new", isReused: false, goal: nil, sum: added, write),
            foundation(records, sum: added),
            Case(name: "JSONSerialization", check: { try added(try serialized()) }) {
                UInt64(try serialized().count)
            },
        ] + others("records", input, sample, sum: added))
}

private func realsGroup(_ count: Int) throws -> Group {
    var random = SeededGenerator(seed: 4)
    // Use doubles that need all their digits and that Foundation also writes with a decimal point.
    let values = (0..<count).map { _ in 1 + Double(random.next() >> 11) / Double(1 << 53 as UInt64) }
    let sample = try JSONSample("reals") { writer in
        try writer.array(count) { writer, index in try writer.json.writeReal(values[index]) }
    }
    func added(_ text: Data) throws -> UInt64 {
        try sum(text, sample.byteCount, as: [Double].self) { $0.bitPattern }
    }
    func write(_ json: inout JSONWriter) throws(StreamError) {
        try json.beginArray()
        for value in values { try json.writeReal(value) }
        try json.endArray()
    }
    return try Group(
        name: "reals", work: Work(count: count, unit: "number", byteCount: sample.byteCount, eventCount: count + 2),
        cases: [
            ours("JSONWriter", sum: added, write),
            ours("JSONWriter, new", isReused: false, goal: nil, sum: added, write),
            ours("JSONWriter, of [Double]", goal: nil, sum: added) { json throws(StreamError) in
                try json.write(values)
            },
            foundation(values, sum: added),
        ] + others("reals", NativeInput(values) { value, _ in value }, sample, sum: added))
}

private func stringsGroup(_ count: Int) throws -> Group {
    var random = SeededGenerator(seed: 6)
    let texts = (0..<count).map { _ in
        SampleText.text(4 + random.below(136), SampleText.script(&random), &random)
    }
    let sample = try JSONSample("strings") { writer in
        try writer.array(count) { writer, index in
            try texts[index].withUTF8Span { try writer.json.writeString($0) }
        }
    }
    func added(_ text: Data) throws -> UInt64 {
        try sum(text, sample.byteCount, as: [String].self) { $0.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) } }
    }
    func write(_ json: inout JSONWriter) throws(StreamError) {
        try json.beginArray()
        for text in texts { try text.withUTF8Span { text throws(StreamError) in try json.writeString(text) } }
        try json.endArray()
    }
    return try Group(
        name: "strings", work: Work(count: count, unit: "string", byteCount: sample.byteCount, eventCount: count + 2),
        cases: [
            ours("JSONWriter", goal: nil, sum: added, write), foundation(texts, sum: added),
        ] + others("strings", NativeInput(texts) { text, copy in copy(text) }, sample, sum: added))
}

/// A writer that reuses its output memory.
private final class ReusedWriter {
    private var json = JSONWriter()

    /// Writes a text and returns the result of `take` for its bytes.
    func write<Value>(
        _ body: (inout JSONWriter) throws(StreamError) -> Void, _ take: (UnsafeRawBufferPointer) -> Value
    ) throws(StreamError) -> Value {
        json.reset()
        try body(&json)
        try json.finish()
        return json.withBytes { bytes in bytes.withUnsafeBytes(take) }
    }
}
