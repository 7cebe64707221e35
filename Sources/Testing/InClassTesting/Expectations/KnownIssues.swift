// Marks code that is known to fail.

#if DEBUG || IN_CLASS_TESTS

/// Runs code that is known to fail. Its issues and its error are counted as known issues and don't fail the test.
///
/// If the code doesn't fail any more, the test fails, which reminds you to remove the call. In the reason, state why
/// the code fails and where the issue is tracked. The summary shows the reason. Issues of child tasks are known issues,
/// too. Issues of detached tasks and other threads are failures. If calls are nested, an issue belongs to the innermost
/// call.
public func withKnownIssue(
    _ reason: String, file: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    _ body: () throws -> Void
) {
    let scope = Recorder.Scope(knownReason: reason)
    Recorder.$scope.withValue(scope) {
        do { try body() } catch { recordKnownError(error, file, line, column) }
    }
    close(scope, reason, file, line, column)
}

/// Runs asynchronous code that is known to fail. Its issues and its error are counted as known issues and don't fail
/// the test.
///
/// If the code doesn't fail any more, the test fails. In the reason, state why the code fails and where the issue is
/// tracked. The summary shows the reason. Issues of child tasks are known issues, too. Issues of detached tasks and
/// other threads are failures.
@_disfavoredOverload  // so that a synchronous closure in an asynchronous test needs no `await`
public func withKnownIssue(
    _ reason: String, file: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
) async {
    let scope = Recorder.Scope(knownReason: reason)
    await Recorder.$scope.withValue(scope) {
        _ = isolation
        do { try await body() } catch { recordKnownError(error, file, line, column) }
    }
    close(scope, reason, file, line, column)
}

private func recordKnownError(_ error: any Error, _ file: StaticString, _ line: UInt, _ column: UInt) {
    if let skipped = error as? TestSkipped { return Recorder.noteSkip(skipped.reason) }
    if error is RequirementNotMet { return }
    Recorder.record(
        RecordedIssue(
            kind: .thrownError, place: CallPlace(file, line, column), message: "threw \(errorText(error))"))
}

private func close(_ scope: Recorder.Scope, _ reason: String, _ file: StaticString, _ line: UInt, _ column: UInt) {
    if Recorder.close(scope) { return }
    fail("known issue \(quoted(reason)) did not occur", file: file, line: line, column: column)
}

// MARK: - In-class tests

#if SELF_TESTS
enum KnownIssueTests: SelfTesting {
    static var testSelectors: TestSelectors {
        .each("testMarksIssuesAsKnown", rows, named: \.name) { row in
            let issues = Recorder.issues(of: row.body)
            expectEqual(issues.map { "\($0.kind) \($0.text) \($0.knownReason ?? "-")" }, row.issues)
        }
    }

    private struct Other: Error {}

    private static func failTwice() throws {
        expectEqual(1, 2)
        throw Other()
    }

    /// Code that records issues, with the kind, the text and the known reason of each issue.
    private static var rows: [(name: String, body: () -> Void, issues: [String])] {
        [
            (
                "are no failures", { withKnownIssue("tracked") { try failTwice() } },
                ["expectation got 1 instead of expected 2 tracked", "thrownError threw Other() tracked"]
            ),
            ("must happen", { withKnownIssue("tracked") {} }, ["expectation known issue \"tracked\" did not occur -"]),
            (
                // The issue of the inner call doesn't count for the outer call.
                "must each happen", { withKnownIssue("outer") { withKnownIssue("inner") { fail("why") } } },
                ["expectation why inner", "expectation known issue \"outer\" did not occur -"]
            ),
        ]
    }
}
#endif

#endif
