// Conversion of text to bit masks, 64 bytes at a time, with the processor's vectors or in plain Swift. The Swift code is the
// specification of the vector code.

import CBlockMasks

/// A pass over text that converts each block of 64 bytes to bit masks, one for each class of bytes, and checks UTF-8.
///
/// The words of a block are stored in the order of the classes. The bit of the first byte is the lowest one. Text can be
/// scanned in pieces of whole blocks.
package struct BlockScan: Sendable {
    /// The number of bytes in a block and of bits in a word.
    package static let blockCount = 64
    /// The number of words for a block.
    package static let wordCount = 8

    /// Other bytes that a scan found.
    package struct Findings: OptionSet, Sendable {
        package let rawValue: Int32
        package init(rawValue: Int32) { self.rawValue = rawValue }

        /// Invalid UTF-8. A character that the end of a piece cuts off is checked with the next piece.
        package static let invalidText = Findings(rawValue: 1)
        /// Control characters, below 0x20, that don't belong to a class.
        package static let controls = Findings(rawValue: 2)
    }

    /// The widths of vectors that this processor supports, and 0 for plain Swift.
    package static let widths: [Int32] = [0, 16, 32, 64].filter { $0 <= widest }
    /// The greatest width of vectors that this processor supports, or 0.
    package static let widest: Int32 = cblockmasks_width()

    private let classes: ByteClasses
    private let width: Int32
    /// The four bytes before the next block, the last one in the high bits. Zeros stand for bytes before the beginning.
    private var previous: UInt32 = 0

    /// Creates a pass that starts at the beginning of a text or of a character.
    package init(_ classes: ByteClasses) { self.init(classes, width: Self.widest) }

    /// Creates a pass with vectors of one of the supported widths.
    package init(_ classes: ByteClasses, width: Int32) {
        self.classes = classes
        self.width = width
    }

    /// Classifies the next blocks.
    ///
    /// - Parameters:
    ///   - bytes: Whole blocks.
    ///   - masks: Memory for eight words a block.
    /// - Returns: The problems in the blocks, without their positions. To find a position, check each byte.
    /// - Complexity: O(*n*), 5 to 12 GB/s in vectors.
    package mutating func scan(_ bytes: RawSpan, into masks: UnsafeMutableBufferPointer<UInt64>) -> Findings {
        let count = bytes.byteCount / Self.blockCount
        precondition(
            bytes.byteCount == count * Self.blockCount && masks.count >= count * Self.wordCount,
            "expected whole blocks, and memory for eight words each")
        guard count > 0, let words = masks.baseAddress else { return [] }
        guard width > 0 else { return unsafe scanPlainly(bytes, into: masks) }
        // SAFETY: the memory has `count` blocks, and eight words for each; the pointers do not leave the closures.
        return unsafe bytes.withUnsafeBytes { bytes in
            guard let bytes = bytes.baseAddress else { return [] }
            return unsafe withUnsafeBytes(of: classes.low) { low in
                unsafe withUnsafeBytes(of: classes.high) { high in
                    let found = unsafe cblockmasks_classify(
                        width, bytes.assumingMemoryBound(to: UInt8.self), count,
                        low.bindMemory(to: UInt8.self).baseAddress, high.bindMemory(to: UInt8.self).baseAddress,
                        &previous, words)
                    return Findings(rawValue: found)
                }
            }
        }
    }

    /// Stores the positions of the bits of a class in blocks, and returns their number.
    ///
    /// - Parameters:
    ///   - masks: Eight words a block.
    ///   - places: Memory for 64 more positions than the number of bits.
    /// - Complexity: O(*blocks + bits*).
    package static func storePlaces(
        of index: Int, in masks: UnsafeMutableBufferPointer<UInt64>, _ blockCount: Int,
        to places: UnsafeMutablePointer<UInt32>
    ) -> Int {
        guard let words = unsafe word(index, masks, blockCount) else { return 0 }
        return unsafe cblockmasks_places(widest, words, wordCount, blockCount, places)
    }

    /// Counts the bits of a class in blocks of eight words each.
    package static func count(
        of index: Int, in masks: UnsafeMutableBufferPointer<UInt64>, _ blockCount: Int
    ) -> Int {
        guard let words = unsafe word(index, masks, blockCount) else { return 0 }
        return unsafe cblockmasks_count(widest, words, wordCount, blockCount)
    }

    /// The first word of a class, or nil without blocks.
    private static func word(
        _ index: Int, _ masks: UnsafeMutableBufferPointer<UInt64>, _ blockCount: Int
    ) -> UnsafePointer<UInt64>? {
        precondition(
            0..<wordCount ~= index && masks.count >= blockCount * wordCount,
            "expected one of eight classes, and memory for eight words for each block")
        // SAFETY: the line above has compared the number of words.
        return unsafe blockCount > 0 ? masks.baseAddress.map { unsafe UnsafePointer($0 + index) } : nil
    }

    /// Scans blocks without vectors. This is the specification of the vector code, and runs on processors without vectors.
    private mutating func scanPlainly(_ bytes: RawSpan, into masks: UnsafeMutableBufferPointer<UInt64>) -> Findings {
        var findings: Findings = []
        for block in 0..<bytes.byteCount / Self.blockCount {
            var words = SIMD8<UInt64>()
            for eight in 0..<8 {
                var found: UInt64 = 0
                for place in 0..<8 {
                    // SAFETY: within a whole block, which is within the span.
                    let byte = unsafe bytes.unsafeLoad(
                        fromUncheckedByteOffset: block &* 64 &+ eight &* 8 &+ place, as: UInt8.self)
                    let classes = classes.classes(of: byte)
                    found |= UInt64(classes) &<< UInt64(8 &* place)
                    if classes == 0, byte < 0x20 { findings.insert(.controls) }
                    if !Self.mayFollow(byte, previous) { findings.insert(.invalidText) }
                    previous = previous &>> 8 | UInt32(byte) &<< 24
                }
                let columns = Self.transposed(found)
                for index in 0..<8 {
                    words[index] |= (columns &>> UInt64(8 &* index) & 0xFF) &<< UInt64(8 &* eight)
                }
            }
            for index in 0..<Self.wordCount { unsafe masks[block &* Self.wordCount &+ index] = words[index] }
        }
        return findings
    }

    /// A square of eight bytes of eight bits, with rows and columns exchanged (Warren, "Hacker's Delight", 7-3).
    static func transposed(_ square: UInt64) -> UInt64 {
        var square = square
        for (shift, mask) in [
            (7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0),
        ] as [(UInt64, UInt64)] {
            let difference = (square ^ square &>> shift) & mask
            square ^= difference ^ difference &<< shift
        }
        return square
    }

    // SPEC: Unicode 16, table 3-7.
    /// Returns whether UTF-8 allows a byte after the four previous ones.
    package static func mayFollow(_ byte: UInt8, _ previous: UInt32) -> Bool {
        let (last, second, third) = (UInt8(previous >> 24), UInt8(previous >> 16 & 0xFF), UInt8(previous >> 8 & 0xFF))
        let isContinuation = byte & 0xC0 == 0x80
        switch last {
        case 0xE0: return isContinuation && byte >= 0xA0
        case 0xED: return isContinuation && byte < 0xA0
        case 0xF0: return isContinuation && byte >= 0x90
        case 0xF4: return isContinuation && byte < 0x90
        case 0xC2...0xF4: return isContinuation
        case 0x80...0xBF where second >= 0xE0 || third >= 0xF0: return isContinuation
        default: return byte < 0x80 || 0xC2...0xF4 ~= byte
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension BlockScan: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testSetsBitsForBytesOfClass": testSetsBitsForBytesOfClass,
            "testAgreesWithTheStandardLibraryOnUTF8": testAgreesWithTheStandardLibraryOnUTF8,
            "testFindsControlsOutsideClasses": testFindsControlsOutsideClasses,
            "testContinuesCharactersAcrossBlocks": testContinuesCharactersAcrossBlocks,
            "testFindsSameBitsAtEveryWidth": testFindsSameBitsAtEveryWidth,
            "testRefusesPartsOfBlocks": testRefusesPartsOfBlocks,
            "testListsOffsetsOfSetBits": testListsOffsetsOfSetBits,
        ]
    }

    private static let classes = ByteClasses("\"", "\\", "[{", "]}", ",", ":", "\t\n\r", " ")

    /// Scans whole blocks in pieces with a number of blocks, and returns the words and findings.
    private static func outcome(
        _ bytes: [UInt8], _ width: Int32, pieces: Int = .max
    ) -> (words: [UInt64], findings: Findings) {
        var scan = BlockScan(classes, width: width)
        var words = [UInt64](repeating: 0xAAAA, count: bytes.count / 8)
        var findings: Findings = []
        // SAFETY: spans and memory do not leave the closures.
        unsafe words.withUnsafeMutableBufferPointer { words in
            unsafe bytes.withUnsafeBytes { bytes in
                var block = 0
                while block * 64 < bytes.count {
                    let count = min(pieces, bytes.count / 64 - block)
                    let piece = unsafe bytes.bytes.extracting(block * 64..<(block + count) * 64)
                    let memory = unsafe UnsafeMutableBufferPointer(rebasing: words[(block * 8)...])
                    unsafe findings.formUnion(scan.scan(piece, into: memory))
                    block += count
                }
            }
        }
        return (words, findings)
    }

    private static func blank(_ count: Int) -> [UInt8] { [UInt8](repeating: 0x61, count: count) }

    private static func testSetsBitsForBytesOfClass() {
        for width in widths {
            for byte in UInt8.min ... .max {
                for place in [0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 100, 127] {
                    var bytes = blank(128)
                    bytes[place] = byte
                    let words = outcome(bytes, width).words
                    for index in 0..<8 {
                        let isSet = classes.classes(of: byte) & 1 << UInt8(index) != 0
                        let expected: [UInt64] = (0..<2).map {
                            isSet && place / 64 == $0 ? 1 << UInt64(place % 64) : 0
                        }
                        guard [words[index], words[8 + index]] != expected else { continue }
                        expectEqual([words[index], words[8 + index]], expected, "\(byte) at \(place), width \(width)")
                    }
                }
            }
        }
    }

    /// Every first and second byte, with continuations that are mostly valid, at the edges of vectors and blocks.
    private static func testAgreesWithTheStandardLibraryOnUTF8() {
        var rows: [[UInt8]] = []
        for first in UInt8(0x7F) ... .max {
            for second: UInt8 in [0x61, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF] {
                for rest: [UInt8] in [
                    [0x80, 0xBF, 0x61], [0x61, 0x61, 0x61], [0x80, 0x61, 0x61], [0x80, 0x80, 0x80],
                ] {
                    rows.append([first, second] + rest)
                }
            }
        }
        for row in rows {
            let isValid = String(validating: row, as: UTF8.self) != nil
            for place in [0, 13, 29, 61, 62, 63, 64] {
                let bytes = blank(place) + row + blank(128 - place - row.count)
                for width in widths {
                    let found = outcome(bytes, width).findings
                    guard found.contains(.invalidText) == isValid else { continue }
                    expectEqual(!found.contains(.invalidText), isValid, "\(row) at \(place), width \(width)")
                }
            }
        }
    }

    private static func testFindsControlsOutsideClasses() {
        for width in widths {
            for byte in UInt8.min..<0x30 {
                for place in [0, 31, 63, 64, 127] {
                    var bytes = blank(128)
                    bytes[place] = byte
                    let isFound = outcome(bytes, width).findings.contains(.controls)
                    let expected = byte < 0x20 && ![0x09, 0x0A, 0x0D].contains(byte)
                    if isFound != expected { expectEqual(isFound, expected, "\(byte) at \(place), width \(width)") }
                }
            }
        }
    }

    /// A character that the end cuts off is not an error until the next block is scanned.
    private static func testContinuesCharactersAcrossBlocks() {
        for text in ["é", "€", "🙂"] {
            let character = Array(text.utf8)
            for count in 1..<character.count {
                let start = blank(64 - count) + character.prefix(count)
                let valid = start + character.dropFirst(count) + blank(64 - character.count + count)
                for width in widths {
                    expectEqual(outcome(start, width).findings, [], "\(count) bytes of \(text), width \(width)")
                    for pieces in [1, 2] {
                        expectEqual(
                            outcome(valid, width, pieces: pieces).findings, [], "\(text) in \(pieces), width \(width)")
                        expectEqual(
                            outcome(start + blank(64), width, pieces: pieces).findings, .invalidText,
                            "\(count) bytes of \(text) and others in \(pieces), width \(width)")
                    }
                }
            }
        }
    }

    private static func testFindsSameBitsAtEveryWidth() {
        var generator = TestRandom(seed: 20_261_122)
        let alphabet: [UInt8] = Array("\"\\[{]},: \n\ta0é€🙂".utf8) + [0x00, 0x1F, 0xC0, 0xED, 0xF5, 0xFF]
        for round in 0..<400 {
            let bytes: [UInt8] = (0..<64 * 5).map { _ in
                round % 4 == 0
                    ? UInt8.random(in: .min ... .max, using: &generator)
                    : alphabet.randomElement(using: &generator) ?? 0
            }
            let expected = outcome(bytes, 0)
            for width in widths {
                for pieces in [1, 2, 5] {
                    let found = outcome(bytes, width, pieces: pieces)
                    expectTrue(found == expected, "round \(round), width \(width), \(pieces) blocks at a time")
                }
            }
        }
    }

    private static func testListsOffsetsOfSetBits() {
        var random = TestRandom(seed: 64)
        for round in 0..<200 {
            let blockCount = round % 7
            var words = (0..<blockCount * wordCount).map { _ in UInt64.random(in: 0 ... .max, using: &random) }
            // Words without bits, with some bits and with all bits.
            for index in words.indices where round % 3 > 0 {
                words[index] =
                    round % 3 == 1 ? words[index] & words[index] << 9 & words[index] >> 21 : ~0 << UInt64(round % 66)
            }
            let index = round % wordCount
            let expected = (0..<blockCount * 64).filter {
                words[$0 / 64 * wordCount + index] >> UInt64($0 % 64) & 1 == 1
            }
            for width in widths {
                var places = [UInt32](repeating: .max, count: blockCount * 64 + 64)
                // SAFETY: the memory has 64 more positions than bits.
                let count = unsafe places.withUnsafeMutableBufferPointer { places in
                    unsafe words.withUnsafeMutableBufferPointer { words in
                        guard let places = places.baseAddress, let words = words.baseAddress, blockCount > 0 else {
                            return 0
                        }
                        return unsafe Int(cblockmasks_places(width, words + index, wordCount, blockCount, places))
                    }
                }
                expectEqual(places.prefix(count).map { Int($0) }, expected, "round \(round), width \(width)")
            }
            let counted = unsafe words.withUnsafeMutableBufferPointer { unsafe count(of: index, in: $0, blockCount) }
            expectEqual(counted, expected.count, "round \(round)")
        }
        expectTrap("no word of a block") {
            var words: [UInt64] = [1]
            _ = unsafe words.withUnsafeMutableBufferPointer { unsafe count(of: 0, in: $0, 1) }
        }
    }

    private static func testRefusesPartsOfBlocks() {
        func scan(_ byteCount: Int, _ wordCount: Int) {
            var scan = BlockScan(classes)
            var words = [UInt64](repeating: 0, count: wordCount)
            // SAFETY: as above.
            unsafe words.withUnsafeMutableBufferPointer { words in
                unsafe blank(byteCount).withUnsafeBytes { _ = unsafe scan.scan($0.bytes, into: words) }
            }
        }
        expectTrap("63 bytes") { scan(63, 8) }
        expectTrap("65 bytes") { scan(65, 16) }
        expectTrap("seven words") { scan(64, 7) }
        scan(0, 0)
        scan(64, 8)
    }
}
#endif
