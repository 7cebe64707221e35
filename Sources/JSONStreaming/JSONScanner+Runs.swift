// The fast loop: whole tokens of plain JSON at the speed of the memory.
// It never reports an error of the input. Whatever it does not expect, it leaves to the plain machine at the
// beginning of the token, which does the whole job or finds the error.

public import PlistStreaming

extension JSONScanner {
    /// The bytes that must follow an offset for the loop to look at a token there: `:`, a space, a sign, twenty digits
    /// and a word of eight bytes are less.
    @usableFromInline static let margin: Int = 48

    // PERF: one loop without a call for keys, short strings and integers; inlinable to specialise for the sink.
    // 1.4 GB/s on flat records against 0.3 GB/s of the plain machine.
    /// Scans tokens while they are plain, and returns the offset of the first byte that is not scanned.
    @inlinable
    mutating func scanRuns<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan,
        from start: Int,
        into sink: inout Sink
    ) throws(StreamError) -> Int {
        // Bounds: an offset that is at most `last` has `margin` bytes after it; every load below is either within
        // that margin of a checked offset, or in a function that compares with the span's count itself.
        let last = bytes.byteCount &- Self.margin
        let stringLimit = options.limits.stringByteCount
        let depthLimit = options.limits.depth
        var offset = start
        var token = start
        var next = state
        var isInDictionary = nesting.isInDictionary
        defer { state = next }

        do throws(StreamError) {
            scan: while true {
                offset = StringRuns.endOfWhitespaceRun(in: bytes, from: offset)
                guard offset <= last else { break scan }
                var byte = bytes.uncheckedByte(offset)

                // A member name and its colon.
                if next == .key || next == .firstKey {
                    guard byte == UInt8(ascii: "\"") else {
                        guard byte == UInt8(ascii: "}"), next == .firstKey else { break scan }
                        next = .afterValue
                        continue scan
                    }
                    token = offset
                    let end = StringRuns.closingQuoteNearby(in: bytes, from: offset &+ 1)
                    if end >= 0, end &- offset <= stringLimit {
                        // SAFETY: the quotes are within the span, the closing one after the opening one.
                        try sink.writeKey(unsafe bytes.extracting(unchecked: offset &+ 1..<end))
                        offset = end &+ 1
                    } else {
                        let end = StringEscapes.unescape(bytes, from: offset &+ 1, into: &scratch, limit: stringLimit)
                        guard end >= 0 else { break scan }
                        try sendText(isKey: true, to: &sink)
                        offset = end
                    }
                    next = .colon
                    guard offset <= last else { break scan }
                    byte = bytes.uncheckedByte(offset)
                    if byte != UInt8(ascii: ":") {
                        offset = StringRuns.endOfWhitespaceRun(in: bytes, from: offset)
                        guard offset <= last, bytes.uncheckedByte(offset) == UInt8(ascii: ":") else { break scan }
                    }
                    offset &+= 1
                    next = .value
                    byte = bytes.uncheckedByte(offset)
                    if byte == 0x20 {
                        offset &+= 1
                        byte = bytes.uncheckedByte(offset)
                    }
                    if byte <= 0x20 { continue scan }
                }

                // A value, unless one has just ended.
                if next != .afterValue {
                    token = offset
                    switch byte {
                    case UInt8(ascii: "\""):
                        let end = StringRuns.closingQuoteNearby(in: bytes, from: offset &+ 1)
                        if end >= 0, end &- offset <= stringLimit {
                            // SAFETY: as for the member name.
                            try sink.writeString(unsafe bytes.extracting(unchecked: offset &+ 1..<end))
                            offset = end &+ 1
                        } else {
                            let end = StringEscapes.unescape(
                                bytes, from: offset &+ 1, into: &scratch, limit: stringLimit)
                            guard end >= 0 else { break scan }
                            try sendText(isKey: false, to: &sink)
                            offset = end
                        }
                    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                        let isNegative = byte == UInt8(ascii: "-")
                        let first = isNegative ? offset &+ 1 : offset
                        var end = first
                        var magnitude: UInt64 = 0
                        // 19 digits do not overflow 64 bits; more of them are not plain.
                        while end &- first < 19 {
                            let digit = bytes.uncheckedByte(end) &- 0x30
                            if digit > 9 { break }
                            magnitude = magnitude &* 10 &+ UInt64(digit)
                            end &+= 1
                        }
                        let follower = bytes.uncheckedByte(end)
                        let isPlain =
                            follower == UInt8(ascii: ",") || follower == UInt8(ascii: "}")
                            || follower <= 0x20 || follower == UInt8(ascii: "]")
                        let hasLeadingZero = end &- first != 1 && bytes.uncheckedByte(first) == UInt8(ascii: "0")
                        if isPlain, !hasLeadingZero, end != first, magnitude <= UInt64(Int64.max),
                            !isNegative || magnitude != 0
                        {
                            let value = Int64(bitPattern: magnitude)
                            try sink.writeInteger(isNegative ? 0 &- value : value)
                            offset = end
                        } else {
                            var real = 0.0
                            end = JSONNumber.scanReal(bytes, from: offset, into: &real)
                            guard end >= 0 else { break scan }
                            try sink.writeReal(real)
                            offset = end
                        }
                    case UInt8(ascii: "{"), UInt8(ascii: "["):
                        guard nesting.depth < depthLimit else { break scan }
                        isInDictionary = byte == UInt8(ascii: "{")
                        nesting.push(isDictionary: isInDictionary)
                        if isInDictionary { try sink.beginDictionary() } else { try sink.beginArray() }
                        offset &+= 1
                        next = isInDictionary ? .firstKey : .firstElement
                        continue scan
                    case UInt8(ascii: "t"):
                        guard bytes.uncheckedHalf(offset) == 0x6575_7274 else { break scan }
                        try sink.writeBool(true)
                        offset &+= 4
                    case UInt8(ascii: "f"):
                        guard bytes.uncheckedHalf(offset &+ 1) == 0x6573_6C61 else { break scan }
                        try sink.writeBool(false)
                        offset &+= 5
                    case UInt8(ascii: "n"):
                        guard bytes.uncheckedHalf(offset) == 0x6C6C_756E else { break scan }
                        try sink.writeNull()
                        offset &+= 4
                    case UInt8(ascii: "]"):
                        guard next == .firstElement else { break scan }
                    default: break scan
                    }
                    next = .afterValue
                    guard nesting.depth > 0, offset <= last else { break scan }
                    byte = bytes.uncheckedByte(offset)
                }

                // What follows a value: the next one, or the ends of containers.
                while true {
                    if byte == UInt8(ascii: ",") {
                        offset &+= 1
                        next = isInDictionary ? .key : .value
                        continue scan
                    }
                    if byte == (isInDictionary ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                        token = offset
                        let wasInDictionary = isInDictionary
                        nesting.pop()
                        isInDictionary = nesting.isInDictionary
                        offset &+= 1
                        if wasInDictionary { try sink.endDictionary() } else { try sink.endArray() }
                        guard nesting.depth > 0, offset <= last else { break scan }
                        byte = bytes.uncheckedByte(offset)
                        continue
                    }
                    guard byte <= 0x20 else { break scan }
                    offset = StringRuns.endOfWhitespaceRun(in: bytes, from: offset)
                    guard offset <= last else { break scan }
                    byte = bytes.uncheckedByte(offset)
                    guard byte > 0x20 else { break scan }
                }
            }
        } catch {
            tokenOffset = chunkOffset + token
            throw fail(error, in: bytes)
        }
        if nesting.depth == 0 && next == .afterValue { next = .afterRoot }
        return offset
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum JSONScannerRunsTests {}

extension JSONScannerRunsTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testScansTokensOfEveryKind": testScansTokensOfEveryKind,
            "testLeavesErrorsToThePlainMachine": testLeavesErrorsToThePlainMachine,
            "testAgreesAtEveryAlignment": testAgreesAtEveryAlignment,
        ]
    }

    private static func testScansTokensOfEveryKind() {
        let text = #" {"a" : [1,-2 , 3.5,true,false,null,"x",[],{}, [ ] ,{ }],"b":{"c":"d"} } "#
        JSONScanner.expectOutcome(
            Array(text.utf8),
            #"{ key "a" [ integer 1 integer -2 real 3.5 true false null string "x" [ ] { } [ ] { } ] key "b" "#
                + #"{ key "c" string "d" } }"#, "all tokens")
    }

    private static func testLeavesErrorsToThePlainMachine() {
        let rows = [
            "[1 2]", "[1,]", "[,1]", "{\"a\" 1}", "{\"a\":}", "{\"a\":1,}", "{,}", "{a:1}", "[}", "{]", "[1}",
            "{\"a\":1]",
            "[tru]", "[nul ]", "[falsy]", "[truex]", "[01]", "[-]", "[1.]", "[.5]", "[1e]", "[1e+]", "[+1]", "[-01]",
            "[\"\u{1}\"]", "[\"\\x\"]", "[\"\\u12g4\"]", "[\"\\ud800\"]", "[\"\\udc00\"]", "[\"\\ud800\\u0041\"]", "]",
            "}",
            "[1]]", "{}1", "[\"a]", "{\"a", "[1,", "{\"a\":", "1.5.5", "[1.5x]", "\u{FEFF}[]", "['a']", "[\"a\"\"b\"]",
            ":",
        ]
        for row in rows { JSONScanner.expectOutcome(Array(row.utf8), nil, row) }
        for row in rows { expectTrue(JSONScanner.outcome([Array(row.utf8)]).contains("!"), "an error for \(row)") }
    }

    private static func testAgreesAtEveryAlignment() {
        for count in 0..<40 {
            let spaces = String(repeating: " ", count: count)
            let letters = String(repeating: "ab", count: count)
            let text =
                "\(spaces)[\"\(letters)é\",\(spaces)\"\(letters)\\n\",\(spaces)123456789012345678,0.\(count)1e-\(count)]"
            JSONScanner.expectOutcome(Array(text.utf8), nil, "alignment \(count)")
        }
    }
}
#endif
