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
        /// A Boolean value that indicates whether a record is begun and not complete.
        @usableFromInline let isOpen: Bool
        /// A Boolean value that indicates whether a member of the open record is stored; without one the offset is behind its
        /// brace.
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
        if unsafe !end.isOpen && !state.pointee.isRoot {
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
        let frame = unsafe Frame(bytes, state, firstMember, isInArray: isInArray, isSpaced: isSpaced)
        // PERF: not optional, since unwrapping a closure counts a reference, which is the slowest thing in this loop.
        let (make, deliver) = unsafe (state.pointee.make, state.pointee.deliver)
        var cursor = unsafe Cursor(frame, start)
        records: while true {
            unsafe cursor.begin(frame)
            members: while true {
                guard unsafe cursor.offset <= frame.last else { break records }
                switch unsafe readName(bytes, frame, &cursor) {
                case .goesOn: break
                case .ends: break members
                case .stops: break records
                }
                guard unsafe storeValue(bytes, frame, &cursor) else { break records }
                switch unsafe readFollower(bytes, frame, &cursor) {
                case .goesOn: continue members
                case .ends: break members
                case .stops: break records
                }
            }
            unsafe cursor.offset &+= 1
            unsafe cursor.doneCount &+= 1
            // The next record, if there is one, memory for it, and someone who takes it.
            var hasNext = unsafe cursor.doneCount < frame.room
            if unsafe frame.delivers { hasNext = deliver() && hasNext }
            guard hasNext, unsafe findRecord(bytes, frame, &cursor) else {
                unsafe state.pointee.doneCount = cursor.doneCount
                unsafe state.pointee.isOpen = false
                return unsafe End(offset: cursor.offset, isOpen: false, isAfterValue: true)
            }
            unsafe cursor.base &+= frame.stride
            if unsafe frame.makes {
                // SAFETY: there is room for one more reference, which is the address of its object.
                unsafe cursor.reference += MemoryLayout<Int>.stride
                unsafe make(cursor.reference)
                unsafe cursor.base = unsafe cursor.reference.load(as: Int.self)
            }
        }
        let seen = unsafe cursor.seen == 0 ? bits(cursor.member - firstMember) : cursor.seen & ~cursor.unstored
        unsafe state.pointee.doneCount = cursor.doneCount
        unsafe state.pointee.isOpen = true
        unsafe state.pointee.seen = seen
        unsafe state.pointee.next = unsafe cursor.member - firstMember
        return unsafe End(offset: cursor.resume, isOpen: true, isAfterValue: seen != 0)
    }

    /// So many of the lowest bits.
    @inline(__always)  // PERF: JSONRecords; once a record.
    static func bits(_ count: Int) -> UInt64 {
        count >= 64 ? .max : (1 &<< UInt64(truncatingIfNeeded: count)) &- 1
    }

    /// The bit of a member.
    @inline(__always)  // PERF: see above.
    static func bit(_ index: Int) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: index) }

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
