// Inputs made to hurt: they end in a clear error at the right offset, in bounded memory and without recursion.

import Foundation
import JSONStreaming
import PlistStreaming
import Testing

@Suite struct HostileInputTests {
    /// Feeds a beginning, a piece again and again, and an end, in chunks; returns the error, nil when all is accepted.
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
        // A small limit, because an unoptimised build takes a second for each megabyte of a string cut into chunks.
        let options = JSONReaderOptions(limits: StreamLimits(stringByteCount: 1 << 20))
        let error = read("\"", repeating: "abcdefg ", to: 100 << 20, "\"", options: options)
        #expect(error?.kind == .limitExceeded)
        #expect(error?.position?.byteOffset == (1 << 20) + 1)
        // At the limit it is a string like any other.
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
        // Whitespace, and elements, as many as there may be.
        #expect(read("[1", repeating: "        \n", to: 8 << 20, "]") == nil)
        #expect(read("[1", repeating: ",{\"a\":[2]}", to: 8 << 20, "]") == nil)
    }

    @Test func stopsAtTheTotal() {
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
}
