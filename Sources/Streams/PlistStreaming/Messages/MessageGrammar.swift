// The grammar of `PlistSink` as a small state machine. Sinks that must not trust their callers check each message with it.

/// A check of the order of messages, which `PlistSink` documents.
///
/// ```swift
/// var grammar = MessageGrammar()
/// try grammar.beginArray()
/// try grammar.value()
/// try grammar.endArray()
/// grammar.isComplete  // true
/// ```
@frozen
public struct MessageGrammar: Sendable {
    /// The open containers.
    private var nesting: NestingStack = NestingStack()
    /// The number of complete or open values at the root.
    public private(set) var rootCount: Int = 0
    /// A Boolean value that indicates whether the last message was a key.
    public private(set) var isAfterKey: Bool = false

    /// Creates the state before the first message.
    public init() {}

    /// The number of open containers.
    public var depth: Int { nesting.depth }

    /// A Boolean value that indicates whether all containers are closed.
    public var isComplete: Bool { nesting.depth == 0 }

    /// Accepts a value, or the beginning of a container.
    ///
    /// - Throws: ``StreamError/Kind/misuse`` if the innermost container is a dictionary and no key was written.
    public mutating func value() throws(StreamError) {
        if nesting.isInDictionary {
            guard isAfterKey else { throw StreamError(.misuse, "expected writeKey or endDictionary, got a value") }
            isAfterKey = false
        } else if nesting.depth == 0 {
            rootCount += 1
        }
    }

    /// Accepts `writeKey`.
    ///
    /// - Throws: ``StreamError/Kind/misuse`` outside a dictionary and after another key.
    public mutating func key() throws(StreamError) {
        guard nesting.isInDictionary else { throw StreamError(.misuse, "got writeKey outside a dictionary") }
        guard !isAfterKey else { throw StreamError(.misuse, "expected the value of a key, got writeKey") }
        isAfterKey = true
    }

    /// Accepts `beginArray`.
    ///
    /// - Throws: The errors of ``value()``.
    public mutating func beginArray() throws(StreamError) {
        try value()
        nesting.push(isDictionary: false)
    }

    /// Accepts `beginDictionary`.
    ///
    /// - Throws: The errors of ``value()``.
    public mutating func beginDictionary() throws(StreamError) {
        try value()
        nesting.push(isDictionary: true)
    }

    /// Accepts `endArray`.
    ///
    /// - Throws: ``StreamError/Kind/misuse`` if the innermost container is not an array.
    public mutating func endArray() throws(StreamError) {
        guard nesting.depth > 0, !nesting.isInDictionary else {
            throw StreamError(.misuse, "got endArray without an open array")
        }
        nesting.pop()
    }

    /// Accepts `endDictionary`.
    ///
    /// - Throws: ``StreamError/Kind/misuse`` if the innermost container is not a dictionary, or a key has no value.
    public mutating func endDictionary() throws(StreamError) {
        guard nesting.isInDictionary else {
            throw StreamError(.misuse, "got endDictionary without an open dictionary")
        }
        guard !isAfterKey else { throw StreamError(.misuse, "expected the value of a key, got endDictionary") }
        nesting.pop()
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension MessageGrammar: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testAcceptsValidMessages": testAcceptsValidMessages,
            "testRefusesInvalidMessages": testRefusesInvalidMessages,
        ]
    }

    /// Sends messages by their first letters: `[`, `]`, `{`, `}`, `k` for a key, `v` for a value.
    private static func send(_ messages: String) throws(StreamError) -> MessageGrammar {
        var grammar = MessageGrammar()
        for message in messages {
            switch message {
            case "[": try grammar.beginArray()
            case "]": try grammar.endArray()
            case "{": try grammar.beginDictionary()
            case "}": try grammar.endDictionary()
            case "k": try grammar.key()
            default: try grammar.value()
            }
        }
        return grammar
    }

    private static func testAcceptsValidMessages() throws {
        for messages in ["", "v", "vv", "[]", "{}", "{kv}", "[v[v]{kvk[v]k{}}v]"] {
            expectTrue(try send(messages).isComplete, "complete after \(messages)")
        }
        for messages in ["[", "{", "{k", "[{kv"] {
            expectFalse(try send(messages).isComplete, "complete after \(messages)")
        }
        expectEqual(try send("v[v]{}").rootCount, 3, "roots")
    }

    private static func testRefusesInvalidMessages() {
        for messages in ["]", "}", "k", "[}", "{]", "[k", "{v", "{kk", "{k}", "{kvv", "{[", "[]]", "{kv]"] {
            let error = expectThrows(StreamError.self, messages) { _ = try send(messages) }
            expectEqual(error?.kind, .misuse, "kind for \(messages)")
        }
    }
}
#endif
