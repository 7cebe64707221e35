// Records of plain members, stored straight into the memory that a builder lends: names are compared with the expected
// ones instead of searched for, and values go from the text to their place without a message.
// Like the fast loop, it reports no errors: it stops behind the last member it has stored and leaves the rest to others.

import PlistBuilding
import PlistStreaming

/// The scan of dictionaries whose members a builder has laid out in memory.
@usableFromInline
struct RecordScan {
    /// Where the scan stopped.
    @usableFromInline
    struct End {
        /// The offset behind the last complete record, or behind the last stored member of the open one.
        @usableFromInline let offset: Int
        /// Whether a record is begun and not complete.
        @usableFromInline let isOpen: Bool
        /// Whether a member of the open record is stored; without one the offset is behind its brace.
        @usableFromInline let isAfterValue: Bool
    }

    /// Stores records from an opening brace on, at most as many as there is memory for.
    ///
    /// - Parameters:
    ///   - start: The offset of an opening brace, with `JSONScanner.margin` bytes behind it.
    ///   - isInArray: Whether more records may follow after a comma.
    ///   - limit: The longest string in bytes.
    ///   - depth: The levels of containers that may be within a record.
    @usableFromInline
    static func scan(
        _ bytes: RawSpan, from start: Int, into port: RecordPort, isInArray: Bool, limit: Int, depth: Int
    ) -> End {
        // SAFETY: the builder has made the state for records that lie in its memory; what is trusted of it is that
        // each member with a kind has memory for that kind at its offset from each of the records there is room for.
        let state = unsafe port.records
        unsafe state.pointee.limit = limit
        unsafe state.pointee.depth = min(state.pointee.depth, depth)
        let end = unsafe scan(bytes, from: start, into: state, isInArray: isInArray)
        if !end.isOpen {
            let byteCount = unsafe (end.offset &- start) / max(1, state.pointee.doneCount)
            unsafe state.pointee.expectedCount = (bytes.byteCount &- end.offset) / max(1, byteCount)
        }
        return end
    }

    /// Stores arrays that follow each other, from an opening bracket on, at most as many as there is memory for.
    ///
    /// - Returns: The offset behind the last complete array, or `start`.
    @usableFromInline
    static func scanArrays(_ bytes: RawSpan, from start: Int, into port: RecordPort, limit: Int, depth: Int) -> Int {
        // SAFETY: as for records: there is memory for `room` values of this type from the base on.
        let state = unsafe port.records
        unsafe state.pointee.doneCount = 0
        unsafe state.pointee.limit = limit
        unsafe state.pointee.depth = min(state.pointee.depth, depth)
        guard let shape = unsafe state.pointee.arrays else { return start }
        let (room, stride) = unsafe (state.pointee.room, state.pointee.stride)
        let last = bytes.byteCount &- JSONScanner.margin
        var count = 0
        var offset = start
        var resume = start
        while true {
            let address = unsafe state.pointee.reference + count &* stride
            offset = unsafe storeValue(bytes, from: offset, shape, to: address, state)
            guard offset >= 0 else { break }
            count &+= 1
            resume = offset
            // The next array, if there is one, and memory for it.
            guard count < room, offset <= last else { break }
            offset = PlainSkip.endOfGap(bytes, from: offset)
            guard offset <= last, bytes.uncheckedByte(offset) == UInt8(ascii: ",") else { break }
            offset = PlainSkip.endOfGap(bytes, from: offset &+ 1)
            guard offset <= last, bytes.uncheckedByte(offset) == UInt8(ascii: "[") else { break }
        }
        unsafe state.pointee.doneCount = count
        return resume
    }

    /// Stores records into memory that is described by a state, in which it tells what it has stored.
    static func scan(
        _ bytes: RawSpan, from start: Int, into state: UnsafeMutablePointer<RecordState>, isInArray: Bool
    ) -> End {
        guard let firstMember = unsafe state.pointee.members else {
            unsafe (state.pointee.doneCount, state.pointee.isOpen) = (0, true)
            unsafe (state.pointee.seen, state.pointee.next) = (0, 0)
            return End(offset: start + 1, isOpen: true, isAfterValue: false)
        }
        // Bounds: as in the fast loop, an offset up to `last` has `margin` bytes behind it. A name of up to 16 bytes and
        // a value of up to 17, with the byte behind it, are less; what is longer is compared with the count again.
        let isNested = unsafe state.pointee.level > 0
        let last = unsafe isNested ? state.pointee.last : bytes.byteCount &- JSONScanner.margin
        let isInitialized = unsafe state.pointee.isInitialized
        let complete = unsafe state.pointee.complete
        let room = unsafe isInArray ? state.pointee.room : min(state.pointee.room, 1)
        // PERF: not optional, since unwrapping a closure counts a reference, which is the slowest thing in this loop.
        let (makes, make) = unsafe (state.pointee.makes, state.pointee.make)
        let (delivers, deliver) = unsafe (state.pointee.delivers, state.pointee.deliver)
        var (base, reference) = unsafe (state.pointee.base, state.pointee.reference)
        let firstLength = unsafe state.pointee.lengths
        var doneCount = 0
        var offset = start
        var resume = start &+ 1
        var member = unsafe firstMember
        // Members come in their order until a name is not the expected one; then they are searched for and noted.
        var isSearching: UInt64 = 0
        var seen: UInt64 = 0

        records: while true {
            offset &+= 1
            resume = offset
            unsafe member = firstMember
            var length = unsafe firstLength
            isSearching = 0
            members: while true {
                guard offset <= last else { break records }
                let first = unsafe (bytes.uncheckedWord(offset) ^ member.pointee.words.0) & member.pointee.masks.0
                let next = bytes.uncheckedWord(offset &+ 8)
                let second = unsafe (next ^ member.pointee.words.1) & member.pointee.masks.1
                if unsafe first | second | member.pointee.isLong | isSearching != 0 {
                    let expected = unsafe member - firstMember
                    if isSearching == 0 { seen = Self.bits(expected) }
                    let found = unsafe find(bytes, from: offset, last, state, firstMember, expected, seen)
                    if found.index < 0 {
                        // The closing brace, behind the opening one or behind a member that was skipped.
                        isSearching = 1
                        guard found.index == Self.ended else { break records }
                        offset = found.offset
                        guard unsafe seen & complete == complete || state.pointee.fillMissing(base, seen: seen) else {
                            break records
                        }
                        break members
                    }
                    if found.index != expected { isSearching = 1 }
                    offset = found.offset
                    unsafe member = firstMember + found.index
                    unsafe length = firstLength + found.index
                }
                unsafe offset &+= member.pointee.length
                var byte = bytes.uncheckedByte(offset)
                if byte <= 0x20 {
                    offset = endOfWhitespace(in: bytes, from: offset)
                    guard offset <= last else { break records }
                    byte = bytes.uncheckedByte(offset)
                }
                let address = unsafe UnsafeMutableRawPointer(bitPattern: base &+ member.pointee.offset)
                    .unsafelyUnwrapped

                value: do {
                    if unsafe member.pointee.kind == .integer {
                        let digits = bytes.uncheckedWord(offset) ^ 0x3030_3030_3030_3030
                        let others = ((digits &+ 0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080
                        var count = unsafe length.pointee.count
                        if unsafe others & (0 &- others) != length.pointee.mark {
                            count = unsafe length.pointee.note(others)
                        }
                        // From one to seven digits; 0 only alone.
                        if UInt(bitPattern: count &- 1) < 7, byte != UInt8(ascii: "0") || count == 1 {
                            // A fraction or an exponent makes it another number, which is not counted as stored.
                            let follower = bytes.uncheckedByte(offset &+ count)
                            if follower == UInt8(ascii: ".") || follower | 0x20 == UInt8(ascii: "e") { break records }
                            unsafe address.storeBytes(of: DigitWords.integer(of: digits, count: count), as: Int64.self)
                            offset &+= count
                            break value
                        }
                    } else if unsafe member.pointee.kind.isText, byte == UInt8(ascii: "\"") {
                        let low = bytes.uncheckedWord(offset &+ 1)
                        var special = StringRuns.specialBytes(in: low)
                        var count = unsafe length.pointee.count
                        if unsafe special & (0 &- special) != length.pointee.mark {
                            count = unsafe length.pointee.note(special)
                        }
                        var words: (UInt64, UInt64)
                        if count < 8 {
                            words = (low & Self.mask(count), 0)
                        } else {
                            let high = bytes.uncheckedWord(offset &+ 9)
                            special = StringRuns.specialBytes(in: high)
                            count = special.trailingZeroBitCount &>> 3
                            words = (low, high & Self.mask(count & 7))
                            count &+= 8
                        }
                        if special != 0, bytes.uncheckedByte(offset &+ 1 &+ count) == UInt8(ascii: "\"") {
                            if let column = unsafe member.pointee.column {
                                unsafe ColumnBuffer.append(words, count, to: column, endAt: address)
                            } else {
                                words.1 |= SmallText.mark(count)
                                unsafe SmallText.store(words, to: address, isInitialized: isInitialized)
                            }
                            offset &+= count &+ 2
                            break value
                        }
                    }
                    let end = unsafe storeOther(
                        bytes, from: offset, to: member, address, row: doneCount, isInitialized: isInitialized, state)
                    guard end >= 0 else { break records }
                    offset = end
                }

                if isSearching != 0 { unsafe seen |= 1 &<< UInt64(truncatingIfNeeded: member - firstMember) }
                resume = offset
                unsafe member += 1
                unsafe length += 1
                byte = bytes.uncheckedByte(offset)
                if byte != UInt8(ascii: ",") {
                    if byte != UInt8(ascii: "}") {
                        offset = endOfWhitespace(in: bytes, from: offset)
                        guard offset <= last else { break records }
                        byte = bytes.uncheckedByte(offset)
                        if byte == UInt8(ascii: ",") {
                            offset &+= 1
                            continue members
                        }
                        guard byte == UInt8(ascii: "}") else { break records }
                    }
                    if isSearching == 0 { seen = unsafe Self.bits(member - firstMember) }
                    guard unsafe seen & complete == complete || state.pointee.fillMissing(base, seen: seen) else {
                        isSearching = 1
                        break records
                    }
                    break members
                }
                offset &+= 1
            }
            offset &+= 1
            doneCount &+= 1
            // The next record, if there is one, memory for it, and someone who takes it.
            var hasNext = doneCount < room
            if delivers { hasNext = deliver() && hasNext }
            if hasNext, offset <= last, bytes.uncheckedByte(offset) == UInt8(ascii: ",") {
                let comma = offset
                offset &+= 1
                if bytes.uncheckedByte(offset) <= 0x20 { offset = endOfWhitespace(in: bytes, from: offset) }
                if offset <= last, bytes.uncheckedByte(offset) == UInt8(ascii: "{") {
                    unsafe base &+= state.pointee.stride
                    if makes {
                        // SAFETY: there is room for one more reference, which is the address of its object.
                        unsafe reference += MemoryLayout<Int>.stride
                        unsafe make(reference)
                        base = unsafe reference.load(as: Int.self)
                    }
                    continue records
                }
                offset = comma
            }
            unsafe state.pointee.doneCount = doneCount
            unsafe state.pointee.isOpen = false
            return End(offset: offset, isOpen: false, isAfterValue: true)
        }
        if isSearching == 0 { seen = unsafe Self.bits(member - firstMember) }
        unsafe state.pointee.doneCount = doneCount
        unsafe state.pointee.isOpen = true
        unsafe state.pointee.seen = seen
        unsafe state.pointee.next = member - firstMember
        return End(offset: resume, isOpen: true, isAfterValue: seen != 0)
    }

    /// So many of the lowest bits.
    @inline(__always)  // PERF: JSONRecords; once a record.
    private static func bits(_ count: Int) -> UInt64 {
        count >= 64 ? .max : (1 &<< UInt64(truncatingIfNeeded: count)) &- 1
    }

    @inline(never)  // PERF: JSONRecords; kept out of the loop, so that the loop's registers suffice.
    private static func endOfWhitespace(in bytes: RawSpan, from start: Int) -> Int {
        // Behind a value, the margin may be less.
        start <= bytes.byteCount &- JSONScanner.margin
            ? PlainSkip.endOfGap(bytes, from: start) : StringRuns.endOfWhitespace(in: bytes, from: start)
    }

    /// The mask of so many of the lowest bytes, seven at the most.
    @inline(__always)  // PERF: JSONRecords; once a string.
    private static func mask(_ count: Int) -> UInt64 { (1 &<< UInt64(truncatingIfNeeded: count &<< 3)) &- 1 }

    /// What stands for the end of a record in the place of a member's index.
    private static var ended: Int { -2 }

    /// Finds the member of which the name is at the offset, behind whitespace and members that are skipped.
    ///
    /// The index is `ended` at the closing brace, where one may be, and -1 for all that messages have to tell: a member
    /// that is stored already or not wanted, or anything but a name.
    @inline(never)
    private static func find(
        _ bytes: RawSpan, from start: Int, _ last: Int, _ state: UnsafeMutablePointer<RecordState>,
        _ members: UnsafeMutablePointer<RecordMember>, _ expected: Int, _ seen: UInt64
    ) -> (index: Int, offset: Int) {
        var offset = start
        if bytes.uncheckedByte(offset) <= 0x20 {
            offset = unsafe endOfLine(bytes, from: offset, &state.pointee.gap)
            guard offset <= last else { return (-1, offset) }
        }
        let member = unsafe members + expected
        let difference = unsafe (bytes.uncheckedWord(offset) ^ member.pointee.words.0) & member.pointee.masks.0
        let difference2 = unsafe (bytes.uncheckedWord(offset &+ 8) ^ member.pointee.words.1) & member.pointee.masks.1
        if unsafe difference | difference2 | member.pointee.isLong == 0 { return found(expected, offset, seen) }
        var skipped = -1
        let found = unsafe findOther(bytes, from: offset, last, state, members, expected, seen, &skipped)
        if skipped >= 0, found.index != -1 {
            let endsRecord = found.index == ended
            unsafe remember(
                bytes, skipped..<(endsRecord ? found.offset &+ 1 : found.offset), before: member,
                endsRecord: endsRecord, state)
        }
        return found
    }

    /// Finds another member than the expected one, or that one behind others.
    ///
    /// - Parameter skipped: Is set to the offset of the first member that was read to be skipped.
    @inline(never)
    private static func findOther(
        _ bytes: RawSpan, from start: Int, _ last: Int, _ state: UnsafeMutablePointer<RecordState>,
        _ members: UnsafeMutablePointer<RecordMember>, _ expected: Int, _ seen: UInt64, _ skipped: inout Int
    ) -> (index: Int, offset: Int) {
        var offset = start
        let place = unsafe state.pointee.repeated.place(before: members + expected)
        var repeated = unsafe place?.pointee.text
        var isRepeated = false
        // Behind a comma there is no end; without a member there was none.
        var mayEnd = seen == 0
        names: while true {
            if bytes.uncheckedByte(offset) <= 0x20 {
                offset = unsafe endOfLine(bytes, from: offset, &state.pointee.gap)
                guard offset <= last else { return (-1, offset) }
            }
            let (first, second) = (bytes.uncheckedWord(offset), bytes.uncheckedWord(offset &+ 8))
            var index = expected
            var member = unsafe members + expected
            let difference = unsafe (first ^ member.pointee.words.0) & member.pointee.masks.0
            let difference2 = unsafe (second ^ member.pointee.words.1) & member.pointee.masks.1
            if difference | difference2 == 0 {
                let length = unsafe member.pointee.length
                if unsafe member.pointee.isLong == 0
                    || length > 16 && offset &+ length <= last && isName(bytes, offset, member)
                {
                    return found(index, offset, seen)
                }
            }
            // Others that were there before, each text of them once.
            if let text = unsafe repeated, let place = unsafe place {
                unsafe repeated = unsafe text.pointee.next
                let end = unsafe skipRepeated(bytes, from: offset, last: last, text, state)
                if end.offset > offset {
                    unsafe place.pointee.failureCount = 0
                    offset = end.offset
                    (mayEnd, isRepeated) = (false, true)
                    if unsafe end.isComplete && text.pointee.endsRecord { return (ended, offset &- 1) }
                } else if unsafe repeated == nil && !isRepeated {
                    unsafe place.pointee.noteFailure()
                }
                continue names
            }
            // Another one, if it has the place of one and its bytes.
            let quote = PlainSkip.closingQuote(ofName: bytes, from: offset, limit: unsafe state.pointee.limit)
            guard quote >= 0, quote <= last, let table = unsafe state.pointee.table else {
                return (mayEnd && UInt8(truncatingIfNeeded: first) == UInt8(ascii: "}") ? ended : -1, offset)
            }
            let length = quote &+ 2 &- offset
            index = unsafe Int(table[RecordMember.place(of: first, length: length)]) &- 1
            while index >= 0 {
                unsafe member = members + index
                let difference = unsafe (first ^ member.pointee.words.0) & member.pointee.masks.0
                let difference2 = unsafe (second ^ member.pointee.words.1) & member.pointee.masks.1
                if difference | difference2 == 0, unsafe member.pointee.length == length,
                    unsafe length <= 16 || isName(bytes, offset, member)
                {
                    return found(index, offset, seen)
                }
                index = unsafe member.pointee.sibling &- 1
            }
            guard unsafe state.pointee.skipsUnknown else { return (-1, offset) }
            if skipped < 0 { skipped = offset }
            offset = PlainSkip.endOfGap(bytes, from: quote &+ 2)
            guard offset <= last else { return (-1, offset) }
            offset = unsafe PlainSkip.endOfValue(
                bytes, from: offset, depth: state.pointee.depth, limit: state.pointee.limit)
            guard offset >= 0, offset <= last else { return (-1, offset) }
            offset = PlainSkip.endOfGap(bytes, from: offset)
            guard offset <= last else { return (-1, offset) }
            mayEnd = false
            switch bytes.uncheckedByte(offset) {
            case UInt8(ascii: ","):
                offset &+= 1
                guard offset <= last else { return (-1, offset) }
            case UInt8(ascii: "}"): return (ended, offset)
            default: return (-1, offset)
            }
        }
    }

    /// The offset behind whitespace that probably is a line end and as many spaces as before the last member.
    @inline(__always)  // PERF: JSONTyped/catalogue; the processor need not wait for the end of the spaces.
    private static func endOfLine(_ bytes: RawSpan, from start: Int, _ gap: inout LineGap) -> Int {
        let spaces: UInt64 = 0x2020_2020_2020_2020
        // Bounds: 33 bytes and the one behind them are within the margin.
        let difference = unsafe (bytes.uncheckedWord(start &+ 1) ^ spaces) & gap.masks.0
        let difference2 = unsafe (bytes.uncheckedWord(start &+ 9) ^ spaces) & gap.masks.1
        let difference3 = unsafe (bytes.uncheckedWord(start &+ 17) ^ spaces) & gap.masks.2
        let difference4 = unsafe (bytes.uncheckedWord(start &+ 25) ^ spaces) & gap.masks.3
        let end = unsafe start &+ gap.count
        if difference | difference2 | difference3 | difference4 == 0, bytes.uncheckedByte(start) == 0x0A,
            bytes.uncheckedByte(end) > 0x20
        {
            return end
        }
        let offset = PlainSkip.endOfGap(bytes, from: start)
        unsafe gap.note(offset &- start)
        return offset
    }

    /// What is found when a member has the name at an offset: that member, unless it is stored already.
    @inline(__always)  // PERF: see find.
    private static func found(_ index: Int, _ offset: Int, _ seen: UInt64) -> (index: Int, offset: Int) {
        (seen & (1 &<< UInt64(truncatingIfNeeded: index)) == 0 ? index : -1, offset)
    }

    /// Whether a name of more than 16 bytes is at the offset, the first 16 of which are; all of it is within the span.
    private static func isName(_ bytes: RawSpan, _ offset: Int, _ member: UnsafeMutablePointer<RecordMember>) -> Bool {
        for place in unsafe 16..<member.pointee.length {
            let byte = unsafe member.pointee.text.load(fromByteOffset: place, as: UInt8.self)
            guard bytes.uncheckedByte(offset &+ place) == byte else { return false }
        }
        return true
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

// The types and texts are in `RecordScan+Tests`.
extension RecordScan: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    static var testSelectors: TestSelectors {
        [
            "testBuildsWhatMessagesBuild": testBuildsWhatMessagesBuild,
            "testHandsOverWhatMessagesHandOver": testHandsOverWhatMessagesHandOver,
            "testFillsColumnsAsMessagesDo": testFillsColumnsAsMessagesDo,
            "testSkipsAnEmptyNameBehindTheLastColumn": testSkipsAnEmptyNameBehindTheLastColumn,
            "testGoesThroughManyRecords": testGoesThroughManyRecords,
            "testNeverChangesAKeptObject": testNeverChangesAKeptObject,
            "testAgreesOnMutatedTexts": testAgreesOnMutatedTexts,
            "testReportsWhereTheReceiverRefused": testReportsWhereTheReceiverRefused,
            "testReleasesWhatItBuilt": testReleasesWhatItBuilt,
        ]
    }
}
#endif
