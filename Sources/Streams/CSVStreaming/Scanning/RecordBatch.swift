// What the scanner finds: whole records side by side in memory, by the offsets of their fields.

import PlistStreaming

/// Whole records in memory that stays where it is until the scanner goes on.
@unsafe @usableFromInline
struct RecordBatch {
    /// A record: the offset of its first field, and the indexes of its first field's end and behind its last one's.
    @usableFromInline
    struct Record {
        @usableFromInline var start: UInt32
        @usableFromInline var first: UInt32
        @usableFromInline var last: UInt32
    }

    /// What offsets count from.
    @usableFromInline var bytes: UnsafeRawPointer
    /// How many bytes may be loaded from there by those who read short fields quickly, bytes behind the records included; none where
    /// a field in quotes may look like a number.
    @usableFromInline var byteCount = 0
    /// The ends of fields. The next field begins a byte later, unless its record does not have one.
    @usableFromInline var ends: UnsafeMutablePointer<UInt32>
    @usableFromInline var records: UnsafeMutablePointer<Record>
    /// The number of records.
    @usableFromInline var count = 0
    /// Where the first byte is in the input.
    var place = LinePlace()

    /// The position of an offset.
    ///
    /// - Complexity: O(offset).
    func position(of offset: Int) -> StreamPosition {
        var place = unsafe place
        // SAFETY: offsets are those of bytes of the batch.
        unsafe place.advance(over: UnsafeRawBufferPointer(start: bytes, count: offset).bytes)
        return place.position
    }

    /// The positions of all fields of the first record.
    ///
    /// - Complexity: O(*n*) in the bytes up to its end.
    func positionsOfFirstRecord() -> [StreamPosition] {
        var place = unsafe place
        var last = 0
        return unsafe (0..<fieldCount(of: 0)).map { field in
            let start = unsafe range(of: field, in: 0).lowerBound
            // SAFETY: see above; fields are in order.
            unsafe place.advance(over: UnsafeRawBufferPointer(start: bytes + last, count: start - last).bytes)
            last = start
            return place.position
        }
    }

    // PERF: CSV/slices; inlinable, as each field of a row is asked for in another module.
    /// The number of fields of a record.
    @inlinable
    func fieldCount(of record: Int) -> Int {
        // SAFETY: the callers stay below the number of records.
        unsafe Int(records[record].last &- records[record].first)
    }

    /// The offsets of a field, of those that a record has.
    @inlinable @inline(__always)  // PERF: CSV/slices; once a field.
    func range(of field: Int, in record: Int) -> Range<Int> {
        // SAFETY: the callers stay below the numbers of records and of their fields. Ends are in order, each at least where
        // its field begins.
        let first = unsafe Int(records[record].first)
        let start = unsafe field == 0 ? Int(records[record].start) : Int(ends[first &+ field &- 1]) &+ 1
        return unsafe Range(uncheckedBounds: (start, Int(ends[first &+ field])))
    }
}
