// What a supervisor tells its reporters: the worker's events with the test they belong to, a place in the sources for
// every issue, and the output a test left behind. Reporters are folds over these.

/// A place in a source file.
package struct SourcePlace: Equatable, Hashable, Sendable {
    /// An absolute path.
    package var path: String
    /// From 1.
    package var line: Int
    /// In UTF-8 bytes, from 1.
    package var column: Int

    package init(path: String, line: Int, column: Int) {
        self.path = path
        self.line = line
        self.column = column
    }

    /// `path:line:column`, as a worker says it.
    package var text: String { "\(path):\(line):\(column)" }
}

/// A part of a source line and what to write there instead.
package struct SourceFixIt: Equatable, Sendable {
    package var start: SourcePlace
    /// Behind the last byte that is replaced; the start itself when something is inserted.
    package var end: SourcePlace
    package var text: String

    package init(start: SourcePlace, end: SourcePlace, text: String) {
        self.start = start
        self.end = end
        self.text = text
    }

    /// Inserts a text at a place.
    package init(at place: SourcePlace, inserting text: String) { self.init(start: place, end: place, text: text) }
}

/// How a test ended.
package struct TestResult: Equatable, Sendable {
    package enum Outcome: String, Sendable { case passed, failed, skipped }

    package var test: PlannedTest
    package var outcome: Outcome
    /// Issues in the order they were recorded, known ones included.
    package var issues: [TestIssue] = []
    package var skipReason: String?
    package var nanoseconds = 0
    /// What the test and its children wrote, when the test failed.
    package var output: [UInt8] = []
    /// How many bytes of output were left out before `output`.
    package var omittedOutputCount = 0
    /// The paths of the files that the test has attached and that are kept, when the test failed.
    package var attachments: [String] = []
    /// The runs before the one that this result tells of, oldest first; empty unless the test was run again.
    package var earlierAttempts: [TestResult] = []

    package init(test: PlannedTest, outcome: Outcome) {
        self.test = test
        self.outcome = outcome
    }

    /// A Boolean value that indicates whether there is nothing to say of the test but that it passed.
    package var isPlainPass: Bool { outcome == .passed && issues.isEmpty && earlierAttempts.isEmpty }

    /// A Boolean value that indicates whether the test passed, but not at the first attempt.
    package var isFlaky: Bool { outcome == .passed && earlierAttempts.contains { $0.outcome == .failed } }
}

/// Something a person should mend that does not fail a test.
package struct SourceWarning: Equatable, Sendable {
    package var place: SourcePlace
    package var text: String
    /// What to insert at a place to mend it.
    package var fixIt: SourceFixIt?

    package init(place: SourcePlace, text: String, fixIt: SourceFixIt? = nil) {
        self.place = place
        self.text = text
        self.fixIt = fixIt
    }
}

/// One event of a run, in the order reporters see them.
package enum RunEvent: Sendable {
    /// The selected tests of a module, in the order they run.
    case planned(module: String, tests: [PlannedTest])
    case began(PlannedTest)
    case ended(TestResult)
    /// A failure of a test that had ended, which makes it a failed test.
    case failedLate(PlannedTest, TestIssue)
    /// A failure that belongs to no test: of a list, or of the module as a whole.
    case moduleIssue(module: String, TestIssue)
    case warning(SourceWarning)

    /// A Boolean value that indicates whether the event makes the run red.
    package var isFailure: Bool {
        switch self {
        case .ended(let result): result.outcome == .failed
        case .failedLate, .moduleIssue: true
        case .planned, .began, .warning: false
        }
    }
}
