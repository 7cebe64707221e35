// Stores records directly in the record buffer of a builder: a field with the type of its member is stored there. From
// the first other column on, the record is sent as messages, with equal results and errors.

import PlistBuilding
import PlistStreaming

extension CSVCursor {
    /// The state of a record: nothing stored yet, everything stored, or the columns from one on are missing.
    @usableFromInline static var untried: Int { -2 }
    @usableFromInline static var done: Int { -1 }

    /// Stores records in the memory behind a handle.
    @usableFromInline
    func useRecordBuffer(_ port: RecordPort) {
        (hasRecordBuffer, rest) = (true, Self.untried)
        let records = unsafe port.records
        if !hasResolved { unsafe resolve(records) }
        let isTaken =
            unsafe !isStrict
            && recordBuffer.pointee.begin(
                records, columnCount: columns.count, name: { index in unsafe columns[index].key },
                kind: { _, kind in kind })
        if isTaken {
            unsafe records.pointee.expectedCount = expectedCount
            return
        }
        mayUseRecordBuffer = false
        unsafe leave(0, 0, records)
    }

    /// The estimated number of records in the chunk after the current one.
    private var expectedCount: Int {
        count - record + scanner.restCount / max(1, scanner.inputOffset / max(1, scanner.recordCount))
    }

    /// Determines the types that the members of the sink expect.
    private func resolve(_ records: UnsafeMutablePointer<RecordState>) {
        hasResolved = true
        isStrict = options.encoding == .bytes || options.usesMessages
        for index in unsafe columns.indices {
            let declared = unsafe columns[index].declared
            if unsafe columns[index].isDeclared {
                isStrict = true
            } else if let taken = unsafe records.pointee.taken(by: columns[index].key),
                let kind = unsafe FieldKind(taken.kind)
            {
                unsafe (columns[index].kind, columns[index].shape) = unsafe (kind, taken.shape)
            } else if declared != .text(emptyIsNull: false) && declared != .inferred {
                isStrict = true
            }
        }
    }

    /// Discards the information about the sink, which may be another one for the next chunk.
    @usableFromInline
    func resetSink() {
        mayUseRecordBuffer = true
        unsafe recordBuffer.pointee.reset()
        // Without a complete record nothing is known; a piece of a text may be arbitrarily small.
        guard hasResolved else { return }
        hasResolved = false
        for index in unsafe columns.indices {
            unsafe (columns[index].kind, columns[index].shape) = unsafe (columns[index].declared, nil)
        }
    }

    // PERF: CSV/typed; inlinable, so that it specializes for sinks of other modules.
    /// Returns the record buffer to the sink, if there is one.
    @inlinable
    func endRecordBuffer<Sink: PlistSink & ~Copyable>(of sink: inout Sink) throws(StreamError) {
        guard hasRecordBuffer else { return }
        (hasRecordBuffer, rest) = (false, Self.untried)
        try sink.endRecordBuffer()
    }

    // PERF: CSV/typed; one call for all records of a batch, which immediately stores each field with the type of its
    // member.
    /// Stores the current record and the following ones of the batch in the record buffer, until a record needs
    /// messages. `rest` is then the first column to send.
    @usableFromInline
    func fillRows() {
        // SAFETY: the builder has made the state for rows in its memory. It guarantees that each member with a kind has
        // memory for that kind at its offset in each row within the capacity.
        guard let records = unsafe recordBuffer.pointee.records else { return }
        let batch = unsafe scanner.batch
        let filler = unsafe RowFiller(self, batch, records)
        while true {
            if unsafe !fillColumns(batch, records) {
                if unsafe records.pointee.doneCount > 0 { unsafe recordBuffer.pointee.advance(records) }
                guard unsafe batch.fieldCount(of: record) == width else { return unsafe leave(0, 0, records) }
                let (index, seen) = unsafe filler.fill(
                    record, recordBuffer.pointee.base, columns, recordBuffer.pointee.columns)
                let complete = unsafe records.pointee.complete
                guard unsafe index == columns.count,
                    unsafe seen & complete == complete
                        || records.pointee.fillMissing(recordBuffer.pointee.base, seen: seen)
                else { return unsafe leave(index, seen, records) }
                unsafe records.pointee.doneCount &+= 1
            }
            var hasCapacity = unsafe records.pointee.doneCount < records.pointee.capacity
            if unsafe records.pointee.delivers { hasCapacity = unsafe records.pointee.deliver() && hasCapacity }
            guard hasCapacity else {
                unsafe records.pointee.expectedCount = expectedCount
                return rest = Self.done
            }
            guard record + 1 < count else { return }
            record += 1
            row += 1
        }
    }

    // PERF: CSV/columns; a loop for each column has neither calls nor unpredictable branches.
    /// Stores the current record and the following similar ones, column by column, and moves to the last of them.
    /// Returns false if it has stored nothing: because the records can't be stored in columns, too few are similar, or
    /// messages must send one of them.
    private func fillColumns(_ batch: RecordBatch, _ records: UnsafeMutablePointer<RecordState>) -> Bool {
        guard mayFillColumns, unsafe recordBuffer.pointee.isOfColumns else { return false }
        let doneCount = unsafe records.pointee.doneCount
        let limit = unsafe min(count - record, records.pointee.capacity - doneCount)
        guard unsafe limit >= ColumnFiller.fewestRecords else { return false }
        let filler = unsafe ColumnFiller(self, batch, from: record, limit: limit)
        guard unsafe filler.count >= ColumnFiller.fewestRecords else { return false }
        // A batch that can't be stored is tried only once, so that it costs no more than storing everything twice.
        mayFillColumns = unsafe filler.fill(columns, recordBuffer.pointee.columns, behind: doneCount)
        guard mayFillColumns else { return false }
        unsafe recordBuffer.pointee.advance(records, by: filler.count)
        unsafe records.pointee.doneCount += filler.count
        unsafe (record, row) = (record + filler.count - 1, row + filler.count - 1)
        return true
    }

    /// Leaves the rest of the record to messages, starting at a column.
    private func leave(_ index: Int, _ seen: UInt64, _ records: UnsafeMutablePointer<RecordState>) {
        rest = index
        unsafe (records.pointee.isOpen, records.pointee.seen) = (true, seen)
    }

    /// Returns the message for a column of a record of the batch, or nil for an error.
    func storedMessage(of index: Int, in record: Int) -> ScalarMessage? {
        do throws(StreamError) {
            return try unsafe message(columns[index].field, in: record, columns[index].kind, columns[index].shape)
        } catch {
            return nil
        }
    }
}
