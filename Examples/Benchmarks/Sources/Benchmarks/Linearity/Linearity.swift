// Checks that twice the input takes at most about twice the time, for every entry point of the package. Each input is
// doubled several times. Only the ratios of the processor times count, so a busy machine changes little.
//
//     swift run -c release --package-path Examples/Benchmarks Benchmarks Linearity [--cases "decoder, depth"]

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// An entry point of the package and the quantity of its input that is doubled.
struct EntryPoint {
    let name: String
    /// The largest amount, if the entry point has a limit.
    var largest = Int.max
    /// Makes an input of the given amount and returns the operation to time.
    let prepare: (Int) throws -> () throws -> Void
    /// Does the same work in the library that the entry point uses, such as SQLite. The entry point can't grow more
    /// slowly than that library.
    var preparePeer: ((Int) throws -> () throws -> Void)?

    init<Input>(
        _ name: String, largest: Int = .max, _ make: @escaping (Int) throws -> Input,
        beside peer: ((Input) throws -> Void)? = nil, _ run: @escaping (Input) throws -> Void
    ) {
        func preparing(_ run: @escaping (Input) throws -> Void) -> (Int) throws -> () throws -> Void {
            { amount in
                let input = try make(amount)
                return { try run(input) }
            }
        }
        (self.name, self.largest) = (name, largest)
        prepare = preparing(run)
        preparePeer = peer.map(preparing)
    }
}

/// The largest accepted ratio of times for twice the input. It is above 2 because larger inputs miss the caches more
/// often.
private let largestRatio = 2.6

let linearity = Check(name: "Linearity") { scale, beginnings in
    var steep: [String] = []
    let all =
        readingEntryPoints + decodingEntryPoints + encodingEntryPoints + statementEntryPoints + rowEntryPoints
        + importEntryPoints + keyEntryPoints
        + formatEntryPoints
    let entryPoints =
        beginnings.isEmpty ? all : all.filter { entryPoint in beginnings.contains(where: entryPoint.name.hasPrefix) }
    for entryPoint in entryPoints {
        let (line, isSteep) = try scale.isSmoke ? (try runOnce(entryPoint), false) : measure(entryPoint)
        if !scale.isSmoke {
            print(line)
            fflush(nil)
        }
        if isSteep { steep.append(entryPoint.name) }
    }
    guard !scale.isSmoke else { return "\(entryPoints.count) entry points" }
    return
        "\(entryPoints.count) entry points, beyond \(largestRatio): \(steep.isEmpty ? "none" : steep.joined(separator: ", "))"
}

private func runOnce(_ entryPoint: EntryPoint) throws -> String {
    try entryPoint.prepare(16)()
    return entryPoint.name
}

/// Measures an entry point for an amount that takes 20 ms and for three doublings of that amount.
private func measure(_ entryPoint: EntryPoint) throws -> (line: String, isSteep: Bool) {
    var amount = 32
    var time = 0.0
    repeat {
        amount *= 2
        time = try seconds(try entryPoint.prepare(amount))
    } while time < 0.02 && amount * 2 <= entryPoint.largest
    if amount * 8 > entryPoint.largest { amount = max(1, entryPoint.largest / 8) }
    let times = try leastTimes(entryPoint.prepare, from: amount)
    var line = "\(entryPoint.name): \(ratios(times))  (from \(amount): \(milliseconds(times)) ms)"
    var bound = largestRatio
    if growth(times) > bound, let peer = entryPoint.preparePeer {
        let others = try leastTimes(peer, from: amount)
        line += "; the one it stands on: \(ratios(others))  (\(milliseconds(others)) ms)"
        bound = max(bound, growth(others) * 1.1)
    }
    let isSteep = growth(times) > bound
    return ((isSteep ? "STEEP " : "      ") + line, isSteep)
}

/// Returns the minimum times of an amount and of its three doublings.
private func leastTimes(_ prepare: (Int) throws -> () throws -> Void, from amount: Int) throws -> [Double] {
    let runs = try [1, 2, 4, 8].map { try prepare(amount * $0) }
    var times = [Double](repeating: .infinity, count: runs.count)
    // Repeat steep measurements because other processes use the caches too. The sizes take turns.
    var round = 0
    while round < 2 || round < 8 && growth(times) > largestRatio {
        for (index, run) in runs.enumerated() { times[index] = min(times[index], try seconds(run)) }
        round += 1
    }
    return times
}

private func ratios(_ times: [Double]) -> String {
    zip(times.dropFirst(), times).map { "\(($0 / $1 * 100).rounded() / 100)" }.joined(separator: "  ")
}

private func milliseconds(_ times: [Double]) -> String {
    times.map { "\(($0 * 10_000).rounded() / 10)" }.joined(separator: ", ")
}

/// Returns the growth factor of the time per doubling: the mean of all doublings or of the last two, if that is larger.
private func growth(_ times: [Double]) -> Double {
    guard times.allSatisfy(\.isFinite) else { return .infinity }
    return max(cbrt(times[3] / times[0]), (times[3] / times[1]).squareRoot())
}

/// The processor time of a run, in seconds.
private func seconds(_ run: () throws -> Void) throws -> Double {
    let start = processorTime()
    try run()
    return processorTime() - start
}

private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
