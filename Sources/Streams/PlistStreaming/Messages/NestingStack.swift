// The open containers, one bit each, so that readers and writers handle nesting without recursion.

/// The open containers of a stream, starting with the outermost, one bit for each level.
@frozen @usableFromInline
package struct NestingStack: Sendable, Equatable {
    // PERF: inlinable throughout; a reader pushes and pops once for each container in its specialized loop.

    /// The innermost 1 to 64 levels, the innermost in bit 0; 1 is a dictionary.
    @usableFromInline var word: UInt64 = 0
    @usableFromInline var levelCount: Int = 0
    /// The full words of the outer levels.
    @usableFromInline var outerWords: [UInt64] = []

    /// Creates a stack without open containers.
    @inlinable package init() {}

    /// The number of open containers.
    @inlinable package var depth: Int { levelCount }

    /// A Boolean value that indicates whether the innermost container is a dictionary; false when none is open.
    @inlinable package var isInDictionary: Bool { word & 1 != 0 }

    /// A Boolean value that indicates whether the innermost container is known to be an array in an array.
    @inlinable package var isInArrayOfArrays: Bool {
        // The two innermost levels, unless the word contains only one of them.
        levelCount & 63 > 1 && word & 3 == 0
    }

    /// At most the 64 innermost levels, the innermost in bit 0; 1 is a dictionary.
    package var innermostLevels: UInt64 { word }

    /// Opens a container.
    ///
    /// - Complexity: O(1); allocates once every 64 levels beyond the deepest so far.
    @inlinable @inline(__always)
    package mutating func push(isDictionary: Bool) {
        if levelCount & 63 == 0 && levelCount > 0 { spill() }
        word = word << 1 | (isDictionary ? 1 : 0)
        levelCount += 1
    }

    /// Closes the innermost container; there must be one.
    @inlinable @inline(__always)
    package mutating func pop() {
        precondition(levelCount > 0, "pop without an open container")
        levelCount -= 1
        word >>= 1
        if levelCount & 63 == 0 { refill() }
    }

    @usableFromInline @inline(never)
    mutating func spill() {
        outerWords.append(word)
        word = 0
    }

    @usableFromInline @inline(never)
    mutating func refill() {
        word = outerWords.popLast() ?? 0
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension NestingStack: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    package static var testSelectors: TestSelectors {
        [
            "testRemembersEveryLevel": testRemembersEveryLevel,
            "testEmptyStackIsInNoDictionary": testEmptyStackIsInNoDictionary,
        ]
    }

    private static func testRemembersEveryLevel() {
        // Crosses the boundaries of the first three words, with a pattern that doesn't repeat every 64 levels.
        let levels = (0..<200).map { $0 % 3 == 0 || $0 % 7 == 2 }
        var stack = NestingStack()
        for (depth, level) in levels.enumerated() {
            stack.push(isDictionary: level)
            expectEqual(stack.depth, depth + 1, "depth after push \(depth)")
            let isArrayOfArrays = depth > 0 && !level && !levels[depth - 1]
            if stack.isInArrayOfArrays {
                expectTrue(isArrayOfArrays, "two arrays at depth \(depth)")
            } else if isArrayOfArrays {
                expectTrue(depth % 64 == 0 || depth % 64 == 63, "unknown only where a word ends, not at \(depth)")
            }
        }
        for (depth, level) in levels.enumerated().reversed() {
            expectEqual(stack.isInDictionary, level, "level \(depth)")
            stack.pop()
        }
        expectEqual(stack.depth, 0, "depth at the end")
    }

    private static func testEmptyStackIsInNoDictionary() {
        var stack = NestingStack()
        expectFalse(stack.isInDictionary, "before the first push")
        stack.push(isDictionary: true)
        expectTrue(stack.isInDictionary, "after a push")
        stack.pop()
        expectFalse(stack.isInDictionary, "after the pop")
    }
}
#endif
