// The issue that a failed expectation records, and its form in the worker protocol and in shared memory.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// The position of a call in a source file.
package struct CallPlace: Equatable, Sendable {
    package var path: String
    package var line: Int
    package var column: Int

    /// An unknown position: the supervisor reports the issue at the declaration of the test.
    package static let test = CallPlace(path: "", line: 0, column: 0)
}

extension CallPlace {
    package init(_ file: StaticString, _ line: UInt, _ column: UInt) {
        self.init(path: file.description, line: Int(line), column: Int(column))
    }
}

/// An issue with the expected and the actual value.
package struct RecordedIssue: Equatable, Sendable {
    package enum Kind: String, Sendable { case expectation, thrownError, list }

    package var kind: Kind
    package var place: CallPlace
    package var got: String
    package var expected: String
    package var message: String
    package var notes: [String]
    package var knownReason: String?
    package var texts: ComparedTexts?

    package init(
        kind: Kind = .expectation, place: CallPlace, got: String = "", expected: String = "", message: String = "",
        notes: [String] = [], knownReason: String? = nil, texts: ComparedTexts? = nil
    ) {
        self.kind = kind
        self.place = place
        self.got = got
        self.expected = expected
        self.message = abridged(message, to: messageCharacterCountMax)
        self.notes = notes
        self.knownReason = knownReason
        self.texts = texts
    }

    /// All properties as text, in the order of the event's fields.
    package var fields: [String] {
        var fields = [
            kind.rawValue, place.path, String(place.line), String(place.column), got, expected, message,
            knownReason == nil ? "0" : "1", knownReason ?? "", texts == nil ? "0" : "1",
        ]
        if let texts { fields += [texts.golden, texts.got, texts.expected] }
        return fields + notes
    }

    /// Creates an issue from its fields, or returns nil if fields are missing.
    init?(fields: [String]) {
        guard fields.count >= 10, let kind = Kind(rawValue: fields[0]), let line = Int(fields[2]),
            let column = Int(fields[3])
        else { return nil }
        self.init(
            kind: kind, place: CallPlace(path: fields[1], line: line, column: column), got: fields[4],
            expected: fields[5], message: fields[6], knownReason: fields[7] == "1" ? fields[8] : nil)
        var notes = fields[10...]
        if fields[9] == "1", notes.count >= 3 {
            let compared = Array(notes.prefix(3))
            texts = ComparedTexts(golden: compared[0], got: compared[1], expected: compared[2])
            notes = notes.dropFirst(3)
        }
        self.notes = Array(notes)
    }

    /// A description of the issue in a sentence.
    var text: String {
        if got.isEmpty, expected.isEmpty {
            return message.isEmpty ? "failed" : escaped(message)
        }
        return "got \(got) instead of expected \(expected)" + (message.isEmpty ? "" : " for \(escaped(message))")
    }
}

/// Two complete texts that were compared, so that the actual text can replace the expected text.
package struct ComparedTexts: Equatable, Sendable {
    /// The maximum number of bytes of each text.
    static let byteCountMax = 1 << 20

    /// The path of the golden file for the expected text, which may not exist yet, or an empty string for a literal.
    package var golden: String
    package var got: String
    package var expected: String

    package init?(golden: String = "", got: String, expected: String) {
        guard max(got.utf8.count, expected.utf8.count) <= Self.byteCountMax else { return nil }
        self.golden = golden
        self.got = got
        self.expected = expected
    }

    /// Returns nil if the values aren't texts.
    init?(_ got: Any, _ expected: Any) {
        guard let got = wholeText(got), let expected = wholeText(expected) else { return nil }
        self.init(got: got, expected: expected)
    }
}

/// Shared memory that passes issues from a child process to its parent. Issues can't be lost because of a full pipe, a
/// closed descriptor or the end of the child.
struct ChildIssues {
    private static let size = 1 << 20

    // SAFETY: mapped until `free`. The first word is the number of bytes after the header, the second the number of issues
    // that found no space. Then come the issues. The bytes 0xFF and 0xFE, which UTF-8 doesn't contain, separate fields and
    // end issues.
    private let memory: UnsafeMutableRawPointer
    private static let header = 2 * MemoryLayout<Int>.size

    /// Maps the memory, or returns nil if the system has no memory.
    init?() {
        guard let memory = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
            memory != MAP_FAILED
        else { return nil }
        self.memory = memory
    }

    func free() { munmap(memory, Self.size) }

    private var counts: UnsafeMutablePointer<Int> { memory.assumingMemoryBound(to: Int.self) }

    /// Adds the fields of an issue, or only the reason of a skip. Call it in the child.
    func add(_ fields: [String]) {
        let bytes = fields.map { Array($0.utf8) }.joined(separator: [0xFF]) + [0xFE]
        let used = counts[0]
        guard used >= 0, bytes.count <= Self.size - Self.header - used else {
            counts[1] += 1
            return
        }
        memcpy(memory + Self.header + used, bytes, bytes.count)
        counts[0] = used + bytes.count
    }

    /// The issues that the child has added. Use it in the parent.
    var all: [[String]] {
        let used = UnsafeRawBufferPointer(
            start: memory + Self.header, count: min(max(counts[0], 0), Self.size - Self.header))
        // Processes that write at the same time may destroy an issue.
        var issues = used.split(separator: 0xFE).map { issue in
            issue.split(separator: 0xFF, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
        }.filter { $0.count == 1 || RecordedIssue(fields: $0) != nil }
        if counts[1] > 0 {
            issues.append(
                RecordedIssue(
                    place: .test, got: "", expected: "", message: "\(counts[1]) more issues of the child process"
                ).fields)
        }
        return issues
    }
}

// MARK: - In-class tests

#if SELF_TESTS
extension RecordedIssue: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testFieldsRestoreTheWholeIssue": testFieldsRestoreTheWholeIssue]
    }

    private static func testFieldsRestoreTheWholeIssue() {
        var issue = RecordedIssue(
            kind: .thrownError, place: CallPlace("/a", 3, 14), got: "4", expected: "5", message: "m", notes: ["n", ""],
            knownReason: "")
        expectEqual(RecordedIssue(fields: issue.fields), issue)
        issue.texts = ComparedTexts(golden: "/g", got: "a\n", expected: "")
        expectEqual(RecordedIssue(fields: issue.fields), issue)
        expectNil(RecordedIssue(fields: []))
    }
}
#endif

#endif
