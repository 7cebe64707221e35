// The parts of a document that are no tags: what each of them lends.

/// Where a part of a document is.
public struct XMLSourceRange: Sendable, Hashable, BitwiseCopyable {
    @usableFromInline var start: Int
    @usableFromInline var end: Int
    /// A Boolean value that indicates whether the part is in the replacement text of an entity.
    public var isInEntity: Bool

    /// The bytes in the UTF-8 form of the document, from 0 and with a byte order mark, if there is one, which counts three.
    ///
    /// They are the bytes of the document itself where that is UTF-8. For what the replacement text of an entity has, they are those of the
    /// reference in the document, for each of its parts the same.
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

    // PERF: made for each part, in code for sinks of other packages; so are text and tags. A range would not be bitwise copyable.
    /// The place of bytes of the document.
    @inlinable @inline(__always)
    init(start: Int, end: Int) {
        self.start = start
        self.end = end
        isInEntity = false
    }

    /// The place of parts that no document has.
    public static let none: XMLSourceRange = XMLSourceRange(byteRange: 0..<0)
}

/// A piece of the text of an element.
public struct XMLText: ~Escapable, BitwiseCopyable {
    /// The bytes as they are meant: references replaced, line ends as LF; whole characters.
    public let utf8: RawSpan
    /// A Boolean value that indicates whether the piece is of a CDATA section.
    public let isCDATA: Bool
    /// The bytes that the piece was made of; the brackets around a CDATA section are not among them.
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
    /// What is between `<!--` and `-->`, line ends as LF.
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
    /// The name of whom it is for.
    public let target: RawSpan
    /// What is between the white space behind the target and `?>`, line ends as LF; empty when there is nothing.
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

/// A reference to an entity whose text the reader does not have.
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
    /// The encoding as the document calls it, empty when it does not.
    public let encoding: RawSpan
    /// A Boolean value that indicates whether the document says that it stands alone, nil when it says nothing.
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
    /// A Boolean value that indicates whether there is an external identifier; its texts may be empty.
    public let hasExternalID: Bool
    /// A Boolean value that indicates whether there is a public identifier; its text may be empty.
    public let hasPublicID: Bool
    /// The public identifier, with white space normalised, empty when there is none.
    public let publicID: RawSpan
    /// The system identifier, empty when there is none.
    public let systemID: RawSpan
    /// A Boolean value that indicates whether there are brackets.
    public let hasInternalSubset: Bool
    /// The bytes between the brackets as they are, empty when there are none.
    public let internalSubset: RawSpan
    /// The bytes from `<` to `>`.
    public let place: XMLSourceRange

    /// Creates a document type; one with a public identifier, which is one that is not empty unless it is said, has a system identifier.
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
