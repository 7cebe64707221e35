// Checks text between SQLite and streams: for NUL when it is inserted, for valid UTF-8 when it is read.

import CSystemSQLite
import PlistStreaming

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Checks of text.
package enum TextCheck {
    /// Returns the offset of the first NUL, or nil.
    @inline(__always)  // PERF: SQLite/insert; once a text.
    package static func firstNUL(in text: RawSpan) -> Int? {
        // SAFETY: the pointer does not leave the closure.
        unsafe text.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, let found = unsafe memchr(start, 0, bytes.count) else { return nil }
            return unsafe UnsafeRawPointer(found) - start
        }
    }

    /// Makes the error for text with a NUL.
    @inline(never)
    package static func foundNUL(at offset: Int) -> StreamError {
        StreamError(
            .unrepresentable,
            "found a NUL character in text (at its byte \(offset)), where SQL functions would cut it")
    }

    /// Returns whether bytes are UTF-8.
    @inline(__always)  // PERF: SQLite/reading; once a text, mostly short and ASCII.
    static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe UTF8Check.isASCII(bytes) || UTF8Check.isValid(bytes)
    }
}

/// An address for empty text and blobs, since SQLite reads a null pointer as null.
// SAFETY: one byte that exists as long as the process and is never written.
nonisolated(unsafe) package let emptyText: UnsafePointer<CChar> = {
    let memory = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
    unsafe memory.initialize(to: 0)
    return unsafe UnsafePointer(memory)
}()

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension TextCheck: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testAgreesWithTheStandardLibrary": testAgreesWithTheStandardLibrary,
            "testFindsNUL": testFindsNUL,
        ]
    }

    private static func check(_ bytes: [UInt8]) {
        let found = unsafe bytes.withUnsafeBytes { unsafe isUTF8($0) }
        expectEqual(found, String(validating: bytes, as: UTF8.self) != nil, "\(bytes)")
    }

    private static func testAgreesWithTheStandardLibrary() {
        // All pairs of boundary bytes, after ASCII of every length up to two words.
        let edges: [UInt8] = [
            0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
            0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
        ]
        for first in edges {
            for second in edges {
                check([first, second])
                for third in [UInt8(0x41), 0x80, 0xBF, 0xC2] {
                    check([first, second, third])
                    check([first, second, third, 0x80])
                    check([first, second, 0x80, third, 0x41])
                }
            }
        }
        for length in 0...17 {
            let ascii = [UInt8](repeating: 0x61, count: length)
            for tail: [UInt8] in [[], [0xC3, 0xA9], [0xC3], [0xA9], [0xF0, 0x9F, 0x99, 0x82], [0xF0, 0x9F, 0x99]] {
                check(ascii + tail)
                check(tail + ascii)
            }
        }
    }

    private static func testFindsNUL() {
        for (text, offset) in [("", nil), ("abc", nil), ("\0", 0), ("aé\0b\0", 3)] {
            expectEqual(text.withUTF8Span { firstNUL(in: $0) }, offset, text.debugDescription)
        }
    }
}
#endif
