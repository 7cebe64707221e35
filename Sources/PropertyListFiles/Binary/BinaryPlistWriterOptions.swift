// What a writer of binary property lists can be told, once, when it is made.

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
    /// Whether a dictionary with nothing but a number under `CF$UID` is written as a UID, the reference of a keyed archive.
    public var writesUIDs: Bool
    /// The most different values that are looked for when one comes again; keys are always looked for.
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
