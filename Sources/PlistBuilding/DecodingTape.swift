// What a decoder of Codable reads: the values of a stream in their order, each container before what is in it. Nothing is
// moved when a container closes, and text stays in the input where that is whole.

import PlistStreaming

/// One value: a tag, the number of its key in a dictionary, and eight bytes of value.
struct TapeNode: BitwiseCopyable {
    typealias Tag = PropertyListNode.Tag

    /// The value; for text where it is; for containers the index behind the last value in it, and the count.
    let payload: UInt64
    /// The number of the key, for members of dictionaries.
    let key: UInt32
    /// The tag in the low byte, the length of text above it.
    private let info: UInt32

    /// The length that says that the true one precedes the text.
    static let longLength = 0xFF_FFFF
    /// The bit of where text is that says that it is not in the input.
    static let elsewhere: UInt64 = 1 << 63

    @inline(__always)  // PERF: JSONTyped; once a value.
    init(_ tag: Tag, _ payload: UInt64, key: UInt32, length: Int = 0) {
        self.payload = payload
        self.key = key
        info = UInt32(tag.rawValue) | UInt32(truncatingIfNeeded: length) &<< 8
    }

    var tag: Tag { Tag(rawValue: UInt8(truncatingIfNeeded: info)) ?? .null }
    var length: Int { Int(info >> 8) }
    var count: Int { Int(payload & 0xFFFF_FFFF) }
    var end: Int { Int(payload >> 32) }
    var isContainer: Bool { UInt8(truncatingIfNeeded: info) >= Tag.array.rawValue }

    /// The node where it moves with what is in it.
    func moved(by distance: Int) -> TapeNode {
        isContainer
            ? TapeNode(tag, payload &+ UInt64(bitPattern: Int64(distance)) &<< 32, key: key) : self
    }
}

/// A sink that keeps the values of a stream for decoding them.
@safe
package struct DecodingTape: PlistSink, ~Copyable {
    private(set) var nodes = unsafe GrowingMemory<TapeNode>()
    /// Text that is not in the input.
    private(set) var bytes = unsafe GrowingMemory<UInt8>()
    // SAFETY: the creator promises that the memory stays until the decoding ends, when it is copied if anyone needs it.
    let input: UnsafeRawBufferPointer
    private(set) var keys = TapeKeys()
    // PERF: JSONTyped/catalogue; a stack of which the top changes in place, since copies of what was just written stall.
    private var open = UnsafeMutablePointer<OpenContainer>.allocate(capacity: 16)
    private var openCapacity = 16
    private var depth = 0
    /// The number of the key of the value to come.
    private var key: UInt32 = 0

    /// The container that is being filled.
    private struct OpenContainer: BitwiseCopyable {
        var node: UInt32 = 0
        var count: UInt32 = 0
        /// The state of the key before, or at the start of the key of the container.
        var lastKey: UInt32 = 0
        var isDictionary = false
        var isAtStart = true
        /// Whether two keys may be the same.
        var isSuspicious = false
        /// The bits of the keys of the dictionary so far.
        var seen: (UInt64, UInt64) = (0, 0)
    }

    /// Makes a tape for text that lies somewhere else and is copied.
    init() { unsafe self.init(input: UnsafeRawBufferPointer(start: nil, count: 0)) }

    /// Makes a tape for the text in the bytes, which stay where they are until the decoding ends.
    @unsafe
    package init(input: UnsafeRawBufferPointer) {
        unsafe self.input = input
        unsafe open.initialize(to: OpenContainer())
        // Memory that is not used is not touched either.
        unsafe nodes.reserve(input.count / 32)
    }

    deinit {
        unsafe nodes.deallocate()
        unsafe bytes.deallocate()
        unsafe open.deallocate()
    }

    /// The container that is being filled, or what is around the root.
    private var current: OpenContainer {
        // SAFETY: there are as many initialized entries as the depth, and one more.
        @inline(__always) unsafeAddress { unsafe UnsafePointer(open + depth) }
        @inline(__always) unsafeMutableAddress { unsafe open + depth }
    }

    // MARK: Containers

    package mutating func beginArray() throws(StreamError) { try begin(isDictionary: false) }

    package mutating func beginDictionary() throws(StreamError) { try begin(isDictionary: true) }

    package mutating func endArray() throws(StreamError) { try end(.array) }

    package mutating func endDictionary() throws(StreamError) {
        if current.isSuspicious, hasRepeatedKeys() { removeRepeatedKeys() }
        try end(.dictionary)
    }

    package mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        var state = keys.expected(utf8, after: current.lastKey, isFirst: current.isAtStart)
        if state == 0 { state = keys.state(of: utf8, after: current.lastKey, isFirst: current.isAtStart) }
        let number = keys.key(of: state)
        current.isAtStart = false
        current.lastKey = state
        key = number
        // PERF: JSONTyped; two words of bits find nearly every dictionary in which no key comes twice.
        let bit = 1 &<< UInt64(number & 63)
        if number < 64 {
            if current.seen.0 & bit != 0 { current.isSuspicious = true }
            current.seen.0 |= bit
        } else {
            if current.seen.1 & bit != 0 { current.isSuspicious = true }
            current.seen.1 |= bit
        }
    }

    private mutating func begin(isDictionary: Bool) throws(StreamError) {
        let index = unsafe nodes.count
        try append(.null, 0)
        let lastKey = current.lastKey
        depth &+= 1
        if depth == openCapacity { growStack() }
        // The first key is expected to be one that came first in another container at the same place.
        unsafe (open + depth).initialize(
            to: OpenContainer(node: UInt32(truncatingIfNeeded: index), lastKey: lastKey, isDictionary: isDictionary))
    }

    @inline(never)
    private mutating func growStack() {
        let larger = UnsafeMutablePointer<OpenContainer>.allocate(capacity: 2 * openCapacity)
        unsafe larger.moveInitialize(from: open, count: openCapacity)
        unsafe open.deallocate()
        unsafe open = unsafe larger
        openCapacity *= 2
    }

    private mutating func end(_ tag: TapeNode.Tag) throws(StreamError) {
        guard depth > 0, current.isDictionary == (tag == .dictionary) else { throw Self.unexpectedEnd() }
        let payload = unsafe UInt64(nodes.count) &<< 32 | UInt64(current.count)
        let index = Int(current.node)
        let key = unsafe nodes[index].key
        unsafe nodes[index] = TapeNode(tag, payload, key: key)
        depth &-= 1
    }

    /// Whether keys of the current dictionary come twice.
    @inline(never)
    private mutating func hasRepeatedKeys() -> Bool {
        keys.beginDictionary()
        var index = Int(current.node) + 1
        while unsafe index < nodes.count {
            let node = unsafe nodes[index]
            if !keys.isFirstInDictionary(node.key) { return true }
            index = node.isContainer ? node.end : index + 1
        }
        return false
    }

    /// Leaves the last value of each key that came twice, at the place of the first.
    @inline(never)
    private mutating func removeRepeatedKeys() {
        let first = Int(current.node) + 1
        var places: [UInt32: Int] = [:]
        var members: [Range<Int>] = []
        var index = first
        while unsafe index < nodes.count {
            let node = unsafe nodes[index]
            let member = index..<(node.isContainer ? node.end : index + 1)
            if let place = places[node.key] {
                members[place] = member
            } else {
                places[node.key] = members.count
                members.append(member)
            }
            index = member.upperBound
        }
        var kept: [TapeNode] = []
        for member in members {
            let distance = first + kept.count - member.lowerBound
            for index in member { kept.append(unsafe nodes[index].moved(by: distance)) }
        }
        unsafe nodes.removeLast(nodes.count - first)
        for node in kept { unsafe nodes.append(node) }
        current.count = UInt32(truncatingIfNeeded: members.count)
    }

    // MARK: Scalars

    package mutating func writeNull() throws(StreamError) { try append(.null, 0) }
    package mutating func writeBool(_ value: Bool) throws(StreamError) { try append(value ? .yes : .no, 0) }
    package mutating func writeInteger(_ value: Int64) throws(StreamError) {
        try append(.integer, UInt64(bitPattern: value))
    }
    package mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        try append(value > UInt64(Int64.max) ? .unsigned : .integer, value)
    }
    package mutating func writeReal(_ value: Double) throws(StreamError) { try append(.real, value.bitPattern) }
    package mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try append(.date, seconds.bitPattern)
    }
    package mutating func writeNumber(text: RawSpan) throws(StreamError) { try append(.number, text) }
    package mutating func writeString(_ utf8: RawSpan) throws(StreamError) { try append(.string, utf8) }
    package mutating func writeData(_ bytes: RawSpan) throws(StreamError) { try append(.data, bytes) }

    @inline(__always)  // PERF: JSONTyped; once a value.
    private mutating func append(_ tag: TapeNode.Tag, _ payload: UInt64, length: Int = 0) throws(StreamError) {
        if depth == 0, current.count > 0 { throw Self.secondValue() }
        guard unsafe nodes.count < Int(UInt32.max) else { throw Self.tooMany() }
        unsafe nodes.append(TapeNode(tag, payload, key: key, length: length))
        current.count &+= 1
    }

    @inline(__always)  // PERF: see above.
    private mutating func append(_ tag: TapeNode.Tag, _ text: RawSpan) throws(StreamError) {
        try append(tag, place(of: text), length: min(text.byteCount, TapeNode.longLength))
    }

    /// Where a text is: its offset in the input, or in the bytes to which it is copied.
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
    private static func unexpectedEnd() -> StreamError { StreamError(.misuse, "got the end of no open container") }

    @inline(never)
    private static func secondValue() -> StreamError { StreamError(.misuse, "expected one value, found another") }

    @inline(never)
    private static func tooMany() -> StreamError { StreamError(.limitExceeded, "more than 4,294,967,294 values") }
}
