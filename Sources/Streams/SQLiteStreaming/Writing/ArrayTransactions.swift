// The transactions of nested arrays. The outermost array is a transaction, or a savepoint in an open one; the arrays in it
// are savepoints.

/// The open arrays of a stream whose rows are inserted into a database, all or none of each array.
///
/// A transaction or savepoint begins with the first row of an array.
struct ArrayTransactions {
    private struct Array {
        /// The open scope, or nil before the first row.
        var scope: SQLiteConnection.Scope?
        /// The index of the next element.
        var index = 0
    }

    private let connection: SQLiteConnection
    /// The arrays from the outermost to the innermost.
    private var arrays: [Array] = []
    /// The transaction of other code around the arrays, and around the rows outside of arrays.
    private(set) var surrounding = SurroundingTransaction()

    init(_ connection: SQLiteConnection) { self.connection = connection }

    var isEmpty: Bool { arrays.isEmpty }

    /// The index of the next element in each open array.
    var indices: [Int] { arrays.map(\.index) }

    /// Opens an array in the innermost one.
    mutating func open() { arrays.append(Array()) }

    /// Advances the index of the innermost array.
    mutating func advance(by count: Int) { arrays[arrays.count - 1].index &+= count }

    /// Begins the missing transactions and savepoints of the open arrays.
    ///
    /// - Throws: Also `abort` if other code has ended them, since each row would then be committed on its own, and if it has
    ///   rolled back a transaction that contains rows of earlier arrays.
    mutating func begin() throws(SQLiteError) {
        try surrounding.check()
        try arrays.last { $0.scope != nil }?.scope?.checkIsOpen()
        if arrays.first?.scope == nil { surrounding.note(connection) }
        for level in arrays.indices where arrays[level].scope == nil {
            arrays[level].scope = try connection.beginScope(connection.isInTransaction ? nil : .immediate)
        }
    }

    /// Closes the innermost array and keeps its rows. After an error, the array is still open.
    mutating func close() throws(SQLiteError) {
        try arrays.last?.scope?.keep()
        arrays.removeLast()
    }

    /// Undoes the scopes of the open arrays, from the innermost to the outermost.
    func undo() {
        for array in arrays.reversed() { array.scope?.undo() }
    }

    /// Removes all arrays.
    mutating func removeAll() {
        arrays = []
        surrounding = SurroundingTransaction()
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistCoding
import PlistStreaming

extension ArrayTransactions: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testNestsTransactions": testNestsTransactions,
            "testEmptyArraysBeginNoTransaction": testEmptyArraysBeginNoTransaction,
            "testSeparatesInterleavedArrays": testSeparatesInterleavedArrays,
            "testDetectsEndedTransaction": testDetectsEndedTransaction,
            "testDetectsRollbackBetweenArrays": testDetectsRollbackBetweenArrays,
        ]
    }

    private static func testNestsTransactions() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE t (a)")
        for (isClosed, expected) in [(true, 3), (false, 0)] {
            var arrays = ArrayTransactions(connection)
            for level in 1...3 {
                arrays.open()
                arrays.advance(by: level)
                try arrays.begin()
                try connection.run("INSERT INTO t VALUES (?)", [level])
            }
            expectEqual(arrays.indices, [1, 2, 3], "indices")
            try arrays.close()
            try arrays.close()
            expectTrue(connection.isInTransaction, "the transaction of the outermost array")
            if isClosed { try arrays.close() } else { arrays.undo() }
            expectFalse(connection.isInTransaction, "a transaction after the outermost array")
            expectEqual(try connection.value("SELECT count(*) FROM t"), .integer(Int64(expected)), "rows")
            try connection.execute("DELETE FROM t")
        }
    }

    private static func testEmptyArraysBeginNoTransaction() throws {
        let connection = try SQLiteConnection.inMemory()
        var arrays = ArrayTransactions(connection)
        arrays.open()
        arrays.open()
        try arrays.close()
        expectFalse(connection.isInTransaction, "a transaction of an empty array")
        try arrays.begin()
        expectTrue(connection.isInTransaction, "a transaction")
        arrays.undo()
        arrays.removeAll()
        expectTrue(arrays.isEmpty && !connection.isInTransaction, "everything was undone")
    }

    /// Two writers of one connection take turns according to a script: `(` and `)` open and close an array, and `.` writes a
    /// row. The first writer's steps are followed by `1`, the second one's by `2`.
    private static func interleave(_ script: String, in connection: SQLiteConnection) throws -> [StreamError?] {
        let options = SQLiteTableOptions(batchRowCount: 1)
        var first = try SQLiteTableWriter(connection, table: "t", options: options)
        var second = try SQLiteTableWriter(connection, table: "t", options: options)
        var errors: [StreamError?] = [nil, nil]
        func step(_ step: Character, _ number: Int, _ writer: inout SQLiteTableWriter) {
            do throws(StreamError) {
                switch step {
                case "(": try writer.beginArray()
                case ")": try writer.endArray()
                default: try writer.write(any: ["a": number])
                }
            } catch {
                errors[number - 1] = error
            }
        }
        let steps = script.map { $0 }
        for index in stride(from: 0, to: steps.count, by: 2) {
            if steps[index + 1] == "1" { step(steps[index], 1, &first) } else { step(steps[index], 2, &second) }
        }
        return errors
    }

    private static func testSeparatesInterleavedArrays() throws {
        // The rows at the end, and whether each of the two writers got an error.
        let rows: [(script: String, rows: String, isRefused: [Bool])] = [
            ("(1.1(2.2)2.1)1", "1,2,1", [false, false]), ("(1.1(2.2.2)2)1(2.2)2", "1,2,2,2", [false, false]),
            ("(1(2.2.1)1)2", "2,1", [false, false]), ("(1.1(2.2)1.2)2", "", [true, true]),
            ("(1.1(2.2)1)2", "", [true, true]), ("(1.1(2.2.2)1", "", [true, false]),
            ("(1(1.1(2.2)1.1)1)2", "", [true, true]), ("(1.1(2.2)1.2.2)2", "", [true, true]),
        ]
        for (script, expected, isRefused) in rows {
            for isInTransaction in [false, true] {
                let connection = try SQLiteConnection.inMemory()
                try connection.execute("CREATE TABLE t (a)")
                if isInTransaction { try connection.begin() }
                let errors = try interleave(script, in: connection)
                expectEqual(errors.map { $0 != nil }, isRefused, "errors of \(script)")
                if isInTransaction { try connection.commit() }
                expectFalse(connection.isInTransaction, "a transaction after \(script)")
                let found = try connection.value("SELECT coalesce(group_concat(a), '') FROM t")?.text
                expectEqual(found, expected, "rows of \(script), in a transaction: \(isInTransaction)")
            }
        }
    }

    private static func testDetectsEndedTransaction() throws {
        for end in ["COMMIT", "ROLLBACK"] {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute("CREATE TABLE t (a)")
            var writer = try SQLiteTableWriter(connection, table: "t", options: SQLiteTableOptions(batchRowCount: 1))
            try writer.beginArray()
            try writer.write(any: ["a": 1])
            try connection.execute(end)
            let error = expectThrows(StreamError.self, end) { try writer.write(any: ["a": 2]) }
            expectEqual(error?.sqliteError?.code, .abort, "code after \(end)")
            let count: SQLiteValue = end == "COMMIT" ? 1 : 0
            expectEqual(try connection.value("SELECT count(*) FROM t"), count, "rows after \(end)")
        }
    }

    private static func testDetectsRollbackBetweenArrays() throws {
        // Other code begins a transaction at each `<`, ends it at each `!`, and fails to commit it at each `x`.
        let rows: [(script: String, end: String, rows: String, isRefused: Bool)] = [
            ("<[.]![.]", "ROLLBACK", "", true), ("<[.]!<[.]", "ROLLBACK", "", true), ("<.!.", "ROLLBACK", "", true),
            ("<[.]!", "ROLLBACK", "", true), ("<[.]!", "COMMIT", "1", false), ("<[.]![.]", "COMMIT", "1,1", false),
            ("<[.]!<[.]!", "COMMIT", "1,1", false), ("<![.]<![.]", "ROLLBACK", "1,1", false),
            ("<[.]x![.]", "ROLLBACK", "", true), ("<[.]x![.]", "COMMIT", "1,1", false),
            ("[[.]![.]]", "ROLLBACK", "", true), ("[[.]![.]]", "COMMIT", "1", true),
            ("<[[.]![.]]", "ROLLBACK", "", true),
        ]
        for (script, end, expected, isRefused) in rows {
            for callsConnection in end == "ROLLBACK" ? [false, true] : [false] {
                let connection = try SQLiteConnection.inMemory()
                try connection.execute(
                    "CREATE TABLE t (a); CREATE TABLE p (a PRIMARY KEY); "
                        + "CREATE TABLE c (a REFERENCES p DEFERRABLE INITIALLY DEFERRED)")
                var writer = try SQLiteTableWriter(connection, table: "t")
                let name = "\(script) with \(end), \(callsConnection)"
                do {
                    for step in script {
                        switch step {
                        case "<": try connection.begin()
                        case "[": try writer.beginArray()
                        case "]": try writer.endArray()
                        case ".": try writer.write(any: ["a": 1])
                        case "x":
                            try connection.run("INSERT INTO c VALUES (1)")
                            expectThrows(SQLiteError.self, "a commit") { try connection.execute("COMMIT") }
                            try connection.run("DELETE FROM c")
                        default: if callsConnection { try connection.rollBack() } else { try connection.execute(end) }
                        }
                    }
                    try writer.finish()
                    expectFalse(isRefused, "no error of \(name)")
                } catch {
                    expectTrue(isRefused && (error as? StreamError)?.sqliteError?.code == .abort, "\(error) of \(name)")
                }
                if connection.isInTransaction { try connection.rollBack() }
                let found = try connection.value("SELECT coalesce(group_concat(a), '') FROM t")?.text
                expectEqual(found, expected, "rows of \(name)")
                let count = isRefused ? 0 : expected.count { $0 == "1" }
                expectEqual(writer.report.rowCount, count, "reported rows of \(name)")
            }
        }
    }
}
#endif
