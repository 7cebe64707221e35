// Expectations about errors.

#if DEBUG || IN_CLASS_TESTS

/// Expects an expression to throw an error of a type.
///
/// ```swift
/// let error = expectThrows(try parse("["), ParseError.self, "unclosed array")
/// ```
/// - Returns: The error, or nil if no error of the type was thrown.
@discardableResult
public func expectThrows<Value, Failure>(
    _ expression: @autoclosure () throws -> Value, _ type: Failure.Type, _ message: @autoclosure () -> String = "",
    file: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) -> Failure? {
    expectThrows(type, message(), file: file, line: line, column: column) { _ = try expression() }
}

/// Expects a closure to throw an error of a type.
///
/// ```swift
/// expectThrows(ParseError.self, "unclosed array") { try parse("[") }
/// ```
/// - Returns: The error, or nil if no error of the type was thrown.
@discardableResult
public func expectThrows<Failure>(
    _ type: Failure.Type, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column, _ body: () throws -> Void
) -> Failure? {
    checkedError(thrownError(of: body), type, message, file, line, column)
}

/// Expects an asynchronous closure to throw an error of a type.
///
/// - Returns: The error, or nil if no error of the type was thrown.
@_disfavoredOverload  // so that a synchronous closure in an asynchronous test needs no `await`
@discardableResult
public func expectThrows<Failure>(
    _ type: Failure.Type, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Void
) async -> Failure? {
    checkedError(await thrownError(of: body), type, message, file, line, column)
}

/// Expects a closure to throw an error that is equal to the given error.
///
/// ```swift
/// expectThrows(ParseError.unclosed("["), "array") { try parse("[") }
/// ```
public func expectThrows<Failure: Error & Equatable>(
    _ expected: Failure, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column, _ body: () throws -> Void
) {
    check(thrownError(of: body), is: expected, message, file, line, column)
}

/// Expects an asynchronous closure to throw an error that is equal to the given error.
@_disfavoredOverload  // so that a synchronous closure in an asynchronous test needs no `await`
public func expectThrows<Failure: Error & Equatable>(
    _ expected: Failure, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Void
) async {
    check(await thrownError(of: body), is: expected, message, file, line, column)
}

private func check<Failure: Error & Equatable>(
    _ thrown: (any Error)?, is expected: Failure, _ message: () -> String, _ file: StaticString, _ line: UInt,
    _ column: UInt
) {
    let isExpected = thrown as? Failure == expected
    check(thrown, isExpected: isExpected, expected: "error \(errorText(expected))", message, file, line, column)
}

func checkedError<Failure>(
    _ thrown: (any Error)?, _ type: Failure.Type, _ message: () -> String, _ file: StaticString, _ line: UInt,
    _ column: UInt
) -> Failure? {
    let kind = type == (any Error).self ? "an error" : "an error of type \(withoutDiscriminators("\(type)"))"
    check(thrown, isExpected: thrown is Failure, expected: kind, message, file, line, column)
    return thrown is TestSkipped ? nil : thrown as? Failure
}

/// Records an issue unless the error is expected or a skip.
func check(
    _ thrown: (any Error)?, isExpected: Bool = false, expected: @autoclosure () -> String = "no error",
    _ message: () -> String, _ file: StaticString, _ line: UInt, _ column: UInt
) {
    if let skipped = thrown as? TestSkipped { return Recorder.noteSkip(skipped.reason) }
    if isExpected { return }
    let got = thrown.map { "error \(errorText($0))" } ?? "no error"
    recordIssue(got: got, expected: expected(), message, file, line, column)
}

func thrownError(of body: () throws -> Void) -> (any Error)? {
    do { try body() } catch { return error }
    return nil
}

func thrownError(
    isolation: isolated (any Actor)? = #isolation, of body: () async throws -> Void
) async -> (any Error)? {
    do { try await body() } catch { return error }
    return nil
}

/// Expects a closure not to throw.
///
/// - Returns: The value of the closure, or nil if the closure throws an error.
@discardableResult
public func expectNoThrow<Value>(
    _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column, _ body: () throws -> Value
) -> Value? {
    do { return try body() } catch {
        check(error, message, file, line, column)
        return nil
    }
}

/// Expects an asynchronous closure not to throw.
///
/// - Returns: The value of the closure, or nil if the closure throws an error.
@_disfavoredOverload  // so that a synchronous closure in an asynchronous test needs no `await`
@discardableResult
public func expectNoThrow<Value>(
    _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
) async -> Value? {
    do { return try await body() } catch {
        check(error, message, file, line, column)
        return nil
    }
}

// MARK: - In-class tests

#if SELF_TESTS
enum ThrowingExpectationTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReturnsTheExpectedError": testReturnsTheExpectedError,
            "testAwaitsAsynchronousClosures": testAwaitsAsynchronousClosures,
        ]
            + .each(
                "testReportsUnexpectedErrors", others, named: ExpectationTests.name, ExpectationTests.expectIssue)
    }

    private enum Trouble: Error, Equatable { case small, big(Int) }
    private struct Other: Error {}

    private static func make(_ trouble: Trouble?) throws -> Int {
        if let trouble { throw trouble }
        return 4
    }

    private static func testReturnsTheExpectedError() {
        expectEqual(expectThrows(try make(.big(2)), Trouble.self), .big(2))
        expectEqual(expectThrows(Trouble.self) { _ = try make(.small) }, .small)
        expectNotNil(expectThrows((any Error).self) { throw Other() })
        expectEqual(expectNoThrow { try make(nil) }, 4)
        expectThrows(Trouble.big(2)) { _ = try make(.big(2)) }
    }

    private static var others: [ExpectationTests.Unmet] {
        let big = Trouble.big(2)
        return [
            ({ expectThrows(Trouble.self) { _ = try make(nil) } }, "no error", "an error of type Trouble"),
            ({ expectThrows(Other.self) { _ = try make(big) } }, "error Trouble.big(2)", "an error of type Other"),
            ({ expectThrows((any Error).self) {} }, "no error", "an error"),
            ({ expectNoThrow { try make(.small) } }, "error Trouble.small", "no error"),
            ({ expectThrows(Trouble.small) { _ = try make(nil) } }, "no error", "error Trouble.small"),
            ({ expectThrows(Trouble.big(1)) { _ = try make(big) } }, "error Trouble.big(2)", "error Trouble.big(1)"),
            ({ expectThrows(Trouble.small) { throw Other() } }, "error Other()", "error Trouble.small"),
        ]
    }

    private static func testAwaitsAsynchronousClosures() async {
        @Sendable func later(_ trouble: Trouble?) async throws -> Int {
            await Task.yield()
            return try make(trouble)
        }
        let error = await expectThrows(Trouble.self) { _ = try await later(.small) }
        expectEqual(error, .small)
        await expectThrows(Trouble.big(3)) { _ = try await later(.big(3)) }
        let value = await expectNoThrow { try await later(nil) }
        expectEqual(value, 4)
        expectThrows(Trouble.self, "a synchronous closure needs no await") { _ = try make(.small) }
    }
}
#endif

#endif
