// The text of numbers for the Codable decoder: readers send a fraction as a double, but some types hold more digits.

import PlistCoding
import PlistStreaming

/// Reads a text again for types that hold more digits than a double.
enum JSONNumberTexts {
    /// Reads JSON text into a tape that stores fractions as text; nil if the text isn't JSON.
    ///
    /// It has no limits, because the text was already read within the limits.
    static let reader = unsafe NumberReader { input in
        let all = Int.max
        var options = JSONReaderOptions(
            limits: StreamLimits(depth: all, stringByteCount: all, numberByteCount: all, totalByteCount: all))
        options.digits = .ofAll
        var tape = unsafe DecodingTape(input: input)
        do {
            try unsafe tape.readJSON(input.bytes, options: options)
        } catch {
            return nil
        }
        return tape
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum JSONNumberTextsTests {
    private struct Amounts: Decodable {
        let decimal: Decimal
        let float: Float
        let double: Double
    }
}

extension JSONNumberTextsTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsDecimalsExactly": testReadsDecimalsExactly,
            "testFindsNumbersAmongOtherValues": testFindsNumbersAmongOtherValues,
            "testRoundsFloatsOnce": testRoundsFloatsOnce,
            "testRetainedDecodersStayValid": testRetainedDecodersStayValid,
        ]
    }

    private static func testReadsDecimalsExactly() throws {
        let texts = [
            "0.1", "-0.1", "0.12345678901234567890123456789012345678", "1234567890123456789.0123456789", "1e-20",
            "-1.5E+3", "12345678901234567890.5", "3.14159265358979323846264338327950288419", "0.0", "-0.0", "100e-2",
            "79228162514264337593543950335.5", "0.1000000000000000055511151231257827",
        ]
        for text in texts {
            let value = try JSONStreamDecoder().decode(Decimal.self, from: text)
            expectEqual(value, Decimal(string: text), text)
            expectEqual(value, try JSONDecoder().decode(Decimal.self, from: Data(text.utf8)), "\(text) by Foundation")
        }
        let all = "[" + texts.joined(separator: " , ") + "]"
        expectEqual(
            try JSONStreamDecoder().decode([Decimal].self, from: all), texts.compactMap { Decimal(string: $0) }, "all")
    }

    private static func testFindsNumbersAmongOtherValues() throws {
        // Strings that look like numbers, numbers of every kind, and duplicate keys with values of other sizes.
        let text = #"""
            {"1.5": [1, -2, 18446744073709551615, 1e400, "3.5\\", "\"4.5", true, null, {"-9.5": false}], "x": [0.5, {"y": 2.5}],
             "decimal": 7.25, "\u0078": 1, "double": 0.5, "float": 1.25, "decimal": 0.1234567890123456789}
            """#
        let amounts = try JSONStreamDecoder().decode(Amounts.self, from: text)
        expectEqual(amounts.decimal, Decimal(string: "0.1234567890123456789"), "the last of two")
        expectEqual(amounts.double, 0.5, "a double")
        expectEqual(amounts.float, 1.25, "a float")
    }

    private static func testRoundsFloatsOnce() throws {
        // The first is slightly above the middle of two floats, which is the nearest double; the last ones are at the
        // limit.
        let rows = [
            "1.00000005960464477540", "1.0000000596046448", "1.00000017881393432617187499",
            "1.00000017881393432617187500", "340282356779733661637539395458142568447.9", "1.4e-45", "7.1e-46",
        ]
        for text in rows {
            expectEqual(try JSONStreamDecoder().decode(Float.self, from: text), Float(text), text)
        }
        expectThrows(DecodingError.self, "a number beyond") {
            _ = try JSONStreamDecoder().decode(Float.self, from: "340282356779733661637539395458142568448.1")
        }
    }

    private static func testRetainedDecodersStayValid() throws {
        struct Kept: Decodable {
            let container: any SingleValueDecodingContainer
            init(from decoder: any Decoder) throws { container = try decoder.singleValueContainer() }
        }
        let text = "[0.12345678901234567890123, 0.5]"
        let kept = try JSONStreamDecoder().decode([Kept].self, from: text)
        expectEqual(
            try kept[0].container.decode(Decimal.self), Decimal(string: "0.12345678901234567890123"), "after decoding")
    }
}
#endif
