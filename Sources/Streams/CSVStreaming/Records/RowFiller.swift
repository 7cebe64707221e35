// Stores the fields of one record: short fields of the most common kinds directly, all others with their messages.

import PlistBuilding
import PlistStreaming

/// Stores the fields of a record in the memory of the columns' members.
@unsafe
struct RowFiller {
    private let cursor: Unmanaged<CSVCursor>
    private let batch: RecordBatch
    private let records: UnsafeMutablePointer<RecordState>
    private let isInitialized: Bool
    private let quote: Int
    /// A Boolean value that indicates whether a short text may be stored unchanged, and whether it must then be ASCII.
    private let knowsStrings: Bool
    private let isUTF8: Bool
    /// A Boolean value that indicates whether the columns are the fields in their order.
    private let isInOrder: Bool
    /// The last offset at which three words can be loaded.
    private let last: Int

    init(_ cursor: CSVCursor, _ batch: RecordBatch, _ records: UnsafeMutablePointer<RecordState>) {
        unsafe self.cursor = Unmanaged.passUnretained(cursor)
        unsafe (self.batch, self.records) = unsafe (batch, records)
        unsafe isInitialized = records.pointee.isInitialized
        unsafe quote = cursor.options.dialect.quote.map { Int($0) } ?? -1
        unsafe knowsStrings = SmallText.checked.isLayoutKnown
        unsafe isInOrder = cursor.isInOrder
        unsafe isUTF8 = cursor.options.encoding == .utf8
        unsafe last = batch.byteCount - 24
    }

    /// Stores the fields of a record. Returns the index of the column that could not be stored, or the number of
    /// columns, and the bits of the stored members.
    @inline(__always)  // PERF: CSV/typed; once a record.
    func fill(
        _ record: Int, _ base: Int, _ columns: UnsafeMutableBufferPointer<CSVCursor.Column>,
        _ destinations: UnsafeMutableBufferPointer<RowRecordBuffer.Column>
    ) -> (index: Int, seen: UInt64) {
        var seen: UInt64 = 0
        // SAFETY: the record buffer has a column for each of the cursor's. The record contains a field for each of
        // them, because its number of fields was compared. A kind determines the type of the memory. Words are loaded
        // only within the available bytes.
        guard var column = destinations.baseAddress else { return (0, 0) }
        let (first, count) = unsafe (Int(batch.records[record].first), columns.count)
        let ends = unsafe batch.ends + first
        var start = unsafe Int(batch.records[record].start)
        var index = 0
        while index < count {
            let kind = unsafe column.pointee.kind
            // PERF: CSV/typed; if the columns are those of the text, a field begins after the previous one.
            let field = unsafe isInOrder ? index : columns[index].field
            if unsafe !isInOrder {
                start = unsafe field == 0 ? Int(batch.records[record].start) : Int(ends[field &- 1]) &+ 1
            }
            let end = unsafe Int(ends[field])
            if kind != .none {
                let place = unsafe UnsafeMutableRawPointer(bitPattern: base &+ column.pointee.offset).unsafelyUnwrapped
                let isStored =
                    unsafe start <= last && storeShort(kind, batch.bytes + start, end &- start, column, place)
                guard unsafe isStored || storeOther(index, column, place) else { return (index, seen) }
                unsafe seen |= column.pointee.bit
            }
            start = end &+ 1
            index &+= 1
            unsafe column += 1
        }
        return (count, seen)
    }

    @inline(__always)  // PERF: CSV/typed; once a field.
    private func storeShort(
        _ kind: FastKind, _ text: UnsafeRawPointer, _ count: Int,
        _ column: UnsafeMutablePointer<RowRecordBuffer.Column>,
        _ place: UnsafeMutableRawPointer
    ) -> Bool {
        switch kind {
        case .integer:
            guard let value = unsafe ShortNumber.integer(text, count) else { return false }
            unsafe place.storeBytes(of: value, as: Int64.self)
        case .columnString:
            let low = unsafe text.loadUnaligned(as: UInt64.self).littleEndian
            let high = unsafe text.loadUnaligned(fromByteOffset: 8, as: UInt64.self).littleEndian
            guard UInt(bitPattern: count &- 1) < 16, unsafe Int(low & 0xFF) != quote,
                unsafe isUTF8 || (low | high) & 0x8080_8080_8080_8080 == 0,
                let buffer = unsafe column.pointee.buffer
            else { return false }
            unsafe ColumnBuffer.append((low, high), count, to: buffer, endAt: place)
        case .string:
            guard UInt(bitPattern: count &- 1) < 15, unsafe knowsStrings else { return false }
            var low = unsafe text.loadUnaligned(as: UInt64.self).littleEndian
            var high = unsafe text.loadUnaligned(fromByteOffset: 8, as: UInt64.self).littleEndian
            guard unsafe Int(low & 0xFF) != quote else { return false }
            let bits = UInt64(truncatingIfNeeded: count &* 8)
            if count < 8 { (low, high) = (low & (1 &<< bits &- 1), 0) } else { high &= 1 &<< (bits &- 64) &- 1 }
            guard (low | high) & 0x8080_8080_8080_8080 == 0 else { return false }
            unsafe SmallText.store((low, high | SmallText.mark(count)), to: place, isInitialized: isInitialized)
        case .real:
            guard let value = unsafe ShortNumber.real(text, count) else { return false }
            unsafe place.storeBytes(of: value, as: Double.self)
        case .optionalInteger:
            guard let value = unsafe ShortNumber.integer(text, count) else { return false }
            unsafe place.initializeMemory(as: Int64?.self, to: value)
        case .optionalReal:
            guard let value = unsafe ShortNumber.real(text, count) else { return false }
            unsafe place.initializeMemory(as: Double?.self, to: value)
        default:
            return false
        }
        return true
    }

    /// Stores a field with its message; returns false if messages are needed.
    @inline(never)
    private func storeOther(
        _ index: Int, _ column: UnsafeMutablePointer<RowRecordBuffer.Column>, _ place: UnsafeMutableRawPointer
    ) -> Bool {
        let message = unsafe cursor._withUnsafeGuaranteedRef { unsafe $0.storedMessage(of: index, in: $0.record) }
        guard let message = unsafe message else { return false }
        // SAFETY: see fill.
        let kind = unsafe column.pointee.kind
        switch unsafe (kind, message) {
        case (.integer, .integer(let value)): unsafe place.storeBytes(of: value, as: Int64.self)
        case (.real, .real(let value)): unsafe place.storeBytes(of: value, as: Double.self)
        case (.bool, .bool(let value)): unsafe place.storeBytes(of: value, as: Bool.self)
        case (.columnBool, .bool(let value)):
            // The column has one byte per row, but the address advances by eight.
            unsafe (place - 7 * records.pointee.doneCount).storeBytes(of: value, as: Bool.self)
        case (.string, .string(let text)): unsafe SmallText.store(text.bytes, to: place, isInitialized: isInitialized)
        case (.optionalString, .string(let text)):
            unsafe SmallText.store(text.bytes, toOptional: place, isInitialized: isInitialized)
        case (.columnString, .string(let text)):
            guard let buffer = unsafe column.pointee.buffer else { return false }
            unsafe ColumnBuffer.append(text.bytes, to: buffer, endAt: place)
        case (.optionalInteger, .integer(let value)): unsafe place.initializeMemory(as: Int64?.self, to: value)
        case (.optionalReal, .real(let value)): unsafe place.initializeMemory(as: Double?.self, to: value)
        case (.optionalBool, .bool(let value)): unsafe place.initializeMemory(as: Bool?.self, to: value)
        case (.optionalInteger, .null): unsafe place.initializeMemory(as: Int64?.self, to: nil)
        case (.optionalReal, .null): unsafe place.initializeMemory(as: Double?.self, to: nil)
        case (.optionalBool, .null): unsafe place.initializeMemory(as: Bool?.self, to: nil)
        case (_, .null) where unsafe column.pointee.buffer != nil:
            guard let buffer = unsafe column.pointee.buffer else { return false }
            unsafe ColumnBuffer.storeNull(to: buffer, row: records.pointee.doneCount)
        default:
            return unsafe storeByType(message, column, place)
        }
        return true
    }

    /// Stores the value that the member's type reads from a message.
    private func storeByType(
        _ message: ScalarMessage, _ column: UnsafeMutablePointer<RowRecordBuffer.Column>,
        _ place: UnsafeMutableRawPointer
    ) -> Bool {
        // SAFETY: see fill.
        guard let shape = unsafe column.pointee.shape else { return false }
        guard unsafe isInitialized else { return unsafe shape.pointee.read(message, to: place) }
        let memory = unsafe records.pointee.spareMemory(for: shape)
        guard unsafe shape.pointee.read(message, to: memory) else { return false }
        unsafe shape.pointee.replace(place, by: memory)
        return true
    }
}
