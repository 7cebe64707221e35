// Relates the staged rows of two tables by foreign key, and deals with children that are not given.

import CSystemSQLite
import PlistStreaming

extension ImportNode {
    /// Writes the rows of some records of this table and of all that are nested in it.
    func writeTree(_ records: Range<Int>) throws(SQLiteError) {
        let range = range(of: records)
        for relationship in relationships where relationship.isToOne {
            try relationship.node.writeTree(records)
            try link(range, toOne: relationship)
        }
        try write(range)
        for (index, relationship) in relationships.enumerated() {
            guard let orphans = relationship.orphans else { continue }
            try link(relationship.node.range(of: records), of: relationship)
            try relationship.node.writeTree(records)
            if orphans != .keep { try removeOrphans(range, index, orphans) }
        }
    }

    /// Copies the keys of the rows that the rows of this table refer to.
    private func link(_ range: Range<Int>, toOne relationship: Relationship) throws(SQLiteError) {
        let other = relationship.node.rows
        for row in range {
            let link = rows[row, relationship.link]
            for (foreign, reference) in zip(relationship.foreignKey, relationship.references) {
                switch link.tag {
                case .link: rows.set(try referred(other[link.offset, reference], relationship), row: row, slot: foreign)
                case .null: rows.set(.null, row: row, slot: foreign)
                default: break
                }
            }
        }
    }

    /// Copies the keys of the rows of this table to their children.
    private func link(_ range: Range<Int>, of relationship: Relationship) throws(SQLiteError) {
        let child = relationship.node.rows
        for row in range {
            let parent = Int(child[header: row].parent)
            for (foreign, reference) in zip(relationship.foreignKey, relationship.references) {
                child.set(try referred(rows[parent, reference], relationship), row: row, slot: foreign)
            }
        }
    }

    private func referred(_ cell: ImportCell, _ relationship: Relationship) throws(SQLiteError) -> ImportCell {
        guard cell.tag != .absent else {
            throw SQLiteError(.constraint, "the row that \(relationship.key) is to refer to was not written")
        }
        return cell
    }

    // MARK: Orphans

    /// Deals with the children of a relationship that the records do not give.
    private func removeOrphans(_ range: Range<Int>, _ index: Int, _ orphans: Orphans) throws(SQLiteError) {
        let flag: UInt32 = 1 << UInt32(index)
        guard range.contains(where: { rows[header: $0].flags & flag != 0 }) else { return }
        // Of several records with one key, the last that has the relationship says what the children are.
        if hasRepeatedKeys {
            var table = ImportKeyTable()
            table.reset(for: range.count)
            for row in range where rows[header: row].flags & flag != 0 {
                rows[header: row].flags |= ImportRows.Header.isLast
                if let other = table.insert(row, of: rows, slots: keySlots) {
                    rows[header: other].flags &= ~ImportRows.Header.isLast
                }
            }
        }
        rows.window = ImportRows.Window(range: range, flags: flag | ImportRows.Header.isLast)
        let found = try children(index)
        let child = relationships[index].node
        let foundSlots = Array(child.keySlots.indices)
        let statement = try orphanStatement(relationships[index], orphans)
        for row in 0..<found.count {
            let given = child.keyTable.row(
                equalTo: row, of: found, slots: foundSlots, in: child.rows, slots: child.keySlots)
            let parent = found[header: row].parent
            if let given, child.rows[header: given].parent == parent { continue }
            guard let statement else {
                throw SQLiteError(
                    .constraint,
                    "the record leaves out rows of \(child.table.name) that are there, which its orphan policy refuses")
            }
            try child.run(statement, binding: found, row: row, slots: foundSlots)
            if orphans == .delete { child.counts.deleted += 1 } else { child.counts.unlinked += 1 }
        }
        statement?.clearBindings()
    }

    /// Reads the keys of the children in the database of the rows in the window.
    private func children(_ index: Int) throws(SQLiteError) -> ImportRows {
        let statement = try childrenStatement(index)
        let names = relationships[index].node.keySlots
        // An arena of their own: the statement reads from that of the batch.
        let found = ImportRows(slotCount: names.count, columnCount: names.count, arena: ImportArena())
        statementCount += 1
        while try statement.step() {
            let row = found.append(parent: Int(statement.integer(at: 0)), record: 0)
            for slot in names.indices {
                found[row, slot] =
                    statement.type(at: slot + 1) == .integer
                    ? .integer(statement.integer(at: slot + 1)) : found.stage(try statement.value(at: slot + 1))
            }
        }
        return found
    }

    /// The statement that reads children. The connection must not keep it for others: the module ends with the import.
    private func childrenStatement(_ index: Int) throws(SQLiteError) -> SQLiteStatement {
        if let made = childrenStatements[index] { return made }
        guard let module else { throw Self.refusal("the import has ended") }
        let (relationship, child) = (relationships[index], relationships[index].node)
        let names = child.keySlots.map { "t." + ImportSchema.quoted(child.slotNames[$0]) }
        let match = zip(relationship.foreignKey, relationship.references).map {
            "t.\(ImportSchema.quoted(child.slotNames[$0])) = s.c\($1)"
        }
        let statement = try connection.prepare(
            "SELECT s.r, \(names.joined(separator: ", ")) FROM \(module.name) AS s "
                + "CROSS JOIN \(ImportSchema.quoted(child.table.name)) AS t ON \(match.joined(separator: " AND "))")
        childrenStatements[index] = statement
        return statement
    }

    /// The statement that deals with an orphan, whose key is its parameters; nil to refuse it.
    private func orphanStatement(
        _ relationship: Relationship, _ orphans: Orphans
    ) throws(SQLiteError) -> SQLiteStatement? {
        let child = relationship.node
        let table = ImportSchema.quoted(child.table.name)
        func name(_ slot: Int) -> String { ImportSchema.quoted(child.slotNames[slot]) }
        let key = child.keySlots.map { "\(name($0)) = ?" }.joined(separator: " AND ")
        switch orphans {
        case .keep, .refuse: return nil
        case .delete: return try connection.cachedStatement("DELETE FROM \(table) WHERE \(key)")
        case .unlink:
            let changes = relationship.foreignKey.map { "\(name($0)) = NULL" }.joined(separator: ", ")
            return try connection.cachedStatement("UPDATE \(table) SET \(changes) WHERE \(key)")
        }
    }
}
