// A run in the Test Anything Protocol, version 14, with the details of failures as YAML blocks.

import TestEvents

/// Writes a test point for each test when it ends, and the plan after the last one.
///
/// A known issue is a `TODO`, a skipped test a `SKIP`; failures of a module are test points of their own. A run that
/// ends early bails out, after a failed test point for each test that had begun; without a reason for an early end,
/// tests that never began are `SKIP`.
// SPEC: TAP 14 (testanything.org), sections Version, Plan, Test Points, YAML Diagnostics, Escaping, Bail out.
package struct TAPReport: RunReporter {
    private let paths: PathStyle
    private let isStable: Bool
    private var rollCall = RollCall()
    private var pointCount = 0
    private var hasVersion = false

    /// Creates a report.
    ///
    /// - Parameter isStable: leave out times, so that two runs print the same.
    package init(paths: PathStyle = PathStyle(), isStable: Bool = false) {
        self.paths = paths
        self.isStable = isStable
    }

    package mutating func add(_ event: RunEvent) -> [String] {
        rollCall.add(event)
        var lines = versionLines()
        switch event {
        case .planned, .began: break
        case .ended(let result): lines += self.lines(for: result)
        case .failedLate(let test, let issue):
            lines.append(point(false, test.name))
            lines += block(details(of: [issue]))
        case .moduleIssue(let module, let issue):
            lines.append(point(false, "outside tests of module \(module)"))
            lines += block(details(of: [issue]))
        case .warning(let warning):
            let text = DiagnosticText(paths: paths).line(.warning, at: warning.place, warning.text)
            lines.append("# \(DiagnosticText.escaped(text))")
        }
        return lines
    }

    package func closingText(_ end: RunEnd) -> String {
        var report = self
        return report.close(end).joinedLines
    }

    private mutating func close(_ end: RunEnd) -> [String] {
        var lines = versionLines()
        for test in rollCall.running {
            lines.append(point(false, test.name))
            lines += block(["message: \(JSONObject.quoted(end.reasonForRunning))", "severity: fail"])
        }
        if let reason = end.earlyReason {
            lines.append("Bail out! \(DiagnosticText.escaped(reason))")
            return lines
        }
        for test in rollCall.waiting { lines.append(point(true, test.name, "SKIP \(end.reasonForWaiting)")) }
        lines.append(pointCount == 0 ? "1..0 # SKIP no tests" : "1..\(pointCount)")
        return lines
    }

    private mutating func versionLines() -> [String] {
        defer { hasVersion = true }
        return hasVersion ? [] : ["TAP version 14"]
    }

    private mutating func lines(for result: TestResult) -> [String] {
        let name = result.test.name
        switch result.outcome {
        case .failed:
            var details = details(of: result.issues.failures)
            if !isStable { details.append("duration_ms: \(DecimalText.milliseconds(result.nanoseconds))") }
            if !result.earlierAttempts.isEmpty { details.append("attempts: \(result.earlierAttempts.count + 1)") }
            if !result.output.isEmpty {
                if result.omittedOutputCount > 0 { details.append("omitted_bytes: \(result.omittedOutputCount)") }
                details.append("output: \(JSONObject.quoted(String(decoding: result.output, as: UTF8.self)))")
            }
            return [point(false, name)] + block(details)
        case .skipped:
            let reason = result.skipReason.map { " \($0)" } ?? ""
            return [point(true, name, "SKIP\(reason)")]
        case .passed:
            if let known = result.issues.first(where: { $0.knownReason != nil }) {
                // A point that fails as it should: harnesses count a TODO as no failure.
                return [point(false, name, "TODO \(known.knownReason ?? "")")]
                    + block(details(of: result.issues, severity: "todo"))
            }
            guard result.isFlaky else { return [point(true, name)] }
            let failed = result.earlierAttempts.filter { $0.outcome == .failed }
            var details = details(of: failed.flatMap(\.issues.failures), severity: "comment")
            details.append("attempts: \(result.earlierAttempts.count + 1)")
            return [point(true, name)] + block(details)
        }
    }

    /// A test point; the directive is the only part after a bare `#`.
    private mutating func point(_ isOK: Bool, _ name: String, _ directive: String? = nil) -> String {
        pointCount += 1
        let line = "\(isOK ? "ok" : "not ok") \(pointCount) - \(Self.escaped(name))"
        return directive.map { "\(line) # \(Self.escaped($0))" } ?? line
    }

    /// On one line, with `\` and `#` escaped.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in DiagnosticText.escaped(text).unicodeScalars {
            if scalar == "\\" || scalar == "#" { result += "\\" }
            result.unicodeScalars.append(scalar)
        }
        return result
    }

    private func block(_ details: [String]) -> [String] { ["  ---"] + details.map { "  \($0)" } + ["  ..."] }

    /// The gravest issue in the fields that harnesses know, and the others as a list of lines.
    private func details(of issues: [TestIssue], severity: String = "fail") -> [String] {
        let index = issues.indices.min { issues[$0].kind.rank < issues[$1].kind.rank }
        guard let index else { return ["message: \"failed without an issue\"", "severity: \(severity)"] }
        let worst = issues[index]
        var lines = [
            "message: \(JSONObject.quoted(DiagnosticText.message(for: worst, of: nil)))", "severity: \(severity)",
            "kind: \(worst.kind.rawValue)",
        ]
        if let place = worst.knownPlace {
            lines += [
                "at:", "  file: \(JSONObject.quoted(paths.text(place.path)))", "  line: \(place.line)",
                "  column: \(place.column)",
            ]
        }
        if !worst.isPlain {
            lines += [
                "data:", "  got: \(JSONObject.quoted(worst.got))", "  expect: \(JSONObject.quoted(worst.expected))",
            ]
        }
        let text = DiagnosticText(paths: paths)
        if !worst.notes.isEmpty { lines += ["notes:"] + worst.notes.map { "  - \(JSONObject.quoted($0))" } }
        if !worst.callers.isEmpty {
            lines += ["callers:"] + worst.callers.map { "  - \(JSONObject.quoted(paths.text($0)))" }
        }
        let others = issues.indices.filter { $0 != index }.flatMap { text.lines(for: issues[$0], of: nil) }
        if !others.isEmpty { lines += ["others:"] + others.map { "  - \(JSONObject.quoted($0))" } }
        return lines
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension TAPReport: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testGoldenOfAnEarlyEnd": testGoldenOfAnEarlyEnd,
            "testPlanCountsEveryPoint": testPlanCountsEveryPoint,
            "testEmptyRunIsASkippedPlan": testEmptyRunIsASkippedPlan,
            "testOnlyDirectivesFollowABareHash": testOnlyDirectivesFollowABareHash,
        ]
    }

    private static func testGoldenOfAnEarlyEnd() {
        var report = TAPReport(paths: PathStyle(root: SampleRun.root, isRelative: true), isStable: true)
        var lines: [String] = []
        for event in SampleRun.events { lines += report.add(event) }
        expectEqual(lines.joinedLines + report.closingText(RunEnd(earlyReason: "Timed out")), golden + "\n")
    }

    /// The sample run that was ended early.
    private static let golden = ##"""
        TAP version 14
        ok 1 - Stack.testEmpty
        not ok 2 - Stack.testPush
          ---
          message: "got error \"<a & b>\" instead of expected no error"
          severity: fail
          kind: thrownError
          at:
            file: "Sources/Stack.swift"
            line: 4
            column: 9
          data:
            got: "error \"<a & b>\""
            expect: "no error"
          others:
            - "Sources/Stack.swift:3:9: error: got 4 instead of expected 5 for count # after\\npush"
            - "Sources/Stack.swift:3:9: note: 2 elements differ"
          omitted_bytes: 7
          output: "said: \u001b[31m]]>\n::error::x\n�"
          ...
        not ok 3 - Stack.testCrash
          ---
          message: "got crash SIGILL 'Index out of range' instead of expected end of test"
          severity: fail
          kind: crash
          at:
            file: "Sources/Stack.swift"
            line: 8
            column: 9
          data:
            got: "crash SIGILL 'Index out of range'"
            expect: "end of test"
          callers:
            - "Sources/Stack.swift:2:1"
          ...
        ok 4 - Stack.testSkip # SKIP no "network"
        not ok 5 - Stack.testKnown # TODO issue \#7
          ---
          message: "got 1 instead of expected 2"
          severity: todo
          kind: expectation
          at:
            file: "Sources/Stack.swift"
            line: 6
            column: 9
          data:
            got: "1"
            expect: "2"
          ...
        ok 6 - Stack.testFlaky
          ---
          message: "got no end after 50 ms instead of expected end of test"
          severity: comment
          kind: timeout
          at:
            file: "Sources/Stack.swift"
            line: 7
            column: 9
          data:
            got: "no end after 50 ms"
            expect: "end of test"
          attempts: 2
          ...
        # Sources/Stack.swift:12:5: warning: 'testOld' is in no list
        not ok 7 - outside tests of module Stacks
          ---
          message: "got 6 results instead of expected 7"
          severity: fail
          kind: list
          at:
            file: "Sources/Stack.swift"
            line: 1
            column: 1
          data:
            got: "6 results"
            expect: "7"
          ...
        not ok 8 - Stack.testHang
          ---
          message: "Timed out"
          severity: fail
          ...
        Bail out! Timed out
        """##

    private static func testPlanCountsEveryPoint() {
        var report = TAPReport()
        var lines = report.add(.planned(module: "M", tests: ["a", "b", "c"].map { SampleRun.test($0) }))
        lines += report.add(.ended(SampleRun.result("a", .passed)))
        lines += report.add(.began(SampleRun.test("b")))
        lines += report.closingText(RunEnd()).split(separator: "\n").map(String.init)
        expectEqual(
            lines,
            [
                "TAP version 14", "ok 1 - Stack.a", "not ok 2 - Stack.b", "  ---", "  message: \"no result\"",
                "  severity: fail", "  ...", "ok 3 - Stack.c # SKIP not run", "1..3",
            ])
    }

    private static func testEmptyRunIsASkippedPlan() {
        expectEqual(TAPReport().closingText(RunEnd()), "TAP version 14\n1..0 # SKIP no tests\n")
    }

    private static func testOnlyDirectivesFollowABareHash() {
        let rows = [("a # TODO b", ##"a \# TODO b"##), (#"a\b"#, #"a\\b"#), ("a\nb", #"a\\nb"#), ("é", "é")]
        for (text, escapedText) in rows { expectEqual(escaped(text), escapedText) }
    }
}
#endif
