// FoundationXML's trees. They need a separate file because some of its type names conflict with the package's names.

import Foundation

#if canImport(FoundationXML)
import FoundationXML
#endif

/// The cases of FoundationXML's trees, which Linux and macOS have.
enum FoundationTree {
    static func made(_ sample: XMLSample) -> Case {
        let data = Data(sample.bytes)
        return .making("FoundationXML", { try make(data) }, sum: sum)
    }

    static func walked(_ sample: XMLSample) -> Case {
        let data = Data(sample.bytes)
        return Case(name: "FoundationXML") { sum(try make(data)) }
    }

    private static func make(_ data: Data) throws -> XMLDocument { try XMLDocument(data: data, options: []) }

    /// Returns the same sum as `XMLTree.sum`.
    private static func sum(_ document: XMLDocument) -> UInt64 {
        func bytes(_ text: String?) -> UInt64 { (text ?? "").utf8.reduce(0) { $0 &+ UInt64($1) } }
        var sum: UInt64 = 0
        var open: [XMLNode] = document.rootElement().map { [$0] } ?? []
        while let node = open.popLast() {
            if let element = node as? XMLElement {
                sum &+= 1 &+ bytes(element.name)
                for one in element.attributes ?? [] { sum &+= bytes(one.name) &+ bytes(one.stringValue) }
                for one in element.namespaces ?? [] {
                    let prefix = one.name ?? ""
                    sum &+= bytes(prefix.isEmpty ? "xmlns" : "xmlns:" + prefix) &+ bytes(one.stringValue)
                }
                open += element.children ?? []
            } else if node.kind == .text {
                let text = node.stringValue ?? ""
                if text.contains(where: { !$0.isWhitespace }) { sum &+= 3 &* bytes(text) }
            }
        }
        return sum
    }
}
