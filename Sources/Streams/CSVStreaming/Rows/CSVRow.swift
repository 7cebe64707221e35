// A borrowed record: its fields are slices of the input text, which isn't copied.

public import PlistStreaming

/// A record of a delimited text, whose fields are slices of the text.
///
/// The record and its slices are valid only during the call that receives them. The compiler enforces this. To keep a
/// field, copy it, for example with ``string(at:)``.
///
/// Only the text of quoted fields that contain doubled quotes is copied.
@safe
public struct CSVRow: ~Copyable, ~Escapable {
    // SAFETY: the cursor stays on the record, and the bytes in place, during the call that receives the row.
    @usableFromInline let cursor: CSVCursor
    @usableFromInline let batch: RecordBatch
    @usableFromInline let record: Int
    /// The index of the record, from 0. The header isn't counted.
    public let index: Int

    // PERF: CSV/slices; a row is made for each record.
    @inline(__always) @_lifetime(immortal)
    init(_ cursor: CSVCursor, _ batch: RecordBatch, _ record: Int, index: Int) {
        self.cursor = cursor
        unsafe self.batch = unsafe batch
        self.record = record
        self.index = index
    }

    // PERF: CSV/slices; members that are called for each field are inlinable, because other modules call them.
    /// The number of fields, which may differ from the header's if the options allow that.
    @inlinable public var count: Int { unsafe batch.fieldCount(of: record) }

    /// The bytes of a field, without its quotes, in the encoding of the text.
    ///
    /// - Precondition: The index is in `0..<count`.
    /// - Complexity: O(1); O(bytes) for a field in quotes.
    public subscript(field: Int) -> RawSpan {
        @inlinable @_lifetime(copy self)
        get {
            check(field)
            let bytes = unsafe cursor.texts.bytes(of: field, in: record, batch)
            // SAFETY: the bytes belong to the batch, or to memory that doesn't change until another record is read.
            return unsafe _overrideLifetime(RawSpan(_unsafeBytes: bytes), copying: self)
        }
    }

    /// Returns whether a field is in quotes, which distinguishes an empty text from a missing one.
    ///
    /// - Precondition: The index is in `0..<count`.
    public func isQuoted(at field: Int) -> Bool {
        check(field)
        return unsafe cursor.texts.isQuoted(field, in: record, batch)
    }

    /// Returns the text of the field in the named column. Returns nil if there is no such column, if the record is too
    /// short to have the field, or if its bytes aren't valid text.
    ///
    /// To read many records, look up the column once with ``CSVHeader/index(of:)`` and use ``string(at:)``.
    /// - Complexity: O(1) in the number of columns.
    public subscript(name: String) -> String? { header?.index(of: name).flatMap { string(at: $0) } }

    /// Returns the text of a field, or nil if the record is too short to have the field or its bytes aren't valid text.
    public func string(at field: Int) -> String? {
        guard has(field) else { return nil }
        guard let text = unsafe cursor.texts.text(of: field, in: record, batch) else { return nil }
        return unsafe String(validating: text.bytes)
    }

    /// Returns a field as an integer in the grammar of JSON. Returns nil for any other text, or if the record is too
    /// short to have the field.
    @inlinable
    public func integer(at field: Int) -> Int64? {
        guard has(field) else { return nil }
        let range = unsafe batch.range(of: field, in: record)
        // SAFETY: the range is that of a field, and 24 bytes are readable from its start.
        if unsafe range.lowerBound <= batch.byteCount - 24,
            let value = unsafe ShortNumber.integer(batch.bytes + range.lowerBound, range.count)
        {
            return value
        }
        return longInteger(at: field)
    }

    @usableFromInline @inline(never)
    func longInteger(at field: Int) -> Int64? { NumberText.integer(self[field], as: Int64.self) }

    /// Returns the nearest double to a number in the grammar of JSON. Returns nil for any other text, or if the record
    /// is too short to have the field.
    public func real(at field: Int) -> Double? {
        guard has(field) else { return nil }
        return NumberText.real(self[field], as: Double.self)
    }

    /// Returns whether a field is an integer of up to 16 digits without a sign.
    @inline(__always)  // PERF: CSV/columns; once a field.
    func isShortInteger(at field: Int) -> Bool {
        let range = unsafe batch.range(of: field, in: record)
        // SAFETY: the range is that of a field, and 24 bytes are readable from its start.
        return unsafe range.lowerBound <= batch.byteCount - 24
            && ShortNumber.integer(batch.bytes + range.lowerBound, range.count) != nil
    }

    /// Returns the position of the record, or of one of its fields.
    ///
    /// - Complexity: O(bytes) in the part of the text that was examined last, at most 16 KB, or in the record.
    public func position(of field: Int = 0) -> StreamPosition {
        check(field)
        return unsafe batch.position(of: batch.range(of: field, in: record).lowerBound)
    }

    /// The names of the columns; nil if records have no names.
    public var header: CSVHeader? { cursor.header }

    @inlinable @inline(__always)  // PERF: CSV/slices; once a field.
    func has(_ field: Int) -> Bool { field >= 0 && field < count }

    @inlinable @inline(__always)  // PERF: CSV/slices; once a field.
    func check(_ field: Int) { precondition(has(field), "the record has no field \(field)") }
}
