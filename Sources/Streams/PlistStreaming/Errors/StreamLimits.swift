// The limits of readers, which protect memory and stack from hostile input.

/// The limits of a reader. If the input exceeds a limit, the reader throws ``StreamError/Kind/limitExceeded``. Negative limits
/// are treated as 0.
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
    ///   - depth: 1,024 by default; one bit of memory for each level.
    ///   - stringByteCount: 64 MiB by default. A string that the end of a chunk cuts off is kept in memory until it is
    ///     complete.
    ///   - numberByteCount: 4,096 by default.
    ///   - totalByteCount: Unlimited by default.
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

    /// The default limits of readers.
    public static let standard: StreamLimits = StreamLimits()
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension StreamLimits: SelfTesting {
    public static var testSelectors: TestSelectors {
        ["testReplacesNegativeLimitsWithZero": testReplacesNegativeLimitsWithZero]
    }

    private static func testReplacesNegativeLimitsWithZero() {
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
