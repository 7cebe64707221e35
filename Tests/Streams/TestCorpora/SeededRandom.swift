// Random input for the tests in this folder, the same in each run. In-class tests have `TestRandom`, which is gone from a release
// build, of which these tests are, too.

/// Numbers that a seed decides, by SplitMix64.
public struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    /// Makes the numbers of a seed.
    public init(seed: UInt64) { state = seed }

    /// Returns the next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
