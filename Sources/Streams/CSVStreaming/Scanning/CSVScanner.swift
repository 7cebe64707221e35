// The scanner's state and its entry points: chunks in, batches of complete records out. CSVScanner+Plain contains the
// plain scanner, which is the specification; CSVScanner+Blocks contains the fast one.

import BlockMasks
import PlistStreaming

/// A scanner that finds records and fields in delimited text that comes in chunks.
///
/// It keeps no input except a record that was cut at the end of a chunk.
@safe @usableFromInline
final class CSVScanner {
    /// The position of the plain scanner in a record.
    enum State: UInt8 {
        /// At the first bytes of the input, which may be part of a byte order mark.
        case mark
        /// Before a record; before a record after a CR, whose LF may follow.
        case record, lineFeed
        /// Before a field; within a field without quotes; within quotes; after a quote within quotes.
        case field, bare, quoted, quote
        /// Within a line that isn't a record.
        case comment
    }

    let options: CSVReaderOptions
    let delimiter: UInt8
    /// The quote character, or -1 if quotes have no meaning.
    let quote: Int
    let comment: Int
    /// A Boolean value that indicates whether the bytes of a field can be read as a number before checking whether the
    /// field is in quotes.
    private let allowsShortNumbers: Bool
    let recordLimit: Int
    let fieldLimit: Int
    let allowsBlocks: Bool
    /// A Boolean value that indicates whether empty lines are records with one field.
    @usableFromInline var keepsBlankLines = false

    var state: State
    @usableFromInline var failure: StreamError?
    /// The number of records found.
    var recordCount = 0

    // The chunk, valid while it is scanned.
    private(set) var chunk: UnsafeRawPointer
    private(set) var chunkCount = 0
    /// The start of the chunk, relative to the current line of the scanner.
    var chunkPlace: LinePlace
    private var exceedsInput = false
    /// The offset of the scanner in the chunk.
    var offset = 0

    // The current record, and its last field.
    var record = LinePlace()
    var field = LinePlace()
    var fieldCount = 0
    /// The bytes of a record that began in earlier chunks.
    var pending: [UInt8] = []
    /// A Boolean value that indicates whether `pending` contains the part of the current record before the chunk.
    private var isCut = false

    /// The records found last.
    private(set) var batch: RecordBatch
    var blocks: BlockScan
    let classes: ByteClasses
    /// Memory for the number of blocks that the fast scanner examines together, eight words each.
    let masks: UnsafeMutableBufferPointer<UInt64>
    /// Memory for the ends of lines in these blocks, and 64 more.
    let lineEnds: UnsafeMutablePointer<UInt32>
    var blockCount: Int
    private var endCapacity: Int

    init(options: CSVReaderOptions, place: LinePlace) {
        self.options = options
        chunkPlace = place
        let dialect = options.dialect
        delimiter = dialect.delimiter
        quote = dialect.quote.map { Int($0) } ?? -1
        comment = dialect.comment.map { Int($0) } ?? -1
        allowsShortNumbers = dialect.quote.map { !"0123456789-.".utf8.contains($0) } ?? true
        recordLimit = min(max(0, options.recordByteLimit), Int(UInt32.max) - 1)
        fieldLimit = min(options.limits.stringByteCount, recordLimit)
        // The plain scanner handles lower limits.
        allowsBlocks = !options.usesPlainScan && fieldLimit >= Self.largestBlockCount * 64
        state = options.skipsByteOrderMark ? .mark : .record
        classes = Self.classes(of: dialect)
        blocks = BlockScan(classes)
        blockCount = options.firstBlockCount
        unsafe masks = .allocate(capacity: allowsBlocks ? Self.largestBlockCount * BlockScan.wordCount : 0)
        unsafe lineEnds = .allocate(capacity: allowsBlocks ? Self.largestBlockCount * 64 + 64 : 0)
        endCapacity = allowsBlocks ? Self.largestBlockCount * 64 + 64 : 64
        // SAFETY: the bytes of this empty chunk are never read.
        unsafe chunk = UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped
        unsafe batch = unsafe RecordBatch(
            bytes: chunk, ends: .allocate(capacity: endCapacity), records: .allocate(capacity: endCapacity))
    }

    deinit {
        unsafe masks.deallocate()
        unsafe lineEnds.deallocate()
        unsafe batch.ends.deallocate()
        unsafe batch.records.deallocate()
    }

    private static func classes(of dialect: CSVDialect) -> ByteClasses {
        func text(_ byte: UInt8?) -> String { byte.map { String(UnicodeScalar($0)) } ?? "" }
        return ByteClasses(text(dialect.quote), text(dialect.delimiter), "\n", "\r")
    }

    /// Takes the next chunk, whose bytes must stay in place until `endChunk`.
    @usableFromInline
    func beginChunk(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        let allowed = max(0, options.limits.totalByteCount - byteOffset)
        unsafe chunk = start
        chunkCount = min(bytes.count, allowed)
        exceedsInput = bytes.count > allowed
        offset = 0
    }

    /// Finds the next records of the chunk; returns false if no complete records are left.
    @usableFromInline
    func next() throws(StreamError) -> Bool {
        if let failure { throw failure }
        while offset < chunkCount {
            if allowsBlocks, recordCount > 0, try scanBlocks() { return true }
            if try scanPlainly() { return true }
        }
        if exceedsInput {
            throw fail(.limitExceeded, "more than \(options.limits.totalByteCount) bytes of input", place)
        }
        return false
    }

    /// Keeps the rest of the chunk.
    @usableFromInline
    func endChunk() {
        switch state {
        case .mark, .field, .bare, .quoted, .quote:
            if chunkCount > 0 { keepPart(to: chunkCount) }
        case .record, .lineFeed, .comment:
            break
        }
        chunkPlace.offset += chunkCount
        (chunkCount, offset, exceedsInput) = (0, 0, false)
    }

    /// Ends the input; returns true if there is a last record.
    @usableFromInline
    func finish() throws(StreamError) -> Bool {
        if let failure { throw failure }
        switch state {
        case .record, .lineFeed, .comment:
            return false
        case .mark:
            // An incomplete byte order mark is text.
            if record.offset == inputOffset { return false }
            field = record
            endField()
        case .quoted:
            throw fail(.unexpectedEnd, "expected a quote that closes this field, found the end of the input", field)
        case .field:
            field.offset = inputOffset
            try countField()
            endField()
        case .bare, .quote:
            endField()
        }
        try endRecord()
        state = .record
        return true
    }

    /// The offset in the input.
    @usableFromInline var inputOffset: Int { byteOffset + offset }

    /// The position of the scanner.
    var place: LinePlace { chunkPlace.at(inputOffset) }

    /// The number of bytes of completed chunks.
    @usableFromInline var byteOffset: Int { chunkPlace.offset }

    /// The number of bytes of the chunk after the found records.
    var restCount: Int { chunkCount - offset }

    // MARK: Records and fields

    /// Notes the end of the current field.
    func endField() {
        if fieldCount == endCapacity { growEnds() }
        // SAFETY: the memory has capacity for one more. A record has less than 4 GiB.
        unsafe batch.ends[fieldCount] = UInt32(truncatingIfNeeded: inputOffset - record.offset)
        fieldCount += 1
    }

    private func growEnds() {
        // SAFETY: the new memory holds all previous ends.
        let larger = UnsafeMutablePointer<UInt32>.allocate(capacity: 2 * endCapacity)
        unsafe larger.update(from: batch.ends, count: fieldCount)
        unsafe batch.ends.deallocate()
        unsafe batch.ends = unsafe larger
        endCapacity *= 2
    }

    /// Discards kept bytes that turned out not to be part of a record.
    func discardPart() {
        pending = []
        isCut = false
    }

    private func keepPart(to end: Int) {
        let start = isCut ? 0 : max(0, record.offset - byteOffset)
        guard start <= end else { return }
        // SAFETY: the record begins in the chunk, or continues from its beginning.
        unsafe pending.append(contentsOf: UnsafeRawBufferPointer(start: chunk + start, count: end - start))
        isCut = true
    }

    /// Makes a batch of the record that ends at the position of the scanner.
    func endRecord() throws(StreamError) {
        if isCut {
            keepPart(to: offset)
            isCut = false
            let count = pending.count
            // The bytes stay in place until the next record is kept.
            whole.replace(by: &pending)
            unsafe (batch.bytes, batch.byteCount) = unsafe (whole.start, allowsShortNumbers ? count : 0)
        } else {
            // SAFETY: the record begins in the chunk.
            unsafe batch.bytes = unsafe chunk + (record.offset - byteOffset)
            unsafe batch.byteCount = allowsShortNumbers ? chunkCount - (record.offset - byteOffset) : 0
        }
        unsafe (batch.place, batch.count) = (record, 1)
        unsafe batch.records.initialize(
            to: RecordBatch.Record(start: 0, first: 0, last: UInt32(truncatingIfNeeded: fieldCount)))
        try checkText(inputOffset - record.offset)
        recordCount += 1
        fieldCount = 0
    }

    /// The bytes of a record that arrived in several chunks, at a stable address.
    private let whole = KeptBytes()

    /// Takes a batch of records that the fast scanner has found in the chunk, and continues after them.
    func take(_ count: Int, from start: Int, to end: Int, lineCount: Int, lineEnd: Int) {
        unsafe batch.bytes = unsafe chunk + start
        unsafe (batch.byteCount, batch.count) = (allowsShortNumbers ? chunkCount - start : 0, count)
        unsafe batch.place = chunkPlace.at(byteOffset + start)
        recordCount += count
        offset = end
        chunkPlace.beginLine(at: byteOffset + lineEnd + 1, count: lineCount)
    }

    // SPEC: Unicode 16, table 3-7.
    /// Throws if a record isn't valid UTF-8.
    private func checkText(_ count: Int) throws(StreamError) {
        guard options.encoding == .utf8 else { return }
        let text = unsafe UnsafeRawBufferPointer(start: batch.bytes, count: count)
        guard unsafe !UTF8Check.isValid(text) else { return }
        // A character that is cut by the end of the record is an error at that position.
        var (valid, previous) = (0, UInt32(0))
        while valid < count, unsafe BlockScan.mayFollow(text[valid], previous) {
            unsafe previous = previous >> 8 | UInt32(text[valid]) << 24
            valid += 1
        }
        // All fields of the record were counted; the error is in one of them.
        fieldCount = (0..<fieldCount).first { unsafe Int(batch.ends[$0]) >= valid } ?? fieldCount
        let position = unsafe batch.position(of: valid)
        let error = StreamError(.invalidText, "expected UTF-8, found invalid bytes", position: position)
        failure = error
        throw error
    }

    // MARK: Errors

    /// Records an error; the scanner stays failed.
    func fail(_ kind: StreamError.Kind, _ message: String, _ place: LinePlace) -> StreamError {
        let error = StreamError(kind, message, position: place.position)
        failure = error
        return error
    }

    /// Counts a field that begins; throws if the record has too many.
    func countField() throws(StreamError) {
        guard fieldCount >= max(1, options.fieldLimit) else { return }
        throw fail(.limitExceeded, "more than \(options.fieldLimit) fields in a record", field)
    }
}

/// Bytes that stay at the same address until they are replaced.
@safe
private final class KeptBytes {
    private(set) var start: UnsafeRawPointer
    private var memory: UnsafeMutableRawBufferPointer

    init() {
        unsafe memory = .allocate(byteCount: 64, alignment: 8)
        // SAFETY: the address isn't nil, because the memory has at least 64 bytes.
        unsafe start = UnsafeRawPointer(memory.baseAddress.unsafelyUnwrapped)
    }

    deinit { unsafe memory.deallocate() }

    /// Replaces the bytes with a copy of other bytes, which are empty afterwards.
    func replace(by other: inout [UInt8]) {
        if unsafe memory.count < other.count || memory.count > 1 << 20 && other.count < 1 << 16 {
            unsafe memory.deallocate()
            unsafe memory = .allocate(byteCount: max(64, other.count), alignment: 8)
            unsafe start = UnsafeRawPointer(memory.baseAddress.unsafelyUnwrapped)
        }
        unsafe memory.copyBytes(from: other)
        // A long record is rare, so its memory isn't kept.
        other.removeAll(keepingCapacity: other.count < 1 << 16)
    }
}
