// The representation of names and attributes in a tag: ranges in three memory areas, so that bytes are copied only if
// necessary.

import PlistStreaming

/// A range of bytes in the text of a tag or, if the start is negative, in the copies.
@usableFromInline
struct MemorySlice: BitwiseCopyable {
    @usableFromInline var start: Int32
    @usableFromInline var count: Int32

    /// Returns a slice of the text.
    @inline(__always)
    static func text(_ start: Int, _ count: Int) -> MemorySlice {
        MemorySlice(start: Int32(truncatingIfNeeded: start), count: Int32(truncatingIfNeeded: count))
    }

    /// Returns a slice of the copies.
    @inline(__always)
    static func copy(_ start: Int, _ count: Int) -> MemorySlice {
        MemorySlice(start: ~Int32(truncatingIfNeeded: start), count: Int32(truncatingIfNeeded: count))
    }
}

/// A name: its qualified spelling, the length of its prefix, and the range of its namespace in the URIs.
@usableFromInline
struct NameRecord: BitwiseCopyable {
    @usableFromInline var qualified: MemorySlice
    @usableFromInline var prefixCount: Int32 = 0
    @usableFromInline var namespaceCount: Int32 = 0
    @usableFromInline var namespaceStart: Int32 = 0
}

/// An attribute's name and value, and flags for its origin.
@usableFromInline
struct AttributeRecord: BitwiseCopyable {
    @usableFromInline var name: NameRecord
    @usableFromInline var value: MemorySlice
    @usableFromInline var isDefaulted = false
    @usableFromInline var hasSkippedEntity = false
}

// PERF: XML/events; borrowed values store pointers, in one structure that may escape. As several properties with more than six
// words, the structure would not be trivial to Swift 6.3, which would write it to memory and destroy it by a call, for each
// tag.

/// A pointer to bytes. Its users must not outlive the memory.
@safe
@usableFromInline
struct BorrowedBytes: BitwiseCopyable {
    // SAFETY: the pointer and count are from a span; the sender defines how long the bytes may be read.
    @usableFromInline let start: UnsafeRawPointer?
    @usableFromInline let count: Int

    @inlinable @inline(__always)
    init(_ bytes: RawSpan) {
        // SAFETY: the pointer leaves the closure, but callers respect the lifetime of the span.
        (unsafe start, count) = unsafe bytes.withUnsafeBytes { ($0.baseAddress, $0.count) }
    }

    /// The bytes. The caller has to define their lifetime.
    @inlinable @unsafe var span: RawSpan {
        @inline(__always) @_lifetime(immortal) get {
            // SAFETY: start and count are those of a span.
            let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count).bytes
            return unsafe _overrideLifetime(bytes, copying: ())
        }
    }
}

/// A pointer to records. Its users must not outlive the memory.
@safe
@usableFromInline
struct BorrowedRecords: BitwiseCopyable {
    // SAFETY: the pointer and count are from a span, as above.
    @usableFromInline let start: UnsafePointer<AttributeRecord>?
    @usableFromInline let count: Int

    @inlinable @inline(__always)
    init(_ records: Span<AttributeRecord>) {
        // SAFETY: as above.
        (unsafe start, count) = unsafe records.withUnsafeBufferPointer { ($0.baseAddress, $0.count) }
    }

    @inlinable @inline(__always)
    subscript(index: Int) -> AttributeRecord {
        guard index >= 0, index < count, let start = unsafe start else {
            preconditionFailure("index out of range")
        }
        // SAFETY: the index is below the count, and the structure that has this one is borrowed.
        return unsafe start[index]
    }
}

/// The parts of a name.
@usableFromInline
struct BorrowedName: BitwiseCopyable {
    @usableFromInline let qualified: BorrowedBytes
    @usableFromInline let prefixCount: Int
    @usableFromInline let namespace: BorrowedBytes

    @inlinable @inline(__always)
    init(_ qualified: RawSpan, _ prefixCount: Int, _ namespace: RawSpan) {
        self.qualified = BorrowedBytes(qualified)
        self.prefixCount = prefixCount
        self.namespace = BorrowedBytes(namespace)
    }
}

/// The three memory areas of a tag, and its attributes.
@usableFromInline
struct BorrowedTag: BitwiseCopyable {
    /// The text that contains the tag.
    @usableFromInline let text: BorrowedBytes
    /// The bytes that had to be copied: values with references, and defaults.
    @usableFromInline let copies: BorrowedBytes
    /// The URIs of namespaces.
    @usableFromInline let namespaces: BorrowedBytes
    @usableFromInline var attributes: BorrowedRecords

    @inlinable @inline(__always)
    init(text: RawSpan, copies: RawSpan, namespaces: RawSpan, attributes: Span<AttributeRecord>) {
        self.text = BorrowedBytes(text)
        self.copies = BorrowedBytes(copies)
        self.namespaces = BorrowedBytes(namespaces)
        self.attributes = BorrowedRecords(attributes)
    }

    // PERF: inlinable, because sinks of other packages read each attribute.
    /// Returns the bytes of a slice. The caller has to define their lifetime.
    @inlinable @inline(__always) @unsafe @_lifetime(immortal)
    func part(_ slice: MemorySlice) -> RawSpan {
        unsafe slice.start >= 0
            ? text.span.part(Int(slice.start), Int(slice.count)) : copies.span.part(Int(~slice.start), Int(slice.count))
    }

    /// Returns a name. The caller has to define its lifetime.
    @inlinable @inline(__always) @unsafe @_lifetime(immortal)
    func name(_ record: NameRecord) -> XMLName {
        let namespace = unsafe namespaces.span.part(Int(record.namespaceStart), Int(record.namespaceCount))
        return unsafe XMLName(part(record.qualified), prefixCount: Int(record.prefixCount), namespace: namespace)
    }
}

/// The parts of an attribute.
@usableFromInline
struct BorrowedAttribute: BitwiseCopyable {
    @usableFromInline let name: BorrowedName
    @usableFromInline let value: BorrowedBytes
    @usableFromInline let isDefaulted: Bool
    @usableFromInline let hasSkippedEntity: Bool

    @inlinable @inline(__always)
    init(name: BorrowedName, value: BorrowedBytes, isDefaulted: Bool, hasSkippedEntity: Bool) {
        self.name = name
        self.value = value
        self.isDefaulted = isDefaulted
        self.hasSkippedEntity = hasSkippedEntity
    }
}

/// The parts of a start tag.
@usableFromInline
struct BorrowedStartTag: BitwiseCopyable {
    @usableFromInline let memory: BorrowedTag
    @usableFromInline let name: NameRecord
    @usableFromInline let declarations: BorrowedRecords
    @usableFromInline let isEmptyElement: Bool
    @usableFromInline let place: XMLSourceRange

    @inlinable @inline(__always)
    init(
        memory: BorrowedTag, name: NameRecord, declarations: BorrowedRecords, isEmptyElement: Bool,
        place: XMLSourceRange
    ) {
        self.memory = memory
        self.name = name
        self.declarations = declarations
        self.isEmptyElement = isEmptyElement
        self.place = place
    }
}

/// The parts of an end tag.
@usableFromInline
struct BorrowedEndTag: BitwiseCopyable {
    @usableFromInline let name: BorrowedName
    @usableFromInline let isEmptyElement: Bool
    @usableFromInline let place: XMLSourceRange

    @inlinable @inline(__always)
    init(name: BorrowedName, isEmptyElement: Bool, place: XMLSourceRange) {
        self.name = name
        self.isEmptyElement = isEmptyElement
        self.place = place
    }
}
