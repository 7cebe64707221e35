// What readers and writers of binary property lists can be told, once, when they are made.

public import PlistStreaming

/// The options of a reader of binary property lists.
///
/// An object of a binary property list may be in many places, and a small file stand for values without number. So there
/// are bounds for what is sent; they are far from what files have that were not made to exceed them.
public struct BinaryPlistReaderOptions: Sendable {
    /// The bounds of the input.
    public var limits: StreamLimits
    /// The most values and keys that are sent; nil for four for each byte of the input, and a million more.
    public var valueLimit: Int?
    /// The most bytes of strings, keys and data that are sent; nil for 64 for each byte of the input, and 64 MiB more.
    public var contentByteLimit: Int?

    /// Creates options.
    ///
    /// - Parameters:
    ///   - limits: The bounds of the input.
    ///   - valueLimit: The most values and keys that are sent.
    ///   - contentByteLimit: The most bytes of strings, keys and data that are sent.
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
    /// What becomes of null, which property lists do not have.
    public enum Nulls: Sendable, Hashable {
        /// It is refused with an error.
        case reject
        /// It is written as the null of the format, which few readers know; Foundation's does not write it.
        case write
    }

    /// What becomes of null.
    public var nulls: Nulls
    /// A Boolean value that indicates whether a dictionary with nothing but a number under `CF$UID` is written as a UID, the
    /// reference of a keyed archive.
    public var writesUIDs: Bool
    /// The most different strings and data that are looked for when one comes again; 0 shares nothing but keys, which always are.
    public var sharedValueLimit: Int
    /// The deepest nesting that is written.
    public var depthLimit: Int

    /// Creates options.
    ///
    /// - Parameters:
    ///   - nulls: What becomes of null.
    ///   - writesUIDs: Whether dictionaries that stand for UIDs are written as such.
    ///   - sharedValueLimit: 1,048,576 values unless given, for which the writer takes 16 MiB besides the bytes.
    ///   - depthLimit: 1,024 unless given.
    public init(
        nulls: Nulls = .reject, writesUIDs: Bool = false, sharedValueLimit: Int = 1 << 20, depthLimit: Int = 1024
    ) {
        self.nulls = nulls
        self.writesUIDs = writesUIDs
        self.sharedValueLimit = sharedValueLimit
        self.depthLimit = depthLimit
    }
}
