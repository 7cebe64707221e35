// A run as JSON lines, for programs: every event as one object on a line of its own.

import TestEvents

/// Writes each event as a line of JSON when it happens.
///
/// Every line is an object with `version` (1) and `event`. Events about a test have `module`, `type`, `test` and `list`;
/// those about a module have `module` only. Readers skip members and events that they do not know; a change that they
/// could not skip raises the version. Lines and columns count from 1, columns in bytes of UTF-8; times are omitted from
/// stable output.
///
/// - `plan`: `module`, `tests`: the selected tests in the order they run.
/// - `started`: a test begins.
/// - `issue`: `kind` (`expectation`, `thrownError`, `list`), `got`, `expected`; if there are any, `message`,
///   `notes`, `callers` (places, innermost first), `file`, `line`, `column`, and `knownReason` for what was expected to fail.
/// - `crashed`: an issue that ended the process. `kind` is `crash`, `exit` or `timeout`; `signal` is its name if known.
/// - `output`: `text`, what a failed test and its children wrote; `omittedByteCount`, what is left out before it;
///   `isRepaired` (true) if it was no valid UTF-8.
/// - `finished`: `outcome` (`passed`, `failed`, `skipped`), `milliseconds`, `skipReason`, and `attachments`, the paths of
///   the files that a failed test has attached. Of a test that was run again,
///   the events of each attempt have `attempt` (from 1), and `finished` has `isFinal`.
/// - `warning`: `text`, `file`, `line`, `column`, and `fixIt` with a place and the `text` to insert.
/// - `summary`: always the last line. `planned` is the sum of `passed`, `failed`, `skipped`, `aborted` (begun, without a
///   result) and `notRun`; `flaky` are among the passed. `knownIssues`, `moduleIssues`, `warnings`; `milliseconds` of the
///   whole run; `endedEarly` with the reason if it was cut short.
package struct JSONLinesReport {
    package static let version = 1

    private let paths: PathStyle
    private let isStable: Bool

    /// Creates a report.
    ///
    /// - Parameter isStable: leave out times, so that two runs print the same.
    package init(paths: PathStyle = PathStyle(), isStable: Bool = false) {
        self.paths = paths
        self.isStable = isStable
    }

    /// The lines that an event is told by, without their newlines.
    package func lines(for event: RunEvent) -> [String] {
        switch event {
        case .planned(let module, let tests):
            var json = Self.object("plan")
            json.add("module", module)
            json.add("tests", tests.map { Self.add($0, to: JSONObject()) })
            return [json.text]
        case .began(let test):
            return [Self.object("started", test).text]
        case .ended(let result):
            return lines(for: result)
        case .failedLate(let test, let issue):
            var json = Self.object("finished", test)
            json.add("outcome", TestResult.Outcome.failed.rawValue)
            return [line(for: issue) { $0 = Self.add(test, to: $0) }, json.text]
        case .moduleIssue(let module, let issue):
            return [line(for: issue) { $0.add("module", module) }]
        case .warning(let warning):
            var json = Self.object("warning")
            json.add("text", warning.text)
            add(warning.place, to: &json)
            if let fixIt = warning.fixIt {
                var replacement = object(fixIt.start)
                replacement.add("text", fixIt.text)
                json.add("fixIt", replacement)
            }
            return [json.text]
        }
    }

    /// The last line.
    package func summary(of record: RunRecord) -> String {
        let tally = record.tally
        var json = Self.object("summary")
        json.add("planned", tally.planned)
        json.add("passed", tally.passed)
        json.add("failed", tally.failed)
        json.add("skipped", tally.skipped)
        json.add("aborted", record.running.count)
        json.add("notRun", record.waiting.count)
        json.add("flaky", tally.flaky)
        json.add("knownIssues", tally.knownIssues)
        json.add("moduleIssues", tally.moduleIssues)
        json.add("warnings", tally.warnings)
        if !isStable { json.add("milliseconds", raw: DecimalText.milliseconds(record.nanoseconds)) }
        if let reason = record.earlyReason { json.add("endedEarly", reason) }
        return json.text
    }

    private func lines(for result: TestResult) -> [String] {
        let attempts = result.earlierAttempts + [result]
        var lines: [String] = []
        for (index, attempt) in attempts.enumerated() {
            func addSubject(_ json: inout JSONObject) {
                json = Self.add(result.test, to: json)
                if attempts.count > 1 { json.add("attempt", index + 1) }
            }
            for issue in attempt.issues { lines.append(line(for: issue, addSubject)) }
            if !attempt.output.isEmpty {
                var json = Self.object("output")
                addSubject(&json)
                let text = String(decoding: attempt.output, as: UTF8.self)
                json.add("text", text)
                if !text.utf8.elementsEqual(attempt.output) { json.add("isRepaired", true) }
                if attempt.omittedOutputCount > 0 { json.add("omittedByteCount", attempt.omittedOutputCount) }
                lines.append(json.text)
            }
            var json = Self.object("finished")
            addSubject(&json)
            if attempts.count > 1 { json.add("isFinal", index == attempts.count - 1) }
            json.add("outcome", attempt.outcome.rawValue)
            if attempt.outcome == .skipped, let reason = result.skipReason { json.add("skipReason", reason) }
            if !isStable { json.add("milliseconds", raw: DecimalText.milliseconds(attempt.nanoseconds)) }
            if !attempt.attachments.isEmpty { json.add("attachments", attempt.attachments) }
            lines.append(json.text)
        }
        return lines
    }

    private func line(for issue: TestIssue, _ addSubject: (inout JSONObject) -> Void) -> String {
        let isEndOfProcess = [.crash, .exit, .timeout].contains(issue.kind)
        var json = Self.object(isEndOfProcess ? "crashed" : "issue")
        addSubject(&json)
        json.add("kind", issue.kind.rawValue)
        if let signal = issue.signal { json.add("signal", signal) }
        json.add("got", issue.got)
        json.add("expected", issue.expected)
        if !issue.message.isEmpty { json.add("message", issue.message) }
        if let place = issue.knownPlace { add(place, to: &json) }
        if !issue.notes.isEmpty { json.add("notes", issue.notes) }
        if !issue.callers.isEmpty { json.add("callers", issue.callers.map(object)) }
        if let reason = issue.knownReason { json.add("knownReason", reason) }
        return json.text
    }

    private static func object(_ event: String, _ test: PlannedTest? = nil) -> JSONObject {
        var json = JSONObject()
        json.add("version", version)
        json.add("event", event)
        return test.map { add($0, to: json) } ?? json
    }

    private static func add(_ test: PlannedTest, to json: JSONObject) -> JSONObject {
        var json = json
        json.add("module", test.module)
        json.add("type", test.typeName)
        json.add("test", test.testName)
        json.add("list", test.testType)
        return json
    }

    private func object(_ place: SourcePlace) -> JSONObject {
        var json = JSONObject()
        add(place, to: &json)
        return json
    }

    private func add(_ place: SourcePlace, to json: inout JSONObject) {
        json.add("file", paths.text(place.path))
        json.add("line", place.line)
        json.add("column", place.column)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension JSONLinesReport: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testGoldenOfAnEarlyEnd": testGoldenOfAnEarlyEnd, "testTimesAreInMilliseconds": testTimesAreInMilliseconds,
        ]
    }

    private static func testGoldenOfAnEarlyEnd() {
        let report = JSONLinesReport(paths: PathStyle(root: SampleRun.root, isRelative: true), isStable: true)
        expectEqual(
            (SampleRun.events.flatMap(report.lines) + [report.summary(of: SampleRun.record)]).joinedLines,
            #"""
            {"version":1,"event":"plan","module":"Stacks","tests":[{"module":"Stacks","type":"Stack","test":"testEmpty","list":"unit"},{"module":"Stacks","type":"Stack","test":"testPush","list":"unit"},{"module":"Stacks","type":"Stack","test":"testCrash","list":"unit"},{"module":"Stacks","type":"Stack","test":"testSkip","list":"unit"},{"module":"Stacks","type":"Stack","test":"testKnown","list":"unit"},{"module":"Stacks","type":"Stack","test":"testFlaky","list":"unit"},{"module":"Stacks","type":"Stack","test":"testHang","list":"unit"},{"module":"Stacks","type":"Stack","test":"testNever","list":"unit"}]}
            {"version":1,"event":"started","module":"Stacks","type":"Stack","test":"testEmpty","list":"unit"}
            {"version":1,"event":"finished","module":"Stacks","type":"Stack","test":"testEmpty","list":"unit","outcome":"passed"}
            {"version":1,"event":"started","module":"Stacks","type":"Stack","test":"testPush","list":"unit"}
            {"version":1,"event":"issue","module":"Stacks","type":"Stack","test":"testPush","list":"unit","kind":"expectation","got":"4","expected":"5","message":"count # after\npush","file":"Sources/Stack.swift","line":3,"column":9,"notes":["2 elements differ"]}
            {"version":1,"event":"issue","module":"Stacks","type":"Stack","test":"testPush","list":"unit","kind":"thrownError","got":"error \"<a & b>\"","expected":"no error","file":"Sources/Stack.swift","line":4,"column":9}
            {"version":1,"event":"output","module":"Stacks","type":"Stack","test":"testPush","list":"unit","text":"said: \u001b[31m]]>\n::error::x\n�","isRepaired":true,"omittedByteCount":7}
            {"version":1,"event":"finished","module":"Stacks","type":"Stack","test":"testPush","list":"unit","outcome":"failed","attachments":["/tmp/a b.html"]}
            {"version":1,"event":"started","module":"Stacks","type":"Stack","test":"testCrash","list":"unit"}
            {"version":1,"event":"crashed","module":"Stacks","type":"Stack","test":"testCrash","list":"unit","kind":"crash","signal":"SIGILL","got":"crash SIGILL 'Index out of range'","expected":"end of test","file":"Sources/Stack.swift","line":8,"column":9,"callers":[{"file":"Sources/Stack.swift","line":2,"column":1}]}
            {"version":1,"event":"finished","module":"Stacks","type":"Stack","test":"testCrash","list":"unit","outcome":"failed"}
            {"version":1,"event":"started","module":"Stacks","type":"Stack","test":"testSkip","list":"unit"}
            {"version":1,"event":"finished","module":"Stacks","type":"Stack","test":"testSkip","list":"unit","outcome":"skipped","skipReason":"no \"network\""}
            {"version":1,"event":"started","module":"Stacks","type":"Stack","test":"testKnown","list":"unit"}
            {"version":1,"event":"issue","module":"Stacks","type":"Stack","test":"testKnown","list":"unit","kind":"expectation","got":"1","expected":"2","file":"Sources/Stack.swift","line":6,"column":9,"knownReason":"issue #7"}
            {"version":1,"event":"finished","module":"Stacks","type":"Stack","test":"testKnown","list":"unit","outcome":"passed"}
            {"version":1,"event":"started","module":"Stacks","type":"Stack","test":"testFlaky","list":"unit"}
            {"version":1,"event":"crashed","module":"Stacks","type":"Stack","test":"testFlaky","list":"unit","attempt":1,"kind":"timeout","got":"no end after 50 ms","expected":"end of test","file":"Sources/Stack.swift","line":7,"column":9}
            {"version":1,"event":"output","module":"Stacks","type":"Stack","test":"testFlaky","list":"unit","attempt":1,"text":"slow"}
            {"version":1,"event":"finished","module":"Stacks","type":"Stack","test":"testFlaky","list":"unit","attempt":1,"isFinal":false,"outcome":"failed"}
            {"version":1,"event":"finished","module":"Stacks","type":"Stack","test":"testFlaky","list":"unit","attempt":2,"isFinal":true,"outcome":"passed"}
            {"version":1,"event":"warning","text":"'testOld' is in no list","file":"Sources/Stack.swift","line":12,"column":5,"fixIt":{"file":"Sources/Stack.swift","line":2,"column":9,"text":"\"testOld\": testOld, "}}
            {"version":1,"event":"issue","module":"Stacks","kind":"list","got":"6 results","expected":"7","file":"Sources/Stack.swift","line":1,"column":1}
            {"version":1,"event":"started","module":"Stacks","type":"Stack","test":"testHang","list":"unit"}
            {"version":1,"event":"summary","planned":8,"passed":3,"failed":2,"skipped":1,"aborted":1,"notRun":1,"flaky":1,"knownIssues":1,"moduleIssues":1,"warnings":1,"endedEarly":"Timed out"}

            """#)
    }

    private static func testTimesAreInMilliseconds() {
        let report = JSONLinesReport()
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
#endif
