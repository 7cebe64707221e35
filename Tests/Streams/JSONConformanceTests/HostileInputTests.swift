// Checks that hostile input ends in a clear error at the right offset, in bounded memory and without recursion.

import Foundation
import JSONStreaming
import PlistStreaming
import Testing

@Suite(.serialized) struct HostileInputTests {
    /// Feeds a beginning, a repeated piece, and an end, in chunks. Returns the error, or nil if everything is accepted.
    private func read(
        _ beginning: String, repeating piece: String, to byteCount: Int, _ end: String = "",
        options: JSONReaderOptions = JSONReaderOptions()
    ) -> StreamError? {
        let chunk = Array(String(repeating: piece, count: max(1, 65_536 / piece.utf8.count)).utf8)
        var reader = JSONReader(sink: NullSink(), options: options)
        do throws(StreamError) {
            try beginning.withUTF8Span { bytes throws(StreamError) in try reader.feed(bytes) }
            for _ in 0..<byteCount / chunk.count {
                try chunk.withUnsafeBufferPointer { buffer throws(StreamError) in
                    try reader.feed(UnsafeRawBufferPointer(buffer).bytes)
                }
            }
            try end.withUTF8Span { bytes throws(StreamError) in try reader.feed(bytes) }
            try reader.finish()
            return nil
        } catch {
            return error
        }
    }

    @Test func stopsAtAGigabyteOfBrackets() {
        for piece in ["[", "{\"a\":", "[{\"\":"] {
            let error = read("", repeating: piece, to: 1 << 30)
            #expect(error?.kind == .limitExceeded)
            let levels = piece == "[{\"\":" ? 2 : 1
            let offset = 1024 / levels * piece.utf8.count
            #expect(error?.position?.byteOffset == offset)
        }
    }

    @Test func stopsInAnEndlessString() {
        // Use a small limit because an unoptimized build takes a second per megabyte of a string that is cut into
        // chunks.
        let options = JSONReaderOptions(limits: StreamLimits(stringByteCount: 1 << 20))
        let error = read("\"", repeating: "abcdefg ", to: 100 << 20, "\"", options: options)
        #expect(error?.kind == .limitExceeded)
        #expect(error?.position?.byteOffset == (1 << 20) + 1)
        // A string of exactly the limit is accepted.
        #expect(read("\"", repeating: "abcdefg ", to: 1 << 20, "\"", options: options) == nil)
        #expect(StreamLimits.standard.stringByteCount == 64 << 20)
    }

    @Test func stopsInANumberOfAMillionDigits() {
        for beginning in ["", "0.", "1e", "-"] {
            let error = read(beginning, repeating: "1234567890123456", to: 1 << 20)
            #expect(error?.kind == .limitExceeded)
            #expect(error?.position?.byteOffset == 4096)
        }
    }

    @Test func acceptsAnyNumberOfSmallValues() {
        // Read any amount of whitespace and any number of elements.
        #expect(read("[1", repeating: "        \n", to: 8 << 20, "]") == nil)
        #expect(read("[1", repeating: ",{\"a\":[2]}", to: 8 << 20, "]") == nil)
    }

    @Test func stopsAtTotalByteLimit() {
        let options = JSONReaderOptions(limits: StreamLimits(totalByteCount: 1_000_000))
        let error = read("[1", repeating: ",1", to: 2 << 20, "]", options: options)
        #expect(error?.kind == .limitExceeded)
        #expect(error?.position?.byteOffset == 1_000_000)
    }

    @Test func reportsTrailingGarbage() {
        for garbage in ["x", "\0", "]", "}", "1", "\u{FEFF}", "/* */"] {
            let error = read("[]", repeating: " \n", to: 1 << 17, garbage)
            #expect(error?.kind == .invalidSyntax)
            #expect(error?.position?.byteOffset == 2 + (1 << 17))
            #expect(error?.position?.line == 1 + (1 << 16))
        }
    }

    @Test func readsMillionsOfLevels() {
        // Use millions of levels. Each needs one bit of memory, and no recursion.
        let options = JSONReaderOptions(limits: StreamLimits(depth: 1 << 30))
        let error = read("", repeating: "[", to: 4 << 20, "]", options: options)
        #expect(error?.kind == .unexpectedEnd)
        #expect(error?.position?.byteOffset == (4 << 20) + 1)
    }

    @Test func reportsZeroBytes() {
        let rows: [(String, StreamError.Kind, Int)] = [
            ("\0", .invalidSyntax, 0), ("\0[]", .invalidSyntax, 0), ("[\0]", .invalidSyntax, 1),
            ("[1\0]", .invalidSyntax, 2), ("[]\0", .invalidSyntax, 2), ("{\0\"a\":1}", .invalidSyntax, 1),
            ("{\"a\"\0:1}", .invalidSyntax, 4), ("{\"a\":\0 1}", .invalidSyntax, 5), ("[tr\0e]", .invalidSyntax, 3),
            ("[\"\0\"]", .invalidSyntax, 2), ("[\"abc\0\"]", .invalidSyntax, 5), ("{\"a\0\":1}", .invalidSyntax, 3),
            ("[\"\\u0\0\"]", .invalidSyntax, 5),
        ]
        for (text, kind, offset) in rows {
            for chunkSizes in [[], Array(repeating: 1, count: 20)] {
                let outcome = Corpus.outcome(Array(text.utf8), chunkSizes: chunkSizes)
                let name = text.debugDescription
                #expect(outcome.contains("! \(kind) "), "\(name): \(outcome)")
                #expect(outcome.hasSuffix("(byte \(offset))"), "\(name): \(outcome)")
            }
        }
    }

    @Test func agreesWithTheStandardLibraryOnUTF8() {
        // Use every pair of bytes, and every beginning of three and four bytes with the values around each boundary.
        let edges: [UInt8] = [0x00, 0x22, 0x5C, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
        var rows: [[UInt8]] = []
        for first in UInt8(0x80)...0xFF {
            rows.append([first])
            for second in UInt8.min...UInt8.max { rows.append([first, second]) }
            for second in edges where first >= 0xE0 {
                for third in edges {
                    rows.append([first, second, third])
                    for fourth in edges where first >= 0xF0 { rows.append([first, second, third, fourth]) }
                }
            }
        }
        for row in rows {
            // A quote, a backslash or a control character would change the string's syntax, not its text.
            let isAboutText = row.allSatisfy { $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C }
            guard isAboutText else { continue }
            let isValid = String(validating: row, as: UTF8.self) != nil
            for text in [Array("[\"a".utf8) + row + Array("b\"]".utf8), Array("{\"".utf8) + row + Array("\":1}".utf8)] {
                var sink = NullSink()
                var error: StreamError?
                do throws(StreamError) { try sink.readJSON(text) } catch let thrown { error = thrown }
                if (error == nil) != isValid || (error.map { $0.kind != .invalidText } ?? false) {
                    Issue.record("\(row): \(error.map(String.init(describing:)) ?? "accepted")")
                }
            }
        }
    }
}
