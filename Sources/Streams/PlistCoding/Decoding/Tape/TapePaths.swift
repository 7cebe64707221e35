// Paths through a tape, computed on first use: from a node to the containers around it, and from a large dictionary to
// its members. Each takes at most one pass over the nodes or the members.

/// Lookup tables for a tape that doesn't change anymore.
final class TapePaths {
    /// For each node, the container around it, and its position there.
    private var parents: [(container: UInt32, position: UInt32)] = []
    /// The members of large dictionaries, by the number of the key. For canonical keys, by the complement of the dictionary.
    private var members: [Int: [UInt32: UInt32]] = [:]
    /// The number of visited nodes. Tests use it to measure the cost of lookups.
    private(set) var stepCount = 0

    /// A node on the path to another one.
    struct Step {
        let container: Int
        let index: Int
        let position: Int
    }

    /// Returns the nodes on the path from below the root to a node.
    func path(to index: Int, in nodes: UnsafeBufferPointer<TapeNode>) -> [Step] {
        var path: [Step] = []
        var index = index
        while let step = unsafe lastStep(to: index, in: nodes) {
            path.append(step)
            index = step.container
        }
        return path.reversed()
    }

    /// Returns the last step to a node below the root, or nil for the root.
    ///
    /// - Complexity: O(1), after a pass over all nodes for the first call.
    func lastStep(to index: Int, in nodes: UnsafeBufferPointer<TapeNode>) -> Step? {
        guard index != DecodingContext.root else { return nil }
        if parents.isEmpty { unsafe findParents(in: nodes) }
        let parent = parents[index]
        return Step(container: Int(parent.container), index: index, position: Int(parent.position))
    }

    @unsafe
    private func findParents(in nodes: UnsafeBufferPointer<TapeNode>) {
        parents.reserveCapacity(nodes.count)
        var open: [(container: UInt32, count: UInt32, end: Int)] = []
        for index in nodes.indices {
            stepCount += 1
            while let last = open.last, last.end <= index { open.removeLast() }
            if let last = open.last {
                parents.append((last.container, last.count))
                open[open.count - 1].count += 1
            } else {
                parents.append((0, 0))
            }
            let node = unsafe nodes[index]
            if node.isContainer { open.append((UInt32(truncatingIfNeeded: index), 0, node.end)) }
        }
    }

    /// Returns the first member of a dictionary with a key, or -1. If canonical keys exist, the key number must be one
    /// of them.
    ///
    /// - Complexity: O(1), after O(*n*) in the members for the first call.
    func member(
        _ number: UInt32, of dictionary: Int, in nodes: UnsafeBufferPointer<TapeNode>, _ canonicalKeys: [UInt32]
    ) -> Int {
        stepCount += 1
        let isCanonical = !canonicalKeys.isEmpty
        let place = isCanonical ? ~dictionary : dictionary
        if let known = members[place] { return known[number].map { Int($0) } ?? -1 }
        let container = unsafe nodes[dictionary]
        var found: [UInt32: UInt32] = [:]
        found.reserveCapacity(container.count)
        var index = dictionary + 1
        while index < container.end {
            stepCount += 1
            let node = unsafe nodes[index]
            let key = isCanonical ? canonicalKeys[Int(node.key)] : node.key
            if found[key] == nil { found[key] = UInt32(truncatingIfNeeded: index) }
            index = node.isContainer ? node.end : index + 1
        }
        members[place] = found
        return found[number].map { Int($0) } ?? -1
    }
}
