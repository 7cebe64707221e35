// The tokens of JSON text as words of bits, 64 bytes a word: which bytes begin one, which end a string, and which tokens may
// not stand where they stand. A skipped value costs a look at its brackets, numbers and escapes, and at no other byte.

import BlockMasks
import PlistBuilding

/// The masks of some of a chunk's text, from the beginning of a token on.
///
/// It knows the text as far as it is valid UTF-8 without stray control characters; whatever is not is left to those who say
/// what is wrong with it. It is trivial, so that memory with it needs no end but being given back.
@unsafe
struct TokenMasks {
    /// The blocks that there is memory for.
    static let capacity = 64
    /// The blocks that are looked at when nothing is known of what is to come.
    private static let firstCount = 8

    /// The offset of the first byte in the chunk.
    private(set) var start = 0
    /// The number of blocks that can be trusted.
    private(set) var count = 0
    /// Whether the text goes on behind the blocks.
    private(set) var hasMore = false
    /// Eight words for each block: the classes of its bytes, and then its tokens.
    private let blocks: UnsafeMutablePointer<TokenFinder.Block>
    private var scan = BlockScan(TokenFinder.classes)
    private var finder = TokenFinder()
    private var nextCount = firstCount
    /// The length of the string that is open behind the last block, so far; 0 when none is.
    private(set) var openStringLength = 0
    /// The offset of the escape that is the second of a pair of surrogates.
    var secondOfPair = -1

    private init(blocks: UnsafeMutablePointer<TokenFinder.Block>) { unsafe self.blocks = unsafe blocks }

    /// Makes masks in memory of their own, with the words behind them; whoever asks for them gives it back.
    static func allocate() -> UnsafeMutableRawPointer {
        let count = unsafe MemoryLayout<TokenMasks>.size
        let size = (count + 63) & ~63
        let memory = unsafe UnsafeMutableRawPointer.allocate(
            byteCount: size + Self.capacity * MemoryLayout<TokenFinder.Block>.stride, alignment: 64)
        // SAFETY: the blocks begin behind the masks, aligned as the memory is; both are trivial.
        let blocks = unsafe (memory + size).bindMemory(to: TokenFinder.Block.self, capacity: capacity)
        unsafe memory.initializeMemory(as: TokenMasks.self, to: TokenMasks(blocks: blocks))
        return unsafe memory
    }

    /// Makes masks where records have members that are skipped, and makes those that are there forget an earlier chunk.
    static func prepare(_ state: UnsafeMutablePointer<RecordState>) {
        if unsafe state.pointee.memory == nil, unsafe state.pointee.ignoresUnknown {
            unsafe state.pointee.memory = allocate()
        }
        guard let masks = unsafe prepared(state) else { return }
        unsafe masks.pointee.reset()
    }

    /// The masks of a reader that skips what is unknown, or that did.
    @inline(__always)  // PERF: JSONTyped/posts; once a member that no one wants.
    static func prepared(_ state: UnsafeMutablePointer<RecordState>) -> UnsafeMutablePointer<TokenMasks>? {
        // SAFETY: `prepare` has made masks in it, for the outermost records, from which those within them have it.
        unsafe state.pointee.memory?.assumingMemoryBound(to: TokenMasks.self)
    }

    /// A block that is known.
    @inline(__always)  // PERF: JSONTyped/posts; once a block.
    subscript(index: Int) -> TokenFinder.Block {
        // SAFETY: a block is eight words, and there are `capacity` of them; the callers compare with the count.
        unsafe blocks[index]
    }

    /// Forgets a chunk.
    mutating func reset() {
        unsafe (start, count, hasMore, nextCount, secondOfPair) = (0, 0, false, Self.firstCount, -1)
    }

    /// Sees to it that the block of an offset is known, at which a value begins that is no name; false where it cannot be.
    @inline(__always)  // PERF: JSONTyped/posts; once a value that is skipped.
    mutating func cover(_ offset: Int, of bytes: RawSpan) -> Bool {
        let place = unsafe offset &- start
        if unsafe place >= 0 && place < count &* 64 { return true }
        return unsafe begin(at: offset, of: bytes)
    }

    /// Begins with a value.
    @inline(never)
    private mutating func begin(at offset: Int, of bytes: RawSpan) -> Bool {
        // Where most of the text is skipped, more is looked at together.
        let distance = unsafe offset &- (start &+ count &* 64)
        let isNear = unsafe count > 0 && distance >= 0 && distance < 1_024
        unsafe nextCount = isNear ? min(Self.capacity, nextCount &* 2) : Self.firstCount
        unsafe (start, scan, finder) = (offset, BlockScan(TokenFinder.classes), TokenFinder())
        return unsafe classify(bytes)
    }

    /// Goes on behind the last block; false where that is not possible.
    mutating func advance(_ bytes: RawSpan, limit: Int) -> Bool {
        guard unsafe hasMore else { return false }
        let length = unsafe openStringLength
        unsafe start &+= count &* 64
        unsafe nextCount = min(Self.capacity, nextCount &* 2)
        guard unsafe classify(bytes) else { return false }
        return unsafe length == 0 || continueString(from: length) <= limit
    }

    /// Measures the string that was open at the beginning, so far as it is known.
    private mutating func continueString(from length: Int) -> Int {
        for index in unsafe 0..<count {
            let quotes = unsafe self[index].quotes
            if quotes != 0 { return length &+ index &* 64 &+ quotes.trailingZeroBitCount }
        }
        unsafe openStringLength = length &+ count &* 64
        return unsafe openStringLength
    }

    /// Measures the string that is open behind the last block.
    private mutating func measureOpenString() {
        unsafe openStringLength = 0
        guard unsafe finder.isInString else { return }
        for index in unsafe (0..<count).reversed() {
            let quotes = unsafe self[index].quotes
            guard quotes == 0 else {
                unsafe openStringLength = (count &- index) &* 64 &- 64 &+ quotes.leadingZeroBitCount
                return
            }
        }
    }

    /// Classifies blocks from the start on.
    private mutating func classify(_ bytes: RawSpan) -> Bool {
        let rest = unsafe bytes.byteCount &- start
        let whole = unsafe min(nextCount, rest / 64)
        // SAFETY: eight words are a block's memory.
        let memory = unsafe UnsafeMutableBufferPointer(
            start: UnsafeMutableRawPointer(blocks).assumingMemoryBound(to: UInt64.self),
            count: Self.capacity * BlockScan.wordCount)
        var findings = unsafe scan.scan(bytes.extracting(start..<start &+ whole &* 64), into: memory)
        unsafe count = whole
        if unsafe whole < nextCount && rest > whole &* 64 {
            // The rest of the text, and spaces behind it.
            var block = (SIMD32<UInt8>(repeating: 0x20), SIMD32<UInt8>(repeating: 0x20))
            unsafe withUnsafeMutableBytes(of: &block) { block in
                // SAFETY: less than a block is left; the memory is that of the next block.
                unsafe bytes.extracting((start &+ whole &* 64)..<bytes.byteCount).withUnsafeBytes {
                    unsafe block.copyMemory(from: $0)
                }
                let memory = unsafe UnsafeMutableBufferPointer(rebasing: memory[(whole &* BlockScan.wordCount)...])
                unsafe findings.formUnion(scan.scan(UnsafeRawBufferPointer(block).bytes, into: memory))
            }
            unsafe count &+= 1
        }
        unsafe hasMore = rest > count &* 64
        guard findings.isEmpty else {
            unsafe (count, hasMore) = (0, false)
            return false
        }
        for index in unsafe 0..<count {
            let words = unsafe UnsafeRawPointer(blocks + index).assumingMemoryBound(to: SIMD8<UInt64>.self).pointee
            guard let block = unsafe finder.next(words) else {
                unsafe (count, hasMore) = (index, false)
                break
            }
            unsafe blocks[index] = block
        }
        unsafe measureOpenString()
        return unsafe count > 0
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension TokenMasks {
    /// Calls a closure with masks and a text.
    static func withMasks(_ text: [UInt8], _ body: (inout TokenMasks, RawSpan) -> Void) {
        let memory = unsafe allocate()
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
            "testKnowsTheTextFromAnOffsetOn": testKnowsTheTextFromAnOffsetOn,
            "testLooksAtMoreWhereMoreIsSkipped": testLooksAtMoreWhereMoreIsSkipped,
            "testTrustsNoTextThatIsInvalid": testTrustsNoTextThatIsInvalid,
        ]
    }

    /// Every division into windows finds the quotes that are there.
    private static func testKnowsTheTextFromAnOffsetOn() {
        for length in [1, 63, 64, 65, 511, 512, 513, 1_000, 5_000] {
            var text = Array(repeating: Array("\"ab\",".utf8), count: length / 5 + 1).flatMap { $0 }
            text.removeLast(text.count - length)
            unsafe TokenMasks.withMasks(text) { masks, bytes in
                var places: [Int] = []
                let isKnown = unsafe masks.cover(0, of: bytes)
                expectTrue(isKnown, "\(length) bytes")
                while true {
                    for index in unsafe 0..<masks.count {
                        var quotes = unsafe masks[index].quotes
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

    private static func testLooksAtMoreWhereMoreIsSkipped() {
        unsafe TokenMasks.withMasks([UInt8](repeating: UInt8(ascii: "["), count: 100_000)) { masks, bytes in
            var counts: [Int] = []
            for offset in [0, 511, 512, 1_600, 4_000, 8_300, 30_000, 100] {
                _ = unsafe masks.cover(offset, of: bytes)
                unsafe counts.append(masks.count)
            }
            expectEqual(counts, [8, 8, 16, 32, 64, 64, 8, 8], "blocks")
        }
    }

    private static func testTrustsNoTextThatIsInvalid() {
        for byte: UInt8 in [0x00, 0x0B, 0x1F, 0x80, 0xFF] {
            var text = Array("[1,2]".utf8) + [UInt8](repeating: 0x20, count: 1_000)
            text[300] = byte
            unsafe TokenMasks.withMasks(text) { masks, bytes in
                expectFalse(unsafe masks.cover(0, of: bytes), "byte \(byte)")
                expectFalse(unsafe masks.advance(bytes, limit: 100), "what follows it")
                expectTrue(unsafe masks.cover(400, of: bytes), "behind byte \(byte)")
                unsafe masks.reset()
                unsafe expectEqual(masks.count, 0, "another chunk")
            }
        }
        // A string with a line end ends what is known.
        let text = Array("[\"\(String(repeating: "a", count: 100))\n\"]".utf8) + [UInt8](repeating: 0x20, count: 200)
        unsafe TokenMasks.withMasks(text) { masks, bytes in
            expectTrue(unsafe masks.cover(0, of: bytes), "before the string's end")
            unsafe expectEqual(masks.count, 1, "blocks")
            expectFalse(unsafe masks.advance(bytes, limit: 1_000), "what follows")
        }
    }
}
#endif
