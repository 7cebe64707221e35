// What the internal subset of a document type has declared: entities, and attributes with types and defaults.

import PlistStreaming

/// The declarations of a document. It is filled while the document type declaration is read, and only read behind it.
@safe
final class DocumentTypes {
    enum EntityKind {
        /// It has replacement text.
        case text
        /// Its text is elsewhere.
        case external
        /// It is no text.
        case unparsed
    }

    @safe
    private struct Entity {
        var kind: EntityKind
        /// A Boolean value that indicates whether it is declared in the text of a parameter entity.
        var isFromParameter: Bool
        var memory: UnsafeMutableRawBufferPointer
    }

    private var entities: [Entity] = []
    private var generalNames: [[UInt8]: Int] = [:]
    private var parameterNames: [[UInt8]: Int] = [:]
    private var attributeLists: [[UInt8]: AttributeList] = [:]
    // SPEC: XML 1.0, section 4.1, Entity Declared.
    /// A Boolean value that indicates whether there is more than an internal subset without references to parameter entities,
    /// so that a processor need not know of all entities.
    var mayLackEntities = false
    /// Where the internal subset refers to an entity that is not declared before, as long as there is no more than that.
    var undeclaredReference: (offset: Int, error: StreamError)?
    /// A Boolean value that indicates whether declarations count no more, because one that was not read may have come before.
    var ignoresDeclarations = false

    deinit {
        for entity in entities { unsafe entity.memory.deallocate() }
    }

    /// The declared entities, parameter entities included.
    var entityCount: Int { entities.count }
    /// The declared attributes of all elements.
    private(set) var attributeCount = 0
    /// A Boolean value that indicates whether there are declarations of attributes.
    var hasAttributes: Bool { attributeCount > 0 }

    /// Declares an entity, if it is the first of its name.
    func declare(
        _ name: [UInt8], isParameter: Bool, _ kind: EntityKind, text: [UInt8], isFromParameter: Bool
    ) {
        guard (isParameter ? parameterNames[name] : generalNames[name]) == nil else { return }
        let index = entities.count
        // SAFETY: the memory is filled whole and lives as long as self.
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
        unsafe memory.copyBytes(from: text)
        unsafe entities.append(Entity(kind: kind, isFromParameter: isFromParameter, memory: memory))
        if isParameter { parameterNames[name] = index } else { generalNames[name] = index }
    }

    /// The index and the kind of an entity, nil when it is not declared.
    func generalEntity(_ name: RawSpan) -> (Int, EntityKind)? {
        guard let index = generalNames[[UInt8](copying: name)] else { return nil }
        return (index, entities[index].kind)
    }

    /// Returns whether an entity is declared in the text of a parameter entity.
    func isFromParameter(_ index: Int) -> Bool { entities[index].isFromParameter }

    /// The index and the kind of a parameter entity, nil when it is not declared.
    func parameterEntity(_ name: RawSpan) -> (Int, EntityKind)? {
        guard let index = parameterNames[[UInt8](copying: name)] else { return nil }
        return (index, entities[index].kind)
    }

    /// The bytes of an entity's replacement text.
    func textCount(_ index: Int) -> Int { unsafe entities[index].memory.count }

    /// The replacement text of an entity.
    @_lifetime(borrow self)
    func text(_ index: Int) -> RawSpan {
        // SAFETY: the memory of an entity is never changed or moved, and lives as long as self, which the span borrows.
        let span = unsafe UnsafeRawBufferPointer(entities[index].memory).bytes
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    /// The declared attributes of an element, nil when there are none.
    func attributes(of element: RawSpan) -> AttributeList? { attributeLists[[UInt8](copying: element)] }

    /// Declares an attribute, if it is the first of its name.
    func declare(_ attribute: AttributeList.Attribute, of element: [UInt8]) {
        let list = attributeLists[element] ?? AttributeList()
        attributeLists[element] = list
        if list.append(attribute) { attributeCount += 1 }
    }
}

/// The declared attributes of an element, and which of them a tag has.
final class AttributeList {
    struct Attribute {
        var name: [UInt8]
        /// A Boolean value that indicates whether white space around and between words does not count.
        var isTokenized: Bool
        /// The normalised default, nil when there is none.
        var defaultValue: [UInt8]?
        /// A Boolean value that indicates whether the default lacks the text of an entity.
        var hasSkippedEntity = false
    }

    private var attributes: [Attribute] = []
    private var indexes: [[UInt8]: Int] = [:]
    /// Those that have a default.
    private(set) var defaulted: [Int] = []
    private var marks: [UInt64] = []
    private var round: UInt64 = 0

    subscript(index: Int) -> Attribute { attributes[index] }

    /// The index of an attribute, nil when it is not declared.
    func index(of name: RawSpan) -> Int? { indexes[[UInt8](copying: name)] }

    /// Forgets which attributes the last tag had.
    func beginTag() { round += 1 }

    /// Notes that the tag has an attribute.
    func mark(_ index: Int) { marks[index] = round }

    /// Returns whether the tag has an attribute.
    func isMarked(_ index: Int) -> Bool { marks[index] == round }

    /// Adds an attribute, and says whether it is the first of its name.
    fileprivate func append(_ attribute: Attribute) -> Bool {
        guard indexes[attribute.name] == nil else { return false }
        if attribute.defaultValue != nil { defaulted.append(attributes.count) }
        indexes[attribute.name] = attributes.count
        attributes.append(attribute)
        marks.append(0)
        return true
    }
}

/// Where the parts of a document type declaration are; ranges of its text, but for the public identifier, which is a copy.
struct DocumentTypeParts {
    var name = 0..<0
    var hasExternalID = false
    var hasPublicID = false
    var publicID = 0..<0
    var systemID = 0..<0
    var internalSubset: Range<Int>?
}
