// The types that this package and XMLCoder decode catalogue entries into, and the records to write.

import Foundation
import PlistBuilding

/// The root element, with all entries.
struct Feed: StreamObject, Decodable {
    var entry: [Entry] = []

    var sum: UInt64 { entry.reduce(0) { $0 &* 31 &+ $1.sum } }

    struct Entry: StreamObject, Decodable {
        var id = 0
        var state = ""
        var label: String?
        var title = ""
        var creator = ""
        var price = 0.0
        var place = Place()
        var tag: [String] = []

        /// A sum that includes every member.
        var sum: UInt64 {
            var sum = UInt64(id) &+ 3 &* bytes(state) &+ 5 &* bytes(label ?? "") &+ 7 &* bytes(title)
            sum = sum &+ 11 &* bytes(creator) &+ price.bitPattern &+ place.lat.bitPattern &+ place.long.bitPattern
            return tag.reduce(sum) { $0 &* 31 &+ bytes($1) }
        }

        private func bytes(_ text: String) -> UInt64 { text.utf8.reduce(0) { $0 &+ UInt64($1) } }
    }

    struct Place: StreamObject, Decodable {
        var lat = 0.0
        var long = 0.0

        /// XMLCoder needs the attribute names with their prefixes.
        enum CodingKeys: String, CodingKey {
            case lat = "geo:lat"
            case long = "geo:long"
        }
    }
}

/// A record that is written as an element with two attributes and two child elements.
struct WrittenRecord {
    var identifier = ""
    var language = ""
    var title = ""
    var note = ""

    static func sample(_ count: Int) -> [WrittenRecord] {
        var random = SeededGenerator(seed: 31)
        return (0..<count).map { number in
            WrittenRecord(
                identifier: String(number * 7 + random.below(7)), language: ["de", "en", "ja"][random.below(3)],
                title: SampleText.text(15 + random.below(30), .latin, &random),
                note: SampleText.text(20 + random.below(150), SampleText.script(&random), &random)
                    + (random.isOne(in: 5) ? " & <more>" : ""))
        }
    }
}
