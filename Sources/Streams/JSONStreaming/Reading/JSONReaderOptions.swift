// What a JSON reader can be told, once, when it is made.

public import PlistStreaming

/// The options of a JSON reader.
public struct JSONReaderOptions: Sendable {
    /// What becomes of members of one object that have the same name.
    ///
    /// The functions of ``JSON`` and ``JSONLines`` follow it. To check what a ``JSONReader`` reads, put a `UniqueKeys` before its sink.
    public enum DuplicateKeys: Sendable {
        /// Each of them is sent; of values, the last one counts.
        case allow
        /// They are an error of the kind `duplicateKey`. Memory grows with the number of names in the open objects.
        case reject
    }

    /// The bounds of the input.
    public var limits: StreamLimits
    /// A Boolean value that indicates whether the input is a sequence of values separated by whitespace, as in JSON lines, and
    /// not one value.
    public var allowsMultipleValues: Bool
    /// What becomes of members of one object that have the same name.
    public var duplicateKeys: DuplicateKeys
    /// A Boolean value that indicates whether a real is sent as text if its double hasn't all of its digits.
    package var keepsDigits: Bool = false
    /// A Boolean value that indicates whether every byte goes through the plain parser, which tests compare with the fast loop.
    package var usesPlainScan: Bool = false

    /// Creates options.
    ///
    /// - Parameters:
    ///   - limits: The bounds of the input.
    ///   - allowsMultipleValues: Whether any number of values may follow each other, separated by whitespace.
    ///   - duplicateKeys: What becomes of members of one object that have the same name.
    public init(
        limits: StreamLimits = .standard, allowsMultipleValues: Bool = false, duplicateKeys: DuplicateKeys = .allow
    ) {
        self.limits = limits
        self.allowsMultipleValues = allowsMultipleValues
        self.duplicateKeys = duplicateKeys
    }
}
