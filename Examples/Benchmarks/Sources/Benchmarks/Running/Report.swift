// Turning measurements into a table: one row for each case, ratios to the named peer, and whether the goal is met.

/// The heading of a group and its rows.
func report(_ group: Group, suite: String, measurements: [Measurement]) -> String {
    let work = group.work
    var rows = [
        ["", "median ms", "±%"] + (work.byteCount == nil ? [] : ["MB/s"])
            + [
                work.byteCount == nil ? "ns/\(work.unit)" : "M \(work.unit)s/s", "ratio", "goal",
                "allocs/\(work.eventCount == nil ? work.unit : "event")", "peak +MB", "first ms",
            ]
    ]
    for (one, measurement) in zip(group.cases, measurements) {
        rows += tableRows(one, measurement, of: group, beside: measurements)
    }
    return "\(suite)/\(group.name)\n" + aligned(rows)
}

/// The row of a case, and one more for each further peer.
private func tableRows(
    _ one: Case, _ measurement: Measurement, of group: Group, beside all: [Measurement]
) -> [[String]] {
    let seconds = measurement.median / .seconds(1)
    let ratios: [(ratio: String, goal: String)] = one.goals.compactMap { goal in
        guard let (name, median) = fastest(goal.peer, of: group, all) else { return nil }
        let ratio = median / measurement.median
        return (
            "\(fixed(ratio, 2)) × \(name)",
            goal.ratio.map { "≥ \(shortest($0)) \(ratio >= $0 ? "met" : "MISSED")" } ?? ""
        )
    }
    let count = Double(group.work.count)
    let rates =
        if let byteCount = group.work.byteCount {
            [fixed(Double(byteCount) / seconds / 1e6, 0), fixed(count / seconds / 1e6, 2)]
        } else {
            [fixed(seconds / count * 1e9, 2)]
        }
    let allocationUnits = Double(group.work.eventCount ?? group.work.count)
    let row =
        [one.name, fixed(seconds * 1e3, 3), fixed(measurement.spread * 100, 0)] + rates + [
            ratios.first?.ratio ?? "", ratios.first?.goal ?? "",
            measurement.allocations.map { fixed(Double($0) / allocationUnits, 4) } ?? "-",
            measurement.peakGrowth.map { fixed(Double($0) / 1e6, 1) } ?? "-",
            fixed(measurement.first / .seconds(1) * 1e3, 3),
        ]
    let blanks = [String](repeating: "", count: 3 + rates.count)
    return [row] + ratios.dropFirst().map { blanks + [$0.ratio, $0.goal, "", "", ""] }
}

/// The name and the time of a peer: of the case of that name, or else of the fastest of its builds.
private func fastest(_ peer: String, of group: Group, _ all: [Measurement]) -> (String, Duration)? {
    let cases = zip(group.cases, all).map { (name: $0.name, median: $1.median) }
    return cases.first { $0.name == peer }
        ?? cases.filter { $0.name.hasPrefix(peer + ", ") }.min { $0.median < $1.median }
}

/// Pads the cells of each column to one width: the first to the left, the others to the right.
private func aligned(_ rows: [[String]]) -> String {
    let widths = (0..<rows[0].count).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
        "  "
            + row.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + padding : padding + cell
            }.joined(separator: "  ")
    }.map { row in String(row.reversed().drop { $0 == " " }.reversed()) }.joined(separator: "\n") + "\n"
}

/// Writes a goal with as many decimals as it has, two at the most.
private func shortest(_ goal: Double) -> String {
    let text = fixed(goal, 2)
    return text.hasSuffix("0") ? String(text.dropLast()) : text
}

/// Writes a number with a fixed number of decimals.
func fixed(_ number: Double, _ decimals: Int) -> String {
    guard number.isFinite else { return "-" }
    var scale = 1.0
    for _ in 0..<decimals { scale *= 10 }
    let digits = String(Int64((abs(number) * scale).rounded()))
    let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
    let sign = number < 0 ? "-" : ""
    return decimals == 0 ? sign + padded : sign + padded.dropLast(decimals) + "." + padded.suffix(decimals)
}
