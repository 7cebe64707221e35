// The events that a supervisor sends to reports: the worker's events with their test, a source position for every issue, and
// the output of a test. Every report is computed from these events.

/// A position in a source file.
package struct SourcePlace: Equatable, Hashable, Sendable {
    /// An absolute path.
    package var path: String
    /// The line, from 1.
    package var line: Int
    /// The column in UTF-8 bytes, from 1.
    package var column: Int

    package init(path: String, line: Int, column: Int) {
        self.path = path
        self.line = line
        self.column = column
    }

    /// The position as `path:line:column`, as a worker sends it.
    package var text: String { "\(path):\(line):\(column)" }
}

/// A part of a source line and its replacement.
package struct SourceFixIt: Equatable, Sendable {
    package var start: SourcePlace
    /// The position after the last replaced byte. For an insertion, it is equal to the start.
    package var end: SourcePlace
    package var text: String

    package init(start: SourcePlace, end: SourcePlace, text: String) {
        self.start = start
        self.end = end
        self.text = text
    }

    /// Creates a fix-it that inserts a text at a position.
    package init(at place: SourcePlace, inserting text: String) { self.init(start: place, end: place, text: text) }
}

/// The result of a test.
package struct TestResult: Equatable, Sendable {
    package enum Outcome: String, Sendable { case passed, failed, skipped }

    package var test: PlannedTest
    package var outcome: Outcome
    /// The issues in the order of their recording, including known issues.
    package var issues: [TestIssue] = []
    package var skipReason: String?
    package var nanoseconds = 0
    /// The output of the test and its child processes, if the test failed.
    package var output: [UInt8] = []
    /// The number of bytes of output that were left out before `output`.
    package var omittedOutputCount = 0
    /// The paths of the files that the test has attached, which are kept if the test failed.
    package var attachments: [String] = []
    /// The earlier runs of the same test, oldest first. Empty unless the test was run again.
    package var earlierAttempts: [TestResult] = []

    package init(test: PlannedTest, outcome: Outcome) {
        self.test = test
        self.outcome = outcome
    }

    /// A Boolean value that indicates whether the test passed without issues and at the first attempt.
    package var isPlainPass: Bool { outcome == .passed && issues.isEmpty && earlierAttempts.isEmpty }

    /// A Boolean value that indicates whether the test passed, but not at the first attempt.
    package var isFlaky: Bool { outcome == .passed && earlierAttempts.contains { $0.outcome == .failed } }
}

/// A mistake in the sources that doesn't fail a test.
package struct SourceWarning: Equatable, Sendable {
    package var place: SourcePlace
    package var text: String
    /// The insertion that fixes the mistake.
    package var fixIt: SourceFixIt?

    package init(place: SourcePlace, text: String, fixIt: SourceFixIt? = nil) {
        self.place = place
        self.text = text
        self.fixIt = fixIt
    }
}

/// One event of a run. Reports receive the events in order.
package enum RunEvent: Sendable {
    /// The selected tests of a module, in the order they run.
    case planned(module: String, tests: [PlannedTest])
    case began(PlannedTest)
    case ended(TestResult)
    /// An issue of a test after its end. The test counts as failed.
    case failedLate(PlannedTest, TestIssue)
    /// An issue that doesn't belong to a test: it concerns a list or the whole module.
    case moduleIssue(module: String, TestIssue)
    case warning(SourceWarning)

    /// A Boolean value that indicates whether the event makes the run fail.
    package var isFailure: Bool {
        switch self {
        case .ended(let result): result.outcome == .failed
        case .failedLate, .moduleIssue: true
        case .planned, .began, .warning: false
        }
    }
}

/// An issue of a test.
package struct TestIssue: Equatable, Sendable {
    /// The cause of an issue.
    package enum Kind: String, Sendable {
        /// A failed expectation.
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
    /// The position. If only the test is known, the path is empty, and the line and the column are 0.
    package var place: SourcePlace
    /// The actual value of a comparison.
    package var got: String
    /// The expected value of a comparison.
    package var expected: String
    /// The subject of a comparison, or the description of any other issue.
    package var message: String
    /// Details that do not fit on the first line.
    package var notes: [String]
    /// The name of the signal of a crash. The supervisor finds it; it is never sent.
    package var signal: String?
    /// The positions of the calls that led to the failed code, innermost first. The supervisor finds them; they are never
    /// sent.
    package var callers: [SourcePlace] = []
    /// The change of the source that makes the expectation pass. The supervisor finds it; it is never sent.
    package var fixIt: SourceFixIt?
    /// The reason of the known issue, or nil outside `withKnownIssue`.
    package var knownReason: String?
    /// The compared texts, or nil if the values aren't texts.
    package var texts: ComparedTexts?

    /// Two complete texts that were compared.
    package struct ComparedTexts: Equatable, Sendable {
        /// The path of the golden file for the expected text, which may not exist yet, or an empty string for a literal.
        package var golden: String
        package var got: String
        package var expected: String

        package init(golden: String = "", got: String, expected: String) {
            self.golden = golden
            self.got = got
            self.expected = expected
        }
    }

    package init(
        kind: Kind, path: String = "", line: Int = 0, column: Int = 0, got: String = "", expected: String = "",
        message: String = "", notes: [String] = [], knownReason: String? = nil, texts: ComparedTexts? = nil
    ) {
        self.kind = kind
        place = SourcePlace(path: path, line: line, column: column)
        self.got = got
        self.expected = expected
        self.message = message
        self.notes = notes
        self.knownReason = knownReason
        self.texts = texts
    }

    /// The position, or nil if it is unknown. If only the line is known, it is the beginning of the line.
    package var knownPlace: SourcePlace? {
        place.path.isEmpty || place.line < 1
            ? nil : SourcePlace(path: place.path, line: place.line, column: max(place.column, 1))
    }

    /// A Boolean value that indicates whether the issue compares values. The message of any other issue is its whole
    /// description, as for `fail`.
    package var isComparison: Bool { !got.isEmpty || !expected.isEmpty }
}
