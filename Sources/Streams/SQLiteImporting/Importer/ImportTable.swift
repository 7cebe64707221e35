// What an import writes to: tables, columns, unique keys and relationships, declared once. `Importer` runs it.

import PlistBuilding
import PlistStreaming
import SQLiteStreaming

/// A table that records are imported into: which of their members go to which columns, and what makes two of them the same.
///
/// ```swift
/// let people = ImportTable(
///     "person", uniqueKey: ["id"],
///     columns: [.integer("id"), .text("first_name", from: "firstName").required(), .boolean("active")],
///     relationships: [
///         .toMany(
///             "phones", ImportTable("phone", uniqueKey: ["number"], columns: [.text("number"), .text("kind")]),
///             foreignKey: ["person_id"], policy: .replace)
///     ])
/// ```
///
/// A member that is missing leaves its column untouched, and in a new row is the DEFAULT that the table declares, or null:
/// an import knows no types of Swift and none of their defaults. Null sets the column to null. A table has at most 64 columns
/// that are imported, foreign keys included.
public struct ImportTable: Sendable {
    /// The name of the table.
    public var name: String
    /// The columns, one or several, that make a row unique: those of the primary key or of a unique index.
    public var uniqueKey: [String]
    /// The columns that are imported.
    public var columns: [ImportColumn]
    /// The records nested in those of this table.
    public var relationships: [ImportRelationship]
    /// The rule that makes the key of a member from the name of a column without a key of its own.
    public var keyMapping: KeyMapping

    /// Declares a table.
    ///
    /// - Parameters:
    ///   - name: The name in the database.
    ///   - uniqueKey: Columns of `columns`, or of the foreign key by which the table is related to the one above it.
    ///   - columns: What is imported. Two columns from one key are an error of `Importer.init`.
    ///   - relationships: The records nested in those of this table.
    ///   - keyMapping: By name unless given; ``/PlistBuilding/KeyMapping/snakeCase`` reads `firstName` from `first_name`.
    public init(
        _ name: String, uniqueKey: [String], columns: [ImportColumn], relationships: [ImportRelationship] = [],
        keyMapping: KeyMapping = .exact
    ) {
        self.name = name
        self.uniqueKey = uniqueKey
        self.columns = columns
        self.relationships = relationships
        self.keyMapping = keyMapping
    }

    /// The key of the members that go to a column.
    func key(of column: ImportColumn) -> String { column.key ?? keyMapping.name(for: column.name) }
}

/// A column that an import writes: its type, the key of its member, and what is checked.
public struct ImportColumn: Sendable {
    /// What the values of a column are, and what of other types is converted to it.
    public enum ValueType: Sendable, Hashable {
        /// 64-bit integers; reals without a fraction, and text that is an integer.
        case integer
        /// Reals; integers that a real holds exactly, and text that is a number.
        case real
        /// Text; integers in decimal digits.
        case text
        /// Bytes.
        case blob
        /// 0 and 1; Booleans, and the integers 0 and 1.
        case boolean
        /// Dates in a format; dates and their ISO 8601 text.
        case date(SQLiteDateFormat)
        /// Whatever comes, in its own storage class; numbers that none holds, as from 2^63 on, as text. Not for unique keys.
        case any
    }

    struct Check: Sendable {
        let expectation: String
        let isValid: @Sendable (SQLiteValue) -> Bool
    }

    /// The name of the column.
    public var name: String
    /// The key of its members; nil for the one that the table's mapping makes from the name.
    public var key: String?
    /// What its values are.
    public var type: ValueType
    /// A Boolean value that indicates whether each record must have a value for it that is not null. Those of unique keys
    /// always must.
    public var isRequired: Bool
    var checks: [Check] = []

    /// Declares a column; the functions with the names of types are shorter.
    public init(_ name: String, _ type: ValueType, from key: String? = nil, isRequired: Bool = false) {
        self.name = name
        self.type = type
        self.key = key
        self.isRequired = isRequired
    }

    /// Declares a column of integers.
    public static func integer(_ name: String, from key: String? = nil) -> Self { Self(name, .integer, from: key) }
    /// Declares a column of reals.
    public static func real(_ name: String, from key: String? = nil) -> Self { Self(name, .real, from: key) }
    /// Declares a column of text.
    public static func text(_ name: String, from key: String? = nil) -> Self { Self(name, .text, from: key) }
    /// Declares a column of bytes.
    public static func blob(_ name: String, from key: String? = nil) -> Self { Self(name, .blob, from: key) }
    /// Declares a column of Booleans.
    public static func boolean(_ name: String, from key: String? = nil) -> Self { Self(name, .boolean, from: key) }
    /// Declares a column of dates.
    public static func date(_ name: String, from key: String? = nil, as format: SQLiteDateFormat = .text) -> Self {
        Self(name, .date(format), from: key)
    }
    /// Declares a column of whatever comes.
    public static func any(_ name: String, from key: String? = nil) -> Self { Self(name, .any, from: key) }

    /// Returns the column as one that each record must have a value for.
    public func required() -> Self {
        var column = self
        column.isRequired = true
        return column
    }

    /// Returns the column with a check of each of its values but null.
    ///
    /// - Parameters:
    ///   - expectation: What is expected, for the error: `expected <expectation>`.
    ///   - isValid: Whether a value, converted to the type of the column, is good.
    public func checked(_ expectation: String, _ isValid: @escaping @Sendable (SQLiteValue) -> Bool) -> Self {
        var column = self
        column.checks.append(Check(expectation: expectation, isValid: isValid))
        return column
    }
}

/// Records nested in those of another table, and the foreign key that relates the two.
///
/// A nested record may be its bare key: a scalar stands for a record of which only the unique key is known. Such a row is
/// inserted when it is missing, if its other columns allow that, so that a reference may come before what it refers to.
public struct ImportRelationship: Sendable {
    /// What the children given for a row of a to-many relationship mean for those that it has.
    public enum Policy: Sendable, Hashable {
        /// They are added; the others stay.
        case merge
        /// They are all it has; the others are orphans.
        case assign
        /// They are all it has; the others are deleted.
        case replace
    }

    /// What is done with children that `assign` leaves out.
    public enum OrphanPolicy: Sendable, Hashable {
        /// They stay, and their foreign key becomes null.
        case unlink
        /// They are deleted.
        case delete
        /// There must be none: the record fails.
        case reject
    }

    enum Kind: Sendable {
        case toOne
        case toMany(Policy, OrphanPolicy)
    }

    let kind: Kind
    /// The key of the nested records.
    public let key: String
    /// The table of the nested records.
    public let table: ImportTable
    /// The columns of the foreign key: of `table` for to-many, of the table above for to-one.
    public let foreignKey: [String]
    /// The columns that the foreign key refers to; empty for the unique key.
    public let references: [String]

    /// Declares an array of children, each with a foreign key to the record that they are nested in.
    ///
    /// A missing member leaves the children untouched; null is an empty array.
    /// - Parameters:
    ///   - key: The key of the array.
    ///   - table: The table of the children.
    ///   - foreignKey: The columns of `table` that refer to the table above.
    ///   - references: The columns of the table above that they refer to: its unique key unless given, or columns that are
    ///     not imported, such as an INTEGER PRIMARY KEY that SQLite chooses.
    ///   - policy: What the children mean for those that are there.
    ///   - orphans: What `assign` does with those it leaves out.
    public static func toMany(
        _ key: String, _ table: ImportTable, foreignKey: [String], references: [String] = [], policy: Policy = .merge,
        orphans: OrphanPolicy = .unlink
    ) -> ImportRelationship {
        ImportRelationship(
            kind: .toMany(policy, orphans), key: key, table: table, foreignKey: foreignKey, references: references)
    }

    /// Declares a record that the one it is nested in refers to.
    ///
    /// A missing member leaves the foreign key untouched; null sets it to null.
    /// - Parameters:
    ///   - key: The key of the nested record.
    ///   - table: Its table.
    ///   - foreignKey: The columns of the table above that refer to it.
    ///   - references: The columns of `table` that they refer to; as for `toMany`.
    public static func toOne(
        _ key: String, _ table: ImportTable, foreignKey: [String], references: [String] = []
    ) -> ImportRelationship {
        ImportRelationship(kind: .toOne, key: key, table: table, foreignKey: foreignKey, references: references)
    }
}
