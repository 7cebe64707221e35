// The common part of the writers of both text forms: an output, the order of messages, the indentation of lines.

import PlistStreaming

/// An output of text with lines, which tracks the open containers.
///
/// Bytes are written to a descriptor only between messages, before accepting the next one, so that a failed write
/// leaves no partial message.
struct PlistTextOutput: ~Copyable {
    var bytes: ByteOutput
    private(set) var grammar = MessageGrammar()
    private let depthLimit: Int
    private let bufferByteCount: Int

    init(_ bytes: consuming ByteOutput, depthLimit: Int, bufferByteCount: Int = .max) {
        self.bytes = bytes
        self.depthLimit = depthLimit
        self.bufferByteCount = max(64, bufferByteCount)
        self.bytes.isHolding = true
    }

    /// Begins a message: if the buffer is full, writes its contents to the output.
    private mutating func beginMessage() throws(StreamError) {
        if bytes.count >= bufferByteCount { try flush() }
    }

    private mutating func flush() throws(StreamError) {
        bytes.isHolding = false
        defer { bytes.isHolding = true }
        try bytes.flush()
    }

    /// Begins a value without children; throws if it isn't allowed here.
    mutating func beginValue() throws(StreamError) {
        try beginMessage()
        try checkRoot()
        try grammar.value()
    }

    mutating func begin(isDictionary: Bool) throws(StreamError) {
        try beginMessage()
        try checkRoot()
        guard grammar.depth < depthLimit else {
            throw StreamError(.limitExceeded, "more than \(depthLimit) levels of nesting")
        }
        if isDictionary { try grammar.beginDictionary() } else { try grammar.beginArray() }
    }

    mutating func end(isDictionary: Bool) throws(StreamError) {
        try beginMessage()
        if isDictionary { try grammar.endDictionary() } else { try grammar.endArray() }
    }

    mutating func key() throws(StreamError) {
        try beginMessage()
        try grammar.key()
    }

    private func checkRoot() throws(StreamError) {
        guard grammar.depth > 0 || grammar.rootCount == 0 else { throw StreamError(.misuse, "got a second root value") }
    }

    /// Checks that the value is complete, and writes the contents of the buffer.
    mutating func finish() throws(StreamError) {
        guard grammar.isComplete else { throw StreamError(.misuse, "finished with \(grammar.depth) open containers") }
        guard grammar.rootCount > 0 else { throw StreamError(.misuse, "finished without a value") }
        try flush()
    }

    /// Discards the written text.
    mutating func reset() {
        bytes.removeAll()
        grammar = MessageGrammar()
    }

    mutating func append(_ text: StaticString) throws(StreamError) {
        // SAFETY: the bytes of a literal are valid as long as the program runs.
        try bytes.append(unsafe UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount).bytes)
    }

    mutating func append(_ text: String) throws(StreamError) {
        var text = text
        text.makeContiguousUTF8()
        for byte in text.utf8 { try bytes.append(byte) }
    }

    mutating func append(_ byte: UInt8) throws(StreamError) { try bytes.append(byte) }

    /// Begins a line with some bytes of whitespace.
    mutating func append(_ byte: UInt8, count: Int) throws(StreamError) {
        for _ in 0..<max(0, count) { try bytes.append(byte) }
    }
}

/// Checks that text is UTF-8 before any of it is written.
func checkUTF8(_ utf8: RawSpan) throws(StreamError) {
    guard utf8.isValidUTF8 else {
        throw StreamError(.invalidText, "expected text in UTF-8, found other bytes")
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import StreamingSystem
import InClassTesting

enum PlistTextOutputTests {}

extension PlistTextOutputTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesMessagesCompletelyOrNotAtAll": testWritesMessagesCompletelyOrNotAtAll,
            "testBufferStaysSmall": testBufferStaysSmall,
            "testTextStartsWithWholeCharacter": testTextStartsWithWholeCharacter,
        ]
    }

    /// Sends messages to a writer whose descriptor repeatedly refuses bytes, each until it is accepted. Returns the
    /// number of refusals, and all written bytes.
    private static func refusals<Sink: PlistSink & ~Copyable>(
        of messages: [String], _ makeWriter: (Int32) -> Sink, _ finish: (inout Sink) throws(StreamError) -> Void
    ) throws -> (count: Int, bytes: [UInt8]) {
        var ends: [Int32] = [-1, -1]
        // SAFETY: the array has two elements for the descriptors.
        try requireEqual(unsafe pipe(&ends), 0, "pipe")
        defer { for end in ends { close(end) } }
        for end in ends { expectEqual(fcntl(end, F_SETFL, O_NONBLOCK), 0, "fcntl") }
        var writer = makeWriter(ends[1])
        var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 17))
        var count = 0
        for message in messages + [""] {
            while true {
                do {
                    if message.isEmpty { try finish(&writer) } else { try EventScript.send(message, to: &writer) }
                    break
                } catch {
                    count += 1
                    try requireEqual(error.kind, .cannotWrite, "kind")
                    // SAFETY: the count is the buffer's.
                    bytes += buffer[..<max(0, unsafe read(ends[0], &buffer, buffer.count))]
                }
            }
        }
        // SAFETY: the count is the buffer's.
        bytes += buffer[..<max(0, unsafe read(ends[0], &buffer, buffer.count))]
        return (count, bytes)
    }

    private static func testWritesMessagesCompletelyOrNotAtAll() throws {
        let long = String(repeating: "<value> & ", count: 200)
        let messages =
            ["["]
            + (0..<150).flatMap { ["string \"\(long)\($0)\"", "{", "key \"a\"", "data 00ff", "}", "integer \($0)"] }
            + ["]"]
        let xml = try refusals(of: messages) {
            XMLPlistWriter(descriptor: $0, bufferByteCount: 64)
        } _: { (writer: inout XMLPlistWriter) throws(StreamError) in
            try writer.finish()
        }
        let options = OpenStepPlistWriterOptions(scalars: .gnustep)
        let old = try refusals(of: messages) {
            OpenStepPlistWriter(descriptor: $0, bufferByteCount: 64, options: options)
        } _: { (writer: inout OpenStepPlistWriter) throws(StreamError) in
            try writer.finish()
        }
        for (count, bytes) in [xml, old] {
            expectGreaterThan(count, 2, "refusals")
            var trace = EventTrace()
            try trace.readPropertyList(bytes)
            expectTrue(trace.text == messages.joined(separator: " "), "messages")
        }
    }

    private static func testTextStartsWithWholeCharacter() throws {
        // A pipe accepts whole pages, and one of these ends within a character.
        for start in ["", "a"] {
            var ends: [Int32] = [-1, -1]
            // SAFETY: the array has two elements for the descriptors.
            try requireEqual(unsafe pipe(&ends), 0, "pipe")
            defer { for end in ends { close(end) } }
            expectEqual(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0, "fcntl")
            var writer = XMLPlistWriter(descriptor: ends[1], bufferByteCount: 1 << 20)
            try (start + String(repeating: "é", count: 100_000)).withUTF8Span { (text) throws(StreamError) in
                try writer.writeString(text)
            }
            expectThrows(StreamError.self, "finish") { try writer.finish() }
            expectTrue(writer.text.hasPrefix("éé") && writer.text.hasSuffix("é</string>\n</plist>\n"), "text")
        }
    }

    private static func testBufferStaysSmall() throws {
        // SAFETY: the path is a literal that outlives the call.
        let descriptor = unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        var output = PlistTextOutput(
            ByteOutput(descriptor: descriptor, bufferByteCount: 256), depthLimit: 10, bufferByteCount: 256)
        try output.begin(isDictionary: false)
        for _ in 0..<1_000 {
            try output.beginValue()
            try output.append(0x20, count: 100)
            expectLessThan(output.bytes.count, 512, "bytes in memory")
        }
    }
}
#endif
