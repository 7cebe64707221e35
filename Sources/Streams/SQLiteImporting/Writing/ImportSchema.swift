// Compares the tables of an import in the database with their declarations, and makes the SQL that creates them.

import CSystemSQLite
import PlistStreaming
import SQLiteStreaming

/// Checks and creates the tables of an import.
enum ImportSchema {
    // MARK: Checking

    /// Returns the content that a column must keep unchanged, so that comparisons find equal values.
    private static func content(_ type: ImportColumn.ValueType) -> SQLiteColumn.Affinity.Content {
        switch type {
        case .integer, .boolean: .integers
        case .real, .date(.secondsSince1970), .date(.secondsSince2001): .reals
        case .text: .text
        case .date(.text): .dates
        case .blob: .blobs
        case .any: .anything
        }
    }

    /// The properties of a table that determine how rows are written.
    struct Traits {
        /// A Boolean value that indicates whether an upsert has other effects than finding the row first: it fires triggers,
        /// or uses up an id.
        var refusesUpserts = false
        /// The folded names of NOT NULL columns without a default.
        var mandatoryColumns: Set<SQLiteName.Folded> = []
        /// The folded names of all columns.
        var columns: Set<SQLiteName.Folded> = []
        /// The folded names of columns that don't compare text by its bytes.
        var collatedColumns: Set<SQLiteName.Folded> = []
        /// A Boolean value that indicates whether the table has CHECK constraints, which an upsert evaluates with defaults
        /// for missing columns.
        var hasChecks = false
        /// The folded names of columns with indexes or foreign keys. Setting them, even to their current values, takes longer
        /// than setting all others.
        var indexedColumns: Set<SQLiteName.Folded> = []
        /// A Boolean value that indicates whether rows can conflict only by the unique key, so that the order of updates
        /// doesn't matter.
        var isUniqueByKeyOnly = false
        /// A Boolean value that indicates whether the unique key is the row id, which has no index.
        var isKeyedByRowID = false

        /// Returns whether one upsert may replace a look-up, an insert and updates for rows with values in some columns.
        func allowUpserts(of names: [String]) -> Bool {
            guard !refusesUpserts else { return false }
            let missing = columns.subtracting(names.map(SQLiteName.folded))
            return missing.isDisjoint(with: mandatoryColumns) && (!hasChecks || missing.isEmpty)
        }
    }

    /// Checks that a table fits a node, and returns its traits.
    static func check(_ node: ImportNode) throws(SQLiteError) -> Traits {
        let (table, connection) = (node.table, node.connection)
        guard let schema = try connection.place(ofTable: table.name)?.schema else {
            throw SQLiteError(.schema, "there is no table \(table.name)")
        }
        let found = try connection.columns(ofTable: table.name, inSchema: schema).filter { !$0.isGenerated }
        var traits = Traits()
        traits.columns = Set(found.map { SQLiteName.folded($0.name) })
        traits.mandatoryColumns = Set(
            found.filter { $0.isNotNull && $0.defaultExpression == nil }.map { SQLiteName.folded($0.name) })
        for column in found where try !comparesByBytes(column.name, of: table.name, inSchema: schema, connection) {
            traits.collatedColumns.insert(SQLiteName.folded(column.name))
        }
        for (slot, name) in node.slotNames.enumerated() {
            guard let column = found.first(where: { SQLiteName.folded($0.name) == SQLiteName.folded(name) }) else {
                throw SQLiteError(.schema, "the table \(table.name) has no column \(name)")
            }
            guard slot < table.columns.count else { continue }
            let type = table.columns[slot].type
            guard column.affinity.keeps(content(type)) else {
                throw SQLiteError(
                    .schema,
                    "the column \(table.name).\(name) of type '\(column.declaredType)' would change \(typeDescription(type))"
                )
            }
            guard type != .any || !node.keySlots.contains(slot) else {
                throw SQLiteError(.schema, "the column \(table.name).\(name) of the unique key needs a type")
            }
        }
        let key = Set(table.uniqueKey.map(SQLiteName.folded))
        let sql = try connection.creationSQL(ofTable: table.name, inSchema: schema)
        traits.hasChecks = sql.contains("CHECK")
        traits.refusesUpserts = sql.contains("TRIGGER") || sql.contains("AUTOINCREMENT")
        let indexes = try connection.indexes(ofTable: table.name, inSchema: schema)
        func isOfKey(_ index: SQLiteIndex) -> Bool {
            index.isUnique && !index.isPartial && index.columns.count == key.count
                && Set(index.columns.filter { isBinary($0.collation) }.map(\.name)) == key
        }
        traits.isUniqueByKeyOnly = !indexes.contains { $0.isUnique && !isOfKey($0) }
        traits.indexedColumns = Set(indexes.flatMap { $0.columns.map(\.name) })
        traits.indexedColumns.formUnion(
            try connection.rows(ofPragma: "foreign_key_list", table.name, inSchema: schema) {
                (row) throws(SQLiteError) in try row.text(at: 3).map(SQLiteName.folded)
            })
        let others = found.filter { $0.primaryKeyIndex > 0 }.map { SQLiteName.folded($0.name) }.filter {
            !key.contains($0)
        }
        if !Set(others).isDisjoint(with: node.slotNames.map(SQLiteName.folded)) { traits.isUniqueByKeyOnly = false }
        traits.isKeyedByRowID = found.integerKey.map { key == [SQLiteName.folded($0.name)] } ?? false
        if traits.isKeyedByRowID { return traits }
        if indexes.contains(where: isOfKey) { return traits }
        throw SQLiteError(
            .schema,
            "the table \(table.name) has no unique index of exactly (\(table.uniqueKey.joined(separator: ", "))) "
                + "that compares text by its bytes")
    }

    private static func typeDescription(_ type: ImportColumn.ValueType) -> String {
        switch type {
        case .integer: "integers"
        case .real: "reals"
        case .text: "text"
        case .blob: "blobs"
        case .boolean: "Booleans"
        case .date(let format): "dates as \(format)"
        case .any: "some values, which must stay unchanged"
        }
    }

    private static func isBinary(_ collation: String) -> Bool {
        SQLiteName.folded(collation) == SQLiteName.folded("BINARY")
    }

    /// Returns whether a column by default compares text by its bytes.
    private static func comparesByBytes(
        _ column: String, of table: String, inSchema schema: String, _ connection: SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        var collation: UnsafePointer<CChar>?
        // SAFETY: SQLite writes one pointer during the call; the text lives as long as the schema, and is copied immediately.
        let code = try unsafe sqlite3_table_column_metadata(
            connection.requireHandle(), schema, table, column, nil, &collation, nil, nil, nil)
        // A view has no such columns.
        guard code == SQLITE_OK, let name = unsafe collation else { return true }
        return unsafe isBinary(String(cString: name))
    }

    // MARK: Creating

    /// Creates the missing tables of a tree.
    static func create(_ table: ImportTable, in connection: SQLiteConnection) throws(SQLiteError) {
        var made: [String] = []
        for statement in statements(table, foreignKey: [], references: [], parent: nil, needs: []) {
            if !made.contains(statement) { try connection.run(statement) }
            made.append(statement)
        }
    }

    private static func statements(
        _ table: ImportTable, foreignKey: [String], references: [String], parent: ImportTable?, needs: [String]
    ) -> [String] {
        var result: [String] = []
        var generated = needs
        var constraints: [String] = []
        var foreignKeys: [(columns: [String], references: [String], table: ImportTable)] = []
        if let parent { foreignKeys.append((foreignKey, references, parent)) }
        for relationship in table.relationships {
            let other = relationship.isToOne ? relationship.table : table
            let references = relationship.references.isEmpty ? other.uniqueKey : relationship.references
            if relationship.isToOne {
                let needs = references.filter { !other.uniqueKey.contains($0) }
                result += statements(other, foreignKey: [], references: [], parent: nil, needs: needs)
                foreignKeys.append((relationship.foreignKey, references, other))
            } else {
                generated += references.filter { !table.uniqueKey.contains($0) && !generated.contains($0) }
            }
        }
        let isRowID =
            generated.isEmpty && table.uniqueKey.count == 1
            && table.columns.contains { $0.name == table.uniqueKey[0] && $0.type == .integer }
        var lines = generated.map { "\(SQLiteName.inQuotes($0)) INTEGER PRIMARY KEY" }
        for column in table.columns {
            var line = "\(SQLiteName.inQuotes(column.name)) \(declaredType(column.type))"
            if table.uniqueKey == [column.name], isRowID {
                line += " PRIMARY KEY"
            } else if column.isRequired || table.uniqueKey.contains(column.name) {
                line += " NOT NULL"
            }
            lines.append(line)
        }
        for (columns, references, target) in foreignKeys {
            for (column, reference) in zip(columns, references) {
                let type = target.columns.first { $0.name == reference }.map { declaredType($0.type) } ?? "INTEGER"
                lines.append(
                    "\(SQLiteName.inQuotes(column)) \(type)" + (table.uniqueKey.contains(column) ? " NOT NULL" : ""))
            }
            constraints.append(
                "FOREIGN KEY (\(SQLiteName.listInQuotes(columns))) REFERENCES \(SQLiteName.inQuotes(target.name)) (\(SQLiteName.listInQuotes(references)))"
            )
        }
        if !isRowID { lines.append("UNIQUE (\(SQLiteName.listInQuotes(table.uniqueKey)))") }
        result.append(
            "CREATE TABLE IF NOT EXISTS \(SQLiteName.inQuotes(table.name)) (\((lines + constraints).joined(separator: ", ")))"
        )
        for (columns, _, _) in foreignKeys where Array(table.uniqueKey.prefix(columns.count)) != columns {
            let name = ([table.name] + columns).joined(separator: "_") + "_index"
            result.append(
                "CREATE INDEX IF NOT EXISTS \(SQLiteName.inQuotes(name)) ON \(SQLiteName.inQuotes(table.name)) (\(SQLiteName.listInQuotes(columns)))"
            )
        }
        for relationship in table.relationships where !relationship.isToOne {
            let references = relationship.references.isEmpty ? table.uniqueKey : relationship.references
            result += statements(
                relationship.table, foreignKey: relationship.foreignKey, references: references, parent: table,
                needs: [])
        }
        return result
    }

    private static func declaredType(_ type: ImportColumn.ValueType) -> String {
        switch type {
        case .integer: "INTEGER"
        case .real, .date(.secondsSince1970), .date(.secondsSince2001): "REAL"
        case .text: "TEXT"
        case .blob, .any: "BLOB"
        case .boolean: "BOOLEAN"
        case .date(.text): "DATETIME"
        }
    }
}
