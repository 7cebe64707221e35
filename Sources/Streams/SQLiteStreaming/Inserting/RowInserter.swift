// Inserts rows into a table in the faster of two ways. Both give the same rows, errors and ids as a plain SQL statement for
// each row. If one statement for many rows could give a different result, each row gets its own statement.

import CSystemSQLite
import PlistBuilding
import PlistStreaming

/// An INSERT for certain columns of a table.
final class RowInserter {
    private let connection: SQLiteConnection
    private let target: InsertTarget
    let columns: [String]
    /// The index of the source's cell for each column.
    private let cells: [Int]
    /// The beginning of each statement.
    private let prefix: String
    private var tail = ""
    /// The columns that an upsert uses to find the existing row, with the collations of their index; nil for other
    /// statements.
    private var comparedKeys: [String]?
    private let conflict: SQLiteConflict
    /// The column whose values are read back row by row.
    private let idColumn: String?
    /// The statement for one row.
    private var single: SQLiteStatement?
    /// The statements that read the virtual table, by the kind of their ids.
    private var selects: [RowIDPart.Kind: SQLiteStatement] = [:]
    /// The statement that finds the existing row that an upserted row is equal to.
    private var finding: SQLiteStatement?
    /// A Boolean value that indicates whether SQLite may reject rows only after all rows of a statement are inserted.
    private var hasForeignKeys = false
    /// The path that the last rows took.
    private(set) var path = SQLiteInsertPath.automatic
    /// The number of rows that were inserted or updated, excluding those changed by triggers and foreign keys.
    private(set) var changedRowCount = 0
    /// The values of the column that is read back, row by row; nil for null, and for a row that doesn't exist in the table.
    private(set) var ids: [Int64?] = []
    /// A Boolean value that indicates whether the table is known to accept rows, checked after a row that changed nothing.
    private var isAccepted = false

    /// - Parameters:
    ///   - cells: The index of the source's cell for each column; by default the index of the column.
    ///   - idColumn: The column whose values are read back, which requires a statement for each row.
    init(
        _ target: InsertTarget, columns: [String], conflict: SQLiteConflict, cells: [Int]? = nil,
        idColumn: String? = nil
    ) throws(SQLiteError) {
        connection = target.connection
        self.target = target
        self.columns = columns
        self.cells = cells ?? Array(columns.indices)
        self.conflict = conflict
        self.idColumn = idColumn
        let verb =
            switch conflict {
            case .ignore: "INSERT OR IGNORE"
            case .replace: "INSERT OR REPLACE"
            case .abort, .upsert: "INSERT"
            }
        // In an upsert, `excluded` would be ambiguous for a table of that name.
        let alias = SQLiteName.folded(target.name) == SQLiteName.folded("excluded") ? " AS \"target\"" : ""
        prefix = "\(verb) INTO \(target.qualifiedName)\(alias)"
        try compareKeys()
    }

    /// Determines how an upsert finds the existing row, and discards the statements if that has changed.
    private func compareKeys() throws(SQLiteError) {
        guard case .upsert(let keys) = conflict else { return }
        let names = try target.comparedNames(keys)
        guard names != comparedKeys else { return }
        tail = try updateClause(keys, names)
        comparedKeys = names
        (single, selects, finding) = (nil, [:], nil)
    }

    /// Returns the update clause of an upsert: it sets the columns that differ in a byte or in their type, except keys.
    private func updateClause(_ keys: [String], _ comparedKeys: [String]) throws(SQLiteError) -> String {
        let kept = target.primaryKey.union(keys.map(SQLiteName.folded))
        var sets: [String] = []
        var differences: [String] = []
        for column in columns where !kept.contains(SQLiteName.folded(column)) {
            let name = try SQLiteName.quoted(column)
            sets.append("\(name) = excluded.\(name)")
            differences.append("\(name) COLLATE BINARY IS NOT excluded.\(name)")
            // In columns with an affinity, an integer and a real of the same value are stored alike.
            if target.untyped.contains(SQLiteName.folded(column)) {
                differences.append("typeof(\(name)) <> typeof(excluded.\(name))")
            }
        }
        let list = comparedKeys.joined(separator: ", ")
        guard !sets.isEmpty else { return " ON CONFLICT (\(list)) DO NOTHING" }
        return " ON CONFLICT (\(list)) DO UPDATE SET \(sets.joined(separator: ", "))"
            + " WHERE \(differences.joined(separator: " OR "))"
    }

    // MARK: Inserting

    /// The position of an insertion error: the row from 0, and the column if a value caused the error.
    struct Failure: Error {
        let error: SQLiteError
        let row: Int
        let column: Int?
    }

    // PERF: SQLite/small-batches; for fewer rows, opening a cursor costs more than a single step for all rows saves.
    private static let smallestBatch = 8

    // PERF: SQLite/small-batches; for fewer rows, reading the largest id costs more than passing ids.
    private static let smallestSequence = 256

    /// A Boolean value that indicates whether SQLite was built with virtual tables.
    private static let hasVirtualTables = unsafe sqlite3_compileoption_used("OMIT_VIRTUALTABLE") == 0

    /// Inserts all rows of a buffer.
    func insert(_ buffer: borrowing RowBuffer, by path: SQLiteInsertPath) throws(Failure) {
        try unsafe insert(RowSource(buffer), by: path)
    }

    /// Inserts the row under construction.
    func insertLast(of buffer: borrowing RowBuffer) throws(Failure) {
        var source = unsafe RowSource(buffer)
        unsafe source.row = source.rowCount
        unsafe source.rowCount += 1
        try unsafe insert(source, by: .bindAndStep)
    }

    /// Inserts the rows of a source, beginning with its current row.
    func insert(_ source: RowSource, by path: SQLiteInsertPath) throws(Failure) {
        let module = connection.rowModule
        let reader = module.reader
        guard !reader.isReading else {
            throw Failure(error: RowReader.isInUse, row: 0, column: nil)
        }
        unsafe reader.begin(source)
        defer { reader.end() }
        do throws(SQLiteError) {
            try compareKeys()
            let end = unsafe reader.source.pointee.rowCount
            switch try choosePath(path, unsafe end - source.row, reader) {
            case .virtualTable: try selectRows(reader, module)
            case .bindAndStep, .automatic: try bindRows(reader, to: end)
            }
        } catch {
            let row = unsafe reader.source.pointee.row
            guard let (valueError, column) = reader.failure else { throw Failure(error: error, row: row, column: nil) }
            throw Failure(error: SQLiteError(valueError), row: row, column: column)
        }
    }

    /// Chooses the way for a number of rows, and determines which of their ids SQLite can choose.
    private func choosePath(
        _ path: SQLiteInsertPath, _ count: Int, _ reader: RowReader
    ) throws(SQLiteError) -> SQLiteInsertPath {
        var chosen = path
        if path == .automatic {
            chosen = count < Self.smallestBatch || !Self.hasVirtualTables ? .bindAndStep : .virtualTable
        }
        if idColumn != nil { chosen = .bindAndStep }
        // A rejected row must end the whole insertion, so that rows get the ids that SQLite would choose.
        let isSequence = conflict == .abort && count >= Self.smallestSequence
        guard chosen != .bindAndStep || isSequence else { return .bindAndStep }
        // A transaction without a statement so far must write first: if it reads first, its write fails if others write
        // meanwhile.
        if !target.isBeingWritten { try bindRows(reader, to: unsafe reader.source.pointee.row + 1) }
        let facts = try target.facts()
        hasForeignKeys = facts.hasForeignKeys
        if isSequence, let name = facts.rowIDColumn,
            let column = columns.firstIndex(where: { SQLiteName.folded($0) == SQLiteName.folded(name) })
        {
            unsafe reader.source.pointee.rowIDs = try rowIDs(from: column)
        }
        return facts.allowsManyRows(conflict) ? chosen : .bindAndStep
    }

    /// Returns the current id sequence of SQLite for the column with the row id.
    private func rowIDs(from column: Int) throws(SQLiteError) -> RowIDSequence {
        let statement = try connection.cachedStatement(
            "SELECT max(\(SQLiteName.quoted(columns[column]))) FROM \(target.qualifiedName)")
        guard try statement.step() else { return RowIDSequence() }
        defer { statement.reset() }
        return RowIDSequence(column: cells[column], largest: statement.isNull(at: 0) ? nil : statement.integer(at: 0))
    }

    // MARK: One statement per row

    /// Inserts the rows before an end index one by one.
    private func bindRows(_ reader: RowReader, to end: Int) throws(SQLiteError) {
        path = .bindAndStep
        if single == nil {
            let returning = try idColumn.map { (name) throws(SQLiteError) in " RETURNING \(try SQLiteName.quoted(name))"
            }
            single = try connection.cachedStatement(try singleText + (returning ?? ""))
        }
        guard let single else { return }
        defer { single.clearBindings() }
        let source = unsafe reader.source
        while unsafe source.pointee.row < end {
            for column in cells.indices {
                try bindCell(cells[column], reader, to: single, Int32(truncatingIfNeeded: column &+ 1))
            }
            if idColumn != nil {
                try stepToID(single, reader)
            } else {
                while try single.step() {}
            }
            changedRowCount &+= connection.changeCount
            unsafe source.pointee.row &+= 1
        }
    }

    /// The statement for one row. A row with only defaults has a syntax of its own.
    private var singleText: String {
        get throws(SQLiteError) {
            guard !columns.isEmpty else { return "\(prefix) DEFAULT VALUES" }
            let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
            return try "\(prefix)\(list(columns)) VALUES (\(marks))\(tail)"
        }
    }

    /// Returns the list of columns with a leading space, or an empty text for no columns.
    private func list(_ columns: [String]) throws(SQLiteError) -> String {
        columns.isEmpty ? "" : " (\(try SQLiteName.list(columns)))"
    }

    /// Runs the statement for a row and records the id of the row in the table.
    private func stepToID(_ statement: SQLiteStatement, _ reader: RowReader) throws(SQLiteError) {
        let changes = connection.totalChangeCount
        var (id, isReturned) = (Int64?.none, false)
        while try statement.step() {
            (id, isReturned) = (statement.isNull(at: 0) ? nil : statement.integer(at: 0), true)
        }
        // With RETURNING, SQLite may do nothing for a view without triggers, where it would otherwise report an error.
        if !isAccepted, connection.totalChangeCount == changes {
            _ = try connection.prepare(try singleText)
            isAccepted = true
        }
        if !isReturned, case .upsert(let keys) = conflict { id = try findID(keys, reader) }
        ids.append(id)
    }

    /// Returns the id of the row that has the keys of the current row and was not written because it is equal.
    private func findID(_ keys: [String], _ reader: RowReader) throws(SQLiteError) -> Int64? {
        let indices = keys.compactMap { key in
            columns.firstIndex { SQLiteName.folded($0) == SQLiteName.folded(key) }
        }
        guard let idColumn, let comparedKeys, indices.count == keys.count else { return nil }
        if finding == nil {
            let condition = comparedKeys.map { "\($0) = ?" }
            finding = try connection.cachedStatement(
                "SELECT \(SQLiteName.quoted(idColumn)) FROM \(target.qualifiedName) "
                    + "WHERE \(condition.joined(separator: " AND "))")
        }
        guard let finding else { return nil }
        defer {
            finding.reset()
            finding.clearBindings()
        }
        for (number, index) in indices.enumerated() {
            try bindCell(cells[index], reader, to: finding, Int32(truncatingIfNeeded: number + 1))
        }
        guard try finding.step(), !finding.isNull(at: 0) else { return nil }
        return finding.integer(at: 0)
    }

    @inline(__always)  // PERF: SQLite/insert; once a cell.
    private func bindCell(
        _ cell: Int, _ reader: RowReader, to statement: SQLiteStatement, _ index: Int32
    ) throws(SQLiteError) {
        // SAFETY: the statement is stepped before the rows change, and no user code runs before that. Its bindings are
        // cleared before the memory may be freed.
        let code = unsafe RowSource.pass(
            cell, of: reader.source, to: ParameterDestination(statement: statement.handle, index: index),
            Unmanaged.passUnretained(reader))
        if code != SQLITE_OK { try statement.check(code) }
    }

    // MARK: One statement for all rows

    /// Inserts the rows through the virtual table.
    private func selectRows(_ reader: RowReader, _ module: RowModule) throws(SQLiteError) {
        path = .virtualTable
        let source = unsafe reader.source
        let (end, column) = unsafe (source.pointee.rowCount, source.pointee.rowIDs.column)
        let index = cells.firstIndex(of: column)
        guard let index else { return try insertPart(.mixed, nil, to: end, reader, module) }
        while unsafe source.pointee.row < end {
            let part = unsafe RowIDPart(source)
            try insertPart(part.kind, index, to: part.end, reader, module)
            unsafe source.pointee.rowCount = end
            if let rowIDs = part.rowIDs {
                if part.kind != .mixed { unsafe source.pointee.rowIDs = rowIDs }
            } else {
                unsafe source.pointee.rowIDs = try rowIDs(from: index)
            }
        }
    }

    /// Inserts the rows before an end index with one statement.
    private func insertPart(
        _ kind: RowIDPart.Kind, _ rowID: Int?, to end: Int, _ reader: RowReader, _ module: RowModule
    ) throws(SQLiteError) {
        let source = unsafe reader.source
        let first = unsafe source.pointee.row
        unsafe source.pointee.firstRow = first
        unsafe source.pointee.rowCount = end
        unsafe source.pointee.isScanned = false
        let statement = try select(kind, rowID, module)
        do throws(SQLiteError) {
            while try statement.step() {}
        } catch {
            guard hasForeignKeys, connection.isInTransaction else {
                throw error.replacingSQL(by: try? singleText)
            }
            // SQLite checks foreign keys after the last row and has undone all rows. Inserting them one by one finds the
            // first rejected row.
            reader.failure = nil
            unsafe source.pointee.row = first
            unsafe source.pointee.rowIDs = RowIDSequence()
            return try bindRows(reader, to: end)
        }
        guard unsafe source.pointee.isScanned else {
            let name = try module.table(columnCount: columns.count, of: connection)
            throw SQLiteError(
                .misuse, "the rows were read from a table named '\(name)', a name that SQLiteStreaming reserves")
        }
        changedRowCount &+= connection.changeCount
        unsafe source.pointee.row = end
    }

    /// Returns the statement that reads rows of a kind.
    ///
    /// - Parameter rowID: The index of the column with the row id, if it is known.
    private func select(
        _ kind: RowIDPart.Kind, _ rowID: Int?, _ module: RowModule
    ) throws(SQLiteError) -> SQLiteStatement {
        // A row that consists only of its id can't be inserted without it.
        let kind = columns.count == 1 ? .mixed : kind
        if let made = selects[kind] { return made }
        let table = try module.table(columnCount: columns.count, of: connection)
        let read = columns.indices.filter { kind != .chosen || $0 != rowID }
        let names = read.map { kind == .given && $0 == rowID ? "rowid" : "c\($0)" }.joined(separator: ", ")
        // In an upsert with SELECT, WHERE is required: otherwise SQLite would parse ON as part of a join.
        let made = try connection.cachedStatement(
            "\(prefix)\(list(read.map { columns[$0] })) SELECT \(names) FROM \(table)"
                + (tail.isEmpty ? "" : " WHERE true") + tail)
        selects[kind] = made
        return made
    }
}
