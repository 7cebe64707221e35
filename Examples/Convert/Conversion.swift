// One conversion: a reader for the one format, a writer for the other, and what joins them.
// A new format adds a case to `read` and one to `write`; each reader then feeds each writer.

import JSONStreaming
import PlistStreaming
import SQLiteStreaming

/// A conversion of one input to one output.
struct Conversion {
    let arguments: Arguments

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    /// Converts; the output appears when it is complete, or not at all.
    func run() throws(StreamError) {
        let input = arguments.input == "-" ? InputFile(descriptor: 0) : try InputFile(path: arguments.input)
        let output = try OutputFile(path: arguments.output, isNamed: arguments.to == .sqlite)
        if arguments.to == .sqlite {
            try output.checkIsNoOpenDatabase()
            try writeDatabase(from: input, to: output.writtenPath)
            try output.checkIsNoOpenDatabase()
        } else {
            try write(from: input, to: output.descriptor)
        }
        try output.commit()
    }

    /// Makes the writer and lets the reader feed it.
    private func write(from input: borrowing InputFile, to descriptor: Int32) throws(StreamError) {
        switch arguments.to {
        case .json:
            var writer = JSONWriter(
                descriptor: descriptor,
                options: JSONWriterOptions(
                    layout: arguments.isPretty ? .pretty(indent: 2) : .compact, sortsKeys: arguments.sortsKeys))
            // The values of a sequence become the elements of one array.
            if arguments.from.isSequence { try writer.beginArray() }
            try read(input, into: &writer)
            if arguments.from.isSequence { try writer.endArray() }
            try writer.finish()
        case .jsonLines:
            let options = JSONWriterOptions(sortsKeys: arguments.sortsKeys, isSequence: true)
            let writer = JSONWriter(descriptor: descriptor, options: options)
            if arguments.from.isSequence {
                var writer = writer
                try read(input, into: &writer)
                try writer.finish()
            } else {
                var elements = RootElements(writer)
                try read(input, into: &elements)
                try elements.target.finish()
            }
        case .sqlite:
            throw StreamError(.misuse, "a database is not written to a descriptor")
        }
    }

    /// Makes a database of all that is read, in one transaction.
    private func writeDatabase(from input: borrowing InputFile, to path: String) throws(StreamError) {
        do throws(SQLiteError) {
            // The file is nobody else's and is thrown away after an error: a journal would be for nothing.
            let connection = try SQLiteConnection(
                path: path, options: SQLiteOptions(journalMode: .off, synchronization: .off))
            try connection.begin()
            var tables = DatabaseWriter(
                connection, table: arguments.table ?? "rows", isSequence: arguments.from.isSequence)
            do throws(StreamError) { try read(input, into: &tables) } catch { throw SQLiteError(error) }
            try tables.finish()
            try connection.commit()
        } catch {
            throw error.streamError(.cannotWrite)
        }
    }

    /// Sends one table as the array of its rows, several as a dictionary of arrays.
    private func readDatabase<Sink: PlistSink & ~Copyable>(into sink: inout Sink) throws(StreamError) {
        do throws(SQLiteError) {
            let connection = try SQLiteConnection(path: arguments.input, options: SQLiteOptions(access: .readOnly))
            // One transaction, so that all tables are of the same moment.
            try connection.begin(.deferred)
            var names = try connection.tableNames()
            if let table = arguments.table {
                guard try connection.hasTable(table) else { throw SQLiteError(.error, "no such table: \(table)") }
                names = [table]
            }
            // A table of another database keeps its name, also when it is the only one.
            if names.count == 1, arguments.to != .sqlite { return try send(names[0], of: connection, to: &sink) }
            try stream { () throws(StreamError) in try sink.beginDictionary() }
            for name in names {
                try stream { () throws(StreamError) in
                    try name.withUTF8Span { (span) throws(StreamError) in try sink.writeKey(span) }
                }
                do throws(SQLiteError) {
                    try send(name, of: connection, to: &sink)
                } catch {
                    throw arguments.to == .sqlite ? error : Self.error(error, within: name)
                }
            }
            try stream { () throws(StreamError) in try sink.endDictionary() }
        } catch {
            throw error.streamError(.cannotRead)
        }
    }

    private func send<Sink: PlistSink & ~Copyable>(
        _ table: String, of connection: SQLiteConnection, to sink: inout Sink
    ) throws(SQLiteError) {
        try stream { () throws(StreamError) in
            try connection.query("SELECT * FROM \(SQLText.quoted(table))", into: &sink)
        }
    }

    /// The error about a row with the name of its table in front of the path.
    private static func error(_ error: SQLiteError, within table: String) -> SQLiteError {
        let refusal = error.streamError(.cannotRead)
        guard refusal.sqliteError == nil, let path = refusal.path else { return error }
        let outer = StreamPath([.key(table)] + path.steps)
        return SQLiteError(StreamError(refusal.kind, refusal.message, position: refusal.position, path: outer))
    }

    private func stream(_ body: () throws(StreamError) -> Void) throws(SQLiteError) {
        do throws(StreamError) { try body() } catch { throw SQLiteError(error) }
    }

    /// Checks the first bytes, since SQLite takes a file of a few bytes, whatever they are, for a database without tables.
    private func checkIsDatabase(_ input: borrowing InputFile) throws(StreamError) {
        var isDatabase = true
        do throws(StreamError) {
            try input.readChunks(of: 16) { bytes throws(StreamError) in
                isDatabase = bytes.equals("SQLite format 3\0")
                throw .stopRequest()
            }
        } catch {
            guard error.isStopRequest else { throw error }
        }
        guard isDatabase else { throw StreamError(.invalidSyntax, "expected a SQLite database, found another file") }
    }

    /// Makes the reader and feeds the sink with all of the input.
    private func read<Sink: PlistSink & ~Copyable>(
        _ input: borrowing InputFile,
        into sink: inout Sink
    ) throws(StreamError) {
        var progress = Progress(totalByteCount: input.byteCount)
        defer { progress.finish() }
        switch arguments.from {
        case .json, .jsonLines:
            var scanner = JSONScanner(options: JSONReaderOptions(isSequence: arguments.from.isSequence))
            try input.readChunks { chunk throws(StreamError) in
                try scanner.scan(chunk, into: &sink)
                progress.advance(by: chunk.byteCount)
            }
            try scanner.finish(into: &sink)
        case .sqlite:
            try checkIsDatabase(input)
            try readDatabase(into: &sink)
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension Conversion: SelfTesting {
    static var testSelectors: TestSelectors { ["testNamesTheTableOfABadRow": testNamesTheTableOfABadRow] }

    private static func testNamesTheTableOfABadRow() throws {
        let directory = try temporaryDirectory()
        let input = "\(directory)/in.db"
        let connection = try SQLiteConnection(path: input, options: SQLiteOptions(access: .create))
        try connection.execute("CREATE TABLE a (x); CREATE TABLE b (y); INSERT INTO b VALUES (1), (1e999)")
        for (words, path) in [([], "$.b[1].y"), (["--table", "b"], "$[1].y")] {
            let arguments = try Arguments([input, "\(directory)/out.json"] + words)
            let error = expectThrows(StreamError.self, "infinity") { try Conversion(arguments).run() }
            expectEqual(error?.description, "\(path): JSON has no number for Infinity", "with \(words)")
        }
    }
}
#endif
