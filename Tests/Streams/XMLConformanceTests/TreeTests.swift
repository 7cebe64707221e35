// Reads the suite's documents as trees and passes them through the writer. Trees must be written back byte for byte, and
// stay well-formed after changes. The writer's output must be the same document when it is read again.

import Foundation
import PlistStreaming
import Testing
import XMLStreaming

@Suite(.enabled(if: !XMLCatalog.cases.isEmpty, "there is no suite at ../shared/corpora/xmlconf"))
struct TreeTests {
    /// Finds attribute values that refer to entities outside of the document.
    private struct EntityFinder: XMLSink {
        var isFound = false

        mutating func startElement(_ tag: borrowing XMLStartTag) -> XMLInterest {
            for index in 0..<tag.attributes.count where !tag.attributes[index].isDefaulted {
                if tag.attributes[index].hasSkippedEntity { isFound = true }
            }
            return .content
        }
    }

    /// Returns whether a tag has a value with a part outside of the document. The writer can't write such a value.
    static func lacksValues(_ test: XMLCase, _ bytes: [UInt8]) throws -> Bool {
        var finder = EntityFinder()
        try finder.readXML(bytes, options: XMLConformanceTests.options(test))
        return finder.isFound
    }

    /// The documents that are read without errors, with their canonical form.
    static let documents: [(test: XMLCase, bytes: [UInt8], canonical: String)] = XMLCatalog.cases.compactMap { test in
        let bytes = test.bytes
        var writer = CanonicalWriter()
        guard (try? writer.readXML(bytes, options: XMLConformanceTests.options(test))) != nil else { return nil }
        return (test, bytes, writer.text)
    }

    /// Returns a node of a tree as canonical XML.
    static func canonical(_ node: XMLTreeNode) -> String {
        switch node.kind {
        case .document: return node.children.map(canonical).joined()
        case .text: return CanonicalWriter.escaped(node.text)
        case .processingInstruction: return "<?\(node.name) \(node.text)?>"
        case .comment, .entityReference: return ""
        case .element: break
        }
        let attributes = node.attributes.sorted {
            Array($0.name.unicodeScalars).lexicographicallyPrecedes(Array($1.name.unicodeScalars))
        }
        let tag = attributes.map { " \($0.name)=\"\(CanonicalWriter.escaped($0.value))\"" }.joined()
        return "<\(node.name)\(tag)>" + node.children.map(canonical).joined() + "</\(node.name)>"
    }

    @Test func writesUnchangedTreesByteForByte() throws {
        #expect(Self.documents.count > 400, "\(Self.documents.count) documents")
        for (test, bytes, canonical) in Self.documents {
            for (depth, keepsWhitespace) in [(Int.max, true), (1, true), (2, true), (3, true), (.max, false)] {
                let options = XMLTreeOptions(
                    reader: XMLConformanceTests.options(test), depth: depth, keepsWhitespace: keepsWhitespace)
                let tree = try XMLTree(bytes, options: options)
                #expect(tree.bytes == bytes, "\(test.id) at once, depth \(depth)")
                let found = Self.canonical(tree.documentNode)
                if keepsWhitespace { #expect(found == canonical, "the tree of \(test.id), depth \(depth)") }
                #expect(tree.bytes == bytes, "\(test.id) when all is made, depth \(depth)")
                #expect(tree.expansionFailure == nil, "\(test.id), depth \(depth)")
            }
        }
    }

    @Test func changedTreesStayWellFormed() throws {
        for (test, bytes, _) in Self.documents {
            let lacksValues = try Self.lacksValues(test, bytes)
            for depth in [Int.max, 1] {
                let reader = XMLConformanceTests.options(test)
                let options = XMLTreeOptions(reader: reader, depth: depth, keepsWhitespace: true)
                // Make one change at a time, and then all of them.
                for mask in [1, 2, 4, 8, 15] {
                    let tree = try XMLTree(bytes, options: options)
                    let root = tree.root
                    if mask & 1 != 0 { try root.insertElement("new").setText("<&>") }
                    if mask & 2 != 0, !lacksValues { try root.setAttribute("new", "\"\n<") }
                    if mask & 4 != 0, let first = root.elements.first { try first.setText("]]>") }
                    if mask & 8 != 0, let last = root.lastChild, last.kind != .entityReference { try last.remove() }
                    let again = try XMLTree(tree.bytes, options: options)
                    #expect(
                        Self.canonical(again.documentNode) == Self.canonical(tree.documentNode),
                        "\(test.id) with \(mask), depth \(depth)")
                }
            }
        }
    }

    @Test func roundTripsDocuments() throws {
        var refusedCount = 0
        for (test, bytes, canonical) in Self.documents {
            var writer = XMLWriter(options: XMLWriterOptions(checksNamespaces: test.knowsNamespaces))
            if try Self.lacksValues(test, bytes) {
                do {
                    try writer.readXML(bytes, options: XMLConformanceTests.options(test))
                    Issue.record("\(test.id) was written without a part of a value")
                } catch { #expect(error.kind == .unrepresentable, "\(test.id): \(error)") }
                refusedCount += 1
                continue
            }
            try writer.readXML(bytes, options: XMLConformanceTests.options(test))
            try writer.finish()
            var again = CanonicalWriter()
            try again.readXML(writer.bytes, options: XMLConformanceTests.options(test))
            #expect(again.text == canonical, "\(test.id): \(writer.text)")
        }
        #expect(refusedCount < 10, "documents that are not written")
    }
}
