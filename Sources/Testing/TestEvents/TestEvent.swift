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
/// them. `stray` may be sent at any time. A dying worker first sends `crash` or `exit` if it can.
package enum TestEvent: Equatable, Sendable {
    /// The version of this protocol. A reader rejects any other version.
    case version(Int)
    /// The list of the following `planned` and `row` events, with all fields that they don't contain.
    case list(PlannedTest)
    case planned(testName: String)
    case row(testName: String, PlannedTest.TableRow)
    /// The end of the plan, with its number of tests and a hash of its lines.
    case ready(count: Int, hash: Int)
    /// The begin of a test. Its output starts at this offset of the worker's output file.
    case begin(index: Int, outputStart: Int)
    /// The test has a temporary directory.
    case directory(path: String)
    /// The test has written a file into that directory, to be kept if the test fails.
    case attachment(name: String)
    /// The position of a passed expectation, `path:line:column`, or the path of a golden file that matched. Sent once for
    /// each, only when values may be accepted.
    case met(place: String)
    case issue(TestIssue)
    /// An issue of this test, which may have ended, or of an unknown test.
    case stray(index: Int?, TestIssue)
    case skip(reason: String)
    case end(index: Int, nanoseconds: Int, outputEnd: Int)
    case idle
    /// A test has changed the state of its process. The worker ends and runs no further tests.
    case changed
    /// A crash with its return addresses, relative to the start of the image, innermost first.
    case crash(signal: Int, frames: [Int])
    case exit(frames: [Int])
    /// A type without tests to run. Its list is empty, or the reason is given.
    case untested(typeName: String, reason: String?)

    package static let currentVersion = 7
}

// MARK: - Reading

extension TestEvent {
    /// Creates an event from one line without its newline, or returns nil if the line isn't an event of this version.
    ///
    /// - Complexity: O(length of the line).
    package init?(line: UnsafeRawBufferPointer) {
        switch EventLine(line) {
        case .begin(let index, let outputStart): self = .begin(index: index, outputStart: outputStart)
        case .end(let index, let nanoseconds, let outputEnd):
            self = .end(index: index, nanoseconds: nanoseconds, outputEnd: outputEnd)
        case .event(let event): self = event
        case .unknown: return nil
        }
    }

    /// Creates an event from one line without its newline, or returns nil if the line isn't an event of this version.
    package init?(line: [UInt8]) {
        guard let event = line.withUnsafeBytes(TestEvent.init(line:)) else { return nil }
        self = event
    }

    fileprivate init?(reader start: FieldReader) {
        var reader = start
        if reader.skip("planned\t") {
            guard let testName = reader.next(), reader.isAtEnd else { return nil }
            self = .planned(testName: testName)
            return
        }
        guard let kind = reader.next(), let event = Self.event(kind, &reader), reader.isAtEnd else { return nil }
        self = event
    }

    private static func event(_ kind: String, _ reader: inout FieldReader) -> TestEvent? {
        switch kind {
        case "list":
            guard let typeName = reader.next(), let testType = reader.next(), let module = reader.next(),
                let timeout = reader.nextNumber()
            else { return nil }
            return .list(
                PlannedTest(
                    typeName: typeName, testName: "", testType: testType, module: module, timeoutMilliseconds: timeout))
        case "row":
            guard let testName = reader.next(), let table = reader.next(), let index = reader.nextNumber() else {
                return nil
            }
            return .row(testName: testName, PlannedTest.TableRow(table: table, index: index))
        case "issue":
            return reader.nextIssue().map(TestEvent.issue)
        case "stray":
            guard let index = reader.nextNumber(), let issue = reader.nextIssue() else { return nil }
            return .stray(index: index < 0 ? nil : index, issue)
        case "version":
            return reader.nextNumber().map(TestEvent.version)
        case "ready":
            guard let count = reader.nextNumber(), let hash = reader.nextNumber() else { return nil }
            return .ready(count: count, hash: hash)
        case "directory":
            return reader.next().map(TestEvent.directory(path:))
        case "attachment":
            return reader.next().map(TestEvent.attachment(name:))
        case "met":
            return reader.next().map(TestEvent.met(place:))
        case "skip":
            return reader.next().map(TestEvent.skip(reason:))
        case "idle":
            return .idle
        case "changed":
            return .changed
        case "crash":
            guard let signal = reader.nextNumber(), let frames = reader.remainingNumbers() else { return nil }
            return .crash(signal: signal, frames: frames)
        case "exit":
            return reader.remainingNumbers().map(TestEvent.exit(frames:))
        case "untested":
            guard let typeName = reader.next(), let reason = reader.next() else { return nil }
            return .untested(typeName: typeName, reason: reason.isEmpty ? nil : reason)
        default:
            return nil
        }
    }
}

/// The contents of one line without its newline.
// PERF: `begin` and `end` are as frequent as all other events together. They are small values without references, and they
// are recognized without creating a String. So a debug build reads them in a fifth of the time of a TestEvent.
package enum EventLine {
    case begin(index: Int, outputStart: Int)
    case end(index: Int, nanoseconds: Int, outputEnd: Int)
    /// Any other event.
    indirect case event(TestEvent)
    /// A line that isn't an event of this version.
    case unknown

    package init(_ line: UnsafeRawBufferPointer) {
        self = .unknown
        guard var reader = FieldReader(line: line) else { return }
        if reader.skip("begin\t") {
            guard let index = reader.nextNumber(), let outputStart = reader.nextNumber(), reader.isAtEnd else { return }
            self = .begin(index: index, outputStart: outputStart)
        } else if reader.skip("end\t") {
            guard let index = reader.nextNumber(), let nanoseconds = reader.nextNumber(),
                let outputEnd = reader.nextNumber(), reader.isAtEnd
            else { return }
            self = .end(index: index, nanoseconds: nanoseconds, outputEnd: outputEnd)
        } else if let event = TestEvent(reader: reader) {
            self = .event(event)
        }
    }
}

/// Reads the fields of a line. The memory outlives the reader.
private struct FieldReader {
    private static let tab: Int32 = 0x09
    private static let backslash: Int32 = 0x5C

    // SAFETY: every read is at an index below `count`, the number of bytes in the line.
    let start: UnsafePointer<UInt8>
    let count: Int
    var index = 0

    init?(line: UnsafeRawBufferPointer) {
        guard let base = line.baseAddress else { return nil }
        start = base.assumingMemoryBound(to: UInt8.self)
        count = line.count
    }

    var isAtEnd: Bool { index > count }

    /// Skips a kind of event and its tab if the line begins with them.
    mutating func skip(_ kind: StaticString) -> Bool {
        let length = kind.utf8CodeUnitCount
        guard count >= length, memcmp(start, kind.utf8Start, length) == 0 else { return false }
        index = length
        return true
    }

    /// The end of the field that begins at the index.
    private var fieldEnd: Int {
        guard let found = memchr(start + index, Self.tab, count - index) else { return count }
        return UnsafeRawPointer(found) - UnsafeRawPointer(start)
    }

    mutating func next() -> String? {
        guard index <= count else { return nil }
        let end = fieldEnd
        let field = UnsafeBufferPointer(start: start + index, count: end - index)
        index = end + 1
        if field.isEmpty { return "" }
        if memchr(start + (end - field.count), Self.backslash, field.count) != nil { return Self.unescaped(field) }
        return String(decoding: field, as: UTF8.self)
    }

    private static func unescaped(_ field: UnsafeBufferPointer<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var isEscaped = false
        for byte in field {
            if isEscaped {
                switch byte {
                case UInt8(ascii: "t"): bytes.append(UInt8(ascii: "\t"))
                case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
                case UInt8(ascii: "r"): bytes.append(UInt8(ascii: "\r"))
                case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
                default: return nil
                }
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else {
                bytes.append(byte)
            }
        }
        return isEscaped ? nil : String(decoding: bytes, as: UTF8.self)
    }

    mutating func nextNumber() -> Int? {
        guard index < count else { return nil }
        var position = index
        var number: UInt = 0
        let isNegative = start[position] == 0x2D
        if isNegative { position += 1 }
        let digits = position
        // PERF: 18 digits can't overflow, so the usual number is read without a check for each digit.
        while position < count, start[position] != 0x09 {
            let digit = start[position] &- 0x30
            guard digit < 10 else { return nil }
            if position - digits < 18 {
                number = number &* 10 &+ UInt(digit)
            } else {
                let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
                let (sum, carry) = tens.addingReportingOverflow(UInt(digit))
                guard !overflow, !carry else { return nil }
                number = sum
            }
            position += 1
        }
        guard position > digits else { return nil }
        index = position + 1
        if isNegative { return number > Int.min.magnitude ? nil : Int(truncatingIfNeeded: 0 &- number) }
        return Int(exactly: number)
    }

    mutating func remainingNumbers() -> [Int]? {
        var numbers: [Int] = []
        while !isAtEnd {
            guard let number = nextNumber() else { return nil }
            numbers.append(number)
        }
        return numbers
    }

    mutating func nextIssue() -> TestIssue? {
        guard let kindName = next(), let kind = TestIssue.Kind(rawValue: kindName), let path = next(),
            let line = nextNumber(), let column = nextNumber(), let got = next(), let expected = next(),
            let message = next(), let isKnown = nextNumber(), let knownReason = next(), let isOfTexts = nextNumber()
        else { return nil }
        var texts: TestIssue.ComparedTexts?
        if isOfTexts == 1 {
            guard let golden = next(), let got = next(), let expected = next() else { return nil }
            texts = TestIssue.ComparedTexts(golden: golden, got: got, expected: expected)
        }
        var notes: [String] = []
        while let note = next() { notes.append(note) }
        return TestIssue(
            kind: kind, path: path, line: line, column: column, got: got, expected: expected, message: message,
            notes: notes, knownReason: isKnown == 1 ? knownReason : nil, texts: texts)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension TestEvent: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testReadsWhatWorkersWrite": testReadsWhatWorkersWrite, "testReadsIssuesWhole": testReadsIssuesWhole,
        ]
            + .each("testRefusesWhatItDoesNotKnow", unknown) { expectNil(TestEvent(line: Array($0.utf8))) }
            + .each("testReadsNumbers", numbers) { number, known in
                expectEqual(TestEvent(line: Array("version\t\(number)".utf8)), known.map(TestEvent.version))
            }
    }

    /// Writes with InClassTesting's half of the protocol and reads with this one.
    private static func roundTrip(_ write: (inout EventWriter) -> Void) -> TestEvent? {
        var writer = EventWriter(descriptor: -1)
        write(&writer)
        expectEqual(writer.buffer.last, UInt8(ascii: "\n"), "end of the line")
        expectEqual(writer.buffer.dropLast().contains(UInt8(ascii: "\n")), false, "one line")
        return TestEvent(line: Array(writer.buffer.dropLast()))
    }

    private static func testReadsWhatWorkersWrite() {
        let hostile = "a\tb\nc\\d\r\u{0}é"
        let test = PlannedTest(typeName: hostile, testName: "", testType: "unit", module: "", timeoutMilliseconds: 50)
        let rows: [(TestEvent, (inout EventWriter) -> Void)] = [
            (.version(4), { $0.add("version", 4) }),
            (.list(test), { $0.add("list", [hostile, "unit", "", "50"]) }),
            (.planned(testName: hostile), { $0.add("planned", [hostile]) }),
            (.planned(testName: ""), { $0.add("planned", [""]) }),
            (.row(testName: hostile, .init(table: "t\t", index: 12)), { $0.add("row", [hostile, "t\t", "12"]) }),
            (.ready(count: 0, hash: .min + 1), { $0.add("ready", 0, .min + 1) }),
            (.directory(path: hostile), { $0.add("directory", [hostile]) }),
            (.attachment(name: hostile), { $0.add("attachment", [hostile]) }),
            (.met(place: hostile), { $0.add("met", [hostile]) }),
            (.begin(index: 7, outputStart: 9), { $0.add("begin", 7, 9) }),
            (.end(index: 7, nanoseconds: .max, outputEnd: 12), { $0.add("end", 7, .max, 12) }),
            (.end(index: 0, nanoseconds: -123, outputEnd: 0), { $0.add("end", 0, -123, 0) }),
            (.skip(reason: hostile), { $0.add("skip", [hostile]) }),
            (.idle, { $0.add("idle") }), (.changed, { $0.add("changed") }),
            (.crash(signal: 11, frames: [1, 2]), { $0.add("crash", 11, 1, 2) }),
            (.exit(frames: []), { $0.add("exit") }),
            (.untested(typeName: "T", reason: hostile), { $0.add("untested", ["T", hostile]) }),
            (.untested(typeName: "T", reason: nil), { $0.add("untested", ["T", ""]) }),
        ]
        for (event, write) in rows { expectEqual(roundTrip(write), event) }
    }

    private static func testReadsIssuesWhole() {
        var recorded = RecordedIssue(
            place: CallPlace("/a b.swift", 3, 14), got: "4\t", expected: "5\n", message: "m\\",
            notes: ["one\ttwo", ""], knownReason: "")
        var issue = TestIssue(
            kind: .expectation, path: "/a b.swift", line: 3, column: 14, got: "4\t", expected: "5\n", message: "m\\",
            notes: ["one\ttwo", ""], knownReason: "")
        for (golden, text) in [(nil, ""), ("", "a\r\n\tb\\"), ("/g\t", "")] {
            recorded.texts = golden.flatMap { ComparedTexts(golden: $0, got: text, expected: "\n") }
            issue.texts = golden.map { TestIssue.ComparedTexts(golden: $0, got: text, expected: "\n") }
            expectEqual(roundTrip { $0.add(recorded) }, .issue(issue))
            for index in [0, 3, nil] {
                expectEqual(roundTrip { $0.add(recorded, of: index) }, .stray(index: index, issue))
            }
        }
    }

    private static let unknown = [
        "", "unknown", "begin", "begin\tx\t0", "begin\t1\t2\t3", "begin\t\t1", "end\t1", "end\t", "planned",
        "planned\ta\tb", "row\ta\tb", "row\ta\tb\tc", "skip", "idle\t1", "ready\t",
        "version\t99999999999999999999", "skip\ta\\x", "issue\tnothing\t\t0\t0\t\t\t\t0\t\t0",
        "issue\texpectation\t\t0\t0\t\t\t\t0\t", "issue\texpectation\t\t0\t0\t\t\t\t0\t\t1\ta\tb", "skip\ta\\",
    ]

    private static let numbers = [
        ("\(Int.max)", Int.max), ("\(Int.min)", .min), ("9223372036854775808", nil), ("-9223372036854775809", nil),
        ("99999999999999999999", nil), ("-", nil), ("-0", 0), ("-999999999999999999", -999_999_999_999_999_999),
    ]
}
#endif
