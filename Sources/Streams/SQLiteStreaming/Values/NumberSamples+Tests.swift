// Numbers as text in all spellings for tests, and the values that a table stores for them.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

/// Numbers as text, for the tests of every way of inserting.
package enum NumberSamples {
    /// A decimal number: its sign, its digits without leading and trailing zeros, and the power of ten of the last digit.
    package struct Decimal: Equatable {
        var isNegative = false
        package var digits = ""
        var exponent = 0

        package init(_ text: String) {
            let parts = text.split(separator: "e")
            isNegative = text.hasPrefix("-")
            digits = parts[0].filter { $0.isNumber }
            let fractionCount = parts[0].split(separator: ".").dropFirst().first?.count ?? 0
            exponent = (parts.count > 1 ? Int(parts[1]) ?? 0 : 0) - fractionCount
            while digits.hasSuffix("0") {
                digits.removeLast()
                exponent += 1
            }
            digits = String(digits.drop { $0 == "0" })
            if digits.isEmpty { (isNegative, exponent) = (false, 0) }
        }
    }

    /// Numbers in all spellings, including those that readers send as doubles.
    package static let spellings: [String] = {
        var random = TestRandom(seed: 7)
        var spellings = [
            "1e-400", "-1e-400", "1e400", "-1e400", "0.0000e-999", "18446744073709551616", "9007199254740993.0",
            "9223372036854775807.0", "9223372036854775809e0", "18446744073709551615.5", "4.9e-324", "2.4e-324",
            "2.5e-324", "1.7976931348623159e308", "10000000000000000000000000", "1e25", "1e-99999999999999999999",
            "9223372036854775807", "-9223372036854775808.0", "0", "-0.0", "1.5", "3.40282356779733661637539e38",
        ]
        for _ in 0..<120 {
            let count = Int.random(in: 1...25, using: &random)
            let digits = (0..<count).map { _ in "\(Int.random(in: 0...9, using: &random))" }.joined()
            var text = String(digits.drop { $0 == "0" })
            if text.isEmpty { text = "0" }
            text += ["", "", ".0", ".5", ".00000000000000000001"].randomElement(using: &random) ?? ""
            switch Int.random(in: 0..<3, using: &random) {
            case 0: text += "e\(Int.random(in: -420...420, using: &random))"
            case 1: text += "e\(Int.random(in: -30...5, using: &random))"
            default: break
            }
            spellings.append((Bool.random(using: &random) ? "-" : "") + text)
        }
        return spellings
    }()

    /// Returns the stored value of a number, or nil if the number must be rejected.
    package static func stored(_ text: String) -> SQLiteValue? {
        if let integer = text.withUTF8Span({ NumberText.integer($0, as: Int64.self) }) {
            let real = Double(text)
            let isReal = text.contains { ".e".contains($0) } && real.flatMap { Int64(exactly: $0) } == integer
            return isReal ? real.map { .real($0) } : .integer(integer)
        }
        guard text.contains(where: { ".e".contains($0) }), let real = Double(text), real.isFinite, real != 0 else {
            return nil
        }
        return .real(real)
    }

    /// Returns whether a stored value is equal to the expected one.
    package static func isEqual(_ found: SQLiteValue?, _ expected: SQLiteValue?) -> Bool {
        switch (found, expected) {
        case (.integer(let found), .real(let expected)): Double(exactly: found) == expected
        case (.real(let found), .integer(let expected)): Double(exactly: expected) == found
        default: found == expected
        }
    }
}
#endif
