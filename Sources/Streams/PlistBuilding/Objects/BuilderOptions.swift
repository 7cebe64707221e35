// The options for building values: names, unknown and missing members, null, depth.

/// Options that control how a builder treats unknown members, missing members and null, and how names are mapped.
public struct BuilderOptions: Sendable {
    /// The ways to treat a member that the type doesn't have.
    public enum UnknownMembers: Sendable {
        /// Skip the member with all its contents.
        case ignore
        /// Keep the member in `unknownMembers` as a property list with its path, up to `unknownMemberLimit`.
        case collect
        /// Throw `unknownMember`.
        case reject
    }

    /// The ways to treat a missing member.
    public enum MissingMembers: Sendable {
        /// Use the value that `init()` makes for this object, unless the member is declared as required.
        case useDefaults
        /// Throw `missingMember`, unless the member is optional.
        case reject
    }

    /// The ways to treat null for a member that isn't optional.
    public enum Nulls: Sendable {
        /// Throw `typeMismatch`.
        case reject
        /// Treat the member as missing.
        case treatAsMissing
    }

    /// The mapping of property names to names in the stream.
    public var keyMapping: KeyMapping
    /// The treatment of a member that the type doesn't have.
    public var unknownMembers: UnknownMembers
    /// A Boolean value that indicates whether names are checked if unknown members are ignored.
    ///
    /// With `true`, the default, the following are errors, because a value of defaults would hide a mistake:
    ///
    /// - a CSV header without any column that is a member
    /// - an XML element without any child or attribute that is a member
    /// - a name that differs from a missing member only in case, or in the white space around it
    ///
    /// An element with only attributes is accepted if the object has an array, because the element may be an empty list.
    public var checksNames: Bool
    /// The treatment of a missing member.
    public var missingMembers: MissingMembers
    /// The treatment of null for a member that isn't optional.
    public var nulls: Nulls
    /// The maximum depth of containers. If it is exceeded, `limitExceeded` is thrown.
    public var depthLimit: Int
    /// The maximum number of unknown members that are collected. If it is exceeded, `limitExceeded` is thrown.
    ///
    /// A ``RecordStream`` can also deliver them as they are received, without a limit.
    public var unknownMemberLimit: Int

    /// Creates options. The defaults are lenient if no value can be wrong, and strict otherwise.
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
