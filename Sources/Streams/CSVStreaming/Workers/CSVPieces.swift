// A text in pieces for several workers: bytes in memory, or a file of which only some pieces are in memory at a time.

import PlistStreaming

/// The pieces of a delimited text, split at line ends outside quotes.
///
/// A line end ends a record if an even number of quotes precedes it. That is always true in well-formed text, but
/// quotes in comments or in unquoted fields may mislead. Therefore a split is accepted only if the piece before it was
/// read to its end without an error, because that piece then ends with a complete record. From the first piece with an
/// error, one worker reads the rest again. So the result, including errors and their positions, is the same as with one
/// worker.
@safe
final class CSVPieces: @unchecked Sendable {
    // SAFETY: one task at a time uses an object: the one that takes pieces, or the one that reads the rest after them.
    /// The file; nil if all bytes are in memory.
    private let file: InputFile?
    private let options: CSVReaderOptions
    private let pieceByteCount: Int
    /// The bytes after the last piece; the indexes are offsets in the text.
    private var unread: ArraySlice<UInt8> = []
    private var isAtEnd = false
    /// The error that ended reading, if any.
    private var failure: StreamError?

    init(_ file: consuming InputFile, _ options: CSVReaderOptions, pieceByteCount: Int) {
        self.file = consume file
        self.options = options
        self.pieceByteCount = max(1, pieceByteCount)
    }

    init(_ bytes: [UInt8], _ options: CSVReaderOptions, pieceByteCount: Int) {
        file = nil
        self.options = options
        self.pieceByteCount = max(1, pieceByteCount)
        unread = bytes[...]
    }

    /// Returns the next piece, which ends at a line end outside quotes or at the end of the text. Returns nil after the
    /// last one, if the longest allowed record has no such end, or if the file cannot be read.
    func next() -> ArraySlice<UInt8>? {
        guard !isAtEnd, failure == nil else { return nil }
        // Whether the current byte is within quotes, and the bytes without a record end.
        var (isInside, seen) = (false, unread.startIndex)
        var end = isInMemory ? unread.startIndex : unread.endIndex
        while true {
            let count = end - unread.startIndex
            end += pieceByteCount
            if end > unread.endIndex, !isInMemory { readMore(to: end) }
            if end <= unread.endIndex {
                if let end = lastEnd(from: &seen, to: end, &isInside) {
                    defer { unread = unread[end...] }
                    return unread[..<end]
                }
                guard count <= max(0, options.recordByteLimit) else { return nil }
            } else {
                guard failure == nil else { return nil }
                isAtEnd = true
                return takeUnread()
            }
        }
    }

    private var isInMemory: Bool {
        switch file {
        case .none: true
        case .some: false
        }
    }

    private func takeUnread() -> ArraySlice<UInt8> {
        defer { unread = [] }
        return unread
    }

    /// Reads bytes of the file up to an offset in the text, or to the end.
    private func readMore(to end: Int) {
        var offset = unread.endIndex
        unread.append(contentsOf: repeatElement(0, count: end - offset))
        do throws(StreamError) {
            while offset < end {
                let place = offset - unread.startIndex
                let read = try unsafe unread.withUnsafeMutableBufferPointer { buffer throws(StreamError) in
                    try unsafe file?.readChunk(
                        UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[place...]))) ?? 0
                }
                guard read > 0 else { break }
                offset += read
            }
        } catch {
            failure = error
        }
        unread.removeSubrange(offset...)
    }

    /// Returns the offset after the last line end outside quotes; if there is none, the search continues after all
    /// bytes except a final CR.
    private func lastEnd(from seen: inout Int, to end: Int, _ isInside: inout Bool) -> Int? {
        let last = unread[end - 1] == 0x0D ? end - 1 : end
        guard last > seen else { return nil }
        var quoteCount = 0
        if let quote = options.dialect.quote {
            for index in seen..<last where unread[index] == quote { quoteCount &+= 1 }
        }
        let start = seen
        if quoteCount & 1 == 1 { isInside.toggle() }
        seen = last
        var isWithin = isInside
        var index = last
        while index > start {
            index -= 1
            let byte = unread[index]
            if byte == options.dialect.quote {
                isWithin.toggle()
            } else if byte == 0x0A || byte == 0x0D, !isWithin {
                return byte == 0x0D && index + 1 < end && unread[index + 1] == 0x0A ? index + 2 : index + 1
            }
        }
        return nil
    }

    /// Calls a closure with the bytes of the file that were not read yet, in chunks.
    func forEachUnreadChunk(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) {
        if let failure { throw failure }
        if !isAtEnd { try file?.readChunks(body) }
    }

    /// Reads all pieces, a limited number at a time, and passes on their results in order.
    ///
    /// - Parameter isForOne: A Boolean value that indicates whether one worker must read the whole text, because a
    ///   limit applies to the whole text.
    /// - Throws: The error that one worker would find first; `receiverFailed` with a `CancellationError` as the cause
    ///   if the task is canceled.
    func read<Value: Sendable>(
        workers: Int, isForOne: Bool = false, _ read: @escaping CSVPiece.Read<Value>, _ take: (Value) -> Void
    ) async throws(StreamError) {
        let order = PieceOrder()
        var pieces: [ArraySlice<UInt8>] = []
        var others: CSVReaderOptions?
        var outputs: [Int: CSVPiece.Output<Value>?] = [:]
        // The number of pieces taken, the start of the next one, and the number of running tasks.
        var (taken, start, taskCount) = (0, CSVPiece.Start(), 0)
        await withTaskGroup(of: (Int, CSVPiece.Output<Value>?).self) { group in
            while true {
                while !isForOne, taskCount < max(1, workers), pieces.count < 2 * max(1, workers), outputs[taken] == nil,
                    taken + pieces.count == 0 || others != nil, let bytes = next()
                {
                    let index = taken + pieces.count
                    pieces.append(bytes)
                    if index == 0 { others = CSVPiece.otherOptions(behind: bytes, options) }
                    guard let others else { break }
                    let piece = CSVPiece(bytes, index == 0 ? options : others, order, index)
                    taskCount += 1
                    group.addTask {
                        do throws(StreamError) { return (index, try await read(piece)) } catch {
                            order.noteFailure(of: index)
                            return (index, nil)
                        }
                    }
                }
                guard let (index, output) = await group.next() else { return }
                taskCount -= 1
                outputs[index] = .some(output)
                while case .some(.some(let output)) = outputs[taken] {
                    outputs[taken] = nil
                    take(output.value)
                    (taken, start) = (taken + 1, start.behind(output.extent))
                    pieces.removeFirst()
                }
            }
        }
        if Task.isCancelled { throw StreamError(ofReceiver: CancellationError()) }
        guard !pieces.isEmpty || !isAtEnd else { return }
        // The rest of the text, as one worker reads it.
        let rest = CSVPiece(
            pieces + [takeUnread()], of: self, behind: taken, from: start, taken == 0 ? options : others ?? options)
        take(try await read(rest).value)
    }
}
