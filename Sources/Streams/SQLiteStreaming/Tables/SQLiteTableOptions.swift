// The options of a table: names, keys, dates and conflicts. Users can't choose how rows are inserted, since both ways give
// the same result. Tests, fuzzers and benchmarks that compare the ways import `@_spi(InsertPaths)`.

import PlistBuilding
import PlistStreaming

/// The ways of inserting rows.
///
/// One statement for many rows is used only if it has the same effect as a statement for each row. It isn't used for views,
/// for tables with triggers or `ON CONFLICT` clauses, nor for foreign keys that a later row of the same statement could
/// satisfy.
@_spi(InsertPaths) public enum SQLiteInsertPath: String, Sendable, CaseIterable {
    /// The faster way: `bindAndStep` for fewer than 8 rows at a time, or if SQLite was built without virtual tables;
    /// otherwise `virtualTable`.
    case automatic
    /// A statement for each row, with the cells bound to its parameters.
    case bindAndStep
    /// One `INSERT … SELECT` from a virtual table, which reads the cells in place.
    case virtualTable
}

/// Policies for a row that has the same unique values as another one.
public enum SQLiteConflict: Sendable, Hashable {
    /// Throw `constraint`, and undo everything.
    case abort
    /// Keep the existing row.
    case ignore
    /// Delete the existing rows.
    case replace
    /// Find the existing row by the values of these unique columns, and set its columns that differ.
    ///
    /// Neither these columns nor those of the primary key are set, and a row whose other columns are all equal is not
    /// written. If several unique indexes of these columns have different collations, the error is `misuse`, unless one of
    /// them belongs to the primary key.
    case upsert(on: [String])
}

/// Options for binding a type to a table and for inserting rows.
public struct SQLiteTableOptions: Sendable {
    /// Policies for a key that isn't a column.
    public enum UnknownMembers: Sendable {
        /// Throw `unknownMember`.
        case reject
        /// Skip its value, even if it is a container.
        case ignore
    }

    /// A policy for keys that are repeated in a row.
    public enum DuplicateKeys: Sendable {
        /// Use the last value.
        case keepLast
        /// Throw `duplicateKey`.
        case reject
    }

    /// What to do when the table is not there.
    public enum MissingTable: Sendable {
        /// Create it.
        case create
        /// Throw an error.
        case reject
    }

    /// The mapping from names of properties to names of columns.
    public var keyMapping: KeyMapping
    /// The columns of the primary key. With nil, it is the integer column `id`, if it exists. An empty array means no primary
    /// key.
    public var primaryKey: [String]?
    /// Columns, or groups of columns, whose values must be unique.
    public var uniqueColumns: [[String]]
    /// The format of stored dates.
    public var dateFormat: SQLiteDateFormat
    /// The policy for a missing table.
    public var missingTable: MissingTable
    /// The policy for a message key that isn't a column.
    public var unknownMembers: UnknownMembers
    /// The policy for keys that are repeated in a row.
    public var duplicateKeys: DuplicateKeys
    /// A Boolean value that indicates whether a writer without a type also refuses numbers that would become equal text, text
    /// that would become an equal number, and -0.0 that would become 0.
    public var keepsTypes: Bool
    /// What to do with rows that have the same unique values.
    public var conflict: SQLiteConflict
    /// The way of inserting rows into the table.
    @_spi(InsertPaths) public var insertPath: SQLiteInsertPath = .automatic
    /// The largest number of rows that are buffered before they are inserted.
    @_spi(InsertPaths) public var batchRowCount: Int = 1_024
    /// The number of bytes of text and blobs that are buffered before rows are inserted.
    @_spi(InsertPaths) public var batchByteCount: Int = 1 << 18

    /// Creates options.
    public init(
        keyMapping: KeyMapping = .exact, primaryKey: [String]? = nil, uniqueColumns: [[String]] = [],
        dateFormat: SQLiteDateFormat = .text, missingTable: MissingTable = .create,
        unknownMembers: UnknownMembers = .reject, conflict: SQLiteConflict = .abort,
        duplicateKeys: DuplicateKeys = .keepLast, keepsTypes: Bool = false
    ) {
        self.keyMapping = keyMapping
        self.primaryKey = primaryKey
        self.uniqueColumns = uniqueColumns
        self.dateFormat = dateFormat
        self.missingTable = missingTable
        self.unknownMembers = unknownMembers
        self.duplicateKeys = duplicateKeys
        self.keepsTypes = keepsTypes
        self.conflict = conflict
    }

    /// Creates options that choose the way of inserting rows.
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

    /// Creates options with the number of buffered rows.
    @_spi(InsertPaths) public init(batchRowCount: Int) {
        self.init()
        self.batchRowCount = batchRowCount
    }
}

/// The result of inserting rows.
public struct InsertResult: Sendable, Hashable {
    /// The number of inserted or updated rows. It excludes rows that were ignored or equal, and rows changed by triggers and
    /// foreign keys.
    public internal(set) var changedRowCount: Int = 0
    /// The number of received rows, excluding those that were undone.
    public internal(set) var rowCount: Int = 0
    /// The insertion path of the last of them.
    @_spi(InsertPaths) public internal(set) var path: SQLiteInsertPath = .automatic
}
