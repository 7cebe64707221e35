// The fast path through content. It checks 64 bytes at a time, and lists the offsets where text, names and values end.

import BlockMasks
import PlistStreaming

/// The offsets of the bytes with a special meaning in a window of a piece. The window has only allowed characters.
@safe
@usableFromInline
struct MarkupStops: ~Copyable {
    @safe
    private final class Memory {
        static let blockCount = 128
        /// All memory that is read was written before.
        let words = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: blockCount * BlockScan.wordCount)
        /// One offset for each byte, and eight more that the last write may overwrite.
        let offsets = UnsafeMutableBufferPointer<UInt16>.allocate(capacity: blockCount * BlockScan.blockCount + 16)

        deinit {
            unsafe words.deallocate()
            unsafe offsets.deallocate()
        }
    }

    /// The maximum number of bytes that are checked together.
    static let byteCountMax = Memory.blockCount * BlockScan.blockCount

    // The first three classes are stops. The last class has the bytes of U+FFFF. Only these bytes can begin a character that
    // documents exclude.
    private static let classes = ByteClasses("<>", "\"&'", "\r]", "\t\n", "\u{FFFF}")

    private var memory: Memory?
    /// The offsets of the stops, relative to `base`: `<`, `>`, `&`, quotes, CR and `]`. The count of bytes follows them
    /// several times.
    @usableFromInline var offsets: UnsafePointer<UInt16>?
    private var offsetCount = 0
    /// The offset of the window in the piece.
    @usableFromInline var base = 0
    /// The number of bytes in the window, or 0 while the tokenizer reads other text.
    @usableFromInline var activeCount = 0
    private var checkedCount = 0
    /// The index of the first stop at or after the next part, or an index before it.
    @usableFromInline var cursor = 0

    /// Checks the next blocks of a piece, and finds the stops in them.
    ///
    /// - Returns: The end of the checked characters, or nil if they may be invalid, or if no whole block is left.
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
        // SAFETY: each block has eight words and up to 64 offsets. Each round writes eight offsets, which may be up to eight
        // more than the stops. The memory has space for all of them.
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

    /// Sets whether the tokenizer reads the piece.
    mutating func use(_ isPiece: Bool) { activeCount = isPiece ? checkedCount : 0 }

    /// Returns whether two adjacent bytes are both bytes of U+FFFF.
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
            // A character that is cut off may be one of these two.
            if offset + 2 >= bytes.byteCount || bytes.uncheckedByte(offset + 2) >= 0xBE { return true }
        }
        return false
    }

    /// Returns the number of bytes in whole characters.
    private static func wholeCharacters(_ bytes: RawSpan) -> Int {
        let count = bytes.byteCount
        for back in 1...3 {
            let byte = bytes.uncheckedByte(count - back)
            if byte < 0x80 { return count }
            if byte >= 0xC0 {
                return NameBytes.characterCount(byte) > back ? count - back : count
            }
        }
        return count
    }

    // MARK: Lookup

    /// Returns the index of the first stop at or after an offset.
    private func index(of offset: Int) -> Int {
        guard let offsets = unsafe offsets else { return 0 }
        var (low, high) = (0, offsetCount)
        while low < high {
            let middle = (low &+ high) &>> 1
            // SAFETY: the index is below the count.
            if Int(unsafe offsets[middle]) < offset { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// Moves the cursor to an offset of the piece. Returns false if the stops aren't known there.
    mutating func seek(_ start: Int) -> Bool {
        let offset = start &- base
        guard UInt(bitPattern: offset) < UInt(bitPattern: activeCount), let offsets = unsafe offsets else {
            return false
        }
        // SAFETY: the cursor is at most at the first of the four ends after the offsets.
        if Int(unsafe offsets[cursor]) <= offset {
            for _ in 0..<4 {
                if Int(unsafe offsets[cursor]) >= offset { return true }
                cursor &+= 1
            }
        }
        cursor = index(of: offset)
        return true
    }

    /// Returns the stop at an index, relative to `base`.
    ///
    /// PERF: inlinable, because the loop that sends parts to sinks of other packages is inlinable too.
    @inlinable @inline(__always)
    func stop(_ index: Int) -> Int {
        guard let offsets = unsafe offsets else { return 0 }
        // SAFETY: no caller continues after the first end, and three more ends follow.
        return Int(unsafe offsets[index])
    }

    /// Returns whether a nonempty range, relative to `base`, has a tab or a line feed.
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
