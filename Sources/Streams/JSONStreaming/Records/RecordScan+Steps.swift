// The steps of a record scan: a name, its value, the text after it, and the start of another record. They are inlined
// into one loop whose state is in registers. Unexpected text stops the loop.

import PlistBuilding
import PlistStreaming

extension RecordScan {
    /// The result of a step.
    enum Step {
        /// The step found the expected text.
        case goesOn
        /// The closing brace of the record, which is complete.
        case ends
        /// Text that must be sent as messages.
        case stops
    }

    /// The data that is constant for all records of a scan.
    @unsafe
    struct Frame {
        let state: UnsafeMutablePointer<RecordState>
        let firstMember: UnsafeMutablePointer<RecordMember>
        /// The text that probably precedes each member; followed by the texts before the end and before another record.
        let firstPrefix: UnsafeMutablePointer<RepeatedPrefix>
        let memberCount: Int
        /// The last offset to examine.
        let last: Int
        let complete: UInt64
        let capacity: Int
        let stride: Int
        let isSpaced: Bool
        let isInitialized: Bool
        let makes: Bool
        let delivers: Bool

        @inline(__always)  // PERF: JSONRecords; the steps are one function.
        init(
            _ bytes: RawSpan, _ state: UnsafeMutablePointer<RecordState>, _ first: UnsafeMutablePointer<RecordMember>,
            isInArray: Bool, isSpaced: Bool
        ) {
            unsafe self.state = unsafe state
            unsafe firstMember = unsafe first
            // Whitespace, if any, is compared together with the names. SAFETY: without whitespace, the pointer isn't
            // dereferenced.
            unsafe firstPrefix =
                unsafe isSpaced
                ? state.pointee.prefixes(of: first)
                : UnsafeMutableRawPointer(first).assumingMemoryBound(to: RepeatedPrefix.self)
            unsafe memberCount = unsafe state.pointee.memberCount
            // Bounds: as in the fast loop, an offset up to `last` has `margin` bytes after it. A name of up to 16 bytes
            // and a value of up to 17, with the next byte, fit into the margin. Longer text is compared with the count
            // again.
            let isNested = unsafe state.pointee.level > 0
            unsafe last = unsafe isNested ? state.pointee.last : bytes.byteCount &- JSONScanner.margin
            unsafe complete = unsafe state.pointee.complete
            unsafe capacity = unsafe isInArray ? state.pointee.capacity : min(state.pointee.capacity, 1)
            unsafe stride = unsafe state.pointee.stride
            unsafe self.isSpaced = isSpaced
            unsafe isInitialized = unsafe state.pointee.isInitialized
            unsafe makes = unsafe state.pointee.makes
            unsafe delivers = unsafe state.pointee.delivers
        }
    }

    /// The progress of a scan.
    @unsafe
    struct Cursor {
        var offset: Int
        /// The offset after the last complete record, or after the last stored member of the open one.
        var resume: Int
        /// The number of complete records.
        var doneCount = 0
        /// The address of the current record, or of the reference to it.
        var base: Int
        var reference: UnsafeMutableRawPointer
        /// The current or expected member, and the text that probably precedes it.
        var member: UnsafeMutablePointer<RecordMember>
        var prefix: UnsafeMutablePointer<RepeatedPrefix>
        /// The members found so far, including the current one, noted from the first name that isn't the expected one.
        /// Until then, the order of the members is enough. A member that isn't stored is removed after the loop.
        var seen: UInt64 = 0
        var unstored: UInt64 = 0

        @inline(__always)  // PERF: see above.
        init(_ frame: Frame, _ start: Int) {
            unsafe (offset, resume) = (start, start &+ 1)
            unsafe (base, reference) = unsafe (frame.state.pointee.base, frame.state.pointee.reference)
            unsafe (member, prefix) = unsafe (frame.firstMember, frame.firstPrefix)
        }

        /// Begins a record at its brace.
        @inline(__always)  // PERF: see above.
        mutating func begin(_ frame: Frame) {
            unsafe offset &+= 1
            unsafe resume = offset
            unsafe (member, prefix) = unsafe (frame.firstMember, frame.firstPrefix)
            unsafe seen = 0
        }

        /// Notes that the current member isn't stored.
        @inline(__always)  // PERF: see above.
        mutating func leaveMember(_ frame: Frame) {
            unsafe unstored = unsafe RecordScan.bit(member - frame.firstMember)
        }

        /// The stored members, if there is no current one.
        @inline(__always)  // PERF: see above.
        func stored(_ frame: Frame) -> UInt64 {
            unsafe seen == 0 ? RecordScan.bits(member - frame.firstMember) : seen
        }
    }

    // MARK: Names

    /// Moves past a name and its colon, to the first byte of the value.
    @inline(__always)  // PERF: JSONRecords; once a member.
    static func readName(_ bytes: RawSpan, _ frame: Frame, _ cursor: inout Cursor) -> Step {
        let start = unsafe cursor.offset
        if unsafe frame.isSpaced && cursor.seen == 0 && matches(cursor.prefix, cursor.member, bytes, start) {
            unsafe cursor.offset &+= cursor.prefix.pointee.count
            return unsafe cursor.offset <= frame.last ? .goesOn : .stops
        }
        let member = unsafe cursor.member
        let first = unsafe (bytes.uncheckedWord(start) ^ member.pointee.words.0) & member.pointee.masks.0
        let second = unsafe (bytes.uncheckedWord(start &+ 8) ^ member.pointee.words.1) & member.pointee.masks.1
        if unsafe first | second | member.pointee.isLong | cursor.seen != 0 {
            let step = unsafe findName(bytes, frame, &cursor)
            guard step == .goesOn else { return step }
        }
        unsafe cursor.offset &+= cursor.member.pointee.length
        if unsafe bytes.uncheckedByte(cursor.offset) <= 0x20 {
            unsafe cursor.offset = endOfWhitespace(in: bytes, from: cursor.offset)
            guard unsafe cursor.offset <= frame.last else {
                unsafe cursor.leaveMember(frame)
                return .stops
            }
        }
        if unsafe frame.isSpaced && cursor.offset &- start <= RepeatedPrefix.capacity {
            unsafe note(bytes, start..<cursor.offset, cursor.prefix, cursor.member)
        }
        return .goesOn
    }

    /// Moves to a name that isn't the expected one, or to the closing brace.
    @inline(__always)  // PERF: JSONTyped/posts; see above.
    private static func findName(_ bytes: RawSpan, _ frame: Frame, _ cursor: inout Cursor) -> Step {
        let expected = unsafe cursor.member - frame.firstMember
        let stored = unsafe cursor.stored(frame)
        let found = unsafe find(
            bytes, from: cursor.offset, frame.last, frame.state, frame.firstMember, expected, stored)
        if found.index < 0 {
            // The closing brace, after the opening brace or after a skipped member.
            guard found.index == ended else { return .stops }
            unsafe cursor.offset = found.offset
            return unsafe complete(frame, cursor, stored)
        }
        if unsafe found.index != expected || cursor.seen != 0 { unsafe cursor.seen = stored | bit(found.index) }
        unsafe cursor.offset = found.offset
        unsafe cursor.member = unsafe frame.firstMember + found.index
        unsafe cursor.prefix = unsafe frame.firstPrefix + found.index
        return .goesOn
    }

    /// Completes a record with only some stored members, if that is allowed.
    @inline(__always)  // PERF: see above.
    private static func complete(_ frame: Frame, _ cursor: Cursor, _ stored: UInt64) -> Step {
        unsafe stored & frame.complete == frame.complete
            || frame.state.pointee.fillMissing(cursor.base, seen: stored) ? .ends : .stops
    }

    // MARK: Values

    /// Stores a value, or reports that it must be sent as messages.
    @inline(__always)  // PERF: JSONRecords; once a member.
    static func storeValue(_ bytes: RawSpan, _ frame: Frame, _ cursor: inout Cursor) -> Bool {
        // SAFETY: see `scan`.
        let address = unsafe UnsafeMutableRawPointer(bitPattern: cursor.base &+ cursor.member.pointee.offset)
            .unsafelyUnwrapped
        let offset = unsafe cursor.offset
        let byte = bytes.uncheckedByte(offset)
        if unsafe cursor.member.pointee.kind == .integer {
            let digits = bytes.uncheckedWord(offset) ^ 0x3030_3030_3030_3030
            let others = ((digits &+ 0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080
            let count = others.trailingZeroBitCount &>> 3
            // From one to seven digits; 0 only alone.
            if UInt(bitPattern: count &- 1) < 7, byte != UInt8(ascii: "0") || count == 1 {
                // With a fraction or an exponent it is a different number, which doesn't count as stored.
                let follower = bytes.uncheckedByte(offset &+ count)
                if follower == UInt8(ascii: ".") || follower | 0x20 == UInt8(ascii: "e") {
                    unsafe cursor.leaveMember(frame)
                    return false
                }
                unsafe address.storeBytes(of: DigitWords.integer(of: digits, count: count), as: Int64.self)
                unsafe cursor.offset = offset &+ count
                return true
            }
            let end = unsafe storeInteger(bytes, from: offset, to: address)
            if end >= 0 {
                unsafe cursor.offset = end
                return true
            }
        } else if unsafe cursor.member.pointee.kind.isText, byte == UInt8(ascii: "\"") {
            let end = unsafe storeShort(bytes, from: offset, cursor.member, address, frame.isInitialized)
            if end >= 0 {
                unsafe cursor.offset = end
                return true
            }
        }
        let end = unsafe storeOther(
            bytes, from: offset, to: cursor.member, address, row: cursor.doneCount,
            isInitialized: frame.isInitialized, frame.state)
        guard end >= 0 else {
            unsafe cursor.leaveMember(frame)
            return false
        }
        unsafe cursor.offset = end
        return true
    }

    /// Stores a string of up to 15 plain bytes, and returns the offset after it, or -1 for any other value.
    @inline(__always)  // PERF: JSONRecords; once a string.
    private static func storeShort(
        _ bytes: RawSpan, from offset: Int, _ member: UnsafeMutablePointer<RecordMember>,
        _ address: UnsafeMutableRawPointer, _ isInitialized: Bool
    ) -> Int {
        var (words, count) = shortText(bytes, from: offset)
        guard count >= 0 else { return -1 }
        if let column = unsafe member.pointee.column {
            unsafe ColumnBuffer.append(words, count, to: column, endAt: address)
        } else {
            words.1 |= SmallText.mark(count)
            unsafe SmallText.store(words, to: address, isInitialized: isInitialized)
        }
        return offset &+ count &+ 2
    }

    /// Returns the text of up to 15 plain bytes after a quote, padded with zeros to 16, and its length, or -1
    /// otherwise.
    @inline(__always)  // PERF: see above.
    static func shortText(_ bytes: RawSpan, from quote: Int) -> (words: (UInt64, UInt64), count: Int) {
        let low = bytes.uncheckedWord(quote &+ 1)
        var special = StringRuns.specialBytes(in: low)
        var count = special.trailingZeroBitCount &>> 3
        var words: (UInt64, UInt64)
        if count < 8 {
            words = (low & mask(count), 0)
        } else {
            let high = bytes.uncheckedWord(quote &+ 9)
            special = StringRuns.specialBytes(in: high)
            count = special.trailingZeroBitCount &>> 3
            words = (low, high & mask(count & 7))
            count &+= 8
        }
        let isPlain = special != 0 && bytes.uncheckedByte(quote &+ 1 &+ count) == UInt8(ascii: "\"")
        return (words, isPlain ? count : -1)
    }

    /// Returns a mask of the given number of lowest bytes, at most seven.
    @inline(__always)  // PERF: JSONRecords; once a string.
    private static func mask(_ count: Int) -> UInt64 { (1 &<< UInt64(truncatingIfNeeded: count &<< 3)) &- 1 }

    // MARK: Delimiters

    /// Moves past the comma after a value, or to the closing brace.
    @inline(__always)  // PERF: JSONRecords; once a member.
    static func readFollower(_ bytes: RawSpan, _ frame: Frame, _ cursor: inout Cursor) -> Step {
        let start = unsafe cursor.offset
        unsafe cursor.resume = start
        unsafe cursor.member += 1
        unsafe cursor.prefix += 1
        var byte = bytes.uncheckedByte(start)
        if byte == UInt8(ascii: ",") {
            unsafe cursor.offset = start &+ 1
            return .goesOn
        }
        let (endMember, endPrefix) = unsafe (
            frame.firstMember + frame.memberCount, frame.firstPrefix + frame.memberCount + 1
        )
        if byte != UInt8(ascii: "}") {
            if unsafe frame.isSpaced && start <= frame.last && matches(endPrefix, endMember, bytes, start) {
                unsafe cursor.offset = unsafe start &+ endPrefix.pointee.count &- 1
            } else {
                let offset = endOfWhitespace(in: bytes, from: start)
                unsafe cursor.offset = offset
                guard unsafe offset <= frame.last else { return .stops }
                byte = bytes.uncheckedByte(offset)
                if byte == UInt8(ascii: ",") {
                    unsafe cursor.offset = offset &+ 1
                    return .goesOn
                }
                guard byte == UInt8(ascii: "}") else { return .stops }
                if unsafe frame.isSpaced { unsafe note(bytes, start..<offset &+ 1, endPrefix, endMember) }
            }
        }
        // The enclosing level checks the byte after the record.
        guard unsafe cursor.offset &+ 1 < bytes.byteCount else { return .stops }
        // All members were found in order.
        if unsafe cursor.seen == 0 && cursor.member == endMember { return .ends }
        return unsafe complete(frame, cursor, cursor.stored(frame))
    }

    /// Moves to the brace of another record, if there is one.
    @inline(__always)  // PERF: JSONRecords; once a record.
    static func findRecord(_ bytes: RawSpan, _ frame: Frame, _ cursor: inout Cursor) -> Bool {
        let comma = unsafe cursor.offset
        guard unsafe comma <= frame.last, bytes.uncheckedByte(comma) == UInt8(ascii: ",") else { return false }
        var offset = comma &+ 1
        if unsafe frame.isSpaced {
            let (endMember, nextPrefix) = unsafe (
                frame.firstMember + frame.memberCount, frame.firstPrefix + frame.memberCount + 2
            )
            if unsafe matches(nextPrefix, endMember + 1, bytes, comma) {
                offset = unsafe comma &+ nextPrefix.pointee.count &- 1
            } else {
                offset = endOfWhitespace(in: bytes, from: offset)
                if unsafe offset <= frame.last, bytes.uncheckedByte(offset) == UInt8(ascii: "{") {
                    unsafe note(bytes, comma..<offset &+ 1, nextPrefix, endMember + 1)
                }
            }
        } else if bytes.uncheckedByte(offset) <= 0x20 {
            offset = endOfWhitespace(in: bytes, from: offset)
        }
        guard unsafe offset <= frame.last, bytes.uncheckedByte(offset) == UInt8(ascii: "{") else { return false }
        unsafe cursor.offset = offset
        return true
    }

    @inline(never)  // PERF: JSONRecords; kept out of the loop, so that the loop's registers suffice.
    private static func endOfWhitespace(in bytes: RawSpan, from start: Int) -> Int {
        // After a value, fewer bytes than the margin may be left.
        start <= bytes.byteCount &- JSONScanner.margin
            ? PlainSkip.endOfGap(bytes, from: start) : StringRuns.endOfWhitespace(in: bytes, from: start)
    }
}
