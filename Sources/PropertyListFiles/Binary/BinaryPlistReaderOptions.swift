// What a reader of binary property lists can be told, once, when it is made.

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
