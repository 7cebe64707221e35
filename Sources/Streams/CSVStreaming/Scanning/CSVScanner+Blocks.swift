// The fast scanner: 64 bytes at a time become bit masks, which give the ends of fields. It begins before a record,
// takes complete and plain records, and stops before other text, which the plain scanner then takes.

import BlockMasks
import PlistStreaming

extension CSVScanner {
    /// The maximum and minimum number of blocks that are examined together; offsets within them fit into 16 bits.
    static var largestBlockCount: Int { 256 }
    private static var smallestBlockCount: Int { 4 }
    /// The number of bytes that must follow the last taken record in the chunk, so that whole words can be loaded from
    /// each field.
    static var margin: Int { 32 }

    /// Takes the next records of the chunk from some blocks; returns false if the plain scanner must continue.
    func scanBlocks() throws(StreamError) -> Bool {
        guard state == .record || state == .lineFeed else { return false }
        if state == .lineFeed {
            state = .record
            // SAFETY: the offset is below the number of bytes of the chunk.
            if unsafe chunk.load(fromByteOffset: offset, as: UInt8.self) == 0x0A { skip(0x0A) }
        }
        while case let count = min(blockCount, (restCount - Self.margin) / 64), count > 0 {
            var found = unsafe BlockRecords(batch, start: chunk + offset, scanner: self)
            blocks = BlockScan(classes)
            // SAFETY: this many blocks are within the chunk, and the memory is large enough for their words.
            let bytes = unsafe UnsafeRawBufferPointer(start: chunk + offset, count: count * 64).bytes
            let findings = unsafe blocks.scan(bytes, into: masks)
            let isText = options.encoding != .utf8 || !findings.contains(.invalidText)
            if isText { unsafe found.findRecords(masks, count) }
            blockCount =
                unsafe isText && !found.isStopped
                ? min(2 * blockCount, Self.largestBlockCount) : Self.smallestBlockCount
            if unsafe found.end > 0 {
                let lines = unsafe found.countLines(masks, count)
                unsafe take(
                    found.count, from: offset, to: offset + found.end, lineCount: lines.count,
                    lineEnd: offset + lines.last)
                if unsafe found.count > 0 { return true }
                if offset >= chunkCount { return false }
            }
            // More blocks may contain a longer record completely.
            guard isText, unsafe !found.isStopped, count < min(blockCount, (restCount - Self.margin) / 64) else {
                return false
            }
        }
        return false
    }
}

/// The records in some blocks, starting with the first byte of one.
@unsafe
private struct BlockRecords {
    private let ends: UnsafeMutablePointer<UInt32>
    private let records: UnsafeMutablePointer<RecordBatch.Record>
    private let lineEnds: UnsafeMutablePointer<UInt32>
    private let start: UnsafeRawPointer
    private let comment: Int
    private let keepsBlankLines: Bool
    private let fieldLimit: Int
    private let recordLimit: Int

    /// The number of records, and the offset after the end of the last one.
    private(set) var count = 0
    private(set) var end = 0
    /// A Boolean value that indicates whether the blocks contain text that only the plain scanner handles.
    private(set) var isStopped = false
    /// The words of a block that no class uses, for the ends of fields and of lines.
    private static var fieldWord: Int { 4 }
    private static var lineWord: Int { 5 }

    init(_ batch: RecordBatch, start: UnsafeRawPointer, scanner: CSVScanner) {
        unsafe (ends, records, self.start) = unsafe (batch.ends, batch.records, start)
        unsafe lineEnds = scanner.lineEnds
        unsafe comment = scanner.comment
        unsafe keepsBlankLines = scanner.keepsBlankLines
        unsafe fieldLimit = max(1, scanner.options.fieldLimit)
        unsafe recordLimit = scanner.recordLimit
    }

    /// Finds the records of blocks, up to text that isn't plain.
    mutating func findRecords(_ masks: UnsafeMutableBufferPointer<UInt64>, _ blockCount: Int) {
        if unsafe comment >= 0 && isComment(at: 0) { return unsafe isStopped = true }
        let plainCount = unsafe findEnds(masks, blockCount)
        if plainCount < blockCount { unsafe isStopped = true }
        // SAFETY: the memory has capacity for an end at each byte of the blocks, and 64 more.
        let endCount = unsafe BlockScan.storePlaces(of: Self.fieldWord, in: masks, plainCount, to: ends)
        let lineCount = unsafe BlockScan.storePlaces(of: Self.lineWord, in: masks, plainCount, to: lineEnds)
        unsafe addRecords(endCount, lineCount)
    }

    // SPEC: G. Langdale and D. Lemire, "Parsing gigabytes of JSON per second" (2019), section 3.1: a byte is between
    // quotes if an odd number of quotes precedes it.
    /// Computes the words for the ends of fields and lines, and returns the number of blocks before one that isn't
    /// plain.
    private func findEnds(_ masks: UnsafeMutableBufferPointer<UInt64>, _ blockCount: Int) -> Int {
        // All ones within quotes; the lowest bit after a delimiter or a line end, after a closing quote, after a CR.
        var (inside, behindEnd, behindQuote, behindCR): (UInt64, UInt64, UInt64, UInt64) = (0, 1, 0, 0)
        // SAFETY: each block has eight words.
        var words = unsafe masks.baseAddress.unsafelyUnwrapped
        let stride = BlockScan.wordCount
        for block in 0..<blockCount {
            let (quotes, delimiters, feeds, returns) = unsafe (words[0], words[1], words[2], words[3])
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
                guard opening & ~mayOpen == 0, (closing << 1 | behindQuote) & ~mayFollow == 0 else { return block }
                behindQuote = closing >> 63
            } else if behindQuote != 0 {
                guard behindQuote & ~found == 0 else { return block }
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
            unsafe words[Self.fieldWord] = found
            unsafe words[Self.lineWord] = lines
            unsafe words += stride
        }
        return blockCount
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

    /// Adds the records that end with lines, up to text that the plain scanner must handle.
    private mutating func addRecords(_ endCount: Int, _ lineCount: Int) {
        // SAFETY: the memory has capacity for a record at each byte. Line ends are among the ends of fields, in the
        // same order. More bytes of the chunk follow the blocks.
        var (first, width) = (0, 1)
        for line in 0..<lineCount {
            let place = unsafe Int(lineEnds[line])
            // PERF: CSV/slices; most records have as many fields as the previous one.
            var last = first &+ width
            if unsafe last > endCount || Int(ends[last &- 1]) != place {
                last = first &+ 1
                while unsafe Int(ends[last &- 1]) != place { last &+= 1 }
                width = last &- first
            }
            let isBlank = unsafe place == end && !keepsBlankLines
            guard unsafe isBlank || last &- first <= fieldLimit && place &- end <= recordLimit else {
                return unsafe isStopped = true
            }
            unsafe (records + count).initialize(
                to: RecordBatch.Record(
                    start: UInt32(truncatingIfNeeded: end), first: UInt32(truncatingIfNeeded: first),
                    last: UInt32(truncatingIfNeeded: last)))
            unsafe count &+= isBlank ? 0 : 1
            first = last
            let isPair = unsafe start.loadUnaligned(fromByteOffset: place, as: UInt16.self).littleEndian == 0x0A0D
            unsafe end = place &+ (isPair ? 2 : 1)
            if unsafe comment >= 0 && isComment(at: end) { return unsafe isStopped = true }
        }
    }

    private func isComment(at offset: Int) -> Bool {
        // SAFETY: as above.
        unsafe Int(start.load(fromByteOffset: offset, as: UInt8.self)) == comment
    }

    /// Returns the number of LFs before the end of the last record of the blocks, and the offset of the last LF.
    func countLines(_ masks: UnsafeMutableBufferPointer<UInt64>, _ blockCount: Int) -> (count: Int, last: Int) {
        // An LF that belongs to a CR may be after the last block.
        guard unsafe end <= blockCount * 64 else {
            return unsafe (1 + BlockScan.count(of: 2, in: masks, blockCount), end - 1)
        }
        let wholeCount = unsafe end / 64
        var count = unsafe BlockScan.count(of: 2, in: masks, wholeCount)
        var block = wholeCount
        var feeds = unsafe end % 64 == 0 ? 0 : masks[block * BlockScan.wordCount + 2] & (1 << UInt64(end % 64) - 1)
        count += feeds.nonzeroBitCount
        guard count > 0 else { return (0, 0) }
        while feeds == 0 {
            block -= 1
            feeds = unsafe masks[block * BlockScan.wordCount + 2]
        }
        return (count, block * 64 + 63 - feeds.leadingZeroBitCount)
    }
}
