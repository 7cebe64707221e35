// Finds the plan of a type. A plan is made once for each type and rule of names. For common rules, it is never freed.

import PlistStreaming

/// Makes the plans of a type and of the types that it consists of, for one rule of names.
@safe @usableFromInline
final class PlanBinder {
    let keyMapping: KeyMapping
    /// Returns the stored properties of a structure or class, or nil if reflection doesn't find all of them.
    let reflection: (any Any.Type, _ isClass: Bool) -> [StoredProperty]?
    /// The shared plans that this binder adds to, if any.
    private let shared: SharedPlans?
    fileprivate private(set) var plans: [ObjectIdentifier: StreamPlan] = [:]
    /// The plans that are released with this binder. Plans of objects can refer to each other and to themselves.
    private var own: [StreamPlan] = []
    /// The number of types whose plans are being made. They may contain each other.
    private var depth = 0
    /// The classes with objects that are being made to find the offsets of their declared members.
    @TaskLocal private static var sampled: Set<ObjectIdentifier> = []

    init(
        keyMapping: KeyMapping, shared: SharedPlans? = nil,
        reflection: @escaping (any Any.Type, Bool) -> [StoredProperty]? = { StoredProperties.of($0, isClass: $1) }
    ) {
        self.keyMapping = keyMapping
        self.shared = shared
        self.reflection = reflection
    }

    @usableFromInline
    deinit { for plan in own { plan.releaseReferences() } }

    /// Returns the plan of a type, and makes it if necessary.
    /// - Throws: An error of the kind `misuse` if the type, or a type inside it, can't be bound.
    func plan<Value: StreamValue>(for type: Value.Type) throws(StreamError) -> StreamPlan {
        if let plan = plans[ObjectIdentifier(type)] ?? shared?.plan(for: type) { return plan }
        guard depth < 64 else { throw StreamError(.misuse, "\(type) contains more than 64 levels of types") }
        depth += 1
        defer { depth -= 1 }
        let plan = try Value.streamBinding.makePlan(self)
        guard plan.type == type else { throw StreamError(.misuse, "\(type) has the stream binding of \(plan.type)") }
        if type is any StreamEncodable.Type {
            // SAFETY: a plan is used only for values of its type.
            unsafe plan.writable = { address in
                unsafe address.assumingMemoryBound(to: Value.self).pointee as? any StreamEncodable
            }
        }
        // A type that contains itself has already registered its plan.
        if let registered = plans[ObjectIdentifier(type)] { return registered }
        plans[ObjectIdentifier(type)] = plan
        return plan
    }

    /// Registers the plan of an object before its members are bound, because they may have the same type.
    func register(_ plan: StreamPlan, for type: Any.Type) {
        plans[ObjectIdentifier(type)] = plan
        own.append(plan)
    }

    /// Returns the plans and transfers the responsibility for releasing them.
    fileprivate func releaseOwn() -> [StreamPlan] {
        defer { own = [] }
        return own
    }

    /// Makes an object of a class with declared members.
    static func sample(of type: any StreamObject.Type) -> AnyObject {
        $sampled.withValue(sampled.union([ObjectIdentifier(type)])) { type.init() as AnyObject }
    }

    /// Removes a plan whose members couldn't be bound.
    func unregister(_ type: Any.Type) { plans[ObjectIdentifier(type)] = nil }

    // MARK: Shared plans

    // PERF: JSONTyped/documents; once a document, without counting references.
    /// Takes the spare state machine of a type that was looked up recently, and the object that keeps its plan alive. The
    /// object is nil for plans that are never freed.
    static func takeSpare(
        for type: Any.Type, _ keyMapping: KeyMapping
    ) -> (stateMachine: UnsafeMutableRawPointer, owner: AnyObject?)? {
        guard let shared = SharedPlans.of(keyMapping.rule), let spare = unsafe shared.takeSpare(for: type) else {
            return nil
        }
        if case .custom = keyMapping.rule { return unsafe (spare, shared) }
        return unsafe (spare, nil)
    }

    /// Returns the plan of a type and the object that keeps it alive.
    @usableFromInline
    static func bind<Value: StreamValue>(
        _ type: Value.Type, _ keyMapping: KeyMapping
    ) throws(StreamError) -> (plan: StreamPlan, owner: AnyObject) {
        guard let shared = SharedPlans.of(keyMapping.rule) else { throw KeyMapping.withoutNames() }
        if let plan = shared.plan(for: type) { return (plan, shared) }
        // The types' own code runs here, such as `init` of a class with declared members, and it may bind other types.
        guard !sampled.contains(ObjectIdentifier(type)) else {
            throw StreamError(.misuse, "\(type) is bound inside its own init(), which binding the type calls")
        }
        let binder = PlanBinder(keyMapping: keyMapping, shared: shared)
        let plan = try binder.plan(for: type)
        return (shared.add(binder, for: type) ?? plan, shared)
    }
}

/// The plans of a rule, which don't change after they were added. Plans of a rule without functions are never freed. Other
/// plans are freed with the rule and the last user of a plan.
@safe
final class SharedPlans: @unchecked Sendable {
    private static let exact = SharedPlans()
    private static let snakeCase = SharedPlans()

    private var plans: [ObjectIdentifier: StreamPlan] = [:]
    /// The plans that are released with this object.
    private var own: [StreamPlan] = []
    /// The lock is held only to look up and add plans, never while plans are made.
    private let lock = Lock()
    // PERF: JSONTyped/documents; a look-up without a lock and without hashing, once a document.
    // SAFETY: these plans are also in the table above, so that they live as long as this object.
    private let recent = SharedPlaces(count: recentCount)
    private static let recentCount = 32

    init() {}

    deinit {
        for plan in own { plan.releaseReferences() }
        recent.deallocate()
    }

    static func of(_ rule: KeyMapping.Rule) -> SharedPlans? {
        switch rule {
        case .exact: exact
        case .snakeCase: snakeCase
        case .custom(let functions): functions.plans
        case .keys: nil
        }
    }

    /// Returns the spare state machine of a type if the type was looked up recently.
    func takeSpare(for type: Any.Type) -> UnsafeMutableRawPointer? {
        unsafe recentPlan(for: type)?._withUnsafeGuaranteedRef { unsafe $0.spare.take() }
    }

    private func recentPlan(for type: Any.Type) -> Unmanaged<StreamPlan>? {
        guard let address = unsafe recent.look(SharedPlaces.index(of: type, below: Self.recentCount)) else {
            return nil
        }
        let plan = unsafe Unmanaged<StreamPlan>.fromOpaque(address)
        return unsafe plan._withUnsafeGuaranteedRef { $0.type == type } ? plan : nil
    }

    func plan(for type: Any.Type) -> StreamPlan? {
        if let plan = unsafe recentPlan(for: type) { return unsafe plan.takeUnretainedValue() }
        guard let plan = lock.withLock({ plans[ObjectIdentifier(type)] }) else { return nil }
        _ = unsafe recent.put(
            Unmanaged.passUnretained(plan).toOpaque(), SharedPlaces.index(of: type, below: Self.recentCount))
        return plan
    }

    /// Adds the plans of a binder that has made the plan of a type. If another thread has already added a plan of the type,
    /// returns that plan.
    func add(_ binder: PlanBinder, for type: Any.Type) -> StreamPlan? {
        lock.withLock {
            if let plan = plans[ObjectIdentifier(type)] { return plan }
            // Plans that another thread has added in the meantime are kept. The plans added here refer to their own plans.
            plans.merge(binder.plans) { known, _ in known }
            own += binder.releaseOwn()
            return nil
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

/// A class whose `init` binds the class itself.
final class Circular: StreamObject {
    nonisolated(unsafe) static var refusals: [String] = []
    var id = 0
    init() {
        do throws(StreamError) { _ = try PlanBinder.bind(Circular.self, .exact) } catch {
            unsafe Self.refusals.append("\(error)")
        }
    }
    static var streamMembers: StreamMembers { [.member("id", \Circular.id)] }
}

private struct Point: StreamObject {
    var positionX = 0
    var positionY = 0
}

private final class Node: StreamObject {
    var value = 0
    var children: [Node] = []
    init() {}
}

private struct Endless<Value: StreamValue>: StreamRepresentable {
    init() {}
    init(representation: Endless<Endless<Value>>) throws(StreamError) {}
    var representation: Endless<Endless<Value>> { Endless<Endless<Value>>() }
}

private struct Clash: StreamObject {
    var first = 0
    var second = 0
}

extension PlanBinder: SelfTesting {
    /// The in-class tests of binding. The tests of bound types are in `ObjectBuilder+Tests`.
    public static var testSelectors: TestSelectors {
        [
            "testCachesOnePlanPerType": testCachesOnePlanPerType,
            "testSharesPlansOfCommonKeyMappings": testSharesPlansOfCommonKeyMappings,
            "testReleasesPlansWithTheirKeyMapping": testReleasesPlansWithTheirKeyMapping,
            "testBindsRecursiveTypes": testBindsRecursiveTypes,
            "testRefusesInfinitelyNestedTypes": testRefusesInfinitelyNestedTypes,
            "testBindsDeepTypes": testBindsDeepTypes,
            "testRepeatsErrorsOfInvalidTypes": testRepeatsErrorsOfInvalidTypes,
            "testRefusesTypesThatBindThemselves": testRefusesTypesThatBindThemselves,
        ]
    }

    private static func testRefusesTypesThatBindThemselves() throws {
        expectEqual(try PlanBinder.bind(Circular.self, .exact).plan.expectation, "a dictionary", "is bound")
        unsafe expectEqual(
            Circular.refusals,
            ["Circular is bound inside its own init(), which binding the type calls"], "within init()")
        _ = Circular()
        unsafe expectEqual(Circular.refusals.count, 1, "refusals once it is bound")
    }

    private static func testCachesOnePlanPerType() throws {
        let binder = PlanBinder(keyMapping: .exact)
        let plan = try binder.plan(for: [Point].self)
        expectIdentical(try binder.plan(for: [Point].self), plan, "the plan of the same type")
        guard case .array(let element) = plan.shape else { return fail("got no plan of an array") }
        expectIdentical(try binder.plan(for: Point.self), element, "the plan of the elements")
    }

    private static func testSharesPlansOfCommonKeyMappings() throws {
        let exact = try bind(Point.self, .exact)
        expectIdentical(try bind(Point.self, .exact).plan, exact.plan, "the plan for the same rule")
        let snake = try bind(Point.self, .snakeCase)
        expectFalse(snake.plan === exact.plan, "the plan for another rule is the same")
        guard case .object(let layout) = snake.plan.shape else { return fail("got no plan of an object") }
        expectEqual((0..<2).map { layout.keys[$0] }, ["position_x", "position_y"], "names")
        let custom = KeyMapping.names { $0.uppercased() }
        let first = try bind(Point.self, custom)
        expectIdentical(try bind(Point.self, custom).plan, first.plan, "the plan for a copy of the rule")
        let same = KeyMapping.names { $0.uppercased() }
        expectFalse(try bind(Point.self, same).plan === first.plan, "rules of the same function share a plan")
    }

    private static func testReleasesPlansWithTheirKeyMapping() throws {
        final class Counter: Sendable {}
        weak var counter: Counter?
        weak var plan: StreamPlan?
        do {
            let captured = Counter()
            counter = captured
            let rule = KeyMapping.names { name in withExtendedLifetime(captured) { name + "_" } }
            for _ in 0..<3 {
                expectEqual(
                    try ObjectBuilder<Node>.build("{ key \"value_\" integer 7 }", BuilderOptions(keyMapping: rule))
                        .value, 7, "value")
            }
            plan = try bind(Node.self, rule).plan
            expectNotNil(plan, "the plan of a rule in use")
        }
        expectNil(counter, "what the rule has captured")
        expectNil(plan, "the plan of a type that contains itself")
    }

    private static func testBindsRecursiveTypes() throws {
        let binder = PlanBinder(keyMapping: .exact)
        defer { withExtendedLifetime(binder) {} }
        let plan = try binder.plan(for: Node.self)
        guard case .object(let layout) = plan.shape, case .array(let element) = unsafe layout.members[1].plan.shape
        else {
            return fail("got no plan of an object with an array")
        }
        expectIdentical(element, plan, "the plan of the children")
    }

    private static func testRefusesInfinitelyNestedTypes() {
        let error = expectThrows(StreamError.self, "a type without end") {
            _ = try PlanBinder(keyMapping: .exact).plan(for: Endless<Int>.self)
        }
        expectEqual(error?.kind, .misuse, "kind")
    }

    /// Returns the error for nested arrays with a number of levels.
    private static func error<Value: StreamValue>(of type: Value.Type, levels: Int) -> StreamError? {
        if levels > 1 { return error(of: [Value].self, levels: levels - 1) }
        let binder = PlanBinder(keyMapping: .exact)
        do throws(StreamError) { _ = try binder.plan(for: type) } catch { return error }
        return nil
    }

    private static func testBindsDeepTypes() {
        expectNil(error(of: Int.self, levels: 64), "64 types")
        expectEqual(error(of: Int.self, levels: 65)?.kind, .misuse, "65 types")
    }

    private static func testRepeatsErrorsOfInvalidTypes() throws {
        let binder = PlanBinder(keyMapping: .names { _ in "same" })
        for _ in 0..<2 {
            let error = expectThrows(StreamError.self, "two properties with one name") {
                _ = try binder.plan(for: Clash.self)
            }
            expectEqual(error?.message.contains("is mapped to the name of another property"), true, "message")
        }
        expectEqual(try binder.plan(for: Int.self).expectation, "an integer", "the plan of another type")
    }
}
#endif
