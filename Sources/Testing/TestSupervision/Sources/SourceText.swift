// The bytes of a source, and the lines among them.

internal import InClassSystem
import TestEvents

package final class SourceText {
    package let bytes: [UInt8]
    let count: Int
    /// A copy of the bytes, followed by some zeros.
    let base: UnsafePointer<UInt8>
    /// The line that was last asked for, and its first byte.
    private var (line, lineStart) = (1, 0)

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        count = bytes.count
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: count + 8)
        bytes.withUnsafeBufferPointer { buffer in
            if let start = buffer.baseAddress { copy.update(from: start, count: buffer.count) }
        }
        (copy + count).update(repeating: 0, count: 8)
        base = UnsafePointer(copy)
    }

    deinit { base.deallocate() }

    package func text(_ range: Range<Int>) -> String {
        String(decoding: UnsafeBufferPointer(start: base + range.lowerBound, count: range.count), as: UTF8.self)
    }

    /// Returns the offset of a text's first occurrence at or after an offset.
    func offset(of text: StaticString, from start: Int = 0) -> Int? {
        inclass_memmem(base + start, count - start, text.utf8Start, text.utf8CodeUnitCount)
            .map { $0 - UnsafeRawPointer(base) }
    }

    /// Returns the line of a byte, from 1.
    ///
    /// - Complexity: O(*n*), where *n* is the distance to the byte that was last asked for.
    package func line(at offset: Int) -> Int {
        while offset < lineStart {
            line -= 1
            lineStart -= 1
            while lineStart > 0, base[lineStart - 1] != 0x0A { lineStart -= 1 }
        }
        while let newline = memchr(base + lineStart, 0x0A, offset - lineStart) {
            line += 1
            lineStart = UnsafeRawPointer(newline) - UnsafeRawPointer(base) + 1
        }
        return line
    }

    /// Returns the line and the column of a byte in a source with this path.
    package func place(at offset: Int, in path: String) -> SourcePlace {
        let line = line(at: offset)
        return SourcePlace(path: path, line: line, column: offset - lineStart + 1)
    }
}
