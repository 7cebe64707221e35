// What one failure of a test is, on the wire and in every report.

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
    /// The name of the signal of a crash; found by the supervisor, never on the wire.
    package var signal: String?
    /// Where the code that failed was called from, innermost first; found by the supervisor, never on the wire.
    package var callers: [SourcePlace] = []
    /// What to write in the source to make the expectation met; found by the supervisor, never on the wire.
    package var fixIt: SourceFixIt?
    /// Not nil inside `withKnownIssue`, where an issue is what is expected.
    package var knownReason: String?
    /// What was compared, where it was texts.
    package var texts: ComparedTexts?

    /// Two texts that were compared, whole.
    package struct ComparedTexts: Equatable, Sendable {
        /// The file that holds what was expected, or is to hold it; empty for a literal.
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
        kind: Kind, path: String = "", line: Int = 0, column: Int = 0, got: String, expected: String,
        message: String = "", notes: [String] = [], knownReason: String? = nil, texts: ComparedTexts? = nil
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
        self.texts = texts
    }

    /// Where it is, with an empty path or with zeros for what is not known.
    package var place: SourcePlace { SourcePlace(path: path, line: line, column: column) }

    /// Where it is, if that is known; at the line's beginning if only the line is.
    package var knownPlace: SourcePlace? {
        path.isEmpty || line < 1 ? nil : SourcePlace(path: path, line: line, column: max(column, 1))
    }

    /// A Boolean value that indicates whether it compares nothing: `fail` has only a message.
    package var isPlain: Bool { kind == .expectation && got.isEmpty && expected.isEmpty }
}
