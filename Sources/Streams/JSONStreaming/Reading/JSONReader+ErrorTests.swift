// The in-class tests of the origin of an error when several texts are read within each other, and of the sinks that are
// notified.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistCoding
import PlistStreaming

enum JSONReaderErrorTests {}

extension JSONReaderErrorTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testDistinguishesErrorsOfReceivers": testDistinguishesErrorsOfReceivers,
            "testDistinguishesErrorsOfConversionsAndSinks": testDistinguishesErrorsOfConversionsAndSinks,
            "testNestedStreamsDoNotStopTheReader": testNestedStreamsDoNotStopTheReader,
            "testErrorsLeaveBuildersEmpty": testErrorsLeaveBuildersEmpty,
            "testNotifiesSinksOfErrors": testNotifiesSinksOfErrors,
        ]
    }

    /// Receivers that read another text themselves.
    private static func testDistinguishesErrorsOfReceivers() throws {
        struct Item: StreamObject {
            var id = 0
            var text = "[]"
        }
        for padding in [0, 200] {
            for text in ["\\u005B1,]", "[1,]"] {
                var stream = try RecordStream<Item> { item throws(StreamError) in
                    _ = try JSON.decode([Int].self, from: item.text)
                }
                let spaces = String(repeating: " ", count: padding)
                let error = expectThrows(StreamError.self, "an error of the receiver") {
                    try stream.readJSON("[{\"id\":1},\n{\"id\":2,\"text\":\"\(text)\"},{\"id\":3}]\(spaces)")
                }
                expectEqual(error?.kind, .receiverFailed, "kind")
                expectEqual(error?.position?.line, 2, "line")
                expectEqual(error?.path?.description, "$[1]", "path")
                let cause = error?.cause as? StreamError
                expectEqual(cause?.kind, .invalidSyntax, "kind of the cause")
                expectEqual(cause?.position?.byteOffset, 3, "offset in the text of the receiver")
            }
        }
    }

    /// Numbers in a text within the text.
    private struct Numbers: StreamRepresentable, Equatable {
        var numbers: [Int] = []
        init() {}
        init(representation: String) throws(StreamError) { numbers = try JSON.decode([Int].self, from: representation) }
        var representation: String { "\(numbers)" }
    }

    /// Reads another text for each integer.
    private struct Other: PartialSink {
        let hasSize = true
        mutating func writeInteger(_ value: Int64) throws(StreamError) {
            _ = try JSON.decode([Int].self, from: value == 7 ? "[1,]" : "[1]")
        }
    }

    private static func testDistinguishesErrorsOfConversionsAndSinks() throws {
        struct Item: StreamObject {
            var id = 0
            var numbers = Numbers()
            var more: [Numbers?]?
        }
        func check(_ error: StreamError?, _ line: Int, _ path: String?, _ offset: Int, _ name: String) {
            expectEqual(error?.kind, .receiverFailed, "kind of \(name)")
            expectEqual(error?.position?.line, line, "line of \(name)")
            expectEqual(error?.path?.description, path, "path of \(name)")
            let cause = error?.cause as? StreamError
            expectEqual(cause?.kind, .invalidSyntax, "kind of the cause of \(name)")
            expectEqual(cause?.position?.byteOffset, offset, "offset in the other text of \(name)")
        }
        for padding in [0, 200] {
            let spaces = String(repeating: " ", count: padding)
            for (member, path) in [("\"numbers\":#", "numbers"), ("\"more\":[null,#]", "more[1]")] {
                let value = member.replacing("#", with: "\"[1,\\n2,]\"")
                let text = "[{\"id\":1},\n\n{\"id\":2,\(value)}]\(spaces)"
                let error = expectThrows(StreamError.self, text) { _ = try JSON.decode([Item].self, from: text) }
                check(error, 3, "$[1].\(path)", 6, text)
                let lines = expectThrows(StreamError.self, text) {
                    _ = try JSONLines.decode([Item].self, from: "{}\n{\(value)}\n\(spaces)")
                }
                check(lines, 2, "$[1].\(path)", 6, "lines of \(text)")
            }
            for text in ["[\n\n\n   7]", "[3,\n\n{\"a\":\n7,\"b\":2}]"] {
                let error = expectThrows(StreamError.self, text) {
                    var other = Other()
                    try other.readJSON(text + spaces)
                }
                check(error, 4, nil, 3, text)
            }
            let root = expectThrows(StreamError.self, "a number at the end") {
                var other = Other()
                try other.readJSON("\n7" + spaces)
            }
            check(root, 2, nil, 3, "a number at the end")
        }
    }

    private static func testNestedStreamsDoNotStopTheReader() throws {
        struct Item: StreamObject { var id = 0 }
        for padding in [0, 200] {
            let text = "[{\"id\":1},\n{\"id\":2},{\"id\":3}]" + String(repeating: " ", count: padding)
            var stream = try RecordStream<Item> { item throws(StreamError) in
                guard item.id == 2 else { return }
                var inner = try RecordStream<Int> { number throws(StreamError) in
                    if number == 5 { throw .stopRequest() }
                }
                try inner.readJSON("[4,5,6]")
            }
            let error = expectThrows(StreamError.self, "an inner stream that ended") { try stream.readJSON(text) }
            expectEqual(error?.kind, .receiverFailed, "kind")
            expectEqual(error?.path?.description, "$[1]", "path")
            expectEqual(error?.position?.line, 2, "line")
            expectTrue((error?.cause as? StreamError)?.isStopRequest ?? false, "the cause is the inner request")
            var own = try RecordStream<Item> { item throws(StreamError) in if item.id == 2 { throw .stopRequest() } }
            let stop = expectThrows(StreamError.self, "a request of its own") { try own.readJSON(text) }
            expectTrue(stop?.isStopRequest ?? false, "is a stop request")
            var written = try RecordStream<Item> { item in
                if item.id == 2 { _ = try JSON.encodeToString(["q": Double.nan]) }
            }
            let refused = expectThrows(StreamError.self, "a text that cannot be written") { try written.readJSON(text) }
            expectEqual(refused?.kind, .receiverFailed, "kind of a text that cannot be written")
            expectEqual(refused?.path?.description, "$[1]", "path of a text that cannot be written")
            expectEqual((refused?.cause as? StreamError)?.path?.description, "$.q", "path in that text")
        }
    }

    /// Texts with an error in the text, in a value, at the end and after it.
    private static let bad = [
        #"[{"id":1,"name":"a name of more than fifteen bytes"},{"id":2,"name":"x"]"#,
        #"[{"id":1,"more":[1,{"x":null}]},{"id":"x"}]"#, #"[{"id":1},{"id":2"#, "", "[] []", #"[{"id":1}]x"#,
        #"[{"id":1},{"id":2,"name":7},{"id":3}]"#, #"[[1],[2,"x"#,
    ]

    private static func testErrorsLeaveBuildersEmpty() throws {
        struct Item: StreamObject, Equatable {
            var id = 0
            var name: String?
        }
        let good = #"[{"id":7,"other":[true]},{"id":8,"name":"the name of the second one"}]"#
        let items = [Item(id: 7), Item(id: 8, name: "the name of the second one")]
        var objects = try ObjectBuilder<[Item]>(options: BuilderOptions(unknownMembers: .collect))
        var tree = PropertyListBuilder()
        var columns = ColumnsBuilder(["id": .integer, "name": .string])
        var received: [Int] = []
        var stream = try RecordStream<Item> { item throws(StreamError) in received.append(item.id) }
        for bad in bad {
            expectThrows(StreamError.self, bad) { try objects.readJSON(bad) }
            try objects.readJSON(good)
            expectEqual(try objects.takeResult(), items, "objects after \(bad)")
            expectEqual(objects.unknownMembers.map(\.path.description), ["$[0].other"], "unknown members")
            objects.reset()
            expectThrows(StreamError.self, bad) { try stream.readJSON(bad) }
            received = []
            try stream.readJSON(good)
            expectEqual(received, [7, 8], "objects of a stream after \(bad)")
            // A tree has no types, and columns skip elements that aren't rows.
            if (try? JSON.decode(PropertyList.self, from: bad)) == nil {
                expectThrows(StreamError.self, bad) { try tree.readJSON(bad) }
            }
            try tree.readJSON(good)
            expectEqual(try tree.takeResult(), try JSON.decode(from: good), "tree after \(bad)")
            expectThrows(StreamError.self, bad) { try columns.readJSON(bad) }
            try columns.readJSON(good)
            let rows = try columns.takeResult()
            expectEqual((0..<rows.rowCount).map { rows["id"]?.integer($0) }, [7, 8], "columns after \(bad)")
        }
    }

    private static func testNotifiesSinksOfErrors() throws {
        struct ErrorRecorder: PartialSink {
            var trace = EventTrace()
            var errors: [String] = []
            mutating func cancel(with error: StreamError) { errors.append("\(error.kind)") }
            mutating func beginArray() throws(StreamError) { try trace.beginArray() }
            mutating func endArray() throws(StreamError) { throw .stopRequest() }
        }
        let rows = [("[1", ["unexpectedEnd"]), ("[x", ["invalidSyntax"]), ("[]", ["stopRequested"]), ("{}", [])]
        for (text, errors) in rows {
            var whole = UniqueKeys(ErrorRecorder())
            try? whole.readJSON(text)
            expectEqual(whole.target.errors, errors, text)
            var reader = JSONReader(sink: ErrorRecorder())
            do {
                for byte in text.utf8 { try reader.feed([byte]) }
                try reader.finish()
            } catch {}
            // Later calls throw the same error.
            try? reader.feed([0x20])
            try? reader.finish()
            if !errors.isEmpty { expectEqual(reader.sink.errors, errors, "\(text), in pieces") }
        }
        var notices = ErrorRecorder()
        try? notices.readJSON(.descriptor(-1))
        expectEqual(notices.errors, ["cannotRead"], "a file that cannot be read")
        try? notices.readJSON(.file("/nonexistent/file"))
        expectEqual(notices.errors, ["cannotRead", "cannotRead"], "a file that cannot be opened")
        // Content that sends messages without a reader also notifies the sink.
        let array: PropertyList = [1]
        for (name, send) in [
            ("a tree", { (sink) throws(StreamError) in try array.send(to: &sink) }),
            ("a bound value", { (sink) throws(StreamError) in try sink.write([1]) }),
            ("an encodable value", { (sink) throws(StreamError) in try sink.write(encodable: [1]) }),
            ("any value", { (sink) throws(StreamError) in try sink.write(any: [1] as [Any]) }),
        ] as [(String, (inout ErrorRecorder) throws(StreamError) -> Void)] {
            var notices = ErrorRecorder()
            try? send(&notices)
            expectEqual(notices.errors.first, "stopRequested", name)
        }
    }
}
#endif
