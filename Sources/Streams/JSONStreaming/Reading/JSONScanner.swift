// The scanner's state and its entry points: bytes in, messages out, in chunks of any size. JSONScanner+Runs contains
// the fast loop; JSONScanner+Plain contains the plain scanner, which handles all text byte by byte.

public import PlistStreaming

/// A parser that turns JSON text, chunk by chunk, into messages for a sink.
///
/// It accepts exactly RFC 8259. The sink is passed to each call, so that one scanner type serves all sinks. Each call
/// is specialized for its sink. The scanner keeps no part of the input except a string or number that was cut at the
/// end of a chunk.
///
/// ```swift
/// var scanner = JSONScanner()
/// var trace = EventTrace()
/// try scanner.scan(firstBytes, into: &trace)
/// try scanner.scan(moreBytes, into: &trace)
/// try scanner.finish(into: &trace)
/// ```
///
/// ``JSONReader`` wraps a scanner and a sink; ``/PlistStreaming/PlistSink`` has functions for whole documents.
public struct JSONScanner: Sendable {
    /// The tokens that may come next.
    @usableFromInline
    enum State: UInt8, Sendable {
        case value, firstElement, firstKey, key, colon, afterValue
        case beforeRoot, afterRoot
        case string, escape
        case literal
        case minus, zero, integer, point, fraction, exponent, exponentSign, exponentDigits
        case failed
    }

    @usableFromInline let options: JSONReaderOptions
    @usableFromInline let allowsRuns: Bool
    /// The length of a real up to which its double has all of its digits, or none that matter.
    @usableFromInline let realByteLimit: Int
    @usableFromInline var state: State = .beforeRoot
    @usableFromInline var nesting: NestingStack = NestingStack()
    /// The unescaped text of the string, or the text of the number, that the plain scanner is reading.
    @usableFromInline var scratch: [UInt8] = []
    /// The members that the fast loop predicts.
    @usableFromInline var hints: MemberHints = MemberHints()

    /// The start of the current chunk.
    @usableFromInline var chunkPlace: LinePlace = LinePlace()
    /// The offset of the current token in the whole input, for errors of the sink.
    @usableFromInline var tokenOffset: Int = 0
    @usableFromInline var failure: StreamError?

    // The state of the plain scanner.
    var isKey: Bool = false
    var literal: Literal = .null
    var literalCount: Int = 0
    /// The last four bytes of the string, the last one highest, or 0 after a whole character.
    var lastBytes: UInt32 = 0
    /// The number of bytes after the backslash of an escape, and the code units of up to two escapes.
    var escapeCount: Int = 0
    var codeUnits: UInt32 = 0

    /// Creates a scanner before the first byte.
    @inline(__always)  // PERF: JSONTyped/documents; the scanner is large and isn't moved.
    public init(options: JSONReaderOptions = JSONReaderOptions()) {
        self.options = options
        // Doubles keep 15 digits; a point is one byte more.
        realByteLimit =
            switch options.digits {
            case .ofNone: .max
            case .ofLong: 16
            case .ofAll: 0
            }
        // The plain scanner enforces tiny limits: the fast loop checks only tokens longer than a word.
        allowsRuns =
            options.limits.stringByteCount >= 64 && options.limits.numberByteCount >= 64 && !options.usesPlainScan
    }

    // PERF: inlinable, so that the loops below specialize for sinks of other packages.
    /// Scans the next chunk and sends the values that it completes.
    ///
    /// - Throws: The first error of the input or of the sink, with its position; and again on every later call.
    /// - Complexity: O(*n*); allocates for a token cut at the end of a chunk, an escape or 64 levels of nesting, and
    ///   once for names.
    @inlinable
    public mutating func scan<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan,
        into sink: inout Sink
    ) throws(StreamError) {
        if let failure { throw failure }
        do throws(StreamError) { try scanChunk(bytes, into: &sink) } catch { throw abandon(&sink, error) }
        finishChunk(bytes)
    }

    /// Scans the last chunk and ends the input, without reading the chunk's bytes again for line numbers.
    ///
    /// - Throws: The same errors as ``scan(_:into:)`` and ``finish(into:)``.
    @inlinable
    public mutating func scanLast<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan,
        into sink: inout Sink
    ) throws(StreamError) {
        if let failure { throw failure }
        do throws(StreamError) {
            guard canPad(bytes.byteCount) else {
                try scanChunk(bytes, into: &sink)
                return try scanEnd(of: bytes, into: &sink)
            }
            try Self.withPadding(bytes) { padded throws(StreamError) in
                try scanLast(padded: padded, byteCount: bytes.byteCount, into: &sink)
            }
        } catch {
            throw abandon(&sink, error)
        }
    }

    /// Tells the sink that the input has ended.
    @inlinable @inline(never)
    func abandon<Sink: PlistSink & ~Copyable>(_ sink: inout Sink, _ error: StreamError) -> StreamError {
        sink.cancel(with: error)
        return error
    }

    /// Scans the last chunk, as above, followed by enough spaces that the fast loop can read all of it.
    @inlinable
    mutating func scanLast<Sink: PlistSink & ~Copyable>(
        padded bytes: RawSpan, byteCount: Int, into sink: inout Sink
    ) throws(StreamError) {
        if let failure { throw failure }
        let chunk = bytes.extracting(first: byteCount)
        var offset = 0
        while offset < byteCount {
            if canStartRuns { offset = try scanRuns(bytes, from: offset, into: &sink) }
            if offset < byteCount { offset = try scanPlainToken(chunk, from: offset, into: &sink) }
        }
        try scanEnd(of: chunk, into: &sink)
    }

    // PERF: JSONTyped/documents; for a text of 150 bytes, the fast loop would leave a third to the plain scanner.
    /// Returns whether a last chunk is scanned with spaces after it: it is short, and no limit is within it.
    @usableFromInline
    func canPad(_ byteCount: Int) -> Bool {
        allowsRuns && byteCount <= Self.paddedCount && byteCount <= options.limits.totalByteCount - chunkOffset
    }

    /// The maximum length of a text that is copied to the stack together with spaces, 1,024 bytes in total.
    private static let paddedCount = 1_024 - margin

    // PERF: JSONTyped/documents; not generic, because a result of unknown type would require a metadata lookup.
    /// Calls a closure with a copy of the bytes, followed by spaces.
    @usableFromInline
    static func withPadding(_ bytes: RawSpan, _ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) {
        let count = bytes.byteCount
        var thrown: StreamError?
        unsafe withUnsafeTemporaryAllocation(byteCount: count + margin, alignment: 16) { buffer in
            // SAFETY: the buffer is large enough for both; all of it is written before it is read, within the closure.
            unsafe bytes.withUnsafeBytes { unsafe buffer.copyMemory(from: $0) }
            unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).initializeMemory(
                as: UInt8.self, repeating: 0x20)
            do throws(StreamError) { try body(unsafe UnsafeRawBufferPointer(buffer).bytes) } catch { thrown = error }
        }
        if let thrown { throw thrown }
    }

    /// Ends the input.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unexpectedEnd`` if a value is incomplete or missing, or the sink's
    ///   error for a number that only the end completes.
    @inlinable
    public mutating func finish<Sink: PlistSink & ~Copyable>(into sink: inout Sink) throws(StreamError) {
        if let failure { throw failure }
        do throws(StreamError) { try scanEnd(of: RawSpan(), into: &sink) } catch { throw abandon(&sink, error) }
    }

    /// The number of bytes scanned in completed calls.
    public var byteOffset: Int { chunkOffset }

    /// The offset of the current chunk in the whole input.
    @inlinable var chunkOffset: Int { chunkPlace.offset }

    @inlinable
    mutating func scanChunk<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan,
        into sink: inout Sink
    ) throws(StreamError) {
        if let failure { throw failure }
        let count = bytes.byteCount
        let allowed = min(count, options.limits.totalByteCount - chunkOffset)
        let chunk = bytes.extracting(first: allowed)
        var offset = 0
        while offset < allowed {
            if allowsRuns && canStartRuns && allowed - offset > Self.margin {
                offset = try scanRuns(chunk, from: offset, into: &sink)
            }
            offset = try scanPlainToken(chunk, from: offset, into: &sink)
        }
        if allowed < count {
            throw fail(limit: "bytes of input", options.limits.totalByteCount, in: bytes, at: allowed)
        }
    }

    @inlinable
    mutating func scanEnd<Sink: PlistSink & ~Copyable>(
        of bytes: RawSpan,
        into sink: inout Sink
    ) throws(StreamError) {
        if let failure { throw failure }
        if isInNumber {
            do throws(StreamError) { try sendNumber(to: &sink) } catch { throw fail(error, in: bytes) }
        }
        guard nesting.depth == 0 && (state == .afterRoot || state == .beforeRoot && options.allowsMultipleValues) else {
            throw failAtEnd(of: bytes)
        }
        // No chunk follows, so the line numbers of the last chunk aren't needed.
        chunkPlace.offset += bytes.byteCount
    }

    /// A Boolean value that indicates whether the fast loop can start: between tokens, except between the name and the
    /// value of a member.
    @usableFromInline var canStartRuns: Bool {
        switch state {
        case .firstElement, .firstKey, .key, .afterValue, .beforeRoot: true
        case .value: !nesting.isInDictionary
        default: false
        }
    }

    /// Adds a scanned chunk to the counts.
    @usableFromInline
    mutating func finishChunk(_ bytes: RawSpan) {
        chunkPlace.advance(over: bytes)
        hints.endChunk()
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension JSONScanner: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testCountsLinesAndColumns": testCountsLinesAndColumns,
            "testReportsSinkErrorsAtTheirToken": testReportsSinkErrorsAtTheirToken,
            "testRepeatsItsFirstError": testRepeatsItsFirstError,
            "testEnforcesLimits": testEnforcesLimits,
            "testScansMultipleValues": testScansMultipleValues,
            "testNestsWithoutRecursion": testNestsWithoutRecursion,
        ]
    }

    private static func testCountsLinesAndColumns() {
        expectOutcome(
            Array("[1,\n\r\n\t2,\n  x]".utf8),
            "[ integer 1 integer 2 ! invalidSyntax expected a value, found 'x' at line 4, column 3 (byte 12)",
            "in line 4")
        let lines = Array("[".utf8) + [UInt8](repeating: 0x0A, count: 5000) + Array("x".utf8)
        expectOutcome(
            lines, "[ ! invalidSyntax expected a value or ']', found 'x' at line 5001, column 1 (byte 5001)",
            "many lines")
    }

    private struct Refusal: Error {}

    /// A sink that refuses strings, and the key `no`.
    private struct RefusingSink: PlistSink {
        var trace = EventTrace()
        mutating func beginArray() throws(StreamError) { try trace.beginArray() }
        mutating func endArray() throws(StreamError) { throw StreamError.stopRequest() }
        mutating func beginDictionary() throws(StreamError) { try trace.beginDictionary() }
        mutating func endDictionary() throws(StreamError) { try trace.endDictionary() }
        mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
            if utf8.equals("no") { throw StreamError(.unknownMember, "no member 'no'") }
            try trace.writeKey(utf8)
        }
        mutating func writeNull() throws(StreamError) { try trace.writeNull() }
        mutating func writeBool(_ value: Bool) throws(StreamError) { try trace.writeBool(value) }
        mutating func writeInteger(_ value: Int64) throws(StreamError) {
            if value == 13 { throw StreamError(.unrepresentable, "13") }
            try trace.writeInteger(value)
        }
        mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { try trace.writeUnsigned(value) }
        mutating func writeReal(_ value: Double) throws(StreamError) { try trace.writeReal(value) }
        mutating func writeNumber(text: RawSpan) throws(StreamError) { try trace.writeNumber(text: text) }
        mutating func writeString(_ utf8: RawSpan) throws(StreamError) { throw StreamError(.typeMismatch, "string") }
        mutating func writeData(_ bytes: RawSpan) throws(StreamError) { try trace.writeData(bytes) }
        mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
            try trace.writeDate(secondsSince2001: seconds)
        }
    }

    private static func testReportsSinkErrorsAtTheirToken() {
        let rows: [(String, StreamError.Kind, Int, Int)] = [
            ("{\"a\":\n \"text\"}", .typeMismatch, 2, 2),
            ("{\"a\": 1, \"no\": 2}", .unknownMember, 1, 10),
            ("[1,\n13\n\n]", .unrepresentable, 2, 1),
            ("[1\n]", .stopRequested, 2, 1),
            ("13", .unrepresentable, 1, 1),
        ]
        for (text, kind, line, column) in rows {
            for padding in [0, 100] {
                let bytes = Array(text.utf8) + [UInt8](repeating: 0x0A, count: padding)
                for size in [1, 2, 3, 1000] {
                    var reader = JSONReader(sink: RefusingSink())
                    let error = expectThrows(StreamError.self, text) {
                        for start in stride(from: 0, to: bytes.count, by: size) {
                            // SAFETY: the span does not leave the closure.
                            try unsafe bytes[start..<min(start + size, bytes.count)].withUnsafeBytes {
                                try reader.feed(unsafe $0.bytes)
                            }
                        }
                        try reader.finish()
                    }
                    expectEqual(error?.kind, kind, "kind of \(text)")
                    expectEqual(error?.position?.line, line, "line of \(text) in pieces of \(size)")
                    expectEqual(error?.position?.column, column, "column of \(text) in pieces of \(size)")
                }
            }
        }
    }

    private static func testRepeatsItsFirstError() throws {
        var scanner = JSONScanner()
        var trace = EventTrace()
        let first = expectThrows(StreamError.self, "first") {
            try "[1,]".withUTF8Span { try scanner.scan($0, into: &trace) }
        }
        let second = expectThrows(StreamError.self, "again") {
            try "1]".withUTF8Span { try scanner.scan($0, into: &trace) }
        }
        let third = expectThrows(StreamError.self, "finish") { try scanner.finish(into: &trace) }
        expectEqual(first?.position?.byteOffset, 3, "offset")
        expectEqual(second, first, "the error of the next chunk")
        expectEqual(third, first, "the error of the end")
        expectEqual(trace.text, "[ integer 1", "nothing is sent after the error")
    }

    private static func testEnforcesLimits() {
        func rows(_ limits: StreamLimits, _ rows: [(String, String)]) {
            for (text, expected) in rows {
                expectOutcome(
                    Array(text.utf8), expected, options: JSONReaderOptions(limits: limits), "\(text) within \(limits)")
            }
        }
        rows(
            StreamLimits(depth: 2),
            [
                ("[{}]", "[ { } ]"),
                (
                    "[{\"a\":[]}]",
                    "[ { key \"a\" ! limitExceeded more than 2 levels of nesting at line 1, column 7 (byte 6)"
                ),
            ])
        let bytes100 = String(repeating: "a", count: 98) + "ü"
        let limit = StreamLimits(stringByteCount: 100, numberByteCount: 70)
        let refusal = "! limitExceeded more than 100 bytes in a string at line 1, column"
        rows(
            limit,
            [
                ("[\"\(bytes100)\"]", "[ string \"\(bytes100)\" ]"),
                ("[\"\(bytes100)b\"]", "[ \(refusal) 103 (byte 102)"),
                ("[\"\\n\(bytes100)\"]", "[ \(refusal) 104 (byte 103)"),
                ("{\"\(bytes100)\\u0000\":1}", "{ \(refusal) 108 (byte 107)"),
                ("[0.\(String(repeating: "0", count: 68))]", "[ real 0.0 ]"),
                (
                    "[0.\(String(repeating: "0", count: 69))]",
                    "[ ! limitExceeded more than 70 bytes in a number at line 1, column 72 (byte 71)"
                ),
            ])
        rows(StreamLimits(stringByteCount: 3), [("[\"abc\"]", "[ string \"abc\" ]")])
        rows(
            StreamLimits(totalByteCount: 4),
            [
                ("[12]", "[ integer 12 ]"),
                ("[123]", "[ ! limitExceeded more than 4 bytes of input at line 1, column 5 (byte 4)"),
            ])
    }

    private static func testScansMultipleValues() {
        let options = JSONReaderOptions(allowsMultipleValues: true)
        let rows = [
            ("", ""), (" \n", ""), ("1", "integer 1"), ("1\n2\n", "integer 1 integer 2"),
            ("{}\r\n[] \"a\" null", "{ } [ ] string \"a\" null"),
            (
                "{}{}",
                "{ } ! invalidSyntax expected whitespace before the next value, found '{' at line 1, column 3 (byte 2)"
            ),
            (
                "1\n[",
                "integer 1 [ ! unexpectedEnd expected a value or ']', found the end of the input at line 2, column 2 (byte 3)"
            ),
        ]
        for (text, expected) in rows {
            // Padding would change the meaning of the input's end only for errors at the end.
            expectOutcome(Array(text.utf8), expected, options: options, "sequence \(text)")
        }
    }

    private static func testNestsWithoutRecursion() {
        let depth = 100_000
        let limits = StreamLimits(depth: depth)
        let text = [UInt8](repeating: 0x5B, count: depth) + [UInt8](repeating: 0x5D, count: depth)
        var sink = NullSink()
        expectNoThrow("at the limit") { try sink.readJSON(text, options: JSONReaderOptions(limits: limits)) }
        let error = expectThrows(StreamError.self, "beyond") {
            try sink.readJSON([0x5B] + text, options: JSONReaderOptions(limits: limits))
        }
        expectEqual(error?.kind, .limitExceeded, "kind")
        expectEqual(error?.position?.byteOffset, depth, "offset")
    }
}
#endif
