// Expectations about code that ends the process. The code runs in a forked child process, so it can trap, abort or exit
// without ending the test.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// The expected end of a process.
public enum ExitCondition: Equatable, Sendable, CustomStringConvertible {
    /// A trap of the Swift runtime: a failed precondition, `fatalError`, an index out of range, or an overflow.
    case trap
    /// A signal that ends the process, such as `SIGABRT`.
    case signal(Int32)
    /// A call of `exit` with this status.
    case exit(Int32)
    /// Any signal that ends the process, or a nonzero exit status.
    case failure

    /// A description of the condition.
    public var description: String {
        switch self {
        case .trap: "trap"
        case .signal(let number): "signal \(number)"
        case .exit(let status): "exit(\(status))"
        case .failure: "failure"
        }
    }

    fileprivate func isMet(by end: ExitCondition) -> Bool {
        switch (self, end) {
        // The signal depends on the processor.
        case (.trap, .signal(let number)): number == SIGILL || number == SIGTRAP
        case (.failure, .signal): true
        case (.failure, .exit(let status)): status != 0
        default: self == end
        }
    }
}

/// Expects code to trap, for example at a failed precondition, `fatalError`, an index out of range or an overflow.
///
/// ```swift
/// expectTrap("pop of an empty stack") { _ = Stack().pop() }
/// ```
/// The code runs in a child process, which ends when the code ends. Changes to memory don't affect the test. Failed
/// expectations in the code fail the test. The child process has only the thread of the test, so the code must not wait
/// for other threads.
public func expectTrap(
    _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column, _ body: () -> Void
) {
    expectExit(.trap, message(), file: file, line: line, column: column, body)
}

/// Expects code to end its process in the given way.
///
/// The code runs in a child process, with the same limitations as the code of `expectTrap`.
public func expectExit(
    _ condition: ExitCondition, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column, _ body: () -> Void
) {
    let end = childEnd(of: body)
    if let end, end != .exit(returnedStatus), condition.isMet(by: end) { return }
    let got =
        switch end {
        case nil: "no child process"
        case .exit(returnedStatus): "a return"
        case .signal(SIGILL), .signal(SIGTRAP): "trap"
        case let end?: end.description
        }
    recordIssue(got: got, expected: condition.description, message, file, line, column)
}

/// The exit status of a child whose code has returned.
private let returnedStatus: Int32 = 213

/// Runs code in a child process, waits for its end and records its issues.
private func childEnd(of body: () -> Void) -> ExitCondition? {
    guard let issues = ChildIssues() else { return nil }
    defer { issues.free() }
    fflush(nil)
    // The child has only the caller's thread. It runs the test's code, then ends.
    let process = Recorder.fork(into: issues)
    if process == 0 {
        CrashHandler.leaveToParent()
        // The parent applies its known issues to the child's issues.
        Recorder.$scope.withValue(nil) {
            body()
            Recorder.endIfForked()
        }
        fflush(nil)
        _exit(returnedStatus)
    }
    guard process > 0 else { return nil }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
        guard errno == EINTR else { return nil }
    }
    for fields in issues.all {
        if let issue = RecordedIssue(fields: fields) { Recorder.record(issue) } else { Recorder.noteSkip(fields[0]) }
    }
    return status & 0x7F != 0 ? .signal(status & 0x7F) : .exit(status >> 8 & 0xFF)
}

// MARK: - In-class tests

#if SELF_TESTS
enum ExitExpectationTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAcceptsExpectedExits": testAcceptsExpectedExits,
            "testChildCannotChangeParentMemory": testChildCannotChangeParentMemory,
            "testForwardsIssuesOfTheChild": testForwardsIssuesOfTheChild,
            "testForwardsSkipsOfTheChild": testForwardsSkipsOfTheChild,
            "testReportsGrandchildThatReturns": testReportsGrandchildThatReturns,
        ]
            + .each("testReportsUnexpectedExits", others, named: ExpectationTests.name, ExpectationTests.expectIssue)
    }

    private static var others: [ExpectationTests.Unmet] {
        let rows: [(condition: ExitCondition, body: () -> Void, got: String)] = [
            (.trap, {}, "a return"), (.trap, { exit(0) }, "exit(0)"), (.exit(0), { exit(1) }, "exit(1)"),
            (.signal(SIGABRT), { preconditionFailure() }, "trap"), (.failure, { exit(0) }, "exit(0)"),
            (.exit(0), {}, "a return"),
        ]
        return rows.map { row in
            ({ expectExit(row.condition) { row.body() } }, row.got, row.condition.description)
        }
    }

    private static func testAcceptsExpectedExits() {
        let empty: [Int] = []
        expectTrap("index") { _ = empty[empty.count] }
        expectTrap("precondition") { preconditionFailure("on purpose") }
        expectExit(.exit(0)) { exit(0) }
        expectExit(.exit(3)) { exit(3) }
        expectExit(.signal(SIGABRT)) { abort() }
        expectExit(.failure) { exit(1) }
        expectExit(.failure) { abort() }
    }

    private static func testChildCannotChangeParentMemory() {
        var value = 1
        expectExit(.exit(0)) {
            value = 2
            exit(value == 2 ? 0 : 1)
        }
        expectEqual(value, 1)
    }

    private static func testForwardsIssuesOfTheChild() {
        let issues = Recorder.issues {
            expectExit(.exit(3)) {
                expectEqual("a\nb", "a\nc", "text")
                withKnownIssue("in the child") { fail("known") }
                expectExit(.failure) {
                    fail("grandchild")
                    abort()
                }
                exit(3)
            }
            withKnownIssue("outside") { expectTrap { expectEqual(1, 2) } }
        }
        expectEqual(issues.map(\.got), [#""a\nb""#, "", "", "1", "a return"])
        expectEqual(issues.map(\.message), ["text", "known", "grandchild", "", ""])
        expectEqual(issues.map(\.knownReason), [nil, "in the child", nil, "outside", "outside"])
        expectEqual(issues.first?.texts, ComparedTexts(got: "a\nb", expected: "a\nc"))
        let many = Recorder.issues {
            expectExit(.exit(0)) {
                for _ in 0..<2_000 { fail(String(repeating: "x", count: 1_000)) }
                exit(0)
            }
        }
        expectGreaterThan(many.count, 100)
        expectTrue(many.last?.message.hasSuffix("more issues of the child process") ?? false)
    }

    private static func testForwardsSkipsOfTheChild() {
        let issues = Recorder.issues {
            withKnownIssue("why") { expectExit(.exit(0)) { do { try skip("no network") } catch { exit(0) } } }
        }
        expectEqual(issues, [])
    }

    private static func testReportsGrandchildThatReturns() throws {
        let issues = Recorder.issues {
            expectExit(.exit(4)) {
                let child = inclass_fork()
                if child == 0 { return }
                var status: Int32 = 0
                waitpid(child, &status, 0)
                exit(4)
            }
        }
        expectEqual(issues.map(\.message), ["a child process returned from the test instead of exiting"])
    }
}
#endif

#endif
