// In-class tests of defaults and binding: each value gets new results of `init`, types that can't be bound are reported, and
// the code of the types may run anything while they are bound.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

enum DefaultTests {
    /// Numbers that are different each time, like identifiers and times.
    nonisolated(unsafe) static var lastNumber = 0

    static func nextNumber() -> Int {
        unsafe lastNumber += 1
        return unsafe lastNumber
    }

    struct Stamped: StreamObject {
        var number = DefaultTests.nextNumber()
        var name = "a name of more than fifteen bytes, \(unsafe DefaultTests.lastNumber)"
        var other = 0
    }

    final class StampedObject: StreamObject {
        var number = DefaultTests.nextNumber()
        var other = 0
        init() {}
    }

    /// An object with a child that is made together with it.
    final class Parent: StreamObject {
        var child = StampedObject()
        var other = 0
        init() {}
    }

    struct DeclaredStamp: StreamObject {
        var number = DefaultTests.nextNumber()
        var hidden = DefaultTests.nextNumber()
        static var streamMembers: StreamMembers { [.member("number", \DeclaredStamp.number)] }
    }

    final class DeclaredObject: StreamObject {
        var number = 1
        var hidden = 2
        init() {}
        static var streamMembers: StreamMembers { [.member("number", \DeclaredObject.number)] }
    }

    /// A class whose `init` always returns the same object.
    final class Single: SingleObject, StreamObject {
        nonisolated(unsafe) static let only = Single(text: "the only one, of more than fifteen bytes")
        var text: String
        var other = 0
        init(text: String) { self.text = text }
        static var theOnly: Single { unsafe only }
    }

    /// Binds another type within `init`, and within a default.
    final class Binding: StreamObject {
        var points: [ObjectBuilderTests.Point]
        var count = DefaultTests.boundCount()
        init() { points = (try? ObjectBuilder<[ObjectBuilderTests.Point]>.build("[ { } ]")) ?? [] }
        static var streamMembers: StreamMembers {
            _ = try? ObjectBuilder<[ObjectBuilderTests.Address]>()
            return [.member("points", \Binding.points), .member("count", \Binding.count)]
        }
    }

    static func boundCount() -> Int { (try? ObjectBuilder<[NeverBoundBefore]>.build("[ { } { } ]"))?.count ?? -1 }

    struct NeverBoundBefore: StreamObject { var x = 1 }

    /// Has the binding of a different type.
    struct MismatchedBinding: StreamObject {
        var text = "of more than fifteen bytes, on the heap"
        static var streamBinding: StreamBinding { Int.streamBinding }
    }

    struct HoldsMismatchedBinding: StreamObject { var inner = MismatchedBinding() }

    struct Node: StreamObject {
        var value = 0
        var children: [Node] = []
    }

    final class NodeObject: StreamObject {
        var next: NodeObject?
        var children: [NodeObject] = []
        init() {}
    }

    static func numbers<Value: StreamValue>(_ script: String, _ number: @escaping (borrowing Value) -> Int) throws
        -> [Int]
    {
        unsafe lastNumber = 0
        return try RecordStreamTests.stream(script) { (value: borrowing Value) in "\(number(value))" }
            .compactMap { Int($0) }
    }
}

protocol SingleObject { static var theOnly: Self { get } }

extension SingleObject { init() { self = Self.theOnly } }

extension DefaultTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testEachValueGetsNewDefaults": testEachValueGetsNewDefaults,
            "testCompleteStructuresNeedNoDefaults": testCompleteStructuresNeedNoDefaults,
            "testReusedObjectsGetNewDefaults": testReusedObjectsGetNewDefaults,
            "testInitMayReturnSharedObject": testInitMayReturnSharedObject,
            "testBindsDuringAnotherBinding": testBindsDuringAnotherBinding,
            "testRefusesTheBindingOfAnotherType": testRefusesTheBindingOfAnotherType,
            "testReleasesPlansOfCustomMappings": testReleasesPlansOfCustomMappings,
            "testRefusesTypesWithoutReflectionMetadata": testRefusesTypesWithoutReflectionMetadata,
            "testRefusesMisuseOfRecordBuffers": testRefusesMisuseOfRecordBuffers,
        ]
    }

    private static let three = "[ { key \"other\" integer 1 } { } { key \"other\" integer 2 } ]"

    private static func testEachValueGetsNewDefaults() throws {
        func distinct<Value: StreamValue>(_ type: Value.Type, _ number: (Value) -> Int) throws {
            let values = try ObjectBuilder<[Value]>.build(three)
            expectEqual(Set(values.map(number)).count, 3, "numbers of \(type): \(values.map(number))")
        }
        try distinct(Stamped.self) { $0.number }
        try distinct(StampedObject.self) { $0.number }
        try distinct(Parent.self) { $0.child.number }
        try distinct(DeclaredStamp.self) { $0.number }
        try distinct(DeclaredStamp.self) { $0.hidden }
        let names = try ObjectBuilder<[Stamped]>.build(three).map(\.name)
        expectEqual(Set(names).count, 3, "names: \(names)")
    }

    private static func testCompleteStructuresNeedNoDefaults() throws {
        unsafe lastNumber = 0
        let whole = "{ key \"number\" integer -1 key \"name\" string \"n\" key \"other\" integer 1 }"
        let values = try ObjectBuilder<[Stamped]>.build("[ \(whole) \(whole) { key \"number\" integer -2 } ]")
        expectEqual(values.map(\.number), [-1, -1, -2], "numbers")
        expectEqual(values.map(\.name), ["n", "n", "a name of more than fifteen bytes, 1"], "names")
        expectEqual(unsafe lastNumber, 1, "values made for their defaults")
    }

    private static func testReusedObjectsGetNewDefaults() throws {
        let whole = "{ key \"number\" integer -1 key \"other\" integer 1 }"
        let script = "[ { } \(whole) { } { key \"number\" integer -2 } { } ]"
        for numbers in [
            try numbers(script) { (value: borrowing Stamped) in value.number },
            try numbers(script) { (value: borrowing StampedObject) in value.number },
        ] {
            expectEqual([numbers[1], numbers[3]], [-1, -2], "numbers that came")
            expectEqual(Set(numbers).count, 5, "numbers: \(numbers)")
        }
        let children = try numbers("[ { } { } { } ]") { (value: borrowing Parent) in value.child.number }
        expectEqual(Set(children).count, 3, "children: \(children)")
    }

    private static func testInitMayReturnSharedObject() throws {
        let script = "[ { key \"other\" integer 1 } { key \"text\" string \"a text of more than fifteen bytes\" } { } ]"
        let built = try ObjectBuilder<[Single]>.build(script)
        expectTrue(built.allSatisfy { $0 === Single.theOnly }, "the only object")
        let texts = try RecordStreamTests.stream(script) { (value: borrowing Single) in value.text }
        expectEqual(texts.last, "a text of more than fifteen bytes", "its text")
    }

    private static func testBindsDuringAnotherBinding() throws {
        let value = try ObjectBuilder<[Binding]>.build("[ { } { key \"count\" integer 7 } ]")
        expectEqual(value.map(\.count), [2, 7], "counts")
        expectEqual(value.map(\.points.count), [1, 1], "points")
    }

    private static func testRefusesTheBindingOfAnotherType() {
        for bind in [
            { _ = try ObjectBuilder<MismatchedBinding>() },
            { _ = try ObjectBuilder<[String: [HoldsMismatchedBinding?]]>() },
            {
                var trace = EventTrace()
                try trace.write([HoldsMismatchedBinding()])
            },
        ] as [() throws -> Void] {
            let error = expectThrows(StreamError.self, "a binding of another type", bind)
            expectEqual(error?.kind, .misuse, "kind")
            expectEqual(error?.message, "MismatchedBinding has the stream binding of Int", "message")
        }
    }

    /// A weak reference to the plan of a type that refers to itself.
    private final class Watched {
        weak var plan: StreamPlan?
        init(_ plan: StreamPlan) { self.plan = plan }
    }

    private static func testReleasesPlansOfCustomMappings() throws {
        func watched<Value: StreamValue>(_ type: Value.Type) throws -> Watched {
            let (plan, owner) = try PlanBinder.bind(type, .names { $0.uppercased() })
            defer { withExtendedLifetime(owner) {} }
            return Watched(plan)
        }
        expectNil(try watched(Node.self).plan, "a structure with an array of its own type")
        expectNil(try watched(NodeObject.self).plan, "a class with members of its own type")
        expectNil(try watched([String: [NodeObject?]].self).plan, "a container of such")
        // The plans live as long as the builder.
        var builder = try ObjectBuilder<Node>(options: BuilderOptions(keyMapping: .names { $0.uppercased() }))
        try EventScript.send("{ key \"CHILDREN\" [ { key \"VALUE\" integer 3 } ] }", to: &builder)
        expectEqual(try builder.takeResult().children.map(\.value), [3], "values")
    }

    private static func testRefusesTypesWithoutReflectionMetadata() throws {
        let binder = PlanBinder(keyMapping: .exact, reflection: { _, _ in nil })
        let error = expectThrows(StreamError.self, "a type of which nothing is seen") {
            _ = try binder.plan(for: [NodeObject].self)
        }
        expectEqual(error?.kind, .misuse, "kind")
        expectTrue(error?.message.contains("NodeObject has no reflection metadata") ?? false, "\(error?.message ?? "")")
        guard case .object(let declared) = try binder.plan(for: DeclaredStamp.self).shape,
            case .object(let object) = try binder.plan(for: DeclaredObject.self).shape
        else { return fail("got no plans of objects") }
        expectFalse(declared.isFilledMemberwise || declared.isResettable, "a structure is left without its defaults")
        unsafe expectEqual(object.members.map(\.offset), [-1], "offsets of members of an object")
        expectFalse(object.isResettable, "an object is used again")
    }

    /// Tests that calls at the wrong time are rejected, and that the builder works like a new one after a reset.
    private static func testRefusesMisuseOfRecordBuffers() throws {
        func expectRefused(_ label: String, _ body: () throws -> Void) {
            expectEqual(expectThrows(StreamError.self, label, body)?.kind, .misuse, label)
        }
        var builder = try ObjectBuilder<[Node]>()
        expectRefused("no record buffer") { try builder.endRecordBuffer() }
        try EventScript.send("[ { key \"value\" integer 1 }", to: &builder)
        let port = try unsafe requireNotNil(
            builder.beginRecordBuffer(of: .records).map { unsafe $0.records }, "record buffer")
        expectRefused("a second record buffer") { _ = try unsafe builder.beginRecordBuffer(of: .records) }
        expectRefused("a second record buffer, of arrays") { _ = try unsafe builder.beginRecordBuffer(of: .arrays) }
        let (capacity, memberCount) = unsafe (port.pointee.capacity, port.pointee.memberCount)
        expectEqual(memberCount, 2, "members")
        let rows: [(label: String, doneCount: Int, isOpen: Bool, seen: UInt64, next: Int)] = [
            ("more records than there was capacity for", capacity + 1, false, 0, 0),
            ("less than none", -1, false, 0, 0),
            ("an open one behind the last there was capacity for", capacity, true, 0, 0),
            ("a member that is none", 0, true, 1 << 2, 0), ("the last bit", 0, true, 1 << 63, 0),
            ("a member behind the last", 0, true, 0, 3), ("one before the first", 0, true, 0, -1),
        ]
        for row in rows {
            unsafe (port.pointee.doneCount, port.pointee.isOpen) = (row.doneCount, row.isOpen)
            unsafe (port.pointee.seen, port.pointee.next) = (row.seen, row.next)
            expectRefused(row.label) { try builder.endRecordBuffer() }
        }
        unsafe (port.pointee.doneCount, port.pointee.isOpen, port.pointee.next) = (0, true, 2)
        try builder.endRecordBuffer()
        expectRefused("the same record buffer again") { try builder.endRecordBuffer() }
        try builder.endDictionary()
        builder.reset()
        try EventScript.send("[ { key \"value\" integer 2 } ]", to: &builder)
        expectEqual(try builder.takeResult().map(\.value), [2], "values after it")
        var columns = ColumnsBuilder(["value": .integer])
        expectRefused("rows without a record buffer") { try columns.endRecordBuffer() }
        try columns.beginArray()
        expectTrue(unsafe try columns.beginRecordBuffer(of: .arrays) == nil, "arrays are no rows")
        let rowPort = try unsafe requireNotNil(
            columns.beginRecordBuffer(of: .records).map { unsafe $0.records }, "columns")
        expectRefused("a second record buffer of columns") { _ = try unsafe columns.beginRecordBuffer(of: .records) }
        unsafe (rowPort.pointee.isOpen, rowPort.pointee.seen) = (true, 2)
        expectRefused("a column that is none") { try columns.endRecordBuffer() }
        unsafe (rowPort.pointee.isOpen, rowPort.pointee.seen) = (false, 0)
        try columns.endRecordBuffer()
        expectRefused("rows of a record buffer that ended") { try columns.endRecordBuffer() }
        expectEqual(columns.rowCount, 0, "rows")
    }
}
#endif
