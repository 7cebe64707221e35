// Relates the staged rows of two tables by foreign key, and deals with children that are not given.

import CSystemSQLite
import PlistStreaming
import SQLiteStreaming

extension ImportNode {
    /// Writes the rows of some records of this table and of all that are nested in it.
    func writeTree(_ records: Range<Int>) throws(SQLiteError) {
        try writeRows(records, holdsMoved: false)
        try writeChildren(records)
    }

    /// Writes the rows of some records of this table, after those that they refer to.
    private func writeRows(_ records: Range<Int>, holdsMoved: Bool) throws(SQLiteError) {
        let range = range(of: records)
        for relationship in relationships where relationship.isToOne {
            try relationship.node.writeTree(records)
            try link(range, toOne: relationship)
        }
        try write(range, holdsMoved: holdsMoved)
    }

    /// Writes the children of the rows of some records, which are written.
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

    /// Writes the children of some records, which may leave orphans, as if the records came one after another.
    ///
    /// So a child that one record gives up and a later one takes is an orphan in between, and one that an earlier one takes
    /// is none, whether the records are in one batch or in several.
    private func writeChildren(_ records: Range<Int>, _ index: Int, _ orphans: Orphans) throws(SQLiteError) {
        let child = relationships[index].node
        // What happens to children that move depends on the order; all others can be written before.
        try child.writeRows(records, holdsMoved: records.count > 1)
        var isOrdered = child.heldCount > 0
        if !isOrdered, records.count > 1, child.relationships.contains(where: { !$0.isToOne }) {
            // Deleting an orphan may delete what is below it, which a later record may give to others.
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

    /// Divides records so that no part has two rows with one key, of this table or of the children, unless it is one record.
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

    /// Returns whether two rows have one key.
    private func hasRepeatedKeys(in range: Range<Int>) -> Bool {
        var table = ImportKeyTable(minimumCapacity: range.count)
        return range.contains { table.insert($0, of: rows, slots: keySlots) != nil }
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

    private func referred(_ cell: StagedCell, _ relationship: Relationship) throws(SQLiteError) -> StagedCell {
        guard cell.tag != .absent else {
            throw SQLiteError(.constraint, "the row that \(relationship.key) is to refer to was not written")
        }
        return cell
    }

    // MARK: Orphans

    /// The keys of the children of a relationship that the records do not give, and the rows of these keys.
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

    /// Deals with the children of a relationship that the records do not give.
    private func removeOrphans(_ range: Range<Int>, _ index: Int, _ orphans: Orphans) throws(SQLiteError) {
        let (found, orphanRows) = try orphanKeys(range, index)
        guard !orphanRows.isEmpty else { return }
        let child = relationships[index].node
        guard let statement = try orphanStatement(relationships[index], orphans) else {
            throw SQLiteError(
                .constraint,
                "the record leaves out rows of \(child.table.name) that are there, which its orphan policy refuses")
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
        // Whether it was for these orphans is seen when the record is alone.
        guard !isViolated else { throw SQLiteError(.constraintForeignKey, "FOREIGN KEY constraint failed") }
        throw refusalOfOrphans(of: child)
    }

    /// The error of rows that cannot be deleted. It is no reference to a record to come, for which the record would wait:
    /// who refers to the rows is there.
    private func refusalOfOrphans(of child: ImportNode) -> SQLiteError {
        SQLiteError(.constraint, "the record leaves out rows of \(child.table.name) that rows of other tables refer to")
    }

    /// Reads the keys of the children in the database of rows whose records give children; nil when none does.
    private func children(_ range: Range<Int>, _ index: Int) throws(SQLiteError) -> ImportRows? {
        let flag: UInt32 = 1 << UInt32(index)
        guard range.contains(where: { rows[header: $0].flags & flag != 0 }) else { return nil }
        // Of several records with one key, the last that has the relationship says what the children are.
        if hasRepeatedKeys {
            var table = ImportKeyTable(minimumCapacity: range.count)
            for row in range where rows[header: row].flags & flag != 0 {
                rows[header: row].flags |= ImportRows.Header.isLast
                if let other = table.insert(row, of: rows, slots: keySlots) {
                    rows[header: other].flags &= ~ImportRows.Header.isLast
                }
            }
        }
        rows.window = ImportRows.Window(range: range, flags: flag | ImportRows.Header.isLast)
        let statement = try childrenStatement(index)
        let names = relationships[index].node.keySlots
        // An arena of their own: the statement reads from that of the batch.
        let found = ImportRows(slotCount: names.count, columnCount: names.count, arena: ImportArena())
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
        let names = child.keySlots.map { "t." + SQLiteName.inQuotes(child.slotNames[$0]) }
        let match = zip(relationship.foreignKey, relationship.references).map { slot, reference in
            let column = "t.\(SQLiteName.inQuotes(child.slotNames[slot]))"
            guard child.traits.collatedColumns.contains(SQLiteName.folded(child.slotNames[slot])) else {
                return "\(column) = s.c\(reference)"
            }
            // By its own collation it may be equal to the keys of several parents, and yet an index may be by that only.
            return "\(column) = s.c\(reference) AND \(column) COLLATE BINARY = s.c\(reference)"
        }
        let statement = try connection.prepare(
            "SELECT s.r, \(names.joined(separator: ", ")) FROM \(module.name) AS s "
                + "CROSS JOIN \(SQLiteName.inQuotes(child.table.name)) AS t ON \(match.joined(separator: " AND "))")
        childrenStatements[index] = statement
        return statement
    }

    /// The statement that deals with an orphan, whose key is its parameters; nil to refuse it.
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
