// A table whose rows are values of a type: binding, creating and checking it. Putting rows into it is in
// `SQLiteTable+Inserting`, finding and changing them in `SQLiteTable+Rows`, and by primary key in `SQLiteTable+Keys`.

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
/// Members are bound as everywhere in `PlistBuilding`: by reflection, or as `streamMembers` declares them. Integers become
/// `INTEGER`, floating-point numbers `REAL`, Booleans `BOOLEAN` (0 and 1), strings `TEXT`, arrays of bytes and `Data` `BLOB`,
/// `Date` `DATETIME` (see ``SQLiteDateFormat``), types made from others as what they are made from; members that are not optional
/// are `NOT NULL`. A table is the one that its name means when it is bound, also when one of the same name is made later in
/// another schema. SQLite keeps no sign of zero, so -0.0 comes back as 0.0. A table is for the thread or task that its
/// connection is for. Members that are containers make the type no table: convert them, or leave them out.
@safe
public struct SQLiteTable<Row: StreamObject> {
    /// The connection to the database.
    public let connection: SQLiteConnection
    /// The name of the table.
    public let name: String
    /// The names of the columns, in the order of the members.
    public var columnNames: [String] { members.columns.map(\.name) }
    /// The names of the columns of the primary key; none when the table has no declared one.
    public let primaryKey: [String]
    var options: SQLiteTableOptions
    let members: MemberColumns
    let target: InsertTarget

    /// Binds a type to a table, which is created, or must fit the type when it is there.
    ///
    /// The table's name is that of the type, unless one is given.
    /// - Throws: `schema` when the table does not fit, with every difference; `misuse` when the type cannot be a table.
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
            // Another process may create it meanwhile: so this one looks again when nobody else can.
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
            if case .container(let words) = column.kind {
                throw SQLiteError(
                    .misuse, "\(Row.self).\(column.name) is \(words), which no column holds; convert it or leave it out"
                )
            }
        }
        guard let keys = options.primaryKey else {
            return members.columns.contains { $0.name == "id" && $0.kind == .integer } ? ["id"] : []
        }
        for key in keys where !members.columns.contains(where: { $0.name == key }) {
            throw SQLiteError(.misuse, "the primary key \(key) is no column of \(Row.self)")
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
                    "\(Row.self).\(column.name) is optional, but a part of a primary key that SQLite cannot choose")
            }
            parts.append(part)
        }
        if !primaryKey.isEmpty, rowID == nil { parts.append("PRIMARY KEY (\(try SQLiteName.list(primaryKey)))") }
        for columns in options.uniqueColumns { parts.append("UNIQUE (\(try SQLiteName.list(columns)))") }
        return "CREATE TABLE \(try SQLiteName.quoted(name)) (\(parts.joined(separator: ", ")))"
    }

    /// The column that is the row id: the only one of the primary key, when it is of integers.
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

    /// Compares the table with the type, and throws all differences at once.
    private func check(_ found: [SQLiteColumn]) throws(SQLiteError) {
        var differences: [String] = []
        let rowID = found.integerKey?.name
        for member in members.columns {
            guard let column = found.first(where: { $0.name == member.name }) else {
                let similar = found.first { SQLiteName.folded($0.name) == SQLiteName.folded(member.name) }?.name
                differences.append("there is no column \(member.name)" + (similar.map { ", only \($0)" } ?? ""))
                continue
            }
            if column.isGenerated { differences.append("the column \(member.name) is computed") }
            if !accepts(member.kind, column.affinity) {
                let type = column.declaredType.isEmpty ? "no type" : column.declaredType
                differences.append(
                    "the column \(member.name) has \(type), expected \(Self.declaredType(member.kind))")
            }
            let isRowID = column.name == rowID
            if column.isNotNull, member.isOptional, !isRowID {
                differences.append("the column \(member.name) is NOT NULL, the member is optional")
            } else if !column.isNotNull, !member.isOptional, !isRowID {
                differences.append("the column \(member.name) may be null, the member is not optional")
            }
        }
        for column in found where column.isNotNull && column.defaultExpression == nil && !column.isGenerated {
            if !members.columns.contains(where: { SQLiteName.folded($0.name) == SQLiteName.folded(column.name) }) {
                differences.append(
                    "the column \(column.name) is NOT NULL without a default, and there is no such member")
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

    /// Returns whether values of a kind are stored unchanged in a column.
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
