// Which containers are open, one bit each, so that readers and writers nest without recursion.

/// The open containers of a stream from the outermost in, one bit a level.
@frozen
public struct NestingStack: Sendable, Equatable {
    // PERF: inlinable throughout; a reader pushes and pops once a container in its specialised loop.

    /// The innermost 1 to 64 levels, the innermost in bit 0; 1 is a dictionary.
    @usableFromInline var word: UInt64 = 0
    @usableFromInline var levelCount: Int = 0
    /// The full words of the outer levels.
    @usableFromInline var outerWords: [UInt64] = []

    /// Creates a stack without open containers.
    @inlinable public init() {}

    /// The number of open containers.
    @inlinable public var depth: Int { levelCount }

    /// Whether the innermost container is a dictionary; false when none is open.
    @inlinable public var isInDictionary: Bool { word & 1 != 0 }

    /// Opens a container.
    ///
    /// - Complexity: O(1); allocates once every 64 levels beyond the deepest so far.
    @inlinable
    public mutating func push(isDictionary: Bool) {
        if levelCount & 63 == 0 && levelCount > 0 { spill() }
        word = word << 1 | (isDictionary ? 1 : 0)
        levelCount += 1
    }

    /// Closes the innermost container; there must be one.
    @inlinable
    public mutating func pop() {
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
