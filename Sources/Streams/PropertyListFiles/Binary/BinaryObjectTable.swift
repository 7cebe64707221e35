// Where the objects of a binary property list are: its trailer, its table of offsets, and the markers of its objects.
// Whatever comes out of here was checked: it lies within the bytes, and no sum of it overflows.

import PlistStreaming

/// What the trailer says, checked against the bytes it is the end of.
///
/// The last 32 bytes are the trailer; before it lies the table with the offset of each object, and before that, behind
/// eight bytes of header, the objects. All numbers have their highest byte first.
///
/// SPEC: the comment at the beginning of `CFBinaryPList.c` of CoreFoundation.
@usableFromInline
struct BinaryObjectTable: Sendable {
    @usableFromInline static var headerByteCount: Int { 8 }
    @usableFromInline static var trailerByteCount: Int { 32 }

    /// The number of objects.
    @usableFromInline let count: Int
    /// The number of the object that is the root.
    @usableFromInline let root: Int
    /// The offset of the table, which is behind the last byte of the objects.
    @usableFromInline let start: Int
    /// The bytes of an offset in the table, and of a reference in a container.
    @usableFromInline let offsetByteCount: Int
    @usableFromInline let referenceByteCount: Int

    /// Reads header and trailer.
    ///
    /// - Throws: `invalidSyntax` for bytes that are no binary property list, `unexpectedEnd` where they end before the trailer.
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

    /// Checks the first bytes of an input, as far as they are there.
    ///
    /// - Parameter isWhole: Whether all of them must be there.
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

    /// Checks the first bytes of an input and its length, as far as they are within the limit.
    static func checkBeginning(_ bytes: RawSpan, limit: Int) throws(StreamError) {
        try checkHeader(bytes.extracting(0..<min(bytes.byteCount, limit, headerByteCount)), isWhole: false)
        guard bytes.byteCount <= limit else {
            throw error(.limitExceeded, "more than \(limit) bytes of input", limit)
        }
    }

    /// Reads a file or another descriptor into memory, as long as it begins as such a list and is within the limit.
    @usableFromInline
    static func wholeInput(_ source: some ByteSource, limit: Int) throws(StreamError) -> WholeInput {
        try WholeInput(source, limit: limit) { (bytes) throws(StreamError) in try checkBeginning(bytes, limit: limit) }
    }

    private static func error(_ kind: StreamError.Kind, _ message: String, _ offset: Int) -> StreamError {
        StreamError(kind, message, position: StreamPosition(byteOffset: offset))
    }

    /// The eight bytes at an offset that is not less than eight bytes before the end, as a number.
    @inlinable @inline(__always)  // PERF: PropertyLists/binary; two to four loads for each object.
    static func word(at offset: Int, in bytes: RawSpan) -> UInt64 {
        precondition(offset >= 0 && offset <= bytes.byteCount &- 8, "offset out of bounds")
        // SAFETY: checked on the line above.
        return UInt64(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
    }

    /// The number in some bytes, of which there are one to eight; a trailer lies behind all that is read.
    @inlinable @inline(__always)  // PERF: as above.
    static func number(at offset: Int, byteCount: Int, in bytes: RawSpan) -> UInt64 {
        word(at: offset, in: bytes) &>> UInt64(truncatingIfNeeded: 64 &- 8 &* byteCount)
    }

    /// The offset of an object; nil when it is not among the objects.
    @inlinable @inline(__always)  // PERF: as above.
    func offset(of object: Int, in bytes: RawSpan) -> Int? {
        let offset = Self.number(at: start &+ object &* offsetByteCount, byteCount: offsetByteCount, in: bytes)
        guard offset >= 8, offset < UInt64(truncatingIfNeeded: start) else { return nil }
        return Int(truncatingIfNeeded: offset)
    }

    /// The number of the object that a container refers to at an offset; nil when there is no such object.
    @inlinable @inline(__always)  // PERF: as above.
    func reference(at offset: Int, in bytes: RawSpan) -> Int? {
        let object = Self.number(at: offset, byteCount: referenceByteCount, in: bytes)
        return object < UInt64(truncatingIfNeeded: count) ? Int(truncatingIfNeeded: object) : nil
    }
}

/// The marker of an object: its type, and what the type has to count.
@usableFromInline
struct BinaryObject {
    /// The type in the high half of the marker, the lowest four bits of which may be the count.
    @usableFromInline let marker: UInt8
    /// The bytes, code units, elements or members; nil where the bytes of the count are none.
    @usableFromInline let count: Int
    /// The offset behind the marker and the count.
    @usableFromInline let start: Int

    @inlinable @inline(__always)
    init(marker: UInt8, count: Int, start: Int) {
        (self.marker, self.count, self.start) = (marker, count, start)
    }

    /// Reads the count of an object of variable size; nil where its bytes are no integer.
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
        // No such count is too large to be added to an offset.
        count = Int(truncatingIfNeeded: min(number, 1 << 48))
        start = offset &+ 2 &+ byteCount
    }
}
