// Provides type-erased operations for values at an address. They are made by code that has the type, so that each operation
// is a specialised function.

import PlistStreaming

/// The memory operations of one type, which take addresses.
@unsafe @usableFromInline
struct ValueOperations {
    @usableFromInline let type: Any.Type
    /// The number of bytes of a value.
    @usableFromInline let size: Int
    /// The number of bytes from one value to the next in an array.
    @usableFromInline let stride: Int
    @usableFromInline let alignment: Int
    /// A Boolean value that indicates whether values are plain bytes that need no deinitialization.
    @usableFromInline let isTrivial: Bool
    /// A Boolean value that indicates whether a value has the same representation within an optional, without additional
    /// bytes.
    @usableFromInline let fillsOptional: Bool
    /// Deinitializes the value at an address.
    @usableFromInline let deinitialize: (UnsafeMutableRawPointer) -> Void
    /// Moves the value at the first address to the uninitialized memory at the second.
    @usableFromInline let move: (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
    /// Replaces the value at the second address with the value at the first one, which is moved. The old value is
    /// deinitialized only after the replacement, because code that runs then may read the address.
    @usableFromInline let replace: (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
    /// Copies the value at the first address to the uninitialized memory at the second.
    @usableFromInline let copy: (UnsafeRawPointer, UnsafeMutableRawPointer) -> Void
    /// Moves the value at the first address into an optional in the uninitialized memory at the second.
    @usableFromInline let wrap: (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
    /// Makes nil in the uninitialized memory of an optional.
    @usableFromInline let makeNil: (UnsafeMutableRawPointer) -> Void
    /// Calls a closure with the address of the value in the optional at an address, or with nil. The address is valid only
    /// during the call.
    @usableFromInline let unwrap:
        (UnsafeRawPointer, (UnsafeRawPointer?) throws(StreamError) -> Void) throws(StreamError) -> Void
    /// Makes an empty array in uninitialized memory.
    @usableFromInline let makeArray: (UnsafeMutableRawPointer) -> Void
    /// Moves the value at the first address to the end of the array at the second.
    @usableFromInline let append: (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
    /// Moves a number of values, starting at the first address, to the end of the array at the second address. Further values
    /// may be expected.
    @usableFromInline let appendMany:
        (UnsafeMutableRawPointer, _ count: Int, _ expected: Int, UnsafeMutableRawPointer) -> Void
    /// Moves a number of values, starting at the first address, to a new array in the uninitialized memory at the second
    /// address.
    @usableFromInline let makeArrayOf: (UnsafeMutableRawPointer, _ count: Int, UnsafeMutableRawPointer) -> Void
    /// Calls a closure with the address of the first element of the array at an address, and the count.
    @usableFromInline let elements:
        (UnsafeRawPointer, (UnsafeRawPointer?, Int) throws(StreamError) -> Void) throws(StreamError) -> Void
    /// Makes an empty dictionary in uninitialized memory.
    @usableFromInline let makeDictionary: (UnsafeMutableRawPointer) -> Void
    /// Moves the value at the first address into the dictionary at the second.
    @usableFromInline let insert: (UnsafeMutableRawPointer, String, UnsafeMutableRawPointer) -> Void
    /// Moves the value of a key out of the dictionary at the first address to uninitialized memory. Returns false if the
    /// dictionary doesn't have the key.
    @usableFromInline let takeMember: (UnsafeMutableRawPointer, String, UnsafeMutableRawPointer) -> Bool
    /// Calls a closure with each key, in order, and the address of its value, for the dictionary at an address.
    @usableFromInline let members:
        (UnsafeRawPointer, (String, UnsafeRawPointer) throws(StreamError) -> Void) throws(StreamError) -> Void

    // PERF: StructBuilder/records; inlinable, so that the closures are specialised where the type is declared.
    /// Makes the operations of a type.
    @inlinable
    init<Value>(of type: Value.Type) {
        unsafe self.type = type
        unsafe (size, stride) = (MemoryLayout<Value>.size, MemoryLayout<Value>.stride)
        unsafe alignment = MemoryLayout<Value>.alignment
        unsafe isTrivial = _isPOD(type)
        // SAFETY: an enumeration with one payload stores it unchanged (Swift ABI, "Single-Payload Enums").
        unsafe fillsOptional = MemoryLayout<Value?>.size == MemoryLayout<Value>.size
        // SAFETY: each closure binds memory to the type that its plan is made for; a plan is found only by that type.
        unsafe deinitialize = { unsafe $0.assumingMemoryBound(to: Value.self).deinitialize(count: 1) }
        unsafe move = { from, to in
            // Not as an array with one element, because the bytes of its last element extend to the next one.
            unsafe to.initializeMemory(as: Value.self, to: from.assumingMemoryBound(to: Value.self).move())
        }
        unsafe replace = { from, to in
            unsafe to.assumingMemoryBound(to: Value.self).pointee = from.assumingMemoryBound(to: Value.self).move()
        }
        unsafe copy = { from, to in
            unsafe to.initializeMemory(as: Value.self, to: from.assumingMemoryBound(to: Value.self).pointee)
        }
        // PERF: JSONTyped/documents; if an optional consists only of the value, the optional's type isn't looked up.
        unsafe wrap =
            unsafe fillsOptional
            ? move
            : { from, to in
                unsafe to.initializeMemory(as: Value?.self, to: from.assumingMemoryBound(to: Value.self).move())
            }
        unsafe makeNil = { unsafe $0.initializeMemory(as: Value?.self, to: nil) }
        unsafe unwrap = { (optional, body) throws(StreamError) in
            guard var value = unsafe optional.assumingMemoryBound(to: Value?.self).pointee else { return try body(nil) }
            try unsafe withUnsafePointer(to: &value) { (value) throws(StreamError) in
                try unsafe body(UnsafeRawPointer(value))
            }
        }
        unsafe makeArray = { unsafe $0.initializeMemory(as: [Value].self, to: []) }
        unsafe append = { from, to in
            unsafe to.assumingMemoryBound(to: [Value].self).pointee
                .append(from.assumingMemoryBound(to: Value.self).move())
        }
        unsafe appendMany = { from, count, expected, to in
            let array = unsafe to.assumingMemoryBound(to: [Value].self)
            unsafe ArrayGrowth.reserve(&array.pointee, count, expecting: expected)
            unsafe array.pointee.append(addingCapacity: count) { output in
                // SAFETY: the array has space for `count` values, which the caller has initialized.
                unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                    guard let start = buffer.baseAddress else { return }
                    unsafe start.moveInitialize(from: from.assumingMemoryBound(to: Value.self), count: count)
                    initializedCount = count
                }
            }
        }
        // PERF: JSONTyped/coordinates; the types of arrays of scalars are looked up once, not for each array.
        let maker = unsafe ArrayMaker.known(type) ?? ArrayMaker(of: type)
        unsafe makeArrayOf = unsafe maker.make
        unsafe elements = { (array, body) throws(StreamError) in
            let array = unsafe array.assumingMemoryBound(to: [Value].self)
            try unsafe array.pointee.withUnsafeBufferPointer { (buffer) throws(StreamError) in
                try unsafe body(UnsafeRawPointer(buffer.baseAddress), buffer.count)
            }
        }
        unsafe makeDictionary = { unsafe $0.initializeMemory(as: [String: Value].self, to: [:]) }
        unsafe insert = { from, key, to in
            unsafe to.assumingMemoryBound(to: [String: Value].self).pointee[key] =
                from.assumingMemoryBound(to: Value.self).move()
        }
        unsafe takeMember = { dictionary, key, to in
            let members = unsafe dictionary.assumingMemoryBound(to: [String: Value].self)
            guard let value = unsafe members.pointee.removeValue(forKey: key) else { return false }
            unsafe to.initializeMemory(as: Value.self, to: value)
            return true
        }
        unsafe members = { (dictionary, body) throws(StreamError) in
            try unsafe Self.forEachMember(of: dictionary.assumingMemoryBound(to: [String: Value].self).pointee, body)
        }
    }

    // PERF: PropertyLists/items; only the keys are sorted. The values, which may be large, aren't moved.
    @inlinable
    static func forEachMember<Value>(
        of members: [String: Value], _ body: (String, UnsafeRawPointer) throws(StreamError) -> Void
    ) throws(StreamError) {
        let places = Array(members.indices)
        for number in KeyOrder.sorted(Array(members.keys)) {
            let (key, value) = members[places[number]]
            try unsafe withUnsafePointer(to: value) { (value) throws(StreamError) in
                try unsafe body(key, UnsafeRawPointer(value))
            }
        }
    }
}

extension UnsafePointer<ValueOperations> {
    /// Moves the value at the first address to the second, which may be initialized or uninitialized.
    @inline(__always)  // PERF: JSONTyped/documents; a choice of two closures would be counted as a reference.
    func put(_ from: UnsafeMutableRawPointer, _ to: UnsafeMutableRawPointer, isInitialized: Bool) {
        if unsafe pointee.isTrivial { return unsafe to.copyMemory(from: from, byteCount: pointee.size) }
        if isInitialized { unsafe pointee.replace(from, to) } else { unsafe pointee.move(from, to) }
    }

    /// Calls a closure with a copy of a value. The closure has to move the copy away.
    func withCopy(_ value: UnsafeRawPointer, _ body: (UnsafeMutableRawPointer) -> Void) {
        // SAFETY: the memory has the size and alignment of the type.
        unsafe withUninitializedMemory { memory in
            unsafe pointee.copy(value, memory)
            unsafe body(memory)
        }
    }

    /// Calls a closure with uninitialized memory for a value.
    func withUninitializedMemory(_ body: (UnsafeMutableRawPointer) -> Void) {
        unsafe withUnsafeTemporaryAllocation(
            byteCount: max(pointee.size, 1), alignment: pointee.alignment
        ) { buffer in
            guard let memory = buffer.baseAddress else { return }
            unsafe body(memory)
        }
    }
}
