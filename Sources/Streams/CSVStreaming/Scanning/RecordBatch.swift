// The result of the scanner: complete records, consecutive in memory, with the offsets of their fields.

import PlistStreaming

/// Complete records in memory that is valid until the scanner continues.
@unsafe @usableFromInline
struct RecordBatch {
    /// A record: the offset of its first field, the index of its first field's end, and the index after its last
    /// field's end.
    @usableFromInline
    struct Record {
        @usableFromInline var start: UInt32
        @usableFromInline var first: UInt32
        @usableFromInline var last: UInt32
    }

    /// The base address of all offsets.
    @usableFromInline var bytes: UnsafeRawPointer
    /// The number of bytes that fast reading of short fields may load from the base, including bytes after the records;
    /// 0 if a quoted field may look like a number.
    @usableFromInline var byteCount = 0
    /// The ends of fields. The next field of the same record begins one byte later.
    @usableFromInline var ends: UnsafeMutablePointer<UInt32>
    @usableFromInline var records: UnsafeMutablePointer<Record>
    /// The number of records.
    @usableFromInline var count = 0
    /// The position of the first byte in the input.
    var place = LinePlace()

    /// Returns the position of an offset.
    ///
    /// - Complexity: O(offset).
    func position(of offset: Int) -> StreamPosition {
        var place = unsafe place
        // SAFETY: offsets are those of bytes of the batch.
        unsafe place.advance(over: UnsafeRawBufferPointer(start: bytes, count: offset).bytes)
        return place.position
    }

    /// Returns the positions of all fields of the first record.
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

    // PERF: CSV/slices; inlinable, because other modules request each field of a row.
    /// Returns the number of fields of a record.
    @inlinable
    func fieldCount(of record: Int) -> Int {
        // SAFETY: the callers stay below the number of records.
        unsafe Int(records[record].last &- records[record].first)
    }

    /// Returns the offsets of a field that the record contains.
    @inlinable @inline(__always)  // PERF: CSV/slices; once a field.
    func range(of field: Int, in record: Int) -> Range<Int> {
        // SAFETY: the callers stay below the numbers of records and of their fields. Ends are in order, and each is at
        // or after the start of its field.
        let first = unsafe Int(records[record].first)
        let start = unsafe field == 0 ? Int(records[record].start) : Int(ends[first &+ field &- 1]) &+ 1
        return unsafe Range(uncheckedBounds: (start, Int(ends[first &+ field])))
    }
}
