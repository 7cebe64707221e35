// What the names and the attributes of a tag are made of: places in three memories, so that nothing is copied that need not be.

import PlistStreaming

/// A run of bytes in the text of a tag or, with a negative start, in what was copied.
@usableFromInline
struct MemorySlice: BitwiseCopyable {
    @usableFromInline var start: Int32
    @usableFromInline var count: Int32

    /// The bytes of the text from an offset on.
    @inline(__always)
    static func text(_ start: Int, _ count: Int) -> MemorySlice {
        MemorySlice(start: Int32(truncatingIfNeeded: start), count: Int32(truncatingIfNeeded: count))
    }

    /// The bytes of the copies from an offset on.
    @inline(__always)
    static func copy(_ start: Int, _ count: Int) -> MemorySlice {
        MemorySlice(start: ~Int32(truncatingIfNeeded: start), count: Int32(truncatingIfNeeded: count))
    }
}

/// A name: how it is spelled, how much of that is its prefix, and where its namespace is among the URIs.
@usableFromInline
struct NameRecord: BitwiseCopyable {
    @usableFromInline var qualified: MemorySlice
    @usableFromInline var prefixCount: Int32 = 0
    @usableFromInline var namespaceCount: Int32 = 0
    @usableFromInline var namespaceStart: Int32 = 0
}

/// A name, a value, and where it is from.
@usableFromInline
struct AttributeRecord: BitwiseCopyable {
    @usableFromInline var name: NameRecord
    @usableFromInline var value: MemorySlice
    @usableFromInline var isDefaulted = false
    @usableFromInline var hasSkippedEntity = false
}

/// The three memories of a tag.
@usableFromInline
struct TagSpans: ~Escapable, BitwiseCopyable {
    /// The text that the tag is in.
    @usableFromInline let text: RawSpan
    /// What had to be copied: values with references, defaults.
    @usableFromInline let copies: RawSpan
    /// The URIs of namespaces.
    @usableFromInline let namespaces: RawSpan

    @inlinable @_lifetime(copy text, copy copies, copy namespaces)
    init(text: RawSpan, copies: RawSpan, namespaces: RawSpan) {
        self.text = text
        self.copies = copies
        self.namespaces = namespaces
    }

    // PERF: inlinable, because sinks of other packages look at each attribute.
    @inlinable @inline(__always) @_lifetime(copy self)
    func part(_ slice: MemorySlice) -> RawSpan {
        slice.start >= 0
            ? text.part(Int(slice.start), Int(slice.count)) : copies.part(Int(~slice.start), Int(slice.count))
    }

    // PERF: inlinable, because sinks of other packages look at each attribute.
    @inlinable @inline(__always) @_lifetime(copy self)
    func name(_ record: NameRecord) -> XMLName {
        XMLName(
            part(record.qualified), prefixCount: Int(record.prefixCount),
            namespace: namespaces.part(Int(record.namespaceStart), Int(record.namespaceCount)))
    }
}

// PERF: XML/events; what is lent keeps pointers, in one structure that may escape. Else, of more than six words in several properties,
// it is no trivial one to Swift 6.3, which writes it to memory and destroys it by a call, for each tag.

/// Bytes of a memory that whoever has the pointer must not outlive.
@safe
@usableFromInline
struct LentBytes: BitwiseCopyable {
    // SAFETY: those of a span; whoever lends them says how long they may be read.
    @usableFromInline let start: UnsafeRawPointer?
    @usableFromInline let count: Int

    @inlinable @inline(__always)
    init(_ bytes: RawSpan) {
        // SAFETY: the pointer leaves the closure, for who keeps to the lifetime of the span.
        (unsafe start, count) = unsafe bytes.withUnsafeBytes { ($0.baseAddress, $0.count) }
    }

    /// The bytes, for somebody who says how long they live.
    @inlinable @unsafe var span: RawSpan {
        @inline(__always) @_lifetime(immortal) get {
            // SAFETY: start and count are those of a span.
            let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count).bytes
            return unsafe _overrideLifetime(bytes, copying: ())
        }
    }
}

/// Records of a memory that whoever has the pointer must not outlive.
@safe
@usableFromInline
struct LentRecords: BitwiseCopyable {
    // SAFETY: those of a span, as above.
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
            preconditionFailure("there is no such attribute")
        }
        // SAFETY: the index is below the count, and the structure that has this one is lent.
        return unsafe start[index]
    }
}

/// The parts of a name.
@usableFromInline
struct LentName: BitwiseCopyable {
    @usableFromInline let qualified: LentBytes
    @usableFromInline let prefixCount: Int
    @usableFromInline let namespace: LentBytes

    @inlinable @inline(__always)
    init(_ qualified: RawSpan, _ prefixCount: Int, _ namespace: RawSpan) {
        self.qualified = LentBytes(qualified)
        self.prefixCount = prefixCount
        self.namespace = LentBytes(namespace)
    }
}

/// The three memories of a tag.
@usableFromInline
struct LentTag: BitwiseCopyable {
    @usableFromInline let text: LentBytes
    @usableFromInline let copies: LentBytes
    @usableFromInline let namespaces: LentBytes

    @inlinable @inline(__always)
    init(_ memory: borrowing TagSpans) {
        text = LentBytes(memory.text)
        copies = LentBytes(memory.copies)
        namespaces = LentBytes(memory.namespaces)
    }

    /// The memories, for somebody who says how long they live.
    @inlinable @unsafe var spans: TagSpans {
        @inline(__always) @_lifetime(immortal) get {
            unsafe TagSpans(text: text.span, copies: copies.span, namespaces: namespaces.span)
        }
    }
}

/// The parts of an attribute.
@usableFromInline
struct LentAttribute: BitwiseCopyable {
    @usableFromInline let name: LentName
    @usableFromInline let value: LentBytes
    @usableFromInline let isDefaulted: Bool
    @usableFromInline let hasSkippedEntity: Bool

    @inlinable @inline(__always)
    init(name: LentName, value: LentBytes, isDefaulted: Bool, hasSkippedEntity: Bool) {
        self.name = name
        self.value = value
        self.isDefaulted = isDefaulted
        self.hasSkippedEntity = hasSkippedEntity
    }
}

/// The parts of some attributes.
@usableFromInline
struct LentAttributes: BitwiseCopyable {
    @usableFromInline let memory: LentTag
    @usableFromInline let records: LentRecords

    @inlinable @inline(__always)
    init(memory: LentTag, records: LentRecords) {
        self.memory = memory
        self.records = records
    }
}

/// The parts of a start tag.
@usableFromInline
struct LentStartTag: BitwiseCopyable {
    @usableFromInline let memory: LentTag
    @usableFromInline let name: NameRecord
    @usableFromInline let attributes: LentRecords
    @usableFromInline let declarations: LentRecords
    @usableFromInline let isEmptyElement: Bool
    @usableFromInline let place: XMLSourceRange

    @inlinable @inline(__always)
    init(
        memory: LentTag, name: NameRecord, attributes: LentRecords, declarations: LentRecords, isEmptyElement: Bool,
        place: XMLSourceRange
    ) {
        self.memory = memory
        self.name = name
        self.attributes = attributes
        self.declarations = declarations
        self.isEmptyElement = isEmptyElement
        self.place = place
    }
}

/// The parts of an end tag.
@usableFromInline
struct LentEndTag: BitwiseCopyable {
    @usableFromInline let name: LentName
    @usableFromInline let isEmptyElement: Bool
    @usableFromInline let place: XMLSourceRange

    @inlinable @inline(__always)
    init(name: LentName, isEmptyElement: Bool, place: XMLSourceRange) {
        self.name = name
        self.isEmptyElement = isEmptyElement
        self.place = place
    }
}

/// Memory for start tags that no document has, for who sends messages without a text, such as a tree.
///
/// ```swift
/// let memory = XMLTagMemory()
/// memory.begin("item")
/// memory.append("id", value: "7")
/// try sink.startElement(memory.startTag)
/// ```
///
/// Whoever fills it says what namespaces names are in. Nothing is checked but that names fit their prefixes.
public struct XMLTagMemory: ~Copyable {
    private var copies = KeptStack<UInt8>()
    private var namespaces = KeptStack<UInt8>()
    private var name = NameRecord(qualified: .copy(0, 0))
    private var attributes = KeptStack<AttributeRecord>()
    private var declarations = KeptStack<AttributeRecord>()
    /// A Boolean value that indicates whether the tag is an empty-element tag.
    public var isEmptyElement: Bool = false

    /// Creates memory of a tag without a name.
    public init() {}

    /// Begins a tag with the name of its element, and forgets the last one.
    public mutating func begin(_ name: borrowing XMLName) {
        copies.removeAll()
        namespaces.removeAll()
        attributes.removeAll()
        declarations.removeAll()
        isEmptyElement = false
        self.name = copied(name)
    }

    /// Adds an attribute.
    public mutating func append(_ name: borrowing XMLName, value: RawSpan, isDefaulted: Bool = false) {
        let record = copied(name)
        attributes.append(AttributeRecord(name: record, value: copied(value), isDefaulted: isDefaulted))
    }

    /// Adds the declaration of a namespace: `xmlns`, or a name with the prefix `xmlns`.
    public mutating func appendDeclaration(_ name: borrowing XMLName, uri: RawSpan) {
        let record = copied(name)
        declarations.append(AttributeRecord(name: record, value: copied(uri)))
    }

    /// The tag, which lends this memory.
    public var startTag: XMLStartTag {
        @_lifetime(borrow self) get {
            let memory = TagSpans(text: RawSpan(), copies: copies.bytes, namespaces: namespaces.bytes)
            return XMLStartTag(
                memory: memory, name: name, attributes: attributes.span, declarations: declarations.span,
                isEmptyElement: isEmptyElement, place: .none)
        }
    }

    private mutating func copied(_ bytes: RawSpan) -> MemorySlice {
        let start = copies.count
        precondition(bytes.byteCount <= Int(Int32.max) - start, "a tag has at most 2 GiB")
        copies.append(contentsOf: bytes)
        return .copy(start, bytes.byteCount)
    }

    private mutating func copied(_ name: borrowing XMLName) -> NameRecord {
        let start = namespaces.count
        precondition(name.namespace.byteCount <= Int(Int32.max) - start, "a tag has at most 2 GiB")
        namespaces.append(contentsOf: name.namespace)
        return NameRecord(
            qualified: copied(name.qualified), prefixCount: Int32(name.prefixCount),
            namespaceCount: Int32(name.namespace.byteCount), namespaceStart: Int32(start))
    }
}
