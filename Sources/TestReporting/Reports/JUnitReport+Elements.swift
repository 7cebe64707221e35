// Writes what JUnitReport has decided, element by element, in the order that Surefire's schema asks for.

import TestEvents

extension JUnitReport {
    func xml(of suites: [Suite]) -> String {
        var xml = XMLText()
        let cases = suites.reduce(0) { $0 + $1.cases.count }
        xml.begin(
            "testsuites",
            [
                ("name", "testlogger"), ("tests", String(cases)),
                ("failures", String(suites.reduce(0) { $0 + $1.failureCount })),
                ("errors", String(suites.reduce(0) { $0 + $1.errorCount })),
                ("skipped", String(suites.reduce(0) { $0 + $1.skippedCount })),
                ("time", time(suites.reduce(0) { $0 + $1.nanoseconds })),
            ])
        for (index, suite) in suites.enumerated() {
            xml.begin(
                "testsuite",
                [
                    ("name", suite.name), ("tests", String(suite.cases.count)),
                    ("failures", String(suite.failureCount)), ("errors", String(suite.errorCount)),
                    ("skipped", String(suite.skippedCount)), ("time", time(suite.nanoseconds)),
                    ("timestamp", options.isStable ? nil : options.timestamp),
                    ("hostname", options.isStable ? nil : options.hostname),
                ])
            addProperties(options.properties, to: &xml)
            for made in suite.cases { add(made, of: suite, to: &xml) }
            // No element is made for what fails nothing; people find it where the readers show the suite's errors.
            if index == suites.count - 1, !warnings.isEmpty {
                let text = DiagnosticText(paths: options.paths)
                xml.add(
                    "system-err", content: warnings.flatMap { text.lines(for: $0).prefix(1) }.joined(separator: "\n"))
            }
            xml.end()
        }
        xml.end()
        return xml.text
    }

    private func time(_ nanoseconds: Int) -> String? { options.isStable ? nil : DecimalText.seconds(nanoseconds) }

    private func addProperties(_ properties: [(name: String, value: String)], to xml: inout XMLText) {
        guard !properties.isEmpty else { return }
        xml.begin("properties")
        for property in properties { xml.add("property", [("name", property.name), ("value", property.value)]) }
        xml.end()
    }

    private func add(_ made: Case, of suite: Suite, to xml: inout XMLText) {
        let issues = made.attempt?.issues ?? []
        let place = (issues.failures.first { $0.knownPlace != nil } ?? issues.first)?.knownPlace
        var attributes: [(name: String, value: String?)] = [
            ("classname", suite.name), ("name", made.name), ("file", place.map { options.paths.text($0.path) }),
            ("line", place.map { String($0.line) }), ("time", time(made.nanoseconds)),
        ]
        if case .skipped(_, false) = made.verdict { attributes.append(("status", "notrun")) }
        let output = made.attempt.map(outputText) ?? ""
        let known = issues.filter { $0.knownReason != nil }
        if made.verdict == .passed, output.isEmpty, known.isEmpty, made.otherAttempts.isEmpty {
            xml.add("testcase", attributes)
            return
        }
        xml.begin("testcase", attributes)
        addProperties(
            known.map { ("known issue", "\($0.knownReason ?? ""): \(DiagnosticText.message(for: $0, of: nil))") },
            to: &xml)
        switch made.verdict {
        case .passed: break
        case .skipped(let reason, _): xml.add("skipped", [("message", reason)])
        case .aborted(let reason): xml.add("error", [("message", reason), ("type", "aborted")])
        case .failure: addIssues(of: made, named: "failure", to: &xml)
        case .error: addIssues(of: made, named: "error", to: &xml)
        }
        for attempt in made.otherAttempts {
            add(attempt, of: made.test, prefix: made.verdict == .passed ? "flaky" : "rerun", to: &xml)
        }
        addOutput(output, to: &xml)
        xml.end()
    }

    /// Adds one element with all issues: readers show the first of several and forget the rest.
    private func addIssues(of made: Case, named name: String, to xml: inout XMLText) {
        guard let attempt = made.attempt else { return }
        xml.add(name, Self.headline(of: attempt), content: body(of: attempt, made.test))
    }

    /// Adds an attempt in Surefire's form, which has the stack trace in an element of its own.
    private func add(_ attempt: TestAttempt, of test: PlannedTest?, prefix: String, to xml: inout XMLText) {
        xml.begin(prefix + (Self.verdict(for: attempt) == .failure ? "Failure" : "Error"), Self.headline(of: attempt))
        xml.add("stackTrace", content: body(of: attempt, test))
        addOutput(outputText(attempt), to: &xml)
        xml.end()
    }

    /// The gravest issue in one line.
    private static func headline(of attempt: TestAttempt) -> [(name: String, value: String?)] {
        let failures = attempt.issues.failures
        guard let worst = failures.worst else { return [("message", "failed without an issue"), ("type", "aborted")] }
        var message = DiagnosticText.message(for: worst, of: nil)
        if failures.count > 1 { message += " (and \(failures.count - 1) more)" }
        return [("message", message), ("type", worst.kind.rawValue)]
    }

    /// The lines of all issues, as a terminal shows them.
    private func body(of attempt: TestAttempt, _ test: PlannedTest?) -> String {
        let text = DiagnosticText(paths: options.paths)
        let failures = attempt.issues.failures
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

    private func outputText(_ attempt: TestAttempt) -> String {
        let omitted = attempt.omittedOutputCount
        // The line by which GitLab and Jenkins find a file.
        return (omitted > 0 ? "… \(omitted) bytes left out …\n" : "")
            + String(decoding: attempt.output, as: UTF8.self)
            + attempt.attachments.map { "\n[[ATTACHMENT|\($0)]]" }.joined()
    }

    private func addOutput(_ output: String, to xml: inout XMLText) {
        guard !output.isEmpty else { return }
        let isTooLong = xml.text.utf8.count > options.byteCountMax
        xml.add(
            "system-out",
            content: isTooLong ? "… \(output.utf8.count) bytes left out, because the report is long …" : output)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

enum JUnitElementTests {}

extension JUnitElementTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testGoldenOfAnEarlyEnd": testGoldenOfAnEarlyEnd,
            "testEmptyRunIsValid": testEmptyRunIsValid,
            "testTellsOfTheRun": testTellsOfTheRun,
            "testStaysShortOfTheLimits": testStaysShortOfTheLimits,
        ]
    }

    private static func testGoldenOfAnEarlyEnd() {
        var options = JUnitReport.Options()
        options.paths = PathStyle(root: SampleRun.root, isRelative: true)
        options.isStable = true
        var report = JUnitReport(options: options)
        for event in SampleRun.events { report.add(event) }
        expectEqual(
            report.closingText(RunEnd(earlyReason: "Timed out")),
            #"""
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="testlogger" tests="9" failures="0" errors="4" skipped="2">
              <testsuite name="Stacks.Stack" tests="8" failures="0" errors="3" skipped="2">
                <testcase classname="Stacks.Stack" name="testEmpty"/>
                <testcase classname="Stacks.Stack" name="testPush" file="Sources/Stack.swift" line="3">
                  <error message="got error &quot;&lt;a &amp; b&gt;&quot; instead of expected no error (and 1 more)" type="thrownError">Sources/Stack.swift:3:9: error: got 4 instead of expected 5 for count # after\npush (Stack.testPush)
            Sources/Stack.swift:3:9: note: 2 elements differ
            Sources/Stack.swift:4:9: error: got error &quot;&lt;a &amp; b&gt;&quot; instead of expected no error (Stack.testPush)</error>
                  <system-out>… 7 bytes left out …
            said: [31m]]&gt;
            ::error::x
            �
            [[ATTACHMENT|/tmp/a b.html]]</system-out>
                </testcase>
                <testcase classname="Stacks.Stack" name="testCrash" file="Sources/Stack.swift" line="8">
                  <error message="got crash SIGILL &apos;Index out of range&apos; instead of expected end of test" type="crash">Sources/Stack.swift:8:9: error: got crash SIGILL &apos;Index out of range&apos; instead of expected end of test (Stack.testCrash)
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
                  <flakyError message="got no end after 50 ms instead of expected end of test" type="timeout">
                    <stackTrace>Sources/Stack.swift:7:9: error: got no end after 50 ms instead of expected end of test (Stack.testFlaky)</stackTrace>
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
                  <error message="got 6 results instead of expected 7" type="list">Sources/Stack.swift:1:1: error: got 6 results instead of expected 7</error>
                </testcase>
                <system-err>Sources/Stack.swift:12:5: warning: &apos;testOld&apos; is in no list</system-err>
              </testsuite>
            </testsuites>

            """#)
    }

    private static func testEmptyRunIsValid() {
        expectEqual(
            JUnitReport().closingText(RunEnd()),
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="testlogger" tests="0" failures="0" errors="0" skipped="0" time="0.000000">
            </testsuites>

            """)
    }

    private static func testTellsOfTheRun() {
        var options = JUnitReport.Options()
        options.properties = [("seed", "12345")]
        options.timestamp = "2026-09-25T01:37:05Z"
        options.hostname = "h"
        var report = JUnitReport(options: options)
        report.add(.ended(SampleRun.result("testA", .passed)))
        report.add(.planned(module: "Stacks", tests: [SampleRun.test("testB")]))
        expectEqual(
            report.closingText(RunEnd()),
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="testlogger" tests="2" failures="0" errors="0" skipped="1" time="0.001500">
              <testsuite name="Stacks.Stack" tests="2" failures="0" errors="0" skipped="1" time="0.001500" \
            timestamp="2026-09-25T01:37:05Z" hostname="h">
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

    private static func testStaysShortOfTheLimits() {
        var options = JUnitReport.Options()
        options.byteCountMax = 1000
        options.issueByteCountMax = 100
        var report = JUnitReport(options: options)
        var result = SampleRun.result(
            "testA", .failed,
            Array(repeating: SampleRun.issue(.expectation, line: 1, got: "a", expected: "b"), count: 9))
        result.output = Array(repeating: UInt8(ascii: "x"), count: 2000)
        report.add(.ended(result))
        report.add(.ended(result))
        let xml = report.closingText(RunEnd())
        expectTrue(xml.contains("\n… 7 more issues left out …</failure>"), "issues are left out")
        let output = "<system-out>\(String(repeating: "x", count: 2000))</system-out>"
        expectTrue(xml.contains(output), "output of the first test")
        expectTrue(xml.contains("<system-out>… 2000 bytes left out, because the report is long …</system-out>"))
    }
}
#endif
