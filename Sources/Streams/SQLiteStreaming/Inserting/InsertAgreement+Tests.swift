// The in-class tests that compare every path of inserting with plain SQL: values, errors and their rows, counts, ids, and the
// effects of foreign keys and triggers.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

/// The paths of inserting the rows of a scenario.
package struct InsertAgreement {
    private typealias Row = InsertScenario.Row
    private typealias Outcome = InsertScenario.Outcome

    /// The rows as objects.
    private final class Item: StreamObject {
        var id: Int?
        var name = ""
        var n = 0
        var parent: Int?
        var score: Double?
        var flag = false
        init() {}

        convenience init(_ row: Row) {
            self.init()
            (id, name, n, parent, score, flag) = (row.id, row.name, row.n, row.parent, row.score, row.flag)
        }
    }

    /// The rows as objects with a computed property that changes another property whenever it is read.
    private final class Computed: StreamObject {
        var id: Int?
        var name = ""
        var row = Row()
        var n: Int {
            get {
                name = String(row.name.reversed().reversed())
                return row.n
            }
            set { row.n = newValue }
        }
        init() {}

        convenience init(_ row: Row) {
            self.init()
            (id, name, self.row) = (row.id, row.name, row)
        }

        static var streamMembers: StreamMembers {
            [
                .member("id", \Computed.id), .member("name", \Computed.name), .member("n", \Computed.n),
                .member("parent", \Computed.row.parent), .member("score", \Computed.row.score),
                .member("flag", \Computed.row.flag),
            ]
        }
    }

    let scenario: InsertScenario

    private func options(_ path: SQLiteInsertPath, batch: Int = 1_024) -> SQLiteTableOptions {
        SQLiteTableOptions(
            primaryKey: scenario.primaryKey, conflict: scenario.conflict, insertPath: path, batchRowCount: batch)
    }

    /// Returns the differences between the paths and plain SQL.
    func differences(_ batch: Int) throws -> [String] {
        let (expected, ids) = try scenario.insertPlainly()
        var differences: [String] = []
        func compare(_ name: String, _ body: (SQLiteConnection) throws -> Int) throws {
            let connection = try scenario.makeConnection()
            var outcome = Outcome()
            do {
                outcome.changedCount = try body(connection)
                outcome.lastID = connection.lastInsertRowID
            } catch let error as SQLiteError {
                (outcome.error, outcome.errorRow) = Self.summary(error)
            } catch let error as StreamError {
                (outcome.error, outcome.errorRow) = Self.summary(SQLiteError(error))
            }
            outcome.tables = try scenario.tables(connection)
            if connection.isInTransaction { differences.append("\(name): in a transaction") }
            if outcome != expected { differences.append("\(name): \(outcome.difference(from: expected))") }
        }
        for path in SQLiteInsertPath.allCases {
            if scenario.target == "t" {
                try compare("structures by \(path)") {
                    try table($0, Row.self, path).insert(scenario.rows).changedRowCount
                }
                try compare("objects by \(path)") {
                    try table($0, Item.self, path).insert(scenario.rows.map { Item($0) }).changedRowCount
                }
                try compare("computed by \(path), \(batch) a time") {
                    try table($0, Computed.self, path, batch).insert(scenario.rows.map { Computed($0) }).changedRowCount
                }
                try compare("messages by \(path), \(batch) a time") {
                    try send(to: try table($0, Row.self, path, batch).makeWriter())
                }
                try compare("messages with numbers as text by \(path)") {
                    try sendNumbersAsText(to: try table($0, Row.self, path, batch).makeWriter())
                }
            }
            func writer(_ connection: SQLiteConnection) throws -> SQLiteTableWriter {
                try SQLiteTableWriter(connection, table: scenario.target, options: options(path, batch: batch))
            }
            try compare("messages without a type by \(path), \(batch) a time") { try send(to: try writer($0)) }
            try compare("numbers as text without a type by \(path)") { try sendNumbersAsText(to: try writer($0)) }
        }
        guard scenario.target == "t" else { return differences }
        var rows = scenario.rows
        try compare("read back") { try table($0, Row.self, .automatic).insert(&rows).changedRowCount }
        if rows.map(\.id) != ids { differences.append("ids \(rows.map(\.id)), expected \(ids)") }
        try compare("within a transaction that has only begun") { connection in
            try connection.transaction(.deferred) {
                try table(connection, Row.self, .automatic).insert(scenario.rows).changedRowCount
            }
        }
        try compare("one by one") { connection in
            let table = try table(connection, Row.self, .automatic)
            var number = 0
            do {
                return try connection.transaction {
                    try scenario.rows.reduce(0) {
                        defer { number += 1 }
                        return try $0 + table.insert($1).changedRowCount
                    }
                }
            } catch let error as SQLiteError {
                let message = error.message.replacing(prefix: "$[0]", by: "$[\(number - 1)]")
                throw SQLiteError(error.extendedCode, message)
            }
        }
        return differences
    }

    private func table<Value: StreamObject>(
        _ connection: SQLiteConnection, _ type: Value.Type, _ path: SQLiteInsertPath, _ batch: Int = 1_024
    ) throws -> SQLiteTable<Value> {
        try SQLiteTable<Value>(connection, "t", options: options(path, batch: batch))
    }

    private func send(to writer: consuming SQLiteTableWriter) throws -> Int {
        try writer.write(scenario.rows, options: WritingOptions(nilMembers: .writeNull))
        try writer.finish()
        return writer.report.changedRowCount
    }

    private func sendNumbersAsText(to writer: consuming SQLiteTableWriter) throws -> Int {
        var numbers = NumbersAsText(writer)
        try numbers.write(scenario.rows, options: WritingOptions(nilMembers: .writeNull))
        try numbers.target.finish()
        return numbers.target.report.changedRowCount
    }

    /// Returns the error without its path, and the row of the path.
    private static func summary(_ error: SQLiteError) -> (String, Int?) {
        let inner = error.streamError?.sqliteError ?? error
        let path = error.streamError?.path?.description ?? error.message
        let row = path.hasPrefix("$[") ? Int(path.dropFirst(2).prefix { $0 != "]" }) : nil
        let message = inner.message.replacing(prefix: row.map { "$[\($0)]: " } ?? "$: ", by: "")
        return ("\(inner.extendedCode): \(message)", row)
    }
}

/// A sink that sends finite reals and integers to another sink as text, as a reader does for numbers that a double can't
/// represent.
private struct NumbersAsText: PlistSink, ~Copyable {
    var target: SQLiteTableWriter

    init(_ target: consuming SQLiteTableWriter) { self.target = target }

    mutating func writeNumber(text: RawSpan) throws(StreamError) { try target.writeNumber(text: text) }
    mutating func writeReal(_ value: Double) throws(StreamError) {
        guard value.isFinite else { return try target.writeReal(value) }
        try "\(value)".withUTF8Span { (text) throws(StreamError) in try writeNumber(text: text) }
    }
    mutating func writeInteger(_ value: Int64) throws(StreamError) {
        try "\(value)".withUTF8Span { (text) throws(StreamError) in try writeNumber(text: text) }
    }
    mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { try target.writeUnsigned(value) }
    mutating func beginArray() throws(StreamError) { try target.beginArray() }
    mutating func endArray() throws(StreamError) { try target.endArray() }
    mutating func beginDictionary() throws(StreamError) { try target.beginDictionary() }
    mutating func endDictionary() throws(StreamError) { try target.endDictionary() }
    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { try target.writeKey(utf8) }
    mutating func writeNull() throws(StreamError) { try target.writeNull() }
    mutating func writeBool(_ value: Bool) throws(StreamError) { try target.writeBool(value) }
    mutating func writeString(_ utf8: RawSpan) throws(StreamError) { try target.writeString(utf8) }
    mutating func writeData(_ bytes: RawSpan) throws(StreamError) { try target.writeData(bytes) }
    mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try target.writeDate(secondsSince2001: seconds)
    }
}

extension String {
    fileprivate func replacing(prefix: String, by other: String) -> String {
        hasPrefix(prefix) ? other + dropFirst(prefix.count) : self
    }
}

extension InsertAgreement: SelfTesting {
    /// The in-class tests of the paths of inserting.
    package static var testSelectors: TestSelectors {
        ["testInsertsLikePlainSQL": testInsertsLikePlainSQL]
    }

    /// Returns the differences between the paths and plain SQL in the scenario of a seed, or nil if they agree.
    package static func difference(seed: UInt64) throws -> String? {
        var random = TestRandom(seed: seed)
        let scenario = InsertScenario(&random)
        let differences = try InsertAgreement(scenario: scenario).differences(Int.random(in: 1...20, using: &random))
        guard let first = differences.first else { return nil }
        return
            "\(differences.count) paths differ, \(first), with the seed \(seed): \(scenario.conflict), \(scenario.rows.count) rows, "
            + scenario.script
    }

    // This takes a second: each seed needs a database for each of 24 paths. `InsertAgreementTests` uses more seeds.
    private static func testInsertsLikePlainSQL() throws {
        for seed in 0..<12 as Range<UInt64> {
            if let difference = try difference(seed: seed) { fail(difference) }
        }
    }
}
#endif
