// The in-class tests of rows that are read into types whose members are not their stored properties one to one.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum RowFillerTests {
    struct Inner: StreamObject, Equatable {
        var a = 1
        var note = "a default of more than fifteen bytes"
    }

    /// A part of a stored property is a member, the rest is none.
    struct Part: StreamObject, Equatable {
        var inner = Inner()
        var b = 2
        static var streamMembers: StreamMembers { [.member("a", \Part.inner.a), .member("b", \Part.b)] }
    }

    /// Two names of one property.
    struct Aliases: StreamObject, Equatable {
        var name = "a default of more than fifteen bytes"
        var id = 0
        static var streamMembers: StreamMembers {
            [.member("name", \Aliases.name), .member("title", \Aliases.name), .member("id", \Aliases.id)]
        }
    }

    struct Amount: StreamConvertible, Equatable {
        var cents = 0
        init(cents: Int) { self.cents = cents }
        init(streamForm: Int) throws(StreamError) { cents = streamForm }
        var streamForm: Int { cents }
    }

    struct Item: StreamObject, Equatable {
        var price = Amount(cents: 1)
        var count = 2
    }
}

extension RowFillerTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAssignsPartsOfProperties": testAssignsPartsOfProperties,
            "testLastColumnOfAPropertyWins": testLastColumnOfAPropertyWins,
            "testConditionsAreOfWholeProperties": testConditionsAreOfWholeProperties,
        ]
    }

    /// Reads a table's rows by steps and by a scan.
    private static func expectRows<Row: StreamObject & Equatable>(
        _ setup: String, _ expected: [Row], line: UInt = #line
    ) throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(setup)
        let statement = try connection.prepare("SELECT * FROM t")
        expectEqual(try statement.values(as: Row.self), expected, "stepped", line: line)
        let scan = RowScan(statement, .none, SQLiteReadingOptions())
        expectNotNil(scan, "a scan", line: line)
        let scanned = try statement.values(
            as: Row.self, scan: scan, options: SQLiteReadingOptions(), builderOptions: BuilderOptions())
        expectEqual(scanned, expected, "scanned", line: line)
    }

    private static func testAssignsPartsOfProperties() throws {
        try expectRows(
            "CREATE TABLE t (a INTEGER, b INTEGER); INSERT INTO t VALUES (5, 6), (7, 8)",
            [Part(inner: Inner(a: 5), b: 6), Part(inner: Inner(a: 7), b: 8)])
        try expectRows("CREATE TABLE t (b INTEGER); INSERT INTO t VALUES (6)", [Part(b: 6)])
        let connection = try SQLiteConnection.inMemory()
        let error = expectThrows(SQLiteError.self, "text for an integer") {
            _ = try connection.prepare("SELECT 5 AS a, 'x' AS b").values(as: Part.self)
        }
        expectEqual(error?.streamError?.path?.description, "$[0].b", "path")
    }

    private static func testLastColumnOfAPropertyWins() throws {
        let (first, last) = ("the first of more than fifteen bytes", "the last of more than fifteen bytes")
        try expectRows(
            "CREATE TABLE t (name TEXT, title TEXT, id INTEGER); INSERT INTO t VALUES ('\(first)', '\(last)', 3)",
            [Aliases(name: last, id: 3)])
        try expectRows(
            "CREATE TABLE t (title TEXT, id INTEGER, name TEXT); INSERT INTO t VALUES ('\(first)', 3, '\(last)')",
            [Aliases(name: last, id: 3)])
    }

    private static func testConditionsAreOfWholeProperties() throws {
        let items = try SQLiteTable<Item>(try SQLiteConnection.inMemory(), "items")
        try items.insert([Item(), Item(price: Amount(cents: 5))])
        expectEqual(try items.select(where: \.price == Amount(cents: 5)).map(\.count), [2], "a whole property")
        let error = expectThrows(SQLiteError.self, "a part of a property") {
            _ = try items.select(where: \.price.cents == 5)
        }
        expectTrue(
            error?.message.contains("is no stored property that is a column") ?? false, "\(error?.message ?? "")")
    }
}
#endif
