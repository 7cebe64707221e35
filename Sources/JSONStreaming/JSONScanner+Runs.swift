// The fast loop: whole tokens of plain JSON at the speed of the memory.
// It never reports an error of the input. Whatever it does not expect, it leaves to the plain machine at the
// beginning of the token, which does the whole job or finds the error.

public import PlistStreaming

extension JSONScanner {
    /// The bytes that must follow an offset for the loop to look at a token there: a colon, a space, seven digits, the
    /// byte behind them and a word of eight bytes are less.
    @usableFromInline static let margin: Int = 48

    // PERF: one loop without a call for names, strings and numbers of up to seven bytes; inlinable to specialise for
    // the sink. `JSONReader/records` in Examples/Benchmarks measures it.
    /// Scans tokens while they are plain, and returns the offset of the first byte that is not scanned.
    ///
    /// It starts where `State.startsRuns` says, and not at a member's value.
    @inlinable
    mutating func scanRuns<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan,
        from start: Int,
        into sink: inout Sink
    ) throws(StreamError) -> Int {
        // Bounds: an offset that is at most `last` has `margin` bytes after it; every load below is either within
        // that margin of a checked offset, or in a function that compares with the span's count itself.
        let last = bytes.byteCount &- Self.margin
        let depthLimit = options.limits.depth
        var offset = start
        var token = start
        var isInDictionary = nesting.isInDictionary
        var isFirst = state == .firstKey || state == .firstElement
        var isAfterValue = state == .afterValue
        if !isAfterValue && nesting.depth == 0 { isFirst = false }
        // What the plain machine finds when the loop stops; elements and members are told apart below.
        var next = State.value

        do throws(StreamError) {
            scan: while true {
                guard offset <= last else {
                    next = isAfterValue ? .afterValue : Self.elementState(isInDictionary, isFirst)
                    break scan
                }
                var byte = bytes.uncheckedByte(offset)
                if byte <= 0x20 {
                    offset = StringRuns.endOfWhitespace(in: bytes, from: offset)
                    guard offset <= last else {
                        next = isAfterValue ? .afterValue : Self.elementState(isInDictionary, isFirst)
                        break scan
                    }
                    byte = bytes.uncheckedByte(offset)
                }

                // PERF: JSONReader/records; members follow each other without going through the states above.
                element: while !isAfterValue {
                    // A member name and its colon.
                    if isInDictionary {
                        guard byte == UInt8(ascii: "\"") else {
                            if byte == UInt8(ascii: "}") && isFirst {
                                isAfterValue = true
                                continue scan
                            }
                            next = Self.elementState(isInDictionary, isFirst)
                            break scan
                        }
                        token = offset
                        let special = StringRuns.specialBytes(in: bytes.uncheckedWord(offset &+ 1))
                        // Without a special byte the end is behind the word; a quote there is the closing one as well.
                        let end = offset &+ 1 &+ special.trailingZeroBitCount &>> 3
                        if bytes.uncheckedByte(end) == UInt8(ascii: "\"") {
                            // SAFETY: the quotes are within the margin, the closing one behind the opening one.
                            let range = unsafe Range(uncheckedBounds: (offset &+ 1, end))
                            try sink.writeKey(unsafe bytes.extracting(unchecked: range))
                            offset = end &+ 1
                        } else {
                            let end = try sendLongText(bytes, from: offset &+ 1, isKey: true, to: &sink)
                            guard end >= 0 else {
                                next = Self.elementState(isInDictionary, isFirst)
                                break scan
                            }
                            offset = end
                        }
                        guard offset <= last else {
                            next = .colon
                            break scan
                        }
                        if bytes.uncheckedByte(offset) != UInt8(ascii: ":") {
                            offset = StringRuns.endOfWhitespace(in: bytes, from: offset)
                            guard offset <= last, bytes.uncheckedByte(offset) == UInt8(ascii: ":") else {
                                next = .colon
                                break scan
                            }
                        }
                        byte = bytes.uncheckedByte(offset &+ 1)
                        offset &+= 1
                        if byte == 0x20 {
                            offset &+= 1
                            byte = bytes.uncheckedByte(offset)
                        }
                        if byte <= 0x20 {
                            offset = StringRuns.endOfWhitespace(in: bytes, from: offset)
                            guard offset <= last else {
                                next = .value
                                break scan
                            }
                            byte = bytes.uncheckedByte(offset)
                        }
                    }

                    token = offset
                    if byte == UInt8(ascii: "\"") {
                        let special = StringRuns.specialBytes(in: bytes.uncheckedWord(offset &+ 1))
                        let end = offset &+ 1 &+ special.trailingZeroBitCount &>> 3
                        if bytes.uncheckedByte(end) == UInt8(ascii: "\"") {
                            // SAFETY: as for the member name.
                            let range = unsafe Range(uncheckedBounds: (offset &+ 1, end))
                            try sink.writeString(unsafe bytes.extracting(unchecked: range))
                            offset = end &+ 1
                        } else {
                            let end = try sendLongText(bytes, from: offset &+ 1, isKey: false, to: &sink)
                            guard end >= 0 else {
                                next = isInDictionary ? .value : Self.elementState(isInDictionary, isFirst)
                                break scan
                            }
                            offset = end
                        }
                    } else if byte &- 0x30 <= 9 {
                        // Up to seven digits at once: the lowest set bit marks the first byte that is none.
                        let digits = bytes.uncheckedWord(offset) ^ 0x3030_3030_3030_3030
                        let others = ((digits &+ 0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080
                        let count = others.trailingZeroBitCount &>> 3
                        let follower = bytes.uncheckedByte(offset &+ count)
                        // Whatever else follows, the number ends there, and what follows is looked at next.
                        let isPlain = follower != UInt8(ascii: ".") && follower | 0x20 != UInt8(ascii: "e")
                        if isPlain, byte != UInt8(ascii: "0") || count == 1, others != 0 {
                            try sink.writeInteger(DigitWords.integer(of: digits, count: count))
                            offset &+= count
                        } else {
                            offset = try sendLongNumber(bytes, from: offset, to: &sink)
                            guard offset > token else {
                                offset = token
                                next = isInDictionary ? .value : Self.elementState(isInDictionary, isFirst)
                                break scan
                            }
                        }
                    } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                        guard nesting.depth < depthLimit else {
                            next = isInDictionary ? .value : Self.elementState(isInDictionary, isFirst)
                            break scan
                        }
                        // PERF: JSONRecords; records of plain members go straight to where the sink has memory for them.
                        if byte == UInt8(ascii: "{"), let port = try sink.beginRecords() {
                            let isInArray = nesting.depth > 0 && !isInDictionary
                            let end = RecordScan.scan(
                                bytes, from: offset, into: port, isInArray: isInArray,
                                limit: options.limits.stringByteCount, depth: depthLimit &- nesting.depth &- 1)
                            token = end.offset &- 1
                            try sink.endRecords()
                            offset = end.offset
                            if end.isOpen {
                                isInDictionary = true
                                nesting.push(isDictionary: true)
                                isFirst = true
                                isAfterValue = end.isAfterValue
                                continue scan
                            }
                            guard nesting.depth > 0, offset <= last else {
                                next = .afterValue
                                break scan
                            }
                            isAfterValue = true
                            continue scan
                        }
                        // PERF: JSONTyped/coordinates; the same for whole arrays within an array.
                        if byte == UInt8(ascii: "["), nesting.depth > 0, let port = try sink.beginArrays() {
                            let end = RecordScan.scanArrays(
                                bytes, from: offset, into: port, limit: options.limits.stringByteCount,
                                depth: depthLimit &- nesting.depth)
                            try sink.endArrays()
                            if end > offset {
                                offset = end
                                guard offset <= last else {
                                    next = .afterValue
                                    break scan
                                }
                                isAfterValue = true
                                continue scan
                            }
                        }
                        isInDictionary = byte == UInt8(ascii: "{")
                        nesting.push(isDictionary: isInDictionary)
                        if isInDictionary { try sink.beginDictionary() } else { try sink.beginArray() }
                        offset &+= 1
                        isFirst = true
                        continue scan
                    } else if byte == UInt8(ascii: "]") && isFirst && !isInDictionary {
                        isAfterValue = true
                        continue scan
                    } else {
                        offset = try sendOther(bytes, from: offset, to: &sink)
                        guard offset > token else {
                            offset = token
                            next = isInDictionary ? .value : Self.elementState(isInDictionary, isFirst)
                            break scan
                        }
                    }
                    guard nesting.depth > 0, offset <= last else {
                        next = .afterValue
                        break scan
                    }
                    byte = bytes.uncheckedByte(offset)
                    guard byte == UInt8(ascii: ","), isInDictionary, offset < last,
                        bytes.uncheckedByte(offset &+ 1) == UInt8(ascii: "\"")
                    else { break element }
                    offset &+= 1
                    byte = UInt8(ascii: "\"")
                    isFirst = false
                }

                // What follows a value: the next one, or the ends of containers.
                while byte != UInt8(ascii: ",") {
                    if byte == (isInDictionary ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                        token = offset
                        nesting.pop()
                        offset &+= 1
                        if isInDictionary { try sink.endDictionary() } else { try sink.endArray() }
                        isInDictionary = nesting.isInDictionary
                    } else {
                        let end = byte <= 0x20 ? StringRuns.endOfWhitespace(in: bytes, from: offset) : offset
                        guard end > offset else {
                            next = .afterValue
                            break scan
                        }
                        offset = end
                    }
                    guard nesting.depth > 0, offset <= last else {
                        next = .afterValue
                        break scan
                    }
                    byte = bytes.uncheckedByte(offset)
                }
                offset &+= 1
                isFirst = false
                isAfterValue = false
            }
        } catch {
            tokenOffset = chunkOffset + token
            throw fail(error, in: bytes)
        }
        state = nesting.depth > 0 ? next : next == .afterValue ? .afterRoot : .beforeRoot
        return offset
    }

    /// The state before an element of an array or a member of a dictionary.
    @usableFromInline
    static func elementState(_ isInDictionary: Bool, _ isFirst: Bool) -> State {
        isInDictionary ? (isFirst ? .firstKey : .key) : (isFirst ? .firstElement : .value)
    }

    // PERF: kept out of the loop, so that the loop's registers suffice.
    /// Sends a string that is longer than a word, or not plain, and returns the offset after it, or -1.
    @inlinable @inline(never)
    mutating func sendLongText<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan,
        from start: Int,
        isKey: Bool,
        to sink: inout Sink
    ) throws(StreamError) -> Int {
        let limit = options.limits.stringByteCount
        let end = StringRuns.closingQuote(in: bytes, from: start)
        if end >= 0 && end &- start <= limit {
            let text = bytes.extracting(start..<end)
            if isKey { try sink.writeKey(text) } else { try sink.writeString(text) }
            return end &+ 1
        }
        let unescapedEnd = StringEscapes.unescape(bytes, from: start, into: &scratch, limit: limit)
        if unescapedEnd >= 0 { try sendText(isKey: isKey, to: &sink) }
        return unescapedEnd
    }

    /// Sends a number that is not a short integer, and returns the offset after it, or -1 when it is not plain.
    @inlinable @inline(never)
    mutating func sendLongNumber<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan,
        from start: Int,
        to sink: inout Sink
    ) throws(StreamError) -> Int {
        let number = JSONNumber.scanPlain(bytes, from: start)
        guard number.end >= 0 else { return number.end }
        if number.isReal {
            try sink.writeReal(Double(bitPattern: number.bits))
        } else {
            try sink.writeInteger(Int64(bitPattern: number.bits))
        }
        return number.end
    }

    /// Sends a negative number or a literal, and returns the offset after it, or -1 for all else.
    @inlinable @inline(__always)
    mutating func sendOther<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan,
        from start: Int,
        to sink: inout Sink
    ) throws(StreamError) -> Int {
        switch bytes.uncheckedHalf(start) {
        case 0x6575_7274:
            try sink.writeBool(true)
            return start &+ 4
        case 0x736C_6166 where bytes.uncheckedByte(start &+ 4) == UInt8(ascii: "e"):
            try sink.writeBool(false)
            return start &+ 5
        case 0x6C6C_756E:
            try sink.writeNull()
            return start &+ 4
        default:
            guard bytes.uncheckedByte(start) == UInt8(ascii: "-") else { return StringRuns.notFound }
            return try sendLongNumber(bytes, from: start, to: &sink)
        }
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
            "[1 2]", "[1,]", "[,1]", "{\"a\" 1}", "{\"a\":}", "{\"a\":1,}", "{\"a\":\u{1} 1}", "{\"a\":\u{1}1}",
            "{\"a\": \u{1}1}", "[\u{1}1]", "[1\u{1}]", "{,}", "{a:1}", "[}", "{]", "[1}",
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
