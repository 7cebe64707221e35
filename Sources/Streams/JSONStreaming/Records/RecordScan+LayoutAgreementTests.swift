// The in-class tests of the types in `RecordScan+LayoutTests`: random texts, read in every way, compared with
// assignments.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum MemberLayoutTests {
    /// Returns the text of an object with some members in any order, and the value that it represents.
    private static func record<Value: SampledObject>(
        _ type: Value.Type, _ random: inout TestRandom
    ) -> (json: String, value: Value) {
        var value = Value()
        var members: [String] = []
        let samples = Value.samples
        // Sometimes all members in their order, as in most texts.
        let isInOrder = Int.random(in: 0..<4, using: &random) == 0
        let chosen =
            isInOrder
            ? samples
            : (0..<Int.random(in: 0...6, using: &random)).compactMap { _ in samples.randomElement(using: &random) }
        for sample in chosen {
            if Int.random(in: 0..<8, using: &random) == 0 { members.append(#""unknown":{"a":[1,"a"]}"#) }
            members.append("\"\(sample.name)\":\(sample.json)")
            sample.assign(&value)
        }
        return ("{\(members.joined(separator: ","))}", value)
    }

    /// Sends a text whole and in pieces, and returns what `describe` makes of it, or the error.
    private static func outcomes<Sink: PlistSink & ~Copyable>(
        _ text: String, _ random: inout TestRandom, make: () throws -> Sink, describe: (inout Sink) throws -> String
    ) -> [String] {
        // The fast code paths need some bytes after the text.
        let bytes = Array(text.utf8) + [UInt8](repeating: 0x20, count: 64)
        let split = Int.random(in: 0..<bytes.count, using: &random)
        return [[], [split], Array(bytes.indices.dropFirst())].map { ends in
            do {
                var scanner = JSONScanner()
                var sink = try make()
                var start = 0
                for end in ends + [bytes.count] {
                    try unsafe bytes[start..<end].withUnsafeBufferPointer { buffer throws(StreamError) in
                        // SAFETY: the span does not leave the closure.
                        try scanner.scan(unsafe UnsafeRawBufferPointer(buffer).bytes, into: &sink)
                    }
                    start = end
                }
                try scanner.finish(into: &sink)
                return try describe(&sink)
            } catch {
                return "\(error)"
            }
        }
    }

    private final class Received { var texts: [String] = [] }

    /// Returns the values that a stream produces.
    private static func streamed<Value: SampledObject>(
        _ type: Value.Type, _ text: String, _ random: inout TestRandom
    ) -> [String] {
        let received = Received()
        return outcomes(
            text, &random,
            make: {
                received.texts = []
                return try RecordStream<Value> { value throws(StreamError) in received.texts.append(value.shown) }
            }, describe: { _ in received.texts.joined(separator: "\n") })
    }

    private static func expectAssignments<Value: SampledObject>(_ type: Value.Type, rounds: Int = 25) {
        let before = unsafe MemberLayouts.Leaf.aliveCount
        for round in 0..<rounds {
            var random = TestRandom(seed: UInt64(round))
            let records = (0..<Int.random(in: 1...4, using: &random)).map { _ in record(type, &random) }
            let array = "[\(records.map(\.json).joined(separator: ","))]"
            let expected = records.map(\.value.shown).joined(separator: "\n")
            let built = outcomes(
                array, &random, make: { try ObjectBuilder<[Value]>() },
                describe: { try $0.takeResult().map(\.shown).joined(separator: "\n") })
            for got in built { expectEqual(got, expected, "\(type) of \(array), round \(round)") }
            for got in streamed(type, array, &random) {
                expectEqual(got, expected, "a stream of \(type) of \(array), round \(round)")
            }
            expectInside(type, records, &random)
            expectSameText(records.map(\.value), array)
        }
        expectEqual(unsafe MemberLayouts.Leaf.aliveCount, before, "objects left of \(type)")
    }

    /// The same records as members of another structure.
    private static func expectInside<Value: SampledObject>(
        _ type: Value.Type, _ records: [(json: String, value: Value)], _ random: inout TestRandom
    ) {
        let (last, all) = (records[records.count - 1], records.map(\.json).joined(separator: ","))
        let json =
            #"{"rows":[\#(all)],"one":\#(last.json),"here":\#(last.json),"byName":{"k":\#(last.json)},"first":1}"#
        let box = MemberLayouts.Box(
            first: 1, rows: records.map(\.value), one: last.value, here: last.value, byName: ["k": last.value])
        let built = outcomes(
            json, &random, make: { try ObjectBuilder<MemberLayouts.Box<Value>>() },
            describe: { try $0.takeResult().shown })
        for got in built { expectEqual(got, box.shown, "within another structure, \(json)") }
    }

    /// The text of the read values must equal the text of the assigned values.
    private static func expectSameText<Value: SampledObject>(_ values: [Value], _ json: String) {
        func text(_ values: [Value]) throws -> String {
            var writer = JSONWriter()
            try writer.write(values)
            return writer.text
        }
        do {
            var builder = try ObjectBuilder<[Value]>()
            try builder.readJSON(json)
            expectEqual(try text(builder.takeResult()), try text(values), "written again, \(json)")
        } catch {
            fail("\(error) of \(json)")
        }
    }
}

extension MemberLayoutTests: SelfTesting {
    // Thousands of reads, which take seconds without optimization on a busy machine.
    static var testTimeLimit: Duration? { .seconds(60) }

    static var testSelectors: TestSelectors {
        [
            "testAssignsPartsOfProperties": testAssignsPartsOfProperties,
            "testLastMemberOfAPropertyWins": testLastMemberOfAPropertyWins,
            "testOtherStoredPropertiesKeepTheirDefaults": testOtherStoredPropertiesKeepTheirDefaults,
            "testAssignsObjectsLikeStructures": testAssignsObjectsLikeStructures,
            "testErrorsLeaveBuildersEmpty": testErrorsLeaveBuildersEmpty,
            "testEnforcesLimitsForEveryName": testEnforcesLimitsForEveryName,
        ]
    }

    private static func testAssignsPartsOfProperties() {
        expectAssignments(MemberLayouts.Part.self)
        expectAssignments(MemberLayouts.Parts.self)
    }

    private static func testLastMemberOfAPropertyWins() {
        expectAssignments(MemberLayouts.Aliases.self)
        expectAssignments(MemberLayouts.WholeAndPart.self)
    }

    private static func testOtherStoredPropertiesKeepTheirDefaults() {
        expectAssignments(MemberLayouts.Some.self)
        expectAssignments(MemberLayouts.Empties.self)
        expectAssignments(MemberLayouts.Reflected.self)
    }

    private static func testAssignsObjectsLikeStructures() {
        expectAssignments(MemberLayouts.Object.self)
        expectAssignments(MemberLayouts.Whole.self)
    }

    /// A name of 70 bytes.
    private struct LongName: StreamObject {
        var id = 0
        var aNameOfSeventyBytesWhichNobodyWritesByHandButManyAProgramMakesForItsMe = 1
        var text = ""
        var inner: [Inner] = []
    }

    private struct Inner: StreamObject {
        var aNameOfSixtyFourBytesThatIsAsLongAsTheLowestLimitOfFastReadersIs = ""
    }

    /// Known and unknown names, texts and numbers of all lengths around the limits.
    private static func testEnforcesLimitsForEveryName() {
        let (name, inner) = (
            "aNameOfSeventyBytesWhichNobodyWritesByHandButManyAProgramMakesForItsMe",
            "aNameOfSixtyFourBytesThatIsAsLongAsTheLowestLimitOfFastReadersIs"
        )
        expectEqual([name.utf8.count, inner.utf8.count], [70, 64], "lengths of names")
        for limit in [63, 64, 65, 69, 70, 71] {
            let limits = StreamLimits(stringByteCount: limit, numberByteCount: limit)
            for count in [limit - 1, limit, limit + 1] {
                let (letters, digits) = (String(repeating: "n", count: count), String(repeating: "1", count: count))
                let records = [
                    #"{"id":1,"\#(name)":2,"text":"t"}"#, #"{"inner":[{"\#(inner)":"x"}],"id":1}"#,
                    #"{"id":1,"\#(letters)":2}"#, #"{"text":"\#(letters)","id":1}"#, #"{"u":"\#(letters)","id":1}"#,
                    #"{"u":{"a":"\#(letters)"},"id":1}"#, #"{"u":[\#(digits)],"id":1}"#,
                    #"{"u":0.\#(digits.dropLast(2))}"#,
                    #"{"text":"\n\#(letters.dropLast())"}"#, #"{"\#(name)":\#(digits)}"#,
                ]
                for record in records {
                    RecordScan.expectOneOutcome("[\(record),\(record)]", "limit \(limit)", limits: limits) {
                        try ObjectBuilder<[LongName]>()
                    } describe: { builder in
                        (try? builder.takeResult()).map { "\($0)" } ?? "nothing"
                    }
                    RecordScan.expectOneOutcome("[\(record)]", "columns, limit \(limit)", limits: limits) {
                        ColumnsBuilder([
                            "aNameOfSeventyBytesWhichNobodyWritesByHandButManyAProgramMakesForItsMe": .integer,
                            "id": .integer, "text": .string,
                        ])
                    } describe: { builder in
                        (try? builder.takeResult()).map { "\($0["id"]?.integer(0) ?? -1) \($0.rowCount)" } ?? "nothing"
                    }
                }
            }
        }
    }

    /// Texts that end or become invalid in the middle of every kind of value.
    private static func expectNothingLeft<Value: SampledObject>(_ type: Value.Type) {
        let before = unsafe MemberLayouts.Leaf.aliveCount
        for round in 0..<12 {
            var random = TestRandom(seed: UInt64(round))
            let (first, second) = (record(type, &random), record(type, &random))
            let whole = "[\(first.json),\(second.json)"
            let wrong = Value.samples.map { "[\(first.json),{\"\($0.name)\":[[1]],\"x\":1}]" }
            let cut = whole.prefix(Int.random(in: 1...whole.count, using: &random))
            for text in wrong + [String(cut)] {
                let builder = outcomes(
                    text, &random, make: { try ObjectBuilder<[Value]>() }, describe: { _ in "no error" })
                let stream = streamed(type, text, &random)
                expectEqual(Set(builder).count, 1, "one outcome of \(text): \(builder)")
                expectEqual(Set(stream).count, 1, "one outcome of a stream of \(text): \(stream)")
                expectFalse(builder.contains("no error"), "an error of \(text)")
            }
        }
        expectEqual(unsafe MemberLayouts.Leaf.aliveCount, before, "objects left of \(type)")
    }

    private static func testErrorsLeaveBuildersEmpty() {
        expectNothingLeft(MemberLayouts.Parts.self)
        expectNothingLeft(MemberLayouts.Aliases.self)
        expectNothingLeft(MemberLayouts.WholeAndPart.self)
        expectNothingLeft(MemberLayouts.Empties.self)
        expectNothingLeft(MemberLayouts.Object.self)
        expectNothingLeft(MemberLayouts.Whole.self)
    }
}
#endif
