// Writes a run as JSON lines for programs, with one object for each event.

import TestEvents

/// Writes each event as a line of JSON when it happens.
///
/// Every line is an object with `version` (1) and `event`. Events about a test have `module`, `type`, `test` and `list`.
/// Events about a module have only `module`. Readers skip unknown members and events. Any other change raises the version.
/// Lines and columns are counted from 1, and columns in bytes of UTF-8. Stable output has no times.
///
/// - `plan`: `module`, `tests`: the selected tests in the order they run.
/// - `started`: a test begins.
/// - `issue`: `kind` (`expectation`, `thrownError`, `list`), `got` and `expected`. If there are any, `message`, `notes`,
///   `callers` (places, innermost first), `file`, `line`, `column`, and `knownReason` for a known issue.
/// - `crashed`: an issue that ended the process. `kind` is `crash`, `exit` or `timeout`. If it is known, `signal` is the
///   name of the signal.
/// - `output`: `text`, the output of a failed test and its children, and `omittedByteCount`, the number of bytes left out
///   before it. `isRepaired` is true if the output wasn't valid UTF-8.
/// - `finished`: `outcome` (`passed`, `failed`, `skipped`), `milliseconds`, `skipReason`, and `attachments`, the paths of
///   the files that a failed test has attached. If a test was run again, the events of each attempt have `attempt` (from 1),
///   and `finished` has `isFinal`.
/// - `warning`: `text`, `file`, `line`, `column`, and `fixIt` with a place and the `text` to insert.
/// - `summary`: always the last line. `planned` is the sum of `passed`, `failed`, `skipped`, `aborted` (begun, without a
///   result) and `notRun`. `flaky` tests are among the passed tests. Other counts are `knownIssues`, `moduleIssues` and
///   `warnings`. `milliseconds` is the time of the whole run, and `endedEarly` the reason for an early end.
package struct JSONLinesReport {
    package static let version = 1

    private let style: TextStyle

    package init(_ style: TextStyle) { self.style = style }

    /// Returns the lines of an event without their newlines.
    package func lines(for event: RunEvent) -> [String] {
        switch event {
        case .planned(let module, let tests):
            return [line("plan", ["module": module, "tests": tests.map(Self.object)])]
        case .began(let test):
            return [line("started", Self.object(test))]
        case .ended(let result):
            return lines(for: result)
        case .failedLate(let test, let issue):
            let outcome: JSONObject = ["outcome": TestResult.Outcome.failed.rawValue]
            return [line(for: issue, of: Self.object(test)), line("finished", Self.object(test), outcome)]
        case .moduleIssue(let module, let issue):
            return [line(for: issue, of: ["module": module])]
        case .warning(let warning):
            let fixIt = warning.fixIt.map { JSONObject(joining: [object($0.start), ["text": $0.text]]) }
            return [line("warning", ["text": warning.text], object(warning.place), ["fixIt": fixIt])]
        }
    }

    /// Returns the last line.
    package func summary(of record: RunRecord) -> String {
        let tally = record.tally
        return line(
            "summary",
            [
                "planned": tally.planned, "passed": tally.passed, "failed": tally.failed, "skipped": tally.skipped,
                "aborted": record.running.count, "notRun": record.waiting.count, "flaky": tally.flaky,
                "knownIssues": tally.knownIssues, "moduleIssues": tally.moduleIssues, "warnings": tally.warnings,
                "milliseconds": milliseconds(record.nanoseconds), "endedEarly": record.earlyReason,
            ])
    }

    private func lines(for result: TestResult) -> [String] {
        let attempts = result.earlierAttempts + [result]
        let isRepeated = attempts.count > 1
        return attempts.enumerated().flatMap { index, attempt in
            let attemptNumber: JSONObject = ["attempt": isRepeated ? index + 1 : nil]
            let subject = JSONObject(joining: [Self.object(result.test), attemptNumber])
            var lines = attempt.issues.map { line(for: $0, of: subject) }
            if !attempt.output.isEmpty {
                let text = String(decoding: attempt.output, as: UTF8.self)
                let isRepaired = !text.utf8.elementsEqual(attempt.output)
                let omittedCount = attempt.omittedOutputCount
                let output: JSONObject = [
                    "text": text, "isRepaired": isRepaired ? true : nil,
                    "omittedByteCount": omittedCount > 0 ? omittedCount : nil,
                ]
                lines.append(line("output", subject, output))
            }
            let end: JSONObject = [
                "isFinal": isRepeated ? index == attempts.count - 1 : nil, "outcome": attempt.outcome.rawValue,
                "skipReason": attempt.outcome == .skipped ? result.skipReason : nil,
                "milliseconds": milliseconds(attempt.nanoseconds),
                "attachments": attempt.attachments.isEmpty ? nil : attempt.attachments,
            ]
            return lines + [line("finished", subject, end)]
        }
    }

    private func line(for issue: TestIssue, of subject: JSONObject) -> String {
        let isEndOfProcess = [.crash, .exit, .timeout].contains(issue.kind)
        return line(
            isEndOfProcess ? "crashed" : "issue", subject,
            [
                "kind": issue.kind.rawValue, "signal": issue.signal, "got": issue.isComparison ? issue.got : nil,
                "expected": issue.isComparison ? issue.expected : nil,
                "message": issue.message.isEmpty ? nil : issue.message,
            ], issue.knownPlace.map(object) ?? [:],
            [
                "notes": issue.notes.isEmpty ? nil : issue.notes,
                "callers": issue.callers.isEmpty ? nil : issue.callers.map(object), "knownReason": issue.knownReason,
            ])
    }

    private func line(_ event: String, _ parts: JSONObject...) -> String {
        JSONObject(joining: [["version": Self.version, "event": event]] + parts).json
    }

    /// Returns milliseconds with six decimal places, or nil for stable output.
    private func milliseconds(_ nanoseconds: Int) -> JSONNumber? {
        style.isStable ? nil : JSONNumber(json: DecimalText.milliseconds(nanoseconds))
    }

    private static func object(_ test: PlannedTest) -> JSONObject {
        ["module": test.module, "type": test.typeName, "test": test.testName, "list": test.testType]
    }

    private func object(_ place: SourcePlace) -> JSONObject {
        ["file": style.text(place.path), "line": place.line, "column": place.column]
    }
}

// MARK: - JSON
//
// This module doesn't use the package's JSON modules, because their tests use it.

/// A value that can be written as JSON.
protocol JSONValue {
    var json: String { get }
}

extension Int: JSONValue {
    var json: String { "\(self)" }
}

extension Bool: JSONValue {
    var json: String { "\(self)" }
}

extension String: JSONValue {
    var json: String { JSONObject.quoted(self) }
}

extension Array: JSONValue where Element: JSONValue {
    var json: String { "[\(map(\.json).joined(separator: ","))]" }
}

/// A number in JSON's form.
struct JSONNumber: JSONValue {
    let json: String
}

/// An object. Members without a value are left out.
struct JSONObject: JSONValue, ExpressibleByDictionaryLiteral {
    private let members: [String]

    init(dictionaryLiteral elements: (String, (any JSONValue)?)...) {
        members = elements.compactMap { name, value in value.map { "\(name.json):\($0.json)" } }
    }

    /// Creates an object with the members of several objects.
    init(joining objects: [JSONObject]) { members = objects.flatMap(\.members) }

    /// The object on one line.
    var json: String { "{\(members.joined(separator: ","))}" }

    /// Returns a string literal that is also valid in YAML. Characters that aren't printable are escaped.
    // SPEC: RFC 8259 section 7; YAML 1.2.2, 5.1 and 7.3.1.
    static func quoted(_ text: String) -> String {
        let escaped = text.replacingScalars { scalar in
            switch scalar {
            case "\"": "\\\""
            case "\\": "\\\\"
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            case _ where scalar.isControl || [0xFEFF, 0xFFFE, 0xFFFF].contains(scalar.value):
                "\\u" + String(scalar.value + 0x10000, radix: 16).dropFirst()
            default: nil
            }
        }
        return "\"\(escaped)\""
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension JSONLinesReport: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testReportsAnInterruptedRun": testReportsAnInterruptedRun,
            "testTimesAreInMilliseconds": testTimesAreInMilliseconds,
        ]
    }

    private static func testReportsAnInterruptedRun() {
        let report = JSONLinesReport(SampleRun.style)
        expectEqual(
            (SampleRun.events.flatMap(report.lines) + [report.summary(of: SampleRun.record)]).joinedLines,
            #"""
            {"version":1,"event":"plan","module":"Stacks","tests":[{"module":"Stacks","type":"Stack","test":"testEmpty","list":"unit"},{"module":"Stacks","type":"Stack","test":"testPush","list":"unit"},{"module":"Stacks","type":"Stack","test":"testCrash","list":"unit"},{"module":"Stacks","type":"Stack","test":"testSkip","list":"unit"},{"module":"Stacks","type":"Stack","test":"testKnown","list":"unit"},{"module":"Stacks","type":"Stack","test":"testFlaky","list":"unit"},{"module":"Stacks","type":"Stack","test":"testHang","list":"unit"},{"module":"Stacks","type":"Stack","test":"testNever","list":"unit"}]}
            {"version":1,"event":"started","module":"Stacks","type":"Stack","test":"testEmpty","list":"unit"}
            {"version":1,"event":"finished","module":"Stacks","type":"Stack","test":"testEmpty","list":"unit","outcome":"passed"}
            {"version":1,"event":"started","module":"Stacks","type":"Stack","test":"testPush","list":"unit"}
            {"version":1,"event":"issue","module":"Stacks","type":"Stack","test":"testPush","list":"unit","kind":"expectation","got":"4","expected":"5","message":"count # after\npush","file":"Sources/Stack.swift","line":3,"column":9,"notes":["2 elements differ"]}
            {"version":1,"event":"issue","module":"Stacks","type":"Stack","test":"testPush","list":"unit","kind":"thrownError","message":"threw \"<a & b>\"","file":"Sources/Stack.swift","line":4,"column":9}
            {"version":1,"event":"output","module":"Stacks","type":"Stack","test":"testPush","list":"unit","text":"said: \u001b[31m]]>\n::error::x\n�","isRepaired":true,"omittedByteCount":7}
            {"version":1,"event":"finished","module":"Stacks","type":"Stack","test":"testPush","list":"unit","outcome":"failed","attachments":["/tmp/a b.html"]}
            {"version":1,"event":"started","module":"Stacks","type":"Stack","test":"testCrash","list":"unit"}
            {"version":1,"event":"crashed","module":"Stacks","type":"Stack","test":"testCrash","list":"unit","kind":"crash","signal":"SIGILL","message":"crashed with SIGILL: Index out of range","file":"Sources/Stack.swift","line":8,"column":9,"callers":[{"file":"Sources/Stack.swift","line":2,"column":1}]}
            {"version":1,"event":"finished","module":"Stacks","type":"Stack","test":"testCrash","list":"unit","outcome":"failed"}
            {"version":1,"event":"started","module":"Stacks","type":"Stack","test":"testSkip","list":"unit"}
            {"version":1,"event":"finished","module":"Stacks","type":"Stack","test":"testSkip","list":"unit","outcome":"skipped","skipReason":"no \"network\""}
            {"version":1,"event":"started","module":"Stacks","type":"Stack","test":"testKnown","list":"unit"}
            {"version":1,"event":"issue","module":"Stacks","type":"Stack","test":"testKnown","list":"unit","kind":"expectation","got":"1","expected":"2","file":"Sources/Stack.swift","line":6,"column":9,"knownReason":"issue #7"}
            {"version":1,"event":"finished","module":"Stacks","type":"Stack","test":"testKnown","list":"unit","outcome":"passed"}
            {"version":1,"event":"started","module":"Stacks","type":"Stack","test":"testFlaky","list":"unit"}
            {"version":1,"event":"crashed","module":"Stacks","type":"Stack","test":"testFlaky","list":"unit","attempt":1,"kind":"timeout","message":"timed out after 50 ms","file":"Sources/Stack.swift","line":7,"column":9}
            {"version":1,"event":"output","module":"Stacks","type":"Stack","test":"testFlaky","list":"unit","attempt":1,"text":"slow"}
            {"version":1,"event":"finished","module":"Stacks","type":"Stack","test":"testFlaky","list":"unit","attempt":1,"isFinal":false,"outcome":"failed"}
            {"version":1,"event":"finished","module":"Stacks","type":"Stack","test":"testFlaky","list":"unit","attempt":2,"isFinal":true,"outcome":"passed"}
            {"version":1,"event":"warning","text":"'testOld' is in no list","file":"Sources/Stack.swift","line":12,"column":5,"fixIt":{"file":"Sources/Stack.swift","line":2,"column":9,"text":"\"testOld\": testOld, "}}
            {"version":1,"event":"issue","module":"Stacks","kind":"list","message":"6 results for 7 tests","file":"Sources/Stack.swift","line":1,"column":1}
            {"version":1,"event":"started","module":"Stacks","type":"Stack","test":"testHang","list":"unit"}
            {"version":1,"event":"summary","planned":8,"passed":3,"failed":2,"skipped":1,"aborted":1,"notRun":1,"flaky":1,"knownIssues":1,"moduleIssues":1,"warnings":1,"endedEarly":"Timed out"}

            """#)
    }

    private static func testTimesAreInMilliseconds() {
        let report = JSONLinesReport(TextStyle())
        let ended = RunEvent.ended(SampleRun.result("testA", .passed))
        var record = SampleRun.record(of: [ended])
        record.nanoseconds = 2_000_000_000
        let test = #""module":"Stacks","type":"Stack","test":"testA","list":"unit""#
        expectEqual(
            report.lines(for: ended),
            [#"{"version":1,"event":"finished",\#(test),"outcome":"passed","milliseconds":1.500000}"#])
        expectEqual(
            report.summary(of: record),
            #"{"version":1,"event":"summary","planned":1,"passed":1,"failed":0,"skipped":0,"aborted":0,"notRun":0,"#
                + #""flaky":0,"knownIssues":0,"moduleIssues":0,"warnings":0,"milliseconds":2000.000000}"#)
    }
}

extension JSONObject: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testWritesEveryKindOfValue": testWritesEveryKindOfValue]
            + .each("testQuotesAnyText", texts) { expectEqual(quoted($0), $1) }
    }

    private static let texts = [
        ("", #""""#), ("é😀/'", #""é😀/'""#), ("\"\\", #""\"\\""#), ("\n\r\t", #""\n\r\t""#),
        ("\u{0}\u{1B}\u{1F} ", #""\u0000\u001b\u001f ""#), ("\u{7F}\u{9F}\u{A0}", "\"\\u007f\\u009f\u{A0}\""),
        ("\u{2028}\u{FEFF}\u{FFFF}", #""\u2028\ufeff\uffff""#), ("\r\n", #""\r\n""#),
    ]

    private static func testWritesEveryKindOfValue() {
        let inner: JSONObject = ["n": -1, "nothing": nil]
        expectEqual(JSONObject(joining: []).json, "{}")
        let outer: JSONObject = [
            "s\"": "v", "b": true, "o": inner, "a": [inner, inner], "t": [] as [String], "u": ["x", "y"],
        ]
        expectEqual(
            JSONObject(joining: [outer, ["r": JSONNumber(json: "1.5")]]).json,
            #"{"s\"":"v","b":true,"o":{"n":-1},"a":[{"n":-1},{"n":-1}],"t":[],"u":["x","y"],"r":1.5}"#)
    }
}
#endif
