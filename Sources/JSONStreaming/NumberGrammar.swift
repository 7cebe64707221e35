// The grammar of numbers on its own, for text that a writer is handed.

/// The grammar of RFC 8259 section 6.
enum NumberGrammar {
    /// Whether text is a JSON number from its first to its last byte.
    static func accepts(_ text: RawSpan) -> Bool {
        var offset = 0
        func isNext(_ accepted: UInt8...) -> Bool {
            offset < text.byteCount && accepted.contains(text.uncheckedByte(offset))
        }
        func skipDigits() -> Int {
            let start = offset
            while offset < text.byteCount, text.uncheckedByte(offset) &- 0x30 <= 9 { offset += 1 }
            return offset - start
        }
        if isNext(UInt8(ascii: "-")) { offset += 1 }
        let startsWithZero = isNext(UInt8(ascii: "0"))
        let integerDigits = skipDigits()
        guard integerDigits == 1 || integerDigits > 1 && !startsWithZero else { return false }
        if isNext(UInt8(ascii: ".")) {
            offset += 1
            guard skipDigits() > 0 else { return false }
        }
        if isNext(UInt8(ascii: "e"), UInt8(ascii: "E")) {
            offset += 1
            if isNext(UInt8(ascii: "+"), UInt8(ascii: "-")) { offset += 1 }
            guard skipDigits() > 0 else { return false }
        }
        return offset == text.byteCount
    }
}
