// Lets the JSON writer read values of bound types from memory, instead of receiving a message for each key and value.
// Values that it can't read are sent as messages, and so are all values in layouts other than the compact one.

import PlistBuilding
public import PlistStreaming

extension JSONWriter {
    // PERF: JSONRecords/writing; the members of a structure cost a key of a known length and a value each.
    /// Writes values of bound types from their memory, unless the layout has more than commas and colons.
    public static var memoryPort: MemoryPort? {
        // SAFETY: the function takes the address of a writer, which is valid during the call.
        unsafe MemoryPort(
            writingOf: Self.self,
            { (sink, port) throws(StreamError) in
                try unsafe sink.assumingMemoryBound(to: Self.self).pointee.write(port)
            })
    }

    private mutating func write(_ port: ValuePort) throws(StreamError) -> Bool {
        guard isPlainCompact else { return false }
        // SAFETY: the owner of the port keeps the value and the information about its type alive.
        let source = unsafe port.value
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
        case .scalar: try unsafe writeScalar(address, form.pointee.fast)
        case .optional: try unsafe writeOptional(address, form, nil, source, depth: depth)
        case .array: try unsafe writeArray(address, form, source, depth: depth)
        case .structure: try unsafe writeMembers(of: address, at: address, form, source, depth: depth)
        case .object:
            guard let base = unsafe ValueSource.memory(ofObjectAt: address, form, source) else {
                return try unsafe source.pointee.send(address, form, to: &self, depth: depth)
            }
            try unsafe writeMembers(of: address, at: base, form, source, depth: depth)
        case .messages, .date, .data, .dictionary:
            try unsafe source.pointee.send(address, form, to: &self, depth: depth)
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
            // PERF: JSONWriter/reals; separate loops for the most common scalars, which do nothing else.
            switch unsafe element.pointee.fast {
            case .integer:
                for index in 0..<count {
                    try unsafe writeInteger(first.load(fromByteOffset: index * stride, as: Int64.self))
                }
            case .real:
                for index in 0..<count {
                    do throws(StreamError) {
                        try unsafe writeReal(first.load(fromByteOffset: index * stride, as: Double.self))
                    } catch {
                        throw error.within(.index(index))
                    }
                }
            default:
                for index in 0..<count {
                    do throws(StreamError) {
                        try unsafe write(first + index * stride, element, source, depth: depth + 1)
                    } catch {
                        throw error.within(.index(index))
                    }
                }
            }
        }
        try endArray()
    }

    /// Writes an optional, or the member with an optional value, which may be omitted.
    private mutating func writeOptional(
        _ address: UnsafeRawPointer, _ form: UnsafePointer<MemoryForm>, _ member: UnsafePointer<MemoryFormMember>?,
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
        try unsafe source.pointee.checkDepth(depth)
        try beginDictionary()
        for index in members.indices {
            let member = unsafe members.baseAddress.unsafelyUnwrapped + index
            do throws(StreamError) {
                if unsafe member.pointee.needsMessages {
                    try unsafe source.pointee.sendMember(index, of: address, at: base, form, to: &self, depth: depth)
                } else if unsafe member.pointee.fast != .none {
                    try unsafe writeScalar(base + member.pointee.offset, of: member, source)
                } else if unsafe member.pointee.form.pointee.kind == .messages {
                    try unsafe source.pointee.sendMember(index, of: address, at: base, form, to: &self, depth: depth)
                } else {
                    try unsafe writeMember(member, base + member.pointee.offset, source, depth: depth + 1)
                }
            } catch {
                throw unsafe error.within(.key(member.pointee.name))
            }
        }
        try endDictionary()
    }

    /// Writes a nonscalar member.
    private mutating func writeMember(
        _ member: UnsafePointer<MemoryFormMember>, _ value: UnsafeRawPointer, _ source: UnsafePointer<ValueSource>,
        depth: Int
    ) throws(StreamError) {
        let form = unsafe member.pointee.form
        if unsafe form.pointee.kind == .optional {
            return try unsafe writeOptional(value, form, member, source, depth: depth)
        }
        try unsafe writeKey(of: member)
        if unsafe form.pointee.kind == .object {
            try unsafe writeObject(value, form, source, depth: depth)
        } else {
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

    /// Writes a comma, if one is needed, and the key of a member; its value must follow.
    private mutating func writeKey(of member: UnsafePointer<MemoryFormMember>) throws(StreamError) {
        try unsafe output.reserve(member.pointee.length &+ 24)
        output.advance(by: unsafe storeKey(of: member, at: output.end))
        next = .plainValue
    }

    /// Stores a comma, if one is needed, and the key of a member. The memory must hold both and 16 more bytes.
    @inline(__always)
    private func storeKey(of member: UnsafePointer<MemoryFormMember>, at address: UnsafeMutableRawPointer) -> Int {
        let commaCount = unsafe storeComma(at: address)
        let place = unsafe address + commaCount
        let (text, length) = unsafe (member.pointee.text, member.pointee.length)
        // The text has at least 16 bytes.
        unsafe place.storeBytes(of: text.load(as: UInt64.self), as: UInt64.self)
        unsafe place.storeBytes(of: text.load(fromByteOffset: 8, as: UInt64.self), toByteOffset: 8, as: UInt64.self)
        if length > 16 { unsafe place.copyMemory(from: text, byteCount: length) }
        return commaCount &+ length
    }

    // MARK: Scalars

    /// Writes the key and the value of a scalar member, or nothing for an omitted nil.
    @inline(__always)
    private mutating func writeScalar(
        _ address: UnsafeRawPointer, of member: UnsafePointer<MemoryFormMember>, _ source: UnsafePointer<ValueSource>
    ) throws(StreamError) {
        try unsafe output.reserve(member.pointee.length &+ Self.maxScalarByteCount)
        let key = unsafe output.end
        let start = unsafe key + storeKey(of: member, at: key)
        let count = unsafe storeScalar(address, member.pointee.fast, at: start)
        if count > 0 {
            unsafe output.advance(by: start - key &+ count)
            next = .plainMember
        } else {
            try unsafe writeRareScalar(address, of: member, source)
        }
    }

    /// Writes the key and the value of a member that needs more than a few words: a long string, nil, or a non-finite
    /// number.
    @inline(never)
    private mutating func writeRareScalar(
        _ address: UnsafeRawPointer, of member: UnsafePointer<MemoryFormMember>, _ source: UnsafePointer<ValueSource>
    ) throws(StreamError) {
        if unsafe source.pointee.omitsNil && member.pointee.fast.isNil(at: address) { return }
        try unsafe writeKey(of: member)
        try unsafe writeRareScalar(address, member.pointee.fast)
    }

    /// Writes a value that is a scalar.
    private mutating func writeScalar(_ address: UnsafeRawPointer, _ fast: FastKind) throws(StreamError) {
        switch fast {
        case .integer: try writeInteger(unsafe address.load(as: Int64.self))
        case .real: try writeReal(unsafe address.load(as: Double.self))
        case .bool: try writeBool(unsafe address.load(as: Bool.self))
        default:
            try output.reserve(Self.maxScalarByteCount)
            // Writes a comma and a value in one step, unless the value is rare or the writer must check its position.
            guard next.isPlainValue else { return try unsafe writeRareScalar(address, fast) }
            let start = unsafe output.end
            let commaCount = unsafe storeComma(at: start)
            let count = unsafe storeScalar(address, fast, at: start + commaCount)
            guard count > 0 else { return try unsafe writeRareScalar(address, fast) }
            output.advance(by: commaCount &+ count)
            endValue()
        }
    }

    /// The number of bytes that `storeScalar` needs, and that a comma and a key need in addition to its length.
    private static var maxScalarByteCount: Int { RealText.maxByteCount + 32 }

    /// Stores a scalar and returns the number of bytes, or 0 if it must be written with a message.
    @inline(__always)
    private func storeScalar(
        _ address: UnsafeRawPointer, _ fast: FastKind, at place: UnsafeMutableRawPointer
    ) -> Int {
        // SAFETY: a fast kind determines the type and its memory layout.
        switch fast {
        case .integer: return unsafe IntegerText.store(address.load(as: Int64.self), at: place)
        case .real: return unsafe storeReal(address.load(as: Double.self), at: place)
        case .bool: return unsafe storeBool(address.load(as: Bool.self), at: place)
        case .string, .optionalString: return unsafe storeString(address, at: place)
        case .optionalInteger:
            guard let value = unsafe address.load(as: Int64?.self) else { return 0 }
            return unsafe IntegerText.store(value, at: place)
        case .optionalReal:
            guard let value = unsafe address.load(as: Double?.self) else { return 0 }
            return unsafe storeReal(value, at: place)
        case .optionalBool:
            guard let value = unsafe address.load(as: Bool?.self) else { return 0 }
            return unsafe storeBool(value, at: place)
        case .int8: return unsafe IntegerText.store(Int64(address.load(as: Int8.self)), at: place)
        case .int16: return unsafe IntegerText.store(Int64(address.load(as: Int16.self)), at: place)
        case .int32: return unsafe IntegerText.store(Int64(address.load(as: Int32.self)), at: place)
        case .uint8: return unsafe IntegerText.store(UInt64(address.load(as: UInt8.self)), at: place)
        case .uint16: return unsafe IntegerText.store(UInt64(address.load(as: UInt16.self)), at: place)
        case .uint32: return unsafe IntegerText.store(UInt64(address.load(as: UInt32.self)), at: place)
        case .uint64: return unsafe IntegerText.store(address.load(as: UInt64.self), at: place)
        case .float: return unsafe storeReal(Double(digitsOf: address.load(as: Float.self)), at: place)
        case .none, .value, .columnBool, .columnString: return 0
        }
    }

    @inline(__always)
    private func storeReal(_ value: Double, at place: UnsafeMutableRawPointer) -> Int {
        // The first real is written with a message, which sets the units.
        guard let units else { return 0 }
        return unsafe RealText.store(value, units: units, at: place)
    }

    @inline(__always)
    private func storeBool(_ value: Bool, at place: UnsafeMutableRawPointer) -> Int {
        let word: UInt64 = value ? 0x6575_7274 : 0x65_736C_6166
        unsafe place.storeBytes(of: word.littleEndian, as: UInt64.self)
        return value ? 4 : 5
    }

    /// Stores a string, or an optional one, that is stored inline in its two words as ASCII and needs no escapes.
    @inline(__always)
    private func storeString(_ address: UnsafeRawPointer, at place: UnsafeMutableRawPointer) -> Int {
        // SAFETY: forms have strings only if `SmallText` knows their memory layout; a small string has its count in the
        // last byte.
        let (low, high) = unsafe (address.load(as: UInt64.self), address.load(fromByteOffset: 8, as: UInt64.self))
        guard high &>> 60 == 0xE else { return 0 }
        let count = Int(truncatingIfNeeded: high &>> 56) & 15
        // For the test, spaces fill the rest of the words.
        let spaces: UInt64 = 0x2020_2020_2020_2020
        let last = high & (1 << 56 - 1)
        let special =
            StringRuns.specialBytes(in: low | spaces << (8 &* count))
            | StringRuns.specialBytes(in: last | (count > 8 ? spaces << (8 &* count &- 64) : spaces))
        guard special == 0 else { return 0 }
        unsafe place.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        unsafe place.storeBytes(of: low, toByteOffset: 1, as: UInt64.self)
        unsafe place.storeBytes(of: last, toByteOffset: 9, as: UInt64.self)
        unsafe place.storeBytes(of: UInt8(ascii: "\""), toByteOffset: 1 &+ count, as: UInt8.self)
        return count &+ 2
    }

    /// Writes a scalar with its message.
    @inline(never)
    private mutating func writeRareScalar(_ address: UnsafeRawPointer, _ fast: FastKind) throws(StreamError) {
        if unsafe fast.isNil(at: address) { return try writeNull() }
        switch fast {
        case .string, .optionalString:
            // SAFETY: an optional string that is not nil has the memory layout of a string.
            try unsafe address.assumingMemoryBound(to: String.self).pointee
                .withUTF8Span { (span) throws(StreamError) in try writeText(span, isChecked: true) }
        case .real, .optionalReal: try writeReal(unsafe address.load(as: Double.self))
        case .float: try writeReal(Double(digitsOf: unsafe address.load(as: Float.self)))
        case .integer, .optionalInteger: try writeInteger(unsafe address.load(as: Int64.self))
        case .bool, .optionalBool: try writeBool(unsafe address.load(as: Bool.self))
        case .int8: try writeInteger(Int64(unsafe address.load(as: Int8.self)))
        case .int16: try writeInteger(Int64(unsafe address.load(as: Int16.self)))
        case .int32: try writeInteger(Int64(unsafe address.load(as: Int32.self)))
        case .uint8: try writeInteger(Int64(unsafe address.load(as: UInt8.self)))
        case .uint16: try writeInteger(Int64(unsafe address.load(as: UInt16.self)))
        case .uint32: try writeInteger(Int64(unsafe address.load(as: UInt32.self)))
        case .uint64: try writeUnsigned(unsafe address.load(as: UInt64.self))
        case .none, .value, .columnBool, .columnString: break
        }
    }
}
