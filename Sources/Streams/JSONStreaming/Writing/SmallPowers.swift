// The powers for numbers with few decimal places, as constants.

/// Powers for up to 19 decimal places.
@safe @usableFromInline
struct SmallPowers {
    // SAFETY: the constants below, which are never freed and never change.
    @usableFromInline let words: UnsafePointer<UInt64>

    private init(_ words: UnsafePointer<UInt64>) { unsafe self.words = words }

    // PERF: JSONReader/coordinates; within a loop each is one load, while accessing a static property is a call.

    /// The table.
    @usableFromInline static var table: SmallPowers {
        // SAFETY: the array is a constant, so its elements stay in place.
        unsafe constants.withUnsafeBufferPointer { unsafe SmallPowers($0.baseAddress.unsafelyUnwrapped) }
    }

    /// Returns the leading 64 bits of 1 / 5^count, truncated; the high words of `PowersOfFive`.
    @inlinable @inline(__always)
    func reciprocalOfFive(_ count: Int) -> UInt64 {
        assert((0...19).contains(count))
        // SAFETY: the callers pass at most 19 digits.
        return unsafe words[count]
    }

    /// Returns the bit pattern of 10^count as a double, which is exact.
    @inlinable @inline(__always)
    func powerOfTen(_ count: Int) -> UInt64 {
        assert((0...19).contains(count))
        // SAFETY: as above.
        return unsafe words[20 &+ count]
    }

    /// Returns the bit pattern of the double 2^(2 + floor(log2(10^-count))).
    @inlinable @inline(__always)
    func scale(_ count: Int) -> UInt64 {
        assert((0...19).contains(count))
        // SAFETY: as above.
        return unsafe words[40 &+ count]
    }

    /// Twenty reciprocals, twenty doubles, and twenty exponents.
    private static let constants: [UInt64] = [
        0x8000_0000_0000_0000, 0xCCCC_CCCC_CCCC_CCCC, 0xA3D7_0A3D_70A3_D70A, 0x8312_6E97_8D4F_DF3B,
        0xD1B7_1758_E219_652B, 0xA7C5_AC47_1B47_8423, 0x8637_BD05_AF6C_69B5, 0xD6BF_94D5_E57A_42BC,
        0xABCC_7711_8461_CEFC, 0x8970_5F41_36B4_A597, 0xDBE6_FECE_BDED_D5BE, 0xAFEB_FF0B_CB24_AAFE,
        0x8CBC_CC09_6F50_88CB, 0xE12E_1342_4BB4_0E13, 0xB424_DC35_095C_D80F, 0x901D_7CF7_3AB0_ACD9,
        0xE695_94BE_C44D_E15B, 0xB877_AA32_36A4_B449, 0x9392_EE8E_921D_5D07, 0xEC1E_4A7D_B695_61A5,
        0x3FF0_0000_0000_0000, 0x4024_0000_0000_0000, 0x4059_0000_0000_0000, 0x408F_4000_0000_0000,
        0x40C3_8800_0000_0000, 0x40F8_6A00_0000_0000, 0x412E_8480_0000_0000, 0x4163_12D0_0000_0000,
        0x4197_D784_0000_0000, 0x41CD_CD65_0000_0000, 0x4202_A05F_2000_0000, 0x4237_4876_E800_0000,
        0x426D_1A94_A200_0000, 0x42A2_309C_E540_0000, 0x42D6_BCC4_1E90_0000, 0x430C_6BF5_2634_0000,
        0x4341_C379_37E0_8000, 0x4376_3457_85D8_A000, 0x43AB_C16D_674E_C800, 0x43E1_58E4_6091_3D00,
        0x4010_0000_0000_0000, 0x3FD0_0000_0000_0000, 0x3FA0_0000_0000_0000, 0x3F70_0000_0000_0000,
        0x3F30_0000_0000_0000, 0x3F00_0000_0000_0000, 0x3ED0_0000_0000_0000, 0x3E90_0000_0000_0000,
        0x3E60_0000_0000_0000, 0x3E30_0000_0000_0000, 0x3DF0_0000_0000_0000, 0x3DC0_0000_0000_0000,
        0x3D90_0000_0000_0000, 0x3D50_0000_0000_0000, 0x3D20_0000_0000_0000, 0x3CF0_0000_0000_0000,
        0x3CB0_0000_0000_0000, 0x3C80_0000_0000_0000, 0x3C50_0000_0000_0000, 0x3C10_0000_0000_0000,
    ]
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension SmallPowers: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    static var testSelectors: TestSelectors { ["testMatchesComputedPowers": testMatchesComputedPowers] }

    private static func testMatchesComputedPowers() {
        for count in 0...19 {
            let power = PowersOfFive.table.exactPowerOfTen(count).bitPattern
            expectEqual(table.powerOfTen(count), power, "10^\(count)")
            // The double 2^(exponent + 2) has this bias; the logarithms are never close enough to whole numbers to
            // round wrongly.
            let exponent = Int((-Double(count) * 3.321_928_094_887_362_3).rounded(.down))
            expectEqual(table.scale(count), UInt64(1025 + exponent) << 52, "exponent of 10^-\(count)")
            expectEqual(table.reciprocalOfFive(count), PowersOfFive.table.power(-count).high, "1 / 5^\(count)")
        }
        expectEqual(constants.count, 60, "words")
    }
}
#endif
