// The protocol for types with their own encoder. Its tests are in `PlistSink+Values`.

public import PlistStreaming

/// A type with its own encoder. The encoder is always used instead of the members, also in subclasses.
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
