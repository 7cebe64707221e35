// The text of fields: without quotes, with doubled quotes replaced by single ones, and in UTF-8 for every encoding.

import PlistStreaming

/// Returns the texts of the fields of a record, which are valid until the next record.
@safe @usableFromInline
final class FieldTexts {
    @usableFromInline let quote: Int
    private let encoding: CSVReaderOptions.Encoding
    /// The texts of fields with doubled quotes, each at the same offset as in its record.
    private var unquoted = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// The last text that was converted from another encoding.
    private var decoded: [UInt8] = []

    init(_ options: CSVReaderOptions) {
        quote = options.dialect.quote.map { Int($0) } ?? -1
        encoding = options.encoding
    }

    deinit { unsafe unquoted.deallocate() }

    /// Returns the text of a field as it is in the input, without its quotes.
    ///
    /// The bytes belong to the batch, or are valid until a field of another record is requested.
    @inlinable @inline(__always)  // PERF: CSV/slices; once a field, in other modules.
    func bytes(of field: Int, in record: Int, _ batch: RecordBatch) -> UnsafeRawBufferPointer {
        let range = unsafe batch.range(of: field, in: record)
        // SAFETY: ranges are those of bytes of the batch.
        let text = unsafe UnsafeRawBufferPointer(start: batch.bytes + range.lowerBound, count: range.count)
        guard range.count > 0, unsafe Int(text.load(as: UInt8.self)) == quote else { return unsafe text }
        return unsafe withoutQuotes(text, range.lowerBound - Int(batch.records[record].start), record, batch)
    }

    /// Returns whether a field is in quotes.
    func isQuoted(_ field: Int, in record: Int, _ batch: RecordBatch) -> Bool {
        let range = unsafe batch.range(of: field, in: record)
        return unsafe range.count > 0
            && Int(batch.bytes.load(fromByteOffset: range.lowerBound, as: UInt8.self)) == quote
    }

    @usableFromInline @inline(never)
    func withoutQuotes(
        _ text: UnsafeRawBufferPointer, _ place: Int, _ record: Int, _ batch: RecordBatch
    ) -> UnsafeRawBufferPointer {
        // SAFETY: a field that begins with a quote ends with another one.
        let inner = unsafe UnsafeRawBufferPointer(rebasing: text[1..<text.count - 1])
        let byte = UInt8(truncatingIfNeeded: quote)
        guard let first = unsafe inner.firstIndex(of: byte) else { return unsafe inner }
        // The memory has capacity for all fields of a record at once, because borrowed fields must stay in place.
        let count = unsafe Int(batch.ends[Int(batch.records[record].last) - 1] &- batch.records[record].start)
        if unsafe unquoted.count < count {
            unsafe unquoted.deallocate()
            unsafe unquoted = .allocate(byteCount: max(1 << 12, count), alignment: 8)
        }
        let target = unsafe UnsafeMutableRawBufferPointer(rebasing: unquoted[place..<place + inner.count])
        unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: inner[...first]))
        var (length, offset) = (first + 1, first + 2)
        while offset < inner.count {
            let value = unsafe inner[offset]
            unsafe target[length] = value
            length += 1
            offset += value == byte ? 2 : 1
        }
        return unsafe UnsafeRawBufferPointer(rebasing: target[..<length])
    }

    /// Returns the text of a field in UTF-8, or nil if it isn't valid.
    ///
    /// The bytes belong to the batch, or are valid until another field is requested.
    func text(of field: Int, in record: Int, _ batch: RecordBatch) -> UnsafeRawBufferPointer? {
        let bytes = unsafe bytes(of: field, in: record, batch)
        switch encoding {
        case .utf8: return unsafe bytes
        case .bytes: return unsafe UTF8Check.isValid(bytes) ? bytes : nil
        case .latin1, .windows1252:
            if unsafe UTF8Check.isASCII(bytes) { return unsafe bytes }
            decoded.removeAll(keepingCapacity: true)
            for index in bytes.indices {
                decoded.append(contentsOf: unsafe encoding.character(bytes[index]).utf8)
            }
            // SAFETY: the array doesn't change before the next call, and has at least two bytes in its own memory.
            return unsafe decoded.withUnsafeBytes { unsafe $0 }
        }
    }
}

extension CSVReaderOptions.Encoding {
    /// Returns the character of a byte in an encoding with one byte per character.
    func character(_ byte: UInt8) -> Character {
        let code = self == .windows1252 ? CharacterCode.ofWindows1252(byte) : UInt16(byte)
        return Character(UnicodeScalar(code) ?? "\u{FFFD}")
    }
}
