// The text of fields: without quotes, with doubled ones made one, and in UTF-8 whatever the encoding.

import PlistStreaming

/// Gives the texts of the fields of a record, which stay until the next record.
@safe @usableFromInline
final class FieldTexts {
    @usableFromInline let quote: Int
    private let encoding: CSVReaderOptions.Encoding
    /// Texts with doubled quotes, each as far behind the beginning as it is in its record.
    private var unquoted = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// The last text that was of another encoding.
    private var decoded: [UInt8] = []

    init(_ options: CSVReaderOptions) {
        quote = options.dialect.quote.map { Int($0) } ?? -1
        encoding = options.encoding
    }

    deinit { unsafe unquoted.deallocate() }

    /// The text of a field as it is in the input, but for quotes.
    ///
    /// Bytes are those of the batch, or stay until a field of another record is asked for.
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
        // There is room for all fields of a record at once, since those that are lent stay where they are.
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

    /// The text of a field in UTF-8; nil where it is none.
    ///
    /// Bytes are those of the batch, or stay until another field is asked for.
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
            // SAFETY: the array is not changed before the next call, and has at least two bytes, which lie in its own memory.
            return unsafe decoded.withUnsafeBytes { unsafe $0 }
        }
    }
}

extension CSVReaderOptions.Encoding {
    /// The character of a byte, where each is one.
    func character(_ byte: UInt8) -> Character {
        let code = self == .windows1252 ? CharacterCode.ofWindows1252(byte) : UInt16(byte)
        return Character(UnicodeScalar(code) ?? "\u{FFFD}")
    }
}
