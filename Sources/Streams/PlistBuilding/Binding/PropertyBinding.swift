// Accesses the members of bound values by names that are known only at run time, such as those of a form or a script.

public import PlistStreaming

/// A member of a bound type. It is looked up once by its name, and can then be read and set on any value.
///
/// ```swift
/// let zip = try PropertyBinding<Person>("address.zip")
/// let text: String = try zip.value(of: person)
/// try zip.set("10115", of: &person)
/// for member in try PropertyBinding<Person>.all() { print(member.path, member.valueType) }
/// ```
///
/// A path can contain structures, objects and optionals. A value of the member's own type is read and set directly, an object
/// by reference. Other values are converted like values of a stream: an integer is also a real, a string is also a date, and
/// a `PropertyList` can be any value. A number isn't text. Properties of objects are copied, set in the copy, and written
/// back. As with `person.name`, the process stops if a caller is modifying one of them.
@safe
public struct PropertyBinding<Root: StreamObject> {
    /// The names of the members on the path, separated by dots.
    public let path: String
    /// The type of the member.
    public var valueType: Any.Type { target.type }

    private let steps: [Step]
    private let target: StreamPlan
    /// The owner of the plans.
    private let owner: AnyObject

    /// A member on the path, as a layout and an index.
    private struct Step {
        let layout: ObjectLayout
        let index: Int
        var name: String { layout.keys[index] }
        var plan: StreamPlan { unsafe layout.members[index].plan }
        var offset: Int { unsafe layout.members[index].offset }
    }

    /// Looks up a member.
    ///
    /// - Parameters:
    ///   - path: The name of a member, or several names separated by dots.
    ///   - keyMapping: The mapping of properties to names.
    /// - Throws: A `StreamError` of the kind `unknownMember`, with the nearest name; `misuse` if the type can't be bound.
    /// - Complexity: O(1) for each name.
    public init(_ path: String, keyMapping: KeyMapping = .exact) throws(StreamError) {
        let (root, owner) = try PlanBinder.bind(Root.self, keyMapping)
        var (plan, steps): (StreamPlan, [Step]) = (root, [])
        for name in path.split(separator: ".", omittingEmptySubsequences: false).map(String.init) {
            if case .optional(let wrapped) = plan.shape { plan = wrapped }
            guard case .object(let layout) = plan.shape else {
                throw Self.unknown("\(plan.type) has no members, expected the end of the path", steps)
            }
            guard let index = name.withUTF8Span({ layout.keys.index(of: $0) }) else {
                let near = NearestName.find(name, among: layout.names).map { "; did you mean \($0.debugDescription)?" }
                throw Self.unknown("\(layout.type) has no member \(name.debugDescription)\(near ?? "")", steps)
            }
            steps.append(Step(layout: layout, index: index))
            plan = unsafe layout.members[index].plan
        }
        self.init(path: path, steps: steps, target: plan, owner: owner)
    }

    private init(path: String, steps: [Step], target: StreamPlan, owner: AnyObject) {
        self.path = path
        self.steps = steps
        self.target = target
        self.owner = owner
    }

    private static func unknown(_ message: String, _ steps: [Step]) -> StreamError {
        steps.reversed().reduce(StreamError(.unknownMember, message)) { $0.within(.key($1.name)) }
    }

    /// Returns the members of the type itself, in writing order.
    ///
    /// - Throws: A `StreamError` of the kind `misuse` if the type can't be bound.
    public static func all(keyMapping: KeyMapping = .exact) throws(StreamError) -> [PropertyBinding] {
        let (plan, owner) = try PlanBinder.bind(Root.self, keyMapping)
        guard case .object(let layout) = plan.shape else { return [] }
        return layout.names.enumerated().map { index, name in
            let step = Step(layout: layout, index: index)
            return PropertyBinding(path: name, steps: [step], target: step.plan, owner: owner)
        }
    }

    // MARK: Reading

    /// Returns the value of the member.
    ///
    /// - Throws: A `StreamError` of the kind `typeMismatch` with the path, if the value doesn't have the type, or if an
    ///   optional on the path is nil and the type isn't optional.
    public func value<Value: StreamValue>(
        _ type: Value.Type = Value.self, of root: Root
    ) throws(StreamError) -> Value {
        var result: Value?
        do throws(StreamError) {
            try unsafe Self.withAddress(of: root) { (address) throws(StreamError) in
                try unsafe read(steps[...], UnsafeRawPointer(address)) { (value) throws(StreamError) in
                    // SAFETY: the address is that of a value of the target's type.
                    if target.type == Value.self, let value = unsafe value {
                        return result = unsafe value.assumingMemoryBound(to: Value.self).pointee
                    }
                    if case .optional(let wrapped) = target.shape, wrapped.type == Value.self, let value = unsafe value
                    {
                        try unsafe wrapped.operations.pointee.unwrap(value) { value in
                            unsafe result = value?.assumingMemoryBound(to: Value.self).pointee
                        }
                        if result != nil { return }
                    }
                    var builder = try ObjectBuilder<Value>()
                    if let value = unsafe value {
                        try unsafe PlanWriter(options: WritingOptions(nilMembers: .writeNull))
                            .write(value, target, to: &builder, depth: 0)
                    } else {
                        try builder.writeNull()
                    }
                    result = try builder.takeResult()
                }
            }
        } catch {
            throw located(error)
        }
        guard let result else { throw located(StreamError(.misuse, "no value was read")) }
        return result
    }

    /// Calls a closure with the address of a copy of a value. For classes, the copy is a reference to the same object.
    private static func withAddress(
        of root: Root, _ body: (UnsafeMutableRawPointer) throws(StreamError) -> Void
    ) throws(StreamError) {
        var copy = root
        try unsafe withUnsafeMutablePointer(to: &copy) { (address) throws(StreamError) in
            try unsafe body(UnsafeMutableRawPointer(address))
        }
    }

    /// Calls a closure with the address that a number of steps leads to from a value, or with nil if an optional on the path
    /// is nil.
    private func read(
        _ steps: ArraySlice<Step>, _ address: UnsafeRawPointer,
        _ body: (UnsafeRawPointer?) throws(StreamError) -> Void
    ) throws(StreamError) {
        guard let step = steps.first else { return try unsafe body(address) }
        try unsafe read(step, of: address) { (member) throws(StreamError) in
            let rest = steps.dropFirst()
            guard !rest.isEmpty, case .optional(let wrapped) = step.plan.shape else {
                return try unsafe read(rest, member, body)
            }
            try unsafe wrapped.operations.pointee.unwrap(member) { (value) throws(StreamError) in
                if let value = unsafe value { try unsafe read(rest, value, body) } else { try body(nil) }
            }
        }
    }

    /// Calls a closure with the address of a member of a value.
    private func read(
        _ step: Step, of address: UnsafeRawPointer, _ body: (UnsafeRawPointer) throws(StreamError) -> Void
    ) throws(StreamError) {
        // SAFETY: a structure has a member with an offset at this offset. All other members are copied, because code that is
        // called with a part of an object could replace the property.
        if step.offset >= 0, !step.layout.isClass {
            let members = unsafe step.layout.members(ofValueAt: UnsafeMutableRawPointer(mutating: address))
            return try unsafe body(UnsafeRawPointer(members) + step.offset)
        }
        try unsafe ValueStateMachine.withTemporary(step.plan.operations) { (memory) throws(StreamError) in
            unsafe get(step, of: address, memory)
            defer { unsafe step.plan.operations.pointee.deinitialize(memory) }
            try unsafe body(UnsafeRawPointer(memory))
        }
    }

    /// Initializes memory with the value of a declared property or a property of an object.
    private func get(_ step: Step, of address: UnsafeRawPointer, _ memory: UnsafeMutableRawPointer) {
        if let declared = step.layout.declared?[step.index] { return unsafe declared.get(address, memory) }
        let member = unsafe step.layout.members(ofValueAt: UnsafeMutableRawPointer(mutating: address)) + step.offset
        unsafe ObjectAccess.check(member)
        unsafe step.plan.operations.pointee.copy(member, memory)
    }

    /// Moves a value from memory to a declared property or a property of an object.
    private func put(_ memory: UnsafeMutableRawPointer, _ step: Step, of address: UnsafeMutableRawPointer) {
        if let declared = step.layout.declared?[step.index] { return unsafe declared.set(memory, address) }
        let member = unsafe step.layout.members(ofValueAt: address) + step.offset
        unsafe ObjectAccess.check(member, isModification: true)
        unsafe step.plan.operations.pointee.replace(memory, member)
    }

    // MARK: Setting

    /// Sets the member of a value.
    ///
    /// If the members of a structure or class are declared, the property is set through its key path, including observers.
    /// - Throws: A `StreamError` of the kind `typeMismatch` with the path, if the value can't be converted or an optional on
    ///   the path is nil. In these cases, the root isn't changed.
    public func set(_ value: some StreamValue, of root: inout Root) throws(StreamError) {
        var isMoved = false
        try unsafe ValueStateMachine.withTemporary(target.operations) { (source) throws(StreamError) in
            try unsafe convert(value, to: source)
            // SAFETY: the memory has a value of the target's type, which is moved to its destination or deinitialized here.
            defer { if !isMoved { unsafe target.operations.pointee.deinitialize(source) } }
            try unsafe withUnsafeMutablePointer(to: &root) { (address) throws(StreamError) in
                try unsafe set(steps[...], of: UnsafeMutableRawPointer(address)) { place in
                    unsafe target.operations.pointee.replace(source, place)
                    isMoved = true
                }
            }
        }
    }

    /// Initializes memory with a value of the target's type.
    private func convert<Value: StreamValue>(
        _ value: Value, to memory: UnsafeMutableRawPointer
    ) throws(StreamError) {
        // SAFETY: the types are the same.
        if target.type == Value.self {
            unsafe memory.initializeMemory(as: Value.self, to: value)
            return
        }
        if case .optional(let wrapped) = target.shape, wrapped.type == Value.self {
            unsafe wrapped.operations.withUninitializedMemory { copy in
                unsafe copy.initializeMemory(as: Value.self, to: value)
                unsafe wrapped.operations.pointee.wrap(copy, memory)
            }
            return
        }
        var builder = ValueBuilder(plan: target, owner: owner)
        do throws(StreamError) { try builder.write(value) } catch { throw located(error) }
        let stateMachine = unsafe builder.stateMachine
        guard unsafe stateMachine.pointee.isFilled else { throw located(StreamError(.misuse, "no value was written")) }
        unsafe stateMachine.pointee.isFilled = false
        // SAFETY: the memory at the root has a value of the target's type, which is moved.
        unsafe target.operations.pointee.move(stateMachine.pointee.root, memory)
        withExtendedLifetime(builder) {}
    }

    /// Returns an error of a builder, with the path of the member before the error's own path.
    private func located(_ error: StreamError) -> StreamError {
        let path = steps.map { StreamPath.Step.key($0.name) } + (error.path?.steps ?? [])
        return path.reversed().reduce(StreamError(error.kind, error.message)) { $0.within($1) }
    }

    /// Calls a closure with the address that a number of steps leads to from a value. Copies of members without an address
    /// are written back.
    private func set(
        _ steps: ArraySlice<Step>, of address: UnsafeMutableRawPointer, _ store: (UnsafeMutableRawPointer) -> Void
    ) throws(StreamError) {
        guard let step = steps.first else { return unsafe store(address) }
        do throws(StreamError) {
            let operations = unsafe step.plan.operations
            // SAFETY: as for reading; a value that is moved out of temporary memory is not deinitialized there.
            if step.offset >= 0, !step.layout.isClass, step.layout.declared == nil {
                let member = unsafe step.layout.members(ofValueAt: address) + step.offset
                return try unsafe setInside(step, steps.dropFirst(), member, store)
            }
            try unsafe ValueStateMachine.withTemporary(operations) { (memory) throws(StreamError) in
                unsafe get(step, of: address, memory)
                do throws(StreamError) {
                    try unsafe setInside(step, steps.dropFirst(), memory, store)
                } catch {
                    unsafe operations.pointee.deinitialize(memory)
                    throw error
                }
                unsafe put(memory, step, of: address)
            }
        } catch {
            throw error.within(.key(step.name))
        }
    }

    /// Continues within a member, and in the value of an optional.
    private func setInside(
        _ step: Step, _ rest: ArraySlice<Step>, _ member: UnsafeMutableRawPointer,
        _ store: (UnsafeMutableRawPointer) -> Void
    ) throws(StreamError) {
        guard !rest.isEmpty, case .optional(let wrapped) = step.plan.shape else {
            return try unsafe set(rest, of: member, store)
        }
        let operations = unsafe wrapped.operations
        try unsafe ValueStateMachine.withTemporary(operations) { (memory) throws(StreamError) in
            try unsafe operations.pointee.unwrap(UnsafeRawPointer(member)) { (value) throws(StreamError) in
                guard let value = unsafe value else {
                    throw StreamError(.typeMismatch, "expected a value, found nil")
                }
                unsafe operations.pointee.copy(value, memory)
            }
            do throws(StreamError) { try unsafe set(rest, of: memory, store) } catch {
                unsafe operations.pointee.deinitialize(memory)
                throw error
            }
            unsafe step.plan.operations.withUninitializedMemory { optional in
                unsafe operations.pointee.wrap(memory, optional)
                unsafe step.plan.operations.pointee.replace(optional, member)
            }
        }
    }
}

// SAFETY: plans and layouts don't change.
extension PropertyBinding: @unchecked Sendable {}

extension ObjectLayout {
    /// The names of the members in the order of declaration.
    fileprivate var names: [String] { (0..<keys.count).map { keys[$0] } }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import StreamingSystem

enum PropertyBindingTests {
    struct Address: StreamObject, Equatable {
        var street = ""
        var zip = "00000"
        var floor: Int8?
    }

    struct Person: StreamObject, Equatable {
        var name = "a name of more than fifteen bytes"
        var age = 0
        var height: Float = 0
        var isAdult = false
        var address = Address()
        var second: Address?
        var born: Date?
        var tags = ["a", "b"]
        var more: PropertyList = 1
    }

    final class Employee: StreamObject {
        var person = Person()
        var boss: Employee?
        init() {}
    }

    struct Declared: StreamObject, Equatable {
        var stored = 4
        var inner = Address()
        var changeCount = 0
        var double: Int {
            get { 2 * stored }
            set { (stored, changeCount) = (newValue / 2, changeCount + 1) }
        }
        var copy: Address {
            get { inner }
            set { inner = newValue }
        }
        static var streamMembers: StreamMembers {
            [.member("double", \Declared.double), .member("copy", \Declared.copy), .member("zip", \Declared.inner.zip)]
        }
    }
}

extension PropertyBindingTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsAndSetsMembers": testReadsAndSetsMembers,
            "testConvertsLikeBuilders": testConvertsLikeBuilders,
            "testFollowsOptionals": testFollowsOptionals,
            "testFollowsObjects": testFollowsObjects,
            "testUsesDeclaredMembers": testUsesDeclaredMembers,
            "testReportsUnknownNames": testReportsUnknownNames,
            "testListsMembers": testListsMembers,
            "testTrapsForObjectsUnderModification": testTrapsForObjectsUnderModification,
            "testReadsObjectsDuringOtherAccesses": testReadsObjectsDuringOtherAccesses,
            "testSurvivesAccessorsThatModifyTheirObject": testSurvivesAccessorsThatModifyTheirObject,
            "testKeepsTheIdentityOfObjects": testKeepsTheIdentityOfObjects,
        ]
    }

    private static func check<Root: StreamObject, Value: StreamValue & Equatable>(
        _ path: String, _ root: inout Root, _ old: Value, _ new: Value
    ) throws {
        let binding = try PropertyBinding<Root>(path)
        expectEqual(try binding.value(Value.self, of: root), old, "\(path) before")
        try binding.set(new, of: &root)
        expectEqual(try binding.value(Value.self, of: root), new, "\(path) after")
    }

    private static func testReadsAndSetsMembers() throws {
        var person = Person()
        try check("name", &person, "a name of more than fifteen bytes", "another name of more than fifteen bytes")
        try check("age", &person, 0, -7)
        try check("height", &person, 0 as Float, 1.5)
        try check("isAdult", &person, false, true)
        try check("address.zip", &person, "00000", "10115")
        try check("address.floor", &person, nil as Int8?, 3)
        try check("tags", &person, ["a", "b"], ["c"])
        try check("address", &person, Address(zip: "10115", floor: 3), Address(street: "a street"))
        try check("born", &person, nil, Date(timeIntervalSinceReferenceDate: 0))
        expectEqual(person.address.street, "a street", "the value itself")
    }

    private static func testConvertsLikeBuilders() throws {
        var person = Person()
        let age = try PropertyBinding<Person>("age")
        try age.set(7 as UInt8, of: &person)
        try age.set(PropertyList(8), of: &person)
        expectEqual(try age.value(of: person), PropertyList(8), "any value")
        expectEqual(try age.value(of: person), 8.0, "a real")
        expectEqual(try age.value(of: person), 8 as Int?, "an optional")
        try PropertyBinding<Person>("born").set("2001-01-01T00:00:01Z", of: &person)
        expectEqual(person.born, Date(timeIntervalSinceReferenceDate: 1), "a date of text")
        let error = expectThrows(StreamError.self, "text for a number") { try age.set("8", of: &person) }
        expectEqual(error?.description, "$.age: expected an integer, found string \"8\"", "description")
        expectThrows(StreamError.self, "a number as text") { _ = try age.value(String.self, of: person) }
        expectThrows(StreamError.self, "out of range") {
            try PropertyBinding<Person>("address.floor").set(128, of: &person)
        }
        expectEqual(person.age, 8, "the value after errors")
    }

    private static func testFollowsOptionals() throws {
        var person = Person()
        let zip = try PropertyBinding<Person>("second.zip")
        expectNil(try zip.value(String?.self, of: person), "nil on the way")
        let error = expectThrows(StreamError.self, "a value of nil") { _ = try zip.value(String.self, of: person) }
        expectEqual(error?.kind, .typeMismatch, "kind")
        let set = expectThrows(StreamError.self, "setting within nil") { try zip.set("1", of: &person) }
        expectEqual(set?.description, "$.second: expected a value, found nil", "description")
        person.second = Address(street: "a street of more than fifteen bytes")
        try zip.set("a zip of more than fifteen bytes", of: &person)
        expectEqual(
            person.second,
            Address(street: "a street of more than fifteen bytes", zip: "a zip of more than fifteen bytes"), "value")
        try PropertyBinding<Person>("second").set(nil as Address?, of: &person)
        expectNil(person.second, "an optional set to nil")
    }

    private static func testFollowsObjects() throws {
        var (employee, boss) = (Employee(), Employee())
        try check("person.address.zip", &employee, "00000", "1")
        employee.boss = boss
        try PropertyBinding<Employee>("boss.person.name").set("b", of: &employee)
        expectEqual(boss.person.name, "b", "a member of an object that is referred to")
        try PropertyBinding<Employee>("boss.boss").set(Employee(), of: &employee)
        expectNotNil(boss.boss, "an object")
        try check("person.age", &boss, 0, 9)
    }

    private static func testUsesDeclaredMembers() throws {
        var value = Declared()
        try check("double", &value, 8, 10)
        expectEqual(value.stored, 5, "what the setter stores")
        expectEqual(value.changeCount, 1, "calls of the setter")
        try check("copy.zip", &value, "00000", "2")
        try check("zip", &value, "2", "3")
        expectEqual(value.inner.zip, "3", "a part of a property")
        expectThrows(StreamError.self, "a wrong type") { try PropertyBinding<Declared>("copy.zip").set(1, of: &value) }
        expectEqual(value.inner.zip, "3", "after an error")
    }

    private static func testReportsUnknownNames() {
        let rows = [
            ("nam", "$: Person has no member \"nam\"; did you mean \"name\"?"),
            ("address.zap", "$.address: Address has no member \"zap\"; did you mean \"zip\"?"),
            ("age.x", "$.age: Int has no members, expected the end of the path"), ("", "$: Person has no member \"\""),
            ("tags.0", "$.tags: Array<String> has no members, expected the end of the path"),
            ("address.", "$.address: Address has no member \"\""),
        ]
        for (path, message) in rows {
            let error = expectThrows(StreamError.self, path) { _ = try PropertyBinding<Person>(path) }
            expectEqual(error?.kind, .unknownMember, "kind of \(path)")
            let found = error?.description ?? ""
            expectEqual(found.hasPrefix("$") ? found : "$: " + found, message, "message for \(path)")
        }
    }

    private static func testListsMembers() throws {
        let members = try PropertyBinding<Address>.all()
        expectEqual(members.map(\.path), ["street", "zip", "floor"], "names")
        expectEqual(members.map { "\($0.valueType)" }, ["String", "String", "Optional<Int8>"], "types")
        let mapped = try PropertyBinding<Person>("is_adult", keyMapping: .snakeCase)
        expectEqual(try mapped.value(of: Person()), false, "a mapped name")
    }

    private static func testReadsObjectsDuringOtherAccesses() throws {
        let object = ReflectedObject()
        var same = object
        let (id, text) = (try PropertyBinding<ReflectedObject>("id"), try PropertyBinding<ReflectedObject>("text"))
        modify(&object.text) {
            expectEqual(try? id.value(Int?.self, of: object), 7, "another property of an object")
            try? id.set(8, of: &same)
        }
        expectEqual(object.id, 8, "a property that was set")
        expectEqual(try text.value(of: object), object.text, "the property itself")
    }

    private struct SelfReplacing: StreamObject {
        var items = ["a text of more than fifteen bytes"]
        var first: String {
            get {
                unsafe SelfReplacingOwner.shared.inner = SelfReplacing()
                return items[0]
            }
            set {
                modify(&items[0]) { unsafe SelfReplacingOwner.shared.inner = SelfReplacing() }
                items[0] = newValue
            }
        }
        static var streamMembers: StreamMembers { [.member("first", \SelfReplacing.first)] }
    }

    private final class SelfReplacingOwner: StreamObject {
        var inner = SelfReplacing()
        nonisolated(unsafe) static let shared = SelfReplacingOwner()
        init() {}
    }

    private static func testSurvivesAccessorsThatModifyTheirObject() throws {
        let binding = try PropertyBinding<SelfReplacingOwner>("inner.first")
        var owner = unsafe SelfReplacingOwner.shared
        try binding.set("x", of: &owner)
        expectEqual(owner.inner.items, ["x"], "what was set after the setter replaced its structure")
        expectEqual(try binding.value(of: owner), "x", "what a getter returns that replaces its structure")
        expectEqual(owner.inner.items, ["a text of more than fifteen bytes"], "the property after the getter")
    }

    private static func testKeepsTheIdentityOfObjects() throws {
        var (employee, boss) = (Employee(), Employee())
        boss.boss = boss
        let binding = try PropertyBinding<Employee>("boss")
        try binding.set(boss as Employee?, of: &employee)
        expectTrue(employee.boss === boss, "the object itself, although it refers to itself")
        expectTrue(try binding.value(Employee?.self, of: employee) === boss, "what is read")
        try binding.set(employee, of: &boss)
        expectTrue(boss.boss === employee, "an object for an optional one")
        expectTrue(try binding.value(Employee.self, of: boss) === employee, "an optional one that is there")
        boss.boss = nil
        expectThrows(StreamError.self, "an object that is not there") {
            _ = try binding.value(Employee.self, of: boss)
        }
    }

    private static func testTrapsForObjectsUnderModification() throws {
        let object = ReflectedObject()
        let binding = try PropertyBinding<ReflectedObject>("text")
        expectExit(.signal(SIGABRT), "reading") {
            modify(&object.text) { _ = try? binding.value(String.self, of: object) }
        }
        expectExit(.signal(SIGABRT), "setting") {
            var same = object
            modify(&object.text) { try? binding.set("x", of: &same) }
        }
    }
}
#endif
