// A filter in front of another sink that refuses dictionaries with repeated keys.

/// A sink that forwards messages and refuses a key that its dictionary already has.
///
/// Keys are equal if their bytes are equal. Memory grows with the number of keys of the open dictionaries.
///
/// ```swift
/// var reader = JSONReader(sink: UniqueKeys(EventTrace()))
/// ```
public struct UniqueKeys<Target: PlistSink & ~Copyable>: ScalarSink, ~Copyable {
    /// The sink that gets the messages.
    public var target: Target
    private var path = MessagePath()

    /// Creates a filter in front of a sink.
    public init(_ target: consuming Target) {
        self.target = target
    }

    /// Ends the filter and returns its target.
    public consuming func takeTarget() -> Target { target }

    /// Compares the key with the earlier keys of its dictionary, and forwards it.
    ///
    /// - Throws: ``StreamError/Kind/duplicateKey``, or the errors of the target.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        if path.setKey(utf8) {
            throw StreamError(.duplicateKey, "duplicate key \(ShownText.quoted(utf8))", path: path.streamPath)
        }
        try target.writeKey(utf8)
    }

    /// Forwards the message.
    public mutating func beginDictionary() throws(StreamError) {
        path.beginValue()
        path.begin(isDictionary: true)
        try target.beginDictionary()
    }

    /// Forwards the message.
    public mutating func endDictionary() throws(StreamError) {
        path.end()
        try target.endDictionary()
    }

    /// Forwards the names.
    public mutating func expectColumns(_ names: [String]) throws(StreamError) { try target.expectColumns(names) }

    /// Discards the open containers, and forwards the call.
    public mutating func cancel(with error: StreamError) {
        path = MessagePath()
        target.cancel(with: error)
    }

    /// Forwards the message.
    public mutating func beginArray() throws(StreamError) {
        path.beginValue()
        path.begin(isDictionary: false)
        try target.beginArray()
    }
    /// Forwards the message.
    public mutating func endArray() throws(StreamError) {
        path.end()
        try target.endArray()
    }
    /// Forwards the scalar.
    public mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        path.beginValue()
        try scalar.send(to: &target)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum UniqueKeysTests {}

extension UniqueKeysTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRefusesARepeatedKey": testRefusesARepeatedKey,
            "testAllowsEqualKeysInOtherDictionaries": testAllowsEqualKeysInOtherDictionaries,
        ]
    }

    /// Sends brackets, a null for `n`, and a key for any other letter, with a null value unless a container follows.
    private static func send(_ messages: String) throws(StreamError) -> String {
        var sink = UniqueKeys(EventTrace())
        var isAfterKey = false
        for message in messages {
            switch message {
            case "{", "[":
                isAfterKey = false
                if message == "{" { try sink.beginDictionary() } else { try sink.beginArray() }
            case "n": try sink.writeNull()
            case "]": try sink.endArray()
            case "}":
                if isAfterKey { try sink.writeNull() }
                isAfterKey = false
                try sink.endDictionary()
            default:
                if isAfterKey { try sink.writeNull() }
                isAfterKey = true
                try String(message).withUTF8Span { key throws(StreamError) in try sink.writeKey(key) }
            }
        }
        return sink.target.text
    }

    private static func testRefusesARepeatedKey() {
        let rows = [
            ("{aa", "$.a"), ("{aba", "$.a"), ("{a{b}a", "$.a"), ("{b{c}a[n[n]{b[]a{}ca", "$.a[2].a"),
            ("[nn[]{aa", "$[3].a"),
        ]
        for (messages, path) in rows {
            let error = expectThrows(StreamError.self, messages) { _ = try send(messages) }
            expectEqual(error?.kind, .duplicateKey, "kind for \(messages)")
            expectEqual(error?.message, "duplicate key \"a\"", "message for \(messages)")
            expectEqual(error?.path?.description, path, "path for \(messages)")
        }
    }

    private static func testAllowsEqualKeysInOtherDictionaries() throws {
        expectEqual(
            try send("{a{ab}b{a}}"), "{ key \"a\" { key \"a\" null key \"b\" null } key \"b\" { key \"a\" null } }",
            "trace")
    }
}
#endif
