// Decodes JSON into values from the file used in the articles: one million objects with two integers and a short
// string.

import CJSONPeers
import Foundation
import JSONStreaming
import PlistBuilding
import PlistStreaming

let jsonRecordsSuite = Suite(name: "JSONRecords") { scale in
    let sample = try JSONSample.records(scale.amount(full: 1_000_000, smoke: 100))
    let fewer = try JSONSample.records(scale.amount(full: 100_000, smoke: 100))
    let (count, fewerCount) = (scale.amount(full: 1_000_000, smoke: 100), scale.amount(full: 100_000, smoke: 100))
    return [
        try structuresGroup(count, sample), objectsGroup(count, sample), streamGroup(count, sample),
        columnsGroup(count, sample), foundationGroup(fewerCount, fewer), writingGroup(fewerCount, fewer),
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

private func work(_ count: Int, _ sample: JSONSample) -> Work {
    // Each object has three members with their names, and a beginning and an end. The array adds a beginning and an
    // end.
    Work(count: count, unit: "object", byteCount: sample.byteCount, eventCount: 8 * count + 2)
}

private func sum(_ records: [Record]) -> UInt64 {
    records.reduce(into: 0) { $0 &+= UInt64($1.hi + $1.there + $1.comment.utf8.count) }
}

private func expectedSum(_ count: Int) -> UInt64 { UInt64(count) * UInt64(count - 1) + 7 * UInt64(count) }

private func structuresGroup(_ count: Int, _ sample: JSONSample) throws -> Group {
    try Group(
        name: "structures", work: work(count, sample),
        cases: [
            .making(
                "ObjectBuilder<[struct]>", peer: "simdjson", goal: 1.1,
                also: [Goal(peer: "msgspec"), Goal(peer: "orjson")], { try structures(sample) }, sum: sum),
            .making(
                "creating them",
                {
                    var records: [Record] = []
                    for number in 0..<count {
                        records.append(Record(hi: number, there: number, comment: "comment"))
                    }
                    return records
                }, sum: sum),
            readingIntoNothing(count, sample),
        ]
            + NativePeers.cases(
                "simdjson", "simdjson", "simdjson_structures", sample, check: "simdjson_structures_checksum")
            + PythonPeers.cases("msgspec", "msgspec", job: "records", sample)
            + PythonPeers.cases("orjson", "orjson", job: "records", sample))
}

private func structures(_ sample: JSONSample) throws -> [Record] {
    var builder = try ObjectBuilder<[Record]>()
    try sample.withBytes { try builder.readJSON($0) }
    return try builder.takeResult()
}

private func readingIntoNothing(_ count: Int, _ sample: JSONSample) -> Case {
    Case(name: "reading into nothing") {
        var sink = NullSink()
        try sample.withBytes { try sink.readJSON($0) }
        return expectedSum(count)
    }
}

private func objectsGroup(_ count: Int, _ sample: JSONSample) -> Group {
    func sum(_ records: [RecordObject]) -> UInt64 {
        records.reduce(into: 0) { $0 &+= UInt64($1.hi + $1.there + $1.comment.utf8.count) }
    }
    return Group(
        name: "objects", work: work(count, sample),
        cases: [
            .making(
                "ObjectBuilder<[class]>", peer: "creating them", goal: 1 / 1.4,
                {
                    var builder = try ObjectBuilder<[RecordObject]>()
                    try sample.withBytes { try builder.readJSON($0) }
                    return try builder.takeResult()
                }, sum: sum),
            .making(
                "creating them",
                {
                    var records: [RecordObject] = []
                    for number in 0..<count {
                        let record = RecordObject()
                        record.hi = number
                        record.there = number
                        record.comment = "comment"
                        records.append(record)
                    }
                    return records
                }, sum: sum),
        ])
}

/// The sum of the records read so far.
private final class Total {
    var sum: UInt64 = 0
}

private func streamGroup(_ count: Int, _ sample: JSONSample) -> Group {
    func timeToFirst<Value: StreamValue>(_ type: Value.Type) throws -> Duration {
        try timeToStop {
            var stream = try RecordStream<Value> { _ throws(StreamError) in throw .stopRequest() }
            try sample.withBytes { try stream.readJSON($0) }
        }
    }
    return Group(
        name: "streams", work: work(count, sample),
        cases: [
            Case(
                name: "RecordStream<struct>", peer: "simdjson", goal: 0.9, first: { try timeToFirst(Record.self) }
            ) {
                let total = Total()
                var stream = try RecordStream<Record> { record throws(StreamError) in
                    total.sum &+= UInt64(record.hi + record.there + record.comment.utf8.count)
                }
                try sample.withBytes { try stream.readJSON($0) }
                return total.sum
            },
            Case(
                name: "RecordStream<class>", peer: "simdjson", goal: 0.9, first: { try timeToFirst(RecordObject.self) }
            ) {
                let total = Total()
                var stream = try RecordStream<RecordObject> { record throws(StreamError) in
                    total.sum &+= UInt64(record.hi + record.there + record.comment.utf8.count)
                }
                try sample.withBytes { try stream.readJSON($0) }
                return total.sum
            },
            readingIntoNothing(count, sample),
        ] + NativePeers.cases("simdjson", "simdjson", "simdjson_streamed", sample, first: "simdjson_first"))
}

private func columnsGroup(_ count: Int, _ sample: JSONSample) -> Group {
    Group(
        name: "columns", work: work(count, sample),
        cases: [
            .making(
                "ColumnsBuilder", peer: "simdjson to structures", goal: 1.4,
                {
                    var builder = ColumnsBuilder(["hi": .integer, "there": .integer, "comment": .string])
                    try sample.withBytes { try builder.readJSON($0) }
                    return try builder.takeResult()
                },
                sum: { columns in
                    var sum = UInt64(columns["comment"]?.withText { text, _ in text.count } ?? 0)
                    for name in ["hi", "there"] {
                        columns[name]?.withIntegers { for value in $0 { sum &+= UInt64(value) } }
                    }
                    return sum
                })
        ]
            + NativePeers.cases(
                "simdjson", "simdjson to structures", "simdjson_structures", sample,
                check: "simdjson_structures_checksum"))
}

private func writingGroup(_ count: Int, _ sample: JSONSample) -> Group {
    let records = (0..<count).map { Record(hi: $0, there: $0, comment: "comment") }
    return Group(
        name: "writing", work: work(count, sample),
        cases: [
            Case(
                name: "JSONWriter of bound types", peer: "JSONEncoder", goal: 30,
                check: { sum(try JSONDecoder().decode([Record].self, from: Data(try written(records).bytes))) }
            ) {
                UInt64(try written(records).withBytes { $0.byteCount })
            },
            Case(
                name: "JSONStreamEncoder", peer: "JSONEncoder",
                check: {
                    let text = try JSONStreamEncoder().encode(records)
                    return sum(try JSONDecoder().decode([Record].self, from: text))
                }
            ) {
                UInt64(try JSONStreamEncoder().encode(records).count)
            },
            Case(
                name: "JSONEncoder",
                check: { sum(try JSONDecoder().decode([Record].self, from: try JSONEncoder().encode(records))) }
            ) {
                UInt64(try JSONEncoder().encode(records).count)
            },
        ])
}

private func written(_ records: [Record]) throws -> JSONWriter {
    var writer = JSONWriter()
    try writer.write(records)
    try writer.finish()
    return writer
}

private func foundationGroup(_ count: Int, _ sample: JSONSample) -> Group {
    let data = Data(sample.padded.prefix(sample.byteCount))
    return Group(
        name: "foundation", work: work(count, sample),
        cases: [
            .making("ObjectBuilder<[struct]>", peer: "JSONDecoder", goal: 35, { try structures(sample) }, sum: sum),
            .making(
                "JSONStreamDecoder", peer: "JSONDecoder", goal: 8,
                { try JSONStreamDecoder().decode([Record].self, from: data) }, sum: sum),
            .making("JSONDecoder", { try JSONDecoder().decode([Record].self, from: data) }, sum: sum),
        ])
}
