// Reuses state machines: a builder takes the state machine of an earlier builder. The cost of a document then depends on its
// contents, and not on the size of a state machine.

import PlistStreaming

extension ValueStateMachine {
    /// The maximum number of levels, and of levels within records, that a spare state machine has. Each of them has some
    /// kilobytes.
    private static var largestLevelCount: Int { 8 }

    /// Returns a state machine that builds values of a type, either a spare one or a new one.
    ///
    /// A plan has at most one spare state machine. The builder that takes it is its only user. Other builders at the same time
    /// make new state machines. Examples are a value that is converted within the value, or another thread.
    static func take<Value: StreamValue>(
        for type: Value.Type, options: BuilderOptions
    ) throws(StreamError) -> UnsafeMutablePointer<ValueStateMachine> {
        if let (spare, owner) = unsafe PlanBinder.takeSpare(for: type, options.keyMapping) {
            // SAFETY: only `recycle` stores addresses there, and all of them are addresses of state machines.
            let stateMachine = unsafe spare.assumingMemoryBound(to: ValueStateMachine.self)
            unsafe stateMachine.pointee.begin(owner, options)
            return unsafe stateMachine
        }
        return try unsafe make(for: type, options: options, streamingDepth: 0)
    }

    /// Makes a state machine for values of a type.
    @usableFromInline
    static func make<Value: StreamValue>(
        for type: Value.Type, options: BuilderOptions, streamingDepth: Int
    ) throws(StreamError) -> UnsafeMutablePointer<ValueStateMachine> {
        let (plan, owner) = try PlanBinder.bind(type, options.keyMapping)
        let stateMachine = UnsafeMutablePointer<ValueStateMachine>.allocate(capacity: 1)
        unsafe stateMachine.initialize(
            to: ValueStateMachine(plan, owner, options: options, streamingDepth: streamingDepth))
        return unsafe stateMachine
    }

    /// Keeps a state machine for the next builder, or frees it.
    static func recycle(_ stateMachine: UnsafeMutablePointer<ValueStateMachine>) {
        guard unsafe stateMachine.pointee.isSpare else { return unsafe free(stateMachine) }
        let spare = unsafe stateMachine.pointee.plan.spare
        let owner = unsafe stateMachine.pointee.end()
        if let other = unsafe spare.put(stateMachine) { unsafe free(other) }
        withExtendedLifetime(owner) {}
    }

    /// Frees a state machine without a user.
    static func free(_ stateMachine: UnsafeMutableRawPointer) {
        // SAFETY: the address is that of a state machine made by `take`.
        let stateMachine = unsafe stateMachine.assumingMemoryBound(to: ValueStateMachine.self)
        unsafe stateMachine.deinitialize(count: 1)
        unsafe stateMachine.deallocate()
    }

    /// A Boolean value that indicates whether the state machine equals a new one except for its memory, and doesn't have much
    /// memory.
    ///
    /// A state machine isn't used again if it has discarded a value or still has state of a value.
    private var isSpare: Bool {
        guard isIntact, !isFilled, !isRecycling, unsafe top == levels, unsafe records.pointee.bufferKind == nil,
            unknownMembers.isEmpty, tree == nil, deliver == nil, levelCount <= Self.largestLevelCount
        else { return false }
        return unsafe RecordState.isSmall(records, levels: Self.largestLevelCount)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum SpareStateMachineTests {
    struct Item: StreamObject, Equatable {
        var id = 7
        var name: String?
        var tags = ["a default"]
        var children: [Item] = []
        var more: PropertyList?
    }

    final class Object: StreamObject {
        var id = 7
        var name: String?
        var next: Object?
    }

    /// Builds a value of the outer type during its own conversion.
    struct Inner: StreamRepresentable, Equatable {
        var text = ""
        init() {}
        init(representation: String) throws(StreamError) {
            text = representation
            guard representation.count < 4 else { return }
            text = try SpareStateMachineTests.build("{ key \"inner\" string \"\(representation)x\" }", as: Outer.self)
                .inner
                .text
        }
        var representation: String { text }
    }

    struct Outer: StreamObject, Equatable {
        var id = 0
        var inner = Inner()
    }

    static func build<Value: StreamValue>(
        _ script: String, as type: Value.Type, _ options: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        var builder = try ObjectBuilder<Value>(options: options)
        try EventScript.send(script, to: &builder)
        return try builder.takeResult()
    }
}

extension SpareStateMachineTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReusesStateMachines": testReusesStateMachines,
            "testNeverShowsAnEarlierValue": testNeverShowsAnEarlierValue,
            "testDropsFailedStateMachines": testDropsFailedStateMachines,
            "testDropsLargeStateMachines": testDropsLargeStateMachines,
            "testKeepsNoValueAlive": testKeepsNoValueAlive,
            "testBuildsDuringAnotherBuild": testBuildsDuringAnotherBuild,
            "testBuildsOnManyThreads": testBuildsOnManyThreads,
        ]
    }

    private static func hasSpare<Value: StreamValue>(_ type: Value.Type, _ keys: KeyMapping) throws -> Bool {
        try unsafe PlanBinder.bind(type, keys).plan.spare.look(0) != nil
    }

    // Each test has its own types or names, because other tests may take the state machine of a type at any time.
    private static func names() -> KeyMapping { .names { $0 } }

    private static func testReusesStateMachines() throws {
        let options = BuilderOptions(keyMapping: names())
        for round in 0..<3 {
            expectEqual(try build("{ key \"id\" integer 1 }", as: Item.self, options), Item(id: 1), "round \(round)")
            expectTrue(try hasSpare(Item.self, options.keyMapping), "a spare state machine after round \(round)")
        }
        let first = try ObjectBuilder<Item>(options: options)
        let second = try ObjectBuilder<Item>(options: options)
        expectTrue(unsafe first.stateMachine != second.stateMachine, "two builders at the same time")
        expectFalse(try hasSpare(Item.self, options.keyMapping), "whether the one state machine is taken")
    }

    private static let full = """
        { key "id" integer 1 key "name" string "a name of more than fifteen bytes" key "tags" [ string "x" string "y" ] \
        key "children" [ { key "id" integer 2 } { key "name" string "z" } ] key "more" { key "k" [ null ] } }
        """

    private static func testNeverShowsAnEarlierValue() throws {
        let children = [Item(id: 2), Item(name: "z")]
        let expected = Item(
            id: 1, name: "a name of more than fifteen bytes", tags: ["x", "y"], children: children, more: ["k": [nil]])
        for ending in [
            "", "[", "{", "}", "integer 1", "key \"id\"", "key \"children\" [ {", "key \"children\" [ { } true",
        ] {
            let options = BuilderOptions(keyMapping: names(), unknownMembers: .collect)
            expectEqual(try build(full, as: Item.self, options), expected, "all members")
            expectEqual(try build("{ }", as: Item.self, options), Item(), "no member after all")
            // A script that ends at any point, or is invalid there.
            for prefix in ["", "{", full.dropLast(2) + " key \"other\" integer 1"] {
                _ = try? build("\(prefix) \(ending)", as: Item.self, options)
                expectEqual(try build("{ }", as: Item.self, options), Item(), "no member after \(prefix) \(ending)")
                var builder = try ObjectBuilder<Item>(options: options)
                expectTrue(builder.unknownMembers.isEmpty, "no unknown members")
                expectThrows(StreamError.self, "nothing was sent") { _ = try builder.takeResult() }
            }
        }
    }

    private static func testDropsFailedStateMachines() throws {
        let options = BuilderOptions(keyMapping: names(), unknownMembers: .collect)
        for script in ["{ key \"id\" true", "{ key \"id\" integer 1", "{ key \"other\" integer 1 }", ""] {
            do {
                var builder = try ObjectBuilder<Item>(options: options)
                do { try EventScript.send(script, to: &builder) } catch { builder.cancel(with: .stopRequest()) }
                if script.hasSuffix("}") { _ = try builder.takeResult() }
            }
            expectEqual(
                try hasSpare(Item.self, options.keyMapping), script.isEmpty, "a state machine after '\(script)'")
            _ = try ObjectBuilder<Item>(options: options)
        }
    }

    private static func testDropsLargeStateMachines() throws {
        func nested(_ levels: Int) -> String {
            String(repeating: "{ key \"next\" ", count: levels) + "null" + String(repeating: " }", count: levels)
        }
        for (levels, isKept) in [(6, true), (7, false), (100, false)] {
            let options = BuilderOptions(keyMapping: names())
            _ = try build(nested(levels), as: Object.self, options)
            expectEqual(try hasSpare(Object.self, options.keyMapping), isKept, "\(levels) levels")
        }
    }

    private static func testKeepsNoValueAlive() throws {
        let options = BuilderOptions(keyMapping: names())
        weak var object: Object?
        do {
            let built = try build("{ key \"name\" string \"x\" key \"next\" { } }", as: Object.self, options)
            object = built.next
            expectNotNil(object, "an object of a value that is kept")
        }
        expectNil(object, "an object of a value that is not")
        // A value that isn't taken is released with its builder.
        do {
            var builder = try ObjectBuilder<Object>(options: options)
            try EventScript.send("{ key \"next\" { } }", to: &builder)
        }
        expectNil(try build("{ }", as: Object.self, options).next, "the value after it")
    }

    private static func testBuildsDuringAnotherBuild() throws {
        for _ in 0..<3 {
            let outer = try build("{ key \"inner\" string \"a\" key \"id\" integer 3 }", as: Outer.self)
            expectEqual(outer.id, 3, "the outermost value")
            expectEqual(outer.inner.text, "axxx", "what values within it have made")
        }
    }

    private static func testBuildsOnManyThreads() async throws {
        let options = BuilderOptions(keyMapping: names())
        let wrong = await withTaskGroup(of: Int.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var wrong = 0
                    for number in 0..<200 {
                        let id = worker * 1_000 + number
                        let name = number % 3 == 0 ? "key \"name\" string \"the name of the worker \(worker)\"" : ""
                        let item = try? build("{ \(name) key \"id\" integer \(id) }", as: Item.self, options)
                        let expected = Item(id: id, name: number % 3 == 0 ? "the name of the worker \(worker)" : nil)
                        if item != expected { wrong += 1 }
                        if number % 5 == 0 {
                            _ = try? build("{ key \"id\" integer 1 key \"name\" [", as: Item.self, options)
                        }
                    }
                    return wrong
                }
            }
            return await group.reduce(0, +)
        }
        expectEqual(wrong, 0, "values that are not those of the script")
    }
}
#endif
