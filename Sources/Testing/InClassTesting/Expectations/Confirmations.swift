// Expectations about the number of calls of a callback.

#if DEBUG || IN_CLASS_TESTS

/// A counter of the calls of a callback, which `confirmation` passes to its closure.
///
/// You can call the counter like a function, from any task or thread.
public final class Confirmation: Sendable {
    private let expected: @Sendable (Int) -> String?
    private let place: CallPlace
    private let message: String
    private let lock = Lock()
    // SAFETY: read and written under the lock only.
    private nonisolated(unsafe) var calls = 0
    private nonisolated(unsafe) var isOver = false

    fileprivate init(_ count: some RangeExpression<Int> & Sendable, _ place: CallPlace, _ message: String) {
        expected = { count.contains($0) ? nil : text(of: count) }
        self.place = place
        self.message = message
    }

    deinit { lock.destroy() }

    /// Counts a call. If `confirmation` has already returned, the new count is checked immediately.
    public func callAsFunction() { add(1, isLast: false) }

    fileprivate func end() { add(0, isLast: true) }

    private func add(_ count: Int, isLast: Bool) {
        let wrong = lock.withLock { () -> (Int, String)? in
            calls += count
            isOver = isOver || isLast
            return isOver ? expected(calls).map { (calls, $0) } : nil
        }
        guard let (calls, expected) = wrong else { return }
        Recorder.record(
            RecordedIssue(
                place: place, got: calls == 1 ? "1 call" : "\(calls) calls", expected: expected, message: message))
    }
}

/// Returns the bounds of a range as text for a failure.
private func text(of count: some RangeExpression<Int>) -> String {
    switch count {
    case let range as ClosedRange<Int> where range.count == 1: "\(range.lowerBound)"
    case let range as PartialRangeFrom<Int>: "at least \(range.lowerBound)"
    case let range as PartialRangeThrough<Int>: "at most \(range.upperBound)"
    default: "\(count)"
    }
}

/// Expects a closure to call its argument `count` times before the closure returns.
///
/// ```swift
/// confirmation("change", count: 2) { changed in
///     store.onChange = { changed() }
///     store.add(1)
///     store.add(2)
/// }
/// ```
/// - Throws: The error of the closure. In this case, the number of calls is not checked.
@discardableResult
public func confirmation<Result>(
    _ message: String = "", count: Int = 1, file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column, _ body: (Confirmation) throws -> Result
) rethrows -> Result {
    try confirmation(message, count: count...count, file: file, line: line, column: column, body)
}

/// Expects the number of times that a closure calls its argument to be in a range, such as `1...`.
///
/// - Throws: The error of the closure. In this case, the number of calls is not checked.
@discardableResult
public func confirmation<Result>(
    _ message: String = "", count: some RangeExpression<Int> & Sendable, file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column, _ body: (Confirmation) throws -> Result
) rethrows -> Result {
    let confirmation = Confirmation(count, CallPlace(file, line, column), message)
    let result = try body(confirmation)
    confirmation.end()
    return result
}

/// Expects an asynchronous closure to call its argument `count` times before the closure returns.
///
/// - Throws: The error of the closure. In this case, the number of calls is not checked.
@_disfavoredOverload  // so that a synchronous closure in an asynchronous test needs no `await`
@discardableResult
public func confirmation<Result>(
    _ message: String = "", count: Int = 1, file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column, isolation: isolated (any Actor)? = #isolation,
    _ body: (Confirmation) async throws -> sending Result
) async rethrows -> sending Result {
    try await confirmation(message, count: count...count, file: file, line: line, column: column, body)
}

/// Expects the number of times that an asynchronous closure calls its argument to be in a range, such as `1...`.
///
/// - Throws: The error of the closure. In this case, the number of calls is not checked.
@_disfavoredOverload  // so that a synchronous closure in an asynchronous test needs no `await`
@discardableResult
public func confirmation<Result>(
    _ message: String = "", count: some RangeExpression<Int> & Sendable, file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column, isolation: isolated (any Actor)? = #isolation,
    _ body: (Confirmation) async throws -> sending Result
) async rethrows -> sending Result {
    let confirmation = Confirmation(count, CallPlace(file, line, column), message)
    let result = try await body(confirmation)
    confirmation.end()
    return result
}

// MARK: - In-class tests

#if SELF_TESTS
enum ConfirmationTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testCountsCalls": testCountsCalls, "testCountsCallsOfTasks": testCountsCallsOfTasks,
            "testReportsCallsAfterReturning": testReportsCallsAfterReturning,
            "testRethrowsErrorsOfTheClosure": {
                expectThrows(Broken()) { try confirmation(count: 5) { _ in throw Broken() } }
            },
        ]
    }

    private struct Broken: Error, Equatable {}

    private static func testCountsCalls() {
        func issues(_ calls: Int, _ count: some RangeExpression<Int> & Sendable) -> [String] {
            Recorder.issues { confirmation("change", count: count) { confirm in for _ in 0..<calls { confirm() } } }
                .map(\.text)
        }
        expectEqual(issues(1, 1...1) + issues(0, 0...0) + issues(9, 1...) + issues(0, ...2) + issues(2, 1..<3), [])
        expectEqual(issues(0, 1...1), ["got 0 calls instead of expected 1 for change"])
        expectEqual(issues(0, 1...), ["got 0 calls instead of expected at least 1 for change"])
        expectEqual(issues(3, ...2), ["got 3 calls instead of expected at most 2 for change"])
        expectEqual(issues(3, 1...2), ["got 3 calls instead of expected 1...2 for change"])
        expectEqual(issues(3, 1..<3), ["got 3 calls instead of expected 1..<3 for change"])
        expectEqual(
            Recorder.issues { confirmation(count: 2) { $0() } }.map(\.text), ["got 1 call instead of expected 2"])
    }

    private static func testCountsCallsOfTasks() async {
        let sum = await confirmation(count: 20) { confirm in
            await withTaskGroup(of: Int.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        confirm()
                        return number
                    }
                }
                return await group.reduce(0, +)
            }
        }
        expectEqual(sum, 190)
        await confirmation(count: 1...) { confirm in
            await Task.yield()
            confirm()
        }
        // This call needs no `await`, and its result may be ignored.
        confirmation { call in
            call()
            return 1
        }
    }

    private static func testReportsCallsAfterReturning() {
        let issues = Recorder.issues {
            let kept = confirmation(count: ...1) { $0 }
            kept()
            kept()
        }
        expectEqual(issues.map(\.text), ["got 2 calls instead of expected at most 1"])
    }
}
#endif

#endif
