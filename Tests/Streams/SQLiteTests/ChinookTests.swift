// Reads the Chinook database with every sink, copies it, and changes a copy. It is a real file from another project.
// Without it, the tests report it and are skipped.

import Foundation
import JSONStreaming
import PlistBuilding
import PlistStreaming
@_spi(InsertPaths) import SQLiteStreaming
import TestCorpora
import Testing

/// The database of the corpus.
enum Chinook {
    static let path = TestCorpora.place("chinook/chinook.db").path

    static let isThere = FileManager.default.fileExists(atPath: path)

    static func open() throws -> SQLiteConnection {
        try SQLiteConnection(path: path, options: SQLiteOptions(access: .readOnly))
    }

    /// Calls a closure with the path of a writable copy in a separate directory.
    static func withCopy(_ body: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "chinook-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let copy = directory.appending(path: "copy.db").path
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: copy)
        try body(copy)
    }
}

private struct Artist: StreamObject, Equatable {
    var ArtistId = 0
    var Name: String? = nil
}

private struct Track: StreamObject {
    var TrackId = 0
    var Name = ""
    var AlbumId: Int? = nil
    var MediaTypeId = 0
    var GenreId: Int? = nil
    var Composer: String? = nil
    var Milliseconds = 0
    var Bytes: Int? = nil
    var UnitPrice = 0.0
}

@Suite(.serialized, .enabled(if: Chinook.isThere, "there is no database at ../shared/corpora/chinook/chinook.db"))
struct ChinookTests {
    @Test func listsTables() throws {
        let connection = try Chinook.open()
        #expect(
            try connection.tableNames() == [
                "albums", "artists", "customers", "employees", "genres", "invoices", "invoice_items", "media_types",
                "playlists", "playlist_track", "tracks",
            ])
        #expect(try connection.columns(ofTable: "albums").map(\.name) == ["AlbumId", "Title", "ArtistId"])
        #expect(try connection.value("PRAGMA integrity_check") == "ok")
    }

    @Test func readsArtistsIntoEverySink() throws {
        let connection = try Chinook.open()
        let sql = "SELECT * FROM artists"
        let artists = try connection.fetchAll(sql, as: Artist.self)
        #expect(artists.count == 275)
        #expect(artists[0] == Artist(ArtistId: 1, Name: "AC/DC"))
        var tree = PropertyListBuilder()
        try connection.query(sql, into: &tree)
        #expect(try tree.takeResult().count == 275)
        var columns = ColumnsBuilder(["ArtistId": .integer, "Name": .string])
        try connection.query(sql, into: &columns)
        let result = try columns.takeResult()
        #expect((0..<275).allSatisfy { result["Name"]?.string($0) == artists[$0].Name })
        var builder = try ObjectBuilder<[Artist]>()
        try connection.query(sql, into: &builder)
        #expect(try builder.takeResult() == artists)
        var writer = JSONWriter()
        try connection.query(sql, into: &writer)
        try writer.finish()
        var again = try ObjectBuilder<[Artist]>()
        try again.readJSON(writer.text)
        #expect(try again.takeResult() == artists)
    }

    @Test func readsTracksWithEveryType() throws {
        let connection = try Chinook.open()
        let tracks = try connection.fetchAll("SELECT * FROM tracks ORDER BY TrackId", as: Track.self)
        #expect(tracks.count == 3503)
        #expect(tracks.first?.Composer == "Angus Young, Malcolm Young, Brian Johnson")
        #expect(tracks.last?.Composer == "Philip Glass")
        #expect(tracks.last?.Name == "Koyaanisqatsi")
        let total = try connection.value("SELECT sum(Milliseconds) FROM tracks")?.integer
        #expect(Int64(tracks.reduce(0) { $0 + $1.Milliseconds }) == total)
        let nulls = try connection.value("SELECT count(*) FROM tracks WHERE Composer IS NULL")?.integer
        #expect(Int64(tracks.count { $0.Composer == nil }) == nulls)
        #expect(tracks.allSatisfy { $0.UnitPrice == 0.99 || $0.UnitPrice == 1.99 })
        #expect(try connection.value("SELECT LastName FROM customers ORDER BY CustomerId DESC LIMIT 1") == "Srivastava")
    }

    @Test func streamsUntilStopped() throws {
        final class Log { var names: [String] = [] }
        let log = Log()
        var stream = try RecordStream<Artist> { artist throws(StreamError) in
            log.names.append(artist.Name ?? "-")
            if log.names.count == 3 { throw .stopRequest() }
        }
        let error = #expect(throws: StreamError.self) {
            try Chinook.open().query("SELECT * FROM artists", into: &stream)
        }
        #expect(error?.isStopRequest == true)
        #expect(log.names == ["AC/DC", "Accept", "Aerosmith"])
    }

    @Test func checksTypesAgainstTables() throws {
        let connection = try Chinook.open()
        let options = SQLiteTableOptions(primaryKey: ["ArtistId"], missingTable: .reject)
        let artists = try SQLiteTable<Artist>(connection, "artists", options: options)
        #expect(try artists.count(where: .like(\.Name, "a%")) == 26)
        #expect(try artists.fetchOne(where: \.ArtistId == 275)?.Name == "Philip Glass Ensemble")
        struct Wrong: StreamObject {
            var ArtistId = 0
            var Name = 0
        }
        let error = #expect(throws: SQLiteError.self) {
            _ = try SQLiteTable<Wrong>(connection, "artists", options: options)
        }
        #expect(
            error?.message
                == "the table artists does not fit Wrong: the column Name has NVARCHAR(120), expected INTEGER; "
                + "the column Name may be null, but the member isn't optional")
        let write = #expect(throws: SQLiteError.self) { try artists.insert(Artist(ArtistId: 1000)) }
        #expect(write?.code == .readOnly)
    }

    @Test func writesToACopy() throws {
        try Chinook.withCopy { path in
            let connection = try SQLiteConnection(path: path)
            var writer = try SQLiteTableWriter(connection, table: "artists")
            try writer.readJSON(#"[{"Name":"Ärzte"},{"ArtistId":500,"Name":"Die Toten Hosen"}]"#)
            try writer.finish()
            #expect(writer.report.changedRowCount == 2)
            #expect(try connection.value("SELECT Name FROM artists WHERE ArtistId = 276") == "Ärzte")
            let dangling = #expect(throws: StreamError.self) {
                try writer.readJSON(#"[{"Name":"x"},{"ArtistId":500,"Name":"again"}]"#)
            }
            #expect(dangling?.sqliteError?.extendedCode == .constraintPrimaryKey)
            #expect(try connection.value("SELECT count(*) FROM artists") == 277)
            let broken = #expect(throws: StreamError.self) {
                var writer = try SQLiteTableWriter(connection, table: "artists")
                try writer.readJSON(#"[{"Name":"half"},{"Name":"#)
            }
            #expect(broken?.kind == .unexpectedEnd)
            #expect(!connection.isInTransaction)
            #expect(try connection.value("SELECT count(*) FROM artists") == 277)
            let foreign = #expect(throws: SQLiteError.self) {
                try connection.run("INSERT INTO albums (Title, ArtistId) VALUES ('x', 9999)")
            }
            #expect(foreign?.extendedCode == .constraintForeignKey)
            #expect(try connection.value("PRAGMA integrity_check") == "ok")
        }
    }

    @Test(arguments: SQLiteInsertPath.allCases)
    func copiesEveryTable(by path: SQLiteInsertPath) throws {
        let source = try Chinook.open()
        let target = try SQLiteConnection.inMemory(
            options: SQLiteOptions(access: .create, enforcesForeignKeys: false))
        for table in try source.tableNames() {
            let sql = try source.value("SELECT sql FROM sqlite_schema WHERE name = ?", [table])?.text ?? ""
            try target.execute(sql)
            var writer = try SQLiteTableWriter(
                target, table: table, options: SQLiteTableOptions(insertPath: path, batchRowCount: 100))
            try source.query("SELECT * FROM \"\(table)\"", into: &writer)
            try writer.finish()
            var (original, copy) = (EventTrace(), EventTrace())
            try source.query("SELECT * FROM \"\(table)\"", into: &original)
            try target.query("SELECT * FROM \"\(table)\"", into: &copy)
            #expect(original.events == copy.events, "\(table)")
        }
    }
}
