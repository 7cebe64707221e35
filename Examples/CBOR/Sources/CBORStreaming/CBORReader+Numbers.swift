// Reads data items that are numbers, dates, Booleans or null.

import Foundation
import PlistBuilding
import PlistStreaming

extension CBORReader {
    func readInteger(_ head: Head, into sink: inout some PlistSink & ~Copyable) throws(StreamError) {
        if let value = Int64(exactly: head.argument) {
            try sink.writeInteger(head.type == 0 ? value : ~value)
        } else if head.type == 0 {
            try sink.writeUnsigned(head.argument)
        } else {
            try Self.send(Self.digits(of: BigNumber(head.argument), isNegative: true), into: &sink)
        }
    }

    func readSimple(_ head: Head, into sink: inout some PlistSink & ~Copyable) throws(StreamError) {
        if let value = try real(head) { return try sink.writeReal(value) }
        switch head.argument {
        case 20: try sink.writeBool(false)
        case 21: try sink.writeBool(true)
        // 23 is undefined.
        case 22, 23: try sink.writeNull()
        default: throw StreamError(.unrepresentable, "expected a known simple value, found number \(head.argument)")
        }
    }

    /// Returns the value of a floating-point number, or nil for a simple value.
    private func real(_ head: Head) throws(StreamError) -> Double? {
        switch head.information {
        // SPEC: RFC 8949 section 3.3; simple values below 32 have only one byte.
        case 24 where head.argument < 32: throw Self.unknown(0xF8)
        case 25: HalfReal.value(UInt16(truncatingIfNeeded: head.argument))
        case 26: Double(Float(bitPattern: UInt32(truncatingIfNeeded: head.argument)))
        case 27: Double(bitPattern: head.argument)
        case 31: throw head.mismatch("a data item")
        default: nil
        }
    }

    /// Reads the content of tag 0.
    mutating func readDateText(_ bytes: RawSpan, into sink: inout some PlistSink & ~Copyable) throws(StreamError) {
        let head = try readHead(bytes)
        guard head.type == 3 else { throw head.mismatch("the text of a date") }
        try withString(head, bytes) { (text) throws(StreamError) in
            guard let seconds = DateText.secondsSince2001(text) else {
                throw StreamError(.invalidSyntax, "expected a date such as 2001-01-31T12:00:00Z, found other text")
            }
            try sink.writeDate(secondsSince2001: seconds)
        }
    }

    /// Reads the content of tag 1: seconds since 1970.
    mutating func readDate(_ bytes: RawSpan, into sink: inout some PlistSink & ~Copyable) throws(StreamError) {
        let head = try readHead(bytes)
        var seconds: Double?
        switch head.type {
        case 0: seconds = Double(head.argument)
        case 1: seconds = -1 - Double(head.argument)
        case 7: seconds = try real(head)
        default: break
        }
        guard let seconds else { throw head.mismatch("the seconds of a date") }
        try sink.writeDate(secondsSince2001: seconds - Date.timeIntervalBetween1970AndReferenceDate)
    }

    /// Reads the content of tag 4: an array of an exponent of ten and a mantissa.
    mutating func readDecimalFraction(_ bytes: RawSpan, into sink: inout some PlistSink & ~Copyable) throws(StreamError)
    {
        let head = try readHead(bytes)
        guard head.type == 4, head.argument == 2 || head.isIndefinite else { throw head.mismatch("an array of two") }
        let exponent = try readHead(bytes)
        guard exponent.type < 2 else { throw exponent.mismatch("an exponent") }
        let power = try readDigits(exponent, bytes)
        let digits = try readDigits(try readHead(bytes), bytes)
        if head.isIndefinite {
            let end = try readHead(bytes)
            guard end.isBreak else { throw end.mismatch("a break") }
        }
        try Self.send("\(digits)e\(power)", into: &sink)
    }

    /// Reads an integer of any size, or the content of tag 2 or 3, as decimal digits.
    mutating func readDigits(_ head: Head, _ bytes: RawSpan) throws(StreamError) -> String {
        if head.type < 2 { return Self.digits(of: BigNumber(head.argument), isNegative: head.type == 1) }
        guard head.type == 6, head.argument == 2 || head.argument == 3 else { throw head.mismatch("an integer") }
        let string = try readHead(bytes)
        guard string.type == 2 else { throw string.mismatch("the bytes of an integer") }
        let limit = limits.numberByteCount
        var digits = ""
        try withString(string, bytes) { (bytes) throws(StreamError) in
            // A byte needs more than two digits.
            guard bytes.byteCount <= limit / 2 else {
                throw StreamError(.limitExceeded, "more than \(limit) bytes in a number")
            }
            digits = Self.digits(of: BigNumber(Array(copying: bytes), base: 256), isNegative: head.argument == 3)
        }
        return digits
    }

    // SPEC: RFC 8949 sections 3.1 and 3.4.3; a negative integer is -1 minus the stored number.
    private static func digits(of number: BigNumber, isNegative: Bool) -> String {
        guard isNegative else { return number.description }
        var magnitude = number
        magnitude.multiply(by: 1, adding: 1)
        return "-\(magnitude)"
    }

    /// Sends a number as the first kind of message that can represent it.
    static func send(_ number: String, into sink: inout some PlistSink & ~Copyable) throws(StreamError) {
        try number.withUTF8Span { (text) throws(StreamError) in try sink.write(numberIn: text) }
    }
}

/// Floating-point numbers of 16 bits, which some processors lack.
enum HalfReal {
    /// Returns the value of a number with the given bits.
    static func value(_ bits: UInt16) -> Double {
        // The exponent bias is 112 less than for 32 bits, except for infinity and NaN.
        var magnitude = Float(bitPattern: UInt32(bits & 0x7FFF) << 13) * 0x1p112
        if bits & 0x7C00 == 0x7C00 { magnitude = Float(bitPattern: 0x7F80_0000 | UInt32(bits & 0x3FF) << 13) }
        return Double(bits >> 15 == 1 ? -magnitude : magnitude)
    }

    /// Returns the bits of a number, or nil if 16 bits can't represent it exactly.
    static func bits(_ value: Float) -> UInt16? {
        if value.isNaN { return 0x7E00 }
        let scaled = UInt16(truncatingIfNeeded: (value.magnitude * 0x1p-112).bitPattern >> 13)
        let bits = value.isInfinite ? 0x7C00 : scaled
        guard self.value(bits) == Double(value.magnitude) else { return nil }
        return value.sign == .minus ? bits | 0x8000 : bits
    }
}
