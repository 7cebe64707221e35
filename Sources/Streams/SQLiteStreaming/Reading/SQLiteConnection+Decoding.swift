// Decodes rows as values of `Decodable` types that aren't bound to streams.

import PlistBuilding
import PlistCoding
import PlistStreaming

extension SQLiteConnection {
    /// Runs a statement and decodes its rows as values of a `Decodable` type, whose coding keys name the columns.
    ///
    /// ```swift
    /// struct Album: Decodable { var id: Int; var title: String; var year: Int? }
    /// let albums = try connection.fetchAll("SELECT id, title, year FROM albums", as: Album.self)
    /// ```
    /// For null, `decodeIfPresent` returns nil. Booleans and dates follow the mappings of the options. A type that is also
    /// bound to streams is read by its binding, which is many times faster.
    /// - Throws: ``SQLiteError`` for errors of SQLite; `DecodingError` with the row and the column in its path, or the type's
    ///   own error.
    /// - Complexity: O(cells); all cells are kept until the last value is decoded.
    @_disfavoredOverload
    public func fetchAll<Row: Decodable>(
        _ sql: String, _ parameters: SQLiteParameters = .none, as type: Row.Type,
        options: SQLiteReadingOptions = SQLiteReadingOptions(), decodingOptions: DecodingOptions = DecodingOptions()
    ) throws -> [Row] {
        // SAFETY: without input, the tape copies all text.
        var tape = unsafe DecodingTape(input: UnsafeRawBufferPointer(start: nil, count: 0))
        try SQLiteError.of { () throws(StreamError) in try query(sql, parameters, options: options, into: &tape) }
        return try tape.decode([Row].self, options: options.decoding(decodingOptions))
    }

    /// Runs a statement and returns its rows as values of a `Decodable` type, each decoded on request.
    ///
    /// ```swift
    /// let rows = try connection.fetchCursor("SELECT id, title, year FROM albums", as: Album.self)
    /// while let album = try rows.next() { print(album.title) }
    /// ```
    /// If the type rejects a row, ``SQLiteRows/next()`` throws an error whose `streamError` has the `DecodingError` as its
    /// cause.
    /// - Throws: A syntax error; an error of binding the values; `misuse` for a statement that changes rows.
    @_disfavoredOverload
    public func fetchCursor<Row: Decodable>(
        _ sql: String, _ parameters: SQLiteParameters = .none, as type: Row.Type,
        options: SQLiteReadingOptions = SQLiteReadingOptions(), decodingOptions: DecodingOptions = DecodingOptions()
    ) throws(SQLiteError) -> SQLiteRows<Row> {
        try SQLiteRows(try readingStatement(sql, parameters), options) { () throws(StreamError) in
            let decoder = try RowDecoder(type, options.decoding(decodingOptions))
            return { (cursor) throws(StreamError) in try decoder.row(of: cursor) }
        }
    }

    /// Runs a statement and decodes its first row as a value of a `Decodable` type, or returns nil if it has no rows.
    ///
    /// - Throws: The errors of ``fetchAll(_:_:as:options:decodingOptions:)``; `misuse` for a statement that changes rows.
    @_disfavoredOverload
    public func fetchOne<Row: Decodable>(
        _ sql: String, _ parameters: SQLiteParameters = .none, as type: Row.Type,
        options: SQLiteReadingOptions = SQLiteReadingOptions(), decodingOptions: DecodingOptions = DecodingOptions()
    ) throws -> Row? {
        let rows = try fetchCursor(sql, parameters, as: type, options: options, decodingOptions: decodingOptions)
        do throws(SQLiteError) { return try rows.next() } catch { throw error.streamError?.cause ?? error }
    }
}

/// Decodes rows one by one.
private final class RowDecoder<Row: Decodable> {
    private final class Decoded { var row: Row? }

    private let decoded = Decoded()
    private var records: RecordTape

    init(_ type: Row.Type, _ options: DecodingOptions) throws(StreamError) {
        records = RecordTape(type, options: options) { [decoded] row throws(StreamError) in decoded.row = row }
        try records.beginArray()
    }

    func row(of cursor: RowCursor) throws(StreamError) -> Row {
        try cursor.sendRow(to: &records)
        guard let row = decoded.row else { throw StreamError(.unexpectedEnd, "the row is not complete") }
        decoded.row = nil
        return row
    }
}

extension SQLiteReadingOptions {
    /// Returns the options for decoding messages that are read with these options.
    fileprivate func decoding(_ options: DecodingOptions) -> DecodingOptions {
        var copy = options
        if numericDates == .secondsSince1970 { copy.nativeDateOrigin = -secondsFrom1970To2001 }
        return copy
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum DecodingTests {}

extension DecodingTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testDecodesRowsIntoCodableTypes": testDecodesRowsIntoCodableTypes,
            "testPrefersBindings": testPrefersBindings,
            "testReportsLocationOfDecodingErrors": testReportsLocationOfDecodingErrors,
        ]
    }

    private struct Album: Decodable, Equatable {
        enum CodingKeys: String, CodingKey {
            case id
            case title
            case released = "year"
            case isLive = "live"
            case cover
        }
        var id: Int
        var title: String
        var released: Int?
        var isLive: Bool
        var cover: Double
    }

    private static func albums() throws -> SQLiteConnection {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            """
            CREATE TABLE albums (id INTEGER PRIMARY KEY, title TEXT, year INTEGER, live BOOLEAN, cover REAL);
            INSERT INTO albums VALUES (1, 'größer als fünfzehn Bytes', 1973, 1, 0.5), (2, '', NULL, 0, -1)
            """)
        return connection
    }

    private static func testDecodesRowsIntoCodableTypes() throws {
        let connection = try albums()
        let expected = [
            Album(id: 1, title: "größer als fünfzehn Bytes", released: 1973, isLive: true, cover: 0.5),
            Album(id: 2, title: "", released: nil, isLive: false, cover: -1),
        ]
        expectEqual(try connection.fetchAll("SELECT * FROM albums", as: Album.self), expected, "by a scan")
        expectEqual(
            try connection.fetchAll("SELECT * FROM albums WHERE id > ? ORDER BY id", [1], as: Album.self),
            [expected[1]],
            "by stepping")
        expectEqual(try connection.fetchAll("SELECT * FROM albums WHERE 0", as: Album.self), [], "no rows")
        expectEqual(try connection.fetchOne("SELECT * FROM albums", as: Album.self), expected[0], "the first row")
        expectEqual(
            try connection.fetchOne("SELECT * FROM albums WHERE id > ?", [1], as: Album.self), expected[1], "a row")
        expectNil(try connection.fetchOne("SELECT * FROM albums WHERE 0", as: Album.self), "no row")
        let rows = try connection.fetchCursor("SELECT * FROM albums", as: Album.self)
        for album in expected + [nil, nil] as [Album?] { expectEqual(try rows.next(), album, "by a cursor") }
        let second = try connection.fetchCursor("SELECT * FROM albums WHERE id > ?", [1], as: Album.self)
        expectEqual(try second.next(), expected[1], "a row of a cursor with a parameter")
        expectNil(try second.next(), "the last row")
        expectThrows(DecodingError.self, "another type") {
            _ = try connection.fetchOne("SELECT title AS id FROM albums", as: Album.self)
        }
        // The statement has ended, so other statements can change the table.
        try connection.execute("DROP TABLE albums")
    }

    private struct Bound: StreamObject, Decodable {
        var id = 0
        init() {}
        init(from decoder: any Decoder) throws { id = -1 }
    }

    private static func testPrefersBindings() throws {
        expectEqual(try albums().fetchAll("SELECT id FROM albums", as: Bound.self).map(\.id), [1, 2], "ids")
        expectEqual(try albums().fetchOne("SELECT id FROM albums", as: Bound.self)?.id, 1, "the first one")
        expectEqual(try albums().fetchCursor("SELECT id FROM albums", as: Bound.self).next()?.id, 1, "by a cursor")
    }

    private static func testReportsLocationOfDecodingErrors() throws {
        let connection = try albums()
        let error = expectThrows(DecodingError.self, "text for an integer") {
            _ = try connection.fetchAll(
                "SELECT *, title AS id FROM albums WHERE id = 1", as: Album.self, options: .keeping)
        }
        guard case .typeMismatch(_, let context)? = error else { return fail("another error: \(error as Any)") }
        expectEqual(context.codingPath.map(\.stringValue).last, "id", "the column")
        expectEqual(context.codingPath.first?.intValue, 0, "the row")
        let rows = try connection.fetchCursor("SELECT 1 AS id, title AS live FROM albums", as: Album.self)
        for _ in 0..<2 {
            let refused = expectThrows(SQLiteError.self, "text for a Boolean") { _ = try rows.next() }
            expectTrue(refused?.streamError?.cause is DecodingError, "the cause of \(refused as Any)")
            expectEqual(refused?.streamError?.path?.description, "$[0]", "the row")
        }
        // The changes are committed or rejected only after the last row.
        for change in ["DELETE FROM albums RETURNING *", "UPDATE albums SET id = id RETURNING *"] {
            let errors = [
                expectThrows(SQLiteError.self, change) { _ = try connection.fetchCursor(change, as: Album.self) },
                expectThrows(SQLiteError.self, change) { _ = try connection.fetchOne(change, as: Album.self) },
            ]
            expectEqual(errors.map { $0?.code }, [.misuse, .misuse], "codes of \(change)")
        }
        let syntax = expectThrows(SQLiteError.self, "no such table") {
            _ = try connection.fetchAll("SELECT * FROM nowhere", as: Album.self)
        }
        expectEqual(syntax?.message, "no such table: nowhere", "message")
    }
}

extension SQLiteReadingOptions {
    /// If columns have the same name, the last one is used.
    fileprivate static var keeping: SQLiteReadingOptions { SQLiteReadingOptions(duplicateNames: .keep) }
}
#endif
