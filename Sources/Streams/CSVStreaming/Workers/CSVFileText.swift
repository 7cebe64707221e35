// A file in pieces for several workers, with only some pieces in memory at a time.

import PlistStreaming

/// The text of a file, split at line ends outside quotes.
@safe
final class CSVFileText: @unchecked Sendable {
    // SAFETY: one task at a time uses an object: the one that takes pieces, or the one that reads the rest after them.
    private let file: InputFile
    private let options: CSVReaderOptions
    private let pieceByteCount: Int
    /// The bytes after the last piece.
    private var bytes: [UInt8] = []
    private var isAtEnd = false
    /// The error that ended reading, if any.
    private var failure: StreamError?

    init(_ file: consuming InputFile, _ options: CSVReaderOptions, pieceByteCount: Int) {
        self.file = file
        self.options = options
        self.pieceByteCount = max(1, pieceByteCount)
    }

    /// Returns the next piece, which ends at a line end outside quotes or at the end of the text. Returns nil after the
    /// last one, if the longest allowed record has no such end, or if the file cannot be read; then `forEachChunk`
    /// continues.
    func next() -> [UInt8]? {
        guard !isAtEnd, failure == nil else { return nil }
        // Whether the current byte is within quotes, and the number of bytes without a record end.
        var (isInside, seen) = (false, 0)
        while true {
            let count = bytes.count
            if readMore() {
                if let end = lastEnd(from: &seen, &isInside) {
                    let piece = Array(bytes[..<end])
                    bytes.removeSubrange(..<end)
                    return piece
                }
                guard count <= max(0, options.recordByteLimit) else { return nil }
            } else {
                guard failure == nil else { return nil }
                isAtEnd = true
                defer { bytes = [] }
                return bytes
            }
        }
    }

    /// Reads as many bytes as a piece has; returns false at the end.
    private func readMore() -> Bool {
        let count = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: pieceByteCount))
        var end = count
        do throws(StreamError) {
            while end < bytes.count {
                let place = end
                let read = try unsafe bytes.withUnsafeMutableBufferPointer { buffer throws(StreamError) in
                    try unsafe file.readChunk(
                        UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[place...])))
                }
                guard read > 0 else { break }
                end += read
            }
        } catch {
            failure = error
        }
        bytes.removeSubrange(end...)
        return end == count + pieceByteCount
    }

    /// Returns the offset after the last line end outside quotes; if there is none, the search continues after all
    /// bytes except a final CR.
    private func lastEnd(from seen: inout Int, _ isInside: inout Bool) -> Int? {
        let count = bytes.last == 0x0D ? bytes.count - 1 : bytes.count
        guard count > seen else { return nil }
        var quoteCount = 0
        if let quote = options.dialect.quote {
            for index in seen..<count where bytes[index] == quote { quoteCount &+= 1 }
        }
        let start = seen
        if quoteCount & 1 == 1 { isInside.toggle() }
        seen = count
        var isWithin = isInside
        var index = count
        while index > start {
            index -= 1
            let byte = bytes[index]
            if byte == options.dialect.quote {
                isWithin.toggle()
            } else if byte == 0x0A || byte == 0x0D, !isWithin {
                return byte == 0x0D && index + 1 < bytes.count && bytes[index + 1] == 0x0A ? index + 2 : index + 1
            }
        }
        return nil
    }

    /// Calls a closure with the bytes after the last piece, in chunks.
    func forEachChunk(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) {
        let bytes = self.bytes
        self.bytes = []
        try bytes.withRawSpan { bytes throws(StreamError) in try body(bytes) }
        if let failure { throw failure }
        if !isAtEnd { try file.readChunks(body) }
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
        var pieces: [[UInt8]] = []
        var others: CSVReaderOptions?
        var outputs: [Int: CSVPiece.Output<Value>?] = [:]
        // The number of pieces taken, the start of the next one, and the offset of the next one to read.
        var (taken, start, offset) = (0, CSVPiece.Start(), 0)
        await withTaskGroup(of: (Int, CSVPiece.Output<Value>?).self) { group in
            while true {
                while !isForOne, pieces.count < 2 * max(1, workers), outputs[taken] == nil,
                    taken + pieces.count == 0 || others != nil, let bytes = next()
                {
                    let index = taken + pieces.count
                    pieces.append(bytes)
                    if index == 0 { others = CSVPiece.otherOptions(behind: bytes[...], options) }
                    guard let others else { break }
                    let piece = CSVPiece(
                        bytes, 0..<bytes.count, at: offset, index == 0 ? options : others, order, index)
                    offset += bytes.count
                    group.addTask {
                        do throws(StreamError) { return (index, try await read(piece)) } catch {
                            order.noteFailure(of: index)
                            return (index, nil)
                        }
                    }
                }
                guard let (index, output) = await group.next() else { return }
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
            [], 0..<0, behind: taken, from: start, taken == 0 ? options : others ?? options, rest: (pieces, self))
        take(try await read(rest).value)
    }
}
