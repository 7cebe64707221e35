// Opens and closes containers: determines the kind of container for a type, builds it, and moves it to its destination.

import PlistStreaming

extension ValueStateMachine {
    @usableFromInline
    mutating func beginArray() throws(StreamError) { try begin(isArray: true) }

    @usableFromInline
    mutating func beginDictionary() throws(StreamError) {
        // PERF: JSONRecords/structures; an element of an array of objects, or the object at the root.
        if let element = unsafe top.pointee.elementObject, canBeginElement {
            let fresh = unsafe makeElement(element)
            isRecycling = false
            return unsafe open(element, fresh)
        }
        try begin(isArray: false)
    }

    /// A Boolean value that indicates whether the next container can be an object that is an element of the current
    /// container.
    @inline(__always)  // PERF: JSONRecords/structures; once an object.
    var canBeginElement: Bool {
        guard depth < options.depthLimit else { return false }
        if unsafe top.pointee.kind == .array { return true }
        return unsafe (top.pointee.kind == .passing || top.pointee.kind == .root) && !isFilled && !isTaken
    }

    /// Enters an element without any received members.
    @inline(__always)  // PERF: JSONRecords/structures; once an object.
    mutating func open(_ element: ElementObject, _ fresh: FreshObject) {
        let plan = unsafe top.pointee.elementPlan
        unsafe top += 1
        unsafe top.pointee.kind = .object
        unsafe top.pointee.isInPlace = true
        unsafe top.pointee.plan = plan
        unsafe top.pointee.layout = element.layout
        unsafe top.pointee.members = element.members
        unsafe prepareMembers(fresh)
    }

    /// Makes an object in the memory for elements, or uses the last object again.
    @inline(__always)  // PERF: JSONRecords/structures; once an object.
    func makeElement(_ element: ElementObject) -> FreshObject {
        let address = unsafe element.address + top.pointee.pending &* element.stride
        if unsafe element.isFilledMemberwise && !isRecycling {
            return unsafe FreshObject(
                value: address, base: address, complete: element.complete, isInitialized: false)
        }
        return unsafe element.layout._withUnsafeGuaranteedRef { unsafe makeObject($0, address) }
    }

    /// Makes an object, unless it is filled memberwise or the last object is used again.
    private func makeObject(_ layout: ObjectLayout, _ address: UnsafeMutableRawPointer) -> FreshObject {
        if !isRecycling && !layout.isFilledMemberwise { unsafe layout.make(address) }
        return unsafe FreshObject(
            value: address, base: layout.members(ofValueAt: address),
            complete: isRecycling || layout.isFilledMemberwise ? layout.allMembers : layout.required(options),
            isInitialized: isRecycling || !layout.isFilledMemberwise)
    }

    /// Prepares the innermost level for an object without any received members.
    @inline(__always)  // PERF: JSONRecords/structures; once an object.
    private mutating func prepareMembers(_ fresh: FreshObject) {
        unsafe top.pointee.value = fresh.value
        unsafe top.pointee.base = fresh.base
        unsafe top.pointee.complete = fresh.complete
        unsafe top.pointee.fast = .none
        unsafe top.pointee.member = -1
        unsafe top.pointee.next = 0
        unsafe top.pointee.bit = 0
        unsafe top.pointee.seen = 0
        unsafe top.pointee.initialized = fresh.isInitialized ? .max : 0
        unsafe top.pointee.hasStrays = false
    }

    mutating func begin(isArray: Bool) throws(StreamError) {
        let continues = continuesArray
        continuesArray = false
        switch unsafe top.pointee.kind {
        case .propertyList:
            return try forwardBegin(isArray: isArray)
        case .skipped:
            // The depth is bounded by the limits of the reader and of this builder.
            unsafe top.pointee.index += 1
            guard unsafe depth + top.pointee.index <= options.depthLimit else {
                throw located(StreamError(.limitExceeded, "more than \(options.depthLimit) levels of nesting"))
            }
            return
        case .root, .passing:
            if depth < streamingDepth { return try pass(isArray: isArray) }
        default:
            break
        }
        if unsafe options.unknownMembers == .collect && top.pointee.kind == .object && top.pointee.member == -2 {
            return unsafe try beginPropertyList(isArray: isArray, slot: nil)
        }
        guard let slot = try unsafe openSlot() else {
            let frame = try unsafe pushLevel()
            unsafe frame.pointee.kind = .skipped
            unsafe frame.pointee.index = 0
            return
        }
        let built = unsafe slot.plan.innermost
        switch built.shape {
        case .object(let layout) where !isArray:
            try unsafe beginObject(layout, built, slot)
        case .array(let element) where isArray, .dictionary(let element) where !isArray:
            discardRecycled()
            try unsafe beginCollection(isArray ? .array : .dictionary, of: element, built, slot, continues: continues)
        case .propertyList:
            discardRecycled()
            try unsafe beginPropertyList(isArray: isArray, slot: slot)
        default:
            throw unsafe located(slot.plan.mismatch(found: isArray ? "an array" : "a dictionary"))
        }
    }

    /// Enters a container above the streaming depth.
    private mutating func pass(isArray: Bool) throws(StreamError) {
        if expectsArray, !isArray, depth == 0 { throw located(Self.noRecords(found: "a dictionary")) }
        let frame = try unsafe pushLevel()
        unsafe frame.pointee.kind = .passing
        unsafe frame.pointee.isPassingArray = isArray
        unsafe frame.pointee.elementPlan = Unmanaged.passUnretained(plan)
        unsafe frame.pointee.pending = 0
        unsafe frame.pointee.elementObject =
            depth == streamingDepth ? elementObject(plan, at: root, capacity: 1) : nil
        unsafe frame.pointee.fast = .none
        unsafe frame.pointee.index = 0
    }

    /// Adds a level and decides where its container is built.
    private mutating func push(
        _ kind: FrameKind, _ built: StreamPlan, _ slot: ValueSlot
    ) throws(StreamError) -> UnsafeMutablePointer<ValueFrame> {
        let frame = try unsafe pushLevel()
        let isInPlace = unsafe built === slot.plan && !slot.isInitialized
        unsafe frame.pointee.kind = kind
        unsafe frame.pointee.fast = .none
        unsafe frame.pointee.isInPlace = isInPlace
        unsafe frame.pointee.slot = slot
        unsafe frame.pointee.plan = Unmanaged.passUnretained(built)
        unsafe frame.pointee.value = isInPlace ? slot.address : frame.pointee.own.reserve(for: built.operations)
        unsafe frame.pointee.index = 0
        unsafe frame.pointee.pending = 0
        unsafe frame.pointee.member = -1
        if unsafe frame.pointee.elementObject != nil { unsafe frame.pointee.elementObject = nil }
        return unsafe frame
    }

    private mutating func beginObject(
        _ layout: ObjectLayout, _ built: StreamPlan, _ slot: ValueSlot
    ) throws(StreamError) {
        let frame = try unsafe push(.object, built, slot)
        unsafe frame.pointee.layout = Unmanaged.passUnretained(layout)
        unsafe frame.pointee.members = layout.members
        let fresh = unsafe makeObject(layout, frame.pointee.value)
        isRecycling = false
        unsafe prepareMembers(fresh)
    }

    private mutating func beginCollection(
        _ kind: FrameKind, of element: StreamPlan, _ built: StreamPlan, _ slot: ValueSlot, continues: Bool
    ) throws(StreamError) {
        if continues { try unsafe checkContinuation(built, slot) }
        let frame = try unsafe push(kind, built, slot)
        unsafe frame.pointee.elementPlan = Unmanaged.passUnretained(element)
        if kind == .array {
            unsafe frame.pointee.fast = element.fast
            if continues {
                try unsafe takeEarlierArray(of: element, built, slot, frame)
            } else {
                unsafe element.operations.pointee.makeArray(frame.pointee.value)
            }
            guard case .object = element.shape else { return }
            // PERF: JSONRecords/structures; elements are moved to the array in groups that fit into the first-level cache.
            let capacity = unsafe max(1, min(256, 8_192 / element.operations.pointee.stride))
            let address = unsafe frame.pointee.element.reserve(for: element.operations, count: capacity)
            unsafe frame.pointee.elementObject = elementObject(element, at: address, capacity: capacity)
        } else {
            unsafe element.operations.pointee.makeDictionary(frame.pointee.value)
        }
    }

    /// Throws an error if an array can't be continued because it can't be moved out of its destination.
    private func checkContinuation(_ built: StreamPlan, _ slot: ValueSlot) throws(StreamError) {
        if unsafe built === slot.plan {
            if unsafe slot.isInitialized || top.pointee.kind == .dictionary { return }
        } else if case .optional(let wrapped) = unsafe slot.plan.shape, wrapped === built {
            if unsafe slot.isInitialized { return }
        }
        throw unsafe located(
            StreamError(.unrepresentable, "expected \(slot.plan.expectation) with adjacent elements"))
    }

    /// Moves the earlier array into the level. Its elements are not shared, so that they aren't copied.
    private func takeEarlierArray(
        of element: StreamPlan, _ built: StreamPlan, _ slot: ValueSlot, _ frame: UnsafeMutablePointer<ValueFrame>
    ) throws(StreamError) {
        // SAFETY: the slot has a value, as was checked, and gets another one; a key of a dictionary is taken out of it.
        let array = unsafe frame.pointee.value
        if unsafe built !== slot.plan {
            try unsafe built.operations.pointee.unwrap(slot.address) { earlier in
                if let earlier = unsafe earlier {
                    unsafe built.operations.pointee.copy(earlier, array)
                } else {
                    unsafe element.operations.pointee.makeArray(array)
                }
            }
            unsafe slot.plan.operations.withUninitializedMemory { memory in
                unsafe built.operations.pointee.makeNil(memory)
                unsafe slot.plan.operations.pointee.replace(memory, slot.address)
            }
        } else if unsafe slot.isInitialized {
            unsafe built.operations.pointee.move(slot.address, array)
            unsafe element.operations.pointee.makeArray(slot.address)
        } else {
            let dictionary = unsafe frame - 1
            let isTaken = unsafe built.operations.pointee.takeMember(
                dictionary.pointee.value, dictionary.pointee.key, array)
            if !isTaken { unsafe element.operations.pointee.makeArray(array) }
        }
        try unsafe element.operations.pointee.elements(array) { _, count in unsafe frame.pointee.index = count }
    }

    /// Returns the data for objects that follow each other at an address, or nil for plans of other types.
    func elementObject(
        _ plan: StreamPlan, at address: UnsafeMutableRawPointer, capacity: Int
    ) -> ElementObject? {
        guard case .object(let layout) = plan.shape else { return nil }
        return unsafe ElementObject(
            layout: Unmanaged.passUnretained(layout), members: layout.members, records: layout.records,
            operations: plan.operations, address: address, capacity: capacity, stride: plan.operations.pointee.stride,
            complete: layout.allMembers, isFilledMemberwise: layout.isFilledMemberwise, isClass: layout.isClass)
    }

    /// Counts complete elements in the memory for elements, and moves them to the array if that memory is full.
    @inline(__always)  // PERF: JSONRecords/structures; once an object.
    mutating func elementsAreFilled(_ count: Int, of capacity: Int) {
        unsafe top.pointee.index &+= count
        unsafe top.pointee.pending &+= count
        if unsafe top.pointee.pending == capacity { movePending(expecting: 0) }
    }

    /// Moves the complete elements to the array.
    mutating func movePending(expecting expected: Int) {
        guard let element = unsafe top.pointee.elementObject, unsafe top.pointee.pending > 0 else { return }
        unsafe element.operations.pointee.appendMany(
            element.address, top.pointee.pending, expected, top.pointee.value)
        unsafe top.pointee.pending = 0
    }

    // MARK: Ends

    @usableFromInline
    mutating func endDictionary() throws(StreamError) {
        // PERF: JSONRecords/structures; a whole element of an array of objects.
        if unsafe top.pointee.kind == .object && top.pointee.isInPlace
            && top.pointee.seen & top.pointee.complete == top.pointee.complete && !top.pointee.hasStrays
        {
            let array = unsafe top - 1
            if unsafe array.pointee.kind == .array, let element = unsafe array.pointee.elementObject {
                unsafe top = array
                return unsafe elementsAreFilled(1, of: element.capacity)
            } else if unsafe array.pointee.kind == .passing || array.pointee.kind == .root {
                unsafe top = array
                unsafe top.pointee.index &+= 1
                return try rootIsFilled()
            }
        }
        switch unsafe top.pointee.kind {
        case .object:
            try fillMissingMembers()
            try finish()
        case .dictionary:
            try finish()
        default:
            try endOther(isArray: false)
        }
    }

    @usableFromInline
    mutating func endArray() throws(StreamError) {
        guard unsafe top.pointee.kind == .array else { return try endOther(isArray: true) }
        movePending(expecting: 0)
        try finish()
    }

    private mutating func endOther(isArray: Bool) throws(StreamError) {
        switch unsafe top.pointee.kind {
        case .propertyList:
            try forwardEnd(isArray: isArray)
        case .skipped:
            if unsafe top.pointee.index == 0 { return popSkipped() }
            unsafe top.pointee.index -= 1
        case .passing where unsafe top.pointee.isPassingArray == isArray:
            unsafe top -= 1
            unsafe top.pointee.index += 1
        default:
            throw located(
                StreamError(
                    .misuse,
                    isArray ? "got endArray without an open array" : "got endDictionary without an open dictionary"))
        }
    }

    private mutating func popSkipped() {
        unsafe top -= 1
    }

    /// Checks that the required members were received, and sets the other members to their defaults.
    private mutating func fillMissingMembers() throws(StreamError) {
        guard let layout = unsafe top.pointee.layout?.takeUnretainedValue() else { return }
        if unsafe top.pointee.hasStrays { try checkStrays(layout) }
        let missingRequired = unsafe layout.required(options) & ~top.pointee.seen
        if missingRequired != 0 {
            let name = layout.keys[missingRequired.trailingZeroBitCount].debugDescription
            throw located(
                StreamError(.missingMember, "expected a member \(name) of \(layout.typeName)"), isContainer: true)
        }
        let missing = unsafe top.pointee.complete & ~top.pointee.seen
        guard missing != 0 else { return }
        // SAFETY: a value needs members in addition to the required ones only if every member has an offset.
        unsafe layout.setDefaults(missing, at: top.pointee.base, initialized: top.pointee.initialized)
        unsafe top.pointee.initialized |= missing
    }

    /// Leaves a complete container and moves it to its destination.
    mutating func finish() throws(StreamError) {
        let frame = unsafe top
        unsafe top -= 1
        if unsafe !frame.pointee.isInPlace {
            let (built, slot, value) = unsafe (
                frame.pointee.plan.takeUnretainedValue(), frame.pointee.slot, frame.pointee.value
            )
            do throws(StreamError) {
                if unsafe slot.isInitialized {
                    try unsafe Self.withTemporary(slot.plan.operations) { (memory) throws(StreamError) in
                        try unsafe slot.plan.take(value, of: built, into: memory)
                        unsafe slot.plan.operations.pointee.replace(memory, slot.address)
                    }
                } else {
                    try unsafe slot.plan.take(value, of: built, into: slot.address)
                }
            } catch {
                throw located(error)
            }
        }
        try slotIsFilled()
    }
}

extension StreamPlan {
    /// The plan of the built value, without optionals and conversions.
    var innermost: StreamPlan {
        var plan = self
        while true {
            switch plan.shape {
            case .optional(let wrapped): plan = wrapped
            case .converted(let form, _, _): plan = form
            default: return plan
            }
        }
    }
}

extension ObjectLayout {
    /// Returns the members that must be received.
    func required(_ options: BuilderOptions) -> UInt64 {
        requiredMembers | (options.missingMembers == .reject ? nonOptionalMembers : 0)
    }
}
