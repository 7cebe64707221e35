// The fast way through content: 64 bytes at a time are checked, and become a list of where text, names and values stop.

import BlockMasks
import PlistStreaming

/// Where a part of a piece has bytes that mean something, and whether that part is of allowed characters.
@safe
@usableFromInline
struct MarkupStops: ~Copyable {
    @safe
    private final class Memory {
        static let blockCount = 128
        /// All that is read of both memories was written before.
        let words = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: blockCount * BlockScan.wordCount)
        /// One for each byte, and eight that are written at once behind the last ones.
        let offsets = UnsafeMutableBufferPointer<UInt16>.allocate(capacity: blockCount * BlockScan.blockCount + 16)

        deinit {
            unsafe words.deallocate()
            unsafe offsets.deallocate()
        }
    }

    /// The most bytes that are looked at together.
    static let byteCountMax = Memory.blockCount * BlockScan.blockCount

    // The first three are stops. The last class has the bytes that U+FFFF has: only these may begin what is no character of documents.
    private static let classes = ByteClasses("<>", "\"&'", "\r]", "\t\n", "\u{FFFF}")

    private var memory: Memory?
    /// The offsets of the stops from the first byte on: `<`, `>`, `&`, quotes, CR and `]`. Behind them is the count of bytes, several times.
    @usableFromInline var offsets: UnsafePointer<UInt16>?
    private var offsetCount = 0
    /// Where the first byte is in the piece.
    @usableFromInline var base = 0
    /// The bytes, 0 while the tokenizer looks at something else.
    @usableFromInline var activeCount = 0
    private var checkedCount = 0
    /// The index of a stop, which is the first one that is not before the next part, or one before that.
    @usableFromInline var cursor = 0

    /// Checks the next blocks of a piece, and finds the stops in them.
    ///
    /// - Returns: Where the checked characters end; nil if something may be wrong, or if there is no block.
    mutating func scan(_ piece: RawSpan, from start: Int, to end: Int) -> Int? {
        let blockCount = min((end - start) / BlockScan.blockCount, Memory.blockCount)
        (activeCount, checkedCount) = (0, 0)
        guard blockCount > 0 else { return nil }
        let memory = self.memory ?? Memory()
        self.memory = memory
        let bytes = piece.part(start, blockCount * BlockScan.blockCount)
        var scan = BlockScan(Self.classes)
        let words = unsafe memory.words
        guard unsafe scan.scan(bytes, into: words).isEmpty else { return nil }
        if unsafe Self.mayBeForbidden(words, blockCount), Self.hasForbidden(bytes) { return nil }
        checkedCount = Self.wholeCharacters(bytes)
        unsafe offsets = UnsafePointer(memory.offsets.baseAddress)
        offsetCount = unsafe Self.list(words, blockCount, into: memory.offsets)
        for index in 0..<4 { unsafe memory.offsets[offsetCount + index] = UInt16(checkedCount) }
        (base, cursor, activeCount) = (start, 0, checkedCount)
        return start + checkedCount
    }

    /// Lists the stops of blocks, and returns their number.
    @unsafe
    private static func list(
        _ words: UnsafeMutableBufferPointer<UInt64>, _ blockCount: Int,
        into offsets: UnsafeMutableBufferPointer<UInt16>
    ) -> Int {
        guard let words = words.baseAddress, var next = offsets.baseAddress else { return 0 }
        let start = unsafe next
        // SAFETY: there are eight words a block, and room for 64 offsets a block and eight more, of which each round writes as many as there
        // are stops at most, or eight.
        for block in 0..<blockCount {
            let at = block &* BlockScan.wordCount
            var word = unsafe words[at] | words[at &+ 1] | words[at &+ 2]
            let first = UInt16(truncatingIfNeeded: block &* BlockScan.blockCount)
            let count = word.nonzeroBitCount
            var written = unsafe next
            repeat {
                for index in 0..<8 {
                    unsafe written[index] = first &+ UInt16(truncatingIfNeeded: word.trailingZeroBitCount)
                    word &= word &- 1
                }
                unsafe written += 8
            } while word != 0
            unsafe next += count
        }
        return unsafe next - start
    }

    /// Says whether the tokenizer looks at the piece.
    mutating func use(_ isPiece: Bool) { activeCount = isPiece ? checkedCount : 0 }

    /// Returns whether two bytes follow each other that U+FFFF has.
    @unsafe
    private static func mayBeForbidden(_ words: UnsafeMutableBufferPointer<UInt64>, _ blockCount: Int) -> Bool {
        var (found, carried): (UInt64, UInt64) = (0, 0)
        for block in 0..<blockCount {
            // SAFETY: there are eight words a block.
            let high = unsafe words[block &* BlockScan.wordCount &+ 4]
            found |= high & (high &<< 1 | carried)
            carried = high &>> 63
        }
        return found != 0
    }

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

    /// The next stop from an offset of the piece on, or where the stops are not known; the offset itself where none is.
    func next(from start: Int) -> Int {
        let offset = start &- base
        guard UInt(bitPattern: offset) < UInt(bitPattern: activeCount), let offsets = unsafe offsets else {
            return start
        }
        // SAFETY: indexes are below the count of offsets, and behind the last one is the end.
        return unsafe base &+ Int(offsets[index(of: offset)])
    }

    /// The index of the first stop from an offset on.
    private func index(of offset: Int) -> Int {
        guard let offsets = unsafe offsets else { return 0 }
        var (low, high) = (0, offsetCount)
        while low < high {
            let middle = (low &+ high) &>> 1
            // SAFETY: it is below the count.
            if Int(unsafe offsets[middle]) < offset { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// Puts the cursor to an offset of the piece; false if stops are not known there.
    mutating func seek(_ start: Int) -> Bool {
        let offset = start &- base
        guard UInt(bitPattern: offset) < UInt(bitPattern: activeCount), let offsets = unsafe offsets else {
            return false
        }
        // SAFETY: the cursor is at most at the first of the four ends behind the offsets.
        if Int(unsafe offsets[cursor]) <= offset {
            for _ in 0..<4 {
                if Int(unsafe offsets[cursor]) >= offset { return true }
                cursor &+= 1
            }
        }
        cursor = index(of: offset)
        return true
    }

    /// The stop at an index, from the first byte on.
    ///
    /// PERF: inlinable, as the loop is that sends parts to sinks of other packages.
    @inlinable @inline(__always)
    func stop(_ index: Int) -> Int {
        guard let offsets = unsafe offsets else { return 0 }
        // SAFETY: nobody goes on behind the first end, and there are three more.
        return Int(unsafe offsets[index])
    }

    /// Returns whether a tab or a line feed is in a range from the first byte on, which is not empty.
    mutating func hasTabs(_ start: Int, _ end: Int) -> Bool {
        guard let memory else { return false }
        var block = start &>> 6
        let last = (end &- 1) &>> 6
        var word: UInt64 = ~0 &<< UInt64(start & 63)
        while block <= last {
            // SAFETY: bytes of the range are within the blocks, which have eight words each.
            word &= unsafe memory.words[block &* BlockScan.wordCount &+ 3]
            if block == last { word &= ~0 &>> UInt64(63 &- (end &- 1) & 63) }
            if word != 0 { return true }
            word = ~0
            block &+= 1
        }
        return false
    }
}
