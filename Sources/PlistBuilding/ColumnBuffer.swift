// The memory of one column while it grows. Trivial, so that the builder reaches it by address and counts no references.

import PlistStreaming

/// The type of the values of a column.
public enum ColumnType: UInt8, Sendable {
    case integer, real, bool, string
}

/// The growing memory of a column: values side by side, the text of strings with their ends, one bit for each null.
@unsafe @frozen
@usableFromInline
struct ColumnBuffer {
    /// The bytes of the name, which the builder owns.
    @usableFromInline let name: UnsafeRawBufferPointer
    @usableFromInline let type: ColumnType
    /// The number of rows that have a value or null.
    @usableFromInline var count = 0
    @usableFromInline var capacity = 0
    /// `Int64`, `Double` or `Bool` values, or the ends of strings in `text`.
    @usableFromInline var values: UnsafeMutableRawPointer
    @usableFromInline var text: UnsafeMutableRawPointer
    @usableFromInline var textCount = 0
    @usableFromInline var textCapacity = 0
    /// One word for 64 rows, as many as `capacity` needs; bits are set for nulls.
    @usableFromInline var nulls: UnsafeMutablePointer<UInt64>
    @usableFromInline var nullCount = 0

    init(name: UnsafeRawBufferPointer, type: ColumnType) {
        unsafe self.name = name
        unsafe self.type = type
        unsafe values = .allocate(byteCount: 0, alignment: 8)
        unsafe text = .allocate(byteCount: 0, alignment: 8)
        unsafe nulls = .allocate(capacity: 0)
    }

    /// The bytes of a value, or of the end of a string.
    var stride: Int { unsafe type == .bool ? 1 : 8 }

    /// Makes room for at least one more row.
    @usableFromInline @inline(never)
    mutating func grow() {
        let larger = unsafe max(1_024, 2 * capacity)
        // SAFETY: what is copied was initialized before; the new memory of nulls is zeroed as a whole.
        let newValues = unsafe UnsafeMutableRawPointer.allocate(byteCount: larger * stride, alignment: 8)
        unsafe newValues.copyMemory(from: values, byteCount: count * stride)
        unsafe values.deallocate()
        unsafe values = newValues
        let words = larger / 64
        let newNulls = UnsafeMutablePointer<UInt64>.allocate(capacity: words)
        unsafe newNulls.initialize(repeating: 0, count: words)
        unsafe newNulls.update(from: nulls, count: capacity / 64)
        unsafe nulls.deallocate()
        unsafe nulls = newNulls
        unsafe capacity = larger
    }

    /// Makes room for so many more bytes of text.
    @usableFromInline @inline(never)
    mutating func growText(by byteCount: Int) {
        let larger = unsafe max(4_096, 2 * textCapacity, textCount + byteCount)
        let newText = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
        unsafe newText.copyMemory(from: text, byteCount: textCount)
        unsafe text.deallocate()
        unsafe text = newText
        unsafe textCapacity = larger
    }

    /// Takes back the last row, whose key came again.
    @inline(never)
    mutating func removeLast() {
        unsafe count -= 1
        let (word, bit) = unsafe (count / 64, UInt64(1) << UInt64(count % 64))
        if unsafe nulls[word] & bit != 0 {
            unsafe nulls[word] &= ~bit
            unsafe nullCount -= 1
        }
        if unsafe type == .string {
            unsafe textCount = count == 0 ? 0 : values.load(fromByteOffset: 8 * (count - 1), as: Int.self)
        }
    }

    /// Adds a null, whose value in memory is zero.
    @inline(never)
    mutating func appendNull() {
        if unsafe count == capacity { unsafe grow() }
        switch unsafe type {
        case .integer: unsafe values.storeBytes(of: 0, toByteOffset: 8 * count, as: Int64.self)
        case .real: unsafe values.storeBytes(of: 0, toByteOffset: 8 * count, as: Double.self)
        case .bool: unsafe values.storeBytes(of: false, toByteOffset: count, as: Bool.self)
        case .string: unsafe values.storeBytes(of: textCount, toByteOffset: 8 * count, as: Int.self)
        }
        unsafe nulls[count / 64] |= 1 << UInt64(count % 64)
        unsafe nullCount += 1
        unsafe count += 1
    }

    func deallocate() {
        unsafe values.deallocate()
        unsafe text.deallocate()
        unsafe nulls.deallocate()
    }
}
