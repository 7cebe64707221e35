// A decimal number in text, taken apart: sign, leading digits, exponent.

/// The parts of a number's text: up to 19 significant digits and a power of ten.
struct DecimalDigits {
    /// The first significant digits, at most 19; for an integer of 20 digits that fits, all of them.
    private(set) var mantissa: UInt64 = 0
    /// The power of ten to multiply the mantissa with.
    private(set) var exponent: Int = 0
    private(set) var isNegative: Bool = false
    /// Whether the text has neither a fraction nor an exponent.
    private(set) var isInteger: Bool = true
    /// Whether there are digits behind those of the mantissa, other than zeros of a fraction.
    private(set) var isTruncated: Bool = false

    private var isFull: Bool = false

    /// Takes apart a number that is known to follow the grammar.
    mutating func scan(_ text: RawSpan, from start: Int) {
        var offset = start
        let end = text.byteCount
        if offset < end, text.uncheckedByte(offset) == UInt8(ascii: "-") {
            isNegative = true
            offset += 1
        }
        var isFraction = false
        while offset < end {
            let byte = text.uncheckedByte(offset)
            if byte == UInt8(ascii: ".") {
                isFraction = true
                isInteger = false
            } else if byte &- 0x30 <= 9 {
                append(UInt64(byte &- 0x30), isFraction: isFraction)
            } else {
                isInteger = false
                scanExponent(text, from: offset + 1)
                return
            }
            offset += 1
        }
    }

    private mutating func append(_ digit: UInt64, isFraction: Bool) {
        // 20 digits fit for integers up to 2^64 - 1; what is not an integer is rounded from 19 or 20 alike.
        if !isFull {
            let (product, overflow) = mantissa.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(digit)
            if !overflow && !carry {
                mantissa = sum
                if isFraction { exponent -= 1 }
                return
            }
            isFull = true
        }
        if digit != 0 || !isFraction { isTruncated = true }
        if !isFraction { exponent += 1 }
    }

    private mutating func scanExponent(_ text: RawSpan, from start: Int) {
        var value = 0
        var isDown = false
        for offset in start..<text.byteCount {
            let byte = text.uncheckedByte(offset)
            switch byte {
            case UInt8(ascii: "-"): isDown = true
            case UInt8(ascii: "+"): break
            // A number's text is far shorter than 10^9 digits, so that no mantissa outweighs this exponent.
            default: value = min(value * 10 + Int(byte &- 0x30), 1_000_000_000)
            }
        }
        exponent += isDown ? -value : value
    }
}
