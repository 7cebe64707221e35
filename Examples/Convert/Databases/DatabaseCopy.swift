// Copies from a database to a database: either all of it page by page, or tables with their schema. No value is
// converted to another form.

import PlistStreaming
import SQLiteStreaming

/// A copy of a database, or of some of its tables.
struct DatabaseCopy {
    let source: DatabaseInput
    let target: SQLiteConnection
    let warnings: Warnings

    /// Returns the options of the connection that tables are written to.
    static func options(_ access: SQLiteOptions.Access, isScratch: Bool) -> SQLiteOptions {
        // If only this process uses the file, it is deleted after an error, so it needs no journal. It is written to
        // the disk at the end.
        var options = SQLiteOptions(
            access: access, journalMode: isScratch ? .off : nil, synchronization: isScratch ? .off : nil,
            enforcesForeignKeys: !isScratch)
        options.fileParameters = ""
        return options
    }

    /// Copies the whole database.
    func copyAll() throws(StreamError) {
        do throws(SQLiteError) {
            let pageSize = Int(try source.connection.value("PRAGMA page_size")?.integer ?? 0)
            let progress = Progress(
                total: pageSize * Int(try source.connection.value("PRAGMA page_count")?.integer ?? 0))
            defer { progress.finish() }
            var copied = 0
            try source.connection.backUp(to: target) { count, _ in
                progress.advance(by: (count - copied) * pageSize)
                copied = count
            }
        } catch {
            throw error.blamed
        }
    }

    /// Attaches the source to the connection of the target. Call this function before the transaction of the target.
    func attach() throws(StreamError) {
        do throws(SQLiteError) {
            let encoding = try source.connection.value("PRAGMA encoding")?.text ?? "UTF-8"
            // Only a database without tables accepts the encoding.
            try target.execute("PRAGMA encoding = '\(encoding)'")
            let uri = SQLiteOptions.uri(ofFile: source.path, source.parameters)
            try target.run("ATTACH ? AS source", [uri])
        } catch {
            throw error.blamed
        }
    }

    /// Copies a table. Returns false for a view or a virtual table.
    func copyTable(_ name: String) throws(StreamError) -> Bool {
        do throws(SQLiteError) {
            guard try target.copyTable(name, fromSchema: "source") else { return false }
            try warn(about: name)
            return true
        } catch {
            throw error.blamed
        }
    }

    private func warn(about table: String) throws(SQLiteError) {
        let triggers = try source.names(of: "trigger", onTable: table)
        if !triggers.isEmpty {
            warnings.add("the triggers of the table \(table) are not converted: \(Warnings.list(triggers))")
        }
        let references = try source.connection.rows(ofPragma: "foreign_key_list", table) { (row) throws(SQLiteError) in
            try row.text(at: 2)
        }
        var others: [String] = []
        var known: Set = [SQLiteName.folded(table)]
        for other in references where known.insert(SQLiteName.folded(other)).inserted {
            if try target.value("SELECT 1 FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE", [other]) == nil {
                others.append(other)
            }
        }
        if !others.isEmpty {
            warnings.add("the table \(table) refers to tables that are not converted: \(Warnings.list(others))")
        }
    }
}

extension SQLiteConnection {
    /// Returns whether the file itself has a table or view with a name. Attached databases don't count, and neither do
    /// SQLite's own tables, such as `json_each`, which every database has.
    func isInFile(_ table: String) throws(SQLiteError) -> Bool {
        // SQLite has an index for the columns. The table of all tables has no index, so it is only searched if columns
        // exist.
        let columns = try value("SELECT 1 FROM pragma_table_info(?1, 'main') LIMIT 1", [table])
        if columns == nil { return false }
        let names =
            "SELECT 1 FROM main.sqlite_schema WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE LIMIT 1"
        return try value(names, [table]) != nil
    }
}

/// Returns the value of an expression. Errors of SQLite are thrown as errors of a stream.
@discardableResult
func throwing<Value>(
    _ kind: StreamError.Kind, _ value: @autoclosure () throws(SQLiteError) -> Value
) throws(StreamError) -> Value {
    do throws(SQLiteError) { return try value() } catch { throw error.streamError(kind) }
}

extension SQLiteError {
    /// The error of one of the two databases, as far as its code identifies it. Errors that only occur during writing
    /// belong to the output.
    var blamed: StreamError {
        let isOfReading = [SQLiteResultCode.io.rawValue | 1 << 8, SQLiteResultCode.io.rawValue | 2 << 8]
            .contains(extendedCode.rawValue)
        let isOfWriting = [SQLiteResultCode.full, .readOnly, .cannotOpen, .io].contains(code) && !isOfReading
        return streamError(isOfWriting ? .cannotWrite : .cannotRead)
    }
}
