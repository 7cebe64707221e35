// Compares trees without recursion.

extension PropertyList: Equatable {
    /// Compares values and types. The order of elements counts, but the order of members doesn't.
    ///
    /// An integer doesn't equal a real. Two reals are compared with `==`, so NaN equals no value.
    public static func == (left: PropertyList, right: PropertyList) -> Bool {
        // Containers are added to this list and compared later, so that no tree is too deep.
        var pending: [(left: PropertyListNode, right: PropertyListNode)] = []
        guard isEqual(left, left.node, right, right.node, &pending) else { return false }
        while let next = pending.popLast() {
            let isEqual =
                next.left.tag == .array
                ? hasEqualElements(left, next.left, right, next.right, &pending)
                : hasEqualMembers(left, next.left, right, next.right, &pending)
            guard isEqual else { return false }
        }
        return true
    }

    /// Compares two nodes. For containers, it compares only the type and the size, and adds their contents to a list.
    private static func isEqual(
        _ left: PropertyList, _ node: PropertyListNode, _ right: PropertyList, _ other: PropertyListNode,
        _ pending: inout [(left: PropertyListNode, right: PropertyListNode)]
    ) -> Bool {
        guard node.tag == other.tag else { return false }
        switch node.tag {
        case .null, .no, .yes: return true
        case .integer, .unsigned: return node.payload == other.payload
        case .real, .date: return Double(bitPattern: node.payload) == Double(bitPattern: other.payload)
        case .number, .string, .data:
            return unsafe left.storage.withBytes(of: node) { bytes in
                unsafe right.storage.withBytes(of: other) { unsafe bytes.elementsEqual($0) }
            }
        case .array, .dictionary:
            guard node.count == other.count else { return false }
            if node.count > 0 { pending.append((node, other)) }
            return true
        }
    }

    private static func hasEqualElements(
        _ left: PropertyList, _ node: PropertyListNode, _ right: PropertyList, _ other: PropertyListNode,
        _ pending: inout [(left: PropertyListNode, right: PropertyListNode)]
    ) -> Bool {
        for (index, otherIndex) in zip(node.children, other.children) {
            let (child, otherChild) = (left.storage.node(index), right.storage.node(otherIndex))
            guard isEqual(left, child, right, otherChild, &pending) else { return false }
        }
        return true
    }

    /// Compares the members of two dictionaries with the same number of members. Each member is looked up by its key once.
    private static func hasEqualMembers(
        _ left: PropertyList, _ dictionary: PropertyListNode, _ right: PropertyList, _ other: PropertyListNode,
        _ pending: inout [(left: PropertyListNode, right: PropertyListNode)]
    ) -> Bool {
        let (storage, others) = (left.storage, right.storage)
        // Most pairs have the same order. For other pairs, the numbers of keys lead to the nodes.
        var places: [UInt32: Int] = [:]
        for (index, otherIndex) in zip(dictionary.children, other.children) {
            let node = storage.node(index)
            guard let key = others.keys.index(of: storage.keys[Int(node.key)]) else { return false }
            var place = otherIndex
            if others.node(place).key != UInt32(truncatingIfNeeded: key) {
                if places.isEmpty { for index in other.children { places[others.node(index).key] = index } }
                guard let found = places[UInt32(truncatingIfNeeded: key)] else { return false }
                place = found
            }
            guard isEqual(left, node, right, others.node(place), &pending) else { return false }
        }
        return true
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum PropertyListComparisonTests {}

extension PropertyListComparisonTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testIgnoresOrderOfMembers": testIgnoresOrderOfMembers,
            "testComparesManyMembersQuickly": testComparesManyMembersQuickly,
            "testComparesDeepTrees": testComparesDeepTrees,
        ]
    }

    private static func list(_ script: String) throws -> PropertyList { try PropertyListBuilder.list(script) }

    private static func testIgnoresOrderOfMembers() throws {
        let one = try list("{ key \"a\" integer 1 key \"b\" [ string \"a longer string\" ] }")
        let other = try list("{ key \"b\" [ string \"a longer string\" ] key \"a\" integer 1 }")
        expectEqual(one, other, "another order of members")
        for script in [
            "{ key \"a\" integer 1 }", "{ key \"a\" real 1.0 key \"b\" [ string \"a longer string\" ] }", "[ ]",
        ] {
            expectFalse(one == (try list(script)), script)
        }
        expectFalse(try list("[ integer 1 integer 2 ]") == list("[ integer 2 integer 1 ]"), "another order of elements")
    }

    private static func testComparesManyMembersQuickly() throws {
        // With so many keys, comparing each key with all others would take seconds.
        func list(_ keys: some Sequence<Int>, _ value: (Int) -> Int) throws -> PropertyList {
            try self.list("{ \(keys.map { "key \"k\($0)\" integer \(value($0))" }.joined(separator: " ")) }")
        }
        let (count, other) = (10_000, 9_998)
        let one = try list(0..<count) { $0 }
        expectTrue(try one == list((0..<count).reversed()) { $0 }, "the other way round")
        expectFalse(try one == list((0..<count).reversed()) { $0 == other ? 0 : $0 }, "another value")
        expectFalse(try one == list((1...count).reversed()) { $0 }, "another key")
    }

    private static func testComparesDeepTrees() throws {
        // The tree is too deep for a recursive function.
        func list(_ value: Int64) throws -> PropertyList {
            let depth = 20_000
            var builder = PropertyListBuilder(depthLimit: depth)
            for level in 0..<depth {
                if level % 2 == 0 {
                    try builder.beginArray()
                } else {
                    try builder.beginDictionary()
                    try builder.writeKey("k")
                }
            }
            try builder.writeInteger(value)
            for level in (0..<depth).reversed() {
                if level % 2 == 0 { try builder.endArray() } else { try builder.endDictionary() }
            }
            return try builder.takeResult()
        }
        let one = try list(1)
        expectTrue(try one == list(1), "the same value")
        expectFalse(try one == list(2), "another value")
    }
}
#endif
