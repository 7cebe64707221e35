// The plain scanner handles all text: one byte at a time, across chunk ends, with every error at its byte. The fast
// loop leaves all other text than plain tokens to it, and tests compare the two.

public import PlistBuilding
public import PlistStreaming

extension JSONScanner {
    /// The token that a byte completes.
    @usableFromInline
    enum Completion {
        case nothing, beginArray, endArray, beginDictionary, endDictionary, key, string, null, yes, no
        /// A number that ended before the byte, which is not scanned yet.
        case number
        case failure(StreamError)
    }

    enum Literal: Sendable {
        case null, yes, no
        /// The byte order mark of UTF-8, which may precede everything else.
        case byteOrderMark

        var text: StaticString {
            switch self {
            case .null: "null"
            case .yes: "true"
            case .no: "false"
            case .byteOrderMark: "\u{FEFF}"
            }
        }
    }

    // PERF: inlinable, so that it specializes for sinks of other packages with the rest.
    /// Scans up to the end of one token, or of the chunk, and returns the offset after it.
    @inlinable
    mutating func scanPlainToken<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan,
        from start: Int,
        into sink: inout Sink
    ) throws(StreamError) -> Int {
        let (completion, offset) = complete(bytes, from: start)
        do throws(StreamError) {
            switch completion {
            case .nothing: return offset
            case .beginArray: try sink.beginArray()
            case .endArray: try sink.endArray()
            case .beginDictionary: try sink.beginDictionary()
            case .endDictionary: try sink.endDictionary()
            case .null: try sink.writeNull()
            case .yes: try sink.writeBool(true)
            case .no: try sink.writeBool(false)
            case .key, .string: try sendText(isKey: isKeyCompletion(completion), to: &sink)
            case .number:
                try sendNumber(to: &sink)
                return offset
            case .failure: break
            }
        } catch {
            throw fail(error, in: bytes)
        }
        if case .failure(let error) = completion { throw error }
        return offset + 1
    }

    // PERF: JSONReader in chunks; one call per token instead of one per byte, which needs no sink.
    /// Takes bytes up to one that completes a token, and returns that byte's offset, or the end of the chunk.
    @usableFromInline
    mutating func complete(_ bytes: RawSpan, from start: Int) -> (completion: Completion, offset: Int) {
        var offset = start
        while offset < bytes.byteCount {
            if state == .string {
                offset = appendRun(bytes, from: offset)
                guard offset < bytes.byteCount else { break }
            }
            let completion = step(bytes.uncheckedByte(offset), in: bytes, at: offset)
            guard case .nothing = completion else { return (completion, offset) }
            offset += 1
        }
        return (.nothing, offset)
    }

    @inlinable
    func isKeyCompletion(_ completion: Completion) -> Bool {
        if case .key = completion { true } else { false }
    }

    /// Sends the string in `scratch`.
    @inlinable
    mutating func sendText<Sink: PlistSink & ~Copyable>(isKey: Bool, to sink: inout Sink) throws(StreamError) {
        try unsafe scratch.withUnsafeBufferPointer { buffer throws(StreamError) in
            // SAFETY: the span does not leave the closure.
            let text = unsafe UnsafeRawBufferPointer(buffer).bytes
            if isKey { try sink.writeKey(text) } else { try sink.writeString(text) }
        }
        emptyScratch()
    }

    /// Sends the number in `scratch`, which the plain scanner has checked.
    @inlinable
    mutating func sendNumber<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        state = nesting.depth == 0 ? .afterRoot : .afterValue
        try unsafe scratch.withUnsafeBufferPointer { buffer throws(StreamError) in
            // SAFETY: the pointer does not leave the closure.
            try unsafe sink.write(
                JSONNumber.message(UnsafeRawBufferPointer(buffer), options.digits))
        }
        emptyScratch()
    }

    /// Empties `scratch` and frees memory that only an unusual token needed.
    @usableFromInline
    mutating func emptyScratch() {
        scratch.removeAll(keepingCapacity: scratch.capacity <= 1 << 16)
    }

    /// A Boolean value that indicates whether the end of the input would complete a number.
    @usableFromInline var isInNumber: Bool {
        switch state {
        case .zero, .integer, .fraction, .exponentDigits: true
        default: false
        }
    }

    /// The tokens that the grammar allows next, in words.
    var expectation: String {
        switch state {
        case .value, .beforeRoot: "a value"
        case .firstElement: "a value or ']'"
        case .firstKey: "a member name or '}'"
        case .key: "a member name"
        case .colon: "':'"
        case .afterValue: nesting.isInDictionary ? "',' or '}'" : "',' or ']'"
        case .afterRoot: options.allowsMultipleValues ? "whitespace before the next value" : "the end of the input"
        case .string: "'\"' to close a string"
        case .escape where escapeCount == 0: "an escape: one of \" \\ / b f n r t u"
        case .escape where 5...6 ~= escapeCount: "the low surrogate of a pair, such as \\udc00"
        case .escape: "four hexadecimal digits of an escape"
        case .literal: literal == .byteOrderMark ? "a byte order mark of UTF-8" : "'\(literal.text)'"
        case .minus, .point: "a digit"
        case .exponent: "a digit or a sign of an exponent"
        case .exponentSign: "a digit of an exponent"
        case .zero, .integer, .fraction, .exponentDigits: "the rest of a number"
        case .failed: "nothing"
        }
    }

    /// Takes one byte: the whole grammar of RFC 8259 in one switch.
    private mutating func step(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> Completion {
        switch state {
        case .string: return stepInString(byte, in: bytes, at: offset)
        case .escape: return stepInEscape(byte, in: bytes, at: offset)
        case .minus, .zero, .integer, .point, .fraction, .exponent, .exponentSign, .exponentDigits:
            return stepInNumber(byte, in: bytes, at: offset)
        case .literal: return stepInLiteral(byte, in: bytes, at: offset)
        case .failed: return .failure(failure ?? unexpected(byte, in: bytes, at: offset))
        default: break
        }
        if byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            if state == .afterRoot && options.allowsMultipleValues { state = .beforeRoot }
            return .nothing
        }
        tokenOffset = chunkOffset + offset
        switch state {
        case .firstElement where byte == UInt8(ascii: "]"): return close(.endArray)
        case .value, .firstElement, .beforeRoot: return beginValue(byte, in: bytes, at: offset)
        case .firstKey where byte == UInt8(ascii: "}"): return close(.endDictionary)
        case .firstKey where byte == UInt8(ascii: "\""), .key where byte == UInt8(ascii: "\""):
            isKey = true
            state = .string
            return .nothing
        case .colon where byte == UInt8(ascii: ":"):
            state = .value
            return .nothing
        case .afterValue where byte == UInt8(ascii: ","):
            state = nesting.isInDictionary ? .key : .value
            return .nothing
        case .afterValue where byte == UInt8(ascii: "]") && !nesting.isInDictionary: return close(.endArray)
        case .afterValue where byte == UInt8(ascii: "}") && nesting.isInDictionary: return close(.endDictionary)
        default: return .failure(unexpected(byte, in: bytes, at: offset))
        }
    }

    private mutating func close(_ completion: Completion) -> Completion {
        nesting.pop()
        endValue()
        return completion
    }

    private mutating func endValue() {
        state = nesting.depth == 0 ? .afterRoot : .afterValue
    }

    private mutating func beginValue(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> Completion {
        switch byte {
        case UInt8(ascii: "\""):
            isKey = false
            state = .string
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard nesting.depth < options.limits.depth else {
                return .failure(fail(limit: "levels of nesting", options.limits.depth, in: bytes, at: offset))
            }
            let isDictionary = byte == UInt8(ascii: "{")
            nesting.push(isDictionary: isDictionary)
            state = isDictionary ? .firstKey : .firstElement
            return isDictionary ? .beginDictionary : .beginArray
        case UInt8(ascii: "t"): beginLiteral(.yes)
        case UInt8(ascii: "f"): beginLiteral(.no)
        case UInt8(ascii: "n"): beginLiteral(.null)
        case UInt8(ascii: "-"): return number(byte, .minus, in: bytes, at: offset)
        case UInt8(ascii: "0"): return number(byte, .zero, in: bytes, at: offset)
        case UInt8(ascii: "1")...UInt8(ascii: "9"): return number(byte, .integer, in: bytes, at: offset)
        // SPEC: RFC 8259 section 8.1, "implementations … MAY ignore the presence of a byte order mark".
        case 0xEF where chunkOffset + offset == 0: beginLiteral(.byteOrderMark)
        default: return .failure(unexpected(byte, in: bytes, at: offset))
        }
        return .nothing
    }

    // MARK: Literals

    private mutating func beginLiteral(_ value: Literal) {
        literal = value
        literalCount = 1
        state = .literal
    }

    private mutating func stepInLiteral(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> Completion {
        let text = literal.text
        // SAFETY: `literalCount` is less than the text's length, because the literal ends at that length.
        guard unsafe byte == text.utf8Start[literalCount] else {
            return .failure(unexpected(byte, in: bytes, at: offset))
        }
        literalCount += 1
        guard literalCount == text.utf8CodeUnitCount else { return .nothing }
        if literal == .byteOrderMark {
            state = .beforeRoot
            return .nothing
        }
        endValue()
        switch literal {
        case .null, .byteOrderMark: return .null
        case .yes: return .yes
        case .no: return .no
        }
    }

    // MARK: Numbers

    private mutating func stepInNumber(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> Completion {
        let isDigit = byte &- 0x30 < 10
        let isExponent = byte | 0x20 == UInt8(ascii: "e")
        switch state {
        case .minus where byte == UInt8(ascii: "0"): return number(byte, .zero, in: bytes, at: offset)
        case .minus where isDigit, .integer where isDigit: return number(byte, .integer, in: bytes, at: offset)
        case .zero where byte == UInt8(ascii: "."), .integer where byte == UInt8(ascii: "."):
            return number(byte, .point, in: bytes, at: offset)
        case .point where isDigit, .fraction where isDigit: return number(byte, .fraction, in: bytes, at: offset)
        case .zero where isExponent, .integer where isExponent, .fraction where isExponent:
            return number(byte, .exponent, in: bytes, at: offset)
        case .exponent where byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-"):
            return number(byte, .exponentSign, in: bytes, at: offset)
        case .exponent where isDigit, .exponentSign where isDigit, .exponentDigits where isDigit:
            return number(byte, .exponentDigits, in: bytes, at: offset)
        case .zero where isDigit:
            return .failure(fail(.invalidSyntax, "expected a number without a leading zero", in: bytes, at: offset))
        case .zero, .integer, .fraction, .exponentDigits: return .number
        default: return .failure(unexpected(byte, in: bytes, at: offset))
        }
    }

    private mutating func number(_ byte: UInt8, _ next: State, in bytes: RawSpan, at offset: Int) -> Completion {
        guard scratch.count < options.limits.numberByteCount else {
            return .failure(fail(limit: "bytes in a number", options.limits.numberByteCount, in: bytes, at: offset))
        }
        scratch.append(byte)
        state = next
        return .nothing
    }

    /// Makes the error for a byte that the grammar does not allow.
    @inline(never)
    mutating func unexpected(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> StreamError {
        if chunkOffset + offset == 0 && (byte == 0xFE || byte == 0xFF) {
            return fail(
                .invalidSyntax, "expected \(expectation) in UTF-8, found a byte order mark of UTF-16", in: bytes,
                at: offset)
        }
        return fail(.invalidSyntax, "expected \(expectation), found \(Self.name(of: byte))", in: bytes, at: offset)
    }

    /// Returns a byte as messages show it.
    static func name(of byte: UInt8) -> String {
        switch byte {
        case 0x27: "\"'\""
        case 0x21...0x7E: "'\(Character(UnicodeScalar(byte)))'"
        case 0x20: "a space"
        case 0x0A: "the end of a line"
        default: "byte 0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum JSONScannerPlainTests {}

extension JSONScannerPlainTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testNamesExpectedTokens": testNamesExpectedTokens,
            "testReportsUnexpectedEnd": testReportsUnexpectedEnd,
            "testDescribesBytes": testDescribesBytes,
        ]
    }

    private static func testNamesExpectedTokens() {
        let rows: [(String, String)] = [
            ("]", "! invalidSyntax expected a value, found ']' at line 1, column 1 (byte 0)"),
            ("[}", "[ ! invalidSyntax expected a value or ']', found '}' at line 1, column 2 (byte 1)"),
            ("[1}", "[ integer 1 ! invalidSyntax expected ',' or ']', found '}' at line 1, column 3 (byte 2)"),
            ("{]", "{ ! invalidSyntax expected a member name or '}', found ']' at line 1, column 2 (byte 1)"),
            ("{\"a\",", "{ key \"a\" ! invalidSyntax expected ':', found ',' at line 1, column 5 (byte 4)"),
            ("[1,]", "[ integer 1 ! invalidSyntax expected a value, found ']' at line 1, column 4 (byte 3)"),
            (
                "{\"a\":1,}",
                "{ key \"a\" integer 1 ! invalidSyntax expected a member name, found '}' at line 1, column 8 (byte 7)"
            ),
            ("[truE]", "[ ! invalidSyntax expected 'true', found 'E' at line 1, column 5 (byte 4)"),
            ("[-a]", "[ ! invalidSyntax expected a digit, found 'a' at line 1, column 3 (byte 2)"),
            ("[00]", "[ ! invalidSyntax expected a number without a leading zero at line 1, column 3 (byte 2)"),
            (
                "[1] 2",
                "[ integer 1 ] ! invalidSyntax expected the end of the input, found '2' at line 1, column 5 (byte 4)"
            ),
            ("\u{FEFF}[]", "[ ]"), ("\u{FEFF} 12", "integer 12"),
            (
                "\u{FEFF}\u{FEFF}[]",
                "! invalidSyntax expected a value, found byte 0xEF at line 1, column 4 (byte 3)"
            ), (" \u{FEFF}[]", "! invalidSyntax expected a value, found byte 0xEF at line 1, column 2 (byte 1)"),
            ("\u{FEFF}", "! unexpectedEnd expected a value, found the end of the input at line 1, column 4 (byte 3)"),
        ]
        for (text, expected) in rows { JSONScanner.expectOutcome(Array(text.utf8), expected, text) }
        JSONScanner.expectOutcome(
            [0xFE, 0xFF, 0, 0x5B],
            "! invalidSyntax expected a value in UTF-8, found a byte order mark of UTF-16 at line 1, column 1 (byte 0)",
            "UTF-16")
        JSONScanner.expectOutcome(
            [0xEF, 0xBB, 0x5B],
            "! invalidSyntax expected a byte order mark of UTF-8, found '[' at line 1, column 3 (byte 2)",
            "a broken mark")
    }

    private static func testReportsUnexpectedEnd() {
        let document = #"{"a":[1.5e+3,"\u00fc\n",true],"b":null}"#
        for count in 0..<document.utf8.count {
            let outcome = JSONScanner.outcome([Array(document.utf8.prefix(count))])
            expectTrue(outcome.contains("! unexpectedEnd"), "an unexpected end after \(count) bytes")
            expectTrue(outcome.hasSuffix("(byte \(count))"), "the offset after \(count) bytes")
        }
        JSONScanner.expectOutcome(
            [], "! unexpectedEnd expected a value, found the end of the input at line 1, column 1 (byte 0)", "nothing")
    }

    private static func testDescribesBytes() {
        expectEqual(JSONScanner.name(of: 0x00), "byte 0x00", "NUL")
        expectEqual(JSONScanner.name(of: 0xC3), "byte 0xC3", "not ASCII")
        expectEqual(JSONScanner.name(of: 0x0A), "the end of a line", "LF")
        expectEqual(JSONScanner.name(of: 0x27), "\"'\"", "a quote")
    }
}
#endif
