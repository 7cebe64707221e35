// What a worker tells its supervisor, and how the supervisor reads it off the wire: one line an event, fields
// separated by tabs. The writing half is InClassTesting's EventWriter, which disappears from release builds with the
// tests; the in-class tests below run every event through both.

/// A test as its list names it.
package struct PlannedTest: Equatable, Hashable, Sendable {
    /// The type's name as a reader of the source would say it, without its module: `Outer.Inner`, `Table<Int>`.
    package var typeName: String
    /// The entry in the list.
    package var testName: String
    /// The name of the list: `unit`, or a key of `testSelectorsByType`.
    package var testType: String
    /// The module that defines the type.
    package var module: String
    /// How long it may take, or 0 for as long as any other.
    package var timeoutMilliseconds: Int

    package init(
        typeName: String, testName: String, testType: String, module: String, timeoutMilliseconds: Int = 0
    ) {
        self.timeoutMilliseconds = timeoutMilliseconds
        self.typeName = typeName
        self.testName = testName
        self.testType = testType
        self.module = module
    }

    /// `Type.test`, as diagnostics and selections write it.
    package var name: String { "\(typeName).\(testName)" }
}

/// Something that a test did not do as expected.
package struct TestIssue: Equatable, Sendable {
    /// What made the issue.
    package enum Kind: String, Sendable {
        /// An expectation was not met.
        case expectation
        /// An error was thrown out of the test, its fixture, `setUp` or `tearDown`.
        case thrownError
        /// The process died while the test ran.
        case crash
        /// The test called `exit`.
        case exit
        /// The test did not end in time.
        case timeout
        /// The list itself is wrong.
        case list
    }

    package var kind: Kind
    /// An absolute path, or empty when only the test is known.
    package var path: String
    /// From 1, or 0 when only the test is known.
    package var line: Int
    /// In UTF-8 bytes from 1, or 0 when only the test is known.
    package var column: Int
    package var got: String
    package var expected: String
    package var message: String
    /// Details that do not fit on the first line.
    package var notes: [String]
    /// Where the code that failed was called from, innermost first; found by the supervisor, never on the wire.
    package var callers: [SourcePlace] = []
    /// What to write in the source to make the expectation met; found by the supervisor, never on the wire.
    package var fixIt: SourceFixIt?
    /// Not nil inside `withKnownIssue`, where an issue is what is expected.
    package var knownReason: String?

    package init(
        kind: Kind, path: String = "", line: Int = 0, column: Int = 0, got: String, expected: String,
        message: String = "", notes: [String] = [], knownReason: String? = nil
    ) {
        self.kind = kind
        self.path = path
        self.line = line
        self.column = column
        self.got = got
        self.expected = expected
        self.message = message
        self.notes = notes
        self.knownReason = knownReason
    }
}

/// One line of the worker protocol.
///
/// A worker sends `version`, then `planned` for each test in order, `warning` for each type it cannot test, and `ready`.
/// For each run of tests it is then told to run it sends `begin`, any number of `issue` and at most one `skip`, and
/// `end` for each test, and after the last one `idle`; `late` may come at any time. A worker that dies sends `crash` or `exit` first when it can.
package enum TestEvent: Equatable, Sendable {
    /// The version of this vocabulary; a reader refuses any other.
    case version(Int)
    case planned(PlannedTest)
    /// The end of the plan, with the number of `planned` lines before it.
    case ready(count: Int)
    /// A test begins; what it writes goes behind this offset of the worker's output file.
    case begin(index: Int, outputStart: Int)
    case issue(TestIssue)
    /// An issue that something left behind by an earlier test has found, whatever runs now.
    case late(index: Int, TestIssue)
    case skip(reason: String)
    case end(index: Int, nanoseconds: Int, outputEnd: Int)
    case idle
    /// Return addresses relative to the start of the image, innermost first.
    case crash(signal: Int, frames: [Int])
    case exit(frames: [Int])
    /// Something about a type's list that the reader of the list should know.
    case warning(typeName: String, text: String)

    package static let currentVersion = 2
}

// MARK: - Reading

extension TestEvent {
    /// Creates an event from one line without its newline, or nil when the line is not an event of this version.
    ///
    /// - Complexity: O(length of the line).
    package init?(line: UnsafeRawBufferPointer) {
        self.init(reader: FieldReader(line: line))
    }

    /// Creates an event from one line without its newline, or nil when the line is not an event of this version.
    package init?(line: [UInt8]) {
        guard let event = line.withUnsafeBytes(TestEvent.init(line:)) else { return nil }
        self = event
    }

    private init?(reader start: FieldReader) {
        var reader = start
        guard let kind = reader.next() else { return nil }
        switch kind {
        case "begin":
            guard let index = reader.nextNumber(), let outputStart = reader.nextNumber() else { return nil }
            self = .begin(index: index, outputStart: outputStart)
        case "end":
            guard let index = reader.nextNumber(), let nanoseconds = reader.nextNumber(),
                let outputEnd = reader.nextNumber()
            else { return nil }
            self = .end(index: index, nanoseconds: nanoseconds, outputEnd: outputEnd)
        case "planned":
            guard let typeName = reader.next(), let testName = reader.next(), let testType = reader.next(),
                let module = reader.next(), let timeout = reader.nextNumber()
            else { return nil }
            self = .planned(
                PlannedTest(
                    typeName: typeName, testName: testName, testType: testType, module: module,
                    timeoutMilliseconds: timeout))
        case "issue":
            guard let issue = reader.nextIssue() else { return nil }
            self = .issue(issue)
        case "late":
            guard let index = reader.nextNumber(), let issue = reader.nextIssue() else { return nil }
            self = .late(index: index, issue)
        case "version":
            guard let number = reader.nextNumber() else { return nil }
            self = .version(number)
        case "ready":
            guard let count = reader.nextNumber() else { return nil }
            self = .ready(count: count)
        case "skip":
            guard let reason = reader.next() else { return nil }
            self = .skip(reason: reason)
        case "idle":
            self = .idle
        case "crash":
            guard let signal = reader.nextNumber(), let frames = reader.remainingNumbers() else { return nil }
            self = .crash(signal: signal, frames: frames)
        case "exit":
            guard let frames = reader.remainingNumbers() else { return nil }
            self = .exit(frames: frames)
        case "warning":
            guard let typeName = reader.next(), let text = reader.next() else { return nil }
            self = .warning(typeName: typeName, text: text)
        default:
            return nil
        }
        guard reader.isAtEnd else { return nil }
    }
}

private struct FieldReader {
    let line: UnsafeRawBufferPointer
    var index = 0

    init(line: UnsafeRawBufferPointer) { self.line = line }

    var isAtEnd: Bool { index > line.count }

    mutating func next() -> String? {
        guard index <= line.count else { return nil }
        var end = index
        var hasEscape = false
        while end < line.count, line[end] != UInt8(ascii: "\t") {
            if line[end] == UInt8(ascii: "\\") { hasEscape = true }
            end += 1
        }
        let field = UnsafeRawBufferPointer(rebasing: line[index..<end])
        index = end + 1
        return hasEscape ? Self.unescaped(field) : String(decoding: field, as: UTF8.self)
    }

    private static func unescaped(_ field: UnsafeRawBufferPointer) -> String? {
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
        guard index < line.count else { return nil }
        var end = index
        var number = 0
        let isNegative = line[end] == UInt8(ascii: "-")
        if isNegative { end += 1 }
        let digits = end
        while end < line.count, line[end] != UInt8(ascii: "\t") {
            let digit = line[end] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(Int(digit))
            guard !overflow, !carry else { return nil }
            number = sum
            end += 1
        }
        guard end > digits else { return nil }
        index = end + 1
        return isNegative ? -number : number
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
            let message = next(), let isKnown = nextNumber(), let knownReason = next()
        else { return nil }
        var notes: [String] = []
        while let note = next() { notes.append(note) }
        return TestIssue(
            kind: kind, path: path, line: line, column: column, got: got, expected: expected, message: message,
            notes: notes, knownReason: isKnown == 1 ? knownReason : nil)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension TestEvent: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testReadsWhatWorkersWrite": testReadsWhatWorkersWrite,
            "testReadsIssuesWhole": testReadsIssuesWhole,
            "testRefusesWhatItDoesNotKnow": testRefusesWhatItDoesNotKnow,
        ]
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
        let test = PlannedTest(
            typeName: hostile, testName: "t", testType: "unit", module: "", timeoutMilliseconds: 50)
        let rows: [(TestEvent, (inout EventWriter) -> Void)] = [
            (.version(1), { $0.add("version", 1) }),
            (.planned(test), { $0.add("planned", [hostile, "t", "unit", "", "50"]) }),
            (.ready(count: 0), { $0.add("ready", 0) }),
            (.begin(index: 7, outputStart: 9), { $0.add("begin", 7, 9) }),
            (.end(index: 7, nanoseconds: .max, outputEnd: 12), { $0.add("end", 7, .max, 12) }),
            (.skip(reason: hostile), { $0.add("skip", [hostile]) }),
            (.idle, { $0.add("idle") }),
            (.crash(signal: 11, frames: [1, 2]), { $0.add("crash", 11, 1, 2) }),
            (.exit(frames: []), { $0.add("exit") }),
            (.warning(typeName: "T", text: hostile), { $0.add("warning", ["T", hostile]) }),
        ]
        for (event, write) in rows { expectEqual(roundTrip(write), event) }
    }

    private static func testReadsIssuesWhole() {
        let recorded = RecordedIssue(
            place: CallPlace("/a b.swift", 3, 14), got: "4\t", expected: "5\n", message: "m\\",
            notes: ["one\ttwo", ""], knownReason: "")
        let issue = TestIssue(
            kind: .expectation, path: "/a b.swift", line: 3, column: 14, got: "4\t", expected: "5\n", message: "m\\",
            notes: ["one\ttwo", ""], knownReason: "")
        expectEqual(roundTrip { $0.add(recorded) }, .issue(issue))
        expectEqual(roundTrip { $0.add(recorded, after: 3) }, .late(index: 3, issue))
    }

    private static func testRefusesWhatItDoesNotKnow() {
        let lines = [
            "", "unknown", "begin", "begin\tx\t0", "begin\t1\t2\t3", "end\t1", "skip", "idle\t1", "ready\t",
            "version\t99999999999999999999", "skip\ta\\x", "issue\tnothing\t\t0\t0\t\t\t\t0\t", "skip\ta\\",
        ]
        for line in lines { expectNil(TestEvent(line: Array(line.utf8)), line) }
    }
}
#endif
