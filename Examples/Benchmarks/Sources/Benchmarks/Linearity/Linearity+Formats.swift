// The quantities that grow in CSV, property lists and XML: records, columns, quotes, shared objects, attributes,
// children.

import CSVStreaming
import PlistBuilding
import PlistStreaming
import PropertyListFiles
import XMLStreaming

private struct FormatRow: StreamObject {
    var id = 0
    var title = ""

    static func csv(_ count: Int) -> [UInt8] { LargeText.joined(count, "id,title\n", "") { "\($0),\"row, \($0)\"\n" } }
    static func xml(_ count: Int) -> [UInt8] {
        LargeText.joined(count, "<all>", "</all>") { "<r id='\($0)'><title>row &amp; \($0)</title></r>" }
    }
}

private func repeated(_ count: Int, _ beginning: String, _ piece: String, _ end: String) -> [UInt8] {
    Array((beginning + String(repeating: piece, count: count) + end).utf8)
}

private func plist(_ count: Int) throws -> [UInt8] {
    var writer = BinaryPlistWriter()
    try writer.write((0..<count).map { FormatRow(id: $0, title: "row \($0)") })
    try writer.finish()
    return writer.bytes
}

var formatEntryPoints: [EntryPoint] {
    [
        EntryPoint("csv, records", FormatRow.csv) { text in _ = try CSV.decode([FormatRow].self, from: text) },
        EntryPoint("csv, byte by byte within quotes", { repeated($0, "a\n\"", "x\"\"\n,", "\"\n") }) { text in
            var reader = CSVReader(sink: NullSink())
            for byte in text { try reader.feed([byte]) }
            try reader.finish()
        },
        EntryPoint("csv, columns", largest: 32_000, { LargeText.joined($0, "a", "\n") { ",c\($0)" } }) { header in
            var sink = NullSink()
            try sink.readCSV(header + header, options: CSVReaderOptions(columns: ["a", "c1"]))
            var writer = CSVWriter()
            try writer.readCSV(header + header)
            try writer.finish()
        },
        EntryPoint("binary property list, read", plist) { bytes in
            var builder = try ObjectBuilder<[FormatRow]>()
            try builder.readBinaryPlist(bytes)
            _ = try builder.takeResult()
        },
        EntryPoint("binary property list, written", { $0 }) { count in _ = try plist(count) },
        EntryPoint("old property list, depth", largest: 500, { repeated($0, "", "(", repeated: ")") }) { text in
            var sink = NullSink()
            try sink.readOpenStepPlist(text)
        },
        EntryPoint("xml, records", FormatRow.xml) { text in _ = try XML.decode([FormatRow].self, from: text) },
        EntryPoint("xml, byte by byte within a comment", { repeated($0, "<a><!--", "- >", "--></a>") }) { text in
            var reader = XMLReader(sink: NullXMLSink())
            for byte in text { try reader.feed([byte]) }
            try reader.finish()
        },
        EntryPoint("xml, children of a record", { LargeText.joined($0, "<all><r>", "</r></all>") { "<c\($0 / 2)/>" } })
        {
            text in
            var sink = NullSink()
            try sink.readXML(text)
        },
        EntryPoint("xml, attributes that are written", largest: 60_000, { $0 }) { count in
            var writer = XMLWriter()
            let names = (0..<count).map { (key: "xmlns:p\($0)", value: "urn:\($0)") }
            try writer.startElement("a", attributes: names + (0..<count).map { (key: "p\($0):a", value: "") })
            try writer.endElement()
            try writer.finish()
        },
        EntryPoint("xml tree, changes", { repeated($0, "<a>", "<b><c/></b>", "</a>") }) { text in
            let tree = try XMLTree(text)
            for node in tree.root.children { try node.first("c")?.setText("x") }
            for node in Array(tree.root.children) {
                try tree.root.insertElement("e", before: node)
                try node.remove()
            }
            _ = tree.bytes
        },
    ]
}

private struct NullXMLSink: XMLSink {
    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest { .content }
}

private func repeated(_ count: Int, _ beginning: String, _ piece: String, repeated end: String) -> [UInt8] {
    Array((beginning + String(repeating: piece, count: count) + String(repeating: end, count: count)).utf8)
}
