// Whole numbers of any size, as far as exact rounding needs them: multiply, divide and add small, shift, compare.

/// A whole number of any size.
struct BigNumber: Equatable {
    /// The words, least significant first, without zeros at the end.
    private(set) var words: [UInt64]

    init(_ value: UInt64) {
        words = value == 0 ? [] : [value]
    }

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

    mutating func multiply(byFiveToThe exponent: Int) {
        var remaining = exponent
        // 5^27 is the largest power in 64 bits.
        while remaining >= 27 {
            multiply(by: 7_450_580_596_923_828_125)
            remaining -= 27
        }
        for _ in 0..<remaining { multiply(by: 5) }
    }

    mutating func divide(by divisor: UInt64) {
        var remainder: UInt64 = 0
        for index in words.indices.reversed() {
            (words[index], remainder) = divisor.dividingFullWidth((remainder, words[index]))
        }
        while words.last == 0 { words.removeLast() }
    }

    mutating func shiftLeft(by count: Int) {
        guard !words.isEmpty else { return }
        let bits = count % 64
        if bits != 0 {
            var carry: UInt64 = 0
            for index in words.indices {
                let word = words[index]
                words[index] = word << bits | carry
                carry = word >> (64 - bits)
            }
            if carry != 0 { words.append(carry) }
        }
        words.insert(contentsOf: repeatElement(0, count: count / 64), at: 0)
    }

    /// The 128 most significant bits, the first of them set; zeros follow when there are fewer.
    var leadingBits: (high: UInt64, low: UInt64) {
        guard let top = words.last else { return (0, 0) }
        let second = words.count > 1 ? words[words.count - 2] : 0
        let third = words.count > 2 ? words[words.count - 3] : 0
        let shift = top.leadingZeroBitCount
        guard shift > 0 else { return (top, second) }
        return (top << shift | second >> (64 - shift), second << shift | third >> (64 - shift))
    }

    static func < (left: BigNumber, right: BigNumber) -> Bool {
        guard left.words.count == right.words.count else { return left.words.count < right.words.count }
        for index in left.words.indices.reversed() where left.words[index] != right.words[index] {
            return left.words[index] < right.words[index]
        }
        return false
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension BigNumber: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testMultipliesAndDivides": testMultipliesAndDivides,
            "testShifts": testShifts,
            "testCompares": testCompares,
        ]
    }

    private static func testMultipliesAndDivides() {
        var number = BigNumber(1)
        number.multiply(byFiveToThe: 200)
        number.multiply(by: 3, adding: 2)
        number.divide(by: 3)
        for _ in 0..<199 { number.divide(by: 5) }
        expectEqual(number.words, [5], "5^200 divided 199 times")
        number.divide(by: 10)
        expectEqual(number.words, [], "5 / 10")
        number.multiply(by: 7, adding: 0)
        expectEqual(number.words, [], "0 * 7")
    }

    private static func testShifts() {
        for count in [0, 1, 63, 64, 65, 130] {
            var number = BigNumber(0x8000_0000_0000_0001)
            number.shiftLeft(by: count)
            for _ in 0..<count { number.divide(by: 2) }
            expectEqual(number.words, [0x8000_0000_0000_0001], "shifted by \(count)")
        }
        var number = BigNumber(5)
        number.shiftLeft(by: 70)
        expectEqual(number.leadingBits.high, 0xA000_0000_0000_0000, "leading bits")
        number.multiply(by: 1, adding: 1)
        expectEqual(number.leadingBits.low, 1 << 55, "the last of 73 bits")
    }

    private static func testCompares() {
        var large = BigNumber(1)
        large.shiftLeft(by: 64)
        expectTrue(BigNumber(.max) < large, "2^64 - 1 and 2^64")
        expectFalse(large < BigNumber(.max), "2^64 and 2^64 - 1")
        expectTrue(BigNumber(0) < BigNumber(1), "0 and 1")
        expectFalse(BigNumber(1) < BigNumber(1), "1 and 1")
    }
}
#endif
