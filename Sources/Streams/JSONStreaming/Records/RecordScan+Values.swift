// Stores the values of members by the kind of the member: strings of any length, numbers, Booleans and nulls.

import PlistBuilding
import PlistStreaming

extension RecordScan {
    /// Returns the offset of the quote that closes a string, or -1, and whether the string contains valid escapes.
    @inline(__always)  // PERF: JSONTyped/posts; once a string of more than a word.
    static func closingQuote(
        of bytes: RawSpan, from start: Int, limit: Int, _ masks: UnsafeMutablePointer<TokenMasks>?
    ) -> (offset: Int, hasEscapes: Bool) {
        var (end, hasEscapes) = unsafe masks?.pointee.closingQuote(from: start &+ 1) ?? (StringRuns.notFound, false)
        if end < 0 {
            end = StringRuns.closingQuote(in: bytes, from: start &+ 1)
            hasEscapes = end < 0
            if hasEscapes { end = PlainSkip.endOfString(bytes, from: start, limit: limit) &- 1 }
        } else if hasEscapes, unsafe masks?.pointee.areEscapesValid(bytes, start &+ 1..<end) == false {
            return (-1, false)
        }
        // The byte after the string must be within the bytes.
        return end >= 0 && end &- start &- 1 <= limit && end &+ 1 < bytes.byteCount ? (end, hasEscapes) : (-1, false)
    }

    /// Stores a string that isn't short ASCII, and returns the offset after it, or -1.
    @inline(never)
    private static func storeLong(
        _ bytes: RawSpan, from start: Int, _ kind: FastKind, column: UnsafeMutableRawPointer?,
        _ address: UnsafeMutableRawPointer, isInitialized: Bool, limit: Int,
        _ masks: UnsafeMutablePointer<TokenMasks>?
    ) -> Int {
        let (end, hasEscapes) = unsafe closingQuote(of: bytes, from: start, limit: limit, masks)
        guard end >= 0 else { return -1 }
        if hasEscapes {
            guard unsafe column == nil else { return -1 }
            let string = StringEscapes.string(of: bytes, start &+ 1..<end)
            // SAFETY: the kind determines the type at the address.
            switch (kind, isInitialized) {
            case (.string, false): unsafe address.initializeMemory(as: String.self, to: string)
            case (.string, true): unsafe address.assumingMemoryBound(to: String.self).pointee = string
            case (.optionalString, false): unsafe address.initializeMemory(as: String?.self, to: string)
            case (.optionalString, true): unsafe address.assumingMemoryBound(to: String?.self).pointee = string
            default: return -1
            }
            return end &+ 1
        }
        let text = bytes.extracting(start &+ 1..<end)
        if let column = unsafe column {
            unsafe ColumnBuffer.append(text, to: column, endAt: address)
        } else if kind == .optionalString {
            unsafe SmallText.store(text, toOptional: address, isInitialized: isInitialized)
        } else {
            unsafe SmallText.store(text, to: address, isInitialized: isInitialized)
        }
        return end &+ 1
    }

    /// Stores a value of another kind than short integers and strings, and returns the offset after it, or -1.
    @inline(never)
    static func storeOther(
        _ bytes: RawSpan, from start: Int, to member: UnsafeMutablePointer<RecordMember>,
        _ address: UnsafeMutableRawPointer, row: Int, isInitialized: Bool, _ state: UnsafeMutablePointer<RecordState>
    ) -> Int {
        if unsafe member.pointee.kind != .value {
            let end = unsafe storeFast(
                bytes, from: start, member.pointee.kind, column: member.pointee.column, address, row: row,
                isInitialized: isInitialized, limit: state.pointee.limit, TokenMasks.known(to: state))
            if end >= 0 { return end }
        }
        // Other values are stored by their type, if there is one. Bounds: a whole margin, as for any other value.
        guard let shape = unsafe member.pointee.shape, unsafe member.pointee.kind != .none,
            start <= bytes.byteCount &- JSONScanner.margin
        else { return -1 }
        // The large parts of a document are sent as messages; other records store their contents.
        if unsafe state.pointee.isRoot, unsafe shape.pointee.isLarge { return -1 }
        // PERF: JSONTyped/catalogue; many arrays are empty.
        if bytes.uncheckedHalf(start) & 0xFFFF == 0x5D5B, !isInitialized, unsafe shape.pointee.kind == .array,
            unsafe state.pointee.depth > 0, let element = unsafe shape.pointee.element
        {
            unsafe element.pointee.makeArray(of: address, 0, at: address)
            return start &+ 2
        }
        guard isInitialized else { return unsafe storeValue(bytes, from: start, shape, to: address, state) }
        let memory = unsafe state.pointee.spareMemory(for: shape)
        let end = unsafe storeValue(bytes, from: start, shape, to: memory, state)
        if end >= 0 { unsafe shape.pointee.replace(address, by: memory) }
        return end
    }

    /// Stores a value of a fast kind, and returns the offset after it, or -1.
    static func storeFast(
        _ bytes: RawSpan, from start: Int, _ kind: FastKind, column: UnsafeMutableRawPointer?,
        _ address: UnsafeMutableRawPointer, row: Int, isInitialized: Bool, limit: Int,
        _ masks: UnsafeMutablePointer<TokenMasks>?
    ) -> Int {
        // SAFETY: `start` is within the margin, and a kind determines the type at the address.
        let half = bytes.uncheckedHalf(start)
        let isNull = half == 0x6C6C_756E
        switch kind {
        case .integer, .real, .optionalInteger, .optionalReal:
            if isNull { return unsafe storeNull(kind, address) ? start &+ 4 : -1 }
            let number = JSONNumber.scanPlain(bytes, from: start)
            guard number.end >= 0 else { return -1 }
            let integer = Int64(bitPattern: number.bits)
            let real = number.isReal ? Double(bitPattern: number.bits) : Double(integer)
            switch kind {
            case .real: unsafe address.storeBytes(of: real, as: Double.self)
            case .optionalReal: unsafe address.initializeMemory(as: Double?.self, to: real)
            case .integer where !number.isReal: unsafe address.storeBytes(of: integer, as: Int64.self)
            case .optionalInteger where !number.isReal: unsafe address.initializeMemory(as: Int64?.self, to: integer)
            default: return -1
            }
            return number.end
        case .int8, .int16, .int32, .uint8, .uint16, .uint32, .uint64, .float:
            return unsafe storeSized(bytes, from: start, to: address, as: kind)
        case .bool, .optionalBool, .columnBool:
            if isNull { return unsafe storeNull(kind, address) ? start &+ 4 : -1 }
            let isTrue = half == 0x6575_7274
            guard isTrue || half == 0x736C_6166 && bytes.uncheckedByte(start &+ 4) == UInt8(ascii: "e") else {
                return -1
            }
            switch kind {
            case .optionalBool: unsafe address.initializeMemory(as: Bool?.self, to: isTrue)
            // The column has one byte per row, but `address` advances by eight.
            case .columnBool: unsafe (address - 7 * row).storeBytes(of: isTrue, as: Bool.self)
            default: unsafe address.storeBytes(of: isTrue, as: Bool.self)
            }
            return start &+ (isTrue ? 4 : 5)
        case .string, .optionalString, .columnString:
            guard bytes.uncheckedByte(start) == UInt8(ascii: "\"") else { return -1 }
            return unsafe storeLong(
                bytes, from: start, kind, column: column, address, isInitialized: isInitialized, limit: limit, masks)
        case .none, .value:
            return -1
        }
    }

    /// Stores a number of a size other than 64 bits, or an unsigned one, if it fits.
    private static func storeSized(
        _ bytes: RawSpan, from start: Int, to address: UnsafeMutableRawPointer, as kind: FastKind
    ) -> Int {
        let number = JSONNumber.scanPlain(bytes, from: start)
        guard number.end >= 0 else { return -1 }
        let integer = Int64(bitPattern: number.bits)
        if kind == .float {
            let value = number.isReal ? Float(Double(bitPattern: number.bits)) : Float(integer)
            guard value.isFinite else { return -1 }
            unsafe address.storeBytes(of: value, as: Float.self)
            return number.end
        }
        func store<Value: FixedWidthInteger & BitwiseCopyable>(_ type: Value.Type) -> Int {
            guard !number.isReal, let value = Value(exactly: integer) else { return -1 }
            // SAFETY: see storeOther.
            unsafe address.storeBytes(of: value, as: Value.self)
            return number.end
        }
        switch kind {
        case .int8: return store(Int8.self)
        case .int16: return store(Int16.self)
        case .int32: return store(Int32.self)
        case .uint8: return store(UInt8.self)
        case .uint16: return store(UInt16.self)
        case .uint32: return store(UInt32.self)
        case .uint64: return store(UInt64.self)
        default: return -1
        }
    }

    /// Stores null in a member that may be null and owns no memory.
    private static func storeNull(_ kind: FastKind, _ address: UnsafeMutableRawPointer) -> Bool {
        // SAFETY: see storeOther.
        switch kind {
        case .optionalInteger: unsafe address.initializeMemory(as: Int64?.self, to: nil)
        case .optionalReal: unsafe address.initializeMemory(as: Double?.self, to: nil)
        case .optionalBool: unsafe address.initializeMemory(as: Bool?.self, to: nil)
        default: return false
        }
        return true
    }
}
