// Running the cases of a group in turn, and what is measured of each: time, allocations, peak memory, checksum.

import CAllocations

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What was measured of one case.
struct Measurement {
    /// The median time of a run.
    let median: Duration
    /// The time between the first and the third quarter of the runs, divided by the median.
    let spread: Double
    /// Allocations of one run; nil where they cannot be counted.
    let allocations: UInt64?
    /// By how many bytes the resident memory of the process grew at most during one run; nil where nobody can tell.
    let peakGrowth: Int?
    /// The median time to the first object or event.
    let first: Duration
}

/// The cases of a group gave different results.
struct DifferentResults: Error, CustomStringConvertible {
    let description: String
}

/// Runs the cases of a group in turn, `rounds` times, after one run for warming up, counting and checking.
///
/// Taking turns spreads a disturbance of the machine over all cases, so that ratios suffer less than times; the order is
/// another one in each round. A case of less than 10 ms runs several times in its turn; each run counts.
func measure(_ group: Group, rounds: Int, isSmoke: Bool) throws -> [Measurement] {
    let counts = try group.cases.map { try countedRun($0) }
    for (index, count) in counts.enumerated() where count.checksum != counts[0].checksum {
        throw DifferentResults(
            description: "\(group.name): \(group.cases[index].name) gives the checksum \(count.checksum), "
                + "\(group.cases[0].name) gives \(counts[0].checksum)")
    }
    var times = [[Duration]](repeating: [], count: group.cases.count)
    var firsts = [[Duration]](repeating: [], count: group.cases.count)
    for round in 0..<rounds {
        for index in RunOrder.indices(group.cases.count, inRound: round) {
            let one = group.cases[index]
            var total = Duration.zero
            repeat {
                let elapsed = try timedRun(one, expecting: counts[index].ownChecksum, in: group)
                times[index].append(elapsed)
                total += elapsed
            } while !isSmoke && total < .milliseconds(10)
            if let first = one.first { firsts[index].append(try first()) }
        }
    }
    return zip(zip(times, firsts), counts).map { times, count in
        let sorted = times.0.sorted()
        let spread = sorted.isEmpty ? 0 : (sorted[sorted.count * 3 / 4] - sorted[sorted.count / 4]) / median(sorted)
        return Measurement(
            median: median(sorted), spread: spread, allocations: count.allocations, peakGrowth: count.peakGrowth,
            first: times.1.isEmpty ? median(sorted) : median(times.1.sorted()))
    }
}

private func median(_ sorted: [Duration]) -> Duration {
    sorted.isEmpty ? .zero : (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
}

private func timedRun(_ one: Case, expecting expected: UInt64, in group: Group) throws -> Duration {
    if let runElsewhere = one.runElsewhere { return try runElsewhere(false).elapsed }
    try one.prepare?()
    let clock = ContinuousClock()
    let start = clock.now
    let returned = try one.run()
    let elapsed = clock.now - start
    let checksum = try one.verify?() ?? returned
    guard checksum == expected else {
        throw DifferentResults(description: "\(group.name): \(one.name) gives another checksum each time")
    }
    return elapsed
}

/// What a run gave that was not timed.
private struct Count {
    /// What must be equal for all cases of a group.
    let checksum: UInt64
    /// What must be equal for all runs of a case.
    let ownChecksum: UInt64
    let allocations: UInt64?
    let peakGrowth: Int?
}

/// Runs a case once, not timed, and counts.
private func countedRun(_ one: Case) throws -> Count {
    if let runElsewhere = one.runElsewhere {
        let run = try runElsewhere(true)
        return Count(
            checksum: run.checksum ?? 0, ownChecksum: run.checksum ?? 0, allocations: nil, peakGrowth: run.peakGrowth)
    }
    let checksum = try one.check?()
    try one.prepare?()
    _ = try one.run()
    try one.prepare?()
    // Free memory of the heap goes back to the system, so that a run that needs some is seen to need it.
    callocations_trim()
    let isPeakReset = resetPeakMemory()
    let resident = memory("VmRSS:")
    let before = callocations_count()
    let returned = try one.run()
    let after = callocations_count()
    let peak = isPeakReset ? memory("VmHWM:") : nil
    let ownChecksum = try one.verify?() ?? returned
    return Count(
        checksum: checksum ?? ownChecksum, ownChecksum: ownChecksum,
        allocations: callocations_is_counting() ? after - before : nil,
        peakGrowth: peak.flatMap { peak in resident.map { max(0, peak - $0) } })
}

/// Sets the high-water mark of resident memory back to what is resident now, where the system can do it.
func resetPeakMemory() -> Bool {
    guard let file = fopen("/proc/self/clear_refs", "w") else { return false }
    let isWritten = fputs("5", file) >= 0
    return fclose(file) == 0 && isWritten
}

/// What a check says of what it read and of the most memory that there was, in bytes, nil where nobody can tell.
///
/// - Parameter limit: in MiB.
/// - Throws: when there was as much or more.
func withPeak(_ peak: Int?, _ read: String, of check: String, limit: Int) throws -> String {
    guard let peak else { return read + "; nobody here can tell the resident memory" }
    guard peak < limit << 20 else {
        throw DifferentResults(description: "\(check): \(peak >> 20) MiB resident, more than \(limit)")
    }
    return read + ", never more than \(fixed(Double(peak) / Double(1 << 20), 1)) MiB resident (limit \(limit))"
}

/// A line of the system's account of this process, or of another one, in bytes: `VmHWM:` is the high-water mark of resident memory, `VmRSS:`
/// what is resident now.
func memory(_ name: String, of path: String = "/proc/self/status") -> Int? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard text.hasPrefix(name) else { continue }
        return Int(text.filter(\.isNumber)).map { $0 * 1_024 }
    }
    return nil
}
