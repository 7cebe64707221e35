// Opening and closing containers: which kind of container a type wants, where it is built, and moving it where it goes.

import PlistStreaming

extension ValueMachine {
    mutating func beginArray() throws(StreamError) { try begin(isArray: true) }
    mutating func beginDictionary() throws(StreamError) { try begin(isArray: false) }

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
        unsafe frame.pointee.plan = built
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
        unsafe frame.pointee.layout = layout
        unsafe frame.pointee.members = layout.members
        unsafe frame.pointee.next = 0
        unsafe frame.pointee.bit = 0
        unsafe frame.pointee.seen = 0
        unsafe frame.pointee.initialized = layout.isFilledMemberwise ? 0 : .max
        if isReused {
            isRecycling = false
            unsafe layout.reset(frame.pointee.value)
        } else if !layout.isFilledMemberwise {
            unsafe layout.make(frame.pointee.value)
        }
        unsafe frame.pointee.base = layout.members(ofValueAt: frame.pointee.value)
        unsafe frame.pointee.address = frame.pointee.base
    }

    private mutating func beginCollection(
        _ kind: FrameKind, of element: StreamPlan, _ built: StreamPlan, _ slot: ValueSlot
    ) throws(StreamError) {
        let frame = try unsafe push(kind, built, slot)
        unsafe frame.pointee.elementPlan = element
        if kind == .array {
            unsafe frame.pointee.fast = element.fast
            unsafe element.operations.makeArray(frame.pointee.value)
        } else {
            unsafe element.operations.makeDictionary(frame.pointee.value)
        }
    }

    // MARK: Ends

    mutating func endDictionary() throws(StreamError) {
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
        guard let layout = unsafe top.pointee.layout else { return }
        let required =
            layout.requiredMembers | (options.missingMembers == .reject ? layout.nonOptionalMembers : 0)
        if unsafe required & ~top.pointee.seen != 0 {
            let index = unsafe (required & ~top.pointee.seen).trailingZeroBitCount
            let name = layout.keys[index].debugDescription
            throw located(
                StreamError(.missingMember, "expected a member \(name) of \(layout.typeName)"), isContainer: true)
        }
        guard layout.isFilledMemberwise else { return }
        var missing = unsafe layout.allMembers & ~top.pointee.initialized
        while missing != 0 {
            let index = missing.trailingZeroBitCount
            let member = unsafe layout.members[index]
            if let value = unsafe layout.defaultAddress(of: member) {
                unsafe member.plan.operations.copy(value, top.pointee.base + member.offset)
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
            let (built, slot, value) = unsafe (frame.pointee.plan, frame.pointee.slot, frame.pointee.value)
            do throws(StreamError) {
                if unsafe slot.isInitialized {
                    try unsafe Self.withTemporary(slot.plan.operations) { (memory) throws(StreamError) in
                        try unsafe slot.plan.take(value, of: built, into: memory)
                        unsafe slot.plan.operations.deinitialize(slot.address)
                        unsafe slot.plan.operations.move(memory, slot.address)
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
    /// Sets the members of an object back to their defaults.
    func reset(_ value: UnsafeMutableRawPointer) {
        let base = unsafe members(ofValueAt: value)
        for index in unsafe members.indices {
            let member = unsafe members[index]
            guard let source = unsafe defaultAddress(of: member) else { continue }
            // SAFETY: a default is a value of the member's type; the object is used by no one else.
            unsafe member.plan.operations.deinitialize(base + member.offset)
            unsafe member.plan.operations.copy(source, base + member.offset)
        }
    }
}
