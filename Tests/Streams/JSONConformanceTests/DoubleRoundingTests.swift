// Doubles against the C library's strtod: random ones, and those that are hard to round.
// JSON_DOUBLES=2000000 in the environment checks as many of each kind; the default takes some seconds, and
// `.ci/run` asks for more.

import Foundation
import JSONStreaming
import PlistBuilding
import PlistStreaming
import TestCorpora
import Testing

/// A sink that keeps the last number as a double.
private struct LastNumber: PartialSink {
    var value: Double = .nan
    mutating func writeInteger(_ value: Int64) throws(StreamError) { self.value = Double(value) }
    mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { self.value = Double(value) }
    mutating func writeReal(_ value: Double) throws(StreamError) { self.value = value }
    mutating func writeNumber(text: RawSpan) throws(StreamError) {
        value = String(validating: text).flatMap { Double($0) } ?? .nan
    }
}

@Suite(.serialized) struct DoubleRoundingTests {
    static let count = Int(ProcessInfo.processInfo.environment["JSON_DOUBLES"] ?? "") ?? 2_000

    /// Reads a number by the fast loop and by the plain machine, and expects what strtod says.
    private func check(_ text: String) throws {
        let expected = strtod(text, nil)
        for padding in ["", String(repeating: " ", count: 128)] {
            var sink = LastNumber()
            try sink.readJSON("[" + text + "]" + padding)
            if sink.value.magnitude.bitPattern != expected.magnitude.bitPattern {
                #expect(sink.value == expected, "\(text)")
            }
        }
    }

    /// A random double of any exponent, half of them subnormal or near the ends of the range.
    private func randomDouble(_ random: inout SeededRandom) -> Double {
        while true {
            var bits = random.next() >> 1
            switch bits % 8 {
            case 0: bits &= (1 << 52) - 1
            case 1: bits = bits & ((1 << 52) - 1) | 1 << 52
            case 2: bits = bits & ((1 << 52) - 1) | 0x7FE << 52
            default: break
            }
            let value = Double(bitPattern: bits)
            if value.isFinite { return value }
        }
    }

    @Test func readsShortestAndLongTexts() throws {
        var random = SeededRandom(seed: 1)
        for _ in 0..<Self.count {
            let value = randomDouble(&random)
            try check("\(value)")
            try check(String(format: "%.16e", value))
            try check(String(format: "%.25e", value))
        }
    }

    @Test func readsMiddlesBetweenDoubles() throws {
        var random = SeededRandom(seed: 2)
        for _ in 0..<max(1, Self.count / 20) {
            let value = randomDouble(&random)
            // The middle between two neighbours, all its digits; then a little above and below.
            let middle = Middle.decimal(above: value)
            try check(middle + "e0")
            try check(middle + String(repeating: "0", count: 30) + "1")
            let below = Middle.slightlyBelow(middle)
            try check(below)
        }
    }

    @Test func readsRandomDigitsAndExponents() throws {
        var random = SeededRandom(seed: 3)
        for _ in 0..<Self.count {
            let mantissa = random.next() >> UInt64.random(in: 0..<64, using: &random)
            try check("\(mantissa)e\(Int.random(in: -345...310, using: &random))")
            try check("\(mantissa).\(random.next())")
            try check("0." + String(repeating: "0", count: Int.random(in: 0...30, using: &random)) + "\(mantissa)")
        }
    }

    @Test func writesDoublesThatReadBack() throws {
        var random = SeededRandom(seed: 4)
        for _ in 0..<Self.count {
            let value = randomDouble(&random)
            var writer = JSONWriter()
            try writer.writeReal(value)
            var sink = LastNumber()
            try sink.readJSON(writer.bytes)
            if sink.value != value { #expect(sink.value == value) }
            let text = writer.text
            // No shorter text would do: the standard library's has as few digits as possible. Large whole numbers are exact.
            if value.magnitude > 0x1p53, value.magnitude < 0x1p64 { continue }
            if digitCount(text) > digitCount(value.description) { #expect(text == value.description) }
        }
    }

    /// Numbers around the values of floats, the middles between them and whole numbers, as integers, floats and doubles.
    @Test func readsNumbersOfEachTypeAsIfAlone() throws {
        struct Row: Codable, StreamObject {
            var double = 0.0
            var float: Float? = 0
        }
        var random = SeededRandom(seed: 5)
        for round in 0..<max(1, Self.count / 4) {
            let float = Float(bitPattern: UInt32(truncatingIfNeeded: random.next()))
            guard float.isFinite else { continue }
            let middle = (Double(float) + Double(float.nextUp)) / 2
            let value = [Double(float), middle, middle.nextUp, middle.nextDown][round & 3]
            guard value.isFinite else { continue }
            let format = "%.\(Int.random(in: 5...24, using: &random))\(round & 4 == 0 ? "e" : "g")"
            let text = String(format: format, value)
            let bytes =
                #"[{"double":\#(text),"float":\#(text)},{"float":\#(text),"double":\#(text)}]\#(String(repeating: " ", count: 128))"#
            let (double, expected) = (strtod(text, nil), strtof(text, nil))
            guard double.isFinite, expected.isFinite else { continue }
            var builder = try ObjectBuilder<[Row]>()
            try builder.readJSON(bytes)
            let rows = try builder.takeResult() + JSONStreamDecoder().decode([Row].self, from: bytes)
            for row in rows where row.float != expected || row.double != double {
                #expect(row.float == expected && row.double == double, "\(text)")
            }
        }
    }

    /// Whole numbers of up to 64 bits, spelled in any way, against their digits.
    @Test func readsIntegersOfAnySpelling() throws {
        var random = SeededRandom(seed: 6)
        for _ in 0..<max(1, Self.count / 4) {
            let integer = Int64(bitPattern: random.next()) >> Int64.random(in: 0..<63, using: &random)
            // No number begins with two zeros.
            let zeros = integer == 0 ? 0 : Int.random(in: 0...5, using: &random)
            let digits = "\(integer)" + String(repeating: "0", count: zeros)
            let fraction = Int.random(in: 1...5, using: &random)
            let texts = [
                "\(integer).0", "\(integer)e0", "\(digits)e-\(zeros)", "\(digits).00E-\(zeros)",
                "\(integer).\(String(repeating: "0", count: fraction))e+00",
            ]
            let text = "[" + texts.joined(separator: ",") + "]" + String(repeating: " ", count: 128)
            var builder = try ObjectBuilder<[Int64]>()
            try builder.readJSON(text)
            let expected = texts.map { _ in integer }
            let values = try builder.takeResult()
            if values != expected { #expect(values == expected, "\(text)") }
            let decoded = try JSONStreamDecoder().decode([Int64].self, from: text)
            if decoded != expected { #expect(decoded == expected, "\(text)") }
            let off = "\(integer).\(String(repeating: "0", count: Int.random(in: 0...30, using: &random)))1"
            #expect((try? JSONStreamDecoder().decode(Int64.self, from: off)) == nil, "\(off)")
        }
    }

    private func digitCount(_ text: String) -> Int {
        let digits = text.prefix { $0 != "e" }.filter(\.isNumber).drop { $0 == "0" }
        return digits.reversed().drop { $0 == "0" }.count
    }
}

/// Exact decimal texts of the middles between neighbouring doubles.
private enum Middle {
    /// The middle of a double and the next one above, as decimal digits with a fraction.
    static func decimal(above value: Double) -> String {
        let biased = Int(value.bitPattern >> 52)
        let fraction = value.bitPattern & ((1 << 52) - 1)
        let significand = 2 * (biased == 0 ? fraction : fraction | 1 << 52) + 1
        let scale = max(biased, 1) - 1076
        // Digits of significand × 2^scale, least significant first; a division by two is a multiplication by five.
        var digits = String(significand).reversed().compactMap(\.wholeNumberValue)
        for _ in 0..<abs(scale) { multiply(&digits, by: scale < 0 ? 5 : 2) }
        while digits.count <= max(0, -scale) { digits.append(0) }
        let text = String(digits.reversed().map { Character(String($0)) })
        guard scale < 0 else { return text + ".0" }
        return "\(text.dropLast(-scale)).\(text.suffix(-scale))"
    }

    /// A number whose last digit, which is not zero, is one less, and nines after it.
    static func slightlyBelow(_ text: String) -> String {
        guard let last = text.last?.wholeNumberValue, last > 0 else { return text }
        return text.dropLast() + "\(last - 1)" + String(repeating: "9", count: 30)
    }

    private static func multiply(_ digits: inout [Int], by factor: Int) {
        var carry = 0
        for index in digits.indices {
            let product = digits[index] * factor + carry
            digits[index] = product % 10
            carry = product / 10
        }
        if carry > 0 { digits.append(carry) }
    }
}
