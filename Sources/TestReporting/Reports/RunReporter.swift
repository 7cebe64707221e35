// What the reporters for other programs have in common: they are folds over a run's events that can be closed at any
// moment, and they rank issues alike.
//
// A test's way through this module begins with the RunEvent of its result: every RunReporter takes it, and last of all
// TerminalText, for whose lines DiagnosticText finds the words. All of the way is in the overview of InClassTesting.

import TestEvents

/// Makes text of a run's events for one kind of reader.
///
/// A reporter does nothing but make text: it knows no clock, no file and no environment, so the same events always
/// make the same text, and any number of reporters can follow one run.
package protocol RunReporter: Sendable {
    /// Takes the next event.
    ///
    /// - Returns: lines to write right away, without their newlines.
    mutating func add(_ event: RunEvent) -> [String]

    /// Makes what is to be written after the last event, without changing the reporter.
    ///
    /// - Returns: whole lines, with their newlines.
    func closingText(_ end: RunEnd) -> String
}

extension Sequence<String> {
    /// The lines as text, each with its newline.
    package var joinedLines: String { map { "\($0)\n" }.joined() }
}

/// How a run came to its end.
package struct RunEnd: Equatable, Sendable {
    /// Why tests that were planned have no result, such as `Timed out`; nil for a run that was not cut short.
    package var earlyReason: String?
    /// How long the run took.
    package var nanoseconds: Int

    package init(earlyReason: String? = nil, nanoseconds: Int = 0) {
        self.earlyReason = earlyReason
        self.nanoseconds = nanoseconds
    }

    /// What became of a test that began and has no result.
    var reasonForRunning: String { earlyReason ?? "no result" }

    /// What became of a test that never began.
    var reasonForWaiting: String { earlyReason.map { "not run: \($0)" } ?? "not run" }
}

extension TestIssue.Kind {
    /// The order in which a reader with little patience should see issues: what stops a test first.
    var rank: Int {
        switch self {
        case .crash: 0
        case .exit: 1
        case .timeout: 2
        case .list: 3
        case .thrownError: 4
        case .expectation: 5
        }
    }
}

extension Sequence<TestIssue> {
    /// The issues that nobody expected.
    var failures: [TestIssue] { filter { $0.knownReason == nil } }

    /// The first of the gravest issues.
    var worst: TestIssue? { self.min { $0.kind.rank < $1.kind.rank } }
}

/// Decimal fractions, which the standard library does not write.
enum DecimalText {
    /// Seconds with six digits and always a point, because some readers take a number without one for milliseconds.
    static func seconds(_ nanoseconds: Int) -> String { fraction(max(0, nanoseconds) / 1000) }

    /// Milliseconds with six digits.
    static func milliseconds(_ nanoseconds: Int) -> String { fraction(max(0, nanoseconds)) }

    private static func fraction(_ millionths: Int) -> String {
        "\(millionths / 1_000_000).\(String(millionths % 1_000_000 + 1_000_000).dropFirst())"
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension DecimalText: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testTimesAlwaysHaveAPoint": testTimesAlwaysHaveAPoint,
            "testRanksWhatStopsATestFirst": testRanksWhatStopsATestFirst,
        ]
    }

    private static func testTimesAlwaysHaveAPoint() {
        let rows = [
            (0, "0.000000"), (999, "0.000000"), (1000, "0.000001"), (4_000_000, "0.004000"),
            (12_345_678_901, "12.345678"), (-5, "0.000000"),
        ]
        for (nanoseconds, text) in rows { expectEqual(seconds(nanoseconds), text) }
        expectEqual(milliseconds(1_500_001), "1.500001")
    }

    private static func testRanksWhatStopsATestFirst() {
        let kinds: [TestIssue.Kind] = [.expectation, .thrownError, .crash, .timeout, .crash]
        let issues = kinds.enumerated().map { TestIssue(kind: $1, got: "\($0)", expected: "") }
        expectEqual(issues.worst?.got, "2", "the first crash")
        expectNil([TestIssue]().worst)
    }
}
#endif
