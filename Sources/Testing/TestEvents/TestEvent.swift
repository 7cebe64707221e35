// The events that a worker sends to its supervisor, and their parser: one line for each event, with fields separated by
// tabs. InClassTesting's EventWriter writes them. It isn't part of release builds, as tests aren't. The in-class tests below
// write and read every event.

internal import InClassSystem

/// A test as its list names it.
package struct PlannedTest: Equatable, Hashable, Sendable {
    /// The type's name as written in Swift, without its module: `Outer.Inner`, `Table<Int>`.
    package var typeName: String
    /// The entry in the list.
    package var testName: String
    /// The name of the list: `unit`, or a key of `testSelectorsByType`.
    package var testType: String
    /// The module that defines the type.
    package var module: String
    /// The time limit, or 0 for the default limit.
    package var timeoutMilliseconds: Int
    /// The row of a table, or nil if the test doesn't belong to a table.
    package var row: TableRow?

    /// A row of a table of cases.
    package struct TableRow: Equatable, Hashable, Sendable {
        /// The name of the table in the sources.
        package var table: String
        /// The index of the row, from 0.
        package var index: Int

        package init(table: String, index: Int) {
            self.table = table
            self.index = index
        }
    }

    package init(
        typeName: String, testName: String, testType: String, module: String, timeoutMilliseconds: Int = 0,
        row: TableRow? = nil
    ) {
        self.timeoutMilliseconds = timeoutMilliseconds
        self.row = row
        self.typeName = typeName
        self.testName = testName
        self.testType = testType
        self.module = module
    }

    /// The name as `Type.test`, which diagnostics and selections use.
    package var name: String { "\(typeName).\(testName)" }

    /// The name in the source of the list.
    package var listedName: String { row?.table ?? testName }
}

/// One line of the worker protocol.
///
/// A worker sends `version`, `untested` for each type that can't be tested, then the plan, then `ready`. The plan is `list`
/// and, for each test of the list in order, `planned`, or `row` for a row of a table. If the supervisor has the plan
/// already, the worker sends only `version` and `ready`.
///
/// For each test that the supervisor requests, the worker sends `begin`, at most one `directory`, any number of `attachment`
/// and `issue`, at most one `skip`, and `end`. It sends `idle` after the last requested test, or `changed` after any of
/// them. `issue` may be sent at any time. Before a worker ends by itself, it sends `finished`. A dying worker first sends
/// `crash` or `exit` if it can.
// PERF: the cases with texts are indirect, so that `begin` and `end` stay small values without references.
package enum TestEvent: Equatable, Sendable {
    /// The version of this protocol. A reader rejects any other version.
    case version(Int)
    /// The list of the following `planned` and `row` events, with all fields that they don't contain.
    indirect case list(PlannedTest)
    indirect case planned(testName: String, row: PlannedTest.TableRow? = nil)
    /// The end of the plan, with its number of tests and a hash of its lines.
    case ready(count: Int, hash: Int)
    /// The begin of a test. Its output starts at this offset of the worker's output file.
    case begin(index: Int, outputStart: Int)
    /// The test has a temporary directory.
    indirect case directory(path: String)
    /// The test has written a file into that directory, to be kept if the test fails.
    indirect case attachment(name: String)
    /// The position of a passed expectation, `path:line:column`, or the path of a golden file that matched. Sent once for
    /// each, only when values may be accepted.
    indirect case met(place: String)
    /// An issue of this test, which may have ended, or of an unknown test.
    indirect case issue(index: Int?, TestIssue)
    indirect case skip(reason: String)
    case end(index: Int, nanoseconds: Int, outputEnd: Int)
    case idle
    /// A test has changed the state of its process. The worker ends and runs no further tests.
    case changed
    /// The worker runs no further tests and ends. A worker that ends without this event has been ended by its tests.
    case finished
    /// A crash with its return addresses, relative to the start of the test executable, innermost first.
    indirect case crash(signal: Int, frames: [Int])
    indirect case exit(frames: [Int])
    /// A type without tests to run. Its list is empty, or the reason is given.
    indirect case untested(typeName: String, reason: String?)

    package static let currentVersion = 8
}

// MARK: - Reading

extension TestEvent {
    /// Creates an event from one line without its newline, or returns nil if the line isn't an event of this version.
    ///
    /// - Complexity: O(length of the line).
    // PERF: the kinds of the most frequent lines are recognized without creating a String.
    package init?(_ line: UnsafeRawBufferPointer) {
        guard let base = line.baseAddress else { return nil }
        var reader = FieldReader(start: base.assumingMemoryBound(to: UInt8.self), count: line.count)
        if reader.skip("begin\t") {
            self = .begin(index: reader.number(), outputStart: reader.number())
        } else if reader.skip("end\t") {
            self = .end(index: reader.number(), nanoseconds: reader.number(), outputEnd: reader.number())
        } else if reader.skip("planned\t") {
            self = .planned(testName: reader.text())
        } else if let event = Self.event(reader.text(), &reader) {
            self = event
        } else {
            return nil
        }
        if !reader.isAtEnd { return nil }
    }

    private static func event(_ kind: String, _ reader: inout FieldReader) -> TestEvent? {
        switch kind {
        case "list":
            let test = PlannedTest(
                typeName: reader.text(), testName: "", testType: reader.text(), module: reader.text(),
                timeoutMilliseconds: reader.number())
            return .list(test)
        case "row":
            return .planned(
                testName: reader.text(), row: PlannedTest.TableRow(table: reader.text(), index: reader.number()))
        case "issue":
            let index = reader.number()
            return reader.issue().map { .issue(index: index < 0 ? nil : index, $0) }
        case "version": return .version(reader.number())
        case "ready": return .ready(count: reader.number(), hash: reader.number())
        case "directory": return .directory(path: reader.text())
        case "attachment": return .attachment(name: reader.text())
        case "met": return .met(place: reader.text())
        case "skip": return .skip(reason: reader.text())
        case "idle": return .idle
        case "changed": return .changed
        case "finished": return .finished
        case "crash": return .crash(signal: reader.number(), frames: reader.rest { $0.number() })
        case "exit": return .exit(frames: reader.rest { $0.number() })
        case "untested":
            let (typeName, reason) = (reader.text(), reader.text())
            return .untested(typeName: typeName, reason: reason.isEmpty ? nil : reason)
        default: return nil
        }
    }
}

/// Reads the fields of a line. The memory outlives the reader. After a missing or malformed field, the reader is never at
/// the end.
private struct FieldReader {
    private static let tab: Int32 = 0x09
    private static let backslash: UInt8 = 0x5C

    // SAFETY: every read is at an index below `count`, the number of bytes in the line.
    let start: UnsafePointer<UInt8>
    let count: Int
    /// The start of the next field: `count + 1` after the last field, and `Int.max` after an error.
    private var index = 0

    init(start: UnsafePointer<UInt8>, count: Int) {
        self.start = start
        self.count = count
    }

    /// A Boolean value that indicates whether all fields have been read without an error.
    var isAtEnd: Bool { index == count + 1 }

    /// Skips a kind of event and its tab if the line begins with them.
    mutating func skip(_ kind: StaticString) -> Bool {
        let length = kind.utf8CodeUnitCount
        guard count >= length, memcmp(start, kind.utf8Start, length) == 0 else { return false }
        index = length
        return true
    }

    mutating func text() -> String {
        guard index <= count else { return failed("") }
        let found = memchr(start + index, Self.tab, count - index)
        let end = found.map { UnsafeRawPointer($0) - UnsafeRawPointer(start) } ?? count
        let field = UnsafeBufferPointer(start: start + index, count: end - index)
        index = end + 1
        if field.isEmpty { return "" }
        if memchr(start + (end - field.count), Int32(Self.backslash), field.count) != nil { return unescaped(field) }
        return String(decoding: field, as: UTF8.self)
    }

    private mutating func unescaped(_ field: UnsafeBufferPointer<UInt8>) -> String {
        let escaped = Dictionary(uniqueKeysWithValues: zip("tnr\\".utf8, "\t\n\r\\".utf8))
        var bytes: [UInt8] = []
        var isEscaped = false
        for byte in field {
            if byte == Self.backslash, !isEscaped {
                isEscaped = true
                continue
            }
            guard let plain = isEscaped ? escaped[byte] : byte else { return failed("") }
            bytes.append(plain)
            isEscaped = false
        }
        return isEscaped ? failed("") : String(decoding: bytes, as: UTF8.self)
    }

    mutating func number() -> Int {
        guard index < count else { return failed(0) }
        let isNegative = start[index] == 0x2D
        let digits = isNegative ? index + 1 : index
        var position = digits
        var number: UInt = 0
        while position < count, start[position] != 0x09 {
            let digit = start[position] &- 0x30
            guard digit < 10 else { return failed(0) }
            number = number &* 10 &+ UInt(digit)
            position += 1
        }
        // Nineteen digits can't overflow.
        guard position > digits, position - digits < 20,
            number <= (isNegative ? Int.min.magnitude : Int.max.magnitude)
        else { return failed(0) }
        index = position + 1
        return Int(truncatingIfNeeded: isNegative ? 0 &- number : number)
    }

    /// Reads a field that all other fields follow, until the end of the line.
    mutating func rest<Field>(_ next: (inout FieldReader) -> Field) -> [Field] {
        var fields: [Field] = []
        while index <= count { fields.append(next(&self)) }
        return fields
    }

    mutating func issue() -> TestIssue? {
        guard let kind = TestIssue.Kind(rawValue: text()) else { return nil }
        var issue = TestIssue(
            kind: kind, path: text(), line: number(), column: number(), got: text(), expected: text(), message: text())
        let isKnown = number() == 1
        let reason = text()
        if isKnown { issue.knownReason = reason }
        if number() == 1 { issue.texts = TestIssue.ComparedTexts(golden: text(), got: text(), expected: text()) }
        issue.notes = rest { $0.text() }
        return issue
    }

    private mutating func failed<Value>(_ value: Value) -> Value {
        index = .max
        return value
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension TestEvent: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testReadsEveryFieldOfIssues": testReadsEveryFieldOfIssues]
            + .each("testReadsEventsOfWorkers", events) { event, write in expectEqual(roundTrip(write), event) }
            + .each("testRejectsUnknownLines", unknown) { expectNil(event(Array($0.utf8))) }
            + .each("testReadsNumbersInRangeOnly", numbers) { number, known in
                expectEqual(event(Array("version\t\(number)".utf8)), known.map(TestEvent.version))
            }
    }

    private static func event(_ line: [UInt8]) -> TestEvent? { line.withUnsafeBytes { TestEvent($0) } }

    /// Writes with InClassTesting's half of the protocol and reads with this one.
    private static func roundTrip(_ write: (inout EventWriter) -> Void) -> TestEvent? {
        var writer = EventWriter(descriptor: -1)
        write(&writer)
        expectEqual(writer.buffer.last, UInt8(ascii: "\n"), "end of the line")
        expectEqual(writer.buffer.dropLast().contains(UInt8(ascii: "\n")), false, "one line")
        return event(Array(writer.buffer.dropLast()))
    }

    private static var events: [(event: TestEvent, write: (inout EventWriter) -> Void)] {
        let hostile = "a\tb\nc\\d\r\u{0}é"
        let test = PlannedTest(typeName: hostile, testName: "", testType: "unit", module: "", timeoutMilliseconds: 50)
        return [
            (.version(4), { $0.add("version", 4) }),
            (.list(test), { $0.add("list", [hostile, "unit", "", "50"]) }),
            (.planned(testName: hostile), { $0.add("planned", [hostile]) }),
            (.planned(testName: ""), { $0.add("planned", [""]) }),
            (
                .planned(testName: hostile, row: .init(table: "t\t", index: 12)),
                { $0.add("row", [hostile, "t\t", "12"]) }
            ),
            (.ready(count: 0, hash: .min + 1), { $0.add("ready", 0, .min + 1) }),
            (.directory(path: hostile), { $0.add("directory", [hostile]) }),
            (.attachment(name: hostile), { $0.add("attachment", [hostile]) }),
            (.met(place: hostile), { $0.add("met", [hostile]) }),
            (.begin(index: 7, outputStart: 9), { $0.add("begin", 7, 9) }),
            (.end(index: 7, nanoseconds: .max, outputEnd: 12), { $0.add("end", 7, .max, 12) }),
            (.end(index: 0, nanoseconds: -123, outputEnd: 0), { $0.add("end", 0, -123, 0) }),
            (.skip(reason: hostile), { $0.add("skip", [hostile]) }),
            (.idle, { $0.add("idle") }), (.changed, { $0.add("changed") }),
            (.finished, { $0.add("finished") }),
            (.crash(signal: 11, frames: [1, 2]), { $0.add("crash", 11, 1, 2) }),
            (.exit(frames: []), { $0.add("exit") }),
            (.untested(typeName: "T", reason: hostile), { $0.add("untested", ["T", hostile]) }),
            (.untested(typeName: "T", reason: nil), { $0.add("untested", ["T", ""]) }),
        ]
    }

    private static func testReadsEveryFieldOfIssues() {
        var recorded = RecordedIssue(
            place: CallPlace("/a b.swift", 3, 14), got: "4\t", expected: "5\n", message: "m\\",
            notes: ["one\ttwo", ""], knownReason: "")
        var issue = TestIssue(
            kind: .expectation, path: "/a b.swift", line: 3, column: 14, got: "4\t", expected: "5\n", message: "m\\",
            notes: ["one\ttwo", ""], knownReason: "")
        for (golden, text) in [(nil, ""), ("", "a\r\n\tb\\"), ("/g\t", "")] {
            recorded.texts = golden.flatMap { ComparedTexts(golden: $0, got: text, expected: "\n") }
            issue.texts = golden.map { TestIssue.ComparedTexts(golden: $0, got: text, expected: "\n") }
            for index in [0, 3, nil] {
                expectEqual(roundTrip { $0.add(recorded, of: index) }, .issue(index: index, issue))
            }
        }
    }

    private static let unknown = [
        "", "unknown", "begin", "begin\tx\t0", "begin\t1\t2\t3", "begin\t\t1", "end\t1", "end\t", "planned",
        "planned\ta\tb", "row\ta\tb", "row\ta\tb\tc", "skip", "idle\t1", "ready\t",
        "version\t99999999999999999999", "skip\ta\\x", "issue\t0\tnothing\t\t0\t0\t\t\t\t0\t\t0",
        "issue\t0\texpectation\t\t0\t0\t\t\t\t0\t", "issue\t0\texpectation\t\t0\t0\t\t\t\t0\t\t1\ta\tb", "skip\ta\\",
    ]

    private static let numbers = [
        ("\(Int.max)", Int.max), ("\(Int.min)", .min), ("9223372036854775808", nil), ("-9223372036854775809", nil),
        ("99999999999999999999", nil), ("-", nil), ("-0", 0), ("-999999999999999999", -999_999_999_999_999_999),
    ]
}
#endif
