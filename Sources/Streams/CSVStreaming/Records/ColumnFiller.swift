// Stores similar records column by column in the memory of columns, with one tight loop for each column. Other records
// are left unchanged for RowFiller, which works field by field.

import PlistBuilding
import PlistStreaming

/// Stores the fields of some records of a batch, one column after another.
@unsafe
struct ColumnFiller {
    /// The minimum number of records for which this is faster.
    static var fewestRecords: Int { 8 }
    /// The number of bytes that are loaded from the start of a field, or from the byte after its sign.
    private static var loadedByteCount: Int { 33 }

    private let cursor: Unmanaged<CSVCursor>
    private let batch: RecordBatch
    private let first: Int
    /// The number of records.
    let count: Int
    private let width: Int
    private let quote: Int
    private let isUTF8: Bool
    /// The bytes from the first record to the end of the last one.
    private let byteCount: Int

    /// Begins with a record, and takes all consecutive records that have all fields, up to a limit of at least one.
    init(_ cursor: CSVCursor, _ batch: RecordBatch, from first: Int, limit: Int) {
        unsafe self.cursor = Unmanaged.passUnretained(cursor)
        unsafe (self.batch, self.first) = unsafe (batch, first)
        unsafe width = cursor.width
        unsafe quote = cursor.options.dialect.quote.map { Int($0) } ?? -1
        unsafe isUTF8 = cursor.options.encoding == .utf8
        // SAFETY: the caller stays below the number of records.
        let records = unsafe batch.records + first
        let (width, end) = unsafe (UInt32(truncatingIfNeeded: cursor.width), records.pointee.first)
        var (found, next) = (0, end)
        while unsafe found < limit && records[found].first == next && records[found].last == next &+ width {
            found &+= 1
            next &+= width
        }
        let start = unsafe Int(records.pointee.start)
        let last = unsafe found == 0 ? start : Int(batch.ends[Int(next) &- 1])
        unsafe byteCount = last &- start
        unsafe count = batch.byteCount &- last >= Self.loadedByteCount ? found : 0
    }

    /// The offsets of one field of each record.
    @unsafe
    private struct Fields {
        let starts: UnsafeRawPointer
        let startStride: Int
        /// The number of bytes between the current offset and the field.
        let gap: Int
        let ends: UnsafeRawPointer
        let endStride: Int

        @inline(__always)  // PERF: CSV/columns; once a field.
        subscript(index: Int) -> (start: Int, end: Int) {
            // SAFETY: see ColumnFiller.fields.
            unsafe (
                Int(starts.load(fromByteOffset: index &* startStride, as: UInt32.self)) &+ gap,
                Int(ends.load(fromByteOffset: index &* endStride, as: UInt32.self))
            )
        }
    }

    private func fields(_ field: Int) -> Fields {
        // SAFETY: each record has this many fields, and the ends of consecutive records are adjacent.
        let records = unsafe batch.records + first
        let ends = unsafe UnsafeRawPointer(batch.ends + Int(records.pointee.first) + field)
        let stride = unsafe width &* MemoryLayout<UInt32>.stride
        guard field > 0 else {
            return unsafe Fields(
                starts: UnsafeRawPointer(records), startStride: MemoryLayout<RecordBatch.Record>.stride, gap: 0,
                ends: ends, endStride: stride)
        }
        return unsafe Fields(
            starts: ends - MemoryLayout<UInt32>.stride, startStride: stride, gap: 1, ends: ends, endStride: stride)
    }

    /// Stores the records after the given number of stored ones; returns false if none was stored because messages are
    /// needed.
    func fill(
        _ columns: UnsafeMutableBufferPointer<CSVCursor.Column>,
        _ destinations: UnsafeMutableBufferPointer<RowRecordBuffer.Column>, behind doneCount: Int
    ) -> Bool {
        for index in columns.indices {
            guard let buffer = unsafe destinations[index].buffer else { continue }
            let run = unsafe ColumnRun(buffer, row: doneCount)
            let fields = unsafe fields(columns[index].field)
            let isStored =
                switch unsafe destinations[index].kind {
                case .integer: unsafe fillIntegers(fields, index, run)
                case .real: unsafe fillReals(fields, index, run)
                case .columnString: unsafe fillStrings(fields, index, run)
                case .columnBool: unsafe fillBools(fields, index, run)
                default: false
                }
            guard isStored else {
                for stored in 0...index {
                    guard let buffer = unsafe destinations[stored].buffer else { continue }
                    unsafe ColumnRun(buffer, row: doneCount).takeBack(count)
                }
                return false
            }
        }
        return true
    }

    // SAFETY: in all of these functions, a run has memory for a value of each record. The loaded bytes are within the
    // batch, which was checked when the records were counted.
    private func fillIntegers(_ fields: Fields, _ column: Int, _ run: ColumnRun) -> Bool {
        var index = unsafe storeShortIntegers(fields, from: 0, run)
        while unsafe index < count {
            let (start, end) = unsafe fields[index]
            if let value = unsafe ShortNumber.negative(batch.bytes + start, end &- start) {
                unsafe run.values.storeBytes(of: value, toByteOffset: index &* 8, as: Int64.self)
            } else if unsafe !storeOther(.integer, column, index, end == start, run) {
                return false
            }
            index = unsafe storeShortIntegers(fields, from: index + 1, run)
        }
        return true
    }

    /// Stores integers up to the first one that isn't short, and returns its index.
    @inline(never)  // PERF: CSV/columns; a loop without a call has all it needs in registers.
    private func storeShortIntegers(_ fields: Fields, from first: Int, _ run: ColumnRun) -> Int {
        for index in unsafe first..<count {
            let (start, end) = unsafe fields[index]
            guard let value = unsafe ShortNumber.integer(batch.bytes + start, end &- start) else { return index }
            unsafe run.values.storeBytes(of: value, toByteOffset: index &* 8, as: Int64.self)
        }
        return unsafe count
    }

    private func fillReals(_ fields: Fields, _ column: Int, _ run: ColumnRun) -> Bool {
        for index in unsafe 0..<count {
            let (start, end) = unsafe fields[index]
            if let value = unsafe ShortNumber.real(batch.bytes + start, end &- start) {
                unsafe run.values.storeBytes(of: value, toByteOffset: index &* 8, as: Double.self)
            } else if let value = unsafe ShortNumber.integer(batch.bytes + start, end &- start),
                let real = Double(exactly: value)
            {
                unsafe run.values.storeBytes(of: real, toByteOffset: index &* 8, as: Double.self)
            } else if unsafe !storeOther(.real, column, index, end == start, run) {
                return false
            }
        }
        return true
    }

    private func fillStrings(_ fields: Fields, _ column: Int, _ run: ColumnRun) -> Bool {
        let reserved = unsafe byteCount + Self.loadedByteCount
        var index = 0
        while true {
            index = unsafe storeShortStrings(fields, from: index, run, run.textEnd(reserving: reserved))
            guard unsafe index < count else { return true }
            let (start, end) = unsafe fields[index]
            guard unsafe storeOther(.columnString, column, index, end == start, run) else { return false }
            index += 1
        }
    }

    // PERF: CSV/columns; a text of up to 32 bytes is copied with two loads regardless of its length, in a loop without
    // a call.
    /// Stores texts up to the first one that isn't short, and returns its index; the memory has capacity for all of
    /// them.
    @inline(never)
    private func storeShortStrings(
        _ fields: Fields, from first: Int, _ run: ColumnRun, _ textEnd: UnsafeMutableRawPointer
    ) -> Int {
        let before = unsafe run.textCount
        // Offsets count from the beginning of the column's text, which is `before` bytes before the new text.
        var (index, textCount) = (first, before)
        let text = unsafe textEnd - before
        while unsafe index < count {
            let (start, end) = unsafe fields[index]
            let (source, length) = unsafe (batch.bytes + start, end &- start)
            let words = unsafe source.loadUnaligned(as: SIMD4<UInt64>.self)
            let isPlain = unsafe Int(source.load(as: UInt8.self)) != quote && (isUTF8 || Self.isASCII(words))
            guard isPlain && UInt(bitPattern: length &- 1) < 32 else { break }
            unsafe text.storeBytes(of: words, toByteOffset: textCount, as: SIMD4<UInt64>.self)
            textCount &+= length
            unsafe run.values.storeBytes(of: Int64(textCount), toByteOffset: index &* 8, as: Int64.self)
            index &+= 1
        }
        unsafe run.textCount = textCount
        return index
    }

    @inline(__always)  // PERF: see above.
    private static func isASCII(_ words: SIMD4<UInt64>) -> Bool {
        (words[0] | words[1] | words[2] | words[3]) & 0x8080_8080_8080_8080 == 0
    }

    private func fillBools(_ fields: Fields, _ column: Int, _ run: ColumnRun) -> Bool {
        for index in unsafe 0..<count {
            let (start, end) = unsafe fields[index]
            guard unsafe storeOther(.columnBool, column, index, end == start, run) else { return false }
        }
        return true
    }

    /// Stores a field with its message; returns false if messages are needed.
    @inline(never)
    private func storeOther(_ kind: FastKind, _ column: Int, _ index: Int, _ isEmpty: Bool, _ run: ColumnRun) -> Bool {
        if isEmpty {
            unsafe run.storeNull(index)
            return true
        }
        let record = unsafe first + index
        let message = unsafe cursor._withUnsafeGuaranteedRef { unsafe $0.storedMessage(of: column, in: record) }
        guard let message = unsafe message else { return false }
        switch unsafe (kind, message) {
        case (_, .null): unsafe run.storeNull(index)
        case (.integer, .integer(let value)):
            unsafe run.values.storeBytes(of: value, toByteOffset: index * 8, as: Int64.self)
        case (.real, .real(let value)):
            unsafe run.values.storeBytes(of: value, toByteOffset: index * 8, as: Double.self)
        case (.columnBool, .bool(let value)):
            unsafe run.values.storeBytes(of: value, toByteOffset: index, as: Bool.self)
        case (.columnString, .string(let text)): unsafe run.append(text.bytes, index)
        default: return false
        }
        return true
    }
}
