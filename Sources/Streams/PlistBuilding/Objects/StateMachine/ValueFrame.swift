// One nesting level of the value that is built: the container, its address, and the next value in it.

import PlistStreaming

/// The role of a nesting level in the state machine.
enum FrameKind: UInt8 {
    /// Outside all containers.
    case root
    /// A container above the streaming depth. It isn't built itself.
    case passing
    case object, array, dictionary
    /// An ignored container; `index` counts the containers in it.
    case skipped
    /// A container that becomes a property list.
    case propertyList
}

/// The destination of a value.
@unsafe
struct ValueSlot {
    /// The plan that reads the value.
    unowned(unsafe) let plan: StreamPlan
    let address: UnsafeMutableRawPointer
    /// A Boolean value that indicates whether the address already has a value. The new value replaces it when it is complete.
    let isInitialized: Bool
}

/// One nesting level. Its memory areas belong to the level and are used again for the next container at this level.
@unsafe
struct ValueFrame {
    var kind = FrameKind.root
    /// The way to store the next value without a plan.
    var fast = FastKind.none
    /// A Boolean value that indicates whether the container is built at its destination.
    var isInPlace = false
    var isPassingArray = false
    /// A Boolean value that indicates whether unknown names were recorded for an object.
    var hasStrays = false
    /// The index of the next value's member, -1 before the first key, or -2 for an unknown member.
    var member = -1
    /// The index of the member that probably comes next.
    var next = 0
    /// The number of elements so far.
    var index = 0
    /// The bit of the member in the masks, or 0 for members after the 64th.
    var bit: UInt64 = 0
    /// The members with an initialized value in memory.
    var initialized: UInt64 = 0
    /// The members that were received.
    var seen: UInt64 = 0
    /// The address of the next value for members with an offset.
    var address: UnsafeMutableRawPointer
    /// The start of the members of an object.
    var base: UnsafeMutableRawPointer
    /// The container that is built.
    var value: UnsafeMutableRawPointer
    var members: UnsafeMutableBufferPointer<BoundMember>
    var plan: Unmanaged<StreamPlan>
    var layout: Unmanaged<ObjectLayout>?
    var elementPlan: Unmanaged<StreamPlan>
    /// The members that make the object complete. For other members, defaults are copied, or their absence is an error.
    var complete: UInt64 = 0
    /// The number of elements in `elementObject` that aren't in the array yet.
    var pending = 0
    var slot: ValueSlot
    /// The data for `beginDictionary`, for objects that are elements of an array or the value at the root.
    var elementObject: ElementObject?
    /// The key in a dictionary, or the key of an unknown member or of a container that isn't built.
    var key = ""
    /// Memory for the container if it isn't built at its destination.
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

/// The data for beginning and ending objects that follow each other, in an array of objects or at the root. It is determined
/// once for all of them.
@unsafe
struct ElementObject {
    let layout: Unmanaged<ObjectLayout>
    let members: UnsafeMutableBufferPointer<BoundMember>
    let records: RecordMembers
    let operations: UnsafePointer<ValueOperations>
    /// Memory for several elements, which are moved to the array together.
    let address: UnsafeMutableRawPointer
    let capacity: Int
    let stride: Int
    /// The members that make a structure complete if it is filled memberwise.
    let complete: UInt64
    let isFilledMemberwise: Bool
    let isClass: Bool
}

/// An object without any received members.
@unsafe
struct FreshObject {
    let value: UnsafeMutableRawPointer
    /// The address of the object's members.
    let base: UnsafeMutableRawPointer
    let complete: UInt64
    /// A Boolean value that indicates whether the members have values, which must be released when they are replaced.
    let isInitialized: Bool
}

/// Memory that grows to the requested size and is kept.
@unsafe
struct ScratchMemory {
    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0
    private var alignment = 1

    /// Returns memory for one value or for several adjacent values. The earlier contents must have been moved away.
    mutating func reserve(for operations: UnsafePointer<ValueOperations>, count: Int = 1) -> UnsafeMutableRawPointer {
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
