// The options for sending bound values.

/// Options for sending bound values: nil members, the mapping of names, and the maximum depth.
public struct WritingOptions: Sendable {
    /// The ways to send a member that is nil.
    public enum NilMembers: Sendable {
        /// Sends neither the key nor a value.
        case omit
        /// Sends the key and null.
        case writeNull
    }

    /// The mapping of property names to names in the stream.
    public var keyMapping: KeyMapping
    /// The way to send a member that is nil. If this is nil, it depends on the sink: writers of records with columns, such as
    /// CSV, get null, and all other sinks get nothing.
    public var nilMembers: NilMembers?
    /// The maximum depth. If it is exceeded, `limitExceeded` is thrown, also for objects that refer to each other in a
    /// circle.
    public var depthLimit: Int

    /// Creates options.
    public init(keyMapping: KeyMapping = .exact, nilMembers: NilMembers? = nil, depthLimit: Int = 512) {
        self.keyMapping = keyMapping
        self.nilMembers = nilMembers
        self.depthLimit = depthLimit
    }
}
