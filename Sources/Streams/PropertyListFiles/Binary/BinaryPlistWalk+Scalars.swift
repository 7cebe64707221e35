// Reads keys and values without children of a binary property list. Each is one message; a UID is a small dictionary.

import PlistStreaming

extension BinaryPlistWalk {
    /// Sends an object that must be a string, as a key or a value.
    @inlinable @inline(__always)
    mutating func sendString<Sink: PlistSink & ~Copyable>(
        _ object: Int, _ bytes: RawSpan, isKey: Bool, to sink: inout Sink
    ) throws(StreamError) {
        guard let offset = table.offset(of: object, in: bytes) else { throw noOffset(of: object) }
        place = offset
        try countValue()
        let type = bytes.byte(at: offset) &>> 4
        guard type == 0x5 || type == 0x6 else { throw noKey(bytes.byte(at: offset)) }
        try sendString(at: offset, bytes, isKey: isKey, to: &sink)
    }

    /// Sends the string at an offset, whose marker is that of a string.
    @inlinable @inline(__always)
    mutating func sendString<Sink: PlistSink & ~Copyable>(
        at offset: Int, _ bytes: RawSpan, isKey: Bool, to sink: inout Sink
    ) throws(StreamError) {
        guard let header = BinaryObject(at: offset, in: bytes) else { throw noCount() }
        guard header.marker &>> 4 == 0x5 else { return try sendUTF16(header, bytes, isKey: isKey, to: &sink) }
        guard header.count <= table.start &- header.start else { throw beyondEnd("\(header.count) characters") }
        try countContent(header.count)
        guard header.count <= limits.stringByteCount else {
            throw tooMany("bytes in a string", limits.stringByteCount)
        }
        let text = bytes.extracting(header.start..<header.start &+ header.count)
        // SAFETY: the buffer is read only within the closure.
        guard unsafe text.withUnsafeBytes({ unsafe UTF8Check.isASCII($0) }) else { throw notASCII(text) }
        if isKey { try sink.writeKey(text) } else { try sink.writeString(text) }
    }

    @inlinable @inline(never)
    mutating func sendUTF16<Sink: PlistSink & ~Copyable>(
        _ header: BinaryObject, _ bytes: RawSpan, isKey: Bool, to sink: inout Sink
    ) throws(StreamError) {
        guard 2 &* header.count <= table.start &- header.start else { throw beyondEnd("\(header.count) UTF-16 units") }
        try convertUTF16(bytes.extracting(header.start..<header.start &+ 2 &* header.count))
        try countContent(text.count)
        try text.withRawSpan { (text) throws(StreamError) in
            if isKey { try sink.writeKey(text) } else { try sink.writeString(text) }
        }
    }

    /// Converts big-endian UTF-16 to UTF-8.
    @usableFromInline
    mutating func convertUTF16(_ units: RawSpan) throws(StreamError) {
        text.removeAll(keepingCapacity: true)
        var offset = 0
        while offset < units.byteCount {
            let unit = UInt32(units.byte(at: offset)) << 8 | UInt32(units.byte(at: offset + 1))
            offset += 2
            var scalar = unit
            if unit & 0xF800 == 0xD800 {
                let low =
                    offset < units.byteCount
                    ? UInt32(units.byte(at: offset)) << 8 | UInt32(units.byte(at: offset + 1)) : 0
                guard unit < 0xDC00, low & 0xFC00 == 0xDC00 else {
                    throw fail(
                        .invalidText, "expected a surrogate pair, found \(CharacterCode.name(of: unit))")
                }
                scalar = 0x10000 + ((unit & 0x3FF) << 10 | low & 0x3FF)
                offset += 2
            }
            CharacterCode.encode(scalar) { text.append($0) }
            guard text.count <= limits.stringByteCount else {
                throw tooMany("bytes in a string", limits.stringByteCount)
            }
        }
    }

    @inlinable
    mutating func sendInteger<Sink: PlistSink & ~Copyable>(
        _ marker: UInt8, _ bytes: RawSpan, to sink: inout Sink
    ) throws(StreamError) {
        guard marker & 15 <= 4 else { throw unknown(marker) }
        let byteCount = 1 &<< Int(truncatingIfNeeded: marker & 15)
        guard byteCount < table.start &- place else { throw beyondEnd("an integer of \(byteCount) bytes") }
        // Integers of eight bytes are signed, shorter ones are unsigned.
        if byteCount <= 8 {
            let number = BinaryObjectTable.number(at: place &+ 1, byteCount: byteCount, in: bytes)
            return try sink.writeInteger(Int64(bitPattern: number))
        }
        let high = Int64(bitPattern: BinaryObjectTable.word(at: place &+ 1, in: bytes))
        let low = BinaryObjectTable.word(at: place &+ 9, in: bytes)
        if high == Int64(bitPattern: low) &>> 63 { return try sink.writeInteger(Int64(bitPattern: low)) }
        if high == 0 { return try sink.writeUnsigned(low) }
        text = Array("\(Int128(high) << 64 | Int128(low))".utf8)
        try text.withRawSpan { bytes throws(StreamError) in try sink.writeNumber(text: bytes) }
    }

    /// Sends a floating-point number or a date.
    @inlinable
    mutating func sendReal<Sink: PlistSink & ~Copyable>(
        _ marker: UInt8, _ bytes: RawSpan, to sink: inout Sink
    ) throws(StreamError) {
        guard marker == 0x23 || marker == 0x33 || marker == 0x22 else { throw unknown(marker) }
        let byteCount = marker == 0x22 ? 4 : 8
        guard byteCount < table.start &- place else { throw beyondEnd("a number of \(byteCount) bytes") }
        let word = BinaryObjectTable.number(at: place &+ 1, byteCount: byteCount, in: bytes)
        switch marker {
        case 0x22: try sink.writeReal(Double(Float(bitPattern: UInt32(truncatingIfNeeded: word))))
        case 0x23: try sink.writeReal(Double(bitPattern: word))
        default: try sink.writeDate(secondsSince2001: Double(bitPattern: word))
        }
    }

    /// Sends a value that consists only of its marker.
    @inlinable
    mutating func sendSingle<Sink: PlistSink & ~Copyable>(_ marker: UInt8, to sink: inout Sink) throws(StreamError) {
        switch marker {
        case 0x00: try sink.writeNull()
        case 0x08: try sink.writeBool(false)
        case 0x09: try sink.writeBool(true)
        default: throw unknown(marker)
        }
    }

    @inlinable
    mutating func sendData<Sink: PlistSink & ~Copyable>(_ bytes: RawSpan, to sink: inout Sink) throws(StreamError) {
        guard let header = BinaryObject(at: place, in: bytes) else { throw noCount() }
        guard header.count <= table.start &- header.start else { throw beyondEnd("\(header.count) bytes of data") }
        try countContent(header.count)
        try sink.writeData(bytes.extracting(header.start..<header.start &+ header.count))
    }

    /// Sends the number that a keyed archive uses to refer to its objects, in the form that other formats use: a
    /// dictionary with a number under `CF$UID`.
    @inlinable @inline(never)
    mutating func sendUID<Sink: PlistSink & ~Copyable>(
        _ marker: UInt8, _ bytes: RawSpan, to sink: inout Sink
    ) throws(StreamError) {
        let byteCount = Int(marker & 15) + 1
        guard byteCount <= 8 else { throw unknown(marker) }
        guard byteCount < table.start &- place else { throw beyondEnd("a UID of \(byteCount) bytes") }
        guard outer.count < limits.depth else { throw tooMany("levels of nesting", limits.depth) }
        let number = BinaryObjectTable.number(at: place &+ 1, byteCount: byteCount, in: bytes)
        try sink.beginDictionary()
        try sink.writeKey(PlistUID.key)
        if let integer = Int64(exactly: number) {
            try sink.writeInteger(integer)
        } else {
            try sink.writeUnsigned(number)
        }
        try sink.endDictionary()
    }

    /// Counts the bytes to be sent.
    @inlinable @inline(__always)
    mutating func countContent(_ byteCount: Int) throws(StreamError) {
        contentBytesLeft &-= byteCount
        if contentBytesLeft < 0 { throw tooMuchContent() }
    }
}

/// The representation of a UID, the reference type of keyed archives, in formats without UIDs.
@usableFromInline
enum PlistUID {
    /// The only key of the dictionary; its value is the number.
    @usableFromInline static var key: StaticString { "CF$UID" }
}
