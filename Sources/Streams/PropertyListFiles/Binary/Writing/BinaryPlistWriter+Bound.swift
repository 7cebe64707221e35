// Lets the writer of binary property lists read values of bound types from memory, instead of receiving a message for
// each key and value. Values that it can't read are sent as messages; the bytes are the same.

import PlistBuilding
public import PlistStreaming

extension BinaryPlistWriter {
    // PERF: PropertyLists/items written, Archive/flush; after a member's key was written once, the key is the number of
    // its object.
    /// Writes values of bound types from their memory.
    public static var memoryPort: MemoryPort? {
        // SAFETY: the function takes the address of a writer, which is valid during the call.
        unsafe MemoryPort(
            writingOf: Self.self,
            { (sink, port) throws(StreamError) in
                try unsafe sink.assumingMemoryBound(to: Self.self).pointee.write(port)
            })
    }

    private mutating func write(_ port: ValuePort) throws(StreamError) -> Bool {
        // SAFETY: the owner of the port keeps the value and the information about its type alive, but only for this
        // call.
        let source = unsafe port.value
        boundKeys.removeAll()
        try unsafe write(source.pointee.address, source.pointee.form, source, depth: 0)
        return true
    }

    // SAFETY: in the following code, an address is that of a value of the form's type, which is alive as long as the
    // source.

    private mutating func write(
        _ address: UnsafeRawPointer, _ form: UnsafePointer<MemoryForm>, _ source: UnsafePointer<ValueSource>,
        depth: Int
    ) throws(StreamError) {
        switch unsafe form.pointee.kind {
        case .scalar, .date, .data:
            // A number may be that of a UID.
            if isUIDBegun { return try unsafe source.pointee.send(address, form, to: &self, depth: depth) }
            try beginValue()
            endValue(try unsafe addScalar(address, form, form.pointee.fast))
        case .optional: try unsafe writeOptional(address, form, nil, source, depth: depth)
        case .array: try unsafe writeArray(address, form, source, depth: depth)
        case .dictionary: try unsafe writeDictionary(address, form, source, depth: depth)
        case .structure: try unsafe writeMembers(of: address, at: address, form, source, depth: depth)
        case .object:
            guard let base = unsafe ValueSource.memory(ofObjectAt: address, form, source) else {
                return try unsafe source.pointee.send(address, form, to: &self, depth: depth)
            }
            try unsafe writeMembers(of: address, at: base, form, source, depth: depth)
        case .messages: try unsafe source.pointee.send(address, form, to: &self, depth: depth)
        }
    }

    private mutating func writeArray(
        _ address: UnsafeRawPointer, _ form: UnsafePointer<MemoryForm>, _ source: UnsafePointer<ValueSource>,
        depth: Int
    ) throws(StreamError) {
        guard let element = unsafe form.pointee.element else { return }
        try unsafe source.pointee.checkDepth(depth)
        try beginArray()
        try unsafe form.pointee.withElements(address) { (first, count) throws(StreamError) in
            guard let first = unsafe first else { return }
            let stride = unsafe element.pointee.stride
            for index in 0..<count {
                do throws(StreamError) {
                    try unsafe write(first + index * stride, element, source, depth: depth + 1)
                } catch {
                    throw error.within(.index(index))
                }
            }
        }
        try endArray()
    }

    private mutating func writeDictionary(
        _ address: UnsafeRawPointer, _ form: UnsafePointer<MemoryForm>, _ source: UnsafePointer<ValueSource>,
        depth: Int
    ) throws(StreamError) {
        guard let element = unsafe form.pointee.element else { return }
        try unsafe source.pointee.checkDepth(depth)
        try beginDictionary()
        try unsafe form.pointee.withMembers(address) { (key, value) throws(StreamError) in
            do throws(StreamError) {
                try key.withUTF8Span { (span) throws(StreamError) in try writeKey(span) }
                try unsafe write(value, element, source, depth: depth + 1)
            } catch {
                throw error.within(.key(key))
            }
        }
        try endDictionary()
    }

    /// Writes an optional, or the member with an optional value, which may be omitted.
    private mutating func writeOptional(
        _ address: UnsafeRawPointer, _ form: UnsafePointer<MemoryForm>, _ member: BoundKeys.Member?,
        _ source: UnsafePointer<ValueSource>, depth: Int
    ) throws(StreamError) {
        try unsafe form.pointee.withValue(address) { (value) throws(StreamError) in
            if let member = unsafe member {
                if unsafe value == nil && source.pointee.omitsNil { return }
                try unsafe writeKey(of: member)
            }
            if let value = unsafe value, let element = unsafe form.pointee.element {
                try unsafe write(value, element, source, depth: depth)
            } else {
                try writeNull()
            }
        }
    }

    // MARK: Structures and objects

    private mutating func writeMembers(
        of address: UnsafeRawPointer, at base: UnsafeRawPointer, _ form: UnsafePointer<MemoryForm>,
        _ source: UnsafePointer<ValueSource>, depth: Int
    ) throws(StreamError) {
        guard let members = unsafe form.pointee.members else { return }
        guard let keys = unsafe boundKeys.start(of: form, members, hasUIDs: options.writesUIDs) else {
            return try unsafe source.pointee.send(address, form, to: &self, depth: depth)
        }
        try unsafe source.pointee.checkDepth(depth)
        try beginDictionary()
        for index in members.indices {
            let member = unsafe members.baseAddress.unsafelyUnwrapped + index
            do throws(StreamError) {
                let isSent = unsafe member.pointee.fast == .none && member.pointee.form.pointee.kind == .messages
                if unsafe isSent || member.pointee.needsMessages {
                    try unsafe source.pointee.sendMember(index, of: address, at: base, form, to: &self, depth: depth)
                } else {
                    let place = unsafe BoundKeys.Member(member: member, place: keys + index)
                    try unsafe writeMember(place, base + member.pointee.offset, source, depth: depth + 1)
                }
            } catch {
                throw unsafe error.within(.key(member.pointee.name))
            }
        }
        try endDictionary()
    }

    @inline(__always)  // PERF: PropertyLists/items written; once a member.
    private mutating func writeMember(
        _ member: BoundKeys.Member, _ value: UnsafeRawPointer, _ source: UnsafePointer<ValueSource>, depth: Int
    ) throws(StreamError) {
        let (form, fast) = unsafe (member.member.pointee.form, member.member.pointee.fast)
        switch unsafe fast == .none ? form.pointee.kind : .scalar {
        case .scalar, .date, .data:
            if unsafe source.pointee.omitsNil && fast.isNil(at: value) { return }
            try unsafe writeKey(of: member)
            endValue(try unsafe addScalar(value, form, fast))
        case .optional: try unsafe writeOptional(value, form, member, source, depth: depth)
        case .object:
            try unsafe writeKey(of: member)
            try unsafe writeObject(value, form, source, depth: depth)
        default:
            try unsafe writeKey(of: member)
            try unsafe write(value, form, source, depth: depth)
        }
    }

    /// Writes an object that is a member of another one, and retains it, because getters may replace it.
    private mutating func writeObject(
        _ address: UnsafeRawPointer, _ form: UnsafePointer<MemoryForm>, _ source: UnsafePointer<ValueSource>,
        depth: Int
    ) throws(StreamError) {
        let object = unsafe address.assumingMemoryBound(to: AnyObject.self).pointee
        defer { withExtendedLifetime(object) {} }
        try unsafe withUnsafePointer(to: object) { (kept) throws(StreamError) in
            try unsafe write(UnsafeRawPointer(kept), form, source, depth: depth)
        }
    }

    /// Writes the key of a member; its value must follow.
    @inline(__always)  // PERF: as above.
    private mutating func writeKey(of member: BoundKeys.Member) throws(StreamError) {
        // The messages for the previous member may have left another position.
        try beginKey()
        if let key = unsafe boundKeys[member.place] { return beginMember(key) }
        let key = try unsafe addString(member.member.pointee.utf8.bytes, isKey: true)
        unsafe boundKeys[member.place] = key
        beginMember(key)
    }

    // MARK: Scalars

    /// Adds a scalar of a kind, or a date or data, which have no kind.
    @inline(__always)  // PERF: as above.
    private mutating func addScalar(
        _ address: UnsafeRawPointer, _ form: UnsafePointer<MemoryForm>, _ fast: FastKind
    ) throws(StreamError) -> UInt32 {
        if unsafe fast.isNil(at: address) { return try addNull() }
        // SAFETY: a fast kind determines the type and its memory layout. An optional that is not nil has its value at its own
        // address.
        switch fast {
        case .integer, .optionalInteger: return try addInteger(unsafe address.load(as: UInt64.self))
        case .real, .optionalReal: return try addReal(unsafe address.load(as: Double.self))
        case .bool, .optionalBool: return try addBool(unsafe address.load(as: Bool.self))
        case .string, .optionalString:
            return try unsafe address.assumingMemoryBound(to: String.self).pointee
                .withUTF8Span { (span) throws(StreamError) in try addString(span, isKey: false) }
        case .int8: return try addInteger(UInt64(bitPattern: Int64(unsafe address.load(as: Int8.self))))
        case .int16: return try addInteger(UInt64(bitPattern: Int64(unsafe address.load(as: Int16.self))))
        case .int32: return try addInteger(UInt64(bitPattern: Int64(unsafe address.load(as: Int32.self))))
        case .uint8: return try addInteger(UInt64(unsafe address.load(as: UInt8.self)))
        case .uint16: return try addInteger(UInt64(unsafe address.load(as: UInt16.self)))
        case .uint32: return try addInteger(UInt64(unsafe address.load(as: UInt32.self)))
        case .uint64: return try addUnsigned(unsafe address.load(as: UInt64.self))
        case .float: return try addReal(Double(digitsOf: unsafe address.load(as: Float.self)))
        case .none, .value, .columnBool, .columnString:
            if unsafe form.pointee.kind == .date { return try addDate(unsafe MemoryForm.seconds(ofDateAt: address)) }
            var object: UInt32 = 0
            try unsafe MemoryForm.withBytes(ofDataAt: address) { (bytes) throws(StreamError) in
                object = try addData(bytes)
            }
            return object
        }
    }
}

/// The objects of the keys of bound types, while a value is written.
struct BoundKeys {
    /// A member, and the index of its key's object.
    @unsafe
    struct Member {
        let member: UnsafePointer<MemoryFormMember>
        let place: Int
    }

    /// The index of the first key of a type, by the type's address; nil for a type that is sent as messages.
    private var starts: [UInt: Int?] = [:]
    // PERF: PropertyLists/items written; the types of alternating containers are found without hashing.
    private var recent: [(form: UInt, start: Int)] = Array(repeating: (0, 0), count: 16)
    private var keys: [UInt32] = []

    private static var unknown: UInt32 { .max }

    /// Returns the object of a key, or nil before the key was written.
    @inline(__always)
    subscript(place: Int) -> UInt32? {
        get { keys[place] == Self.unknown ? nil : keys[place] }
        set { keys[place] = newValue ?? Self.unknown }
    }

    /// Returns the index of the first key of a type, followed by its other keys; nil for a type that may represent
    /// UIDs.
    mutating func start(
        of form: UnsafePointer<MemoryForm>, _ members: UnsafeMutableBufferPointer<MemoryFormMember>, hasUIDs: Bool
    ) -> Int? {
        let address = UInt(bitPattern: form)
        let place = Int(truncatingIfNeeded: (address &>> 4) ^ (address &>> 8)) & 15
        if recent[place].form == address { return recent[place].start }
        if let start = starts[address] {
            if let start { recent[place] = (address, start) }
            return start
        }
        if hasUIDs, unsafe members.contains(where: { unsafe $0.name == PlistUID.key.description }) {
            starts[address] = .some(nil)
            return nil
        }
        let start = keys.count
        keys.append(contentsOf: repeatElement(Self.unknown, count: members.count))
        starts[address] = start
        recent[place] = (address, start)
        return start
    }

    /// Removes everything, because the types of the next value may have the same addresses as those of this value.
    mutating func removeAll() {
        guard !starts.isEmpty else { return }
        starts.removeAll(keepingCapacity: true)
        for place in recent.indices { recent[place].form = 0 }
        keys.removeAll(keepingCapacity: true)
    }
}
