// The check of UTF-8, sixteen bytes at a time and without a branch for each character. The readers of formats have their own
// checks, which also find the ends of strings.

/// Checks whether untrusted bytes are text.
@usableFromInline
package enum UTF8Check {
    private typealias Lanes = SIMD16<UInt8>
    private typealias SignedLanes = SIMD16<Int8>
    private typealias Mask = SIMDMask<SIMD16<Int8>>

    /// Returns whether bytes are ASCII.
    ///
    /// - Complexity: O(bytes) up to the first byte that is not ASCII.
    @inlinable @inline(__always)  // PERF: SQLite/reading, JSONTyped/documents; once a text, mostly short.
    package static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let count = bytes.count
        var offset = 0
        // SAFETY: each load reads eight bytes, or one, below the count that was just compared. The last loads may overlap.
        while offset &+ 8 <= count {
            if unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) & 0x8080_8080_8080_8080 != 0 {
                return false
            }
            offset &+= 8
        }
        if count >= 8 {
            let end = unsafe bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
            return end & 0x8080_8080_8080_8080 == 0
        }
        while offset < count {
            if unsafe bytes.load(fromByteOffset: offset, as: UInt8.self) & 0x80 != 0 { return false }
            offset &+= 1
        }
        return true
    }

    // PERF: SQLite/read-non-ASCII, JSONWriter; 40 instructions for any sixteen bytes.
    /// Returns whether bytes are UTF-8.
    ///
    /// - Complexity: O(bytes).
    package static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let count = bytes.count
        guard let start = bytes.baseAddress, count > 0 else { return true }
        // SAFETY: each load reads only bytes below the count, which the surrounding conditions compare.
        guard count >= 16 else { return unsafe isShortValid(start, count) }
        let first = unsafe start.loadUnaligned(as: UInt64.self).littleEndian
        var wrong = unsafe errors(
            start.loadUnaligned(as: Lanes.self),
            after: lanes(first &<< 8, word(start + 7)), lanes(first &<< 16, word(start + 6)),
            lanes(first &<< 24, word(start + 5)))
        var offset = 16
        while offset &+ 16 <= count {
            let (block, before) = unsafe (load(start + offset), load(start + offset - 3))
            if isASCII(block | before) {
                offset &+= 16
                continue
            }
            wrong = unsafe wrong .| errors(block, after: load(start + offset - 1), load(start + offset - 2), before)
            offset &+= 16
        }
        if offset < count {
            // The last bytes; some of them were already checked.
            if count >= 24 {
                let end = unsafe start + (count - 16)
                wrong = unsafe wrong .| errors(load(end), after: load(end - 1), load(end - 2), load(end - 3))
            } else {
                let end = unsafe start + (count - 8)
                wrong = unsafe wrong
                    .| errors(
                        lanes(word(end), 0), after: lanes(word(end - 1), 0), lanes(word(end - 2), 0),
                        lanes(word(end - 3), 0))
            }
        }
        // The last character must be complete.
        let (last, second, third) = unsafe (byte(start, count - 1), byte(start, count - 2), byte(start, count - 3))
        return !isAny(wrong) && last < 0xC0 && second < 0xE0 && third < 0xF0
    }

    /// Checks up to 15 bytes. The zeros after them make an incomplete character invalid.
    private static func isShortValid(_ start: UnsafeRawPointer, _ count: Int) -> Bool {
        var (low, high): (UInt64, UInt64) = (0, 0)
        // SAFETY: each branch loads only below the count it has just checked.
        if count >= 8 {
            low = unsafe word(start)
            high = count == 8 ? 0 : unsafe word(start + (count - 8)) &>> UInt64(truncatingIfNeeded: 8 &* (16 &- count))
        } else {
            for index in 0..<count {
                low |= unsafe UInt64(byte(start, index)) &<< UInt64(truncatingIfNeeded: 8 &* index)
            }
        }
        return !isAny(
            errors(
                lanes(low, high), after: lanes(low &<< 8, high &<< 8 | low &>> 56),
                lanes(low &<< 16, high &<< 16 | low &>> 48), lanes(low &<< 24, high &<< 24 | low &>> 40)))
    }

    // SPEC: The Unicode Standard, table 3-7, well-formed UTF-8 byte sequences.
    /// Returns the bytes that are not allowed after the bytes one, two and three positions before them.
    @inline(__always)
    private static func errors(_ block: Lanes, after first: Lanes, _ second: Lanes, _ third: Lanes) -> Mask {
        let signed = unsafe unsafeBitCast(block, to: SignedLanes.self)
        // Continuation bytes are the lowest signed bytes, and must be exactly where a character needs them.
        let isContinuation = signed .< SignedLanes(repeating: -64)
        let isNeeded =
            (first .>= Lanes(repeating: 0xC0)) .| (second .>= Lanes(repeating: 0xE0))
            .| (third .>= Lanes(repeating: 0xF0))
        // Overlong forms of two bytes, and codes above U+13FFFF.
        var wrong =
            (isContinuation .^ isNeeded) .| ((block & Lanes(repeating: 0xFE)) .== Lanes(repeating: 0xC0))
            .| (block .>= Lanes(repeating: 0xF5))
        // Overlong forms of three bytes, surrogates, overlong forms of four bytes, and codes above U+10FFFF.
        let isBelowA0 = signed .< SignedLanes(repeating: -96)
        let isBelow90 = signed .< SignedLanes(repeating: -112)
        wrong = wrong .| ((first .== Lanes(repeating: 0xE0)) .& isBelowA0)
        wrong = wrong .| ((first .== Lanes(repeating: 0xED)) .& (signed .>= SignedLanes(repeating: -96)))
        wrong = wrong .| ((first .== Lanes(repeating: 0xF0)) .& isBelow90)
        return wrong .| ((first .== Lanes(repeating: 0xF4)) .& (signed .>= SignedLanes(repeating: -112)))
    }

    @inline(__always)
    private static func isASCII(_ block: Lanes) -> Bool {
        let words = unsafe unsafeBitCast(block, to: SIMD2<UInt64>.self)
        return (words[0] | words[1]) & 0x8080_8080_8080_8080 == 0
    }

    @inline(__always)
    private static func isAny(_ mask: Mask) -> Bool {
        let words = unsafe unsafeBitCast(mask, to: SIMD2<UInt64>.self)
        return words[0] | words[1] != 0
    }

    /// Returns the lanes of two words, starting with the lowest byte.
    @inline(__always)
    private static func lanes(_ low: UInt64, _ high: UInt64) -> Lanes {
        unsafe unsafeBitCast(SIMD2(low.littleEndian, high.littleEndian), to: Lanes.self)
    }

    // SAFETY: for the three below, the callers compare with the count.
    @inline(__always)
    private static func load(_ address: UnsafeRawPointer) -> Lanes { unsafe address.loadUnaligned(as: Lanes.self) }

    @inline(__always)
    private static func word(_ address: UnsafeRawPointer) -> UInt64 {
        unsafe address.loadUnaligned(as: UInt64.self).littleEndian
    }

    @inline(__always)
    private static func byte(_ start: UnsafeRawPointer, _ offset: Int) -> UInt8 {
        unsafe start.load(fromByteOffset: offset, as: UInt8.self)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension UTF8Check: SelfTesting {
    @usableFromInline
    package static var testSelectors: TestSelectors {
        [
            "testFindsNonASCIIBytes": testFindsNonASCIIBytes,
            "testAgreesWithTheStandardLibraryOnShortText": testAgreesWithTheStandardLibraryOnShortText,
            "testAgreesWithTheStandardLibraryAtEveryOffset": testAgreesWithTheStandardLibraryAtEveryOffset,
        ]
    }

    private static func check(_ bytes: [UInt8]) {
        // SAFETY: the bytes do not leave the closure.
        let found = unsafe bytes.withUnsafeBytes { unsafe isValid($0) }
        let expected = String(validating: bytes, as: UTF8.self) != nil
        if found != expected { expectEqual(found, expected, "\(bytes)") }
    }

    private static func testFindsNonASCIIBytes() {
        for count in 0...40 {
            var bytes = [UInt8](repeating: 0x7F, count: count)
            expectTrue(unsafe bytes.withUnsafeBytes { unsafe isASCII($0) }, "\(count) bytes of ASCII")
            for place in bytes.indices {
                bytes[place] = 0x80
                expectFalse(unsafe bytes.withUnsafeBytes { unsafe isASCII($0) }, "another byte at \(place) of \(count)")
                bytes[place] = 0
            }
        }
    }

    /// The bytes at the boundaries of the table.
    private static let edges: [UInt8] = [
        0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF,
        0xF0,
        0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
    ]

    private static func testAgreesWithTheStandardLibraryOnShortText() {
        for first in edges {
            for second in edges {
                check([first, second])
                for third in [UInt8(0x41), 0x80, 0xBF, 0xC2] {
                    check([first, second, third])
                    check([first, second, third, 0x80])
                    check([first, second, 0x80, third, 0x41])
                }
            }
        }
        check([])
        expectTrue(unsafe isValid(UnsafeRawBufferPointer(start: nil, count: 0)), "no memory")
    }

    private static func testAgreesWithTheStandardLibraryAtEveryOffset() {
        let sequences: [[UInt8]] = [
            [0xC3, 0xA9], [0xE2, 0x82, 0xAC], [0xF0, 0x9F, 0x99, 0x82], [0xED, 0x9F, 0xBF], [0xF4, 0x8F, 0xBF, 0xBF],
            [0xA9], [0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x99], [0xED, 0xA0, 0x80], [0xE0, 0x9F, 0xBF], [0xC1, 0x81],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82, 0xAC, 0xAC],
            [0xFF], [0xC3, 0xC3, 0xA9],
        ]
        for sequence in sequences {
            for count in [0, 1, 7, 8, 9, 13, 14, 15, 16, 17, 18, 23, 24, 25, 31, 32, 33, 47, 48, 51] {
                for place in 0...count {
                    check(
                        Array(repeating: 0x61, count: place) + sequence + Array(repeating: 0x62, count: count - place))
                }
                // Surrounded by characters of two and of three bytes.
                check(Array(repeating: [0xC3, 0xA9], count: count).joined() + sequence)
                check(sequence + Array(repeating: [0xE2, 0x82, 0xAC], count: count).joined())
            }
        }
    }
}
#endif
