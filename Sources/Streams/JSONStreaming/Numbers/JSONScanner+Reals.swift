// Reads consecutive reals in one array or in adjacent arrays, such as the coordinates of a map. It is a part of the
// fast loop in a separate function with its own registers, and also stops at unexpected text.

public import PlistStreaming

extension JSONScanner {
    /// Returns whether a number may be sent without its text.
    @inlinable @inline(__always)  // PERF: JSONReader/coordinates; one comparison unless the reader keeps digits.
    func keepsDigits(of number: JSONNumber.Plain, from start: Int) -> Bool {
        // Doubles below the smallest normal one have fewer digits.
        !number.isReal || realByteLimit == .max
            || number.end &- start <= realByteLimit && !Double(bitPattern: number.bits).isSubnormal
    }

    // PERF: JSONReader/coordinates; inlinable to specialise for the sink, not inlined into the loop that calls it.
    /// Sends a short real and those that follow it, and returns the offset after the last one, or `notFound` for none.
    ///
    /// - Parameters:
    ///   - start: The offset of a digit or a minus, with `margin` bytes after it.
    ///   - last: The last offset with `margin` bytes after it.
    ///   - sendsArrays: A Boolean value that indicates whether following arrays may begin without asking the sink for
    ///     memory.
    @inlinable @inline(never)
    mutating func sendReals<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, from start: Int, last: Int, isInArray: Bool, sendsArrays: Bool, to sink: inout Sink
    ) throws(StreamError) -> Int {
        let entersArrays = sendsArrays && isInArray && nesting.isInArrayOfArrays
        let powers = SmallPowers.table
        let lastEnd = isInArray ? last : 0
        var token = start
        // The distance from the last number to the current one: after a comma, after a comma and a space, or after
        // another array's bracket.
        var gap = 1
        do throws(StreamError) {
            // Bounds: up to four bytes are examined in addition to a number, which is also within the margin.
            while true {
                let number = JSONNumber.scanReal(bytes, from: token, powers: powers)
                guard number.isReal else {
                    // Exactly one space between a comma and a number.
                    guard gap == 1, bytes.uncheckedByte(token) == 0x20 else { break }
                    gap = 2
                    token &+= 1
                    continue
                }
                guard number.end &- token <= realByteLimit else { break }
                let follower = bytes.uncheckedByte(number.end)
                let isComma = follower == UInt8(ascii: ",")
                guard isComma || follower == UInt8(ascii: "]") || !JSONNumber.isExponent(follower) else { break }
                if gap == 3 {
                    // The next array begins only when its first number is known, so that the loop can stop in only one
                    // way.
                    token &-= 3
                    try sink.endArray()
                    token &+= 2
                    try sink.beginArray()
                    token &+= 1
                }
                try sink.writeReal(number.value)
                guard number.end <= lastEnd else { return number.end }
                gap = 1
                if !isComma {
                    guard entersArrays, bytes.uncheckedHalf(number.end) & 0xFF_FFFF == 0x5B_2C5D else {
                        return number.end
                    }
                    gap = 3
                }
                token = number.end &+ gap
            }
            let end = token &- gap
            return end < start ? StringRuns.notFound : end
        } catch {
            tokenOffset = chunkOffset + token
            throw fail(error, in: bytes)
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum JSONScannerRealsTests {}

extension JSONScannerRealsTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAgreesWithPlainScan": testAgreesWithPlainScan,
            "testStopsAtOtherTokens": testStopsAtOtherTokens,
            "testKeepsTheDepthOfAdjacentArrays": testKeepsTheDepthOfAdjacentArrays,
            "testReportsSinkErrorsAtTheirToken": testReportsSinkErrorsAtTheirToken,
            "testKeepsDigitsThatDoublesCannotHold": testKeepsDigitsThatDoublesCannotHold,
        ]
    }

    /// Reals of all lengths, exact and rounded ones, ties, zeros with signs, with integers and exponents among them.
    private static func testAgreesWithPlainScan() {
        let pi = "3141592653589793238462643"
        for whole in [1, 2, 6, 7, 8, 9, 18, 19] {
            for fraction in [1, 7, 8, 9, 10, 11, 12, 15, 16, 17, 18, 19, 20, 24] {
                let real = "\(pi.prefix(whole)).\(pi.suffix(fraction))"
                let text =
                    "[[\(real),-\(real), 0.\(pi.suffix(fraction))],[-0.0,\(real)e5,-0.5],[1.5,2],[2,1.5],[-1.5,\(real)]]"
                let bytes = Array((text + String(repeating: " ", count: 60)).utf8)
                var plain = JSONReaderOptions()
                plain.usesPlainScan = true
                let expected = JSONScanner.outcome([bytes], options: plain)
                let got = JSONScanner.outcome([bytes])
                if got != expected { expectEqual(got, expected, text) }
            }
        }
        let text =
            "[[1.25,-22.5],[-333.75,0.1],[9007199254740993.0,-0.0],[12345678.5,1.5e3],[0.000000000000000001,1.0]]"
        JSONScanner.expectOutcome(Array(text.utf8), nil, "reals at every split point")
    }

    private static func testStopsAtOtherTokens() {
        let tails = [
            "],[]", "],[[1.5]]", "], [2.5]", "],\n[2.5]", "],[ 2.5]", "],{}", "],[2]", "],[\"a\"]", "],null", "],2.5",
            "]]",
            "]2.5]", "] 2.5]", "}2.5]", "],[01.5]", "],[-.5]", "],[-]", "],[.5]", "],[2.5", "],[2.5}", "],[2.e5]",
            "],]", "]}", "}", ",]", ",,1.5]",
            ", ]", ",  2.5]", ",-]", ",--1.5]", ",1.5.5]", ",1.]", ",00.5]", ",1.5,\"a\"]", ",1.5e]", ",1.5ex", ",1.5x",
        ]
        for tail in tails {
            JSONScanner.expectOutcome(Array("[[[1.5],[0.5,-3.25\(tail)]".utf8), nil, tail)
            JSONScanner.expectOutcome(
                Array("{\"a\":[0.5],\"b\":[0.5,1.5\(tail),\"c\":2.5}".utf8), nil, "member \(tail)")
            JSONScanner.expectOutcome(Array("[1.5\(tail)".utf8), nil, "root \(tail)")
        }
    }

    /// Adjacent arrays at each depth, where the levels fill one word or several.
    private static func testKeepsTheDepthOfAdjacentArrays() {
        for depth in [1, 2, 3, 62, 63, 64, 65, 66, 67, 127, 128, 129, 130] {
            for outer in ["[", "{\"a\":"] {
                let (begin, end) = (outer, outer == "[" ? "]" : "}")
                let inner = "[[0.5,1.5],[2.5],[3.5,4.5]]"
                let text =
                    String(repeating: begin, count: depth) + inner + String(repeating: end, count: depth)
                let bytes = Array((text + String(repeating: " ", count: 60)).utf8)
                var plain = JSONReaderOptions()
                plain.usesPlainScan = true
                expectEqual(
                    JSONScanner.outcome([bytes]), JSONScanner.outcome([bytes], options: plain), "in \(depth) \(begin)")
            }
        }
    }

    /// Numbers whose digits a double has are doubles, whatever else keeps its text.
    private static func testKeepsDigitsThatDoublesCannotHold() throws {
        let rows = [
            ("0.1", true), ("1.50", true), ("0.00", true), ("-0.0", true), ("1e300", true), ("5e-324", true),
            ("123456789012345.6", true), ("0.30000000000000004", true), ("1.7976931348623157e308", true),
            ("266846764280089180.0", false), ("100000000000000000000000.0", false), ("0.1000000000000000000000", true),
            ("0.1234567890123456789", false), ("0.10000000000000001", false), ("3e-324", false), ("4.94e-324", false),
            ("12345678901234567890.5", false), ("-1.2345678901234567890e5", false),
        ]
        for isPlain in [false, true] {
            var options = JSONReaderOptions()
            (options.digits, options.usesPlainScan) = (.ofLong, isPlain)
            for (text, isReal) in rows {
                var sink = EventTrace()
                try sink.readJSON(
                    "{\"a\":[0.5,\(text),[[1.5,2.5],[\(text),\(text)]]]}" + String(repeating: " ", count: 90),
                    options: options)
                expectEqual(sink.text.contains("number \(text)"), !isReal, "\(text): \(sink.text)")
                expectEqual(sink.text.split(separator: "real").count, isReal ? 7 : 4, "\(text): \(sink.text)")
            }
        }
    }

    /// Refuses one of its messages, by their count.
    private struct RefusingSink: PlistSink {
        var count: Int
        private mutating func take() throws(StreamError) {
            count -= 1
            if count == 0 { throw StreamError(.typeMismatch, "refused") }
        }
        mutating func beginArray() throws(StreamError) { try take() }
        mutating func endArray() throws(StreamError) { try take() }
        mutating func beginDictionary() throws(StreamError) { try take() }
        mutating func endDictionary() throws(StreamError) { try take() }
        mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { try take() }
        mutating func writeNull() throws(StreamError) { try take() }
        mutating func writeBool(_ value: Bool) throws(StreamError) { try take() }
        mutating func writeInteger(_ value: Int64) throws(StreamError) { try take() }
        mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { try take() }
        mutating func writeReal(_ value: Double) throws(StreamError) { try take() }
        mutating func writeNumber(text: RawSpan) throws(StreamError) { try take() }
        mutating func writeString(_ utf8: RawSpan) throws(StreamError) { try take() }
        mutating func writeData(_ bytes: RawSpan) throws(StreamError) { try take() }
        mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) { try take() }
    }

    private static func testReportsSinkErrorsAtTheirToken() {
        let text = "[[1.5, -2.5],\n[3.5],[4.5,5.5],[-6.5]]"
        let bytes = Array((text + String(repeating: " ", count: 60)).utf8)
        for count in 1...16 {
            let errors = [false, true].map { isPlain in
                var options = JSONReaderOptions()
                options.usesPlainScan = isPlain
                var reader = JSONReader(sink: RefusingSink(count: count), options: options)
                // SAFETY: the span does not leave the closure.
                return expectThrows(StreamError.self, "message \(count)") {
                    try unsafe bytes.withUnsafeBytes { try reader.feed(unsafe $0.bytes) }
                }
            }
            expectEqual(errors[0], errors[1], "the error of message \(count)")
        }
    }
}
#endif
