// Divides rows into parts by how they get their ids: SQLite chooses all of them, all are given, or both occur. Each kind has
// its own statement, which reads no id, reads it as the row id of the virtual table, or reads it like any other cell.

/// Rows of a source that one statement inserts.
@safe
struct RowIDPart {
    enum Kind {
        /// SQLite chooses the ids of all rows.
        case chosen
        /// All ids are given integers.
        case given
        /// Some ids are given, or their values aren't known here.
        case mixed
    }

    private(set) var kind: Kind
    /// The index after the last row.
    private(set) var end: Int
    /// The sequence after the rows. For mixed rows it results from reading them; for given ids nil means it isn't known.
    private(set) var rowIDs: RowIDSequence?

    // PERF: SQLite/insert-gaps; a statement for fewer rows costs more than it saves.
    /// The smallest number of rows with chosen ids that form a part of their own.
    static let smallestRun = 64
    // PERF: SQLite/insert; this many rows are still in the cache when they are inserted.
    private static let largestPart = 8_192

    /// Finds the rows, beginning with the current one of a source, that one statement inserts.
    init(_ source: UnsafeMutablePointer<RowSource>) {
        // SAFETY: the rows of a source don't change while it is read; only rows below its count are accessed.
        let start = unsafe source.pointee.row
        let limit = unsafe min(source.pointee.rowCount, start + Self.largestPart)
        var rowIDs = unsafe source.pointee.rowIDs
        // The start of the latest run of chosen ids, and the sequence at that row.
        var (runStart, atRunStart) = (start, rowIDs)
        var (givenCount, nullCount) = (0, 0)
        (kind, end) = (.mixed, limit)
        for row in start..<limit {
            let before = rowIDs
            let isChosen: Bool
            switch unsafe source.pointee.rowID(row) {
            case .integer(let id): isChosen = rowIDs.column >= 0 && rowIDs.isChosen(id)
            case .null:
                rowIDs.choose()
                nullCount += 1
                isChosen = true
            case .other:
                // Only the code that reads the value knows its id; the ids of the rows after it are unknown, too.
                unsafe end = source.pointee.rowCount
                self.rowIDs = rowIDs
                return
            }
            if isChosen {
                guard givenCount > 0, row - runStart + 1 >= Self.smallestRun else { continue }
                // A long run after other rows becomes the next part.
                end = runStart
                rowIDs = atRunStart
                break
            }
            if givenCount == 0, row - start >= Self.smallestRun {
                // The long run at the beginning ends here.
                (kind, end) = (.chosen, row)
                self.rowIDs = before
                return
            }
            givenCount += 1
            (runStart, atRunStart) = (row + 1, rowIDs)
            // PERF: SQLite/insert-gaps; given ids aren't examined twice.
            if givenCount == Self.smallestRun, givenCount * 8 >= (row + 1 - start) * 7,
                unsafe source.pointee.hasOnlyIntegers(rowIDs.column)
            {
                (kind, self.rowIDs) = (.given, nil)
                return
            }
        }
        self.rowIDs = rowIDs
        if givenCount == 0 {
            kind = .chosen
        } else if nullCount == 0, givenCount * 8 >= (end - start) * 7 {
            kind = .given
        }
    }
}

extension RowSource {
    /// The id of a row.
    enum RowID {
        case integer(Int64)
        case null
        /// A value that isn't an integer, or that only the plan of its member can read.
        case other
    }
}
