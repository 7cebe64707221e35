// Writes the staged rows of one table. Usually one upsert writes all rows and counts those it finds. Rows that differ in
// columns of indexes and foreign keys, of which most batches have few, are written by a second upsert, so that the first one
// doesn't have to set these columns. If an upsert would have other effects, one statement finds existing rows, one inserts
// missing rows, and one updates each row that differs.

import CSystemSQLite
import PlistStreaming
import SQLiteStreaming

/// The statements for rows that have values in the same slots.
@safe
final class ImportStatements {
    /// Inserts or updates rows and skips equal ones; nil if upserts aren't allowed.
    let upsert: SQLiteStatement?
    /// Updates the rows that the upsert only counted because they differ in columns that it doesn't set; nil if it sets all.
    let upsertOfKept: SQLiteStatement?
    let lookUp: SQLiteStatement
    let insert: SQLiteStatement
    /// nil if the table consists only of the key.
    let update: SQLiteStatement?
    /// nil if no column is read back.
    let readBack: SQLiteStatement?
    let updateSlots: [Int]

    init(_ node: ImportNode, _ function: ImportFunction, mask: UInt64) throws(SQLiteError) {
        let (table, connection) = (SQLiteName.inQuotes(node.table.name), node.connection)
        let storedCount = node.slotNames.count - node.readBackSlots.count
        let slots = (0..<storedCount).filter { mask & 1 << UInt64($0) != 0 }
        updateSlots = slots.filter { !node.keySlots.contains($0) }
        func name(_ slot: Int) -> String { SQLiteName.inQuotes(node.slotNames[slot]) }
        // CROSS JOIN makes the planner begin with the staged rows. Columns may compare text without case; imports don't.
        let match = node.keySlots.map { "t.\(node.comparedName($0)) = s.c\($0)" }.joined(separator: " AND ")
        let join = "FROM \(node.stagedTable) AS s CROSS JOIN \(table) AS t ON \(match)"
        let isSame = updateSlots.map { "t.\(name($0)) IS s.c\($0) COLLATE BINARY" }.joined(separator: " AND ")
        let extra = node.readBackSlots.map { ", t.\(name($0))" }.joined()
        /// Returns the SQL for whether an existing row has a different parent.
        func isMoved(_ value: (Int) -> String) -> String {
            let isLinked = node.movedSlots.map { "t.\(name($0)) IS NOT NULL" }.joined(separator: " AND ")
            let differs = node.movedSlots.map { "t.\(name($0)) IS NOT \(value($0)) COLLATE BINARY" }
            return node.movedSlots.isEmpty ? "0" : "\(isLinked) AND (\(differs.joined(separator: " OR ")))"
        }
        let isMovedRow = isMoved { "s.c\($0)" }
        lookUp = try connection.prepare(
            "SELECT s.rowid, \(isSame.isEmpty ? "1" : isSame), \(isMovedRow)\(extra) \(join)")
        // OR FAIL doesn't copy the pages that the statement changes; after an error, the whole batch is undone anyway.
        let insertion =
            "INSERT OR FAIL INTO \(table) AS t (\(slots.map(name).joined(separator: ", "))) "
            + "SELECT \(slots.map { "c\($0)" }.joined(separator: ", ")) FROM \(node.stagedTable)"
        insert = try connection.prepare(insertion)
        if node.readBackSlots.isEmpty, !updateSlots.isEmpty,
            node.traits.allowUpserts(of: slots.map { node.slotNames[$0] })
        {
            let key = node.keySlots.map { node.comparedName($0) }.joined(separator: ", ")
            let conflict = " WHERE true ON CONFLICT (\(key)) DO UPDATE SET "
            func changes(_ slots: [Int]) -> String {
                slots.map { "\(name($0)) = excluded.\(name($0))" }.joined(separator: ", ")
            }
            func differs(_ slots: [Int]) -> String {
                slots.map { "t.\(name($0)) IS NOT excluded.\(name($0)) COLLATE BINARY" }.joined(separator: " OR ")
            }
            let moved = node.movedSlots.isEmpty ? "" : ", \(isMoved { "excluded.\(name($0))" })"
            let whole =
                insertion + conflict + changes(updateSlots)
                + " WHERE \(function.name)(\(differs(updateSlots))\(moved.isEmpty ? "" : ", 0" + moved))"
            let kept = updateSlots.filter { node.traits.indexedColumns.contains(SQLiteName.folded(node.slotNames[$0])) }
            let others = updateSlots.filter { !kept.contains($0) }
            if node.traits.isUniqueByKeyOnly, !kept.isEmpty, !others.isEmpty {
                // PERF: SQLiteImport/hot-changed; setting a column of an index or a foreign key deletes and inserts an entry,
                // and looks up two rows, even if it doesn't change.
                upsert = try connection.prepare(
                    insertion + conflict + changes(others)
                        + " WHERE \(function.name)(\(differs(others)), \(differs(kept))\(moved))")
                upsertOfKept = try connection.prepare(whole)
            } else {
                upsert = try connection.prepare(whole)
                upsertOfKept = nil
            }
        } else {
            upsert = nil
            upsertOfKept = nil
        }
        if updateSlots.isEmpty {
            update = nil
        } else {
            let changes = updateSlots.map { "\(name($0)) = ?" }.joined(separator: ", ")
            let key = node.keySlots.map { "\(node.comparedName($0)) = ?" }.joined(separator: " AND ")
            update = try connection.prepare("UPDATE OR FAIL \(table) SET \(changes) WHERE \(key)")
        }
        readBack = node.readBackSlots.isEmpty ? nil : try connection.prepare("SELECT s.rowid, 1, 0\(extra) \(join)")
    }
}

extension ImportNode {
    /// Returns the quoted name of a column of the unique key, with the collation of the key's index, since the column may
    /// have another one.
    func comparedName(_ slot: Int) -> String {
        let name = SQLiteName.inQuotes(slotNames[slot])
        return traits.isKeyedByRowID ? name : "\(name) COLLATE BINARY"
    }

    /// The largest number of column sets whose statements are kept.
    private static let statementLimit = 64

    /// Returns the rows of some records of the batch.
    func range(of records: Range<Int>) -> Range<Int> {
        firstRow(of: records.lowerBound)..<firstRow(of: records.upperBound)
    }

    private func firstRow(of record: Int) -> Int {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if Int(rows[header: middle].record) < record { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Writes rows in order. Rows with the same key are written one after another, as if each were written alone.
    ///
    /// - Parameters:
    ///   - holdsMoved: A Boolean value that indicates whether rows with a different parent in the table are left unchanged
    ///     and counted in `heldCount`.
    ///   - isAgain: A Boolean value that indicates whether the rows were written before, except those that were held.
    func write(_ range: Range<Int>, holdsMoved: Bool = false, isAgain: Bool = false) throws(SQLiteError) {
        rows.holdsMoved = holdsMoved && !movedSlots.isEmpty
        heldCount = 0
        let unchanged = counts.unchanged
        defer {
            rows.holdsMoved = false
            if isAgain { counts.unchanged = unchanged }
        }
        var table = ImportKeyTable(minimumCapacity: range.count)
        hasRepeatedKeys = false
        var start = range.lowerBound
        for row in range {
            rows[header: row].state = .missing
            for slot in readBackSlots { rows[row, slot] = .absent }
            guard let other = table.insert(row, of: rows, slots: keySlots) else { continue }
            hasRepeatedKeys = true
            guard other >= start else { continue }
            try writeDistinct(start..<row)
            start = row
        }
        if start < range.upperBound { try writeDistinct(start..<range.upperBound) }
        keyTable = table
    }

    /// Writes rows with different keys.
    private func writeDistinct(_ range: Range<Int>) throws(SQLiteError) {
        var masks: [UInt64] = []
        var last: UInt64?
        for row in range {
            let mask = rows[header: row].mask
            guard mask != last else { continue }
            last = mask
            if !masks.contains(mask) { masks.append(mask) }
        }
        for mask in masks { try writeDistinct(range, mask: mask, isWhole: masks.count == 1) }
    }

    private func writeDistinct(_ range: Range<Int>, mask: UInt64, isWhole: Bool) throws(SQLiteError) {
        let statements = try statements(for: mask)
        let isOfMask: ((ImportRows.Header) -> Bool)? = isWhole ? nil : { $0.mask == mask }
        if let upsert = statements.upsert {
            let count = isWhole ? range.count : range.count { rows[header: $0].mask == mask }
            rows.found = ImportRows.Found()
            try rows.read(range, in: connection, where: isOfMask) { () throws(SQLiteError) in _ = try upsert.execute() }
            counts.inserted += count - rows.found.all
            counts.updated += rows.found.changed
            counts.unchanged += rows.found.all - rows.found.changed - rows.found.held
            heldCount += rows.found.held
            if rows.found.kept > 0, let rest = statements.upsertOfKept {
                // The other rows now exist and don't differ.
                try rows.read(range, in: connection, where: isOfMask) { () throws(SQLiteError) in _ = try rest.execute()
                }
            }
            return
        }
        var (foundCount, changedCount, movedCount) = (0, 0, 0)
        try read(statements.lookUp, range, isOfMask) { row, isSame, isMoved in
            let isHeld = isMoved && rows.holdsMoved
            rows[header: row].state = isSame || isHeld ? .unchanged : .changed
            foundCount += 1
            if isHeld { movedCount += 1 } else if !isSame { changedCount += 1 }
        }
        counts.unchanged += foundCount - changedCount - movedCount
        heldCount += movedCount
        if changedCount > 0, let update = statements.update {
            for row in range where rows[header: row].state == .changed && (isWhole || rows[header: row].mask == mask) {
                try run(update, binding: rows, row: row, slots: statements.updateSlots, keySlots)
                counts.updated += 1
            }
            update.clearBindings()
        }
        guard isWhole ? foundCount < range.count : true else { return }
        let isNew: (ImportRows.Header) -> Bool = { $0.state == .missing && (isWhole || $0.mask == mask) }
        counts.inserted += try rows.read(range, in: connection, where: isNew) { () throws(SQLiteError) in
            try statements.insert.execute()
        }
        if let readBack = statements.readBack {
            try read(readBack, range, isNew) { _, _, _ in }
        }
    }

    private func statements(for mask: UInt64) throws(SQLiteError) -> ImportStatements {
        if let found = statements[mask] { return found }
        guard let function else { throw Self.refusal("the import has ended") }
        if statements.count >= Self.statementLimit { statements = [:] }
        let made = try ImportStatements(self, function, mask: mask)
        statements[mask] = made
        return made
    }

    /// Steps through the rows of a look-up, and keeps the columns that are read back.
    private func read(
        _ statement: SQLiteStatement, _ range: Range<Int>, _ isRead: ((ImportRows.Header) -> Bool)?,
        _ body: (Int, Bool, Bool) -> Void
    ) throws(SQLiteError) {
        // Text and blobs may move the arena that the statement reads from, so they are appended later.
        var later: [(row: Int, slot: Int, value: SQLiteValue)] = []
        try rows.read(range, in: connection, where: isRead) { () throws(SQLiteError) in
            while try statement.step() {
                let row = Int(statement.integer(at: 0))
                body(row, statement.integer(at: 1) != 0, statement.integer(at: 2) != 0)
                for (index, slot) in readBackSlots.enumerated() {
                    if statement.type(at: 3 + index) == .integer {
                        rows[row, slot] = .integer(statement.integer(at: 3 + index))
                    } else {
                        later.append((row, slot, try statement.value(at: 3 + index)))
                    }
                }
            }
        }
        for (row, slot, value) in later { rows[row, slot] = rows.stage(value) }
    }

    /// Runs a statement with cells of a row as its parameters.
    func run(
        _ statement: SQLiteStatement, binding rows: ImportRows, row: Int, slots: [Int], _ moreSlots: [Int] = []
    ) throws(SQLiteError) {
        var index: Int32 = 0
        for slot in slots + moreSlots {
            index += 1
            // SAFETY: bytes stay at their address until the batch is written, and bindings are cleared before that.
            let destination = unsafe ParameterDestination(statement: statement.handle, index: index)
            try statement.check(unsafe rows[row, slot].pass(to: destination, rows.arena.base))
        }
        while try statement.step() {}
    }
}

extension ImportRows {
    /// Makes a cell from a value.
    func stage(_ value: SQLiteValue) -> StagedCell {
        switch value {
        case .null: .null
        case .integer(let value): .integer(value)
        case .real(let value): .real(value)
        case .text(let value): stage(Array(value.utf8), .text)
        case .blob(let value): stage(value, .blob)
        }
    }

    private func stage(_ bytes: [UInt8], _ tag: StagedCell.Tag) -> StagedCell {
        let offset = unsafe bytes.withUnsafeBytes { unsafe arena.append($0) }
        return StagedCell(bits: UInt64(offset), length: UInt32(bytes.count), tag: tag)
    }
}
