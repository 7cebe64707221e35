// Converts the parts of an XML document to the messages of a property list: elements are values, in the structure of
// Apple's document type.

import PlistStreaming
import XMLStreaming

/// An element of a property list in XML that has no child elements.
private enum PlistLeaf: String, CaseIterable, Sendable {
    case key, string, integer, real, date, data
    case yes = "true"
    case no = "false"

    init?(_ name: RawSpan) {
        for leaf in Self.allCases where name.equals(leaf.rawValue) {
            self = leaf
            return
        }
        return nil
    }

    var name: String { rawValue }
    /// A Boolean value that indicates whether text in the element is a value; the other elements may contain
    /// whitespace.
    var hasText: Bool { self != .yes && self != .no }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
}

/// A receiver of the parts of an XML document that sends the contained property list to a sink.
///
/// The root element is `plist`, with one value: `array`, `dict`, `string`, `integer`, `real`, `true`, `false`, `date`
/// or `data`. Each `key` in a `dict` is followed by a value. Attributes and comments are ignored. Whitespace is ignored
/// around all elements except within strings and keys, and within `true` and `false`.
struct XMLPlistEvents<Target: PlistSink & ~Copyable>: XMLSink, ~Copyable {
    /// The parts that may come next between elements.
    private enum Next: Sendable {
        case plist, root, end, element, key, value
    }

    /// The receiver of the messages.
    var target: Target
    private let limits: StreamLimits
    private var next = Next.plist
    private var nesting = NestingStack()
    private var leaf: PlistLeaf?
    private var text: [UInt8] = []
    /// A Boolean value that indicates whether there was unexpected text, and whether there was more than the limit.
    private var isUnexpected = false
    private var isTooLong = false
    /// The number of comments so far, and the offset of the first one in the UTF-8 form of the document.
    private(set) var comments: (count: Int, firstOffset: Int?) = (0, nil)

    init(_ target: consuming Target, limits: StreamLimits) {
        self.target = target
        self.limits = limits
    }

    /// Returns the receiver of the messages, which can be used without this one.
    consuming func takeTarget() -> Target { target }

    /// Returns to the state before the first part.
    mutating func reset() {
        next = .plist
        nesting = NestingStack()
        leaf = nil
        text = []
        (isUnexpected, isTooLong) = (false, false)
        comments = (0, nil)
    }

    // MARK: Parts

    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        try checkText()
        if let leaf { throw StreamError(.invalidSyntax, "expected text in <\(leaf.name)>, found another element") }
        let name = tag.name
        if next == .plist {
            guard name.qualified.equals("plist") else { throw unexpected(name.qualified) }
            next = .root
        } else if name.qualified.equals("dict") || name.qualified.equals("array") {
            try begin(isDictionary: name.qualified.equals("dict"), name.qualified)
        } else {
            guard let leaf = PlistLeaf(name.qualified), leaf == .key ? next == .key : isValueNext else {
                throw unexpected(name.qualified)
            }
            self.leaf = leaf
            text.removeAll(keepingCapacity: true)
        }
        return .content
    }

    mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {
        try checkText()
        if let leaf {
            self.leaf = nil
            return try end(leaf)
        }
        guard nesting.depth > 0 else {
            guard next == .end else { throw StreamError(.invalidSyntax, "expected a value, found the end of <plist>") }
            return
        }
        if nesting.isInDictionary {
            guard next == .key else { throw StreamError(.invalidSyntax, "expected the value of a key, found </dict>") }
            try target.endDictionary()
        } else {
            try target.endArray()
        }
        nesting.pop()
        endValue()
    }

    mutating func text(_ text: borrowing XMLText) throws(StreamError) {
        let utf8 = text.utf8
        if let leaf, leaf.hasText {
            if utf8.byteCount <= limits.stringByteCount - self.text.count {
                utf8.appendTo(&self.text)
            } else {
                isTooLong = true
            }
        } else if !utf8.byteOffsets.allSatisfy({ PlistLeaf.isSpace(utf8.byte(at: $0)) }) {
            isUnexpected = true
        }
    }

    // Text arrives in pieces of any size, so its errors are thrown at its end.
    private mutating func checkText() throws(StreamError) {
        if isUnexpected {
            let expectation = leaf.map { "</\($0.name)>" } ?? expectation
            throw StreamError(.invalidSyntax, "expected \(expectation), found text")
        }
        if isTooLong, let leaf {
            throw StreamError(.limitExceeded, "more than \(limits.stringByteCount) bytes in <\(leaf.name)>")
        }
    }

    mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError) {
        throw StreamError(.invalidSyntax, "expected a declared entity, found an undeclared one")
    }

    mutating func comment(_ comment: borrowing XMLComment) {
        comments = (comments.count + 1, comments.firstOffset ?? comment.place.byteRange.lowerBound)
    }

    mutating func cancel(with error: StreamError) { target.cancel(with: error) }

    // MARK: Structure

    private var isValueNext: Bool { next == .root || next == .element || next == .value }

    private var expectation: String {
        switch next {
        case .plist: "<plist>"
        case .root, .value: "a value"
        case .end: "</plist>"
        case .element: "a value or </array>"
        case .key: "<key> or </dict>"
        }
    }

    private func unexpected(_ name: RawSpan) -> StreamError {
        let name = name.byteCount <= 64 ? "<\(String(validating: name) ?? "")>" : "another element"
        return StreamError(.invalidSyntax, "expected \(expectation), found \(name)")
    }

    private mutating func begin(isDictionary: Bool, _ name: RawSpan) throws(StreamError) {
        guard isValueNext else { throw unexpected(name) }
        guard nesting.depth < limits.depth else {
            throw StreamError(.limitExceeded, "more than \(limits.depth) levels of nesting")
        }
        if isDictionary { try target.beginDictionary() } else { try target.beginArray() }
        nesting.push(isDictionary: isDictionary)
        next = isDictionary ? .key : .element
    }

    private mutating func endValue() {
        next = nesting.depth == 0 ? .end : nesting.isInDictionary ? .key : .element
    }

    // MARK: Values

    private mutating func end(_ leaf: PlistLeaf) throws(StreamError) {
        switch leaf {
        case .key:
            try text.withRawSpan { (text) throws(StreamError) in try target.writeKey(text) }
            next = .value
            return
        case .string: try text.withRawSpan { (text) throws(StreamError) in try target.writeString(text) }
        case .yes: try target.writeBool(true)
        case .no: try target.writeBool(false)
        case .data: try endData()
        case .integer, .real, .date:
            guard try endText(leaf) else {
                let expected = leaf == .date ? "a date such as 2001-01-31T12:00:00Z in" : "the text of"
                throw StreamError(
                    .invalidSyntax, "expected \(expected) <\(leaf.name)>, found \(ShownText.quoted(text))")
            }
        }
        endValue()
    }

    private mutating func endData() throws(StreamError) {
        guard let data = try text.withRawSpan({ (text) throws(StreamError) in Base64Text.decoded(text) }) else {
            throw StreamError(.invalidSyntax, "expected Base64 in <data>")
        }
        try data.withRawSpan { (data) throws(StreamError) in try target.writeData(data) }
    }

    /// Sends the value of a text without the whitespace around it; returns false if the text isn't a valid value.
    private mutating func endText(_ leaf: PlistLeaf) throws(StreamError) -> Bool {
        guard text.count <= limits.numberByteCount else {
            throw StreamError(.limitExceeded, "more than \(limits.numberByteCount) bytes in <\(leaf.name)>")
        }
        let trimmed = Array(text.drop(while: PlistLeaf.isSpace).reversed().drop(while: PlistLeaf.isSpace).reversed())
        return try trimmed.withRawSpan { (text) throws(StreamError) in
            switch leaf {
            case .integer: return try PlistScalarText.sendInteger(text, to: &target)
            case .real:
                guard let value = PlistScalarText.real(text) else { return false }
                guard value.isFinite || PlistScalarText.isNamed(text) else {
                    throw StreamError(
                        .unrepresentable, "expected a real within the range of a double, found a larger one")
                }
                try target.writeReal(value)
            default:
                // Only the form `2001-01-01T00:00:00Z` is accepted, and no other date format.
                guard text.byteCount == 20, text.byte(at: 10) == UInt8(ascii: "T"),
                    text.byte(at: 19) == UInt8(ascii: "Z"),
                    let seconds = DateText.secondsSince2001(text)
                else { return false }
                try target.writeDate(secondsSince2001: seconds)
            }
            return true
        }
    }
}
