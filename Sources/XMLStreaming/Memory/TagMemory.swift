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
    private var copies = GrowingMemory<UInt8>()
    private var namespaces = GrowingMemory<UInt8>()
    private var name = NameRecord(qualified: .copy(0, 0))
    private var attributes = GrowingMemory<AttributeRecord>()
    private var declarations = GrowingMemory<AttributeRecord>()
    /// Whether the tag is an empty-element tag.
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
