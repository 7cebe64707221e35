// The tokens of JSON text as bit masks, 64 bytes per word: the starts of tokens, the ends of strings, and tokens at
// invalid positions. Skipping a value examines only its brackets, numbers and escapes.

import BlockMasks
import PlistBuilding
import PlistStreaming

/// The masks for a part of a chunk's text that begins at the start of a token.
///
/// The masks cover the text as far as it is valid UTF-8 without stray control characters; the plain scanner handles the
/// rest and reports its errors. The type is trivial, so its memory can be freed without deinitialization.
@unsafe
struct TokenMasks {
    /// The maximum number of blocks in memory.
    static let capacity = TokenFinder.capacity
    /// The number of blocks to examine first, before anything is known about the text.
    private static let firstCount = 2

    /// The offset of the first byte in the chunk.
    private(set) var start = 0
    /// The number of valid blocks.
    private(set) var count = 0
    /// A Boolean value that indicates whether the text continues after the blocks.
    private(set) var hasMore = false
    /// The masks, one after the other, each with one word per block and an unused word.
    private let words: UnsafeMutablePointer<UInt64>
    private var finder = TokenFinder()
    private var nextCount = firstCount
    /// The maximum number of blocks examined together; a string within them is within the limit.
    private var largestCount = capacity
    /// The length so far of a string that is open at the end of the last block, if there is one.
    private var openStringLength = 0
    /// The number of bytes examined since the last beginning, and the number of skipped bytes among them.
    private var lookedCount = 0
    var skippedCount = 0
    /// The offset of the escape that is the second of a surrogate pair.
    var secondOfPair = -1

    private init(words: UnsafeMutablePointer<UInt64>) { unsafe self.words = unsafe words }

    /// Creates masks in newly allocated memory, followed by the words. The caller must free it.
    static func allocate(limit: Int) -> UnsafeMutableRawPointer {
        let count = unsafe MemoryLayout<TokenMasks>.size
        let size = (count + 63) & ~63
        let wordCount = TokenFinder.wordStride * TokenFinder.Mask.allCases.count
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: size + wordCount * MemoryLayout<UInt64>.stride, alignment: 64)
        // SAFETY: the words begin after the masks, with the alignment of the memory; both are trivial.
        let words = unsafe (memory + size).initializeMemory(as: UInt64.self, repeating: 0, count: wordCount)
        var masks = unsafe TokenMasks(words: words)
        unsafe masks.reset(limit: limit)
        unsafe memory.initializeMemory(as: TokenMasks.self, to: masks)
        return unsafe memory
    }

    /// Makes the masks of records discard an earlier chunk.
    ///
    /// - Parameter isFirst: A Boolean value that indicates whether these are the first records of a chunk.
    static func prepare(_ state: UnsafeMutablePointer<RecordState>, isFirst: Bool) {
        unsafe state.pointee.outermost = unsafe state
        guard isFirst, let masks = unsafe known(to: state) else { return }
        unsafe masks.pointee.reset(limit: state.pointee.limit)
    }

    /// Returns the masks of records, if any.
    @inline(__always)  // PERF: JSONTyped/posts; once a string of more than a word.
    static func known(to state: UnsafeMutablePointer<RecordState>) -> UnsafeMutablePointer<TokenMasks>? {
        // SAFETY: `prepare` was called for the outermost state, and only `made` gives it memory.
        unsafe state.pointee.outermost?.pointee.memory?.assumingMemoryBound(to: TokenMasks.self)
    }

    /// Returns the masks of records, which all levels share.
    @inline(__always)  // PERF: JSONTyped/posts; once an unneeded member.
    static func made(for state: UnsafeMutablePointer<RecordState>) -> UnsafeMutablePointer<TokenMasks>? {
        if let masks = unsafe known(to: state) { return unsafe masks }
        guard let outermost = unsafe state.pointee.outermost else { return nil }
        unsafe outermost.pointee.memory = allocate(limit: state.pointee.limit)
        return unsafe known(to: state)
    }

    /// Returns the word of a mask for a known block.
    @inline(__always)  // PERF: JSONTyped/posts; once a block.
    subscript(mask: TokenFinder.Mask, index: Int) -> UInt64 {
        assert(unsafe index >= 0 && index < count)
        // SAFETY: there are more than `capacity` words for each mask; the callers compare with the count.
        return unsafe words[mask.rawValue &* TokenFinder.wordStride &+ index]
    }

    /// The places of the known blocks; a place is the number of bytes after the start.
    @inline(__always)  // PERF: see above.
    var end: Int { unsafe count &* 64 }

    // PERF: JSONTyped/posts; mutating, so that the masks are not copied for a call.
    /// Returns at least 57 bits of a mask, starting at a place in a known block. Bits of places outside the known
    /// blocks are meaningless.
    @inline(__always)  // PERF: JSONTyped/posts; twice a member that is skipped, without a branch at the end of a block.
    mutating func bits(_ mask: TokenFinder.Mask, from place: Int) -> UInt64 {
        assert(unsafe place >= 0 && place < end)
        // SAFETY: a word follows the last mask.
        let memory = unsafe UnsafeRawPointer(words + mask.rawValue &* TokenFinder.wordStride)
        let word = unsafe memory.loadUnaligned(fromByteOffset: place &>> 3, as: UInt64.self)
        return UInt64(littleEndian: word) &>> UInt64(truncatingIfNeeded: place & 7)
    }

    /// Returns the place of the next bit of a mask from a place on, or a place outside the blocks.
    @inline(__always)  // PERF: see above.
    mutating func next(_ mask: TokenFinder.Mask, from place: Int) -> Int {
        let bits = unsafe bits(mask, from: place)
        return bits != 0 ? place &+ bits.trailingZeroBitCount : unsafe nextFar(mask, from: place &+ 57, to: count)
    }

    @inline(never)
    private mutating func nextFar(_ mask: TokenFinder.Mask, from place: Int, to last: Int) -> Int {
        var index = place &>> 6
        var range: UInt64 = .max &<< UInt64(truncatingIfNeeded: place & 63)
        while index < last {
            let bits = unsafe self[mask, index] & range
            if bits != 0 { return index &* 64 &+ bits.trailingZeroBitCount }
            range = .max
            index &+= 1
        }
        return .max
    }

    /// Returns whether a bit of a mask is set between a place and another known place.
    @inline(__always)  // PERF: see above.
    mutating func has(_ mask: TokenFinder.Mask, from place: Int, to last: Int) -> Bool {
        let count = last &- place
        guard count <= 57 else { return unsafe hasFar(mask, from: place, to: last) }
        return unsafe bits(mask, from: place) & ~(.max &<< UInt64(truncatingIfNeeded: count)) != 0
    }

    @inline(never)
    private mutating func hasFar(_ mask: TokenFinder.Mask, from place: Int, to last: Int) -> Bool {
        unsafe nextFar(mask, from: place, to: last &>> 6 &+ 1) < last
    }

    /// Discards the chunk.
    mutating func reset(limit: Int) {
        unsafe (start, count, hasMore, nextCount, secondOfPair) = (0, 0, false, Self.firstCount, -1)
        unsafe (lookedCount, skippedCount) = (0, 0)
        unsafe largestCount = max(1, min(Self.capacity, limit / BlockScan.blockCount))
    }

    /// Makes the block of an offset known, at which a name or another value begins; returns false if that isn't
    /// possible.
    @inline(__always)  // PERF: JSONTyped/posts; once a value that is skipped.
    mutating func cover(_ offset: Int, of bytes: RawSpan, atName: Bool = false) -> Bool {
        let place = unsafe offset &- start
        if unsafe place >= 0 && place < end { return true }
        return unsafe begin(at: offset, of: bytes, atName: atName)
    }

    /// Begins with a name or another value.
    @inline(never)
    private mutating func begin(at offset: Int, of bytes: RawSpan, atName: Bool) -> Bool {
        // If most of the text is skipped, more blocks are examined together.
        let place = unsafe offset &- start
        let isNear = unsafe place >= 0 && place < end &+ 1_024 && skippedCount &* 2 >= lookedCount
        unsafe nextCount = unsafe isNear && lookedCount > 0 ? nextCount &* 2 : Self.firstCount
        unsafe (start, finder) = (offset, TokenFinder(atName: atName))
        unsafe (lookedCount, skippedCount) = (0, 0)
        return unsafe classify(bytes)
    }

    /// Continues after the last block; returns false if that isn't possible, or if a string is too long.
    mutating func advance(_ bytes: RawSpan, limit: Int) -> Bool {
        guard unsafe hasMore else { return false }
        let isInString = unsafe finder.isInString
        let length = unsafe openStringLength
        unsafe start &+= count &* 64
        unsafe nextCount &*= 2
        guard unsafe classify(bytes) else { return false }
        guard isInString else { return true }
        for index in unsafe 0..<count {
            let quotes = unsafe self[.quotes, index]
            guard quotes == 0 else {
                return length &+ index &* 64 &+ quotes.trailingZeroBitCount <= limit
            }
        }
        unsafe openStringLength = length &+ count &* 64
        return unsafe openStringLength <= limit
    }

    /// Measures the string that is open after the last block, if it begins in one of the blocks.
    private mutating func measureOpenString() {
        for index in unsafe (0..<count).reversed() {
            let quotes = unsafe self[.quotes, index]
            guard quotes == 0 else {
                unsafe openStringLength = (count &- index) &* 64 &- 64 &+ quotes.leadingZeroBitCount
                return
            }
        }
    }

    /// Classifies blocks from the start on.
    private mutating func classify(_ bytes: RawSpan) -> Bool {
        unsafe nextCount = min(nextCount, largestCount)
        // A character that is cut by the chunk's end isn't part of the known text, and isn't an error.
        let rest = unsafe bytes.byteCount &- Self.cutCount(bytes) &- start
        let whole = unsafe max(0, min(nextCount, rest / 64))
        // SAFETY: the memory has `capacity` blocks, and no more are examined.
        unsafe count = unsafe finder.find(in: bytes.extracting(start..<start &+ whole &* 64), into: words)
        var isValid = unsafe count == whole
        if unsafe isValid && whole < nextCount && rest > whole &* 64 {
            // The rest of the text, followed by spaces.
            var block = (SIMD32<UInt8>(repeating: 0x20), SIMD32<UInt8>(repeating: 0x20))
            unsafe withUnsafeMutableBytes(of: &block) { block in
                // SAFETY: less than a block is left; the memory is that of the next block.
                unsafe bytes.extracting((start &+ whole &* 64)..<start &+ rest).withUnsafeBytes {
                    unsafe block.copyMemory(from: $0)
                }
                isValid = unsafe finder.find(in: UnsafeRawBufferPointer(block).bytes, into: words + whole) == 1
            }
            unsafe count &+= isValid ? 1 : 0
        }
        unsafe lookedCount &+= end
        unsafe hasMore = isValid && rest > end
        if unsafe hasMore && finder.isInString { unsafe measureOpenString() }
        return unsafe count > 0
    }

    /// Returns the number of bytes at the end of a span that begin a character without completing it.
    private static func cutCount(_ bytes: RawSpan) -> Int {
        for count in 1...3 where count <= bytes.byteCount {
            let byte = bytes.uncheckedByte(bytes.byteCount &- count)
            if byte < 0x80 { return 0 }
            if byte >= 0xC0 { return count < (byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2) ? count : 0 }
        }
        return 0
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension TokenMasks {
    /// Calls a closure with masks and a text.
    static func withMasks(_ text: [UInt8], _ body: (inout TokenMasks, RawSpan) -> Void) {
        let memory = unsafe allocate(limit: .max)
        defer { unsafe memory.deallocate() }
        let masks = unsafe memory.assumingMemoryBound(to: TokenMasks.self)
        // SAFETY: neither the span nor the masks leave the closure.
        unsafe text.withUnsafeBytes { unsafe body(&masks.pointee, $0.bytes) }
    }
}

enum TokenMasksTests {}

extension TokenMasksTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsTokensFromAnyOffset": testFindsTokensFromAnyOffset,
            "testEnlargesWindowForLargerSkips": testEnlargesWindowForLargerSkips,
            "testRefusesInvalidText": testRefusesInvalidText,
        ]
    }

    /// Every division into windows finds all quotes.
    private static func testFindsTokensFromAnyOffset() {
        for length in [1, 63, 64, 65, 511, 512, 513, 1_000, 5_000] {
            var text = Array(repeating: Array("\"ab\",".utf8), count: length / 5 + 1).flatMap { $0 }
            text.removeLast(text.count - length)
            unsafe TokenMasks.withMasks(text) { masks, bytes in
                var places: [Int] = []
                let isKnown = unsafe masks.cover(0, of: bytes)
                expectTrue(isKnown, "\(length) bytes")
                while true {
                    for index in unsafe 0..<masks.count {
                        var quotes = unsafe masks[.quotes, index]
                        while quotes != 0 {
                            unsafe places.append(masks.start + 64 * index + quotes.trailingZeroBitCount)
                            quotes &= quotes - 1
                        }
                    }
                    guard unsafe masks.advance(bytes, limit: 100) else { break }
                }
                expectEqual(places, text.indices.filter { text[$0] == UInt8(ascii: "\"") }, "in \(length) bytes")
            }
        }
    }

    private static func testEnlargesWindowForLargerSkips() {
        unsafe TokenMasks.withMasks([UInt8](repeating: UInt8(ascii: "["), count: 100_000)) { masks, bytes in
            var counts: [Int] = []
            for offset in [0, 127, 128, 383, 384, 900, 2_500, 5_500, 30_000, 100] {
                unsafe masks.skippedCount = 4_096
                _ = unsafe masks.cover(offset, of: bytes)
                unsafe counts.append(masks.count)
            }
            expectEqual(counts, [2, 2, 4, 4, 8, 16, 32, 64, 2, 2], "blocks")
            for (skipped, count) in [(63, 2), (64, 4), (127, 2), (128, 4)] {
                unsafe masks.skippedCount = skipped
                let offset = unsafe masks.start + masks.end
                _ = unsafe masks.cover(offset, of: bytes)
                unsafe expectEqual(masks.count, count, "blocks where \(skipped) bytes were skipped")
            }
        }
    }

    private static func testRefusesInvalidText() {
        for byte: UInt8 in [0x00, 0x0B, 0x1F, 0x80, 0xFF] {
            var text = Array("[1,2]".utf8) + [UInt8](repeating: 0x20, count: 1_000)
            text[100] = byte
            unsafe TokenMasks.withMasks(text) { masks, bytes in
                expectFalse(unsafe masks.cover(0, of: bytes), "byte \(byte)")
                expectFalse(unsafe masks.advance(bytes, limit: 100), "what follows it")
                expectTrue(unsafe masks.cover(400, of: bytes), "behind byte \(byte)")
                unsafe masks.reset(limit: 100)
                unsafe expectEqual(masks.count, 0, "another chunk")
            }
        }
        // The known text ends at a string with a line end.
        let text = Array("[\"\(String(repeating: "a", count: 100))\n\"]".utf8) + [UInt8](repeating: 0x20, count: 200)
        unsafe TokenMasks.withMasks(text) { masks, bytes in
            expectTrue(unsafe masks.cover(0, of: bytes), "before the string's end")
            unsafe expectEqual(masks.count, 1, "blocks")
            expectFalse(unsafe masks.advance(bytes, limit: 1_000), "what follows")
        }
    }
}
#endif
