// Guesses where markup that is cut off by the end of a chunk may end, so that it is read again only when it is complete.

import PlistStreaming

/// A search for the end of a tag, a comment, an instruction or a reference, which continues from chunk to chunk.
///
/// The search stops after the last byte of the markup, or at the latest where the tokenizer will find an error. It may be
/// wrong: the tokenizer decides, and a wrong guess costs only time.
struct MarkupEnd {
    private enum Kind {
        case tag, comment, instruction, reference
        /// A document type declaration. It is tried again when it has grown by a quarter.
        case documentType
    }

    private let kind: Kind
    private var quote: UInt8 = 0
    /// The two previous bytes.
    private var last: (UInt8, UInt8) = (0, 0)
    private var remaining: Int

    /// Creates a search for the end of markup that has begun but isn't complete.
    init(_ part: RawSpan) {
        let (first, second) = (part.byte(at: 0), part.byteCount > 1 ? part.byte(at: 1) : 0)
        let third = part.byteCount > 2 ? part.byte(at: 2) : 0
        kind =
            switch (first, second, third) {
            case (UInt8(ascii: "&"), _, _): .reference
            case (_, UInt8(ascii: "?"), _): .instruction
            case (_, UInt8(ascii: "!"), UInt8(ascii: "-")): .comment
            case (_, UInt8(ascii: "!"), _): .documentType
            default: .tag
            }
        remaining = part.byteCount / 4 + 1
        if kind != .documentType { _ = find(in: part, from: kind == .comment ? 4 : 1) }
    }

    /// Returns the offset after the byte that may be the last one, or nil if these bytes don't contain it.
    mutating func find(in bytes: RawSpan, from start: Int) -> Int? {
        if kind == .documentType {
            guard bytes.byteCount - start >= remaining else {
                remaining -= max(0, bytes.byteCount - start)
                return nil
            }
            return start + remaining
        }
        var offset = start
        while offset < bytes.byteCount {
            let byte = bytes.uncheckedByte(offset)
            offset += 1
            if isEnd(byte) { return offset }
            last = (last.1, byte)
        }
        return nil
    }

    private mutating func isEnd(_ byte: UInt8) -> Bool {
        switch kind {
        case .tag:
            if byte == UInt8(ascii: "<") { return true }
            if quote != 0 {
                if byte == quote { quote = 0 }
                return false
            }
            if byte == 0x22 || byte == 0x27 { quote = byte }
            return byte == UInt8(ascii: ">")
        case .comment: return last == (UInt8(ascii: "-"), UInt8(ascii: "-"))
        case .instruction: return last.1 == UInt8(ascii: "?") && byte == UInt8(ascii: ">")
        case .reference: return byte < 0x80 && !NameBytes.isASCIIPart(byte) && byte != UInt8(ascii: "#")
        case .documentType: return false
        }
    }
}
