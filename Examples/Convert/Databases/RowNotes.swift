// What tables change of the values that they get, counted by columns until all rows are known.

import PlistStreaming

/// The changes of the values of a table.
struct RowNotes {
    /// What becomes of a value.
    enum Kind: String {
        case container = ", arrays and dictionaries become text, their json"
        case bool = ", which is not declared BOOLEAN, true and false become 1 and 0"
        case mixedBool = ", which has other values, true and false become 1 and 0"
        case besideBools =
            ", which is declared BOOLEAN, 1 and 0 are true and false, or all are numbers beside other values"
        case rowID = ", which is the row id, null becomes a number that SQLite chooses"
        case spelling = ", which is declared as numbers, fields such as 007 and 1.10 become their numbers"
    }

    private struct Key: Hashable {
        let column: Int
        let kind: Kind
    }

    private var found: [Key: (first: Int, count: Int)] = [:]

    /// Counts a change in a row.
    mutating func add(_ kind: Kind, in column: Int, row: Int) {
        found[Key(column: column, kind: kind), default: (row, 0)].count += 1
    }

    /// Forgets a kind of changes of a column.
    mutating func remove(_ kind: Kind, in column: Int) { found[Key(column: column, kind: kind)] = nil }

    /// Adds a warning for each kind of changes of each column, in the order of their first rows.
    func add(to warnings: Warnings, at path: StreamPath, name: (Int) -> String) {
        let sorted = found.sorted { ($0.value.first, $0.key.column) < ($1.value.first, $1.key.column) }
        for (key, rows) in sorted {
            let name = name(key.column)
            warnings.add(
                "in the column \(name)\(key.kind.rawValue)", at: path.element(rows.first).member(name),
                count: rows.count)
        }
    }
}
