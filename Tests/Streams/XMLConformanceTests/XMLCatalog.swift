// Reads the catalogs of the W3C's conformance suite with the reader under test. Without the suite, the tests report it
// and are skipped.

import Foundation
import PlistStreaming
import TestCorpora
import XMLStreaming

/// A test of a catalog.
struct XMLCase: Sendable, CustomStringConvertible {
    var id: String
    var type: String
    /// The kinds of external entities that a processor must read to find the error.
    var entities: String
    var file: URL
    var output: URL?
    var knowsNamespaces: Bool
    /// A Boolean value that indicates whether the test applies to the supported version and edition of the
    /// recommendations.
    var isCurrent: Bool

    var description: String { id }

    var bytes: [UInt8] { (try? Data(contentsOf: file)).map { [UInt8]($0) } ?? [] }
}

/// The parts of the suite.
enum XMLCatalog {
    static let directory: URL? = {
        let catalog = TestCorpora.place("xmlconf/xmlconf.xml")
        return FileManager.default.fileExists(atPath: catalog.path) ? catalog.deletingLastPathComponent() : nil
    }()

    static let catalogs = [
        "xmltest/xmltest.xml", "sun/sun-valid.xml", "sun/sun-invalid.xml", "sun/sun-not-wf.xml", "sun/sun-error.xml",
        "oasis/oasis.xml", "eduni/namespaces/1.0/rmt-ns10.xml", "eduni/namespaces/1.1/rmt-ns11.xml",
        "eduni/namespaces/errata-1e/errata1e.xml",
    ]

    static let cases: [XMLCase] =
        directory.map { directory in
            catalogs.flatMap { cases(of: directory.appending(path: $0)) }
        } ?? []

    private static func cases(of catalog: URL) -> [XMLCase] {
        guard let data = try? Data(contentsOf: catalog) else { return [] }
        // Some catalogs are document fragments without a root element.
        var text = String(decoding: data, as: UTF8.self)
        if text.hasPrefix("<?xml"), let end = text.range(of: "?>") { text.removeSubrange(..<end.upperBound) }
        var sink = CaseSink(base: catalog.deletingLastPathComponent())
        do {
            try sink.readXML("<suite>" + text + "</suite>")
        } catch {
            fatalError("the catalog \(catalog.path) cannot be read: \(error)")
        }
        return sink.cases
    }
}

private struct CaseSink: XMLSink {
    let base: URL
    var cases: [XMLCase] = []

    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        guard tag.name.isSpelled("TEST") else { return .content }
        let attributes = tag.attributes
        let recommendation = attributes.string("RECOMMENDATION") ?? "XML1.0"
        let edition = attributes.string("EDITION") ?? "5"
        let namespaces = attributes.string("NAMESPACE").map { $0 != "no" }
        cases.append(
            XMLCase(
                id: attributes.string("ID") ?? "", type: attributes.string("TYPE") ?? "",
                entities: attributes.string("ENTITIES") ?? "none",
                file: base.appending(path: attributes.string("URI") ?? ""),
                output: attributes.string("OUTPUT").map { base.appending(path: $0) },
                knowsNamespaces: namespaces ?? recommendation.hasPrefix("NS"),
                isCurrent: !recommendation.hasSuffix("1.1") && edition.split(separator: " ").contains("5")))
        return .skipChildren
    }
}
