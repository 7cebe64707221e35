// In-class tests of building typed values: types, members, errors.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

enum ObjectBuilderTests {
    struct Point: StreamObject, Equatable {
        var x = 0.0
        var y = 0.0
    }

    struct Sample: StreamObject, Equatable {
        var id = -1
        var name = "none"
        var flag: Bool? = nil
        var ratio: Double? = 0.5
        var small: UInt8 = 1
        var tags: [String] = ["default"]
        var origin = Point()
        var corners: [Point] = []
        var best: Point? = nil
        var matrix: [[Double]] = []
        var counts: [String: Int] = [:]
        var parts: [Sample] = []
        var color = Color.red
        var any: PropertyList? = nil
    }

    enum Color: String, StreamValue { case red, green }

    final class Person: StreamObject {
        var name = "nobody at all in this place"
        var age = 0
        var address = Address()
        var friends: [Person] = []
        init() {}
    }

    final class Address: StreamObject {
        var zip: Int? = nil
        init() {}
    }

    struct Declared: StreamObject {
        var title = "" { didSet { changes += 1 } }
        var changes = 0
        let constant = 7
        var computed: Int {
            get { changes * 2 }
            set { changes = newValue / 2 }
        }
        static var streamMembers: StreamMembers {
            [.required("t", \Declared.title), .member("n", \Declared.changes), .member("twice", \Declared.computed)]
        }
    }
}

extension ObjectBuilderTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testBuildsScalars": testBuildsScalars,
            "testBuildsEveryMember": testBuildsEveryMember,
            "testKeepsDefaultsOfMissingMembers": testKeepsDefaultsOfMissingMembers,
            "testLastOfDuplicateMembersWins": testLastOfDuplicateMembersWins,
            "testBuildsObjectsOfClasses": testBuildsObjectsOfClasses,
            "testObjectsDoNotShareDefaults": testObjectsDoNotShareDefaults,
            "testBuildsDeclaredMembers": testBuildsDeclaredMembers,
            "testReportsPathOfRejectedValues": testReportsPathOfRejectedValues,
            "testRejectsNumbersThatDoNotFit": testRejectsNumbersThatDoNotFit,
            "testFollowsPolicies": testFollowsPolicies,
            "testMapsKeys": testMapsKeys,
            "testConvertsAndDiscriminates": testConvertsAndDiscriminates,
            "testReleasesPartsAfterAnError": testReleasesPartsAfterAnError,
            "testRefusesMisuse": testRefusesMisuse,
        ]
    }

    private static func testBuildsScalars() throws {
        expectEqual(try ObjectBuilder<Int>.build("integer 42"), 42, "Int")
        expectEqual(try ObjectBuilder<Int>.build("real 42.0"), 42, "Int of a real")
        expectEqual(try ObjectBuilder<UInt64>.build("unsigned 18446744073709551615"), .max, "UInt64")
        expectEqual(try ObjectBuilder<Double>.build("integer 42"), 42, "Double of an integer")
        expectEqual(try ObjectBuilder<Float>.build("real 0.5"), 0.5, "Float")
        expectEqual(try ObjectBuilder<String?>.build("null"), nil, "null")
        expectEqual(try ObjectBuilder<String?>.build("string \"a\""), "a", "String?")
        expectEqual(try ObjectBuilder<Int??>.build("integer 1"), 1, "Int??")
        expectEqual(try ObjectBuilder<[Bool]>.build("[ true false ]"), [true, false], "[Bool]")
        expectEqual(try ObjectBuilder<[Int?]>.build("[ integer 1 null ]"), [1, nil], "[Int?]")
        expectEqual(try ObjectBuilder<[[Int]]>.build("[ [ ] [ integer 1 ] ]"), [[], [1]], "[[Int]]")
        expectEqual(try ObjectBuilder<[Double]>.build("[ integer 1 real 2.5 ]"), [1, 2.5], "[Double]")
        expectEqual(try ObjectBuilder<[String: [Int]]>.build("{ key \"a\" [ integer 1 ] }"), ["a": [1]], "dictionary")
        expectEqual(try ObjectBuilder<[UInt8]>.build("data 0041"), [0, 0x41], "bytes")
        expectEqual(try ObjectBuilder<[Color]>.build("[ string \"green\" ]"), [.green], "raw values")
    }

    private static let full = """
        { key "id" integer 7 key "name" string "a name of more than fifteen bytes" key "flag" true key "ratio" null
        key "small" integer 255 key "tags" [ string "x" string "y" ] key "origin" { key "y" real 2.0 key "x" integer 1 }
        key "corners" [ { key "x" integer 3 } { } ] key "best" { key "x" real 1.5 } key "matrix" [ [ real 1.0 ] [ ] ]
        key "counts" { key "a" integer 1 key "b" integer 2 } key "parts" [ { key "id" integer 8 } ]
        key "color" string "green" key "any" { key "k" [ null ] } }
        """

    private static func testBuildsEveryMember() throws {
        let sample = try ObjectBuilder<Sample>.build(full)
        var expected = Sample()
        expected.id = 7
        expected.name = "a name of more than fifteen bytes"
        expected.flag = true
        expected.ratio = nil
        expected.small = 255
        expected.tags = ["x", "y"]
        expected.origin = Point(x: 1, y: 2)
        expected.corners = [Point(x: 3, y: 0), Point()]
        expected.best = Point(x: 1.5, y: 0)
        expected.matrix = [[1], []]
        expected.counts = ["a": 1, "b": 2]
        var part = Sample()
        part.id = 8
        expected.parts = [part]
        expected.color = .green
        expected.any = try PropertyListBuilder.list("{ key \"k\" [ null ] }")
        expectEqual(sample, expected, "sample")
    }

    private static func testKeepsDefaultsOfMissingMembers() throws {
        let samples = try ObjectBuilder<[Sample]>.build("[ { key \"id\" integer 1 } { } ]")
        expectEqual(samples[0].name, "none", "name of the first")
        expectEqual(samples[1], Sample(), "second")
    }

    private static func testLastOfDuplicateMembersWins() throws {
        let sample = try ObjectBuilder<Sample>.build(
            """
            { key "name" string "first, which is long enough for the heap" key "name" string "second, on the heap too"
            key "tags" [ string "a" ] key "tags" [ string "b" ] key "origin" { key "x" integer 1 }
            key "origin" { key "y" integer 2 } key "id" integer 1 key "id" integer 2 key "best" { } key "best" null
            key "any" integer 1 key "any" integer 2 }
            """)
        expectEqual(sample.name, "second, on the heap too", "name")
        expectEqual(sample.tags, ["b"], "tags")
        expectEqual(sample.origin, Point(x: 0, y: 2), "origin")
        expectEqual(sample.id, 2, "id")
        expectNil(sample.best, "best")
        expectEqual(sample.any?.integerValue, 2, "any")
    }

    private static func testBuildsObjectsOfClasses() throws {
        let people = try ObjectBuilder<[Person]>.build(
            """
            [ { key "name" string "Ada" key "age" integer 36 key "address" { key "zip" integer 12345 }
            key "friends" [ { key "name" string "Charles" } ] } { } ]
            """)
        expectEqual(people.map(\.name), ["Ada", "nobody at all in this place"], "names")
        expectEqual(people[0].address.zip, 12345, "zip")
        expectEqual(people[0].friends.map(\.name), ["Charles"], "friends")
    }

    private static func testObjectsDoNotShareDefaults() throws {
        let people = try ObjectBuilder<[Person]>.build("[ { } { } ]")
        expectFalse(people[0].address === people[1].address, "addresses are one object")
    }

    private static func testBuildsDeclaredMembers() throws {
        let declared = try ObjectBuilder<Declared>.build("{ key \"t\" string \"title\" key \"twice\" integer 8 }")
        expectEqual(declared.title, "title", "title")
        expectEqual(declared.changes, 4, "changes by the accessor")
        let observed = try ObjectBuilder<Declared>.build("{ key \"n\" integer 5 key \"t\" string \"title\" }")
        expectEqual(observed.changes, 6, "changes, one by the observer")
        let error = expectThrows(StreamError.self, "a required member") {
            _ = try ObjectBuilder<[Declared]>.build("[ { key \"n\" integer 5 } ]")
        }
        expectEqual(error?.kind, .missingMember, "kind")
        expectEqual(error?.description, "$[0]: expected a member \"t\" of Declared", "description")
    }

    private static func testReportsPathOfRejectedValues() {
        let rows = [
            (
                "[ { } { key \"address\" { key \"zip\" string \"x\" } } ]",
                "$[1].address.zip: expected an integer, found string \"x\""
            ),
            ("[ { key \"age\" null } ]", "$[0].age: expected an integer, found null"),
            ("[ { key \"age\" [ ] } ]", "$[0].age: expected an integer, found an array"),
            ("[ { key \"age\" { } } ]", "$[0].age: expected an integer, found a dictionary"),
            ("[ { key \"address\" integer 1 } ]", "$[0].address: expected a dictionary, found integer 1"),
            (
                "[ { key \"friends\" [ { } { key \"name\" true } ] } ]",
                "$[0].friends[1].name: expected a string, found true"
            ),
            ("[ real 1.5 ]", "$[0]: expected a dictionary, found real 1.5"),
            ("integer 1", "$: expected an array, found integer 1"),
        ]
        for (script, message) in rows {
            let error = expectThrows(StreamError.self, script) { _ = try ObjectBuilder<[Person]>.build(script) }
            expectEqual(error?.description, message, script)
            expectEqual(error?.kind, .typeMismatch, script)
        }
        let error = expectThrows(StreamError.self, "a long string") {
            _ = try ObjectBuilder<Int>.build("string \"\(String(repeating: "é", count: 1_000))\"")
        }
        expectLessThan(error?.description.utf8.count ?? 0, 150, "length of the message")
    }

    private static func testRejectsNumbersThatDoNotFit() {
        for script in ["integer 256", "integer -1", "real 1e30", "unsigned 18446744073709551615", "number 1e400"] {
            let error = expectThrows(StreamError.self, script) { _ = try ObjectBuilder<UInt8>.build(script) }
            expectEqual(error?.kind, .unrepresentable, script)
        }
        expectThrows(StreamError.self, "a fraction") { _ = try ObjectBuilder<Int>.build("real 0.5") }
        expectThrows(StreamError.self, "beyond Float") { _ = try ObjectBuilder<Float>.build("real 1e300") }
        expectThrows(StreamError.self, "beyond Double") { _ = try ObjectBuilder<Double>.build("number 1e400") }
        let error = expectThrows(StreamError.self, "a raw value") {
            _ = try ObjectBuilder<[Color]>.build("[ string \"x\" ]")
        }
        expectEqual(error?.description, "$[0]: expected a raw value of Color, found x", "description")
    }

    private static func testFollowsPolicies() throws {
        let unknown = "{ key \"other\" { key \"id\" [ { } integer 1 ] } key \"x\" integer 1 key \"more\" null }"
        expectEqual(try ObjectBuilder<Point>.build(unknown), Point(x: 1, y: 0), "unknown members ignored")
        let error = expectThrows(StreamError.self, "unknown members rejected") {
            _ = try ObjectBuilder<Point>.build(unknown, BuilderOptions(unknownMembers: .reject))
        }
        expectEqual(error?.description, "$.other: Point has no such member", "description")
        var builder = try ObjectBuilder<Point>(options: BuilderOptions(unknownMembers: .collect))
        try EventScript.send(unknown, to: &builder)
        expectEqual(builder.unknownMembers.map(\.path.description), ["$.other", "$.more"], "paths")
        expectEqual(builder.unknownMembers.first?.value["id"]?.count, 2, "value of the first")
        expectEqual(try builder.takeResult(), Point(x: 1, y: 0), "unknown members collected")
        let few = BuilderOptions(unknownMembers: .collect, unknownMemberLimit: 2)
        var again = try ObjectBuilder<Point>(options: few)
        for number in 0..<3 {
            try EventScript.send("{ key \"a\" integer \(number) key \"b\" [ ] }", to: &again)
            for _ in 0..<2 {
                expectEqual(again.unknownMembers.map(\.path.description), ["$.a", "$.b"], "paths in value \(number)")
                expectEqual(again.unknownMembers.first?.value.integerValue, Int64(number), "a member of it")
                if unsafe again.stateMachine.pointee.isFilled { _ = try again.takeResult() }
            }
        }
        try EventScript.send("{ key \"x\" integer 1 }", to: &again)
        expectEqual(again.unknownMembers, [], "unknown members of a value without any")
        let missing = BuilderOptions(missingMembers: .reject)
        expectThrows(StreamError.self, "missing") {
            _ = try ObjectBuilder<Point>.build("{ key \"x\" integer 1 }", missing)
        }
        expectEqual(try ObjectBuilder<Address>.build("{ }", missing).zip, nil, "a missing optional member")
        let nulls = BuilderOptions(nulls: .treatAsMissing)
        expectEqual(try ObjectBuilder<Point>.build("{ key \"x\" null }", nulls), Point(), "null as missing")
        let deep = expectThrows(StreamError.self, "depth") {
            _ = try ObjectBuilder<Sample>.build("{ key \"u\" [ [ ] ] }", BuilderOptions(depthLimit: 2))
        }
        expectEqual(deep?.kind, .limitExceeded, "kind")
        // The name of an ignored member isn't kept, and the error doesn't have another name instead.
        let behind = expectThrows(StreamError.self, "a value too deep in another object") {
            _ = try ObjectBuilder<[String: [String: Point]]>.build(
                "{ key \"a\" { key \"b\" { key \"x\" integer 1 } } key \"c\" { key \"d\" { key \"u\" [ [ ] ] } } }",
                BuilderOptions(depthLimit: 4))
        }
        expectEqual(behind?.path?.description, "$.c.d", "its path")
    }

    private struct Named: StreamObject {
        var fullName = ""
        var userID = 0
    }

    private struct Colliding: StreamObject {
        var userID = 0
        var userId = 0
    }

    private struct Constant: StreamObject { let a = 1 }
    private struct Foreign: StreamObject { var a: Any? = nil }

    private static func testMapsKeys() throws {
        let options = BuilderOptions(keyMapping: .snakeCase)
        let named = try ObjectBuilder<Named>.build(
            "{ key \"full_name\" string \"x\" key \"user_id\" integer 1 }", options)
        expectEqual(named.fullName, "x", "full_name")
        expectEqual(named.userID, 1, "user_id")
        let custom = BuilderOptions(keyMapping: .names { $0.uppercased() })
        expectEqual(try ObjectBuilder<Named>.build("{ key \"USERID\" integer 2 }", custom).userID, 2, "USERID")
        let rows: [(String, () throws -> Void)] = [
            ("is mapped to the name", { _ = try ObjectBuilder<Colliding>(options: options) }),
            ("Constant.a is a constant", { _ = try ObjectBuilder<Constant>() }),
            ("which doesn't conform to StreamValue", { _ = try ObjectBuilder<Foreign>() }),
        ]
        for (part, make) in rows {
            let error = expectThrows(StreamError.self, part, make)
            expectTrue(error?.message.contains(part) ?? false, "\(error?.message ?? "") contains \(part)")
        }
    }

    /// A number that is a string in the stream.
    private struct Amount: StreamRepresentable, Equatable {
        var cents = 0
        init(representation: String) throws(StreamError) {
            guard let cents = Int(representation) else {
                throw StreamError(.unrepresentable, "expected an amount, found \(representation)")
            }
            self.cents = cents
        }
        var representation: String { "\(cents)" }
    }

    /// One of two shapes, which are distinguished by a member that may come last.
    private enum Shape: StreamRepresentable, Equatable {
        case circle(Double)
        case square(Int64)

        init(representation: PropertyList) throws(StreamError) {
            switch representation["kind"]?.stringValue {
            case "circle": self = .circle(representation["radius"]?.realValue ?? 0)
            case "square": self = .square(representation["side"]?.integerValue ?? 0)
            default: throw StreamError(.unrepresentable, "expected a kind of shape")
            }
        }

        var representation: PropertyList {
            switch self {
            case .circle(let radius): ["kind": "circle", "radius": PropertyList(radius)]
            case .square(let side): ["kind": "square", "side": PropertyList(Int(side))]
            }
        }
    }

    private struct Drawing: StreamObject {
        var price: Amount? = nil
        var shapes: [Shape] = []
        var best: Shape? = nil
    }

    private static func testConvertsAndDiscriminates() throws {
        let drawing = try ObjectBuilder<Drawing>.build(
            """
            { key "price" string "250" key "shapes" [ { key "radius" real 1.5 key "kind" string "circle" }
            { key "kind" string "square" key "side" integer 2 } ] key "best" { key "kind" string "circle" } key "best" null }
            """)
        expectEqual(drawing.price?.cents, 250, "price")
        expectEqual(drawing.shapes, [.circle(1.5), .square(2)], "shapes")
        expectNil(drawing.best, "best")
        let rows = [
            ("{ key \"price\" string \"x\" }", "$.price: expected an amount, found x"),
            ("{ key \"shapes\" [ { } ] }", "$.shapes[0]: expected a kind of shape"),
            ("{ key \"price\" integer 1 }", "$.price: expected a string, found integer 1"),
        ]
        for (script, message) in rows {
            let error = expectThrows(StreamError.self, script) { _ = try ObjectBuilder<Drawing>.build(script) }
            expectEqual(error?.description, message, script)
        }
        var trace = EventTrace()
        try trace.write(drawing.price)
        expectEqual(trace.text, "string \"250\"", "messages")
        var tree = PropertyListBuilder()
        try tree.write(drawing.shapes)
        let expected: PropertyList = [["kind": "circle", "radius": 1.5], ["kind": "square", "side": 2]]
        expectEqual(try tree.takeResult(), expected, "shapes, written")
    }

    /// Counts its instances, so that tests can check that all of them are released.
    private final class Counted: StreamObject {
        nonisolated(unsafe) static var alive = 0
        var name = "a name of more than fifteen bytes"
        init() { unsafe Self.alive += 1 }
        deinit { unsafe Self.alive -= 1 }
    }

    private struct Holder: StreamObject {
        var items: [Counted] = []
        var item: Counted? = nil
        var number = 0
    }

    private static func testReleasesPartsAfterAnError() throws {
        let script =
            "[ { key \"items\" [ { } { key \"name\" string \"another long name\" } ] key \"item\" { key \"name\" integer 1"
        _ = try ObjectBuilder<[Holder]>()
        let before = unsafe Counted.alive  // The instances that the plans keep as defaults.
        for length in script.indices {
            var builder = try ObjectBuilder<[Holder]>()
            try? EventScript.send(String(script[..<length]), to: &builder)
            builder.reset()
            try? EventScript.send(String(script[..<length]), to: &builder)
        }
        expectEqual(unsafe Counted.alive, before, "objects alive")
    }

    private static func testRefusesMisuse() {
        for script in ["{ integer 1", "]", "}", "[ }", "{ ]", "key \"a\"", "[ { } ] [ ]", "[ key \"a\""] {
            let error = expectThrows(StreamError.self, script) { _ = try ObjectBuilder<[Sample]>.build(script) }
            expectTrue(error?.kind == .misuse || error?.kind == .typeMismatch, "\(script): \(error?.message ?? "")")
        }
        let error = expectThrows(StreamError.self, "a part") { _ = try ObjectBuilder<[Sample]>.build("[ { }") }
        expectEqual(error?.kind, .unexpectedEnd, "kind")
    }
}
#endif
