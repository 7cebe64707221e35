// Decodes the elements of an array one by one, as a sink.

import PlistStreaming

/// A sink that decodes each value in the outermost array, and discards it after a closure has received it.
@usableFromInline
package struct RecordTape: ScalarSink, ~Copyable {
    /// Decodes the value on a tape as the record with the given number, and passes it on.
    private let decode: (inout DecodingContext, inout DecodingTape, Int) throws(StreamError) -> Void
    private var context: DecodingContext
    private var tape: DecodingTape
    private var depth = 0
    private var count = 0

    /// Creates a sink.
    ///
    /// - Parameter receive: Receives each value in order.
    init<Value: Decodable>(
        _ type: Value.Type, of format: some StreamFormat, _ options: DecodingOptions,
        _ receive: @escaping (Value) throws(StreamError) -> Void
    ) {
        self.init(type, on: DecodingTape(for: format), options, receive)
    }

    /// Creates a sink for values whose types are marked and whose reals are exact.
    package init<Value: Decodable>(
        _ type: Value.Type, options: DecodingOptions, _ receive: @escaping (Value) throws(StreamError) -> Void
    ) {
        self.init(type, on: DecodingTape(), options, receive)
    }

    private init<Value: Decodable>(
        _ type: Value.Type, on tape: consuming DecodingTape, _ options: DecodingOptions,
        _ receive: @escaping (Value) throws(StreamError) -> Void
    ) {
        context = DecodingContext(options: options, tape.emptied())
        self.tape = tape
        decode = { (context, tape, number) throws(StreamError) in
            let value: Value
            do {
                value = try DecodingContext.decodeRecord(type, &context, &tape)
            } catch {
                throw StreamError(ofReceiver: error).within(.index(number))
            }
            do throws(StreamError) { try receive(value) } catch { throw error.within(.index(number)) }
        }
    }

    /// An array at the root, and any value in it.
    @usableFromInline
    package static var memoryPort: MemoryPort? {
        // SAFETY: the function takes the address of a sink of this type, which is valid during the call.
        unsafe MemoryPort(expectationsOf: Self.self) { sink in
            ExpectedValue(unsafe sink.assumingMemoryBound(to: Self.self).pointee.depth == 0 ? .array : .any)
        }
    }

    /// Checks that a scalar is in the array, and decodes it if it is a complete record.
    private mutating func endScalar() throws(StreamError) {
        if depth == 1 { try deliver() }
    }

    private func checkDepth() throws(StreamError) {
        if depth == 0 { throw StreamError(.typeMismatch, "expected an array of records, found a single value") }
    }

    /// Decodes the completed record.
    private mutating func deliver() throws(StreamError) {
        count += 1
        try decode(&context, &tape, count - 1)
    }

    @usableFromInline
    package mutating func beginArray() throws(StreamError) {
        if depth > 0 { try tape.beginArray() }
        depth += 1
    }

    @usableFromInline
    package mutating func endArray() throws(StreamError) {
        depth -= 1
        if depth > 0 { try tape.endArray() }
        try endScalar()
    }

    @usableFromInline
    package mutating func beginDictionary() throws(StreamError) {
        try checkDepth()
        try tape.beginDictionary()
        depth += 1
    }

    @usableFromInline
    package mutating func endDictionary() throws(StreamError) {
        try tape.endDictionary()
        depth -= 1
        try endScalar()
    }

    @usableFromInline
    package mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { try tape.writeKey(utf8) }

    @usableFromInline
    package mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        try checkDepth()
        try scalar.send(to: &tape)
        try endScalar()
    }

    @usableFromInline
    package mutating func cancel(with error: StreamError) {
        unsafe tape.begin(input: UnsafeRawBufferPointer(start: nil, count: 0))
        depth = 0
    }
}
