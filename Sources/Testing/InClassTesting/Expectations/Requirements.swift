// The expectations that end the test if they fail, and `skip`.

#if DEBUG || IN_CLASS_TESTS

/// Ends the running test as skipped. The summary counts the test and shows the reason.
///
/// If the test catches the error, it continues. Unless it fails, it is still counted as skipped.
/// - Throws: An error that ends the test. The function never returns.
public func skip(_ reason: String) throws -> Never {
    let skipped = TestSkipped(reason: reason.isEmpty ? "no reason given" : reason)
    Recorder.noteSkip(skipped.reason)
    throw skipped
}

/// Requires two values to be equal and returns the actual value.
///
/// - Throws: If the requirement fails, an error that ends the test. The failure has already been recorded.
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
/// - Throws: If the requirement fails, an error that ends the test. The failure has already been recorded.
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
/// - Throws: If the requirement fails, an error that ends the test. The failure has already been recorded.
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
/// - Throws: If the requirement fails, an error that ends the test. The failure has already been recorded.
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
/// - Throws: If the requirement fails, an error that ends the test. The failure has already been recorded.
@discardableResult
public func requireThrows<Failure>(
    _ type: Failure.Type, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column, _ body: () throws -> Void
) throws -> Failure {
    try requiredError(thrownError(of: body), type, message, file, line, column)
}

/// Requires a closure not to throw and returns its value.
///
/// - Throws: If the requirement fails, an error that ends the test. The failure has already been recorded.
@discardableResult
public func requireNoThrow<Value>(
    _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column, _ body: () throws -> Value
) throws -> Value {
    do { return try body() } catch {
        check(error, message, file, line, column)
        throw error is TestSkipped ? error : RequirementNotMet()
    }
}

/// Requires an asynchronous closure to throw an error of a type and returns the error.
///
/// - Throws: If the requirement fails, an error that ends the test. The failure has already been recorded.
@_disfavoredOverload  // so that a synchronous closure in an asynchronous test needs no `await`
@discardableResult
public func requireThrows<Failure>(
    _ type: Failure.Type, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Void
) async throws -> Failure {
    try requiredError(await thrownError(of: body), type, message, file, line, column)
}

/// Requires an asynchronous closure not to throw and returns its value.
///
/// - Throws: If the requirement fails, an error that ends the test. The failure has already been recorded.
@_disfavoredOverload  // so that a synchronous closure in an asynchronous test needs no `await`
@discardableResult
public func requireNoThrow<Value>(
    _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
) async throws -> Value {
    do { return try await body() } catch {
        check(error, message, file, line, column)
        throw error is TestSkipped ? error : RequirementNotMet()
    }
}

private func requiredError<Failure>(
    _ thrown: (any Error)?, _ type: Failure.Type, _ message: () -> String, _ file: StaticString, _ line: UInt,
    _ column: UInt
) throws -> Failure {
    if let error = checkedError(thrown, type, message, file, line, column) { return error }
    if let skipped = thrown as? TestSkipped { throw skipped }
    throw RequirementNotMet()
}

// MARK: - In-class tests

#if SELF_TESTS
enum RequirementTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testPassedRequirementsReturnTheValue": testPassedRequirementsReturnTheValue,
            "testAwaitsAsynchronousClosures": testAwaitsAsynchronousClosures,
        ]
            + .each("testFailedRequirementsEndTheTest", ends, named: { $0.by.map { "\($0)" } ?? "nothing" }) {
                type, body in
                var thrown: (any Error)?
                let issues = await Recorder.issues { do { try await body() } catch { thrown = error } }
                expectEqual(thrown.map { "\(Swift.type(of: $0))" }, type.map { "\($0)" }, "the error")
                expectEqual(issues.count, type == RequirementNotMet.self ? 1 : 0, "issues")
            }
    }

    private struct Trouble: Error, Equatable {}

    private static func testPassedRequirementsReturnTheValue() throws {
        expectEqual(try requireNotNil(Int("4")), 4)
        expectEqual(try requireEqual(4, 4), 4)
        try requireTrue(true)
        try requireFalse(false)
        expectEqual(try requireThrows(Trouble.self) { throw Trouble() }, Trouble())
        expectEqual(try requireNoThrow { 4 }, 4)
    }

    /// Test bodies, each with the error that ends it. Expectations about errors don't treat a skip as an error.
    private static var ends: [(by: (any Error.Type)?, body: () async throws -> Void)] {
        let (unmet, skip) = (RequirementNotMet.self, TestSkipped.self)
        return [
            (unmet, { try requireNotNil(Int("x")) }), (unmet, { try requireEqual(4, 5) }),
            (unmet, { try requireTrue(false) }), (unmet, { try requireFalse(true) }),
            (unmet, { try requireThrows(Trouble.self) {} }), (unmet, { try requireNoThrow { throw Trouble() } }),
            (skip, { try sooner() }), (skip, { try requireThrows((any Error).self) { try sooner() } }),
            (skip, { try await requireThrows(Trouble.self) { try await later() } }),
            (skip, { try requireNoThrow { try sooner() } }),
            (skip, { try await requireNoThrow { try await later() } }),
            (nil, { expectThrows((any Error).self) { try sooner() } }), (nil, { expectNoThrow { try sooner() } }),
            (nil, { await expectThrows(Trouble.self) { try await later() } }),
            (nil, { await expectNoThrow { try await later() } }),
        ]
    }

    private static func sooner() throws { try skip("why") }
    private static func later() async throws {
        await Task.yield()
        try skip("why")
    }

    private static func testAwaitsAsynchronousClosures() async throws {
        let issues = await Recorder.issues {
            let error = await expectThrows(RequirementNotMet.self) {
                try await requireThrows(Trouble.self) { await Task.yield() }
            }
            expectNotNil(error)
        }
        expectEqual(issues.map(\.got), ["no error"])
        expectEqual(
            try await requireThrows(Trouble.self) {
                await Task.yield()
                throw Trouble()
            }, Trouble())
        let value = try await requireNoThrow {
            await Task.yield()
            return 4
        }
        expectEqual(value, 4)
    }
}
#endif

#endif
