// The step from one array to many values: its elements go on as roots, as the lines of JSON lines.

import PlistStreaming

/// A sink that passes on the elements of a root array as roots, and any other root as it is.
struct RootElements<Target: PlistSink & ~Copyable>: ScalarSink, ~Copyable {
    var target: Target
    private var depth: Int = 0
    private var isInRootArray: Bool = false

    init(_ target: consuming Target) {
        self.target = target
    }

    mutating func beginArray() throws(StreamError) {
        depth += 1
        if depth == 1 { isInRootArray = true } else { try target.beginArray() }
    }

    mutating func endArray() throws(StreamError) {
        depth -= 1
        if depth == 0 && isInRootArray { isInRootArray = false } else { try target.endArray() }
    }

    mutating func beginDictionary() throws(StreamError) {
        depth += 1
        try target.beginDictionary()
    }

    mutating func endDictionary() throws(StreamError) {
        depth -= 1
        try target.endDictionary()
    }

    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { try target.writeKey(utf8) }
    mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) { try scalar.send(to: &target) }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import JSONStreaming

enum RootElementsTests {}

extension RootElementsTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testPassesOnElementsAsRoots": testPassesOnElementsAsRoots] }

    private static func testPassesOnElementsAsRoots() throws {
        let rows = [
            ("[1,[2],{\"a\":[3]}]", "integer 1 [ integer 2 ] { key \"a\" [ integer 3 ] }"), ("[]", ""), ("[[]]", "[ ]"),
            ("{\"a\":[1]}", "{ key \"a\" [ integer 1 ] }"), ("true", "true"),
        ]
        for (text, expected) in rows {
            var sink = RootElements(EventTrace())
            try sink.readJSON(text)
            expectEqual(sink.target.text, expected, text)
        }
    }
}
#endif
