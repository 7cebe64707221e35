// The short way between a bound value and a writer of this package: the value where it lies in memory.
// This file owns the handle and what sinks do that read no memory; what is behind it belongs to PlistBuilding.

/// A handle to a value of a bound type, which a writer may read from memory instead of taking messages for it.
///
/// Only the writers of this package know what is behind it. Any other sink gets the messages of ``PlistSink``; the result
/// is the same.
@safe
public struct ValuePort {
    /// The address of the description, which is valid during the call.
    package let source: UnsafeRawPointer

    package init(_ source: UnsafeRawPointer) { unsafe self.source = source }
}

extension PlistSink where Self: ~Copyable {
    // PERF: inlinable, so that nothing of this is left in code that is specialised for such a sink.
    /// Writes nothing: the value comes as messages.
    @inlinable
    public mutating func writeValue(_ port: ValuePort) throws(StreamError) -> Bool { false }
}
