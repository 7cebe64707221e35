// Formats results as a table with one row per case, the ratios to the named peers, and whether each goal is met.

/// Returns the heading of a group and its rows.
func report(_ group: GroupResult) -> String {
    let hasBytes = group.cases.contains { $0.megabytesPerSecond != nil }
    var rows = [
        ["", "median ms", "±%"] + (hasBytes ? ["MB/s"] : [])
            + [
                hasBytes ? "M \(group.unit)s/s" : "ns/\(group.unit)", "ratio", "goal", "allocs/\(group.allocationUnit)",
                "peak +MB", "first ms",
            ]
    ]
    for one in group.cases { rows += tableRows(one) }
    return "\(group.suite)/\(group.name)\n" + aligned(rows)
}

/// Returns the row of a case and one more row for each further peer.
private func tableRows(_ one: CaseResult) -> [[String]] {
    let ratios = one.ratios.map { ratio in
        [
            "\(fixed(ratio.ratio, 2)) × \(ratio.peer)",
            ratio.goal.map { "≥ \(shortest($0)) \(ratio.ratio >= $0 ? "met" : "MISSED")" } ?? "",
        ]
    }
    let rates =
        one.megabytesPerSecond.map { [fixed($0, 0), fixed(one.unitsPerSecond / 1e6, 2)] }
        ?? [fixed(1e9 / one.unitsPerSecond, 2)]
    let row =
        [one.name, fixed(one.milliseconds, 3), fixed(one.spread * 100, 0)] + rates + (ratios.first ?? ["", ""]) + [
            one.allocations.map { fixed($0, 4) } ?? "-", one.peakMegabytes.map { fixed($0, 1) } ?? "-",
            fixed(one.firstMilliseconds, 3),
        ]
    let blanks = [String](repeating: "", count: 3 + rates.count)
    return [row] + ratios.dropFirst().map { blanks + $0 + ["", "", ""] }
}

/// Pads the cells of each column to the same width. The first column is aligned left, the others right.
func aligned(_ rows: [[String]]) -> String {
    let widths = (0..<rows[0].count).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
        "  "
            + row.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + padding : padding + cell
            }.joined(separator: "  ")
    }.map { row in String(row.reversed().drop { $0 == " " }.reversed()) }.joined(separator: "\n") + "\n"
}

/// Formats a goal with one decimal, or two if the second isn't 0.
private func shortest(_ goal: Double) -> String {
    let text = fixed(goal, 2)
    return text.hasSuffix("0") ? String(text.dropLast()) : text
}

/// Formats a number with a fixed number of decimals.
func fixed(_ number: Double, _ decimals: Int) -> String {
    guard number.isFinite else { return "-" }
    var scale = 1.0
    for _ in 0..<decimals { scale *= 10 }
    let digits = String(Int64((abs(number) * scale).rounded()))
    let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
    let sign = number < 0 ? "-" : ""
    return decimals == 0 ? sign + padded : sign + padded.dropLast(decimals) + "." + padded.suffix(decimals)
}
