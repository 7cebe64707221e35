// A record that is lent: its fields are slices of the text that is read, and stay there.

public import PlistStreaming

/// A record of a delimited text, whose fields are slices of the text.
///
/// The record and its slices are valid during the call that they are lent to, which the compiler checks: neither can be kept.
/// What is wanted for longer is copied, as by ``string(at:)``.
///
/// Nothing is copied but the text of fields in quotes which have doubled quotes within.
@safe
public struct CSVRow: ~Copyable, ~Escapable {
    // SAFETY: the cursor stays on the record, and the bytes where they are, during the call that the row is lent to.
    @usableFromInline let cursor: CSVCursor
    @usableFromInline let batch: RecordBatch
    @usableFromInline let record: Int
    /// The index of the record, from 0; a header is none.
    public let index: Int

    // PERF: CSV/slices; a row is made for each record.
    @inline(__always) @_lifetime(immortal)
    init(_ cursor: CSVCursor, _ batch: RecordBatch, _ record: Int, index: Int) {
        self.cursor = cursor
        unsafe self.batch = unsafe batch
        self.record = record
        self.index = index
    }

    // PERF: CSV/slices; what is asked for each field is inlinable, as it is asked in other modules.
    /// The number of fields, which may differ from that of the header where the options allow that.
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
            // SAFETY: the bytes are the batch's, or of memory that stays as it is until another record is read.
            return unsafe _overrideLifetime(RawSpan(_unsafeBytes: bytes), copying: self)
        }
    }

    /// Returns whether a field is in quotes, by which an empty text is told from none.
    ///
    /// - Precondition: The index is in `0..<count`.
    public func isQuoted(at field: Int) -> Bool {
        check(field)
        return unsafe cursor.texts.isQuoted(field, in: record, batch)
    }

    /// The text of the field in the column with a name; nil if there is no such column, if the record is too short to have the field,
    /// and if its bytes are no text.
    ///
    /// To read many records, look up the column once with ``CSVHeader/index(of:)`` and use ``string(at:)``.
    /// - Complexity: O(1) in the number of columns.
    public subscript(name: String) -> String? { header?.index(of: name).flatMap { string(at: $0) } }

    /// The text of a field; nil if the record is too short to have the field, and if its bytes are no text.
    public func string(at field: Int) -> String? {
        guard has(field) else { return nil }
        guard let text = unsafe cursor.texts.text(of: field, in: record, batch) else { return nil }
        return unsafe String(validating: text.bytes)
    }

    /// The integer that a field is, in the grammar of JSON; nil for any other text, and if the record is too short to have the field.
    @inlinable
    public func integer(at field: Int) -> Int64? {
        guard has(field) else { return nil }
        let range = unsafe batch.range(of: field, in: record)
        // SAFETY: the range is that of a field, and 24 bytes are there from its first one.
        if unsafe range.lowerBound <= batch.byteCount - 24,
            let value = unsafe ShortNumber.integer(batch.bytes + range.lowerBound, range.count)
        {
            return value
        }
        return longInteger(at: field)
    }

    @usableFromInline @inline(never)
    func longInteger(at field: Int) -> Int64? { NumberText.integer(self[field], as: Int64.self) }

    /// The nearest double to the number that a field is, in the grammar of JSON; nil for any other text, and if the record is too short
    /// to have the field.
    public func real(at field: Int) -> Double? {
        guard has(field) else { return nil }
        return NumberText.real(self[field], as: Double.self)
    }

    /// Returns whether a field is an integer of up to 16 digits without a sign.
    @inline(__always)  // PERF: CSV/columns; once a field.
    func isShortInteger(at field: Int) -> Bool {
        let range = unsafe batch.range(of: field, in: record)
        // SAFETY: the range is that of a field, and 24 bytes are there from its first one.
        return unsafe range.lowerBound <= batch.byteCount - 24
            && ShortNumber.integer(batch.bytes + range.lowerBound, range.count) != nil
    }

    /// The position of the record, or of a field of it.
    ///
    /// - Complexity: O(bytes) in the part of the text that was looked at last, 16 KB at the most, or the record.
    public func position(of field: Int = 0) -> StreamPosition {
        check(field)
        return unsafe batch.position(of: batch.range(of: field, in: record).lowerBound)
    }

    /// The names of the columns; nil where records have none.
    public var header: CSVHeader? { cursor.header }

    @inlinable @inline(__always)  // PERF: CSV/slices; once a field.
    func has(_ field: Int) -> Bool { field >= 0 && field < count }

    @inlinable @inline(__always)  // PERF: CSV/slices; once a field.
    func check(_ field: Int) { precondition(has(field), "there is no such field") }
}
