// Writes the values without children. Each is written at the end of the output, and removed if an equal one exists.

import StreamingSystem
import PlistStreaming

extension BinaryPlistWriter {
    /// Writes null, if the options allow it.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable`` otherwise.
    public mutating func writeNull() throws(StreamError) {
        try beginValue()
        endValue(try addNull())
    }

    /// Writes a Boolean.
    public mutating func writeBool(_ value: Bool) throws(StreamError) {
        try beginValue()
        endValue(try addBool(value))
    }

    /// Writes an integer in 1, 2, 4 or 8 bytes; negative integers take 8.
    public mutating func writeInteger(_ value: Int64) throws(StreamError) {
        if value >= 0, takeUID(UInt64(value)) { return }
        try beginValue()
        endValue(try addInteger(UInt64(bitPattern: value)))
    }

    /// Writes an unsigned integer; values from 2^63 take 16 bytes.
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        if takeUID(value) { return }
        try beginValue()
        endValue(try addUnsigned(value))
    }

    /// Writes a floating-point number as a double, including infinities and NaN.
    public mutating func writeReal(_ value: Double) throws(StreamError) {
        try beginValue()
        endValue(try addReal(value))
    }

    /// Writes a number: an integer of up to 128 bits exactly, or a number with a fraction or exponent as the double that has
    /// its digits.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable`` for any other number.
    public mutating func writeNumber(text: RawSpan) throws(StreamError) {
        guard DecimalNumber(text) != nil else { throw StreamError(.misuse, "got text that isn't a number") }
        if let integer = PlistScalarText.wideInteger(text), Int64(exactly: integer) == nil {
            try beginValue()
            return endValue(try addWide(integer))
        }
        switch try NumberText.kept(text, rounding: false) {
        case .integer(let value): try writeInteger(value)
        case .real(let value): try writeReal(value)
        }
    }

    /// Writes a date.
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try beginValue()
        endValue(try addDate(seconds))
    }

    /// Writes a string.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/invalidText`` for text that is not valid UTF-8.
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        try beginValue()
        endValue(try addString(utf8, isKey: false))
    }

    /// Writes data.
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        try beginValue()
        endValue(try addData(bytes))
    }

    // MARK: Objects

    /// Reserves memory for an object, after the header, and returns its offset.
    @inline(__always)  // PERF: PropertyLists/binary; once a value, as below.
    mutating func beginObject(reserving byteCount: Int) throws(StreamError) -> Int {
        try output.reserve(byteCount &+ 32)
        if output.count == 0 { for byte in "bplist00".utf8 { output.appendReserved(byte) } }
        return output.count
    }

    /// Returns the number of the object written from an offset, or of an equal one. In that case, the new bytes are
    /// removed.
    mutating func share(from start: Int, isKey: Bool = false) throws(StreamError) -> UInt32 {
        // PERF: Archive/flush; if only keys are shared, values aren't looked up.
        guard isKey || options.sharedValueLimit > 0 else { return try addObject(at: start) }
        let byteCount = output.count &- start
        // Each use of the key takes at least two bytes of references. For each of these bytes, readers allow 64 bytes
        // of UTF-8; two bytes of UTF-16 become at most three of UTF-8.
        if isKey && byteCount > 64 { hasLongKeys = true }
        // SAFETY: the bytes from the start to the end are initialized. Each earlier object begins at least this many
        // bytes before the end, and objects with the same beginning have the same length.
        let memory = unsafe UnsafeRawPointer(output.end) - output.count
        let hash = unsafe shared.hash(UnsafeRawBufferPointer(start: memory + start, count: byteCount))
        let found = shared.find(hash) { object in
            let offset = unsafe objects[Int(truncatingIfNeeded: object)].offset
            return unsafe memcmp(memory + offset, memory + start, byteCount) == 0
        }
        if let found {
            output.truncate(to: start)
            return found
        }
        let object = try addObject(at: start)
        if isKey || shared.count < options.sharedValueLimit { shared.insert(object, hash) }
        return object
    }

    /// Returns whether an object is the string of a key. May return false for an equal string; its bytes are then
    /// compared.
    func isKey(_ object: UInt32, _ utf8: RawSpan) -> Bool {
        let byteCount = utf8.byteCount
        let offset = unsafe objects[Int(truncatingIfNeeded: object)].offset
        // Containers have offset 0 until the end, where the header is.
        guard byteCount < 256, offset > 0 else { return false }
        let memory = unsafe UnsafeRawPointer(output.end) - output.count
        let headerByteCount = byteCount < 15 ? 1 : 3
        guard offset &+ headerByteCount &+ byteCount <= output.count else { return false }
        // SAFETY: all compared bytes were just checked to be within the output.
        if byteCount < 15 {
            guard unsafe memory.load(fromByteOffset: offset, as: UInt8.self) == 0x50 | UInt8(byteCount) else {
                return false
            }
        } else {
            guard unsafe memory.load(fromByteOffset: offset, as: UInt8.self) == 0x5F,
                unsafe memory.load(fromByteOffset: offset + 1, as: UInt8.self) == 0x10,
                unsafe memory.load(fromByteOffset: offset + 2, as: UInt8.self) == UInt8(byteCount)
            else { return false }
        }
        return unsafe utf8.withUnsafeBytes { bytes in
            guard let address = bytes.baseAddress else { return true }
            return unsafe memcmp(memory + offset + headerByteCount, address, byteCount) == 0
        }
    }

    /// Adds an integer; an integer with the highest bit set is negative.
    mutating func addInteger(_ value: UInt64) throws(StreamError) -> UInt32 {
        let byteCount = Self.byteCount(of: value)
        return try addNumber(
            0x10 | UInt8(truncatingIfNeeded: byteCount.trailingZeroBitCount), value, byteCount: byteCount)
    }

    /// Adds an unsigned integer.
    mutating func addUnsigned(_ value: UInt64) throws(StreamError) -> UInt32 {
        value <= UInt64(Int64.max) ? try addInteger(value) : try addWide(Int128(value))
    }

    /// Adds null, if the options allow it.
    mutating func addNull() throws(StreamError) -> UInt32 {
        guard options.nulls == .write else { throw StreamError(.unrepresentable, "property lists have no null") }
        return try addNumber(0x00, 0, byteCount: 0)
    }

    /// Adds a Boolean.
    mutating func addBool(_ value: Bool) throws(StreamError) -> UInt32 {
        try addNumber(value ? 0x09 : 0x08, 0, byteCount: 0)
    }

    /// Adds a floating-point number.
    mutating func addReal(_ value: Double) throws(StreamError) -> UInt32 {
        try addNumber(0x23, value.bitPattern, byteCount: 8)
    }

    /// Adds a date.
    mutating func addDate(_ seconds: Double) throws(StreamError) -> UInt32 {
        try addNumber(0x33, seconds.bitPattern, byteCount: 8)
    }

    /// Adds data.
    mutating func addData(_ bytes: RawSpan) throws(StreamError) -> UInt32 {
        let start = try beginObject(reserving: bytes.byteCount)
        try writeMarker(0x40, count: bytes.byteCount)
        try output.append(bytes)
        return try share(from: start)
    }

    /// Adds an object with a marker and up to eight bytes, unless an equal one was added recently.
    private mutating func addNumber(_ marker: UInt8, _ bits: UInt64, byteCount: Int) throws(StreamError) -> UInt32 {
        let place = RecentNumbers.place(of: bits, marker)
        if let object = numbers.object(at: place, bits, marker) { return object }
        let start = try beginObject(reserving: byteCount)
        output.appendReserved(marker)
        if byteCount > 0 { try write(bits, byteCount: byteCount) }
        let object = try addObject(at: start)
        if options.sharedValueLimit > 0 { numbers.set(object, at: place, bits, marker) }
        return object
    }

    private mutating func addWide(_ value: Int128) throws(StreamError) -> UInt32 {
        let start = try beginObject(reserving: 0)
        output.appendReserved(0x14)
        try write(UInt64(truncatingIfNeeded: value >> 64), byteCount: 8)
        try write(UInt64(truncatingIfNeeded: value), byteCount: 8)
        return try share(from: start)
    }

    /// Writes a UID, which is not shared, and returns its offset.
    mutating func addUID(_ number: UInt64) throws(StreamError) -> Int {
        let start = try beginObject(reserving: 0)
        let byteCount = Self.byteCount(of: number)
        output.appendReserved(0x80 | UInt8(truncatingIfNeeded: byteCount - 1))
        try write(number, byteCount: byteCount)
        return start
    }

    /// Adds a string, as ASCII if possible.
    mutating func addString(_ utf8: RawSpan, isKey: Bool) throws(StreamError) -> UInt32 {
        // SAFETY: the buffer is read only within the closure, like the one below.
        guard unsafe utf8.withUnsafeBytes({ unsafe UTF8Check.isASCII($0) }) else {
            return try addUTF16(utf8, isKey: isKey)
        }
        let start = try beginObject(reserving: utf8.byteCount)
        try writeMarker(0x50, count: utf8.byteCount)
        output.appendReserved(utf8)
        return try share(from: start, isKey: isKey)
    }

    @inline(never)
    private mutating func addUTF16(_ utf8: RawSpan, isKey: Bool) throws(StreamError) -> UInt32 {
        // SAFETY: the bytes are read only within the closures.
        guard let count = unsafe utf8.withUnsafeBytes({ unsafe UTF16Text.count(of: $0) }) else {
            throw StreamError(.invalidText, "expected text in UTF-8, found other bytes")
        }
        let start = try beginObject(reserving: 2 * count)
        try writeMarker(0x60, count: count)
        try output.reserve(2 * count)
        unsafe utf8.withUnsafeBytes { unsafe UTF16Text.store($0, at: output.end) }
        output.advance(by: 2 * count)
        return try share(from: start, isKey: isKey)
    }
}

/// Text in big-endian UTF-16.
private enum UTF16Text {
    /// Returns the number of code units of a text, or nil if it isn't UTF-8.
    static func count(of utf8: UnsafeRawBufferPointer) -> Int? {
        guard unsafe UTF8Check.isValid(utf8) else { return nil }
        var count = 0
        for offset in 0..<utf8.count {
            let byte = unsafe utf8[offset]
            // Each byte that begins a character counts as one unit, or as two for a character of four bytes.
            count &+= (byte & 0xC0 == 0x80 ? 0 : 1) &+ (byte >= 0xF0 ? 1 : 0)
        }
        return count
    }

    // PERF: PropertyLists/items written; a string's own view takes ten times as long.
    /// Stores the units of valid text.
    static func store(_ utf8: UnsafeRawBufferPointer, at address: UnsafeMutableRawPointer) {
        var (place, offset) = unsafe (address, 0)
        // SAFETY: in valid text the first byte of each character determines how many follow; the memory holds the
        // counted units.
        func following() -> UInt32 {
            let byte = unsafe utf8[offset]
            offset &+= 1
            return UInt32(byte & 0x3F)
        }
        func store(_ unit: UInt32) {
            unsafe place.storeBytes(of: UInt16(truncatingIfNeeded: unit).bigEndian, as: UInt16.self)
            unsafe place += 2
        }
        while offset < utf8.count {
            let first = unsafe UInt32(utf8[offset])
            offset &+= 1
            if first < 0x80 {
                store(first)
            } else if first < 0xE0 {
                store((first & 0x1F) &<< 6 | following())
            } else if first < 0xF0 {
                let middle = following()
                store((first & 0x0F) &<< 12 | middle &<< 6 | following())
            } else {
                let (second, third) = (following(), following())
                let scalar = ((first & 0x07) &<< 18 | second &<< 12 | third &<< 6 | following()) &- 0x10000
                store(0xD800 | scalar &>> 10)
                store(0xDC00 | scalar & 0x3FF)
            }
        }
    }
}
