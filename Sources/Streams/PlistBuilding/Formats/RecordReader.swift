// Makes values of the records of any format, piece by piece, and keeps those that were not asked for yet.

import PlistStreaming

/// The state of reading records.
package final class RecordReader<Value> {
    /// The number of bytes that are made values at once.
    static var pieceByteCount: Int { 1 << 16 }

    /// The bytes that wait to be read, from `offset` on.
    var waiting: [UInt8] = []
    private var offset = 0
    /// Whether those bytes are to be read before others are waited for.
    var isReady = false
    /// Whether nothing is to come except the values that are kept.
    private(set) var isFinished = false

    private var reader: (any PushReader & ~Copyable)?
    private let values = Values()
    private var failure: StreamError?

    /// The records that were not asked for yet.
    package final class Values {
        package fileprivate(set) var kept: [Value] = []
        fileprivate var next = 0

        fileprivate var isEmpty: Bool { next == kept.count }

        /// Adds a record.
        package func append(_ value: consuming Value) { kept.append(value) }

        fileprivate func removeAll() { (kept, next) = ([], 0) }

        fileprivate func take() -> Value? {
            guard next < kept.count else {
                kept.removeAll(keepingCapacity: true)
                next = 0
                return nil
            }
            next += 1
            return kept[next - 1]
        }
    }

    /// Creates a reader of records.
    ///
    /// - Parameter makeReader: Creates a push reader before a sink that appends each record to the values.
    package init(_ makeReader: (Values) throws(StreamError) -> any PushReader & ~Copyable) {
        do throws(StreamError) { reader = try makeReader(values) } catch { fail(error) }
    }

    /// Returns the next value of the bytes so far, or nil if there is none yet.
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

    /// Returns the next value of an input.
    func next(of input: inout ByteInput) throws(StreamError) -> Value? {
        while true {
            if let value = try next() { return value }
            if isFinished { return nil }
            do throws(StreamError) {
                if try !input.next({ (chunk) throws(StreamError) in try reader?.feed(chunk) }) { finish() }
            } catch {
                fail(error)
            }
        }
    }

    private func readPiece() {
        let end = min(offset + Self.pieceByteCount, waiting.count)
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

    /// Reads the waiting bytes, and ends the input.
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

    /// Whether nothing is to come, neither a value nor an error.
    var isSpent: Bool { isFinished && values.isEmpty && failure == nil }

    /// Gives up everything, including values and an error that were not asked for yet.
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
        // There is no place to read those that are collected, and their number would end an endless stream.
        if options.unknownMembers == .collect { options.unknownMembers = .ignore }
        self.init { (values) throws(StreamError) in
            let stream = try RecordStream<Value>(depth: 1, options: options) { value throws(StreamError) in
                values.append(copy value)
            }
            return format.pushReader(into: stream)
        }
    }
}
