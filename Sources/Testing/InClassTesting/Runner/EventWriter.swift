// Writes the worker protocol: one line an event, fields separated by tabs. TestEvents reads it and says what each line
// means. Lines go out whole: a line that is not written at once waits in the buffer for the next.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// The lines of one worker on their way to its supervisor.
package struct EventWriter {
    /// The version of the vocabulary, as TestEvents knows it.
    static let version = 7

    /// The lines that have not been sent.
    package private(set) var buffer: [UInt8] = []
    private let descriptor: Int32

    /// Creates a writer to a file descriptor; a negative one keeps everything in the buffer.
    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// A Boolean value that indicates whether a supervisor reads what is sent.
    var isConnected: Bool { descriptor >= 0 }

    /// Appends an event of numbers.
    package mutating func add(_ kind: StaticString, _ numbers: Int...) {
        start(kind)
        for number in numbers { append(number) }
        endLine()
    }

    /// Appends an event of one text.
    mutating func add(_ kind: StaticString, text: String) {
        start(kind)
        append(text)
        endLine()
    }

    /// Appends an event of texts.
    package mutating func add(_ kind: StaticString, _ texts: [String]) {
        start(kind)
        for text in texts { append(text) }
        endLine()
    }

    /// Appends an issue of the running test.
    package mutating func add(_ issue: RecordedIssue) { add("issue", issue.fields) }

    /// Appends an issue of a test that may have ended, or of an unknown one.
    package mutating func add(_ issue: RecordedIssue, of test: Int?) {
        add("stray", [String(test ?? -1)] + issue.fields)
    }

    private mutating func start(_ kind: StaticString) {
        buffer.append(contentsOf: UnsafeBufferPointer(start: kind.utf8Start, count: kind.utf8CodeUnitCount))
    }

    private mutating func endLine() { buffer.append(0x0A) }

    // PERF: a debug build takes microseconds to make a String of a number or to look at a text byte by byte.
    private mutating func append(_ number: Int) {
        buffer.append(0x09)
        if number < 0 { buffer.append(0x2D) }
        let magnitude = number.magnitude
        var divisor: UInt = 1
        while magnitude / divisor >= 10 { divisor = divisor &* 10 }
        while divisor > 0 {
            buffer.append(0x30 &+ UInt8(truncatingIfNeeded: magnitude / divisor % 10))
            divisor /= 10
        }
    }

    private mutating func append(_ text: String) {
        buffer.append(0x09)
        var text = text
        text.withUTF8 { bytes in
            if Self.isPlain(bytes) { return buffer.append(contentsOf: bytes) }
            for byte in bytes {
                switch byte {
                case UInt8(ascii: "\t"): buffer.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "t")])
                case UInt8(ascii: "\n"): buffer.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
                case UInt8(ascii: "\r"): buffer.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "r")])
                case UInt8(ascii: "\\"): buffer.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "\\")])
                default: buffer.append(byte)
                }
            }
        }
    }

    /// Waits to be ended by the supervisor, which notices that a test has closed the descriptor: nobody would hear of any
    /// further test.
    private func waitForEnd() -> Never {
        while true { pause() }
    }

    /// Returns whether nothing in a text needs an escape.
    private static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let start = bytes.baseAddress else { return true }
        return memchr(start, 0x09, bytes.count) == nil && memchr(start, 0x0A, bytes.count) == nil
            && memchr(start, 0x0D, bytes.count) == nil && memchr(start, 0x5C, bytes.count) == nil
    }

    /// A hash of what has been added from an offset on.
    func hash(from start: Int) -> Int {
        buffer.withUnsafeBytes { bytes in
            Int(truncatingIfNeeded: inclass_hash(bytes.baseAddress.map { $0 + start }, bytes.count - start) >> 1)
        }
    }

    /// Forgets what has been added from an offset on.
    mutating func removeAll(from start: Int) { buffer.removeLast(buffer.count - start) }

    /// Sends what has been added.
    mutating func send() {
        guard descriptor >= 0 else { return }
        buffer.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = write(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EBADF { waitForEnd() }
                if count <= 0 { return }  // nobody reads any more; the supervisor is gone
                sent += count
            }
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

#endif
