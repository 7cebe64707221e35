// In-class tests of streams of typed values: the delivered values, the time of their delivery, and errors.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

enum RecordStreamTests {
    final class Record: StreamObject {
        /// The number of objects that were made.
        nonisolated(unsafe) static var madeCount = 0
        var id = -1
        var name = "a default of more than fifteen bytes"
        var tags: [String] = []
        init() { unsafe Self.madeCount += 1 }
    }

    final class Parent: StreamObject {
        var child = Record()
        init() {}
    }

    /// Sends a script through a stream and returns the results of `describe` for the values.
    static func stream<Value: StreamValue>(
        _ script: String, depth: Int = 1, _ describe: @escaping (borrowing Value) -> String
    ) throws -> [String] {
        let received = Received()
        var stream = try RecordStream<Value>(depth: depth) { value throws(StreamError) in
            received.texts.append(describe(value))
        }
        try EventScript.send(script, to: &stream)
        return received.texts
    }

    final class Received {
        var texts: [String] = []
        var kept: [Record] = []
    }
}

extension RecordStreamTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testDeliversValuesOfAnyKindInOrder": testDeliversValuesOfAnyKindInOrder,
            "testDeliversValuesAtEveryDepth": testDeliversValuesAtEveryDepth,
            "testResetsMembersBetweenRecords": testResetsMembersBetweenRecords,
            "testReusesObjectsThatAreNotRetained": testReusesObjectsThatAreNotRetained,
            "testNeverChangesAKeptObject": testNeverChangesAKeptObject,
            "testReplacesObjectsThatHoldObjects": testReplacesObjectsThatHoldObjects,
            "testStopsOnRequest": testStopsOnRequest,
            "testRethrowsErrorsOfTheReceiver": testRethrowsErrorsOfTheReceiver,
            "testReportsWhichValueTheReceiverRefused": testReportsWhichValueTheReceiverRefused,
            "testErrorsHaveThePathFromTheRoot": testErrorsHaveThePathFromTheRoot,
            "testDeliversNoPartOfAValue": testDeliversNoPartOfAValue,
            "testDeliversUnknownMembersWithoutLimit": testDeliversUnknownMembersWithoutLimit,
        ]
    }

    private static func testDeliversValuesOfAnyKindInOrder() throws {
        let script = "[ integer 1 [ integer 2 ] null { key \"a\" integer 3 } string \"x\" ]"
        let kinds = try stream(script) { (value: borrowing PropertyList) in "\(value.kind) \(value.count)" }
        expectEqual(kinds, ["integer 0", "array 1", "null 0", "dictionary 1", "string 0"], "kinds")
        expectEqual(try stream("[ integer 1 integer 2 ]") { (value: borrowing Int) in "\(value)" }, ["1", "2"], "Int")
        expectEqual(try stream("[ ]") { (value: borrowing Int) in "\(value)" }, [], "of nothing")
    }

    private static func testDeliversValuesAtEveryDepth() throws {
        let script = "{ key \"count\" integer 9 key \"rows\" [ { key \"id\" integer 1 } { key \"id\" integer 2 } ] }"
        func ids(_ depth: Int) throws -> [String] {
            try stream(script, depth: depth) { (value: borrowing PropertyList) in
                value["id"]?.integerValue.map { "\($0)" } ?? "\(value.kind)"
            }
        }
        expectEqual(try ids(0), ["dictionary"], "depth 0")
        expectEqual(try ids(-1), ["dictionary"], "a negative depth")
        expectEqual(try ids(1), ["integer", "array"], "depth 1")
        expectEqual(try ids(2), ["1", "2"], "depth 2")
        expectEqual(try ids(3), ["integer", "integer"], "depth 3")
        expectEqual(try ids(4), [], "depth 4")
        let rows = try stream(script, depth: 2) { (value: borrowing Record) in "\(value.id)" }
        expectEqual(rows, ["1", "2"], "objects at depth 2")
    }

    private static let records = """
        [ { key "id" integer 1 key "name" string "first" key "tags" [ string "a" ] } { key "id" integer 2 } { }
        { key "tags" [ ] key "name" string "a name of more than fifteen bytes" } { } ]
        """

    private static func testResetsMembersBetweenRecords() throws {
        let texts = try stream(records) { (value: borrowing Record) in "\(value.id) \(value.name) \(value.tags)" }
        let name = "a default of more than fifteen bytes"
        expectEqual(
            texts,
            [
                "1 first [\"a\"]", "2 \(name) []", "-1 \(name) []", "-1 a name of more than fifteen bytes []",
                "-1 \(name) []",
            ], "records")
    }

    private static func testReusesObjectsThatAreNotRetained() throws {
        var stream = try RecordStream<Record> { _ throws(StreamError) in }
        let before = unsafe Record.madeCount
        let whole = "{ key \"id\" integer 1 key \"name\" string \"a\" key \"tags\" [ ] }"
        try EventScript.send("[ \(whole) \(whole) \(whole) ]", to: &stream)
        expectEqual(stream.count, 3, "values")
        expectEqual(unsafe Record.madeCount - before, 1, "objects made")
        try EventScript.send("[ \(whole) { } \(whole) { key \"id\" integer 2 } ]", to: &stream)
        expectEqual(unsafe Record.madeCount - before, 3, "objects made, with those that defaults were taken of")
    }

    private static func testNeverChangesAKeptObject() throws {
        let received = Received()
        var stream = try RecordStream<Record> { value throws(StreamError) in
            if value.id % 7 == 0 { received.kept.append(copy value) }
        }
        let script = (0..<100).map { "{ key \"id\" integer \($0) key \"name\" string \"name \($0)\" }" }
        try EventScript.send("[ \(script.joined(separator: " ")) ]", to: &stream)
        let expected = (0..<100).filter { $0 % 7 == 0 }
        expectEqual(received.kept.map(\.id), expected, "numbers")
        expectEqual(received.kept.map(\.name), expected.map { "name \($0)" }, "names")
        expectEqual(Set(received.kept.map(ObjectIdentifier.init)).count, expected.count, "different objects")
    }

    private static func testReplacesObjectsThatHoldObjects() throws {
        let received = Received()
        var stream = try RecordStream<Parent> { value throws(StreamError) in received.kept.append(value.child) }
        try EventScript.send("[ { key \"child\" { key \"id\" integer 1 } } { } { } ]", to: &stream)
        expectEqual(received.kept.map(\.id), [1, -1, -1], "children")
        expectEqual(Set(received.kept.map(ObjectIdentifier.init)).count, 3, "different children")
    }

    private static func testStopsOnRequest() throws {
        var stream = try RecordStream<Int> { value throws(StreamError) in
            if value == 2 { throw StreamError.stopRequest() }
        }
        let error = expectThrows(StreamError.self, "a stop") {
            try EventScript.send("[ integer 1 integer 2 integer 3 ]", to: &stream)
        }
        expectTrue(error?.isStopRequest ?? false, "is a stop request")
        expectEqual(stream.count, 2, "values")
    }

    private static func testRethrowsErrorsOfTheReceiver() throws {
        struct Full: Error, Equatable { var count: Int }
        func refuse(_ value: Int) throws { if value == 2 { throw Full(count: value) } }
        let script = "[ integer 1 integer 2 integer 3 ]"
        var untyped = try RecordStream<Int> { value in try refuse(value) }
        var typed = try RecordStream<Int> { (value) throws(Full) in if value == 2 { throw Full(count: value) } }
        for isTyped in [false, true] {
            let error = expectThrows(StreamError.self, "an error of the receiver") {
                if isTyped { return try EventScript.send(script, to: &typed) }
                try EventScript.send(script, to: &untyped)
            }
            expectEqual(error?.kind, .receiverFailed, "kind")
            expectEqual(error?.cause as? Full, Full(count: 2), "cause")
        }
        expectEqual([untyped.count, typed.count], [2, 2], "values")
        var stopping = try RecordStream<Int> { value in if value == 2 { throw StreamError.stopRequest() } }
        let stop = expectThrows(StreamError.self, "a stop") { try EventScript.send(script, to: &stopping) }
        expectTrue(stop?.isStopRequest ?? false, "is a stop request")
        var unknown = try RecordStream<Record>(
            receivingUnknownMembers: { member in throw Full(count: member.path.steps.count) }, { _ in })
        let refused = expectThrows(StreamError.self, "an unknown member") {
            try EventScript.send("[ { key \"x\" null } ]", to: &unknown)
        }
        expectEqual(refused?.cause as? Full, Full(count: 2), "cause")
    }

    private static func testReportsWhichValueTheReceiverRefused() throws {
        let place = StreamPosition(byteOffset: 3, line: 1, column: 4)
        let member = StreamPath([.key("name")])
        let foreign = StreamError(.invalidSyntax, "m", position: place)
        let rows: [(any Error, StreamError.Kind, String)] = [
            (CancellationError(), .receiverFailed, "$[1]: the receiver failed: CancellationError()"),
            (StreamError(.typeMismatch, "m"), .typeMismatch, "$[1]: m"),
            // An error in a value or text other than the one that the stream reads.
            (StreamError(.typeMismatch, "m", path: member), .receiverFailed, "$[1]: the receiver failed: $.name: m"),
            (foreign, .receiverFailed, "$[1]: the receiver failed: m at line 1, column 4 (byte 3)"),
            (StreamError.stopRequest(), .stopRequested, "the sink stopped the stream"),
            (
                StreamError.stopRequest().located(at: place), .receiverFailed,
                "$[1]: the receiver failed: the sink stopped the stream at line 1, column 4 (byte 3)"
            ),
        ]
        for (thrown, kind, description) in rows {
            var stream = try RecordStream<Int> { value in if value == 2 { throw thrown } }
            var members = try RecordStream<Record>(depth: 2, receivingUnknownMembers: { _ in throw thrown }, { _ in })
            let error = expectThrows(StreamError.self, description) {
                try EventScript.send("[ integer 1 integer 2 ]", to: &stream)
            }
            expectEqual(error?.kind, kind, "kind of \(description)")
            expectEqual(error?.description, description, "description")
            let unknown = expectThrows(StreamError.self, description) {
                try EventScript.send("{ key \"a\" [ { key \"x\" [ ] } ] }", to: &members)
            }
            let path = description.hasPrefix("$[1]") ? "$.a[0].x" + description.dropFirst(4) : description
            expectEqual(unknown?.description, path, "description of an error about an unknown member")
        }
        var typed = try RecordStream<Int>(depth: 0) { _ throws(StreamError) in throw foreign }
        let error = expectThrows(StreamError.self, "a typed error") { try EventScript.send("integer 1", to: &typed) }
        expectEqual(error?.cause as? StreamError, foreign, "cause")
        expectEqual(error?.path?.description, "$", "path")
        expectNil(error?.position, "position, which only a reader knows")
    }

    private static func testErrorsHaveThePathFromTheRoot() {
        let error = expectThrows(StreamError.self, "a mismatch") {
            _ = try stream("{ key \"rows\" [ { } { key \"id\" true } ] }", depth: 2) { (_: borrowing Record) in "" }
        }
        expectEqual(error?.description, "$.rows[1].id: expected an integer, found true", "description")
    }

    private static func testDeliversUnknownMembersWithoutLimit() throws {
        let received = Received()
        var stream = try RecordStream<Record>(
            options: BuilderOptions(unknownMemberLimit: 3),
            receivingUnknownMembers: { member throws(StreamError) in
                received.texts.append("\(member.path) \(member.value.integerValue ?? -1)")
            },
            { value throws(StreamError) in received.texts.append("record \(value.id)") })
        let records = (0..<1_500).map { "{ key \"x\" integer \($0) key \"id\" integer \($0) }" }
        try EventScript.send("[ \(records.joined(separator: " ")) ]", to: &stream)
        expectEqual(received.texts, (0..<1_500).flatMap { ["$[\($0)].x \($0)", "record \($0)"] }, "in order")
        expectEqual(stream.unknownMembers, [], "kept")
        var collecting = try RecordStream<Record>(
            options: BuilderOptions(unknownMembers: .collect, unknownMemberLimit: 3)
        ) { _ throws(StreamError) in }
        let error = expectThrows(StreamError.self, "more than are collected") {
            try EventScript.send("[ \(records.joined(separator: " ")) ]", to: &collecting)
        }
        expectEqual(error?.description, "$[3].x: more than 3 unknown members", "description")
        expectEqual(collecting.unknownMembers.count, 3, "collected")
    }

    private static func testDeliversNoPartOfAValue() throws {
        expectEqual(
            try stream("[ { key \"id\" integer 1 } { key \"id\" integer 2") { (value: borrowing Record) in "\(value.id)"
            },
            ["1"], "values of an incomplete stream")
    }
}
#endif
