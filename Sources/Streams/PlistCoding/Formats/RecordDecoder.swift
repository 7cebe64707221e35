// Decodes the elements of an array one by one, as a sink.

import PlistStreaming

/// A sink that decodes each value in the outermost array, and forgets it after a closure has received it.
struct RecordDecoder<Value: Decodable>: PlistSink, ~Copyable {
    private let options: DecodingOptions
    private let receive: (Value) throws(StreamError) -> Void
    private var tape = DecodingTape()
    private var depth = 0
    private var count = 0

    init(_ options: DecodingOptions, _ receive: @escaping (Value) throws(StreamError) -> Void) {
        self.options = options
        self.receive = receive
    }

    /// Checks that a scalar is in the array, and decodes the record if it is one.
    private mutating func endScalar() throws(StreamError) {
        if depth == 1 { try deliver() }
    }

    private func checkDepth() throws(StreamError) {
        if depth == 0 { throw StreamError(.typeMismatch, "expected an array of records, found a single value") }
    }

    /// Decodes the record that is complete.
    private mutating func deliver() throws(StreamError) {
        let value: Value
        var complete = DecodingTape()
        swap(&complete, &tape)
        do {
            value = try complete.decode(Value.self, options: options)
        } catch {
            throw StreamError(ofReceiver: error).within(.index(count))
        }
        count += 1
        try receive(value)
    }

    mutating func beginArray() throws(StreamError) {
        if depth > 0 { try tape.beginArray() }
        depth += 1
    }

    mutating func endArray() throws(StreamError) {
        depth -= 1
        if depth > 0 { try tape.endArray() }
        try endScalar()
    }

    mutating func beginDictionary() throws(StreamError) {
        try checkDepth()
        try tape.beginDictionary()
        depth += 1
    }

    mutating func endDictionary() throws(StreamError) {
        try tape.endDictionary()
        depth -= 1
        try endScalar()
    }

    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { try tape.writeKey(utf8) }

    mutating func writeNull() throws(StreamError) {
        try checkDepth()
        try tape.writeNull()
        try endScalar()
    }

    mutating func writeBool(_ value: Bool) throws(StreamError) {
        try checkDepth()
        try tape.writeBool(value)
        try endScalar()
    }

    mutating func writeInteger(_ value: Int64) throws(StreamError) {
        try checkDepth()
        try tape.writeInteger(value)
        try endScalar()
    }

    mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        try checkDepth()
        try tape.writeUnsigned(value)
        try endScalar()
    }

    mutating func writeReal(_ value: Double) throws(StreamError) {
        try checkDepth()
        try tape.writeReal(value)
        try endScalar()
    }

    mutating func writeNumber(text: RawSpan) throws(StreamError) {
        try checkDepth()
        try tape.writeNumber(text: text)
        try endScalar()
    }

    mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        try checkDepth()
        try tape.writeString(utf8)
        try endScalar()
    }

    mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        try checkDepth()
        try tape.writeData(bytes)
        try endScalar()
    }

    mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try checkDepth()
        try tape.writeDate(secondsSince2001: seconds)
        try endScalar()
    }

    mutating func cancel(with error: StreamError) {
        tape = DecodingTape()
        depth = 0
    }
}
