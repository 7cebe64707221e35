// Turns elements and attributes into property-list messages. This file sends the elements around records as they are read.
// The elements within a record are buffered until the record is complete; see XMLRecordAdapter+Sending.

public import PlistStreaming

/// An XML sink that sends a document to a sink of property-list messages, such as an object builder.
///
/// An element becomes a dictionary of its attributes and children by name, or a string if it has none. Children with the same
/// name become an array. The values that the receiving sink expects take precedence. A builder of a type, for example, knows
/// the members that are arrays, numbers or Booleans, and the members to ignore.
///
/// ```swift
/// struct Person: StreamObject { var id = 0, name = "", phone: [String] = [] }
/// var people = XMLRecordAdapter(try ObjectBuilder<[Person]>())
/// try people.readXML("<people><person id='1'><name>Ada</name><phone>1</phone><phone>2</phone></person></people>")
/// ```
///
/// If the sink expects an array as the document, the children of the root become its elements. Records, which are the
/// elements of arrays, are buffered one at a time, and their children may come in any order.
///
/// The children of the root may come in any order too. If a name comes again, builders of types add to its array. For other
/// sinks, the children with the same name as the first one are sent as they come, and other children are buffered until the
/// root ends. If the buffered children exceed ``XMLObjectOptions/maxBufferedBytes``, they are sent earlier, and a name that
/// comes again after that is an error.
///
/// Only content that property-list messages can't express is dropped without an error:
///
/// - the name of the root, unless ``XMLObjectOptions/Root/member`` makes it a key
/// - namespace declarations, comments, processing instructions, and the document type
/// - white space between tags, if an element with children has no other text at this place, or if it is the only content of
///   an element without attributes and the sink expects a dictionary
/// - the attributes of an element and the names of its children, if the children are the elements of an array because the
///   sink expects one or because of ``XMLObjectOptions/wrappedArrays``
/// - the attributes of an element without children, if the sink expects a string, a number or a Boolean
/// - for builders, the content that their options ignore. It is skipped, and its names can't clash with others. Two cases are
///   errors: an object without any child, attribute or text that is a member, unless it may be an empty list with attributes;
///   and a name that differs only in case from a member that is missing
/// - the order of children with the same name, and of text among other children. The pieces of text are joined to a single
///   member
///
/// Other content that can't be kept is an error: text among the elements of an array, a child and an attribute with the same
/// key, a repeated element if the sink expects only one, and the content of an element with `xsi:nil="true"`. This attribute
/// makes an element null. It is an error if the element also has attributes that would be members.
public struct XMLRecordAdapter<Sink: PlistSink & ~Copyable>: XMLSink, ~Copyable {
    /// The receiver of the messages.
    public var sink: Sink
    let options: XMLObjectOptions
    /// A Boolean value that indicates whether keys keep the prefixes of names, and keys of attributes also have their prefix
    /// from the options.
    private let isQualified: Bool
    private let hasAttributePrefix: Bool
    var names: NameTable
    /// The options for names, by the numbers of the names: 1 for elements of arrays, 2 for arrays.
    var marks: [UInt8] = []
    /// The number of the key for text.
    let textName: Int32
    var buffered: BufferedElements
    private var levels: [OpenLevel] = []
    /// A Boolean value that indicates whether the content of an ignored element is skipped.
    private var isSkipping = false
    /// The number of texts around records that are sent after children that followed them.
    private var movedTextCount = 0
    /// The number of children and texts so far that were moved among their siblings, because messages can't express their
    /// position.
    package var movedCount: Int {
        // PERF: convert; a plain getter would copy the whole adapter.
        mutating get { buffered.movedCount + movedTextCount }
    }
    /// The key that is being assembled.
    private var key: [UInt8] = []
    /// The steps that remain to send the buffered elements.
    var steps: [SendingStep] = []

    /// Creates a sink that forwards to another sink.
    public init(_ sink: consuming Sink, options: XMLObjectOptions = XMLObjectOptions()) {
        self.sink = sink
        self.options = options
        buffered = BufferedElements(attributePrefixCount: options.attributePrefix.utf8.count)
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

    /// Returns the options for a name.
    func mark(_ name: Int32) -> UInt8 { Int(name) < marks.count ? marks[Int(name)] : 0 }

    // MARK: Names

    /// Returns the number of the key for a name, which includes the prefix if the options or the caller require it.
    private mutating func keyNumber(
        _ name: borrowing XMLName, isAttribute: Bool, isSpelled: Bool = false
    ) -> Int32 {
        let isQualified = isQualified || isSpelled
        if !isAttribute || !hasAttributePrefix {
            return names.number(of: isQualified ? name.qualified : name.local)
        }
        key.removeAll(keepingCapacity: true)
        key.append(contentsOf: options.attributePrefix.utf8)
        // SAFETY: the bytes are copied within the closure.
        unsafe (isQualified ? name.qualified : name.local).withUnsafeBytes { unsafe key.append(contentsOf: $0) }
        return unsafe key.withUnsafeBytes { unsafe names.number(of: $0.bytes) }
    }

    /// Returns the number of a name's namespace, or -1 if the name isn't in a namespace.
    private mutating func namespaceNumber(_ name: borrowing XMLName) -> Int32 {
        name.namespace.byteCount == 0 ? -1 : names.number(of: name.namespace)
    }

    /// Returns one plus the number of the name's prefix if the key leaves it out, otherwise 0.
    @inline(__always)  // PERF: XML/objects; once an element and attribute, few of which have a prefix.
    private mutating func prefixNumber(_ name: borrowing XMLName) -> UInt16 {
        !isQualified && name.prefixCount > 0 ? numberOfPrefix(name) : 0
    }

    @inline(never)
    private mutating func numberOfPrefix(_ name: borrowing XMLName) -> UInt16 {
        let number = names.number(of: name.prefix)
        return number < Int32(UInt16.max) ? UInt16(number + 1) : 0
    }

    /// Returns the number of a child's key, which includes the prefix if the same name came earlier in another namespace.
    @inline(never)
    private mutating func childNumber(_ name: borrowing XMLName) -> Int32 {
        let number = keyNumber(name, isAttribute: false)
        guard !isQualified, name.prefixCount > 0, let earlier = levels[levels.count - 1].seen[number],
            earlier.namespace != namespaceNumber(name)
        else { return number }
        return keyNumber(name, isAttribute: false, isSpelled: true)
    }

    /// Returns the number of an attribute's key, which includes the prefix if another attribute has the same name without a
    /// prefix.
    private mutating func attributeNumber(_ index: Int, of attributes: borrowing XMLAttributes) -> Int32 {
        let name = attributes[index].name
        if !isQualified, name.prefixCount > 0 {
            for other in 0..<attributes.count
            where attributes[other].name.prefixCount == 0 && attributes[other].name.local.hasSameBytes(as: name.local) {
                return keyNumber(name, isAttribute: true, isSpelled: true)
            }
        }
        return keyNumber(name, isAttribute: true)
    }

    // MARK: Messages of the reader

    /// Sends the beginning of the element's value, or starts to buffer the element.
    public mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        guard buffered.isOpen else { return try startOutsideRecord(tag) }
        try buffer(tag)
        return .content
    }

    // PERF: XML/objects; a separate function, so that the code for each element of a record can be inlined into the reader's
    // loop.
    @inline(never)
    private mutating func startOutsideRecord(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        guard let last = levels.indices.last else { return try beginRoot(tag) }
        levels[last].hasElements = true
        if try endTextRun() { movedTextCount += 1 }
        if levels[last].kind == .array {
            levels[last].runCount += 1
            try buffer(tag)
            return .content
        }
        try decideForDictionary()
        let name = childNumber(tag.name)
        if isAroundAnyRecords {
            if mark(name) & 2 == 0 { return try startRecord(tag, name) }
            try sendBufferedRecords()
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
            try buffer(tag)
        }
        return .content
    }

    /// Sends the key of adjacent children with the same name, or of an attribute.
    ///
    /// - Returns: `true` if children with this name also came earlier.
    private mutating func beginRun(
        _ name: Int32, _ namespace: Int32, isAttribute: Bool = false
    ) throws(StreamError) -> Bool {
        let last = levels.count - 1
        let earlier = levels[last].seen[name]
        levels[last].seen[name] = OpenLevel.SentName(namespace: namespace, isAttribute: isAttribute)
        levels[last].runName = name
        levels[last].runNamespace = namespace
        levels[last].runCount = 1
        if names.byteCount > options.maxBufferedBytes { throw bufferedTooMuch() }
        if let earlier {
            if earlier.isAttribute != isAttribute { throw attributeClash(name) }
            if options.names == .local, earlier.namespace != namespace { throw namespaceClash(name) }
            // Sinks of types can continue an array. Other sinks get each key only once.
            guard levels[last].expected.kind == .dictionary else {
                throw isAroundAnyRecords ? tooFarApart(name) : repeatedElement(name)
            }
        }
        try sendKey(name)
        return earlier != nil
    }

    /// Begins the value after the key of the first child with a name.
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
                levels[last].run = levels.count < levelsAroundRecords ? .single : .buffered
            case .named:
                isArray = mark(name) & 1 != 0
            }
        }
        if isArray {
            levels[last].run = .array
            try sink.beginArray()
            try buffer(tag)
        } else if expected.kind == .nothing {
            levels[last].unwanted.insert(name)
            try sink.writeNull()
            isSkipping = true
            return .skipChildren
        } else if isNil(tag) {
            try buffer(tag)
        } else if isWrapped {
            try beginArrayOfChildren(tag, expected)
        } else if expected.kind == .dictionary || expected.kind == .any && levels[last].run == .single {
            try openLevel(tag, expected)
        } else {
            try buffer(tag)
        }
        return .content
    }

    /// Begins another child with the same name as the previous one.
    private mutating func continueRun(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        let last = levels.count - 1
        levels[last].runCount += 1
        guard namespaceNumber(tag.name) == levels[last].runNamespace || options.names == .qualified else {
            throw namespaceClash(levels[last].runName)
        }
        switch levels[last].run {
        case .array:
            try buffer(tag)
        case .buffered:
            try sink.beginArray()
            levels[last].run = .array
            try sendBuffered()
            try buffer(tag)
        case .single:
            let name = levels[last].runName
            throw levels[last].seen[name]?.isAttribute == true ? attributeClash(name) : repeatedElement(name)
        }
        return .content
    }

    /// Ends the group of adjacent children with the same name.
    private mutating func endRun() throws(StreamError) {
        let last = levels.count - 1
        if levels[last].run == .buffered { try sendBuffered() }
        if levels[last].run == .array { try sink.endArray() }
        levels[last].run = .single
    }

    /// Adds a piece of text to the innermost element.
    public mutating func text(_ text: borrowing XMLText) throws(StreamError) {
        if buffered.isOpen {
            buffered.append(text.utf8)
            if buffered.byteCount > options.maxBufferedBytes { try shrinkBuffer() }
        } else if let last = levels.indices.last {
            // SAFETY: the bytes are copied within the closure.
            unsafe text.utf8.withUnsafeBytes { unsafe levels[last].text.append(contentsOf: $0) }
            if levels[last].text.count > options.maxBufferedBytes { throw bufferedTooMuch() }
        }
    }

    /// Throws an error, because the entity has no value.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable``.
    public mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError) {
        throw failure(
            .unrepresentable,
            "the text of the entity \(ShownText.quoted(reference.name)) is unknown")
    }

    /// Sends the end of the element's value.
    public mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {
        if isSkipping {
            isSkipping = false
            return
        }
        if buffered.isOpen {
            // Checked at the end tag, whose position doesn't depend on the division of the text.
            if buffered.isInNil, buffered.hasText { throw contentOfNil() }
            if buffered.end(&names) { try endRecord() }
        } else {
            try endLevel()
        }
    }

    @inline(never)
    private mutating func endRecord() throws(StreamError) {
        let last = levels.count - 1
        if last >= 0, levels[last].isBuffering || levels[last].run == .buffered { return }
        try sendBuffered()
    }

    /// Ends the dictionary around the root, if the options have added it.
    public mutating func endDocument() throws(StreamError) {
        defer { sink.watchNames(.none) }
        guard !levels.isEmpty else { return }
        try endRun()
        levels.removeAll()
        try sink.endDictionary()
    }

    /// Removes the buffered elements and forwards the cancellation.
    public mutating func cancel(with error: StreamError) {
        levels.removeAll()
        buffered.removeAll()
        isSkipping = false
        sink.watchNames(.none)
        sink.cancel(with: error)
    }

    // MARK: Elements around records

    /// The number of open levels within the root.
    private var levelsAroundRecords: Int { options.root == .member ? 2 : 1 }

    /// Opens an element whose children are sent as they are read.
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

    /// Ends a piece of the text of the innermost element. White space between tags is dropped.
    ///
    /// - Returns: `true` if the piece was kept.
    private mutating func endTextRun() throws(StreamError) -> Bool {
        let last = levels.count - 1
        let start = levels[last].runStart
        // In an element with only attributes, white space is text.
        let isLeaf = !levels[last].hasElements && !levels[last].seen.isEmpty
        guard levels[last].text.count > start, !isLeaf else { return false }
        let isBlank = levels[last].text[start...].allSatisfy(NameBytes.isSpace)
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
            if levels[last].isBuffering { try sendBufferedRecords() }
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

    // MARK: Records with different names

    /// A Boolean value that indicates whether the children of the innermost open element are records for a sink that takes
    /// values of any type.
    private var isAroundAnyRecords: Bool {
        guard levels.count == levelsAroundRecords, levels[levels.count - 1].expected.kind == .any else { return false }
        if case .named = options.arrays { return false }
        return true
    }

    /// Begins a record. Records with the first name are sent as they come, starting with the second one. Other records are
    /// buffered until the end, because more records with their names may follow.
    @inline(never)
    private mutating func startRecord(_ tag: borrowing XMLStartTag, _ name: Int32) throws(StreamError) -> XMLInterest {
        let last = levels.count - 1
        let isSecond = levels[last].isBuffering && buffered.rootCount == 1 && levels[last].bufferedName == name
        if isSecond, levels[last].run != .array, buffered.nodes[0].namespace == namespaceNumber(tag.name) {
            try sendBufferedRecords(beforeMoreOf: name)
        }
        let isInRun = levels[last].run == .array && levels[last].runName == name
        if isInRun, !levels[last].isBuffering { return try continueRun(tag) }
        levels[last].isBuffering = true
        levels[last].bufferedName = name
        if !isInRun, let earlier = levels[last].seen[name] {
            throw earlier.isAttribute ? attributeClash(name) : tooFarApart(name)
        }
        try buffer(tag, as: name)
        return .content
    }

    /// Sends the buffered records by name, starting with the names of the open array.
    ///
    /// - Parameter next: The name of the records that follow. If the last record has the same name, its array stays open.
    @inline(never)
    private mutating func sendBufferedRecords(beforeMoreOf next: Int32 = -1) throws(StreamError) {
        let last = levels.count - 1
        levels[last].isBuffering = false
        buffered.linkRoots(&names)
        // SAFETY: nothing else is buffered while they are sent.
        let record = unsafe BufferedRecord(unscoped: buffered)
        let first: Int32 = buffered.isEmpty ? -1 : 0
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
        if !buffered.isOpen { buffered.removeAll() }
    }

    /// Sends the records with a name.
    private mutating func sendRecords(
        _ index: Int32, _ record: borrowing BufferedRecord, staysOpen: Bool
    ) throws(StreamError) {
        let (last, node) = (levels.count - 1, record[index])
        _ = try beginRun(node.name, node.namespace)
        try checkNames(index, record)
        guard node.nextSame >= 0 || options.arrays == .records || staysOpen else {
            levels[last].run = .single
            return try send(.value(index), record)
        }
        levels[last].run = .array
        try sink.beginArray()
        try send(.elements(index), record)
        if !staysOpen { try endRun() }
    }

    /// Reduces the buffered elements if they exceed the limit, by sending complete records. Records with the same name have to
    /// be adjacent.
    @inline(never)
    private mutating func shrinkBuffer() throws(StreamError) {
        if let last = levels.indices.last, levels[last].isBuffering, buffered.rootCount > 1 {
            let (name, open) = (levels[last].bufferedName, levels[last].run == .array ? levels[last].runName : -1)
            if let name = buffered.interleavedName(after: open) { throw tooFarApart(name) }
            try sendBufferedRecords(beforeMoreOf: name)
            buffered.removeCompleteRoots()
            levels[last].isBuffering =
                levels[last].run != .array || levels[last].runName != name
                || buffered.nodes[0].namespace != levels[last].runNamespace
        }
        if buffered.byteCount + names.byteCount > options.maxBufferedBytes { throw bufferedTooMuch() }
    }

    // MARK: Buffering elements

    // SPEC: XML Schema Part 1, section 2.6.2; a Boolean may have white space around it.
    /// Returns whether an attribute marks its element as having no value.
    private static func isNil(_ attribute: borrowing XMLAttribute) -> Bool {
        let name = attribute.name
        guard name.namespace.byteCount == 41, name.isNamed("nil", in: "http://www.w3.org/2001/XMLSchema-instance")
        else { return false }
        let value = attribute.value.withoutXMLWhitespaceAround
        return value.equals("true") || value.equals("1")
    }

    /// Returns whether a tag marks its element as having no value.
    private func isNil(_ tag: borrowing XMLStartTag) -> Bool {
        let attributes = tag.attributes
        for index in 0..<attributes.count where Self.isNil(attributes[index]) { return true }
        return false
    }

    private mutating func buffer(_ tag: borrowing XMLStartTag, as number: Int32 = -1) throws(StreamError) {
        if buffered.isInNil { throw contentOfNil() }
        let name = tag.name
        buffered.begin(
            number < 0 ? keyNumber(name, isAttribute: false) : number, namespace: namespaceNumber(name),
            prefix: prefixNumber(name))
        let attributes = tag.attributes
        for index in 0..<attributes.count {
            let attribute = attributes[index]
            if Self.isNil(attribute) {
                buffered.setNil()
            } else {
                if attribute.hasSkippedEntity { throw lack(of: attribute) }
                let name = attribute.name
                buffered.addAttribute(
                    keyNumber(name, isAttribute: true), namespace: namespaceNumber(name), prefix: prefixNumber(name),
                    value: attribute.value)
            }
        }
        if buffered.byteCount + names.byteCount > options.maxBufferedBytes { try shrinkBuffer() }
    }

    @inline(never)
    private mutating func lack(of attribute: borrowing XMLAttribute) -> StreamError {
        let error = attribute.lack
        return failure(error.kind, error.message)
    }

    private func contentOfNil() -> StreamError {
        failure(.unrepresentable, "an element without a value (xsi:nil) has content, which would be lost")
    }

    /// Makes an error with the path to the value that is sent next.
    func failure(_ kind: StreamError.Kind, _ message: String) -> StreamError {
        var path = StreamPath()
        for level in levels {
            let name = level.isBuffering ? level.bufferedName : level.runName
            if name >= 0, level.kind != .array { path = path.member(names.string(name)) }
            if level.run == .array && !level.isBuffering || level.kind == .array, level.runCount > 0 {
                path = path.element(level.runCount - 1)
            }
        }
        return StreamError(kind, message, path: path)
    }
}
