// The scanner's state and its door: bytes in, messages out, in chunks of any size.
// The fast loop is in JSONScanner+Runs, the byte-by-byte machine that can do everything in JSONScanner+Plain.

public import PlistStreaming

/// A machine that turns JSON text, chunk by chunk, into messages for a sink.
///
/// It accepts exactly RFC 8259. The sink is passed to each call, so that one scanner type serves all sinks; a call
/// specialises for the sink it gets. The scanner keeps no part of the input except a string or number that a chunk's
/// end has cut.
///
/// ```swift
/// var scanner = JSONScanner()
/// var trace = EventTrace()
/// try scanner.scan(firstBytes, into: &trace)
/// try scanner.scan(moreBytes, into: &trace)
/// try scanner.finish(into: &trace)
/// ```
///
/// ``JSONReader`` wraps a scanner and a sink, ``PlistStreaming/PlistSink`` has the doors for whole documents.
public struct JSONScanner: Sendable {
    /// What may come next.
    @usableFromInline
    enum State: UInt8, Sendable {
        case value, firstElement, firstKey, key, colon, afterValue
        case beforeRoot, afterRoot
        case string, multibyte, escape, unicodeEscape, lowSurrogateBackslash, lowSurrogateU
        case literal
        case minus, zero, integer, point, fraction, exponent, exponentSign, exponentDigits
        case failed

        /// Whether the scanner is between tokens, where the fast loop can start.
        @usableFromInline var isBetweenTokens: Bool { rawValue <= State.beforeRoot.rawValue }
    }

    @usableFromInline let options: JSONReaderOptions
    @usableFromInline let allowsRuns: Bool
    @usableFromInline var state: State = .beforeRoot
    @usableFromInline var nesting: NestingStack = NestingStack()
    /// The unescaped text of the string, or the text of the number, that the plain machine is in.
    @usableFromInline var scratch: [UInt8] = []

    /// The offset in the whole input of the chunk at hand, and its line's number and offset.
    @usableFromInline var chunkOffset: Int = 0
    private var line: Int = 1
    private var lineOffset: Int = 0
    /// The offset in the whole input of the token at hand, for errors of the sink.
    @usableFromInline var tokenOffset: Int = 0
    @usableFromInline var failure: StreamError?

    // The plain machine's registers.
    var isKey: Bool = false
    var literal: Literal = .null
    var literalCount: Int = 0
    var remainingDigits: Int = 0
    var codeUnit: UInt32 = 0
    var highSurrogate: UInt32 = 0
    var remainingBytes: Int = 0
    var nextByteRange: ClosedRange<UInt8> = 0x80...0xBF

    /// Creates a scanner before the first byte.
    public init(options: JSONReaderOptions = JSONReaderOptions()) {
        self.options = options
        // Tiny limits are the plain machine's: the fast loop compares only what is longer than a word.
        allowsRuns =
            options.limits.stringByteCount >= 64 && options.limits.numberByteCount >= 64 && !options.usesPlainScan
    }

    // PERF: inlinable, so that the loops below specialise for sinks of other packages.
    /// Scans the next chunk and sends what it completes.
    ///
    /// - Throws: The first error of the input or of the sink, with its position; and again on every later call.
    /// - Complexity: O(*n*); allocates only for a token cut by a chunk's end, an escape, or 64 levels of nesting.
    @inlinable
    public mutating func scan<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan,
        into sink: inout Sink
    ) throws(StreamError) {
        try scanChunk(bytes, into: &sink)
        finishChunk(bytes)
    }

    /// Scans the last chunk and ends the input, without reading the chunk's bytes again for line numbers.
    ///
    /// - Throws: What ``scan(_:into:)`` and ``finish(into:)`` throw.
    @inlinable
    public mutating func scanLast<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan,
        into sink: inout Sink
    ) throws(StreamError) {
        try scanChunk(bytes, into: &sink)
        try scanEnd(of: bytes, into: &sink)
    }

    /// Ends the input.
    ///
    /// - Throws: ``StreamError/Kind/unexpectedEnd`` when a value is incomplete or missing, or the sink's error for a
    ///   number that only the end completes.
    @inlinable
    public mutating func finish<Sink: PlistSink & ~Copyable>(into sink: inout Sink) throws(StreamError) {
        try scanEnd(of: RawSpan(), into: &sink)
    }

    /// The number of bytes scanned in completed calls.
    public var byteOffset: Int { chunkOffset }

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
            if allowsRuns && state.isBetweenTokens && allowed - offset > Self.margin {
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
        guard nesting.depth == 0 && (state == .afterRoot || state == .beforeRoot && options.isSequence) else {
            throw failAtEnd(of: bytes)
        }
        finishChunk(bytes)
    }

    /// Adds a scanned chunk to the counts.
    @usableFromInline
    mutating func finishChunk(_ bytes: RawSpan) {
        countLines(in: bytes, to: bytes.byteCount)
        chunkOffset += bytes.byteCount
    }

    private mutating func countLines(in bytes: RawSpan, to end: Int) {
        let (count, last) = LineCount.count(in: bytes, to: end)
        guard count > 0 else { return }
        line += count
        lineOffset = chunkOffset + last + 1
    }

    /// The position of an offset in the whole input, which is on the last line of the chunk's bytes before `end`.
    private mutating func position(of offset: Int, in bytes: RawSpan, countingTo end: Int) -> StreamPosition {
        countLines(in: bytes, to: end)
        return StreamPosition(byteOffset: offset, line: line, column: offset - lineOffset + 1)
    }

    // Errors are made here, out of the loops.

    /// Records an error at an offset of the chunk; the scanner stays failed.
    @usableFromInline @inline(never)
    mutating func fail(_ kind: StreamError.Kind, _ message: String, in bytes: RawSpan, at offset: Int) -> StreamError {
        state = .failed
        let place = position(of: chunkOffset + offset, in: bytes, countingTo: offset)
        let error = StreamError(kind, message, position: place)
        failure = error
        return error
    }

    @usableFromInline @inline(never)
    mutating func fail(limit what: String, _ limit: Int, in bytes: RawSpan, at offset: Int) -> StreamError {
        fail(.limitExceeded, "more than \(limit) \(what)", in: bytes, at: offset)
    }

    /// Records an error of the sink, at the token it refused.
    @usableFromInline @inline(never)
    mutating func fail(_ error: StreamError, in bytes: RawSpan) -> StreamError {
        state = .failed
        let end = max(0, tokenOffset - chunkOffset)
        let error = error.located(at: position(of: tokenOffset, in: bytes, countingTo: end))
        failure = error
        return error
    }

    @usableFromInline @inline(never)
    mutating func failAtEnd(of bytes: RawSpan) -> StreamError {
        let found = "found the end of the input"
        return fail(.unexpectedEnd, "expected \(expectation), \(found)", in: bytes, at: bytes.byteCount)
    }
}

/// The lines of a chunk.
private enum LineCount {
    /// The number of LFs before an offset, and the offset of the last one.
    static func count(in bytes: RawSpan, to end: Int) -> (count: Int, last: Int) {
        var count = 0
        var offset = 0
        let lastVector = end &- 16
        var lanes = SIMD16<UInt8>(repeating: 0)
        let newlines = SIMD16<UInt8>(repeating: 0x0A)
        var pending = 0
        while offset <= lastVector {
            // SAFETY: the loop's condition keeps sixteen bytes before `end`, which is within the span.
            let vector = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD16<UInt8>.self)
            lanes.replace(with: lanes &+ 1, where: vector .== newlines)
            offset &+= 16
            pending += 1
            if pending == 255 {
                count += sum(lanes)
                lanes = SIMD16(repeating: 0)
                pending = 0
            }
        }
        count += sum(lanes)
        while offset < end {
            if bytes.uncheckedByte(offset) == 0x0A { count += 1 }
            offset += 1
        }
        guard count > 0 else { return (0, -1) }
        var last = end - 1
        while bytes.uncheckedByte(last) != 0x0A { last -= 1 }
        return (count, last)
    }

    private static func sum(_ lanes: SIMD16<UInt8>) -> Int {
        Int(SIMD16<UInt16>(truncatingIfNeeded: lanes).wrappedSum())
    }
}
