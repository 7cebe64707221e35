// The sink that writes binary property lists: order of messages, containers, the offset table at the end.
// `BinaryPlistWriter+Values` writes values without children.

import PlistBuilding
public import PlistStreaming

/// A sink that writes a binary property list to memory, or to a file descriptor when the list is complete.
///
/// Repeated strings, data and keys are written once, as Foundation's writer does. Numbers and dates are also written
/// once if they are repeated soon: the writer remembers them in 1,024 slots. Integers take as few bytes as possible in
/// the sizes that Foundation reads; reals are doubles; text is ASCII or UTF-16. The same messages produce the same
/// bytes.
///
/// ```swift
/// var writer = BinaryPlistWriter()
/// try writer.write(["title": "write"])
/// try writer.finish()
/// writer.bytes  // bplist00…
/// ```
///
/// The length of references depends on the number of objects, which is known only at the end. So the writer holds
/// everything in memory until ``finish()``: the bytes, 16 bytes for each different value or container, 4 for each
/// element and 8 for each member.
///
/// Messages outside the grammar of `PlistSink` throw `misuse` before anything is written. Duplicate keys in a
/// dictionary throw an error.
@safe
public struct BinaryPlistWriter: PlistSink, ~Copyable {
    // SAFETY: this writer owns the memories and frees them; each index into them is checked.
    /// An object that was written or begun.
    struct Object {
        /// Its offset in the output; for a container, 0 until the end.
        var offset: Int
        /// For a key, the key that followed it the last time. After that, the last dictionary with the key, as number
        /// plus 1.
        var follower: UInt32 = 0
        var dictionary: UInt32 = 0
    }

    /// A container that is still open.
    private struct Container {
        var object: UInt32 = 0
        /// The index of its first reference.
        var start = 0
        var isDictionary = false
        /// The last key, or the dictionary itself before the first one.
        var lastKey: UInt32 = 0
    }

    /// The messages that may come next.
    private enum Next {
        case root, element, key, value, nothing
    }

    let options: BinaryPlistWriterOptions
    var output: ByteOutput
    // PERF: PropertyLists/items written; memory that grows without being copied, for half a dozen values a member.
    var objects = unsafe GrowingMemory<Object>()
    var shared = SharedObjects()
    var numbers = RecentNumbers()
    var boundKeys = BoundKeys()
    // PERF: PropertyLists/items written; the innermost container is outside the array, so that only containers access
    // the array.
    private var innermost = Container()
    /// The containers around the innermost one, the outermost first. The root has no container.
    private var outer: [Container] = []
    private var next = Next.root
    /// The number of the root's object.
    private var root: UInt32 = 0
    /// The references of the open containers; for a dictionary, keys and values alternate.
    private var references = unsafe GrowingMemory<UInt32>()
    /// For each complete container: its object, twice its count (plus one for a dictionary), and its references.
    private var containers = unsafe GrowingMemory<UInt32>()
    /// The received messages of a dictionary that may be a UID.
    private var uid = PendingUID.none
    /// A Boolean value that indicates whether the offset table was written.
    private var isFinished = false
    /// A Boolean value that indicates whether a key is so long that its repeated references may exceed the limits of
    /// readers for so few bytes.
    var hasLongKeys = false

    /// The start of a dictionary that may be a UID.
    private enum PendingUID {
        case none, key
        case number(UInt64)
    }

    /// Creates a writer to memory.
    public init(options: BinaryPlistWriterOptions = BinaryPlistWriterOptions()) {
        self.init(options: options, output: ByteOutput())
    }

    /// Creates a writer to a file descriptor. The writer writes nothing before the end, and the caller closes the
    /// descriptor.
    public init(descriptor: Int32, options: BinaryPlistWriterOptions = BinaryPlistWriterOptions()) {
        self.init(options: options, output: ByteOutput(descriptor: descriptor))
    }

    /// Creates a writer to an output, which ``returnOutput(_:)`` returns.
    init(options: BinaryPlistWriterOptions, taking output: inout ByteOutput) {
        self.init(options: options, output: ByteOutput(capacity: 0))
        output.isHolding = true
        swap(&self.output, &output)
    }

    /// Returns the output that the writer was created with.
    mutating func returnOutput(_ output: inout ByteOutput) {
        swap(&self.output, &output)
        output.isHolding = false
    }

    private init(options: BinaryPlistWriterOptions, output: consuming ByteOutput) {
        self.options = options
        self.output = output
        self.output.isHolding = true
    }

    deinit {
        unsafe objects.deallocate()
        unsafe references.deallocate()
        unsafe containers.deallocate()
    }

    /// Ends the list: writes the containers and the table, and, for a descriptor, writes all bytes to it.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for an open container or a missing value,
    ///   ``/PlistStreaming/StreamError/Kind/cannotWrite`` if writing to the descriptor fails; then `finish()` may be
    ///   called again.
    public mutating func finish() throws(StreamError) { try finish(for: nil) }

    /// Ends the list, unless a reader would refuse it because long keys are repeated too often for so few bytes.
    ///
    /// Unless values are shared, nothing else exceeds the limits of readers for each byte.
    /// - Parameter reader: The options of the reader, or nil to skip the check.
    /// - Throws: `limitExceeded` with the path of the first value beyond the limit, and the errors of ``finish()``.
    package mutating func finish(for reader: BinaryPlistReaderOptions?) throws(StreamError) {
        guard outer.isEmpty else { throw StreamError(.misuse, "finished with \(outer.count) open containers") }
        guard next == .nothing else { throw StreamError(.misuse, "finished without a value") }
        if !isFinished { try writeTable() }
        isFinished = true
        if let reader, hasLongKeys || options.sharedValueLimit > 0 {
            try output.withBytes { (bytes) throws(StreamError) in
                var sink = NullSink()
                try sink.readBinaryPlist(bytes, options: reader)
            }
        }
        output.isHolding = false
        try output.flush()
    }

    /// Discards the written list so that the next list can reuse the writer's memory.
    public mutating func reset() {
        output.removeAll()
        output.isHolding = true
        unsafe objects.removeLast(objects.count)
        shared.removeAll()
        numbers.removeAll()
        boundKeys.removeAll()
        outer.removeAll()
        unsafe references.removeLast(references.count)
        unsafe containers.removeLast(containers.count)
        next = .root
        uid = .none
        isFinished = false
        hasLongKeys = false
    }

    /// A copy of the bytes in memory: a complete property list only after ``finish()``.
    public var bytes: [UInt8] { output.bytes }

    /// Calls a closure with the bytes in memory.
    public func withBytes<Value, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try output.withBytes(body)
    }

    // MARK: Containers

    /// Begins an array.
    public mutating func beginArray() throws(StreamError) { try begin(isDictionary: false) }

    /// Ends an array.
    public mutating func endArray() throws(StreamError) {
        guard next == .element else { throw StreamError(.misuse, "got endArray without an open array") }
        try end()
    }

    /// Begins a dictionary.
    public mutating func beginDictionary() throws(StreamError) { try begin(isDictionary: true) }

    /// Ends a dictionary.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/duplicateKey`` if it has a key twice.
    public mutating func endDictionary() throws(StreamError) {
        if case .number(let number) = uid, next == .key { return try endUID(number) }
        try settleUID()
        guard next == .key else {
            throw StreamError(
                .misuse,
                next == .value
                    ? "expected the value of a key, got endDictionary" : "got endDictionary without an open dictionary")
        }
        try checkKeys()
        try end()
    }

    /// Names the value that follows in a dictionary.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        try beginKey()
        if options.writesUIDs, unsafe references.count == innermost.start, utf8.equals("\(PlistUID.key)") {
            uid = .key
            next = .value
            return
        }
        let lastKey = Int(truncatingIfNeeded: innermost.lastKey)
        // PERF: PropertyLists/binary; dictionaries of one kind have their keys in one order.
        var key = unsafe objects[lastKey].follower
        if !isKey(key, utf8) {
            key = try addString(utf8, isKey: true)
            unsafe objects[lastKey].follower = key
        }
        innermost.lastKey = key
        beginMember(key)
    }

    /// Throws if the grammar doesn't allow a key here.
    @inline(__always)  // PERF: as below.
    mutating func beginKey() throws(StreamError) {
        if case .none = uid {} else { try settleUID() }
        if next != .key { throw misplacedKey() }
    }

    private func misplacedKey() -> StreamError {
        StreamError(
            .misuse, next == .value ? "expected the value of a key, got writeKey" : "got writeKey outside a dictionary")
    }

    /// Puts the object of a key where a key is expected.
    @inline(__always)  // PERF: PropertyLists/items written; once a member, as below.
    mutating func beginMember(_ key: UInt32) {
        unsafe references.append(key)
        next = .value
    }

    private mutating func begin(isDictionary: Bool) throws(StreamError) {
        try beginValue()
        guard outer.count < options.depthLimit else {
            throw StreamError(.limitExceeded, "more than \(options.depthLimit) levels of nesting")
        }
        _ = try beginObject(reserving: 0)
        let object = try addObject(at: 0)
        endValue(object)
        outer.append(innermost)
        innermost = unsafe Container(
            object: object, start: references.count, isDictionary: isDictionary, lastKey: object)
        next = isDictionary ? .key : .element
    }

    /// Ends the innermost container, which must exist.
    private mutating func end() throws(StreamError) {
        let container = innermost
        let count = unsafe (references.count - container.start) / (container.isDictionary ? 2 : 1)
        // The count and a bit have 32 bits.
        guard count < 1 << 31 else { throw StreamError(.limitExceeded, "more than \(Int32.max) elements or members") }
        let added = unsafe UnsafeBufferPointer(rebasing: references.values[container.start...])
        unsafe containers.append(container.object)
        unsafe containers.append(UInt32(truncatingIfNeeded: 2 * count + (container.isDictionary ? 1 : 0)))
        unsafe containers.append(contentsOf: added)
        unsafe references.removeLast(added.count)
        leaveInnermost()
    }

    private mutating func leaveInnermost() {
        innermost = outer.removeLast()
        next = outer.isEmpty ? .nothing : innermost.isDictionary ? .key : .element
    }

    /// Throws if the innermost dictionary has a key twice; equal keys share one object.
    private mutating func checkKeys() throws(StreamError) {
        let container = innermost
        for index in unsafe stride(from: container.start, to: references.count, by: 2) {
            let key = unsafe Int(truncatingIfNeeded: references[index])
            guard unsafe objects[key].dictionary != container.object &+ 1 else { throw duplicateKey() }
            unsafe objects[key].dictionary = container.object &+ 1
        }
    }

    private func duplicateKey() -> StreamError { StreamError(.duplicateKey, "duplicate key in a dictionary") }

    // MARK: Values

    /// Throws if the grammar doesn't allow a value here.
    @inline(__always)  // PERF: PropertyLists/binary; once a value, as below.
    mutating func beginValue() throws(StreamError) {
        if case .none = uid {} else { try settleUID() }
        if next == .key || next == .nothing { throw misplaced() }
    }

    private func misplaced() -> StreamError {
        StreamError(
            .misuse, next == .key ? "expected writeKey or endDictionary, got a value" : "got a second root value")
    }

    /// Puts an object where a value is expected.
    @inline(__always)
    mutating func endValue(_ object: UInt32) {
        switch next {
        case .value:
            unsafe references.append(object)
            next = .key
        case .element: unsafe references.append(object)
        default:
            root = object
            next = .nothing
        }
    }

    /// Adds an object that is written at an offset.
    mutating func addObject(at offset: Int) throws(StreamError) -> UInt32 {
        // A reference and a number plus 1 have 32 bits.
        guard unsafe objects.count < Int(UInt32.max) - 1 else {
            throw StreamError(.limitExceeded, "more than \(UInt32.max - 1) objects")
        }
        unsafe objects.append(Object(offset: offset))
        return unsafe UInt32(truncatingIfNeeded: objects.count - 1)
    }

    // MARK: UIDs

    /// A Boolean value that indicates whether the next value may be the number of a UID.
    var isUIDBegun: Bool { if case .key = uid { true } else { false } }

    /// Takes the number of a possible UID; returns false if it can't be a UID.
    mutating func takeUID(_ number: UInt64) -> Bool {
        guard case .key = uid else { return false }
        uid = .number(number)
        next = .key
        return true
    }

    /// Writes the received messages of a dictionary that turned out not to be a UID.
    @inline(never)
    private mutating func settleUID() throws(StreamError) {
        let begun = uid
        if case .none = begun { return }
        uid = .none
        next = .key
        let key = try "\(PlistUID.key)".withUTF8Span { (text) throws(StreamError) in
            try addString(text, isKey: true)
        }
        innermost.lastKey = key
        unsafe references.append(key)
        next = .value
        if case .number(let number) = begun { endValue(try addUnsigned(number)) }
    }

    private mutating func endUID(_ number: UInt64) throws(StreamError) {
        uid = .none
        let offset = try addUID(number)
        unsafe objects[Int(innermost.object)].offset = offset
        leaveInnermost()
    }

    // MARK: Trailer

    /// Writes the containers, the table of offsets, and the trailer.
    private mutating func writeTable() throws(StreamError) {
        let referenceByteCount = unsafe Self.leastByteCount(of: objects.count - 1)
        let containers = unsafe containers.values
        var index = 0
        while index < containers.count {
            // SAFETY: the data of each container ends within the memory, which does not change here.
            let isDictionary = unsafe containers[index + 1] & 1 == 1
            let count = unsafe Int(containers[index + 1] >> 1)
            unsafe objects[Int(containers[index])].offset = output.count
            try writeMarker(isDictionary ? 0xD0 : 0xA0, count: count)
            let start = index + 2
            let step = isDictionary ? 2 : 1
            index = start + step * count
            for first in start..<start + step {
                try writeNumbers(count, byteCount: referenceByteCount) {
                    unsafe UInt64(containers[first &+ step &* $0])
                }
            }
        }
        let table = output.count
        let offsetByteCount = Self.leastByteCount(of: table)
        let objects = unsafe objects.values
        try writeNumbers(objects.count, byteCount: offsetByteCount) { unsafe UInt64(objects[$0].offset) }
        try write(0, byteCount: 6)
        try output.append(UInt8(offsetByteCount))
        try output.append(UInt8(referenceByteCount))
        for number in [objects.count, Int(root), table] { try write(UInt64(number), byteCount: 8) }
    }

    /// Returns the number of bytes for a number: a power of two.
    static func byteCount(of number: UInt64) -> Int {
        number < 1 << 8 ? 1 : number < 1 << 16 ? 2 : number < 1 << 32 ? 4 : 8
    }

    /// Returns the number of bytes that a reference or an offset needs.
    private static func leastByteCount(of number: Int) -> Int { max(1, (71 - number.leadingZeroBitCount) / 8) }

    /// Writes the low bytes of a number, the highest first.
    @inline(__always)
    mutating func write(_ number: UInt64, byteCount: Int) throws(StreamError) {
        try output.reserve(8)
        output.appendReserved(
            word: (number &<< UInt64(truncatingIfNeeded: 64 &- 8 &* byteCount)).byteSwapped, byteCount: byteCount)
    }

    /// Writes the low bytes of several numbers.
    @inline(__always)  // PERF: PropertyLists/items written; the capacity suffices for all of them.
    private mutating func writeNumbers(
        _ count: Int, byteCount: Int, _ number: (Int) -> UInt64
    ) throws(StreamError) {
        try output.reserve(count * byteCount + 8)
        var place = unsafe output.end
        let shift = UInt64(truncatingIfNeeded: 64 &- 8 &* byteCount)
        for index in 0..<count {
            // SAFETY: all eight bytes are within the reserved memory; the next number overwrites the low ones.
            unsafe place.storeBytes(of: (number(index) &<< shift).bigEndian, as: UInt64.self)
            unsafe place += byteCount
        }
        output.advance(by: count * byteCount)
    }

    /// Writes a type marker and a count.
    mutating func writeMarker(_ type: UInt8, count: Int) throws(StreamError) {
        if count < 15 { return try output.append(type | UInt8(truncatingIfNeeded: count)) }
        let byteCount = Self.byteCount(of: UInt64(count))
        try output.append(type | 15)
        try output.append(0x10 | UInt8(byteCount.trailingZeroBitCount))
        try write(UInt64(count), byteCount: byteCount)
    }
}
