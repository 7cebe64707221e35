// The results of a run, for tables, `--json` and plots.

import Foundation
import JSONStreaming
import PlistBuilding

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The results of one run of the command, in the form that `--json` writes.
struct Results: StreamObject {
    /// The processor model and the number of processors.
    var machine = ""
    /// The date, such as `2026-11-23`.
    var date = ""
    var rounds = 0
    var groups: [GroupResult] = []

    static func of(rounds: Int) -> Results {
        Results(machine: currentMachine(), date: Date.now.formatted(.iso8601.year().month().day()), rounds: rounds)
    }

    /// Writes the results as JSON.
    func write(to path: String) throws {
        let options = JSONWriterOptions(layout: .pretty(indent: 2))
        try Data(try JSON(writer: options).encode(self)).write(to: URL(filePath: path), options: .atomic)
    }

    /// Returns the processor model, if the system reports it, and the number of processors.
    private static func currentMachine() -> String {
        let text = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
        let model = line?.split(separator: ":").last.map { $0.drop { $0 == " " } } ?? "unknown processor"
        return "\(model), \(sysconf(Int32(_SC_NPROCESSORS_ONLN))) processors"
    }
}

/// The results of one group.
struct GroupResult: StreamObject {
    var suite = ""
    var name = ""
    /// The unit of the work in each run, such as `object`, or `run` if only the time counts.
    var unit = ""
    /// The unit that allocations are divided by: `unit`, or `event`.
    var allocationUnit = ""
    var cases: [CaseResult] = []
}

/// The results of one case. Everything except the time is nil if it is unknown.
struct CaseResult: StreamObject {
    var name = ""
    /// A Boolean value that indicates whether the package is compared with this case.
    var isPeer = false
    /// The median time of a run.
    var milliseconds = 0.0
    /// The interquartile range of the run times, divided by the median.
    var spread = 0.0
    var megabytesPerSecond: Double?
    var unitsPerSecond = 0.0
    /// The number of allocations per unit.
    var allocations: Double?
    /// The largest growth of the resident memory during a run, in MB.
    var peakMegabytes: Double?
    /// The median time to the first object or event.
    var firstMilliseconds = 0.0
    var ratios: [RatioResult] = []
}

/// The speed of a case as a multiple of a peer's speed.
struct RatioResult: StreamObject {
    var peer = ""
    var ratio = 0.0
    /// The minimum ratio to reach.
    var goal: Double?
}

extension GroupResult {
    init(_ group: Group, suite: String, measurements: [Measurement]) {
        let work = group.work
        let peers = group.cases.flatMap(\.goals).map(\.peer)
        // The package's own cases come before the peers.
        let firstPeer = group.cases.firstIndex { one in
            one.runElsewhere != nil || peers.contains { one.name == $0 || one.name.hasPrefix("\($0), ") }
        }
        let ownCount = firstPeer ?? group.cases.count
        let allocationCount = Double(work.eventCount ?? work.count)
        self.init(
            suite: suite, name: group.name, unit: work.unit,
            allocationUnit: work.eventCount == nil ? work.unit : "event",
            cases: zip(group.cases, measurements).enumerated().map { index, pair in
                let (one, measurement) = pair
                let seconds = measurement.median / .seconds(1)
                let ratios: [RatioResult] = one.goals.compactMap { goal in
                    guard let (name, median) = Self.fastest(goal.peer, of: group, measurements) else { return nil }
                    return RatioResult(peer: name, ratio: median / measurement.median, goal: goal.ratio)
                }
                return CaseResult(
                    name: one.name, isPeer: index >= ownCount && one.goals.isEmpty, milliseconds: seconds * 1e3,
                    spread: measurement.spread,
                    megabytesPerSecond: work.byteCount.map { Double($0) / seconds / 1e6 },
                    unitsPerSecond: Double(work.count) / seconds,
                    allocations: measurement.allocations.map { Double($0) / allocationCount },
                    peakMegabytes: measurement.peakGrowth.map { Double($0) / 1e6 },
                    firstMilliseconds: measurement.first / .seconds(1) * 1e3, ratios: ratios)
            })
    }

    /// Returns the name and time of a peer: the case with that name, or otherwise the fastest of its builds.
    private static func fastest(_ peer: String, of group: Group, _ all: [Measurement]) -> (String, Duration)? {
        let cases = zip(group.cases, all).map { (name: $0.name, median: $1.median) }
        return cases.first { $0.name == peer }
            ?? cases.filter { $0.name.hasPrefix(peer + ", ") }.min { $0.median < $1.median }
    }
}
