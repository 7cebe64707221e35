// The path from the root of a document to one of its values, written `$[3].title`.
// Sinks that build values compute it on demand and add it to their errors.

/// The path from the root to a value, such as `$[3].title`.
public struct StreamPath: Sendable, Hashable, CustomStringConvertible {
    /// A step into a container.
    public enum Step: Sendable, Hashable {
        /// Into an array, to the element at an index from 0.
        case index(Int)
        /// Into a dictionary, to the value of a key.
        case key(String)
    }

    /// The steps from the root down.
    public var steps: [Step]

    /// Creates a path from its steps. A path without steps is the root.
    public init(_ steps: [Step] = []) {
        self.steps = steps
    }

    /// Returns the path of an element of the array at this path.
    public func element(_ index: Int) -> StreamPath { StreamPath(steps + [.index(index)]) }

    /// Returns the path of a member of the dictionary at this path.
    public func member(_ key: String) -> StreamPath { StreamPath(steps + [.key(key)]) }

    /// The path as text, such as `$[3].title`. `$` is the root, and keys that are not plain names are quoted: `$["a b"]`.
    public var description: String {
        var text = "$"
        for step in steps {
            switch step {
            case .index(let index): text += "[\(index)]"
            case .key(let key) where Self.isPlainName(key): text += ".\(key)"
            case .key(let key): text += "[\(key.debugDescription)]"
            }
        }
        return text
    }

    private static func isPlainName(_ key: String) -> Bool {
        guard let first = key.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return key.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == 0x5F || byte >= 0x80
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension StreamPath: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testWritesPlainNamesAfterDots": testWritesPlainNamesAfterDots,
            "testQuotesOtherNames": testQuotesOtherNames,
        ]
    }

    private static func testWritesPlainNamesAfterDots() {
        expectEqual(StreamPath().description, "$", "the root")
        expectEqual(StreamPath().element(3).member("title").description, "$[3].title", "an element's member")
        expectEqual(StreamPath().member("größe_2").description, "$.größe_2", "a name beyond ASCII")
    }

    private static func testQuotesOtherNames() {
        expectEqual(StreamPath().member("").description, "$[\"\"]", "the empty name")
        expectEqual(StreamPath().member("a b").description, "$[\"a b\"]", "a name with a space")
        expectEqual(StreamPath().member("1a").description, "$[\"1a\"]", "a name that begins with a digit")
        expectEqual(StreamPath().member("a\"b").description, #"$["a\"b"]"#, "a name with a quote")
    }
}
#endif
