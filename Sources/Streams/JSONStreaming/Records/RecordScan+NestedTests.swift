// Values within records that must equal the values built from messages: every kind of value in every other, split at
// any position, under every policy, and with errors at any position.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum NestedRecordTests {
    enum Color: String, StreamValue { case red, green }

    struct Point: StreamObject {
        var x = -1
        var y = 0.5
    }

    struct Leaf: StreamObject {
        var name = "a default of more than fifteen bytes"
        var numbers: [Double] = [7]
        var flag: Bool?
        var color = Color.red
    }

    /// An object that counts its instances.
    final class Part: StreamObject {
        nonisolated(unsafe) static var liveCount = 0
        var id = -1
        var name: String? = "a default of more than fifteen bytes"
        var points: [Point] = []
        init() { unsafe Self.liveCount += 1 }
        deinit { unsafe Self.liveCount -= 1 }
        var text: String { "\(id) \(name ?? "nil") \(points)" }
    }

    /// A structure with a property that isn't a member, so that it is created before its members arrive.
    struct Partial: StreamObject {
        var id = 1
        var kept = "kept, and of more than fifteen bytes"
        var tags = ["a default"]
        static var streamMembers: StreamMembers { [.required("id", \Partial.id), .member("tags", \Partial.tags)] }
    }

    /// A value that is created from an array, if the array has an even count.
    struct Pairs: StreamRepresentable {
        var numbers: [Int] = []
        init() {}
        init(representation: [Int]) throws(StreamError) {
            guard representation.count % 2 == 0 else { throw StreamError(.typeMismatch, "expected pairs") }
            numbers = representation
        }
        var representation: [Int] { numbers }
    }

    /// A value that is created from a Boolean, which always needs a message.
    struct Switch: StreamRepresentable {
        var isOn = false
        init() {}
        init(representation: Bool) { isOn = representation }
        var representation: Bool { isOn }
    }

    struct Whole: StreamObject {
        var id = 0
        var leaf = Leaf()
        var maybe: Leaf?
        var points: [Point] = []
        var leaves: [Leaf]?
        var matrix: [[Int]] = []
        var cube: [[[Double]]] = []
        var names: [String] = []
        var maybes: [Int?] = []
        var small: [UInt8] = []
        var single: Float?
        var color: Color?
        var table: [String: Leaf] = [:]
        var counts: [String: Int] = [:]
        var parts: [Part] = []
        var part: Part?
        var partial = Partial()
        var partials: [Partial] = []
        var wholes: [Whole] = []
        var anything: PropertyList?
        var text = ""
        var pairs = Pairs()
        var others: [Pairs] = []
        var state = Switch()
        var states: [Switch] = []
        var last = 0

        var description: String {
            let tables =
                table.sorted { $0.key < $1.key }.map { "\($0)" } + counts.sorted { $0.key < $1.key }.map { "\($0)" }
            let objects = (parts + [part].compactMap { $0 }).map(\.text)
            let wholes = wholes.map(\.description).joined(separator: ", ")
            let firsts = "\(id) \(leaf) \(maybe as Any) \(points) \(leaves as Any) \(matrix) \(cube) \(names) \(maybes)"
            let others =
                "\(small) \(single as Any) \(color as Any) \(partial) \(partials) \(text) \(last) \(pairs.numbers) \(others.map(\.numbers)) \(state.isOn) \(states.map(\.isOn)) \(anything?.count ?? -1)"
            return "\(firsts) \(others) \(tables) \(objects) \(part == nil) [\(wholes)]"
        }
    }

    /// An object with members that hold objects, so that none of them is reused.
    final class Owner: StreamObject {
        var id = 0
        var part = Part()
        var whole: [Whole] = []
        init() {}
    }

    /// One member each; texts with two of them are made of these.
    static let members: [String] = [
        #""id":1"#, #""leaf":{"name":"x","numbers":[1,2.5,-3e2],"flag":true,"color":"green"}"#, #""leaf":{}"#,
        #""leaf":{"flag":null,"name":"a longer name with é and \n in it"}"#, #""leaf":null"#, #""leaf":[]"#,
        #""leaf":{"numbers":[],"unknown":[1,{"a":[null,true,false,"x\u00e9\\"]},-0.5e+3],"name":"y"}"#,
        #""leaf":{"name":"one","name":"two of more than fifteen bytes","flag":false}"#, #""leaf":{"color":"blue"}"#,
        #""leaf":{"numbers":[1,2,"3"]}"#, #""leaf":{"numbers":[1,2,]}"#, #""leaf":{"name":"x",}"#, #""leaf":{,}"#,
        #""maybe":{"name":"z"}"#, #""maybe":null"#, #""maybe":{"name":1}"#, #""points":[{"x":1,"y":2},{"x":3},{}]"#,
        #""points":[ { "y" : 1e3 , "x" : 12345678 } , {"x":123456789012345} ]"#, #""points":[{"x":1},null]"#,
        #""points":[{"x":1}{"x":2}]"#, #""points":[{"x":01}]"#, #""points":[{"x":1.5}]"#, #""points":[{"x":1e2}]"#,
        #""leaves":[{"name":"a"},{"numbers":[1]}]"#, #""leaves":null"#, #""leaves":[]"#, #""matrix":[[1,2],[],[3]]"#,
        #""matrix":[[1,2],[3,x]]"#, #""matrix":[[9223372036854775807,-9223372036854775808,1.0]]"#,
        #""matrix":[[9223372036854775808]]"#, #""matrix":[[1],2]"#, #""cube":[[[1.5,-2],[3,4e-1]],[[]],[]]"#,
        #""cube":[[[1.5,-2.25],[3.5],[0.5,1.5,2.5,3.5],[0.5,1.5,2.5,3.5,4.5],[-0.0,0.000000000000000001]]]"#,
        #""cube":[[[1.5, 2.5],[ 1.5],[1.5,2],[2,1.5],[1.5 ,2.5],[1.5,  2.5],[-123456.123456789012345,1.5 ]]]"#,
        #""cube":[[[1.5,-]]]"#, #""cube":[[[1.5,2.5}]]"#, #""cube":[[[1.5,2.5,]]]"#, #""cube":[[[1.5,2.5e]]]"#,
        #""cube":[[[1.5,null]]]"#, #""cube":[[[1.5,02.5]]]"#, #""cube":[[[1.5,2.5e1],[1.5e400]]]"#,
        #""cube":[[[0.1234567890123456789012,18446744073709551616,-0,0]]]"#, #""cube":[[[1e999]]]"#,
        #""names":["a","é","\ud83d\ude42","a string of more than fifteen bytes",""]"#, #""names":["a",null]"#,
        #""names":["a\ud800"]"#, #""names":["a\x"]"#, #""maybes":[1,null,3]"#, #""maybes":[null,"x"]"#,
        #""small":[0,255]"#, #""small":[256]"#, #""small":[-1]"#, #""small":"AAEC""#, #""single":1.5"#,
        #""single":1e39"#,
        #""color":"red""#, #""color":null"#, #""color":"x""#, #""table":{"a":{"name":"b"},"b":{},"a":{"flag":true}}"#,
        #""table":{"k\n":{}}"#, #""table":{"a":{"name":"b"},"b":{"numbers":[true]}}"#, #""counts":{"a":1, "b" : 2}"#,
        #""counts":{}"#, #""counts":{"a":null}"#, #""parts":[{"id":1,"name":null},{"points":[{"x":5}]},{}]"#,
        #""parts":[{"id":1},{"id":2,"points":[{"x":"y"}]}]"#, #""part":{"id":9,"name":"part","id":10}"#,
        #""part":null"#,
        #""partial":{"id":4,"kept":"no member","tags":["a","b"]}"#, #""partial":{"tags":[]}"#, #""partial":{"id":"x"}"#,
        #""partials":[{"id":1},{"tags":["x"],"id":2}]"#, #""partials":[{"id":1},{}]"#,
        #""wholes":[{"id":1,"wholes":[{"id":2,"leaf":{"name":"deep"},"wholes":[{"points":[{"x":1}]}]}]},{}]"#,
        #""pairs":[1,2]"#, #""pairs":[1]"#, #""pairs":null"#, #""others":[[],[3,4]]"#, #""others":[[1,2],[3]]"#,
        #""state":true"#, #""state":false"#, #""state":falsy"#, #""states":[true,false,true]"#,
        #""states":[false,null]"#,
        #""anything":{"a":[1,{}]}"#, #""anything":[[]]"#, #""text":"an escape \t and more""#, #""text":null"#,
        #""text":{}"#,
        #""unknown":{"id":1,"deep":[[[[]]],{"a":{"b":{}}}]}"#, #""unknown":"\u00""#, #""unknown":[1,2"#,
        #""unknown":1.e5"#, #""unknown":[01]"#, #""unknown":-"#, #""unknown":tru"#, #""unknown":{"a" : 1 , "b":2 }"#,
        "\"unknown\":\"a\u{1}\"", #""unknown":{"a":1,}"#, #""unknown" : 1"#, #""un\known":1"#, #""":[""]"#,
        #""unknown":{"a":{"b"}}"#, #""unknown":[1 2]"#, #""unknown":[}"#, #""unknown":{]"#, #""last":3"#,
    ]

    static let texts: [String] = {
        var texts = members.map { "{\($0)}" }
        for (index, member) in members.enumerated() {
            let other = members[(index * 7 + 3) % members.count]
            texts.append("{ \(member) ,\n  \(other), \"last\" : 5 }")
            texts.append("{\"wholes\":[{\"id\":1,\(member)},{\"last\":4}],\"leaf\":{\"name\":\"in\"},\(other)}")
        }
        return texts
    }()

    /// Arrays and records that are longer than the memory that a reader has at once.
    static let longTexts: [String] = {
        let numbers = (0..<1500).map { "\($0)" }.joined(separator: ",")
        let points = (0..<900).map { "{\"y\":\($0).5,\"more\":[\($0)],\"x\":\($0 * 1001)}" }.joined(separator: ", ")
        let parts = (0..<700).map { "{\"id\":\($0),\"name\":\"\(String(repeating: "n", count: $0 % 30))\"}" }
        let all = parts.joined(separator: ",")
        let deep = String(repeating: "{\"wholes\":[", count: 30) + String(repeating: "]}", count: 30)
        return [
            "{\"matrix\":[[\(numbers)],[1]]}", "{\"names\":[\(numbers)]}", "{\"points\":[\(points)]}",
            "{\"points\":[\(points),{\"x\":true}]}", "{\"parts\":[\(all)],\"points\":[\(points)]}",
            "{\"parts\":[\(all),{\"id\":[]}]}", deep, "{\"leaf\":{\"unknown\":\(String(repeating: "[", count: 70))1",
            "{\"unknown\":\(String(repeating: "[", count: 63) + String(repeating: "]", count: 63)),\"last\":1}",
        ]
    }()

    static func compare(
        _ texts: [String], _ options: BuilderOptions = BuilderOptions(), limits: StreamLimits = .standard,
        atEverySplit: Bool = false
    ) {
        for text in texts {
            RecordScan.expectOneOutcome(text, "Whole", limits: limits, atEverySplit: atEverySplit) {
                try ObjectBuilder<Whole>(options: options)
            } describe: { builder in
                guard let value = try? builder.takeResult() else { return "nothing" }
                return value.description + " \(builder.unknownMembers.map(\.path))"
            }
        }
    }
}

extension NestedRecordTests: SelfTesting {
    // Texts are split at every position, which takes seconds without optimization, and much longer on a busy machine.
    static var testTimeLimit: Duration? { .seconds(120) }

    static var testSelectors: TestSelectors {
        [
            "testBuildsSameValuesAsMessages": testBuildsSameValuesAsMessages,
            "testFollowsEveryPolicy": testFollowsEveryPolicy,
            "testEnforcesDepthLimits": testEnforcesDepthLimits,
            "testEnforcesStringLimits": testEnforcesStringLimits,
            "testStopsAtTheEndOfText": testStopsAtTheEndOfText,
            "testStopsAtTheLastOfManyBraces": testStopsAtTheLastOfManyBraces,
            "testBuildsLongAndDeepValues": testBuildsLongAndDeepValues,
            "testDeliversSameValuesAsMessages": testDeliversSameValuesAsMessages,
            "testAgreesOnMutatedTexts": testAgreesOnMutatedTexts,
            "testReleasesDiscardedValues": testReleasesDiscardedValues,
        ]
    }

    /// Compares each text whole, by byte, and in two pieces.
    private static func testBuildsSameValuesAsMessages() {
        compare(texts.sampledInDebug(every: 4))
        // Every split point of some.
        let some = texts.enumerated().filter { $0.offset % 12 == 0 }.map(\.element)
        compare(some.sampledInDebug(every: 4), atEverySplit: true)
    }

    private static func testFollowsEveryPolicy() {
        let some = texts.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        for (index, unknown) in [BuilderOptions.UnknownMembers.ignore, .collect, .reject].enumerated() {
            for nulls in [BuilderOptions.Nulls.reject, .treatAsMissing] {
                let missing: BuilderOptions.MissingMembers = (index == 0) == (nulls == .reject) ? .reject : .useDefaults
                compare(
                    some.sampledInDebug(every: 4),
                    BuilderOptions(unknownMembers: unknown, missingMembers: missing, nulls: nulls))
            }
        }
    }

    /// The limits of the names and strings of members, and of skipped ones.
    private static func testEnforcesStringLimits() {
        for count in [63, 64, 65, 66, 72] {
            let string = "\"" + String(repeating: "s", count: count) + "\""
            let texts = [
                "\(string):0", "\"unknown\":\(string)", "\"text\":\(string)", "\"unknown\":{\(string):[\(string)]}",
                "\"names\":[\(string)]", "\"leaf\":{\"name\":\(string),\(string):1}",
            ].map { "{\"id\":1,\($0),\"last\":2\(String(repeating: " ", count: 100))}" }
            // Only the plain scanner enforces lower limits.
            for limit in [count - 1, count, count + 1] where limit >= 64 {
                compare(texts, BuilderOptions(unknownMembers: .ignore), limits: StreamLimits(stringByteCount: limit))
            }
        }
    }

    private static func testEnforcesDepthLimits() {
        let deep = texts.filter { $0.contains("unknown") || $0.contains("cube") || $0.contains("wholes") }
            .sampledInDebug(every: 4)
        for depth in 1...5 {
            compare(deep.filter { $0.utf8.count % 2 == depth % 2 }, BuilderOptions(depthLimit: depth))
            compare(deep.filter { $0.utf8.count % 2 != depth % 2 }, limits: StreamLimits(depth: depth))
        }
        let long = String(repeating: "long ", count: 13)
        let strings = ["text", "unknown", "un\(long)"].map {
            "{\"\($0)\":\"\(long)\",\"leaf\":{\"\($0)\":\"\(long)\"}}"
        }
        for limit in [64, 65, 66] { compare(strings, limits: StreamLimits(stringByteCount: limit)) }
    }

    private static func testStopsAtTheEndOfText() {
        let long = String(repeating: "long ", count: 12)
        for (first, value) in ["a\\n\(long)", "\(long)é", "\\u0041\(long)"].enumerated() {
            for (second, name) in ["text", "color", "unknown", "leaf"].enumerated() {
                let text =
                    "{\"id\":1,\"\(name)\":\"\(value)\",\"leaf\":{\"name\":\"\(value)\"},\"names\":[\"\(value)\"]}"
                // Each of the twelve texts ends at every fifth position, all of them together at every position.
                let ends = stride(from: 80 + (4 * first + second) % 5, to: text.count, by: 5)
                compare(ends.map { String(text.prefix($0)) })
            }
        }
    }

    private struct Innermost: StreamObject { var text = "" }
    private struct Around<Inner: StreamObject>: StreamObject { var inner: Inner? }
    private typealias Deep = Around<Around<Around<Innermost>>>
    private typealias Deeper = Around<Around<Around<Around<Around<Around<Around<Around<Around<Deep>>>>>>>>>

    /// After a value near the end of a chunk, more objects end than the chunk has bytes.
    private static func testStopsAtTheLastOfManyBraces() throws {
        let value = String(repeating: "long ", count: 12)
        let text =
            String(repeating: "{\"inner\":", count: 12) + "{\"text\":\"\(value)\"}" + String(repeating: "}", count: 12)
        for split in text.utf8.count - 20...text.utf8.count {
            var builder = try ObjectBuilder<Deeper>()
            var scanner = JSONScanner()
            // Each part is in its own memory, so that a read after its end is detected.
            for part in [Array(text.utf8.prefix(split)), Array(text.utf8.dropFirst(split))] {
                // SAFETY: the span does not leave the closure.
                try unsafe part.withUnsafeBytes { try scanner.scan(unsafe $0.bytes, into: &builder) }
            }
            try scanner.finish(into: &builder)
            let deep = try builder.takeResult().inner?.inner?.inner?.inner?.inner?.inner?.inner?.inner?.inner
            expectEqual(deep?.inner?.inner?.inner?.text, value, "in two parts, the first of \(split) bytes")
        }
    }

    private static func testBuildsLongAndDeepValues() throws {
        for text in longTexts {
            func outcome(_ isPlain: Bool, _ size: Int) throws -> String {
                var options = JSONReaderOptions()
                options.usesPlainScan = isPlain
                var builder = try ObjectBuilder<Whole>()
                var scanner = JSONScanner(options: options)
                let bytes = Array(text.utf8) + [UInt8](repeating: 0x20, count: 60)
                do throws(StreamError) {
                    try unsafe bytes.withUnsafeBufferPointer { buffer throws(StreamError) in
                        // SAFETY: the spans do not leave the closure.
                        let span = unsafe UnsafeRawBufferPointer(buffer).bytes
                        for start in stride(from: 0, to: bytes.count, by: size) {
                            try scanner.scan(span.extracting(start..<min(bytes.count, start + size)), into: &builder)
                        }
                    }
                    try scanner.finish(into: &builder)
                    return try builder.takeResult().description
                } catch {
                    return "\(error)"
                }
            }
            let expected = try outcome(true, .max >> 1)
            for size in [Int.max >> 1, 1000, 4096] {
                expectTrue(try outcome(false, size) == expected, "\(text.prefix(40)) in pieces of \(size)")
            }
        }
    }

    private static func testDeliversSameValuesAsMessages() {
        final class Received {
            var texts: [String] = []
        }
        func compare<Value: StreamValue>(
            _ type: Value.Type, depth: Int, _ describe: @escaping (borrowing Value) -> String,
            _ wrap: (String) -> String
        ) {
            let some = texts.enumerated().filter { $0.offset % 3 == 0 }.map(\.element).sampledInDebug(every: 4)
            for text in some.map(wrap) {
                let received = Received()
                RecordScan.expectOneOutcome(text, "stream of \(type)") {
                    received.texts = []
                    return try RecordStream<Value>(depth: depth) { value throws(StreamError) in
                        received.texts.append(describe(value))
                    }
                } describe: { stream in
                    "\(stream.count): \(received.texts)"
                }
            }
        }
        compare(Whole.self, depth: 0) {
            $0.description
        } _: {
            $0
        }
        compare(Whole.self, depth: 1) {
            $0.description
        } _: {
            "[\($0),{},\($0)]"
        }
        compare(Owner.self, depth: 1) { owner in
            "\(owner.id) \(owner.part.text) \(owner.whole.map(\.description))"
        } _: {
            "[{\"whole\":[\($0)],\"part\":{\"id\":4},\"id\":6},{}]"
        }
        compare(Leaf.self, depth: 2) {
            "\(copy $0)"
        } _: {
            "{\"a\":[\($0.dropFirst(8).dropLast()),{\"name\":\"x\"}]}"
        }
    }

    private static func testAgreesOnMutatedTexts() {
        var state: UInt64 = 7
        func random(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(truncatingIfNeeded: state >> 33) % bound
        }
        let odd = Array("{}[]\",:\\ 0123456789.eE+-tfnu\u{1}\nx".unicodeScalars.map(Character.init))
        for _ in 0..<400 {
            var text = Array(texts[random(below: texts.count)])
            for _ in 0...random(below: 2) {
                let place = random(below: text.count)
                switch random(below: 3) {
                case 0: text[place] = odd[random(below: odd.count)]
                case 1: text.insert(odd[random(below: odd.count)], at: place)
                default: text.remove(at: place)
                }
            }
            compare([String(text)])
        }
    }

    private static func testReleasesDiscardedValues() throws {
        // Binding keeps some objects with the defaults.
        _ = try ObjectBuilder<Owner>()
        let before = unsafe Part.liveCount
        let some = texts.filter { $0.contains("part") } + longTexts
        for text in some {
            var builder = try ObjectBuilder<[Owner]>()
            let wrapped = "[{\"part\":{\"id\":1},\"whole\":[\(text),\(text)]},{\"whole\":[\(text)]}]"
            _ = try? builder.readJSON(wrapped)
            _ = try? builder.takeResult()
            var stream = try RecordStream<Owner> { _ throws(StreamError) in }
            _ = try? stream.readJSON(wrapped)
        }
        expectEqual(unsafe Part.liveCount, before, "objects after \(some.count) texts")
    }
}
#endif
