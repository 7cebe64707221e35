// Compares JSON trees of any shape with yyjson's tree, orjson's dictionaries and Foundation's JSONSerialization. A run
// makes the tree and releases it. Separate runs visit every value to check that the trees are equal.

import Foundation
import JSONStreaming
import PlistBuilding
import PlistStreaming

let jsonTreeSuite = Suite(name: "JSONTree") { scale in
    [
        // JSONSerialization needs five seconds for a million records.
        try group(.records(scale.amount(full: 1_000_000, smoke: 10)), hasFoundation: scale.isSmoke),
        try group(.records(scale.amount(full: 100_000, smoke: 10)), name: "fewer records", hasPeers: false),
        try group(.posts(scale.amount(full: 100, smoke: 2))),
        try group(.catalogue(scale.amount(full: 243, smoke: 2))),
        try group(.coordinates(scale.amount(full: 56_000, smoke: 2))),
    ]
}

private func group(
    _ sample: JSONSample, name: String? = nil, hasPeers: Bool = true, hasFoundation: Bool = true
) throws -> Group {
    let eventCount = try sample.eventCount()
    let data = Data(sample.padded.prefix(sample.byteCount))
    func tree() throws -> PropertyList {
        var builder = PropertyListBuilder()
        try sample.withBytes { try builder.readJSON($0) }
        return try builder.takeResult()
    }
    var cases = [
        Case(
            name: "PropertyListBuilder", peer: hasPeers ? "yyjson" : "JSONSerialization", goal: hasPeers ? 0.5 : 25,
            also: hasPeers ? [Goal(peer: "JSONSerialization", ratio: 25), Goal(peer: "orjson")] : [],
            check: { sum(try tree()) }
        ) {
            try tree().isNull ? 0 : 1
        }
    ]
    if hasPeers {
        cases += NativePeers.cases("yyjson", "yyjson", "yyjson_tree", sample, check: "yyjson_checksum")
        cases += try PythonPeers.cases("yyjson", "yyjson, of PyPI", job: "tree", sample)
        cases += try PythonPeers.cases("orjson", "orjson", job: "tree", sample)
    }
    if hasFoundation {
        cases.append(
            Case(name: "JSONSerialization", check: { sum(try JSONSerialization.jsonObject(with: data)) }) {
                try JSONSerialization.jsonObject(with: data) is NSNull ? 0 : 1
            })
    }
    return Group(
        name: name ?? sample.name,
        work: Work(count: eventCount, unit: "event", byteCount: sample.byteCount, eventCount: eventCount), cases: cases)
}

/// Returns the sum that `EventSum` gives for the stream of a tree.
private func sum(_ list: PropertyList) -> UInt64 {
    switch list.kind {
    case .array: list.elements.reduce(2) { $0 &+ sum($1) }
    case .dictionary: list.members.reduce(2) { $0 &+ 1 &+ UInt64($1.key.utf8.count) &+ sum($1.value) }
    case .string: 1 + UInt64(list.stringValue?.utf8.count ?? 0)
    case .integer: 1 &+ UInt64(bitPattern: list.integerValue ?? 0)
    case .real: 1 &+ UInt64(bitPattern: Int64(list.realValue ?? 0))
    case .bool: list.boolValue == true ? 2 : 1
    default: 1
    }
}

/// Returns the same sum for Foundation's objects.
private func sum(_ object: Any) -> UInt64 {
    switch object {
    case let array as [Any]: return array.reduce(2) { $0 &+ sum($1) }
    case let dictionary as [String: Any]:
        return dictionary.reduce(2) { $0 &+ 1 &+ UInt64($1.key.utf8.count) &+ sum($1.value) }
    case let string as String: return 1 + UInt64(string.utf8.count)
    case let number as NSNumber:
        // Foundation represents Booleans as numbers with the type of a character.
        if String(cString: number.objCType) == "c" { return number.boolValue ? 2 : 1 }
        return 1 &+ UInt64(bitPattern: number.int64Value)
    default: return 1
    }
}
