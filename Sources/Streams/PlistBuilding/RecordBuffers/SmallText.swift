// Makes strings from the bytes of messages, which may be invalid UTF-8, and from checked bytes. Short ASCII strings are made
// without a call.

import PlistStreaming

/// Makes strings from the bytes of messages.
@usableFromInline
package struct SmallText: Sendable {
    /// A Boolean value that indicates whether strings of up to 15 ASCII bytes have the memory layout that `smallString`
    /// makes.
    @usableFromInline package let isLayoutKnown: Bool

    /// An instance that was checked once, by comparing strings of every length with those of the standard library.
    package static let checked = SmallText(isLayoutKnown: agreesWithStandardLibrary())

    /// Returns a string with the bytes. Invalid UTF-8 becomes U+FFFD.
    @inlinable @inline(__always)  // PERF: JSONRecords/tree; 8 of 25 ns for a string of up to 15 ASCII bytes.
    package func string(_ utf8: RawSpan) -> String {
        // SAFETY: the pointer does not leave the closure.
        unsafe utf8.withUnsafeBytes { bytes in
            if isLayoutKnown, bytes.count <= 15, let string = unsafe Self.smallString(bytes) { return string }
            return unsafe String(decoding: bytes, as: UTF8.self)
        }
    }

    // PERF: JSONTyped/posts; the standard library would check the bytes again, a tenth of the time.
    /// Returns a string from bytes that are known to be valid UTF-8.
    @inlinable @inline(__always)
    package func string(checked utf8: RawSpan) -> String {
        // SAFETY: the pointer does not leave the closure; the caller has checked the bytes.
        unsafe utf8.withUnsafeBytes { bytes in
            if isLayoutKnown, bytes.count <= 15, let string = unsafe Self.smallString(bytes) { return string }
            return unsafe Self.otherString(bytes)
        }
    }

    @usableFromInline
    static func otherString(_ utf8: UnsafeRawBufferPointer) -> String { unsafe CheckedText.string(utf8) }

    // MARK: Strings with a known memory layout

    /// Returns the highest byte of the second word for a string with a number of ASCII bytes, as a word.
    @inlinable @inline(__always)  // PERF: JSONRecords; once a string, without a call.
    package static func mark(_ count: Int) -> UInt64 { UInt64(truncatingIfNeeded: 0xE0 | count) &<< 56 }

    /// Stores a string of up to 15 ASCII bytes, given as its two words. Use it only if `isLayoutKnown` is true.
    @inlinable @inline(__always)  // PERF: see mark.
    package static func store(_ words: (UInt64, UInt64), to address: UnsafeMutableRawPointer, isInitialized: Bool) {
        // SAFETY: the words are from a string that owns no memory. A string whose highest bit is set owns no memory either,
        // so that it may be overwritten. Any other string is released by an assignment.
        if unsafe isInitialized && address.load(fromByteOffset: 8, as: Int64.self) >= 0 {
            return unsafe assign(words, to: address)
        }
        unsafe address.storeBytes(of: words.0, as: UInt64.self)
        unsafe address.storeBytes(of: words.1, toByteOffset: 8, as: UInt64.self)
    }

    @usableFromInline @inline(never)
    static func assign(_ words: (UInt64, UInt64), to address: UnsafeMutableRawPointer) {
        // SAFETY: see store; the memory has a string.
        unsafe address.assumingMemoryBound(to: String.self).pointee = unsafeBitCast(words, to: String.self)
    }

    /// Stores a string from valid UTF-8 in memory that has a string or is uninitialized.
    package static func store(_ utf8: RawSpan, to address: UnsafeMutableRawPointer, isInitialized: Bool) {
        let string = checked.string(checked: utf8)
        // SAFETY: the caller knows whether the memory is initialized.
        if isInitialized {
            unsafe address.assumingMemoryBound(to: String.self).pointee = string
        } else {
            unsafe address.initializeMemory(as: String.self, to: string)
        }
    }

    /// Stores an optional string from valid UTF-8 in memory that has an optional string or is uninitialized.
    package static func store(_ utf8: RawSpan, toOptional address: UnsafeMutableRawPointer, isInitialized: Bool) {
        let string = checked.string(checked: utf8)
        // SAFETY: the caller knows whether the memory is initialized.
        if isInitialized {
            unsafe address.assumingMemoryBound(to: String?.self).pointee = string
        } else {
            unsafe address.initializeMemory(as: String?.self, to: string)
        }
    }

    /// Makes a string of up to 15 ASCII bytes from its bit pattern: the bytes, and the count in the low half of the last
    /// byte. Returns nil for bytes that aren't ASCII.
    @inlinable @inline(__always)  // PERF: see above.
    static func smallString(_ bytes: UnsafeRawBufferPointer) -> String? {
        #if _endian(little) && _pointerBitWidth(_64)
        var (low, high) = unsafe words(of: bytes)
        guard (low | high) & 0x8080_8080_8080_8080 == 0 else { return nil }
        high |= mark(bytes.count)
        // SAFETY: used only if strings of the standard library have exactly these bits. Such a string owns no memory.
        return unsafe unsafeBitCast((low, high), to: String.self)
        #else
        return nil
        #endif
    }

    /// Returns up to 16 bytes as two words. The first byte is in the low bits of the first word, and zeros follow the last
    /// byte.
    @inlinable @inline(__always)  // PERF: see above.
    static func words(of bytes: UnsafeRawBufferPointer) -> (low: UInt64, high: UInt64) {
        let count = bytes.count
        // SAFETY: each branch loads only bytes below the count that it has just checked.
        if count >= 8 {
            let low = unsafe bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self).littleEndian
            let end = unsafe bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self).littleEndian
            return (low, count == 8 ? 0 : end &>> UInt64(truncatingIfNeeded: 8 &* (16 &- count)))
        }
        if count >= 4 {
            let start = unsafe bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self).littleEndian
            let end = unsafe bytes.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self).littleEndian
            return (UInt64(start) | UInt64(end) &<< UInt64(truncatingIfNeeded: 8 &* (count &- 4)), 0)
        }
        guard count > 0 else { return (0, 0) }
        let (middle, last) = (count &>> 1, count &- 1)
        var word = unsafe UInt64(bytes.load(fromByteOffset: 0, as: UInt8.self))
        word |= unsafe UInt64(bytes.load(fromByteOffset: middle, as: UInt8.self)) &<< UInt64(8 &* middle)
        word |= unsafe UInt64(bytes.load(fromByteOffset: last, as: UInt8.self)) &<< UInt64(8 &* last)
        return (word, 0)
    }

    private static func agreesWithStandardLibrary() -> Bool {
        #if _endian(little) && _pointerBitWidth(_64)
        guard MemoryLayout<String>.size == 16, MemoryLayout<String>.alignment == 8 else { return false }
        for first in [UInt8(0), 0x20, 0x55, 0x70] {
            for count in 0...15 {
                let bytes = (0..<count).map { first &+ UInt8($0) }
                // SAFETY: the bits are compared as numbers; a string with other bits is never made.
                let agrees = unsafe bytes.withUnsafeBytes { buffer in
                    let expected = unsafe String(decoding: buffer, as: UTF8.self)
                    let bits = unsafe unsafeBitCast(expected, to: (UInt64, UInt64).self)
                    return unsafe expected.utf8.elementsEqual(bytes) && bits == smallBits(buffer)
                }
                guard agrees else { return false }
            }
        }
        // A string that owns memory must not have the mark of a string without memory.
        let long = unsafe unsafeBitCast(String(repeating: "a", count: 100), to: (UInt64, Int64).self)
        return long.1 >= 0
        #else
        return false
        #endif
    }

    /// Returns the bits that `smallString` makes, computed by a plain loop.
    private static func smallBits(_ bytes: UnsafeRawBufferPointer) -> (UInt64, UInt64) {
        var words: (UInt64, UInt64) = (0, UInt64(0xE0 | bytes.count) << 56)
        for index in bytes.indices {
            let byte = unsafe bytes[index]
            if index < 8 {
                words.0 |= UInt64(byte) << UInt64(8 * index)
            } else {
                words.1 |= UInt64(byte) << UInt64(8 * (index - 8))
            }
        }
        return words
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension SmallText: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    package static var testSelectors: TestSelectors {
        [
            "testAgreesWithTheStandardLibrary": testAgreesWithTheStandardLibrary,
            "testSmallStringsBehaveLikeOthers": testSmallStringsBehaveLikeOthers,
        ]
    }

    private static func string(_ bytes: [UInt8]) -> String {
        unsafe bytes.withUnsafeBytes { unsafe checked.string($0.bytes) }
    }

    private static func testAgreesWithTheStandardLibrary() {
        #if _endian(little) && _pointerBitWidth(_64)
        // If the layouts differ, all strings are correct but slow.
        expectTrue(agreesWithStandardLibrary(), "strings are made here as the standard library makes them")
        #endif
        for count in 0...33 {
            for place in 0..<max(count, 1) {
                for byte in [UInt8(0), 0x7F, 0x80, 0xC3, 0xFF] {
                    var bytes = (0..<count).map { UInt8(0x41 + $0) }
                    if count > 0 { bytes[place] = byte }
                    let expected = String(decoding: bytes, as: UTF8.self)
                    expectEqual(string(bytes), expected, "\(byte) at \(place) of \(count)")
                    guard expected.utf8.elementsEqual(bytes) else { continue }
                    let made = unsafe bytes.withUnsafeBytes { unsafe checked.string(checked: $0.bytes) }
                    expectEqual(made, expected, "checked, \(byte) at \(place) of \(count)")
                }
            }
        }
        expectEqual(string(Array("größe".utf8)), "größe", "a short string that is not ASCII")
    }

    private static func testSmallStringsBehaveLikeOthers() {
        for count in 0...15 {
            var made = string([UInt8](repeating: 0x61, count: count))
            let literal = String(repeating: "a", count: count)
            expectEqual(made.hashValue, literal.hashValue, "hash value of \(count) bytes")
            expectEqual(made.utf8.count, count, "bytes")
            made += "bcdefghijklmnopq"
            expectEqual(made, literal + "bcdefghijklmnopq", "after appending to \(count) bytes")
        }
    }
}
#endif
