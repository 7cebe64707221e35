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
        var memory: UnsafeMutableRawBufferPointer
    }

    private var entities: [Entity] = []
    private var generalNames: [[UInt8]: Int] = [:]
    private var parameterNames: [[UInt8]: Int] = [:]
    private var attributeLists: [[UInt8]: AttributeList] = [:]
    /// Whether declarations may be in a part that was not read: the external subset, or a parameter entity.
    var hasUnreadParts = false
    /// Whether declarations count no more, because one that was not read may have come before.
    var ignoresDeclarations = false

    deinit {
        for entity in entities { unsafe entity.memory.deallocate() }
    }

    /// The declared entities, parameter entities included.
    var entityCount: Int { entities.count }
    /// Whether there are declarations of attributes.
    var hasAttributes: Bool { !attributeLists.isEmpty }

    /// Declares an entity, if it is the first of its name.
    func declare(_ name: [UInt8], isParameter: Bool, _ kind: EntityKind, text: [UInt8]) {
        guard (isParameter ? parameterNames[name] : generalNames[name]) == nil else { return }
        let index = entities.count
        // SAFETY: the memory is filled whole and lives as long as self.
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
        unsafe memory.copyBytes(from: text)
        unsafe entities.append(Entity(kind: kind, memory: memory))
        if isParameter { parameterNames[name] = index } else { generalNames[name] = index }
    }

    /// The index and the kind of an entity, nil when it is not declared.
    func generalEntity(_ name: RawSpan) -> (Int, EntityKind)? {
        guard let index = generalNames[[UInt8](copying: name)] else { return nil }
        return (index, entities[index].kind)
    }

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
        list.append(attribute)
    }
}

/// The declared attributes of an element, and which of them a tag has.
final class AttributeList {
    struct Attribute {
        var name: [UInt8]
        /// Whether white space around and between words does not count.
        var isTokenized: Bool
        /// The normalised default, nil when there is none.
        var defaultValue: [UInt8]?
    }

    private var attributes: [Attribute] = []
    private var indexes: [[UInt8]: Int] = [:]
    private var marks: [UInt64] = []
    private var round: UInt64 = 0

    /// The number of attributes.
    var count: Int { attributes.count }

    subscript(index: Int) -> Attribute { attributes[index] }

    /// The index of an attribute, nil when it is not declared.
    func index(of name: RawSpan) -> Int? { indexes[[UInt8](copying: name)] }

    /// Forgets which attributes the last tag had.
    func beginTag() { round += 1 }

    /// Notes that the tag has an attribute.
    func mark(_ index: Int) { marks[index] = round }

    /// Whether the tag has an attribute.
    func isMarked(_ index: Int) -> Bool { marks[index] == round }

    fileprivate func append(_ attribute: Attribute) {
        guard indexes[attribute.name] == nil else { return }
        indexes[attribute.name] = attributes.count
        attributes.append(attribute)
        marks.append(0)
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
