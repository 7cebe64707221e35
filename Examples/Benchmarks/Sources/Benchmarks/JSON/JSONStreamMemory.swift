// Checks that a stream of typed objects reads gigabytes of JSON in less than 64 MiB of memory.
//
//     swift run -c release --package-path Examples/Benchmarks Benchmarks JSONStreamMemory

import JSONStreaming
import PlistBuilding
import PlistStreaming

/// Reads 4 GiB with `RecordStream`, or 256 MiB in a smoke run.
let jsonStreamMemory = Check(name: "JSONStreamMemory") { scale, _ in
    try streamRecords(byteCount: scale.amount(full: 4 << 30, smoke: 256 << 20))
}

/// A record with all kinds of members that need memory: texts, an array, a nested structure, and an optional member.
private struct Record: StreamObject {
    var id = 0
    var title = ""
    var tags: [String] = []
    var place = Place()
    var note: String?
}

private struct Place: StreamObject {
    var latitude = 0.0
    var longitude = 0.0
    var name = ""
}

/// Returns records for repeated use, each preceded by a comma, and their sum.
private func block() -> (text: [UInt8], count: Int, sum: Int) {
    var text: [UInt8] = []
    var sum = 0
    let count = 5_000
    for id in 0..<count {
        let tags = (0..<id % 5).map { "\"a tag that needs memory of its own \($0)\"" }
        let note = id % 7 == 0 ? ",\"note\":\"\(String(repeating: "é", count: id % 300))\"" : ""
        text += Array(
            """
            ,{"id":\(id),"title":"The title of record number \(id)","unknown":{"a":[null,\(id)]},\
            "tags":[\(tags.joined(separator: ","))],"place":{"latitude":\(id % 90).5,"longitude":-\(id % 180).25,\
            "name":"Ærø"}\(note)}
            """.utf8)
        sum += id + tags.count + (id % 7 == 0 ? id % 300 : 0)
    }
    return (text, count, sum)
}

private final class Total {
    var count = 0
    var sum = 0
}

private func streamRecords(byteCount: Int) throws -> String {
    let block = block()
    let blockCount = (byteCount + block.text.count - 1) / block.text.count
    let total = Total()
    let stream = try RecordStream<Record> { record throws(StreamError) in
        total.count += 1
        total.sum += record.id + record.tags.count + (record.note?.utf8.count ?? 0) / 2
    }
    var reader = JSONReader(sink: stream)
    let canMeasure = resetPeakMemory()
    let clock = ContinuousClock()
    let start = clock.now
    try "[".withUTF8Span { try reader.feed($0) }
    for index in 0..<blockCount {
        try block.text.withUnsafeBytes { bytes in
            // The first record has no comma before it. Chunks can end inside names, numbers and characters.
            var position = index == 0 ? 1 : 0
            while position < bytes.count {
                let end = min(bytes.count, position + 65_521)
                try reader.feed(bytes.bytes.extracting(position..<end))
                position = end
            }
        }
    }
    try "]".withUTF8Span { try reader.feed($0) }
    try reader.finish()
    let elapsed = (clock.now - start) / .seconds(1)
    guard total.count == block.count * blockCount, total.sum == block.sum * blockCount else {
        throw DifferentResults(
            description: "JSONStreamMemory: \(total.count) records with the sum \(total.sum), not "
                + "\(block.count * blockCount) with \(block.sum * blockCount)")
    }
    let read = "\(reader.byteOffset >> 20) MiB, \(total.count) records, \(fixed(elapsed, 1)) s"
    return try withPeak(canMeasure ? memory("VmHWM:") : nil, read, of: jsonStreamMemory.name, limit: 64)
}
