// Compares property list trees with PropertyListSerialization, and values of a bound type with PropertyListEncoder and
// PropertyListDecoder.
// The sample is a dictionary of archive items with ten members: names, dates, data, repeating and distinct numbers, and
// strings that are missing in a third of the items.

import Foundation
import PlistBuilding
import PlistStreaming
import PropertyListFiles

let propertyListSuite = Suite(name: "PropertyLists") { scale in
    let items = PropertyListItem.sample(scale.amount(full: 10_000, smoke: 20))
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    let binary = try encoder.encode(items)
    encoder.outputFormat = .xml
    let xml = try encoder.encode(items)
    return [
        try readingItems(binary, count: items.count), try writingItems(items),
        try trees(binary, name: "binary tree", goal: 5),
        try trees(xml, name: "XML tree", goal: nil),
    ]
}

struct PropertyListItem: StreamObject, Codable {
    var identifier = ""
    var createdAt = Date(timeIntervalSinceReferenceDate: 0)
    var hash = ""
    var data = Data()
    var note: String?
    var views = 0
    var x = 0.0
    var y = 0.0
    var width = 0.0
    var height = 0.0

    static func sample(_ count: Int) -> [String: PropertyListItem] {
        var random = SeededGenerator(seed: 2_013)
        func digits(_ count: Int) -> String {
            (0..<count).map { _ in String(Int.random(in: 0..<16, using: &random), radix: 16) }.joined()
        }
        let notes = ["short", "a note with some more words in it", "Grüße aus Köln", "", "日本語のノート"]
        var items: [String: PropertyListItem] = [:]
        for number in 0..<count {
            var item = PropertyListItem()
            item.identifier = "\(digits(8))-\(digits(4))-\(digits(12))"
            // Use whole seconds because XML dates have no fractions.
            item.createdAt = Date(
                timeIntervalSinceReferenceDate: Double(Int.random(in: 0...800_000_000, using: &random)))
            item.hash = digits(40)
            item.data = Data((0..<64).map { _ in .random(in: 0...255, using: &random) })
            if number % 3 > 0 {
                item.note = (notes.randomElement(using: &random) ?? "") + (number % 2 == 0 ? " \(number)" : "")
            }
            item.views = Int.random(in: 0...(number % 5 == 0 ? 1 << 40 : 5_000), using: &random)
            item.x = Double.random(in: 0...1_000, using: &random)
            item.y = Double.random(in: 0...1_000, using: &random)
            item.width = Double.random(in: 0...100, using: &random).rounded()
            item.height = Double.random(in: 0...100, using: &random).rounded()
            items[item.identifier] = item
        }
        return items
    }

    /// Returns a sum that includes each member of each item.
    static func sum(_ items: [String: PropertyListItem]) -> UInt64 {
        func sum(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(7) { $0 &* 31 &+ UInt64($1) } }
        return items.reduce(0) { total, member in
            let item = member.value
            var value = sum(member.key.utf8) &+ sum(item.identifier.utf8) &* 31 &+ sum(item.hash.utf8)
            value = value &* 31 &+ item.createdAt.timeIntervalSinceReferenceDate.bitPattern
            value = value &* 31 &+ sum(item.data)
            value = value &* 31 &+ (item.note.map { sum($0.utf8) } ?? 3)
            value = value &* 31 &+ UInt64(item.views)
            for number in [item.x, item.y, item.width, item.height] { value = value &* 31 &+ number.bitPattern }
            return total &+ value
        }
    }
}

private func readingItems(_ binary: Data, count: Int) throws -> Group {
    Group(
        name: "items read", work: Work(count: count, unit: "item", byteCount: binary.count),
        cases: [
            Case.making(
                "BinaryPropertyList.decode", peer: "PropertyListDecoder", goal: 10,
                { try BinaryPropertyList.decode([String: PropertyListItem].self, from: binary) },
                sum: { PropertyListItem.sum($0) }),
            Case.making(
                "PropertyListDecoder",
                { try PropertyListDecoder().decode([String: PropertyListItem].self, from: binary) },
                sum: { PropertyListItem.sum($0) }),
        ])
}

private func writingItems(_ items: [String: PropertyListItem]) throws -> Group {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    return Group(
        name: "items written", work: Work(count: items.count, unit: "item", byteCount: try encoder.encode(items).count),
        cases: [
            Case.making(
                "BinaryPropertyList.encode", peer: "PropertyListEncoder", goal: 10, { try BinaryPropertyList.encode(items) },
                sum: {
                    PropertyListItem.sum(
                        try PropertyListDecoder().decode([String: PropertyListItem].self, from: Data($0)))
                }),
            Case.making(
                "PropertyListEncoder", { try encoder.encode(items) },
                sum: {
                    PropertyListItem.sum(try PropertyListDecoder().decode([String: PropertyListItem].self, from: $0))
                }),
        ])
}

private func trees(_ data: Data, name: String, goal: Double?) throws -> Group {
    Group(
        name: name, work: Work(count: 1, unit: "tree", byteCount: data.count),
        cases: [
            Case.making(
                "PropertyListBuilder", peer: "PropertyListSerialization", goal: goal,
                {
                    var builder = PropertyListBuilder()
                    try builder.readPropertyList(data)
                    return try builder.takeResult()
                }, sum: { sum($0) }),
            Case.making(
                "PropertyListSerialization",
                { try PropertyListSerialization.propertyList(from: data, options: [], format: nil) }, sum: { sum($0) }),
        ])
}

/// Returns the sum of all values and keys of a tree, independent of the order of members.
private func sum(_ list: PropertyList) -> UInt64 {
    switch list.kind {
    case .array: list.elements.reduce(2) { $0 &* 31 &+ sum($1) }
    case .dictionary: list.members.reduce(3) { $0 &+ (1 &+ UInt64($1.key.utf8.count)) &* sum($1.value) }
    case .string: 1 + UInt64(list.stringValue?.utf8.count ?? 0)
    case .data: (list.dataValue ?? []).reduce(5) { $0 &* 31 &+ UInt64($1) }
    case .date: UInt64(list.dateValue ?? 0)
    default: (list.realValue ?? 0).bitPattern
    }
}

/// Returns the same sum for Foundation's objects.
private func sum(_ object: Any) -> UInt64 {
    switch object {
    case let array as [Any]: array.reduce(2) { $0 &* 31 &+ sum($1) }
    case let dictionary as [String: Any]:
        dictionary.reduce(3) { $0 &+ (1 &+ UInt64($1.key.utf8.count)) &* sum($1.value) }
    case let string as String: 1 + UInt64(string.utf8.count)
    case let data as Data: data.reduce(5) { $0 &* 31 &+ UInt64($1) }
    case let date as Date: UInt64(date.timeIntervalSinceReferenceDate)
    case let number as NSNumber: number.doubleValue.bitPattern
    default: 0
    }
}
