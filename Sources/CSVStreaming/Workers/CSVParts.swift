// A text in parts for several workers: where they are cut, and how what they find is joined, or found again where a part was cut
// in the wrong place.

import PlistStreaming

/// The parts of a delimited text, each of whole records, as far as quotes tell.
///
/// A line end is one of a record where an even number of quotes comes before it. In a text that is well-formed that is always so; but
/// quotes in comments, or in fields without quotes, may mislead. Therefore a cut is believed only when the part before it was read
/// to its end without an error, since it then ends with a whole record; what begins at the first part that was not is read again
/// by one worker. So the result is that of one worker, errors and their positions included.
struct CSVParts: Sendable {
    let bytes: [UInt8]
    let options: CSVReaderOptions
    /// The offsets at which the parts begin.
    private(set) var starts: [Int] = [0]

    /// Cuts a text into at most so many parts, none of them much smaller than others.
    ///
    /// - Complexity: O(*n*), by as many tasks as there are parts.
    init(_ bytes: [UInt8], _ options: CSVReaderOptions, count: Int, smallest: Int) async {
        self.bytes = bytes
        self.options = options
        // A record that decides on the width of others must not be in another part.
        guard options.dialect.hasHeader || options.names != nil else { return }
        let count = max(1, min(count, bytes.count / max(1, smallest)))
        let guesses = (1..<max(1, count)).map { bytes.count / count * $0 }
        let quotes = await Self.quoteCounts(bytes, options.dialect.quote, at: [0] + guesses)
        var before = 0
        for (index, guess) in guesses.enumerated() {
            before += quotes[index]
            let start = lineEnd(from: guess, isInside: before & 1 == 1)
            if let last = starts.last, start > last, start < bytes.count { starts.append(start) }
        }
    }

    /// The numbers of quotes from each place to the next.
    private static func quoteCounts(_ bytes: [UInt8], _ quote: UInt8?, at places: [Int]) async -> [Int] {
        guard let quote, places.count > 1 else { return places.map { _ in 0 } }
        return await withTaskGroup(of: (Int, Int).self) { group in
            for (index, place) in places.enumerated().dropLast() {
                group.addTask { (index, count(of: quote, in: bytes, place..<places[index + 1])) }
            }
            return await group.reduce(into: places.map { _ in 0 }) { $0[$1.0] = $1.1 }
        }
    }

    private static func count(of quote: UInt8, in bytes: [UInt8], _ range: Range<Int>) -> Int {
        var count = 0
        for index in range where bytes[index] == quote { count &+= 1 }
        return count
    }

    /// The offset behind the first line end that is not within quotes.
    private func lineEnd(from start: Int, isInside: Bool) -> Int {
        var (offset, isInside) = (start, isInside)
        while offset < bytes.count {
            let byte = bytes[offset]
            offset += 1
            if byte == options.dialect.quote {
                isInside.toggle()
            } else if !isInside, byte == 0x0A || byte == 0x0D {
                let isPair = byte == 0x0D && offset < bytes.count && bytes[offset] == 0x0A
                return offset + (isPair ? 1 : 0)
            }
        }
        return offset
    }

    /// The bytes of a part, or of all parts from one on.
    private func range(_ part: Int, toEnd: Bool = false) -> Range<Int> {
        starts[part]..<(toEnd || part + 1 == starts.count ? bytes.count : starts[part + 1])
    }

    /// What a worker makes of a part, and how many records it has.
    struct Output<Value: Sendable>: Sendable {
        var value: Value
        var rowCount: Int
    }

    /// Reads one part, or all from one on, by a cursor; what came before is told where positions matter.
    typealias Read<Value: Sendable> = @Sendable (Piece) throws(StreamError) -> Output<Value>

    /// A part for one worker.
    struct Piece: Sendable {
        let parts: CSVParts
        let range: Range<Int>
        let options: CSVReaderOptions
        /// The records and lines before, where errors are to tell them.
        let rowsBefore: Int
        let place: RecordBatch.Place
        /// The first part in which there was an error, after which nothing counts.
        let failures: FirstFailure
        let index: Int

        /// The bytes in pieces between which a worker looks whether it goes on.
        func forEachChunk(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) {
            try unsafe parts.bytes.withUnsafeBufferPointer { buffer throws(StreamError) in
                // SAFETY: the span does not leave the closure.
                let bytes = unsafe UnsafeRawBufferPointer(buffer).bytes
                var start = range.lowerBound
                while start < range.upperBound {
                    if Task.isCancelled { throw StreamError(ofReceiver: CancellationError()) }
                    if failures.isBefore(index) { throw .stopRequest() }
                    let end = min(range.upperBound, start + 1 << 20)
                    try body(bytes.extracting(start..<end))
                    start = end
                }
            }
        }

        /// A cursor before the first record of the part.
        func makeCursor() -> CSVCursor {
            CSVCursor(options: options, place: place, rowsBefore: rowsBefore, isContinuing: range.lowerBound > 0)
        }
    }

    /// Reads all parts, each by a worker, and returns what they give, in order.
    ///
    /// - Throws: The error that one worker would find first; `receiverFailed` with a `CancellationError` as the cause when the
    ///   task was cancelled.
    func read<Value: Sendable>(_ read: @escaping Read<Value>) async throws(StreamError) -> [Value] {
        let failures = FirstFailure()
        let header = starts.count > 1 ? headerNames() : nil
        var found = await withTaskGroup(of: (Int, Output<Value>?).self) { group in
            for index in starts.indices {
                let piece = makePiece(index, header, failures)
                group.addTask {
                    do throws(StreamError) { return (index, try read(piece)) } catch {
                        failures.note(index)
                        return (index, nil)
                    }
                }
            }
            var outputs = [Output<Value>?](repeating: nil, count: starts.count)
            for await (index, output) in group { outputs[index] = output }
            return outputs
        }
        guard let failed = found.firstIndex(where: { $0 == nil }) else { return found.compactMap { $0?.value } }
        if Task.isCancelled { throw StreamError(ofReceiver: CancellationError()) }
        // What comes from here on, as one worker finds it.
        found.removeSubrange(failed...)
        let rows = found.reduce(0) { $0 + ($1?.rowCount ?? 0) }
        let rest = Piece(
            parts: self, range: range(failed, toEnd: true), options: options(failed, header), rowsBefore: rows,
            place: place(failed), failures: FirstFailure(), index: 0)
        return found.compactMap { $0?.value } + [try read(rest).value]
    }

    private func makePiece(_ index: Int, _ header: [String]?, _ failures: FirstFailure) -> Piece {
        Piece(
            parts: self, range: range(index), options: options(index, header), rowsBefore: 0,
            place: RecordBatch.Place(),
            failures: failures, index: index)
    }

    /// The options of a part: only the first one has a header and a mark.
    private func options(_ part: Int, _ header: [String]?) -> CSVReaderOptions {
        guard part > 0 else { return options }
        var options = options
        options.dialect.hasHeader = false
        options.names = header ?? options.names
        options.skipsByteOrderMark = false
        return options
    }

    /// The names of the header; nil where there is none, or none that is right.
    private func headerNames() -> [String]? {
        let cursor = CSVCursor(options: options)
        do throws(StreamError) {
            try unsafe bytes.withUnsafeBufferPointer { buffer throws(StreamError) in
                // SAFETY: the scanner has the bytes within the closure only.
                let first = unsafe UnsafeRawBufferPointer(buffer)[..<starts[1]]
                unsafe cursor.scanner.beginChunk(UnsafeRawBufferPointer(rebasing: first))
                _ = try cursor.next()
                cursor.scanner.endChunk()
            }
        } catch {
            return nil
        }
        return cursor.header?.names
    }

    /// Where a part begins.
    private func place(_ part: Int) -> RecordBatch.Place {
        var place = RecordBatch.Place()
        place.offset = starts[part]
        for index in 0..<starts[part] where bytes[index] == 0x0A {
            place.line += 1
            place.lineOffset = index + 1
        }
        return place
    }
}

/// The first part in which a worker has found an error, which those behind it need not go on for.
final class FirstFailure: Sendable {
    private let lock = Lock()
    // SAFETY: read and written within the lock only.
    nonisolated(unsafe) private var first = Int.max

    func note(_ index: Int) { lock.withLock { unsafe first = unsafe min(first, index) } }

    func isBefore(_ index: Int) -> Bool { lock.withLock { unsafe first < index } }
}
