// Reproducible random input for the tests in this folder. In-class tests use `TestRandom` instead, which doesn't exist
// in release builds. These tests also run in release builds.

/// A generator of pseudorandom numbers from a seed, using SplitMix64.
public struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    /// Creates a generator from a seed.
    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
