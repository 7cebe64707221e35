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

    /// Reads all parts, each by a worker, and returns what they give, in order.
    ///
    /// - Parameter isForOne: Whether one worker has to read all, as what it counts is bounded for the whole text.
    /// - Throws: The error that one worker would find first; `receiverFailed` with a `CancellationError` as the cause when the
    ///   task was cancelled.
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
        // What comes from here on, as one worker finds it.
        found.removeSubrange(failed...)
        let start = found.reduce(CSVPiece.Start()) { start, output in output.map { start.behind($0.extent) } ?? start }
        let rest = CSVPiece(
            bytes, range(failed, toEnd: true), behind: failed, from: start, failed == 0 ? options : others)
        return found.compactMap { $0?.value } + [try await read(rest).value]
    }
}
