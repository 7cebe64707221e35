// The expectations that compare values. Each evaluates its operands once. A failed expectation records an issue at the
// position of the call, and the test continues. Other expectations are in ThrowingExpectations.swift (errors),
// Requirements.swift (ending the test), KnownIssues.swift and Golden.swift (files).

#if DEBUG || IN_CLASS_TESTS

/// A Boolean value that indicates whether passed expectations are recorded, too. If an expectation passes for one value and
/// fails for another, neither value may be accepted.
// SAFETY: set once before any test runs. PERF: unchecked, because a debug build calls the runtime at each passed expectation
// otherwise.
@exclusivity(unchecked)
@usableFromInline
nonisolated(unsafe) var notesWhatIsMet = false

/// Records an issue of the running test. It is never inlined, so that a passed expectation costs only a comparison.
@inline(never)
@usableFromInline
func recordIssue(
    got: String, expected: String, _ message: () -> String, _ file: StaticString, _ line: UInt, _ column: UInt,
    notes: [String] = []
) {
    Recorder.record(
        RecordedIssue(
            place: CallPlace(file, line, column), got: got, expected: expected, message: message(), notes: notes))
}

@inline(never)
@usableFromInline
func recordUnequal<Value: Equatable>(
    _ got: Value, _ expected: Value, _ message: () -> String, _ file: StaticString, _ line: UInt, _ column: UInt
) {
    if notesWhatIsMet, got == expected { return Recorder.noteMet("\(file):\(line):\(column)") }
    Recorder.record(
        RecordedIssue(
            place: CallPlace(file, line, column), got: valueText(got), expected: valueText(expected),
            message: message(), notes: differenceNotes(got: got, expected: expected),
            texts: ComparedTexts(got, expected)))
}

@inline(never)
@usableFromInline
func recordTooFar<Value: FloatingPoint>(
    _ got: Value, _ expected: Value, _ tolerance: Value, _ message: () -> String, _ file: StaticString, _ line: UInt,
    _ column: UInt
) {
    let difference = abs(got - expected)
    recordIssue(
        got: valueText(got), expected: "\(valueText(expected)) within \(valueText(tolerance))", message, file, line,
        column, notes: difference.isFinite ? ["the difference is \(valueText(difference))"] : [])
}

// MARK: - Equality

/// Expects two values to be equal.
///
/// Pass the actual value first, then the expected value, then a label. The failure contains the label after "for": "got
/// 4 instead of expected 5 for *count after push*". The label is evaluated only after a failure. Strings are compared
/// with `==`, which uses Unicode canonical equivalence.
@inlinable  // PERF: Expectations/equal; lets an optimised test compare without a generic call.
public func expectEqual<Value: Equatable>(
    _ got: Value, _ expected: Value, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) {
    if got == expected, !notesWhatIsMet { return }
    recordUnequal(got, expected, message, file, line, column)
}

/// Expects two numbers to be equal or to differ by less than a tolerance: `abs(got - expected) < tolerance`.
///
/// Equal numbers pass, including infinities, unless the tolerance is negative or NaN. If different numbers differ by
/// exactly the tolerance, the expectation fails. If one of the numbers is NaN, it fails, too.
@inlinable  // PERF: Expectations/equal-within; lets an optimised test compare without a generic call.
public func expectEqual<Value: FloatingPoint>(
    _ got: Value, _ expected: Value, within tolerance: Value, _ message: @autoclosure () -> String = "",
    file: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    if abs(got - expected) < tolerance || got == expected && tolerance >= 0 { return }
    recordTooFar(got, expected, tolerance, message, file, line, column)
}

/// Expects two values to be unequal.
public func expectNotEqual<Value: Equatable>(
    _ got: Value, _ unexpected: Value, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) {
    if got != unexpected { return }
    recordIssue(got: valueText(got), expected: "a different value", message, file, line, column)
}

/// Expects two references to refer to the same object, or both to be nil.
public func expectIdentical(
    _ got: AnyObject?, _ expected: AnyObject?, _ message: @autoclosure () -> String = "",
    file: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    if got === expected { return }
    func text(_ object: AnyObject?, _ kind: String) -> String {
        object.map { "\(kind) \(type(of: $0)) (\(valueText($0)))" } ?? "nil"
    }
    recordIssue(
        got: text(got, got != nil && expected != nil ? "another" : "a"), expected: text(expected, "the object"),
        message,
        file, line, column)
}

// MARK: - Truth and presence

/// Expects a condition to be true.
@inlinable  // PERF: Expectations/true; an optimised test branches in place.
public func expectTrue(
    _ got: Bool, _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
) {
    if got { return }
    recordIssue(got: "false", expected: "true", message, file, line, column)
}

/// Expects a condition to be false.
@inlinable  // PERF: Expectations/true; an optimised test branches in place.
public func expectFalse(
    _ got: Bool, _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
) {
    if !got { return }
    recordIssue(got: "true", expected: "false", message, file, line, column)
}

/// Expects an optional to be nil.
public func expectNil<Value>(
    _ got: Value?, _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
) {
    guard let got else { return }
    recordIssue(got: valueText(got), expected: "nil", message, file, line, column)
}

/// Expects an optional to hold a value.
public func expectNotNil<Value>(
    _ got: Value?, _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
) {
    if got != nil { return }
    recordIssue(got: "nil", expected: "a value", message, file, line, column)
}

// MARK: - Order

/// Expects a value to be less than a bound.
public func expectLessThan<Value: Comparable>(
    _ got: Value, _ bound: Value, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) {
    if got < bound { return }
    recordIssue(got: valueText(got), expected: "less than \(valueText(bound))", message, file, line, column)
}

/// Expects a value to be less than or equal to a bound.
public func expectLessThanOrEqual<Value: Comparable>(
    _ got: Value, _ bound: Value, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) {
    if got <= bound { return }
    recordIssue(got: valueText(got), expected: "at most \(valueText(bound))", message, file, line, column)
}

/// Expects a value to be greater than a bound.
public func expectGreaterThan<Value: Comparable>(
    _ got: Value, _ bound: Value, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) {
    if got > bound { return }
    recordIssue(got: valueText(got), expected: "greater than \(valueText(bound))", message, file, line, column)
}

/// Expects a value to be greater than or equal to a bound.
public func expectGreaterThanOrEqual<Value: Comparable>(
    _ got: Value, _ bound: Value, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) {
    if got >= bound { return }
    recordIssue(got: valueText(got), expected: "at least \(valueText(bound))", message, file, line, column)
}

// MARK: - Failure

/// Fails the running test. The test continues.
public func fail(
    _ message: @autoclosure () -> String, file: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    Recorder.record(RecordedIssue(place: CallPlace(file, line, column), message: message()))
}

// MARK: - In-class tests

#if SELF_TESTS
enum ExpectationTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRecordsPositionsOfPassedExpectations": testRecordsPositionsOfPassedExpectations,
            "testEvaluatesOperandsOnce": testEvaluatesOperandsOnce,
            "testEvaluatesMessageOnFailureOnly": testEvaluatesMessageOnFailureOnly,
            "testReportsIssuesAtTheCall": testReportsIssuesAtTheCall,
        ]
            + .each("testPassedExpectationsRecordNoIssues", met.indices) { met[$0]() }
            + .each("testFailedExpectationsReportTheActualValue", unmet, named: name, expectIssue)
            + .each("testDifferenceMustBeBelowTolerance", tolerances, named: { "\($0)" }) {
                got, expected, tolerance, isMet in
                expectEqual(Recorder.issues { expectEqual(got, expected, within: tolerance) }.isEmpty, isMet)
            }
    }

    private final class Thing {}

    /// Passed expectations are recorded by their positions if `notesWhatIsMet` is set.
    private static func testRecordsPositionsOfPassedExpectations() throws {
        let calls: [(UInt) throws -> Void] = [
            { expectEqual(4, 4, file: "/met", line: $0, column: 7) },
            { expectEqual("a", "a", file: "/met", line: $0, column: 7) },
            { expectEqual(true, true, file: "/met", line: $0, column: 7) },
            { expectEqual([1], [1], file: "/met", line: $0, column: 7) },
            { try requireEqual([1], [1], file: "/met", line: $0, column: 7) },
        ]
        let before = notesWhatIsMet
        defer { notesWhatIsMet = before }
        for isNoted in [false, true] {
            notesWhatIsMet = isNoted
            let issues = try Recorder.issues {
                for (index, call) in calls.enumerated() { try call(UInt(index + 1)) }
                expectEqual(4, 5, file: "/met", line: 9, column: 7)
                expectThrows(RequirementNotMet.self) { try requireEqual(4, 5, file: "/met", line: 9, column: 7) }
            }
            notesWhatIsMet = before
            expectEqual(issues.count, 2, "unmet ones, noted: \(isNoted)")
            for line in 1...calls.count { expectEqual(Recorder.hasMet("/met:\(line):7"), isNoted, "\(line)") }
            expectFalse(Recorder.hasMet("/met:9:7"), "what was not met")
        }
    }

    private static var met: [() -> Void] {
        let thing = Thing()
        return [
            { expectEqual(4, 4) }, { expectEqual("a", "a") }, { expectEqual(true, true) },
            { expectEqual([1, 2], [1, 2]) }, { expectEqual(Optional(4), 4) }, { expectEqual(nil as Int?, nil) },
            { expectEqual(0.1 + 0.2, 0.3, within: 1e-9) }, { expectEqual(Double.infinity, .infinity, within: 1) },
            { expectNotEqual(1, 2) }, { expectIdentical(thing, thing) }, { expectIdentical(nil, nil) },
            { expectTrue(true) }, { expectFalse(false) }, { expectNil(nil as Int?) }, { expectNotNil(4) },
            { expectLessThan(1, 2) }, { expectLessThanOrEqual(2, 2) },
            { expectGreaterThan(2, 1) }, { expectGreaterThanOrEqual(2, 2) },
        ]
    }

    /// An expectation that fails, and the texts of its issue.
    typealias Unmet = (body: () -> Void, got: String, expected: String)

    static func name(_ row: Unmet) -> String { "\(row.got), not \(row.expected)" }

    static func expectIssue(_ row: Unmet) {
        let issues = Recorder.issues(of: row.body)
        expectEqual(issues.map(\.got), [row.got])
        expectEqual(issues.map(\.expected), [row.expected])
    }

    private static var unmet: [Unmet] {
        [
            ({ expectEqual(4, 5) }, "4", "5"), ({ expectEqual("a", "b") }, "\"a\"", "\"b\""),
            ({ expectEqual(true, false) }, "true", "false"), ({ expectEqual(Optional(4), nil) }, "4", "nil"),
            ({ expectEqual(nil, [1]) }, "nil", "[1]"), ({ expectEqual(1.5, 2, within: 0.5) }, "1.5", "2.0 within 0.5"),
            ({ expectNotEqual(4, 4) }, "4", "a different value"), ({ expectTrue(false) }, "false", "true"),
            ({ expectFalse(true) }, "true", "false"), ({ expectNil(Optional("x")) }, "\"x\"", "nil"),
            ({ expectNotNil(nil as Int?) }, "nil", "a value"), ({ expectLessThan(2, 2) }, "2", "less than 2"),
            ({ expectLessThanOrEqual(3, 2) }, "3", "at most 2"), ({ expectGreaterThan(2, 2) }, "2", "greater than 2"),
            ({ expectGreaterThanOrEqual(1, 2) }, "1", "at least 2"), ({ fail("why") }, "", ""),
        ]
    }

    private static let tolerances: [(got: Double, expected: Double, tolerance: Double, isMet: Bool)] = [
        (1, 2, 1, false), (1, 2, 1.5, true), (.nan, .nan, 1, false), (.nan, 1, .infinity, false),
        (1, 1, .nan, false), (1, 1, 0, true), (1, 2, 0, false), (1, 1, -1, false), (.infinity, .infinity, 0, true),
        (.infinity, -.infinity, 1, false),
    ]

    private static func testEvaluatesOperandsOnce() {
        var count = 0
        func next() -> Int {
            count += 1
            return count
        }
        _ = Recorder.issues { expectEqual(next(), 7) }
        expectEqual(count, 1)
    }

    private static func testEvaluatesMessageOnFailureOnly() {
        var count = 0
        func message() -> String {
            count += 1
            return "100% %s"
        }
        expectEqual(1, 1, message())
        expectEqual(count, 0, "evaluations after success")
        let issues = Recorder.issues { expectEqual(1, 2, message()) }
        expectEqual(issues.map(\.message), ["100% %s"])
    }

    private static func testReportsIssuesAtTheCall() {
        let issues = Recorder.issues { fail("here") }
        expectEqual(issues.map(\.place), [CallPlace(#filePath, #line - 1, 44)])
    }
}
#endif

#endif
