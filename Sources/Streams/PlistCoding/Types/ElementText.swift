// The text of numbers and Booleans in elements, which have more spellings than those of JSON.

import PlistStreaming

/// Functions for the text of elements, such as those of XML.
package enum ElementText {
    /// Returns the range of a text without the white space around it, which is the layout of elements.
    package static func trimmed(_ text: RawSpan) -> Range<Int> {
        var (start, end) = (0, text.byteCount)
        func isSpace(_ offset: Int) -> Bool {
            let byte = text.byte(at: offset)
            return byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
        }
        while start < end, isSpace(start) { start += 1 }
        while end > start, isSpace(end - 1) { end -= 1 }
        return start..<end
    }

    /// Returns the Boolean for `true`, `false`, `1` or `0`, or nil for any other text.
    package static func bool(_ text: RawSpan) -> Bool? {
        if text.equals("true") || text.equals("1") { return true }
        return text.equals("false") || text.equals("0") ? false : nil
    }

    /// Returns a number without a plus sign and leading zeros, which JSON doesn't have, or nil if no number can follow them.
    package static func plainNumber(_ text: RawSpan) -> [UInt8]? {
        let sign = text.byteCount > 0 ? text.byte(at: 0) : 0
        let isNegative = sign == UInt8(ascii: "-")
        var start = isNegative || sign == UInt8(ascii: "+") ? 1 : 0
        while start + 1 < text.byteCount, text.byte(at: start) == UInt8(ascii: "0"),
            text.byte(at: start + 1) &- 0x30 <= 9
        {
            start += 1
        }
        guard start < text.byteCount, text.byte(at: start) != UInt8(ascii: "-") else { return nil }
        return (isNegative ? [sign] : []) + Array(copying: text.extracting(start..<text.byteCount))
    }
}
