// What a suite is: groups of cases that do the same work in different ways. A suite is one file and one line in `main`.

/// Benchmarks of one part of the package.
struct Suite: Sendable {
    /// The first part of the name of every group, such as `StringTable`.
    let name: String
    /// Makes the groups; inputs are generated here, before anything is timed.
    let makeGroups: @Sendable (Scale) throws -> [Group]
}

/// How much work a run does.
enum Scale {
    /// Inputs that make times meaningful.
    case full
    /// Inputs as small as they can be; nothing is measured, everything is run and checked.
    case smoke

    /// Chooses the amount for this scale.
    func amount(full: Int, smoke: Int) -> Int { self == .full ? full : smoke }
}

/// Cases that must give the same checksum, since they do the same work.
struct Group {
    /// The name within the suite, such as `hit/12-keys`.
    let name: String
    /// What one run of a case gets through.
    let work: Work
    let cases: [Case]
}

/// The amount of work of one run.
struct Work {
    /// The number of operations, objects or events.
    let count: Int
    /// What is counted, such as `look-up` or `object`.
    let unit: String
    /// The bytes gone through, where a rate in MB/s says something.
    var byteCount: Int?
}

/// One way to do the work of a group.
struct Case {
    let name: String
    /// The case of the same group whose time is divided by the time of this one.
    var peer: String?
    /// The ratio to the peer that the package owes.
    var goal: Double?
    /// Does the work once and returns a checksum of the result.
    let run: () throws -> UInt64
}
