// Declares the tables, columns, unique keys and relationships of an import. `Importer` runs the import.

import PlistBuilding
import PlistStreaming
import SQLiteStreaming

/// A table that records are imported into. It assigns members to columns and declares the unique key that identifies a row.
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
/// For a missing member, an existing row keeps its value, and a new row gets the table's declared DEFAULT, or null. Defaults
/// of Swift types are not used. Null sets the column to null. A table has at most 64 imported columns, including foreign
/// keys.
public struct ImportTable: Sendable {
    /// The name of the table.
    public var name: String
    /// One or more columns that identify a row: those of the primary key or of a unique index.
    public var uniqueKey: [String]
    /// The imported columns.
    public var columns: [ImportColumn]
    /// The relationships to records nested in those of this table.
    public var relationships: [ImportRelationship]
    /// The mapping from the name of a column to the key of its member, for columns without their own key.
    public var keyMapping: KeyMapping

    /// Declares a table.
    ///
    /// - Parameters:
    ///   - name: The name in the database.
    ///   - uniqueKey: Columns of `columns`, or of the foreign key to the parent table.
    ///   - columns: The imported columns. If two columns have the same key, `Importer.init` throws an error.
    ///   - relationships: The relationships to records nested in those of this table.
    ///   - keyMapping: By default, keys are equal to names; ``/PlistBuilding/KeyMapping/snakeCase`` reads `firstName` from
    ///     `first_name`.
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

    /// Returns the key of a column's members.
    func key(of column: ImportColumn) -> String { column.key ?? keyMapping.name(for: column.name) }
}

/// An imported column: its type, the key of its member, and its checks.
public struct ImportColumn: Sendable {
    /// The types of columns, each with the values of other types that are converted to it.
    public enum ValueType: Sendable, Hashable {
        /// 64-bit integers. Reals without a fraction and text that is an integer are converted.
        case integer
        /// Reals. Integers that a real represents exactly and text that is a number are converted.
        case real
        /// Text. Integers are converted to decimal digits.
        case text
        /// Bytes.
        case blob
        /// 0 and 1. Booleans and the integers 0 and 1 are converted.
        case boolean
        /// Dates in a format. Dates and their ISO 8601 text are converted.
        case date(SQLiteDateFormat)
        /// Any values, each in its own storage class. Numbers that fit no storage class, such as 2^63 and above, are stored
        /// as text. Not allowed for unique keys.
        case any
    }

    struct Check: Sendable {
        let expectation: String
        let isValid: @Sendable (SQLiteValue) -> Bool
    }

    /// The name of the column.
    public var name: String
    /// The key of its members, or nil for the name of the column, converted by the table's mapping.
    public var key: String?
    /// The type of its values.
    public var type: ValueType
    /// A Boolean value that indicates whether each record must have a value other than null for the column. This is always
    /// the case for unique keys.
    public var isRequired: Bool
    var checks: [Check] = []

    /// Declares a column. The functions named after types are shorter.
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
    /// Declares a column with values of any type.
    public static func any(_ name: String, from key: String? = nil) -> Self { Self(name, .any, from: key) }

    /// Returns the column as one that each record must have a value for.
    public func required() -> Self {
        var column = self
        column.isRequired = true
        return column
    }

    /// Returns the column with a check for each of its values other than null.
    ///
    /// - Parameters:
    ///   - expectation: A description of valid values, for the error: `expected <expectation>`.
    ///   - isValid: Returns whether a value, converted to the type of the column, is valid.
    public func checked(_ expectation: String, _ isValid: @escaping @Sendable (SQLiteValue) -> Bool) -> Self {
        var column = self
        column.checks.append(Check(expectation: expectation, isValid: isValid))
        return column
    }
}

/// A relationship to records nested in those of another table, and its foreign key.
///
/// A nested record can also be a scalar, its bare key, if only its unique key is known. A row with this key is inserted if it
/// is missing and its other columns allow that. So a reference can precede the record it refers to.
public struct ImportRelationship: Sendable {
    /// Policies for the existing children of a row in a to-many relationship.
    public enum Policy: Sendable, Hashable {
        /// The given children are added, and the existing ones stay.
        case merge
        /// The given children replace the existing ones; existing children that aren't given become orphans.
        case assign
        /// The given children replace the existing ones; existing children that aren't given are deleted.
        case replace
    }

    /// Policies for the orphans of `assign`.
    public enum OrphanPolicy: Sendable, Hashable {
        /// They stay, and their foreign key becomes null.
        case unlink
        /// They are deleted.
        case delete
        /// An orphan is an error, and the record fails.
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
    /// The columns of the foreign key: of `table` for to-many, of the parent table for to-one.
    public let foreignKey: [String]
    /// The columns that the foreign key refers to, or an empty array for the unique key.
    public let references: [String]

    /// Declares an array of children, each with a foreign key to the record that contains it.
    ///
    /// A missing member leaves the children unchanged; null is an empty array.
    /// - Parameters:
    ///   - key: The key of the array.
    ///   - table: The table of the children.
    ///   - foreignKey: The columns of `table` that refer to the parent table.
    ///   - references: The columns of the parent table that they refer to. The default is its unique key. Other columns need
    ///     not be imported, such as an INTEGER PRIMARY KEY that SQLite chooses.
    ///   - policy: The policy for existing children.
    ///   - orphans: The policy for the orphans of `assign`.
    public static func toMany(
        _ key: String, _ table: ImportTable, foreignKey: [String], references: [String] = [], policy: Policy = .merge,
        orphans: OrphanPolicy = .unlink
    ) -> ImportRelationship {
        ImportRelationship(
            kind: .toMany(policy, orphans), key: key, table: table, foreignKey: foreignKey, references: references)
    }

    /// Declares a nested record that the containing record refers to.
    ///
    /// A missing member leaves the foreign key unchanged; null sets it to null.
    /// - Parameters:
    ///   - key: The key of the nested record.
    ///   - table: The table of the nested record.
    ///   - foreignKey: The columns of the parent table that refer to it.
    ///   - references: The columns of `table` that they refer to, as for `toMany`.
    public static func toOne(
        _ key: String, _ table: ImportTable, foreignKey: [String], references: [String] = []
    ) -> ImportRelationship {
        ImportRelationship(kind: .toOne, key: key, table: table, foreignKey: foreignKey, references: references)
    }
}
