// Runs the cases of a group in turn and measures the time, allocations, peak memory and checksum of each.

import CAllocations

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The measurements of one case.
struct Measurement {
    /// The median time of a run.
    let median: Duration
    /// The interquartile range of the run times, divided by the median.
    let spread: Double
    /// The number of allocations in one run, or nil if allocations can't be counted.
    let allocations: UInt64?
    /// The largest growth of the process's resident memory during one run, in bytes, or nil if the system doesn't
    /// report it.
    let peakGrowth: Int?
    /// The median time to the first object or event.
    let first: Duration
}

/// The error thrown if the cases of a group give different results.
struct DifferentResults: Error, CustomStringConvertible {
    let description: String
}

/// Runs the cases of a group in turn, `rounds` times, after one untimed run for warming up, counting and checking.
///
/// Because the cases take turns, a disturbance of the machine affects all of them, and distorts ratios less than times.
/// Each round uses a different order. A case that takes less than 10 ms runs several times per turn. Each of these runs
/// counts.
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

/// The results of an untimed run.
private struct Count {
    /// The checksum that must be equal for all cases of a group.
    let checksum: UInt64
    /// The checksum that must be equal for all runs of a case.
    let ownChecksum: UInt64
    let allocations: UInt64?
    let peakGrowth: Int?
}

/// Runs a case without timing it, and counts its allocations and memory.
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
    // Return free heap memory to the system, so that the resident memory shows the allocations of the next run.
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

/// Resets the high-water mark of resident memory to the current value.
///
/// - Returns: True if the system supports the reset.
func resetPeakMemory() -> Bool {
    guard let file = fopen("/proc/self/clear_refs", "w") else { return false }
    let isWritten = fputs("5", file) >= 0
    return fclose(file) == 0 && isWritten
}

/// Returns the message of a check with the peak memory appended.
///
/// - Parameters:
///   - peak: The peak memory in bytes, or nil if the system doesn't report it.
///   - read: A description of the input.
///   - check: The name of the check.
///   - limit: The limit in MiB.
/// - Throws: `DifferentResults` if the peak reaches the limit.
func withPeak(_ peak: Int?, _ read: String, of check: String, limit: Int) throws -> String {
    guard let peak else { return read + "; nobody here can tell the resident memory" }
    guard peak < limit << 20 else {
        throw DifferentResults(description: "\(check): \(peak >> 20) MiB resident, more than \(limit)")
    }
    return read + ", never more than \(fixed(Double(peak) / Double(1 << 20), 1)) MiB resident (limit \(limit))"
}

/// Returns a value from the status file of a process, in bytes.
///
/// `VmHWM:` is the high-water mark of resident memory, `VmRSS:` the current resident memory.
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
