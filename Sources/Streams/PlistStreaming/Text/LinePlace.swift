// Counting of lines in an input, for the positions of errors: many bytes at once, or line by line.

/// An offset in an input, with its line. Lines are counted as in ``StreamPosition``.
@usableFromInline
package struct LinePlace: Sendable, Equatable {
    /// The number of bytes before this place, and before its line.
    @usableFromInline package var offset: Int
    @usableFromInline package var lineOffset: Int
    @usableFromInline package var line: Int = 1

    /// The beginning of an input, or of a part that begins with a line.
    package init(offset: Int = 0) { (self.offset, lineOffset) = (offset, offset) }

    // PERF: CSV/slices, OpenStepPropertyList; the following functions are inlinable, because they are called for tokens, rows
    // and lines.
    /// The position of the place.
    @inlinable package var position: StreamPosition {
        StreamPosition(byteOffset: offset, line: line, column: offset - lineOffset + 1)
    }

    /// Returns another place on the same line.
    @inlinable
    package func at(_ offset: Int) -> LinePlace {
        var place = self
        place.offset = offset
        return place
    }

    /// Advances by a number of lines. The last one begins at an offset.
    @inlinable
    package mutating func beginLine(at start: Int, count: Int = 1) {
        line += count
        if count > 0 { lineOffset = start }
    }

    /// Advances over bytes and counts their lines.
    ///
    /// - Complexity: O(*n*) in the bytes.
    package mutating func advance(over bytes: RawSpan) {
        let (count, last) = Self.count(in: bytes)
        beginLine(at: offset + last + 1, count: count)
        offset += bytes.byteCount
    }

    /// Returns the number of LFs, and the offset of the last one.
    private static func count(in bytes: RawSpan) -> (count: Int, last: Int) {
        let end = bytes.byteCount
        var count = 0
        var offset = 0
        let newlines = SIMD16<UInt8>(repeating: 0x0A)
        // PERF: JSONReader in chunks, XML; four independent sums. Each lane can count up to 255.
        while offset &+ 64 <= end {
            var lanes = (SIMD16<UInt8>(), SIMD16<UInt8>(), SIMD16<UInt8>(), SIMD16<UInt8>())
            let stop = offset &+ min((end &- offset) &>> 6, 255) &<< 6
            while offset < stop {
                // SAFETY: `stop` is a multiple of 64 bytes from the offset, and at most `end`, which is within the span.
                let first = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD16<UInt8>.self)
                let second = unsafe bytes.unsafeLoadUnaligned(
                    fromUncheckedByteOffset: offset &+ 16, as: SIMD16<UInt8>.self)
                let third = unsafe bytes.unsafeLoadUnaligned(
                    fromUncheckedByteOffset: offset &+ 32, as: SIMD16<UInt8>.self)
                let fourth = unsafe bytes.unsafeLoadUnaligned(
                    fromUncheckedByteOffset: offset &+ 48, as: SIMD16<UInt8>.self)
                lanes.0.replace(with: lanes.0 &+ 1, where: first .== newlines)
                lanes.1.replace(with: lanes.1 &+ 1, where: second .== newlines)
                lanes.2.replace(with: lanes.2 &+ 1, where: third .== newlines)
                lanes.3.replace(with: lanes.3 &+ 1, where: fourth .== newlines)
                offset &+= 64
            }
            count += sum(lanes.0) + sum(lanes.1) + sum(lanes.2) + sum(lanes.3)
        }
        while offset < end {
            if bytes.byte(at: offset) == 0x0A { count += 1 }
            offset += 1
        }
        guard count > 0 else { return (0, -1) }
        var last = end - 1
        while bytes.byte(at: last) != 0x0A { last -= 1 }
        return (count, last)
    }

    private static func sum(_ lanes: SIMD16<UInt8>) -> Int {
        Int(SIMD16<UInt16>(truncatingIfNeeded: lanes).wrappedSum())
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension LinePlace: SelfTesting {
    @usableFromInline package static var testSelectors: TestSelectors {
        ["testCountsLikeAPlainLoop": testCountsLikeAPlainLoop]
    }

    private static func testCountsLikeAPlainLoop() {
        for count in [0, 1, 15, 63, 64, 65, 127, 128, 129, 255 * 64 - 1, 255 * 64, 255 * 64 + 1, 300 * 64] {
            for period in [1, 2, 3, 17, 1_000_000] {
                let bytes = (0..<count).map { UInt8($0 % period == period - 1 ? 0x0A : 0x0B) }
                // SAFETY: the span does not leave the closure.
                var place = LinePlace(offset: 7)
                unsafe bytes.withUnsafeBytes { unsafe place.advance(over: $0.bytes) }
                let label = "behind \(count) bytes, one end in \(period)"
                expectEqual(place.line, 1 + bytes.count { $0 == 0x0A }, "line \(label)")
                expectEqual(place.lineOffset, bytes.lastIndex(of: 0x0A).map { $0 + 8 } ?? 7, "its offset \(label)")
                expectEqual(place.offset, 7 + count, "the offset of the place")
            }
        }
    }
}
#endif
