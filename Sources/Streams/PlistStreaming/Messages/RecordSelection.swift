// The records at a path within a document.

import PlistStreaming

/// A sink that sends the values at a path as one array, and leaves out everything else.
///
/// Each name of the path is a key. Arrays on the way are gone through, and the elements of an array at its end are records.
final class RecordSelection: ValueSink {
    private let target: ValueSink
    private let names: [[UInt8]]
    private let path: String
    /// For each open container outside the records, the number of names that its way has; -1 for another way.
    private var open: [Int] = []
    /// The number of names that the way to the value to come has.
    private var matched = 0
    /// The number of open containers within a record.
    private var depth = 0
    private var count = 0
    private var hasBegun = false

    /// Creates a sink.
    ///
    /// - Parameter path: Keys with slashes between them.
    init(_ target: ValueSink, path: String) {
        self.target = target
        self.path = path
        names = path.split(separator: "/").map { Array($0.utf8) }
    }

    /// Ends the array.
    ///
    /// - Throws: `unrepresentable` if no value is at the path.
    func finish() throws(StreamError) {
        guard count > 0 else {
            throw StreamError(.unrepresentable, "expected records at \(path.debugDescription), found none")
        }
        try target.endArray()
    }

    private func beginRecord() throws(StreamError) {
        if !hasBegun { try target.beginArray() }
        hasBegun = true
        count += 1
    }

    /// Begins a container, and returns whether it is a record or in one.
    private func begin(isArray: Bool) throws(StreamError) -> Bool {
        if depth == 0 {
            // An array at the path is that of the records, one within it is a record.
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

    /// Ends a container, and returns whether it is a record or in one.
    private func end() -> Bool {
        if depth > 0 {
            depth -= 1
            return true
        }
        matched = open.popLast() ?? 0
        return false
    }

    override func beginArray() throws(StreamError) { if try begin(isArray: true) { try target.beginArray() } }
    override func endArray() throws(StreamError) { if end() { try target.endArray() } }
    override func beginDictionary() throws(StreamError) {
        if try begin(isArray: false) { try target.beginDictionary() }
    }
    override func endDictionary() throws(StreamError) { if end() { try target.endDictionary() } }

    override func writeKey(_ utf8: RawSpan) throws(StreamError) {
        if depth > 0 { return try target.writeKey(utf8) }
        let around = open.last ?? 0
        let isNext = around >= 0 && around < names.count && names[around] == Array(copying: utf8)
        matched = isNext ? around + 1 : -1
    }

    override func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        if depth == 0 {
            guard matched == names.count else { return }
            try beginRecord()
        }
        try target.write(scalar)
    }

    override func cancel(with error: StreamError) { target.cancel(with: error) }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import JSONStreaming

extension RecordSelection: SelfTesting {
    static var testSelectors: TestSelectors { ["testSelectsRecordsByPath": testSelectsRecordsByPath] }

    /// A sink that is a trace.
    private final class Trace: ValueSink {
        var trace = EventTrace()
        override func beginArray() throws(StreamError) { try trace.beginArray() }
        override func endArray() throws(StreamError) { try trace.endArray() }
        override func beginDictionary() throws(StreamError) { try trace.beginDictionary() }
        override func endDictionary() throws(StreamError) { try trace.endDictionary() }
        override func writeKey(_ utf8: RawSpan) throws(StreamError) { try trace.writeKey(utf8) }
        override func write(_ scalar: borrowing StreamScalar) throws(StreamError) { try scalar.send(to: &trace) }
    }

    private static func testSelectsRecordsByPath() throws {
        let rows = [
            (
                "list", #"{"version":1,"list":[{"a":1},[2],3],"more":{"list":4}}"#,
                #"[ { key "a" integer 1 } [ integer 2 ] integer 3 ]"#
            ),
            ("a/b", #"{"b":1,"a":{"b":{"c":[]},"a":{"b":2}}}"#, #"[ { key "c" [ ] } ]"#),
            (
                "a/b", #"[{"a":[{"b":1},{"b":[2,3]},{"c":4}]},{"a":{"b":5}}]"#,
                "[ integer 1 integer 2 integer 3 integer 5 ]"
            ),
            ("a", #"{"a":{"a":{"a":1}}}"#, #"[ { key "a" { key "a" integer 1 } } ]"#),
        ]
        for (path, text, expected) in rows {
            let trace = Trace()
            var sink = RecordSelection(trace, path: path)
            try sink.readJSON(text)
            try sink.finish()
            expectEqual(trace.trace.text, expected, "\(path) of \(text)")
        }
        var sink = RecordSelection(ValueSink(), path: "a/b")
        try sink.readJSON(#"{"a":{"c":1},"b":2}"#)
        let error = expectThrows(StreamError.self, "no record") { try sink.finish() }
        expectEqual(error?.message, "expected records at \"a/b\", found none", "message")
    }
}
#endif
