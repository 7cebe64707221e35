// The fast machine: 64 bytes at a time become words of bits, of which the ends of fields are read. It begins before a record,
// takes records that are whole and plain, and stops before whatever else comes, which the plain machine then takes.

import BlockMasks
import PlistStreaming

extension CSVScanner {
    /// The most blocks that are looked at at once, and the least; offsets within them fit 16 bits.
    static var largestBlockCount: Int { 256 }
    private static var smallestBlockCount: Int { 4 }
    /// The bytes behind the last record taken that the chunk must have, so that words may be loaded from each field.
    static var margin: Int { 32 }

    /// Takes the next records of the chunk, as far as some blocks have them; false where the plain machine must go on.
    func scanBlocks() throws(StreamError) -> Bool {
        guard state == .record || state == .lineFeed else { return false }
        if state == .lineFeed {
            state = .record
            // SAFETY: the offset is below the number of bytes of the chunk.
            if unsafe chunk.load(fromByteOffset: offset, as: UInt8.self) == 0x0A {
                offset += 1
                line += 1
                lineOffset = inputOffset
            }
        }
        while case let count = min(blockCount, (restCount - Self.margin) / 64), count > 0 {
            var found = unsafe BlockRecords(batch, start: chunk + offset, scanner: self)
            blocks = BlockScan(classes)
            // SAFETY: so many blocks are within the chunk, and there is memory for their words.
            let bytes = unsafe UnsafeRawBufferPointer(start: chunk + offset, count: count * 64).bytes
            let findings = unsafe blocks.scan(bytes, into: masks)
            let isText = options.encoding != .utf8 || !findings.contains(.invalidText)
            if isText { unsafe found.findRecords(masks, count) }
            blockCount =
                unsafe isText && !found.isStopped
                ? min(2 * blockCount, Self.largestBlockCount) : Self.smallestBlockCount
            if unsafe found.end > 0 {
                let lines = unsafe found.countLines(masks)
                unsafe take(
                    found.count, from: offset, to: offset + found.end, lineCount: lines.count,
                    lineEnd: offset + lines.last)
                if unsafe found.count > 0 { return true }
                if offset >= chunkCount { return false }
            }
            // A longer record may be seen by more blocks.
            guard isText, unsafe !found.isStopped, count < min(blockCount, (restCount - Self.margin) / 64) else {
                return false
            }
        }
        return false
    }
}

/// The records that blocks have, found from the first byte of one on.
@unsafe
private struct BlockRecords {
    private let ends: UnsafeMutablePointer<UInt32>
    private let records: UnsafeMutablePointer<RecordBatch.Record>
    private let start: UnsafeRawPointer
    private let comment: Int
    private let keepsBlankLines: Bool
    private let fieldLimit: Int
    private let recordLimit: Int

    /// The number of records, and the offset behind the end of the last one.
    private(set) var count = 0
    private(set) var end = 0
    /// Whether something was found that only the plain machine knows.
    private(set) var isStopped = false
    private var endCount = 0
    private var first = 0
    private var blockCount = 0

    init(_ batch: RecordBatch, start: UnsafeRawPointer, scanner: CSVScanner) {
        unsafe (ends, records, self.start) = unsafe (batch.ends, batch.records, start)
        unsafe comment = scanner.comment
        unsafe keepsBlankLines = scanner.keepsBlankLines
        unsafe fieldLimit = max(1, scanner.options.fieldCount)
        unsafe recordLimit = scanner.recordLimit
    }

    // SPEC: G. Langdale and D. Lemire, "Parsing gigabytes of JSON per second" (2019), section 3.1: between quotes is where an
    // odd number of them comes before.
    /// Finds the records of blocks, up to what is not plain.
    mutating func findRecords(_ masks: UnsafeMutableBufferPointer<UInt64>, _ blockCount: Int) {
        // All ones within quotes; the lowest bit behind a delimiter or a line end, behind a closing quote, behind a CR.
        var (inside, behindEnd, behindQuote, behindCR): (UInt64, UInt64, UInt64, UInt64) = (0, 1, 0, 0)
        unsafe self.blockCount = blockCount
        if unsafe comment >= 0 && isComment(at: 0) { return unsafe isStopped = true }
        // SAFETY: there are eight words a block, and room for an end for each byte and eight more.
        var words = unsafe UnsafePointer(masks.baseAddress.unsafelyUnwrapped)
        for block in 0..<blockCount {
            let (quotes, delimiters, feeds, returns) = unsafe (words[0], words[1], words[2], words[3])
            unsafe words += BlockScan.wordCount
            var lines = feeds | returns
            var found = delimiters | lines
            if quotes | inside != 0 {
                let within = unsafe prefixXOR(quotes) ^ inside
                inside = UInt64(bitPattern: Int64(bitPattern: within) >> 63)
                let (opening, closing) = (quotes & within, quotes & ~within)
                lines &= ~within
                found &= ~within
                let mayOpen = found << 1 | behindEnd | closing << 1 | behindQuote
                let mayFollow = found | opening
                guard opening & ~mayOpen == 0, (closing << 1 | behindQuote) & ~mayFollow == 0 else {
                    return unsafe isStopped = true
                }
                behindQuote = closing >> 63
            } else if behindQuote != 0 {
                guard behindQuote & ~found == 0 else { return unsafe isStopped = true }
                behindQuote = 0
            }
            behindEnd = found >> 63
            if returns | behindCR != 0 {
                let plainReturns = returns & lines
                let pairs = feeds & lines & (plainReturns << 1 | behindCR)
                behindCR = plainReturns >> 63
                lines &= ~pairs
                found &= ~pairs
            }
            let before = unsafe endCount
            unsafe storeEnds(found, UInt32(truncatingIfNeeded: block &* 64))
            guard unsafe lines == 0 || addRecords(lines, found, block &* 64, before) else { return }
        }
    }

    private func prefixXOR(_ bits: UInt64) -> UInt64 {
        var bits = bits
        bits ^= bits << 1
        bits ^= bits << 2
        bits ^= bits << 4
        bits ^= bits << 8
        bits ^= bits << 16
        return bits ^ bits << 32
    }

    // PERF: CSV/slices; eight at once, whether there are as many or not, instead of a branch for each.
    /// Stores the places of bits.
    @inline(__always)
    private mutating func storeEnds(_ found: UInt64, _ base: UInt32) {
        var (bits, place) = unsafe (found, ends + endCount)
        repeat {
            for index in 0..<8 {
                unsafe place[index] = base &+ UInt32(truncatingIfNeeded: bits.trailingZeroBitCount)
                bits &= bits &- 1
            }
            unsafe place += 8
        } while bits != 0
        unsafe endCount &+= found.nonzeroBitCount
    }

    /// Adds the records that end in a block; false where the plain machine must go on behind them.
    @inline(__always)  // PERF: CSV/slices; once a block.
    private mutating func addRecords(_ lines: UInt64, _ found: UInt64, _ base: Int, _ before: Int) -> Bool {
        var lines = lines
        repeat {
            let place = lines.trailingZeroBitCount
            let last = before &+ (found & (lines ^ (lines &- 1))).nonzeroBitCount
            lines &= lines &- 1
            let isBlank = unsafe base &+ place == end && !keepsBlankLines
            guard unsafe isBlank || last &- first <= fieldLimit && base &+ place &- end <= recordLimit else {
                unsafe isStopped = true
                return false
            }
            // SAFETY: there is room for a record for each byte.
            unsafe (records + count).initialize(
                to: RecordBatch.Record(
                    start: UInt32(truncatingIfNeeded: end), first: UInt32(truncatingIfNeeded: first),
                    last: UInt32(truncatingIfNeeded: last)))
            unsafe count &+= isBlank ? 0 : 1
            unsafe first = last
            // SAFETY: behind the blocks are more bytes of the chunk.
            let isPair =
                unsafe start.loadUnaligned(fromByteOffset: base &+ place, as: UInt16.self).littleEndian == 0x0A0D
            unsafe end = base &+ place &+ (isPair ? 2 : 1)
            if unsafe comment >= 0 && isComment(at: end) {
                unsafe isStopped = true
                return false
            }
        } while lines != 0
        return true
    }

    private func isComment(at offset: Int) -> Bool {
        // SAFETY: as above.
        unsafe Int(start.load(fromByteOffset: offset, as: UInt8.self)) == comment
    }

    /// The number of LFs before the end of the last record, and the offset of the last one.
    func countLines(_ masks: UnsafeMutableBufferPointer<UInt64>) -> (count: Int, last: Int) {
        // An LF that belongs to a CR may be behind the last block.
        var (count, last) = unsafe end > blockCount * 64 ? (1, end - 1) : (0, 0)
        for block in unsafe 0..<min(blockCount, (end + 63) / 64) {
            var feeds = unsafe masks[block * BlockScan.wordCount + 2]
            let rest = unsafe end - block * 64
            if rest < 64 { feeds &= 1 << UInt64(rest) - 1 }
            guard feeds != 0 else { continue }
            count += feeds.nonzeroBitCount
            last = max(last, block * 64 + 63 - feeds.leadingZeroBitCount)
        }
        return (count, last)
    }
}
