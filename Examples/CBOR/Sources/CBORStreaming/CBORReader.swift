// Turns the data items of a document into messages, without recursion. Numbers and dates are in `CBORReader+Numbers`.

import PlistStreaming

/// A reader of one document in memory.
///
/// Input is never trusted: each length is compared with the number of remaining bytes before it is used, and doesn't cause an
/// allocation.
struct CBORReader {
    /// The initial byte of a data item and its argument.
    struct Head {
        /// The major type: 0 and 1 are integers, 2 and 3 strings, 4 an array, 5 a map, 6 a tag, 7 a simple value or a real.
        let type: UInt8
        /// The additional information, which determines where the argument is.
        let information: UInt8
        let argument: UInt64

        var isIndefinite: Bool { information == 31 }
        var isBreak: Bool { type == 7 && isIndefinite }
    }

    /// A container that is open.
    private struct Container {
        let isDictionary: Bool
        /// The number of remaining elements or members; negative if a break ends the container.
        var count: Int
    }

    let limits: StreamLimits
    /// The offset of the last head, for the positions of errors.
    private(set) var start = 0
    /// The offset of the next byte.
    private var next = 0
    private var outer: [Container] = []
    /// The innermost container, which isn't in the array. For the root, it is an array of one element.
    private var container = Container(isDictionary: false, count: 1)

    init(limits: StreamLimits) { self.limits = limits }

    /// Sends the messages of the document.
    mutating func read(_ bytes: RawSpan, into sink: inout some PlistSink & ~Copyable) throws(StreamError) {
        while true {
            if isAtEnd(bytes) {
                guard let around = outer.popLast() else { break }
                if container.isDictionary { try sink.endDictionary() } else { try sink.endArray() }
                container = around
                continue
            }
            container.count &-= container.count > 0 ? 1 : 0
            if container.isDictionary { try readKey(bytes, into: &sink) }
            try readValue(bytes, into: &sink)
        }
        start = next
        guard next == bytes.byteCount else {
            throw StreamError(.invalidSyntax, "expected the end of the input, found another data item")
        }
    }

    /// Consumes the break of the innermost container if it is next, and returns whether the container is complete.
    private mutating func isAtEnd(_ bytes: RawSpan) -> Bool {
        guard container.count < 0 else { return container.count == 0 }
        guard next < bytes.byteCount, bytes.byte(at: next) == 0xFF else { return false }
        next += 1
        return true
    }

    /// Reads the initial byte and the argument of a data item.
    @inline(__always) mutating func readHead(_ bytes: RawSpan) throws(StreamError) -> Head {
        start = next
        guard next < bytes.byteCount else { throw Self.unexpectedEnd("a data item") }
        let initial = bytes.byte(at: next)
        let (type, information) = (initial >> 5, initial & 31)
        next += 1
        if information < 24 { return Head(type: type, information: information, argument: UInt64(information)) }
        guard information < 28 else {
            // SPEC: RFC 8949 section 3: 28 to 30 are reserved, and integers and tags have no indefinite length.
            guard information == 31, type != 0, type != 1, type != 6 else { throw Self.unknown(initial) }
            return Head(type: type, information: information, argument: 0)
        }
        let byteCount = 1 << Int(information - 24)
        guard byteCount <= bytes.byteCount - next else { throw Self.unexpectedEnd("\(byteCount) bytes of a number") }
        var argument: UInt64 = 0
        for offset in next..<next + byteCount { argument = argument << 8 | UInt64(bytes.byte(at: offset)) }
        next += byteCount
        return Head(type: type, information: information, argument: argument)
    }

    private mutating func readKey(_ bytes: RawSpan, into sink: inout some PlistSink & ~Copyable) throws(StreamError) {
        let head = try readHead(bytes)
        guard head.type == 3 else {
            throw head.mismatch("text as the key of a map", head.isBreak ? .invalidSyntax : .unrepresentable)
        }
        try withString(head, bytes) { (key) throws(StreamError) in try sink.writeKey(key) }
    }

    private mutating func readValue(_ bytes: RawSpan, into sink: inout some PlistSink & ~Copyable) throws(StreamError) {
        var head = try readHead(bytes)
        while head.type == 6 {
            switch head.argument {
            case 0: return try readDateText(bytes, into: &sink)
            case 1: return try readDate(bytes, into: &sink)
            case 2, 3: return try Self.send(readDigits(head, bytes), into: &sink)
            case 4: return try readDecimalFraction(bytes, into: &sink)
            default: head = try readHead(bytes)
            }
        }
        switch head.type {
        case 0, 1: try readInteger(head, into: &sink)
        case 2: try withString(head, bytes) { (data) throws(StreamError) in try sink.writeData(data) }
        case 3: try withString(head, bytes) { (text) throws(StreamError) in try sink.writeString(text) }
        case 4, 5: try begin(head, bytes, into: &sink)
        default: try readSimple(head, into: &sink)
        }
    }

    private mutating func begin(_ head: Head, _ bytes: RawSpan, into sink: inout some PlistSink & ~Copyable)
        throws(StreamError)
    {
        let isDictionary = head.type == 5
        // An element has at least one byte, a member two.
        guard head.argument <= UInt64(bytes.byteCount - next) / (isDictionary ? 2 : 1) else {
            throw Self.unexpectedEnd("\(head.argument) \(isDictionary ? "members" : "elements")")
        }
        guard outer.count < limits.depth else {
            throw StreamError(.limitExceeded, "more than \(limits.depth) levels of nesting")
        }
        if isDictionary { try sink.beginDictionary() } else { try sink.beginArray() }
        outer.append(container)
        container = Container(isDictionary: isDictionary, count: head.isIndefinite ? -1 : Int(head.argument))
    }

    /// Calls a closure with the bytes of a string, or with its joined chunks.
    @inline(__always) mutating func withString(
        _ head: Head, _ bytes: RawSpan, _ body: (RawSpan) throws(StreamError) -> Void
    ) throws(StreamError) {
        guard head.isIndefinite else { return try body(bytes.extracting(try readBytes(head, bytes))) }
        var joined: [UInt8] = []
        while true {
            let chunk = try readHead(bytes)
            if chunk.isBreak { break }
            guard chunk.type == head.type, !chunk.isIndefinite else { throw chunk.mismatch("a chunk of \(head.name)") }
            joined += Array(copying: bytes.extracting(try readBytes(chunk, bytes)))
            guard joined.count <= limits.stringByteCount else { throw longString() }
        }
        _ = try joined.withBytes(body)
    }

    /// Reads the bytes of a string, and checks that text is valid UTF-8.
    @inline(__always) private mutating func readBytes(_ head: Head, _ bytes: RawSpan) throws(StreamError) -> Range<Int>
    {
        guard head.argument <= UInt64(bytes.byteCount - next) else {
            throw Self.unexpectedEnd("\(head.argument) bytes of a string")
        }
        let range = next..<next + Int(head.argument)
        guard range.count <= limits.stringByteCount else { throw longString() }
        guard head.type == 2 || bytes.extracting(range).isValidUTF8 else {
            throw StreamError(.invalidText, "expected text in UTF-8, found other bytes")
        }
        next = range.upperBound
        return range
    }

    private func longString() -> StreamError {
        StreamError(.limitExceeded, "more than \(limits.stringByteCount) bytes in a string")
    }

    static func unexpectedEnd(_ expected: String) -> StreamError {
        StreamError(.unexpectedEnd, "expected \(expected), found the end of the input")
    }

    static func unknown(_ initial: UInt8) -> StreamError {
        StreamError(.invalidSyntax, "expected a data item, found the reserved byte 0x\(String(initial, radix: 16))")
    }
}

extension CBORReader.Head {
    /// The kind of data item, for errors.
    var name: String {
        let names = ["an integer", "an integer", "data", "text", "an array", "a map", "a tag", "a scalar"]
        return isBreak ? "a break" : names[Int(type)]
    }

    /// Makes the error for an unexpected data item.
    func mismatch(_ expected: String, _ kind: StreamError.Kind = .invalidSyntax) -> StreamError {
        StreamError(kind, "expected \(expected), found \(name)")
    }
}
