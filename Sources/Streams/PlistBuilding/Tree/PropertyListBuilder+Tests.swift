// In-class tests of the tree builder: the values it sends back, duplicates, misuse, limits and reuse.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

extension PropertyListBuilder {
    /// Makes a property list from a script of messages.
    package static func list(_ script: String) throws -> PropertyList {
        var builder = PropertyListBuilder()
        try EventScript.send(script, to: &builder)
        return try builder.takeResult()
    }

    static func testSendsSameMessagesAsReceived() throws {
        let scripts = [
            "null", "true", "integer -1", "string \"\"", "[ ]", "{ }",
            "[ null true false integer 0 integer -9223372036854775808 unsigned 18446744073709551615 real 0.1 ]",
            "[ number 1e400 string \"a\" string \"a longer string\" data 00ff date 12.5 ]",
            "{ key \"\" integer 1 key \"b\" { key \"c\" [ [ ] [ integer 1 ] ] } key \"a\" null }",
            "[ { key \"a\" integer 1 } { key \"a\" integer 2 key \"b\" real -0.0 } ]",
        ]
        for script in scripts {
            var trace = EventTrace()
            try list(script).send(to: &trace)
            expectEqual(trace.text, script, "messages")
        }
    }

    static func testKeepsTheLastOfDuplicateKeys() throws {
        let list = try list("{ key \"a\" integer 1 key \"b\" null key \"a\" [ integer 2 ] }")
        var trace = EventTrace()
        try list.send(to: &trace)
        expectEqual(trace.text, "{ key \"a\" [ integer 2 ] key \"b\" null }", "messages")
        expectEqual(list.count, 2, "members")
        let nested = try Self.list("[ { key \"a\" integer 1 } { key \"a\" integer 2 } ]")
        expectEqual(nested[1]?["a"]?.integerValue, 2, "the same key in another dictionary")
    }

    /// The keys of the second dictionary are expected to be those of the first one.
    static func testDistinguishesSimilarKeys() throws {
        for length in 0...50 {
            let key = String(repeating: "a", count: length)
            let others = (0..<length).map { place in
                String(key.enumerated().map { $0.offset == place ? "b" : $0.element })
            }
            for other in others + [key, key + "a"] {
                let list = try list("[ { key \"\(key)\" integer 1 } { key \"\(other)\" integer 2 } ]")
                expectEqual(list[1]?.members.first?.key, other, "a key after another one")
                expectEqual(list[1]?[other]?.integerValue, 2, "value of \(other)")
                expectEqual(list[1]?[key] == nil, other != key, "value of \(key)")
            }
        }
    }

    static func testStoresTextOfEveryLength() throws {
        for length in [0, 1, 7, 8, 9, 15, 16, 255, 256, 65_536, 0xFF_FFFE, 0xFF_FFFF] {
            let text = String(decoding: [UInt8](repeating: 0x78, count: length), as: UTF8.self)
            var builder = PropertyListBuilder()
            try text.withUTF8Span { (span) throws(StreamError) in try builder.writeString(span) }
            expectTrue(try builder.takeResult().stringValue == text, "text of \(length) bytes")
        }
    }

    static func testRefusesMisuse() {
        for script in ["{ integer 1", "]", "}", "[ }", "{ ]", "key \"a\"", "{ key \"a\" }", "null null", "[ key \"a\""]
        {
            var builder = PropertyListBuilder()
            let error = expectThrows(StreamError.self, script) { try EventScript.send(script, to: &builder) }
            expectEqual(error?.kind, .misuse, script)
        }
    }

    static func testRefusesDeepNesting() {
        var builder = PropertyListBuilder(depthLimit: 3)
        expectNoThrow("three levels") { try EventScript.send("[ [ [ ] ]", to: &builder) }
        let error = expectThrows(StreamError.self, "four levels") { try EventScript.send("[ [ [", to: &builder) }
        expectEqual(error?.kind, .limitExceeded, "kind")
    }

    static func testReturnsNoPartialResult() throws {
        var builder = PropertyListBuilder()
        func expectNone(_ script: String, _ path: String) throws {
            try EventScript.send(script, to: &builder)
            let error = expectThrows(StreamError.self, script) { _ = try builder.takeResult() }
            expectEqual(error?.kind, .unexpectedEnd, "kind after \(script)")
            expectEqual(error?.path?.description, path, "path after \(script)")
            // The incomplete value is completely removed.
            try EventScript.send("{ key \"a\" integer 2 }", to: &builder)
            expectEqual(try builder.takeResult(), ["a": 2], "the value after \(script)")
        }
        try expectNone("", "$")
        try expectNone("[ integer 1", "$[1]")
        try expectNone("[ true [ { key \"a\" { } key \"b c\" [ null", "$[1][0][\"b c\"][1]")
        try expectNone("{ key \"a\" integer 1 key \"b\"", "$.b")
        try expectNone("{ key \"a\" integer 1", "$")
    }

    static func testIsEmptyAfterAnError() throws {
        for bad in ["[ integer 1 }", "{ key \"a\" integer 1 integer", "null null", "[ { key \"b\" [ ] key \"a\" }"] {
            var builder = PropertyListBuilder()
            do { try EventScript.send(bad, to: &builder) } catch { builder.cancel(with: error) }
            expectEqual(builder.depth, 0, "open containers after \(bad)")
            expectThrows(StreamError.self, "a result of \(bad)") { _ = try builder.takeResult() }
            try EventScript.send("[ { key \"a\" integer 1 } ]", to: &builder)
            expectEqual(try builder.takeResult(), [["a": 1]], "the value after \(bad)")
        }
    }

    static func testReportsPathOfErrors() {
        let rows = [
            ("{ key \"a\" integer 1 integer 2", "$: expected a key, found a value"),
            ("[ { key \"a\" [ null }", "$[0].a[1]: got endDictionary without an open dictionary"),
            ("[ true key \"a\"", "$[1]: got a key outside a dictionary"),
            ("null null", "$: expected one value, found another"),
            ("[ { key \"x\" [ [ ] [ [", "$[0].x[1][0]: more than 4 levels of nesting"),
        ]
        for (script, description) in rows {
            var builder = PropertyListBuilder(depthLimit: 4)
            let error = expectThrows(StreamError.self, script) { try EventScript.send(script, to: &builder) }
            expectEqual(error?.description, description, script)
        }
    }

    static func testIsReusable() throws {
        var builder = PropertyListBuilder()
        try EventScript.send("{ key \"a\" integer 1 }", to: &builder)
        let first = try builder.takeResult()
        try EventScript.send("[ integer 2 ]", to: &builder)
        let second = try builder.takeResult()
        expectEqual(first["a"]?.integerValue, 1, "first value")
        expectEqual(second[0]?.integerValue, 2, "second value")
    }
}
#endif
