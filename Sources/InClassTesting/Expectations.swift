// The expectations that compare: each evaluates its operands once, returns when it is met, and otherwise records an
// issue at the place of the call and lets the test go on. Those about errors are in ThrowingExpectations.swift, those
// that end the test in Requirements.swift.

#if DEBUG || IN_CLASS_TESTS

/// Records an issue of the running test. Kept out of line so that a met expectation costs a comparison.
@inline(never)
@usableFromInline
func recordIssue(
    got: String, expected: String, _ message: () -> String, _ file: StaticString, _ line: UInt, _ column: UInt,
    notes: [String] = []
) {
    Recorder.record(
        RecordedIssue(
            place: SourcePlace(file, line, column), got: got, expected: expected, message: message(), notes: notes))
}

@inline(never)
@usableFromInline
func recordUnequal<Value>(
    _ got: Value, _ expected: Value, _ message: () -> String, _ file: StaticString, _ line: UInt, _ column: UInt
) {
    recordIssue(
        got: valueText(got), expected: valueText(expected), message, file, line, column,
        notes: differenceNotes(got: got, expected: expected))
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
/// - Parameters:
///   - got: What the tested code made.
///   - expected: What it should have made.
///   - message: What the value is, as in "got 4 instead of expected 5 for *count after push*"; never interpreted.
@inlinable  // PERF: Expectations/equal; lets an optimised test compare without a generic call.
public func expectEqual<Value: Equatable>(
    _ got: Value, _ expected: Value, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) {
    if got == expected { return }
    recordUnequal(got, expected, message, file, line, column)
}

/// Expects two integers to be equal.
@inlinable  // PERF: Expectations/equal-int; no generic call in a debug build.
public func expectEqual(
    _ got: Int, _ expected: Int, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) {
    if got == expected { return }
    recordUnequal(got, expected, message, file, line, column)
}

/// Expects two strings to be equal, as `==` has it: by Unicode canonical equivalence.
@inlinable  // PERF: Expectations/equal-string; no generic call in a debug build.
public func expectEqual(
    _ got: String, _ expected: String, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) {
    if got == expected { return }
    recordUnequal(got, expected, message, file, line, column)
}

/// Expects two Booleans to be equal.
@inlinable  // PERF: Expectations/equal-bool; no generic call in a debug build.
public func expectEqual(
    _ got: Bool, _ expected: Bool, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) {
    if got == expected { return }
    recordUnequal(got, expected, message, file, line, column)
}

/// Expects two numbers to be closer than a tolerance: `abs(got - expected) < tolerance`.
///
/// A difference equal to the tolerance fails, and so does NaN on any side; equal infinities are equal.
@inlinable  // PERF: Expectations/equal-within; lets an optimised test compare without a generic call.
public func expectEqual<Value: FloatingPoint>(
    _ got: Value, _ expected: Value, within tolerance: Value, _ message: @autoclosure () -> String = "",
    file: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    let difference = abs(got - expected)
    if difference < tolerance || (got.isInfinite && got == expected) { return }
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

/// Expects two references to be the same object, or both nil.
public func expectIdentical(
    _ got: AnyObject?, _ expected: AnyObject?, _ message: @autoclosure () -> String = "",
    file: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    if got === expected { return }
    func text(_ object: AnyObject?, _ kind: String) -> String {
        object.map { "\(kind) \(type(of: $0)) (\(valueText($0)))" } ?? "nil"
    }
    recordIssue(
        got: text(got, got != nil && expected != nil ? "another" : "a"), expected: text(expected, "the object"), message,
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
public func expectLess<Value: Comparable>(
    _ got: Value, _ bound: Value, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) {
    if got < bound { return }
    recordIssue(got: valueText(got), expected: "less than \(valueText(bound))", message, file, line, column)
}

/// Expects a value to be less than or equal to a bound.
public func expectLessOrEqual<Value: Comparable>(
    _ got: Value, _ bound: Value, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) {
    if got <= bound { return }
    recordIssue(got: valueText(got), expected: "at most \(valueText(bound))", message, file, line, column)
}

/// Expects a value to be greater than a bound.
public func expectGreater<Value: Comparable>(
    _ got: Value, _ bound: Value, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) {
    if got > bound { return }
    recordIssue(got: valueText(got), expected: "greater than \(valueText(bound))", message, file, line, column)
}

/// Expects a value to be greater than or equal to a bound.
public func expectGreaterOrEqual<Value: Comparable>(
    _ got: Value, _ bound: Value, _ message: @autoclosure () -> String = "", file: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
) {
    if got >= bound { return }
    recordIssue(got: valueText(got), expected: "at least \(valueText(bound))", message, file, line, column)
}

// MARK: - Failure

/// Fails the running test, which goes on.
public func fail(
    _ message: @autoclosure () -> String, file: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
    recordIssue(got: "failure", expected: "success", message, file, line, column)
}

#endif
