// Writes messages as the data items of a document.

import Foundation
import PlistStreaming

/// A sink that writes one document.
///
/// Numbers use the fewest bytes that represent them exactly. Containers have indefinite lengths.
struct CBORWriter: ScalarSink, ~Copyable {
    let limits: StreamLimits
    var output = ByteOutput(capacity: 0)
    private var grammar = MessageGrammar()

    init(limits: StreamLimits) { self.limits = limits }

    /// Checks that the document is complete.
    func finish() throws(StreamError) {
        guard grammar.isComplete, grammar.rootCount == 1 else {
            throw StreamError(.misuse, "finished with \(grammar.depth) open containers")
        }
    }

    // MARK: Containers

    mutating func beginArray() throws(StreamError) {
        try grammar.beginArray()
        try begin(0x9F)
    }

    mutating func endArray() throws(StreamError) {
        try grammar.endArray()
        try output.append(0xFF)
    }

    mutating func beginDictionary() throws(StreamError) {
        try grammar.beginDictionary()
        try begin(0xBF)
    }

    mutating func endDictionary() throws(StreamError) {
        try grammar.endDictionary()
        try output.append(0xFF)
    }

    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        try grammar.key()
        try write(string: utf8, type: 3)
    }

    private mutating func begin(_ initial: UInt8) throws(StreamError) {
        try checkRoot()
        guard grammar.depth <= limits.depth else {
            throw StreamError(.limitExceeded, "more than \(limits.depth) levels of nesting")
        }
        try output.append(initial)
    }

    // MARK: Scalars

    mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        try grammar.value()
        try checkRoot()
        switch scalar {
        case .null: try output.append(0xF6)
        case .bool(let value): try output.append(value ? 0xF5 : 0xF4)
        case .integer(let value): try write(integer: value)
        case .unsigned(let value): try writeHead(0, value)
        case .real(let value): try write(real: value)
        case .number(let text): try write(number: text)
        case .string(let utf8): try write(string: utf8, type: 3)
        case .data(let bytes): try write(string: bytes, type: 2)
        case .date(let seconds): try write(date: seconds)
        }
    }

    /// Writes an integer, or a decimal fraction, which can represent any number exactly.
    private mutating func write(number text: RawSpan) throws(StreamError) {
        guard text.byteCount <= limits.numberByteCount else {
            throw StreamError(.limitExceeded, "more than \(limits.numberByteCount) bytes in a number")
        }
        let halves = (String(validating: text) ?? "").split(omittingEmptySubsequences: false) { $0 == "e" || $0 == "E" }
        let parts = halves[0].split(separator: ".", omittingEmptySubsequences: false)
        let isNegative = halves[0].hasPrefix("-")
        let digits = parts.joined().utf8.dropFirst(isNegative ? 1 : 0).map { $0 &- 0x30 }
        guard halves.count <= 2, parts.count <= 2, !digits.isEmpty, digits.allSatisfy({ $0 <= 9 }) else {
            throw StreamError(.misuse, "got text that isn't a number")
        }
        let power = halves.count == 2 ? Int64(halves[1]) : 0
        let fractionCount = parts.count == 2 ? Int64(parts[1].utf8.count) : 0
        guard let power, case let (exponent, false) = power.subtractingReportingOverflow(fractionCount) else {
            throw StreamError(.unrepresentable, "expected a number with an exponent of 64 bits, found a longer one")
        }
        if exponent != 0 {
            try writeHead(6, 4)
            try writeHead(4, 2)
            try write(integer: exponent)
        }
        try write(BigNumber(digits, base: 10), isNegative: isNegative)
    }

    /// Writes a date as seconds since 1970, or as text if seconds since 1970 aren't exact.
    private mutating func write(date seconds: Double) throws(StreamError) {
        let secondsSince1970 = seconds + Date.timeIntervalBetween1970AndReferenceDate
        if secondsSince1970 - Date.timeIntervalBetween1970AndReferenceDate != seconds,
            let text = DateText.rfc3339(secondsSince2001: seconds)
        {
            try writeHead(6, 0)
            return try text.withUTF8Span { (text) throws(StreamError) in try write(string: text, type: 3) }
        }
        try writeHead(6, 1)
        if let integer = Int64(exactly: secondsSince1970) {
            try write(integer: integer)
        } else {
            try write(real: secondsSince1970)
        }
    }

    // MARK: Data items

    private func checkRoot() throws(StreamError) {
        if grammar.rootCount > 1 { throw StreamError(.misuse, "got a second root value") }
    }

    /// Writes an initial byte and its argument in the fewest possible bytes.
    private mutating func writeHead(_ type: UInt8, _ argument: UInt64) throws(StreamError) {
        if argument < 24 { return try output.append(type << 5 | UInt8(argument)) }
        let exponent = argument < 1 << 8 ? 0 : argument < 1 << 16 ? 1 : argument < 1 << 32 ? 2 : 3
        try write(type << 5 | UInt8(24 + exponent), argument, byteCount: 1 << exponent)
    }

    /// Writes an initial byte and the low bytes of a number, the highest byte first.
    private mutating func write(_ initial: UInt8, _ number: UInt64, byteCount: Int) throws(StreamError) {
        try output.reserve(9)
        output.appendReserved(initial)
        output.appendReserved(word: (number << (64 - 8 * byteCount)).byteSwapped, byteCount: byteCount)
    }

    private mutating func write(integer value: Int64) throws(StreamError) {
        try value < 0 ? writeHead(1, UInt64(~value)) : writeHead(0, UInt64(value))
    }

    private mutating func write(_ number: BigNumber, isNegative: Bool) throws(StreamError) {
        var number = number
        let isNegative = isNegative && !number.words.isEmpty
        if isNegative { number.decrement() }
        if number.words.count < 2 { return try writeHead(isNegative ? 1 : 0, number.words.first ?? 0) }
        try writeHead(6, isNegative ? 3 : 2)
        _ = try number.bytes.withBytes { (bytes) throws(StreamError) in try write(string: bytes, type: 2) }
    }

    private mutating func write(real value: Double) throws(StreamError) {
        let single = Float(value)
        // NaN isn't equal to itself, and its bits may differ.
        guard Double(single) == value || value.bitPattern == Double.nan.bitPattern else {
            return try write(0xFB, value.bitPattern, byteCount: 8)
        }
        if let half = HalfReal.bits(single) { return try write(0xF9, UInt64(half), byteCount: 2) }
        try write(0xFA, UInt64(single.bitPattern), byteCount: 4)
    }

    private mutating func write(string: RawSpan, type: UInt8) throws(StreamError) {
        guard type == 2 || string.isValidUTF8 else {
            throw StreamError(.invalidText, "expected text in UTF-8, found other bytes")
        }
        guard string.byteCount <= limits.stringByteCount else {
            throw StreamError(.limitExceeded, "more than \(limits.stringByteCount) bytes in a string")
        }
        try writeHead(type, UInt64(string.byteCount))
        try output.append(string)
    }
}
