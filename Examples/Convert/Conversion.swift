// Runs one conversion by connecting the reader of one format to the writer of another. A new format needs a case in
// `read` and one in `write`. Each reader can then send its values to each writer.

import JSONStreaming
import PlistStreaming
import SQLiteStreaming

/// A conversion of one input to one output.
struct Conversion {
    let arguments: Arguments
    let warnings = Warnings()
    /// A Boolean value that indicates whether the conversion waits until the output is on the disk.
    private let isDurable: Bool

    init(_ arguments: Arguments, isDurable: Bool = true) {
        self.arguments = arguments
        self.isDurable = isDurable
    }

    // MARK: Existing outputs

    /// Checks that only the files that the command line names are overwritten. Reads a few bytes of the output.
    func check() throws(UsageError) {
        // Opening the file reports access errors.
        guard let place = try? OutputPlace(arguments.output) else { return }
        let output = arguments.output
        if arguments.to == .sqlite {
            switch place {
            case .file, .missing: break
            case .descriptor, .special:
                throw UsageError(message: "a database is written to a file, but \(output) isn't one")
            }
        }
        try checkIsNotRead(place)
        guard let state = place.state, state.size > 0 else { return }
        let isDatabase = (try? DatabaseInput.header(ofFile: output)).map(DatabaseInput.isDatabase) ?? false
        guard arguments.existing == .keep, isDatabase || arguments.to == .sqlite else { return }
        throw UsageError(
            message: isDatabase
                ? "the database \(output) exists; use --replace, or --append to add to it"
                : "the file \(output) exists and isn't a database; use --replace")
    }

    /// Checks that the input isn't an output that is overwritten during the conversion, instead of being replaced at
    /// its end.
    private func checkIsNotRead(_ place: OutputPlace) throws(UsageError) {
        if case .file = place, arguments.from != .sqlite, arguments.to != .sqlite { return }
        let input = arguments.input == "-" ? .descriptor(0) : try? OutputPlace(arguments.input)
        guard let read = input?.openState, let written = place.openState, read.isSameFile(written) else { return }
        throw UsageError(message: "the input and the output are the same file: \(arguments.output)")
    }

    // MARK: Converting

    /// Converts the input. The output appears when it is complete. After an error, it doesn't appear.
    func run() throws(StreamError) {
        if arguments.to == .sqlite {
            let place = try OutputPlace(arguments.output)
            if arguments.existing == .append, place.state?.size ?? 0 > 0 { return try append(to: place) }
            let output = try OutputFile(place, options: outputOptions(isNamed: true))
            try output.checkIsNoOpenDatabase()
            let left = output.abandonedFiles()
            if !left.isEmpty {
                warnings.add(
                    "interrupted conversions have left files, which you can remove: \(Warnings.list(left))")
            }
            try fill(output.writtenPath, isScratch: true)
            try output.checkIsNoOpenDatabase()
            return try output.commit()
        }
        let database = try openDatabase()
        defer { database?.close() }
        let source = try source(in: database)
        let output = try OutputFile(path: arguments.output, options: outputOptions())
        try TextOutput(descriptor: output.descriptor, arguments, warnings).write(source)
        try output.commit()
    }

    /// Opens the input if it is a database.
    private func openDatabase() throws(StreamError) -> DatabaseInput? {
        arguments.from == .sqlite ? try DatabaseInput(path: arguments.input) : nil
    }

    private func source(in database: DatabaseInput?) throws(StreamError) -> any ValueSource {
        if let database { return try TableSource(database, arguments, warnings) }
        return try TextSource(arguments, warnings)
    }

    private func outputOptions(isNamed: Bool = false) -> OutputFile.Options {
        var options = OutputFile.Options()
        (options.isNamed, options.isDurable) = (isNamed, isDurable)
        options.noteTemporaryName = Interruption.remove
        return options
    }

    // MARK: To a database

    /// Adds to an existing database, in one transaction.
    private func append(to place: OutputPlace) throws(StreamError) {
        let header: [UInt8]
        do throws(StreamError) { header = try DatabaseInput.header(ofFile: arguments.output) } catch {
            throw StreamError(.cannotWrite, error.message)
        }
        guard DatabaseInput.isDatabase(header) else {
            throw StreamError(.cannotWrite, "expected a SQLite database to add to, found another file")
        }
        if case .file(let path, _) = place {
            Interruption.report(
                "\(arguments.output): warning: interrupted; SQLite undoes the additions, with the help of \(path)-journal, when a "
                    + "program that may write opens the database\n", ifThereIs: "\(path)-journal")
        }
        defer { Interruption.remove(nil) }
        try fill(arguments.output, isScratch: false)
    }

    /// Writes all values of the input to a database, in one transaction.
    /// - Parameter isScratch: A Boolean value that indicates whether the file is new and only this process uses it.
    private func fill(_ path: String, isScratch: Bool) throws(StreamError) {
        let database = try openDatabase()
        defer { database?.close() }
        let options = DatabaseCopy.options(.readWrite, isScratch: isScratch)
        let connection = try throwing(.cannotWrite, SQLiteConnection(path: path, options: options))
        // Close it before the source, because the source may be attached to it.
        defer { try? connection.close() }
        if let database, arguments.query == nil {
            let names = try database.tableNames(only: arguments.table)
            let copy = DatabaseCopy(source: database, target: connection, warnings: warnings)
            if isScratch, arguments.table == nil { return try copy.copyAll() }
            try copy.attach()
            return try transaction(connection) { () throws(StreamError) in
                // A table may precede a table that it refers to.
                try throwing(.cannotWrite, connection.run("PRAGMA defer_foreign_keys = ON"))
                try add(names, by: copy)
            }
        }
        let source = try source(in: database)
        try transaction(connection) { () throws(StreamError) in
            let writer = DatabaseWriter(
                connection, table: arguments.table,
                isSequence: arguments.from.isSequence && arguments.records == nil,
                isOfFields: arguments.from.isDelimited, warnings: warnings)
            try source.send(to: writer)
            try writer.finish()
        }
    }

    private func transaction(
        _ connection: SQLiteConnection, _ body: () throws(StreamError) -> Void
    ) throws(StreamError) {
        try throwing(.cannotWrite, connection.begin())
        do throws(StreamError) {
            try body()
            try throwing(.cannotWrite, connection.commit())
        } catch {
            try? connection.rollBack()
            throw error
        }
    }

    /// Copies the missing tables, and adds the rows of the other tables.
    private func add(_ names: [String], by copy: DatabaseCopy) throws(StreamError) {
        if names.isEmpty {
            throw StreamError(
                .unrepresentable, "expected a table that --append can add, found none; add a view with --table")
        }
        if arguments.table == nil { try TableSource.warnOfViews(copy.source, warnings) }
        for name in names {
            if try !throwing(.cannotWrite, copy.target.isInFile(name)) {
                if try copy.copyTable(name) { continue }
                warnings.add("\(name), a view or a virtual table, becomes an ordinary one")
            }
            let writer = DatabaseWriter(copy.target, table: name, isSequence: false, warnings: warnings)
            var sink: ValueSink = writer
            try copy.source.connection.query(table: name, into: &sink)
            try writer.finish()
        }
    }
}
