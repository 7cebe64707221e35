// The encoded form of an `Encodable` value: linked nodes in one memory, so that containers may be filled in any order
// and interleaved. `EncodedTree` shares them between encoders; `EncodedKeys` has the names of members.

import PlistBuilding
import PlistStreaming

/// The value of a node: a tag and eight bytes.
@usableFromInline
struct EncodedScalar: BitwiseCopyable {
    /// The value. For text of up to eight bytes, the text; for longer text, its offset; for containers, the first and
    /// last child.
    @usableFromInline var payload: UInt64
    @usableFromInline let tag: PropertyListNode.Tag
    /// The length of text of up to eight bytes, otherwise 9.
    @usableFromInline let length: UInt8

    init(_ tag: PropertyListNode.Tag, _ payload: UInt64, length: UInt8 = 0) {
        self.payload = payload
        self.tag = tag
        self.length = length
    }

    init(_ value: Bool) { self.init(value ? .yes : .no, 0) }
    init(_ value: Double) { self.init(.real, value.bitPattern) }
    init(_ value: Int64) { self.init(.integer, UInt64(bitPattern: value)) }
    init(_ value: UInt64) { self.init(value > UInt64(Int64.max) ? .unsigned : .integer, value) }
    init(date seconds: Double) { self.init(.date, seconds.bitPattern) }

    /// Creates a scalar from an integer of up to 64 bits. For wider ones, use `encode(wide:)`.
    @inline(__always)  // PERF: JSONRecords/writing; a constant choice for each type.
    init(integer value: some FixedWidthInteger) {
        if type(of: value).isSigned {
            self.init(Int64(truncatingIfNeeded: value))
        } else {
            self.init(UInt64(truncatingIfNeeded: value))
        }
    }

    /// The value of a type that encodes nothing: an empty dictionary, as in other encoders.
    static var nothing: EncodedScalar { EncodedScalar(.dictionary, 0) }
    static var null: EncodedScalar { EncodedScalar(.null, 0) }
}

/// One value, its key, and the link to the next value.
@usableFromInline
struct EncodedNode: BitwiseCopyable {
    @usableFromInline var value: EncodedScalar
    /// The number of the key in a dictionary, otherwise 0.
    @usableFromInline let key: UInt32
    @usableFromInline let parent: UInt32
    /// The next child of the parent, 0 after the last one.
    @usableFromInline var next: UInt32 = 0

    init(_ value: EncodedScalar, key: UInt32, parent: UInt32) {
        self.value = value
        self.key = key
        self.parent = parent
    }

    var tag: PropertyListNode.Tag { value.tag }
    var firstChild: UInt32 { UInt32(truncatingIfNeeded: value.payload >> 32) }
    var lastChild: UInt32 { UInt32(truncatingIfNeeded: value.payload) }
    @inlinable
    var isContainer: Bool { value.tag == .array || value.tag == .dictionary }
}

/// A value that is being encoded, whose root is the node 0.
@safe
struct EncodedNodes: ~Copyable {
    private var nodes = unsafe GrowingMemory<EncodedNode>()
    private var bytes = unsafe GrowingMemory<UInt8>()
    private var keys: EncodedKeys
    /// For each array, the element whose position was requested last, and that position.
    private var lastPlaces: [UInt32: (node: UInt32, position: Int)] = [:]
    /// The number of elements that were counted to find positions. Tests use it to measure the cost of paths.
    private(set) var stepCount = 0

    init(keyMapping: KeyMapping) {
        keys = EncodedKeys(mapping: keyMapping)
        unsafe nodes.append(EncodedNode(.nothing, key: 0, parent: 0))
    }

    deinit {
        unsafe nodes.deallocate()
        unsafe bytes.deallocate()
    }

    /// Removes all nodes but an empty root, and keeps the names for the next value.
    ///
    /// - Returns: A Boolean value that indicates whether the memory is small, so that it may be kept.
    mutating func reset() -> Bool {
        guard unsafe nodes.capacity <= 1_024, unsafe bytes.capacity <= 16_384, keys.names.isSmall else { return false }
        unsafe nodes.removeLast(nodes.count)
        unsafe nodes.append(EncodedNode(.nothing, key: 0, parent: 0))
        unsafe bytes.removeLast(bytes.count)
        if !lastPlaces.isEmpty { lastPlaces = [:] }
        stepCount = 0
        return true
    }

    // MARK: Filling

    /// Makes a node a container, unless it is already one of that kind.
    mutating func open(_ index: UInt32, _ tag: PropertyListNode.Tag) {
        if unsafe nodes[Int(index)].tag != tag { set(index, EncodedScalar(tag, 0)) }
    }

    /// Adds a member to a dictionary and returns its number.
    @inline(never)  // PERF: JSONRecords/writing; one copy of it in the cache instead of one a type of scalar.
    @discardableResult
    mutating func append(to parent: UInt32, key: String, isExact: Bool, _ value: EncodedScalar) -> UInt32 {
        append(to: parent, key: keys.number(of: key, isExact: isExact), value)
    }

    /// Adds a child to a container and returns its number.
    @inline(__always)  // PERF: see above.
    @discardableResult
    mutating func append(to parent: UInt32, key: UInt32 = 0, _ value: EncodedScalar) -> UInt32 {
        let count = unsafe nodes.count
        precondition(count < Int(UInt32.max), "more than 4,294,967,294 values")
        let index = UInt32(truncatingIfNeeded: count)
        unsafe nodes.append(EncodedNode(value, key: key, parent: parent))
        let container = unsafe nodes[Int(parent)]
        // The messages don't include a container that was replaced by another value.
        guard container.tag == (key == 0 ? .array : .dictionary) else { return index }
        let last = container.lastChild
        if last != 0 { unsafe nodes[Int(last)].next = index }
        let first = last == 0 ? index : container.firstChild
        unsafe nodes[Int(parent)].value.payload = UInt64(first) << 32 | UInt64(index)
        return index
    }

    mutating func append(to parent: UInt32, _ tag: PropertyListNode.Tag, _ text: String) {
        append(to: parent, scalar(tag, text))
    }

    mutating func append(to parent: UInt32, key: String, isExact: Bool, _ tag: PropertyListNode.Tag, _ text: String) {
        append(to: parent, key: key, isExact: isExact, scalar(tag, text))
    }

    mutating func set(_ index: UInt32, _ value: EncodedScalar) { unsafe nodes[Int(index)].value = value }
    mutating func set(_ index: UInt32, _ tag: PropertyListNode.Tag, _ text: String) { set(index, scalar(tag, text)) }
    mutating func set(_ index: UInt32, data: UnsafeRawBufferPointer) { unsafe set(index, scalar(.data, data)) }

    /// Returns the value of a node.
    func value(of index: UInt32) -> EncodedScalar { unsafe nodes[Int(index)].value }

    /// Returns the last child of a container, or 0 if it is empty.
    @inline(__always)  // PERF: JSONRecords/writing; once a value that encodes itself.
    func lastChild(of parent: UInt32) -> UInt32 {
        let container = unsafe nodes[Int(parent)]
        return container.isContainer ? container.lastChild : 0
    }

    /// Removes a child and its contents from its container. Its memory isn't reused, because a kept encoder or
    /// container may still refer to it.
    ///
    /// - Parameter before: The child before it, or 0 for the first child.
    mutating func remove(_ index: UInt32, after before: UInt32) {
        let node = unsafe nodes[Int(index)]
        let container = unsafe nodes[Int(node.parent)]
        guard container.isContainer, unsafe (before == 0 ? container.firstChild : nodes[Int(before)].next) == index
        else { return }  // The container was replaced; its contents are never sent.
        if before != 0 { unsafe nodes[Int(before)].next = node.next }
        let first = before == 0 ? node.next : container.firstChild
        let last = container.lastChild == index ? before : container.lastChild
        unsafe nodes[Int(node.parent)].value.payload = UInt64(first) << 32 | UInt64(last)
        guard let place = lastPlaces[node.parent], place.node >= index else { return }
        // The numbers of elements increase with their positions.
        let isLast = place.node == index && before != 0
        lastPlaces[node.parent] = isLast ? (before, place.position - 1) : nil
    }

    /// Stores a text and returns its scalar.
    mutating func scalar(_ tag: PropertyListNode.Tag, _ text: String) -> EncodedScalar {
        var text = text
        // SAFETY: the bytes are copied within the closure.
        return text.withUTF8 { unsafe scalar(tag, UnsafeRawBufferPointer($0)) }
    }

    mutating func scalar(_ tag: PropertyListNode.Tag, _ text: UnsafeRawBufferPointer) -> EncodedScalar {
        let length = text.count
        var payload: UInt64 = 0
        if length <= 8 {
            // SAFETY: the source has `length` bytes, and the destination has eight.
            unsafe withUnsafeMutableBytes(of: &payload) { unsafe $0.copyMemory(from: text) }
        } else {
            payload = unsafe UInt64(bytes.count)
            // SAFETY: the bytes are copied within the closure.
            unsafe withUnsafeBytes(of: UInt64(length)) {
                unsafe bytes.append(contentsOf: $0.bindMemory(to: UInt8.self))
            }
            unsafe bytes.append(contentsOf: text.bindMemory(to: UInt8.self))
        }
        return EncodedScalar(tag, payload, length: UInt8(min(length, 9)))
    }

    // MARK: Lookup

    /// The number of children of a container.
    /// - Complexity: O(*n*) in the number for the first time, then in the number of children added since.
    mutating func childCount(of index: UInt32) -> Int {
        let container = unsafe nodes[Int(index)]
        guard container.isContainer, container.lastChild != 0 else { return 0 }
        return position(of: container.lastChild, in: index) + 1
    }

    /// Returns the coding keys on the path from the root to a node.
    ///
    /// - Complexity: O(depth), but O(*n*) in the elements of an array for the first element requested.
    mutating func path(of index: UInt32) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var index = index
        while index != 0 {
            let node = unsafe nodes[Int(index)]
            if node.key != 0 {
                path.append(NameKey(keys.original(node.key)))
            } else {
                path.append(IndexKey(position(of: index, in: node.parent)))
            }
            index = node.parent
        }
        return path.reversed()
    }

    /// Returns the position of an element, counted from the element that was requested last if that one precedes it.
    private mutating func position(of index: UInt32, in parent: UInt32) -> Int {
        var (sibling, position) = unsafe lastPlaces[parent] ?? (nodes[Int(parent)].firstChild, 0)
        while true {
            while sibling != index, sibling != 0 {
                position += 1
                stepCount += 1
                sibling = unsafe nodes[Int(sibling)].next
            }
            if sibling == index || lastPlaces.removeValue(forKey: parent) == nil { break }
            unsafe (sibling, position) = (nodes[Int(parent)].firstChild, 0)
        }
        lastPlaces[parent] = (index, position)
        return position
    }

    // MARK: Sending

    /// Returns the messages for the value, valid until the next change.
    mutating func messages() -> EncodedMessages {
        let count = unsafe nodes.count
        for index in 0..<UInt32(truncatingIfNeeded: count) where unsafe nodes[Int(index)].tag == .dictionary {
            keepLastOfEachKey(in: index)
        }
        return unsafe EncodedMessages(
            nodes: nodes.values, text: UnsafeRawBufferPointer(bytes.values), keys: keys.names.texts)
    }

    /// Keeps only the last value of each key that was encoded twice, at the position of the first.
    private mutating func keepLastOfEachKey(in index: UInt32) {
        keys.beginDictionary()
        var child = unsafe nodes[Int(index)].firstChild
        while child != 0 {
            let node = unsafe nodes[Int(child)]
            if !keys.isFirstInDictionary(node.key) { return removeDuplicates(from: index) }
            child = node.next
        }
    }

    @inline(never)
    private mutating func removeDuplicates(from index: UInt32) {
        var kept = KeptMembers<UInt32>()
        var child = unsafe nodes[Int(index)].firstChild
        while child != 0 {
            let node = unsafe nodes[Int(child)]
            kept.add(child, key: node.key)
            child = node.next
        }
        let children = kept.members
        for (child, next) in zip(children, children.dropFirst() + [0]) { unsafe nodes[Int(child)].next = next }
        unsafe nodes[Int(index)].value.payload = UInt64(children.first ?? 0) << 32 | UInt64(children.last ?? 0)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum EncodedNodesTests {}

extension EncodedNodesTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSendsChildrenInOrder": testSendsChildrenInOrder,
            "testKeepsTheLastOfEachKey": testKeepsTheLastOfEachKey,
            "testStoresTextOfEveryLength": testStoresTextOfEveryLength,
            "testReturnsPathsOfNodes": testReturnsPathsOfNodes,
            "testRemovesChildren": testRemovesChildren,
        ]
    }

    private static func sent(_ nodes: inout EncodedNodes) throws -> String {
        var trace = EventTrace()
        try nodes.messages().send(to: &trace)
        return trace.text
    }

    private static func testSendsChildrenInOrder() throws {
        var nodes = EncodedNodes(keyMapping: .exact)
        expectEqual(try sent(&nodes), "{ }", "nothing")
        nodes.open(0, .array)
        let first = nodes.append(to: 0, key: 0, .nothing)
        nodes.open(first, .dictionary)
        let second = nodes.append(to: 0, key: 0, .nothing)
        nodes.open(second, .array)
        // Interleaved, which is possible for containers that are open at the same time.
        nodes.append(to: second, key: 0, EncodedScalar(Int64(1)))
        nodes.append(to: first, key: "a", isExact: true, EncodedScalar(true))
        nodes.append(to: second, key: 0, .null)
        nodes.append(to: first, key: "b", isExact: true, EncodedScalar(0.5))
        expectEqual(
            try sent(&nodes), "[ { key \"a\" true key \"b\" real 0.5 } [ integer 1 null ] ]", "interleaved containers")
        expectEqual(nodes.childCount(of: second), 2, "children")
    }

    private static func testKeepsTheLastOfEachKey() throws {
        var nodes = EncodedNodes(keyMapping: .exact)
        nodes.open(0, .dictionary)
        for (key, value) in [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("c", 5)] {
            nodes.append(to: 0, key: key, isExact: true, EncodedScalar(Int64(value)))
        }
        expectEqual(try sent(&nodes), "{ key \"a\" integer 3 key \"b\" integer 2 key \"c\" integer 5 }", "members")
    }

    private static func testStoresTextOfEveryLength() throws {
        for length in [0, 1, 7, 8, 9, 16, 255, 70_000] {
            var nodes = EncodedNodes(keyMapping: .exact)
            let text = String(repeating: "x", count: length)
            nodes.set(0, nodes.scalar(.string, text))
            expectTrue(try sent(&nodes) == "string \"\(text)\"", "text of \(length) bytes")
        }
    }

    private static func testRemovesChildren() throws {
        for removed in 0..<16 {
            // The children whose bits are set are removed, from the first on and from the last on.
            for isReversed in [false, true] {
                var nodes = EncodedNodes(keyMapping: .exact)
                nodes.open(0, .array)
                var children: [UInt32] = []
                for value in 0..<4 { children.append(nodes.append(to: 0, key: 0, EncodedScalar(Int64(value)))) }
                var kept = children
                let order = isReversed ? [3, 2, 1, 0] : [0, 1, 2, 3]
                for child in order where removed >> child & 1 == 1 {
                    let place = kept.firstIndex(of: children[child]) ?? 0
                    nodes.remove(children[child], after: place == 0 ? 0 : kept[place - 1])
                    kept.remove(at: place)
                }
                nodes.append(to: 0, key: 0, .null)
                let values = (0..<4).filter { removed >> $0 & 1 == 0 }.map { "integer \($0) " }.joined()
                expectEqual(try sent(&nodes), "[ \(values)null ]", "without \(removed), reversed: \(isReversed)")
            }
        }
    }

    private static func testReturnsPathsOfNodes() {
        var nodes = EncodedNodes(keyMapping: .snakeCase)
        nodes.open(0, .dictionary)
        let list = nodes.append(to: 0, key: "theList", isExact: false, .nothing)
        nodes.open(list, .array)
        nodes.append(to: list, key: 0, .null)
        let second = nodes.append(to: list, key: 0, .null)
        expectEqual(StreamPath(codingPath: nodes.path(of: second)).description, "$.theList[1]", "path")
    }
}
#endif
