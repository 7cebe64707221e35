// The sink that ignores everything: it validates an input, and measures a reader alone.

/// A sink that accepts every message and does nothing.
@frozen
public struct NullSink: PartialSink, Sendable {
    /// An unused member: with `--sanitize thread` Swift 6.3 passes an empty structure by an invalid address.
    @usableFromInline let hasSize = true

    /// Creates the sink.
    @inlinable public init() {}
}
