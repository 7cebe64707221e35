// JSON into values: the file of the articles, one million objects with two integers and a short string.

import CJSONPeers
import Foundation
import JSONStreaming
import PlistBuilding
import PlistStreaming

let jsonRecordsSuite = Suite(name: "JSONRecords") { scale in
    let count = scale.amount(full: 1_000_000, smoke: 100)
    let fewer = scale.amount(full: 100_000, smoke: 100)
    return [
        structuresGroup(count), objectsGroup(count), streamGroup(count), columnsGroup(count), treeGroup(count),
        foundationGroup(fewer), writingGroup(fewer),
    ]
}

private struct Record: StreamObject, Codable {
    var hi = 0
    var there = 0
    var comment = ""
}

private final class RecordObject: StreamObject {
    var hi = 0
    var there = 0
    var comment = ""
    init() {}
}

/// The records as JSON text: `[{"hi":0,"there":0,"comment":"comment"},…]`.
private func recordsText(_ count: Int) -> [UInt8] {
    var text = Array("[".utf8)
    for number in 0..<count {
        if number > 0 { text.append(UInt8(ascii: ",")) }
        text.append(contentsOf: "{\"hi\":\(number),\"there\":\(number),\"comment\":\"comment\"}".utf8)
    }
    text.append(UInt8(ascii: "]"))
    return text
}

/// The case of simdjson, where it was there when this was compiled.
private func simdJSON(
    _ name: String, _ text: [UInt8], _ sum: @escaping (UnsafePointer<CChar>, Int) -> UInt64
) -> [Case] {
    guard cjsonpeers_has_simdjson() else { return [] }
    let padded = text + [UInt8](repeating: 0, count: 64)
    return [
        Case(name: name) {
            padded.withUnsafeBytes { bytes in
                bytes.baseAddress.map { sum($0.assumingMemoryBound(to: CChar.self), text.count) } ?? 0
            }
        }
    ]
}

private let simdPeer = cjsonpeers_has_simdjson() ? "simdjson" : nil

private func work(_ count: Int, _ text: [UInt8]) -> Work { Work(count: count, unit: "object", byteCount: text.count) }

private func sum(_ records: [Record]) -> UInt64 {
    records.reduce(into: 0) { $0 &+= UInt64($1.hi + $1.there + $1.comment.utf8.count) }
}

private func expectedSum(_ count: Int) -> UInt64 { UInt64(count) * UInt64(count - 1) + 7 * UInt64(count) }

private func structuresGroup(_ count: Int) -> Group {
    let text = recordsText(count)
    return Group(
        name: "structures", work: work(count, text),
        cases: [
            Case(name: "ObjectBuilder<[struct]>", peer: simdPeer, goal: simdPeer == nil ? nil : 1.1) {
                var builder = try ObjectBuilder<[Record]>()
                try builder.readJSON(text)
                return sum(try builder.takeResult())
            },
            Case(name: "creating them") {
                var records: [Record] = []
                for number in 0..<count {
                    records.append(Record(hi: number, there: number, comment: "comment"))
                }
                return sum(records)
            },
            Case(name: "reading into nothing") {
                var sink = NullSink()
                try sink.readJSON(text)
                return expectedSum(count)
            },
        ] + simdJSON("simdjson", text, cjsonpeers_simdjson_structures))
}

private func objectsGroup(_ count: Int) -> Group {
    let text = recordsText(count)
    func sum(_ records: [RecordObject]) -> UInt64 {
        records.reduce(into: 0) { $0 &+= UInt64($1.hi + $1.there + $1.comment.utf8.count) }
    }
    return Group(
        name: "objects", work: work(count, text),
        cases: [
            Case(name: "ObjectBuilder<[class]>", peer: "creating them", goal: 1 / 1.4) {
                var builder = try ObjectBuilder<[RecordObject]>()
                try builder.readJSON(text)
                return sum(try builder.takeResult())
            },
            Case(name: "creating them") {
                var records: [RecordObject] = []
                for number in 0..<count {
                    let record = RecordObject()
                    record.hi = number
                    record.there = number
                    record.comment = "comment"
                    records.append(record)
                }
                return sum(records)
            },
        ])
}

/// Adds up records as they pass.
private final class Total {
    var sum: UInt64 = 0
}

private func streamGroup(_ count: Int) -> Group {
    let text = recordsText(count)
    return Group(
        name: "streams", work: work(count, text),
        cases: [
            Case(name: "ObjectStream<struct>", peer: simdPeer, goal: simdPeer == nil ? nil : 0.9) {
                let total = Total()
                var stream = try ObjectStream<Record> { record throws(StreamError) in
                    total.sum &+= UInt64(record.hi + record.there + record.comment.utf8.count)
                }
                try stream.readJSON(text)
                return total.sum
            },
            Case(name: "ObjectStream<class>", peer: simdPeer, goal: simdPeer == nil ? nil : 0.9) {
                let total = Total()
                var stream = try ObjectStream<RecordObject> { record throws(StreamError) in
                    total.sum &+= UInt64(record.hi + record.there + record.comment.utf8.count)
                }
                try stream.readJSON(text)
                return total.sum
            },
            Case(name: "reading into nothing") {
                var sink = NullSink()
                try sink.readJSON(text)
                return expectedSum(count)
            },
        ] + simdJSON("simdjson", text, cjsonpeers_simdjson_streamed))
}

private func columnsGroup(_ count: Int) -> Group {
    let text = recordsText(count)
    return Group(
        name: "columns", work: work(count, text),
        cases: [
            Case(name: "ColumnsBuilder", peer: simdPeer, goal: simdPeer == nil ? nil : 1.4) {
                var builder = ColumnsBuilder(["hi": .integer, "there": .integer, "comment": .string])
                try builder.readJSON(text)
                let columns = try builder.takeResult()
                var sum = UInt64(columns["comment"]?.withText { text, _ in text.count } ?? 0)
                for name in ["hi", "there"] {
                    columns[name]?.withIntegers { for value in $0 { sum &+= UInt64(value) } }
                }
                return sum
            }
        ] + simdJSON("simdjson", text, cjsonpeers_simdjson_structures))
}

private func treeGroup(_ count: Int) -> Group {
    let text = recordsText(count)
    return Group(
        name: "tree", work: work(count, text),
        cases: [
            Case(name: "PropertyListBuilder") {
                var builder = PropertyListBuilder()
                try builder.readJSON(text)
                guard let list = builder.takeResult() else { return 0 }
                return UInt64(list.count) + UInt64(list[count - 1]?["hi"]?.integerValue ?? 0)
            }
        ])
}

private func writingGroup(_ count: Int) -> Group {
    let records = (0..<count).map { Record(hi: $0, there: $0, comment: "comment") }
    return Group(
        name: "writing", work: work(count, recordsText(count)),
        cases: [
            Case(name: "JSONWriter of bound types", peer: "JSONEncoder", goal: 30) {
                var writer = JSONWriter()
                try writer.write(records)
                try writer.finish()
                return UInt64(writer.text.utf8.count)
            },
            Case(name: "JSONStreamEncoder", peer: "JSONEncoder") {
                UInt64(try JSONStreamEncoder().encode(records).utf8.count)
            },
            Case(name: "JSONEncoder") { UInt64(try JSONEncoder().encode(records).count) },
        ])
}

private func foundationGroup(_ count: Int) -> Group {
    let text = recordsText(count)
    let data = Data(text)
    return Group(
        name: "foundation", work: work(count, text),
        cases: [
            Case(name: "ObjectBuilder<[struct]>", peer: "JSONDecoder", goal: 35) {
                var builder = try ObjectBuilder<[Record]>()
                try builder.readJSON(text)
                return sum(try builder.takeResult())
            },
            Case(name: "JSONStreamDecoder", peer: "JSONDecoder", goal: 8) {
                sum(try JSONStreamDecoder().decode([Record].self, from: data))
            },
            Case(name: "JSONDecoder") { sum(try JSONDecoder().decode([Record].self, from: data)) },
            Case(name: "PropertyListBuilder", peer: "JSONSerialization", goal: 25) {
                var builder = PropertyListBuilder()
                try builder.readJSON(text)
                let list = builder.takeResult()
                return list?.elements.reduce(into: UInt64(0)) { sum, record in
                    sum += UInt64(record["hi"]?.integerValue ?? 0) + UInt64(record["there"]?.integerValue ?? 0)
                    sum += UInt64(record["comment"]?.stringValue?.utf8.count ?? 0)
                } ?? 0
            },
            Case(name: "JSONSerialization") {
                let list = try JSONSerialization.jsonObject(with: data) as? [[String: Any]] ?? []
                return list.reduce(into: UInt64(0)) { sum, record in
                    sum += UInt64(record["hi"] as? Int ?? 0) + UInt64(record["there"] as? Int ?? 0)
                    sum += UInt64((record["comment"] as? String)?.utf8.count ?? 0)
                }
            },
        ])
}
