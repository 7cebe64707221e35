// Defines an issue of a test, in the form of events and reports.

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
    /// The absolute path, or an empty string if only the test is known.
    package var path: String
    /// The line, from 1, or 0 if only the test is known.
    package var line: Int
    /// The column in UTF-8 bytes, from 1, or 0 if only the test is known.
    package var column: Int
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

    /// The position, with an empty path or zeros for unknown parts.
    package var place: SourcePlace { SourcePlace(path: path, line: line, column: column) }

    /// The position, or nil if it is unknown. If only the line is known, it is the beginning of the line.
    package var knownPlace: SourcePlace? {
        path.isEmpty || line < 1 ? nil : SourcePlace(path: path, line: line, column: max(column, 1))
    }

    /// A Boolean value that indicates whether the issue compares values. The message of any other issue is its whole
    /// description, as for `fail`.
    package var isComparison: Bool { !got.isEmpty || !expected.isEmpty }
}
