// Elements and attributes as property-list messages: the elements around the records, which are open for as long as the document
// is, and what is sent of them as it comes. What is within a record is held until it is complete; see XMLRecordAdapter+Sending.

public import PlistStreaming

/// An XML sink that sends a document to a sink of property-list messages, such as a builder of objects.
///
/// An element is a dictionary of its attributes and its children by their names, or a string when it has none. Children with the same
/// name become an array. What a sink of this package expects decides first: of a type's members it is known which are arrays, numbers,
/// Booleans, and which are not wanted.
///
/// ```swift
/// struct Person: StreamObject { var id = 0, name = "", phone: [String] = [] }
/// var people = XMLRecordAdapter(try ObjectBuilder<[Person]>())
/// try people.readXML("<people><person id='1'><name>Ada</name><phone>1</phone><phone>2</phone></person></people>")
/// ```
///
/// Where the sink expects an array as the document, the children of the root are its elements. Records, the elements of arrays, are
/// held one at a time, and their children may come in any order.
///
/// So may the children of the root. Builders of types add to the array of a name that comes again. For other sinks, the children with
/// the name of the first one are sent as they come, and others are held until the root ends. If they have more than
/// ``XMLObjectOptions/maxBufferedBytes``, they are sent before, and a name that comes again after that is an error.
///
/// Nothing is lost in silence but what has no place in the messages:
///
/// - the name of the root, unless ``XMLObjectOptions/Root/member`` makes it a key, declarations of namespaces,
///   comments, processing instructions, and the document type;
/// - white space between tags, where it is all the text that an element with children has before or between or behind them, and where
///   it is all that is in an element without attributes of which a dictionary is expected;
/// - of an element whose children are the elements of an array, because the sink expects one or by ``XMLObjectOptions/wrappedArrays``,
///   the attributes, and the names of the children;
/// - of an element without children of which a string, a number or a Boolean is expected, the attributes;
/// - for builders, what their options ignore: it is skipped, and clashes with nothing; but an object of which no child, attribute or text is
///   a member is an error, unless it may be an empty list with attributes, and so is a name that differs only in case from a member that
///   does not come;
/// - the order of children with the same name and of text among other children: the pieces of text are joined, as one member.
///
/// What else cannot be kept is an error: text among the elements of an array, a child and an attribute of the same key, a repeated
/// element where one is expected, the content of an element that has none by `xsi:nil="true"`. That attribute makes null of an
/// element; where the element has other attributes that would be members, it is an error as well.
public struct XMLRecordAdapter<Sink: PlistSink & ~Copyable>: XMLSink, ~Copyable {
    /// The receiver of the messages.
    public var sink: Sink
    let options: XMLObjectOptions
    /// A Boolean value that indicates whether names are spelled in keys with their prefixes, and those of attributes with what
    /// is before them.
    private let isQualified: Bool
    private let hasAttributePrefix: Bool
    var names: NameTable
    /// What options say of names, by their numbers: 1 for elements of arrays, 2 for arrays.
    var marks: [UInt8] = []
    /// The number of the key of text.
    let textName: Int32
    var held: HeldElements
    private var levels: [OpenLevel] = []
    /// A Boolean value that indicates whether the content of an element that nobody wants is skipped.
    private var isSkipping = false
    /// The number of texts around records that come behind children that followed them.
    private var movedTextCount = 0
    /// The number of children and texts so far whose place among their siblings the messages do not have.
    package var movedCount: Int {
        // PERF: convert; else all of this is copied for it.
        mutating get { held.movedCount + movedTextCount }
    }
    /// The name under construction.
    private var key: [UInt8] = []
    /// What is left to be sent of what is held.
    var steps: [SendingStep] = []

    /// Creates a sink before another one.
    public init(_ sink: consuming Sink, options: XMLObjectOptions = XMLObjectOptions()) {
        self.sink = sink
        self.options = options
        held = HeldElements(attributePrefixCount: options.attributePrefix.utf8.count)
        (isQualified, hasAttributePrefix) = (options.names == .qualified, !options.attributePrefix.isEmpty)
        var names = NameTable()
        var marked: [(String, UInt8)] = options.wrappedArrays.map { ($0, 2) }
        if case .named(let arrays) = options.arrays { marked += arrays.map { ($0, 1) } }
        textName = options.textKey.withUTF8Span { names.number(of: $0) }
        for (name, mark) in marked {
            let number = Int(name.withUTF8Span { names.number(of: $0) })
            while marks.count <= number { marks.append(0) }
            marks[number] |= mark
        }
        self.names = names
    }

    /// What options say of a name.
    func mark(_ name: Int32) -> UInt8 { Int(name) < marks.count ? marks[Int(name)] : 0 }

    // MARK: Names

    /// The number of the key that a name becomes.
    private mutating func keyNumber(_ name: borrowing XMLName, isAttribute: Bool) -> Int32 {
        if !isAttribute || !hasAttributePrefix {
            return names.number(of: isQualified ? name.qualified : name.local)
        }
        key.removeAll(keepingCapacity: true)
        key.append(contentsOf: options.attributePrefix.utf8)
        // SAFETY: the bytes are copied within the closure.
        unsafe (isQualified ? name.qualified : name.local).withUnsafeBytes { unsafe key.append(contentsOf: $0) }
        return unsafe key.withUnsafeBytes { unsafe names.number(of: $0.bytes) }
    }

    /// The number of the namespace of a name, -1 for none.
    private mutating func namespaceNumber(_ name: borrowing XMLName) -> Int32 {
        name.namespace.byteCount == 0 ? -1 : names.number(of: name.namespace)
    }

    /// The number of a name with its prefix.
    private mutating func spelledNumber(_ name: borrowing XMLName, isAttribute: Bool) -> Int32 {
        key = isAttribute ? Array(options.attributePrefix.utf8) : []
        // SAFETY: the bytes are copied within the closure.
        unsafe name.qualified.withUnsafeBytes { unsafe key.append(contentsOf: $0) }
        return unsafe key.withUnsafeBytes { unsafe names.number(of: $0.bytes) }
    }

    /// One more than the number of a prefix that is not in the key, 0 for none.
    @inline(__always)  // PERF: XML/objects; once an element and attribute, few of which have a prefix.
    private mutating func prefixNumber(_ name: borrowing XMLName) -> UInt16 {
        !isQualified && name.prefixCount > 0 ? numberOfPrefix(name) : 0
    }

    @inline(never)
    private mutating func numberOfPrefix(_ name: borrowing XMLName) -> UInt16 {
        let number = names.number(of: name.prefix)
        return number < Int32(UInt16.max) ? UInt16(number + 1) : 0
    }

    /// The number of the key of a child, with its prefix if what came before has the name in another namespace.
    @inline(never)
    private mutating func childNumber(_ name: borrowing XMLName) -> Int32 {
        let number = keyNumber(name, isAttribute: false)
        guard !isQualified, name.prefixCount > 0, let earlier = levels[levels.count - 1].seen[number],
            earlier.namespace != namespaceNumber(name)
        else { return number }
        return spelledNumber(name, isAttribute: false)
    }

    /// The number of the key of an attribute, with its prefix if another one has the name without one.
    private mutating func attributeNumber(_ index: Int, of attributes: borrowing XMLAttributes) -> Int32 {
        let name = attributes[index].name
        if !isQualified, name.prefixCount > 0 {
            for other in 0..<attributes.count
            where attributes[other].name.prefixCount == 0 && attributes[other].name.local.hasSameBytes(as: name.local) {
                return spelledNumber(name, isAttribute: true)
            }
        }
        return keyNumber(name, isAttribute: true)
    }

    // MARK: Messages of the reader

    /// Sends what the element begins, or begins to hold it.
    public mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        guard held.isOpen else { return try startOutsideRecord(tag) }
        try hold(tag)
        return .content
    }

    // PERF: XML/objects; apart, so that what is done for each element of a record is part of the reader's loop.
    @inline(never)
    private mutating func startOutsideRecord(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        guard let last = levels.indices.last else { return try beginRoot(tag) }
        levels[last].hasElements = true
        if try endTextRun() { movedTextCount += 1 }
        if levels[last].kind == .array {
            levels[last].runCount += 1
            try hold(tag)
            return .content
        }
        try decideForDictionary()
        let name = childNumber(tag.name)
        if isAroundAnyRecords {
            if mark(name) & 2 == 0 { return try startRecord(tag, name) }
            try sendHeldRecords()
        }
        let isUnwanted = levels[last].unwanted.contains(name)
        if levels[last].runName == name, !isUnwanted { return try continueRun(tag) }
        try endRun()
        if isUnwanted {
            isSkipping = true
            return .skipChildren
        }
        let isContinued = try beginRun(name, namespaceNumber(tag.name))
        return try beginChild(tag, name, isContinued: isContinued)
    }

    private mutating func beginRoot(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        sink.watchNames(.all)
        if options.root == .member {
            levels.append(OpenLevel(kind: .undecided, expected: sink.expectedValue()))
            try decideForDictionary()
            let name = keyNumber(tag.name, isAttribute: false)
            _ = try beginRun(name, namespaceNumber(tag.name))
            return try beginChild(tag, name, isContinued: false)
        }
        let expected = sink.expectedValue()
        switch expected.kind {
        case .array where !isNil(tag):
            try beginArrayOfChildren(tag, expected)
        case .dictionary where !isNil(tag), .any where !isNil(tag):
            try openLevel(tag, expected)
        default:
            try hold(tag)
        }
        return .content
    }

    /// Sends the key of children that follow each other, or of an attribute.
    ///
    /// - Returns: Whether children of the name came before others.
    private mutating func beginRun(
        _ name: Int32, _ namespace: Int32, isAttribute: Bool = false
    ) throws(StreamError) -> Bool {
        let last = levels.count - 1
        let earlier = levels[last].seen[name]
        levels[last].seen[name] = OpenLevel.SentName(namespace: namespace, isAttribute: isAttribute)
        levels[last].runName = name
        levels[last].runNamespace = namespace
        levels[last].runCount = 1
        if names.byteCount > options.maxBufferedBytes { throw heldTooMuch() }
        if let earlier {
            if earlier.isAttribute != isAttribute { throw attributeClash(name) }
            if options.names == .local, earlier.namespace != namespace { throw namespaceClash(name) }
            // Sinks of types can go on with an array; others get each key once.
            guard levels[last].expected.kind == .dictionary else {
                throw isAroundAnyRecords ? tooFarApart(name) : repeatedElement(name)
            }
        }
        try sendKey(name)
        return earlier != nil
    }

    /// Begins what follows the key of the first child with a name.
    private mutating func beginChild(
        _ tag: borrowing XMLStartTag, _ name: Int32, isContinued: Bool
    ) throws(StreamError) -> XMLInterest {
        let last = levels.count - 1
        let expected = sink.expectedValue()
        let isWrapped = mark(name) & 2 != 0
        var isArray = expected.kind == .array && !isWrapped
        if isContinued {
            guard isArray else { throw repeatedElement(name) }
            sink.watchNames(.continuedArray)
        }
        levels[last].run = .single
        if expected.kind == .any, !isWrapped {
            switch options.arrays {
            case .repeated, .records:
                isArray = options.arrays == .records && levels.count == levelsAroundRecords
                levels[last].run = levels.count < levelsAroundRecords ? .single : .held
            case .named:
                isArray = mark(name) & 1 != 0
            }
        }
        if isArray {
            levels[last].run = .array
            try sink.beginArray()
            try hold(tag)
        } else if expected.kind == .nothing {
            levels[last].unwanted.insert(name)
            try sink.writeNull()
            isSkipping = true
            return .skipChildren
        } else if isNil(tag) {
            try hold(tag)
        } else if isWrapped {
            try beginArrayOfChildren(tag, expected)
        } else if expected.kind == .dictionary || expected.kind == .any && levels[last].run == .single {
            try openLevel(tag, expected)
        } else {
            try hold(tag)
        }
        return .content
    }

    /// Begins another child with the name of the one before.
    private mutating func continueRun(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        let last = levels.count - 1
        levels[last].runCount += 1
        guard namespaceNumber(tag.name) == levels[last].runNamespace || options.names == .qualified else {
            throw namespaceClash(levels[last].runName)
        }
        switch levels[last].run {
        case .array:
            try hold(tag)
        case .held:
            try sink.beginArray()
            levels[last].run = .array
            try sendHeld()
            try hold(tag)
        case .single, .none:
            let name = levels[last].runName
            throw levels[last].seen[name]?.isAttribute == true ? attributeClash(name) : repeatedElement(name)
        }
        return .content
    }

    /// Ends the children with one name.
    private mutating func endRun() throws(StreamError) {
        let last = levels.count - 1
        if levels[last].run == .held { try sendHeld() }
        if levels[last].run == .array { try sink.endArray() }
        levels[last].run = .none
    }

    /// Adds a piece of text to the element it is in.
    public mutating func text(_ text: borrowing XMLText) throws(StreamError) {
        if held.isOpen {
            held.append(text.utf8)
            if held.byteCount > options.maxBufferedBytes { try holdLess() }
        } else if let last = levels.indices.last {
            // SAFETY: the bytes are copied within the closure.
            unsafe text.utf8.withUnsafeBytes { unsafe levels[last].text.append(contentsOf: $0) }
            if levels[last].text.count > options.maxBufferedBytes { throw heldTooMuch() }
        }
    }

    /// Refuses what has no value.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable``.
    public mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError) {
        throw failure(
            .unrepresentable,
            "the text of the entity \(ShownText.quoted(reference.name)) is not known")
    }

    /// Sends what the element ends.
    public mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {
        if isSkipping {
            isSkipping = false
            return
        }
        if held.isOpen {
            // At the tag, which is at one place however the text before it is divided.
            if held.isInNil, held.hasText { throw contentOfNil() }
            if held.end(&names) { try endRecord() }
        } else {
            try endLevel()
        }
    }

    @inline(never)
    private mutating func endRecord() throws(StreamError) {
        let last = levels.count - 1
        if last >= 0, levels[last].isHolding || levels[last].run == .held { return }
        try sendHeld()
    }

    /// Ends the dictionary around the root, if there is one.
    public mutating func endDocument() throws(StreamError) {
        defer { sink.watchNames(.none) }
        guard !levels.isEmpty else { return }
        try endRun()
        levels.removeAll()
        try sink.endDictionary()
    }

    /// Forgets what is held, and passes the notice on.
    public mutating func cancel(with error: StreamError) {
        levels.removeAll()
        held.removeAll()
        isSkipping = false
        sink.watchNames(.none)
        sink.cancel(with: error)
    }

    // MARK: Elements around records

    /// The levels that are open within the root.
    private var levelsAroundRecords: Int { options.root == .member ? 2 : 1 }

    /// Opens an element whose children are sent as they come.
    private mutating func openLevel(_ tag: borrowing XMLStartTag, _ expected: ExpectedValue) throws(StreamError) {
        levels.append(OpenLevel(kind: .undecided, expected: expected))
        let isRoot = levels.count == levelsAroundRecords
        let attributeCount = isRoot && !options.keepsRootAttributes ? 0 : tag.attributes.count
        guard expected.kind == .dictionary || isRoot && options.arrays == .records || attributeCount > 0 else { return }
        try decideForDictionary()
        for index in 0..<attributeCount {
            let attribute = tag.attributes[index]
            let name = attributeNumber(index, of: tag.attributes)
            let last = levels.count - 1
            if levels[last].unwanted.contains(name) { continue }
            if attribute.hasSkippedEntity { throw lack(of: attribute) }
            _ = try beginRun(name, namespaceNumber(attribute.name), isAttribute: true)
            levels[last].run = .single
            let expected = sink.expectedValue()
            if expected.kind == .nothing { levels[last].unwanted.insert(name) }
            try ElementScalar.send(attribute.value, as: expected, to: &sink)
        }
    }

    /// Opens an element whose children are the elements of an array.
    private mutating func beginArrayOfChildren(
        _ tag: borrowing XMLStartTag, _ expected: ExpectedValue
    ) throws(StreamError) {
        try sink.beginArray()
        levels.append(OpenLevel(kind: .array, expected: expected))
    }

    private mutating func decideForDictionary() throws(StreamError) {
        guard levels[levels.count - 1].kind == .undecided else { return }
        levels[levels.count - 1].kind = .dictionary
        try sink.beginDictionary()
    }

    /// Ends a piece of the text of the innermost element, which is dropped when it is white space between tags.
    ///
    /// - Returns: Whether it was not dropped.
    private mutating func endTextRun() throws(StreamError) -> Bool {
        let last = levels.count - 1
        let start = levels[last].runStart
        // Where there are attributes alone, white space is text.
        let isLeaf = !levels[last].hasElements && !levels[last].seen.isEmpty
        guard levels[last].text.count > start, !isLeaf else { return false }
        let isBlank = levels[last].text[start...].allSatisfy { $0 == 0x20 || $0 == 0x0A || $0 == 0x09 || $0 == 0x0D }
        if isBlank {
            levels[last].text.removeLast(levels[last].text.count - start)
        } else if levels[last].kind == .array {
            throw textInArray()
        }
        levels[last].runStart = levels[last].text.count
        return !isBlank
    }

    private mutating func endLevel() throws(StreamError) {
        let last = levels.count - 1
        guard last >= 0 else { throw StreamError(.misuse, "got the end of an element that is not open") }
        if levels[last].kind != .undecided {
            _ = try endTextRun()
            if levels[last].isHolding { try sendHeldRecords() }
            try endRun()
        }
        let level = levels.removeLast()
        switch level.kind {
        case .array:
            try sink.endArray()
        case .undecided:
            try level.text.withRawSpan { (text) throws(StreamError) in
                try ElementScalar.send(text, as: level.expected, to: &sink)
            }
        case .dictionary:
            if !level.text.isEmpty {
                guard level.seen[textName] == nil else { throw textClash() }
                try sendKey(textName)
                let expected = sink.expectedValue()
                try level.text.withRawSpan { (text) throws(StreamError) in
                    try ElementScalar.send(text, as: expected, to: &sink)
                }
            }
            if !level.hasElements && level.text.withRawSpan({ $0.isXMLWhitespace }) { sink.watchNames(.attributesOnly) }
            try sink.endDictionary()
        }
    }

    // MARK: Records of different names

    /// A Boolean value that indicates whether the children of the innermost open element are records for a sink that takes any
    /// values.
    private var isAroundAnyRecords: Bool {
        guard levels.count == levelsAroundRecords, levels[levels.count - 1].expected.kind == .any else { return false }
        if case .named = options.arrays { return false }
        return true
    }

    /// Begins a record. Those of the first name are sent as they come, from the second one on. Others are held until the end, since more
    /// of their names may come behind others.
    @inline(never)
    private mutating func startRecord(_ tag: borrowing XMLStartTag, _ name: Int32) throws(StreamError) -> XMLInterest {
        let last = levels.count - 1
        let isSecond = levels[last].isHolding && held.rootCount == 1 && levels[last].heldName == name
        if isSecond, levels[last].run != .array, held.nodes[0].namespace == namespaceNumber(tag.name) {
            try sendHeldRecords(beforeMoreOf: name)
        }
        let isInRun = levels[last].run == .array && levels[last].runName == name
        if isInRun, !levels[last].isHolding { return try continueRun(tag) }
        levels[last].isHolding = true
        levels[last].heldName = name
        if !isInRun, let earlier = levels[last].seen[name] {
            throw earlier.isAttribute ? attributeClash(name) : tooFarApart(name)
        }
        try hold(tag, as: name)
        return .content
    }

    /// Sends the records that are held, by their names: first those of the array that is open.
    ///
    /// - Parameter next: The name of more records to come. If it is that of the last record, their array stays open.
    @inline(never)
    private mutating func sendHeldRecords(beforeMoreOf next: Int32 = -1) throws(StreamError) {
        let last = levels.count - 1
        levels[last].isHolding = false
        held.linkRoots(&names)
        // SAFETY: while they are sent, nothing is held besides.
        let record = unsafe HeldRecord(unscoped: held)
        let first: Int32 = held.isEmpty ? -1 : 0
        let sent = levels[last].run == .array ? levels[last].runName : -1
        var index = first
        while index >= 0, record[index].name != sent { index = record[index].next }
        if index >= 0 {
            if options.names == .local, record[index].namespace != levels[last].runNamespace {
                throw namespaceClash(sent)
            }
            try checkNames(index, record)
            try send(.elements(index), record)
        }
        try endRun()
        index = first
        while index >= 0 {
            let node = record[index]
            if !node.isRepeat, node.name != sent {
                var later = node.name == next ? node.next : -1
                while later >= 0, record[later].isRepeat || record[later].name == sent { later = record[later].next }
                try sendRecords(index, record, staysOpen: node.name == next && later < 0)
            }
            index = node.next
        }
        if !held.isOpen { held.removeAll() }
    }

    /// Sends the records of one name.
    private mutating func sendRecords(
        _ index: Int32, _ record: borrowing HeldRecord, staysOpen: Bool
    ) throws(StreamError) {
        let (last, node) = (levels.count - 1, record[index])
        _ = try beginRun(node.name, node.namespace)
        try checkNames(index, record)
        guard node.nextSame >= 0 || options.arrays == .records || staysOpen else {
            levels[last].run = .single
            try send(.value(index), record)
            return levels[last].run = .none
        }
        levels[last].run = .array
        try sink.beginArray()
        try send(.elements(index), record)
        if !staysOpen { try endRun() }
    }

    /// Holds less, where more than the limit is held: records that are complete are sent, if those of each name are side by side.
    @inline(never)
    private mutating func holdLess() throws(StreamError) {
        if let last = levels.indices.last, levels[last].isHolding, held.rootCount > 1 {
            let (name, open) = (levels[last].heldName, levels[last].run == .array ? levels[last].runName : -1)
            if let name = held.interleavedName(after: open) { throw tooFarApart(name) }
            try sendHeldRecords(beforeMoreOf: name)
            held.removeCompleteRoots()
            levels[last].isHolding =
                levels[last].run != .array || levels[last].runName != name
                || held.nodes[0].namespace != levels[last].runNamespace
        }
        if held.byteCount + names.byteCount > options.maxBufferedBytes { throw heldTooMuch() }
    }

    // MARK: Holding

    // SPEC: XML Schema Part 1, section 2.6.2; a Boolean may have white space around it.
    /// Returns whether an attribute says that its element has no value.
    private static func isNil(_ attribute: borrowing XMLAttribute) -> Bool {
        let name = attribute.name
        guard name.namespace.byteCount == 41, name.isNamed("nil", in: "http://www.w3.org/2001/XMLSchema-instance")
        else { return false }
        let value = attribute.value.withoutXMLWhitespaceAround
        return value.equals("true") || value.equals("1")
    }

    /// Returns whether a tag says that its element has no value.
    private func isNil(_ tag: borrowing XMLStartTag) -> Bool {
        let attributes = tag.attributes
        for index in 0..<attributes.count where Self.isNil(attributes[index]) { return true }
        return false
    }

    private mutating func hold(_ tag: borrowing XMLStartTag, as number: Int32 = -1) throws(StreamError) {
        if held.isInNil { throw contentOfNil() }
        let name = tag.name
        held.begin(
            number < 0 ? keyNumber(name, isAttribute: false) : number, namespace: namespaceNumber(name),
            prefix: prefixNumber(name))
        let attributes = tag.attributes
        for index in 0..<attributes.count {
            let attribute = attributes[index]
            if Self.isNil(attribute) {
                held.setNil()
            } else {
                if attribute.hasSkippedEntity { throw lack(of: attribute) }
                let name = attribute.name
                held.addAttribute(
                    keyNumber(name, isAttribute: true), namespace: namespaceNumber(name), prefix: prefixNumber(name),
                    value: attribute.value)
            }
        }
        if held.byteCount + names.byteCount > options.maxBufferedBytes { try holdLess() }
    }

    @inline(never)
    private mutating func lack(of attribute: borrowing XMLAttribute) -> StreamError {
        let error = attribute.lack
        return failure(error.kind, error.message)
    }

    private func contentOfNil() -> StreamError {
        failure(.unrepresentable, "an element that has no value has content, which would be lost")
    }

    /// Makes an error with the path to what is sent next.
    func failure(_ kind: StreamError.Kind, _ message: String) -> StreamError {
        var path = StreamPath()
        for level in levels {
            let name = level.isHolding ? level.heldName : level.runName
            if name >= 0, level.kind != .array { path = path.member(names.string(name)) }
            if level.run == .array && !level.isHolding || level.kind == .array, level.runCount > 0 {
                path = path.element(level.runCount - 1)
            }
        }
        return StreamError(kind, message, path: path)
    }
}
