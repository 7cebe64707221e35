// The document as described by its messages, including repeated names. Bound values are compared with it.

import FuzzInputs
import JSONStreaming
import PlistStreaming

/// A value of the document.
indirect enum Tree {
    case null
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case real(Double)
    case number(String)
    case string(String)
    case array([Tree])
    case object([(name: String, value: Tree)])

    /// Reads the tree of a document, or returns nil if it isn't JSON.
    init?(_ document: [UInt8]) {
        var sink = TreeSink()
        do { try sink.readJSON(document) } catch { return nil }
        guard let tree = sink.result else { return nil }
        self = tree
    }

    /// The elements of an array.
    func elements() throws(Refusal) -> [Tree] {
        guard case .array(let elements) = self else { throw .refused }
        return elements
    }

    /// The members of an object.
    func members() throws(Refusal) -> [(name: String, value: Tree)] {
        guard case .object(let members) = self else { throw .refused }
        return members
    }
}

/// The reason that a tree has no value of a type.
enum Refusal: Error {
    /// The tree doesn't fit the type.
    case refused
    /// The tree doesn't contain enough information to decide.
    case unsure
}

private struct TreeSink: PlistSink {
    private(set) var result: Tree?
    private var open: [(elements: [Tree], members: [(name: String, value: Tree)], name: String)] = []

    private mutating func add(_ value: Tree) {
        guard let last = open.indices.last else { return result = value }
        open[last].elements.append(value)
        open[last].members.append((open[last].name, value))
    }

    mutating func beginArray() throws(StreamError) { open.append(([], [], "")) }
    mutating func endArray() throws(StreamError) { if let last = open.popLast() { add(.array(last.elements)) } }
    mutating func beginDictionary() throws(StreamError) { open.append(([], [], "")) }
    mutating func endDictionary() throws(StreamError) { if let last = open.popLast() { add(.object(last.members)) } }
    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { open[open.count - 1].name = text(utf8) }
    mutating func writeNull() throws(StreamError) { add(.null) }
    mutating func writeBool(_ value: Bool) throws(StreamError) { add(.bool(value)) }
    mutating func writeInteger(_ value: Int64) throws(StreamError) { add(.integer(value)) }
    mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { add(.unsigned(value)) }
    mutating func writeReal(_ value: Double) throws(StreamError) { add(.real(value)) }
    mutating func writeNumber(text: RawSpan) throws(StreamError) { add(.number(self.text(text))) }
    mutating func writeString(_ utf8: RawSpan) throws(StreamError) { add(.string(text(utf8))) }
    mutating func writeData(_ bytes: RawSpan) throws(StreamError) { fatalError("data from JSON") }
    mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) { fatalError("a date from JSON") }

    private func text(_ utf8: RawSpan) -> String { utf8.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
