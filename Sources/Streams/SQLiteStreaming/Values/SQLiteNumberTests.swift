// Tests of numbers sent as text because a double would be inexact. In every way of inserting, the number or its nearest real
// is stored, or the number is rejected.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum SQLiteNumberTests {
    fileprivate struct Reals: StreamObject, Equatable { var a: Double? = nil }
    fileprivate struct OfReal: StreamObject { var a = 0.5 }
    fileprivate struct OfFloat: StreamObject { var a: Float? = 0.5 }
    fileprivate struct OfSmall: StreamObject { var a: UInt8 = 1 }
    fileprivate struct OfPercent: StreamObject { var a = Percent(value: 5) }
    fileprivate struct OfSwitch: StreamObject { var a = Switch(isOn: true) }

    /// A type that clamps the messages it is read from.
    fileprivate struct Percent: StreamRepresentable {
        var value: Int
        init(value: Int) { self.value = value }
        init(representation: Int) throws(StreamError) { value = min(max(representation, 0), 100) }
        var representation: Int { value }
    }

    /// A type that can be read only from true.
    fileprivate struct Switch: StreamRepresentable {
        var isOn: Bool
        init(isOn: Bool) { self.isOn = isOn }
        init(representation: Bool) throws(StreamError) {
            guard representation else { throw StreamError(.unrepresentable, "expected true") }
            isOn = representation
        }
        var representation: Bool { isOn }
    }

    fileprivate struct Integers: StreamObject, Equatable { var a: Int? = nil }
}

extension SQLiteNumberTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testStoresNumbersInUntypedColumns": testStoresNumbersInUntypedColumns,
            "testStoresNumbersExactlyOrRefuses": testStoresNumbersExactlyOrRefuses,
            "testReadsBoundNumbersLikeBuilders": testReadsBoundNumbersLikeBuilders,
            "testWritesNumberMessagesLikeValues": testWritesNumberMessagesLikeValues,
        ]
    }

    private static func write<Sink: PlistSink & ~Copyable>(
        _ script: [(String, String)], to sink: inout Sink
    ) throws(StreamError) {
        try sink.beginArray()
        try sink.beginDictionary()
        for (key, number) in script {
            try key.withUTF8Span { (key) throws(StreamError) in try sink.writeKey(key) }
            try number.withUTF8Span { (number) throws(StreamError) in try sink.writeNumber(text: number) }
        }
        try sink.endDictionary()
        try sink.endArray()
    }

    /// Sends a row with a scalar.
    private static func send<Sink: PlistSink & ~Copyable>(
        _ scalar: ScalarMessage, to sink: inout Sink
    ) throws(StreamError) {
        try sink.beginArray()
        try sink.beginDictionary()
        try "a".withUTF8Span { (key) throws(StreamError) in try sink.writeKey(key) }
        switch unsafe scalar {
        case .bool(let value): try sink.writeBool(value)
        case .integer(let value): try sink.writeInteger(value)
        case .unsigned(let value): try sink.writeUnsigned(value)
        case .real(let value): try sink.writeReal(value)
        case .number(let text): try unsafe sink.writeNumber(text: text.bytes)
        default: try sink.writeNull()
        }
        try sink.endDictionary()
        try sink.endArray()
    }

    private static func testWritesNumberMessagesLikeValues() throws {
        try checkWriter(OfReal.self)
        try checkWriter(OfFloat.self)
        try checkWriter(OfSmall.self)
        try checkWriter(OfPercent.self)
        try checkWriter(OfSwitch.self)
    }

    /// Checks that messages give the same rows as the values that are read from them.
    private static func checkWriter<Row: StreamObject>(_ type: Row.Type) throws {
        let connection = try SQLiteConnection.inMemory()
        let table = try SQLiteTable<Row>(connection, "t")
        func row(_ body: () throws -> Void) throws -> String {
            try table.deleteAll()
            do { try body() } catch is StreamError { return "refused" }
            return "\(try connection.value("SELECT typeof(a) || ' ' || quote(a) FROM t") as Any)"
        }
        func check(_ scalar: ScalarMessage, _ name: String) throws {
            let expected = try row {
                var builder = try ObjectBuilder<[Row]>()
                try unsafe send(scalar, to: &builder)
                try table.insert(try builder.takeResult())
            }
            let found = try row {
                var writer = try table.makeWriter()
                try unsafe send(scalar, to: &writer)
                try writer.finish()
            }
            expectEqual(found, expected, "\(name) as \(type)")
        }
        for value in [0, 1, -1, 7, 150, 300, 16_777_217, 1 << 53 + 1, .max, .min] as [Int64] {
            try unsafe check(.integer(value), "\(value)")
        }
        for value in [0, 1, 1 << 63, .max] as [UInt64] { try unsafe check(.unsigned(value), "\(value), unsigned") }
        for value in [0, -0.0, 0.1, 150, 0.1 + 0.2, .leastNonzeroMagnitude, 1e300, 16_777_217] {
            try unsafe check(.real(value), "\(value)")
        }
        for value in [false, true] { try unsafe check(.bool(value), "\(value)") }
        try unsafe check(.null, "null")
        for text in ["-0", "0.1234567890123456789", "9223372036854775808", "7.0", "1e400"] {
            try unsafe Array(text.utf8).withUnsafeBytes { bytes in try unsafe check(.number(bytes), text) }
        }
    }

    private static func testStoresNumbersInUntypedColumns() throws {
        let connection = try SQLiteTableWriterTests.connection()
        var writer = try SQLiteTableWriter(connection, table: "t")
        try write([("a", "9007199254740993.0"), ("b", "4.00000000000000000000001")], to: &writer)
        try writer.finish()
        expectEqual(try SQLiteTableWriterTests.rows(connection), "1:9007199254740993:4.0", "numbers")
    }

    private static func value(_ body: () throws -> SQLiteValue?) throws -> SQLiteValue? {
        do { return try body() } catch let error as StreamError where error.kind == .unrepresentable { return nil }
    }

    private static func testStoresNumbersExactlyOrRefuses() throws {
        for type in ["", "INTEGER", "NUMERIC", "REAL", "TEXT", "BLOB"] {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute("CREATE TABLE t (a \(type))")
            var storedCount = 0
            for text in NumberSamples.spellings {
                let found = try value {
                    try connection.execute("DELETE FROM t")
                    var writer = try SQLiteTableWriter(connection, table: "t")
                    try write([("a", text)], to: &writer)
                    try writer.finish()
                    return try connection.value("SELECT a FROM t")
                }
                var expected = NumberSamples.stored(text)
                switch expected {
                case .integer(let value) where type == "REAL" && Double(exactly: value) == nil: expected = nil
                case .integer(let value) where type == "TEXT": expected = .text("\(value)")
                case .real where type == "TEXT": expected = nil
                default: break
                }
                expectTrue(
                    NumberSamples.isEqual(found, expected),
                    "\(text) in \(type): \(found as Any), expected \(expected as Any)")
                if case .integer(let integer) = found, case .integer = expected {
                    expectEqual(NumberSamples.Decimal("\(integer)"), NumberSamples.Decimal(text), text)
                }
                if case .real(let real) = found { expectEqual(real, Double(text), text) }
                storedCount += found == nil ? 0 : 1
            }
            if type != "TEXT" { expectTrue(storedCount > 50, "\(storedCount) stored in \(type)") }
        }
    }

    private static func testReadsBoundNumbersLikeBuilders() throws {
        func check<Row: StreamObject & Equatable>(_ type: Row.Type) throws {
            let table = try SQLiteTable<Row>(try SQLiteConnection.inMemory(), "t")
            for text in NumberSamples.spellings {
                func rows(_ body: () throws -> [Row]) -> [Row]? { try? body() }
                let built = rows {
                    var builder = try ObjectBuilder<[Row]>()
                    try write([("a", text)], to: &builder)
                    return try builder.takeResult()
                }
                let read = rows {
                    try table.connection.execute("DELETE FROM t")
                    var writer = try table.makeWriter()
                    try write([("a", text)], to: &writer)
                    try writer.finish()
                    return try table.fetchAll()
                }
                expectEqual(read, built, "\(text) as \(type)")
            }
        }
        try check(Reals.self)
        try check(Integers.self)
    }
}
#endif
