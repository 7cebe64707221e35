// The fast way through text: 64 bytes at a time are checked, and become bits of where a run of text or a value stops.

import BlockMasks
import PlistStreaming

/// Where text and values stop within a part of a piece, and whether that part is of allowed characters.
@safe
struct MarkupStops: ~Copyable {
    @safe
    private final class Memory {
        static let blockCount = 256
        /// The masks of all blocks, and behind them a word a block for text, and one for values.
        let words = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: blockCount * (BlockScan.wordCount + 2))

        init() { unsafe words.initialize(repeating: 0) }

        deinit { unsafe words.deallocate() }
    }

    // The last class has the bytes that U+FFFF has: only these may begin what is no character of documents.
    private static let classes = ByteClasses("<", "&", "\r", "]", "\t\n", "\"", "'", "\u{FFFF}")

    private var memory: Memory?
    private var textWords: UnsafePointer<UInt64>?
    /// Where the first block begins in the piece.
    private var base = 0
    /// The bytes of the blocks, 0 while the tokenizer looks at something else.
    private var activeCount = 0
    private var maskedCount = 0

    /// Checks the next blocks of a piece, and finds the stops in them.
    ///
    /// - Returns: Where the checked characters end; nil if something may be wrong, or if there is no block.
    mutating func scan(_ piece: RawSpan, from start: Int, to end: Int) -> Int? {
        let blockCount = min((end - start) / BlockScan.blockCount, Memory.blockCount)
        (activeCount, maskedCount) = (0, 0)
        guard blockCount > 0 else { return nil }
        let memory = self.memory ?? Memory()
        self.memory = memory
        let bytes = piece.part(start, blockCount * BlockScan.blockCount)
        var scan = BlockScan(Self.classes)
        let words = unsafe memory.words
        guard unsafe scan.scan(bytes, into: words).isEmpty else { return nil }
        let first = Memory.blockCount * BlockScan.wordCount
        var mayBeForbidden: UInt64 = 0
        var carried: UInt64 = 0
        // SAFETY: the memory has room for eight words a block, and two behind those of all blocks.
        for block in 0..<blockCount {
            let at = block &* BlockScan.wordCount
            unsafe words[first &+ block] = words[at] | words[at &+ 1] | words[at &+ 2] | words[at &+ 3]
            unsafe words[first &+ Memory.blockCount &+ block] =
                words[at] | words[at &+ 1] | words[at &+ 2] | words[at &+ 4] | words[at &+ 5] | words[at &+ 6]
            let high = unsafe words[at &+ 7]
            mayBeForbidden |= high & (high &<< 1 | carried)
            carried = high &>> 63
        }
        if mayBeForbidden != 0, Self.hasForbidden(bytes) { return nil }
        unsafe textWords = UnsafePointer(words.baseAddress).map { unsafe $0 + first }
        base = start
        maskedCount = bytes.byteCount
        activeCount = maskedCount
        return start + Self.wholeCharacters(bytes)
    }

    /// Says whether the tokenizer looks at the piece.
    mutating func use(_ isPiece: Bool) { activeCount = isPiece ? maskedCount : 0 }

    // SPEC: XML 1.0, production 2: U+FFFE and U+FFFF are the only characters beyond ASCII in UTF-8 that are not allowed.
    private static func hasForbidden(_ bytes: RawSpan) -> Bool {
        for offset in 0..<bytes.byteCount - 1
        where bytes.uncheckedByte(offset) == 0xEF && bytes.uncheckedByte(offset + 1) == 0xBF {
            // A character that is cut off may be one of the two.
            if offset + 2 >= bytes.byteCount || bytes.uncheckedByte(offset + 2) >= 0xBE { return true }
        }
        return false
    }

    /// The bytes of the characters that are whole.
    private static func wholeCharacters(_ bytes: RawSpan) -> Int {
        let count = bytes.byteCount
        for back in 1...3 {
            let byte = bytes.uncheckedByte(count - back)
            if byte < 0x80 { return count }
            if byte >= 0xC0 {
                let needed = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
                return needed > back ? count - back : count
            }
        }
        return count
    }

    // MARK: Looking

    /// The next `<`, `&`, CR or `]` from an offset on; the offset itself or one further on where that is not known.
    @inline(__always)
    func endOfText(from start: Int) -> Int { stop(from: start, 0) }

    /// The next `<`, `&`, quote, CR, LF or tab.
    @inline(__always)
    func endOfValue(from start: Int) -> Int { stop(from: start, Memory.blockCount) }

    @inline(__always)
    private func stop(from start: Int, _ first: Int) -> Int {
        let offset = start &- base
        guard UInt(bitPattern: offset) < UInt(bitPattern: activeCount), let words = unsafe textWords else {
            return start
        }
        var block = offset &>> 6
        // SAFETY: the blocks are below the count, so that their words were written; the memory lives as long as self.
        var word = unsafe words[first &+ block] & (~0 &<< UInt64(offset & 63))
        while word == 0 {
            block &+= 1
            if (block &<< 6) >= activeCount { return base &+ activeCount }
            word = unsafe words[first &+ block]
        }
        return base &+ (block &<< 6) &+ word.trailingZeroBitCount
    }
}
