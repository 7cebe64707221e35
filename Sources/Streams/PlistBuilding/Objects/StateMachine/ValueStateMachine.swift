// Builds a value of any bound type from messages, directly in its memory. The state machine isn't generic: all properties of
// a type are in its plan. This file handles messages. `ValueStateMachine+Containers` opens and closes containers,
// `ValueStateMachine+Slots` finds the destinations of values and converts them, and `ValueStateMachine+Errors` adds paths to
// errors.

import PlistStreaming
import StringTables

/// An unknown member that was collected.
public struct UnknownMember: Sendable, Equatable {
    /// The path of the member.
    public let path: StreamPath
    /// The value of the member.
    public let value: PropertyList
}

/// A state machine that builds values of one type from messages, one after another.
@safe
@usableFromInline
struct ValueStateMachine: ~Copyable {
    // This has to be the first property: Swift 6.3 reports changes of the memory behind it to TSan as changes of the first
    // property. If that were the plan, which all threads share, TSan would report a race.
    /// The state of the record buffer. It is allocated separately so that its address stays the same.
    let records: UnsafeMutablePointer<RecordState>
    // SAFETY: the owner keeps the plan alive, or the plan keeps this spare state machine.
    private unowned(unsafe) let unretainedPlan: StreamPlan
    var plan: StreamPlan { unsafe unretainedPlan }
    private(set) var options: BuilderOptions
    /// The functions for making strings.
    let text = SmallText.checked
    /// The depth of the built values. Containers above it are passed through.
    let streamingDepth: Int
    /// A Boolean value that indicates whether the built values must be the elements of an array, and can't be the values of a
    /// dictionary.
    @usableFromInline var expectsArray = false
    /// The owner of the plans, except for plans that are never freed. It is nil in a spare state machine, which belongs to its
    /// plan.
    private var owner: AnyObject?
    /// A Boolean value that indicates whether no value was discarded, so that all memory is in the state after a complete
    /// value.
    var isIntact = true
    /// The unknown members, if they are collected.
    var unknownMembers: [UnknownMember] = []
    /// A Boolean value that indicates whether unknown names are recorded. They are in `strays`, by level.
    var watchesNames = false
    /// A Boolean value that indicates whether the next array continues the earlier one with the same key.
    var continuesArray = false
    var strays: [(count: Int, names: [String], near: [(name: String, member: Int)], areAttributes: Bool)] = []
    /// A closure that receives unknown members one by one instead of collecting them, or nil.
    @usableFromInline var receiveUnknown: ((UnknownMember) throws(StreamError) -> Void)?
    /// A closure that receives each complete value at the root. It is nil in a builder, which keeps the value until it is
    /// taken.
    @usableFromInline var deliver: (() throws(StreamError) -> Void)?
    /// The number of delivered values. It is allocated separately, because readers also deliver values.
    @usableFromInline private(set) var delivery: UnsafeMutablePointer<Int>?
    /// A Boolean value that indicates whether a value with unknown members was taken, so that the next value begins without
    /// them.
    var isTaken = false
    /// A Boolean value that indicates whether the value at the root is complete.
    @usableFromInline var isFilled = false
    /// A Boolean value that indicates whether the memory at the root has an object that may be used again.
    var isRecycling = false
    /// A Boolean value that indicates whether the object in the record buffer already is the innermost level.
    var isInObject = false
    /// Builds property lists within the value.
    var tree: PropertyListBuilder?

    // The levels from `levels` to `top` are in use; those up to `levelCount` are initialized.
    var levels: UnsafeMutablePointer<ValueFrame>
    var top: UnsafeMutablePointer<ValueFrame>
    var levelCount = 2
    private var levelCapacity = 16

    init(_ plan: StreamPlan, _ owner: AnyObject, options: BuilderOptions, streamingDepth: Int) {
        unsafe unretainedPlan = plan
        self.owner = owner
        self.options = options
        self.streamingDepth = max(0, streamingDepth)
        unsafe levels = .allocate(capacity: levelCapacity)
        var memory = unsafe ScratchMemory()
        let root = unsafe memory.reserve(for: plan.operations)
        unsafe levels.initialize(to: ValueFrame(plan: plan, memory: root))
        unsafe (levels + 1).initialize(to: ValueFrame(plan: plan, memory: root))
        unsafe levels.pointee.element = memory
        unsafe top = levels
        unsafe records = .allocate(capacity: 1)
        unsafe records.initialize(to: RecordState())
        if self.streamingDepth == 0 { unsafe top.pointee.elementObject = elementObject(plan, at: root, capacity: 1) }
    }

    deinit {
        let isRootFilled = isFilled || isRecycling
        if unsafe isRootFilled || top > levels { unsafe Self.abandon(levels, top, isRootFilled: isRootFilled, plan) }
        for level in 0..<levelCount {
            unsafe levels[level].own.deallocate()
            unsafe levels[level].element.deallocate()
        }
        unsafe levels.deinitialize(count: levelCount)
        unsafe levels.deallocate()
        unsafe records.pointee.deallocate()
        unsafe records.deinitialize(count: 1)
        unsafe records.deallocate()
        unsafe delivery?.deallocate()
    }

    /// Makes the counter of delivered values.
    @usableFromInline
    mutating func makeDelivery() -> UnsafeMutablePointer<Int> {
        let counter = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        unsafe counter.initialize(to: 0)
        unsafe delivery = unsafe counter
        return unsafe counter
    }

    /// Assigns the state machine to another builder.
    mutating func begin(_ owner: AnyObject?, _ options: BuilderOptions) {
        self.owner = owner
        self.options = options
    }

    /// Removes the state that belongs to the last builder, and the keys of the values that it has built.
    /// - Returns: The owner of the plans, which keeps this state machine's plan alive.
    mutating func end() -> AnyObject? {
        options.keyMapping = .exact
        watchesNames = false
        for level in 0..<levelCount where unsafe !levels[level].key.isEmpty { unsafe levels[level].key = "" }
        return owner.take()
    }

    /// The number of open containers.
    var depth: Int { unsafe top - levels }

    /// The memory of the value at the root.
    @usableFromInline
    var root: UnsafeMutableRawPointer { unsafe levels.pointee.value }

    // MARK: Messages

    @usableFromInline
    mutating func writeKey(_ key: RawSpan) throws(StreamError) {
        guard unsafe top.pointee.kind == .object else { return try writeOtherKey(key) }
        let next = unsafe top.pointee.next
        if unsafe next < top.pointee.members.count, unsafe top.pointee.members[next].isName(key) {
            select(next)
        } else if let index = unsafe top.pointee.layout?._withUnsafeGuaranteedRef({ $0.keys.index(of: key) }) {
            select(index)
        } else {
            try selectUnknown(key)
        }
    }

    @usableFromInline
    mutating func writeInteger(_ value: Int64) throws(StreamError) {
        // SAFETY: a fast kind identifies the type at the address; see `ValueStateMachine+Slots`.
        if unsafe top.pointee.kind == .object {
            if unsafe top.pointee.fast == .integer {
                unsafe top.pointee.address.storeBytes(of: value, as: Int64.self)
                return markMember()
            } else if unsafe top.pointee.fast == .optionalInteger {
                unsafe top.pointee.address.initializeMemory(as: Int64?.self, to: value)
                return markMember()
            }
        } else if unsafe top.pointee.kind == .array {
            if unsafe top.pointee.fast == .integer {
                unsafe top.pointee.value.assumingMemoryBound(to: [Int64].self).pointee.append(value)
                unsafe top.pointee.index &+= 1
                return
            }
        }
        if unsafe top.pointee.fast == .real { return try writeReal(Double(value)) }
        try unsafe store(.integer(value))
    }

    @usableFromInline
    mutating func writeReal(_ value: Double) throws(StreamError) {
        // SAFETY: see writeInteger.
        if unsafe top.pointee.kind == .object {
            if unsafe top.pointee.fast == .real {
                unsafe top.pointee.address.storeBytes(of: value, as: Double.self)
                return markMember()
            } else if unsafe top.pointee.fast == .optionalReal {
                unsafe top.pointee.address.initializeMemory(as: Double?.self, to: value)
                return markMember()
            }
        } else if unsafe top.pointee.kind == .array {
            if unsafe top.pointee.fast == .real {
                unsafe top.pointee.value.assumingMemoryBound(to: [Double].self).pointee.append(value)
                unsafe top.pointee.index &+= 1
                return
            }
        }
        try unsafe store(.real(value))
    }

    @usableFromInline
    mutating func writeBool(_ value: Bool) throws(StreamError) {
        // SAFETY: see writeInteger.
        if unsafe top.pointee.kind == .object {
            if unsafe top.pointee.fast == .bool {
                unsafe top.pointee.address.storeBytes(of: value, as: Bool.self)
                return markMember()
            } else if unsafe top.pointee.fast == .optionalBool {
                unsafe top.pointee.address.initializeMemory(as: Bool?.self, to: value)
                return markMember()
            }
        }
        try unsafe store(.bool(value))
    }

    @usableFromInline
    mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        // SAFETY: see writeInteger. A member with a value is assigned, and a member without one is initialized.
        if unsafe top.pointee.kind == .object {
            if unsafe top.pointee.fast == .string {
                let string = unsafe top.pointee.address.assumingMemoryBound(to: String.self)
                if unsafe top.pointee.initialized & top.pointee.bit == 0 {
                    unsafe string.initialize(to: text.string(utf8))
                } else {
                    unsafe string.pointee = text.string(utf8)
                }
                return markMember()
            } else if unsafe top.pointee.fast == .optionalString {
                let string = unsafe top.pointee.address.assumingMemoryBound(to: String?.self)
                if unsafe top.pointee.initialized & top.pointee.bit == 0 {
                    unsafe string.initialize(to: text.string(utf8))
                } else {
                    unsafe string.pointee = text.string(utf8)
                }
                return markMember()
            }
        } else if unsafe top.pointee.kind == .array {
            if unsafe top.pointee.fast == .string {
                unsafe top.pointee.value.assumingMemoryBound(to: [String].self).pointee.append(text.string(utf8))
                unsafe top.pointee.index &+= 1
                return
            }
        }
        // SAFETY: the pointer does not leave the closure.
        try unsafe utf8.withUnsafeBytes { (bytes) throws(StreamError) in try unsafe store(.string(bytes)) }
    }

    @usableFromInline
    mutating func writeNull() throws(StreamError) { try unsafe store(.null) }

    @usableFromInline
    mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        guard value > UInt64(Int64.max) else { return try writeInteger(Int64(value)) }
        try unsafe store(.unsigned(value))
    }

    @usableFromInline
    mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) { try unsafe store(.date(seconds)) }

    @usableFromInline
    mutating func writeNumber(text: RawSpan) throws(StreamError) {
        try unsafe text.withUnsafeBytes { (bytes) throws(StreamError) in try unsafe store(.number(bytes)) }
    }

    @usableFromInline
    mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        try unsafe bytes.withUnsafeBytes { (bytes) throws(StreamError) in try unsafe store(.data(bytes)) }
    }

    // MARK: Members

    @inline(__always)  // PERF: StructBuilder/records; once a key.
    private mutating func select(_ index: Int) {
        let member = unsafe top.pointee.members[index]
        unsafe top.pointee.member = index
        unsafe top.pointee.next = index &+ 1
        unsafe top.pointee.fast = member.fast
        unsafe top.pointee.bit = index < 64 ? 1 &<< UInt64(truncatingIfNeeded: index) : 0
        unsafe top.pointee.address = top.pointee.base + member.offset
    }

    @inline(__always)  // PERF: StructBuilder/records; once a value.
    private mutating func markMember() {
        unsafe top.pointee.initialized |= top.pointee.bit
        unsafe top.pointee.seen |= top.pointee.bit
    }

    // MARK: Levels

    /// Allocates one more level and the one after it, and returns the new level.
    mutating func pushLevel() throws(StreamError) -> UnsafeMutablePointer<ValueFrame> {
        guard depth < options.depthLimit else {
            throw located(StreamError(.limitExceeded, "more than \(options.depthLimit) levels of nesting"))
        }
        let level = depth + 1
        if level + 1 >= levelCapacity {
            let larger = UnsafeMutablePointer<ValueFrame>.allocate(capacity: 2 * levelCapacity)
            unsafe larger.moveInitialize(from: levels, count: levelCount)
            unsafe levels.deallocate()
            unsafe levels = larger
            levelCapacity *= 2
        }
        while levelCount <= level + 1 {
            unsafe (levels + levelCount).initialize(to: ValueFrame(plan: plan, memory: root))
            levelCount += 1
        }
        unsafe top = levels + level
        return unsafe top
    }
}
