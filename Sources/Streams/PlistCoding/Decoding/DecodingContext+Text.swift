// Decodes values of formats whose scalars are all text, such as CSV and XML. The decoded types determine the kinds of
// values.

import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension DecodingContext {
    /// Returns the Boolean value of a text: `true`, `false`, `1` or `0`.
    func bool(inTextAt index: Int) -> Bool? {
        guard types != .marked else { return nil }
        return unsafe withBytes(of: node(index)) { text in
            let whole = unsafe text.bytes
            let text = whole.extracting(trimmed(whole))
            return ElementText.bool(text)
        }
    }

    /// Calls a closure with a text as a number in the grammar of JSON. In elements it may have white space around it, a
    /// plus sign, and leading zeros, which are removed.
    ///
    /// - Returns: False, without a call, if the text isn't a number, or if the format distinguishes numbers from
    ///   strings.
    func withNumber(inTextAt index: Int, _ body: (RawSpan) -> Void) -> Bool {
        guard types != .marked else { return false }
        return unsafe withBytes(of: node(index)) { bytes in
            let whole = unsafe bytes.bytes
            let text = whole.extracting(trimmed(whole))
            if DecimalNumber(text) != nil {
                body(text)
                return true
            }
            guard types == .elements, let digits = ElementText.plainNumber(text) else { return false }
            return digits.withRawSpan { digits in
                guard DecimalNumber(digits) != nil else { return false }
                body(digits)
                return true
            }
        }
    }

    /// Returns whether a text is empty in a format whose scalars are text, so that it represents a missing value for
    /// types other than text.
    @inline(never)
    func isEmptyText(at index: Int) -> Bool {
        guard types != .marked else { return false }
        return unsafe withBytes(of: node(index)) { unsafe trimmed($0.bytes).isEmpty }
    }

    /// Returns whether a value is null, or an empty text in a format whose scalars are text.
    @inline(__always)  // PERF: JSONTyped; once an optional member.
    func isNil(at index: Int) -> Bool {
        let node = node(index)
        return node.has(.null) || types != .marked && node.has(.string) && isEmptyText(at: index)
    }

    /// Returns whether a value is an empty text, if the type has no value for it.
    @inline(__always)  // PERF: JSONTyped; once an optional member.
    func isMissing(_ type: Any.Type, at index: Int) -> Bool {
        types != .marked && node(index).has(.string) && isNoText(type) && isEmptyText(at: index)
    }

    /// Returns whether a type has no value for the empty text. In elements, it may be a list or an object without
    /// members.
    @inline(never)
    private func isNoText(_ type: Any.Type) -> Bool {
        switch kind(of: type) {
        case .string, .data: false
        case .array, .dictionary, .ints, .doubles, .strings: types == .text
        case .other: types == .text || type is any RawRepresentable.Type || type == UUID.self
        default: true
        }
    }

    /// Returns the text of an element with attributes, which is a member next to them, or nil for any other value.
    @inline(never)
    func textMember(of index: Int) -> Int? {
        let node = node(index)
        guard types == .elements, node.has(.dictionary) else { return nil }
        var member = index + 1
        while member < node.end {
            if name(of: Int(self.node(member).key)) == Self.textKey { return member }
            member = after(member)
        }
        return nil
    }

    /// The key for the text of an element with attributes, the default of XML.
    private static let textKey = "#text"

    /// Returns the node of a dictionary. In a format that can't distinguish an empty dictionary from the empty text,
    /// also accepts the empty text.
    @inline(__always)
    func dictionary(at index: Int) -> TapeNode {
        let node = node(index)
        guard types == .elements, node.has(.string), isEmptyText(at: index) else { return node }
        return TapeNode(.dictionary, UInt64(index + 1) &<< 32, key: node.key)
    }

    /// Returns the range of a text without the white space around it. In elements, that white space belongs to the
    /// layout; in other formats, it belongs to the values.
    private func trimmed(_ text: RawSpan) -> Range<Int> {
        types == .elements ? ElementText.trimmed(text) : 0..<text.byteCount
    }
}
