// The bounds a reader puts on its input, so that hostile bytes cost neither memory nor stack.

/// The bounds of what a reader accepts; beyond them it throws ``StreamError/Kind/limitExceeded``. A negative bound is 0.
public struct StreamLimits: Sendable, Hashable {
    /// The deepest nesting of containers; `[]` is 1 deep.
    public var depth: Int { didSet { depth = max(0, depth) } }
    /// The longest string or key in bytes, after unescaping.
    public var stringByteCount: Int { didSet { stringByteCount = max(0, stringByteCount) } }
    /// The longest text of a number in bytes.
    public var numberByteCount: Int { didSet { numberByteCount = max(0, numberByteCount) } }
    /// The longest input in bytes.
    public var totalByteCount: Int { didSet { totalByteCount = max(0, totalByteCount) } }

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
        self.depth = max(0, depth)
        self.stringByteCount = max(0, stringByteCount)
        self.numberByteCount = max(0, numberByteCount)
        self.totalByteCount = max(0, totalByteCount)
    }

    /// The limits a reader has when none are given.
    public static let standard: StreamLimits = StreamLimits()
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension StreamLimits: SelfTesting {
    public static var testSelectors: TestSelectors { ["testHasNoNegativeBounds": testHasNoNegativeBounds] }

    private static func testHasNoNegativeBounds() {
        let none = StreamLimits(depth: 0, stringByteCount: 0, numberByteCount: 0, totalByteCount: 0)
        for number in [-1, .min, .min + 5] {
            expectEqual(
                StreamLimits(depth: number, stringByteCount: number, numberByteCount: number, totalByteCount: number),
                none, "made with \(number)")
            var limits = StreamLimits.standard
            (limits.depth, limits.stringByteCount) = (number, number)
            (limits.numberByteCount, limits.totalByteCount) = (number, number)
            expectEqual(limits, none, "set to \(number)")
        }
        expectEqual(StreamLimits(depth: .max).depth, .max, "the largest bound")
    }
}
#endif
