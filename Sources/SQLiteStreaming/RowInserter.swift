// Puts rows into a table by the fastest of three ways. All ways give the same rows, the same errors and the same ids.

import CSystemSQLite
import PlistBuilding
import PlistStreaming

/// How rows are put into a table.
public enum SQLiteInsertPath: String, Sendable, CaseIterable {
    /// The fastest one: `bindAndStep` for fewer than 8 rows at a time, else `virtualTable`, or `multiRowValues` where SQLite
    /// was built without virtual tables.
    case automatic
    /// A statement for each row, to whose parameters the cells are bound.
    case bindAndStep
    /// A statement for many rows, `INSERT … VALUES (…), (…), …`, to whose parameters their cells are bound.
    case multiRowValues
    /// One `INSERT … SELECT` from a virtual table, which reads the cells where they are.
    case virtualTable
}

/// What to do with a row that has the same unique values as another one.
public enum SQLiteConflict: Sendable, Hashable {
    /// Throw `constraint`, and undo everything.
    case abort
    /// Keep the row that is there.
    case ignore
    /// Delete the rows that are there.
    case replace
    /// Set the columns of the row that is there, found by the values of these unique columns, where they differ.
    ///
    /// A row whose columns are all equal is not written.
    case update(matching: [String])
}

/// An INSERT for certain columns of a table.
final class RowInserter {
    let connection: SQLiteConnection
    private let table: String
    let columns: [String]
    /// The cell in the rows of a source for each column.
    private let cells: [Int]
    /// What each statement begins with.
    private let target: String
    private let head: String
    private let emptyHead: String
    private let tail: String
    private let dateFormat: SQLiteDateFormat
    /// Whether a row that is refused ends everything, so that rows get the ids that SQLite would choose.
    private let insertsAll: Bool
    /// The statement for one row.
    private var single: SQLiteStatement?
    /// The statement for many rows, and their number.
    private var multiple: (statement: SQLiteStatement, rowCount: Int)?
    /// The statements that read the virtual table, by what is to be said of ids.
    private var selects: [RowIDPart.Kind: SQLiteStatement] = [:]
    /// The column of which ids may be left to SQLite, and the versions of the schemas that say so.
    private var rowID: (column: Int?, versions: [Int64])?
    /// The way that was taken last.
    private(set) var path = SQLiteInsertPath.automatic

    init(
        _ connection: SQLiteConnection, table: String, columns: [String], conflict: SQLiteConflict,
        dateFormat: SQLiteDateFormat,
        cells: [Int]? = nil
    ) throws(SQLiteError) {
        self.connection = connection
        self.table = table
        self.columns = columns
        self.dateFormat = dateFormat
        self.cells = cells ?? Array(columns.indices)
        insertsAll = conflict == .abort
        let words =
            switch conflict {
            case .ignore: "INSERT OR IGNORE"
            case .replace: "INSERT OR REPLACE"
            case .abort, .update: "INSERT"
            }
        target = try "\(words) INTO \(SQLiteName.quoted(table))"
        head = try "\(target) (\(SQLiteName.list(columns)))"
        emptyHead = "\(target) DEFAULT VALUES"
        if case .update(let keys) = conflict {
            tail = try Self.updateClause(keys, columns)
        } else {
            tail = ""
        }
    }

    private static func updateClause(_ keys: [String], _ columns: [String]) throws(SQLiteError) -> String {
        var sets: [String] = []
        var differences: [String] = []
        for column in columns where !keys.contains(column) {
            let name = try SQLiteName.quoted(column)
            sets.append("\(name) = excluded.\(name)")
            differences.append("\(name) IS NOT excluded.\(name)")
        }
        let target = try SQLiteName.list(keys)
        guard !sets.isEmpty else { return " ON CONFLICT (\(target)) DO NOTHING" }
        return " ON CONFLICT (\(target)) DO UPDATE SET \(sets.joined(separator: ", "))"
            + " WHERE \(differences.joined(separator: " OR "))"
    }

    // MARK: Inserting

    /// Where inserting failed: the row from 0, and the column when it was a value.
    struct Failure: Error {
        let error: SQLiteError
        let row: Int
        let column: Int?
    }

    // PERF: SQLite/small-batches; below, compiling nothing and stepping once does not pay for opening a cursor.
    private static let smallestBatch = 8

    // PERF: SQLite/small-batches; below, asking for the largest id costs more than telling ids.
    private static let smallestSequence = 256

    /// Whether SQLite was built with virtual tables.
    private static let hasVirtualTables = unsafe sqlite3_compileoption_used("OMIT_VIRTUALTABLE") == 0

    /// Inserts all rows of a buffer.
    func insert(_ buffer: borrowing RowBuffer, by path: SQLiteInsertPath) throws(Failure) {
        try unsafe insert(RowSource(buffer), of: nil, by: path)
    }

    /// Inserts the row under construction.
    func insertLast(of buffer: borrowing RowBuffer) throws(Failure) {
        var source = unsafe RowSource(buffer)
        unsafe source.row = source.rowCount
        unsafe source.rowCount += 1
        try unsafe insert(source, of: nil, by: .bindAndStep)
    }

    /// Inserts the rows of a source from its row on.
    ///
    /// - Parameter members: What sends the values of which the storage is not known.
    func insert(_ source: RowSource, of members: MemberColumns?, by path: SQLiteInsertPath) throws(Failure) {
        let module = connection.rowModule
        let count = unsafe source.rowCount - source.row
        var chosen = path
        if path == .automatic {
            chosen =
                count < Self.smallestBatch ? .bindAndStep : Self.hasVirtualTables ? .virtualTable : .multiRowValues
        }
        // A property that is computed may insert rows itself, one by one.
        guard !module.reader.isReading || chosen != .virtualTable else {
            throw Failure(
                error: SQLiteError(.misuse, "the connection is inserting rows already"), row: 0, column: nil)
        }
        let reader = module.reader.isReading ? RowReader() : module.reader
        unsafe reader.begin(source, of: members, dateFormat, connection)
        defer { reader.end() }
        do throws(SQLiteError) {
            unsafe reader.source.pointee.rowIDs = try rowIDs(forRows: count)
            switch chosen {
            case .virtualTable: try selectRows(reader, module)
            case .multiRowValues: try insertMany(reader)
            case .bindAndStep, .automatic: try bindRows(reader, to: unsafe reader.source.pointee.rowCount)
            }
        } catch {
            let row = unsafe reader.source.pointee.row
            guard let (valueError, column) = reader.failure else { throw Failure(error: error, row: row, column: nil) }
            throw Failure(error: SQLiteError(valueError), row: row, column: column)
        }
    }

    /// Finds out which ids of so many rows may be left to SQLite.
    private func rowIDs(forRows count: Int) throws(SQLiteError) -> RowIDSequence {
        // A transaction that has only begun must write first: one that reads first is refused when others write meanwhile.
        guard insertsAll, count >= Self.smallestSequence,
            unsafe sqlite3_txn_state(connection.handle, "main") == SQLITE_TXN_WRITE
        else { return RowIDSequence() }
        let versions = try connection.schemaVersions()
        if rowID?.versions != versions {
            let name = try connection.plainRowIDColumn(ofTable: table)
            rowID = (columns.firstIndex { $0.lowercased() == name?.lowercased() }, versions)
        }
        guard let column = rowID?.column else { return RowIDSequence() }
        return try rowIDs(from: column)
    }

    /// The sequence that SQLite follows now, of the column with the row id.
    private func rowIDs(from column: Int) throws(SQLiteError) -> RowIDSequence {
        let statement = try connection.cachedStatement(
            "SELECT max(\(SQLiteName.quoted(columns[column]))) FROM main.\(SQLiteName.quoted(table))")
        guard try statement.step() else { return RowIDSequence() }
        defer { statement.reset() }
        return RowIDSequence(column: cells[column], largest: statement.isNull(at: 0) ? nil : statement.integer(at: 0))
    }

    // MARK: One row a statement

    /// Inserts the rows before an end one by one.
    private func bindRows(_ reader: RowReader, to end: Int) throws(SQLiteError) {
        path = .bindAndStep
        if single == nil {
            // A row of defaults only has a form of its own.
            single = try connection.cachedStatement(
                columns.isEmpty ? emptyHead : "\(head) VALUES (\(Self.marks(columns.count)))\(tail)")
        }
        guard let single else { return }
        defer { single.clearBindings() }
        let source = unsafe reader.source
        while unsafe source.pointee.row < end {
            try bindRow(reader, to: single, after: 0)
            while try single.step() {}
            unsafe source.pointee.row &+= 1
        }
    }

    private static func marks(_ count: Int) -> String {
        Array(repeating: "?", count: count).joined(separator: ", ")
    }

    /// Binds the cells of the row that is being read to the parameters after one of them.
    @inline(__always)  // PERF: SQLite/insert; once a row.
    private func bindRow(_ reader: RowReader, to statement: SQLiteStatement, after first: Int) throws(SQLiteError) {
        let source = unsafe reader.source
        let unmanaged = unsafe Unmanaged.passUnretained(reader)
        for column in cells.indices {
            let index = Int32(truncatingIfNeeded: first &+ column &+ 1)
            // SAFETY: the statement is stepped before the rows change; its bindings are cleared before they may be gone.
            let code = unsafe RowSource.give(
                cells[column], of: source, to: ParameterTaker(statement: statement.handle, index: index), unmanaged)
            if code != SQLITE_OK { try statement.check(code) }
        }
    }

    // MARK: Many rows a statement

    /// Inserts the rows, as many with each statement as it has parameters for, 100 at most.
    private func insertMany(_ reader: RowReader) throws(SQLiteError) {
        let source = unsafe reader.source
        let end = unsafe source.pointee.rowCount
        let perStatement = min(100, connection.limit(.parameterCount) / max(1, columns.count))
        guard perStatement > 1, unsafe end - source.pointee.row >= perStatement else {
            return try bindRows(reader, to: end)
        }
        if multiple?.rowCount != perStatement {
            let row = "(\(Self.marks(columns.count)))"
            let rows = Array(repeating: row, count: perStatement).joined(separator: ", ")
            multiple = (try connection.cachedStatement("\(head) VALUES \(rows)\(tail)"), perStatement)
        }
        guard let statement = multiple?.statement else { return }
        defer { statement.clearBindings() }
        while unsafe source.pointee.row + perStatement <= end {
            let (first, rowIDs) = unsafe (source.pointee.row, source.pointee.rowIDs)
            do throws(SQLiteError) {
                for number in 0..<perStatement {
                    unsafe source.pointee.row = first + number
                    try bindRow(reader, to: statement, after: number * columns.count)
                }
                while try statement.step() {}
            } catch {
                // SQLite does not say which of the rows it was, and has undone all of them: one by one, it does. When it
                // was a value, a row before it may be refused as well.
                let (failure, row) = unsafe (reader.failure, source.pointee.row)
                unsafe source.pointee.row = first
                unsafe source.pointee.rowIDs = rowIDs
                reader.failure = nil
                try bindRows(reader, to: first + perStatement)
                reader.failure = failure
                unsafe source.pointee.row = row
                throw error
            }
            unsafe source.pointee.row = first + perStatement
        }
        try bindRows(reader, to: end)
        path = .multiRowValues
    }

    // MARK: All rows with one statement

    /// Inserts the rows by the virtual table.
    private func selectRows(_ reader: RowReader, _ module: RowModule) throws(SQLiteError) {
        path = .virtualTable
        let source = unsafe reader.source
        let (end, column) = unsafe (source.pointee.rowCount, source.pointee.rowIDs.column)
        let index = cells.firstIndex(of: column)
        unsafe source.pointee.firstRow = source.pointee.row
        guard let index else { return try run(select(.mixed, index, module)) }
        while unsafe source.pointee.row < end {
            let part = unsafe RowIDPart(source)
            unsafe source.pointee.firstRow = source.pointee.row
            unsafe source.pointee.rowCount = part.end
            try run(select(part.kind, index, module))
            unsafe source.pointee.row = part.end
            unsafe source.pointee.rowCount = end
            if let rowIDs = part.rowIDs {
                if part.kind != .mixed { unsafe source.pointee.rowIDs = rowIDs }
            } else {
                unsafe source.pointee.rowIDs = try rowIDs(from: index)
            }
        }
    }

    private func run(_ select: SQLiteStatement) throws(SQLiteError) {
        while try select.step() {}
    }

    /// The statement that reads rows of a kind.
    ///
    /// - Parameter rowID: The index of the column with the row id, where it is known.
    private func select(
        _ kind: RowIDPart.Kind, _ rowID: Int?, _ module: RowModule
    ) throws(SQLiteError) -> SQLiteStatement {
        // A row of nothing but its id has no form without it.
        let kind = columns.count == 1 ? .mixed : kind
        if let made = selects[kind] { return made }
        let table = try module.table(columnCount: columns.count, of: connection)
        let read = columns.indices.filter { kind != .chosen || $0 != rowID }
        let names = read.map { kind == .told && $0 == rowID ? "rowid" : "c\($0)" }.joined(separator: ", ")
        // An upsert after a SELECT needs a WHERE, or ON would be taken for that of a join.
        let made = try connection.cachedStatement(
            "\(target) (\(SQLiteName.list(read.map { columns[$0] }))) SELECT \(names) FROM \(table)"
                + (tail.isEmpty ? "" : " WHERE true") + tail)
        selects[kind] = made
        return made
    }
}
