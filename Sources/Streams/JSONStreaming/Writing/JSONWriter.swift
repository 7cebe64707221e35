// The sink that writes JSON text: separators, layout and order of messages. JSONWriter+Values writes the values.

public import PlistStreaming

/// A sink that writes JSON text to memory or to a file descriptor.
///
/// The text is always valid: RFC 8259, UTF-8, one root value (or one a line). Doubles are written with the fewest
/// digits that read back as the same double, and always look like reals. Reading the text therefore gives the same
/// messages, except for a few doubles whose text is needed to round to the right `Float`. Data becomes a string in
/// Base64. The options choose the format of dates.
///
/// ```swift
/// var writer = JSONWriter()
/// try writer.readJSON("{\"a\" : [1, 2.50]}")
/// try writer.finish()
/// writer.text  // {"a":[1,2.5]}
/// ```
///
/// Messages outside the grammar of `PlistSink` throw `misuse` before the writer writes anything.
public struct JSONWriter: PlistSink, ~Copyable {
    private let options: JSONWriterOptions
    var output: ByteOutput
    private(set) var nesting: NestingStack = NestingStack()
    /// The messages that may come next.
    var next: Next = .root
    private var rootCount: Int = 0
    private let indent: Int
    /// A Boolean value that indicates whether only commas and colons separate values.
    let isPlainCompact: Bool
    // PERF: JSONWriter/reals, 3 of 17 ns; reading a static property is a call each time.
    /// The units of doubles, set when the first real is written.
    var units: ScaledUnits?
    /// A Boolean value that indicates whether whole numbers that are doubles are written without a point, as `JSONEncoder`
    /// writes them.
    var omitsPoints: Bool = false
    /// The dictionaries whose members are to be sorted.
    private var sorting: [MemberOrder] = []

    /// Creates a writer to memory.
    public init(options: JSONWriterOptions = JSONWriterOptions()) {
        self.init(options: options, output: ByteOutput())
    }

    /// Creates a writer to a file descriptor. The caller remains responsible for closing it.
    ///
    /// The writer uses `bufferByteCount` bytes of memory; a longer string is completely in memory before it is written.
    public init(descriptor: Int32, bufferByteCount: Int = 1 << 16, options: JSONWriterOptions = JSONWriterOptions()) {
        self.init(options: options, output: ByteOutput(descriptor: descriptor, bufferByteCount: bufferByteCount))
    }

    /// Creates a writer to an output, which ``returnOutput(_:)`` returns.
    @usableFromInline
    init(options: JSONWriterOptions, taking output: inout ByteOutput) {
        self.init(options: options, output: ByteOutput(capacity: 0))
        swap(&self.output, &output)
    }

    /// Returns the output that the writer was created with.
    @usableFromInline
    mutating func returnOutput(_ output: inout ByteOutput) { swap(&self.output, &output) }

    private init(options: JSONWriterOptions, output: consuming ByteOutput) {
        self.options = options
        self.output = output
        indent = if case .pretty(let indent) = options.layout { max(0, indent) } else { -1 }
        isPlainCompact = options.layout == .compact && !options.sortsKeys
    }

    /// Ends the text: checks that it is complete, and writes the contents of the buffer.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for an open container or a missing value,
    ///   ``/PlistStreaming/StreamError/Kind/cannotWrite`` if writing to the descriptor fails.
    public mutating func finish() throws(StreamError) {
        guard nesting.depth == 0 else { throw StreamError(.misuse, "finished with \(nesting.depth) open containers") }
        guard rootCount > 0 || options.allowsMultipleValues else {
            throw StreamError(.misuse, "finished without a value")
        }
        try output.flush()
    }

    /// Discards the written text so that the next text can reuse the writer's memory.
    public mutating func reset() {
        output.removeAll()
        output.isHolding = false
        nesting = NestingStack()
        next = .root
        rootCount = 0
        sorting = []
    }

    /// The text in memory so far. For a writer to a descriptor, only the characters that it hasn't begun to write.
    public var text: String {
        // SAFETY: all appended text is ASCII or was checked.
        unsafe output.text
    }

    /// A copy of the bytes in memory so far.
    public var bytes: [UInt8] { output.bytes }

    /// Calls a closure with the bytes in memory so far.
    public func withBytes<Value, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try output.withBytes(body)
    }

    /// Writes `[`.
    public mutating func beginArray() throws(StreamError) { try begin(isDictionary: false) }

    /// Writes `]`.
    public mutating func endArray() throws(StreamError) {
        guard nesting.depth > 0, !nesting.isInDictionary else {
            throw StreamError(.misuse, "got endArray without an open array")
        }
        try end(UInt8(ascii: "]"))
    }

    /// Writes `{`.
    public mutating func beginDictionary() throws(StreamError) {
        try begin(isDictionary: true)
        if options.sortsKeys {
            output.isHolding = true
            sorting.append(MemberOrder())
        }
    }

    /// Writes `}`.
    public mutating func endDictionary() throws(StreamError) {
        guard nesting.isInDictionary else {
            throw StreamError(.misuse, "got endDictionary without an open dictionary")
        }
        guard next.isKey else { throw StreamError(.misuse, "expected the value of a key, got endDictionary") }
        if options.sortsKeys, let order = sorting.popLast() {
            try order.apply(to: &output)
            output.isHolding = !sorting.isEmpty
        }
        try end(UInt8(ascii: "}"))
    }

    /// Writes a member's name, escaped, and `:`.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/invalidText`` for a name that is not valid UTF-8.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        if next.isPlainKey, utf8.byteCount <= StringText.shortByteCount {
            try output.reserve(StringText.maxByteCount(for: utf8.byteCount))
            let start = unsafe output.end
            let commaCount = unsafe storeComma(at: start)
            // SAFETY: memory was reserved for the comma, the string and a colon.
            let count = unsafe StringText.store(utf8, isChecked: false, at: start + commaCount)
            if count > 0 {
                unsafe (start + commaCount).storeBytes(of: UInt8(ascii: ":"), toByteOffset: count, as: UInt8.self)
                output.advance(by: commaCount &+ count &+ 1)
                next = .plainValue
                return
            }
        }
        try writeAnyKey(utf8)
    }

    @inline(never)
    private mutating func writeAnyKey(_ utf8: RawSpan) throws(StreamError) {
        guard nesting.isInDictionary else { throw StreamError(.misuse, "got writeKey outside a dictionary") }
        guard next.isKey else { throw StreamError(.misuse, "expected the value of a key, got writeKey") }
        try StringText.check(utf8)
        if options.sortsKeys {
            sorting[sorting.count - 1].add(utf8, at: output.count)
        } else if next.commaCount > 0 {
            try output.append(UInt8(ascii: ","))
        }
        if indent >= 0 { try beginLine() }
        try StringText.writeQuoted(utf8, to: &output)
        try output.append(UInt8(ascii: ":"))
        if indent >= 0 { try output.append(0x20) }
        next = Next(isPlain: isPlainCompact)
    }

    @inline(__always)  // PERF: JSONWriter/records.
    private mutating func begin(isDictionary: Bool) throws(StreamError) {
        guard nesting.depth < options.depthLimit else { throw tooDeep() }
        let bracket = isDictionary ? UInt8(ascii: "{") : UInt8(ascii: "[")
        if next.isPlainValue {
            try output.reserve(2)
            let commaCount = unsafe storeComma(at: output.end)
            // SAFETY: memory was reserved for the comma and the bracket.
            unsafe output.end.storeBytes(of: bracket, toByteOffset: commaCount, as: UInt8.self)
            output.advance(by: commaCount &+ 1)
        } else {
            try beginValue(reserving: 1)
            output.appendReserved(bracket)
        }
        nesting.push(isDictionary: isDictionary)
        next = Next(isPlain: isPlainCompact, isKey: isDictionary)
    }

    @inline(never)
    private func tooDeep() -> StreamError {
        StreamError(.limitExceeded, "more than \(options.depthLimit) levels of nesting")
    }

    @inline(__always)  // PERF: JSONWriter/records.
    private mutating func end(_ bracket: UInt8) throws(StreamError) {
        nesting.pop()
        if next.commaCount > 0 && indent >= 0 { try beginLine() }
        next = nextBehindValue
        try output.reserve(1)
        output.appendReserved(bracket)
        if nesting.depth == 0 { try endRoot() }
    }

    // PERF: inlined into each message; in compact text a value costs one test and one capacity check.
    /// Writes the text before a value and reserves memory for the value. Throws if the grammar allows no value here.
    @inline(__always)
    mutating func beginValue(reserving byteCount: Int) throws(StreamError) {
        try output.reserve(byteCount &+ 1)
        if next.isPlainValue {
            if next.commaCount > 0 { output.appendReserved(UInt8(ascii: ",")) }
        } else {
            try beginAnyValue()
            try output.reserve(byteCount)
        }
        endValue()
    }

    /// Updates the state after the start of a value.
    @inline(__always)
    mutating func endValue() {
        // PERF: JSONWriter/reals; plain text is always in a container, so that check is skipped.
        next = next.isPlainValue ? next.afterValue(isInDictionary: nesting.isInDictionary) : nextBehindValue
    }

    private var nextBehindValue: Next {
        nesting.depth > 0 ? next.afterValue(isInDictionary: nesting.isInDictionary) : .root
    }

    @inline(never)
    private mutating func beginAnyValue() throws(StreamError) {
        if nesting.isInDictionary {
            guard !next.isKey else { throw StreamError(.misuse, "expected writeKey or endDictionary, got a value") }
        } else if nesting.depth > 0 {
            if next.commaCount > 0 { try output.append(UInt8(ascii: ",")) }
            if indent >= 0 { try beginLine() }
        } else {
            guard rootCount == 0 || options.allowsMultipleValues else {
                throw StreamError(.misuse, "got a second root value")
            }
            rootCount += 1
        }
    }

    /// Writes the line end after a value at the root, if one is needed.
    @inline(never)
    mutating func endRoot() throws(StreamError) {
        if options.allowsMultipleValues || indent >= 0 { try output.append(0x0A) }
    }

    private mutating func beginLine() throws(StreamError) {
        let count = indent * nesting.depth
        try output.reserve(count + 1)
        output.appendReserved(0x0A)
        for _ in 0..<count { output.appendReserved(0x20) }
    }

    /// Stores a comma if one is needed, and returns the number of bytes. Neither reserves memory nor updates counts.
    @unsafe @inline(__always)
    func storeComma(at address: UnsafeMutableRawPointer) -> Int {
        // PERF: always stored, and overwritten if it is not needed, instead of a branch.
        unsafe address.storeBytes(of: UInt8(ascii: ","), as: UInt8.self)
        return next.commaCount
    }

    // PERF: JSONWriter/reals, JSONWriter/records; one byte replaces four tests of the containers.
    /// The messages that may come next, and whether a comma precedes them.
    struct Next {
        // 1 for a comma, 2 for a key, 4 if more text precedes it, or if a check is needed.
        private let bits: UInt8

        private init(bits: UInt8) { self.bits = bits }

        /// The first key of a dictionary, or a value without a comma before it.
        init(isPlain: Bool, isKey: Bool = false) { bits = (isPlain ? 0 : 4) | (isKey ? 2 : 0) }

        /// A value at the root.
        static var root: Next { Next(bits: 4) }
        /// A value after its key, with no text before it.
        static var plainValue: Next { Next(bits: 0) }
        /// The next member of a dictionary, with only a comma before it.
        static var plainMember: Next { Next(bits: 3) }

        /// A Boolean value that indicates whether a value is next in a container, with at most a comma before it.
        var isPlainValue: Bool { bits < 2 }
        /// A Boolean value that indicates whether a key is next, with at most a comma before it.
        var isPlainKey: Bool { bits | 1 == 3 }
        /// A Boolean value that indicates whether a key is next.
        var isKey: Bool { bits & 2 != 0 }
        /// The number of commas before the next key or value.
        var commaCount: Int { Int(truncatingIfNeeded: bits & 1) }

        /// Returns the state after a value in a container.
        func afterValue(isInDictionary: Bool) -> Next { Next(bits: bits & 4 | (isInDictionary ? 3 : 1)) }
    }
    var nonFinitePolicy: JSONWriterOptions.NonFinite { options.nonFinite }
    var datePolicy: JSONWriterOptions.Dates { options.dates }
}
