// Finds the names of members in records: likely names are compared together with the whitespace around them. All others
// are searched for after unneeded members.

import PlistBuilding
import PlistStreaming

extension RecordScan {
    /// Finds the member whose name is at the offset, after whitespace and skipped members.
    ///
    /// The index is `ended` at the closing brace, if it is allowed here. It is -1 for text that must be sent as
    /// messages: a member that is already stored or unneeded, or anything except a name.
    @inline(never)
    static func find(
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
        return unsafe findOther(bytes, from: offset, last, state, members, seen)
    }

    /// Finds a member other than the expected one, or the end.
    @inline(never)
    private static func findOther(
        _ bytes: RawSpan, from offset: Int, _ last: Int, _ state: UnsafeMutablePointer<RecordState>,
        _ members: UnsafeMutablePointer<RecordMember>, _ seen: UInt64
    ) -> (index: Int, offset: Int) {
        guard bytes.uncheckedByte(offset) == UInt8(ascii: "\""), let table = unsafe state.pointee.table else {
            // After a comma the record can't end. Without members, the end was already checked.
            return (seen == 0 && bytes.uncheckedByte(offset) == UInt8(ascii: "}") ? ended : -1, offset)
        }
        let index = unsafe index(ofName: bytes, at: offset, last, members, table)
        if index >= 0 { return found(index, offset, seen) }
        guard unsafe state.pointee.skipsUnknown, let masks = unsafe TokenMasks.made(for: state) else {
            return (-1, offset)
        }
        return unsafe findBehind(bytes, from: offset, last, state, members, table, seen, &masks.pointee)
    }

    /// Finds a member after others, which are skipped, or the end.
    ///
    /// - Parameter start: The offset of the name of the first one.
    private static func findBehind(
        _ bytes: RawSpan, from start: Int, _ last: Int, _ state: UnsafeMutablePointer<RecordState>,
        _ members: UnsafeMutablePointer<RecordMember>, _ table: UnsafeMutablePointer<UInt8>, _ seen: UInt64,
        _ masks: inout TokenMasks
    ) -> (index: Int, offset: Int) {
        let (limit, depth) = unsafe (state.pointee.limit, state.pointee.depth)
        guard var walk = unsafe masks.beginMembers(at: start, of: bytes) else { return (-1, start) }
        while true {
            let offset = unsafe masks.nextMark(&walk, bytes, limit: limit)
            guard offset >= 0, offset <= last else { return (-1, start) }
            let byte = bytes.uncheckedByte(offset)
            if byte == UInt8(ascii: "\"") {
                let index = unsafe index(ofName: bytes, at: offset, last, members, table)
                guard index >= 0 else { continue }
                let isValid = unsafe masks.areValid(walk, upTo: offset, bytes)
                return isValid ? found(index, offset, seen) : (-1, offset)
            }
            guard byte | 0x20 == UInt8(ascii: "{") else {
                let isEnd = unsafe byte == UInt8(ascii: "}") && masks.areValid(walk, upTo: offset, bytes)
                return (isEnd ? ended : -1, offset)
            }
            guard unsafe masks.skipContainer(&walk, bytes, at: offset, depth: depth, limit: limit, last: last) else {
                return (-1, start)
            }
        }
    }

    /// Returns the index of the member whose quoted name and colon are at an offset, or a negative number.
    @inline(__always)  // PERF: JSONTyped/posts; once an unneeded member.
    private static func index(
        ofName bytes: RawSpan, at offset: Int, _ last: Int, _ members: UnsafeMutablePointer<RecordMember>,
        _ table: UnsafeMutablePointer<UInt8>
    ) -> Int {
        // Bounds: the name begins within the margin; the compared part of a longer name is within the span.
        var index = unsafe Int(table[RecordMember.place(of: bytes.uncheckedWord(offset &+ 1))]) &- 1
        while index >= 0 {
            let member = unsafe members + index
            let first = unsafe (bytes.uncheckedWord(offset) ^ member.pointee.words.0) & member.pointee.masks.0
            let second = unsafe (bytes.uncheckedWord(offset &+ 8) ^ member.pointee.words.1) & member.pointee.masks.1
            if first | second == 0, unsafe offset &+ member.pointee.length &- 2 <= last,
                unsafe member.pointee.isLong == 0 || isName(bytes, offset, member)
            {
                return index
            }
            index = unsafe member.pointee.sibling &- 1
        }
        return index
    }

    /// Returns the offset after whitespace that is probably a line end and as many spaces as before the last member.
    @inline(__always)  // PERF: JSONTyped/catalogue; the processor need not wait for the end of the spaces.
    private static func endOfLine(_ bytes: RawSpan, from start: Int, _ gap: inout LineGap) -> Int {
        let spaces: UInt64 = 0x2020_2020_2020_2020
        // Bounds: 33 bytes and the next one are within the margin.
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

    /// Returns the result for a member whose name is at an offset: that member, unless it is already stored.
    @inline(__always)  // PERF: see find.
    private static func found(_ index: Int, _ offset: Int, _ seen: UInt64) -> (index: Int, offset: Int) {
        (seen & (1 &<< UInt64(truncatingIfNeeded: index)) == 0 ? index : -1, offset)
    }

    /// Returns whether a name of more than 16 bytes is at the offset. Its first 16 bytes are already compared, and it
    /// is completely within the span.
    private static func isName(_ bytes: RawSpan, _ offset: Int, _ member: UnsafeMutablePointer<RecordMember>) -> Bool {
        for place in unsafe 16..<member.pointee.length {
            let byte = unsafe member.pointee.text.load(fromByteOffset: place, as: UInt8.self)
            guard bytes.uncheckedByte(offset &+ place) == byte else { return false }
        }
        return true
    }

    // MARK: Whitespace and names

    /// Returns whether the text before a member is the same as in an earlier record.
    @inline(__always)  // PERF: JSONTyped/catalogue; once a member.
    static func matches(
        _ prefix: UnsafeMutablePointer<RepeatedPrefix>, _ member: UnsafeMutablePointer<RecordMember>, _ bytes: RawSpan,
        _ offset: Int
    ) -> Bool {
        // SAFETY: 48 bytes from an offset up to `last` are within the span.
        func pair(_ place: Int) -> SIMD2<UInt64> {
            unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset &+ place, as: SIMD2<UInt64>.self)
        }
        let first = unsafe (pair(0) ^ prefix.pointee.words.0) & prefix.pointee.masks.0
        let second = unsafe (pair(16) ^ prefix.pointee.words.1) & prefix.pointee.masks.1
        let third = unsafe (pair(32) ^ prefix.pointee.words.2) & prefix.pointee.masks.2
        let difference = first | second | third
        return unsafe prefix.pointee.member == member && difference.x | difference.y == 0
    }

    /// Notes the text before a member if only whitespace precedes its name, or the text before a brace.
    @inline(never)
    static func note(
        _ bytes: RawSpan, _ range: Range<Int>, _ prefix: UnsafeMutablePointer<RepeatedPrefix>,
        _ member: UnsafeMutablePointer<RecordMember>
    ) {
        guard unsafe range.count <= RepeatedPrefix.capacity else { return }
        let isComma = bytes.uncheckedByte(range.lowerBound) == UInt8(ascii: ",")
        let start = StringRuns.endOfWhitespace(in: bytes, from: range.lowerBound &+ (isComma ? 1 : 0))
        if bytes.uncheckedByte(start) == UInt8(ascii: "\"") {
            let nameEnd = unsafe start &+ member.pointee.length
            guard nameEnd <= range.upperBound,
                StringRuns.endOfWhitespace(in: bytes, from: nameEnd) == range.upperBound
            else { return }
        }
        unsafe prefix.pointee.note(bytes.extracting(range), before: member)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum RecordScanNamesTests {}

extension RecordScanNamesTests: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testMatchesNotedPrefix": testMatchesNotedPrefix]
    }

    private static func testMatchesNotedPrefix() {
        let members = UnsafeMutablePointer<RecordMember>.allocate(capacity: 2)
        defer { unsafe members.deallocate() }
        let capacity = unsafe RepeatedPrefix.capacity
        for count in 1...capacity {
            var prefix = unsafe RepeatedPrefix()
            // The span of an array requires macOS 26.
            var bytes = ContiguousArray((0..<64).map { UInt8(truncatingIfNeeded: 0x40 + $0 * 7) })
            unsafe prefix.note(bytes.span.bytes.extracting(5..<5 + count), before: members)
            func matches(_ member: UnsafeMutablePointer<RecordMember>) -> Bool {
                unsafe RecordScan.matches(&prefix, member, bytes.span.bytes, 5)
            }
            expectTrue(unsafe matches(members), "the same text of \(count)")
            expectFalse(unsafe matches(members + 1), "another member's text of \(count)")
            for place in 0..<capacity {
                bytes[5 + place] ^= 0x10
                unsafe expectEqual(matches(members), place >= count, "another byte at \(place) of \(count)")
                bytes[5 + place] ^= 0x10
            }
        }
    }
}
#endif
