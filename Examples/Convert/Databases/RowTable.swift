// Writes rows to a table, and adds warnings about their values.

import PlistStreaming
import SQLiteStreaming

/// An existing table that gets more rows, or a new table with the columns of its rows.
///
/// In an existing table, missing members get the defaults of their columns.
final class RowTable {
    let name: String
    private let connection: SQLiteConnection
    /// The path of the array with the rows, for warnings and errors.
    private let path: StreamPath
    private var writer: SQLiteTableWriter
    private let isNew: Bool
    private let isOfFields: Bool
    /// The columns of the table before the first row.
    private let columns: [SQLiteColumn]
    /// The column that SQLite sets to a number if it gets null.
    private let rowID: Int?
    private let warnings: Warnings
    /// For each column of a new table, the rows with Booleans. The type of the column isn't known until the end.
    private var booleans: [Int: (first: Int, count: Int)] = [:]
    private var rowCount = 0
    private var memberCount = 0
    /// The number of rows with a value for each column.
    private var counts: [Int]
    /// The rows, grouped by the number of their members.
    private var sizes: [Int: (first: Int, count: Int)] = [:]

    init(
        _ connection: SQLiteConnection, name: String, path: StreamPath, isOfFields: Bool, warnings: Warnings
    ) throws(StreamError) {
        (self.connection, self.name, self.path) = (connection, name, path)
        (self.isOfFields, self.warnings) = (isOfFields, warnings)
        let options = SQLiteTableOptions(duplicateKeys: .reject, keepsTypes: true)
        do throws(SQLiteError) {
            isNew = try !connection.isInFile(name)
            columns = isNew ? [] : try connection.columns(ofTable: name).filter { !$0.isGenerated }
            if isNew {
                writer = try SQLiteTableWriter(
                    connection, table: name, columns: isOfFields ? .asNeededForFields : .asNeeded, options: options)
            } else {
                writer = try SQLiteTableWriter(connection, table: name, options: options)
            }
        } catch {
            throw error.streamError(.cannotWrite)
        }
        counts = columns.map { _ in 0 }
        let key = columns.integerKey
        rowID = columns.firstIndex { $0 == key }
        try writer.beginArray()
    }

    /// The path of the next value.
    var place: StreamPath { StreamPath(path.steps + writer.path.steps) }

    func isNamed(_ name: String) -> Bool { self.name.utf8.elementsEqual(name.utf8) }

    /// Creates columns for a table without rows.
    func expectColumns(_ names: [String]) throws(StreamError) { try writer.expectColumns(names) }

    // MARK: Rows

    func beginRow() throws(StreamError) {
        memberCount = 0
        do throws(StreamError) { try writer.beginDictionary() } catch { throw located(error) }
    }

    func writeKey(_ utf8: RawSpan) throws(StreamError) {
        do throws(StreamError) { try writer.writeKey(utf8) } catch { throw located(error) }
        memberCount += 1
        if writer.column == counts.count { counts.append(0) }
        counts[writer.column] += 1
    }

    /// Writes the value of a member.
    ///
    /// - Parameter isContainer: A Boolean value that indicates whether the value is the JSON of an array or dictionary.
    func write(_ scalar: borrowing StreamScalar, isContainer: Bool = false) throws(StreamError) {
        if isContainer { warn("arrays and dictionaries become json text") } else { check(scalar) }
        do throws(StreamError) {
            if isOfFields, !isNew { try writeField(scalar) } else { try scalar.send(to: &writer) }
        } catch {
            throw located(error)
        }
    }

    func endRow() throws(StreamError) {
        do throws(StreamError) { try writer.endDictionary() } catch { throw located(error) }
        if isNew { sizes[memberCount, default: (rowCount, 0)].count += 1 }
        rowCount += 1
    }

    /// Writes a field as a text or a number, depending on the declared type of its column. A number must keep the
    /// field's text.
    private func writeField(_ scalar: borrowing StreamScalar) throws(StreamError) {
        let column = writer.column
        let affinity = columns[column].affinity
        let text: String
        switch copy scalar {
        case .bool(let value) where affinity == .text: text = "\(value)"
        case .integer(let value) where affinity == .text: text = "\(value)"
        case .real(let value) where affinity == .text: text = value.description
        case .unsigned(let value): text = "\(value)"
        case .string(let utf8): text = String(validating: utf8) ?? ""
        default: return try scalar.send(to: &writer)
        }
        var spelling = text
        if affinity != .text, affinity != .blob, NumericText.isNumber(text) {
            if let integer = Int64(text) {
                spelling = "\(integer)"
                try writer.writeInteger(integer)
            } else if let real = Double(text), text.withUTF8Span({ NumberText.hasDigits(of: $0, real) }) {
                spelling = real.description
                try writer.writeReal(real)
            }
        }
        if spelling != text {
            warn("which is declared as numbers, fields such as 007 and 1.10 become their numbers", in: column)
            return
        }
        // The column changes after a number was written. Otherwise, write the text.
        if writer.column == column {
            try text.withUTF8Span { (text) throws(StreamError) in try writer.writeString(text) }
        }
    }

    /// Adds a warning if reading may return another value.
    private func check(_ scalar: borrowing StreamScalar) {
        if isNew {
            if case .bool = copy scalar { booleans[writer.column, default: (rowCount, 0)].count += 1 }
            return
        }
        let column = columns[writer.column]
        switch copy scalar {
        case .bool:
            if column.isBoolean || isOfFields && column.affinity == .text { return }
            warn("which is not declared BOOLEAN, true and false become 1 and 0")
        case .null: if writer.column == rowID { warn("which is the row id, null becomes a number that SQLite chooses") }
        default:
            guard column.isBoolean else { return }
            warn("which is declared BOOLEAN, 1 and 0 are true and false, or all are numbers beside other values")
        }
    }

    private func warn(_ words: String, in column: Int? = nil) {
        let name = writer.name(ofColumn: column ?? writer.column)
        warnings.add("in the column \(name), \(words)", at: path.element(rowCount).member(name))
    }

    // MARK: The end

    /// Finishes the table, and adds the warnings about all of its rows.
    func finish() throws(StreamError) {
        do throws(StreamError) {
            try writer.endArray()
            try writer.finish()
        } catch {
            throw located(error)
        }
        guard isNew else { return warnOfDefaults() }
        let made = try throwing(.cannotWrite, connection.columns(ofTable: name))
        for (index, rows) in booleans.sorted(by: { ($0.value.first, $0.key) < ($1.value.first, $1.key) })
        where made[index].declaredType.isEmpty {
            let name = made[index].name
            warnings.add(
                "in the column \(name), which has other values, true and false become 1 and 0",
                at: path.element(rows.first).member(name), count: rows.count)
        }
        let incomplete = sizes.filter { $0.key < made.count }.map(\.value)
        if let first = incomplete.map(\.first).min() {
            warnings.add(
                "missing members become null in the table \(name)", at: path.element(first),
                count: incomplete.reduce(0) { $0 + $1.count })
        }
    }

    private func warnOfDefaults() {
        for (column, count) in zip(columns, counts) where count > 0 && count < rowCount {
            warnings.add(
                "missing members get the default of the column \(column.name)", at: path,
                count: rowCount - count)
        }
    }

    /// Returns the error with its place in the input. If the table refuses a row, the input is the cause, not the
    /// output.
    private func located(_ error: StreamError) -> StreamError {
        let place = StreamPath(path.steps + (error.path?.steps ?? []))
        let code = error.sqliteError?.code
        let isOfARow = [SQLiteResultCode.constraint, .mismatch, .tooBig].contains(code)
        let kind = isOfARow ? StreamError.Kind.unrepresentable : error.kind
        let message = isOfARow ? error.sqliteError?.message ?? error.message : error.message
        return StreamError(kind, message, position: error.position, path: place, cause: error.cause)
    }
}
