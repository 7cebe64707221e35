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
    let columns: [String]
    /// The cell in the rows of a buffer for each column.
    private let cells: [Int]
    private let head: String
    private let emptyHead: String
    private let tail: String
    private let module: RowModule
    private let dateFormat: SQLiteDateFormat
    /// The statement for one row.
    private var single: SQLiteStatement?
    /// The statement for many rows, and their number.
    private var multiple: (statement: SQLiteStatement, rowCount: Int)?
    private var select: SQLiteStatement?
    /// The way that was taken last.
    private(set) var path = SQLiteInsertPath.automatic

    init(
        _ connection: SQLiteConnection, table: String, columns: [String], conflict: SQLiteConflict,
        dateFormat: SQLiteDateFormat,
        cells: [Int]? = nil
    ) throws(SQLiteError) {
        self.connection = connection
        self.columns = columns
        self.dateFormat = dateFormat
        module = connection.rowModule
        self.cells = cells ?? Array(columns.indices)
        let verb =
            switch conflict {
            case .ignore: "INSERT OR IGNORE"
            case .replace: "INSERT OR REPLACE"
            case .abort, .update: "INSERT"
            }
        let target = try "\(verb) INTO \(SQLiteName.quoted(table))"
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

    /// Inserts all rows of a buffer.
    func insert(_ buffer: borrowing RowBuffer, by path: SQLiteInsertPath) throws(Failure) {
        switch path {
        case .bindAndStep: try bindRows(of: buffer, from: 0)
        case .multiRowValues: try insertMany(buffer)
        case .virtualTable: try selectRows(of: buffer)
        case .automatic:
            if buffer.rowCount < Self.smallestBatch {
                try bindRows(of: buffer, from: 0)
            } else if Self.hasVirtualTables {
                try selectRows(of: buffer)
            } else {
                try insertMany(buffer)
            }
        }
    }

    // PERF: SQLite/small-batches; below, compiling nothing and stepping once does not pay for opening a cursor.
    static let smallestBatch = 8

    /// Whether SQLite was built with virtual tables.
    static let hasVirtualTables = unsafe sqlite3_compileoption_used("OMIT_VIRTUALTABLE") == 0

    private func failure(_ error: SQLiteError, _ row: Int, _ column: Int? = nil) -> Failure {
        Failure(error: error, row: row, column: column)
    }

    /// Inserts the row under construction.
    func insertLast(of buffer: borrowing RowBuffer) throws(Failure) {
        try bindRows(of: buffer, from: buffer.rowCount, to: buffer.rowCount + 1)
    }

    /// Inserts the rows from an index on, one by one.
    private func bindRows(of buffer: borrowing RowBuffer, from first: Int) throws(Failure) {
        try bindRows(of: buffer, from: first, to: buffer.rowCount)
    }

    private func bindRows(of buffer: borrowing RowBuffer, from first: Int, to end: Int) throws(Failure) {
        path = .bindAndStep
        do throws(SQLiteError) {
            if single == nil {
                // A row of defaults only has a form of its own.
                single = try connection.cachedStatement(
                    columns.isEmpty ? emptyHead : "\(head) VALUES (\(Self.marks(columns.count)))\(tail)")
            }
        } catch {
            throw failure(error, first)
        }
        guard let single else { return }
        for row in first..<end {
            do throws(SQLiteError) {
                for column in columns.indices {
                    let cell = unsafe buffer.cells[row * buffer.columnCount + cells[column]]
                    try unsafe bind(cell, of: buffer, to: single, column + 1)
                }
                while try single.step() {}
            } catch {
                throw failure(error, row)
            }
        }
    }

    private static func marks(_ count: Int) -> String {
        Array(repeating: "?", count: count).joined(separator: ", ")
    }

    /// Binds a cell without a copy of its bytes, which stay where they are until the statement was stepped.
    private func bind(
        _ cell: BufferedCell, of buffer: borrowing RowBuffer, to statement: SQLiteStatement, _ index: Int
    ) throws(SQLiteError) {
        let (handle, index) = unsafe (statement.handle, Int32(truncatingIfNeeded: index))
        let code: Int32
        // SAFETY: a cell with bytes has the offset of so many initialized bytes of its buffer.
        switch unsafe cell.kind {
        case .null: code = unsafe sqlite3_bind_null(handle, index)
        case .integer: code = unsafe sqlite3_bind_int64(handle, index, Int64(truncatingIfNeeded: cell.payload))
        case .real:
            code = unsafe sqlite3_bind_double(
                handle, index, Double(bitPattern: UInt64(truncatingIfNeeded: cell.payload)))
        case .text:
            let text = unsafe (buffer.bytes + cell.payload).assumingMemoryBound(to: CChar.self)
            code = unsafe sqlite3_bind_text(handle, index, text, cell.byteCount, nil)
        case .blob:
            code = unsafe sqlite3_bind_blob(handle, index, buffer.bytes + cell.payload, cell.byteCount, nil)
        }
        try statement.check(code)
    }

    /// Inserts the rows of a buffer, as many with each statement as it has parameters for, 100 at most.
    private func insertMany(_ buffer: borrowing RowBuffer) throws(Failure) {
        let perStatement = min(100, connection.limit(.parameterCount) / max(1, columns.count))
        guard perStatement > 1, buffer.rowCount >= perStatement else { return try bindRows(of: buffer, from: 0) }
        do throws(SQLiteError) {
            if multiple?.rowCount != perStatement {
                let row = "(\(Self.marks(columns.count)))"
                let rows = Array(repeating: row, count: perStatement).joined(separator: ", ")
                multiple = (try connection.cachedStatement("\(head) VALUES \(rows)\(tail)"), perStatement)
            }
        } catch {
            throw failure(error, 0)
        }
        guard let statement = multiple?.statement else { return }
        var first = 0
        while first + perStatement <= buffer.rowCount {
            do throws(SQLiteError) {
                for index in 0..<perStatement * columns.count {
                    try unsafe bind(buffer.cells[first * columns.count + index], of: buffer, to: statement, index + 1)
                }
                while try statement.step() {}
            } catch {
                // SQLite does not say which of the rows it was, and has undone all of them: one by one, it does.
                try bindRows(of: buffer, from: first)
                throw failure(error, first)
            }
            first += perStatement
        }
        if first < buffer.rowCount { try bindRows(of: buffer, from: first) }
        path = .multiRowValues
    }

    /// Inserts all rows of a buffer by the virtual table.
    private func selectRows(of buffer: borrowing RowBuffer) throws(Failure) {
        var source = unsafe module.emptySource
        unsafe source.kind = .buffer
        unsafe source.rowCount = buffer.rowCount
        unsafe source.columnCount = columns.count
        unsafe source.cells = UnsafePointer(buffer.cells)
        unsafe source.bytes = UnsafeRawPointer(buffer.bytes)
        try unsafe runSelect(source, nil)
    }

    /// Inserts the values of an array by the virtual table, which reads them where they are.
    ///
    /// - Parameters:
    ///   - values: The first of them; they must not change meanwhile.
    ///   - count: Their number.
    ///   - columns: How their columns lie in memory, as many as this inserter has.
    ///   - members: What sends the others.
    func insert(
        _ values: UnsafeRawPointer, count: Int, columns: UnsafePointer<SourceColumn>, of members: MemberColumns
    ) throws(Failure) {
        var source = unsafe module.emptySource
        unsafe source.kind = members.isClass ? .objects : .values
        unsafe source.rowCount = count
        unsafe source.columnCount = self.columns.count
        unsafe source.values = unsafe values
        unsafe source.stride = members.stride
        unsafe source.columns = unsafe columns
        try unsafe runSelect(source, members)
    }

    private func runSelect(_ source: RowSource, _ members: MemberColumns?) throws(Failure) {
        path = .virtualTable
        do throws(SQLiteError) {
            if select == nil {
                let name = try module.table(columnCount: columns.count, of: connection)
                let names = columns.indices.map { "c\($0)" }.joined(separator: ", ")
                // An upsert after a SELECT needs a WHERE, or ON would be taken for that of a join.
                select = try connection.cachedStatement(
                    "\(head) SELECT \(names) FROM \(name)\(tail.isEmpty ? "" : " WHERE true")\(tail)")
            }
        } catch {
            throw failure(error, 0)
        }
        guard let select else { return }
        guard unsafe module.begin(source, of: members, dateFormat) else {
            throw failure(SQLiteError(.misuse, "the connection is inserting rows already"), 0)
        }
        do throws(SQLiteError) {
            while try select.step() {}
            _ = module.end()
        } catch {
            let row = module.end()
            guard let (valueError, column) = module.failure else { throw failure(error, row) }
            throw failure(SQLiteError(valueError), row, column)
        }
    }
}
