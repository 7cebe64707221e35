// The sink that ignores everything: it validates an input, and measures a reader alone.

/// A sink that accepts every message and does nothing.
@frozen
public struct NullSink: PartialSink, Sendable {
    /// Nobody reads it: with `--sanitize thread` Swift 6.3 hands on a structure of no size by an address that is none.
    @usableFromInline let hasSize = true

    /// Creates the sink.
    @inlinable public init() {}
}
