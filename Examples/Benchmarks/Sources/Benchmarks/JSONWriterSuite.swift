// The JSON writer beside Foundation's encoders: the records of the articles, from structures to bytes in memory;
// and coordinates, which are all doubles.

import Foundation
import JSONStreaming
import PlistStreaming

let jsonWriterSuite = Suite(name: "JSONWriter") { scale in
    [recordsGroup(scale.amount(full: 100_000, smoke: 10)), realsGroup(scale.amount(full: 100_000, smoke: 10))]
}

private struct Record: Encodable {
    let hi: Int
    let there: Int
    let comment: String
}

private func recordsGroup(_ count: Int) -> Group {
    let records = (0..<count).map { Record(hi: $0, there: $0, comment: "comment") }
    let dictionaries = records.map { ["hi": $0.hi, "there": $0.there, "comment": $0.comment] as [String: Any] }
    let byteCount = (try? JSONEncoder().encode(records).count) ?? 0
    // One writer whose memory is used again, as a server does.
    let writer = ReusedWriter()
    return Group(
        name: "records", work: Work(count: count, unit: "object", byteCount: byteCount, eventCount: 8 * count + 2),
        cases: [
            Case(name: "JSONWriter", peer: "JSONEncoder", goal: 30) {
                try writer.write { json throws(StreamError) in
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
            },
            Case(name: "JSONEncoder") { UInt64(try JSONEncoder().encode(records).count) },
            Case(name: "JSONSerialization") {
                UInt64(try JSONSerialization.data(withJSONObject: dictionaries).count)
            },
        ])
}

private func realsGroup(_ count: Int) -> Group {
    var random = SeededGenerator(seed: 4)
    // Doubles that need all their digits; every text has a point, in Foundation as well.
    let values = (0..<count).map { _ in 1 + Double(random.next() >> 11) / Double(1 << 53 as UInt64) }
    let byteCount = (try? JSONEncoder().encode(values).count) ?? 0
    let writer = ReusedWriter()
    return Group(
        name: "reals", work: Work(count: count, unit: "number", byteCount: byteCount, eventCount: count + 2),
        cases: [
            Case(name: "JSONWriter", peer: "JSONEncoder", goal: 30) {
                try writer.write { json throws(StreamError) in
                    try json.beginArray()
                    for value in values { try json.writeReal(value) }
                    try json.endArray()
                }
            },
            Case(name: "JSONEncoder") { UInt64(try JSONEncoder().encode(values).count) },
        ])
}

/// A writer to memory that keeps its memory.
private final class ReusedWriter {
    private var json = JSONWriter()

    /// Writes a text and returns its length.
    func write(_ body: (inout JSONWriter) throws(StreamError) -> Void) throws(StreamError) -> UInt64 {
        json.reset()
        try body(&json)
        try json.finish()
        return UInt64(json.withBytes { bytes in bytes.byteCount })
    }
}
