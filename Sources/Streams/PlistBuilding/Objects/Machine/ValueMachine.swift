// The machine that builds a value of any bound type from messages, directly in its memory. It is not generic: what is
// special to a type is in its plan. This file has the messages; `ValueMachine+Containers` opens and closes containers,
// `ValueMachine+Slots` decides where values go and converts them, `ValueMachine+Errors` says where something was.

import PlistStreaming
import StringTables

/// An unknown member that was kept.
public struct UnknownMember: Sendable, Equatable {
    /// The way to the member.
    public let path: StreamPath
    /// The value of the member.
    public let value: PropertyList
}

/// Builds values of one type from messages, one after another.
@safe
@usableFromInline
struct ValueMachine: ~Copyable {
    // The first of the properties: Swift 6.3 tells TSan that what is changed behind this address is the first of them, and
    // of the plan, which all threads share, that would be a race.
    /// What a reader is lent for records, by address, so that it stays where it is.
    let records: UnsafeMutablePointer<RecordState>
    // SAFETY: the owner keeps the plan alive, or the plan this spare machine.
    private unowned(unsafe) let unretainedPlan: StreamPlan
    var plan: StreamPlan { unsafe unretainedPlan }
    private(set) var options: BuilderOptions
    /// How strings are made.
    let text = SmallText.checked
    /// The depth of the values that are built; containers above it are passed through.
    let streamingDepth: Int
    /// A Boolean value that indicates whether the values that are built must be the elements of an array, and can't be the
    /// values of a dictionary.
    @usableFromInline var expectsArray = false
    /// Keeps the plans alive, but for those that live for ever; nil in a spare machine, which belongs to its plan.
    private var owner: AnyObject?
    /// A Boolean value that indicates whether no value was given up, so that all memory is as a complete value leaves it.
    var isIntact = true
    /// The members that the type does not have, if they are collected.
    var unknownMembers: [UnknownMember] = []
    /// A Boolean value that indicates whether names that are those of no member are noted, and those noted in each level.
    var watchesNames = false
    /// A Boolean value that indicates whether the array to come goes on with the one that came with the same key.
    var continuesArray = false
    var strays: [(count: Int, names: [String], near: [(name: String, member: Int)], areAttributes: Bool)] = []
    /// Gets them instead, one by one, if anyone does.
    @usableFromInline var receiveUnknown: ((UnknownMember) throws(StreamError) -> Void)?
    /// Receives each complete value at the root; nil in a builder, which keeps the value until it is taken.
    @usableFromInline var deliver: (() throws(StreamError) -> Void)?
    /// The number of values handed over, by address, since readers hand over as well.
    @usableFromInline private(set) var delivery: UnsafeMutablePointer<Int>?
    /// A Boolean value that indicates whether a value with unknown members was taken, so that the next one begins without them.
    var isTaken = false
    /// A Boolean value that indicates whether the value at the root is complete.
    @usableFromInline var isFilled = false
    /// A Boolean value that indicates whether the memory at the root holds an object that may be used again.
    var isRecycling = false
    /// A Boolean value that indicates whether the object that is lent to a reader is the innermost level already.
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
        let root = unsafe memory.room(for: plan.operations)
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

    /// Makes the counter of values handed over.
    @usableFromInline
    mutating func makeDelivery() -> UnsafeMutablePointer<Int> {
        let counter = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        unsafe counter.initialize(to: 0)
        unsafe delivery = unsafe counter
        return unsafe counter
    }

    /// Begins to serve another builder.
    mutating func begin(_ owner: AnyObject?, _ options: BuilderOptions) {
        self.owner = owner
        self.options = options
    }

    /// Ends to serve a builder: forgets what belongs to it, and the keys of what it has built.
    /// - Returns: The owner of the plans, who keeps this machine's plan.
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
        // SAFETY: a fast kind stands for the type at the address; see `ValueMachine+Slots`.
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
        // SAFETY: see writeInteger. A member that has a value is assigned, one that has none is initialized.
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
        let result: Result<Void, StreamError> = unsafe utf8.withUnsafeBytes { bytes in
            do throws(StreamError) { return .success(try unsafe store(.string(bytes))) } catch {
                return .failure(error)
            }
        }
        try result.get()
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
        let result: Result<Void, StreamError> = unsafe text.withUnsafeBytes { bytes in
            do throws(StreamError) { return .success(try unsafe store(.number(bytes))) } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    @usableFromInline
    mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        let result: Result<Void, StreamError> = unsafe bytes.withUnsafeBytes { bytes in
            do throws(StreamError) { return .success(try unsafe store(.data(bytes))) } catch { return .failure(error) }
        }
        try result.get()
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

    /// Makes room for one more level and the one above it, and returns it.
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
