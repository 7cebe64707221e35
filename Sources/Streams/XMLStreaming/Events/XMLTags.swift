// Start tags and end tags: names, namespaces and attributes, lent from the memory of whoever sends them.

// PERF: what is lent is inlinable, because sinks of other packages look at each name and attribute.

import PlistStreaming

/// The name of an element or of an attribute.
public struct XMLName: ~Escapable, BitwiseCopyable {
    @usableFromInline let parts: LentName

    /// The name as it is spelled, with its prefix.
    public var qualified: RawSpan {
        // SAFETY: the parts live as long as this name, here and below.
        @inlinable @_lifetime(copy self) get { unsafe _overrideLifetime(parts.qualified.span, copying: self) }
    }
    /// The bytes of the prefix, without its colon.
    @inlinable var prefixCount: Int { parts.prefixCount }
    /// The URI of the namespace, empty when the name is in none.
    public var namespace: RawSpan {
        @inlinable @_lifetime(copy self) get { unsafe _overrideLifetime(parts.namespace.span, copying: self) }
    }

    /// Creates a name that has a prefix of so many bytes before a colon, or 0.
    @inlinable @inline(__always) @_lifetime(copy qualified, copy namespace)
    public init(_ qualified: RawSpan, prefixCount: Int = 0, namespace: RawSpan = RawSpan()) {
        precondition(prefixCount >= 0 && prefixCount < max(1, qualified.byteCount), "a prefix is within a name")
        parts = LentName(qualified, prefixCount, namespace)
    }

    @inlinable @inline(__always) @unsafe @_lifetime(immortal)
    init(_ parts: LentName) { self.parts = parts }

    /// The prefix, empty when there is none.
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

    /// Returns whether the name is spelled so, prefix included.
    public func isSpelled(_ text: String) -> Bool { qualified.equals(text) }

    /// Returns whether the name is this one of a namespace, however its prefix is spelled.
    public func isNamed(_ local: String, in namespace: String = "") -> Bool {
        self.local.equals(local) && self.namespace.equals(namespace)
    }
}

/// An attribute of a start tag.
public struct XMLAttribute: ~Escapable, BitwiseCopyable {
    @usableFromInline let parts: LentAttribute

    /// The name; one without a prefix is in no namespace.
    public var name: XMLName {
        // SAFETY: the parts live as long as this attribute, here and below.
        @inlinable @_lifetime(copy self) get { unsafe _overrideLifetime(XMLName(parts.name), copying: self) }
    }
    /// The value, normalised and with references replaced.
    public var value: RawSpan {
        @inlinable @_lifetime(copy self) get { unsafe _overrideLifetime(parts.value.span, copying: self) }
    }
    /// A Boolean value that indicates whether the value is not in the tag, but a default of the document type.
    @inlinable public var isDefaulted: Bool { parts.isDefaulted }
    /// A Boolean value that indicates whether the value refers to an entity that is not in the document, whose text it lacks.
    @inlinable public var hasSkippedEntity: Bool { parts.hasSkippedEntity }

    @inlinable @_lifetime(copy name, copy value)
    init(name: consuming XMLName, value: RawSpan, isDefaulted: Bool, hasSkippedEntity: Bool) {
        parts = LentAttribute(
            name: name.parts, value: LentBytes(value), isDefaulted: isDefaulted, hasSkippedEntity: hasSkippedEntity)
    }

    /// The error of a value that has a skipped entity, for those who may lose nothing.
    package var lack: StreamError {
        let name = ShownText.quoted(name.qualified)
        return StreamError(.unrepresentable, "the text of an entity in the attribute \(name) is not known")
    }
}

/// The attributes of a start tag, or the namespaces that it declares, in their order; defaults come last.
public struct XMLAttributes: ~Escapable, BitwiseCopyable {
    @usableFromInline let parts: LentAttributes

    @inlinable @inline(__always) @unsafe @_lifetime(immortal)
    init(_ parts: LentAttributes) { self.parts = parts }

    /// The number of attributes.
    @inlinable public var count: Int { parts.records.count }
    /// A Boolean value that indicates whether there are none.
    @inlinable public var isEmpty: Bool { parts.records.count == 0 }

    /// The attribute at an index from 0.
    public subscript(index: Int) -> XMLAttribute {
        // PERF: a call stores all that the attribute is made of.
        @inlinable @inline(__always) @_lifetime(copy self) get {
            let record = parts.records[index]
            // SAFETY: the memories live as long as these attributes.
            let memory = unsafe _overrideLifetime(parts.memory.spans, copying: self)
            return XMLAttribute(
                name: memory.name(record.name), value: memory.part(record.value), isDefaulted: record.isDefaulted,
                hasSkippedEntity: record.hasSkippedEntity)
        }
    }

    /// The index of the attribute whose name is spelled so, or nil.
    ///
    /// - Complexity: O(count), as for all that looks for a name.
    public func index(ofSpelling name: String) -> Int? {
        (0..<count).first { self[$0].name.isSpelled(name) }
    }

    /// The index of the attribute with this name in a namespace, or nil.
    public func index(of local: String, in namespace: String = "") -> Int? {
        (0..<count).first { self[$0].name.isNamed(local, in: namespace) }
    }

    /// The value of the attribute whose name is spelled so, or nil.
    public func string(_ name: String) -> String? {
        guard let index = index(ofSpelling: name) else { return nil }
        return String(xml: self[index].value)
    }

    /// The value of the attribute with this name in a namespace, or nil.
    public func string(_ local: String, in namespace: String) -> String? {
        guard let index = index(of: local, in: namespace) else { return nil }
        return String(xml: self[index].value)
    }
}

/// A start tag, or an empty-element tag.
public struct XMLStartTag: ~Escapable, BitwiseCopyable {
    @usableFromInline let parts: LentStartTag

    /// A Boolean value that indicates whether it is an empty-element tag; its end is a message of its own nevertheless.
    @inlinable public var isEmptyElement: Bool { parts.isEmptyElement }
    /// The bytes from `<` to `>`.
    @inlinable public var place: XMLSourceRange { parts.place }

    @inlinable @_lifetime(copy memory, copy attributes, copy declarations)
    init(
        memory: consuming TagSpans, name: NameRecord, attributes: Span<AttributeRecord>,
        declarations: Span<AttributeRecord>, isEmptyElement: Bool, place: XMLSourceRange
    ) {
        parts = LentStartTag(
            memory: LentTag(memory), name: name, attributes: LentRecords(attributes),
            declarations: LentRecords(declarations), isEmptyElement: isEmptyElement, place: place)
    }

    /// The name of the element.
    public var name: XMLName {
        // SAFETY: the memories live as long as this tag, here and below.
        @inlinable @inline(__always) @_lifetime(copy self) get {
            unsafe _overrideLifetime(parts.memory.spans.name(parts.name), copying: self)
        }
    }

    /// The attributes that declare no namespaces.
    public var attributes: XMLAttributes {
        @inlinable @inline(__always) @_lifetime(copy self) get {
            unsafe _overrideLifetime(
                XMLAttributes(LentAttributes(memory: parts.memory, records: parts.attributes)), copying: self)
        }
    }

    /// The attributes that declare namespaces, in a reader that knows of them: `xmlns`, or names with the prefix `xmlns`, whose local
    /// name is the prefix declared. The value is the URI.
    public var declarations: XMLAttributes {
        @inlinable @_lifetime(copy self) get {
            unsafe _overrideLifetime(
                XMLAttributes(LentAttributes(memory: parts.memory, records: parts.declarations)), copying: self)
        }
    }
}

/// An end tag, or the end of an empty-element tag.
public struct XMLEndTag: ~Escapable, BitwiseCopyable {
    @usableFromInline let parts: LentEndTag

    /// The name of the element.
    public var name: XMLName {
        // SAFETY: the parts live as long as this tag.
        @inlinable @inline(__always) @_lifetime(copy self) get {
            unsafe _overrideLifetime(XMLName(parts.name), copying: self)
        }
    }
    /// A Boolean value that indicates whether the tag is that of the start, because it is an empty-element tag.
    @inlinable public var isEmptyElement: Bool { parts.isEmptyElement }
    /// The bytes from `<` to `>`.
    @inlinable public var place: XMLSourceRange { parts.place }

    /// Creates an end tag.
    @inlinable @_lifetime(copy name)
    public init(name: consuming XMLName, isEmptyElement: Bool = false, place: XMLSourceRange = .none) {
        parts = LentEndTag(name: name.parts, isEmptyElement: isEmptyElement, place: place)
    }
}
