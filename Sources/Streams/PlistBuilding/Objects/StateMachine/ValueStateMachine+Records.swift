// Provides the memory of objects and arrays to a reader that stores members itself, and takes the stored values.

import PlistStreaming

extension ValueStateMachine {
    /// Provides memory for objects or arrays. Fails if a reader already has a record buffer.
    @usableFromInline
    mutating func beginRecordBuffer(of kind: RecordBufferKind) throws(StreamError) -> RecordPort? {
        guard unsafe records.pointee.bufferKind == nil else { throw recordBufferMisuse() }
        let isProvided = kind == .records ? try provideRecords() : provideArrays()
        return unsafe isProvided ? RecordState.begin(kind, records) : nil
    }

    /// Takes a record buffer back, with the number of values that the reader has stored.
    @usableFromInline
    mutating func endRecordBuffer() throws(StreamError) {
        switch unsafe RecordState.end(records) {
        case .records: try takeRecords()
        case .arrays: takeArrays()
        case nil: throw recordBufferMisuse()
        }
    }

    @inline(never)
    private func recordBufferMisuse() -> StreamError { located(StreamError(.misuse, RecordBufferKind.misuseMessage)) }

    // MARK: Providing buffers

    /// Provides memory for objects. If objects follow each other, in an array of objects or at the streaming depth, the memory
    /// is for several objects. At the root and in other places, it is for one object. In other places, that object then
    /// becomes the innermost level.
    private mutating func provideRecords() throws(StreamError) -> Bool {
        guard let element = unsafe top.pointee.elementObject else { return try provideObject() }
        guard canBeginElement else { return false }
        // Structures without a value and new objects are adjacent, so that a reader moves from one to the next. An existing
        // value is used again for each record.
        let isRow = unsafe top.pointee.kind == .array && (element.isFilledMemberwise || element.isClass)
        let delivers = unsafe top.pointee.kind == .passing
        let capacity = unsafe isRow ? element.capacity &- top.pointee.pending : isRecycling && delivers ? .max : 1
        unsafe provide(element.layout, makeElement(element), stride: isRow ? element.stride : 0, capacity: capacity)
        unsafe records.pointee.depth = options.depthLimit - depth - 1
        unsafe records.pointee.delivers = delivers
        unsafe records.pointee.isRoot = top.pointee.kind == .root
        return true
    }

    /// Enters the object of the next value, if its type is an object, and provides its memory.
    private mutating func provideObject() throws(StreamError) -> Bool {
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
            return false
        }
        let isObject = unsafe shape.pointee.kind == .object
        guard unsafe isObject || shape.pointee.kind == .optional && shape.pointee.element?.pointee.kind == .object
        else { return false }
        try begin(isArray: false)
        guard unsafe top.pointee.kind == .object, let layout = unsafe top.pointee.layout else { return false }
        let fresh = unsafe FreshObject(
            value: top.pointee.value, base: top.pointee.base, complete: top.pointee.complete,
            isInitialized: top.pointee.initialized != 0)
        unsafe provide(layout, fresh, stride: 0, capacity: 1)
        unsafe records.pointee.depth = options.depthLimit - depth
        unsafe records.pointee.isRoot = depth == 1
        unsafe records.pointee.delivers = false
        isInObject = true
        return true
    }

    /// Provides memory for objects, starting with a given object.
    @inline(__always)  // PERF: JSONRecords/streams; once an object of a class that is not used again.
    private func provide(_ layout: Unmanaged<ObjectLayout>, _ fresh: FreshObject, stride: Int, capacity: Int) {
        unsafe layout._withUnsafeGuaranteedRef { layout in
            unsafe records.pointee.take(
                layout, rejectsMissing: options.missingMembers == .reject,
                ignoresUnknown: options.unknownMembers == .ignore)
            unsafe records.pointee.provide(layout, fresh, stride: stride, capacity: capacity)
        }
        unsafe records.pointee.isRoot = false
    }

    /// Provides memory for arrays that are adjacent elements of an array.
    private mutating func provideArrays() -> Bool {
        guard unsafe top.pointee.kind == .array else { return false }
        let shape = unsafe top.pointee.elementPlan._withUnsafeGuaranteedRef { unsafe UnsafePointer($0.record) }
        let capacity = unsafe shape.pointee.capacity
        guard unsafe shape.pointee.kind == .array, capacity > 0 else { return false }
        unsafe records.pointee.arrays = unsafe shape
        unsafe records.pointee.reference = RecordState.elementMemory(records)
        unsafe records.pointee.stride = shape.pointee.stride
        unsafe records.pointee.capacity = capacity
        unsafe records.pointee.depth = options.depthLimit - depth
        unsafe records.pointee.rejectsMissing = options.missingMembers == .reject
        unsafe records.pointee.ignoresUnknown = options.unknownMembers == .ignore
        unsafe records.pointee.isRoot = false
        return true
    }

    // MARK: Taking buffers back

    /// Takes the arrays that a reader has stored.
    private mutating func takeArrays() {
        let count = unsafe records.pointee.doneCount
        guard count > 0, let shape = unsafe records.pointee.arrays else { return }
        unsafe shape.pointee.append(records.pointee.reference, count, to: top.pointee.value)
        unsafe top.pointee.index &+= count
    }

    /// Counts the complete objects, and enters the incomplete one.
    private mutating func takeRecords() throws(StreamError) {
        let (doneCount, isOpen) = unsafe (records.pointee.doneCount, records.pointee.isOpen)
        if isInObject {
            isInObject = false
            return isOpen ? takeOpen() : try finish()
        }
        isRecycling = false
        guard let element = unsafe top.pointee.elementObject else { return }
        unsafe top.pointee.index &+= doneCount
        if unsafe top.pointee.kind == .array {
            unsafe top.pointee.pending &+= doneCount
            if unsafe top.pointee.pending == element.capacity {
                unsafe movePending(expecting: records.pointee.expectedCount)
            }
        } else if unsafe top.pointee.kind == .root {
            if doneCount > 0 { try rootIsFilled() }
        } else if !isOpen {
            // All objects were delivered as they were completed. The last one still exists.
            release()
        }
        if isOpen {
            let value = unsafe element.address + top.pointee.pending &* element.stride
            let base = unsafe element.layout._withUnsafeGuaranteedRef { unsafe $0.members(ofValueAt: value) }
            let (isInitialized, complete) = unsafe (records.pointee.isInitialized, records.pointee.complete)
            unsafe open(
                element, FreshObject(value: value, base: base, complete: complete, isInitialized: isInitialized))
            takeOpen()
        }
        if let failure = unsafe records.pointee.failure {
            unsafe records.pointee.failure = nil
            throw refused(failure)
        }
    }

    /// Takes the members that a reader has stored in the open object.
    private mutating func takeOpen() {
        unsafe top.pointee.seen = records.pointee.seen
        unsafe top.pointee.initialized |= records.pointee.seen
        unsafe top.pointee.next = records.pointee.next
    }

    // MARK: Delivering records

    /// Sets the closures that receive complete values.
    ///
    /// - Parameters:
    ///   - deliver: Receives values that were completed by messages.
    ///   - deliverRecord: Receives values that a reader has stored itself. Returns false to stop the reader.
    @usableFromInline
    mutating func setDelivery(
        _ deliver: @escaping () throws(StreamError) -> Void, toReaders deliverRecord: @escaping () -> Bool
    ) {
        self.deliver = deliver
        unsafe records.pointee.deliver = deliverRecord
    }

    /// Stores the error of a receiver.
    @usableFromInline
    func refuse(_ error: StreamError) { unsafe records.pointee.failure = error }

    /// A Boolean value that indicates whether the value at the root is a reference to an object.
    @usableFromInline
    var isReference: Bool {
        if case .object(let layout) = plan.shape { return layout.isClass }
        return false
    }
}
