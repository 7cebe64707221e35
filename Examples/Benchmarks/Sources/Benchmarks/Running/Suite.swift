// The model of a suite: groups of cases that do the same work in different ways. Each suite has its own file and one
// line in `main.swift`.

/// Benchmarks of one part of the package.
struct Suite: Sendable {
    /// The first part of the name of every group, such as `StringTable`.
    let name: String
    /// Makes the groups and generates their inputs, before anything is timed.
    let makeGroups: @Sendable (Scale) throws -> [Group]
}

/// A requirement that is checked on a large input, without comparing times.
struct Check: Sendable {
    let name: String
    /// Checks the parts whose names begin with one of the given prefixes, or all parts if there are no prefixes, and
    /// returns a description of the result.
    let run: @Sendable (Scale, _ beginnings: [String]) throws -> String
}

/// How much work a run does.
struct Scale {
    /// A Boolean value that indicates whether to run and check everything once on minimal inputs, without measuring. If
    /// false, inputs are large enough for meaningful times.
    var isSmoke = false
    /// The number of rows of databases and the text size of `ImportMemory` in bytes, if given on the command line.
    var rows: Int?
    var bytes: Int?

    /// Returns the amount for this scale.
    func amount(full: Int, smoke: Int) -> Int { isSmoke ? smoke : full }
}

/// Cases that must give the same checksum because they do the same work.
struct Group {
    /// The name within the suite, such as `hit/12-keys`.
    let name: String
    /// The amount of work that one run of a case does.
    let work: Work
    let cases: [Case]

    /// Returns the group with the cases whose names begin with one of the given prefixes, or with all cases if there
    /// are no prefixes.
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
    /// The unit of the count, such as `look-up` or `object`.
    let unit: String
    /// The number of bytes processed, if a rate in MB/s is meaningful.
    var byteCount: Int?
    /// The number of messages in a stream of this input, if allocations are reported per message.
    var eventCount: Int?
}

/// One way to do the work of a group.
struct Case {
    let name: String
    /// The peers in the same group whose times are divided by the time of this case.
    var goals: [Goal] = []
    /// Checks more of the result than a timed run can, and returns a checksum that is compared instead of the checksum
    /// of `run`.
    var check: (() throws -> UInt64)?
    /// Measures the time from the start to the first object or event, if that is shorter than the whole run.
    var first: (() throws -> Duration)?
    /// Removes the results of the previous run, untimed.
    var prepare: (() throws -> Void)?
    /// Does the work once and returns a checksum of the result.
    let run: () throws -> UInt64
    /// Reads the result of a run and returns its checksum, untimed. This checksum replaces the return value of `run`.
    var verify: (() throws -> UInt64)?
    /// Does the work in another process instead of calling `run`. That process measures the time.
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

    /// Returns a case that makes a value and releases it. A separate run checks the sum of the value.
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

/// A peer and the speed that the package must reach compared with it.
struct Goal {
    /// The name of a case of the same group. If several builds of a peer run, this is the name before the comma, and
    /// the fastest build counts. If the group has no such case, no ratio is reported.
    let peer: String
    /// The minimum ratio of speeds, or nil without a goal.
    var ratio: Double?
}

/// The measurements that another process reports for a run.
struct RemoteRun {
    /// The checksum, if requested.
    var checksum: UInt64?
    var elapsed: Duration
    /// The largest growth of the resident memory, in bytes.
    var peakGrowth: Int?
}
