// Makes values from the records of any format, piece by piece, and keeps values that weren't requested yet.

import PlistStreaming

/// Constants for reading waiting bytes in pieces.
enum RecordPiece {
    /// The number of bytes that are read at once.
    static var byteCount: Int { 1 << 16 }
}

// PERF: JSONRecords/streams; inlinable, so that taking a value needs neither a call nor a look-up of types.
/// The records that weren't requested yet.
@usableFromInline
package final class RecordQueue<Value> {
    @usableFromInline var kept: [Value] = []
    @usableFromInline var next = 0

    @inlinable
    init() {}

    /// Adds a record.
    @inlinable
    package func append(_ value: consuming Value) { kept.append(value) }

    var isEmpty: Bool { next == kept.count }

    func removeAll() { (kept, next) = ([], 0) }

    @inlinable
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

/// The state of reading records.
@usableFromInline
package final class RecordReader<Value> {
    /// The bytes to be read, starting at `offset`.
    var waiting: [UInt8] = []
    private var offset = 0
    /// A Boolean value that indicates whether these bytes have to be read before more bytes are awaited.
    var isReady = false
    /// A Boolean value that indicates whether reading is finished, so that only kept values remain.
    private(set) var isFinished = false

    private var reader: (any PushReader & ~Copyable)?
    @usableFromInline let values = RecordQueue<Value>()
    private var failure: StreamError?

    /// Creates a reader of records.
    ///
    /// - Parameter makeReader: Creates a push reader with a sink that appends each record to the queue.
    package init(_ makeReader: (RecordQueue<Value>) throws(StreamError) -> any PushReader & ~Copyable) {
        do throws(StreamError) { reader = try makeReader(values) } catch { fail(error) }
    }

    /// Returns the next value of the bytes so far, or nil if it isn't complete yet.
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

    /// Reads chunks of an input until a value is complete.
    ///
    /// - Returns: `false` at the end.
    func fill(from input: inout ByteInput, isText: Bool) throws(StreamError) -> Bool {
        while true {
            if !values.isEmpty { return true }
            if let failure {
                self.failure = nil
                throw failure
            }
            if isFinished { return false }
            do throws(StreamError) {
                let hasMore = try input.next { (chunk) throws(StreamError) in
                    if isText { try reader?.feed(text: chunk) } else { try reader?.feed(chunk) }
                }
                if !hasMore { finish() }
            } catch {
                fail(error)
            }
        }
    }

    private func readPiece() {
        let end = min(offset + RecordPiece.byteCount, waiting.count)
        do throws(StreamError) {
            try waiting[offset..<end].withRawSpan { (piece) throws(StreamError) in try reader?.feed(piece) }
        } catch {
            return fail(error)
        }
        offset = end
        guard offset == waiting.count else { return }
        waiting.removeAll(keepingCapacity: waiting.capacity <= 1 << 20)
        (offset, isReady) = (0, false)
    }

    /// Reads the waiting bytes and ends the input.
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

    /// A Boolean value that indicates whether reading is finished, and all values and errors were returned.
    var isSpent: Bool { isFinished && values.isEmpty && failure == nil }

    /// Discards everything, including values and an error that weren't requested yet.
    func giveUp() {
        end()
        values.removeAll()
        failure = nil
    }

    private func end() {
        isFinished = true
        reader = nil
        waiting = []
    }
}

extension RecordReader where Value: StreamValue {
    /// Creates a reader of records of a bound type.
    convenience init(_ format: some StreamFormat, _ options: BuilderOptions) {
        var options = options
        // Collected members couldn't be read anywhere, and their number would end an endless stream.
        if options.unknownMembers == .collect { options.unknownMembers = .ignore }
        self.init { (values) throws(StreamError) in
            let builder = try ValueBuilder(
                handingOver: Value.self, depth: 1, options: options, expectsArray: true
            ) { value throws(StreamError) in values.append(copy value) }
            return format.pushReader(into: builder)
        }
    }
}
