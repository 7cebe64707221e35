// The options of sending bound values.

/// What is sent for nil members, how names are mapped, and how deep values may be nested.
public struct WritingOptions: Sendable {
    /// What is sent for a member that is nil.
    public enum NilMembers: Sendable {
        /// Neither key nor value.
        case omit
        /// The key and null.
        case writeNull
    }

    /// How names of reflected properties become names in the stream.
    public var keyMapping: KeyMapping
    /// What is sent for a member that is nil; nil for what suits the sink: null for writers of records with columns, such as CSV's,
    /// and nothing for all others.
    public var nilMembers: NilMembers?
    /// The deepest nesting, beyond which `limitExceeded` is thrown: also for objects that refer to each other in a circle.
    public var depthLimit: Int

    /// Makes options.
    public init(keyMapping: KeyMapping = .exact, nilMembers: NilMembers? = nil, depthLimit: Int = 512) {
        self.keyMapping = keyMapping
        self.nilMembers = nilMembers
        self.depthLimit = depthLimit
    }
}
