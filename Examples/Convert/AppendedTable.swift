// A table that gets rows: one that is there already, to which they are added, or one that is made of them.

import PlistStreaming
import SQLiteStreaming

/// A table that rows are put into, one after another.
protocol RowTable: AnyObject {
    var name: String { get }
    var rowCount: Int { get }
    /// Puts a row into the table.
    func insert(_ row: [RowValue]) throws(StreamError)
    /// Ends it, and says what of its rows was changed.
    func finish(_ warnings: Warnings) throws(StreamError)
}

extension RowTable {
    func isNamed(_ name: String) -> Bool { self.name.utf8.elementsEqual(name.utf8) }
}

/// A table that is there, with the columns that it has; members that are missing get the defaults that it declares.
final class AppendedTable: RowTable {
    let name: String
    private let path: StreamPath
    private var writer: SQLiteTableWriter
    private(set) var rowCount = 0
    private var containers: [String: (first: Int, count: Int)] = [:]

    init(_ connection: SQLiteConnection, name: String, path: StreamPath) throws(StreamError) {
        self.name = name
        self.path = path
        do throws(SQLiteError) {
            writer = try SQLiteTableWriter(connection, table: name)
        } catch {
            throw error.streamError(.cannotWrite)
        }
        try writer.beginArray()
    }

    func insert(_ row: [RowValue]) throws(StreamError) {
        do throws(StreamError) {
            try writer.beginDictionary()
            for item in row {
                try item.key.withUTF8Span { (key) throws(StreamError) in try writer.writeKey(key) }
                if item.origin == .container { containers[item.key, default: (rowCount, 0)].count += 1 }
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
        for (key, found) in containers.sorted(by: { $0.key < $1.key }) {
            warnings.add(
                "in the column \(key), arrays and dictionaries become text, their json",
                at: path.element(found.first).member(key), count: found.count)
        }
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

extension [UInt8] {
    fileprivate func withRawSpan(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) {
        let result = withUnsafeBytes { bytes in
            Result { () throws(StreamError) in try body(bytes.bytes) }
        }
        try result.get()
    }
}
