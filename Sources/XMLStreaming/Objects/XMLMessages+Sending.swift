// What is held, as messages: children by their names, in the order in which the names come first, what is repeated as an array.

import PlistStreaming

/// What is left to be sent of held elements; the last step is next.
enum SendingStep {
    /// A value, by the index of its node.
    case value(Int32)
    /// The members of a dictionary from a node on.
    case members(Int32)
    /// The elements of an array: a node and those with its name.
    case elements(Int32)
    /// The elements of an array: a node and all its siblings, but for attributes.
    case children(Int32)
    /// The text of an element, behind its other members.
    case text(Int32)
    case endDictionary, endArray
}

extension XMLMessages where Sink: ~Copyable {
    /// Sends a key by the number of its name.
    mutating func sendKey(_ name: Int32) throws(StreamError) {
        let names = names
        try names.withName(name) { (name) throws(StreamError) in try sink.writeKey(name) }
    }

    /// Sends the element that is held, and holds nothing from then on.
    mutating func sendHeld() throws(StreamError) {
        guard !held.isEmpty else { return }
        try sendAll()
        held.removeAll()
    }

    /// - Complexity: O(*n*) in the nodes and their text.
    private mutating func sendAll() throws(StreamError) {
        // Copies by reference, so that the sink can be changed meanwhile.
        let (nodes, text, names) = (held.nodes, held.text, names)
        steps.removeAll(keepingCapacity: true)
        steps.append(.value(0))
        while let step = steps.popLast() {
            switch step {
            case .value(let index):
                try sendValue(index, nodes, text)
            case .members(let index):
                try sendMember(index, nodes, names)
            case .elements(let index):
                let next = nodes[Int(index)].nextSame
                if next >= 0 { steps.append(.elements(next)) }
                steps.append(.value(index))
            case .children(let index):
                if index < 0 { continue }
                steps.append(.children(nodes[Int(index)].next))
                if !nodes[Int(index)].isAttribute { steps.append(.value(index)) }
            case .text(let index):
                let key = options.textKey
                try key.withUTF8Span { (key) throws(StreamError) in try sink.writeKey(key) }
                try sendText(nodes[Int(index)], text)
            case .endDictionary:
                try sink.endDictionary()
            case .endArray:
                try sink.endArray()
            }
        }
    }

    private mutating func sendText(_ node: HeldElements.Node, _ text: [UInt8]) throws(StreamError) {
        let expected = sink.expectedValue()
        try text.withRawSpan { (text) throws(StreamError) in
            let part = text.extracting(node.textStart..<(node.textStart + node.textCount))
            try ScalarText.send(part, as: expected, to: &sink)
        }
    }

    private mutating func sendValue(
        _ index: Int32, _ nodes: [HeldElements.Node], _ text: [UInt8]
    ) throws(StreamError) {
        let node = nodes[Int(index)]
        let expected = sink.expectedValue().kind
        let hasMembers = node.firstChild >= 0
        let isArray = expected == .array || mark(node.name) & 2 != 0
        if node.isNil, hasMembers, expected == .any || expected == .dictionary, !isArray {
            throw failure(.unrepresentable, "an element that has no value has attributes, which would be lost")
        }
        if node.isNil || expected == .nothing { return try sink.writeNull() }
        if isArray {
            if node.isMixed || node.textCount > 0 { try refuseText(node, text) }
            try sink.beginArray()
            steps.append(.endArray)
            return steps.append(.children(node.firstChild))
        }
        let hasElements = hasMembers && !nodes[Int(node.lastChild)].isAttribute
        // A type that wants a scalar has no members for attributes.
        let isScalar = expected != .dictionary && (expected == .any ? !hasMembers : !hasElements)
        guard !isScalar else { return try sendText(node, text) }
        if node.isMixed { throw mixedText() }
        try sink.beginDictionary()
        steps.append(.endDictionary)
        if node.textCount > 0 {
            try checkTextKey(node, nodes)
            if hasMembers || text[node.textStart..<(node.textStart + node.textCount)].contains(where: { $0 > 0x20 }) {
                steps.append(.text(index))
            }
        }
        if hasMembers { steps.append(.members(node.firstChild)) }
    }

    /// Refuses an element with text where a child or an attribute has the key of text.
    private func checkTextKey(_ node: HeldElements.Node, _ nodes: [HeldElements.Node]) throws(StreamError) {
        var child = node.firstChild
        while child >= 0 {
            if nodes[Int(child)].name == textName { throw textClash() }
            child = nodes[Int(child)].next
        }
    }

    private func refuseText(_ node: HeldElements.Node, _ text: [UInt8]) throws(StreamError) {
        let hasText = text[node.textStart..<(node.textStart + node.textCount)].contains { $0 > 0x20 }
        if node.isMixed || hasText { throw mixedText() }
    }

    /// Sends the first member from a node on that was not sent with another one of its name.
    private mutating func sendMember(
        _ start: Int32, _ nodes: [HeldElements.Node], _ names: NameTable
    ) throws(StreamError) {
        var index = start
        while index >= 0, nodes[Int(index)].isRepeat { index = nodes[Int(index)].next }
        guard index >= 0 else { return }
        let node = nodes[Int(index)]
        if node.next >= 0 { steps.append(.members(node.next)) }
        try names.withName(node.name) { (name) throws(StreamError) in try sink.writeKey(name) }
        let expected = sink.expectedValue().kind
        // What nobody wants cannot clash.
        if node.nextSame >= 0, expected != .nothing { try checkNames(index, nodes) }
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
            throw failure(
                .duplicateKey,
                "an element \(WrittenText.quoted(names.string(node.name).utf8)) comes again where one is expected")
        } else {
            steps.append(.value(index))
        }
    }

    /// Refuses nodes of one key whose names differ.
    private func checkNames(_ first: Int32, _ nodes: [HeldElements.Node]) throws(StreamError) {
        let node = nodes[Int(first)]
        var next = node.nextSame
        while next >= 0 {
            let other = nodes[Int(next)]
            if other.isAttribute != node.isAttribute {
                throw failure(
                    .duplicateKey,
                    "an attribute and an element have one key, \(WrittenText.quoted(names.string(node.name).utf8))")
            }
            if options.names == .local, other.namespace != node.namespace { throw namespaceClash(node.name) }
            next = other.nextSame
        }
    }
}
