// The memory of one column while it grows. The type is trivial, so that the builder can use it by address without reference
// counting.

import StreamingSystem
import PlistStreaming

/// The type of the values of a column.
public enum ColumnType: UInt8, Sendable {
    /// Integers of 64 bits.
    case integer
    /// Floating-point numbers of 64 bits. Integers are accepted too.
    case real
    /// Booleans.
    case bool
    /// Strings.
    case string

    /// The kind that readers use to store a value.
    var kind: FastKind {
        switch self {
        case .integer: .integer
        case .real: .real
        case .bool: .columnBool
        case .string: .columnString
        }
    }
}

/// The growing memory of a column: adjacent values, the text of strings with their end offsets, and one bit for each null.
@unsafe @frozen
@usableFromInline
package struct ColumnBuffer {
    /// The bytes of the name, which the builder owns.
    @usableFromInline let name: UnsafeRawBufferPointer
    @usableFromInline let words: KeyWords
    @usableFromInline let type: ColumnType
    /// The dictionary that contains the member, and the dictionary that has the member's name as well; see `ColumnNames`.
    @usableFromInline let level: Int
    @usableFromInline let inner: Int
    /// The number of rows that have a value or null.
    @usableFromInline var count = 0
    @usableFromInline var capacity = 0
    /// `Int64`, `Double` or `Bool` values, or the ends of strings in `text`.
    @usableFromInline var values: UnsafeMutableRawPointer
    @usableFromInline var text: UnsafeMutableRawPointer
    @usableFromInline var textCount = 0
    @usableFromInline var textCapacity = 0
    /// The bits of nulls, with one word for 64 rows and as many words as `capacity` needs.
    @usableFromInline var nulls: UnsafeMutablePointer<UInt64>
    @usableFromInline var nullCount = 0

    init(name: UnsafeRawBufferPointer, type: ColumnType, level: Int, inner: Int) {
        unsafe self.name = name
        unsafe words = KeyWords(name)
        unsafe self.type = type
        unsafe self.level = level
        unsafe self.inner = inner
        unsafe values = Self.resized(nil, 0)
        unsafe text = Self.resized(nil, 0)
        unsafe nulls = Self.resized(nil, 0).assumingMemoryBound(to: UInt64.self)
    }

    /// The number of bytes of a value, or of the end offset of a string.
    var stride: Int { unsafe type == .bool ? 1 : 8 }

    /// Reserves memory for at least one more row, and for the expected rows.
    @usableFromInline @inline(never)
    mutating func grow(expecting expected: Int = 0) {
        let rows = unsafe max(1_024, ArrayGrowth.capacity(count: count, needed: count + 1, expecting: expected))
        unsafe reserve(rows)
        if unsafe type == .string && count > 0 && expected > 0 {
            unsafe growText(by: textCount / count * (capacity - count))
        }
    }

    /// Reserves memory for at least a number of rows, which has to exceed the capacity.
    mutating func reserve(_ rows: Int) {
        let larger = (rows + 63) & ~63
        unsafe values = Self.resized(values, larger * stride)
        let (words, newWords) = unsafe (capacity / 64, larger / 64)
        unsafe nulls = Self.resized(nulls, 8 * newWords).assumingMemoryBound(to: UInt64.self)
        unsafe (nulls + words).initialize(repeating: 0, count: newWords - words)
        unsafe capacity = larger
    }

    /// Reserves memory for a number of additional bytes of text.
    @usableFromInline @inline(never)
    mutating func growText(by byteCount: Int) {
        let larger = unsafe max(4_096, 2 * textCapacity, textCount + byteCount)
        unsafe text = Self.resized(text, larger)
        unsafe textCapacity = larger
    }

    /// Grows memory. For large areas, the system moves pages instead of copying them, and whole large pages are used.
    private static func resized(_ memory: UnsafeMutableRawPointer?, _ byteCount: Int) -> UnsafeMutableRawPointer {
        let count = byteCount < LargePages.byteCount ? max(byteCount, 8) : LargePages.capacity(for: byteCount)
        guard let larger = unsafe realloc(memory, count) else { preconditionFailure("out of memory") }
        unsafe LargePages.use(larger, count)
        return unsafe larger
    }

    // MARK: Text stored by readers

    /// Adds the text of a string of up to 15 bytes, given as two words, to the column at an address.
    @inlinable @inline(__always)  // PERF: JSONRecords/columns; once a string, without a call.
    package static func append(
        _ words: (UInt64, UInt64), _ count: Int, to column: UnsafeMutableRawPointer, endAt end: UnsafeMutableRawPointer
    ) {
        // SAFETY: builders keep the columns at their addresses. The text has space for both words, although only `count`
        // bytes are used.
        let column = unsafe column.assumingMemoryBound(to: ColumnBuffer.self)
        if unsafe column.pointee.textCapacity &- column.pointee.textCount < 16 {
            unsafe column.pointee.growText(by: 16)
        }
        let start = unsafe column.pointee.text + column.pointee.textCount
        unsafe start.storeBytes(of: words.0.littleEndian, as: UInt64.self)
        unsafe start.storeBytes(of: words.1.littleEndian, toByteOffset: 8, as: UInt64.self)
        unsafe column.pointee.textCount &+= count
        unsafe end.storeBytes(of: Int64(column.pointee.textCount), as: Int64.self)
    }

    /// Adds the text of a string to the column at an address.
    package static func append(
        _ utf8: RawSpan, to column: UnsafeMutableRawPointer, endAt end: UnsafeMutableRawPointer
    ) {
        // SAFETY: see above.
        let column = unsafe column.assumingMemoryBound(to: ColumnBuffer.self)
        unsafe column.pointee.appendText(utf8)
        unsafe end.storeBytes(of: Int64(column.pointee.textCount), as: Int64.self)
    }

    /// Stores a null in the column at an address. The row is counted from the end of the rows that the column had when it was
    /// provided.
    package static func storeNull(to column: UnsafeMutableRawPointer, row: Int) {
        // SAFETY: see above; the column has space for the row, and counts it when the memory is returned.
        let column = unsafe column.assumingMemoryBound(to: ColumnBuffer.self)
        unsafe column.pointee.setNull(column.pointee.count + row)
    }

    /// Adds bytes to the text.
    @inlinable @inline(__always)  // PERF: JSONRecords/columns; once a string.
    mutating func appendText(_ utf8: RawSpan) {
        let byteCount = utf8.byteCount
        if unsafe textCapacity &- textCount < byteCount { unsafe growText(by: byteCount) }
        // SAFETY: the line above has reserved space for the bytes.
        unsafe utf8.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress {
                unsafe (text + textCount).copyMemory(from: start, byteCount: byteCount)
            }
        }
        unsafe textCount &+= byteCount
    }

    /// Removes the value of the last row, because its key was repeated.
    @inline(never)
    mutating func removeLast() {
        unsafe count -= 1
        let (word, bit) = unsafe (count / 64, UInt64(1) << UInt64(count % 64))
        if unsafe nulls[word] & bit != 0 {
            unsafe nulls[word] &= ~bit
            unsafe nullCount -= 1
        }
        if unsafe type == .string {
            unsafe textCount = count == 0 ? 0 : Int(values.load(fromByteOffset: 8 * (count - 1), as: Int64.self))
        }
    }

    /// Removes all rows but keeps the memory.
    mutating func removeAll() {
        unsafe nulls.update(repeating: 0, count: capacity / 64)
        unsafe (count, textCount, nullCount) = (0, 0, 0)
    }

    /// Adds a null.
    @inline(never)
    mutating func appendNull() {
        if unsafe count == capacity { unsafe grow() }
        unsafe setNull(count)
        unsafe count += 1
    }

    /// Stores a null in a row after the last one, within the capacity. The value in memory is zero.
    private mutating func setNull(_ row: Int) {
        switch unsafe type {
        case .integer: unsafe values.storeBytes(of: 0, toByteOffset: 8 * row, as: Int64.self)
        case .real: unsafe values.storeBytes(of: 0, toByteOffset: 8 * row, as: Double.self)
        case .bool: unsafe values.storeBytes(of: false, toByteOffset: row, as: Bool.self)
        case .string: unsafe values.storeBytes(of: Int64(textCount), toByteOffset: 8 * row, as: Int64.self)
        }
        unsafe nulls[row / 64] |= 1 << UInt64(row % 64)
        unsafe nullCount += 1
    }

    func deallocate() {
        unsafe free(values)
        unsafe free(text)
        unsafe free(nulls)
    }
}
