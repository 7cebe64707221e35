// The options of a JSON reader.

public import PlistStreaming

/// The options of a JSON reader.
public struct JSONReaderOptions: Sendable {
    /// A policy for members of one object that have the same name.
    ///
    /// The functions of ``JSON`` and ``JSONLines`` apply it. To check the input of a ``JSONReader``, put a `UniqueKeys`
    /// before its sink.
    public enum DuplicateKeys: Sendable {
        /// Sends each of them; when a value is built, the last one counts.
        case allow
        /// Reports an error of the kind `duplicateKey`. Memory grows with the number of names in the open objects.
        case reject
    }

    /// The limits of the input.
    public var limits: StreamLimits
    /// A Boolean value that indicates whether the input is a sequence of values separated by whitespace, as in JSON
    /// lines, instead of one value.
    public var allowsMultipleValues: Bool
    /// The policy for members of one object that have the same name.
    public var duplicateKeys: DuplicateKeys
    /// The reals that are sent as text.
    @usableFromInline
    package enum Digits: Sendable {
        /// None: all reals are doubles.
        case ofNone
        /// Those whose doubles don't have all of their digits.
        case ofLong
        /// All.
        case ofAll
    }

    @usableFromInline package var digits: Digits = .ofNone
    /// A Boolean value that indicates whether the plain scanner handles every byte. Tests compare it with the fast
    /// loop.
    package var usesPlainScan: Bool = false

    /// Creates options.
    ///
    /// - Parameters:
    ///   - limits: The limits of the input.
    ///   - allowsMultipleValues: A Boolean value that indicates whether the input may contain any number of values,
    ///     separated by whitespace.
    ///   - duplicateKeys: The policy for members of one object that have the same name.
    public init(
        limits: StreamLimits = .standard, allowsMultipleValues: Bool = false, duplicateKeys: DuplicateKeys = .allow
    ) {
        self.limits = limits
        self.allowsMultipleValues = allowsMultipleValues
        self.duplicateKeys = duplicateKeys
    }
}
