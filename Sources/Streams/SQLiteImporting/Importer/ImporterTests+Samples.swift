// The shared helpers of the import tests: values that send themselves, and tables of people.

#if DEBUG || IN_CLASS_TESTS
import PlistStreaming
import SQLiteStreaming

/// A value for tests that sends itself. Dictionaries keep their order and can contain a key twice.
indirect enum ImportSample: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByStringLiteral, ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral
{
    case null
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case real(Double)
    case number(String)
    case text(String)
    case data([UInt8])
    case date(Double)
    case array([ImportSample])
    case record([(String, ImportSample)])

    init(nilLiteral: ()) { self = .null }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }
    init(floatLiteral value: Double) { self = .real(value) }
    init(stringLiteral value: String) { self = .text(value) }
    init(arrayLiteral elements: ImportSample...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, ImportSample)...) { self = .record(elements) }

    func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        switch self {
        case .null: try sink.writeNull()
        case .bool(let value): try sink.writeBool(value)
        case .integer(let value): try sink.writeInteger(value)
        case .unsigned(let value): try sink.writeUnsigned(value)
        case .real(let value): try sink.writeReal(value)
        case .number(let text): try text.withUTF8Span { (span) throws(StreamError) in try sink.writeNumber(text: span) }
        case .text(let text): try text.withUTF8Span { (span) throws(StreamError) in try sink.writeString(span) }
        case .data(let bytes):
            // SAFETY: the span does not leave the closure.
            try unsafe bytes.withUnsafeBufferPointer { (buffer) throws(StreamError) in
                try unsafe sink.writeData(UnsafeRawBufferPointer(buffer).bytes)
            }
        case .date(let seconds): try sink.writeDate(secondsSince2001: seconds)
        case .array(let elements):
            try sink.beginArray()
            for element in elements { try element.send(to: &sink) }
            try sink.endArray()
        case .record(let members):
            try sink.beginDictionary()
            for (key, value) in members {
                try key.withUTF8Span { (span) throws(StreamError) in try sink.writeKey(span) }
                try value.send(to: &sink)
            }
            try sink.endDictionary()
        }
    }
}

/// The tables of the tests: a person has phones and works for a company.
enum ImportFixture {
    static let schema = """
        CREATE TABLE company (id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, title TEXT);
        CREATE TABLE person (id INTEGER PRIMARY KEY, first_name TEXT NOT NULL DEFAULT 'nobody', height REAL,
            company_id INTEGER REFERENCES company (id));
        CREATE TABLE phone (number TEXT NOT NULL UNIQUE, kind TEXT, person_id INTEGER REFERENCES person (id));
        CREATE INDEX phone_person ON phone (person_id);
        """

    static func people(
        policy: ImportRelationship.Policy = .merge, orphans: ImportRelationship.OrphanPolicy = .unlink
    ) -> ImportTable {
        ImportTable(
            "person", uniqueKey: ["id"],
            columns: [
                .integer("id"), .text("first_name", from: "firstName"),
                .real("height").checked("a height below 3") { ($0.real ?? 0) < 3 },
            ],
            relationships: [
                .toMany(
                    "phones", ImportTable("phone", uniqueKey: ["number"], columns: [.text("number"), .text("kind")]),
                    foreignKey: ["person_id"], policy: policy, orphans: orphans),
                .toOne(
                    "company", ImportTable("company", uniqueKey: ["code"], columns: [.text("code"), .text("title")]),
                    foreignKey: ["company_id"], references: ["id"]),
            ])
    }

    static func connection(_ file: TemporaryDatabase, _ schema: String = schema) throws(SQLiteError) -> SQLiteConnection
    {
        let connection = try file.open()
        try connection.execute("PRAGMA synchronous = OFF;" + schema)
        return connection
    }

    static func run(
        _ sample: ImportSample, _ table: ImportTable, _ connection: SQLiteConnection,
        _ options: ImportOptions = ImportOptions()
    ) throws -> ImportReport {
        var importer = try Importer(table, into: connection, options: options)
        try sample.send(to: &importer)
        return try importer.finish()
    }

    /// Returns all rows of a query in one line: `1|a|- 2|b|-`.
    static func rows(_ sql: String, _ connection: SQLiteConnection) throws -> String {
        let statement = try connection.prepare(sql)
        var rows: [String] = []
        while try statement.step() {
            rows.append(
                try (0..<statement.columnCount).map { try statement.text(at: $0) ?? "-" }.joined(separator: "|"))
        }
        return rows.joined(separator: " ")
    }

    static let everything =
        "SELECT 'p', id, first_name, height FROM person UNION ALL "
        + "SELECT 'n', number, kind, person_id FROM phone ORDER BY 1 DESC, 2"
}
#endif
