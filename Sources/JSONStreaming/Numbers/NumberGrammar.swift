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

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension NumberGrammar: SelfTesting {
    static var testSelectors: TestSelectors { ["testAcceptsNumbersOnly": testAcceptsNumbersOnly] }

    private static func testAcceptsNumbersOnly() {
        for text in ["0", "-0", "10", "1.0", "0.5e-3", "1E+2", "1e400", "-9223372036854775809"] {
            expectTrue(text.withUTF8Span { accepts($0) }, text)
        }
        for text in ["", "-", "+1", "01", "-01", ".5", "1.", "1e", "1e+", "1 ", "0x1", "NaN", "1.5.5", "1e5.5", "--1"] {
            expectFalse(text.withUTF8Span { accepts($0) }, text)
        }
    }
}
#endif
