// The JSON reader alone: a sink that adds up events, beside RapidJSON's SAX reader and simdjson on-demand, each walking
// every value of the same text. The peers come from Debian's rapidjson-dev and libsimdjson-dev, and are left out when
// those are not installed. The Swift toolchain's clang makes RapidJSON about half as fast on flat records as g++ -O3
// does; a claim about RapidJSON needs a run of Sources/CJSONPeers/RapidJSON.cpp built by g++ beside it.

import CJSONPeers
import JSONStreaming
import PlistStreaming

let jsonReaderSuite = Suite(name: "JSONReader") { scale in
    if !cjsonpeers_has_rapidjson() { print("skipped: rapidjson; its headers are not installed (rapidjson-dev)") }
    if !cjsonpeers_has_simdjson() { print("skipped: simdjson; not installed (libsimdjson-dev), or no AVX2") }
    return [
        try group(.records(scale.amount(full: 1_000_000, smoke: 10)), goal: 2),
        try group(.posts(scale.amount(full: 400, smoke: 2)), goal: nil),
        try group(.catalogue(scale.amount(full: 800, smoke: 2)), goal: nil),
        try group(.coordinates(scale.amount(full: 60_000, smoke: 2)), goal: nil),
    ]
}

/// A sink that adds up its messages as the peers do: 1 for each, numbers as integers, the lengths of strings.
private struct EventSum: PlistSink {
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

private func group(_ sample: JSONSample, goal: Double?) throws -> Group {
    func ours(_ scan: (inout EventSum, RawSpan) throws -> Void) throws -> UInt64 {
        var sink = EventSum()
        try sample.withBytes { try scan(&sink, $0) }
        return sink.sum
    }
    func peer(_ count: (UnsafePointer<CChar>?, Int) -> UInt64) -> UInt64 {
        sample.padded.withUnsafeBytes { count($0.bindMemory(to: CChar.self).baseAddress, sample.byteCount) }
    }
    var counter = EventSum()
    try sample.withBytes { try counter.readJSON($0) }
    let hasRapidJSON = cjsonpeers_has_rapidjson()
    var cases = [
        Case(name: "whole", peer: hasRapidJSON ? "rapidjson SAX" : nil, goal: hasRapidJSON ? goal : nil) {
            try ours { sink, bytes in try sink.readJSON(bytes) }
        },
        Case(name: "chunks of 64 KiB", peer: hasRapidJSON ? "rapidjson SAX" : nil, goal: hasRapidJSON ? goal : nil) {
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
    if hasRapidJSON {
        cases.append(Case(name: "rapidjson SAX") { peer(cjsonpeers_rapidjson_checksum) })
        cases.append(Case(name: "rapidjson SAX, as strict") { peer(cjsonpeers_rapidjson_strict_checksum) })
    }
    if cjsonpeers_has_simdjson() {
        cases.append(Case(name: "simdjson on-demand") { peer(cjsonpeers_simdjson_checksum) })
    }
    return Group(
        name: sample.name, work: Work(count: counter.count, unit: "event", byteCount: sample.byteCount), cases: cases)
}
