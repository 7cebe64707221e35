// Links the staged rows of two tables by foreign keys, and handles the existing children that a record doesn't contain.

import CSystemSQLite
import PlistStreaming
import SQLiteStreaming

extension ImportNode {
    /// Writes the rows of some records of this table, and of all tables nested in it.
    func writeTree(_ records: Range<Int>) throws(SQLiteError) {
        try writeRows(records, holdsMoved: false)
        try writeChildren(records)
    }

    /// Writes the rows of some records of this table, after the rows that they refer to.
    private func writeRows(_ records: Range<Int>, holdsMoved: Bool) throws(SQLiteError) {
        let range = range(of: records)
        for relationship in relationships where relationship.isToOne {
            try relationship.node.writeTree(records)
            try link(range, toOne: relationship)
        }
        try write(range, holdsMoved: holdsMoved)
    }

    /// Writes the children of some records whose rows are already written.
    private func writeChildren(_ records: Range<Int>) throws(SQLiteError) {
        for (index, relationship) in relationships.enumerated() {
            guard let orphans = relationship.orphans else { continue }
            try link(relationship.node.range(of: records), of: relationship)
            if orphans == .keep {
                try relationship.node.writeTree(records)
            } else {
                for part in parts(of: records, index) { try writeChildren(part, index, orphans) }
            }
        }
    }

    /// Writes the children of some records, which may leave orphans, in the order of the records.
    ///
    /// If a record gives up a child and a later record contains it, the child is an orphan in between. If an earlier record
    /// contains it, it isn't an orphan. This is the same for any division of records into batches.
    private func writeChildren(_ records: Range<Int>, _ index: Int, _ orphans: Orphans) throws(SQLiteError) {
        let child = relationships[index].node
        // The result for moving children depends on the order; all others can be written first.
        try child.writeRows(records, holdsMoved: records.count > 1)
        var isOrdered = child.heldCount > 0
        if !isOrdered, records.count > 1, child.relationships.contains(where: { !$0.isToOne }) {
            // Deleting an orphan may delete its children, which a later record may give to other parents.
            isOrdered = try !orphanKeys(range(of: records), index).rows.isEmpty
        }
        guard isOrdered else {
            try child.writeChildren(records)
            return try removeOrphans(range(of: records), index, orphans)
        }
        for record in records {
            let record = record..<(record + 1)
            try child.write(child.range(of: record), isAgain: true)
            try child.writeChildren(record)
            try removeOrphans(range(of: record), index, orphans)
        }
    }

    /// Divides records into parts without two rows of the same key, in this table or the children. A single record is not
    /// divided.
    private func parts(of records: Range<Int>, _ index: Int) -> [Range<Int>] {
        let child = relationships[index].node
        guard records.count > 1, hasRepeatedKeys || child.hasRepeatedKeys(in: child.range(of: records)) else {
            return [records]
        }
        var parents = ImportKeyTable(minimumCapacity: range(of: records).count)
        var children = ImportKeyTable(minimumCapacity: child.range(of: records).count)
        var parts: [Range<Int>] = []
        var start = records.lowerBound
        for record in records {
            var (isRepeated, isAlone) = (false, false)
            func add(_ table: inout ImportKeyTable, _ node: ImportNode) {
                for row in node.range(of: record..<(record + 1)) {
                    guard let other = table.insert(row, of: node.rows, slots: node.keySlots) else { continue }
                    let earlier = Int(node.rows[header: other].record)
                    if earlier == record { isAlone = true } else if earlier >= start { isRepeated = true }
                }
            }
            add(&parents, self)
            add(&children, child)
            if isRepeated || isAlone, start < record {
                parts.append(start..<record)
                start = record
            }
            if isAlone {
                parts.append(record..<(record + 1))
                start = record + 1
            }
        }
        if start < records.upperBound { parts.append(start..<records.upperBound) }
        return parts
    }

    /// Returns whether two rows have the same key.
    private func hasRepeatedKeys(in range: Range<Int>) -> Bool {
        var table = ImportKeyTable(minimumCapacity: range.count)
        return range.contains { table.insert($0, of: rows, slots: keySlots) != nil }
    }

    /// Copies the keys of the referenced rows to the rows of this table.
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

    private func referred(_ cell: StagedCell, _ relationship: Relationship) throws(SQLiteError) -> StagedCell {
        guard cell.tag != .absent else {
            throw SQLiteError(.constraint, "the row that '\(relationship.key)' refers to was not written")
        }
        return cell
    }

    // MARK: Orphans

    /// Returns the keys of the existing children of a relationship that the records don't contain, and the rows of these
    /// keys.
    private func orphanKeys(
        _ range: Range<Int>, _ index: Int
    ) throws(SQLiteError) -> (keys: ImportRows, rows: [Int]) {
        let child = relationships[index].node
        let slots = Array(child.keySlots.indices)
        guard let found = try children(range, index) else {
            return (ImportRows(slotCount: slots.count, columnCount: slots.count, arena: ImportArena()), [])
        }
        let orphans = (0..<found.count).filter { row in
            let given = child.keyTable.row(equalTo: row, of: found, slots: slots)
            return given.map { child.rows[header: $0].parent != found[header: row].parent } ?? true
        }
        return (found, orphans)
    }

    /// Handles the existing children of a relationship that the records don't contain.
    private func removeOrphans(_ range: Range<Int>, _ index: Int, _ orphans: Orphans) throws(SQLiteError) {
        let (found, orphanRows) = try orphanKeys(range, index)
        guard !orphanRows.isEmpty else { return }
        let child = relationships[index].node
        guard let statement = try orphanStatement(relationships[index], orphans) else {
            throw SQLiteError(
                .constraint,
                "the record leaves out existing rows of \(child.table.name), which its orphan policy rejects")
        }
        let isViolated = connection.hasForeignKeyViolations
        do throws(SQLiteError) {
            for row in orphanRows {
                try child.run(statement, binding: found, row: row, slots: Array(child.keySlots.indices))
                if orphans == .delete { child.counts.deleted += 1 } else { child.counts.unlinked += 1 }
            }
        } catch {
            guard error.extendedCode == .constraintForeignKey, orphans == .delete else { throw error }
            throw refusalOfOrphans(of: child)
        }
        statement.clearBindings()
        guard orphans == .delete, connection.hasForeignKeyViolations else { return }
        // When the record is written alone, it is known whether these orphans are the cause.
        guard !isViolated else { throw SQLiteError(.constraintForeignKey, "FOREIGN KEY constraint failed") }
        throw refusalOfOrphans(of: child)
    }

    /// Makes the error for rows that can't be deleted. The record must not wait as for a reference to a later record: the
    /// rows that refer to the orphans already exist.
    private func refusalOfOrphans(of child: ImportNode) -> SQLiteError {
        SQLiteError(.constraint, "the record leaves out rows of \(child.table.name) that rows of other tables refer to")
    }

    /// Reads the keys of the existing children of rows whose records contain children; nil if none does.
    private func children(_ range: Range<Int>, _ index: Int) throws(SQLiteError) -> ImportRows? {
        let flag: UInt32 = 1 << UInt32(index)
        guard range.contains(where: { rows[header: $0].flags & flag != 0 }) else { return nil }
        // If several records have the same key, the last one that contains the relationship determines the children.
        if hasRepeatedKeys {
            var table = ImportKeyTable(minimumCapacity: range.count)
            for row in range where rows[header: row].flags & flag != 0 {
                rows[header: row].flags |= ImportRows.Header.isLast
                if let other = table.insert(row, of: rows, slots: keySlots) {
                    rows[header: other].flags &= ~ImportRows.Header.isLast
                }
            }
        }
        let flags = flag | ImportRows.Header.isLast
        let statement = try childrenStatement(index)
        let names = relationships[index].node.keySlots
        // Its own arena, because the statement reads from that of the batch.
        let found = ImportRows(slotCount: names.count, columnCount: names.count, arena: ImportArena())
        try rows.read(range, in: connection, where: { $0.flags & flags == flags }) { () throws(SQLiteError) in
            while try statement.step() {
                let row = found.append(parent: Int(statement.integer(at: 0)), record: 0)
                for slot in names.indices {
                    found[row, slot] =
                        statement.type(at: slot + 1) == .integer
                        ? .integer(statement.integer(at: slot + 1)) : found.stage(try statement.value(at: slot + 1))
                }
            }
        }
        return found
    }

    /// Returns the statement that reads children. The connection must not cache it, since the module ends with the import.
    private func childrenStatement(_ index: Int) throws(SQLiteError) -> SQLiteStatement {
        if let made = childrenStatements[index] { return made }
        guard function != nil else { throw Self.refusal("the import has ended") }
        let (relationship, child) = (relationships[index], relationships[index].node)
        let names = child.keySlots.map { "t." + SQLiteName.inQuotes(child.slotNames[$0]) }
        let match = zip(relationship.foreignKey, relationship.references).map { slot, reference in
            let column = "t.\(SQLiteName.inQuotes(child.slotNames[slot]))"
            guard child.traits.collatedColumns.contains(SQLiteName.folded(child.slotNames[slot])) else {
                return "\(column) = s.c\(reference)"
            }
            // With its own collation, the column may equal the keys of several parents, but only this collation can use an
            // index.
            return "\(column) = s.c\(reference) AND \(column) COLLATE BINARY = s.c\(reference)"
        }
        let statement = try connection.prepare(
            "SELECT s.rowid, \(names.joined(separator: ", ")) FROM \(stagedTable) AS s "
                + "CROSS JOIN \(SQLiteName.inQuotes(child.table.name)) AS t ON \(match.joined(separator: " AND "))")
        childrenStatements[index] = statement
        return statement
    }

    /// Returns the statement that handles an orphan, with its key as parameters, or nil to reject the record.
    private func orphanStatement(
        _ relationship: Relationship, _ orphans: Orphans
    ) throws(SQLiteError) -> SQLiteStatement? {
        let child = relationship.node
        let table = SQLiteName.inQuotes(child.table.name)
        func name(_ slot: Int) -> String { SQLiteName.inQuotes(child.slotNames[slot]) }
        let key = child.keySlots.map { "\(child.comparedName($0)) = ?" }.joined(separator: " AND ")
        switch orphans {
        case .keep, .reject: return nil
        case .delete: return try connection.cachedStatement("DELETE FROM \(table) WHERE \(key)")
        case .unlink:
            let changes = relationship.foreignKey.map { "\(name($0)) = NULL" }.joined(separator: ", ")
            return try connection.cachedStatement("UPDATE \(table) SET \(changes) WHERE \(key)")
        }
    }
}
