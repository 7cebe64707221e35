// What an XML reader can be told, once, when it is made.

public import PlistStreaming

/// The options of an XML reader.
public struct XMLReaderOptions: Sendable {
    /// What is done about a document type declaration.
    public enum DocumentTypes: Sendable, Hashable {
        /// Its internal subset is read; nothing external ever is.
        case read
        /// It is an error.
        case refuse
    }

    /// What is done about a reference to an entity that is not in the document.
    public enum ExternalEntities: Sendable, Hashable {
        /// The sink is told by ``XMLSink/skippedEntity(_:)``; in the value of an attribute, by
        /// ``XMLAttribute/hasSkippedEntity``.
        case skip
        /// It is an error.
        case refuse
    }

    /// The bounds of the input: depth of elements, bytes of each tag, comment, instruction or document type, and of all.
    ///
    /// What entities and defaults add to a tag has the same bound as the tag itself.
    public var limits: StreamLimits
    /// Whether names have prefixes that must be declared (Namespaces in XML 1.0).
    public var knowsNamespaces: Bool
    /// What is done about a document type declaration.
    public var documentTypes: DocumentTypes
    /// What is done about a reference to an entity that is not in the document.
    public var externalEntities: ExternalEntities
    /// The most attributes of a tag, defaults included.
    public var attributeCountMax: Int
    /// The longest name in bytes, with its prefix.
    public var nameByteCountMax: Int
    /// The most declared entities.
    public var entityCountMax: Int
    /// The most attributes that a document type declares, of all elements.
    public var declaredAttributeCountMax: Int
    /// The deepest references to entities within entities; at most 64.
    public var entityDepthMax: Int
    /// The bytes that entities may become in sum, whatever the size of the document.
    public var expansionByteCount: Int
    /// How many bytes of entities there may be beyond that for a byte of the document before the reference.
    public var expansionFactor: Int
    /// Whether nothing is looked up in masks, which tests compare with the fast way.
    package var usesPlainScan: Bool = false

    /// Creates options.
    ///
    /// - Parameters:
    ///   - limits: 1,024 elements deep and 64 MiB a tag or comment unless given.
    ///   - knowsNamespaces: Whether prefixes must be declared.
    ///   - documentTypes: Whether they are read or refused.
    ///   - externalEntities: Whether references to them are skipped or refused.
    ///   - attributeCountMax: 10,000 unless given.
    ///   - nameByteCountMax: 4,096 unless given.
    ///   - entityCountMax: 10,000 unless given.
    ///   - declaredAttributeCountMax: 10,000 unless given.
    ///   - entityDepthMax: 16 unless given.
    ///   - expansionByteCount: 1 MiB unless given.
    ///   - expansionFactor: 20 unless given.
    public init(
        limits: StreamLimits = .standard,
        knowsNamespaces: Bool = true,
        documentTypes: DocumentTypes = .read,
        externalEntities: ExternalEntities = .skip,
        attributeCountMax: Int = 10_000,
        nameByteCountMax: Int = 4096,
        entityCountMax: Int = 10_000,
        declaredAttributeCountMax: Int = 10_000,
        entityDepthMax: Int = 16,
        expansionByteCount: Int = 1 << 20,
        expansionFactor: Int = 20
    ) {
        self.limits = limits
        self.knowsNamespaces = knowsNamespaces
        self.documentTypes = documentTypes
        self.externalEntities = externalEntities
        self.attributeCountMax = attributeCountMax
        self.nameByteCountMax = nameByteCountMax
        self.entityCountMax = entityCountMax
        self.declaredAttributeCountMax = declaredAttributeCountMax
        self.entityDepthMax = entityDepthMax
        self.expansionByteCount = expansionByteCount
        self.expansionFactor = expansionFactor
    }

    /// The most bytes of a tag, a comment, an instruction or a document type.
    var markupByteCountMax: Int { min(limits.stringByteCount, 1 << 30) }
}
