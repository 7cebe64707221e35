// The records at a path within a document: a filter in front of another sink.

/// A sink that forwards the values at a path as one array, and leaves out everything else.
///
/// Each name of the path is a key. Arrays on the way are searched, and the elements of an array at its end are records.
///
/// ```swift
/// var records = RecordSelection(JSONWriter(), path: "channel/item")
/// try records.readXML(.file("feed.xml"), objectOptions: XMLObjectOptions(root: .value))
/// try records.finish()
/// ```
/// - Complexity: O(1) for each message; memory grows with the depth of the document.
public struct RecordSelection<Target: PlistSink & ~Copyable>: ScalarSink, ~Copyable {
    /// The sink that gets the records.
    public var target: Target
    private let names: [[UInt8]]
    private let path: String
    /// For each open container outside the records, the number of names of its path; -1 for another path.
    private var open: [Int] = []
    /// The number of names of the path of the value to come.
    private var matched = 0
    /// The number of open containers within a record.
    private var depth = 0
    private var count = 0
    /// The error of the sender.
    private var failure: StreamError?

    /// Creates a filter.
    ///
    /// - Parameters:
    ///   - target: The sink that receives the records.
    ///   - path: Keys, separated by slashes.
    public init(_ target: consuming Target, path: String) {
        self.target = target
        self.path = path
        names = path.split(separator: "/").map { Array($0.utf8) }
    }

    /// Ends the array.
    ///
    /// - Throws: `unrepresentable` if no value is at the path, `unexpectedEnd` if the document is not complete, the error that
    ///   the sender ended it with, and the errors of the target.
    public mutating func finish() throws(StreamError) {
        if let failure { throw failure }
        guard depth == 0, open.isEmpty else { throw StreamError(.unexpectedEnd, "the document is not complete") }
        guard count > 0 else {
            throw StreamError(.unrepresentable, "expected records at \(path.debugDescription), found none")
        }
        try target.endArray()
    }

    private mutating func beginRecord() throws(StreamError) {
        if count == 0 { try target.beginArray() }
        count += 1
    }

    /// Begins a container, and returns whether it is a record or in a record.
    private mutating func begin(isArray: Bool) throws(StreamError) -> Bool {
        if depth == 0 {
            // An array at the path has the records as its elements, and an array in it is a record.
            guard matched == names.count, !isArray || open.last == names.count else {
                open.append(matched)
                if !isArray { matched = -1 }
                return false
            }
            try beginRecord()
        }
        depth += 1
        return true
    }

    /// Ends a container, and returns whether it is a record or in a record.
    private mutating func end() -> Bool {
        if depth > 0 {
            depth -= 1
            return true
        }
        matched = open.popLast() ?? 0
        return false
    }

    /// Forwards the message within a record.
    public mutating func beginArray() throws(StreamError) { if try begin(isArray: true) { try target.beginArray() } }
    /// Forwards the message within a record.
    public mutating func endArray() throws(StreamError) { if end() { try target.endArray() } }
    /// Forwards the message within a record.
    public mutating func beginDictionary() throws(StreamError) {
        if try begin(isArray: false) { try target.beginDictionary() }
    }
    /// Forwards the message within a record.
    public mutating func endDictionary() throws(StreamError) { if end() { try target.endDictionary() } }

    /// Forwards the key within a record, and otherwise compares it with the path.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        if depth > 0 { return try target.writeKey(utf8) }
        let around = open.last ?? 0
        let isNext = around >= 0 && around < names.count && names[around] == Array(copying: utf8)
        matched = isNext ? around + 1 : -1
    }

    /// Forwards the scalar at the path or within a record.
    public mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        if depth == 0 {
            guard matched == names.count else { return }
            try beginRecord()
        }
        try scalar.send(to: &target)
    }

    /// Forwards the call. From then on, ``finish()`` throws the error.
    public mutating func cancel(with error: StreamError) {
        failure = failure ?? error
        target.cancel(with: error)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum RecordSelectionTests {}

extension RecordSelectionTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSelectsRecordsByPath": testSelectsRecordsByPath,
            "testRefusesToEndAnIncompleteDocument": testRefusesToEndAnIncompleteDocument,
        ]
    }

    private static func testRefusesToEndAnIncompleteDocument() throws {
        for script in ["{ key \"a\" [ null", "{ key \"a\" null", "{ key \"a\" [ { ", "[ { key \"a\" null }"] {
            var sink = RecordSelection(EventTrace(), path: "a")
            try EventScript.send(script, to: &sink)
            let error = expectThrows(StreamError.self, script) { try sink.finish() }
            expectEqual(error?.kind, .unexpectedEnd, script)
        }
        var sink = RecordSelection(EventTrace(), path: "a")
        try EventScript.send("{ key \"a\" null }", to: &sink)
        sink.cancel(with: .stopRequest())
        let error = expectThrows(StreamError.self, "after an error") { try sink.finish() }
        expectTrue(error?.isStopRequest ?? false, "the error of the reader")
    }

    private static func testSelectsRecordsByPath() throws {
        let rows = [
            (
                "list",
                "{ key \"version\" null key \"list\" [ { key \"a\" null } [ null ] true ] key \"x\" { key \"list\" null } }",
                "[ { key \"a\" null } [ null ] true ]"
            ),
            (
                "a/b", "{ key \"b\" null key \"a\" { key \"b\" { key \"c\" [ ] } key \"a\" { key \"b\" null } } }",
                "[ { key \"c\" [ ] } ]"
            ),
            (
                "a/b",
                """
                [ { key "a" [ { key "b" integer 1 } { key "b" [ integer 2 integer 3 ] } { key "c" null } ] } \
                { key "a" { key "b" integer 5 } } ]
                """, "[ integer 1 integer 2 integer 3 integer 5 ]"
            ),
            (
                "a", "{ key \"a\" { key \"a\" { key \"a\" null } } }",
                "[ { key \"a\" { key \"a\" null } } ]"
            ),
        ]
        for (path, script, expected) in rows {
            var sink = RecordSelection(EventTrace(), path: path)
            try EventScript.send(script, to: &sink)
            try sink.finish()
            expectEqual(sink.target.text, expected, "\(path) of \(script)")
        }
        var sink = RecordSelection(EventTrace(), path: "a/b")
        try EventScript.send("{ key \"a\" { key \"c\" null } key \"b\" null }", to: &sink)
        let error = expectThrows(StreamError.self, "no record") { try sink.finish() }
        expectEqual(error?.message, "expected records at \"a/b\", found none", "message")
    }
}
#endif
