// Determines the layout of a structure or class from its declared or reflected members.

import PlistStreaming
import StringTables

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension PlanBinder {
    /// Makes the plan of a structure or class with members.
    @usableFromInline
    func objectPlan(
        for type: any StreamObject.Type, _ operations: ValueOperations, members: StreamMembers,
        make: @escaping (UnsafeMutableRawPointer) -> Void
    ) throws(StreamError) -> StreamPlan {
        let plan = unsafe StreamPlan(operations, expectation: "a dictionary", shape: .propertyList)
        register(plan, for: type)
        do throws(StreamError) {
            let isClass = type is AnyObject.Type
            let stored = reflection(type, isClass)
            let layout =
                if let declared = members.declared {
                    try unsafe declaredLayout(type, operations, isClass, make, declared, stored)
                } else {
                    try unsafe reflectedLayout(type, operations, isClass, make, stored)
                }
            plan.shape = .object(layout)
            return plan
        } catch {
            unregister(type)
            throw error
        }
    }

    private func reflectedLayout(
        _ type: any StreamObject.Type, _ operations: ValueOperations, _ isClass: Bool,
        _ make: @escaping (UnsafeMutableRawPointer) -> Void, _ stored: [StoredProperty]?
    ) throws(StreamError) -> ObjectLayout {
        guard let stored else {
            let reason = "has no reflection metadata for some of its properties"
            throw StreamError(.misuse, "\(type) \(reason); declare streamMembers")
        }
        var names = KeySet()
        var plans: [StreamPlan] = []
        for property in stored {
            func reject(_ reason: String) -> StreamError {
                StreamError(.misuse, "\(type).\(property.name) \(reason); declare streamMembers")
            }
            guard property.isVariable else { throw reject("is a constant") }
            guard property.isStrong else { throw reject("is weak or unowned") }
            guard !property.name.hasPrefix("$__lazy_storage_$_") else { throw reject("is lazy") }
            guard let valueType = property.type as? any StreamValue.Type else {
                throw reject("has the type \(property.type), which doesn't conform to StreamValue")
            }
            guard !property.name.hasPrefix("_") || !mayBeWrapper(valueType) else {
                throw reject("may be the storage of the wrapped property \(property.name.dropFirst())")
            }
            guard names.insert(keyMapping.name(for: property.name)).inserted else {
                throw reject("is mapped to the name of another property")
            }
            plans.append(try openedPlan(valueType))
        }
        return unsafe ObjectLayout(
            type: type, operations: operations, isClass: isClass, make: make, names: names, plans: plans,
            offsets: stored.map(\.offset), required: 0, declared: nil, isCovered: true)
    }

    /// Returns whether a type may be a property wrapper that its author has made streamable. The runtime has no information
    /// about wrappers.
    private func mayBeWrapper(_ type: any StreamValue.Type) -> Bool {
        guard type is any StreamRepresentable.Type || type is any StreamObject.Type || type is any RawRepresentable.Type
        else { return false }
        return type != URL.self && type != UUID.self
    }

    private func declaredLayout(
        _ type: any StreamObject.Type, _ operations: ValueOperations, _ isClass: Bool,
        _ make: @escaping (UnsafeMutableRawPointer) -> Void, _ declared: [StreamMember], _ stored: [StoredProperty]?
    ) throws(StreamError) -> ObjectLayout {
        var names = KeySet()
        var plans: [StreamPlan] = []
        var offsets: [Int] = []
        var required: UInt64 = 0
        let sample = isClass ? PlanBinder.sample(of: type) : nil
        for (index, member) in declared.enumerated() {
            guard member.root == type || isClass && isSuperclass(member.root, of: sample) else {
                throw StreamError(.misuse, "the member \(member.name) of \(type) is a property of \(member.root)")
            }
            guard names.insert(member.name).inserted else {
                throw StreamError(.misuse, "\(type) declares two members named \(member.name)")
            }
            if member.isRequired {
                guard index < 64 else {
                    throw StreamError(.misuse, "\(type) has the required member \(member.name) after its 64th member")
                }
                required |= 1 << UInt64(index)
            }
            plans.append(try member.bind(self))
            offsets.append(offset(of: member, in: sample, stored) ?? -1)
        }
        return unsafe ObjectLayout(
            type: type, operations: operations, isClass: isClass, make: make, names: names, plans: plans,
            offsets: offsets, required: required, declared: declared,
            isCovered: isOneToOne(declared, offsets, stored ?? []))
    }

    /// Returns the offset of a declared member that is stored without observers. The member is a property, or in structures
    /// also a part of one.
    private func offset(of member: StreamMember, in sample: AnyObject?, _ stored: [StoredProperty]?) -> Int? {
        guard let sample else { return member.structureOffset }
        func isStored(_ property: StoredProperty) -> Bool { property.isStrong && property.type == member.valueType }
        // A property without an address has a temporary one somewhere else. The stored properties are used to detect this.
        guard let stored, stored.contains(where: isStored), let offset = member.objectOffset(sample) else { return nil }
        return stored.contains { isStored($0) && $0.offset == offset } ? offset : nil
    }

    /// Returns whether each member is exactly one stored property, and each stored property is a member.
    ///
    /// Otherwise, two members may be the same property, or one may be a part of the other. A value is then made with its
    /// defaults, and members are assigned in the order of the stream, so that the last value is kept.
    private func isOneToOne(_ members: [StreamMember], _ offsets: [Int], _ stored: [StoredProperty]) -> Bool {
        var isFound = [Bool](repeating: false, count: stored.count)
        for (member, offset) in zip(members, offsets) {
            let index = stored.indices.first { index in
                !isFound[index] && stored[index].offset == offset && stored[index].type == member.valueType
                    && stored[index].isStrong
            }
            guard let index else { return false }
            isFound[index] = true
        }
        return !stored.isEmpty && isFound.allSatisfy { $0 }
    }

    private func isSuperclass(_ root: Any.Type, of sample: AnyObject?) -> Bool {
        guard let sample, let root = root as? AnyClass else { return false }
        var superclass: Mirror? = Mirror(reflecting: sample)
        while let one = superclass {
            if one.subjectType == root { return true }
            superclass = one.superclassMirror
        }
        return false
    }

    private func openedPlan(_ type: any StreamValue.Type) throws(StreamError) -> StreamPlan {
        func open<Value: StreamValue>(_ type: Value.Type) throws(StreamError) -> StreamPlan { try plan(for: type) }
        return try open(type)
    }
}
