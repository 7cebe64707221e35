// The transactions of nested arrays: the outermost one is a transaction, or a savepoint in one, and those in it are savepoints.

/// The open arrays of a stream whose rows are put into a database, all or none of each.
///
/// Nothing is begun for an array until a row comes.
struct ArrayTransactions {
    private struct Array {
        enum Scope {
            case pending
            case transaction
            case savepoint(SQLiteConnection.Savepoint)
        }

        var scope = Scope.pending
        /// The index of the element to come.
        var index = 0
    }

    private let connection: SQLiteConnection
    /// From the outermost in.
    private var arrays: [Array] = []

    init(_ connection: SQLiteConnection) { self.connection = connection }

    var isEmpty: Bool { arrays.isEmpty }

    /// The index of the element to come in each open array.
    var indices: [Int] { arrays.map(\.index) }

    /// Opens an array in the innermost one.
    mutating func open() { arrays.append(Array()) }

    /// Moves the index of the innermost array.
    mutating func advance(by count: Int) { arrays[arrays.count - 1].index &+= count }

    /// Begins what was not begun.
    mutating func begin() throws(SQLiteError) {
        for level in arrays.indices {
            guard case .pending = arrays[level].scope else { continue }
            if connection.isInTransaction {
                arrays[level].scope = .savepoint(try connection.beginSavepoint())
            } else {
                try connection.begin(.immediate)
                arrays[level].scope = .transaction
            }
        }
    }

    /// Closes the innermost array and keeps its rows; after an error it is still open.
    mutating func close() throws(SQLiteError) {
        switch arrays.last?.scope {
        case .pending, nil: break
        case .savepoint(let savepoint): try savepoint.release()
        case .transaction: try connection.commit()
        }
        arrays.removeLast()
    }

    /// Undoes what the open arrays have begun, from the innermost out.
    func undo() {
        for array in arrays.reversed() {
            switch array.scope {
            case .pending: break
            case .savepoint(let savepoint): savepoint.rollBack()
            case .transaction: connection.rollBackIfOpen()
            }
        }
    }

    /// Forgets the open arrays.
    mutating func removeAll() { arrays = [] }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ArrayTransactions: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testNestsTransactions": testNestsTransactions,
            "testBeginsNothingForNothing": testBeginsNothingForNothing,
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

    private static func testBeginsNothingForNothing() throws {
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
}
#endif
