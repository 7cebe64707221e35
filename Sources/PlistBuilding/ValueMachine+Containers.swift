// Opening and closing containers: which kind of container a type wants, where it is built, and moving it where it goes.

import PlistStreaming

extension ValueMachine {
    @usableFromInline
    mutating func beginArray() throws(StreamError) { try begin(isArray: true) }

    @usableFromInline
    mutating func beginDictionary() throws(StreamError) {
        // PERF: JSONRecords/structures; an element of an array of objects, on a level that was used before.
        if let element = unsafe top.pointee.elementObject, canBeginElement {
            let plan = unsafe top.pointee.elementPlan
            unsafe top += 1
            unsafe top.pointee.kind = .object
            unsafe top.pointee.isInPlace = true
            unsafe top.pointee.plan = plan
            unsafe top.pointee.layout = element.layout
            unsafe top.pointee.members = element.members
            unsafe top.pointee.full = element.full
            unsafe top.pointee.required = element.required
            unsafe top.pointee.value = element.address
            unsafe prepareMembers(isFilledMemberwise: element.isFilledMemberwise)
            if unsafe element.isFilledMemberwise {
                unsafe top.pointee.base = element.address
            } else {
                unsafe makeElement(element.layout, element.address)
            }
            return
        }
        try begin(isArray: false)
    }

    /// Whether the container is one of objects, on the level above one that was used before.
    @inline(__always)  // PERF: JSONRecords/structures; once an object.
    private var canBeginElement: Bool {
        guard depth &+ 1 < levelCount, depth < options.depthLimit else { return false }
        return unsafe top.pointee.kind == .array || top.pointee.kind == .passing && !isFilled
    }

    /// Makes the object of an element, or uses the last one again.
    private mutating func makeElement(_ layout: Unmanaged<ObjectLayout>, _ address: UnsafeMutableRawPointer) {
        unsafe layout._withUnsafeGuaranteedRef { layout in
            if isRecycling {
                isRecycling = false
                unsafe layout.reset(address)
            } else {
                unsafe layout.make(address)
            }
            unsafe top.pointee.base = layout.members(ofValueAt: address)
        }
    }

    /// Sets the innermost level to an object of which no member has come.
    @inline(__always)  // PERF: JSONRecords/structures; once an object.
    private mutating func prepareMembers(isFilledMemberwise: Bool) {
        unsafe top.pointee.fast = .none
        unsafe top.pointee.member = -1
        unsafe top.pointee.next = 0
        unsafe top.pointee.bit = 0
        unsafe top.pointee.seen = 0
        unsafe top.pointee.initialized = isFilledMemberwise ? 0 : .max
    }

    private mutating func begin(isArray: Bool) throws(StreamError) {
        switch unsafe top.pointee.kind {
        case .propertyList:
            return try forwardBegin(isArray: isArray)
        case .skipped:
            // Its depth is bounded by the reader's limit, and by this one.
            unsafe top.pointee.index += 1
            guard unsafe depth + top.pointee.index < options.depthLimit else {
                throw located(StreamError(.limitExceeded, "containers are nested deeper than \(options.depthLimit)"))
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
            try unsafe beginCollection(isArray ? .array : .dictionary, of: element, built, slot)
        case .propertyList:
            discardRecycled()
            try unsafe beginPropertyList(isArray: isArray, slot: slot)
        default:
            throw unsafe located(slot.plan.mismatch(found: isArray ? "an array" : "a dictionary"))
        }
    }

    /// Goes into a container above the streaming depth.
    private mutating func pass(isArray: Bool) throws(StreamError) {
        let frame = try unsafe pushLevel()
        unsafe frame.pointee.kind = .passing
        unsafe frame.pointee.isPassingArray = isArray
        unsafe frame.pointee.elementPlan = Unmanaged.passUnretained(plan)
        unsafe frame.pointee.elementObject = depth == streamingDepth ? elementObject(plan, at: root) : nil
        unsafe frame.pointee.fast = .none
        unsafe frame.pointee.index = 0
    }

    /// Pushes a level and decides where its container is built.
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
        unsafe frame.pointee.value = isInPlace ? slot.address : frame.pointee.own.room(for: built.operations)
        unsafe frame.pointee.index = 0
        unsafe frame.pointee.member = -1
        return unsafe frame
    }

    private mutating func beginObject(
        _ layout: ObjectLayout, _ built: StreamPlan, _ slot: ValueSlot
    ) throws(StreamError) {
        let isReused = isRecycling && depth == streamingDepth
        let frame = try unsafe push(.object, built, slot)
        unsafe frame.pointee.layout = Unmanaged.passUnretained(layout)
        unsafe frame.pointee.members = layout.members
        unsafe frame.pointee.full = layout.isFilledMemberwise ? layout.allMembers : 0
        unsafe frame.pointee.required = layout.required(options)
        prepareMembers(isFilledMemberwise: layout.isFilledMemberwise)
        if isReused {
            isRecycling = false
            unsafe layout.reset(frame.pointee.value)
        } else if !layout.isFilledMemberwise {
            unsafe layout.make(frame.pointee.value)
        }
        unsafe frame.pointee.base = layout.members(ofValueAt: frame.pointee.value)
    }

    private mutating func beginCollection(
        _ kind: FrameKind, of element: StreamPlan, _ built: StreamPlan, _ slot: ValueSlot
    ) throws(StreamError) {
        let frame = try unsafe push(kind, built, slot)
        unsafe frame.pointee.elementPlan = Unmanaged.passUnretained(element)
        if kind == .array {
            unsafe frame.pointee.fast = element.fast
            unsafe element.operations.pointee.makeArray(frame.pointee.value)
            let address = unsafe frame.pointee.element.room(for: element.operations)
            unsafe frame.pointee.elementObject = elementObject(element, at: address)
        } else {
            unsafe element.operations.pointee.makeDictionary(frame.pointee.value)
        }
    }

    /// What begins one object after another at an address; nil for plans of other types.
    private func elementObject(_ plan: StreamPlan, at address: UnsafeMutableRawPointer) -> ElementObject? {
        guard case .object(let layout) = plan.shape else { return nil }
        return unsafe ElementObject(
            layout: Unmanaged.passUnretained(layout), members: layout.members, operations: plan.operations,
            address: address, full: layout.isFilledMemberwise ? layout.allMembers : 0,
            required: layout.required(options), isFilledMemberwise: layout.isFilledMemberwise)
    }

    // MARK: Ends

    @usableFromInline
    mutating func endDictionary() throws(StreamError) {
        // PERF: JSONRecords/structures; a whole element of an array of objects.
        if unsafe top.pointee.kind == .object && top.pointee.isInPlace
            && top.pointee.initialized & top.pointee.full == top.pointee.full
            && top.pointee.seen & top.pointee.required == top.pointee.required
        {
            let array = unsafe top - 1
            if unsafe array.pointee.kind == .array, let element = unsafe array.pointee.elementObject {
                unsafe top = array
                unsafe element.operations.pointee.append(element.address, array.pointee.value)
                unsafe array.pointee.index &+= 1
                return
            } else if unsafe array.pointee.kind == .passing {
                unsafe top = array
                unsafe top.pointee.index &+= 1
                isFilled = true
                return
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
        if unsafe top.pointee.kind == .array { try finish() } else { try endOther(isArray: true) }
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
                StreamError(.misuse, "got \(isArray ? "endArray" : "endDictionary") without such a container"))
        }
    }

    private mutating func popSkipped() {
        unsafe top -= 1
    }

    /// Checks that the required members came, and gives the others their defaults.
    private mutating func fillMissingMembers() throws(StreamError) {
        guard let layout = unsafe top.pointee.layout?.takeUnretainedValue() else { return }
        let missingRequired = unsafe top.pointee.required & ~top.pointee.seen
        if missingRequired != 0 {
            let name = layout.keys[missingRequired.trailingZeroBitCount].debugDescription
            throw located(
                StreamError(.missingMember, "expected a member \(name) of \(layout.typeName)"), isContainer: true)
        }
        guard layout.isFilledMemberwise else { return }
        var missing = unsafe layout.allMembers & ~top.pointee.initialized
        while missing != 0 {
            let index = missing.trailingZeroBitCount
            let member = unsafe layout.members[index]
            if let value = unsafe layout.defaultAddress(of: member) {
                unsafe member.plan.operations.pointee.copy(value, top.pointee.base + member.offset)
                unsafe top.pointee.initialized |= 1 << UInt64(index)
            }
            missing &= missing &- 1
        }
    }

    /// Leaves a complete container and moves it where it goes.
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
                        unsafe slot.plan.operations.pointee.deinitialize(slot.address)
                        unsafe slot.plan.operations.pointee.move(memory, slot.address)
                    }
                } else {
                    try unsafe slot.plan.take(value, of: built, into: slot.address)
                }
            } catch {
                throw located(error)
            }
        }
        slotIsFilled()
    }
}

extension StreamPlan {
    /// The plan of what is built for this type: without optionals and conversions.
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
    /// The members that must come.
    func required(_ options: BuilderOptions) -> UInt64 {
        requiredMembers | (options.missingMembers == .reject ? nonOptionalMembers : 0)
    }

    /// Sets the members of an object back to their defaults.
    func reset(_ value: UnsafeMutableRawPointer) {
        let base = unsafe members(ofValueAt: value)
        for index in unsafe members.indices {
            let member = unsafe members[index]
            guard let source = unsafe defaultAddress(of: member) else { continue }
            // SAFETY: a default is a value of the member's type; the object is used by no one else.
            unsafe member.plan.operations.pointee.deinitialize(base + member.offset)
            unsafe member.plan.operations.pointee.copy(source, base + member.offset)
        }
    }
}
