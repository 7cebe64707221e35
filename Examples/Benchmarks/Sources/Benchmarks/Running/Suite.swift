// What a suite is: groups of cases that do the same work in different ways. A suite is one file and one line in `main`.

/// Benchmarks of one part of the package.
struct Suite: Sendable {
    /// The first part of the name of every group, such as `StringTable`.
    let name: String
    /// Makes the groups; inputs are generated here, before anything is timed.
    let makeGroups: @Sendable (Scale) throws -> [Group]
}

/// Something that must hold on a large input, and is no race.
struct Check: Sendable {
    let name: String
    /// Checks the parts whose names begin with one of these, or all where there are none, and says what was found.
    let run: @Sendable (Scale, _ beginnings: [String]) throws -> String
}

/// How much work a run does.
struct Scale {
    /// A Boolean value that indicates whether inputs are as small as they can be, nothing is measured, and everything is run
    /// and checked; otherwise inputs make times meaningful.
    var isSmoke = false
    /// The number of rows of databases, and of bytes of the text of `ImportMemory`, where somebody has asked for one.
    var rows: Int?
    var bytes: Int?

    /// Chooses the amount for this scale.
    func amount(full: Int, smoke: Int) -> Int { isSmoke ? smoke : full }
}

/// Cases that must give the same checksum, since they do the same work.
struct Group {
    /// The name within the suite, such as `hit/12-keys`.
    let name: String
    /// What one run of a case gets through.
    let work: Work
    let cases: [Case]

    /// Returns the group with the cases whose names begin with one of these; with all of them where there are none.
    func selecting(_ beginnings: [String]) -> Group {
        guard !beginnings.isEmpty else { return self }
        return Group(
            name: name, work: work, cases: cases.filter { one in beginnings.contains(where: one.name.hasPrefix) })
    }
}

/// The amount of work of one run.
struct Work {
    /// The number of operations, objects or events.
    let count: Int
    /// What is counted, such as `look-up` or `object`.
    let unit: String
    /// The bytes gone through, where a rate in MB/s says something.
    var byteCount: Int?
    /// The messages that a stream of this input consists of, where allocations are told for each of them.
    var eventCount: Int?
}

/// One way to do the work of a group.
struct Case {
    let name: String
    /// The cases of the same group whose times are divided by the time of this one.
    var goals: [Goal] = []
    /// Checks more of the result than can be done in a run that is timed; its checksum is compared instead.
    var check: (() throws -> UInt64)?
    /// Measures the time from the start to the first object or event, where that is not the whole time.
    var first: (() throws -> Duration)?
    /// Clears what a run before has left; not timed.
    var prepare: (() throws -> Void)?
    /// Does the work once and returns a checksum of the result.
    let run: () throws -> UInt64
    /// Reads the result of a run and returns its checksum, not timed, in the place of what the run returned.
    var verify: (() throws -> UInt64)?
    /// Does the work in another process, which takes the time; in the place of `run`.
    var runElsewhere: ((_ isChecked: Bool) throws -> RemoteRun)?

    init(
        name: String, peer: String? = nil, goal: Double? = nil, also: [Goal] = [], check: (() throws -> UInt64)? = nil,
        first: (() throws -> Duration)? = nil, prepare: (() throws -> Void)? = nil,
        verify: (() throws -> UInt64)? = nil, run: @escaping () throws -> UInt64
    ) {
        goals = (peer.map { [Goal(peer: $0, ratio: goal)] } ?? []) + also
        (self.prepare, self.verify) = (prepare, verify)
        (self.name, self.check, self.first, self.run) = (name, check, first, run)
    }

    /// A case that makes a value and releases it; what the value adds up to is checked in a run of its own.
    static func making<Value>(
        _ name: String, peer: String? = nil, goal: Double? = nil, also: [Goal] = [],
        prepare: (() throws -> Void)? = nil, _ make: @escaping () throws -> Value,
        sum: @escaping (Value) throws -> UInt64
    ) -> Case {
        Case(name: name, peer: peer, goal: goal, also: also, check: { try sum(try make()) }, prepare: prepare) {
            withExtendedLifetime(try make()) { 1 }
        }
    }

    init(name: String, runElsewhere: @escaping (_ isChecked: Bool) throws -> RemoteRun) {
        self.name = name
        self.runElsewhere = runElsewhere
        run = { try runElsewhere(true).checksum ?? 0 }
    }
}

/// A peer, and what the package owes beside it.
struct Goal {
    /// A case of the same group: its name, or, where several builds of a peer run, the name before the comma; the fastest
    /// one counts, and where there is none, there is no ratio.
    let peer: String
    /// The least ratio of speeds, nil where none is owed.
    var ratio: Double?
}

/// What another process says about a run.
struct RemoteRun {
    /// The checksum, where it was asked for.
    var checksum: UInt64?
    var elapsed: Duration
    /// By how many bytes the resident memory grew at most.
    var peakGrowth: Int?
}
