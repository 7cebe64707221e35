// Comparing bytes of a document with each other and with names that a program spells.

import PlistStreaming

extension RawSpan {
    /// Whether both have the same bytes.
    public func hasSameBytes(as other: RawSpan) -> Bool {
        let count = byteCount
        guard count == other.byteCount else { return false }
        // SAFETY: each load is of bytes below the count of both; the last ones may be loaded twice in part.
        if count < 8 {
            if count >= 4 {
                return unsafe load(0, UInt32.self) == other.load(0, UInt32.self)
                    && load(count &- 4, UInt32.self) == other.load(count &- 4, UInt32.self)
            }
            var offset = 0
            while offset < count {
                guard unsafe load(offset, UInt8.self) == other.load(offset, UInt8.self) else { return false }
                offset &+= 1
            }
            return true
        }
        var offset = 0
        while offset &+ 8 <= count {
            guard unsafe load(offset, UInt64.self) == other.load(offset, UInt64.self) else { return false }
            offset &+= 8
        }
        return unsafe load(count &- 8, UInt64.self) == other.load(count &- 8, UInt64.self)
    }

    /// A number at an offset, all of whose bytes are there.
    @unsafe @inline(__always)
    private func load<Number: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _ type: Number.Type) -> Number {
        // SAFETY: callers compare with the count before.
        unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: Number.self)
    }

    /// Whether these are the bytes of a string in UTF-8.
    public func hasSameBytes(as text: String) -> Bool { text.withUTF8Span { hasSameBytes(as: $0) } }

    /// The byte at an offset that the caller has checked.
    @inlinable @inline(__always)
    func uncheckedByte(_ offset: Int) -> UInt8 {
        assert(offset >= 0 && offset < byteCount, "byte offset out of bounds")
        // SAFETY: callers compare the offset with the count before.
        return unsafe unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
    }

    /// The eight bytes from an offset on, the first one lowest; the caller has checked that they are there.
    @inlinable @inline(__always)
    func uncheckedWord(_ offset: Int) -> UInt64 {
        assert(offset >= 0 && offset + 8 <= byteCount, "byte offset out of bounds")
        // SAFETY: callers compare the offset with the count before.
        return UInt64(
            littleEndian: unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
    }

    /// The bytes from an offset on, as many as given; the caller has checked that they are there.
    @inlinable @inline(__always) @_lifetime(copy self)
    func uncheckedPart(_ start: Int, _ count: Int) -> RawSpan {
        assert(start >= 0 && count >= 0 && start + count <= byteCount, "bytes out of bounds")
        // SAFETY: callers compare the range with the count before.
        return unsafe extracting(unchecked: start..<start &+ count)
    }

    /// The bytes from an offset on, as many as given.
    @inlinable @inline(__always) @_lifetime(copy self)
    func part(_ start: Int, _ count: Int) -> RawSpan { extracting(start..<start &+ count) }
}

extension String {
    /// The text of bytes of a document, which the reader has found to be UTF-8.
    public init(xml bytes: RawSpan) {
        // SAFETY: the bytes are only read within the closure.
        self = unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum RawSpanNamesTests {}

extension RawSpanNamesTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testComparesEveryByte": testComparesEveryByte] }

    private static func testComparesEveryByte() {
        for count in 0...40 {
            let bytes = (0..<count).map { UInt8($0) }
            // SAFETY: the spans do not leave the closures.
            unsafe bytes.withUnsafeBytes { left in
                expectTrue(unsafe left.bytes.hasSameBytes(as: left.bytes), "\(count) bytes")
                for index in 0..<count {
                    var other = bytes
                    other[index] ^= 0x40
                    let isSame = unsafe other.withUnsafeBytes { unsafe left.bytes.hasSameBytes(as: $0.bytes) }
                    expectFalse(isSame, "\(count) bytes, another at \(index)")
                }
                if count > 0 {
                    expectFalse(unsafe left.bytes.hasSameBytes(as: left.bytes.part(0, count - 1)), "one byte less")
                }
            }
        }
    }
}
#endif
