// The options that an XML reader is created with.

public import PlistStreaming

/// Options for reading XML.
public struct XMLReaderOptions: Sendable {
    /// The ways to treat a document type declaration.
    public enum DocumentTypes: Sendable, Hashable {
        /// The internal subset is read. External subsets are never read.
        case read
        /// A document type declaration is an error.
        case reject
    }

    /// The ways to treat a reference to an entity that isn't in the document.
    public enum ExternalEntities: Sendable, Hashable {
        /// The sink receives ``XMLSink/skippedEntity(_:)``. In the value of an attribute, ``XMLAttribute/hasSkippedEntity``
        /// is set instead.
        case skip
        /// Such a reference is an error.
        case reject
    }

    /// The encoding of the documents, which overrides their byte order marks and declarations. Nil to use the encoding that
    /// each document has or declares.
    public var encoding: XMLEncoding?
    /// The limits of the input: the depth of elements, the number of bytes of each tag, comment, instruction or document
    /// type, and the total number of bytes.
    ///
    /// The text that entities and defaults add to a tag has the same limit as the tag itself.
    public var limits: StreamLimits
    /// A Boolean value that indicates whether names have prefixes that must be declared (Namespaces in XML 1.0).
    public var knowsNamespaces: Bool
    /// The treatment of document type declarations.
    public var documentTypes: DocumentTypes
    /// The treatment of references to entities that aren't in the document.
    public var externalEntities: ExternalEntities
    /// The maximum number of attributes in a tag, including defaults.
    public var attributeLimit: Int
    /// The maximum length of a name in bytes, including its prefix.
    public var nameByteLimit: Int
    /// The maximum number of declared entities.
    public var entityLimit: Int
    /// The maximum number of attributes that a document type declares, for all elements together.
    public var declaredAttributeLimit: Int
    /// The maximum depth of entity references within entities, up to 64.
    public var entityDepthLimit: Int
    /// The number of bytes that entities may expand to in total, regardless of the size of the document.
    public var expansionByteLimit: Int
    /// The number of additional bytes of entities that are allowed for each byte of the document before the reference.
    public var expansionFactorLimit: Int
    /// A Boolean value that indicates whether bytes are scanned without masks. Tests compare this way with the fast way.
    package var usesPlainScan: Bool = false

    /// Creates options.
    ///
    /// - Parameters:
    ///   - encoding: The encoding, which overrides declarations, or nil to use the declared encoding.
    ///   - limits: The limits of the input. By default, 1,024 levels of elements and 64 MiB for each tag or comment.
    ///   - knowsNamespaces: A Boolean value that indicates whether prefixes must be declared.
    ///   - documentTypes: Whether document type declarations are read or rejected.
    ///   - externalEntities: Whether references to external entities are skipped or rejected.
    ///   - attributeLimit: The maximum number of attributes in a tag.
    ///   - nameByteLimit: The maximum length of a name in bytes.
    ///   - entityLimit: The maximum number of declared entities.
    ///   - declaredAttributeLimit: The maximum number of declared attributes.
    ///   - entityDepthLimit: The maximum depth of entity references.
    ///   - expansionByteLimit: The number of bytes that entities may always expand to.
    ///   - expansionFactorLimit: The number of additional bytes of entities for each byte of the document.
    public init(
        encoding: XMLEncoding? = nil,
        limits: StreamLimits = .standard,
        knowsNamespaces: Bool = true,
        documentTypes: DocumentTypes = .read,
        externalEntities: ExternalEntities = .skip,
        attributeLimit: Int = 10_000,
        nameByteLimit: Int = 4096,
        entityLimit: Int = 10_000,
        declaredAttributeLimit: Int = 10_000,
        entityDepthLimit: Int = 16,
        expansionByteLimit: Int = 1 << 20,
        expansionFactorLimit: Int = 20
    ) {
        self.encoding = encoding
        self.limits = limits
        self.knowsNamespaces = knowsNamespaces
        self.documentTypes = documentTypes
        self.externalEntities = externalEntities
        self.attributeLimit = attributeLimit
        self.nameByteLimit = nameByteLimit
        self.entityLimit = entityLimit
        self.declaredAttributeLimit = declaredAttributeLimit
        self.entityDepthLimit = entityDepthLimit
        self.expansionByteLimit = expansionByteLimit
        self.expansionFactorLimit = expansionFactorLimit
    }

    /// The maximum number of bytes of a tag, a comment, an instruction or a document type.
    var markupByteCountMax: Int { min(limits.stringByteCount, 1 << 30) }
}
