// The tape that Codable decoders read: the values of a stream in order, each container before its contents. Closing a
// container moves no data, and unescaped text stays in the input.

import PlistBuilding
import PlistStreaming

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// One value: a tag, the number of its key in a dictionary, and eight bytes of value.
struct TapeNode: BitwiseCopyable {
    typealias Tag = PropertyListNode.Tag

    /// The value. For text, its position; for containers, the count and the index after the last value in it.
    var payload: UInt64
    /// The number of the key, for members of dictionaries.
    let key: UInt32
    /// The tag in the low byte, the length of text above it.
    private let info: UInt32

    /// The length that marks a text whose true length precedes it.
    static let longLength = 0xFF_FFFF
    /// The bit of a text position that marks text outside the input.
    static let elsewhere: UInt64 = 1 << 63

    @inline(__always)  // PERF: JSONTyped; once a value.
    init(_ tag: Tag, _ payload: UInt64, key: UInt32, length: Int = 0) {
        self.payload = payload
        self.key = key
        info = UInt32(tag.rawValue) | UInt32(truncatingIfNeeded: length) &<< 8
    }

    var tag: Tag { Tag(rawValue: UInt8(truncatingIfNeeded: info)) ?? .null }
    /// Returns whether the node has a tag; a comparison of bytes.
    @inline(__always)  // PERF: JSONTyped; once or twice a value.
    func has(_ tag: Tag) -> Bool { UInt8(truncatingIfNeeded: info) == tag.rawValue }
    var length: Int { Int(info >> 8) }
    var count: Int { Int(payload & 0xFFFF_FFFF) }
    var end: Int { Int(payload >> 32) }
    var isContainer: Bool { UInt8(truncatingIfNeeded: info) >= Tag.array.rawValue }

    /// Calls a closure with the text or data of the node.
    @unsafe @inline(__always)  // PERF: JSONTyped; once a string.
    func withBytes<Result>(
        input: UnsafeRawBufferPointer, elsewhere bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        let isElsewhere = payload & TapeNode.elsewhere != 0
        let text = unsafe isElsewhere ? bytes : input
        var start = Int(payload & ~TapeNode.elsewhere)
        var length = self.length
        if length == TapeNode.longLength {
            length = unsafe Int(UInt64(littleEndian: text.loadUnaligned(fromByteOffset: start, as: UInt64.self)))
            start += 8
        }
        // SAFETY: slicing checks the range; the pointer is used within the closure only.
        return try unsafe body(UnsafeRawBufferPointer(rebasing: text[start..<start + length]))
    }
}

// PERF: JSONTyped; messages are inlined into the witnesses that a reader calls, which saves a call each.
/// The sink into which every format reads `Decodable` values. It keeps the values of a stream until they are decoded.
///
/// Formats specialize their readers for this type; see `withSelf(as:_:)` of `PlistSink`.
@safe
public struct DecodingTape: PlistSink, ~Copyable {
    // PERF: JSONTyped; the tape manages its growing memory itself, with one comparison per value. SAFETY: `count` nodes
    // are initialized; the count doesn't exceed the capacity.
    private var memory = unsafe UnsafeMutablePointer<TapeNode>(bitPattern: MemoryLayout<TapeNode>.alignment)
        .unsafelyUnwrapped
    private var count = 0
    private var capacity = 0
    /// Text that isn't in the input.
    private(set) var bytes = unsafe GrowingMemory<UInt8>()
    // SAFETY: the creator guarantees that the memory is valid until decoding ends. If the text is needed later, it is
    // copied then.
    private(set) var input: UnsafeRawBufferPointer
    /// A Boolean value that indicates whether all text comes from a reader that has checked it to be UTF-8.
    let isChecked: Bool
    /// The information that the stream provides about the types of its values.
    let types: ValueTypes
    /// A Boolean value that indicates whether reals are the nearest doubles to a text that may have more digits.
    let hasRoundedReals: Bool
    /// A Boolean value that indicates whether the root must be an array.
    private let expectsArray: Bool
    private(set) var keys = TapeKeys()
    // PERF: JSONTyped/catalogue; a stack whose top changes in place, because copying data that was just written stalls.
    private var open = UnsafeMutablePointer<OpenContainer>.allocate(capacity: 16)
    private var openCapacity = 16
    private var depth = 0
    /// The innermost open container, or the state outside the root.
    private var top: UnsafeMutablePointer<OpenContainer>
    /// The number of the key of the next value.
    private var key: UInt32 = 0
    /// The dictionaries that contain a key twice.
    private var repeating: Set<Int> = []

    /// An open container.
    private struct OpenContainer: BitwiseCopyable {
        var node: UInt32 = 0
        var count: UInt32 = 0
        /// The state of the previous key; at the start of a container, of the container's key.
        var lastKey: UInt32 = 0
        var isDictionary = false
        var isAtStart = true
        /// Nonzero if two keys may be equal.
        var repeats: UInt64 = 0
        /// A bit for each key of the dictionary so far, in one of two words.
        var seen: (UInt64, UInt64) = (0, 0)
    }

    /// Creates a tape for text from any source. The text is outside the input and is copied.
    init(types: ValueTypes = .marked, hasRoundedReals: Bool = false, expectsArray: Bool = false) {
        unsafe self.init(
            input: UnsafeRawBufferPointer(start: nil, count: 0), isChecked: false, types,
            hasRoundedReals: hasRoundedReals, expectsArray: expectsArray)
    }

    /// Creates a tape for values of a format.
    init(for format: some StreamFormat, expectsArray: Bool = false) {
        self.init(types: format.valueTypes, hasRoundedReals: format.isText, expectsArray: expectsArray)
    }

    /// Returns an empty tape for values of the same format.
    func emptied() -> DecodingTape { DecodingTape(types: types, hasRoundedReals: hasRoundedReals) }

    /// Creates a tape for a reader that sends only UTF-8, and for text in the given bytes, which must stay in place
    /// until decoding ends.
    @unsafe
    package init(input: UnsafeRawBufferPointer) {
        unsafe self.init(input: input, isChecked: true, .marked, hasRoundedReals: false, expectsArray: false)
    }

    @unsafe
    private init(
        input: UnsafeRawBufferPointer, isChecked: Bool, _ types: ValueTypes, hasRoundedReals: Bool, expectsArray: Bool
    ) {
        unsafe self.input = input
        self.isChecked = isChecked
        self.types = types
        self.hasRoundedReals = hasRoundedReals
        self.expectsArray = expectsArray
        unsafe open.initialize(to: OpenContainer())
        unsafe top = open
        reserveForInput()
    }

    private mutating func reserveForInput() {
        // Unused memory is never accessed.
        let wanted = unsafe max(64, min(input.count / 12, Self.largestCount))
        if capacity < wanted { reserve(wanted) }
    }

    /// Discards the values but keeps their keys and the memory, for text in a new input.
    mutating func begin(input: UnsafeRawBufferPointer) {
        unsafe self.input = unsafe input
        (count, depth, key, repeating) = (0, 0, 0, [])
        unsafe bytes.removeLast(bytes.count)
        unsafe open.initialize(to: OpenContainer())
        unsafe top = open
        reserveForInput()
    }

    /// A Boolean value that indicates whether the tape uses little memory and has few keys.
    var isSmall: Bool {
        unsafe capacity <= 2_048 && bytes.capacity <= 1 << 14 && openCapacity <= 64 && repeating.isEmpty && keys.isSmall
    }

    deinit {
        unsafe free(memory)
        unsafe bytes.deallocate()
        unsafe open.deallocate()
    }

    /// The nodes; valid until the next change.
    var nodes: UnsafeBufferPointer<TapeNode> { unsafe UnsafeBufferPointer(start: memory, count: count) }

    private static let largestCount = Int(UInt32.max) - 1

    /// An array at the root if one is expected, otherwise any value.
    public static var memoryPort: MemoryPort? {
        // SAFETY: the function takes the address of a sink of this type, which is valid during the call.
        unsafe MemoryPort(expectationsOf: Self.self) { sink in
            let tape = unsafe sink.assumingMemoryBound(to: Self.self)
            return ExpectedValue(unsafe tape.pointee.count == 0 && tape.pointee.expectsArray ? .array : .any)
        }
    }

    // MARK: Containers

    /// Opens an array.
    @inline(__always)  // PERF: see the type.
    public mutating func beginArray() throws(StreamError) { try begin(.array) }

    /// Opens a dictionary.
    @inline(__always)  // PERF: see the type.
    public mutating func beginDictionary() throws(StreamError) { try begin(.dictionary) }

    /// Closes an array.
    @inline(__always)  // PERF: see the type.
    public mutating func endArray() throws(StreamError) {
        guard unsafe depth > 0 && !top.pointee.isDictionary else { throw Self.unexpectedEnd() }
        end()
    }

    /// Closes a dictionary.
    @inline(__always)  // PERF: see the type.
    public mutating func endDictionary() throws(StreamError) {
        guard unsafe depth > 0 && top.pointee.isDictionary else { throw Self.unexpectedEnd() }
        if unsafe top.pointee.repeats != 0 { noteRepeatedKeys() }
        end()
    }

    /// Keeps the key of the value that follows.
    @inline(__always)  // PERF: see the type.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        let top = unsafe self.top
        let (last, isFirst) = unsafe (top.pointee.lastKey, top.pointee.isAtStart)
        var state = keys.expected(utf8, after: last, isFirst: isFirst)
        if state == 0 { state = keys.state(of: utf8, after: last, isFirst: isFirst) }
        let number = keys.key(of: state)
        unsafe top.pointee.isAtStart = false
        unsafe top.pointee.lastKey = state
        key = number
        // PERF: JSONTyped; one bit of two words clears nearly every dictionary without duplicate keys.
        let shift = UInt64(number & 63)
        let isLow = number & 64 == 0
        let seen = unsafe isLow ? top.pointee.seen.0 : top.pointee.seen.1
        unsafe top.pointee.repeats |= seen &>> shift & 1
        if isLow {
            unsafe top.pointee.seen.0 = seen | 1 &<< shift
        } else {
            unsafe top.pointee.seen.1 = seen | 1 &<< shift
        }
    }

    @inline(__always)  // PERF: see above.
    private mutating func begin(_ tag: TapeNode.Tag) throws(StreamError) {
        let index = count
        try append(tag, 0)
        let lastKey = unsafe top.pointee.lastKey
        depth &+= 1
        if depth == openCapacity { growStack() }
        // The first key is probably the first key of another container at the same place.
        unsafe top = unsafe open + depth
        unsafe top.initialize(
            to: OpenContainer(
                node: UInt32(truncatingIfNeeded: index), lastKey: lastKey, isDictionary: tag == .dictionary))
    }

    @inline(never)
    private mutating func growStack() {
        let larger = UnsafeMutablePointer<OpenContainer>.allocate(capacity: 2 * openCapacity)
        unsafe larger.moveInitialize(from: open, count: openCapacity)
        unsafe open.deallocate()
        unsafe open = unsafe larger
        openCapacity *= 2
    }

    @inline(__always)  // PERF: see above.
    private mutating func end() {
        let payload = unsafe UInt64(count) &<< 32 | UInt64(top.pointee.count)
        // SAFETY: the node was appended at the beginning of the container.
        unsafe memory[Int(top.pointee.node)].payload = payload
        depth &-= 1
        unsafe top = unsafe open + depth
    }

    /// Notes a dictionary that contains a key twice.
    @inline(never)
    private mutating func noteRepeatedKeys() {
        let container = unsafe Int(top.pointee.node)
        keys.beginDictionary()
        var member = container + 1
        while member < count {
            let node = unsafe memory[member]
            guard keys.isFirstInDictionary(node.key) else {
                repeating.insert(container)
                return
            }
            member = node.isContainer ? node.end : member + 1
        }
    }

    /// Keeps only the last value of each duplicate key in a dictionary, at the position of the first. Call it after all
    /// values.
    ///
    /// - Complexity: O(*n*) in the values, if there is a duplicate key.
    mutating func removeRepeatedKeys() {
        guard !repeating.isEmpty, depth == 0 else { return }
        var kept = unsafe GrowingMemory<TapeNode>()
        var open: [(container: Int, members: ArraySlice<Int>?, next: Int, end: Int, count: Int)] = []
        var index = DecodingContext.root
        while true {
            let node = unsafe memory[index]
            if node.isContainer {
                let members = repeating.contains(index) ? keptMembers(from: index + 1, to: node.end)[...] : nil
                open.append((unsafe kept.count, members, index + 1, node.end, 0))
            }
            unsafe kept.append(node)
            // Next comes the next member of the innermost container that has one.
            while var last = open.popLast() {
                let next = last.members == nil ? (last.next < last.end ? last.next : nil) : last.members?.popFirst()
                guard let next else {
                    let payload = unsafe UInt64(kept.count) << 32 | UInt64(last.count)
                    unsafe kept[last.container].payload = payload
                    continue
                }
                let node = unsafe memory[next]
                last.next = node.isContainer ? node.end : next + 1
                last.count += 1
                open.append(last)
                index = next
                break
            }
            if open.isEmpty { break }
        }
        // SAFETY: the number of nodes doesn't grow.
        for index in unsafe 0..<kept.count { unsafe memory[index] = unsafe kept[index] }
        count = unsafe kept.count
        unsafe kept.deallocate()
        repeating = []
    }

    private func keptMembers(from first: Int, to end: Int) -> [Int] {
        var members = KeptMembers<Int>()
        var index = first
        while index < end {
            let node = unsafe memory[index]
            members.add(index, key: node.key)
            index = node.isContainer ? node.end : index + 1
        }
        return members.members
    }

    // MARK: Scalars

    /// Keeps a null.
    @inline(__always)  // PERF: see the type.
    public mutating func writeNull() throws(StreamError) { try append(.null, 0) }
    /// Keeps a Boolean.
    @inline(__always)  // PERF: see the type.
    public mutating func writeBool(_ value: Bool) throws(StreamError) { try append(value ? .yes : .no, 0) }
    /// Keeps an integer.
    @inline(__always)  // PERF: see the type.
    public mutating func writeInteger(_ value: Int64) throws(StreamError) {
        try append(.integer, UInt64(bitPattern: value))
    }
    /// Keeps an unsigned integer.
    @inline(__always)  // PERF: see the type.
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        try append(value > UInt64(Int64.max) ? .unsigned : .integer, value)
    }
    /// Keeps a floating-point number.
    @inline(__always)  // PERF: see the type.
    public mutating func writeReal(_ value: Double) throws(StreamError) { try append(.real, value.bitPattern) }
    /// Keeps a date.
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try append(.date, seconds.bitPattern)
    }
    /// Keeps a number that neither integers nor reals hold.
    public mutating func writeNumber(text: RawSpan) throws(StreamError) { try append(.number, text) }
    /// Keeps a string.
    @inline(__always)  // PERF: see the type.
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) { try append(.string, utf8) }
    /// Keeps data.
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) { try append(.data, bytes) }

    @inline(__always)  // PERF: JSONTyped; once a value.
    private mutating func append(_ tag: TapeNode.Tag, _ payload: UInt64, length: Int = 0) throws(StreamError) {
        if depth == 0, count > 0 { throw Self.secondValue() }
        if count == capacity { try grow() }
        // SAFETY: the memory has capacity beyond the count.
        unsafe (memory + count).initialize(to: TapeNode(tag, payload, key: key, length: length))
        count &+= 1
        unsafe top.pointee.count &+= 1
    }

    @inline(never)
    private mutating func grow() throws(StreamError) {
        guard capacity < Self.largestCount else { throw Self.tooMany() }
        reserve(min(max(2 * capacity, 64), Self.largestCount))
    }

    /// Reserves memory for the given number of values; `realloc` moves large areas without copying them.
    private mutating func reserve(_ number: Int) {
        let larger = unsafe realloc(capacity == 0 ? nil : memory, number * MemoryLayout<TapeNode>.stride)
        guard let larger = unsafe larger else { preconditionFailure("out of memory") }
        unsafe memory = larger.bindMemory(to: TapeNode.self, capacity: number)
        capacity = number
    }

    @inline(__always)  // PERF: see above.
    private mutating func append(_ tag: TapeNode.Tag, _ text: RawSpan) throws(StreamError) {
        try append(tag, place(of: text), length: min(text.byteCount, TapeNode.longLength))
    }

    /// Returns the position of a text: its offset in the input, or in the bytes that it is copied to.
    @inline(__always)  // PERF: see above.
    private mutating func place(of text: RawSpan) -> UInt64 {
        // SAFETY: addresses are compared as numbers.
        let (start, count) = unsafe text.withUnsafeBytes { (UInt(bitPattern: $0.baseAddress), $0.count) }
        let offset = unsafe start &- UInt(bitPattern: input.baseAddress)
        if unsafe offset < UInt(input.count), count < TapeNode.longLength { return UInt64(offset) }
        return copy(text)
    }

    @inline(never)
    private mutating func copy(_ text: RawSpan) -> UInt64 {
        let place = unsafe UInt64(bytes.count)
        // SAFETY: the pointers do not leave the closures.
        if text.byteCount >= TapeNode.longLength {
            unsafe withUnsafeBytes(of: UInt64(text.byteCount).littleEndian) {
                unsafe bytes.append(contentsOf: $0.bindMemory(to: UInt8.self))
            }
        }
        unsafe text.withUnsafeBytes { unsafe bytes.append(contentsOf: $0.bindMemory(to: UInt8.self)) }
        return place | TapeNode.elsewhere
    }

    @inline(never)
    private static func unexpectedEnd() -> StreamError {
        StreamError(.misuse, "got the end of a container that is not open")
    }

    @inline(never)
    private static func secondValue() -> StreamError { StreamError(.misuse, "expected one value, found another") }

    @inline(never)
    private static func tooMany() -> StreamError { StreamError(.limitExceeded, "more than 4,294,967,294 values") }
}
