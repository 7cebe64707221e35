// Stores records with plain members directly in the record buffer of a builder: names are compared with the expected
// ones instead of searched for, and values are stored without a message. Like the fast loop, it reports no errors: it
// stops after the last member that it has stored, and the caller reads the rest.

import PlistBuilding
import PlistStreaming

/// The scan of dictionaries whose members a builder has laid out in memory.
@usableFromInline
struct RecordScan {
    /// The position at which the scan stopped.
    @usableFromInline
    struct End {
        /// The offset after the last complete record, or after the last stored member of the open one.
        @usableFromInline let offset: Int
        /// A Boolean value that indicates whether a record has begun and isn't complete.
        @usableFromInline let isOpen: Bool
        /// A Boolean value that indicates whether a member of the open record is stored. If not, the offset is after
        /// the record's brace.
        @usableFromInline let isAfterValue: Bool
    }

    /// Stores records, starting at an opening brace, up to the capacity of the record buffer.
    ///
    /// - Parameters:
    ///   - start: The offset of an opening brace, with `JSONScanner.margin` bytes after it.
    ///   - isInArray: A Boolean value that indicates whether more records may follow after a comma.
    ///   - limit: The maximum length of a string in bytes.
    ///   - depth: The maximum nesting depth of containers within a record.
    ///   - isFirst: A Boolean value that indicates whether this port stores its first record of these bytes.
    @usableFromInline
    static func scan(
        _ bytes: RawSpan, from start: Int, into port: RecordPort, isInArray: Bool, limit: Int, depth: Int,
        isFirst: Bool
    ) -> End {
        // SAFETY: the builder has made the state for records in its memory. It guarantees that each member with a kind
        // has memory for that kind at its offset in each record within the capacity.
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

    /// Stores consecutive arrays, starting at an opening bracket, up to the capacity of the memory.
    ///
    /// - Returns: The offset after the last complete array, or `start`.
    @usableFromInline
    static func scanArrays(
        _ bytes: RawSpan, from start: Int, into port: RecordPort, limit: Int, depth: Int, isFirst: Bool
    ) -> Int {
        // SAFETY: as for records: the memory holds `capacity` values of this type, starting at the base.
        let state = unsafe port.records
        unsafe state.pointee.doneCount = 0
        unsafe state.pointee.limit = limit
        unsafe state.pointee.depth = min(state.pointee.depth, depth)
        guard let shape = unsafe state.pointee.arrays else { return start }
        unsafe TokenMasks.prepare(state, isFirst: isFirst)
        let (capacity, stride) = unsafe (state.pointee.capacity, state.pointee.stride)
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
            // The next array, if it exists and the memory has capacity for it.
            guard count < capacity, offset <= last else { break }
            offset = PlainSkip.endOfGap(bytes, from: offset)
            guard offset <= last, bytes.uncheckedByte(offset) == UInt8(ascii: ",") else { break }
            offset = PlainSkip.endOfGap(bytes, from: offset &+ 1)
            guard offset <= last, bytes.uncheckedByte(offset) == UInt8(ascii: "[") else { break }
        }
        unsafe state.pointee.doneCount = count
        return resume
    }

    /// Stores records in the memory that a state describes, and updates the state.
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
            // The next record, if it exists, the memory has capacity for it, and a receiver accepts it.
            var hasNext = unsafe cursor.doneCount < frame.capacity
            if unsafe frame.delivers { hasNext = deliver() && hasNext }
            guard hasNext, unsafe findRecord(bytes, frame, &cursor) else {
                unsafe state.pointee.doneCount = cursor.doneCount
                unsafe state.pointee.isOpen = false
                return unsafe End(offset: cursor.offset, isOpen: false, isAfterValue: true)
            }
            unsafe cursor.base &+= frame.stride
            if unsafe frame.makes {
                // SAFETY: the memory has capacity for one more reference, which is the address of its object.
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

    /// Returns a mask of the given number of lowest bits.
    @inline(__always)  // PERF: JSONRecords; once a record.
    static func bits(_ count: Int) -> UInt64 {
        count >= 64 ? .max : (1 &<< UInt64(truncatingIfNeeded: count)) &- 1
    }

    /// Returns the bit of a member.
    @inline(__always)  // PERF: see above.
    static func bit(_ index: Int) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: index) }

    /// The index that marks the end of a record instead of a member.
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
            "testBuildsSameValuesAsMessages": testBuildsSameValuesAsMessages,
            "testDeliversSameValuesAsMessages": testDeliversSameValuesAsMessages,
            "testFillsColumnsLikeMessages": testFillsColumnsLikeMessages,
            "testFillsColumnsOfManyRows": testFillsColumnsOfManyRows,
            "testSkipsEmptyNameAfterLastColumn": testSkipsEmptyNameAfterLastColumn,
            "testReadsManyRecords": testReadsManyRecords,
            "testNeverChangesAKeptObject": testNeverChangesAKeptObject,
            "testAgreesOnMutatedTexts": testAgreesOnMutatedTexts,
            "testReportsLocationOfReceiverErrors": testReportsLocationOfReceiverErrors,
            "testReleasesBuiltValues": testReleasesBuiltValues,
        ]
    }
}
#endif
