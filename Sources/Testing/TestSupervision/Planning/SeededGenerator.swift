// Generates random numbers for orders that can be repeated.

/// A generator with a seed, SplitMix64.
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension SeededGenerator: SelfTesting {
    package static var testSelectors: TestSelectors { ["testSeedDecidesTheOrder": testSeedDecidesTheOrder] }

    private static func testSeedDecidesTheOrder() {
        var one = SeededGenerator(seed: 7)
        var other = SeededGenerator(seed: 7)
        let order = Array(0..<50).shuffled(using: &one)
        expectEqual(order, Array(0..<50).shuffled(using: &other))
        expectNotEqual(order, Array(0..<50))
        expectEqual(order.sorted(), Array(0..<50))
    }
}
#endif
