// Compares doubles with the C library's strtod: random values, and values that are hard to round.
// JSON_DOUBLES=2000000 in the environment checks that many of each kind. The default takes some seconds, and `.ci/run`
// uses a larger number.

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

    /// Reads a number with the fast path and with the byte-by-byte parser, and compares both with strtod's result.
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

    /// Returns a random double with any exponent. Many are subnormal or near the ends of the range.
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

    @Test func roundsMidpointsBetweenDoubles() throws {
        var random = SeededRandom(seed: 2)
        for _ in 0..<max(1, Self.count / 20) {
            let value = randomDouble(&random)
            // Use all digits of the midpoint between two adjacent doubles, and then numbers slightly above and below
            // it.
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
            // The text has as few digits as the standard library's, which are the fewest possible. Large whole numbers
            // are exact.
            if value.magnitude > 0x1p53, value.magnitude < 0x1p64 { continue }
            if digitCount(text) > digitCount(value.description) { #expect(text == value.description) }
        }
    }

    /// Reads numbers around the values of floats, their midpoints and whole numbers, as integers, floats and doubles.
    @Test func readsNumbersAlikeInEveryContext() throws {
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

    /// Compares integers of up to 64 bits in different spellings with their digits.
    @Test func readsIntegersInAnySpelling() throws {
        var random = SeededRandom(seed: 6)
        for _ in 0..<max(1, Self.count / 4) {
            let integer = Int64(bitPattern: random.next()) >> Int64.random(in: 0..<63, using: &random)
            // A number can't begin with two zeros.
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

/// Exact decimal texts of the midpoints between adjacent doubles.
private enum Middle {
    /// Returns the midpoint of a double and the next larger one, as decimal digits with a fraction.
    static func decimal(above value: Double) -> String {
        let biased = Int(value.bitPattern >> 52)
        let fraction = value.bitPattern & ((1 << 52) - 1)
        let significand = 2 * (biased == 0 ? fraction : fraction | 1 << 52) + 1
        let scale = max(biased, 1) - 1076
        // The digits of significand × 2^scale, least significant first. Dividing by two is multiplying by five.
        var digits = String(significand).reversed().compactMap(\.wholeNumberValue)
        for _ in 0..<abs(scale) { multiply(&digits, by: scale < 0 ? 5 : 2) }
        while digits.count <= max(0, -scale) { digits.append(0) }
        let text = String(digits.reversed().map { Character(String($0)) })
        guard scale < 0 else { return text + ".0" }
        return "\(text.dropLast(-scale)).\(text.suffix(-scale))"
    }

    /// Returns a number with its nonzero last digit decreased by one, followed by nines.
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
