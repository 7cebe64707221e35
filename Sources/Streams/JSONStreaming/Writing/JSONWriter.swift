// The sink that writes JSON text: separators, layout, order of messages. The values are in JSONWriter+Values.

public import PlistStreaming

/// A sink that writes JSON text to memory or to a file descriptor.
///
/// The text is always valid: RFC 8259, UTF-8, one root value (or one a line). Doubles are written with the fewest
/// digits that read back as the same double, and always look like reals, so that reading what was written gives the
/// same messages, but for the few doubles of which only the text rounds to the right `Float`. Data becomes a string in Base64, a date what the options say.
///
/// ```swift
/// var writer = JSONWriter()
/// try writer.readJSON("{\"a\" : [1, 2.50]}")
/// try writer.finish()
/// writer.text  // {"a":[1,2.5]}
/// ```
///
/// Messages outside the grammar of `PlistSink` are refused with `misuse` before they write anything.
public struct JSONWriter: PlistSink, ~Copyable {
    private let options: JSONWriterOptions
    var output: ByteOutput
    private(set) var nesting: NestingStack = NestingStack()
    /// What is next.
    var next: Next = .root
    private var rootCount: Int = 0
    private let indent: Int
    /// A Boolean value that indicates whether nothing but commas and colons goes between values.
    let isPlainCompact: Bool
    // PERF: JSONWriter/reals, 3 of 17 ns; to ask for a static property is a call each time.
    /// The units of doubles, once a real was written.
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

    /// Creates a writer to a file descriptor, which stays the caller's to close.
    ///
    /// The memory used is `bufferByteCount`; a longer string is held whole before it is written.
    public init(descriptor: Int32, bufferByteCount: Int = 1 << 16, options: JSONWriterOptions = JSONWriterOptions()) {
        self.init(options: options, output: ByteOutput(descriptor: descriptor, bufferByteCount: bufferByteCount))
    }

    /// Creates a writer to an output, which ``giveBack(_:)`` returns.
    @usableFromInline
    init(options: JSONWriterOptions, taking output: inout ByteOutput) {
        self.init(options: options, output: ByteOutput(capacity: 0))
        swap(&self.output, &output)
    }

    /// Returns the output that the writer was created with.
    @usableFromInline
    mutating func giveBack(_ output: inout ByteOutput) { swap(&self.output, &output) }

    private init(options: JSONWriterOptions, output: consuming ByteOutput) {
        self.options = options
        self.output = output
        indent = if case .pretty(let indent) = options.layout { max(0, indent) } else { -1 }
        isPlainCompact = options.layout == .compact && !options.sortsKeys
    }

    /// Ends the text: checks that it is complete, and writes out what is in the buffer.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for an open container or a missing value,
    ///   ``/PlistStreaming/StreamError/Kind/cannotWrite`` when the descriptor refuses.
    public mutating func finish() throws(StreamError) {
        guard nesting.depth == 0 else { throw StreamError(.misuse, "finished with \(nesting.depth) open containers") }
        guard rootCount > 0 || options.allowsMultipleValues else {
            throw StreamError(.misuse, "finished without a value")
        }
        try output.flush()
    }

    /// Forgets what was written, so that the writer's memory serves the next text.
    public mutating func reset() {
        output.removeAll()
        output.isHolding = false
        nesting = NestingStack()
        next = .root
        rootCount = 0
        sorting = []
    }

    /// The text in memory so far; of a writer to a descriptor, the characters of which nothing was written out yet.
    public var text: String {
        // SAFETY: all that is appended is ASCII or was checked.
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
            try output.reserve(StringText.room(for: utf8.byteCount))
            let start = unsafe output.end
            let commaCount = unsafe storeComma(at: start)
            // SAFETY: room was reserved for the comma, the string, and a colon.
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
            // SAFETY: room was reserved for the comma and the bracket.
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

    // PERF: inlined into each message; in compact text a value costs one test and one check of room.
    /// Writes what comes before a value, refuses one that the grammar does not allow here, and makes room for it.
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

    /// Moves on behind a value that has begun.
    @inline(__always)
    mutating func endValue() {
        // PERF: JSONWriter/reals; what is plain is in a container, which is not asked for again.
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

    /// Writes what comes after a value at the root.
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

    /// Stores a comma where one is needed, and returns the number of bytes; room is reserved, nothing is counted.
    @unsafe @inline(__always)
    func storeComma(at address: UnsafeMutableRawPointer) -> Int {
        // PERF: always stored, and overwritten when it is not needed, instead of a branch.
        unsafe address.storeBytes(of: UInt8(ascii: ","), as: UInt8.self)
        return next.commaCount
    }

    // PERF: JSONWriter/reals, JSONWriter/records; one byte tells what four tests of the containers would.
    /// What may come next, and whether a comma goes before it.
    struct Next {
        // 1 for a comma, 2 for a key, 4 where more goes before it, or is to be checked.
        private let bits: UInt8

        private init(bits: UInt8) { self.bits = bits }

        /// The first key of a dictionary, or a value without a comma before it.
        init(isPlain: Bool, isKey: Bool = false) { bits = (isPlain ? 0 : 4) | (isKey ? 2 : 0) }

        /// A value at the root.
        static var root: Next { Next(bits: 4) }
        /// A value behind its key, with nothing before it.
        static var plainValue: Next { Next(bits: 0) }
        /// What follows a member in a dictionary, with nothing but a comma before it.
        static var plainMember: Next { Next(bits: 3) }

        /// A Boolean value that indicates whether a value is next in a container, and nothing goes before it but a comma.
        var isPlainValue: Bool { bits < 2 }
        /// A Boolean value that indicates whether a key is next, and nothing goes before it but a comma.
        var isPlainKey: Bool { bits | 1 == 3 }
        /// A Boolean value that indicates whether a key is next.
        var isKey: Bool { bits & 2 != 0 }
        /// The number of commas before what is next.
        var commaCount: Int { Int(truncatingIfNeeded: bits & 1) }

        /// What is next behind a value in a container.
        func afterValue(isInDictionary: Bool) -> Next { Next(bits: bits & 4 | (isInDictionary ? 3 : 1)) }
    }
    var nonFinitePolicy: JSONWriterOptions.NonFinite { options.nonFinite }
    var datePolicy: JSONWriterOptions.Dates { options.dates }
}
