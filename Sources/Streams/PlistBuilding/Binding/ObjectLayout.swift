// Describes the memory layout of a structure or class, and makes its values. The binder makes layouts from declared or
// reflected members. `ValueStateMachine` and `PlanWriter` use them.

import PlistStreaming
import StringTables

/// A member of a bound type. It is trivial, so that it is copied without counting references.
@unsafe @usableFromInline
struct BoundMember {
    /// The bytes of the name in the stream. They are valid as long as the layout.
    @usableFromInline let name: UnsafeRawBufferPointer
    private let words: KeyWords
    @usableFromInline let fast: FastKind
    /// The offset in the structure or object, or -1 for a property that is set through its accessor.
    @usableFromInline let offset: Int
    unowned(unsafe) let plan: StreamPlan

    init(name: UnsafeRawBufferPointer, fast: FastKind, offset: Int, plan: StreamPlan) {
        unsafe self.name = name
        unsafe words = KeyWords(name)
        unsafe self.fast = fast
        unsafe self.offset = offset
        unsafe self.plan = plan
    }

    /// Returns whether a key is the name.
    @inline(__always)  // PERF: JSONRecords/structures; the guessed name costs two loads and no look-up.
    func isName(_ key: RawSpan) -> Bool { unsafe words.isEqual(to: key, name.baseAddress) }
}

/// The members of a structure or class, and the function that makes a value.
@safe @usableFromInline
final class ObjectLayout {
    let type: any StreamObject.Type
    let isClass: Bool
    var typeName: String { "\(type)" }
    /// Makes a value with its defaults in uninitialized memory.
    let make: (UnsafeMutableRawPointer) -> Void
    let keys: KeySet
    /// The members in the order of declaration.
    let members: UnsafeMutableBufferPointer<BoundMember>
    /// The members in the form that readers of text use.
    let records: RecordMembers
    /// The members in the form that writers of text use.
    let written: MemoryFormMembers
    /// The declared members, used for members without an offset.
    let declared: [StreamMember]?
    /// One bit for each of the first 64 members.
    let allMembers: UInt64
    let requiredMembers: UInt64
    let nonOptionalMembers: UInt64
    /// A Boolean value that indicates whether a new value can be left uninitialized and its members filled in one by one.
    ///
    /// This is possible for structures whose members are exactly the stored properties, up to 64.
    let isFilledMemberwise: Bool
    /// A Boolean value that indicates whether a value without other references can be reset to its defaults, because every
    /// stored property is a member.
    let isResettable: Bool
    /// The number of bytes from the start of the members to the end of the last member with an offset.
    let extent: Int
    /// The members whose values have to be deinitialized.
    private let owningMembers: UInt64
    private let plans: [StreamPlan]
    private let operations: ValueOperations

    init(
        type: any StreamObject.Type, operations: ValueOperations, isClass: Bool,
        make: @escaping (UnsafeMutableRawPointer) -> Void,
        names: KeySet, plans: [StreamPlan], offsets: [Int], required: UInt64, declared: [StreamMember]?,
        isCovered: Bool
    ) {
        self.type = type
        self.isClass = isClass
        unsafe self.make = unsafe make
        self.plans = plans
        self.declared = declared
        unsafe self.operations = operations
        keys = names
        unsafe members = .allocate(capacity: plans.count)
        for (index, plan) in plans.enumerated() {
            // SAFETY: the name is copied into memory that this layout frees; the plans are owned by this layout.
            let name = unsafe Self.copiedBytes(names[index])
            let isFast = index < 64 && offsets[index] >= 0
            unsafe members.initializeElement(
                at: index,
                to: BoundMember(name: name, fast: isFast ? plan.fast : .none, offset: offsets[index], plan: plan))
        }
        let bound = unsafe members
        unsafe records = RecordMembers(
            bound.indices.map { index in
                let (plan, offset) = (plans[index], offsets[index])
                let fast = unsafe index < 64 && offset >= 0 ? plan.record.pointee.fast : .none
                let kind = fast == .none && index < 64 && offset >= 0 ? .value : fast
                return unsafe (names[index], kind, max(offset, 0), UnsafePointer(plan.record))
            })
        unsafe written = MemoryFormMembers(plans.indices.map { (names[$0], plans[$0], offsets[$0]) })
        allMembers = plans.count >= 64 ? .max : 1 << UInt64(plans.count) - 1
        requiredMembers = required
        var nonOptional: UInt64 = 0
        for (index, plan) in plans.enumerated().prefix(64) {
            if case .optional = plan.shape { continue }
            nonOptional |= 1 << UInt64(index)
        }
        nonOptionalMembers = nonOptional
        var owning: UInt64 = 0
        for (index, plan) in plans.enumerated().prefix(64) where unsafe !plan.operations.pointee.isTrivial {
            owning |= 1 << UInt64(index)
        }
        owningMembers = owning
        isResettable = isCovered && plans.count <= 64
        extent = zip(offsets, plans).reduce(0) { unsafe max($0, $1.0 + $1.1.operations.pointee.size) }
        isFilledMemberwise = isResettable && !isClass
    }

    @usableFromInline
    deinit {
        for index in unsafe members.indices { unsafe members[index].name.deallocate() }
        unsafe members.deallocate()
        unsafe records.deallocate()
        unsafe written.deallocate()
    }

    /// Returns the start of the members: the structure itself, or the memory of the referenced object.
    func members(ofValueAt value: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
        // SAFETY: a reference to an object of a Swift class is its address.
        isClass ? unsafe value.load(as: UnsafeMutableRawPointer.self) : unsafe value
    }

    /// Sets members to the values of a temporary new value. A new value is made each time, because `init` may return
    /// different values, such as an identifier or the time.
    ///
    /// - Parameters:
    ///   - missing: The members to set. Each of them needs an offset, and only a resettable layout has such members.
    ///   - base: The start of the members of the value.
    ///   - initialized: The members with a value, which is deinitialized.
    func setDefaults(_ missing: UInt64, at base: UnsafeMutableRawPointer, initialized: UInt64) {
        // SAFETY: a new value has a value of the member's type at each offset. Values moved out of it are not deinitialized,
        // and all other values are. No value is moved out of an object, because other code may refer to it.
        unsafe withUnsafeTemporaryAllocation(
            byteCount: max(operations.size, 1), alignment: operations.alignment
        ) { buffer in
            guard let fresh = buffer.baseAddress else { return }
            unsafe make(fresh)
            defer { if isClass { unsafe operations.deinitialize(fresh) } }
            let source = unsafe members(ofValueAt: fresh)
            // An `init` that returns the same object each time.
            guard unsafe source != base else { return }
            var rest = missing
            while rest != 0 {
                let index = rest.trailingZeroBitCount
                rest &= rest &- 1
                let (offset, operations) = unsafe (members[index].offset, members[index].plan.operations)
                let isInitialized = initialized & (1 &<< UInt64(index)) != 0
                if isClass {
                    unsafe operations.withCopy(source + offset) { copy in
                        unsafe operations.put(copy, base + offset, isInitialized: isInitialized)
                    }
                } else {
                    unsafe operations.put(source + offset, base + offset, isInitialized: isInitialized)
                }
            }
            rest = isClass ? 0 : owningMembers & ~missing
            while rest != 0 {
                let member = unsafe members[rest.trailingZeroBitCount]
                rest &= rest &- 1
                unsafe member.plan.operations.pointee.deinitialize(source + member.offset)
            }
        }
    }

    /// Adds a member to the path of an error that occurred while writing it.
    @usableFromInline @inline(never)
    func located(_ error: StreamError, member index: Int) -> StreamError { error.within(.key(keys[index])) }

    private static func copiedBytes(_ name: String) -> UnsafeRawBufferPointer {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: name.utf8.count, alignment: 8)
        unsafe copy.copyBytes(from: name.utf8)
        return UnsafeRawBufferPointer(copy)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

private struct Mixed: StreamObject, Equatable {
    var flag = true
    var number = 7
    var text = "a default of more than fifteen bytes"
    var maybe: Int?
}

private final class MixedObject: StreamObject {
    var number = 7
    var text: String? = "x"
    init() {}
}

private final class Holder: StreamObject {
    var object = MixedObject()
    init() {}
}

private struct Declared: StreamObject {
    var kept = 1
    var stored = 2
    var double: Int {
        get { 2 * stored }
        set { stored = newValue / 2 }
    }
    static var streamMembers: StreamMembers { [.required("d", \Declared.double), .member("s", \Declared.stored)] }
}

extension ObjectLayout: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    static var testSelectors: TestSelectors {
        [
            "testFindsOffsetsAndDefaults": testFindsOffsetsAndDefaults,
            "testFindsMembersWithinObjects": testFindsMembersWithinObjects,
            "testDeterminesReusableTypes": testDeterminesReusableTypes,
            "testAccessorsUseMessages": testAccessorsUseMessages,
        ]
    }

    private static func layout<Value: StreamValue>(_ type: Value.Type) throws -> ObjectLayout {
        // The plans of this rule are never freed.
        guard case .object(let layout) = try PlanBinder.bind(type, .exact).plan.shape else {
            throw StreamError(.misuse, "\(type) is no object")
        }
        return layout
    }

    private static func testFindsOffsetsAndDefaults() throws {
        let layout = try layout(Mixed.self)
        let expected = [
            MemoryLayout.offset(of: \Mixed.flag), MemoryLayout.offset(of: \Mixed.number),
            MemoryLayout.offset(of: \Mixed.text), MemoryLayout.offset(of: \Mixed.maybe),
        ]
        unsafe expectEqual(layout.members.map(\.offset), expected.map { $0 ?? -1 }, "offsets")
        unsafe expectEqual(layout.members.map(\.fast), [.bool, .integer, .string, .optionalInteger], "kinds")
        expectEqual([layout.allMembers, layout.requiredMembers, layout.nonOptionalMembers], [15, 0, 7], "masks")
        var value = Mixed(flag: false, number: 1, text: "another text of more than fifteen bytes", maybe: 2)
        unsafe withUnsafeMutablePointer(to: &value) { place in
            unsafe layout.setDefaults(0b1101, at: UnsafeMutableRawPointer(place), initialized: .max)
        }
        expectEqual(value, Mixed(number: 1), "a value with defaults of all members but one")
    }

    private static func testFindsMembersWithinObjects() throws {
        let layout = try layout(MixedObject.self)
        var object = MixedObject()
        unsafe withUnsafeMutablePointer(to: &object) { place in
            let base = unsafe layout.members(ofValueAt: UnsafeMutableRawPointer(place))
            unsafe (base + layout.members[0].offset).storeBytes(of: 42, as: Int.self)
        }
        expectEqual(object.number, 42, "the number stored at its offset")
    }

    private static func testDeterminesReusableTypes() throws {
        let rows: [(ObjectLayout, Bool, Bool)] = [
            (try layout(Mixed.self), true, true), (try layout(MixedObject.self), false, true),
            (try layout(Holder.self), false, true), (try layout(Declared.self), false, false),
        ]
        for (layout, isFilledMemberwise, isResettable) in rows {
            expectEqual(
                layout.isFilledMemberwise, isFilledMemberwise, "whether \(layout.typeName) is filled memberwise")
            expectEqual(layout.isResettable, isResettable, "whether \(layout.typeName) can be set back")
        }
    }

    private static func testAccessorsUseMessages() throws {
        let layout = try layout(Declared.self)
        unsafe expectEqual(layout.members.map(\.offset), [-1, 8], "offsets")
        expectEqual(layout.requiredMembers, 1, "required members")
        unsafe expectEqual(layout.records.start[0].kind, .none, "what readers store of an accessor")
        unsafe expectEqual(layout.records.start[1].kind, .integer, "what readers store of a property")
    }
}
#endif
