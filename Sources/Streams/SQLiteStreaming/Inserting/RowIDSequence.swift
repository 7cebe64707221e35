// Determines which row ids don't have to be passed to SQLite because it would choose the same ones.

import PlistStreaming

// PERF: SQLite/insert; for a given id, SQLite searches the B-tree from its root, which takes a third of the time for a row.
// If it chooses the id, it stays at the end of the table.
// SPEC: https://sqlite.org/autoinc.html: SQLite chooses an id one larger than the largest in the table, or 1 in an empty
// table. The choice is unpredictable if the largest id is 2^63 - 1.
/// The row id that SQLite chooses next.
///
/// The ids of all rows are passed to it in order. An id that SQLite would choose is inserted as null.
struct RowIDSequence {
    /// The column with the row id, or -1 if all ids are passed to SQLite.
    private(set) var column = -1
    private var next: Int64 = 1
    private var isEmpty = true

    /// Creates a sequence for rows whose ids are all passed to SQLite.
    init() {}

    /// - Parameter largest: The largest id in the table, or nil if the table is empty.
    init(column: Int, largest: Int64?) {
        guard largest != .max else { return }
        self.column = column
        guard let largest else { return }
        next = largest + 1
        isEmpty = false
    }

    /// Returns whether SQLite would choose this id for the next row.
    @inline(__always)  // PERF: SQLite/insert; once a row.
    mutating func isChosen(_ id: Int64) -> Bool {
        if id == next, id != .max {
            next = id &+ 1
            isEmpty = false
            return true
        }
        if id > next || isEmpty {
            if id == .max {
                stop()
            } else {
                next = id &+ 1
                isEmpty = false
            }
        }
        return false
    }

    /// Advances past a row whose id SQLite chooses in any case.
    mutating func choose() {
        guard next != .max else { return stop() }
        next &+= 1
        isEmpty = false
    }

    /// Ends the sequence: all later ids are passed to SQLite.
    mutating func stop() { column = -1 }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension RowIDSequence: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testPredictsRowIDsOfSQLite": testPredictsRowIDsOfSQLite]
    }

    private static func testPredictsRowIDsOfSQLite() throws {
        let tables: [[Int64]] = [[], [1], [-7], [5, 9], [.max - 2], [.max - 1], [.max], [.min], [0]]
        let sequences: [[Int64?]] = [
            [1, 2, 3], [0, 1, 2], [-3, -2, 1, 2], [nil, nil, 3, 4], [10, 11, 4, 12, 13], [.max - 1, .max, 20, 21],
            [.max - 2, nil, nil, 22], [6, 7, 8, 9, 10], [.min, .min + 1, 1], [nil, 2, nil], [10, nil, 12, nil, 14],
        ]
        for table in tables {
            for sequence in sequences where Set(sequence.compactMap(\.self)).isDisjoint(with: table) {
                let connection = try SQLiteConnection.inMemory()
                try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
                for id in table { try connection.run("INSERT INTO t VALUES (?, 0)", [id]) }
                let largest = try connection.value("SELECT max(id) FROM t")?.integer
                var rowIDs = RowIDSequence(column: 0, largest: largest)
                for id in sequence {
                    var given = id
                    if rowIDs.column == 0 {
                        if let id {
                            if rowIDs.isChosen(id) { given = nil }
                        } else {
                            rowIDs.choose()
                        }
                    }
                    let isExpected = id == nil || given != nil
                    do throws(SQLiteError) {
                        try connection.run("INSERT INTO t VALUES (?, 1)", [given])
                    } catch {
                        // The chosen id may be the id of a later row.
                        expectTrue(isExpected, "\(table) \(sequence): \(error)")
                        break
                    }
                    if let id { expectEqual(connection.lastInsertRowID, id, "\(table) \(sequence)") }
                }
            }
        }
    }
}
#endif
