// Random numbers for the tests of this package, the same in each run. They aren't part of the public API.

#if DEBUG || IN_CLASS_TESTS

/// A SplitMix64 generator with a seed.
package struct TestRandom: RandomNumberGenerator {
    private var state: UInt64

    /// Creates a generator with a seed.
    package init(seed: UInt64) { state = seed }

    /// Returns the next number.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ state &>> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed &>> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed &>> 31
    }
}

extension Sequence {
    /// Returns all elements in an optimized build, and every `step`th element in a debug build, where comparisons take about
    /// ten times as long. `.ci/run` runs the tests of an optimized build, too.
    package func sampledInDebug(every step: Int) -> [Element] {
        #if DEBUG
        enumerated().filter { $0.offset % step == 0 }.map(\.element)
        #else
        Array(self)
        #endif
    }
}

// MARK: - In-class tests

#if SELF_TESTS
extension TestRandom: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testMatchesTheReferenceImplementation": testMatchesTheReferenceImplementation]
    }

    // The first numbers of the reference implementation, https://prng.di.unimi.it/splitmix64.c.
    private static func testMatchesTheReferenceImplementation() {
        var random = TestRandom(seed: 1_234_567)
        let numbers = (0..<3).map { _ in random.next() }
        expectEqual(
            numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423], "numbers")
    }
}
#endif
#endif
