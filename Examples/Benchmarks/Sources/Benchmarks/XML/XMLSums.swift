// Sums of a document's events, for comparisons with the peers. They match the sums in CXMLPeers.h.

import PlistStreaming
import XMLStreaming

extension RawSpan {
    /// The first byte, or 0 if the span is empty.
    fileprivate var first: UInt64 { isEmpty ? 0 : UInt64(unsafeLoad(as: UInt8.self)) }

    /// The sum of the bytes.
    fileprivate var sum: UInt64 {
        withUnsafeBytes { $0.reduce(0) { $0 &+ UInt64($1) } }
    }
}

/// A sum of the number of elements and attributes, the first bytes of their names and values, and the byte counts of
/// texts.
struct XMLEventSum: XMLSink {
    var sum: UInt64 = 0

    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        var sum = 1 &+ first(tag.name)
        let attributes = tag.attributes
        for index in 0..<attributes.count {
            let attribute = attributes[index]
            sum = sum &+ 1 &+ first(attribute.name) &+ attribute.value.first
        }
        self.sum &+= sum
        return .content
    }

    private func first(_ name: borrowing XMLName) -> UInt64 {
        name.namespace.isEmpty ? name.local.first : name.namespace.first
    }

    mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) { sum &+= 1 }

    mutating func text(_ text: borrowing XMLText) throws(StreamError) { sum &+= UInt64(text.utf8.byteCount) }
}

/// The sum of all bytes, weighted by their kind.
struct XMLCheckedSum: XMLSink {
    var sum: UInt64 = 0

    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        sum &+= 1 &+ 3 &* tag.name.namespace.sum &+ 5 &* tag.name.local.sum
        let attributes = tag.attributes
        for index in 0..<attributes.count {
            let attribute = attributes[index]
            sum &+= 1 &+ 3 &* attribute.name.namespace.sum &+ 7 &* attribute.name.local.sum &+ 11 &* attribute.value.sum
        }
        return .content
    }

    mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) { sum &+= 1 }

    mutating func text(_ text: borrowing XMLText) throws(StreamError) { sum &+= 13 &* text.utf8.sum }
}

/// A sink that skips the children of the root, so that the reader checks everything but sends no further events.
struct XMLChecked: XMLSink {
    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest { .skipChildren }
}

extension XMLTree {
    /// The sum of all nodes: 1 per element plus the bytes of its name and of its attributes' names and values, and 3
    /// for each byte of text.
    var sum: UInt64 {
        func bytes(_ text: String) -> UInt64 { text.utf8.reduce(0) { $0 &+ UInt64($1) } }
        var sum: UInt64 = 0
        var open = [root]
        while let node = open.popLast() {
            switch node.kind {
            case .element:
                sum &+= 1 &+ bytes(node.name)
                for attribute in node.attributes { sum &+= bytes(attribute.name) &+ bytes(attribute.value) }
                open += node.children
            case .text: sum &+= 3 &* bytes(node.text)
            default: break
            }
        }
        return sum
    }
}
