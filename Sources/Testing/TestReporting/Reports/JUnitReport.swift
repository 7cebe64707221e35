// Writes a run as JUnit XML for GitLab and Jenkins, with the elements in the order of Surefire's schema.

import TestEvents

/// Creates JUnit XML from a run, which may still be going on.
///
/// The report has a `testsuite` for each type and a `testcase` for each planned test. A further case, `outside tests`,
/// contains the failures of a module outside its tests. A planned test without a result is in the report, too: as an
/// error if it has begun, or else as skipped with `status="notrun"`. A test that was run again has Surefire's form:
/// `flakyFailure` and `flakyError` before a success, `rerunFailure` and `rerunError` after a failure.
package struct JUnitReport {
    package struct Options: Sendable {
        /// The form of paths. Readers create links from paths that are relative to the repository.
        package var style = TextStyle()
        /// Properties of the run, such as its seed, for every suite.
        package var properties: [(name: String, value: String)] = []
        /// The beginning of the run in ISO 8601.
        package var timestamp: String?
        /// The maximum size of the report in bytes. Further captured output is left out. GitLab refuses more than 30 MB.
        package var byteCountMax = 24 << 20
        /// The maximum size in bytes of the lines about one test's issues.
        package var issueByteCountMax = 64 << 10

        package init() {}
    }

    private struct Suite {
        let name: String
        var cases: [XMLElement] = []
        /// The names of the cases.
        var names: Set<String> = []
        var nanoseconds = 0
        /// The number of cases with an element of each name.
        var counts: [String: Int] = [:]
    }

    private let options: Options
    private var suites: [Suite] = []
    private var indices: [String: Int] = [:]
    /// The size of all issues and output so far.
    private var byteCount = 0

    private init(_ options: Options) { self.options = options }

    /// Returns the report.
    package static func text(of record: RunRecord, _ options: Options = Options()) -> String {
        var report = JUnitReport(options)
        for entry in record.entries { report.add(entry, of: record) }
        var modules: [String] = []
        for (module, _) in record.moduleIssues where !modules.contains(module) { modules.append(module) }
        for module in modules {
            let test = PlannedTest(typeName: "", testName: "outside tests", testType: "again", module: module)
            var result = TestResult(test: test, outcome: .failed)
            result.issues = record.moduleIssues.filter { $0.module == module }.map(\.issue)
            report.add(RunRecord.Entry(test: test, hasBegun: true, result: result), of: record)
        }
        return report.document(warnings: record.warnings)
    }

    /// Adds a case to its suite.
    private mutating func add(_ entry: RunRecord.Entry, of record: RunRecord) {
        let test = entry.test
        var attempt = entry.result ?? TestResult(test: test, outcome: .skipped)
        let failed = (attempt.earlierAttempts + [attempt]).filter { $0.outcome == .failed }
        let elements: [XMLElement]
        switch entry.result?.outcome {
        case .failed:
            // Surefire's order: the first failure represents the test, and the others are reruns.
            attempt = failed.first ?? attempt
            elements =
                [problem(attempt, of: test)] + failed.dropFirst().map { problem($0, of: test, prefix: "rerun") }
        case .skipped: elements = [XMLElement("skipped", [("message", attempt.skipReason)])]
        case .passed: elements = failed.map { problem($0, of: test, prefix: "flaky") }
        case nil where entry.hasBegun:
            elements = [XMLElement("error", [("message", record.reasonForRunning), ("type", "aborted")])]
        case nil: elements = [XMLElement("skipped", [("message", record.reasonForWaiting)])]
        }
        let parts = [test.module, test.typeName].filter { !$0.isEmpty }
        let suiteName = XMLElement.allowed(parts.isEmpty ? "testlogger" : parts.joined(separator: "."))
        let suite = indices[suiteName] ?? suites.count
        if suite == suites.count {
            indices[suiteName] = suite
            suites.append(Suite(name: suiteName))
        }
        let place = (attempt.issues.failures.first { $0.knownPlace != nil } ?? attempt.issues.first)?.knownPlace
        let known = attempt.issues.filter { $0.knownReason != nil }.map {
            ("known issue", "\($0.knownReason ?? ""): \(DiagnosticText.message(for: $0, of: nil))")
        }
        let children = properties(known) + elements + output(attempt)
        for element in elements { suites[suite].counts[element.name, default: 0] += 1 }
        suites[suite].nanoseconds += attempt.nanoseconds
        suites[suite].cases.append(
            XMLElement(
                "testcase",
                [
                    ("classname", suiteName), ("name", uniqueName(of: test, in: suite)),
                    ("file", place.map { options.style.text($0.path) }), ("line", place.map { String($0.line) }),
                    ("time", time(attempt.nanoseconds)),
                    ("status", entry.result == nil && !entry.hasBegun ? "notrun" : nil),
                ], children: children.isEmpty ? nil : children))
    }

    /// Returns a unique name, because GitLab keeps only one case of each name.
    private mutating func uniqueName(of test: PlannedTest, in suite: Int) -> String {
        let name = XMLElement.allowed(test.testName)
        var unique = name
        var number = 0
        while !suites[suite].names.insert(unique).inserted {
            number += 1
            let base = XMLElement.allowed("\(name) (\(test.testType))")
            unique = number == 1 ? base : "\(base) \(number)"
        }
        return unique
    }

    private func time(_ nanoseconds: Int) -> String? { options.style.isStable ? nil : DecimalText.seconds(nanoseconds) }

    private func properties(_ properties: [(name: String, value: String)]) -> [XMLElement] {
        if properties.isEmpty { return [] }
        let children = properties.map { XMLElement("property", [("name", $0.name), ("value", $0.value)]) }
        return [XMLElement("properties", children: children)]
    }

    /// Returns one element with all issues of an attempt, because readers show only the first element.
    ///
    /// A failed expectation is a failure. All other issues are errors. With a prefix, the element has Surefire's form with a
    /// separate element for the stack trace.
    private mutating func problem(_ attempt: TestResult, of test: PlannedTest, prefix: String = "") -> XMLElement {
        let isOfModule = test.typeName.isEmpty
        let failures = attempt.issues.failures
        let worst = failures.worst
        let name = worst?.kind == .expectation && !isOfModule ? "failure" : "error"
        var message = worst.map { DiagnosticText.message(for: $0, of: nil) } ?? "failed without an issue"
        if failures.count > 1 { message += " (and \(failures.count - 1) more)" }
        let attributes = [("message", message), ("type", worst?.kind.rawValue ?? "aborted")]
        let body = body(of: failures, isOfModule ? nil : test)
        byteCount += body.utf8.count
        if prefix.isEmpty { return XMLElement(name, attributes, content: body) }
        return XMLElement(
            prefix + name.prefix(1).uppercased() + name.dropFirst(), attributes,
            children: [XMLElement("stackTrace", content: body)] + output(attempt))
    }

    /// Returns the lines of all issues, as in a terminal.
    private func body(of failures: [TestIssue], _ test: PlannedTest?) -> String {
        let text = DiagnosticText(options.style)
        var body = ""
        for (index, issue) in failures.enumerated() {
            guard body.utf8.count < options.issueByteCountMax else {
                return body + "\n… \(failures.count - index) more issues left out …"
            }
            if index > 0 { body += "\n" }
            body += text.lines(for: issue, of: test).joined(separator: "\n")
        }
        return body
    }

    private mutating func output(_ attempt: TestResult) -> [XMLElement] {
        if attempt.output.isEmpty, attempt.attachments.isEmpty { return [] }
        let omitted = attempt.omittedOutputCount
        var text =
            (omitted > 0 ? "… \(omitted) bytes left out …\n" : "") + String(decoding: attempt.output, as: UTF8.self)
        if byteCount > options.byteCountMax {
            text = "… \(text.utf8.count) bytes left out, because the report is long …"
        }
        // GitLab and Jenkins look for these lines.
        text += attempt.attachments.map { "\n[[ATTACHMENT|\($0)]]" }.joined()
        byteCount += text.utf8.count
        return [XMLElement("system-out", content: text)]
    }

    private func document(warnings: [SourceWarning]) -> String {
        func counts(_ suites: [Suite]) -> [(name: String, value: String?)] {
            func sum(_ count: (Suite) -> Int) -> Int { suites.reduce(0) { $0 + count($1) } }
            return [
                ("tests", String(sum(\.cases.count))), ("failures", String(sum { $0.counts["failure"] ?? 0 })),
                ("errors", String(sum { $0.counts["error"] ?? 0 })),
                ("skipped", String(sum { $0.counts["skipped"] ?? 0 })),
                ("time", time(sum(\.nanoseconds))),
            ]
        }
        var elements: [XMLElement] = []
        for (index, suite) in suites.enumerated() {
            var children = properties(options.properties) + suite.cases
            // JUnit has no element for warnings. Readers show this element with the suite's errors.
            if index == suites.count - 1, !warnings.isEmpty {
                let text = DiagnosticText(options.style)
                let lines = warnings.flatMap { text.lines(for: $0).prefix(1) }
                children.append(XMLElement("system-err", content: lines.joined(separator: "\n")))
            }
            let timestamp = ("timestamp", options.style.isStable ? nil : options.timestamp)
            elements.append(
                XMLElement("testsuite", [("name", suite.name)] + counts([suite]) + [timestamp], children: children))
        }
        return XMLElement("testsuites", [("name", "testlogger")] + counts(suites), children: elements).document
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension JUnitReport: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testReportsAnInterruptedRun": testReportsAnInterruptedRun, "testEmptyRunIsValid": testEmptyRunIsValid,
            "testReportsPropertiesOfTheRun": testReportsPropertiesOfTheRun,
            "testOmitsIssuesAndOutputBeyondLimits": testOmitsIssuesAndOutputBeyondLimits,
            "testNamesAreUniqueWithinASuite": testNamesAreUniqueWithinASuite,
            "testRetriedTestReportsItsFirstFailure": testRetriedTestReportsItsFirstFailure,
        ]
    }

    private static func testReportsAnInterruptedRun() {
        var options = JUnitReport.Options()
        options.style = SampleRun.style
        expectEqual(
            text(of: SampleRun.record, options),
            #"""
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="testlogger" tests="9" failures="0" errors="4" skipped="2">
              <testsuite name="Stacks.Stack" tests="8" failures="0" errors="3" skipped="2">
                <testcase classname="Stacks.Stack" name="testEmpty"/>
                <testcase classname="Stacks.Stack" name="testPush" file="Sources/Stack.swift" line="3">
                  <error message="threw &quot;&lt;a &amp; b&gt;&quot; (and 1 more)" type="thrownError">Sources/Stack.swift:3:9: error: got 4 instead of expected 5 for count # after\npush (Stack.testPush)
            Sources/Stack.swift:3:9: note: 2 elements differ
            Sources/Stack.swift:4:9: error: threw &quot;&lt;a &amp; b&gt;&quot; (Stack.testPush)</error>
                  <system-out>… 7 bytes left out …
            said: [31m]]&gt;
            ::error::x
            �
            [[ATTACHMENT|/tmp/a b.html]]</system-out>
                </testcase>
                <testcase classname="Stacks.Stack" name="testCrash" file="Sources/Stack.swift" line="8">
                  <error message="crashed with SIGILL: Index out of range" type="crash">Sources/Stack.swift:8:9: error: crashed with SIGILL: Index out of range (Stack.testCrash)
            Sources/Stack.swift:2:1: note: called from here</error>
                </testcase>
                <testcase classname="Stacks.Stack" name="testSkip">
                  <skipped message="no &quot;network&quot;"/>
                </testcase>
                <testcase classname="Stacks.Stack" name="testKnown" file="Sources/Stack.swift" line="6">
                  <properties>
                    <property name="known issue" value="issue #7: got 1 instead of expected 2"/>
                  </properties>
                </testcase>
                <testcase classname="Stacks.Stack" name="testFlaky">
                  <flakyError message="timed out after 50 ms" type="timeout">
                    <stackTrace>Sources/Stack.swift:7:9: error: timed out after 50 ms (Stack.testFlaky)</stackTrace>
                    <system-out>slow</system-out>
                  </flakyError>
                </testcase>
                <testcase classname="Stacks.Stack" name="testHang">
                  <error message="Timed out" type="aborted"/>
                </testcase>
                <testcase classname="Stacks.Stack" name="testNever" status="notrun">
                  <skipped message="not run: Timed out"/>
                </testcase>
              </testsuite>
              <testsuite name="Stacks" tests="1" failures="0" errors="1" skipped="0">
                <testcase classname="Stacks" name="outside tests" file="Sources/Stack.swift" line="1">
                  <error message="6 results for 7 tests" type="list">Sources/Stack.swift:1:1: error: 6 results for 7 tests</error>
                </testcase>
                <system-err>Sources/Stack.swift:12:5: warning: &apos;testOld&apos; is in no list</system-err>
              </testsuite>
            </testsuites>

            """#)
    }

    private static func testEmptyRunIsValid() {
        expectEqual(
            text(of: RunRecord()),
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="testlogger" tests="0" failures="0" errors="0" skipped="0" time="0.000000">
            </testsuites>

            """)
    }

    private static func testReportsPropertiesOfTheRun() {
        var options = JUnitReport.Options()
        options.properties = [("seed", "12345")]
        options.timestamp = "2026-09-25T01:37:05Z"
        let plan = RunEvent.planned(module: "Stacks", tests: [SampleRun.test("testB")])
        expectEqual(
            text(of: SampleRun.record(of: [.ended(SampleRun.result("testA", .passed)), plan]), options),
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="testlogger" tests="2" failures="0" errors="0" skipped="1" time="0.001500">
              <testsuite name="Stacks.Stack" tests="2" failures="0" errors="0" skipped="1" time="0.001500" \
            timestamp="2026-09-25T01:37:05Z">
                <properties>
                  <property name="seed" value="12345"/>
                </properties>
                <testcase classname="Stacks.Stack" name="testA" time="0.001500"/>
                <testcase classname="Stacks.Stack" name="testB" time="0.000000" status="notrun">
                  <skipped message="not run"/>
                </testcase>
              </testsuite>
            </testsuites>

            """)
    }

    private static func testOmitsIssuesAndOutputBeyondLimits() {
        var options = JUnitReport.Options()
        (options.byteCountMax, options.issueByteCountMax) = (1000, 100)
        let issue = SampleRun.issue(.expectation, line: 1, got: "a", expected: "b")
        let result = SampleRun.result("testA", .failed, Array(repeating: issue, count: 9)) {
            $0.output = Array(repeating: UInt8(ascii: "x"), count: 2000)
        }
        let xml = text(of: SampleRun.record(of: [.ended(result), .ended(result)]), options)
        expectTrue(xml.contains("\n… 7 more issues left out …</failure>"), "issues are left out")
        let output = "<system-out>\(String(repeating: "x", count: 2000))</system-out>"
        expectTrue(xml.contains(output), "output of the first test")
        expectTrue(xml.contains("<system-out>… 2000 bytes left out, because the report is long …</system-out>"))
    }

    private static func testNamesAreUniqueWithinASuite() {
        let tests = ["unit", "unit", "slow", "unit"].map { SampleRun.test("testA", list: $0) }
        let plan = RunEvent.planned(module: "M", tests: tests + [SampleRun.test("testA", type: "Other")])
        let xml = text(of: SampleRun.record(of: [plan]))
        expectEqual(
            xml.matches(of: /<test(?:suite|case)(?: [a-z]+="[^"]*")*? name="([^"]*)"/).map { String($0.1) },
            ["Stacks.Stack", "testA", "testA (unit)", "testA (slow)", "testA (unit) 2", "Stacks.Other", "testA"])
    }

    private static func testRetriedTestReportsItsFirstFailure() {
        func failed(_ kind: TestIssue.Kind) -> TestResult {
            SampleRun.result("testA", .failed, [SampleRun.issue(kind, line: 1, got: "a", expected: "b")])
        }
        var result = failed(.timeout)
        result.earlierAttempts = [SampleRun.result("testA", .passed), failed(.expectation), failed(.crash)]
        let xml = text(of: SampleRun.record(of: [.ended(result)]))
        let elements = xml.matches(of: /<(\w+) message=.*? type="(\w+)"/).map { "\($0.1) \($0.2)" }
        expectEqual(elements, ["failure expectation", "rerunError crash", "rerunError timeout"])
    }
}
#endif
