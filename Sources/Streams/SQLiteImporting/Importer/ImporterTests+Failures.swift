// The tests of failing imports: bad records, rejections by the database, locks, interrupted runs, misuse.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming
import SQLiteStreaming

enum ImportFailureTests {}

extension ImportFailureTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testNamesRecordAndKey": testNamesRecordAndKey,
            "testSkipsInvalidRecordsCompletely": testSkipsInvalidRecordsCompletely,
            "testNamesRecordsRefusedByTheDatabase": testNamesRecordsRefusedByTheDatabase,
            "testReportsAFullDatabase": testReportsAFullDatabase,
            "testKeepsEarlierBatches": testKeepsEarlierBatches,
            "testRunsWithinCallersTransaction": testRunsWithinCallersTransaction,
            "testReportsLocks": testReportsLocks,
            "testContinuesAfterAnInterruptedRun": testContinuesAfterAnInterruptedRun,
            "testAdaptsBatchSize": testAdaptsBatchSize,
            "testRefusesMisuse": testRefusesMisuse,
            "testLimitsMemory": testLimitsMemory,
        ]
    }

    private static func testNamesRecordAndKey() throws {
        let digits =
            "$[1].height: expected a number that a double represents exactly, found an integer with more digits"
        let rows: [(ImportSample, String)] = [
            (["id": nil], "$[1].id: expected an integer, found null"),
            (["firstName": "a"], "$[1].id: expected a value, found none"),
            (["id": "1x"], "$[1].id: expected an integer, found other text"),
            (["id": "01"], "$[1].id: expected an integer, found other text"),
            (["id": 1.5], "$[1].id: expected an integer, found a real"),
            (["id": .unsigned(.max)], "$[1].id: expected an integer of 64 bits, found a larger one"),
            (["id": [1]], "$[1].id: expected an integer, found an array"),
            (["id": ["x": 1]], "$[1].id: expected an integer, found a dictionary"),
            (["id": 1, "height": 3], "$[1].height: expected a height below 3"),
            (["id": 1, "height": true], "$[1].height: expected a number, found a Boolean"),
            (["id": 1, "height": .number("1e999")], "$[1].height: expected a real of 64 bits, found another number"),
            (["id": 1, "height": .integer(1 << 53 + 1)], digits), (["id": 1, "height": .integer(.max)], digits),
            (["id": 1, "height": .unsigned(.max)], digits),
            (["id": 1, "height": .number("-36893488147419103233")], digits),
            (
                ["id": 1, "firstName": "a\0b"],
                "$[1].firstName: found a NUL character in text (at its byte 1), where SQL functions would cut it"
            ),
            (["id": 1, "firstName": 1.5], "$[1].firstName: expected text, found a real"),
            (["id": 1, "phones": ["x": 1]], "$[1].phones: expected an array, found a dictionary"),
            (["id": 1, "phones": 1], "$[1].phones: expected an array, found an integer"),
            (["id": 1, "phones": ["1", true]], "$[1].phones[1]: expected text, found a Boolean"),
            (
                ["id": 1, "phones": [["number": "1"], ["kind": "x"]]],
                "$[1].phones[1].number: expected a value, found none"
            ),
            (["id": 1, "phones": [[]]], "$[1].phones[0]: expected a record, found an array"),
            (["id": 1, "phones": [], "phones": []], "$[1].phones: the record contains the relationship twice"),
            (["id": 1, "company": []], "$[1].company: expected a record, found an array"),
            (["id": 1, "company": ["title": "x"]], "$[1].company.code: expected a value, found none"),
            (["id": 1, "company": true], "$[1].company: expected text, found a Boolean"),
            ([], "$[1]: expected a record, found an array"), (7, "$[1]: expected a record, found an integer"),
            (["id": 1, "Id": 2], "$[1].Id: the table has no column or relationship for this key"),
        ]
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        for (record, message) in rows {
            let error = expectThrows(StreamError.self, message) {
                _ = try ImportFixture.run(
                    [["id": 1], record], ImportFixture.people(), connection, ImportOptions(unknownMembers: .reject))
            }
            expectEqual(error?.description, message, "message")
            // The same record next to valid ones, which must all be imported.
            let report = try ImportFixture.run(
                [["id": 1], record, ["id": 2, "phones": ["2"]]], ImportFixture.people(), connection,
                ImportOptions(failureLimit: 1, unknownMembers: .reject))
            expectEqual(report.failures.map(\.error.description), [message], "failures")
            expectEqual(report.failures.map(\.recordIndex), [1], "record of a failure")
            expectEqual(report.failedCount, 1, "failed")
            expectEqual(report.recordCount, 3, "records")
            expectEqual(
                try ImportFixture.rows(ImportFixture.everything, connection), "p|1|nobody|- p|2|nobody|- n|2|-|2",
                message)
            try connection.execute("DELETE FROM phone; DELETE FROM person")
            expectEqual(try connection.value("SELECT count(*) FROM company"), 0, "companies")
        }
    }

    private static func testSkipsInvalidRecordsCompletely() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        let bad: ImportSample = [
            "id": 5, "company": ["code": "c"], "phones": [["number": "1"], ["number": true, "kind": [1, [2]]]],
            "x": [["y": 1]],
        ]
        let report = try ImportFixture.run(
            [bad, ["id": 1], bad, bad, ["id": 2]], ImportFixture.people(), connection,
            ImportOptions(failureLimit: 3))
        expectEqual(report.failures.map(\.recordIndex), [0, 2, 3], "failed")
        expectEqual(report.insertedCount, 2, "inserted")
        expectEqual(try ImportFixture.rows(ImportFixture.everything, connection), "p|1|nobody|- p|2|nobody|-", "rows")
        let error = expectThrows(StreamError.self, "one failure more") {
            _ = try ImportFixture.run(
                [bad, ["id": 3], bad, bad], ImportFixture.people(), connection, ImportOptions(failureLimit: 2))
        }
        expectEqual(error?.path?.description, "$[3].phones[1].number", "path")
        expectEqual(try connection.value("SELECT count(*) FROM person"), 2, "people")
    }

    private static func testNamesRecordsRefusedByTheDatabase() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(
            file,
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE, b INTEGER NOT NULL CHECK (b < 10));
            CREATE TABLE c (k TEXT PRIMARY KEY CHECK (k <> 'bad'), t INTEGER REFERENCES t);
            CREATE TRIGGER r BEFORE INSERT ON t WHEN new.b = 7 BEGIN SELECT RAISE(ABORT, 'no sevens'); END;
            """)
        let table = ImportTable(
            "t", uniqueKey: ["id"], columns: [.integer("id"), .text("a"), .integer("b")],
            relationships: [.toMany("c", ImportTable("c", uniqueKey: ["k"], columns: [.text("k")]), foreignKey: ["t"])])
        let rows: [(ImportSample, SQLiteResultCode, String)] = [
            (["id": 2, "b": 12], .constraintCheck, "CHECK constraint failed: b < 10"),
            (["id": 2, "b": nil], .constraintNotNull, "NOT NULL constraint failed: t.b"),
            (["id": 2], .constraintNotNull, "NOT NULL constraint failed: t.b"),
            (["id": 2, "b": 1, "a": "x"], .constraintUnique, "UNIQUE constraint failed: t.a"),
            (["id": 2, "b": 7], SQLiteResultCode(rawValue: 1811), "no sevens"),
            // The row itself is written before its child is rejected, and isn't counted.
            (["id": 2, "b": 2, "c": ["good", "bad"]], .constraintCheck, "CHECK constraint failed: k <> 'bad'"),
        ]
        for (record, code, message) in rows {
            let payload: ImportSample = [["id": 1, "b": 1, "a": "x"], record, ["id": 3, "b": 3, "c": ["k"]]]
            let error = expectThrows(StreamError.self, message) {
                _ = try ImportFixture.run(payload, table, connection)
            }
            expectEqual(error?.path?.description, "$[1]", "path")
            expectEqual(error?.sqliteError?.extendedCode, code, "code")
            expectEqual(error?.sqliteError?.message, message, "message")
            expectEqual(try connection.value("SELECT count(*) FROM t"), 0, "rows after \(message)")
            let report = try ImportFixture.run(payload, table, connection, ImportOptions(failureLimit: 1))
            expectEqual(report.failures.map(\.recordIndex), [1], "failed")
            expectEqual(report.tables["t"], ImportReport.Counts(inserted: 2), "counts of t")
            expectEqual(try ImportFixture.rows("SELECT id FROM t ORDER BY id", connection), "1 3", "rows")
            expectEqual(try ImportFixture.rows("SELECT * FROM c", connection), "k|3", "children")
            try connection.execute("DELETE FROM c; DELETE FROM t")
        }
    }

    private static func testReportsAFullDatabase() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); PRAGMA max_page_count = 8")
        let table = ImportTable("t", uniqueKey: ["id"], columns: [.integer("id"), .text("a")])
        let records = (0..<1_000).map {
            ImportSample.record([("id", .integer($0)), ("a", .text("the text of the row with the number \($0)"))])
        }
        let error = expectThrows(StreamError.self, "a full database") {
            _ = try ImportFixture.run(.array(records), table, connection, ImportOptions(batchSize: 1_000))
        }
        expectEqual(error?.description, "database or disk is full (SQLITE_FULL 13)", "message")
        expectEqual(try connection.value("SELECT count(*) FROM t"), 0, "rows")
    }

    private static func testKeepsEarlierBatches() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        let records = (0..<10).map { ImportSample.record([("id", $0 == 7 ? "x" : .integer($0))]) }
        var importer = try Importer(
            ImportFixture.people(), into: connection, options: ImportOptions(batchSize: 3, adaptsBatchSize: false))
        let error = expectThrows(StreamError.self, "a bad record") {
            try ImportSample.array(records).send(to: &importer)
        }
        expectEqual(error?.path?.description, "$[7].id", "path")
        expectEqual(importer.report.insertedCount, 6, "reported")
        expectEqual(try connection.value("SELECT count(*) FROM person"), 6, "rows")
        expectThrows(StreamError.self, "the next message") { try importer.writeNull() }
        expectThrows(StreamError.self, "finishing") { try importer.finish() }
    }

    private static func testRunsWithinCallersTransaction() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        try connection.begin()
        let report = try ImportFixture.run(
            [["id": 1], ["id": 2], ["id": true], ["id": 3]], ImportFixture.people(), connection,
            ImportOptions(batchSize: 1, failureLimit: 1))
        expectEqual(report.batchCount, 3, "batches")
        expectTrue(connection.isInTransaction, "still in the transaction")
        expectEqual(try file.open().value("SELECT count(*) FROM person"), 0, "seen by others")
        try connection.rollBack()
        expectEqual(try connection.value("SELECT count(*) FROM person"), 0, "after rolling back")
        for hasLaterRecord in [false, true] {
            try connection.begin()
            var importer = try Importer(
                ImportFixture.people(), into: connection, options: ImportOptions(batchSize: 1, adaptsBatchSize: false))
            try importer.beginArray()
            try ImportSample.record([("id", .integer(1))]).send(to: &importer)
            try connection.rollBack()
            let error = expectThrows(StreamError.self, "a rollback between batches") {
                if hasLaterRecord { try ImportSample.record([("id", .integer(2))]).send(to: &importer) }
                try importer.endArray()
                try importer.finish()
            }
            expectEqual(error?.sqliteError?.code, .abort, "code")
            expectEqual(try connection.value("SELECT count(*) FROM person"), 0, "rows of later batches")
        }
    }

    private static func testReportsLocks() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        let other = try file.open()
        try other.begin()
        let error = expectThrows(StreamError.self, "a lock") {
            _ = try ImportFixture.run([["id": 1]], ImportFixture.people(), connection)
        }
        expectEqual(error?.kind, .cannotWrite, "kind")
        expectEqual(error?.sqliteError?.code, .busy, "code")
        try other.rollBack()
        expectEqual(try ImportFixture.run([["id": 1]], ImportFixture.people(), connection).insertedCount, 1, "after it")
    }

    private static func testContinuesAfterAnInterruptedRun() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        func options(_ fingerprint: String) -> ImportOptions {
            ImportOptions(
                batchSize: 4, adaptsBatchSize: false,
                progress: ImportOptions.Progress(name: "n", fingerprint: fingerprint))
        }
        let records = (0..<10).map { ImportSample.record([("id", .integer($0)), ("phones", [.text("\($0)")])]) }
        do {
            var importer = try Importer(ImportFixture.people(), into: connection, options: options("a"))
            try importer.beginArray()
            for record in records.prefix(9) { try record.send(to: &importer) }
        }
        expectEqual(try ImportFixture.rows("SELECT * FROM import_progress", connection), "n|a|8", "progress")
        expectEqual(try connection.value("SELECT count(*) FROM phone"), 8, "rows")
        // With other input, the import starts again, and the existing rows are compared.
        let other = try ImportFixture.run(
            .array(Array(records.prefix(9))), ImportFixture.people(), connection, options("b"))
        expectEqual(other.unchangedCount, 16, "unchanged")
        expectEqual(other.resumedCount, 0, "resumed")
        do {
            var importer = try Importer(ImportFixture.people(), into: connection, options: options("a"))
            try importer.beginArray()
            for record in records.prefix(5) { try record.send(to: &importer) }
        }
        let report = try ImportFixture.run(.array(records), ImportFixture.people(), connection, options("a"))
        expectEqual(report.resumedCount, 4, "resumed")
        expectEqual(report.recordCount, 10, "records")
        expectEqual(report.insertedCount, 2, "inserted")
        expectEqual(report.unchangedCount, 10, "compared")
        expectEqual(try connection.value("SELECT count(*) FROM phone"), 10, "rows at the end")
        expectEqual(try connection.value("SELECT count(*) FROM import_progress"), 0, "progress at the end")
    }

    private static func testAdaptsBatchSize() throws {
        let file = try TemporaryDatabase()
        let connection = try file.open()
        try connection.execute(ImportFixture.schema)
        let records = (0..<3_000 as Range<Int64>).map { ImportSample.record([("id", .integer($0))]) }
        let options = ImportOptions(batchSize: 2, batchSizeLimit: 100)
        let report = try ImportFixture.run(.array(records), ImportFixture.people(), connection, options)
        expectGreaterThanOrEqual(report.batchCount, 30, "batches of at most 100")
        expectEqual(try connection.value("SELECT count(*) FROM person"), 3_000, "rows")
        let bytes = try ImportFixture.run(
            .array(records), ImportFixture.people(), connection,
            ImportOptions(batchSize: 1_000, adaptsBatchSize: false, batchByteLimit: 2_000))
        expectGreaterThan(bytes.batchCount, 50, "batches by their bytes")
    }

    private static func testRefusesMisuse() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        let rows: [(String, (inout Importer) throws -> Void)] = [
            ("endArray", { try $0.endArray() }), ("endDictionary", { try $0.endDictionary() }),
            (
                "a key",
                { importer in try "k".withUTF8Span { (span) throws(StreamError) in try importer.writeKey(span) } }
            ),
            (
                "an end of the other kind",
                {
                    try $0.beginArray()
                    try $0.beginDictionary()
                    try $0.endArray()
                }
            ),
            (
                "an unfinished record",
                {
                    try $0.beginDictionary()
                    try $0.finish()
                }
            ),
            (
                "an unfinished array",
                {
                    try $0.beginArray()
                    try $0.finish()
                }
            ),
        ]
        for (name, body) in rows {
            var importer = try Importer(ImportFixture.people(), into: connection)
            let error = expectThrows(StreamError.self, name) { try body(&importer) }
            expectTrue([.misuse, .unexpectedEnd].contains(error?.kind), "\(name): \(error?.description ?? "")")
        }
        var importer = try Importer(ImportFixture.people(), into: connection)
        try importer.finish()
        expectThrows(StreamError.self, "a message after the end") { try importer.beginArray() }
    }

    private static func testLimitsMemory() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        connection.setLimit(.length, to: 100_000)
        let error = expectThrows(StreamError.self, "a long text") {
            _ = try ImportFixture.run(
                [["id": 1, "firstName": .text(String(repeating: "x", count: 100_001))]], ImportFixture.people(),
                connection)
        }
        expectEqual(error?.kind, .limitExceeded, "kind")
        expectEqual(
            error?.description,
            "$[0].firstName: expected at most 100000 bytes, the limit of the connection, found 100001", "message")
        let stateMachine = try ImportStateMachine(
            ImportFixture.people(), connection: connection, options: ImportOptions(batchByteLimit: 10_000))
        var (copy, largest) = (stateMachine, 0)
        try copy.beginArray()
        for number in 0..<2_000 as Range<Int64> {
            try copy.beginDictionary()
            try "id".withUTF8Span { (span) throws(StreamError) in try copy.writeKey(span) }
            try unsafe copy.write(.integer(number))
            largest = max(largest, copy.stagedByteCount)
            try copy.endDictionary()
        }
        expectLessThan(largest, 11_000, "staged bytes")
        copy.end()
    }
}
#endif
