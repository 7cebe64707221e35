// How the cells of a row become messages: names, nulls, Booleans, dates.

import PlistBuilding
import PlistStreaming
import StringTables

/// How the rows of a query become messages.
public struct SQLiteReadingOptions: Sendable {
    /// What a column holds when its cells say less.
    public enum ColumnMapping: Sendable, Hashable {
        /// Booleans: the integers 0 and 1.
        case boolean
        /// Dates.
        case date(SQLiteDateFormat)
        /// What is stored, whatever type is declared.
        case stored
    }

    /// What to do with a name that two columns of a query have.
    public enum DuplicateNames: Sendable {
        /// Number the second and later ones as SQLite does in subqueries: `id`, `id:1`, `id:2`.
        case number
        /// Send them as they are; most sinks keep the last value.
        case keep
        /// Throw `duplicateKey`.
        case reject
    }

    /// What to send for null.
    public enum Nulls: Sendable {
        /// The key and null.
        case write
        /// Neither key nor value.
        case omit
    }

    /// What columns hold, by name; a value that does not fit is an error.
    public var mappings: [String: ColumnMapping]
    /// A Boolean value that indicates whether 0 and 1 in a column declared `BOOL` or `BOOLEAN` are sent as Booleans.
    public var mapsDeclaredBooleans: Bool
    /// How text and numbers in columns declared `DATETIME` or `TIMESTAMP` are read as dates; nil sends what is stored.
    ///
    /// Functions that return values of a type read text and numbers of any column as dates if the type has a `Date` for them:
    /// numbers as Unix time, or as seconds since 2001 if this is ``SQLiteDateFormat/secondsSince2001``.
    public var declaredDates: SQLiteDateFormat?
    /// What to do with a name that two columns have.
    public var duplicateNames: DuplicateNames
    /// What to send for null.
    public var nulls: Nulls
    /// The keys of columns that are read as dates, if they are numbers, unless a mapping says how.
    private var dateKeys = DateKeys.some([])

    /// Makes options.
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

    /// The options for reading values of a type.
    @usableFromInline
    func reading<Row: StreamValue>(_ type: Row.Type, _ options: BuilderOptions) -> SQLiteReadingOptions {
        var copy = self
        copy.dateKeys = DateKeys(of: type, keyMapping: options.keyMapping)
        return copy
    }

    /// The format of numbers that are read as dates where no mapping says how.
    var numericDates: SQLiteDateFormat { declaredDates == .secondsSince2001 ? .secondsSince2001 : .secondsSince1970 }

    /// What a column holds.
    ///
    /// - Returns: The mapping, and whether it must hold for every value.
    func mapping(of name: String, declaredType: String?) -> (ColumnMapping, isRequired: Bool) {
        let mapping = mappings[name]
        // Text stays text, which is read as a date as well.
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
        // By bytes: a composed and a decomposed "é" are two names.
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
                throw StreamError(.duplicateKey, "two columns of the query have the name of \(name)")
            }
            var number = 1
            while !used.insert("\(name):\(number)").inserted { number += 1 }
            keys.append("\(name):\(number)")
        }
        return keys
    }
}
