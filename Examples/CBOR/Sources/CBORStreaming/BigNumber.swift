// Converts integers of more than 64 bits between the bytes of CBOR and the decimal digits of messages.

/// A natural number of any size.
///
/// Conversions take a time that grows with the square of the digits, so callers bound the number of digits.
struct BigNumber: CustomStringConvertible {
    /// The words, the lowest first, without zeros at the end.
    private(set) var words: [UInt64]

    /// Creates a number of one word.
    init(_ word: UInt64) { words = word == 0 ? [] : [word] }

    /// Creates a number from digits of a base, the highest first.
    init(_ digits: [UInt8], base: UInt64) {
        words = []
        for digit in digits { multiply(by: base, adding: UInt64(digit)) }
    }

    /// Multiplies the number and adds another one.
    mutating func multiply(by factor: UInt64, adding addend: UInt64) {
        var carry = addend
        for index in words.indices {
            let product = words[index].multipliedFullWidth(by: factor)
            let (sum, overflow) = product.low.addingReportingOverflow(carry)
            words[index] = sum
            carry = product.high + (overflow ? 1 : 0)
        }
        if carry > 0 { words.append(carry) }
    }

    /// Subtracts 1 from a number that isn't zero.
    mutating func decrement() {
        for index in words.indices {
            words[index] &-= 1
            if words[index] != .max { break }
        }
        if words.last == 0 { words.removeLast() }
    }

    /// The bytes, the highest first, without zeros at the beginning.
    var bytes: [UInt8] {
        let bytes = words.reversed().flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
        }
        return Array(bytes.drop { $0 == 0 })
    }

    /// The decimal digits.
    var description: String {
        let base: UInt64 = 10_000_000_000_000_000_000
        var words = words
        var parts: [String] = []
        repeat {
            var remainder: UInt64 = 0
            for index in words.indices.reversed() {
                (words[index], remainder) = base.dividingFullWidth((remainder, words[index]))
            }
            while words.last == 0 { words.removeLast() }
            let digits = String(remainder)
            parts.append(words.isEmpty ? digits : String(repeating: "0", count: 19 - digits.count) + digits)
        } while !words.isEmpty
        return parts.reversed().joined()
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension BigNumber: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testConvertsBetweenBases": testConvertsBetweenBases, "testDecrementsAcrossWords": testDecrementsAcrossWords]
    }

    private static func number(_ text: String) -> BigNumber { BigNumber(text.utf8.map { $0 - 0x30 }, base: 10) }

    private static func testConvertsBetweenBases() {
        let rows: [(String, [UInt8])] = [
            ("0", []), ("1", [1]), ("255", [255]), ("256", [1, 0]),
            ("18446744073709551615", Array(repeating: 255, count: 8)),
            ("18446744073709551616", [1] + Array(repeating: 0, count: 8)),
            ("10000000000000000000", [0x8A, 0xC7, 0x23, 0x04, 0x89, 0xE8, 0, 0]),
            ("340282366920938463463374607431768211456", [1] + Array(repeating: 0, count: 16)),
        ]
        for (text, bytes) in rows {
            expectEqual(number(text).bytes, bytes, text)
            expectEqual(BigNumber([0, 0] + bytes, base: 256).description, text, "text of \(bytes)")
        }
        // Digits of any length, with zeros among them.
        for count in 1...200 {
            let text = "7" + String(repeating: count % 3 == 0 ? "0" : "904", count: count)
            expectEqual(BigNumber(number(text).bytes, base: 256).description, text, "\(count) digits")
        }
    }

    private static func testDecrementsAcrossWords() {
        for (text, less) in [
            ("1", "0"), ("10", "9"), ("18446744073709551616", "18446744073709551615"),
            ("340282366920938463463374607431768211456", "340282366920938463463374607431768211455"),
        ] {
            var number = number(text)
            number.decrement()
            expectEqual(number.description, less, "1 less than \(text)")
        }
    }
}
#endif
