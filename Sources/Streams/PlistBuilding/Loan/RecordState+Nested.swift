// Values within records: the levels of records in records, the memory in which their parts are built, and giving them up.
// A reader builds such a value wholly or not at all; what is begun and not complete is destroyed here.

import PlistStreaming

extension RecordState {
    /// The deepest nesting within a record that a reader builds; what is deeper comes by messages.
    static var deepestLevel: Int { 24 }

    /// The bytes of memory for the elements of an array before they move there.
    package static var elementByteCount: Int { 4_096 }

    /// The largest text of a value within a record that is built by a reader, in bytes, apart from its last part. A value
    /// that is given up is read again, which costs the more the larger it is: a level at a time, so that the text of a value is
    /// looked at `deepestLevel` times at most, however deep and large it is. Hostile texts had 10 steps for each value.
    package static var largestByteCount: Int { 32_768 }

    /// Goes into a container within a record; nil when that is too deep or too far behind the record's beginning.
    ///
    /// - Parameters:
    ///   - offset: The offset of the container's first byte.
    ///   - last: The last offset at which there are bytes enough to look at.
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

    /// Memory for the elements of an array, of `elementByteCount` bytes.
    package static func elementMemory(_ state: UnsafeMutablePointer<RecordState>) -> UnsafeMutableRawPointer {
        if let elements = unsafe state.pointee.elements { return unsafe elements }
        let memory = unsafe UnsafeMutableRawPointer.allocate(byteCount: elementByteCount, alignment: 16)
        unsafe state.pointee.elements = unsafe memory
        return unsafe memory
    }

    /// Memory for a value that replaces another one when it is complete.
    package mutating func spareMemory(for shape: UnsafePointer<RecordShape>) -> UnsafeMutableRawPointer {
        unsafe spare.room(for: shape.pointee.operations)
    }

    /// Memory for what is inside an optional.
    package mutating func wrappedMemory(for shape: UnsafePointer<RecordShape>) -> UnsafeMutableRawPointer {
        unsafe wrapped.room(for: shape.pointee.operations)
    }

    /// Lends memory for objects to this level: side by side where that is possible, else for one.
    /// - Returns: The number of objects that there is memory for; 0 for other types.
    package mutating func lend(
        _ shape: UnsafePointer<RecordShape>, at address: UnsafeMutableRawPointer, room: Int
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
            unsafe lend(layout, fresh, stride: isRow ? shape.pointee.stride : 0, room: isRow ? room : 1)
            return unsafe self.room
        }
    }

    /// Sets what is the same for all objects of a type.
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

    /// Sets where the first object is, and how many there is memory for: side by side, or one after another without a stride.
    @inline(__always)  // PERF: see above.
    mutating func lend(_ layout: ObjectLayout, _ fresh: FreshObject, stride: Int, room: Int) {
        unsafe reference = fresh.value
        unsafe base = Int(bitPattern: fresh.base)
        unsafe complete = fresh.complete
        unsafe isInitialized = fresh.isInitialized
        unsafe self.stride = stride
        unsafe self.room = room
        unsafe makes = stride > 0 && layout.isClass
        if unsafe makes { unsafe make = unsafe layout.make }
    }

    /// Gives missing members of a record their defaults; false when there is one that must come.
    // PERF: JSONTyped; mutating, so that the state is not copied for the call.
    package mutating func fillMissing(_ base: Int, seen: UInt64) -> Bool {
        guard let layout = unsafe layout, unsafe required & ~seen == 0 else { return false }
        let missing = unsafe complete & ~seen
        guard missing != 0, let address = unsafe UnsafeMutableRawPointer(bitPattern: base) else { return true }
        let initialized: UInt64 = unsafe isInitialized ? .max : 0
        // SAFETY: see `ValueMachine.fillMissingMembers`.
        unsafe layout._withUnsafeGuaranteedRef { unsafe $0.setDefaults(missing, at: address, initialized: initialized) }
        return true
    }

    /// Destroys the objects that a reader has completed from an address on, and the one that is open behind them.
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
