// Values within records: the levels of nested records, the memory for building their parts, and discarding them. A reader
// builds such a value completely or not at all. Incomplete values are destroyed here.

import PlistStreaming

extension RecordState {
    /// The maximum depth within a record that a reader builds. Deeper values are sent as messages.
    static var deepestLevel: Int { 24 }

    /// The number of bytes of memory for the elements of an array before they are moved to the array.
    package static var elementByteCount: Int { 4_096 }

    /// The maximum text size, in bytes, of a value within a record that a reader builds, without its last part. A discarded
    /// value is read again, which costs more for larger values. Because only one level at a time is read again, the text of a
    /// value is read at most `deepestLevel` times, regardless of its depth and size. Hostile texts had 10 steps for each
    /// value.
    package static var largestByteCount: Int { 32_768 }

    /// Enters a container within a record. Returns nil if it is too deep or too far after the record's beginning.
    ///
    /// - Parameters:
    ///   - offset: The offset of the container's first byte.
    ///   - last: The last offset that has enough bytes after it to be read.
    package mutating func enter(_ offset: Int, last: Int) -> UnsafeMutablePointer<RecordState>? {
        let last = unsafe level == 0 ? min(last, offset + Self.largestByteCount) : self.last
        guard unsafe depth > 0, unsafe level < Self.deepestLevel, offset <= last,
            unsafe level & 3 != 3 || !StackBounds.isNearEnd
        else { return nil }
        let state: UnsafeMutablePointer<RecordState>
        if let inner = unsafe inner {
            unsafe state = unsafe inner
        } else {
            unsafe state = .allocate(capacity: 1)
            unsafe state.initialize(to: RecordState())
            unsafe state.pointee.level = level + 1
            unsafe inner = unsafe state
        }
        unsafe state.pointee.depth = depth - 1
        unsafe state.pointee.limit = limit
        unsafe state.pointee.last = last
        unsafe state.pointee.outermost = outermost
        unsafe state.pointee.rejectsMissing = rejectsMissing
        unsafe state.pointee.ignoresUnknown = ignoresUnknown
        return unsafe state
    }

    /// Returns memory of `elementByteCount` bytes for the elements of an array.
    package static func elementMemory(_ state: UnsafeMutablePointer<RecordState>) -> UnsafeMutableRawPointer {
        if let elements = unsafe state.pointee.elements { return unsafe elements }
        let memory = unsafe UnsafeMutableRawPointer.allocate(byteCount: elementByteCount, alignment: 16)
        unsafe state.pointee.elements = unsafe memory
        return unsafe memory
    }

    /// Returns memory for a value that replaces another one when it is complete.
    package mutating func spareMemory(for shape: UnsafePointer<RecordShape>) -> UnsafeMutableRawPointer {
        unsafe spare.reserve(for: shape.pointee.operations)
    }

    /// Returns memory for the value in an optional.
    package mutating func wrappedMemory(for shape: UnsafePointer<RecordShape>) -> UnsafeMutableRawPointer {
        unsafe wrapped.reserve(for: shape.pointee.operations)
    }

    /// Provides memory for objects to this level: for several adjacent objects if that is possible, otherwise for one.
    /// - Returns: The number of objects that the memory can hold, or 0 for other types.
    package mutating func provide(
        _ shape: UnsafePointer<RecordShape>, at address: UnsafeMutableRawPointer, capacity: Int
    ) -> Int {
        guard let reference = unsafe shape.pointee.layout else { return 0 }
        return unsafe reference._withUnsafeGuaranteedRef { layout in
            let isRow = layout.isFilledMemberwise || layout.isClass
            if !layout.isFilledMemberwise { unsafe layout.make(address) }
            unsafe take(layout, rejectsMissing: rejectsMissing, ignoresUnknown: ignoresUnknown)
            let fresh = unsafe FreshObject(
                value: address, base: layout.members(ofValueAt: address),
                complete: layout.isFilledMemberwise ? layout.allMembers : required,
                isInitialized: !layout.isFilledMemberwise)
            unsafe provide(layout, fresh, stride: isRow ? shape.pointee.stride : 0, capacity: isRow ? capacity : 1)
            return unsafe self.capacity
        }
    }

    /// Sets the properties that are the same for all objects of a type.
    @inline(__always)  // PERF: JSONRecords/streams; once an object of a class that is not used again.
    mutating func take(_ layout: ObjectLayout, rejectsMissing: Bool, ignoresUnknown: Bool) {
        unsafe self.layout = Unmanaged.passUnretained(layout)
        unsafe self.rejectsMissing = rejectsMissing
        unsafe self.ignoresUnknown = ignoresUnknown
        unsafe take(layout.records)
        unsafe skipsUnknown = ignoresUnknown && layout.records.areAll
        unsafe required = layout.requiredMembers | (rejectsMissing ? layout.nonOptionalMembers : 0)
    }

    /// Sets the members of the records.
    @inline(__always)  // PERF: see above.
    mutating func take(_ records: RecordMembers) {
        unsafe members = records.start
        unsafe memberCount = records.count
        unsafe table = records.table
        unsafe longestName = records.longestName
    }

    /// Sets the address of the first object and the number of objects that the memory can hold. The objects are adjacent, or
    /// without a stride they are made one after another.
    @inline(__always)  // PERF: see above.
    mutating func provide(_ layout: ObjectLayout, _ fresh: FreshObject, stride: Int, capacity: Int) {
        unsafe reference = fresh.value
        unsafe base = Int(bitPattern: fresh.base)
        unsafe complete = fresh.complete
        unsafe isInitialized = fresh.isInitialized
        unsafe self.stride = stride
        unsafe self.capacity = capacity
        unsafe makes = stride > 0 && layout.isClass
        if unsafe makes { unsafe make = unsafe layout.make }
    }

    /// Sets missing members of a record to their defaults. Returns false if a required member is missing.
    // PERF: JSONTyped; mutating, so that the state is not copied for the call.
    package mutating func fillMissing(_ base: Int, seen: UInt64) -> Bool {
        guard let layout = unsafe layout, unsafe required & ~seen == 0 else { return false }
        let missing = unsafe complete & ~seen
        guard missing != 0, let address = unsafe UnsafeMutableRawPointer(bitPattern: base) else { return true }
        let initialized: UInt64 = unsafe isInitialized ? .max : 0
        // SAFETY: see `ValueStateMachine.fillMissingMembers`.
        unsafe layout._withUnsafeGuaranteedRef { unsafe $0.setDefaults(missing, at: address, initialized: initialized) }
        return true
    }

    /// Destroys the objects that a reader has completed, starting at an address, and the open object after them.
    package mutating func abandon(_ shape: UnsafePointer<RecordShape>, at address: UnsafeMutableRawPointer) {
        unsafe shape.pointee.deinitialize(address, doneCount)
        guard unsafe isOpen, let layout = unsafe layout else { return }
        let (value, seen) = unsafe (address + doneCount * stride, seen)
        unsafe layout._withUnsafeGuaranteedRef { layout in
            guard layout.isFilledMemberwise else { return unsafe shape.pointee.operations.pointee.deinitialize(value) }
            if unsafe shape.pointee.isTrivial { return }
            var stored = seen
            while stored != 0 {
                let member = unsafe layout.members[stored.trailingZeroBitCount]
                stored &= stored &- 1
                unsafe member.plan.operations.pointee.deinitialize(value + member.offset)
            }
        }
    }
}
