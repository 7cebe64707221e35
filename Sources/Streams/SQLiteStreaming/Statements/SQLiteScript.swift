// Splits SQL text into statements and prepares them one after another, since each may depend on the changes of an earlier
// one.

import CSystemSQLite
import PlistStreaming

/// The statements of an SQL text.
struct SQLiteScript {
    private let text: String
    /// The UTF-8 with a NUL at the end. For each statement, SQLite would copy all of a text without NUL.
    private let bytes: [UInt8]
    /// The number of bytes before the next statement.
    private(set) var byteOffset = 0

    /// - Throws: `misuse` for a text with NUL, where SQLite would stop reading.
    init(_ text: String) throws(SQLiteError) {
        self.text = text
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 1)
        bytes += text.utf8
        bytes.append(0)
        self.bytes = bytes
        if let offset = bytes.firstIndex(of: 0), offset < bytes.count - 1 {
            throw SQLiteError(.misuse, "found a NUL character in SQL", sql: text, byteOffset: offset)
        }
    }

    /// Prepares the next statement, or returns nil at the end.
    mutating func next(of connection: SQLiteConnection) throws(SQLiteError) -> SQLiteStatement? {
        let start = byteOffset
        guard let handle = try unsafe nextHandle(of: connection) else { return nil }
        return unsafe SQLiteStatement(connection, handle, sql: text, isKept: false, baseOffset: start)
    }

    /// Prepares the next statement, which the caller has to finalize, or returns nil at the end.
    mutating func nextHandle(of connection: SQLiteConnection) throws(SQLiteError) -> OpaquePointer? {
        let database = try unsafe connection.requireHandle()
        while byteOffset < bytes.count - 1 {
            let start = byteOffset
            var statement: OpaquePointer?
            var next = start
            // SAFETY: SQLite reads up to the passed count, which includes the NUL; the end of the statement is in the same
            // buffer.
            let code = unsafe bytes.withUnsafeBytes { buffer in
                guard let base = buffer.baseAddress else { return SQLITE_MISUSE }
                let first = unsafe (base + start).assumingMemoryBound(to: CChar.self)
                var tail: UnsafePointer<CChar>?
                let code = unsafe sqlite3_prepare_v3(
                    database, first, Int32(clamping: bytes.count - start), 0, &statement, &tail)
                if let tail = unsafe tail { next = unsafe start + (tail - first) }
                return code
            }
            guard code == SQLITE_OK else {
                throw unsafe SQLiteError.make(code, database, sql: text, baseOffset: start)
            }
            byteOffset = next > start ? next : bytes.count - 1
            // For spaces and comments, SQLite returns no statement.
            if let statement = unsafe statement { return unsafe statement }
        }
        return nil
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension SQLiteScript: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsEveryStatement": testFindsEveryStatement,
            "testReportsOffsetsInTheWholeScript": testReportsOffsetsInTheWholeScript,
            "testRefusesNUL": testRefusesNUL,
            "testReadsEachStatementOnce": testReadsEachStatementOnce,
        ]
    }

    private static func count(_ text: String) throws -> Int {
        let connection = try SQLiteConnection.inMemory()
        var script = try SQLiteScript(text)
        var count = 0
        while try script.next(of: connection) != nil { count += 1 }
        return count
    }

    private static func testFindsEveryStatement() throws {
        let rows = [
            ("", 0), (" ;; \n", 0), ("-- nothing", 0), ("SELECT 1", 1), ("SELECT 1; -- one\n", 1),
            ("SELECT ';'; SELECT 2;", 2), ("/* a */ SELECT 'é' /* ; */;SELECT 2", 2),
        ]
        for (text, expected) in rows { expectEqual(try count(text), expected, text) }
    }

    private static func testReportsOffsetsInTheWholeScript() throws {
        let rows = [
            ("SELEC 1", 0, "near \"SELEC\": syntax error"),
            ("SELECT 1; SELECT 'é', nowhere", 23, "no such column: nowhere"),
            ("SELECT 1;\nSELECT FROM", 17, "near \"FROM\": syntax error"),
        ]
        for (text, offset, message) in rows {
            let error = expectThrows(SQLiteError.self, text) { _ = try count(text) }
            expectEqual(error?.byteOffset, offset, "offset in \(text)")
            expectEqual(error?.message, message, "message for \(text)")
            expectEqual(error?.sql, text, "statement of \(text)")
        }
        let error = expectThrows(SQLiteError.self, "an unfinished statement") { _ = try count("SELECT") }
        expectEqual(error?.message, "incomplete input", "message")
    }

    private static func testRefusesNUL() {
        let error = expectThrows(SQLiteError.self, "NUL") { _ = try count("SELECT 1;\0DROP TABLE t") }
        expectEqual(error?.byteOffset, 9, "offset")
    }

    private static func testReadsEachStatementOnce() throws {
        // The limit applies to the text that SQLite reads or copies for one statement.
        let connection = try SQLiteConnection.inMemory()
        connection.setLimit(.sqlLength, to: 60)
        for separator in ["", "\n", " -- a comment\n"] {
            let script = String(repeating: "SELECT 'one of many statements';" + separator, count: 300)
            expectNoThrow("a script") { try connection.execute(script) }
        }
        let error = expectThrows(SQLiteError.self, "one long statement") {
            try connection.execute("SELECT 1; SELECT 'one statement that is longer than the bound for statements'")
        }
        expectEqual(error?.code, .tooBig, "code")
    }
}
#endif
