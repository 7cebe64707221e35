// The tests of children that move from one parent to another: batches of any size give the same result as single records.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming
import SQLiteStreaming

enum ImportMoveTests {}

extension ImportMoveTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testBatchesEqualSingleRecords": testBatchesEqualSingleRecords,
            "testRecreatesTemporaryOrphans": testRecreatesTemporaryOrphans,
            "testRefusesTemporaryOrphans": testRefusesTemporaryOrphans,
        ]
    }

    private static let schemas = [
        // With an upsert, with two, and with a look-up.
        """
        CREATE TABLE a (id INTEGER PRIMARY KEY);
        CREATE TABLE b (k INTEGER PRIMARY KEY, v INTEGER, more, a_id INTEGER);
        CREATE TABLE c (k INTEGER PRIMARY KEY, more, b_k INTEGER REFERENCES b (k) ON DELETE CASCADE);
        """,
        """
        CREATE TABLE a (id INTEGER PRIMARY KEY);
        CREATE TABLE b (k INTEGER PRIMARY KEY, v INTEGER, more, a_id INTEGER REFERENCES a (id));
        CREATE TABLE c (k INTEGER PRIMARY KEY, more, b_k INTEGER REFERENCES b (k) ON DELETE CASCADE);
        CREATE INDEX b_a ON b (a_id); CREATE INDEX c_b ON c (b_k);
        """,
        """
        CREATE TABLE a (id INTEGER PRIMARY KEY);
        CREATE TABLE b (k INTEGER PRIMARY KEY, v INTEGER, more, a_id INTEGER REFERENCES a (id));
        CREATE TABLE c (k INTEGER PRIMARY KEY, more, b_k INTEGER REFERENCES b (k) ON DELETE CASCADE);
        CREATE TABLE log (k);
        CREATE TRIGGER b_log AFTER UPDATE ON b BEGIN INSERT INTO log VALUES (new.k); END;
        CREATE TRIGGER c_log AFTER UPDATE ON c BEGIN INSERT INTO log VALUES (new.k); END;
        """,
    ]

    private typealias Policy = (ImportRelationship.Policy, ImportRelationship.OrphanPolicy)

    private static func table(_ above: Policy, _ below: Policy) -> ImportTable {
        let c = ImportTable("c", uniqueKey: ["k"], columns: [.integer("k")])
        let b = ImportTable(
            "b", uniqueKey: ["k"], columns: [.integer("k"), .integer("v")],
            relationships: [.toMany("cs", c, foreignKey: ["b_k"], policy: below.0, orphans: below.1)])
        return ImportTable(
            "a", uniqueKey: ["id"], columns: [.integer("id")],
            relationships: [.toMany("bs", b, foreignKey: ["a_id"], policy: above.0, orphans: above.1)])
    }

    /// Records with few keys, so that most children move.
    private static func records(_ random: inout UInt64, count: Int) -> ImportSample {
        func next(_ bound: UInt64) -> Int64 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int64((random >> 33) % bound)
        }
        return .array(
            (0..<count).map { _ in
                var members: [(String, ImportSample)] = [("id", .integer(next(6)))]
                if next(4) > 0 {
                    let children = (0..<next(4)).map { _ -> ImportSample in
                        var child: [(String, ImportSample)] = [("k", .integer(next(9)))]
                        if next(3) > 0 { child.append(("v", .integer(next(2)))) }
                        if next(3) > 0 { child.append(("cs", .array((0..<next(3)).map { _ in .integer(next(9)) }))) }
                        return .record(child)
                    }
                    members.append(("bs", .array(children)))
                }
                return .record(members)
            })
    }

    private static let everything =
        "SELECT 'a', id, '', '', '' FROM a UNION ALL SELECT 'b', k, v, more, a_id FROM b UNION ALL "
        + "SELECT 'c', k, '', more, b_k FROM c ORDER BY 1, 2"

    /// The rows and reports of several imports of the same records.
    private static func results(
        _ schema: String, _ table: ImportTable, batchSize: Int, seed: UInt64
    ) throws -> [String] {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("PRAGMA foreign_keys = ON;" + schema)
        var random = seed
        var results: [String] = []
        for _ in 0..<3 {
            let report = try ImportFixture.run(
                records(&random, count: 12), table, connection,
                ImportOptions(batchSize: batchSize, adaptsBatchSize: false))
            results.append(try ImportFixture.rows(everything, connection))
            results.append(
                report.tables.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: "; "))
            // The columns that aren't imported show which rows were deleted and inserted again.
            try connection.execute("UPDATE b SET more = 'b' || k; UPDATE c SET more = 'c' || k")
        }
        return results
    }

    private static func testBatchesEqualSingleRecords() throws {
        let above: [Policy] = [(.replace, .unlink), (.assign, .unlink), (.merge, .unlink)]
        let below: [Policy] = [(.merge, .unlink), (.replace, .unlink), (.assign, .unlink)]
        var seed: UInt64 = 0
        for (number, schema) in schemas.enumerated() {
            // The order of moves has many cases; these are some of them.
            for (above, below) in above.flatMap({ above in below.map { (above, $0) } }).sampledInDebug(every: 2) {
                seed += 1
                let table = table(above, below)
                let expected = try results(schema, table, batchSize: 1, seed: seed)
                for size in [3, 64] {
                    let found = try results(schema, table, batchSize: size, seed: seed)
                    for (step, (found, expected)) in zip(found, expected).enumerated() where found != expected {
                        return expectEqual(
                            found, expected,
                            "schema \(number), \(above.0) and \(below.0), batches of \(size), step \(step)")
                    }
                }
            }
        }
    }

    private static func testRecreatesTemporaryOrphans() throws {
        for (name, batchSize) in [("one by one", 1), ("one batch", 256)] {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute(schemas[1])
            let table = table((.replace, .unlink), (.merge, .unlink))
            let options = ImportOptions(batchSize: batchSize, adaptsBatchSize: false)
            _ = try ImportFixture.run([["id": 1, "bs": [1, 2]], ["id": 2, "bs": [3]]], table, connection, options)
            try connection.execute("UPDATE b SET more = 'old'")
            // 1 is given up before another record takes it; 3 is taken before it is given up.
            let report = try ImportFixture.run(
                [["id": 1, "bs": [2, 3]], ["id": 2, "bs": [1]]], table, connection, options)
            expectEqual(
                try ImportFixture.rows("SELECT k, more, a_id FROM b", connection), "1|-|2 2|old|1 3|old|1", name)
            expectEqual(
                report.tables["b"], ImportReport.Counts(inserted: 1, updated: 1, unchanged: 1, deleted: 1), name)
        }
    }

    private static func testRefusesTemporaryOrphans() throws {
        for batchSize in [1, 256] {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute(schemas[1])
            let table = table((.assign, .reject), (.merge, .unlink))
            let options = ImportOptions(batchSize: batchSize, adaptsBatchSize: false, failureLimit: 1)
            _ = try ImportFixture.run([["id": 1, "bs": [1]], ["id": 2, "bs": []]], table, connection, options)
            let report = try ImportFixture.run(
                [["id": 1, "bs": []], ["id": 2, "bs": [1]]], table, connection, options)
            expectEqual(report.failures.map(\.recordIndex), [0], "the record that gives it up, by \(batchSize)")
            expectEqual(try ImportFixture.rows("SELECT k, a_id FROM b", connection), "1|2", "by \(batchSize)")
        }
    }
}
#endif
