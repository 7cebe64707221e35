// Twice the input, twice the time, for every door: the input of each is doubled several times, and the ratio of the times is
// what counts, not the times. Time is that of the processor, so that a busy machine changes little.
//
//     swift run -c release --package-path Examples/Benchmarks Benchmarks --filter Linearity

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A way into the package, and what of its input is doubled.
struct Door {
    let name: String
    /// The largest amount, where there is a bound.
    var largest = Int.max
    /// Makes an input of an amount, and returns what is timed.
    let prepare: (Int) throws -> () throws -> Void

    init<Input>(
        _ name: String, largest: Int = .max, _ make: @escaping (Int) throws -> Input,
        _ run: @escaping (Input) throws -> Void
    ) {
        (self.name, self.largest) = (name, largest)
        prepare = { amount in
            let input = try make(amount)
            return { try run(input) }
        }
    }
}

/// The ratio of times for twice the input beyond which a door is not linear: caches cost something, too.
private let largestRatio = 2.6

let linearity = Check(name: "Linearity") { scale in
    var steep: [String] = []
    let doors =
        readingDoors + decodingDoors + encodingDoors + statementDoors + rowDoors + importDoors + keyDoors
    for door in doors {
        let (line, isSteep) = try scale == .full ? measure(door) : (try runOnce(door), false)
        if scale == .full {
            print(line)
            fflush(nil)
        }
        if isSteep { steep.append(door.name) }
    }
    guard scale == .full else { return "\(doors.count) doors" }
    return "\(doors.count) doors, beyond \(largestRatio): \(steep.isEmpty ? "none" : steep.joined(separator: ", "))"
}

private func runOnce(_ door: Door) throws -> String {
    try door.prepare(16)()
    return door.name
}

/// The times of a door for amounts that are doubled, from one that takes 20 ms on.
private func measure(_ door: Door) throws -> (line: String, isSteep: Bool) {
    var amount = 64
    var run = try door.prepare(amount)
    var time = try leastTime(run, rounds: 1)
    while time < 0.02, amount * 2 <= door.largest {
        amount *= 2
        run = try door.prepare(amount)
        time = try leastTime(run, rounds: 1)
    }
    // With a bound, what is doubled last is the bound itself.
    if amount * 8 > door.largest { amount = max(1, door.largest / 8) }
    var times: [Double] = []
    var ratios: [Double] = []
    let first = amount
    while amount <= door.largest, times.count < 4, (times.last ?? 0) < 1 {
        run = try door.prepare(amount)
        times.append(try leastTime(run, rounds: (times.last ?? 0) < 0.2 ? 5 : 2))
        if times.count > 1 { ratios.append(times[times.count - 1] / times[times.count - 2]) }
        amount *= 2
    }
    let isSteep = ratios.contains { $0 > largestRatio }
    let figures = ratios.map { "\(($0 * 100).rounded() / 100)" }.joined(separator: "  ")
    let milliseconds = times.map { "\(($0 * 10_000).rounded() / 10)" }.joined(separator: ", ")
    return ("\(isSteep ? "STEEP " : "      ")\(door.name): \(figures)  (from \(first): \(milliseconds) ms)", isSteep)
}

/// The least processor time of several runs, in seconds.
private func leastTime(_ run: () throws -> Void, rounds: Int) throws -> Double {
    var least = Double.infinity
    for _ in 0..<rounds {
        let start = processorTime()
        try run()
        least = min(least, processorTime() - start)
    }
    return least
}

private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
