// How the cells of a row become messages: names, nulls, Booleans, dates.

import PlistBuilding
import PlistStreaming
import StringTables

/// Options for converting the rows of a query to messages.
public struct SQLiteReadingOptions: Sendable {
    /// The type of a column's values, if it can't be seen from its cells.
    public enum ColumnMapping: Sendable, Hashable {
        /// Booleans: the integers 0 and 1.
        case boolean
        /// Dates.
        case date(SQLiteDateFormat)
        /// The stored values, regardless of the declared type.
        case stored
    }

    /// Policies for columns of a query with the same name.
    public enum DuplicateNames: Sendable {
        /// Number the second and later columns as SQLite does in subqueries: `id`, `id:1`, `id:2`.
        case number
        /// Send the names unchanged; most sinks keep the last value.
        case keep
        /// Throw `duplicateKey`.
        case reject
    }

    /// Policies for null.
    public enum Nulls: Sendable {
        /// Send the key and null.
        case write
        /// Send neither key nor value.
        case omit
    }

    /// The types of columns by name. A value that doesn't fit its type is an error.
    public var mappings: [String: ColumnMapping]
    /// A Boolean value that indicates whether 0 and 1 in a column declared `BOOL` or `BOOLEAN` are sent as Booleans.
    public var mapsDeclaredBooleans: Bool
    /// How text and numbers in columns declared `DATETIME` or `TIMESTAMP` are read as dates; nil sends the stored value.
    ///
    /// Functions that return values of a type read text and numbers of any column as dates if the type has a `Date` for them:
    /// numbers as Unix time, or as seconds since 2001 if this is ``SQLiteDateFormat/secondsSince2001``.
    public var declaredDates: SQLiteDateFormat?
    /// The policy for columns with the same name.
    public var duplicateNames: DuplicateNames
    /// The policy for null.
    public var nulls: Nulls
    /// The keys of columns whose numbers are read as dates, unless there is a mapping for them.
    private var dateKeys = DateKeys.some([])

    /// Creates options.
    public init(
        mappings: [String: ColumnMapping] = [:], mapsDeclaredBooleans: Bool = true,
        declaredDates: SQLiteDateFormat? = nil, duplicateNames: DuplicateNames = .number, nulls: Nulls = .write
    ) {
        self.mappings = mappings
        self.mapsDeclaredBooleans = mapsDeclaredBooleans
        self.declaredDates = declaredDates
        self.duplicateNames = duplicateNames
        self.nulls = nulls
    }

    /// Returns the options for reading values of a type.
    @usableFromInline
    func reading<Row: StreamValue>(_ type: Row.Type, _ options: BuilderOptions) -> SQLiteReadingOptions {
        var copy = self
        copy.dateKeys = DateKeys(of: type, keyMapping: options.keyMapping)
        return copy
    }

    /// The format of numbers that are read as dates without a mapping.
    var numericDates: SQLiteDateFormat { declaredDates == .secondsSince2001 ? .secondsSince2001 : .secondsSince1970 }

    /// Returns the mapping of a column.
    ///
    /// - Returns: The mapping, and a Boolean value that indicates whether every value must fit it.
    func mapping(of name: String, declaredType: String?) -> (ColumnMapping, isRequired: Bool) {
        let mapping = mappings[name]
        // Text stays text, which is also read as a date.
        if mapping == nil || mapping == .stored, dateKeys.contains(name) { return (.date(numericDates), false) }
        if let mapping { return (mapping, true) }
        switch declaredType?.uppercased() {
        case "BOOL", "BOOLEAN": return (mapsDeclaredBooleans ? .boolean : .stored, false)
        case "DATETIME", "TIMESTAMP": return (declaredDates.map { .date($0) } ?? .stored, false)
        default: return (.stored, false)
        }
    }

    /// Returns the keys for the columns of a query.
    func keys(for names: [String]) throws(StreamError) -> [String] {
        // By bytes: a composed and a decomposed "é" are different names.
        var used = KeySet()
        if duplicateNames == .number { used = KeySet(names) }
        var seen = KeySet()
        var keys: [String] = []
        for name in names {
            guard !seen.insert(name).inserted, duplicateNames != .keep else {
                keys.append(name)
                continue
            }
            guard duplicateNames == .number else {
                throw StreamError(.duplicateKey, "two columns of the query are named '\(name)'")
            }
            var number = 1
            while !used.insert("\(name):\(number)").inserted { number += 1 }
            keys.append("\(name):\(number)")
        }
        return keys
    }
}
