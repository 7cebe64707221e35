// A table whose rows are values of a type: binds, creates and checks it. Inserting is in `SQLiteTable+Inserting`, finding and
// changing rows in `SQLiteTable+Rows`, and access by primary key in `SQLiteTable+Keys`.

import CSystemSQLite
import PlistBuilding
import PlistStreaming

/// A table whose columns are the members of a structure or class.
///
/// ```swift
/// struct Task: StreamObject {
///     var id: Int? = nil                  // INTEGER PRIMARY KEY: nil lets SQLite choose
///     var title = ""                      // TEXT NOT NULL
///     var done = false                    // BOOLEAN NOT NULL
/// }
///
/// let tasks = try SQLiteTable<Task>(connection, "tasks")
/// try tasks.insert([Task(title: "Paint"), Task(title: "Sand")])
/// try tasks.update(.set(\.done, true), where: \.title == "Sand")
/// let open = try tasks.fetchAll(where: \.done == false, orderedBy: .ascending(\.title))
/// ```
///
/// Members are bound as usual in `PlistBuilding`: by reflection, or as declared in `streamMembers`. The declared types of
/// columns are `INTEGER` for integers, `REAL` for floating-point numbers, `BOOLEAN` (0 and 1) for Booleans, `TEXT` for
/// strings, `BLOB` for arrays of bytes and `Data`, and `DATETIME` for `Date` (see ``SQLiteDateFormat``). A type that is
/// converted to another type has that type's column. Members that aren't optional are `NOT NULL`. A type with members that
/// are containers can't be a table: convert the members, or leave them out.
///
/// The name of the table is resolved once, so a table with the same name that is created later in another schema isn't used.
/// SQLite doesn't store the sign of zero, so -0.0 is read as 0.0. Use a table only from the thread or task of its connection.
@safe
public struct SQLiteTable<Row: StreamObject> {
    /// The connection to the database.
    public let connection: SQLiteConnection
    /// The name of the table.
    public let name: String
    /// The names of the columns, in the order of the members.
    public var columnNames: [String] { members.columns.map(\.name) }
    /// The names of the columns of the primary key, empty if the table doesn't declare one.
    public let primaryKey: [String]
    var options: SQLiteTableOptions
    let members: MemberColumns
    let target: InsertTarget

    /// Binds a type to a table. A missing table is created, and an existing one must fit the type.
    ///
    /// By default, the table has the name of the type.
    /// - Throws: `schema` with all differences if the table doesn't fit; `misuse` if the type can't be a table.
    public init(
        _ connection: SQLiteConnection, _ name: String? = nil, options: SQLiteTableOptions = SQLiteTableOptions()
    ) throws(SQLiteError) {
        self.connection = connection
        self.name = name ?? "\(Row.self)"
        self.options = options
        members = try SQLiteError.of { () throws(StreamError) in
            try MemberColumns(Row.self, keyMapping: options.keyMapping)
        }
        primaryKey = try Self.primaryKey(options, members)
        let table = self.name
        var found = try InsertTarget(connection, table)
        if found == nil {
            guard options.missingTable == .create else { throw SQLiteError(.error, "no such table: \(table)") }
            let creation = try Self.creation(table, members, primaryKey, options)
            // Another process may create the table meanwhile, so this process looks again while it holds the lock.
            try connection.atomically { () throws(SQLiteError) in
                found = try InsertTarget(connection, table)
                if found != nil { return }
                try connection.execute(creation)
                found = try InsertTarget(connection, table)
            }
        }
        guard let found else { throw SQLiteError(.error, "no such table: \(table)") }
        target = found
        try check(found.columns)
    }

    private static func primaryKey(
        _ options: SQLiteTableOptions, _ members: MemberColumns
    ) throws(SQLiteError) -> [String] {
        for column in members.columns {
            if case .container(let description) = column.kind {
                throw SQLiteError(
                    .misuse,
                    "\(Row.self).\(column.name) is \(description), which columns can't store; convert it or leave it out"
                )
            }
        }
        guard let keys = options.primaryKey else {
            return members.columns.contains { $0.name == "id" && $0.kind == .integer } ? ["id"] : []
        }
        for key in keys where !members.columns.contains(where: { $0.name == key }) {
            throw SQLiteError(.misuse, "the primary key '\(key)' isn't a column of \(Row.self)")
        }
        return keys
    }

    // MARK: Schema

    /// The statement that creates the table for the type.
    public var creationSQL: String {
        get throws(SQLiteError) { try Self.creation(name, members, primaryKey, options) }
    }

    private static func creation(
        _ name: String, _ members: MemberColumns, _ primaryKey: [String], _ options: SQLiteTableOptions
    ) throws(SQLiteError) -> String {
        var parts: [String] = []
        let rowID = rowIDColumn(members, primaryKey)
        for column in members.columns {
            var part = try SQLiteName.quoted(column.name)
            let type = declaredType(column.kind)
            if !type.isEmpty { part += " \(type)" }
            if column.name == rowID {
                part += " PRIMARY KEY"
            } else if !column.isOptional {
                part += " NOT NULL"
            } else if primaryKey.contains(column.name) {
                throw SQLiteError(
                    .misuse,
                    "\(Row.self).\(column.name) is optional, but SQLite doesn't choose values of this primary key")
            }
            parts.append(part)
        }
        if !primaryKey.isEmpty, rowID == nil { parts.append("PRIMARY KEY (\(try SQLiteName.list(primaryKey)))") }
        for columns in options.uniqueColumns { parts.append("UNIQUE (\(try SQLiteName.list(columns)))") }
        return "CREATE TABLE \(try SQLiteName.quoted(name)) (\(parts.joined(separator: ", ")))"
    }

    /// Returns the column that is the row id: the whole primary key, if it is a column of integers.
    static func rowIDColumn(_ members: MemberColumns, _ primaryKey: [String]) -> String? {
        guard primaryKey.count == 1 else { return nil }
        return members.columns.first { $0.name == primaryKey[0] && $0.kind == .integer }?.name
    }

    private static func declaredType(_ kind: MemberColumn.Kind) -> String {
        switch kind {
        case .integer: "INTEGER"
        case .real: "REAL"
        case .bool: "BOOLEAN"
        case .string: "TEXT"
        case .data: "BLOB"
        case .date: "DATETIME"
        case .any, .container: ""
        }
    }

    /// Compares the table with the type and throws one error with all differences.
    private func check(_ found: [SQLiteColumn]) throws(SQLiteError) {
        var differences: [String] = []
        let rowID = found.integerKey?.name
        for member in members.columns {
            guard let column = found.first(where: { $0.name == member.name }) else {
                let similar = found.first { SQLiteName.folded($0.name) == SQLiteName.folded(member.name) }?.name
                differences.append(
                    "the column \(member.name) is missing" + (similar.map { "; did you mean '\($0)'?" } ?? ""))
                continue
            }
            if column.isGenerated { differences.append("the column \(member.name) is generated") }
            if !accepts(member.kind, column.affinity) {
                let type = column.declaredType.isEmpty ? "no type" : column.declaredType
                differences.append(
                    "the column \(member.name) has \(type), expected \(Self.declaredType(member.kind))")
            }
            let isRowID = column.name == rowID
            if column.isNotNull, member.isOptional, !isRowID {
                differences.append("the column \(member.name) is NOT NULL, but the member is optional")
            } else if !column.isNotNull, !member.isOptional, !isRowID {
                differences.append("the column \(member.name) may be null, but the member isn't optional")
            }
        }
        for column in found where column.isNotNull && column.defaultExpression == nil && !column.isGenerated {
            if !members.columns.contains(where: { SQLiteName.folded($0.name) == SQLiteName.folded(column.name) }) {
                differences.append(
                    "the column \(column.name) is NOT NULL without a default, but has no member")
            }
        }
        let key = found.filter { $0.primaryKeyIndex > 0 }.sorted { $0.primaryKeyIndex < $1.primaryKeyIndex }.map(\.name)
        if key != primaryKey, !(options.primaryKey == nil && primaryKey.isEmpty) {
            differences.append(
                "the primary key is (\(key.joined(separator: ", "))), expected (\(primaryKey.joined(separator: ", ")))")
        }
        guard differences.isEmpty else {
            throw SQLiteError(
                .schema, "the table \(name) does not fit \(Row.self): " + differences.joined(separator: "; "))
        }
    }

    /// Returns whether a column stores values of a kind unchanged.
    private func accepts(_ kind: MemberColumn.Kind, _ affinity: SQLiteColumn.Affinity) -> Bool {
        switch kind {
        case .integer, .bool: affinity.keeps(.integers)
        case .real: affinity.keeps(.reals)
        case .string: affinity.keeps(.text)
        case .data, .any, .container: affinity.keeps(.anything)
        case .date where options.dateFormat == .text: affinity.keeps(.dates)
        case .date: affinity.keeps(.reals) && affinity != .integer
        }
    }
}
