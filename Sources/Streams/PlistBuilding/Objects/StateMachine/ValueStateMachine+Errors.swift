// Adds paths to errors, and discards the value after an error.

import PlistStreaming

extension ValueStateMachine {
    /// Returns an error with the path of the next value, or of the innermost container.
    func located(_ error: StreamError, isContainer: Bool = false) -> StreamError {
        error.located(at: path(isContainer: isContainer))
    }

    /// Returns an error of the receiver of a value that was just completed, with the path of that value.
    @usableFromInline @inline(never)
    mutating func refused(_ error: StreamError) -> StreamError {
        // The value was already counted.
        unsafe top.pointee.index -= 1
        defer { unsafe top.pointee.index += 1 }
        return refusedNext(error)
    }

    /// Returns an error of a receiver with the path of the next value.
    func refusedNext(_ error: StreamError) -> StreamError {
        let error = StreamError(ofReceiver: error)
        return error.isStopRequest ? error : located(error)
    }

    /// Returns the path of the next value, or of the innermost container.
    func path(isContainer: Bool = false) -> StreamPath {
        var steps: [StreamPath.Step] = []
        for level in 0..<(isContainer ? depth : depth + 1) {
            let frame = unsafe levels + level
            switch unsafe frame.pointee.kind {
            case .root, .skipped, .propertyList:
                break
            case .passing:
                steps.append(
                    unsafe frame.pointee.isPassingArray ? .index(frame.pointee.index) : .key(frame.pointee.key))
            case .object:
                let index = unsafe frame.pointee.member
                if index >= 0, let name = unsafe frame.pointee.layout?.takeUnretainedValue().keys[index] {
                    steps.append(.key(name))
                } else if index == -2, options.unknownMembers != .ignore {
                    // The names of ignored members aren't kept. An error in such a member has the path of the container
                    // around it.
                    steps.append(.key(unsafe frame.pointee.key))
                }
            case .array:
                steps.append(.index(unsafe frame.pointee.index))
            case .dictionary:
                if unsafe frame.pointee.member >= 0 { steps.append(.key(unsafe frame.pointee.key)) }
            }
        }
        return StreamPath(steps)
    }

    /// Discards the incomplete value. After a stop request, a stream keeps the unknown members that it has collected.
    @usableFromInline
    mutating func cancel(with error: StreamError) {
        let collected = error.isStopRequest && deliver != nil ? unknownMembers : []
        reset()
        unknownMembers = collected
    }

    /// Discards the incomplete value and everything in it. The next message begins a new value.
    mutating func reset() {
        unsafe Self.abandon(levels, top, isRootFilled: isFilled || isRecycling, plan)
        unsafe top = levels
        unsafe top.pointee.index = 0
        isFilled = false
        isRecycling = false
        unsafe RecordState.discard(records)
        isInObject = false
        continuesArray = false
        tree = nil
        unknownMembers = []
        isIntact = false
    }

    /// Destroys the values in the memory of the levels, starting with the innermost level.
    static func abandon(
        _ levels: UnsafeMutablePointer<ValueFrame>, _ top: UnsafeMutablePointer<ValueFrame>, isRootFilled: Bool,
        _ plan: StreamPlan
    ) {
        var frame = unsafe top
        while unsafe frame > levels {
            switch unsafe frame.pointee.kind {
            case .array, .dictionary:
                if let element = unsafe frame.pointee.elementObject {
                    for index in unsafe 0..<frame.pointee.pending {
                        unsafe element.operations.pointee.deinitialize(element.address + index * element.stride)
                    }
                }
                unsafe frame.pointee.plan.takeUnretainedValue().operations.pointee.deinitialize(frame.pointee.value)
            case .object:
                if let layout = unsafe frame.pointee.layout?.takeUnretainedValue(), layout.isFilledMemberwise {
                    for index in unsafe layout.members.indices
                    where unsafe frame.pointee.initialized & (1 << UInt64(index)) != 0 {
                        let member = unsafe layout.members[index]
                        unsafe member.plan.operations.pointee.deinitialize(frame.pointee.base + member.offset)
                    }
                } else {
                    unsafe frame.pointee.plan.takeUnretainedValue().operations.pointee.deinitialize(frame.pointee.value)
                }
            case .root, .passing, .skipped, .propertyList:
                break
            }
            unsafe frame -= 1
        }
        if isRootFilled { unsafe plan.operations.pointee.deinitialize(levels.pointee.value) }
    }
}
