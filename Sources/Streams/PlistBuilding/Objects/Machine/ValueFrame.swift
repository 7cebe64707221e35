// One level of nesting of the value being built: which container, where in memory, and which of its values comes next.

import PlistStreaming

/// What a level of nesting is to the machine.
enum FrameKind: UInt8 {
    /// Outside all containers.
    case root
    /// A container above the streaming depth, of which nothing is built.
    case passing
    case object, array, dictionary
    /// A container that no one wants; `index` counts the containers in it.
    case skipped
    /// A container that becomes a property list.
    case propertyList
}

/// Where a value goes.
@unsafe
struct ValueSlot {
    /// How the value is read.
    unowned(unsafe) let plan: StreamPlan
    let address: UnsafeMutableRawPointer
    /// A Boolean value that indicates whether there is a value at the address, which the new one replaces once it is complete.
    let isInitialized: Bool
}

/// One level of nesting. Its memory areas belong to the level and are used again by the next container there.
@unsafe
struct ValueFrame {
    var kind = FrameKind.root
    /// How the value to come next is stored, when that needs no plan.
    var fast = FastKind.none
    /// A Boolean value that indicates whether the container is built where it goes.
    var isInPlace = false
    var isPassingArray = false
    /// A Boolean value that indicates whether names came in an object that are those of no member, and are noted.
    var hasStrays = false
    /// The member to come, -1 before the first key, -2 for an unknown one.
    var member = -1
    /// The member that probably comes next.
    var next = 0
    /// The elements so far.
    var index = 0
    /// The bit of the member in the masks, 0 beyond the 64th.
    var bit: UInt64 = 0
    /// The members that have a value in memory.
    var initialized: UInt64 = 0
    /// The members that came.
    var seen: UInt64 = 0
    /// The address of the value to come, for members with an offset.
    var address: UnsafeMutableRawPointer
    /// The start of the members of an object.
    var base: UnsafeMutableRawPointer
    /// The container under construction.
    var value: UnsafeMutableRawPointer
    var members: UnsafeMutableBufferPointer<BoundMember>
    var plan: Unmanaged<StreamPlan>
    var layout: Unmanaged<ObjectLayout>?
    var elementPlan: Unmanaged<StreamPlan>
    /// The members with which the object is complete as it is; of others, defaults are copied or the absence is an error.
    var complete: UInt64 = 0
    /// The elements in `elementObject` that are not yet in the array.
    var pending = 0
    var slot: ValueSlot
    /// What `beginDictionary` needs for an element that is an object, in an array of such, and for the object at the root.
    var elementObject: ElementObject?
    /// The key of a dictionary, or of an unknown or passed member.
    var key = ""
    /// Memory for the container, when it is not built where it goes.
    var own = unsafe ScratchMemory()
    /// Memory for an element, a value, or a member with an accessor.
    var element = unsafe ScratchMemory()

    init(plan: StreamPlan, memory: UnsafeMutableRawPointer) {
        unsafe self.plan = Unmanaged.passUnretained(plan)
        unsafe elementPlan = Unmanaged.passUnretained(plan)
        unsafe address = memory
        unsafe base = memory
        unsafe value = memory
        unsafe members = UnsafeMutableBufferPointer(start: nil, count: 0)
        unsafe slot = unsafe ValueSlot(plan: plan, address: memory, isInitialized: false)
    }
}

/// What begins and ends one element after another in an array of objects, found once for the array; also one object after
/// another at the root.
@unsafe
struct ElementObject {
    let layout: Unmanaged<ObjectLayout>
    let members: UnsafeMutableBufferPointer<BoundMember>
    let records: RecordMembers
    let operations: UnsafePointer<ValueOperations>
    /// Memory for some elements, which move to the array together.
    let address: UnsafeMutableRawPointer
    let capacity: Int
    let stride: Int
    /// The members with which a structure is complete that is filled in member by member.
    let complete: UInt64
    let isFilledMemberwise: Bool
    let isClass: Bool
}

/// An object of which no member has come.
@unsafe
struct FreshObject {
    let value: UnsafeMutableRawPointer
    /// The start of its members.
    let base: UnsafeMutableRawPointer
    let complete: UInt64
    /// A Boolean value that indicates whether members have values, which must be released when others come.
    let isInitialized: Bool
}

/// Memory that grows to what is asked of it and is kept.
@unsafe
struct ScratchMemory {
    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0
    private var alignment = 1

    /// Returns room for a value, or several side by side. What was in it must have been moved away.
    mutating func room(for operations: UnsafePointer<ValueOperations>, count: Int = 1) -> UnsafeMutableRawPointer {
        let byteCount = unsafe count * operations.pointee.stride
        if let memory = unsafe memory, unsafe byteCount <= capacity, unsafe operations.pointee.alignment <= alignment {
            return unsafe memory
        }
        unsafe memory?.deallocate()
        unsafe capacity = max(byteCount, 32)
        unsafe alignment = max(operations.pointee.alignment, 16)
        let fresh = unsafe UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: alignment)
        unsafe memory = fresh
        return unsafe fresh
    }

    func deallocate() { unsafe memory?.deallocate() }
}
