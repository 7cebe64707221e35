// The output of writers: growing memory, or a descriptor with a buffer of limited size.

import StreamingSystem

/// A growing block of bytes, or a buffer of limited size for a file descriptor.
///
/// Writers append bytes to it. With a descriptor, it writes the bytes to the descriptor when its capacity is reached.
@safe
public struct ByteOutput: ~Copyable {
    // SAFETY: `start` has `capacity` bytes, and `count` of them are initialized. It is valid until `deinit`. Without capacity
    // it is an address that is never accessed.
    @usableFromInline var start: UnsafeMutableRawPointer
    @usableFromInline var capacity: Int
    @usableFromInline var used: Int = 0
    /// The number of bytes in memory.
    public var count: Int { used }
    /// A Boolean value that indicates whether bytes stay in memory even when the buffer is full.
    package var isHolding: Bool = false
    private let descriptor: Int32?
    private let bound: Int

    /// The capacity for small documents: the size of blocks that `malloc` allocates fastest.
    package static var smallCapacity: Int { 1_000 }

    /// Creates an output that keeps everything in memory.
    ///
    /// - Parameter capacity: The number of bytes to reserve; with 0, nothing is allocated before the first byte.
    public init(capacity: Int = 4096) {
        self.init(descriptor: nil, capacity: capacity)
    }

    /// Creates an output that writes to a descriptor, which the caller closes.
    ///
    /// The buffer is written to the descriptor when it has `bufferByteCount` bytes.
    public init(descriptor: Int32, bufferByteCount: Int = 1 << 16) {
        self.init(descriptor: .some(descriptor), capacity: max(64, bufferByteCount))
    }

    private init(descriptor: Int32?, capacity: Int) {
        self.descriptor = descriptor
        self.capacity = max(0, capacity)
        bound = self.capacity
        unsafe start = self.capacity > 0 ? Self.allocate(self.capacity) : Self.nowhere
    }

    deinit {
        if capacity > 0 { unsafe free(start) }
    }

    /// The address of an output without capacity.
    private static var nowhere: UnsafeMutableRawPointer {
        // SAFETY: no byte is stored at or loaded from this address.
        unsafe UnsafeMutableRawPointer(bitPattern: 64).unsafelyUnwrapped
    }

    /// Appends bytes.
    ///
    /// - Throws: ``StreamError/Kind/cannotWrite`` if the descriptor refuses.
    public mutating func append(_ bytes: RawSpan) throws(StreamError) {
        try reserve(bytes.byteCount)
        appendReserved(bytes)
    }

    /// Appends one byte.
    ///
    /// - Throws: ``StreamError/Kind/cannotWrite`` if the descriptor refuses.
    @inlinable
    public mutating func append(_ byte: UInt8) throws(StreamError) {
        try reserve(1)
        appendReserved(byte)
    }

    /// Reserves memory, so that this many bytes can be appended with the `appendReserved` functions.
    ///
    /// - Throws: ``StreamError/Kind/cannotWrite`` if the descriptor refuses, ``StreamError/Kind/limitExceeded`` if there is
    ///   not enough memory.
    @inlinable @inline(__always)
    public mutating func reserve(_ byteCount: Int) throws(StreamError) {
        // PERF: the only check before a writer stores a whole message; always inlined with the stores below.
        if capacity &- used < byteCount { try flushOrGrow(byteCount) }
    }

    /// Appends a byte to reserved memory.
    @inlinable @inline(__always)
    public mutating func appendReserved(_ byte: UInt8) {
        precondition(used < capacity, "append without reserve")
        // SAFETY: checked on the line above.
        unsafe start.storeBytes(of: byte, toByteOffset: used, as: UInt8.self)
        used &+= 1
    }

    /// Appends bytes to reserved memory.
    public mutating func appendReserved(_ bytes: RawSpan) {
        let byteCount = bytes.byteCount
        precondition(byteCount <= capacity - count, "append without reserve")
        // SAFETY: checked on the line above; a span never overlaps memory that this type alone owns.
        unsafe bytes.withUnsafeBytes { source in
            if let address = source.baseAddress {
                unsafe (start + count).copyMemory(from: address, byteCount: byteCount)
            }
        }
        used &+= byteCount
    }

    /// Appends the low bytes of a word, the lowest first; eight bytes must be reserved.
    @inlinable @inline(__always)
    public mutating func appendReserved(word: UInt64, byteCount: Int) {
        precondition(capacity &- used >= 8 && byteCount >= 0 && byteCount <= 8, "append without reserve")
        // SAFETY: checked on the line above.
        unsafe start.storeBytes(of: word.littleEndian, toByteOffset: used, as: UInt64.self)
        used &+= byteCount
    }

    // PERF: JSONWriter/reals; one check for a whole value instead of one for each of its pieces.
    /// The address after the bytes in memory. You may store as many bytes there as were reserved.
    @inlinable @inline(__always)
    package var end: UnsafeMutableRawPointer { unsafe start + used }

    /// Counts bytes stored at `end`.
    @inlinable @inline(__always)
    package mutating func advance(by byteCount: Int) {
        // As an unsigned number, a negative count exceeds any capacity.
        precondition(UInt(bitPattern: byteCount) <= UInt(bitPattern: capacity &- used), "advance without reserve")
        used &+= byteCount
    }

    @usableFromInline @inline(never)
    mutating func flushOrGrow(_ byteCount: Int) throws(StreamError) {
        try flush()
        guard capacity - count < byteCount else { return }
        // No machine has more memory, and the sums below can't overflow.
        guard byteCount < 1 << 48 - count else { throw Self.noMemory(byteCount) }
        // `realloc` moves large blocks by their pages, without copying them and without new pages to clear.
        let larger = Self.capacity(from: capacity, needed: count + byteCount)
        // SAFETY: the block came from `malloc`, and is this type's alone; its first `count` bytes are kept.
        guard let memory = unsafe realloc(capacity > 0 ? start : nil, larger) else { throw Self.noMemory(byteCount) }
        unsafe start = memory
        capacity = larger
        // PERF: JSONRecords/writing; only touched pages use memory, so large blocks are allocated at a time.
        unsafe LargePages.use(start, capacity)
    }

    private static func noMemory(_ byteCount: Int) -> StreamError {
        StreamError(.limitExceeded, "not enough memory for \(byteCount) more bytes")
    }

    /// Returns the capacity after growing: twice the current capacity, rounded up to whole large pages for large blocks.
    private static func capacity(from capacity: Int, needed: Int) -> Int {
        let larger = max(64, capacity * 2, needed)
        guard larger >= LargePages.byteCount / 2 else { return larger }
        return LargePages.capacity(for: max(larger, 3 * LargePages.byteCount))
    }

    private static func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer {
        guard let memory = unsafe malloc(byteCount) else { preconditionFailure("out of memory") }
        return unsafe memory
    }

    /// Writes the bytes in memory to the descriptor. Without a descriptor, and while holding, does nothing.
    ///
    /// After an error the unwritten bytes are still in memory, so that you can try again.
    /// - Throws: ``StreamError/Kind/cannotWrite`` if the descriptor refuses.
    public mutating func flush() throws(StreamError) {
        guard let descriptor, !isHolding else { return }
        var written = 0
        while written < count {
            // SAFETY: the bytes from `written` to `count` are initialized.
            let result = unsafe write(descriptor, start + written, count - written)
            if result < 0 {
                let number = errno
                if number == EINTR { continue }
                // SAFETY: the bytes from `written` to `count` are initialized, and moved within the memory.
                unsafe start.copyMemory(from: start + written, byteCount: count - written)
                used -= written
                throw StreamError(.cannotWrite, "cannot write: \(Self.systemMessage(number))")
            }
            written += result
        }
        used = 0
        if capacity > 2 * bound { shrink() }
    }

    private mutating func shrink() {
        unsafe free(start)
        capacity = bound
        unsafe start = Self.allocate(bound)
    }

    /// Removes the bytes in memory and keeps the capacity.
    public mutating func removeAll() {
        used = 0
    }

    /// Removes all bytes in memory after an offset.
    package mutating func truncate(to newCount: Int) {
        precondition(newCount >= 0 && newCount <= count, "truncate beyond the end")
        used = newCount
    }

    /// Calls a closure with the bytes in memory.
    public func withBytes<Value, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        // SAFETY: the first `count` bytes are initialized, and the span does not leave the closure.
        try body(unsafe UnsafeRawBufferPointer(start: start, count: count).bytes)
    }

    /// Transfers the memory, without unused capacity, to the caller. The output is empty afterwards.
    ///
    /// - Returns: A block of `malloc` with all bytes, or nil without bytes. The caller frees it.
    @unsafe
    package mutating func takeMemory() -> UnsafeMutableRawBufferPointer? {
        guard count > 0 else { return nil }
        // SAFETY: the block came from `malloc`, and is this type's alone; its first `count` bytes are kept.
        let memory = unsafe UnsafeMutableRawBufferPointer(start: realloc(start, count) ?? start, count: count)
        (used, capacity) = (0, 0)
        unsafe start = Self.nowhere
        return unsafe memory
    }

    /// A copy of the bytes in memory.
    package var bytes: [UInt8] { withBytes { bytes in Array(copying: bytes) } }

    /// The text in memory, which must be UTF-8. It begins with the first character that is completely in memory.
    @unsafe package var text: String {
        withBytes { bytes in
            // SAFETY: the bytes do not leave the closure. The caller has appended UTF-8, and a descriptor may have accepted a
            // part of a character.
            unsafe bytes.withUnsafeBytes { bytes in
                let rest = unsafe bytes.prefix(3).prefix { $0 & 0xC0 == 0x80 }.count
                return unsafe CheckedText.string(UnsafeRawBufferPointer(rebasing: bytes[rest...]))
            }
        }
    }

    /// Returns the system's message for an error number.
    package static func systemMessage(_ number: Int32) -> String {
        // SAFETY: the text is copied before any other call.
        unsafe String(cString: strerror(number))
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum ByteOutputTests {}

extension ByteOutputTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testGrowsInMemory": testGrowsInMemory,
            "testThrowsIfMemoryIsExhausted": testThrowsIfMemoryIsExhausted,
            "testWritesBufferWhenFull": testWritesBufferWhenFull,
            "testHoldsBytesInMemoryIfAsked": testHoldsBytesInMemoryIfAsked,
            "testReportsErrorsOfTheDescriptor": testReportsErrorsOfTheDescriptor,
            "testWritesEachByteOnceDespiteErrors": testWritesEachByteOnceDespiteErrors,
            "testTextStartsWithWholeCharacter": testTextStartsWithWholeCharacter,
        ]
    }

    private static func testGrowsInMemory() throws {
        var output = ByteOutput(capacity: 1)
        for byte in 0..<200 { try output.append(UInt8(byte)) }
        expectEqual(output.bytes, Array(0..<200), "bytes")
        output.truncate(to: 2)
        try "xy".withUTF8Span { try output.append($0) }
        expectEqual(output.bytes, [0, 1, 0x78, 0x79], "bytes after truncation")
    }

    private static func testThrowsIfMemoryIsExhausted() throws {
        var output = ByteOutput()
        for byteCount in [Int.max, .max - 4_096, 1 << 62, 1 << 48] {
            try output.append(0x61)
            let error = expectThrows(StreamError.self, "\(byteCount) bytes") { try output.reserve(byteCount) }
            expectEqual(error?.kind, .limitExceeded, "kind")
        }
        expectEqual(output.bytes, Array("aaaa".utf8), "bytes")
    }

    private static func testWritesBufferWhenFull() throws {
        try withPipe { read, write in
            var output = ByteOutput(descriptor: write, bufferByteCount: 64)
            for _ in 0..<100 { try output.append(0x61) }
            expectLessThanOrEqual(output.count, 64, "bytes in memory")
            try output.flush()
            expectEqual(count(in: read), 100, "bytes in the pipe")
        }
    }

    private static func testHoldsBytesInMemoryIfAsked() throws {
        try withPipe { read, write in
            var output = ByteOutput(descriptor: write, bufferByteCount: 64)
            output.isHolding = true
            for _ in 0..<1000 { try output.append(0x61) }
            try output.flush()
            expectEqual(output.count, 1000, "bytes in memory")
            output.isHolding = false
            try output.flush()
            expectEqual(count(in: read), 1000, "bytes in the pipe")
        }
    }

    private static func testReportsErrorsOfTheDescriptor() throws {
        var output = ByteOutput(descriptor: -1)
        try output.append(0x61)
        let error = expectThrows(StreamError.self, "flush") { try output.flush() }
        expectEqual(error?.kind, .cannotWrite, "kind")
    }

    private static func testWritesEachByteOnceDespiteErrors() throws {
        try withPipe { reading, writing in
            // A nonblocking pipe accepts a part, and refuses the rest until the other end is read.
            expectEqual(fcntl(writing, F_SETFL, O_NONBLOCK), 0, "fcntl")
            let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: ($0 &* 31) >> 3) }
            var output = ByteOutput(descriptor: writing, bufferByteCount: 1 << 20)
            try unsafe bytes.withUnsafeBytes { try output.append(unsafe $0.bytes) }
            var received: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 1 << 20)
            var errorCount = 0
            while received.count < bytes.count, errorCount < 1_000 {
                do { try output.flush() } catch { errorCount += 1 }
                // SAFETY: the count is the buffer's.
                let count = unsafe read(reading, &buffer, buffer.count)
                received += buffer[..<max(0, count)]
            }
            expectGreaterThan(errorCount, 0, "refusals")
            expectTrue(received == bytes, "all bytes, each once, in order")
            expectEqual(output.count, 0, "bytes in memory")
        }
    }

    private static func testTextStartsWithWholeCharacter() throws {
        // A pipe accepts whole pages.
        for (start, character) in [("", "é"), ("a", "é"), ("a", "🙂"), ("ab", "🙂"), ("abc", "🙂"), ("abcd", "🙂")] {
            try withPipe { _, writing in
                expectEqual(fcntl(writing, F_SETFL, O_NONBLOCK), 0, "fcntl")
                var output = ByteOutput(descriptor: writing, bufferByteCount: 1 << 20)
                try (start + String(repeating: character, count: 100_000)).withUTF8Span { try output.append($0) }
                expectThrows(StreamError.self, "flush") { try output.flush() }
                // SAFETY: all appended bytes are UTF-8.
                let text = unsafe output.text
                let expected = String(repeating: character, count: output.count / character.utf8.count)
                expectTrue(text == expected, "the rest of \(character) after \(start)")
            }
        }
    }

    private static func withPipe(_ body: (_ read: Int32, _ write: Int32) throws -> Void) throws {
        var ends: [Int32] = [-1, -1]
        // SAFETY: the array has two elements for the descriptors.
        try requireEqual(unsafe pipe(&ends), 0, "pipe")
        defer { for end in ends { close(end) } }
        try body(ends[0], ends[1])
    }

    private static func count(in descriptor: Int32) -> Int {
        var buffer = [UInt8](repeating: 0, count: 4096)
        // SAFETY: the count is the buffer's.
        return unsafe read(descriptor, &buffer, buffer.count)
    }
}
#endif
