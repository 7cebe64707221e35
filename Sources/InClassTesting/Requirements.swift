// The expectations that end the test when they are not met, and `skip`.

#if DEBUG || IN_CLASS_TESTS

/// Ends the running test as skipped; the summary counts it and shows the reason.
///
/// - Throws: always, what the runner takes as the end of the test.
public func skip(_ reason: String) throws -> Never {
    throw TestSkipped(reason: reason)
}

/// Requires two values to be equal and returns the first.
///
/// - Throws: what ends the test, after the issue has been recorded.
@discardableResult
public func requireEqual<Value: Equatable>(
    _ got: Value, _ expected: Value, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) throws -> Value {
    if got == expected { return got }
    recordUnequal(got, expected, message, file, line, column)
    throw RequirementNotMet()
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

#endif
