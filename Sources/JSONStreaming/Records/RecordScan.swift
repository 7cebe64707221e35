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
    ///   - isFirst: Whether no record of these bytes was stored through the same port before.
    @usableFromInline
    static func scan(
        _ bytes: RawSpan, from start: Int, into port: RecordPort, isInArray: Bool, limit: Int, depth: Int,
        isFirst: Bool
    ) -> End {
        // SAFETY: the builder has made the state for records that lie in its memory; what is trusted of it is that
        // each member with a kind has memory for that kind at its offset from each of the records there is room for.
        let state = unsafe port.records
        unsafe state.pointee.limit = limit
        unsafe state.pointee.depth = min(state.pointee.depth, depth)
        unsafe TokenMasks.prepare(state, isFirst: isFirst)
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
    static func scanArrays(
        _ bytes: RawSpan, from start: Int, into port: RecordPort, limit: Int, depth: Int, isFirst: Bool
    ) -> Int {
        // SAFETY: as for records: there is memory for `room` values of this type from the base on.
        let state = unsafe port.records
        unsafe state.pointee.doneCount = 0
        unsafe state.pointee.limit = limit
        unsafe state.pointee.depth = min(state.pointee.depth, depth)
        guard let shape = unsafe state.pointee.arrays else { return start }
        unsafe TokenMasks.prepare(state, isFirst: isFirst)
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
        bytes.uncheckedByte(start &+ 1) > 0x20
            ? unsafe scanDense(bytes, from: start, into: state, isInArray: isInArray)
            : unsafe scanSpaced(bytes, from: start, into: state, isInArray: isInArray)
    }

    // PERF: JSONRecords and JSONTyped/catalogue; the loop for text without whitespace needs all registers.
    @inline(never)
    private static func scanDense(
        _ bytes: RawSpan, from start: Int, into state: UnsafeMutablePointer<RecordState>, isInArray: Bool
    ) -> End {
        unsafe scan(bytes, from: start, into: state, isInArray: isInArray, isSpaced: false)
    }

    @inline(never)
    private static func scanSpaced(
        _ bytes: RawSpan, from start: Int, into state: UnsafeMutablePointer<RecordState>, isInArray: Bool
    ) -> End {
        unsafe scan(bytes, from: start, into: state, isInArray: isInArray, isSpaced: true)
    }

    @inline(__always)
    private static func scan(
        _ bytes: RawSpan, from start: Int, into state: UnsafeMutablePointer<RecordState>, isInArray: Bool,
        isSpaced: Bool
    ) -> End {
        guard let firstMember = unsafe state.pointee.members,
            unsafe state.pointee.longestName <= state.pointee.limit
        else {
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
        // Where there is whitespace, it is compared together with the names.
        // SAFETY: elsewhere the pointer is not looked behind.
        let firstPrefix =
            unsafe isSpaced
            ? state.pointee.prefixes(of: firstMember)
            : UnsafeMutableRawPointer(firstMember).assumingMemoryBound(to: RepeatedPrefix.self)
        let endMember = unsafe firstMember + state.pointee.memberCount
        let endPrefix = unsafe firstPrefix + state.pointee.memberCount + 1
        let nextPrefix = unsafe endPrefix + 1
        var prefix = unsafe firstPrefix
        var doneCount = 0
        var offset = start
        var resume = start &+ 1
        var member = unsafe firstMember
        // Members come in their order until a name is not the expected one; then they are searched for and noted here,
        // the one at hand with them. One that is not stored after all is taken out behind the loop.
        var seen: UInt64 = 0
        var unstored: UInt64 = 0

        records: while true {
            offset &+= 1
            resume = offset
            unsafe member = firstMember
            unsafe prefix = unsafe firstPrefix
            seen = 0
            members: while true {
                guard offset <= last else { break records }
                var byte: UInt8
                name: do {
                    let textStart = offset
                    if isSpaced, seen == 0, unsafe matches(prefix, member, bytes, offset) {
                        unsafe offset &+= prefix.pointee.count
                        guard offset <= last else { break records }
                        byte = bytes.uncheckedByte(offset)
                        break name
                    }
                    let first = unsafe (bytes.uncheckedWord(offset) ^ member.pointee.words.0) & member.pointee.masks.0
                    let next = bytes.uncheckedWord(offset &+ 8)
                    let second = unsafe (next ^ member.pointee.words.1) & member.pointee.masks.1
                    if unsafe first | second | member.pointee.isLong | seen != 0 {
                        let expected = unsafe member - firstMember
                        let stored = seen == 0 ? Self.bits(expected) : seen
                        let found = unsafe find(bytes, from: offset, last, state, firstMember, expected, stored)
                        if found.index < 0 {
                            // The closing brace, behind the opening one or behind a member that was skipped.
                            guard found.index == Self.ended else { break records }
                            offset = found.offset
                            guard unsafe stored & complete == complete || state.pointee.fillMissing(base, seen: stored)
                            else { break records }
                            break members
                        }
                        if found.index != expected || seen != 0 { seen = stored | Self.bit(found.index) }
                        offset = found.offset
                        unsafe member = firstMember + found.index
                        unsafe prefix = unsafe firstPrefix + found.index
                    }
                    unsafe offset &+= member.pointee.length
                    byte = bytes.uncheckedByte(offset)
                    if byte <= 0x20 {
                        offset = endOfWhitespace(in: bytes, from: offset)
                        guard offset <= last else {
                            unstored = unsafe Self.bit(member - firstMember)
                            break records
                        }
                        byte = bytes.uncheckedByte(offset)
                    }
                    if isSpaced, unsafe offset &- textStart <= RepeatedPrefix.capacity {
                        unsafe note(bytes, textStart..<offset, prefix, member)
                    }
                }
                let address = unsafe UnsafeMutableRawPointer(bitPattern: base &+ member.pointee.offset)
                    .unsafelyUnwrapped

                value: do {
                    if unsafe member.pointee.kind == .integer {
                        let digits = bytes.uncheckedWord(offset) ^ 0x3030_3030_3030_3030
                        let others = ((digits &+ 0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080
                        let count = others.trailingZeroBitCount &>> 3
                        // From one to seven digits; 0 only alone.
                        if UInt(bitPattern: count &- 1) < 7, byte != UInt8(ascii: "0") || count == 1 {
                            // A fraction or an exponent makes it another number, which is not counted as stored.
                            let follower = bytes.uncheckedByte(offset &+ count)
                            if follower == UInt8(ascii: ".") || follower | 0x20 == UInt8(ascii: "e") {
                                unstored = unsafe Self.bit(member - firstMember)
                                break records
                            }
                            unsafe address.storeBytes(of: DigitWords.integer(of: digits, count: count), as: Int64.self)
                            offset &+= count
                            break value
                        }
                        let end = unsafe storeInteger(bytes, from: offset, to: address)
                        if end >= 0 {
                            offset = end
                            break value
                        }
                    } else if unsafe member.pointee.kind.isText, byte == UInt8(ascii: "\"") {
                        let low = bytes.uncheckedWord(offset &+ 1)
                        var special = StringRuns.specialBytes(in: low)
                        var count = special.trailingZeroBitCount &>> 3
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
                    guard end >= 0 else {
                        unstored = unsafe Self.bit(member - firstMember)
                        break records
                    }
                    offset = end
                }

                resume = offset
                unsafe member += 1
                unsafe prefix += 1
                byte = bytes.uncheckedByte(offset)
                if byte != UInt8(ascii: ",") {
                    spaced: if byte != UInt8(ascii: "}") {
                        let textStart = offset
                        if isSpaced, offset <= last, unsafe matches(endPrefix, endMember, bytes, offset) {
                            unsafe offset &+= endPrefix.pointee.count &- 1
                            break spaced
                        }
                        offset = endOfWhitespace(in: bytes, from: offset)
                        guard offset <= last else { break records }
                        byte = bytes.uncheckedByte(offset)
                        if byte == UInt8(ascii: ",") {
                            offset &+= 1
                            continue members
                        }
                        guard byte == UInt8(ascii: "}") else { break records }
                        if isSpaced { unsafe note(bytes, textStart..<offset &+ 1, endPrefix, endMember) }
                    }
                    // Whoever is around the record looks at what follows it.
                    guard offset &+ 1 < bytes.byteCount else { break records }
                    // All members came, in their order.
                    if unsafe seen == 0 && member == endMember { break members }
                    let stored = seen == 0 ? unsafe Self.bits(member - firstMember) : seen
                    guard unsafe stored & complete == complete || state.pointee.fillMissing(base, seen: stored) else {
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
                if isSpaced {
                    if unsafe matches(nextPrefix, endMember + 1, bytes, offset) {
                        unsafe offset &+= nextPrefix.pointee.count &- 1
                    } else {
                        offset = endOfWhitespace(in: bytes, from: offset &+ 1)
                        if offset <= last, bytes.uncheckedByte(offset) == UInt8(ascii: "{") {
                            unsafe note(bytes, comma..<offset &+ 1, nextPrefix, endMember + 1)
                        }
                    }
                } else {
                    offset &+= 1
                    if bytes.uncheckedByte(offset) <= 0x20 { offset = endOfWhitespace(in: bytes, from: offset) }
                }
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
        seen = seen == 0 ? unsafe Self.bits(member - firstMember) : seen & ~unstored
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

    /// The bit of a member.
    @inline(__always)  // PERF: see above.
    private static func bit(_ index: Int) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: index) }

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
    static var ended: Int { -2 }
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
            "testFillsColumnsOfManyRows": testFillsColumnsOfManyRows,
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
