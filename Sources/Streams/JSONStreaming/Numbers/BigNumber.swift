// Whole numbers of any size, with the operations that the powers of five need: multiplication, division and addition of
// small numbers.

/// A whole number of any size.
struct BigNumber {
    /// The words, least significant first, without zeros at the end.
    var words: [UInt64]

    mutating func multiply(by factor: UInt64, adding addend: UInt64 = 0) {
        var carry = addend
        for index in words.indices {
            let product = words[index].multipliedFullWidth(by: factor)
            let (low, overflow) = product.low.addingReportingOverflow(carry)
            words[index] = low
            carry = product.high &+ (overflow ? 1 : 0)
        }
        if carry != 0 { words.append(carry) }
    }

    mutating func divide(by divisor: UInt64) {
        var remainder: UInt64 = 0
        for index in words.indices.reversed() {
            (words[index], remainder) = divisor.dividingFullWidth((remainder, words[index]))
        }
        while words.last == 0 { words.removeLast() }
    }

    /// The 128 most significant bits. The first of them is set; zeros follow if there are fewer bits.
    var leadingBits: (high: UInt64, low: UInt64) {
        guard let top = words.last else { return (0, 0) }
        let second = words.count > 1 ? words[words.count - 2] : 0
        let third = words.count > 2 ? words[words.count - 3] : 0
        let shift = top.leadingZeroBitCount
        guard shift > 0 else { return (top, second) }
        return (top << shift | second >> (64 - shift), second << shift | third >> (64 - shift))
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension BigNumber: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testMultipliesAndDivides": testMultipliesAndDivides,
            "testReturnsLeadingBits": testReturnsLeadingBits,
        ]
    }

    private static func testMultipliesAndDivides() {
        var number = BigNumber(words: [1])
        for _ in 0..<200 { number.multiply(by: 5) }
        number.multiply(by: 3, adding: 2)
        number.divide(by: 3)
        for _ in 0..<199 { number.divide(by: 5) }
        expectEqual(number.words, [5], "5^200 divided 199 times")
        number.divide(by: 10)
        expectEqual(number.words, [], "5 / 10")
        number.multiply(by: 7, adding: 0)
        expectEqual(number.words, [], "0 * 7")
    }

    private static func testReturnsLeadingBits() {
        var number = BigNumber(words: [0, 0, 1])
        expectEqual(number.words, [0, 0, 1], "2^128")
        for count in 0..<130 {
            expectEqual(number.leadingBits.high, 1 << 63, "the first bit of 2^\(128 + count)")
            expectEqual(number.leadingBits.low, 0, "the others of 2^\(128 + count)")
            number.multiply(by: 2)
        }
        number = BigNumber(words: [5])
        for _ in 0..<70 { number.multiply(by: 2) }
        expectEqual(number.leadingBits.high, 0xA000_0000_0000_0000, "leading bits")
        number.multiply(by: 1, adding: 1)
        expectEqual(number.leadingBits.low, 1 << 55, "the last of 73 bits")
        expectEqual(BigNumber(words: []).leadingBits.high, 0, "no bits")
    }
}
#endif
