// In-class tests of `ColumnsBuilder`, with the rows sent to it and the resulting columns.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

extension ColumnsBuilder {
    private static func columns(_ script: String, depth: Int = 1) throws -> Columns {
        var builder = ColumnsBuilder(
            ["i": .integer, "real": .real, "flag": .bool, "a longer name": .string], depth: depth)
        try EventScript.send(script, to: &builder)
        return try builder.takeResult()
    }

    private static func text(_ columns: Columns) -> [String] {
        (0..<columns.rowCount).map { row in
            columns.columns.map { column -> String in
                if let integer = column.integer(row) { return "\(integer)" }
                if let real = column.real(row) { return "\(real)" }
                if let bool = column.bool(row) { return "\(bool)" }
                return column.string(row) ?? (column.isNull(row) ? "-" : "?")
            }.joined(separator: " ")
        }
    }

    static func testFillsColumnsOfEachType() throws {
        let columns = try columns(
            """
            [ { key "i" integer 1 key "real" real 0.5 key "flag" true key "a longer name" string "x" }
            { key "a longer name" string "" key "flag" false key "real" integer 2 key "i" integer -9223372036854775808 } ]
            """)
        expectEqual(text(columns), ["1 0.5 true x", "-9223372036854775808 2.0 false "], "rows")
        unsafe expectEqual(columns["i"]?.withIntegers { unsafe Array($0) }, [1, .min], "integers")
        unsafe expectEqual(columns["real"]?.withReals { unsafe Array($0) }, [0.5, 2], "reals")
        unsafe expectEqual(columns["a longer name"]?.withText { unsafe Array($1) }, [1, 1], "ends of strings")
        unsafe expectEqual(columns["i"]?.withReals { $0.count }, 0, "reals of a column of integers")
        expectNil(columns["other"]?.count, "a column that was not declared")
    }

    /// Tests that names are compared by their bytes, like keys. Strings that are equal may be two names.
    static func testComparesNamesByBytes() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        var builder = ColumnsBuilder([composed: .integer, decomposed: .integer])
        try EventScript.send("[ { key \"\(decomposed)\" integer 2 key \"\(composed)\" integer 1 } ]", to: &builder)
        let columns = try builder.takeResult()
        expectEqual(columns[composed]?.integer(0), 1, "composed")
        expectEqual(columns[decomposed]?.integer(0), 2, "decomposed")
        var one = ColumnsBuilder([composed: .integer])
        try EventScript.send("[ { key \"\(decomposed)\" integer 2 } ]", to: &one)
        expectNil(try one.takeResult()[decomposed]?.count, "a column of another name")
    }

    static func testKeepsRowsAlignedWithNulls() throws {
        let columns = try columns(
            """
            [ { key "flag" true } { key "i" null key "a longer name" string "y" } { } { key "i" integer 4 } ]
            """)
        expectEqual(text(columns), ["- - true -", "- - - y", "- - - -", "4 - - -"], "rows")
        expectEqual(columns.columns.map(\.nullCount), [3, 4, 3, 3], "nulls")
        expectEqual(columns.columns.map(\.count), [4, 4, 4, 4], "rows of each")
    }

    static func testSkipsOtherMembers() throws {
        let script = """
            [ { key "other" { key "i" integer 9 key "x" [ integer 1 { } ] } key "i" integer 1 key "more" null
            key "text" string "t" } ]
            """
        expectEqual(text(try columns(script)), ["1 - - -"], "rows")
    }

    static func testLastOfDuplicateMembersWins() throws {
        let script = """
            [ { key "i" null key "i" integer 1 key "a longer name" string "xyz" key "a longer name" string "z"
            key "real" real 1.0 key "real" null } { key "a longer name" string "w" } ]
            """
        let columns = try columns(script)
        expectEqual(text(columns), ["1 - - z", "- - - w"], "rows")
        expectEqual(columns.columns.map(\.nullCount), [1, 2, 2, 0], "nulls")
    }

    static func testRejectsOtherTypesWithPath() {
        let rows = [
            ("[ { } { key \"i\" real 1.5", "$[1].i: expected an integer, found real 1.5"),
            ("[ { key \"i\" string \"x\"", "$[0].i: expected an integer, found a string"),
            (
                "[ { key \"i\" unsigned 18446744073709551615",
                "$[0].i: expected an integer, found integer 18446744073709551615"
            ),
            ("[ { key \"flag\" [", "$[0].flag: expected a Boolean, found an array"),
            ("[ { key \"real\" {", "$[0].real: expected a number, found a dictionary"),
            ("[ { } integer 1", "$[1]: expected a dictionary, found integer 1"),
            ("[ [", "$[0]: expected a dictionary, found an array"),
        ]
        for (script, message) in rows {
            let error = expectThrows(StreamError.self, script) { _ = try columns(script) }
            expectEqual(error?.description, message, script)
        }
        let error = expectThrows(StreamError.self, "a part") { _ = try columns("[ { }") }
        expectEqual(error?.kind, .unexpectedEnd, "kind")
    }

    static func testGrowsToManyRows() throws {
        for count in [1_023, 1_024, 1_025, 5_000] {
            var builder = ColumnsBuilder(["n": .integer, "s": .string])
            let rows = (0..<count).map { row in
                row % 3 == 0 ? "{ }" : "{ key \"n\" integer \(row) key \"s\" string \"text \(row)\" }"
            }
            try EventScript.send("[ \(rows.joined(separator: " ")) ]", to: &builder)
            let columns = try builder.takeResult()
            expectEqual(columns.rowCount, count, "rows")
            let wrong = (0..<count).first { row in
                columns["n"]?.integer(row) != (row % 3 == 0 ? nil : Int64(row))
                    || columns["s"]?.string(row) != (row % 3 == 0 ? nil : "text \(row)")
            }
            expectNil(wrong, "first wrong row of \(count)")
        }
    }

    static func testFindsRowsAtOtherDepths() throws {
        let nested =
            "{ key \"rows\" [ { key \"i\" integer 1 } ] key \"i\" integer 5 key \"more\" [ { key \"i\" integer 2 } ] }"
        expectEqual(text(try columns(nested, depth: 2)), ["1 - - -", "2 - - -"], "depth 2")
        expectEqual(text(try columns("{ key \"i\" integer 1 }", depth: 0)), ["1 - - -"], "depth 0")
        expectEqual(text(try columns("{ key \"i\" integer 1 }", depth: .min)), ["1 - - -"], "a negative depth")
        expectEqual(text(try columns(nested, depth: .max)), [], "the largest depth")
    }

    private static func columns(_ types: KeyValuePairs<String, ColumnType>, _ script: String) throws -> [String] {
        var builder = ColumnsBuilder(types)
        try EventScript.send(script, to: &builder)
        return text(try builder.takeResult())
    }

    static func testFillsColumnsOfInnerDictionaries() throws {
        let types: KeyValuePairs<String, ColumnType> = [
            "id": .integer, "address.zip": .string, "address.street.number": .integer, "name": .string,
        ]
        let rows = [
            (
                "{ key \"id\" integer 1 key \"address\" { key \"zip\" string \"z\" key \"street\" { key \"number\" integer 7 } } key \"name\" string \"n\" }",
                "1 z 7 n"
            ),
            (
                "{ key \"address\" { key \"other\" { key \"zip\" string \"no\" } } key \"zip\" string \"no\" }",
                "- - - -"
            ),
            ("{ key \"address\" null key \"id\" integer 2 }", "2 - - -"),
            ("{ key \"address.zip\" string \"w\" key \"address\" { key \"street.number\" integer 8 } }", "- w 8 -"),
            (
                "{ key \"address\" { key \"zip\" string \"a\" key \"zip\" string \"b\" } key \"address\" { key \"zip\" string \"c\" } }",
                "- c - -"
            ),
        ]
        for (row, expected) in rows { expectEqual(try columns(types, "[ \(row) ]"), [expected], row) }
        let all = rows.map(\.0).joined(separator: " ")
        expectEqual(try columns(types, "[ \(all) ]"), rows.map(\.1), "all rows")
        let both = try columns(
            ["a": .integer, "a.b": .integer], "[ { key \"a\" integer 1 } { key \"a\" { key \"b\" integer 2 } } ]")
        expectEqual(both, ["1 -", "- 2"], "a column that is a dictionary as well")
    }

    static func testRejectsOtherValuesForInnerDictionaries() {
        let rows = [
            ("integer 1", "$[0].a: expected a dictionary, found integer 1"),
            ("[", "$[0].a: expected a dictionary, found an array"),
            ("{ key \"b\" { key \"c\" real 0.5", "$[0].a.b.c: expected an integer, found real 0.5"),
            ("{ key \"b\" true", "$[0].a.b: expected a dictionary, found true"),
        ]
        for (value, message) in rows {
            let error = expectThrows(StreamError.self, value) {
                _ = try columns(["a.b.c": .integer], "[ { key \"a\" \(value)")
            }
            expectEqual(error?.description, message, value)
        }
    }

    static func testStaysAlignedAfterMisuse() throws {
        // A row that is closed like an array.
        var builder = ColumnsBuilder(["id": .integer, "name": .string])
        try builder.beginArray()
        for isMisused in [false, true] {
            try builder.beginDictionary()
            try "id".withUTF8Span { try builder.writeKey($0) }
            try builder.writeInteger(7)
            if isMisused { try builder.endArray() } else { try builder.endDictionary() }
        }
        try builder.endArray()
        let columns = try builder.takeResult()
        expectEqual(columns.rowCount, 1, "rows")
        expectEqual(columns.columns.map(\.count), [1, 1], "values of each column")
        expectEqual(columns["id"]?.integer(0), 7, "the complete row")
    }

    static func testIsEmptyAfterAnError() throws {
        var builder = ColumnsBuilder(["i": .integer, "a.s": .string])
        let bad = [
            ("[ { } { key \"i\" integer 1 key \"a\" { key \"s\" true", 1), ("[ { } { } integer 1", 2), ("[ { } {", 1),
        ]
        for (script, rowCount) in bad {
            // The stream ends with an error, or a result is requested too early.
            do { try EventScript.send(script, to: &builder) } catch { builder.cancel(with: error) }
            expectEqual(builder.rowCount, rowCount, script)
            expectThrows(StreamError.self, "a result of \(script)") { _ = try builder.takeResult() }
            expectEqual(builder.rowCount, 0, "rows after \(script)")
            for _ in 0..<2 {
                try EventScript.send("[ { key \"i\" integer 2 } ]", to: &builder)
                expectEqual(text(try builder.takeResult()), ["2 -"], "rows after \(script)")
            }
        }
        do { try EventScript.send("[ { } true", to: &builder) } catch { builder.cancel(with: error) }
        expectEqual(builder.rowCount, 1, "complete rows")
        try EventScript.send("[ ]", to: &builder)
        expectEqual(try builder.takeResult().rowCount, 0, "rows of a stream without any, right after an error")
    }

    static func testIsReusableAfterReset() throws {
        var builder = ColumnsBuilder(["i": .integer, "a.s": .string])
        expectThrows(StreamError.self, "an error") {
            try EventScript.send("[ { } { key \"i\" integer 1 key \"a\" { key \"s\" true", to: &builder)
        }
        builder.reset()
        expectEqual(builder.rowCount, 0, "rows after a reset")
        for _ in 0..<2 {
            try EventScript.send("[ { key \"a\" { key \"s\" string \"x\" } } { key \"i\" integer 2 } ]", to: &builder)
            expectEqual(text(try builder.takeResult()), ["- x", "2 -"], "rows of a batch")
        }
    }
}
#endif
