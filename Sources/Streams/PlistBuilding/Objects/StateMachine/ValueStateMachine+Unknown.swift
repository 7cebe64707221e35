// Handles unknown members, keys outside objects, and property lists within a value.

import PlistStreaming

extension ValueStateMachine {
    /// Handles a key in a container that isn't an object.
    mutating func writeOtherKey(_ key: RawSpan) throws(StreamError) {
        switch unsafe top.pointee.kind {
        case .dictionary:
            unsafe top.pointee.key = text.string(key)
            unsafe top.pointee.member = 0
        case .passing where unsafe !top.pointee.isPassingArray:
            unsafe top.pointee.key = text.string(key)
        case .propertyList:
            do throws(StreamError) { try tree?.writeKey(key) } catch { throw inTree(error) }
        case .skipped:
            break
        default:
            throw located(StreamError(.misuse, "got a key outside a dictionary"))
        }
    }

    /// Handles a key that isn't a member of the object.
    mutating func selectUnknown(_ key: RawSpan) throws(StreamError) {
        unsafe top.pointee.member = -2
        unsafe top.pointee.fast = .none
        switch options.unknownMembers {
        case .ignore:
            if watchesNames { noteStray(key) }
        case .collect:
            unsafe top.pointee.key = text.string(key)
        case .reject:
            unsafe top.pointee.key = text.string(key)
            let type = unsafe top.pointee.layout?.takeUnretainedValue().typeName ?? ""
            throw located(StreamError(.unknownMember, "\(type) has no such member"))
        }
    }

    /// Keeps a scalar of an unknown member if unknown members are collected. Returns false otherwise.
    mutating func collectIfUnknown(_ message: ScalarMessage) throws(StreamError) -> Bool {
        guard unsafe options.unknownMembers == .collect && top.pointee.kind == .object && top.pointee.member == -2
        else { return false }
        try unsafe collect(PropertyList(message))
        return true
    }

    private mutating func collect(_ value: PropertyList) throws(StreamError) {
        if let receiveUnknown {
            do throws(StreamError) { return try receiveUnknown(UnknownMember(path: path(), value: value)) } catch {
                throw refusedNext(error)
            }
        }
        guard unknownMembers.count < options.unknownMemberLimit else {
            throw located(
                StreamError(.limitExceeded, "more than \(options.unknownMemberLimit) unknown members"))
        }
        unknownMembers.append(UnknownMember(path: path(), value: value))
    }

    // MARK: Property lists

    /// Enters a container that becomes a property list: a value of the type, or an unknown member.
    mutating func beginPropertyList(isArray: Bool, slot: ValueSlot?) throws(StreamError) {
        let frame = try unsafe pushLevel()
        unsafe frame.pointee.kind = .propertyList
        unsafe frame.pointee.fast = .none
        unsafe frame.pointee.member = slot == nil ? -2 : -1
        if let slot = unsafe slot { unsafe frame.pointee.slot = slot }
        tree = PropertyListBuilder(depthLimit: options.depthLimit - depth + 1)
        try forwardBegin(isArray: isArray)
    }

    mutating func forwardBegin(isArray: Bool) throws(StreamError) {
        do throws(StreamError) {
            if isArray { try tree?.beginArray() } else { try tree?.beginDictionary() }
        } catch {
            throw inTree(error)
        }
    }

    /// Returns an error of the tree with the path from the root.
    private func inTree(_ error: StreamError) -> StreamError { error.under(path().steps) }

    mutating func forward(_ message: ScalarMessage) throws(StreamError) {
        do throws(StreamError) { try unsafe tree?.write(message) } catch { throw inTree(error) }
    }

    mutating func forwardEnd(isArray: Bool) throws(StreamError) {
        do throws(StreamError) {
            if isArray { try tree?.endArray() } else { try tree?.endDictionary() }
        } catch {
            throw inTree(error)
        }
        guard tree?.depth == 0, let value = try tree?.takeResult() else { return }
        tree = nil
        let frame = unsafe top
        unsafe top -= 1
        if unsafe frame.pointee.member == -2 { return try collect(value) }
        let slot = unsafe frame.pointee.slot
        let built = unsafe slot.plan.innermost
        do throws(StreamError) {
            try unsafe Self.withTemporary(built.operations) { (memory) throws(StreamError) in
                unsafe memory.initializeMemory(as: PropertyList.self, to: value)
                try unsafe Self.withTemporary(slot.plan.operations) { (whole) throws(StreamError) in
                    try unsafe slot.plan.take(memory, of: built, into: whole)
                    let operations = unsafe slot.plan.operations
                    let put = unsafe slot.isInitialized ? operations.pointee.replace : operations.pointee.move
                    unsafe put(whole, slot.address)
                }
            }
        } catch {
            throw located(error)
        }
        try slotIsFilled()
    }
}
