// Sends buffered elements as messages. Children are sent by name, in the order of the first child with each name, and repeated
// children are sent as an array.

import PlistBuilding
import PlistStreaming

/// A step that remains to be done to send buffered elements. The last step in the list is done first.
enum SendingStep {
    /// A value, by the index of its node.
    case value(Int32)
    /// The members of a dictionary, starting with a node.
    case members(Int32)
    /// The elements of an array: a node and those with its name.
    case elements(Int32)
    /// The elements of an array: a node and all its siblings that aren't attributes.
    case children(Int32)
    /// The text of an element, after its other members.
    case text(Int32)
    /// The end of a dictionary, which may be sent for an element with only attributes.
    case endDictionary(hasOnlyAttributes: Bool)
    case endArray
}

extension XMLRecordAdapter where Sink: ~Copyable {
    /// Sends a key by the number of its name.
    mutating func sendKey(_ name: Int32) throws(StreamError) {
        // PERF: XML/tree; a copy of the whole table would count more references.
        let (bytes, range) = names.slice(name)
        try bytes.withRawSpan { (bytes) throws(StreamError) in try sink.writeKey(bytes.extracting(range)) }
    }

    /// Sends the buffered element and then removes it.
    mutating func sendBuffered() throws(StreamError) {
        guard !buffered.isEmpty else { return }
        // SAFETY: no other element is buffered while it is sent.
        try send(.value(0), unsafe BufferedRecord(unscoped: buffered))
        buffered.removeAll()
    }

    /// - Complexity: O(*n*) in the nodes and their text.
    mutating func send(_ step: SendingStep, _ record: borrowing BufferedRecord) throws(StreamError) {
        steps.removeAll(keepingCapacity: true)
        steps.append(step)
        while let step = steps.popLast() {
            switch step {
            case .value(let index):
                try sendValue(index, record)
            case .members(let index):
                try sendMember(index, record)
            case .elements(let index):
                let next = record[index].nextSame
                if next >= 0 { steps.append(.elements(next)) }
                steps.append(.value(index))
            case .children(let index):
                if index < 0 { continue }
                steps.append(.children(record[index].next))
                if !record[index].isAttribute { steps.append(.value(index)) }
            case .text(let index):
                let key = options.textKey
                try key.withUTF8Span { (key) throws(StreamError) in try sink.writeKey(key) }
                try sendText(record[index], record)
            case .endDictionary(let hasOnlyAttributes):
                if hasOnlyAttributes { sink.watchNames(.attributesOnly) }
                try sink.endDictionary()
            case .endArray:
                try sink.endArray()
            }
        }
    }

    private mutating func sendText(
        _ node: BufferedElements.Node, _ record: borrowing BufferedRecord
    ) throws(StreamError) {
        try ElementScalar.send(record.text(of: node), as: sink.expectedValue(), to: &sink)
    }

    private mutating func sendValue(_ index: Int32, _ record: borrowing BufferedRecord) throws(StreamError) {
        let node = record[index]
        let expected = sink.expectedValue().kind
        let hasMembers = node.firstChild >= 0
        let isArray = expected == .array || mark(node.name) & 2 != 0
        if node.isNil, hasMembers, expected == .any || expected == .dictionary, !isArray {
            throw failure(.unrepresentable, "an element without a value (xsi:nil) has attributes, which would be lost")
        }
        if node.isNil || expected == .nothing { return try sink.writeNull() }
        if isArray {
            if record.hasText(node) { throw textInArray() }
            try sink.beginArray()
            steps.append(.endArray)
            return steps.append(.children(node.firstChild))
        }
        // A type that expects a scalar has no members for attributes.
        let isScalar = expected != .dictionary && (expected == .any ? !hasMembers : !node.hasElements)
        guard !isScalar else { return try sendText(node, record) }
        if expected == .dictionary, node.textCount == 0, try store(node, record) { return }
        try sink.beginDictionary()
        steps.append(.endDictionary(hasOnlyAttributes: !node.hasElements && !record.hasText(node)))
        if node.textCount > 0 {
            try checkTextKey(node, record)
            if hasMembers || record.hasText(node) { steps.append(.text(index)) }
        }
        if hasMembers { steps.append(.members(node.firstChild)) }
    }

    /// Stores the members of a dictionary in the record buffer of the sink, if it provides one. Members that can't be stored
    /// are left to messages.
    private mutating func store(
        _ node: BufferedElements.Node, _ record: borrowing BufferedRecord
    ) throws(StreamError) -> Bool {
        guard let buffer = try unsafe sink.beginRecordBuffer(of: .records) else { return false }
        let rest = unsafe RecordFill.fill(buffer.records, node, record, names, marks)
        try sink.endRecordBuffer()
        if rest == RecordFill.complete { return true }
        steps.append(.endDictionary(hasOnlyAttributes: !node.hasElements))
        if rest >= 0 { steps.append(.members(rest)) }
        return true
    }

    /// Throws an error if an element has text and a child or an attribute with the key of the text.
    private func checkTextKey(_ node: BufferedElements.Node, _ record: borrowing BufferedRecord) throws(StreamError) {
        var child = node.firstChild
        while child >= 0 {
            if record[child].name == textName { throw textClash() }
            child = record[child].next
        }
    }

    /// Sends the first member, starting with a node, that wasn't already sent with another member of the same name.
    private mutating func sendMember(_ start: Int32, _ record: borrowing BufferedRecord) throws(StreamError) {
        var index = start
        while index >= 0, record[index].isRepeat { index = record[index].next }
        guard index >= 0 else { return }
        let node = record[index]
        if node.next >= 0 { steps.append(.members(node.next)) }
        try sendKey(node.name)
        let expected = sink.expectedValue().kind
        // Ignored members can't clash.
        if node.nextSame >= 0, expected != .nothing { try checkNames(index, record) }
        var isArray = false
        if mark(node.name) & 2 == 0, !node.isAttribute {
            switch (expected, options.arrays) {
            case (.array, _): isArray = true
            case (.any, .repeated), (.any, .records): isArray = node.nextSame >= 0
            case (.any, .named): isArray = mark(node.name) & 1 != 0
            default: break
            }
        }
        if isArray {
            try sink.beginArray()
            steps.append(.endArray)
            steps.append(.elements(index))
        } else if node.nextSame >= 0, expected != .nothing {
            throw repeatedElement(node.name)
        } else {
            steps.append(.value(index))
        }
    }

    /// Throws an error if nodes with the same key have different names.
    func checkNames(_ first: Int32, _ record: borrowing BufferedRecord) throws(StreamError) {
        let node = record[first]
        var next = node.nextSame
        while next >= 0 {
            let other = record[next]
            if other.isAttribute != node.isAttribute {
                throw attributeClash(node.name)
            }
            if options.names == .local, other.namespace != node.namespace { throw namespaceClash(node.name) }
            next = other.nextSame
        }
    }

    // MARK: Errors

    func bufferedTooMuch() -> StreamError {
        failure(
            .limitExceeded,
            "a record, the text of an element, or all different names have more than \(options.maxBufferedBytes) bytes "
                + "(maxBufferedBytes)")
    }

    /// Returns an error for elements with the same name that are so far apart that the elements between them can't be
    /// buffered.
    func tooFarApart(_ name: Int32) -> StreamError {
        failure(
            .limitExceeded,
            "elements \(ShownText.quoted(names.string(name).utf8)) are not side by side, and with what is between them "
                + "have more than \(options.maxBufferedBytes) bytes (maxBufferedBytes)")
    }

    func repeatedElement(_ name: Int32) -> StreamError {
        failure(
            .duplicateKey,
            "expected one element \(ShownText.quoted(names.string(name).utf8)), found another one")
    }

    /// Returns an error for an attribute and a child with the same key.
    func attributeClash(_ name: Int32) -> StreamError {
        failure(
            .duplicateKey,
            "an attribute and a child have the same key, \(ShownText.quoted(names.string(name).utf8)); set "
                + "attributePrefix to tell them apart")
    }

    func textClash() -> StreamError {
        failure(
            .duplicateKey, "an element or attribute has the key of text, \(ShownText.quoted(options.textKey.utf8))")
    }

    func textInArray() -> StreamError {
        failure(.unrepresentable, "text among the elements of an array has no key")
    }

    func namespaceClash(_ name: Int32) -> StreamError {
        failure(
            .duplicateKey,
            "names of two namespaces have one key, \(ShownText.quoted(names.string(name).utf8)); set names to .qualified "
                + "to tell them apart")
    }
}
