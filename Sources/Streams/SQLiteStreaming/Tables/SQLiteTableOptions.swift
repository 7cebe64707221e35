// The choices of a table: names, keys, dates, what to do with conflicts. How rows are put into it is no choice of a user,
// since both ways do the same; what compares them, our tests, fuzzers and benchmarks, imports `@_spi(InsertPaths)`.

import PlistBuilding
import PlistStreaming

/// How rows are put into a table.
///
/// The way with one statement for many rows is taken only where it does what a statement for each row would do: not for
/// views, tables with triggers or `ON CONFLICT` clauses, nor for foreign keys of which one row may mend what another one broke.
@_spi(InsertPaths) public enum SQLiteInsertPath: String, Sendable, CaseIterable {
    /// The faster one: `bindAndStep` for fewer than 8 rows at a time, and where SQLite was built without virtual tables, else
    /// `virtualTable`.
    case automatic
    /// A statement for each row, to whose parameters the cells are bound.
    case bindAndStep
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
    /// Neither these columns nor those of the primary key are set, and a row whose others are all equal is not written. Several
    /// unique indexes of these columns with different collations are an error, `misuse`, unless one is that of the primary key.
    case upsert(on: [String])
}

/// How a type is a table, and how rows are put into it.
public struct SQLiteTableOptions: Sendable {
    /// What to do with a key that is no column.
    public enum UnknownMembers: Sendable {
        /// Throw `unknownMember`.
        case reject
        /// Skip it, whatever it contains.
        case ignore
    }

    /// What to do when the table is not there.
    public enum MissingTable: Sendable {
        /// Create it.
        case create
        /// Throw.
        case reject
    }

    /// How names of properties become names of columns.
    public var keyMapping: KeyMapping
    /// The columns of the primary key; nil takes the integer column `id`, if there is one. Empty for none.
    public var primaryKey: [String]?
    /// Columns, or groups of them, that no two rows may have equal.
    public var uniqueColumns: [[String]]
    /// How dates are stored.
    public var dateFormat: SQLiteDateFormat
    /// What to do when the table is not there.
    public var missingTable: MissingTable
    /// What to do with a key of a message that is no column.
    public var unknownMembers: UnknownMembers
    /// What to do with rows that have the same unique values.
    public var conflict: SQLiteConflict
    /// How rows are put into the table.
    @_spi(InsertPaths) public var insertPath: SQLiteInsertPath = .automatic
    /// The largest number of rows that are held before they are put into the table.
    @_spi(InsertPaths) public var batchRowCount: Int = 1_024
    /// The number of bytes of text and blobs from which rows are put into the table.
    @_spi(InsertPaths) public var batchByteCount: Int = 1 << 18

    /// Makes options.
    public init(
        keyMapping: KeyMapping = .exact, primaryKey: [String]? = nil, uniqueColumns: [[String]] = [],
        dateFormat: SQLiteDateFormat = .text, missingTable: MissingTable = .create,
        unknownMembers: UnknownMembers = .reject, conflict: SQLiteConflict = .abort
    ) {
        self.keyMapping = keyMapping
        self.primaryKey = primaryKey
        self.uniqueColumns = uniqueColumns
        self.dateFormat = dateFormat
        self.missingTable = missingTable
        self.unknownMembers = unknownMembers
        self.conflict = conflict
    }

    /// Makes options that choose the way into the table.
    @_spi(InsertPaths) public init(
        primaryKey: [String]? = nil, uniqueColumns: [[String]] = [], dateFormat: SQLiteDateFormat = .text,
        conflict: SQLiteConflict = .abort, insertPath: SQLiteInsertPath, batchRowCount: Int = 1_024,
        batchByteCount: Int = 1 << 18
    ) {
        self.init(primaryKey: primaryKey, uniqueColumns: uniqueColumns, dateFormat: dateFormat, conflict: conflict)
        self.insertPath = insertPath
        self.batchRowCount = batchRowCount
        self.batchByteCount = batchByteCount
    }

    /// Makes options that choose how many rows are held.
    @_spi(InsertPaths) public init(batchRowCount: Int) {
        self.init()
        self.batchRowCount = batchRowCount
    }
}

/// What inserting did.
public struct InsertResult: Sendable, Hashable {
    /// The number of rows that were inserted or updated, without those that were ignored or equal, and without those that triggers
    /// and foreign keys changed.
    public internal(set) var changedRowCount: Int = 0
    /// The number of rows that came, without those that were undone.
    public internal(set) var rowCount: Int = 0
    /// The way by which the last of them were put into the table.
    @_spi(InsertPaths) public internal(set) var path: SQLiteInsertPath = .automatic
}
