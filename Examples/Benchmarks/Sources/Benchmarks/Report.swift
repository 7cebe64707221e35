// Turning measurements into a table: one row for each case, ratios to the named peer, and whether the goal is met.

/// The heading of a group and its rows.
func report(_ group: Group, suite: String, measurements: [Measurement]) -> String {
    var rows = [["", "median ms", "±%", "rate", "ratio", "goal", "allocs/\(group.work.unit)", "peak MB"]]
    for (one, measurement) in zip(group.cases, measurements) {
        rows.append(row(one, measurement, of: group, beside: measurements))
    }
    return "\(suite)/\(group.name)\n" + aligned(rows)
}

private func row(_ one: Case, _ measurement: Measurement, of group: Group, beside all: [Measurement]) -> [String] {
    let seconds = measurement.median / .seconds(1)
    var ratioText = ""
    var goalText = ""
    if let peer = one.peer, let index = group.cases.firstIndex(where: { $0.name == peer }) {
        let ratio = all[index].median / measurement.median
        ratioText = "\(fixed(ratio, 2)) × \(peer)"
        if let goal = one.goal { goalText = "≥ \(fixed(goal, 1)) \(ratio >= goal ? "met" : "MISSED")" }
    }
    let rate =
        if let byteCount = group.work.byteCount {
            "\(fixed(Double(byteCount) / seconds / 1e6, 0)) MB/s"
        } else {
            "\(fixed(seconds / Double(group.work.count) * 1e9, 2)) ns/\(group.work.unit)"
        }
    return [
        one.name, fixed(seconds * 1e3, 3), fixed(measurement.spread * 100, 0), rate, ratioText, goalText,
        measurement.allocations.map { fixed(Double($0) / Double(group.work.count), 3) } ?? "-",
        measurement.peakMemory.map { fixed(Double($0) / 1e6, 1) } ?? "-",
    ]
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
    }.joined(separator: "\n") + "\n"
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
