// The parts of a document other than tags, as values that a sink borrows.

/// The position of a part in a document.
public struct XMLSourceRange: Sendable, Hashable, BitwiseCopyable {
    @usableFromInline var start: Int
    @usableFromInline var end: Int
    /// A Boolean value that indicates whether the part is in the replacement text of an entity.
    public var isInEntity: Bool

    /// The range of bytes in the UTF-8 form of the document, from 0. A byte order mark counts as three bytes.
    ///
    /// If the document is in UTF-8, the offsets are those of the document itself. All parts in the replacement text of an
    /// entity have the range of the reference in the document.
    public var byteRange: Range<Int> {
        get { start..<end }
        set { (start, end) = (newValue.lowerBound, newValue.upperBound) }
    }

    /// Creates a place.
    public init(byteRange: Range<Int>, isInEntity: Bool = false) {
        start = byteRange.lowerBound
        end = byteRange.upperBound
        self.isInEntity = isInEntity
    }

    // PERF: made for each part, in code for sinks of other packages; this also applies to text and tags. A range would not be
    // bitwise copyable.
    /// Creates a place from two offsets.
    @inlinable @inline(__always)
    init(start: Int, end: Int) {
        self.start = start
        self.end = end
        isInEntity = false
    }

    /// The place of parts that aren't from a document.
    public static let none: XMLSourceRange = XMLSourceRange(byteRange: 0..<0)
}

/// A piece of the text of an element.
public struct XMLText: ~Escapable, BitwiseCopyable {
    /// The bytes of the text, with references replaced and line ends as LF. They are whole characters.
    public let utf8: RawSpan
    /// A Boolean value that indicates whether the piece is from a CDATA section.
    public let isCDATA: Bool
    /// The bytes that the piece was made from, without the brackets of a CDATA section.
    public let place: XMLSourceRange

    /// Creates a piece of text.
    @inlinable @_lifetime(copy utf8)
    public init(_ utf8: RawSpan, isCDATA: Bool = false, place: XMLSourceRange = .none) {
        self.utf8 = utf8
        self.isCDATA = isCDATA
        self.place = place
    }
}

/// A comment.
public struct XMLComment: ~Escapable, BitwiseCopyable {
    /// The text between `<!--` and `-->`, with line ends as LF.
    public let utf8: RawSpan
    /// The bytes from `<` to `>`.
    public let place: XMLSourceRange

    /// Creates a comment.
    @_lifetime(copy utf8)
    public init(_ utf8: RawSpan, place: XMLSourceRange = .none) {
        self.utf8 = utf8
        self.place = place
    }
}

/// A processing instruction.
public struct XMLProcessingInstruction: ~Escapable, BitwiseCopyable {
    /// The name of the target application.
    public let target: RawSpan
    /// The text between the white space after the target and `?>`, with line ends as LF. It may be empty.
    public let data: RawSpan
    /// The bytes from `<` to `>`.
    public let place: XMLSourceRange

    /// Creates a processing instruction.
    @_lifetime(copy target, copy data)
    public init(target: RawSpan, data: RawSpan, place: XMLSourceRange = .none) {
        self.target = target
        self.data = data
        self.place = place
    }
}

/// A reference to an entity whose text is unknown to the reader.
public struct XMLSkippedEntity: ~Escapable, BitwiseCopyable {
    /// The name between `&` and `;`.
    public let name: RawSpan
    /// The bytes from `&` to `;`.
    public let place: XMLSourceRange

    /// Creates a reference.
    @_lifetime(copy name)
    public init(name: RawSpan, place: XMLSourceRange = .none) {
        self.name = name
        self.place = place
    }
}

/// The XML declaration, `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`.
public struct XMLDeclaration: ~Escapable, BitwiseCopyable {
    /// The version, such as `1.0`.
    public let version: RawSpan
    /// The encoding as declared in the document, or empty if the document declares no encoding.
    public let encoding: RawSpan
    /// The value of `standalone`, or nil if the declaration doesn't have it.
    public let isStandalone: Bool?
    /// The bytes from `<` to `>`.
    public let place: XMLSourceRange

    /// Creates a declaration.
    @_lifetime(copy version, copy encoding)
    public init(version: RawSpan, encoding: RawSpan, isStandalone: Bool?, place: XMLSourceRange = .none) {
        self.version = version
        self.encoding = encoding
        self.isStandalone = isStandalone
        self.place = place
    }
}

/// The document type declaration.
public struct XMLDocumentType: ~Escapable, BitwiseCopyable {
    /// The name of the root element, as declared.
    public let name: RawSpan
    /// A Boolean value that indicates whether the declaration has an external identifier. Its texts may be empty.
    public let hasExternalID: Bool
    /// A Boolean value that indicates whether the declaration has a public identifier. Its text may be empty.
    public let hasPublicID: Bool
    /// The public identifier, with white space normalized, or empty if the declaration has no public identifier.
    public let publicID: RawSpan
    /// The system identifier, or empty if the declaration has no system identifier.
    public let systemID: RawSpan
    /// A Boolean value that indicates whether the declaration has an internal subset in brackets.
    public let hasInternalSubset: Bool
    /// The bytes between the brackets, or empty if the declaration has no brackets.
    public let internalSubset: RawSpan
    /// The bytes from `<` to `>`.
    public let place: XMLSourceRange

    /// Creates a document type. A document type with a public identifier also has a system identifier.
    ///
    /// If `hasPublicID` is nil, a public identifier counts if it isn't empty.
    @_lifetime(copy name, copy publicID, copy systemID, copy internalSubset)
    public init(
        name: RawSpan, hasExternalID: Bool, hasPublicID: Bool? = nil, publicID: RawSpan, systemID: RawSpan,
        hasInternalSubset: Bool, internalSubset: RawSpan, place: XMLSourceRange = .none
    ) {
        self.name = name
        self.hasExternalID = hasExternalID
        self.hasPublicID = hasPublicID ?? (publicID.byteCount > 0)
        self.publicID = publicID
        self.systemID = systemID
        self.hasInternalSubset = hasInternalSubset
        self.internalSubset = internalSubset
        self.place = place
    }
}
