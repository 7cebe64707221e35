// A text in parts for several workers. The type splits the text, joins the results, and reads parts again after a split
// at the wrong place.

import PlistStreaming

/// The parts of a delimited text, split at line ends outside quotes.
///
/// A line end ends a record if an even number of quotes precedes it. That is always true in well-formed text, but
/// quotes in comments or in unquoted fields may mislead. Therefore a split is accepted only if the part before it was
/// read to its end without an error, because that part then ends with a complete record. From the first part with an
/// error, one worker reads the rest again. So the result, including errors and their positions, is the same as with one
/// worker.
struct CSVParts: Sendable {
    let bytes: [UInt8]
    let options: CSVReaderOptions
    /// The offsets of the parts.
    private(set) var starts: [Int] = [0]

    /// Splits a text into at most the given number of parts, without parts that are much smaller than others.
    ///
    /// - Complexity: O(*n*), by as many tasks as there are parts.
    init(_ bytes: [UInt8], _ options: CSVReaderOptions, count: Int, smallest: Int) async {
        self.bytes = bytes
        self.options = options
        // The record that determines the width of the others must be in the same part.
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

    /// Returns the number of quotes between each place and the next.
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

    /// Returns the offset after the first line end that is not within quotes.
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

    /// Returns the bytes of a part, or of all parts starting with it.
    private func range(_ part: Int, toEnd: Bool = false) -> Range<Int> {
        starts[part]..<(toEnd || part + 1 == starts.count ? bytes.count : starts[part + 1])
    }

    /// Reads all parts, each with its own worker, and returns their results in order.
    ///
    /// - Parameter isForOne: A Boolean value that indicates whether one worker must read the whole text, because a
    ///   limit applies to the whole text.
    /// - Throws: The error that one worker would find first; `receiverFailed` with a `CancellationError` as the cause
    ///   if the task is canceled.
    func read<Value: Sendable>(
        isForOne: Bool = false, _ read: @escaping CSVPiece.Read<Value>
    ) async throws(StreamError) -> [Value] {
        let order = PieceOrder()
        guard !isForOne, starts.count > 1,
            let others = CSVPiece.otherOptions(behind: bytes[..<starts[1]], options)
        else {
            return [try await read(CSVPiece(bytes, 0..<bytes.count, behind: 0, from: CSVPiece.Start(), options)).value]
        }
        var found = await withTaskGroup(of: (Int, CSVPiece.Output<Value>?).self) { group in
            for index in starts.indices {
                let piece = CSVPiece(
                    bytes, range(index), at: starts[index], index == 0 ? options : others, order, index)
                group.addTask {
                    do throws(StreamError) { return (index, try await read(piece)) } catch {
                        order.noteFailure(of: index)
                        return (index, nil)
                    }
                }
            }
            var outputs = [CSVPiece.Output<Value>?](repeating: nil, count: starts.count)
            for await (index, output) in group { outputs[index] = output }
            return outputs
        }
        guard let failed = found.firstIndex(where: { $0 == nil }) else { return found.compactMap { $0?.value } }
        if Task.isCancelled { throw StreamError(ofReceiver: CancellationError()) }
        // The rest of the text, as one worker reads it.
        found.removeSubrange(failed...)
        let start = found.reduce(CSVPiece.Start()) { start, output in output.map { start.behind($0.extent) } ?? start }
        let rest = CSVPiece(
            bytes, range(failed, toEnd: true), behind: failed, from: start, failed == 0 ? options : others)
        return found.compactMap { $0?.value } + [try await read(rest).value]
    }
}
