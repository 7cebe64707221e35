// Tests of numbers that come as text, because a double would mislead: exact in columns of integers, else the nearest real.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum SQLiteNumberTests {}

extension SQLiteNumberTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testStoresRealsInTablesOfNoType": testStoresRealsInTablesOfNoType,
            "testStagesExactIntegers": testStagesExactIntegers,
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

    private static func testStoresRealsInTablesOfNoType() throws {
        let connection = try SQLiteTableWriterTests.connection()
        var writer = try SQLiteTableWriter(connection, table: "t")
        try write([("a", "9007199254740993.0"), ("b", "1e-400")], to: &writer)
        try writer.finish()
        expectEqual(try SQLiteTableWriterTests.rows(connection), "1:9.00719925474099e+15:0.0", "the nearest reals")
        var other = try SQLiteTableWriter(connection, table: "t")
        let error = expectThrows(StreamError.self, "an integer beyond 64 bits") {
            try write([("a", "18446744073709551616")], to: &other)
        }
        expectEqual(error?.kind, .unrepresentable, "kind")
    }

    private static func testStagesExactIntegers() {
        let rows: [(String, ImportColumn.ValueType, Int64?)] = [
            ("9007199254740993.0", .integer, 9_007_199_254_740_993), ("9223372036854775807.0", .integer, .max),
            ("9223372036854775808.0", .integer, nil), ("0.99999999999999999", .integer, nil),
        ]
        let arena = ImportArena()
        for (text, type, expected) in rows {
            text.withUTF8Span { span in
                let conversion = unsafe span.withUnsafeBytes { bytes in
                    unsafe ImportScalar.number(bytes).converted(to: type, arena: arena, limit: 1_000)
                }
                let found: Int64? = if case .cell(let cell) = conversion { Int64(bitPattern: cell.bits) } else { nil }
                expectEqual(found, expected, text)
            }
        }
    }
}
#endif
