// Runs the steps that migrate a database to its newest version, each in a transaction of its own. `user_version` is the
// number of steps that a database has had.

import CSystemSQLite
import PlistStreaming

extension SQLiteConnection {
    /// Migrates a database to its newest version by running, in order, the steps that it hasn't had.
    ///
    /// ```swift
    /// try connection.migrate([
    ///     { try $0.execute("CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT NOT NULL)") },
    ///     { try $0.execute("ALTER TABLE tasks ADD COLUMN done BOOLEAN NOT NULL DEFAULT 0") },
    /// ])
    /// ```
    /// `PRAGMA user_version` is the number of steps that a database has had, 0 for a new one. So don't change or reorder
    /// published steps; add new ones after them. Each step runs in one transaction together with its version. If a step fails
    /// or the process ends within it, the database stays as it was before that step, and the next call begins with it. If
    /// several processes migrate at once, one of them runs a step, and the others wait up to the busy timeout.
    ///
    /// Foreign keys aren't enforced within a step, so that you can replace a table without deleting rows that refer to it. If
    /// the connection enforces foreign keys, they are checked after the step: it must not add references to rows that don't
    /// exist. A step must not end its transaction, since later changes in the step couldn't be undone.
    /// - Returns: The number of steps that were run.
    /// - Throws: `schema` if the database has a version that the steps don't produce, for example from a newer program; then no
    ///   step runs. `constraintForeignKey` if a step leaves a foreign key that refers to a missing row. `misuse` within a
    ///   transaction. The error of a step.
    /// - Complexity: That of the steps, and O(rows of tables with foreign keys) for each.
    @discardableResult
    public func migrate(_ steps: [(SQLiteConnection) throws -> Void]) throws -> Int {
        guard !isInTransaction else {
            throw SQLiteError(
                .misuse, "expected no open transaction, because each step of a migration is a transaction")
        }
        var version = try version(upTo: steps.count)
        // A read-only connection is allowed if there is nothing to do.
        guard version < steps.count else { return 0 }
        let isEnforcing = try value("PRAGMA foreign_keys") == 1
        // Within a transaction, the pragma has no effect.
        try setEnforcesForeignKeys(false)
        defer { try? setEnforcesForeignKeys(isEnforcing) }
        var count = 0
        while version < steps.count {
            version = try transaction {
                // Another process may have run the step already.
                let version = try self.version(upTo: steps.count)
                guard version < steps.count else { return version }
                let scope = openScopes.last
                let before = isEnforcing ? try danglingReferences() : []
                try steps[version](self)
                guard openScopes.last == scope, isInTransaction else {
                    // The step and its version can't be undone, but no more statements run as if they were in its
                    // transaction.
                    if isInTransaction { try rollBack() }
                    throw SQLiteError(
                        .abort, "step \(version + 1) ended its transaction, which may be undone")
                }
                if isEnforcing { try checkForeignKeys(afterStep: version + 1, knowing: before) }
                try execute("PRAGMA user_version = \(version + 1)")
                count += 1
                return version + 1
            }
        }
        return count
    }

    /// Returns the version of the database, which must not exceed the number of steps.
    private func version(upTo count: Int) throws(SQLiteError) -> Int {
        let version = Int(try value("PRAGMA user_version")?.integer ?? 0)
        guard 0...count ~= version else {
            let reason = version > count ? ", which a newer program has written" : ""
            throw SQLiteError(
                .schema, "expected a database version from 0 to \(count), found \(version)\(reason)")
        }
        return version
    }

    private func setEnforcesForeignKeys(_ isEnforcing: Bool) throws(SQLiteError) {
        try unsafe check(csqlite_configure(requireHandle(), SQLITE_DBCONFIG_ENABLE_FKEY, isEnforcing ? 1 : 0))
    }

    private func checkForeignKeys(
        afterStep number: Int, knowing before: Set<DanglingReference>
    ) throws(SQLiteError) {
        guard let one = try danglingReferences().subtracting(before).first else { return }
        throw SQLiteError(
            .constraintForeignKey,
            "expected foreign keys that lead to rows after step \(number), found one of \(one.table) that leads to none of \(one.parent)"
        )
    }

    /// A foreign key that refers to a missing row, as reported by `PRAGMA foreign_key_check`.
    private struct DanglingReference: Hashable {
        let database: String
        let table: String
        let rowID: SQLiteValue?
        let parent: String
        let number: Int64
    }

    /// Returns the foreign keys that refer to missing rows, in all databases of the connection.
    private func danglingReferences() throws(SQLiteError) -> Set<DanglingReference> {
        var names: [String] = []
        let databases = try prepare("PRAGMA database_list")
        while try databases.step() { names.append(try databases.text(at: 1) ?? "main") }
        var found: Set<DanglingReference> = []
        for name in names {
            let statement = try prepare("PRAGMA \(SQLiteName.quoted(name)).foreign_key_check")
            while try statement.step() {
                found.insert(
                    DanglingReference(
                        database: name, table: try statement.text(at: 0) ?? "", rowID: try statement.value(at: 1),
                        parent: try statement.text(at: 2) ?? "", number: statement.integer(at: 3)))
            }
        }
        return found
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum MigrationTests {}

extension MigrationTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRunsMissingSteps": testRunsMissingSteps,
            "testRefusesOtherVersions": testRefusesOtherVersions,
            "testRollsBackFailedSteps": testRollsBackFailedSteps,
            "testRefusesToRunInATransaction": testRefusesToRunInATransaction,
            "testReplacesReferencedTables": testReplacesReferencedTables,
            "testRefusesDanglingForeignKeys": testRefusesDanglingForeignKeys,
            "testRunsEachStepOnce": testRunsEachStepOnce,
            "testChecksForeignKeysOfEachDatabase": testChecksForeignKeysOfEachDatabase,
            "testDetectsEndedTransaction": testDetectsEndedTransaction,
        ]
    }

    private struct Refusal: Error {}

    private typealias Step = (SQLiteConnection) throws -> Void

    private static var steps: [Step] {
        [
            { try $0.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)") },
            { try $0.execute("ALTER TABLE t ADD COLUMN b; UPDATE t SET b = 2") },
            { try $0.run("INSERT INTO t VALUES (3, 4)") },
        ]
    }

    private static func state(_ connection: SQLiteConnection) throws -> String {
        let version = try connection.value("PRAGMA user_version")?.integer ?? -1
        let rows = try connection.hasTable("t") ? connection.value("SELECT group_concat(a) FROM t")?.text : nil
        return "version \(version), rows \(rows ?? "none")"
    }

    private static func testRunsMissingSteps() throws {
        for known in 0...3 {
            let connection = try SQLiteConnection.inMemory()
            expectEqual(try connection.migrate([]), 0, "no steps")
            expectEqual(try connection.migrate(Array(steps[..<known])), known, "the first steps")
            expectEqual(try connection.migrate(steps), 3 - known, "those after the first \(known)")
            expectEqual(try state(connection), "version 3, rows 1,3", "after the first \(known)")
        }
        let file = try TemporaryDatabase()
        try file.open().migrate(steps)
        expectEqual(try file.open(.readOnly).migrate(steps), 0, "nothing is written when there is nothing to do")
        expectThrows(SQLiteError.self, "one more") { try file.open(.readOnly).migrate(steps + steps[..<1]) }
    }

    private static func testRefusesOtherVersions() throws {
        let connection = try SQLiteConnection.inMemory()
        for (version, message) in [
            (4, "expected a database version from 0 to 3, found 4, which a newer program has written"),
            (-1, "expected a database version from 0 to 3, found -1"),
        ] {
            try connection.execute("PRAGMA user_version = \(version)")
            let error = expectThrows(SQLiteError.self, "version \(version)") { try connection.migrate(steps) }
            expectEqual(error?.code, .schema, "code")
            expectEqual(error?.message, message, "message")
            expectEqual(try state(connection), "version \(version), rows none", "afterwards")
        }
    }

    private static func testRollsBackFailedSteps() throws {
        let failures: [Step] = [
            { try $0.execute("DELETE FROM t; SELECT nowhere") },
            { connection in
                try connection.execute("PRAGMA user_version = 9; DROP TABLE t")
                throw Refusal()
            },
            // A step that ends its transaction doesn't get a version.
            { try $0.execute("UPDATE t SET a = 7; ROLLBACK") },
        ]
        for failure in failures {
            let connection = try SQLiteConnection.inMemory()
            expectThrows((any Error).self, "the second step") { try connection.migrate([steps[0], failure, steps[2]]) }
            expectEqual(try state(connection), "version 1, rows 1", "after the failure")
            expectFalse(connection.isInTransaction, "in a transaction")
            expectEqual(try connection.value("PRAGMA foreign_keys"), 1, "foreign keys after the failure")
            expectEqual(try connection.migrate(steps), 2, "the steps again, mended")
            expectEqual(try state(connection), "version 3, rows 1,3", "after all")
        }
    }

    private static func testRefusesToRunInATransaction() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.transaction {
            let error = expectThrows(SQLiteError.self, "within a transaction") { try connection.migrate(steps) }
            expectEqual(error?.code, .misuse, "code")
        }
        let error = expectThrows(SQLiteError.self, "within a step") {
            try connection.migrate([steps[0], { try $0.migrate(steps) }])
        }
        expectEqual(error?.code, .misuse, "code within a step")
        expectEqual(try state(connection), "version 1, rows 1", "afterwards")
    }

    private static func testDetectsEndedTransaction() throws {
        let ends: [(String, Step)] = [
            ("rolled back", { try $0.rollBack() }), ("rolled back by SQL", { try $0.execute("ROLLBACK") }),
            (
                "begun anew",
                {
                    try $0.rollBack()
                    try $0.begin()
                }
            ),
        ]
        for (name, end) in ends {
            let connection = try SQLiteConnection.inMemory()
            let error = expectThrows(SQLiteError.self, name) {
                try connection.migrate([
                    { connection in
                        try connection.execute("CREATE TABLE a (x)")
                        try end(connection)
                    }
                ])
            }
            expectEqual(error?.code, .abort, "code, \(name)")
            expectEqual(try connection.value("PRAGMA user_version"), 0, "version, \(name)")
            expectEqual(try connection.value("SELECT count(*) FROM sqlite_master"), 0, "tables, \(name)")
            expectFalse(connection.isInTransaction, name)
        }
    }

    /// References that were missing before aren't the fault of a step; new ones in an attached database are.
    private static func testChecksForeignKeysOfEachDatabase() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            """
            PRAGMA foreign_keys = OFF; ATTACH ':memory:' AS "other one";
            CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p (id));
            CREATE TABLE "other one".p (id INTEGER PRIMARY KEY);
            CREATE TABLE "other one".c (id INTEGER PRIMARY KEY, p REFERENCES p (id));
            INSERT INTO c VALUES (1, 7); PRAGMA foreign_keys = ON
            """)
        try connection.migrate([{ try $0.execute("CREATE TABLE a (x)") }])
        for table in ["c", "\"other one\".c"] {
            let error = expectThrows(SQLiteError.self, table) {
                try connection.migrate([{ _ in }, { try $0.execute("INSERT INTO \(table) VALUES (2, 8)") }])
            }
            expectEqual(error?.extendedCode, .constraintForeignKey, "code of \(table)")
            expectEqual(try connection.value("SELECT count(*) FROM \(table) WHERE id = 2"), 0, "rows of \(table)")
        }
        expectEqual(try connection.value("PRAGMA user_version"), 1, "version")
    }

    private static let family = """
        CREATE TABLE parent (id INTEGER PRIMARY KEY); INSERT INTO parent VALUES (1), (2);
        CREATE TABLE child (id INTEGER PRIMARY KEY, p REFERENCES parent (id) ON DELETE CASCADE);
        INSERT INTO child VALUES (8, 1), (9, 2)
        """

    private static func testReplacesReferencedTables() throws {
        for isEnforcing in [true, false] {
            let options = SQLiteOptions(access: .create, enforcesForeignKeys: isEnforcing)
            let connection = try SQLiteConnection.inMemory(options: options)
            try connection.migrate([
                { try $0.execute(family) },
                {
                    try $0.execute(
                        """
                        CREATE TABLE new (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO new (id) SELECT id FROM parent;
                        DROP TABLE parent; ALTER TABLE new RENAME TO parent
                        """)
                },
            ])
            expectEqual(try connection.value("SELECT count(*) FROM child"), 2, "children")
            expectEqual(try connection.value("PRAGMA foreign_keys"), isEnforcing ? 1 : 0, "foreign keys afterwards")
        }
    }

    private static func testRefusesDanglingForeignKeys() throws {
        for isEnforcing in [true, false] {
            let options = SQLiteOptions(access: .create, enforcesForeignKeys: isEnforcing)
            let connection = try SQLiteConnection.inMemory(options: options)
            let steps: [Step] = [{ try $0.execute(family) }, { try $0.run("DELETE FROM parent WHERE id = 2") }]
            guard isEnforcing else {
                expectEqual(try connection.migrate(steps), 2, "who does not enforce them has no such rows refused")
                continue
            }
            let error = expectThrows(SQLiteError.self, "the second step") { try connection.migrate(steps) }
            expectEqual(error?.extendedCode, .constraintForeignKey, "code")
            expectEqual(
                error?.message,
                "expected foreign keys that lead to rows after step 2, found one of child that leads to none of parent",
                "message")
            expectEqual(try connection.value("SELECT count(*) FROM parent"), 2, "rows")
            expectEqual(try connection.value("PRAGMA user_version"), 1, "version")
            expectThrows(SQLiteError.self, "enforced again") { try connection.run("INSERT INTO child VALUES (3, 3)") }
        }
    }

    private static func testRunsEachStepOnce() async throws {
        for _ in 0..<2 {
            let file = try TemporaryDatabase()
            let path = file.path
            let count = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let options = SQLiteOptions(access: .create, busyTimeout: .seconds(60))
                        return try SQLiteConnection(path: path, options: options).migrate([
                            { try $0.execute("CREATE TABLE t (a); INSERT INTO t VALUES (0)") },
                            { try $0.run("INSERT INTO t VALUES (1)") }, { try $0.run("INSERT INTO t VALUES (2)") },
                        ])
                    }
                }
                return try await group.reduce(0, +)
            }
            expectEqual(count, 3, "steps that four connections have run")
            expectEqual(try state(try file.open()), "version 3, rows 0,1,2", "afterwards")
        }
    }
}
#endif
