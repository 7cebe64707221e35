// Compares the JSON reader, with a sink that adds up events, with RapidJSON's SAX reader and simdjson on-demand. Each
// of them visits every value of the same text.

import JSONStreaming
import PlistStreaming

let jsonReaderSuite = Suite(name: "JSONReader") { scale in
    [
        try group(.records(scale.amount(full: 1_000_000, smoke: 10))),
        try group(.posts(scale.amount(full: 100, smoke: 2))),
        try group(.catalogue(scale.amount(full: 243, smoke: 2))),
        try group(.coordinates(scale.amount(full: 56_000, smoke: 2))),
    ]
}

/// A sink that adds up its messages in the same way as the peers: 1 per message, the values of integers, and the
/// lengths of strings.
struct EventSum: PlistSink {
    var sum: UInt64 = 0
    var count = 0
    private mutating func add(_ value: UInt64) {
        sum &+= 1 &+ value
        count &+= 1
    }
    mutating func beginArray() throws(StreamError) { add(0) }
    mutating func endArray() throws(StreamError) { add(0) }
    mutating func beginDictionary() throws(StreamError) { add(0) }
    mutating func endDictionary() throws(StreamError) { add(0) }
    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { add(UInt64(utf8.byteCount)) }
    mutating func writeNull() throws(StreamError) { add(0) }
    mutating func writeBool(_ value: Bool) throws(StreamError) { add(value ? 1 : 0) }
    mutating func writeInteger(_ value: Int64) throws(StreamError) { add(UInt64(bitPattern: value)) }
    mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { add(value) }
    mutating func writeReal(_ value: Double) throws(StreamError) { add(UInt64(bitPattern: Int64(value))) }
    mutating func writeNumber(text: RawSpan) throws(StreamError) { add(0) }
    mutating func writeString(_ utf8: RawSpan) throws(StreamError) { add(UInt64(utf8.byteCount)) }
    mutating func writeData(_ bytes: RawSpan) throws(StreamError) { add(0) }
    mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) { add(0) }
}

extension JSONSample {
    /// Returns the number of messages that a reader sends for this text.
    func eventCount() throws -> Int {
        var counter = EventSum()
        try withBytes { try counter.readJSON($0) }
        return counter.count
    }
}

/// A sink that stops the stream at the first message. In all samples, that message begins a container.
private struct FirstEvent: PartialSink {
    mutating func beginArray() throws(StreamError) { throw .stopRequest() }
    mutating func beginDictionary() throws(StreamError) { throw .stopRequest() }
}

/// Returns the time until a sink ends the stream at the first object or event.
func timeToStop(_ body: () throws -> Void) throws -> Duration {
    try ContinuousClock().measure {
        do { try body() } catch let error as StreamError where error.isStopRequest {}
    }
}

private func group(_ sample: JSONSample) throws -> Group {
    func ours(_ scan: (inout EventSum, RawSpan) throws -> Void) throws -> UInt64 {
        var sink = EventSum()
        try sample.withBytes { try scan(&sink, $0) }
        return sink.sum
    }
    func first() throws -> Duration {
        try timeToStop {
            var sink = FirstEvent()
            try sample.withBytes { try sink.readJSON($0) }
        }
    }
    let eventCount = try sample.eventCount()
    let peers = [Goal(peer: "rapidjson SAX as strict"), Goal(peer: "simdjson on-demand")]
    return Group(
        name: sample.name,
        work: Work(count: eventCount, unit: "event", byteCount: sample.byteCount, eventCount: eventCount),
        cases: [
            Case(name: "whole", peer: "rapidjson SAX", goal: 2, also: peers, first: first) {
                try ours { sink, bytes in try sink.readJSON(bytes) }
            },
            Case(name: "chunks of 64 KiB", peer: "rapidjson SAX", goal: 2, also: peers, first: first) {
                try ours { sink, bytes in
                    var scanner = JSONScanner()
                    var start = 0
                    while start < bytes.byteCount {
                        let end = min(start + 65_536, bytes.byteCount)
                        try scanner.scan(bytes.extracting(start..<end), into: &sink)
                        start = end
                    }
                    try scanner.finish(into: &sink)
                }
            },
        ]
            + NativePeers.rapidJSONCases("rapidjson SAX", "checksum", sample)
            + NativePeers.rapidJSONCases("rapidjson SAX as strict", "strict_checksum", sample)
            + NativePeers.cases(
                "simdjson", "simdjson on-demand", "simdjson_checksum", sample, first: "simdjson_first_event"))
}
