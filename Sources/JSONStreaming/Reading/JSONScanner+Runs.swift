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
        // Where the text before the member at hand begins: behind a brace or at a comma.
        var connector = -1
        var learningStart = max(0, hints.learningStart &- chunkOffset)
        var (member, context) = hints.resume(nesting: nesting)
        var expected = isAfterValue && isInDictionary ? Int(hints.hint(member).next) : 0
        if !isAfterValue && nesting.depth == 0 { isFirst = false }
        // Whether the sink had no memory for the last array, and so will take its neighbours as messages as well.
        var sendsArrays = false
        // Whether records of this chunk were stored through the sink's memory, which keeps what it knows of the text.
        var hasStored = false
        // What the plain machine finds when the loop stops; elements and members are told apart below.
        var next = State.value

        do throws(StreamError) {
            scan: while true {
                guard offset <= last else {
                    next = isAfterValue ? .afterValue : Self.elementState(isInDictionary, isFirst)
                    break scan
                }
                var byte = bytes.uncheckedByte(offset)
                if byte <= 0x20 && (isAfterValue || !isInDictionary) {
                    offset = StringRuns.endOfWhitespace(in: bytes, from: offset)
                    guard offset <= last else {
                        next = isAfterValue ? .afterValue : Self.elementState(isInDictionary, isFirst)
                        break scan
                    }
                    byte = bytes.uncheckedByte(offset)
                }
                // A scalar that is the whole value is the plain machine's.
                if nesting.depth == 0 && byte != UInt8(ascii: "{") && byte != UInt8(ascii: "[") { break scan }

                // PERF: JSONReader/records; members follow each other without going through the states above.
                element: while !isAfterValue {
                    // A member name and its colon.
                    member: if isInDictionary {
                        if expected > 0 {
                            let hint = hints.hint(expected)
                            if hints.matches(hint, bytes, at: connector, last: last) {
                                token = connector &+ Int(hint.nameOffset) &- 1
                                // SAFETY: the name is part of what was just compared.
                                let range = unsafe Range(
                                    uncheckedBounds: (token &+ 1, token &+ 1 &+ Int(hint.nameCount)))
                                try sink.writeKey(unsafe bytes.extracting(unchecked: range))
                                offset = connector &+ Int(hint.count)
                                member = expected
                                expected = Int(hint.next)
                                guard offset <= last else {
                                    next = .value
                                    break scan
                                }
                                byte = bytes.uncheckedByte(offset)
                                break member
                            }
                        }
                        if byte <= 0x20 {
                            offset = StringRuns.endOfWhitespace(in: bytes, from: offset)
                            guard offset <= last else {
                                next = Self.elementState(isInDictionary, isFirst)
                                break scan
                            }
                            byte = bytes.uncheckedByte(offset)
                        }
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
                        let nameEnd = offset &- 1
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
                        if connector >= learningStart {
                            let wasLost = hints.isLost
                            member = hints.learn(
                                bytes, from: connector, name: token &+ 1..<nameEnd, to: offset,
                                after: isFirst ? -1 : member, in: context, expected: expected, chunkOffset: chunkOffset)
                            if member == 0 {
                                context = 0
                                learningStart = max(0, hints.learningStart &- chunkOffset)
                            }
                            if wasLost { context = Int(hints.hint(member).parent) }
                            expected = Int(hints.hint(member).next)
                        } else if connector < 0 {
                            expected = Int(hints.hint(member).next)
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
                    } else if byte &- 0x30 <= 9 || byte == UInt8(ascii: "-") {
                        // Up to seven digits at once; none are behind a minus.
                        let run = DigitRun(bytes.uncheckedWord(offset))
                        let follower = bytes.uncheckedByte(offset &+ run.count)
                        // Whatever else follows, the number ends there, and what follows is looked at next.
                        let isPlain = follower != UInt8(ascii: ".") && follower | 0x20 != UInt8(ascii: "e")
                        if isPlain, run.count &- 1 < (byte == UInt8(ascii: "0") ? 1 : 7), run.count > 0 {
                            try sink.writeInteger(Int64(bitPattern: run.value))
                            offset &+= run.count
                        } else {
                            var end = StringRuns.notFound
                            if follower == UInt8(ascii: ".") || byte == UInt8(ascii: "-") {
                                end = try sendReals(
                                    bytes, from: offset, last: last, isInArray: !isInDictionary,
                                    sendsArrays: sendsArrays, to: &sink)
                            }
                            if end < 0 {
                                let number = JSONNumber.scanPlain(bytes, from: offset)
                                guard number.end >= 0 else {
                                    next = isInDictionary ? .value : Self.elementState(isInDictionary, isFirst)
                                    break scan
                                }
                                end = number.end
                                if number.isReal {
                                    try sink.writeReal(Double(bitPattern: number.bits))
                                } else {
                                    try sink.writeInteger(Int64(bitPattern: number.bits))
                                }
                            }
                            offset = end
                        }
                    } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                        guard nesting.depth < depthLimit else {
                            next = isInDictionary ? .value : Self.elementState(isInDictionary, isFirst)
                            break scan
                        }
                        // PERF: JSONRecords; records of plain members go straight to where the sink has memory for them.
                        if byte == UInt8(ascii: "{"), let port = try unsafe sink.beginLoan(of: .records) {
                            let isInArray = nesting.depth > 0 && !isInDictionary
                            // The members of records come by that way; guesses of the others would be wrong mostly.
                            learningStart = .max
                            let end = unsafe RecordScan.scan(
                                bytes, from: offset, into: port, isInArray: isInArray,
                                limit: options.limits.stringByteCount, depth: depthLimit &- nesting.depth &- 1,
                                isFirst: !hasStored)
                            hasStored = true
                            token = end.offset &- 1
                            try sink.endLoan()
                            offset = end.offset
                            if end.isOpen {
                                isInDictionary = true
                                nesting.push(isDictionary: true)
                                isFirst = true
                                isAfterValue = end.isAfterValue
                                connector = -1
                                context = member
                                expected = 0
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
                        sendsArrays = true
                        if byte == UInt8(ascii: "["), nesting.depth > 0,
                            let port = try unsafe sink.beginLoan(of: .arrays)
                        {
                            let end = unsafe RecordScan.scanArrays(
                                bytes, from: offset, into: port, limit: options.limits.stringByteCount,
                                depth: depthLimit &- nesting.depth, isFirst: !hasStored)
                            hasStored = true
                            try sink.endLoan()
                            if end > offset {
                                offset = end
                                guard offset <= last else {
                                    next = .afterValue
                                    break scan
                                }
                                isAfterValue = true
                                continue scan
                            }
                            sendsArrays = false
                        }
                        isInDictionary = byte == UInt8(ascii: "{")
                        nesting.push(isDictionary: isInDictionary)
                        if isInDictionary { try sink.beginDictionary() } else { try sink.beginArray() }
                        offset &+= 1
                        connector = offset
                        if isInDictionary {
                            context = member
                            expected = Int(hints.hint(member).child)
                        }
                        isFirst = true
                        continue scan
                    } else if byte == UInt8(ascii: "]") && isFirst && !isInDictionary {
                        isAfterValue = true
                        continue scan
                    } else {
                        offset = try sendLiteral(bytes, from: offset, to: &sink)
                        guard offset > token else {
                            offset = token
                            next = isInDictionary ? .value : Self.elementState(isInDictionary, isFirst)
                            break scan
                        }
                    }
                    guard offset <= last else {
                        next = .afterValue
                        break scan
                    }
                    byte = bytes.uncheckedByte(offset)
                    guard byte == UInt8(ascii: ",") else { break element }
                    connector = offset
                    offset &+= 1
                    byte = bytes.uncheckedByte(offset)
                    isFirst = false
                    if byte <= 0x20 && !isInDictionary { continue scan }
                }

                // What follows a value: the next one, or the ends of containers.
                while byte != UInt8(ascii: ",") {
                    if byte == (isInDictionary ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                        token = offset
                        nesting.pop()
                        offset &+= 1
                        if isInDictionary { try sink.endDictionary() } else { try sink.endArray() }
                        if isInDictionary {
                            member = context
                            context = Int(hints.hint(context).parent)
                        }
                        isInDictionary = nesting.isInDictionary
                        if isInDictionary { expected = Int(hints.hint(member).next) }
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
                connector = offset
                offset &+= 1
                isFirst = false
                isAfterValue = false
            }
        } catch {
            if let failure { throw failure }
            tokenOffset = chunkOffset + token
            throw fail(error, in: bytes)
        }
        hints.suspend(member: member, context: context, nesting: nesting)
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

    /// Sends a literal, and returns the offset after it, or -1 for all else.
    @inlinable @inline(__always)
    func sendLiteral<Sink: PlistSink & ~Copyable>(
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
            return StringRuns.notFound
        }
    }
}
