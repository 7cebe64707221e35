// Finds, saves, changes and deletes rows of a table by their primary key.

import PlistBuilding
import PlistStreaming

extension SQLiteTable {
    // MARK: Rows by their key

    /// Returns the row with a primary key, or nil if it doesn't exist.
    ///
    /// ```swift
    /// let task = try tasks.fetch(key: 3)
    /// let membership = try memberships.fetch(key: "editors", 7)
    /// ```
    /// - Parameter key: A value for each column of ``primaryKey``, in that order. nil finds no row, even if a key can be
    ///   NULL, since in SQL no value is equal to NULL. Text is compared with the collation of the key's index.
    /// - Throws: `misuse` for a table without a primary key, or if the number of values isn't that of the key's columns;
    ///   `mismatch` for a value of another kind than the column's; the errors of ``fetchAll(where:orderedBy:limit:offset:)``.
    /// - Complexity: O(log rows), and O(columns).
    public func fetch(key: any StreamValue...) throws(SQLiteError) -> Row? {
        var clause = SQLiteClause(members, options.dateFormat)
        clause.append("SELECT \(try SQLiteName.list(columnNames)) FROM \(target.qualifiedName)")
        try appendKey(try values(ofKey: key), to: &clause)
        return try clause.statement(connection).values(
            as: Row.self, options: readingOptions, builderOptions: BuilderOptions(keyMapping: keyMapping)
        ).first
    }

    /// Inserts a value, or updates the row with its primary key.
    ///
    /// An existing row keeps its place and its key, so rows that refer to it aren't affected. Only columns that differ are
    /// set. A conflict in other unique columns is an error regardless of ``SQLiteTableOptions/conflict``, unless the table's
    /// own `ON CONFLICT` says otherwise.
    ///
    /// The statement is an upsert, so a row must also fulfill the conditions for an inserted row: `CHECK`s, with the defaults
    /// of columns that aren't members, and triggers before an insert. If a table allows NULL in a key, a row with such a key
    /// is inserted each time.
    /// - Returns: The number of changed rows.
    /// - Throws: `misuse` for a table without a primary key; the errors of ``insert(_:)-(Row)->_``.
    @discardableResult
    public func save(_ row: Row) throws(SQLiteError) -> InsertResult { try saving().insert(row) }

    /// Inserts a value, or updates the row with its primary key, and sets the value's id if SQLite chooses it.
    ///
    /// - Throws: `misuse` for a table without a primary key; the errors of inserting.
    public func save(_ row: inout Row) throws(SQLiteError) { try saving().insert(&row) }

    /// Inserts all values or none, updating the rows whose primary keys exist.
    ///
    /// - Returns: The number of inserted and changed rows.
    /// - Throws: `misuse` for a table without a primary key; the errors of inserting.
    @discardableResult
    public func save(_ rows: [Row]) throws(SQLiteError) -> InsertResult { try saving().insert(rows) }

    /// Inserts all values or none, updating the rows whose primary keys exist, and sets the ids that SQLite chooses.
    ///
    /// - Returns: The number of inserted and changed rows.
    /// - Throws: `misuse` for a table without a primary key; the errors of inserting.
    @discardableResult
    public func save(_ rows: inout [Row]) throws(SQLiteError) -> InsertResult { try saving().insert(&rows) }

    /// Returns this table with the options for saving rows.
    private func saving() throws(SQLiteError) -> SQLiteTable {
        try requirePrimaryKey()
        var table = self
        table.options.conflict = .upsert(on: primaryKey)
        return table
    }

    /// Sets all columns of the row with the primary key of a value.
    ///
    /// - Returns: A Boolean value that indicates whether such a row exists.
    /// - Throws: `misuse` for a table without a primary key.
    @discardableResult
    public func update(_ row: Row) throws(SQLiteError) -> Bool {
        let values = try values(of: row)
        var clause = SQLiteClause(members, options.dateFormat)
        clause.append("UPDATE \(target.qualifiedName) SET ")
        var isFirst = true
        for (column, value) in zip(members.columns, values) where !primaryKey.contains(column.name) {
            clause.append("\(isFirst ? "" : ", ")\(try SQLiteName.quoted(column.name)) = ")
            clause.append(parameter: value)
            isFirst = false
        }
        // A table that consists only of a key has nothing to set, but the statement must still report whether the row exists.
        if isFirst {
            clause.append("\(try SQLiteName.quoted(columnNames[0])) = \(try SQLiteName.quoted(columnNames[0]))")
        }
        try appendKey(of: values, to: &clause)
        return try clause.statement(connection).execute() > 0
    }

    /// Deletes the row with the primary key of a value.
    ///
    /// - Returns: A Boolean value that indicates whether such a row existed.
    /// - Throws: `misuse` for a table without a primary key.
    @discardableResult
    public func delete(_ row: Row) throws(SQLiteError) -> Bool {
        var clause = SQLiteClause(members, options.dateFormat)
        clause.append("DELETE FROM \(target.qualifiedName)")
        try appendKey(of: try values(of: row), to: &clause)
        return try clause.statement(connection).execute() > 0
    }

    private func requirePrimaryKey() throws(SQLiteError) {
        guard primaryKey.isEmpty else { return }
        throw SQLiteError(.misuse, "the table '\(name)' has no primary key, which finding its rows needs")
    }

    /// Appends WHERE and the condition that a row has the key of a row with these values.
    private func appendKey(of values: [SQLiteValue], to clause: inout SQLiteClause) throws(SQLiteError) {
        let key = primaryKey.map { column in columnNames.firstIndex(of: column).map { values[$0] } ?? .null }
        try appendKey(key, to: &clause)
    }

    private func appendKey(_ key: [SQLiteValue], to clause: inout SQLiteClause) throws(SQLiteError) {
        try requirePrimaryKey()
        for (index, (name, value)) in zip(try target.comparedNames(primaryKey), key).enumerated() {
            clause.append("\(index == 0 ? " WHERE " : " AND ")\(name) = ")
            clause.append(parameter: value)
        }
    }

    /// Returns SQLite's values for a key.
    private func values(ofKey key: [any StreamValue]) throws(SQLiteError) -> [SQLiteValue] {
        try requirePrimaryKey()
        guard key.count == primaryKey.count else {
            throw SQLiteError(
                .misuse,
                "expected a value for each column of the primary key (\(primaryKey.joined(separator: ", "))) "
                    + "of \(name), found \(key.count)"
            )
        }
        var values: [SQLiteValue] = []
        for (column, value) in zip(primaryKey, key) {
            let scalar = try SQLiteError.of { () throws(StreamError) in try CellSink.scalar(of: value) }
            // SQLite would look for another value, or for one that no row can have.
            let kind = members.columns.first { $0.name == column }?.kind ?? .any
            guard kind.mayBe(scalar) else {
                throw SQLiteError(
                    .mismatch, "expected a value of the type of \(name).\(column), found another type")
            }
            values.append(try SQLiteClause.value(scalar, options.dateFormat))
        }
        return values
    }

    /// Returns the values of all columns of a row.
    private func values(of row: Row) throws(SQLiteError) -> [SQLiteValue] {
        try members.columns.indices.map { (index) throws(SQLiteError) in
            try SQLiteClause.value(try scalar(index, of: row), options.dateFormat)
        }
    }
}

extension MemberColumn.Kind {
    /// Returns whether a value can be equal to one in a column of this kind.
    fileprivate func mayBe(_ value: ScalarValue) -> Bool {
        switch (self, value) {
        case (.any, _), (_, .null): true
        case (.integer, .integer), (.integer, .unsigned), (.real, .integer), (.real, .unsigned), (.real, .real): true
        case (.integer, .number), (.real, .number): true
        case (.bool, .bool), (.string, .string), (.data, .data), (.date, .date): true
        default: false
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum SQLiteTableKeyTests {}

extension SQLiteTableKeyTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFetchesByKey": testFetchesByKey,
            "testFetchesByKeysOfSeveralColumns": testFetchesByKeysOfSeveralColumns,
            "testFetchesByKeysOfEveryKind": testFetchesByKeysOfEveryKind,
            "testRefusesWrongKeys": testRefusesWrongKeys,
            "testSavesNewAndChangedRows": testSavesNewAndChangedRows,
            "testSavesWithoutTouchingForeignKeys": testSavesWithoutTouchingForeignKeys,
            "testSavesByKeysOfSeveralColumns": testSavesByKeysOfSeveralColumns,
            "testRollsBackFailedSaves": testRollsBackFailedSaves,
            "testSavesIntoATableOfAnyName": testSavesIntoATableOfAnyName,
            "testComparesKeysByCollationOfIndex": testComparesKeysByCollationOfIndex,
            "testFollowsChangesOfKeyCollation": testFollowsChangesOfKeyCollation,
        ]
    }

    private struct Item: StreamObject, Equatable {
        var id: Int? = nil
        var title = ""
        var count = 0
    }

    private struct Membership: StreamObject, Equatable {
        var group = ""
        var person = 0
        var role = ""
    }

    private static func items(_ options: SQLiteTableOptions = SQLiteTableOptions()) throws -> SQLiteTable<Item> {
        try SQLiteTable<Item>(try SQLiteConnection.inMemory(), "items", options: options)
    }

    private static func memberships() throws -> SQLiteTable<Membership> {
        let table = try SQLiteTable<Membership>(
            try SQLiteConnection.inMemory(), "memberships",
            options: SQLiteTableOptions(primaryKey: ["person", "group"]))
        try table.insert([Membership(group: "a", person: 1, role: "x"), Membership(group: "b", person: 1, role: "y")])
        return table
    }

    private static func testFetchesByKey() throws {
        let table = try items()
        expectNil(try table.fetch(key: 1), "a row of no rows")
        let rows = [Item(id: .min, title: "a"), Item(id: 0, title: "b"), Item(id: .max, title: "c", count: 5)]
        try table.insert(rows)
        for row in rows { expectEqual(try table.fetch(key: row.id), row, "row \(row.title)") }
        for key in [-1, 1, .max - 1, nil] as [Int?] { expectNil(try table.fetch(key: key), "row \(key as Any)") }
    }

    private static func testFetchesByKeysOfSeveralColumns() throws {
        let table = try memberships()
        expectEqual(try table.fetch(key: 1, "b")?.role, "y", "a row")
        expectNil(try table.fetch(key: 2, "b"), "another person")
        expectNil(try table.fetch(key: 1, "c"), "another group")
        expectNil(try table.fetch(key: 1, String?.none), "no group")
    }

    private enum Level: Int, StreamValue { case low = -1, high = 1 }
    private struct Named: StreamObject, Equatable { var key = "", title = "t" }
    private struct Rated: StreamObject, Equatable { var key = 0.5, title = "t" }
    private struct Raw: StreamObject, Equatable { var key: [UInt8] = [], title = "t" }
    private struct Graded: StreamObject, Equatable { var key = Level.low, title = "t" }
    private struct Unsigned: StreamObject, Equatable { var key: UInt64 = 0, title = "t" }
    private struct Dated: StreamObject, Equatable { var key = Date(timeIntervalSinceReferenceDate: 0), title = "t" }
    private struct Identified: StreamObject, Equatable { var key = UUID(), title = "t" }

    private static func testFetchesByKeysOfEveryKind() throws {
        func check<Row: StreamObject & Equatable>(
            _ rows: [Row], _ format: SQLiteDateFormat = .text, _ key: (Row) -> any StreamValue
        ) throws {
            let options = SQLiteTableOptions(primaryKey: ["key"], dateFormat: format)
            let table = try SQLiteTable<Row>(try SQLiteConnection.inMemory(), "t", options: options)
            try table.insert(rows)
            for row in rows { expectEqual(try table.fetch(key: key(row)), row, "\(row)") }
        }
        try check(["", "größer als fünfzehn Bytes", "'", "1"].map { Named(key: $0) }) { $0.key }
        try check([-0.5, 0, 1e300, .infinity].map { Rated(key: $0) }) { $0.key }
        try check([[], [0], [255, 0]].map { Raw(key: $0) }) { Data($0.key) }
        try check([Level.low, .high].map { Graded(key: $0) }) { $0.key }
        try check([0, 1, UInt64(Int64.max)].map { Unsigned(key: $0) }) { $0.key }
        try check([Identified(), Identified()]) { $0.key }
        for format in [SQLiteDateFormat.text, .secondsSince1970, .secondsSince2001] {
            let dates = [0, 1e9, -1e9, 812_345_678.25].map { Dated(key: Date(timeIntervalSinceReferenceDate: $0)) }
            try check(dates, format) { $0.key }
        }
    }

    private static func testRefusesWrongKeys() throws {
        let (table, others) = (try items(), try memberships())
        let kind = ", found another type"
        let rows: [(() throws(SQLiteError) -> Bool, String)] = [
            ({ () throws(SQLiteError) in try table.fetch(key: "1") != nil }, "items.id\(kind)"),
            ({ () throws(SQLiteError) in try table.fetch(key: 1.0) != nil }, "items.id\(kind)"),
            ({ () throws(SQLiteError) in try table.fetch(key: true) != nil }, "items.id\(kind)"),
            ({ () throws(SQLiteError) in try table.fetch(key: UInt64.max) != nil }, "found one outside this range"),
            ({ () throws(SQLiteError) in try table.fetch(key: [1]) != nil }, "found an array"),
            ({ () throws(SQLiteError) in try others.fetch(key: "a", 1) != nil }, "memberships.person\(kind)"),
            ({ () throws(SQLiteError) in try others.fetch(key: 1) != nil }, "(person, group) of memberships, found 1"),
            ({ () throws(SQLiteError) in try others.fetch() != nil }, "(person, group) of memberships, found 0"),
            ({ () throws(SQLiteError) in try others.fetch(key: 1, "a", 1) != nil }, "of memberships, found 3"),
        ]
        for (number, (fetch, message)) in rows.enumerated() {
            let error = expectThrows(SQLiteError.self, "key \(number)") { _ = try fetch() }
            expectTrue(error?.message.hasSuffix(message) ?? false, "\(number): \(error as Any)")
        }
        let keyless = try SQLiteTable<Membership>(table.connection, "keyless")
        for work in [{ _ = try keyless.fetch(key: 1) }, { _ = try keyless.save(Membership()) }] as [() throws -> Void] {
            let error = expectThrows(SQLiteError.self, "a table without a key") { try work() }
            expectEqual(
                error?.message, "the table 'keyless' has no primary key, which finding its rows needs", "message")
        }
    }

    private static func testSavesNewAndChangedRows() throws {
        for path in SQLiteInsertPath.allCases {
            let table = try items(SQLiteTableOptions(conflict: .ignore, insertPath: path))
            var rows = (1...20).map { Item(id: $0 * 2, title: "Titel \($0)") }
            expectEqual(try table.save(rows).changedRowCount, 20, "new rows by \(path)")
            expectEqual(try table.save(rows).changedRowCount, 0, "equal rows by \(path)")
            (rows[3].count, rows[4].title) = (7, "another")
            rows.append(Item(id: 1, title: "new"))
            expectEqual(try table.save(rows).changedRowCount, 3, "rows that differ by \(path)")
            expectEqual(try table.save(rows[3]).changedRowCount, 0, "an equal row")
            expectEqual(try table.fetchAll(orderedBy: .ascending(\.id)), [rows[20]] + rows[..<20], "rows by \(path)")
        }
        let table = try items()
        var item = Item(title: "a")
        for count in 0..<3 {
            item.count = count
            try table.save(&item)
            expectEqual(item.id, 1, "the id that SQLite has chosen")
        }
        var more = [Item(title: "b"), item, Item(id: 1, title: "c")]
        expectEqual(try table.save(&more).changedRowCount, 2, "changed rows")
        expectEqual(more.map(\.id), [2, 1, 1], "ids")
        expectEqual(try table.fetchAll(), [Item(id: 1, title: "c"), Item(id: 2, title: "b")], "rows")
    }

    private static func testSavesWithoutTouchingForeignKeys() throws {
        let table = try items()
        try table.connection.execute(
            "CREATE TABLE child (item REFERENCES items (id) ON DELETE CASCADE ON UPDATE RESTRICT)")
        try table.save((1...20).map { Item(id: $0, title: "old") })
        try table.connection.execute("INSERT INTO child SELECT id FROM items")
        try table.save((1...20).map { Item(id: $0, title: "new") })
        try table.save(Item(id: 3, title: "newer"))
        expectEqual(try table.connection.value("SELECT count(*) FROM child"), 20, "children")
        expectEqual(try table.count(where: \.title == "new"), 19, "rows")
    }

    private static func testSavesByKeysOfSeveralColumns() throws {
        let table = try memberships()
        try table.save(Membership(group: "a", person: 1, role: "z"))
        try table.save(Membership(group: "c", person: 1, role: "w"))
        expectEqual(try table.fetchAll(orderedBy: .ascending(\.group)).map(\.role), ["z", "y", "w"], "roles")
        struct Pair: StreamObject { var a = 0, b = "" }
        let pairs = try SQLiteTable<Pair>(
            table.connection, "pairs", options: SQLiteTableOptions(primaryKey: ["a", "b"]))
        for changes in [1, 0] {
            expectEqual(try pairs.save(Pair(a: 1, b: "x")).changedRowCount, changes, "rows of nothing but a key")
        }
    }

    private static func testRollsBackFailedSaves() throws {
        let table = try items(SQLiteTableOptions(uniqueColumns: [["title"]], conflict: .replace))
        try table.save([Item(id: 1, title: "a"), Item(id: 2, title: "b")])
        let error = expectThrows(SQLiteError.self, "a title that another row has") {
            try table.save([Item(id: 1, title: "c"), Item(id: 3, title: "b")])
        }
        expectEqual(error?.message, "$[1]: UNIQUE constraint failed: items.title", "message")
        expectEqual(try table.fetchAll(orderedBy: .ascending(\.id)).map(\.title), ["a", "b"], "rows")
    }

    /// Keys that their columns would compare differently than their index.
    private static func testComparesKeysByCollationOfIndex() throws {
        func table(_ name: String, _ columns: String) throws -> SQLiteTable<Named> {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute("CREATE TABLE \(name) (key TEXT NOT NULL \(columns)")
            return try SQLiteTable<Named>(connection, name, options: SQLiteTableOptions(primaryKey: ["key"]))
        }
        let (small, large) = (Named(key: "x", title: "small"), Named(key: "X", title: "large"))
        for end in [")", ") WITHOUT ROWID"] {
            let table = try table("t", "COLLATE NOCASE, title TEXT NOT NULL, PRIMARY KEY (key COLLATE BINARY)\(end)")
            try table.save([small, large])
            expectEqual(try table.fetch(key: "x"), small, "one row\(end)")
            expectEqual(try table.fetch(key: "X"), large, "the other one\(end)")
            expectTrue(try table.update(Named(key: "x", title: "new")), "a row that is changed")
            expectEqual(try table.save([large, Named(key: "x", title: "newer")]).changedRowCount, 1, "changed rows")
            expectEqual(try table.fetch(key: "X"), large, "the row that was not meant\(end)")
            expectTrue(try table.delete(small), "a row that is deleted")
            expectEqual(try table.fetchAll(), [large], "rows that are left\(end)")
        }
        let caseless = try table("u", ", title TEXT NOT NULL, PRIMARY KEY (key COLLATE NOCASE))")
        try caseless.save(small)
        expectEqual(try caseless.fetch(key: "X"), small, "a row whose key differs in case")
        try caseless.save(large)
        expectEqual(try caseless.fetchAll(), [Named(key: "x", title: "large")], "the row, saved")
        expectTrue(try caseless.delete(large), "the row, deleted")
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            "CREATE TABLE r (id INTEGER PRIMARY KEY, title TEXT NOT NULL, count INTEGER NOT NULL, UNIQUE (id))")
        let rowIDs = try SQLiteTable<Item>(connection, "r")
        for title in ["old", "new"] { try rowIDs.save((1...20).map { Item(id: $0, title: title) }) }
        expectEqual(try rowIDs.count(where: \.title == "new"), 20, "rows with a row id that has an index")
        let both = try table("v", ", title TEXT NOT NULL, PRIMARY KEY (key), UNIQUE (key COLLATE NOCASE))")
        try both.save(small)
        let error = expectThrows(SQLiteError.self, "another row") { try both.save(large) }
        expectEqual(error?.code, .constraint, "code")
    }

    private static func migration(_ collation: String) -> String {
        """
        CREATE TABLE t2 (key TEXT NOT NULL, title TEXT NOT NULL, PRIMARY KEY (key COLLATE \(collation)));
        INSERT OR IGNORE INTO t2 SELECT * FROM t; DROP TABLE t; ALTER TABLE t2 RENAME TO t
        """
    }

    /// Checks the rows of the keys `x` and `X` in a table whose key has a collation.
    private static func expectKeys(
        _ isCaseless: Bool, in table: SQLiteTable<Named>, _ writer: inout SQLiteTableWriter, _ name: String
    ) throws {
        for way in ["save", "write", "write many"] {
            let (small, large) = (Named(key: "x", title: "small \(way)"), Named(key: "X", title: "large \(way)"))
            switch way {
            case "save": try table.save([small, large])
            case "write": for row in [small, large] { try writer.write(row) }
            default: try writer.write([small, large] + (0..<300).map { Named(key: "\($0)") })
            }
            let rows = try table.fetchAll(where: \.key == "x" || \.key == "X", orderedBy: .descending(\.key))
            let expected = isCaseless ? [Named(key: "x", title: large.title)] : [small, large]
            expectEqual(rows, expected, "rows, \(way), \(name)")
            expectEqual(try table.fetch(key: "X")?.title, large.title, "the row, \(way), \(name)")
        }
        expectTrue(try table.update(Named(key: "X", title: "new")), "an update, \(name)")
        expectEqual(try table.count(where: \.title == "new"), 1, "updated rows, \(name)")
        expectTrue(try table.delete(Named(key: "X")), "a deletion, \(name)")
        expectEqual(try table.count(where: \.key == "x"), isCaseless ? 0 : 1, "rows that are left, \(name)")
        try table.connection.run("DELETE FROM t")
    }

    private static func testFollowsChangesOfKeyCollation() throws {
        for isInOtherConnection in [false, true] {
            let file = try TemporaryDatabase()
            let connection = try file.open()
            let other = isInOtherConnection ? try file.open(.readWrite) : connection
            try connection.execute("PRAGMA synchronous = OFF; CREATE TABLE t (key, title)")
            try connection.execute(migration("NOCASE"))
            let table = try SQLiteTable<Named>(connection, "t", options: SQLiteTableOptions(primaryKey: ["key"]))
            var options = SQLiteTableOptions(primaryKey: ["key"], conflict: .upsert(on: ["key"]))
            options.batchRowCount = 100
            var writer = try SQLiteTable<Named>(connection, "t", options: options).makeWriter()
            for number in 0..<2 {
                try expectKeys(true, in: table, &writer, "caseless \(number), \(isInOtherConnection)")
                try other.execute(migration("BINARY"))
                try expectKeys(false, in: table, &writer, "by bytes \(number), \(isInOtherConnection)")
                try connection.execute("BEGIN; \(migration("NOCASE"))")
                try expectKeys(true, in: table, &writer, "before it is undone \(number)")
                try connection.execute("ROLLBACK")
                // Begins a new stream, because rows of the earlier one are undone.
                writer.rollBack()
                try expectKeys(false, in: table, &writer, "after it is undone \(number)")
                try other.execute(migration("NOCASE"))
            }
        }
    }

    /// An upsert calls the new row `excluded`.
    private static func testSavesIntoATableOfAnyName() throws {
        for name in ["excluded", "EXCLUDED", "target", "t"] {
            let connection = try SQLiteConnection.inMemory()
            let table = try SQLiteTable<Item>(connection, name)
            for count in [1, 40] {
                for title in ["old", "new"] {
                    try table.save((1...count).map { Item(id: $0, title: title) })
                    let rows = try table.fetchAll()
                    expectEqual(rows.map(\.title), Array(repeating: title, count: count), "\(count) in \(name)")
                }
            }
        }
    }
}
#endif
