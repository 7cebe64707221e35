// Finds the destination of the next value, reads scalars into it, and processes complete values.

import PlistStreaming

extension ValueStateMachine {
    /// Returns the destination of the next value, or nil if the value is ignored.
    mutating func openSlot() throws(StreamError) -> ValueSlot? {
        switch unsafe top.pointee.kind {
        case .root, .passing:
            guard depth == streamingDepth else {
                if depth == 0 { throw located(Self.noRecords(found: "a single value")) }
                unsafe top.pointee.index += 1
                return nil
            }
            guard !isFilled else { throw located(StreamError(.misuse, "expected one value, found another")) }
            if isTaken { (isTaken, unknownMembers) = (false, []) }
            return unsafe ValueSlot(plan: plan, address: root, isInitialized: false)
        case .object:
            return try unsafe openMember()
        case .array:
            let plan = unsafe top.pointee.elementPlan.takeUnretainedValue()
            if let element = unsafe top.pointee.elementObject {
                let address = unsafe element.address + top.pointee.pending * element.stride
                return unsafe ValueSlot(plan: plan, address: address, isInitialized: false)
            }
            return unsafe ValueSlot(
                plan: plan, address: top.pointee.element.reserve(for: plan.operations), isInitialized: false)
        case .dictionary:
            guard unsafe top.pointee.member >= 0 else { throw missingKey() }
            let plan = unsafe top.pointee.elementPlan.takeUnretainedValue()
            return unsafe ValueSlot(
                plan: plan, address: top.pointee.element.reserve(for: plan.operations), isInitialized: false)
        case .skipped, .propertyList:
            return nil
        }
    }

    private mutating func openMember() throws(StreamError) -> ValueSlot? {
        let index = unsafe top.pointee.member
        guard index >= 0 else {
            if index == -2 { return nil }
            throw missingKey()
        }
        let member = unsafe top.pointee.members[index]
        if unsafe member.offset < 0 {
            let memory = unsafe top.pointee.element.reserve(for: member.plan.operations)
            return unsafe ValueSlot(plan: member.plan, address: memory, isInitialized: false)
        }
        // Values of members after the 64th are initialized from the start.
        let bit = unsafe top.pointee.bit
        let isInitialized = unsafe bit == 0 || top.pointee.initialized & bit != 0
        return unsafe ValueSlot(plan: member.plan, address: top.pointee.address, isInitialized: isInitialized)
    }

    static func noRecords(found: String) -> StreamError {
        StreamError(.typeMismatch, "expected an array of records, found \(found)")
    }

    private func missingKey() -> StreamError { located(StreamError(.misuse, "expected a key, found a value")) }

    /// Reads a scalar into the destination of the next value.
    mutating func store(_ message: ScalarMessage) throws(StreamError) {
        if unsafe top.pointee.kind == .propertyList { return try unsafe forward(message) }
        if try unsafe collectIfUnknown(message) { return }
        guard let slot = try unsafe openSlot() else { return }
        if case .null = unsafe message, unsafe options.nulls == .treatAsMissing && top.pointee.kind == .object {
            if unsafe !slot.plan.acceptsNull { return }
        }
        discardRecycled()
        do throws(StreamError) {
            if unsafe slot.isInitialized {
                try unsafe Self.withTemporary(slot.plan.operations) { (memory) throws(StreamError) in
                    try unsafe slot.plan.read(message, into: memory)
                    unsafe slot.plan.operations.pointee.replace(memory, slot.address)
                }
            } else {
                try unsafe slot.plan.read(message, into: slot.address)
            }
        } catch {
            throw located(error)
        }
        try slotIsFilled()
    }

    /// Processes a complete value: counts it, appends it, or calls the accessor.
    mutating func slotIsFilled() throws(StreamError) {
        switch unsafe top.pointee.kind {
        case .root, .passing:
            unsafe top.pointee.index += 1
            try rootIsFilled()
        case .object:
            let index = unsafe top.pointee.member
            if unsafe top.pointee.members[index].offset < 0,
                let layout = unsafe top.pointee.layout?.takeUnretainedValue()
            {
                let plan = unsafe top.pointee.members[index].plan
                unsafe layout.declared?[index].set(top.pointee.element.reserve(for: plan.operations), top.pointee.value)
                unsafe top.pointee.seen |= top.pointee.bit
            } else {
                unsafe top.pointee.initialized |= top.pointee.bit
                unsafe top.pointee.seen |= top.pointee.bit
            }
        case .array:
            if let element = unsafe top.pointee.elementObject {
                return unsafe elementsAreFilled(1, of: element.capacity)
            }
            let operations = unsafe top.pointee.elementPlan.takeUnretainedValue().operations
            unsafe operations.pointee.append(top.pointee.element.reserve(for: operations), top.pointee.value)
            unsafe top.pointee.index += 1
        case .dictionary:
            let operations = unsafe top.pointee.elementPlan.takeUnretainedValue().operations
            unsafe operations.pointee.insert(
                top.pointee.element.reserve(for: operations), top.pointee.key, top.pointee.value)
            unsafe top.pointee.member = -1
        case .skipped, .propertyList:
            break
        }
    }

    /// Keeps the value at the root, or delivers it.
    mutating func rootIsFilled() throws(StreamError) {
        isFilled = true
        guard let deliver else { return }
        do throws(StreamError) { try deliver() } catch {
            release()
            throw refused(error)
        }
        release()
    }

    /// Releases the object that is kept for another use, because another value replaces it.
    mutating func discardRecycled() {
        guard isRecycling, depth == streamingDepth else { return }
        isRecycling = false
        unsafe plan.operations.pointee.deinitialize(root)
    }

    /// Deinitializes the value at the root, or keeps it for the next value if it is a structure or an object without other
    /// references.
    mutating func release() {
        isFilled = false
        if case .object(let layout) = plan.shape, layout.isResettable {
            guard layout.isClass else {
                isRecycling = true
                return
            }
            // SAFETY: the memory has one reference to an object of a Swift class, and only its reference count is read. It is
            // not read as `AnyObject`, because an unoptimized build can't check whether such a reference is unique.
            let object = unsafe root.assumingMemoryBound(to: NativeObject.self)
            if unsafe isKnownUniquelyReferenced(&object.pointee) {
                isRecycling = true
                return
            }
        }
        unsafe plan.operations.pointee.deinitialize(root)
    }

    /// Calls a closure with uninitialized memory for a value.
    static func withTemporary(
        _ operations: UnsafePointer<ValueOperations>, _ body: (UnsafeMutableRawPointer) throws(StreamError) -> Void
    ) throws(StreamError) {
        try unsafe withUnsafeTemporaryAllocation(
            byteCount: max(operations.pointee.size, 1), alignment: operations.pointee.alignment
        ) { (buffer) throws(StreamError) in
            if let memory = buffer.baseAddress { try unsafe body(memory) }
        }
    }
}

extension StreamPlan {
    /// A Boolean value that indicates whether null is a value of the type.
    var acceptsNull: Bool {
        switch shape {
        case .optional, .propertyList: true
        case .converted(let form, _, _): form.acceptsNull
        default: false
        }
    }

    /// Reads a scalar into uninitialized memory. After an error, the memory is still uninitialized.
    func read(_ message: ScalarMessage, into address: UnsafeMutableRawPointer) throws(StreamError) {
        switch shape {
        case .scalar(let read, _):
            try unsafe read(message, address)
        case .optional(let wrapped):
            if case .null = unsafe message { return unsafe wrapped.operations.pointee.makeNil(address) }
            try unsafe ValueStateMachine.withTemporary(wrapped.operations) { (memory) throws(StreamError) in
                try unsafe wrapped.read(message, into: memory)
                unsafe wrapped.operations.pointee.wrap(memory, address)
            }
        case .converted(let form, let convert, _):
            try unsafe ValueStateMachine.withTemporary(form.operations) { (memory) throws(StreamError) in
                try unsafe form.read(message, into: memory)
                try unsafe convert(memory, address)
            }
        case .propertyList:
            unsafe address.initializeMemory(as: PropertyList.self, to: PropertyList(message))
        case .array:
            guard isBytes, case .data(let bytes) = unsafe message else { throw unsafe mismatch(message) }
            unsafe address.initializeMemory(as: [UInt8].self, to: Array(bytes))
        case .dictionary, .object:
            throw unsafe mismatch(message)
        }
    }

    /// Moves a complete container into the memory of a value of this plan, through optionals and conversions. The container
    /// is consumed even if an error is thrown. In that case, the memory is still uninitialized.
    func take(
        _ value: UnsafeMutableRawPointer, of built: StreamPlan, into address: UnsafeMutableRawPointer
    ) throws(StreamError) {
        if self === built { return unsafe operations.pointee.move(value, address) }
        switch shape {
        case .optional(let wrapped):
            try unsafe ValueStateMachine.withTemporary(wrapped.operations) { (memory) throws(StreamError) in
                try unsafe wrapped.take(value, of: built, into: memory)
                unsafe wrapped.operations.pointee.wrap(memory, address)
            }
        case .converted(let form, let convert, _):
            try unsafe ValueStateMachine.withTemporary(form.operations) { (memory) throws(StreamError) in
                try unsafe form.take(value, of: built, into: memory)
                try unsafe convert(memory, address)
            }
        default:
            unsafe built.operations.pointee.deinitialize(value)
            throw StreamError(.misuse, "expected \(expectation), built a container of another type")
        }
    }
}

/// A placeholder for any Swift class, used if only the reference count is needed.
@usableFromInline
final class NativeObject {}
