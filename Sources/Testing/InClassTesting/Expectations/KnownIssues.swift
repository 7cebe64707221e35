// Code that is known to fail.

#if DEBUG || IN_CLASS_TESTS

/// Runs code that is known to fail: its issues and its error are counted as known and do not fail the test.
///
/// The test fails when the code no longer does, so that a fixed issue does not stay marked. The reason says why it fails and
/// where that is tracked; the summary shows it. The issues of child tasks are known, too; those of detached tasks and
/// other threads are failures. Of several nested calls the innermost expects an issue.
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

/// Runs asynchronous code that is known to fail: its issues and its error are counted as known and do not fail the test.
///
/// The test fails when the code no longer does. The reason says why it fails and where that is tracked; the summary shows it.
/// The issues of child tasks are known, too; those of detached tasks and other threads are failures.
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
            kind: .thrownError, place: CallPlace(file, line, column), got: "error \(errorText(error))",
            expected: "no error"))
}

private func close(_ scope: Recorder.Scope, _ reason: String, _ file: StaticString, _ line: UInt, _ column: UInt) {
    if Recorder.close(scope) { return }
    recordIssue(got: "no issue", expected: "known issue \(quoted(reason))", { "" }, file, line, column)
}

// MARK: - In-class tests

#if SELF_TESTS
enum KnownIssueTests {}

extension KnownIssueTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testKnownIssueIsNoFailure": testKnownIssueIsNoFailure,
            "testKnownIssueMustHappen": testKnownIssueMustHappen,
            "testEachKnownIssueMustHappen": testEachKnownIssueMustHappen,
        ]
    }

    private struct Other: Error {}

    private static func testKnownIssueIsNoFailure() {
        let issues = Recorder.issues {
            withKnownIssue("tracked") {
                expectEqual(1, 2)
                throw Other()
            }
        }
        expectEqual(issues.map(\.knownReason), ["tracked", "tracked"])
        expectEqual(issues.map(\.kind), [.expectation, .thrownError])
    }

    private static func testKnownIssueMustHappen() {
        let issues = Recorder.issues { withKnownIssue("tracked") {} }
        expectEqual(issues.map(\.expected), ["known issue \"tracked\""])
        expectEqual(issues.map(\.knownReason), [nil])
    }

    /// An issue of the inner one is none of the outer one.
    private static func testEachKnownIssueMustHappen() {
        let issues = Recorder.issues { withKnownIssue("outer") { withKnownIssue("inner") { fail("why") } } }
        expectEqual(issues.map(\.knownReason), ["inner", nil])
        expectEqual(issues.map(\.expected), ["", "known issue \"outer\""])
    }
}
#endif

#endif
