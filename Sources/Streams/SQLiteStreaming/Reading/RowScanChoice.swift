// Selects the queries of a connection that run faster with a second statement and `RowFunction`: those that read whole tables
// with more than a few rows.

import CSystemSQLite
import PlistStreaming

/// The record of a connection's queries, and the function that receives their rows.
struct RowScanChoice {
    /// The function, created on first use.
    private(set) var function: RowFunction?
    /// The number of times that each query is stepped before a scan is tried again, or `never` if it isn't a whole scan.
    private var pauses: [String: UInt8] = [:]
    /// The number of rows below which a query is stepped for a while.
    var fewRowCount = 256

    private static let never = UInt8.max
    private static let pause: UInt8 = 100
    private static let limits = (queryCount: 256, byteCount: 4_096)

    /// Returns whether to scan for a query now.
    mutating func accepts(_ sql: String) -> Bool {
        guard let pause = pauses[sql] else {
            guard sql.utf8.count <= Self.limits.byteCount else { return false }
            if Self.isWholeScan(sql) { return true }
            set(Self.never, for: sql)
            return false
        }
        if pause == Self.never { return false }
        if pause == 0 { return true }
        pauses[sql] = pause - 1
        return false
    }

    /// Records the number of rows that a query returned.
    mutating func note(_ rowCount: Int, of sql: String) {
        if rowCount < fewRowCount { set(Self.pause, for: sql) } else { set(0, for: sql) }
    }

    /// Records that a query can't be scanned.
    mutating func refuse(_ sql: String) { set(Self.never, for: sql) }

    private mutating func set(_ pause: UInt8, for sql: String) {
        if pauses.count >= Self.limits.queryCount { pauses = [:] }
        pauses[sql] = pause
    }

    /// Returns the function of a connection.
    mutating func function(of connection: SQLiteConnection) throws(SQLiteError) -> RowFunction {
        if let function { return function }
        let made = try RowFunction(connection)
        function = made
        return made
    }

    /// Words of queries that have an order of their own or probably few rows, which don't justify a second statement.
    private static let excludedWords: Set<String> = [
        "WHERE", "ORDER", "LIMIT", "GROUP", "HAVING", "DISTINCT", "UNION", "INTERSECT", "EXCEPT", "VALUES", "WINDOW",
        "OVER", "WITH", "COUNT", "SUM", "TOTAL", "AVG", "MIN", "MAX",
    ]

    /// Returns whether a query reads one or more whole tables in an order that doesn't have to be kept.
    ///
    /// The words are also found in strings and names; such a statement is stepped unnecessarily.
    static func isWholeScan(_ sql: String) -> Bool {
        var word: [UInt8] = []
        var (isFirst, hasFrom) = (true, false)
        func end() -> Bool {
            guard !word.isEmpty else { return true }
            let text = String(decoding: word, as: UTF8.self)
            word.removeAll(keepingCapacity: true)
            if text == "FROM" { hasFrom = true }
            if isFirst && text != "SELECT" { return false }
            isFirst = false
            return !excludedWords.contains(text)
        }
        for byte in sql.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): word.append(byte)
            case UInt8(ascii: "a")...UInt8(ascii: "z"): word.append(byte - 32)
            case UInt8(ascii: ";"), 0: return false
            default: if !end() { return false }
            }
        }
        return end() && hasFrom
    }
}
