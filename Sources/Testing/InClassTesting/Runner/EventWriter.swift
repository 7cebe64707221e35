// Writes the worker protocol: one line for each event, with fields separated by tabs. TestEvents reads it and documents each
// line. Lines are written as a whole: a line that is not sent immediately stays in the buffer until the next line.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// The buffer of one worker's lines and the descriptor that they are sent to.
package struct EventWriter {
    /// The version of the protocol, which TestEvents checks.
    static let version = 8

    /// The lines that have not been sent.
    package private(set) var buffer: [UInt8] = []
    private let descriptor: Int32

    /// Creates a writer to a file descriptor. If the descriptor is negative, all lines stay in the buffer.
    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// A Boolean value that indicates whether a supervisor reads the events.
    var isConnected: Bool { descriptor >= 0 }

    /// Appends an event with numbers.
    package mutating func add(_ kind: StaticString, _ numbers: Int...) {
        start(kind)
        for number in numbers { append(number) }
        endLine()
    }

    /// Appends an event with texts.
    package mutating func add(_ kind: StaticString, _ texts: [String]) {
        start(kind)
        for text in texts { append(text) }
        endLine()
    }

    /// Appends an issue of a test, which may have ended, or of an unknown test.
    package mutating func add(_ issue: RecordedIssue, of test: Int?) {
        add("issue", [String(test ?? -1)] + issue.fields)
    }

    private mutating func start(_ kind: StaticString) {
        buffer.append(contentsOf: UnsafeBufferPointer(start: kind.utf8Start, count: kind.utf8CodeUnitCount))
    }

    private mutating func endLine() { buffer.append(0x0A) }

    // PERF: in a debug build, converting a number to a String or checking a text byte by byte takes microseconds.
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

    /// Returns whether a text contains no bytes that need an escape.
    private static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let start = bytes.baseAddress else { return true }
        return memchr(start, 0x09, bytes.count) == nil && memchr(start, 0x0A, bytes.count) == nil
            && memchr(start, 0x0D, bytes.count) == nil && memchr(start, 0x5C, bytes.count) == nil
    }

    /// Returns a hash of the lines that start at an offset.
    func hash(from start: Int) -> Int {
        buffer.withUnsafeBytes { bytes in
            Int(truncatingIfNeeded: inclass_hash(bytes.baseAddress.map { $0 + start }, bytes.count - start) >> 1)
        }
    }

    /// Removes the lines that start at an offset.
    mutating func removeAll(from start: Int) { buffer.removeLast(buffer.count - start) }

    /// Sends the buffered lines.
    mutating func send() {
        guard descriptor >= 0 else { return }
        buffer.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = write(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent)
                if count < 0, errno == EINTR { continue }
                // A test has closed the descriptor. The supervisor notices that and ends this process.
                while count < 0, errno == EBADF { pause() }
                if count <= 0 { return }  // the supervisor has ended
                sent += count
            }
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

#endif
