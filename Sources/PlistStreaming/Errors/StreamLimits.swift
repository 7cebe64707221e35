// The bounds a reader puts on its input, so that hostile bytes cost neither memory nor stack.

/// The bounds of what a reader accepts; beyond them it throws ``StreamError/Kind/limitExceeded``.
public struct StreamLimits: Sendable, Hashable {
    /// The deepest nesting of containers; `[]` is 1 deep.
    public var depth: Int
    /// The longest string or key in bytes, after unescaping.
    public var stringByteCount: Int
    /// The longest text of a number in bytes.
    public var numberByteCount: Int
    /// The longest input in bytes.
    public var totalByteCount: Int

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - depth: 1,024 unless given; one bit of memory a level.
    ///   - stringByteCount: 64 MiB unless given; a string cut by a chunk's end is held in memory until it is whole.
    ///   - numberByteCount: 4,096 unless given.
    ///   - totalByteCount: Unlimited unless given.
    public init(
        depth: Int = 1024,
        stringByteCount: Int = 64 << 20,
        numberByteCount: Int = 4096,
        totalByteCount: Int = .max
    ) {
        self.depth = depth
        self.stringByteCount = stringByteCount
        self.numberByteCount = numberByteCount
        self.totalByteCount = totalByteCount
    }

    /// The limits a reader has when none are given.
    public static let standard: StreamLimits = StreamLimits()
}
