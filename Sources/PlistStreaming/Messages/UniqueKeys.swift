// A filter before another sink that refuses dictionaries with the same key twice.

/// A sink that passes messages on and refuses a key that its dictionary already has.
///
/// Keys are equal when their bytes are. Memory grows with the number of keys of the open dictionaries.
///
/// ```swift
/// var reader = JSONReader(sink: UniqueKeys(EventTrace()))
/// ```
public struct UniqueKeys<Target: PlistSink & ~Copyable>: PlistSink, ~Copyable {
    /// The sink that gets the messages.
    public var target: Target
    private var openDictionaries: [Set<[UInt8]>] = []

    /// Creates a filter before a sink.
    public init(_ target: consuming Target) {
        self.target = target
    }

    /// Checks the key against the earlier ones of its dictionary, then passes it on.
    ///
    /// - Throws: ``StreamError/Kind/duplicateKey``, or what the target throws.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        if !openDictionaries.isEmpty {
            let isNew = openDictionaries[openDictionaries.count - 1].insert(Array(copying: utf8)).inserted
            guard isNew else {
                let name = String(validating: utf8).map { $0.utf8.count <= 64 ? " \($0.debugDescription)" : "" } ?? ""
                throw StreamError(.duplicateKey, "duplicate key\(name)")
            }
        }
        try target.writeKey(utf8)
    }

    /// Passes the message on.
    public mutating func beginDictionary() throws(StreamError) {
        openDictionaries.append([])
        try target.beginDictionary()
    }

    /// Passes the message on.
    public mutating func endDictionary() throws(StreamError) {
        _ = openDictionaries.popLast()
        try target.endDictionary()
    }

    /// Forgets the open dictionaries, and passes the notice on.
    public mutating func abandon(after error: StreamError) {
        openDictionaries = []
        target.abandon(after: error)
    }

    /// Passes the message on.
    public mutating func beginArray() throws(StreamError) { try target.beginArray() }
    /// Passes the message on.
    public mutating func endArray() throws(StreamError) { try target.endArray() }
    /// Passes the message on.
    public mutating func writeNull() throws(StreamError) { try target.writeNull() }
    /// Passes the message on.
    public mutating func writeBool(_ value: Bool) throws(StreamError) { try target.writeBool(value) }
    /// Passes the message on.
    public mutating func writeInteger(_ value: Int64) throws(StreamError) { try target.writeInteger(value) }
    /// Passes the message on.
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { try target.writeUnsigned(value) }
    /// Passes the message on.
    public mutating func writeReal(_ value: Double) throws(StreamError) { try target.writeReal(value) }
    /// Passes the message on.
    public mutating func writeNumber(text: RawSpan) throws(StreamError) { try target.writeNumber(text: text) }
    /// Passes the message on.
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) { try target.writeString(utf8) }
    /// Passes the message on.
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) { try target.writeData(bytes) }
    /// Passes the message on.
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try target.writeDate(secondsSince2001: seconds)
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
            "testAllowsTheSameKeyElsewhere": testAllowsTheSameKeyElsewhere,
        ]
    }

    /// Sends `{`, `}` and letters, each a key with null as its value unless a `{` follows.
    private static func send(_ messages: String) throws(StreamError) -> String {
        var sink = UniqueKeys(EventTrace())
        var isAfterKey = false
        for message in messages {
            switch message {
            case "{":
                isAfterKey = false
                try sink.beginDictionary()
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
        for messages in ["{aa", "{aba", "{a{b}a"] {
            let error = expectThrows(StreamError.self, messages) { _ = try send(messages) }
            expectEqual(error?.kind, .duplicateKey, "kind for \(messages)")
            expectEqual(error?.message, "duplicate key \"a\"", "message for \(messages)")
        }
    }

    private static func testAllowsTheSameKeyElsewhere() throws {
        expectEqual(
            try send("{a{ab}b{a}}"), "{ key \"a\" { key \"a\" null key \"b\" null } key \"b\" { key \"a\" null } }",
            "trace")
    }
}
#endif
