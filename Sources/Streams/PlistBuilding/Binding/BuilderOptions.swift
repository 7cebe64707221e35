// The choices of everyone who builds values: names, unknown and missing members, nulls, depth.

/// What a builder does with members its type does not have, with missing ones and with nulls, and how names are mapped.
public struct BuilderOptions: Sendable {
    /// What to do with a member that the type does not have.
    public enum UnknownMembers: Sendable {
        /// Skip it, whatever it contains.
        case ignore
        /// Keep it with its path in `unknownMembers`, as a property list; at most `unknownMemberLimit`.
        case collect
        /// Throw `unknownMember`.
        case reject
    }

    /// What to do when a member does not come.
    public enum MissingMembers: Sendable {
        /// Give it the value that `init()` makes for this value, unless the member is declared required.
        case useDefaults
        /// Throw `missingMember`, unless the member is optional.
        case reject
    }

    /// What to do with null for a member that is not optional.
    public enum Nulls: Sendable {
        /// Throw `typeMismatch`.
        case reject
        /// Treat the member as missing.
        case treatAsMissing
    }

    /// How names of properties become names in the stream.
    public var keyMapping: KeyMapping
    /// What to do with a member that the type does not have.
    public var unknownMembers: UnknownMembers
    /// A Boolean value that indicates whether names are compared where those that the type does not have are ignored.
    ///
    /// With `true`, the default, a header of CSV of which no column is a member is an error, and so is an element of XML none of
    /// whose children and attributes is one; so is a name that differs only in case, or in space around it, from a member that does
    /// not come. A value of defaults would hide such a mistake. An element that has only attributes may be an empty list, so it is
    /// accepted if the object has an array.
    public var checksNames: Bool
    /// What to do when a member does not come.
    public var missingMembers: MissingMembers
    /// What to do with null for a member that is not optional.
    public var nulls: Nulls
    /// The deepest nesting of containers, beyond which `limitExceeded` is thrown.
    public var depthLimit: Int
    /// The largest number of unknown members that are collected, beyond which `limitExceeded` is thrown.
    ///
    /// An ``RecordStream`` may also hand them over as they come, without a limit.
    public var unknownMemberLimit: Int

    /// Makes options; those not named are lenient where no value can be wrong, and strict elsewhere.
    public init(
        keyMapping: KeyMapping = .exact,
        unknownMembers: UnknownMembers = .ignore,
        checksNames: Bool = true,
        missingMembers: MissingMembers = .useDefaults,
        nulls: Nulls = .reject,
        depthLimit: Int = 1_024,
        unknownMemberLimit: Int = 1_000
    ) {
        self.keyMapping = keyMapping
        self.unknownMembers = unknownMembers
        self.checksNames = checksNames
        self.missingMembers = missingMembers
        self.nulls = nulls
        self.depthLimit = depthLimit
        self.unknownMemberLimit = unknownMemberLimit
    }
}
