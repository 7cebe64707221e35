// Passes on the elements of an array without the array, for formats whose documents are sequences of values.

import PlistStreaming

/// A sink that passes on the elements of an array.
struct ElementSink<Sink: PlistSink & ~Copyable>: ScalarSink, ~Copyable {
    var sink: Sink
    private var depth = 0

    init(_ sink: consuming Sink) { self.sink = sink }

    private func checkScalar() throws(StreamError) {
        if depth == 0 { throw StreamError(.unrepresentable, "expected an array of values, found a single value") }
    }

    mutating func beginArray() throws(StreamError) {
        if depth > 0 { try sink.beginArray() }
        depth += 1
    }

    mutating func endArray() throws(StreamError) {
        depth -= 1
        if depth > 0 { try sink.endArray() }
    }

    mutating func beginDictionary() throws(StreamError) {
        try checkScalar()
        try sink.beginDictionary()
        depth += 1
    }

    mutating func endDictionary() throws(StreamError) {
        try sink.endDictionary()
        depth -= 1
    }

    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { try sink.writeKey(utf8) }

    mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        try checkScalar()
        try scalar.send(to: &sink)
    }

    mutating func cancel(with error: StreamError) { sink.cancel(with: error) }
}
