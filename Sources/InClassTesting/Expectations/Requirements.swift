// The expectations that end the test when they are not met, and `skip`.

#if DEBUG || IN_CLASS_TESTS

/// Ends the running test as skipped; the summary counts it and shows the reason.
///
/// - Throws: always, what the runner takes as the end of the test.
public func skip(_ reason: String) throws -> Never {
    throw TestSkipped(reason: reason.isEmpty ? "no reason given" : reason)
}

/// Requires two values to be equal and returns the first.
///
/// - Throws: what ends the test, after the issue has been recorded.
@discardableResult
public func requireEqual<Value: Equatable>(
    _ got: Value, _ expected: Value, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) throws -> Value {
    let isMet = got == expected
    if !isMet || notesWhatIsMet { recordUnequal(got, expected, message, file, line, column) }
    guard isMet else { throw RequirementNotMet() }
    return got
}

/// Requires a condition to be true.
///
/// - Throws: what ends the test, after the issue has been recorded.
public func requireTrue(
    _ got: Bool, _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
) throws {
    if got { return }
    recordIssue(got: "false", expected: "true", message, file, line, column)
    throw RequirementNotMet()
}

/// Requires a condition to be false.
///
/// - Throws: what ends the test, after the issue has been recorded.
public func requireFalse(
    _ got: Bool, _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
) throws {
    if !got { return }
    recordIssue(got: "true", expected: "false", message, file, line, column)
    throw RequirementNotMet()
}

/// Requires an optional to hold a value and returns it.
///
/// - Throws: what ends the test, after the issue has been recorded.
@discardableResult
public func requireNotNil<Value>(
    _ got: Value?, _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
) throws -> Value {
    if let got { return got }
    recordIssue(got: "nil", expected: "a value", message, file, line, column)
    throw RequirementNotMet()
}

/// Requires a closure to throw an error of a type and returns the error.
///
/// - Throws: what ends the test, after the issue has been recorded.
@discardableResult
public func requireThrows<Failure>(
    _ type: Failure.Type, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column, _ body: () throws -> Void
) throws -> Failure {
    guard let error = expectThrows(type, message(), file: file, line: line, column: column, body) else {
        throw RequirementNotMet()
    }
    return error
}

/// Requires a closure not to throw and returns its value.
///
/// - Throws: what ends the test, after the issue has been recorded.
@discardableResult
public func requireNoThrow<Value>(
    _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column, _ body: () throws -> Value
) throws -> Value {
    do { return try body() } catch {
        recordIssue(got: "error \(errorText(error))", expected: "no error", message, file, line, column)
        throw RequirementNotMet()
    }
}

// MARK: - In-class tests

#if SELF_TESTS
enum RequirementTests {}

extension RequirementTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testMetRequirementsReturnTheValue": testMetRequirementsReturnTheValue,
            "testUnmetRequirementsEndTheTest": testUnmetRequirementsEndTheTest,
            "testSkipEndsTheTest": testSkipEndsTheTest,
        ]
    }

    private struct Trouble: Error, Equatable {}

    private static func testMetRequirementsReturnTheValue() throws {
        expectEqual(try requireNotNil(Int("4")), 4)
        expectEqual(try requireEqual(4, 4), 4)
        try requireTrue(true)
        try requireFalse(false)
        expectEqual(try requireThrows(Trouble.self) { throw Trouble() }, Trouble())
        expectEqual(try requireNoThrow { 4 }, 4)
    }

    private static func testUnmetRequirementsEndTheTest() {
        let rows: [() throws -> Void] = [
            { try requireNotNil(Int("x")) }, { try requireEqual(4, 5) }, { try requireTrue(false) },
            { try requireFalse(true) }, { try requireThrows(Trouble.self) {} },
            { try requireNoThrow { throw Trouble() } },
        ]
        for (index, row) in rows.enumerated() {
            let issues = Recorder.issues { expectThrowsWithoutRecording(row, index) }
            expectEqual(issues.count, 1, "issues of row \(index)")
        }
    }

    /// Checks what `expectThrows` would, which must not record here.
    private static func expectThrowsWithoutRecording(_ body: () throws -> Void, _ index: Int) {
        do {
            try body()
            fail("row \(index) went on")
        } catch is RequirementNotMet {} catch { fail("row \(index) threw \(error)") }
    }

    private static func testSkipEndsTheTest() {
        let skipped = expectThrows(TestSkipped.self) { try skip("no network") }
        expectEqual(skipped?.reason, "no network")
        expectEqual(expectThrows(TestSkipped.self) { try skip("") }?.reason, "no reason given")
    }
}
#endif

#endif
