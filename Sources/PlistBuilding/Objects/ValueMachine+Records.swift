// Lending the memory of objects to a reader that stores plain members itself, and taking what it has stored.

import PlistStreaming

extension ValueMachine {
    /// Lends memory for objects, and none while some is lent.
    @usableFromInline
    mutating func beginRecords() throws(StreamError) -> RecordPort? {
        guard lent == .nothing else { throw notInTurn() }
        guard let port = try unsafe lendRecords() else { return nil }
        beginLoan(.records)
        return unsafe port
    }

    /// Lends memory for arrays that follow each other in an array, and none while some is lent.
    @usableFromInline
    mutating func beginArrays() throws(StreamError) -> RecordPort? {
        guard lent == .nothing else { throw notInTurn() }
        guard let port = unsafe lendArrays() else { return nil }
        beginLoan(.arrays)
        return unsafe port
    }

    private mutating func beginLoan(_ loan: Loan) {
        lent = loan
        // What an earlier reader said counts no more.
        unsafe (records.pointee.doneCount, records.pointee.isOpen) = (0, false)
        unsafe (records.pointee.seen, records.pointee.next) = (0, 0)
    }

    /// Takes memory back that was lent, of which a reader says how much it has filled.
    private mutating func endLoan(_ loan: Loan) throws(StreamError) {
        let isInRoom = unsafe (0...records.pointee.room).contains(records.pointee.doneCount)
        guard lent == loan, isInRoom else { throw notInTurn() }
        lent = .nothing
    }

    @inline(never)
    private func notInTurn() -> StreamError {
        located(StreamError(.misuse, "memory was lent and taken back out of turn, or more of it filled than there was"))
    }

    /// Lends memory for objects: where they follow each other, in an array of objects or at the streaming depth, for
    /// several; at any other place for one, which is then gone into.
    private mutating func lendRecords() throws(StreamError) -> RecordPort? {
        guard let element = unsafe top.pointee.elementObject else { return try unsafe lendObject() }
        guard canBeginElement else { return nil }
        // Structures without a value and new objects lie side by side, so a reader goes from one to the next; a value
        // that was there before is used again for each.
        let isRow = unsafe top.pointee.kind == .array && (element.isFilledMemberwise || element.isClass)
        let room = unsafe isRow ? element.capacity &- top.pointee.pending : isRecycling ? .max : 1
        let fresh = unsafe makeElement(element)
        unsafe element.layout._withUnsafeGuaranteedRef { unsafe setRecords($0, fresh, depth: depth + 1) }
        unsafe records.pointee.stride = isRow ? element.stride : 0
        unsafe records.pointee.room = room
        unsafe records.pointee.reference = fresh.value
        unsafe records.pointee.delivers = top.pointee.kind == .passing
        unsafe records.pointee.makes = isRow && element.isClass
        if unsafe isRow && element.isClass {
            unsafe records.pointee.make = element.layout._withUnsafeGuaranteedRef(\.make)
        }
        return unsafe RecordPort(UnsafeMutableRawPointer(records))
    }

    /// Sets what is the same for all records: their members, and what becomes of others.
    @inline(__always)  // PERF: JSONRecords/streams; once an object of a class that is not used again.
    private func setRecords(_ layout: ObjectLayout, _ fresh: FreshObject, depth: Int) {
        unsafe records.pointee.take(
            layout, rejectsMissing: options.missingMembers == .reject, ignoresUnknown: options.unknownMembers == .ignore
        )
        unsafe records.pointee.base = Int(bitPattern: fresh.base)
        unsafe records.pointee.isInitialized = fresh.isInitialized
        unsafe records.pointee.complete = fresh.complete
        unsafe records.pointee.depth = options.depthLimit - depth
        unsafe records.pointee.isRoot = false
    }

    private mutating func lendArrays() -> RecordPort? {
        guard unsafe top.pointee.kind == .array else { return nil }
        let shape = unsafe top.pointee.elementPlan._withUnsafeGuaranteedRef { unsafe UnsafePointer($0.record) }
        let room = unsafe shape.pointee.room
        guard unsafe shape.pointee.kind == .array, room > 0 else { return nil }
        unsafe records.pointee.arrays = unsafe shape
        unsafe records.pointee.reference = records.pointee.elementMemory()
        unsafe records.pointee.stride = shape.pointee.stride
        unsafe records.pointee.room = room
        unsafe records.pointee.depth = options.depthLimit - depth
        unsafe records.pointee.rejectsMissing = options.missingMembers == .reject
        unsafe records.pointee.ignoresUnknown = options.unknownMembers == .ignore
        unsafe records.pointee.isRoot = false
        return unsafe RecordPort(UnsafeMutableRawPointer(records))
    }

    /// Takes the arrays that a reader has stored.
    @usableFromInline
    mutating func endArrays() throws(StreamError) {
        try endLoan(.arrays)
        let count = unsafe records.pointee.doneCount
        guard count > 0, let shape = unsafe records.pointee.arrays else { return }
        unsafe shape.pointee.append(records.pointee.reference, count, to: top.pointee.value)
        unsafe top.pointee.index &+= count
    }

    /// Goes into the object of the value to come, if it is one, and lends its memory.
    private mutating func lendObject() throws(StreamError) -> RecordPort? {
        let shape: UnsafeMutablePointer<RecordShape>
        switch unsafe top.pointee.kind {
        case .root where depth == streamingDepth && !isFilled:
            unsafe shape = plan.record
        case .object where unsafe top.pointee.member >= 0:
            unsafe shape = top.pointee.members[top.pointee.member].plan.record
        case .array:
            unsafe shape = top.pointee.elementPlan._withUnsafeGuaranteedRef { unsafe $0.record }
        case .dictionary where unsafe top.pointee.member >= 0:
            unsafe shape = top.pointee.elementPlan._withUnsafeGuaranteedRef { unsafe $0.record }
        default:
            return nil
        }
        let isObject = unsafe shape.pointee.kind == .object
        guard unsafe isObject || shape.pointee.kind == .optional && shape.pointee.element?.pointee.kind == .object
        else { return nil }
        // PERF: JSONTyped/documents; a whole document needs no look at what it is in.
        if unsafe top.pointee.kind == .root, let layout = unsafe shape.pointee.layout {
            let slot = unsafe ValueSlot(plan: plan, address: root, isInitialized: false)
            try unsafe beginObject(layout.takeUnretainedValue(), plan, slot)
        } else {
            try begin(isArray: false)
        }
        guard unsafe top.pointee.kind == .object, let layout = unsafe top.pointee.layout else { return nil }
        let fresh = unsafe FreshObject(
            value: top.pointee.value, base: top.pointee.base, complete: top.pointee.complete,
            isInitialized: top.pointee.initialized != 0)
        unsafe layout._withUnsafeGuaranteedRef { unsafe setRecords($0, fresh, depth: depth) }
        unsafe records.pointee.isRoot = depth == 1
        unsafe records.pointee.stride = 0
        unsafe records.pointee.room = 1
        unsafe records.pointee.reference = fresh.value
        unsafe records.pointee.delivers = false
        unsafe records.pointee.makes = false
        isInObject = true
        return unsafe RecordPort(UnsafeMutableRawPointer(records))
    }

    /// Counts the complete objects, and goes into the one that is not.
    @usableFromInline
    mutating func endRecords() throws(StreamError) {
        try endLoan(.records)
        if isInObject {
            isInObject = false
            let isOpen = unsafe records.pointee.isOpen
            if !isOpen { return try finish() }
            unsafe top.pointee.seen = records.pointee.seen
            unsafe top.pointee.initialized |= records.pointee.seen
            unsafe top.pointee.next = records.pointee.next
            return
        }
        isRecycling = false
        guard let element = unsafe top.pointee.elementObject else { return }
        let doneCount = unsafe records.pointee.doneCount
        unsafe top.pointee.index &+= doneCount
        if unsafe top.pointee.kind == .array {
            unsafe top.pointee.pending &+= doneCount
            if unsafe top.pointee.pending == element.capacity {
                unsafe movePending(expecting: records.pointee.expectedCount)
            }
        } else if unsafe !records.pointee.isOpen {
            // All were handed over as they came; the last one is still there.
            release()
        }
        if unsafe records.pointee.isOpen { unsafe openRecord(element) }
        if let failure = unsafe records.pointee.failure {
            unsafe records.pointee.failure = nil
            throw refused(failure)
        }
    }

    /// Sets what is called for each value that a reader has completed, and returns whether the reader may go on.
    @usableFromInline
    func setDelivery(_ deliver: @escaping () -> Bool) { unsafe records.pointee.deliver = deliver }

    /// Takes the error with which a value was refused.
    @usableFromInline
    func refuse(_ error: StreamError) { unsafe records.pointee.failure = error }

    /// Whether the value at the root is a reference to an object.
    @usableFromInline
    var isReference: Bool {
        if case .object(let layout) = plan.shape { return layout.isClass }
        return false
    }

    /// Goes into an object of which some members are stored.
    private mutating func openRecord(_ element: ElementObject) {
        let value = unsafe element.address + top.pointee.pending &* element.stride
        let base = unsafe element.layout._withUnsafeGuaranteedRef { unsafe $0.members(ofValueAt: value) }
        let (isInitialized, complete) = unsafe (records.pointee.isInitialized, records.pointee.complete)
        unsafe open(
            element, FreshObject(value: value, base: base, complete: complete, isInitialized: isInitialized))
        unsafe top.pointee.seen = records.pointee.seen
        unsafe top.pointee.initialized |= records.pointee.seen
        unsafe top.pointee.next = records.pointee.next
    }
}
