// What JSON lines are made of: bytes that wait, and the values that were made of others.

import PlistBuilding
import PlistStreaming

/// Makes values of bytes, piece by piece, and keeps those that nobody has asked for yet.
final class LineReader<Value: StreamValue> {
    /// How many bytes are made values at once.
    static var pieceByteCount: Int { 1 << 16 }

    /// Bytes that wait to be read, from `offset` on.
    var waiting: [UInt8] = []
    private var offset = 0
    /// Whether those bytes are to be read before others are waited for.
    var isReady = false
    /// Whether there is nothing more to come but the values that are kept.
    private(set) var isFinished = false

    private var reader: JSONReader<ObjectStream<Value>>?
    private let values = Values()
    private var failure: StreamError?

    private final class Values {
        var kept: [Value] = []
        var next = 0

        var isEmpty: Bool { next == kept.count }

        func removeAll() { (kept, next) = ([], 0) }

        func take() -> Value? {
            guard next < kept.count else {
                kept.removeAll(keepingCapacity: true)
                next = 0
                return nil
            }
            next += 1
            return kept[next - 1]
        }
    }

    init(_ options: JSONReaderOptions, _ builderOptions: BuilderOptions) {
        let values = values
        var builderOptions = builderOptions.besideLines
        // Nobody could read those that are collected, and their number would end a feed without end.
        if builderOptions.unknownMembers == .collect { builderOptions.unknownMembers = .ignore }
        do throws(StreamError) {
            var stream = try ObjectStream<Value>(depth: 1, options: builderOptions) { value throws(StreamError) in
                values.kept.append(copy value)
            }
            // The lines are the elements of an array of which the reader knows nothing.
            try stream.beginArray()
            reader = JSONReader(sink: stream, options: options.ofLines)
        } catch {
            fail(error)
        }
    }

    /// The next value of the bytes that are here, nil when there is none yet.
    func next() throws(StreamError) -> Value? {
        while true {
            if let value = values.take() { return value }
            if let failure {
                self.failure = nil
                throw failure
            }
            guard isReady, !isFinished else { return nil }
            readPiece()
        }
    }

    private func readPiece() {
        let end = min(offset + Self.pieceByteCount, waiting.count)
        do throws(StreamError) {
            let range = offset..<end
            try unsafe waiting.withUnsafeBufferPointer { (buffer) throws(StreamError) in
                // SAFETY: the span does not leave the closure.
                let piece = unsafe UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: buffer[range]))
                try unsafe reader?.feed(piece.bytes)
            }
        } catch {
            return fail(error)
        }
        offset = end
        guard offset == waiting.count else { return }
        waiting.removeAll(keepingCapacity: waiting.capacity <= 1 << 20)
        (offset, isReady) = (0, false)
    }

    /// Reads what waits, and ends the text.
    func finish() {
        while !waiting.isEmpty, !isFinished { readPiece() }
        guard !isFinished else { return }
        do throws(StreamError) { try reader?.finish() } catch { return fail(error) }
        end()
    }

    private func fail(_ error: StreamError) {
        failure = error
        end()
    }

    /// Whether nothing comes any more, neither a value nor an error.
    var isSpent: Bool { isFinished && values.isEmpty && failure == nil }

    /// Gives up everything, also values and an error that nobody has asked for yet.
    func giveUp() {
        end()
        values.removeAll()
        failure = nil
    }

    /// Gives up what waits.
    func end() {
        isFinished = true
        reader = nil
        waiting = []
    }
}
