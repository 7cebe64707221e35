// Sends the contents of a tape to any sink. The in-class tests of tapes are here, because most of them check the sent
// messages.

import PlistBuilding
import PlistStreaming

extension DecodingTape {
    /// Sends the value at an index to a sink, without recursion.
    static func send<Sink: PlistSink & ~Copyable>(
        _ root: Int, of context: DecodingContext, to sink: inout Sink
    ) throws(StreamError) {
        var open: [Int] = []
        let end = context.after(root)
        var index = root
        while true {
            while let container = open.last, context.node(container).end == index {
                open.removeLast()
                if context.node(container).tag == .array { try sink.endArray() } else { try sink.endDictionary() }
            }
            guard index < end else { return }
            let node = context.node(index)
            if let container = open.last, context.node(container).tag == .dictionary {
                try context.name(of: Int(node.key)).withUTF8Span { (name) throws(StreamError) in
                    try sink.writeKey(name)
                }
            }
            // SAFETY: the bytes are used within the call only.
            try unsafe sink.send(node.tag, node.payload) { body in unsafe context.withBytes(of: node, body) }
            if node.isContainer { open.append(index) }
            index += 1
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum DecodingTapeTests {}

extension DecodingTapeTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSendsSameMessagesAsTree": testSendsSameMessagesAsTree,
            "testKeepsTheLastOfRepeatedKeys": testKeepsTheLastOfRepeatedKeys,
            "testAgreesWithTreesOnRandomValues": testAgreesWithTreesOnRandomValues,
            "testReadsTextFromInputWithoutCopy": testReadsTextFromInputWithoutCopy,
            "testRefusesMisuse": testRefusesMisuse,
        ]
    }

    /// Returns the messages that a tape sends for a script: from its nodes, and as a part of the list that a decoder
    /// returns.
    private static func trace(_ script: String) throws -> String {
        var tape = DecodingTape()
        try EventScript.send(script, to: &tape)
        let context = DecodingContext(options: DecodingOptions(), tape)
        var (nodes, list) = (EventTrace(), EventTrace())
        try DecodingTape.send(DecodingContext.root, of: context, to: &nodes)
        try context.list(at: DecodingContext.root).send(to: &list)
        expectEqual(list.text, nodes.text, "the list of \(script)")
        return nodes.text
    }

    private static func treeTrace(_ script: String) throws -> String {
        var trace = EventTrace()
        try PropertyListBuilder.list(script).send(to: &trace)
        return trace.text
    }

    private static func testSendsSameMessagesAsTree() throws {
        let deep = String(repeating: "[ { key \"a\" ", count: 40) + "null" + String(repeating: " } ]", count: 40)
        let scripts = [
            "null", "true", "integer -1", "string \"\"", "[ ]", "{ }", deep,
            "[ null true false integer 0 integer -9223372036854775808 unsigned 18446744073709551615 real 0.1 ]",
            "[ number 1e400 string \"a\" string \"a longer string\" data 00ff date 12.5 ]",
            "{ key \"\" integer 1 key \"b\" { key \"c\" [ [ ] [ integer 1 ] ] } key \"a\" null }",
            "[ { key \"a\" integer 1 } { key \"a\" integer 2 key \"b\" real -0.0 } ]",
        ]
        for script in scripts { expectEqual(try trace(script), script, "messages") }
    }

    private static func testKeepsTheLastOfRepeatedKeys() throws {
        let inner = "{ key \"b\" [ integer 1 { key \"c\" null key \"c\" [ [ ] ] } ] key \"a\" true key \"b\" { } }"
        let script = "{ key \"a\" \(inner) key \"b\" integer 2 key \"a\" [ \(inner) \(inner) ] key \"d\" \(inner) }"
        expectEqual(
            try trace(script),
            """
            { key "a" [ { key "b" { } key "a" true } { key "b" { } key "a" true } ] key "b" integer 2 \
            key "d" { key "b" { } key "a" true } }
            """, "messages")
        // Different keys with the same bits.
        let many = (0..<300).map { "key \"k\($0)\" integer \($0)" }.joined(separator: " ")
        for script in [
            "{ \(many) }", "{ \(many) key \"k17\" [ ] }", "[ { \(many) } { key \"k65\" null key \"k1\" null } ]",
        ] {
            expectEqual(try trace(script), try treeTrace(script), "many keys")
        }
    }

    private static func testAgreesWithTreesOnRandomValues() throws {
        var state: UInt64 = 7
        func next(_ bound: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state &>> 33) % bound
        }
        let names = [
            "a", "b", "id", "name", "a name of more than sixteen bytes", "a name of more thaN sixteen bytes", "größe",
        ]
        func value(_ depth: Int) -> String {
            switch next(depth > 4 ? 4 : 7) {
            case 0: return "integer \(next(1_000))"
            case 1: return "string \"\(String(repeating: "x", count: Int(next(20))))\""
            case 2: return "null"
            case 3: return "real 0.5"
            case 4: return "[ " + (0..<next(5)).map { _ in value(depth + 1) + " " }.joined() + "]"
            default:
                let members = (0..<next(8)).map { _ in
                    let name = next(4) == 0 ? "n\(next(100))" : names[Int(next(UInt64(names.count)))]
                    return "key \"\(name)\" \(value(depth + 1)) "
                }
                return "{ " + members.joined() + "}"
            }
        }
        for _ in 0..<100 {
            let script = value(0)
            expectEqual(try trace(script), try treeTrace(script), script)
        }
    }

    private static func testReadsTextFromInputWithoutCopy() throws {
        let input = Array("a text that is in the input, and of some length".utf8)
        let strings = try unsafe input.withUnsafeBytes { bytes in
            var tape = unsafe DecodingTape(input: bytes)
            try tape.beginArray()
            try unsafe tape.writeString(bytes.bytes)
            try tape.writeString(unsafe UnsafeRawBufferPointer(rebasing: bytes[7..<11]).bytes)
            try "elsewhere".withUTF8Span { (text) throws(StreamError) in try tape.writeString(text) }
            try tape.writeString(unsafe UnsafeRawBufferPointer(rebasing: bytes[47...]).bytes)
            try tape.endArray()
            expectEqual(unsafe tape.bytes.count, 9, "bytes that are copied")
            return try tape.decode([String].self, options: DecodingOptions())
        }
        expectEqual(strings, [String(decoding: input, as: UTF8.self), "that", "elsewhere", ""], "strings")
    }

    private static func testRefusesMisuse() {
        for script in ["]", "}", "[ }", "{ ]", "null null", "[ ] [ ]"] {
            var tape = DecodingTape()
            let error = expectThrows(StreamError.self, script) { try EventScript.send(script, to: &tape) }
            expectEqual(error?.kind, .misuse, script)
        }
    }
}
#endif
