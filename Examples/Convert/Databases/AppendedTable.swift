// A table that gets rows: one that is there already, to which they are added, or one that is made of them.

import PlistStreaming
import SQLiteStreaming
import StringTables

/// A table that rows are put into, one after another.
protocol RowTable: AnyObject {
    var name: String { get }
    var rowCount: Int { get }
    /// Makes columns that the rows to come have, if there are any.
    func expect(_ columns: [String]) throws(StreamError)
    /// Puts a row into the table.
    func insert(_ row: [RowValue]) throws(StreamError)
    /// Ends it, and says what of its rows was changed.
    func finish(_ warnings: Warnings) throws(StreamError)
}

extension RowTable {
    /// Does nothing: the table has its columns.
    func expect(_ columns: [String]) throws(StreamError) {}

    func isNamed(_ name: String) -> Bool { self.name.utf8.elementsEqual(name.utf8) }
}

/// A table that is there, with the columns that it has; members that are missing get the defaults that it declares.
final class AppendedTable: RowTable {
    let name: String
    private let path: StreamPath
    private var writer: SQLiteTableWriter
    private(set) var rowCount = 0
    private var notes = RowNotes()
    private let isOfFields: Bool
    private let columns: [SQLiteColumn]
    /// Their names, which are the same when their bytes are.
    private let names: KeySet
    /// The number of rows that have each column.
    private var counts: [Int]
    /// The column of which SQLite makes a number where it gets none.
    private let rowID: Int?

    init(
        _ connection: SQLiteConnection, name: String, path: StreamPath, isOfFields: Bool
    ) throws(StreamError) {
        self.isOfFields = isOfFields
        self.name = name
        self.path = path
        do throws(SQLiteError) {
            let columns = try connection.columns(ofTable: name)
            let names = KeySet(columns.map(\.name))
            rowID = columns.integerKey.flatMap { names.index(of: $0.name) }
            counts = columns.map { _ in 0 }
            (self.columns, self.names) = (columns, names)
            writer = try SQLiteTableWriter(connection, table: name)
        } catch {
            throw error.streamError(.cannotWrite)
        }
        try writer.beginArray()
    }

    func insert(_ row: [RowValue]) throws(StreamError) {
        do throws(StreamError) {
            try writer.beginDictionary()
            for var item in row {
                try item.key.withUTF8Span { (key) throws(StreamError) in try writer.writeKey(key) }
                // The writer has refused keys that are none.
                if let column = names.index(of: item.key) {
                    counts[column] += 1
                    if isOfFields { item = field(item, in: column) }
                    try checkIsKept(item, in: columns[column])
                    if let kind = note(item, in: column) { notes.add(kind, in: column, row: rowCount) }
                }
                switch item.value {
                case .null: try writer.writeNull()
                case .integer(let value) where item.origin == .bool: try writer.writeBool(value != 0)
                case .integer(let value): try writer.writeInteger(value)
                case .real(let value): try writer.writeReal(value)
                case .text(let text):
                    try text.withUTF8Span { (span) throws(StreamError) in try writer.writeString(span) }
                case .blob(let bytes):
                    try bytes.withRawSpan { (span) throws(StreamError) in try writer.writeData(span) }
                }
            }
            try writer.endDictionary()
        } catch {
            throw located(error)
        }
        rowCount += 1
    }

    func finish(_ warnings: Warnings) throws(StreamError) {
        do throws(StreamError) {
            try writer.endArray()
            try writer.finish()
        } catch {
            throw located(error)
        }
        notes.add(to: warnings, at: path) { columns[$0].name }
        for (column, count) in zip(columns, counts) where count > 0 && count < rowCount {
            warnings.add(
                "members that are missing get the default of the column \(column.name)", at: path,
                count: rowCount - count)
        }
    }

    /// What the declared type of a column makes of a field: its text, or its number.
    private func field(_ item: RowValue, in column: Int) -> RowValue {
        guard case .text(let text) = item.value else {
            guard columns[column].affinity == .text, let text = item.fieldText else { return item }
            return RowValue(key: item.key, value: .text(text))
        }
        guard ![.text, .blob].contains(columns[column].affinity), NumericText.isNumber(text) else { return item }
        let value: SQLiteValue
        if let integer = Int64(text) {
            value = .integer(integer)
        } else if let real = Double(text), text.withUTF8Span({ NumberText.hasDigits(of: $0, real) }) {
            value = .real(real)
        } else {
            return item
        }
        let item = RowValue(key: item.key, value: value)
        if item.fieldText != text { notes.add(.spelling, in: column, row: rowCount) }
        return item
    }

    /// What is to be said of a value, since it may come back as another one.
    private func note(_ item: RowValue, in column: Int) -> RowNotes.Kind? {
        let isBoolean = columns[column].isBoolean
        switch (item.origin, item.value) {
        case (.container, _): return .container
        case (.bool, _): return isBoolean ? nil : .bool
        case (.cell, .null): return column == rowID ? .rowID : nil
        case (.cell, _): return isBoolean ? .besideBools : nil
        }
    }

    /// Throws for a value that the column would turn into another one.
    private func checkIsKept(_ item: RowValue, in column: SQLiteColumn) throws(StreamError) {
        guard let found = column.affinity.change(of: item.value) else { return }
        throw StreamError(
            .unrepresentable, "expected a value that a column of \(column.declaredType) keeps, found \(found)",
            path: StreamPath([.index(rowCount), .key(item.key)]))
    }

    /// The error with the place in the input; a row that the table refuses is the input's fault, not the output's.
    private func located(_ error: StreamError) -> StreamError {
        let place = error.path.map { StreamPath(path.steps + $0.steps) } ?? path
        let code = error.sqliteError?.code
        let isOfARow = [SQLiteResultCode.constraint, .mismatch, .tooBig].contains(code)
        let kind = isOfARow ? StreamError.Kind.unrepresentable : error.kind
        let message = isOfARow ? error.sqliteError?.message ?? error.message : error.message
        return StreamError(kind, message, position: error.position, path: place, cause: error.cause)
    }
}

extension SQLiteColumn {
    /// A Boolean value that indicates whether 0 and 1 are false and true, as `SQLiteReadingOptions` has it.
    var isBoolean: Bool { ["BOOL", "BOOLEAN"].contains(declaredType.uppercased()) }
}

extension SQLiteColumn.Affinity {
    // SPEC: https://sqlite.org/datatype3.html section 3. An integer that becomes the equal real, or the reverse, stays what it is.
    /// What a value is that a column would not keep; nil for one that it does.
    ///
    /// Stricter than `SQLiteTableWriter`, for which an integer and its digits are the same: in JSON they are not.
    fileprivate func change(of value: SQLiteValue) -> String? {
        switch (self, value) {
        case (.blob, _), (_, .null), (_, .blob), (.text, .text): return nil
        case (.text, _): return "a number"
        case (_, .text(let text)): return NumericText.isNumber(text) ? "text that is a number" : nil
        case (_, .real(let value)): return value == 0 && value.sign == .minus ? "-0.0" : nil
        case (.real, .integer(let value)): return Double(exactly: value) == nil ? "an integer that no real holds" : nil
        case (_, .integer): return nil
        }
    }
}

extension [UInt8] {
    /// Calls a closure with the bytes.
    func withRawSpan(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) {
        let result = withUnsafeBytes { bytes in
            Result { () throws(StreamError) in try body(bytes.bytes) }
        }
        try result.get()
    }
}
