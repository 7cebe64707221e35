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
    /// The time between the fastest and the slowest run, divided by the median.
    let spread: Double
    /// Allocations of one run; nil where they cannot be counted.
    let allocations: UInt64?
    /// The largest resident memory of the process during one run, in bytes; nil where it cannot be reset.
    let peakMemory: Int?
}

/// The cases of a group gave different results.
struct DifferentResults: Error, CustomStringConvertible {
    let description: String
}

/// Runs the cases of a group in turn, `rounds` times, after one run for warming up, counting and checking.
///
/// Taking turns spreads a disturbance of the machine over all cases, so that ratios suffer less than times.
func measure(_ group: Group, rounds: Int) throws -> [Measurement] {
    let counts = try group.cases.map { try countedRun($0) }
    for (index, count) in counts.enumerated() where count.checksum != counts[0].checksum {
        throw DifferentResults(
            description: "\(group.name): \(group.cases[index].name) gives the checksum \(count.checksum), "
                + "\(group.cases[0].name) gives \(counts[0].checksum)")
    }
    var times = [[Duration]](repeating: [], count: group.cases.count)
    let clock = ContinuousClock()
    for _ in 0..<rounds {
        for (index, one) in group.cases.enumerated() {
            let start = clock.now
            let checksum = try one.run()
            times[index].append(clock.now - start)
            if checksum != counts[index].checksum {
                throw DifferentResults(description: "\(group.name): \(one.name) gives another checksum each time")
            }
        }
    }
    return zip(times, counts).map { times, count in
        let sorted = times.sorted()
        let median = sorted.isEmpty ? .zero : (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
        let spread = sorted.isEmpty ? 0 : (sorted[sorted.count - 1] - sorted[0]) / median
        return Measurement(median: median, spread: spread, allocations: count.allocations, peakMemory: count.peakMemory)
    }
}

/// Runs a case once, not timed, and counts.
private func countedRun(_ one: Case) throws -> (checksum: UInt64, allocations: UInt64?, peakMemory: Int?) {
    _ = try one.run()
    let isPeakReset = resetPeakMemory()
    let before = callocations_count()
    let checksum = try one.run()
    let after = callocations_count()
    return (checksum, callocations_is_counting() ? after - before : nil, isPeakReset ? peakMemory() : nil)
}

/// Sets the high-water mark of resident memory back to what is resident now, where the system can do it.
private func resetPeakMemory() -> Bool {
    guard let file = fopen("/proc/self/clear_refs", "w") else { return false }
    let isWritten = fputs("5", file) >= 0
    return fclose(file) == 0 && isWritten
}

/// The high-water mark of resident memory in bytes.
private func peakMemory() -> Int? {
    guard let file = fopen("/proc/self/status", "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard text.hasPrefix("VmHWM:") else { continue }
        return Int(text.filter(\.isNumber)).map { $0 * 1_024 }
    }
    return nil
}
