// Start tags and end tags with their names, namespaces and attributes, borrowed from the memory of the sender.

// PERF: access to borrowed values is inlinable, because sinks of other packages read each name and attribute.

import PlistStreaming

/// The name of an element or of an attribute.
public struct XMLName: ~Escapable, BitwiseCopyable {
    @usableFromInline let parts: BorrowedName

    /// The qualified name.
    public var qualified: RawSpan {
        // SAFETY: the parts live as long as this name, here and below.
        @inlinable @_lifetime(copy self) get { unsafe _overrideLifetime(parts.qualified.span, copying: self) }
    }
    /// The number of bytes of the prefix, without its colon.
    @inlinable var prefixCount: Int { parts.prefixCount }
    /// The URI of the namespace, or empty if the name isn't in a namespace.
    public var namespace: RawSpan {
        @inlinable @_lifetime(copy self) get { unsafe _overrideLifetime(parts.namespace.span, copying: self) }
    }

    /// Creates a name whose prefix has the given number of bytes before a colon, or 0 for no prefix.
    @inlinable @inline(__always) @_lifetime(copy qualified, copy namespace)
    public init(_ qualified: RawSpan, prefixCount: Int = 0, namespace: RawSpan = RawSpan()) {
        precondition(prefixCount >= 0 && prefixCount < max(1, qualified.byteCount), "a prefix is within a name")
        parts = BorrowedName(qualified, prefixCount, namespace)
    }

    @inlinable @inline(__always) @unsafe @_lifetime(immortal)
    init(_ parts: BorrowedName) { self.parts = parts }

    /// The prefix, or empty if the name has no prefix.
    public var prefix: RawSpan {
        @inlinable @_lifetime(copy self) get { qualified.part(0, prefixCount) }
    }

    /// The name without its prefix.
    public var local: RawSpan {
        @inlinable @inline(__always) @_lifetime(copy self) get {
            let start = prefixCount == 0 ? 0 : prefixCount + 1
            return qualified.part(start, qualified.byteCount - start)
        }
    }

    /// Returns whether a text is equal to the qualified name.
    public func isSpelled(_ text: String) -> Bool { qualified.equals(text) }

    /// Returns whether the name has a local name and namespace, regardless of its prefix.
    public func isNamed(_ local: String, in namespace: String = "") -> Bool {
        self.local.equals(local) && self.namespace.equals(namespace)
    }
}

/// An attribute of a start tag.
public struct XMLAttribute: ~Escapable, BitwiseCopyable {
    @usableFromInline let parts: BorrowedAttribute

    /// The name. Attributes without a prefix have no namespace.
    public var name: XMLName {
        // SAFETY: the parts live as long as this attribute, here and below.
        @inlinable @_lifetime(copy self) get { unsafe _overrideLifetime(XMLName(parts.name), copying: self) }
    }
    /// The normalized value, with references replaced.
    public var value: RawSpan {
        @inlinable @_lifetime(copy self) get { unsafe _overrideLifetime(parts.value.span, copying: self) }
    }
    /// A Boolean value that indicates whether the value is a default of the document type instead of a value in the tag.
    @inlinable public var isDefaulted: Bool { parts.isDefaulted }
    /// A Boolean value that indicates whether the value refers to an entity that isn't in the document. The text of the
    /// entity is missing from the value.
    @inlinable public var hasSkippedEntity: Bool { parts.hasSkippedEntity }

    @inlinable @_lifetime(copy name, copy value)
    init(name: consuming XMLName, value: RawSpan, isDefaulted: Bool, hasSkippedEntity: Bool) {
        parts = BorrowedAttribute(
            name: name.parts, value: BorrowedBytes(value), isDefaulted: isDefaulted, hasSkippedEntity: hasSkippedEntity)
    }

    /// The error for a value with a skipped entity, for receivers that must not lose data.
    package var lack: StreamError {
        let name = ShownText.quoted(name.qualified)
        return StreamError(.unrepresentable, "the text of an entity in the attribute \(name) is unknown")
    }
}

/// The attributes of a start tag, or its namespace declarations, in order. Defaults come last.
public struct XMLAttributes: ~Escapable, BitwiseCopyable {
    @usableFromInline let memory: BorrowedTag

    @inlinable @inline(__always) @unsafe @_lifetime(immortal)
    init(_ memory: BorrowedTag) { self.memory = memory }

    /// The number of attributes.
    @inlinable public var count: Int { memory.attributes.count }
    /// A Boolean value that indicates whether the tag has no attributes.
    @inlinable public var isEmpty: Bool { memory.attributes.count == 0 }

    /// The attribute at an index from 0.
    public subscript(index: Int) -> XMLAttribute {
        // PERF: a call would store all values that the attribute is made from.
        @inlinable @inline(__always) @_lifetime(copy self) get {
            let record = memory.attributes[index]
            // SAFETY: the memory is valid as long as these attributes.
            let attribute = unsafe XMLAttribute(
                name: memory.name(record.name), value: memory.part(record.value), isDefaulted: record.isDefaulted,
                hasSkippedEntity: record.hasSkippedEntity)
            return unsafe _overrideLifetime(attribute, copying: self)
        }
    }

    /// Returns the index of the attribute with a qualified name, or nil if the tag doesn't have the attribute.
    ///
    /// - Complexity: O(count), like all searches for a name.
    public func index(ofSpelling name: String) -> Int? {
        (0..<count).first { self[$0].name.isSpelled(name) }
    }

    /// Returns the index of the attribute with a local name and namespace, or nil if the tag doesn't have the attribute.
    public func index(of local: String, in namespace: String = "") -> Int? {
        (0..<count).first { self[$0].name.isNamed(local, in: namespace) }
    }

    /// Returns the value of the attribute with a qualified name, or nil if the tag doesn't have the attribute.
    public func string(_ name: String) -> String? {
        guard let index = index(ofSpelling: name) else { return nil }
        return String(xml: self[index].value)
    }

    /// Returns the value of the attribute with a local name and namespace, or nil if the tag doesn't have the attribute.
    public func string(_ local: String, in namespace: String) -> String? {
        guard let index = index(of: local, in: namespace) else { return nil }
        return String(xml: self[index].value)
    }
}

/// A start tag, or an empty-element tag.
public struct XMLStartTag: ~Escapable, BitwiseCopyable {
    @usableFromInline let parts: BorrowedStartTag

    /// A Boolean value that indicates whether this is an empty-element tag. Its end is sent as a separate message.
    @inlinable public var isEmptyElement: Bool { parts.isEmptyElement }
    /// The bytes from `<` to `>`.
    @inlinable public var place: XMLSourceRange { parts.place }

    @inlinable @unsafe @_lifetime(immortal)
    init(
        memory: BorrowedTag, name: NameRecord, declarations: Span<AttributeRecord>, isEmptyElement: Bool,
        place: XMLSourceRange
    ) {
        parts = BorrowedStartTag(
            memory: memory, name: name, declarations: BorrowedRecords(declarations), isEmptyElement: isEmptyElement,
            place: place)
    }

    /// The name of the element.
    public var name: XMLName {
        // SAFETY: the memory is valid as long as this tag, here and below.
        @inlinable @inline(__always) @_lifetime(copy self) get {
            unsafe _overrideLifetime(parts.memory.name(parts.name), copying: self)
        }
    }

    /// The attributes that aren't namespace declarations.
    public var attributes: XMLAttributes {
        @inlinable @inline(__always) @_lifetime(copy self) get {
            unsafe _overrideLifetime(XMLAttributes(parts.memory), copying: self)
        }
    }

    /// The attributes that declare namespaces, if the reader supports them. They are named `xmlns`, or they have the prefix
    /// `xmlns` and the declared prefix as their local name. The value is the URI.
    public var declarations: XMLAttributes {
        @inlinable @_lifetime(copy self) get {
            var memory = parts.memory
            memory.attributes = parts.declarations
            return unsafe _overrideLifetime(XMLAttributes(memory), copying: self)
        }
    }
}

/// An end tag, or the end of an empty-element tag.
public struct XMLEndTag: ~Escapable, BitwiseCopyable {
    @usableFromInline let parts: BorrowedEndTag

    /// The name of the element.
    public var name: XMLName {
        // SAFETY: the parts live as long as this tag.
        @inlinable @inline(__always) @_lifetime(copy self) get {
            unsafe _overrideLifetime(XMLName(parts.name), copying: self)
        }
    }
    /// A Boolean value that indicates whether the tag is an empty-element tag and therefore also the start tag.
    @inlinable public var isEmptyElement: Bool { parts.isEmptyElement }
    /// The bytes from `<` to `>`.
    @inlinable public var place: XMLSourceRange { parts.place }

    /// Creates an end tag.
    @inlinable @_lifetime(copy name)
    public init(name: consuming XMLName, isEmptyElement: Bool = false, place: XMLSourceRange = .none) {
        parts = BorrowedEndTag(name: name.parts, isEmptyElement: isEmptyElement, place: place)
    }
}
