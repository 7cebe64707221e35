// Tests that a number has the same value or the same error, regardless of its spelling and of the code that stores it.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistCoding
import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum NumberPathsTests {
    /// A type whose members are numbers.
    typealias Number = StreamValue & Codable & LosslessStringConvertible & ExpressibleByIntegerLiteral & Sendable

    struct Row<Value: Number>: StreamObject, Codable {
        var n: Value = 0
        var text = ""
    }

    final class Box<Value: Number>: StreamObject {
        var n: Value = 0
        var text = ""
        init() {}
    }

    struct Wrapped<Value: Number>: StreamObject {
        var optional: Value?
        var list: [Value] = []
        var lists: [[Value]] = []
        var table: [String: Value] = [:]
        var row = Row<Value>()
    }

    /// Returns the expected result for a text: the value as text, or nil if it must be refused.
    private static func integer(_ text: String) -> String? {
        let isNegative = text.hasPrefix("-")
        let parts = text.dropFirst(isNegative ? 1 : 0).lowercased().split(separator: "e")
        let digits = parts[0].split(separator: ".")
        var exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        var number = Array(digits[0].utf8)
        if digits.count > 1 {
            number += Array(digits[1].utf8)
            exponent -= digits[1].utf8.count
        }
        while let first = number.first, first == UInt8(ascii: "0") { number.removeFirst() }
        while let last = number.last, last == UInt8(ascii: "0") {
            (number, exponent) = (number.dropLast(), exponent + 1)
        }
        if number.isEmpty { return "0" }
        guard exponent >= 0, exponent < 60 else { return nil }
        let value = String(decoding: number, as: UTF8.self) + String(repeating: "0", count: exponent)
        return isNegative ? "-" + value : value
    }

    private static func expected<Value: Number>(_ type: Value.Type, _ text: String) -> String {
        if type is any FixedWidthInteger.Type {
            return integer(text).flatMap { Value($0) }.map { "\($0)" } ?? refused
        }
        guard let value = Value(text), (value as? Double)?.isFinite ?? (value as? Float)?.isFinite ?? false else {
            return refused
        }
        return "\(value)"
    }

    private static let refused = "refused"

    /// Builds values of a text that comes in chunks; throws errors unchanged.
    private static func built<Value: StreamValue>(
        _ chunks: [[UInt8]], _ type: Value.Type, _ show: (Value) -> [String]
    ) -> [String] {
        do {
            var reader = JSONReader(sink: try ObjectBuilder<Value>())
            for chunk in chunks { try reader.feed(chunk) }
            try reader.finish()
            return show(try reader.sink.takeResult())
        } catch {
            return ["\(error)"]
        }
    }

    /// Returns the result of each code path for a number, by the name of the path.
    private static func paths<Value: Number>(_ type: Value.Type, _ text: String) -> [(String, String)] {
        let padding = String(repeating: " ", count: 160)
        let rows = Array(#"[{"n":\#(text),"text":"a"},{"text":"b","n":\#(text)}]\#(padding)"#.utf8)
        var found: [(String, String)] = []
        func add(_ path: String, _ values: [String]) {
            let value = Set(values).count == 1 ? values[0] : "\(values)"
            found.append((path, value))
        }
        func add(_ path: String, _ body: () throws -> [Value]) {
            add(path, (try? body())?.map { "\($0)" } ?? [refused])
        }
        let show: ([Row<Value>]) -> [String] = { $0.map { "\($0.n)" } }
        let whole = built([rows], [Row<Value>].self, show)
        add("whole", whole.map { $0.contains("$[0].n") ? refused : $0 })
        for (path, chunks) in [
            ("bytes", rows.map { [$0] }),
            ("halves", [Array(rows[..<(rows.count / 9)]), Array(rows[(rows.count / 9)...])]),
        ] {
            let pieces = built(chunks, [Row<Value>].self, show)
            add(path, pieces == whole ? whole.map { $0.contains("$[0].n") ? refused : $0 } : pieces)
        }
        add("class") {
            var builder = try ObjectBuilder<[Box<Value>]>()
            try builder.readJSON(rows)
            return try builder.takeResult().map(\.n)
        }
        add("stream") {
            var values: [Value] = []
            var stream = try RecordStream<Row<Value>> { values.append($0.n) }
            try stream.readJSON(rows)
            return values
        }
        let wrapped = Array(
            #"""
            [{"optional":\#(text),"list":[\#(text), \#(text)],"lists":[[\#(text)],[\#(text),\#(text)]],
            "table":{"a":\#(text)},"row":{"n":\#(text)}}]\#(padding)
            """#.utf8)
        for (path, chunks) in [("members", [wrapped]), ("members in bytes", wrapped.map { [$0] })] {
            let values = built(chunks, [Wrapped<Value>].self) { objects in
                objects.flatMap { object in
                    var values: [Value] = [object.optional ?? 0, object.row.n]
                    values += object.list
                    values += object.lists.joined()
                    values += object.table.values
                    return values.map { "\($0)" }
                }
            }
            add(path, values.map { $0.contains("$[0].optional") ? refused : $0 })
        }
        add("tree") {
            var builder = PropertyListBuilder()
            try builder.readJSON(rows)
            let list = try builder.takeResult()
            var objects = try ObjectBuilder<[Row<Value>]>()
            try list.send(to: &objects)
            return try objects.takeResult().map(\.n)
                + PropertyListValueDecoder().decode([Row<Value>].self, from: list).map(\.n)
        }
        add("writer") {
            var writer = JSONWriter()
            try writer.readJSON(rows)
            var builder = try ObjectBuilder<[Row<Value>]>()
            try builder.readJSON(writer.text)
            return try builder.takeResult().map(\.n)
        }
        add("Codable") { try JSONStreamDecoder().decode([Row<Value>].self, from: rows).map(\.n) }
        add("Codable list") {
            try JSONStreamDecoder().decode([String: [Value]].self, from: #"{"a":[\#(text)]}"#)["a"] ?? []
        }
        return found
    }

    private static func expectOneValue<Value: Number>(_ type: Value.Type, _ text: String) {
        let expected = expected(type, text)
        for (path, value) in paths(type, text) where value != expected {
            expectEqual(value, expected, "\(text) by \(path)")
        }
    }

    private static func expectOneValue(_ text: String) {
        expectOneValue(Int.self, text)
        expectOneValue(UInt64.self, text)
        expectOneValue(Int8.self, text)
        expectOneValue(UInt32.self, text)
        expectOneValue(Double.self, text)
        expectOneValue(Float.self, text)
    }
}

extension NumberPathsTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAllDecodersAgreeOnNumbers": testAllDecodersAgreeOnNumbers,
            "testAllDecodersAgreeOnRandomNumbers": testAllDecodersAgreeOnRandomNumbers,
            "testDecodesWideIntegersOfAnySpelling": testDecodesWideIntegersOfAnySpelling,
            "testAgreesWithFoundation": testAgreesWithFoundation,
            "testReadsColumnsOfDoubles": testReadsColumnsOfDoubles,
        ]
    }

    private static func testAllDecodersAgreeOnNumbers() {
        for text in [
            "0", "-0", "-0.0", "0e400", "1e-400", "-1e-400", "1.0", "1e2", "100e-2", "0.5", "127.0", "-128e0", "128e0",
            "4294967295.00", "4294967296.0", "9007199254740991.0", "9007199254740993.0", "9007199254740993e0",
            "90071992547409930e-1", "-9007199254740993.0", "9007199254740993", "9223372036854775807.0",
            "9223372036854775807e0", "9223372036854775808.0", "-9223372036854775808.0", "-9223372036854775809.0",
            "18446744073709551615.0", "18446744073709551615", "18446744073709551616.0", "18446744073709551616", "1e18",
            "1e19",
            "1.2345678901234567e18", "0.99999999999999999", "0.9999999999999999999999", "126.99999999999999999",
            "1.00000000000000001", "1.00000017881393432617187499", "1.00000017881393432617187500",
            "1.00000005960464477540", "8.000001430511475", "340282356779733661637539395458142568447.9",
            "340282356779733661637539395458142568448.1", "3.4028235e38", "1e39", "1e308", "1.8e308", "1e999", "1.4e-45",
            "0.1", "6.02214076e23", "16777217.0", "16777217", "0.12500000000000000001", "9007199791611905",
        ] { expectOneValue(text) }
    }

    private static func testAllDecodersAgreeOnRandomNumbers() {
        var state: UInt64 = 5
        func next(_ bound: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state ^ state >> 29) % bound
        }
        for _ in 0..<40 {
            // Digits around a power of two, or random ones; then a spelling of them.
            let power = UInt64(1) << next(64)
            let digits = next(3) == 0 ? "\(next(.max) >> next(64))" : "\(power &+ next(3) &- (power > 1 ? 1 : 0))"
            let sign = next(3) == 0 ? "-" : ""
            let zeros = String(repeating: "0", count: Int(next(4)))
            switch next(6) {
            case 0: expectOneValue("\(sign)\(digits).0\(zeros)")
            case 1: expectOneValue("\(sign)\(digits)e\(next(3))")
            case 2: expectOneValue("\(sign)\(digits)\(zeros)e-\(zeros.utf8.count)")
            case 3: expectOneValue("\(sign)0.\(digits)E+\(digits.utf8.count + Int(next(2)))")
            case 4: expectOneValue("\(sign)\(digits).\(zeros)\(next(10))")
            default: expectOneValue("\(sign)\(digits)")
            }
        }
    }

    private static func testDecodesWideIntegersOfAnySpelling() {
        let rows: [(String, UInt128?)] = [
            ("340282366920938463463374607431768211455", .max), ("340282366920938463463374607431768211455.0", .max),
            ("340282366920938463463374607431768211456.0", nil),
            ("3.4e38", 340_000_000_000_000_000_000_000_000_000_000_000_000),
            ("1e20", 100_000_000_000_000_000_000), ("1e23", 100_000_000_000_000_000_000_000), ("1e39", nil),

            ("18446744073709551617.0", 18_446_744_073_709_551_617), ("0.5", nil), ("1e-400", nil), ("1e400", nil),
        ]
        for (text, expected) in rows {
            expectEqual(try? JSONStreamDecoder().decode(UInt128.self, from: text), expected, text)
            expectEqual(
                try? JSONStreamDecoder().decode([Int128].self, from: "[\(text)]"),
                expected.flatMap { Int128(exactly: $0) }.map { [$0] }, "\(text) with a sign")
        }
    }

    /// Foundation accepts fractions that round to a whole number, and refuses the smallest and largest integers if they
    /// have a fraction.
    private static func testAgreesWithFoundation() {
        func check<Value: Decodable & Equatable>(_ text: String, _ type: Value.Type) {
            let ours = try? JSONStreamDecoder().decode([Value].self, from: "[\(text)]")
            let theirs = try? JSONDecoder().decode([Value].self, from: Data("[\(text)]".utf8))
            if ours != theirs { expectEqual("\(ours as Any)", "\(theirs as Any)", "\(type) of \(text)") }
        }
        for text in [
            "0", "-0.0", "1.0", "1e2", "9007199254740993.0", "9007199254740993e0", "9223372036854774001.0", "1e18",
            "9223372036854775808.5", "-9223372036854775809.0", "18446744073709551616.0", "0.5", "1e400", "16777217.0",
            "16777217", "1.00000017881393432617187499", "3.4028235e38", "0.1", "9007199791611905", "100e-2", "1.25e1",
        ] {
            check(text, Int.self)
            check(text, UInt64.self)
            check(text, Int16.self)
            check(text, Double.self)
            check(text, Float.self)
            check(text, Decimal.self)
        }
    }

    private static func testReadsColumnsOfDoubles() throws {
        let texts = [
            "9007199254740993.0", "1e-400", "0.99999999999999999", "1.2345678901234567e18", "0.1", "1e23", "7",
        ]
        let json = "[" + texts.map { #"{"n":\#($0)}"# }.joined(separator: ",") + "]"
        for chunks in [[Array(json.utf8)], json.utf8.map { [$0] }] {
            var reader = JSONReader(sink: ColumnsBuilder(["n": .real]))
            for chunk in chunks { try reader.feed(chunk) }
            try reader.finish()
            let column = try reader.sink.takeResult().columns[0]
            expectEqual(texts.indices.map { column.real($0) }, texts.map { Double($0) }, "the column")
        }
    }
}
#endif
