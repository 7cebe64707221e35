// Classes of bytes that are relevant to a format: up to eight classes, one bit each, looked up by the halves of a byte.

/// Up to eight classes of bytes, such as the quotes or the line ends of a format.
///
/// A byte belongs to a class if the class's bit is set in both tables: for its low four bits and for its high four bits. The
/// bytes of a class must therefore be all combinations of some low halves and some high halves. This is true for `{` and `[`,
/// but not for comma and colon.
package struct ByteClasses: Sendable {
    /// The classes that a byte may have by its low four bits.
    package let low: SIMD16<UInt8>
    /// The classes that a byte may have by its high four bits.
    package let high: SIMD16<UInt8>

    /// Creates one class from the bytes of each text. The first class has the lowest bit.
    ///
    /// - Precondition: There are at most eight texts, and the bytes of each are all combinations of some halves.
    package init(_ texts: String...) {
        precondition(texts.count <= 8, "there can be at most eight classes of bytes")
        var (low, high) = (SIMD16<UInt8>(), SIMD16<UInt8>())
        for (index, text) in texts.enumerated() {
            let bit: UInt8 = 1 << UInt8(index)
            let bytes = Array(text.utf8)
            for byte in bytes {
                low[Int(byte & 0x0F)] |= bit
                high[Int(byte >> 4)] |= bit
            }
            var found = 0
            for byte in UInt8.min ... .max {
                let classes: UInt8 = low[Int(byte & 0x0F)] & high[Int(byte >> 4)]
                if classes & bit != 0 { found += 1 }
            }
            precondition(found == Set(bytes).count, "the bytes of '\(text)' must be all combinations of their halves")
        }
        (self.low, self.high) = (low, high)
    }

    /// Returns the classes of a byte, one bit each.
    package func classes(of byte: UInt8) -> UInt8 { low[Int(byte & 0x0F)] & high[Int(byte >> 4)] }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ByteClasses: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testReturnsClassesOfEachByte": testReturnsClassesOfEachByte,
            "testRefusesUnsupportedClasses": testRefusesUnsupportedClasses,
        ]
    }

    private static func testReturnsClassesOfEachByte() {
        let texts = ["\"", "\\", "[{", "]}", ",", ":", "\t\n\r", " "]
        let classes = ByteClasses("\"", "\\", "[{", "]}", ",", ":", "\t\n\r", " ")
        for byte in UInt8.min ... .max {
            var expected: UInt8 = 0
            for (index, text) in texts.enumerated() where text.utf8.contains(byte) {
                expected |= 1 << UInt8(index)
            }
            expectEqual(classes.classes(of: byte), expected, "byte \(byte)")
        }
    }

    private static func testRefusesUnsupportedClasses() {
        expectTrap("a comma and a colon") { _ = ByteClasses(",:") }
        expectTrap("nine") { _ = ByteClasses("1", "2", "3", "4", "5", "6", "7", "8", "9") }
    }
}
#endif
