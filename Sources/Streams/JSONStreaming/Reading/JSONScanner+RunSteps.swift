// The steps of the fast loop: a name, a value, the ends of containers. They are inlined into one loop whose state is in
// registers.

public import PlistStreaming

extension JSONScanner {
    /// The token with which the plain scanner continues after the loop stops.
    @usableFromInline
    enum RunStop {
        /// A name, an element, or the end of an empty container.
        case element
        /// A value, also of a member.
        case value
        case colon
        case afterValue
    }

    /// The state of the fast loop.
    @usableFromInline
    struct Run {
        @usableFromInline var offset: Int
        /// The offset of the current token, for errors of the sink.
        @usableFromInline var token: Int
        /// An offset that is at most `last` has `margin` bytes after it.
        @usableFromInline let last: Int
        /// The byte at the offset.
        @usableFromInline var byte: UInt8 = 0
        @usableFromInline var isInDictionary: Bool = false
        @usableFromInline var isFirst: Bool = false
        @usableFromInline var isAfterValue: Bool = false
        /// The start of the text before the current member: after a brace or at a comma.
        @usableFromInline var connector: Int = -1
        /// The state of the member hints; see `MemberHints`.
        @usableFromInline var learningStart: Int = 0
        @usableFromInline var member: Int = 0
        @usableFromInline var context: Int = 0
        @usableFromInline var expected: Int = 0
        /// A Boolean value that indicates whether the sink had no memory for the last array, and therefore receives the
        /// following arrays as messages too.
        @usableFromInline var sendsArrays: Bool = false
        /// A Boolean value that indicates whether records of this chunk were stored in the sink's memory, which keeps
        /// information about the text.
        @usableFromInline var hasStored: Bool = false
        @usableFromInline var end: RunStop = .value

        @inlinable @inline(__always)  // PERF: JSONReader/records; the steps are one function.
        init(_ bytes: RawSpan, from start: Int) {
            // Bounds: every load of the steps is either within the margin of a checked offset, or in a function that
            // checks against the span's count itself.
            last = bytes.byteCount &- JSONScanner.margin
            offset = start
            token = start
        }

        // PERF: JSONReader/records; computed once, because flags that are used in many places need many registers.
        /// The state in which the plain scanner continues.
        @inlinable
        var next: State {
            switch end {
            case .colon: .colon
            case .afterValue: .afterValue
            case .value where isInDictionary: .value
            case .element, .value: isInDictionary ? (isFirst ? .firstKey : .key) : (isFirst ? .firstElement : .value)
            }
        }

        /// Sets the token with which the plain scanner continues. Returns false, for callers that stop the loop.
        @inlinable @inline(__always)  // PERF: see above.
        mutating func stop(_ end: RunStop) -> Bool {
            self.end = end
            return false
        }

        /// Moves past a comma.
        @inlinable @inline(__always)  // PERF: see above.
        mutating func passComma() {
            connector = offset
            offset &+= 1
            isFirst = false
        }
    }

    /// Begins at the end of the last run or the plain scanner.
    @inlinable @inline(__always)  // PERF: see above.
    mutating func begin(_ run: inout Run) {
        run.isInDictionary = nesting.isInDictionary
        run.isFirst = state == .firstKey || state == .firstElement
        run.isAfterValue = state == .afterValue
        run.learningStart = max(0, hints.learningStart &- chunkOffset)
        (run.member, run.context) = hints.resume(nesting: nesting)
        run.expected = run.isAfterValue && run.isInDictionary ? Int(hints.hint(run.member).next) : 0
        if !run.isAfterValue && nesting.depth == 0 { run.isFirst = false }
    }

    /// Moves to the next token; returns false if the loop stops.
    @inlinable @inline(__always)  // PERF: see above.
    func findToken(_ bytes: RawSpan, _ run: inout Run) -> Bool {
        guard run.offset <= run.last else { return run.stop(run.isAfterValue ? .afterValue : .element) }
        run.byte = bytes.uncheckedByte(run.offset)
        if run.byte <= 0x20 && (run.isAfterValue || !run.isInDictionary) {
            run.offset = StringRuns.endOfWhitespace(in: bytes, from: run.offset)
            guard run.offset <= run.last else { return run.stop(run.isAfterValue ? .afterValue : .element) }
            run.byte = bytes.uncheckedByte(run.offset)
        }
        // The plain scanner reads a scalar that is the whole value.
        return nesting.depth > 0 || run.byte == UInt8(ascii: "{") || run.byte == UInt8(ascii: "[") || run.stop(.value)
    }

    // MARK: Names

    /// Sends an expected name and moves to its value; returns false for another name, and near the end of the loop.
    @inlinable @inline(__always)  // PERF: see above.
    mutating func sendExpectedName<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, _ run: inout Run, to sink: inout Sink
    ) throws(StreamError) -> Bool {
        guard run.expected > 0 else { return false }
        let hint = hints.hint(run.expected)
        let end = run.connector &+ Int(hint.count)
        guard hints.matches(hint, bytes, at: run.connector, last: run.last), end <= run.last else { return false }
        run.token = run.connector &+ Int(hint.nameOffset) &- 1
        // SAFETY: the name is part of the bytes that were just compared.
        let range = unsafe Range(uncheckedBounds: (run.token &+ 1, run.token &+ 1 &+ Int(hint.nameCount)))
        try sink.writeKey(unsafe bytes.extracting(unchecked: range))
        run.offset = end
        run.member = run.expected
        run.expected = Int(hint.next)
        run.byte = bytes.uncheckedByte(end)
        return true
    }

    /// Moves to the quote of a name; returns false otherwise. After an opening brace, it also returns false at the
    /// closing brace.
    @inlinable @inline(__always)  // PERF: see above.
    func findName(_ bytes: RawSpan, _ run: inout Run) -> Bool {
        if run.byte <= 0x20 {
            run.offset = StringRuns.endOfWhitespace(in: bytes, from: run.offset)
            guard run.offset <= run.last else { return run.stop(.element) }
            run.byte = bytes.uncheckedByte(run.offset)
        }
        run.token = run.offset
        guard run.byte != UInt8(ascii: "\"") else { return true }
        run.isAfterValue = run.byte == UInt8(ascii: "}") && run.isFirst
        return run.stop(.element)
    }

    /// Moves past the colon after a name, to the value; returns false if that isn't possible.
    @inlinable @inline(__always)  // PERF: see above.
    func passColon(_ bytes: RawSpan, _ run: inout Run) -> Bool {
        guard run.offset <= run.last else { return run.stop(.colon) }
        if bytes.uncheckedByte(run.offset) != UInt8(ascii: ":") {
            run.offset = StringRuns.endOfWhitespace(in: bytes, from: run.offset)
            guard run.offset <= run.last, bytes.uncheckedByte(run.offset) == UInt8(ascii: ":") else {
                return run.stop(.colon)
            }
        }
        run.byte = bytes.uncheckedByte(run.offset &+ 1)
        run.offset &+= 1
        if run.byte == 0x20 {
            run.offset &+= 1
            run.byte = bytes.uncheckedByte(run.offset)
        }
        if run.byte <= 0x20 {
            run.offset = StringRuns.endOfWhitespace(in: bytes, from: run.offset)
            guard run.offset <= run.last else { return run.stop(.value) }
            run.byte = bytes.uncheckedByte(run.offset)
        }
        return true
    }

    /// Learns a name that wasn't expected.
    @inlinable @inline(__always)  // PERF: see above.
    mutating func noteName(_ bytes: RawSpan, _ run: inout Run) {
        if run.connector >= run.learningStart {
            let wasLost = hints.isLost
            run.member = hints.learn(
                bytes, from: run.connector, name: run.token &+ 1, to: run.offset,
                after: run.isFirst ? -1 : run.member,
                in: run.context, expected: run.expected, chunkOffset: chunkOffset)
            if run.member == 0 {
                run.context = 0
                run.learningStart = max(0, hints.learningStart &- chunkOffset)
            }
            if wasLost { run.context = Int(hints.hint(run.member).parent) }
            run.expected = Int(hints.hint(run.member).next)
        } else if run.connector < 0 {
            run.expected = Int(hints.hint(run.member).next)
        }
    }

    // MARK: Values

    /// Sends a name or another string; returns false for text that isn't plain.
    @inlinable @inline(__always)  // PERF: see above.
    mutating func sendString<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, _ run: inout Run, isKey: Bool, to sink: inout Sink
    ) throws(StreamError) -> Bool {
        let special = StringRuns.specialBytes(in: bytes.uncheckedWord(run.offset &+ 1))
        // Without a special byte the end is after the word; a quote there is also the closing one.
        let end = run.offset &+ 1 &+ special.trailingZeroBitCount &>> 3
        guard bytes.uncheckedByte(end) == UInt8(ascii: "\"") else {
            let end = try sendLongText(bytes, from: run.offset &+ 1, isKey: isKey, to: &sink)
            guard end >= 0 else { return run.stop(isKey ? .element : .value) }
            run.offset = end
            return true
        }
        // SAFETY: the quotes are within the margin, the closing one after the opening one.
        let range = unsafe Range(uncheckedBounds: (run.offset &+ 1, end))
        let text = unsafe bytes.extracting(unchecked: range)
        if isKey { try sink.writeKey(text) } else { try sink.writeString(text) }
        run.offset = end &+ 1
        return true
    }

    /// Sends a number, or consecutive reals; returns false for text that isn't plain.
    @inlinable @inline(__always)  // PERF: see above.
    mutating func sendNumber<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, _ run: inout Run, to sink: inout Sink
    ) throws(StreamError) -> Bool {
        // Up to seven digits at once; the count is 0 after a minus sign.
        let digits = DigitRun(bytes.uncheckedWord(run.offset))
        let follower = bytes.uncheckedByte(run.offset &+ digits.count)
        // Before any other byte, the number ends. The next step checks that byte.
        let isPlain = follower != UInt8(ascii: ".") && follower | 0x20 != UInt8(ascii: "e")
        if isPlain, digits.count &- 1 < (run.byte == UInt8(ascii: "0") ? 1 : 7), digits.count > 0 {
            try sink.writeInteger(Int64(bitPattern: digits.value))
            run.offset &+= digits.count
            return true
        }
        var end = StringRuns.notFound
        if follower == UInt8(ascii: ".") || run.byte == UInt8(ascii: "-") {
            end = try sendReals(
                bytes, from: run.offset, last: run.last, isInArray: !run.isInDictionary, sendsArrays: run.sendsArrays,
                to: &sink)
        }
        if end < 0 {
            let number = JSONNumber.scanPlain(bytes, from: run.offset)
            guard number.end >= 0, keepsDigits(of: number, from: run.offset) else { return run.stop(.value) }
            end = number.end
            if number.isReal {
                try sink.writeReal(Double(bitPattern: number.bits))
            } else {
                try sink.writeInteger(Int64(bitPattern: number.bits))
            }
        }
        run.offset = end
        return true
    }

    // MARK: Containers

    /// Begins a dictionary with a message.
    @inlinable @inline(__always)  // PERF: see above.
    mutating func beginDictionary<Sink: PlistSink & ~Copyable>(
        _ run: inout Run, to sink: inout Sink
    ) throws(StreamError) {
        run.sendsArrays = true
        run.isInDictionary = true
        nesting.push(isDictionary: true)
        try sink.beginDictionary()
        run.offset &+= 1
        run.connector = run.offset
        run.context = run.member
        run.expected = Int(hints.hint(run.member).child)
        run.isFirst = true
    }

    /// Begins an array with a message, or stores it and following ones directly; returns false if the loop stops.
    @inlinable @inline(__always)  // PERF: see above.
    mutating func beginArray<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, _ run: inout Run, to sink: inout Sink
    ) throws(StreamError) -> Bool {
        guard nesting.depth < options.limits.depth else { return run.stop(.value) }
        run.sendsArrays = true
        // PERF: JSONTyped/coordinates; as for records.
        if nesting.depth > 0, let port = try unsafe sink.beginRecordBuffer(of: .arrays) {
            let end = unsafe RecordScan.scanArrays(
                bytes, from: run.offset, into: port, limit: options.limits.stringByteCount,
                depth: options.limits.depth &- nesting.depth, isFirst: !run.hasStored)
            run.hasStored = true
            try sink.endRecordBuffer()
            if end > run.offset {
                run.offset = end
                run.isAfterValue = true
                return end <= run.last || run.stop(.afterValue)
            }
            run.sendsArrays = false
        }
        run.isInDictionary = false
        nesting.push(isDictionary: false)
        try sink.beginArray()
        run.offset &+= 1
        run.connector = run.offset
        run.isFirst = true
        return true
    }

    /// Stores records directly if the sink has memory for them; returns false if the loop stops.
    @inlinable @inline(__always)  // PERF: see above.
    mutating func storeRecords<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, _ run: inout Run, _ port: RecordPort, to sink: inout Sink
    ) throws(StreamError) -> Bool {
        let isInArray = nesting.depth > 0 && !run.isInDictionary
        // The members of records are read that way; hints for other members would mostly be wrong.
        run.learningStart = .max
        let end = unsafe RecordScan.scan(
            bytes, from: run.offset, into: port, isInArray: isInArray, limit: options.limits.stringByteCount,
            depth: options.limits.depth &- nesting.depth &- 1, isFirst: !run.hasStored)
        run.hasStored = true
        run.token = end.offset &- 1
        try sink.endRecordBuffer()
        run.offset = end.offset
        if end.isOpen {
            run.isInDictionary = true
            nesting.push(isDictionary: true)
            run.isFirst = true
            run.isAfterValue = end.isAfterValue
            run.connector = -1
            run.context = run.member
            run.expected = 0
            return true
        }
        run.isAfterValue = true
        return nesting.depth > 0 && run.offset <= run.last || run.stop(.afterValue)
    }

    /// Sends the ends of containers after a value, up to a comma; returns false if the loop stops.
    @inlinable @inline(__always)  // PERF: see above.
    mutating func sendEnds<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, _ run: inout Run, to sink: inout Sink
    ) throws(StreamError) -> Bool {
        while run.byte != UInt8(ascii: ",") {
            if run.byte == (run.isInDictionary ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                run.token = run.offset
                nesting.pop()
                run.offset &+= 1
                if run.isInDictionary { try sink.endDictionary() } else { try sink.endArray() }
                if run.isInDictionary {
                    run.member = run.context
                    run.context = Int(hints.hint(run.context).parent)
                }
                run.isInDictionary = nesting.isInDictionary
                if run.isInDictionary { run.expected = Int(hints.hint(run.member).next) }
            } else {
                let end = run.byte <= 0x20 ? StringRuns.endOfWhitespace(in: bytes, from: run.offset) : run.offset
                guard end > run.offset else { return run.stop(.afterValue) }
                run.offset = end
            }
            guard nesting.depth > 0, run.offset <= run.last else { return run.stop(.afterValue) }
            run.byte = bytes.uncheckedByte(run.offset)
        }
        return true
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

    /// Sends a literal; returns false for any other text.
    @inlinable @inline(__always)  // PERF: see above.
    func sendLiteral<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, _ run: inout Run, to sink: inout Sink
    ) throws(StreamError) -> Bool {
        switch bytes.uncheckedHalf(run.offset) {
        case 0x6575_7274: try sink.writeBool(true)
        case 0x736C_6166 where bytes.uncheckedByte(run.offset &+ 4) == UInt8(ascii: "e"):
            try sink.writeBool(false)
            run.offset &+= 1
        case 0x6C6C_756E: try sink.writeNull()
        default: return run.stop(.value)
        }
        run.offset &+= 4
        return true
    }
}
