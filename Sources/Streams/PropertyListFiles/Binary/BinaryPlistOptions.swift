// The options of readers and writers of binary property lists.

public import PlistStreaming

/// The options of a reader of binary property lists.
///
/// Many places of a binary property list can refer to the same object, so a small file can expand to an enormous number
/// of values. The limits below bound the number of messages; ordinary files stay far below them.
public struct BinaryPlistReaderOptions: Sendable {
    /// The bounds of the input.
    public var limits: StreamLimits
    /// The maximum number of values and keys to send; nil for four per byte of the input, plus a million.
    public var valueLimit: Int?
    /// The maximum number of bytes of strings, keys and data to send; nil for 64 per byte of the input, plus 64 MiB.
    public var contentByteLimit: Int?

    /// Creates options.
    ///
    /// - Parameters:
    ///   - limits: The bounds of the input.
    ///   - valueLimit: The maximum number of values and keys to send.
    ///   - contentByteLimit: The maximum number of bytes of strings, keys and data to send.
    public init(limits: StreamLimits = .standard, valueLimit: Int? = nil, contentByteLimit: Int? = nil) {
        self.limits = limits
        self.valueLimit = valueLimit
        self.contentByteLimit = contentByteLimit
    }

    func valueLimit(forByteCount byteCount: Int) -> Int { max(0, valueLimit ?? (4 * byteCount + (1 << 20))) }

    func contentByteLimit(forByteCount byteCount: Int) -> Int {
        max(0, contentByteLimit ?? (64 * byteCount + (64 << 20)))
    }
}

/// The options of a writer of binary property lists.
public struct BinaryPlistWriterOptions: Sendable, Hashable {
    /// A policy for null, which property lists don't have.
    public enum Nulls: Sendable, Hashable {
        /// Reports an error.
        case reject
        /// Writes the null of the format, which few readers accept. Foundation's writer doesn't write it.
        case write
    }

    /// The policy for null.
    public var nulls: Nulls
    /// A Boolean value that indicates whether a dictionary whose only member is a number under `CF$UID` is written as a
    /// UID, the reference type of keyed archives.
    public var writesUIDs: Bool
    /// The maximum number of different strings and data that are remembered to find repeated ones. With 0, only keys
    /// are shared.
    public var sharedValueLimit: Int
    /// The maximum nesting depth to write.
    public var depthLimit: Int

    /// Creates options.
    ///
    /// - Parameters:
    ///   - nulls: The policy for null.
    ///   - writesUIDs: A Boolean value that indicates whether dictionaries that represent UIDs are written as UIDs.
    ///   - sharedValueLimit: The default is 1,048,576 values, for which the writer takes 16 MiB in addition to the
    ///     bytes.
    ///   - depthLimit: The default is 1,024.
    public init(
        nulls: Nulls = .reject, writesUIDs: Bool = false, sharedValueLimit: Int = 1 << 20, depthLimit: Int = 1024
    ) {
        self.nulls = nulls
        self.writesUIDs = writesUIDs
        self.sharedValueLimit = sharedValueLimit
        self.depthLimit = depthLimit
    }
}
