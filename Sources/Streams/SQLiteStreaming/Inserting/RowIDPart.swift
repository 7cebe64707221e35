// Parts of rows whose ids are alike: what SQLite would choose for all of them, none of them, or some. Each kind has a
// statement of its own, which reads no id, reads ids as those of the virtual table, or reads them like other cells.

/// Rows of a source that one statement inserts.
@safe
struct RowIDPart {
    enum Kind {
        /// SQLite chooses the ids of all rows.
        case chosen
        /// All ids are integers that are told.
        case told
        /// Some are told, or what they are is not known here.
        case mixed
    }

    private(set) var kind: Kind
    /// The row after the last one.
    private(set) var end: Int
    /// The sequence after the rows; for mixed ones it follows from reading them, and for told ones nil is not known.
    private(set) var rowIDs: RowIDSequence?

    // PERF: SQLite/insert-gaps; a statement for fewer rows costs more than it saves.
    /// The fewest rows with chosen ids that are a part of their own.
    static let smallestRun = 64
    // PERF: SQLite/insert; so many rows are still in the cache when they are inserted.
    private static let largestPart = 8_192

    /// Finds the rows from the current one of a source on that one statement inserts.
    init(_ source: UnsafeMutablePointer<RowSource>) {
        // SAFETY: the rows of a source stay as they are while it is read; rows below its count are looked at.
        let start = unsafe source.pointee.row
        let limit = unsafe min(source.pointee.rowCount, start + Self.largestPart)
        var rowIDs = unsafe source.pointee.rowIDs
        // Where the ids that are chosen in a row began, and the sequence there.
        var (runStart, atRunStart) = (start, rowIDs)
        var (toldCount, nullCount) = (0, 0)
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
                // What becomes of it is found out by the one who reads it; the rows to come are as unknown.
                unsafe end = source.pointee.rowCount
                self.rowIDs = rowIDs
                return
            }
            if isChosen {
                guard toldCount > 0, row - runStart + 1 >= Self.smallestRun else { continue }
                // A long run after other rows is the next part.
                end = runStart
                rowIDs = atRunStart
                break
            }
            if toldCount == 0, row - start >= Self.smallestRun {
                // The long run at the beginning ends here.
                (kind, end) = (.chosen, row)
                self.rowIDs = before
                return
            }
            toldCount += 1
            (runStart, atRunStart) = (row + 1, rowIDs)
            // PERF: SQLite/insert-gaps; told ids are not looked at twice.
            if toldCount == Self.smallestRun, toldCount * 8 >= (row + 1 - start) * 7,
                unsafe source.pointee.hasOnlyIntegers(rowIDs.column)
            {
                (kind, self.rowIDs) = (.told, nil)
                return
            }
        }
        self.rowIDs = rowIDs
        if toldCount == 0 {
            kind = .chosen
        } else if nullCount == 0, toldCount * 8 >= (end - start) * 7 {
            kind = .told
        }
    }
}

extension RowSource {
    /// An id in a row.
    enum RowID {
        case integer(Int64)
        case null
        /// A value that is no integer, or known to its plan only.
        case other
    }
}
