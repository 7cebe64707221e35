// Stores the declarations of an internal subset: entities, and attributes with types and defaults.

import PlistStreaming

/// The declarations of a document. They are added while the document type declaration is parsed, and only read after it.
final class DocumentTypes {
    enum EntityKind {
        /// The entity has replacement text.
        case text
        /// The text of the entity is outside the document.
        case external
        /// The entity isn't text.
        case unparsed
    }

    private final class Entity {
        let kind: EntityKind
        /// A Boolean value that indicates whether the entity is declared in the text of a parameter entity.
        let isFromParameter: Bool
        let text: KeptStack<UInt8>

        init(_ kind: EntityKind, isFromParameter: Bool, _ text: consuming KeptStack<UInt8>) {
            (self.kind, self.isFromParameter) = (kind, isFromParameter)
            self.text = text
        }
    }

    private var entities: [Entity] = []
    /// The indexes of entities by their names. The names of parameter entities begin with `%`.
    private var names: [[UInt8]: Int] = [:]
    private var attributeLists: [[UInt8]: AttributeList] = [:]
    // SPEC: XML 1.0, section 4.1, Entity Declared.
    /// A Boolean value that indicates whether the document type has more than an internal subset without references to
    /// parameter entities. If so, a processor doesn't have to know all entities.
    var mayLackEntities = false
    /// The first reference in the internal subset to an entity that isn't declared before. It is an error unless a later part
    /// can declare the entity.
    var undeclaredReference: (offset: Int, error: StreamError)?
    /// A Boolean value that indicates whether declarations are ignored, because an unread declaration may precede them.
    var ignoresDeclarations = false

    /// The number of declared entities, including parameter entities.
    var entityCount: Int { entities.count }
    /// The number of declared attributes of all elements.
    private(set) var attributeCount = 0
    /// A Boolean value that indicates whether the document type declares attributes.
    var hasAttributes: Bool { attributeCount > 0 }

    /// Declares an entity, unless its name is already declared. The name of a parameter entity begins with `%`.
    func declare(_ name: [UInt8], _ kind: EntityKind, text: consuming KeptStack<UInt8>, isFromParameter: Bool) {
        guard names[name] == nil else { return }
        names[name] = entities.count
        entities.append(Entity(kind, isFromParameter: isFromParameter, text))
    }

    /// Returns the index and the kind of an entity, or nil if it isn't declared. The name of a parameter entity begins with
    /// `%`.
    func entity(_ name: RawSpan) -> (Int, EntityKind)? {
        names[[UInt8](copying: name)].map { ($0, entities[$0].kind) }
    }

    /// Returns whether an entity is declared in the text of a parameter entity.
    func isFromParameter(_ index: Int) -> Bool { entities[index].isFromParameter }

    /// Returns the number of bytes in an entity's replacement text.
    func textCount(_ index: Int) -> Int { entities[index].text.count }

    /// Returns the replacement text of an entity.
    @_lifetime(borrow self)
    func text(_ index: Int) -> RawSpan {
        // SAFETY: the memory of an entity is never changed or moved, and lives as long as self, which the span borrows.
        unsafe _overrideLifetime(entities[index].text.unscopedBytes, borrowing: self)
    }

    /// Returns the declared attributes of an element, or nil if the element has no declared attributes.
    func attributes(of element: RawSpan) -> AttributeList? { attributeLists[[UInt8](copying: element)] }

    /// Declares an attribute, unless its name is already declared.
    func declare(_ attribute: AttributeList.Attribute, of element: [UInt8]) {
        let list = attributeLists[element] ?? AttributeList()
        attributeLists[element] = list
        if list.append(attribute) { attributeCount += 1 }
    }
}

/// The declared attributes of an element, with marks for the attributes of the current tag.
final class AttributeList {
    struct Attribute {
        var name: [UInt8]
        /// A Boolean value that indicates whether white space around words is ignored and between words collapsed.
        var isTokenized: Bool
        /// The normalized default, or nil if the attribute has no default.
        var defaultValue: [UInt8]?
        /// A Boolean value that indicates whether the text of an entity is missing from the default.
        var hasSkippedEntity = false
    }

    private var attributes: [Attribute] = []
    private var indexes: [[UInt8]: Int] = [:]
    /// The indexes of the attributes with a default.
    private(set) var defaulted: [Int] = []
    private var marks: [UInt64] = []
    private var round: UInt64 = 0

    subscript(index: Int) -> Attribute { attributes[index] }

    /// Returns the index of an attribute, or nil if it isn't declared.
    func index(of name: RawSpan) -> Int? { indexes[[UInt8](copying: name)] }

    /// Clears the marks of the last tag.
    func beginTag() { round += 1 }

    /// Marks an attribute as present in the tag.
    func mark(_ index: Int) { marks[index] = round }

    /// Returns whether an attribute is present in the tag.
    func isMarked(_ index: Int) -> Bool { marks[index] == round }

    /// Adds an attribute. Returns false if its name is already declared.
    fileprivate func append(_ attribute: Attribute) -> Bool {
        guard indexes[attribute.name] == nil else { return false }
        if attribute.defaultValue != nil { defaulted.append(attributes.count) }
        indexes[attribute.name] = attributes.count
        attributes.append(attribute)
        marks.append(0)
        return true
    }
}

/// The ranges of the parts in a document type declaration's text. The public identifier is a range in the copies.
struct DocumentTypeParts {
    var name = 0..<0
    var hasExternalID = false
    var hasPublicID = false
    var publicID = 0..<0
    var systemID = 0..<0
    var internalSubset: Range<Int>?
}
