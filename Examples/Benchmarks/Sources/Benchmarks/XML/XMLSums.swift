// What is made of the events of a document to compare them: sums as in CXMLPeers.h.

import PlistStreaming
import XMLStreaming

extension RawSpan {
    /// The first byte, 0 where there is none.
    fileprivate var first: UInt64 { isEmpty ? 0 : UInt64(unsafeLoad(as: UInt8.self)) }

    /// The sum of the bytes.
    fileprivate var sum: UInt64 {
        withUnsafeBytes { $0.reduce(0) { $0 &+ UInt64($1) } }
    }
}

/// The number of elements and attributes, the first bytes of their names and values, and the number of bytes of texts.
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

/// The sum of all bytes, weighted by what they are of.
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

/// Elements without what is within the root: everything is checked, and nothing sent.
struct XMLChecked: XMLSink {
    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest { .skipChildren }
}

extension XMLTree {
    /// The sum of all nodes: 1 for an element and the bytes in its name and in the names and values of its attributes, 3
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
