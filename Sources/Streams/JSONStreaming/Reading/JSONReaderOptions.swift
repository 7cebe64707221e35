// What a JSON reader can be told, once, when it is made.

public import PlistStreaming

/// The options of a JSON reader.
public struct JSONReaderOptions: Sendable {
    /// The bounds of the input.
    public var limits: StreamLimits
    /// Whether the input is a sequence of values separated by whitespace, as in JSON lines, and not one value.
    public var allowsMultipleValues: Bool
    /// Whether every byte goes through the plain machine, which tests compare with the fast loop.
    package var usesPlainScan: Bool = false

    /// Creates options.
    ///
    /// - Parameters:
    ///   - limits: The bounds of the input.
    ///   - allowsMultipleValues: Whether any number of values may follow each other, separated by whitespace.
    public init(limits: StreamLimits = .standard, allowsMultipleValues: Bool = false) {
        self.limits = limits
        self.allowsMultipleValues = allowsMultipleValues
    }
}
