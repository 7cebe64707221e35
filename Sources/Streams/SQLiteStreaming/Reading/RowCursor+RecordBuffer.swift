// Stores rows directly in the record buffer of a builder. A cell that has the type of its member is stored as it is, any
// other cell as its message. If a cell can't be stored, the row is sent as messages from that column on, with equal results
// and errors.

import CSystemSQLite
import PlistBuilding
import PlistStreaming

extension RowCursor {
    /// Special values of `rest`: the row hasn't been tried, or it is complete. Other values are the first column left to
    /// send.
    @usableFromInline static var untried: Int { -2 }
    @usableFromInline static var done: Int { -1 }

    /// Stores rows in the memory that a port refers to.
    @usableFromInline
    func useRecordBuffer(_ port: RecordPort) {
        let rows = unsafe UnsafeMutableBufferPointer(start: state.pointee.columns, count: state.pointee.columnCount)
        unsafe state.pointee.hasRecordBuffer = true
        let isTaken = unsafe state.pointee.recordBuffer.begin(
            port.records, columnCount: rows.count, name: { index in unsafe rows[index].key },
            kind: { index, kind in unsafe Self.kind(of: kind, rows[index]) })
        guard !isTaken else { return }
        unsafe state.pointee.mayUseRecordBuffer = false
        unsafe leave(0, 0, port.records)
    }

    /// Returns how the cells of a column are stored.
    private static func kind(of kind: FastKind, _ column: RowState.Column) -> FastKind {
        switch kind {
        case .bool, .optionalBool, .columnBool: unsafe column.isBoolean ? kind : .value
        default: unsafe column.isMapped ? .value : kind
        }
    }

    // PERF: SQLite/reading; inlinable, so that it is specialized for sinks of other modules.
    /// Returns the record buffer to the sink, if there is one.
    @inlinable
    func endRecordBuffer<Sink: PlistSink & ~Copyable>(of sink: inout Sink) throws(StreamError) {
        guard unsafe state.pointee.hasRecordBuffer else { return }
        unsafe (state.pointee.hasRecordBuffer, state.pointee.rest) = (false, Self.untried)
        try sink.endRecordBuffer()
    }

    // PERF: SQLite/reading; one call per row, which directly stores each value that has the type of its member.
    /// Stores the row in a record buffer. Returns false if a part of the row is left, which `rest` describes.
    @usableFromInline
    func fillRow() -> Bool {
        // SAFETY: the builder made the state for rows in its memory. Each member with a kind must have memory for that kind
        // at its offset, in each of the rows that fit.
        guard let records = unsafe state.pointee.recordBuffer.records else { return false }
        let doneCount = unsafe records.pointee.doneCount
        if doneCount > 0 { unsafe state.pointee.recordBuffer.advance(records) }
        let (values, base, count) = unsafe (
            state.pointee.values, state.pointee.recordBuffer.base, state.pointee.columnCount
        )
        let isInitialized = unsafe records.pointee.isInitialized
        // PERF: SQLite/reading; by address, since only a part of each column is read.
        let columns = unsafe state.pointee.recordBuffer.columns.baseAddress.unsafelyUnwrapped
        var seen: UInt64 = 0
        for index in 0..<count {
            let column = unsafe columns + index
            let kind = unsafe column.pointee.kind
            if kind == .none {
                if isValid(index) { continue }
                return unsafe leave(index, seen, records)
            }
            let place = unsafe UnsafeMutableRawPointer(bitPattern: base &+ column.pointee.offset).unsafelyUnwrapped
            let value = unsafe values.map { unsafe $0[index] } ?? Self.value(state, index)
            let type = unsafe sqlite3_value_type(value)
            storing: do {
                switch kind {
                case .integer where type == SQLITE_INTEGER:
                    unsafe place.storeBytes(of: sqlite3_value_int64(value), as: Int64.self)
                    break storing
                case .string where type == SQLITE_TEXT:
                    if unsafe storeText(value, column, to: place, isInitialized) { break storing }
                case .bool where type == SQLITE_INTEGER:
                    let integer = unsafe UInt64(bitPattern: sqlite3_value_int64(value))
                    if integer <= 1 {
                        unsafe place.storeBytes(of: integer == 1, as: Bool.self)
                        break storing
                    }
                case .real where type == SQLITE_FLOAT:
                    unsafe place.storeBytes(of: sqlite3_value_double(value), as: Double.self)
                    break storing
                default:
                    if omitsNulls && type == SQLITE_NULL { continue }
                    if unsafe storeOther(value, type, column, to: place, isInitialized, row: doneCount) {
                        break storing
                    }
                }
                guard unsafe storeMessage(index, column, to: place, isInitialized) else {
                    return unsafe leave(index, seen, records)
                }
            }
            unsafe seen |= column.pointee.bit
        }
        let complete = unsafe records.pointee.complete
        guard unsafe seen & complete == complete || records.pointee.fillMissing(base, seen: seen) else {
            return unsafe leave(count, seen, records)
        }
        unsafe records.pointee.doneCount = doneCount &+ 1
        var hasNext = unsafe doneCount &+ 1 < records.pointee.capacity
        if unsafe records.pointee.delivers { hasNext = unsafe records.pointee.deliver() && hasNext }
        if !hasNext { unsafe state.pointee.rest = Self.done }
        return hasNext
    }

    /// Leaves the rest of the row to messages, beginning with a column.
    @inline(never)
    @discardableResult
    private func leave(_ index: Int, _ seen: UInt64, _ records: UnsafeMutablePointer<RecordState>) -> Bool {
        unsafe state.pointee.rest = index
        unsafe (records.pointee.isOpen, records.pointee.seen) = (true, seen)
        return false
    }

    /// Returns whether the cell of an unused column could be sent.
    @inline(never)
    private func isValid(_ index: Int) -> Bool {
        if case nil = try? unsafe cell(at: index) { false } else { true }
    }

    /// Stores the text of a value. Returns false if it isn't UTF-8 or SQLite has no memory.
    @inline(__always)  // PERF: SQLite/reading; once a string.
    private func storeText(
        _ value: OpaquePointer?, _ column: UnsafeMutablePointer<RowRecordBuffer.Column>,
        to place: UnsafeMutableRawPointer,
        _ isInitialized: Bool
    ) -> Bool {
        // SAFETY: the bytes belong to the value, which stays valid until the next row; the memory is for the column's kind.
        guard let address = unsafe sqlite3_value_text(value) else { return false }
        let text = unsafe UnsafeRawBufferPointer(start: address, count: Int(sqlite3_value_bytes(value)))
        guard unsafe TextCheck.isUTF8(text) else { return false }
        if let buffer = unsafe column.pointee.buffer {
            unsafe ColumnBuffer.append(text.bytes, to: buffer, endAt: place)
        } else if unsafe column.pointee.kind == .string {
            unsafe SmallText.store(text.bytes, to: place, isInitialized: isInitialized)
        } else {
            unsafe SmallText.store(text.bytes, toOptional: place, isInitialized: isInitialized)
        }
        return true
    }

    /// Stores a cell of a less common kind. Returns false if it has to be sent as a message.
    @inline(never)
    private func storeOther(
        _ value: OpaquePointer?, _ type: Int32, _ column: UnsafeMutablePointer<RowRecordBuffer.Column>,
        to place: UnsafeMutableRawPointer, _ isInitialized: Bool, row: Int
    ) -> Bool {
        // SAFETY: see fillRow.
        switch unsafe (column.pointee.kind, type) {
        case (.optionalInteger, SQLITE_INTEGER):
            unsafe place.initializeMemory(as: Int64?.self, to: sqlite3_value_int64(value))
        case (.real, SQLITE_INTEGER):
            unsafe place.storeBytes(of: Double(sqlite3_value_int64(value)), as: Double.self)
        case (.optionalReal, SQLITE_FLOAT):
            unsafe place.initializeMemory(as: Double?.self, to: sqlite3_value_double(value))
        case (.optionalBool, SQLITE_INTEGER), (.columnBool, SQLITE_INTEGER):
            let integer = unsafe UInt64(bitPattern: sqlite3_value_int64(value))
            guard integer <= 1 else { return false }
            if unsafe column.pointee.kind == .optionalBool {
                unsafe place.initializeMemory(as: Bool?.self, to: integer == 1)
            } else {
                // A column of Booleans has one byte per row; the address counts eight.
                unsafe (place - 7 * row).storeBytes(of: integer == 1, as: Bool.self)
            }
        case (.optionalString, SQLITE_TEXT), (.columnString, SQLITE_TEXT):
            return unsafe storeText(value, column, to: place, isInitialized)
        case (.optionalInteger, SQLITE_NULL): unsafe place.initializeMemory(as: Int64?.self, to: nil)
        case (.optionalReal, SQLITE_NULL): unsafe place.initializeMemory(as: Double?.self, to: nil)
        case (.optionalBool, SQLITE_NULL): unsafe place.initializeMemory(as: Bool?.self, to: nil)
        case (.optionalString, SQLITE_NULL):
            if isInitialized {
                unsafe place.assumingMemoryBound(to: String?.self).pointee = nil
            } else {
                unsafe place.initializeMemory(as: String?.self, to: nil)
            }
        case (_, SQLITE_NULL):
            guard let buffer = unsafe column.pointee.buffer else { return false }
            unsafe ColumnBuffer.storeNull(to: buffer, row: row)
        default: return false
        }
        return true
    }

    /// Stores the value that the member's type reads from the cell's message.
    private func storeMessage(
        _ index: Int, _ column: UnsafeMutablePointer<RowRecordBuffer.Column>, to place: UnsafeMutableRawPointer,
        _ isInitialized: Bool
    ) -> Bool {
        guard let records = unsafe state.pointee.recordBuffer.records, let shape = unsafe column.pointee.shape,
            let cell = try? unsafe cell(at: index)
        else { return false }
        guard isInitialized else { return unsafe shape.pointee.read(cell, to: place) }
        let memory = unsafe records.pointee.spareMemory(for: shape)
        guard unsafe shape.pointee.read(cell, to: memory) else { return false }
        unsafe shape.pointee.replace(place, by: memory)
        return true
    }
}
