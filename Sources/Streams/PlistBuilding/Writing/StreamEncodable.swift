// What a type needs to be its own encoder. Its tests are those of `PlistSink+Values`.

public import PlistStreaming

/// A type that writes itself; its own encoder always wins over its members, also in subclasses.
///
/// ```swift
/// extension Temperature: StreamEncodable {
///     func write<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) { try sink.writeReal(degrees) }
/// }
/// ```
public protocol StreamEncodable {
    /// Sends exactly one value to the sink.
    func write<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError)
}
