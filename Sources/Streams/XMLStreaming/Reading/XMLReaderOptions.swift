// What an XML reader can be told, once, when it is made.

public import PlistStreaming

/// The options of an XML reader.
public struct XMLReaderOptions: Sendable {
    /// What is done about a document type declaration.
    public enum DocumentTypes: Sendable, Hashable {
        /// Its internal subset is read; nothing external ever is.
        case read
        /// It is an error.
        case reject
    }

    /// What is done about a reference to an entity that is not in the document.
    public enum ExternalEntities: Sendable, Hashable {
        /// The sink is told by ``XMLSink/skippedEntity(_:)``; in the value of an attribute, by
        /// ``XMLAttribute/hasSkippedEntity``.
        case skip
        /// It is an error.
        case reject
    }

    /// The encoding of documents whose bytes or declarations say something else, or nothing; nil for what they say.
    public var encoding: XMLEncoding?
    /// The bounds of the input: depth of elements, bytes of each tag, comment, instruction or document type, and of all.
    ///
    /// What entities and defaults add to a tag has the same bound as the tag itself.
    public var limits: StreamLimits
    /// A Boolean value that indicates whether names have prefixes that must be declared (Namespaces in XML 1.0).
    public var knowsNamespaces: Bool
    /// What is done about a document type declaration.
    public var documentTypes: DocumentTypes
    /// What is done about a reference to an entity that is not in the document.
    public var externalEntities: ExternalEntities
    /// The most attributes of a tag, defaults included.
    public var attributeLimit: Int
    /// The longest name in bytes, with its prefix.
    public var nameByteLimit: Int
    /// The most declared entities.
    public var entityLimit: Int
    /// The most attributes that a document type declares, of all elements.
    public var declaredAttributeLimit: Int
    /// The deepest references to entities within entities; at most 64.
    public var entityDepthLimit: Int
    /// The bytes that entities may become in sum, whatever the size of the document.
    public var expansionByteLimit: Int
    /// How many bytes of entities there may be beyond that for a byte of the document before the reference.
    public var expansionFactorLimit: Int
    /// A Boolean value that indicates whether nothing is looked up in masks, which tests compare with the fast way.
    package var usesPlainScan: Bool = false

    /// Creates options.
    ///
    /// - Parameters:
    ///   - encoding: The encoding, whatever documents declare; nil for what they declare.
    ///   - limits: 1,024 elements deep and 64 MiB a tag or comment unless given.
    ///   - knowsNamespaces: Whether prefixes must be declared.
    ///   - documentTypes: Whether they are read or refused.
    ///   - externalEntities: Whether references to them are skipped or refused.
    ///   - attributeLimit: 10,000 unless given.
    ///   - nameByteLimit: 4,096 unless given.
    ///   - entityLimit: 10,000 unless given.
    ///   - declaredAttributeLimit: 10,000 unless given.
    ///   - entityDepthLimit: 16 unless given.
    ///   - expansionByteLimit: 1 MiB unless given.
    ///   - expansionFactorLimit: 20 unless given.
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

    /// The most bytes of a tag, a comment, an instruction or a document type.
    var markupByteCountMax: Int { min(limits.stringByteCount, 1 << 30) }
}
