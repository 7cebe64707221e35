// Compares XML events with namespaces (expat, libxml2's SAX2), trees (pugixml, libxml2's DOM, FoundationXML), values of
// bound types (XMLCoder) and a writer (libxml2's). Debian built the peers in C.

import CXMLPeers
import Foundation
import PlistStreaming
import XMLCoder
import XMLStreaming

let xmlSuite = Suite(name: "XML") { scale in
    let records = XMLSample.catalogue(scale.amount(full: 120_000, smoke: 40))
    let list = try XMLSample.propertyList(scale.amount(full: 40_000, smoke: 10))
    let few = XMLSample.catalogue(scale.amount(full: 3_000, smoke: 40))
    XMLPeers.reportMissing()
    return [
        events(records), events(list), trees(records), trees(list), walks(records), walks(list), objects(few),
        writers(scale.amount(full: 100_000, smoke: 20)),
    ]
}

private func work(_ sample: XMLSample) -> Work {
    Work(count: sample.recordCount, unit: "record", byteCount: sample.bytes.count)
}

private func events(_ sample: XMLSample) -> Group {
    Group(
        name: "events, \(sample.name)", work: work(sample),
        cases: [
            Case(
                name: "readXML", peer: "libxml2 SAX2", goal: 4, also: [Goal(peer: "expat", ratio: 6)],
                check: {
                    var sum = XMLCheckedSum()
                    try sum.readXML(sample.bytes)
                    return sum.sum
                }
            ) {
                var sum = XMLEventSum()
                try sum.readXML(sample.bytes)
                return sum.sum
            },
            Case(
                name: "readXML, nothing sent",
                check: {
                    var sum = XMLCheckedSum()
                    try sum.readXML(sample.bytes)
                    return sum.sum
                }
            ) {
                var checked = XMLChecked()
                try checked.readXML(sample.bytes)
                return 1
            },
        ]
            + XMLPeers.libxml2.cases(
                "libxml2 SAX2", cxmlpeers_libxml2_events, check: cxmlpeers_libxml2_checksum, sample)
            + XMLPeers.expat.cases("expat", cxmlpeers_expat_events, check: cxmlpeers_expat_checksum, sample))
}

private func trees(_ sample: XMLSample) -> Group {
    Group(
        name: "tree, \(sample.name)", work: work(sample),
        cases: [
            .making(
                "XMLTree", peer: "pugixml", goal: 1, also: [Goal(peer: "libxml2 DOM"), Goal(peer: "FoundationXML")],
                { try XMLTree(sample.bytes) }, sum: { $0.sum })
        ]
            + XMLPeers.pugixml.cases("pugixml", cxmlpeers_pugixml_tree, check: cxmlpeers_pugixml_walk, sample)
            + XMLPeers.libxml2.cases("libxml2 DOM", cxmlpeers_libxml2_tree, check: cxmlpeers_libxml2_walk, sample)
            + [FoundationTree.made(sample)])
}

private func walks(_ sample: XMLSample) -> Group {
    Group(
        name: "tree and each string of it, \(sample.name)", work: work(sample),
        cases: [
            Case(
                name: "XMLTree", peer: "pugixml",
                also: [Goal(peer: "libxml2 DOM"), Goal(peer: "FoundationXML")]
            ) { try XMLTree(sample.bytes).sum }
        ]
            + XMLPeers.pugixml.cases("pugixml", cxmlpeers_pugixml_walk, check: nil, sample)
            + XMLPeers.libxml2.cases("libxml2 DOM", cxmlpeers_libxml2_walk, check: nil, sample)
            + [FoundationTree.walked(sample)])
}

private func objects(_ sample: XMLSample) -> Group {
    let data = Data(sample.bytes)
    // With its default trimming, XMLCoder loses the space after a reference.
    let decoder = XMLDecoder(trimValueWhitespaces: false, removeWhitespaceElements: true)
    decoder.shouldProcessNamespaces = true
    return Group(
        name: "objects", work: work(sample),
        cases: [
            .making(
                "XML.decode", peer: "XMLCoder", goal: 30, { try XML.decode(Feed.self, from: data) }, sum: { $0.sum }),
            .making("XMLCoder", { try decoder.decode(Feed.self, from: data) }, sum: { $0.sum }),
        ])
}

private func writers(_ count: Int) -> Group {
    let records = WrittenRecord.sample(count)
    func sum(_ bytes: [UInt8]) throws -> UInt64 {
        var sum = XMLCheckedSum()
        try sum.readXML(bytes)
        return sum.sum
    }
    func write() throws -> XMLWriter {
        var writer = XMLWriter()
        try writer.startElement("records")
        for one in records {
            try writer.startElement("record", ["id": one.identifier, "xml:lang": one.language])
            try writer.element("title", text: one.title)
            try writer.element("note", text: one.note)
            try writer.endElement()
        }
        try writer.endElement()
        try writer.finish()
        return writer
    }
    let byteCount = (try? write().withBytes { $0.byteCount }) ?? 0
    return Group(
        name: "writer", work: Work(count: count, unit: "record", byteCount: byteCount),
        cases: [
            Case(name: "XMLWriter", peer: "libxml2 writer", check: { try sum(try write().bytes) }) {
                try write().depth == 0 ? 1 : 0
            }
        ] + XMLPeers.libxml2Writer(NativeXMLRecords(records), sum))
}
