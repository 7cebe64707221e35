// Generates typical XML from a seed: records with attributes, namespaces and references, and a property list. The texts
// vary like real ones (see SampleText).

import Foundation

/// A document and its properties.
final class XMLSample: Sendable {
    let name: String
    let bytes: [UInt8]
    let recordCount: Int

    init(name: String, bytes: [UInt8], recordCount: Int) {
        (self.name, self.bytes, self.recordCount) = (name, bytes, recordCount)
    }

    /// Makes entries of a catalogue of about 330 bytes each. Tags take two thirds of them, with line breaks and indents
    /// between them.
    static func catalogue(_ count: Int) -> XMLSample {
        var random = SeededGenerator(seed: 20_261_122)
        var bytes = Array(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <!-- A catalogue, made from a seed. -->
            <feed xmlns="http://example.org/catalogue/2" xmlns:dc="http://purl.org/dc/elements/1.1/" \
            xmlns:geo="http://www.w3.org/2003/01/geo/wgs84_pos#">

            """.utf8)
        bytes.reserveCapacity(count * 340)
        for number in 0..<count { bytes += Array(entry(number, &random).utf8) }
        bytes += Array("</feed>\n".utf8)
        return XMLSample(name: "records", bytes: bytes, recordCount: count)
    }

    private static func entry(_ number: Int, _ random: inout SeededGenerator) -> String {
        let state = ["open", "sold", "reserved", "withdrawn"][random.below(4)]
        var text = "  <entry id=\"\(1_000_000 + number * 3 + random.below(3))\" state=\"\(state)\""
        if random.isOne(in: 3) { text += " label='\(phrase(12, &random))'" }
        text += ">\n    <dc:title>\(phrase(24, &random))</dc:title>\n"
        text += "    <dc:creator>\(phrase(10, &random))</dc:creator>\n"
        text += "    <price>\(random.below(900)).\(10 + random.below(90))</price>\n"
        text += "    <place geo:lat=\"\(47 + random.below(8)).\(100_000 + random.below(900_000))\" "
        text += "geo:long=\"\(6 + random.below(9)).\(100_000 + random.below(900_000))\"/>\n"
        for _ in 0..<random.below(3) {
            text += "    <tag>\(SampleText.identifier(3 + random.below(9), &random))</tag>\n"
        }
        if random.isOne(in: 4) {
            text += "    <note xml:lang=\"de\">\(phrase(70 + random.below(60), &random))</note>\n"
        } else if random.isOne(in: 20) {
            text += "    <note><![CDATA[<p>\(SampleText.identifier(20, &random)) & more</p>]]></note>\n"
        }
        if random.isOne(in: 90) { text += "    <!-- checked -->\n" }
        return text + "  </entry>\n"
    }

    /// Returns escaped words, some with references of all kinds.
    private static func phrase(_ byteCount: Int, _ random: inout SeededGenerator) -> String {
        let script: SampleText.Script =
            switch random.below(12) {
            case 0: .cyrillic
            case 1: .japanese
            default: .latin
            }
        let value = SampleText.text(byteCount, script, &random)
            .replacingOccurrences(of: "\n", with: " ").trimmingCharacters(in: .whitespaces)
        let text = escaped(value.isEmpty ? "Nummer" : value)
        let references = ["&amp;", "&lt;b>", "&#8211;", "&#xE9;t&#xE9;", "&gt;", "&apos;n&apos;"]
        return random.isOne(in: 4) ? "\(text) \(references[random.below(references.count)]) \(text.count)" : text
    }

    static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: "\"", with: "&quot;")
    }

    /// Makes a property list of items with ten members, written by Foundation.
    static func propertyList(_ count: Int) throws -> XMLSample {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        return XMLSample(
            name: "property list", bytes: Array(try encoder.encode(PropertyListItem.sample(count))), recordCount: count)
    }
}
