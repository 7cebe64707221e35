// The positions of objects in a binary property list: its trailer, its table of offsets, and the markers of its
// objects. All returned positions were checked: they lie within the bytes, and their sums can't overflow.

import PlistStreaming

/// The contents of the trailer, checked against the number of bytes.
///
/// The last 32 bytes are the trailer. Before it is the table with the offset of each object. Before the table are the
/// objects, after a header of eight bytes. All numbers are big-endian.
///
/// SPEC: the comment at the beginning of `CFBinaryPList.c` of CoreFoundation.
@usableFromInline
struct BinaryObjectTable: Sendable {
    @usableFromInline static var headerByteCount: Int { 8 }
    @usableFromInline static var trailerByteCount: Int { 32 }

    /// The number of objects.
    @usableFromInline let count: Int
    /// The number of the root object.
    @usableFromInline let root: Int
    /// The offset of the table, which is after the last byte of the objects.
    @usableFromInline let start: Int
    /// The number of bytes of an offset in the table, and of a reference in a container.
    @usableFromInline let offsetByteCount: Int
    @usableFromInline let referenceByteCount: Int

    /// Reads the header and the trailer.
    ///
    /// - Throws: `invalidSyntax` if the bytes aren't a binary property list, `unexpectedEnd` if they end before the
    ///   trailer.
    init(_ bytes: RawSpan) throws(StreamError) {
        let end = bytes.byteCount - Self.trailerByteCount
        try Self.checkHeader(bytes, isWhole: true)
        guard end > Self.headerByteCount else {
            throw Self.error(
                .unexpectedEnd, "expected an object, a table and a trailer of 32 bytes, found the end of the input",
                bytes.byteCount)
        }
        offsetByteCount = Int(bytes.byte(at: end + 6))
        referenceByteCount = Int(bytes.byte(at: end + 7))
        guard (1...8).contains(offsetByteCount) else {
            throw Self.error(.invalidSyntax, "expected offsets of 1 to 8 bytes, found \(offsetByteCount)", end + 6)
        }
        guard (1...8).contains(referenceByteCount) else {
            throw Self.error(
                .invalidSyntax, "expected references of 1 to 8 bytes, found \(referenceByteCount)", end + 7)
        }
        let count = Self.word(at: end + 8, in: bytes)
        let root = Self.word(at: end + 16, in: bytes)
        let start = Self.word(at: end + 24, in: bytes)
        guard start > UInt64(Self.headerByteCount), start < UInt64(end) else {
            throw Self.error(
                .invalidSyntax, "expected the offset of the table to be from 9 to \(end - 1), found \(start)", end + 24)
        }
        guard count > 0, count <= (UInt64(end) - start) / UInt64(offsetByteCount) else {
            throw Self.error(
                .invalidSyntax, "expected a table of \(count) offsets, found \(UInt64(end) - start) bytes", end + 8)
        }
        guard root < count else {
            throw Self.error(.invalidSyntax, "expected a root among \(count) objects, found number \(root)", end + 16)
        }
        (self.count, self.root, self.start) = (Int(count), Int(root), Int(start))
    }

    /// Checks the available first bytes of an input.
    ///
    /// - Parameter isWhole: A Boolean value that indicates whether all of the first bytes must be available.
    static func checkHeader(_ bytes: RawSpan, isWhole: Bool) throws(StreamError) {
        for (offset, byte) in "bplist0".utf8.enumerated() {
            guard offset < bytes.byteCount else {
                if !isWhole { return }
                throw Self.error(.unexpectedEnd, "expected a binary property list, found the end of the input", offset)
            }
            guard bytes.byte(at: offset) == byte else {
                throw Self.error(
                    .invalidSyntax, "expected a binary property list, which begins with \"bplist0\"", offset)
            }
        }
    }

    /// Checks the available first bytes of an input, and its length against the limit.
    static func checkBeginning(_ bytes: RawSpan, limit: Int) throws(StreamError) {
        try checkHeader(bytes.extracting(0..<min(bytes.byteCount, limit, headerByteCount)), isWhole: false)
        guard bytes.byteCount <= limit else {
            throw error(.limitExceeded, "more than \(limit) bytes of input", limit)
        }
    }

    /// Reads a file or another descriptor into memory while it begins as a binary property list and is within the
    /// limit.
    @usableFromInline
    static func wholeInput(_ source: some ByteSource, limit: Int) throws(StreamError) -> WholeInput {
        try WholeInput(source, limit: limit) { (bytes) throws(StreamError) in try checkBeginning(bytes, limit: limit) }
    }

    private static func error(_ kind: StreamError.Kind, _ message: String, _ offset: Int) -> StreamError {
        StreamError(kind, message, position: StreamPosition(byteOffset: offset))
    }

    /// Returns the eight bytes at an offset as a number. The offset must be at least eight bytes before the end.
    @inlinable @inline(__always)  // PERF: PropertyLists/binary; two to four loads for each object.
    static func word(at offset: Int, in bytes: RawSpan) -> UInt64 {
        precondition(offset >= 0 && offset <= bytes.byteCount &- 8, "offset out of bounds")
        // SAFETY: checked on the line above.
        return UInt64(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
    }

    /// Returns the number in one to eight bytes; all of them are before the trailer.
    @inlinable @inline(__always)  // PERF: as above.
    static func number(at offset: Int, byteCount: Int, in bytes: RawSpan) -> UInt64 {
        word(at: offset, in: bytes) &>> UInt64(truncatingIfNeeded: 64 &- 8 &* byteCount)
    }

    /// Returns the offset of an object, or nil if it is not among the objects.
    @inlinable @inline(__always)  // PERF: as above.
    func offset(of object: Int, in bytes: RawSpan) -> Int? {
        let offset = Self.number(at: start &+ object &* offsetByteCount, byteCount: offsetByteCount, in: bytes)
        guard offset >= 8, offset < UInt64(truncatingIfNeeded: start) else { return nil }
        return Int(truncatingIfNeeded: offset)
    }

    /// Returns the number of the object that a container refers to at an offset, or nil if there is no such object.
    @inlinable @inline(__always)  // PERF: as above.
    func reference(at offset: Int, in bytes: RawSpan) -> Int? {
        let object = Self.number(at: offset, byteCount: referenceByteCount, in: bytes)
        return object < UInt64(truncatingIfNeeded: count) ? Int(truncatingIfNeeded: object) : nil
    }
}

/// The marker of an object: its type and its count.
@usableFromInline
struct BinaryObject {
    /// The marker byte: the type in the high four bits, and possibly the count in the low four bits.
    @usableFromInline let marker: UInt8
    /// The number of bytes, code units, elements or members; nil if the count is invalid.
    @usableFromInline let count: Int
    /// The offset after the marker and the count.
    @usableFromInline let start: Int

    @inlinable @inline(__always)
    init(marker: UInt8, count: Int, start: Int) {
        (self.marker, self.count, self.start) = (marker, count, start)
    }

    /// Reads the count of an object of variable size; the count is nil if its bytes aren't an integer.
    @inlinable @inline(__always)  // PERF: PropertyLists/binary; once a string or container.
    init?(at offset: Int, in bytes: RawSpan) {
        marker = bytes.byte(at: offset)
        let low = Int(truncatingIfNeeded: marker & 15)
        if low < 15 {
            (count, start) = (low, offset &+ 1)
            return
        }
        let integer = bytes.byte(at: offset &+ 1)
        guard integer & 0xF0 == 0x10, integer & 15 <= 3 else { return nil }
        let byteCount = 1 &<< Int(truncatingIfNeeded: integer & 15)
        let number = BinaryObjectTable.number(at: offset &+ 2, byteCount: byteCount, in: bytes)
        // A count of this size can be added to an offset without overflow.
        count = Int(truncatingIfNeeded: min(number, 1 << 48))
        start = offset &+ 2 &+ byteCount
    }
}
