// Stores values within records, each completely or not at all: objects, arrays, dictionaries, optionals, and scalars
// that need conversion. Each function stores a value in uninitialized memory and returns the offset after it. If a
// function returns -1, the memory is unchanged, and the caller sends the whole value as messages.

import PlistBuilding
import PlistStreaming

extension RecordScan {
    /// Stores a value of any type that a reader can build.
    ///
    /// Every container calls `RecordState.enter`, which limits the recursion.
    static func storeValue(
        _ bytes: RawSpan, from start: Int, _ shape: UnsafePointer<RecordShape>, to address: UnsafeMutableRawPointer,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Int {
        // SAFETY: `start` is within the margin, and the address is that of uninitialized memory for the shape's type.
        let byte = bytes.uncheckedByte(start)
        switch unsafe shape.pointee.kind {
        case .array where byte == UInt8(ascii: "["):
            if let element = unsafe shape.pointee.element, unsafe element.pointee.fast == .real {
                let end = unsafe storeFewReals(bytes, from: start, element, to: address, state)
                if end >= 0 { return end }
            }
            return unsafe storeArray(bytes, from: start, shape, to: address, state)
        case .object where byte == UInt8(ascii: "{"):
            return unsafe storeObject(bytes, from: start, shape, to: address, state)
        case .dictionary where byte == UInt8(ascii: "{"):
            return unsafe storeDictionary(bytes, from: start, shape, to: address, state)
        case .optional:
            if bytes.uncheckedHalf(start) == 0x6C6C_756E {
                unsafe shape.pointee.makeNil(address)
                return start &+ 4
            }
            guard let wrapped = unsafe shape.pointee.element else { return -1 }
            if unsafe wrapped.pointee.fillsOptional {
                return unsafe storeValue(bytes, from: start, wrapped, to: address, state)
            }
            let memory = unsafe state.pointee.wrappedMemory(for: wrapped)
            let end = unsafe storeValue(bytes, from: start, wrapped, to: memory, state)
            if end >= 0 { unsafe shape.pointee.wrap(memory, to: address) }
            return end
        case .scalar:
            return unsafe storeScalar(bytes, from: start, shape, to: address, state)
        case .converted:
            guard let form = unsafe shape.pointee.element else { return -1 }
            let memory = unsafe state.pointee.wrappedMemory(for: form)
            let end = unsafe storeValue(bytes, from: start, form, to: memory, state)
            return unsafe end >= 0 && shape.pointee.convert(memory, to: address) ? end : -1
        default:
            return -1
        }
    }

    private static func storeObject(
        _ bytes: RawSpan, from start: Int, _ shape: UnsafePointer<RecordShape>, to address: UnsafeMutableRawPointer,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Int {
        guard let inner = unsafe state.pointee.enter(start, last: bytes.byteCount &- JSONScanner.margin),
            unsafe inner.pointee.provide(shape, at: address, capacity: 1) > 0
        else { return -1 }
        let end = unsafe scan(bytes, from: start, into: inner, isInArray: false)
        guard end.isOpen else { return end.offset }
        unsafe inner.pointee.abandon(shape, at: address)
        return -1
    }

    // MARK: Arrays

    private static func storeArray(
        _ bytes: RawSpan, from start: Int, _ shape: UnsafePointer<RecordShape>, to address: UnsafeMutableRawPointer,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Int {
        guard let element = unsafe shape.pointee.element else { return -1 }
        // PERF: JSONTyped/catalogue; an empty container needs no state.
        if bytes.uncheckedByte(start &+ 1) == UInt8(ascii: "]"), unsafe state.pointee.depth > 0 {
            unsafe element.pointee.makeArray(of: address, 0, at: address)
            return start &+ 2
        }
        guard let inner = unsafe state.pointee.enter(start, last: bytes.byteCount &- JSONScanner.margin) else {
            return -1
        }
        let last = unsafe inner.pointee.last
        let memory = unsafe RecordState.elementMemory(inner)
        let capacity = unsafe element.pointee.capacity
        guard capacity > 0 else { return -1 }
        let stride = unsafe element.pointee.stride
        // Elements are first completed in this memory, then moved to the array together, which most arrays do only
        // once.
        var count = 0
        var isMade = false
        var offset = PlainSkip.endOfGap(bytes, from: start &+ 1)
        if offset <= last, bytes.uncheckedByte(offset) == UInt8(ascii: "]") {
            unsafe element.pointee.makeArray(of: memory, 0, at: address)
            return offset &+ 1
        }
        elements: while offset <= last {
            let place = unsafe memory + count &* stride
            var storedCount = 1
            switch unsafe element.pointee.fast {
            case .integer:
                offset = unsafe storeInteger(bytes, from: offset, element, to: place, inner)
            case .real:
                let reals = unsafe storeReals(bytes, from: offset, last, to: place, capacity &- count)
                if reals.count > 0 {
                    (storedCount, offset) = reals
                } else {
                    offset = unsafe storeScalar(bytes, from: offset, element, to: place, inner)
                }
            case .string:
                offset = unsafe storeString(bytes, from: offset, element, to: place, inner)
            case .none where unsafe element.pointee.kind == .object:
                (storedCount, offset) = unsafe storeObjects(
                    bytes, from: offset, element, to: place, capacity &- count, inner)
            default:
                offset = unsafe storeValue(bytes, from: offset, element, to: place, inner)
            }
            guard offset >= 0 else { break elements }
            count &+= storedCount
            guard offset <= last else { break elements }
            if bytes.uncheckedByte(offset) <= 0x20 {
                offset = StringRuns.endOfWhitespace(in: bytes, from: offset)
                guard offset <= last else { break elements }
            }
            let byte = bytes.uncheckedByte(offset)
            if byte == UInt8(ascii: ",") {
                if count == capacity {
                    unsafe element.pointee.move(memory, count, to: address, isMade: isMade)
                    (count, isMade) = (0, true)
                }
                offset = PlainSkip.endOfGap(bytes, from: offset &+ 1)
                continue
            }
            guard byte == UInt8(ascii: "]") else { break elements }
            unsafe element.pointee.move(memory, count, to: address, isMade: isMade)
            return offset &+ 1
        }
        unsafe element.pointee.deinitialize(memory, count)
        if isMade { unsafe shape.pointee.deinitialize(address) }
        return -1
    }

    /// Stores an array of one to four short reals, such as a point, without its own level. If that isn't possible,
    /// stores nothing.
    private static func storeFewReals(
        _ bytes: RawSpan, from start: Int, _ element: UnsafePointer<RecordShape>, to address: UnsafeMutableRawPointer,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Int {
        // Bounds: as in `RecordState.enter`, which fails in the same cases.
        let end = bytes.byteCount &- JSONScanner.margin
        let last = unsafe state.pointee.level == 0 ? end : state.pointee.last
        guard unsafe state.pointee.depth > 0, start < last else { return -1 }
        var values = SIMD4<Double>()
        // SAFETY: the memory holds four values, and is copied to the array.
        return unsafe withUnsafeMutableBytes(of: &values) { buffer in
            guard let memory = buffer.baseAddress else { return -1 }
            let reals = unsafe storeReals(bytes, from: start &+ 1, last, to: memory, 4)
            guard reals.count > 0, reals.offset <= last, bytes.uncheckedByte(reals.offset) == UInt8(ascii: "]")
            else { return -1 }
            unsafe element.pointee.makeArray(of: memory, reals.count, at: address)
            return reals.offset &+ 1
        }
    }

    /// Stores zero or more consecutive short reals, up to the capacity of the memory.
    @inline(never)  // PERF: JSONTyped/coordinates; a loop with registers of its own.
    private static func storeReals(
        _ bytes: RawSpan, from start: Int, _ last: Int, to address: UnsafeMutableRawPointer, _ capacity: Int
    ) -> (count: Int, offset: Int) {
        let powers = SmallPowers.table
        var count = 0
        var offset = start
        var end = start
        while true {
            let number = JSONNumber.scanReal(bytes, from: offset, powers: powers)
            guard number.isReal else {
                guard count > 0, offset == end &+ 1, bytes.uncheckedByte(offset) == 0x20 else { break }
                offset &+= 1
                continue
            }
            let follower = bytes.uncheckedByte(number.end)
            if follower != UInt8(ascii: ","), JSONNumber.isExponent(follower) { break }
            // SAFETY: the memory has capacity for at least one, and for each that is begun.
            unsafe address.storeBytes(of: number.value, toByteOffset: count &<< 3, as: Double.self)
            count &+= 1
            end = number.end
            guard count < capacity, end <= last, follower == UInt8(ascii: ",") else { break }
            offset = end &+ 1
        }
        return (count, end)
    }

    /// Stores one or more consecutive objects, up to the capacity of the memory.
    private static func storeObjects(
        _ bytes: RawSpan, from start: Int, _ shape: UnsafePointer<RecordShape>, to address: UnsafeMutableRawPointer,
        _ capacity: Int, _ state: UnsafeMutablePointer<RecordState>
    ) -> (count: Int, offset: Int) {
        guard bytes.uncheckedByte(start) == UInt8(ascii: "{"),
            let inner = unsafe state.pointee.enter(start, last: bytes.byteCount &- JSONScanner.margin),
            unsafe inner.pointee.provide(shape, at: address, capacity: capacity) > 0
        else { return (0, -1) }
        let end = unsafe scan(bytes, from: start, into: inner, isInArray: true)
        if !end.isOpen { return unsafe (inner.pointee.doneCount, end.offset) }
        unsafe inner.pointee.abandon(shape, at: address)
        return (0, -1)
    }

    // MARK: Dictionaries

    private static func storeDictionary(
        _ bytes: RawSpan, from start: Int, _ shape: UnsafePointer<RecordShape>, to address: UnsafeMutableRawPointer,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Int {
        guard let inner = unsafe state.pointee.enter(start, last: bytes.byteCount &- JSONScanner.margin),
            let element = unsafe shape.pointee.element
        else { return -1 }
        let (last, limit) = unsafe (inner.pointee.last, state.pointee.limit)
        guard unsafe element.pointee.capacity > 0 else { return -1 }
        let memory = unsafe RecordState.elementMemory(inner)
        unsafe element.pointee.makeDictionary(address)
        var offset = PlainSkip.endOfGap(bytes, from: start &+ 1)
        if offset <= last, bytes.uncheckedByte(offset) == UInt8(ascii: "}") { return offset &+ 1 }
        while offset <= last, bytes.uncheckedByte(offset) == UInt8(ascii: "\"") {
            let name = offset &+ 1
            let end = StringRuns.closingQuote(in: bytes, from: name)
            guard end >= 0, end &- name <= limit, end <= last else { break }
            offset = PlainSkip.endOfGap(bytes, from: end &+ 1)
            guard offset <= last, bytes.uncheckedByte(offset) == UInt8(ascii: ":") else { break }
            offset = PlainSkip.endOfGap(bytes, from: offset &+ 1)
            guard offset <= last else { break }
            offset = unsafe storeValue(bytes, from: offset, element, to: memory, inner)
            guard offset >= 0 else { break }
            unsafe element.pointee.insert(memory, bytes.extracting(name..<end), to: address)
            guard offset <= last else { break }
            offset = PlainSkip.endOfGap(bytes, from: offset)
            guard offset <= last else { break }
            let byte = bytes.uncheckedByte(offset)
            if byte == UInt8(ascii: "}") { return offset &+ 1 }
            guard byte == UInt8(ascii: ",") else { break }
            offset = PlainSkip.endOfGap(bytes, from: offset &+ 1)
        }
        unsafe shape.pointee.deinitialize(address)
        return -1
    }

    // MARK: Scalars

    /// Stores a string; a short ASCII string without a call.
    @inline(__always)  // PERF: JSONTyped/documents; once an element.
    private static func storeString(
        _ bytes: RawSpan, from start: Int, _ shape: UnsafePointer<RecordShape>, to address: UnsafeMutableRawPointer,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Int {
        guard bytes.uncheckedByte(start) == UInt8(ascii: "\"") else { return -1 }
        var (words, count) = shortText(bytes, from: start)
        guard count >= 0 else { return unsafe storeScalar(bytes, from: start, shape, to: address, state) }
        words.1 |= SmallText.mark(count)
        unsafe SmallText.store(words, to: address, isInitialized: false)
        return start &+ count &+ 2
    }

    /// Stores an integer of up to 15 digits without checking for other kinds of values.
    @inline(__always)  // PERF: JSONTyped/catalogue; once an element.
    private static func storeInteger(
        _ bytes: RawSpan, from start: Int, _ shape: UnsafePointer<RecordShape>, to address: UnsafeMutableRawPointer,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Int {
        let end = unsafe storeDigits(bytes, from: start, to: address)
        return end >= 0 ? end : unsafe storeScalar(bytes, from: start, shape, to: address, state)
    }

    /// Stores an integer of up to 15 digits without a sign, and returns the offset after it, or -1 otherwise.
    @inline(__always)  // PERF: JSONTyped/catalogue; once a number.
    static func storeDigits(_ bytes: RawSpan, from start: Int, to address: UnsafeMutableRawPointer) -> Int {
        let zeros: UInt64 = 0x3030_3030_3030_3030
        let first = bytes.uncheckedWord(start) ^ zeros
        let firstOthers = ((first &+ 0x7676_7676_7676_7676) | first) & 0x8080_8080_8080_8080
        // 0 may not have further digits.
        guard first & 0xFF != 0 || firstOthers.trailingZeroBitCount == 15 else { return -1 }
        let end: Int
        let value: Int64
        if firstOthers != 0 {
            let count = firstOthers.trailingZeroBitCount &>> 3
            guard count > 0 else { return -1 }
            end = start &+ count
            value = DigitWords.integer(of: first, count: count)
        } else {
            let second = bytes.uncheckedWord(start &+ 8) ^ zeros
            let others = ((second &+ 0x7676_7676_7676_7676) | second) & 0x8080_8080_8080_8080
            guard others != 0 else { return -1 }
            // The last eight digits, and those before them.
            let count = others.trailingZeroBitCount &>> 3
            end = start &+ 8 &+ count
            let high = count == 0 ? 0 : DigitWords.integer(of: first, count: count)
            value = high &* 100_000_000 &+ Int64(bitPattern: DigitWords.value(of: bytes.uncheckedWord(end &- 8)))
        }
        let follower = bytes.uncheckedByte(end)
        guard follower != UInt8(ascii: "."), follower | 0x20 != UInt8(ascii: "e") else { return -1 }
        unsafe address.storeBytes(of: value, as: Int64.self)
        return end
    }

    /// Stores an integer as `storeDigits` does.
    @inline(never)  // PERF: JSONTyped/catalogue; a function that is small enough to need no registers of its own.
    static func storeInteger(_ bytes: RawSpan, from start: Int, to address: UnsafeMutableRawPointer) -> Int {
        unsafe storeDigits(bytes, from: start, to: address)
    }

    /// Stores a scalar: quickly if its kind permits, otherwise with a message.
    private static func storeScalar(
        _ bytes: RawSpan, from start: Int, _ shape: UnsafePointer<RecordShape>, to address: UnsafeMutableRawPointer,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Int {
        let end = unsafe storeFast(
            bytes, from: start, shape.pointee.fast, column: nil, address, row: 0, isInitialized: false,
            limit: state.pointee.limit, TokenMasks.known(to: state))
        if end >= 0 { return end }
        return unsafe storeMessage(bytes, from: start, shape, to: address, state)
    }

    /// Stores the result of a type's plan for a scalar; null always needs messages.
    @inline(never)
    private static func storeMessage(
        _ bytes: RawSpan, from start: Int, _ shape: UnsafePointer<RecordShape>, to address: UnsafeMutableRawPointer,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Int {
        let byte = bytes.uncheckedByte(start)
        switch bytes.uncheckedHalf(start) {
        case 0x6575_7274:
            return unsafe shape.pointee.read(.bool(true), to: address) ? start &+ 4 : -1
        case 0x736C_6166 where bytes.uncheckedByte(start &+ 4) == UInt8(ascii: "e"):
            return unsafe shape.pointee.read(.bool(false), to: address) ? start &+ 5 : -1
        default:
            break
        }
        if byte == UInt8(ascii: "\"") {
            let limit = unsafe state.pointee.limit
            let quote = StringRuns.closingQuote(in: bytes, from: start &+ 1)
            if quote >= 0, quote &- start &- 1 <= limit {
                guard quote &+ 1 < bytes.byteCount else { return -1 }
                // SAFETY: the pointer does not leave the closure.
                return unsafe bytes.extracting(start &+ 1..<quote).withUnsafeBytes { text in
                    unsafe shape.pointee.read(.string(text), to: address) ? quote &+ 1 : -1
                }
            }
            let end = unsafe StringEscapes.unescape(bytes, from: start &+ 1, into: &state.pointee.text, limit: limit)
            guard end >= 0, end < bytes.byteCount else { return -1 }
            return unsafe state.pointee.text.withUnsafeBytes { text in
                unsafe shape.pointee.read(.string(text), to: address) ? end : -1
            }
        }
        guard byte == UInt8(ascii: "-") || byte &- 0x30 <= 9 else { return -1 }
        let end = PlainSkip.endOfNumber(bytes, from: start)
        guard end >= 0 else { return -1 }
        // SAFETY: as above.
        return unsafe bytes.extracting(start..<end).withUnsafeBytes { text in
            unsafe shape.pointee.read(JSONNumber.message(text), to: address) ? end : -1
        }
    }
}
