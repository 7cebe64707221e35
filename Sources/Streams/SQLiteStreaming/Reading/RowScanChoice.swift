// Which queries of a connection are worth a second statement and a call of `RowFunction`: those that read whole tables, of
// more than a few rows.

import CSystemSQLite
import PlistStreaming

/// What a connection knows of its queries, and the function that takes their rows.
struct RowScanChoice {
    /// The function, made when it is first needed.
    private(set) var function: RowFunction?
    /// How often a query is stepped before a scan of it is tried again; `never` for those that are no whole scans.
    private var pauses: [String: UInt8] = [:]
    /// A query with fewer rows is stepped for a while.
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

    /// Takes note of how many rows a query gave.
    mutating func note(_ rowCount: Int, of sql: String) {
        if rowCount < fewRowCount { set(Self.pause, for: sql) } else { set(0, for: sql) }
    }

    /// Takes note that a query cannot be scanned.
    mutating func refuse(_ sql: String) { set(Self.never, for: sql) }

    private mutating func set(_ pause: UInt8, for sql: String) {
        if pauses.count >= Self.limits.queryCount { pauses = [:] }
        pauses[sql] = pause
    }

    /// The function of a connection.
    mutating func function(of connection: SQLiteConnection) throws(SQLiteError) -> RowFunction {
        if let function { return function }
        let made = try RowFunction(connection)
        function = made
        return made
    }

    /// Words with which a query has an order of its own, or likely few rows, which are not worth a second statement.
    private static let excludedWords: Set<String> = [
        "WHERE", "ORDER", "LIMIT", "GROUP", "HAVING", "DISTINCT", "UNION", "INTERSECT", "EXCEPT", "VALUES", "WINDOW",
        "OVER", "WITH", "COUNT", "SUM", "TOTAL", "AVG", "MIN", "MAX",
    ]

    /// Returns whether a query reads a whole table, or several, and in no order that must be kept.
    ///
    /// The words may as well be within strings or names: then the statement is stepped without need.
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
