// Lending the memory of objects to a reader that stores plain members itself, and taking what it has stored.

import PlistStreaming

extension ValueMachine {
    /// Lends memory where objects follow each other: in an array of objects, or at the streaming depth.
    @usableFromInline
    mutating func beginRecords() -> RecordPort? {
        guard let element = unsafe top.pointee.elementObject, canBeginElement else { return nil }
        // Structures without a value and new objects lie side by side, so a reader goes from one to the next; a value
        // that was there before is used again for each.
        let isRow = unsafe top.pointee.kind == .array && (element.isFilledMemberwise || element.isClass)
        let room = unsafe isRow ? element.capacity &- top.pointee.pending : isRecycling ? .max : 1
        let fresh = unsafe makeElement(element)
        unsafe records.pointee.members = element.records.start
        unsafe records.pointee.memberCount = element.records.count
        unsafe records.pointee.base = Int(bitPattern: fresh.base)
        unsafe records.pointee.stride = isRow ? element.stride : 0
        unsafe records.pointee.room = room
        unsafe records.pointee.isInitialized = fresh.isInitialized
        unsafe records.pointee.complete = fresh.complete
        unsafe records.pointee.reference = fresh.value
        unsafe records.pointee.delivers = top.pointee.kind == .passing
        unsafe records.pointee.makes = isRow && element.isClass
        if unsafe isRow && element.isClass {
            unsafe records.pointee.make = element.layout._withUnsafeGuaranteedRef(\.make)
        }
        return unsafe RecordPort(UnsafeMutableRawPointer(records))
    }

    /// Counts the complete objects, and goes into the one that is not.
    @usableFromInline
    mutating func endRecords() throws(StreamError) {
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
            throw failure
        }
    }

    /// Sets what is called for each value that a reader has completed.
    @usableFromInline
    func setDelivery(_ deliver: @escaping () throws(StreamError) -> Void) {
        let (records, isReference) = unsafe (records, self.isReference)
        let object = unsafe root.assumingMemoryBound(to: NativeObject.self)
        unsafe records.pointee.deliver = {
            do throws(StreamError) {
                try deliver()
            } catch {
                unsafe records.pointee.failure = error
                return false
            }
            // SAFETY: see `release`.
            return unsafe !isReference || isKnownUniquelyReferenced(&object.pointee)
        }
    }

    /// Whether the value at the root is a reference to an object.
    private var isReference: Bool {
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
