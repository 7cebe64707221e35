// A random schema with rows for one of its tables, and the result of inserting them with a plain SQL statement for each row.
// Every way of inserting is compared with it. The random choices come from any generator, so that a fuzzer can also make
// them.

#if DEBUG || IN_CLASS_TESTS
import PlistBuilding
import PlistStreaming

/// A database and rows for it.
struct InsertScenario {
    struct Row: StreamObject, Equatable {
        var id: Int? = nil
        var name = ""
        var n = 0
        var parent: Int? = nil
        var score: Double? = nil
        var flag = false
    }

    /// The result of inserting rows.
    struct Outcome: Equatable {
        /// The content of all tables.
        var tables = ""
        /// The number of rows that the statements changed, excluding those changed by triggers; nil after an error.
        var changedCount: Int?
        var lastID: Int64?
        var error: String?
        /// The row with the error, or nil if the transaction failed at its end.
        var errorRow: Int?

        /// Describes the differences from another result.
        func difference(from other: Outcome) -> String {
            var parts: [String] = []
            let fields: [(String, Int64?, Int64?)] = [
                ("changed rows", changedCount.map { Int64($0) }, other.changedCount.map { Int64($0) }),
                ("last id", lastID, other.lastID),
                ("row of the error", errorRow.map { Int64($0) }, other.errorRow.map { Int64($0) }),
            ]
            for (name, found, expected) in fields where found != expected {
                parts.append("\(name) \(found.map { "\($0)" } ?? "-") instead of \(expected.map { "\($0)" } ?? "-")")
            }
            if error != other.error { parts.append("error \(error ?? "-") instead of \(other.error ?? "-")") }
            if tables != other.tables {
                let common = zip(tables, other.tables).prefix { $0 == $1 }.count
                let (found, expected) = (tables.dropFirst(common - 20), other.tables.dropFirst(common - 20))
                parts.append("tables … \(found.prefix(120)) instead of … \(expected.prefix(120))")
            }
            return parts.joined(separator: "; ")
        }
    }

    private(set) var script = "CREATE TABLE other (id INTEGER PRIMARY KEY); INSERT INTO other VALUES (1), (2), (3); "
    private(set) var target = "t"
    private(set) var primaryKey = ["id"]
    private(set) var conflict = SQLiteConflict.abort
    private(set) var rows: [Row] = []
    private(set) var enforcesForeignKeys = true
    private var hasRowID = true
    /// The columns whose values must be unique.
    private var uniqueKeys: [[String]] = []

    init(_ random: inout some RandomNumberGenerator) {
        makeTable(&random)
        makeRows(&random)
        makeNeighbours(&random)
        enforcesForeignKeys = !one(in: 8, &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: conflict = .ignore
        case 1: conflict = .replace
        case 2 where target == "t":
            if let key = uniqueKeys.randomElement(using: &random) { conflict = .upsert(on: key) }
        default: break
        }
    }

    private func one(in count: Int, _ random: inout some RandomNumberGenerator) -> Bool {
        Int.random(in: 0..<count, using: &random) == 0
    }

    // MARK: Schema

    private mutating func makeTable(_ random: inout some RandomNumberGenerator) {
        let (isStrict, isComposite) = (one(in: 4, &random), one(in: 5, &random))
        hasRowID = !one(in: 5, &random)
        var columns = ["id INTEGER", "name TEXT NOT NULL", "n INTEGER NOT NULL", "parent INTEGER", "score REAL"]
        columns.append(isStrict ? "flag INTEGER NOT NULL" : "flag BOOLEAN NOT NULL")
        if isComposite {
            primaryKey = ["n", "name"]
        } else {
            if hasRowID, !isStrict, one(in: 8, &random) { columns[0] = "id INT" }
            columns[0] += " PRIMARY KEY"
            if hasRowID, columns[0] == "id INTEGER PRIMARY KEY", one(in: 4, &random) { columns[0] += " AUTOINCREMENT" }
        }
        uniqueKeys = [primaryKey]
        if one(in: 4, &random) { columns[1] += " COLLATE NOCASE" }
        if one(in: 3, &random) {
            columns[1] += " UNIQUE"
            uniqueKeys.append(["name"])
            if one(in: 3, &random) {
                let verb = ["IGNORE", "REPLACE", "FAIL", "ROLLBACK"].randomElement(using: &random) ?? "FAIL"
                columns[1] += " ON CONFLICT \(verb)"
            }
        }
        if one(in: 6, &random) { columns[1] += " CHECK (length(name) < 25)" }
        if one(in: 6, &random) { columns[2] += " CHECK (n <> 7)" }
        if !isComposite || !one(in: 3, &random), one(in: 2, &random) {
            columns[3] += isComposite || one(in: 2, &random) ? " REFERENCES other (id)" : " REFERENCES t (id)"
            columns[3] += ["", " ON DELETE CASCADE", " ON DELETE SET NULL"].randomElement(using: &random) ?? ""
            if one(in: 4, &random) { columns[3] += " DEFERRABLE INITIALLY DEFERRED" }
        }
        if !isStrict { columns[4] = ["score REAL", "score NUMERIC", "score"].randomElement(using: &random) ?? "score" }
        if one(in: 4, &random) {
            columns.append("g INTEGER AS (n % 100) \(one(in: 2, &random) ? "STORED" : "VIRTUAL")")
        }
        if one(in: 4, &random) { columns.append("extra TEXT NOT NULL DEFAULT 'x'") }
        if one(in: 6, &random) { columns.append("UNIQUE (n, score)") }
        if isComposite { columns.append("PRIMARY KEY (n, name)") }
        let suffix = [hasRowID ? nil : "WITHOUT ROWID", isStrict ? "STRICT" : nil].compactMap(\.self)
        script += "CREATE TABLE t (\(columns.joined(separator: ", "))) \(suffix.joined(separator: ", ")); "
    }

    /// Makes existing rows, triggers, a table that refers to this one, and a view.
    private mutating func makeNeighbours(_ random: inout some RandomNumberGenerator) {
        let ids = [1, 2, 5, 20, 21].prefix(Int.random(in: 0...5, using: &random))
        for id in ids {
            script += "INSERT OR IGNORE INTO t (id, name, n, flag) VALUES (\(id), 'Row \(id)', \(id), 0); "
        }
        script += "CREATE TABLE log (what, id, n); "
        if primaryKey == ["id"], one(in: 4, &random) {
            let action = ["", "ON DELETE CASCADE", "ON DELETE SET NULL"].randomElement(using: &random) ?? ""
            script += "CREATE TABLE child (t REFERENCES t (id) \(action)); INSERT INTO child SELECT id FROM t; "
        }
        let triggers = [
            "BEFORE INSERT ON t BEGIN INSERT INTO log VALUES ('before', NEW.id, NEW.n); END",
            "AFTER INSERT ON t BEGIN INSERT INTO log VALUES ('after', NEW.id, NEW.n); END",
            "AFTER INSERT ON t BEGIN INSERT INTO log SELECT 'count', count(*), NEW.n FROM t; END",
            "BEFORE INSERT ON t WHEN NEW.n % 5 = 0 BEGIN SELECT RAISE(IGNORE); END",
            "AFTER INSERT ON t WHEN NEW.n = 9 BEGIN SELECT RAISE(ABORT, 'nine'); END",
            "AFTER INSERT ON t WHEN NEW.n = 11 BEGIN SELECT RAISE(ROLLBACK, 'eleven'); END",
            "AFTER UPDATE ON t BEGIN INSERT INTO log VALUES ('update', NEW.id, OLD.n); END",
            "AFTER DELETE ON t BEGIN INSERT INTO log VALUES ('delete', OLD.id, OLD.n); END",
            "BEFORE INSERT ON t BEGIN INSERT INTO log VALUES ('own', NEW.id, 1), ('own', NEW.id, 2); END",
        ]
        while one(in: 4, &random) {
            let name = "i\(script.utf8.count)"
            let trigger = triggers.randomElement(using: &random) ?? triggers[0]
            script += "CREATE \(one(in: 3, &random) ? "TEMP TRIGGER" : "TRIGGER") \(name) \(trigger); "
        }
        guard one(in: 10, &random) else { return }
        target = "v"
        script +=
            """
            CREATE VIEW v AS SELECT id, name, n, parent, score, flag FROM t; \
            CREATE TRIGGER iv INSTEAD OF INSERT ON v BEGIN INSERT INTO t (id, name, n, parent, score, flag) \
            VALUES (NEW.id, NEW.name, NEW.n, NEW.parent, NEW.score, NEW.flag); END;
            """
    }

    // MARK: Rows

    private mutating func makeRows(_ random: inout some RandomNumberGenerator) {
        let count =
            one(in: 12, &random) ? Int.random(in: 260...420, using: &random) : Int.random(in: 1...40, using: &random)
        let (start, step) = (
            Int.random(in: -3...25, using: &random), [0, 1, 1, 1, 3, -1].randomElement(using: &random) ?? 1
        )
        let (repeated, isTidy) = (Int.random(in: 2...60, using: &random), one(in: 3, &random))
        for number in 0..<count {
            var row = Row()
            if step != 0, isTidy || !one(in: repeated, &random) { row.id = start + number * step }
            row.name = one(in: repeated, &random) ? "ROW \(number / 2)" : "Row \(number + (isTidy ? 100 : 0))"
            if one(in: 6, &random) { row.name += ", größer als fünfzehn Bytes" }
            row.n = one(in: repeated, &random) ? Int.random(in: 0...12, using: &random) : number + 100
            if one(in: 30, &random) { row.n = [.max, .min, 1 << 53 + 1].randomElement(using: &random) ?? 0 }
            let parents = [
                nil, nil, 1, 2, start, start + number, start + number * step, start + (number + 1) * step, 3, 99,
            ]
            if !isTidy || one(in: 4, &random) { row.parent = parents.randomElement(using: &random) ?? nil }
            let scores = [
                nil, 0.5, 3, -2.25, 1e300, .infinity, 0, .leastNonzeroMagnitude, 0x1p53, -0x1p63, 0x1p64, 1e25,
            ]
            row.score = scores.randomElement(using: &random) ?? nil
            row.flag = one(in: 2, &random)
            rows.append(row)
        }
    }

    // MARK: Plain SQL

    func makeConnection() throws -> SQLiteConnection {
        let connection = try SQLiteConnection.inMemory(
            options: SQLiteOptions(access: .create, enforcesForeignKeys: enforcesForeignKeys))
        try connection.execute(script)
        return connection
    }

    /// Returns the content of all tables.
    func tables(_ connection: SQLiteConnection) throws -> String {
        var text = ""
        let names = try connection.tableNames() + (script.contains("AUTOINCREMENT") ? ["sqlite_sequence"] : [])
        for name in names {
            text += "\(name): "
            let (columns, order) = name == "t" && !hasRowID ? ("*", "id, n, name") : ("rowid, *", "rowid")
            let statement = try connection.prepare("SELECT \(columns) FROM \(name) ORDER BY \(order)")
            while try statement.step() { text += "\(try statement.values().map(Self.text)) " }
        }
        return text
    }

    private static func text(_ value: SQLiteValue) -> String {
        switch value {
        case .null: "-"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)r"
        case .text(let value): "'\(value)'"
        case .blob(let value): "\(value)"
        }
    }

    private var statement: String {
        let columns = ["id", "name", "n", "parent", "score", "flag"]
        let verb =
            switch conflict {
            case .ignore: "INSERT OR IGNORE"
            case .replace: "INSERT OR REPLACE"
            case .abort, .upsert: "INSERT"
            }
        let sql = "\(verb) INTO \(target) (\(columns.joined(separator: ", "))) VALUES (?, ?, ?, ?, ?, ?)"
        guard case .upsert(let keys) = conflict else { return sql }
        let changed = columns.filter { !keys.contains($0) && !primaryKey.contains($0) }
        return sql + " ON CONFLICT (\(keys.joined(separator: ", "))) DO UPDATE SET "
            + changed.map { "\($0) = excluded.\($0)" }.joined(separator: ", ") + " WHERE "
            + changed.map { "\($0) IS NOT excluded.\($0) COLLATE BINARY OR typeof(\($0)) <> typeof(excluded.\($0))" }
            .joined(separator: " OR ")
    }

    /// Returns the id that a row without an id got in the table, or nil if it isn't in the table.
    private func id(of row: Row, isChanged: Bool, _ connection: SQLiteConnection) throws(SQLiteError) -> Int? {
        let value: SQLiteValue?
        if case .upsert(let keys) = conflict, !keys.contains("id") {
            let condition = keys.map { "\($0) = ?" }.joined(separator: " AND ")
            let values: [(any SQLiteBindable)?] = keys.map { key in
                if key == "n" { row.n } else { row.name }
            }
            value = try connection.value("SELECT id FROM t WHERE \(condition)", SQLiteParameters(values))
        } else {
            guard isChanged, hasRowID else { return nil }
            value = try connection.value("SELECT id FROM t WHERE rowid = last_insert_rowid()")
        }
        return value?.integer.map { Int($0) }
    }

    /// Inserts the rows one by one in a transaction.
    ///
    /// - Returns: The result, and for each row without an id the id of its row in the table.
    func insertPlainly() throws -> (outcome: Outcome, ids: [Int?]) {
        let connection = try makeConnection()
        var (outcome, ids, changedCount) = (Outcome(), [Int?](), 0)
        try connection.begin()
        do throws(SQLiteError) {
            for (number, row) in rows.enumerated() {
                outcome.errorRow = number
                let count = try connection.run(
                    statement, [row.id, row.name, row.n, row.parent, row.score, row.flag])
                changedCount += count
                ids.append(row.id)
                guard row.id == nil, target == "t" else { continue }
                ids[number] = try id(of: row, isChanged: count > 0, connection)
            }
            outcome.errorRow = nil
            try connection.commit()
            outcome.changedCount = changedCount
            outcome.lastID = connection.lastInsertRowID
        } catch {
            outcome.error = "\(error.extendedCode): \(error.message)"
            if connection.isInTransaction { try connection.rollBack() }
            ids = rows.map(\.id)
        }
        outcome.tables = try tables(connection)
        return (outcome, ids)
    }
}
#endif
