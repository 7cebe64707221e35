// Where an issue goes: to the test that is running, whichever thread or task finds it. A worker runs one test at a
// time, so an issue recorded by a detached task belongs to that test. A task that an earlier test has left behind is
// known by what tasks inherit. Passing expectations never come here.

#if DEBUG || IN_CLASS_TESTS

#if canImport(Darwin)
@preconcurrency import Darwin
#elseif canImport(Musl)
@preconcurrency import Musl
#else
@preconcurrency import Glibc
#endif

/// The place of a call in a source file.
package struct CallPlace: Equatable, Sendable {
    package var path: String
    package var line: Int
    package var column: Int

    package init(_ file: StaticString, _ line: UInt, _ column: UInt) {
        path = file.description
        self.line = Int(line)
        self.column = Int(column)
    }

    private init() {
        path = ""
        line = 0
        column = 0
    }

    /// No place of its own: the supervisor reports the issue where the test is declared.
    package static let test = CallPlace()
}

/// What was expected and what was got instead.
package struct RecordedIssue: Equatable, Sendable {
    package enum Kind: String, Sendable { case expectation, thrownError, list }

    package var kind: Kind
    package var place: CallPlace
    package var got: String
    package var expected: String
    package var message: String
    package var notes: [String]
    package var knownReason: String?
    package var texts: ComparedTexts?

    package init(
        kind: Kind = .expectation, place: CallPlace, got: String, expected: String, message: String = "",
        notes: [String] = [], knownReason: String? = nil, texts: ComparedTexts? = nil
    ) {
        self.kind = kind
        self.place = place
        self.got = got
        self.expected = expected
        self.message = abridged(message, to: messageCharacterCountMax)
        self.notes = notes
        self.knownReason = knownReason
        self.texts = texts
    }

    /// What happened, in a sentence; of `fail` the message alone.
    var text: String {
        if kind == .expectation, got.isEmpty, expected.isEmpty {
            return message.isEmpty ? "failed" : escaped(message)
        }
        return "got \(got) instead of expected \(expected)" + (message.isEmpty ? "" : " for \(escaped(message))")
    }
}

/// Two texts that were compared, whole, so that one may be accepted in place of the other.
package struct ComparedTexts: Equatable, Sendable {
    /// The most bytes of each.
    static let byteCountMax = 1 << 20

    /// The file that holds what was expected, or is to hold it; empty for a literal.
    package var golden: String
    package var got: String
    package var expected: String

    package init?(golden: String = "", got: String, expected: String) {
        guard max(got.utf8.count, expected.utf8.count) <= Self.byteCountMax else { return nil }
        self.golden = golden
        self.got = got
        self.expected = expected
    }

    /// Nothing for values that are no texts.
    init?(_ got: Any, _ expected: Any) {
        guard let got = wholeText(got), let expected = wholeText(expected) else { return nil }
        self.init(got: got, expected: expected)
    }
}

/// Ends a test whose requirement was not met; the issue has been recorded already.
struct RequirementNotMet: Error {}

/// Ends a test that does not apply here.
struct TestSkipped: Error { var reason: String }

/// The issues of the running test, most of the time none.
package enum Recorder {
    /// The most issues that one test sends on; further ones are counted.
    static let issueCountMax = 100

    private static let lock = Lock()
    // SAFETY: read and written under the lock only.
    private nonisolated(unsafe) static var writer = EventWriter(descriptor: -1)
    private nonisolated(unsafe) static var issueCount = 0
    private nonisolated(unsafe) static var failureCount = 0
    private nonisolated(unsafe) static var hasIssues = false
    /// Print issues for a person instead of sending them: there is a debugger in the supervisor's place.
    // SAFETY: set once before anything runs.
    nonisolated(unsafe) static var printsIssues = false
    private nonisolated(unsafe) static var scopes: [Scope] = []
    /// The places of expectations and the paths of goldens that something has met.
    private nonisolated(unsafe) static var met: Set<String> = []

    /// An open `withKnownIssue`, or an open collection of a test of this module.
    private struct Scope {
        var knownReason: String?
        var isCollecting: Bool
        var issues: [RecordedIssue] = []
        var count = 0
    }

    /// The test that runs, and the last that began; both nil outside a worker.
    private nonisolated(unsafe) static var runningIndex: Int?
    private nonisolated(unsafe) static var lastIndex: Int?
    /// The test that the present task belongs to, as far as tasks inherit.
    @TaskLocal static var ownIndex: Int?

    /// Sends everything to this writer from now on.
    static func connect(_ newWriter: EventWriter) { lock.withLock { writer = newWriter } }

    /// Adds lines that concern no issue, and sends them.
    static func send(_ add: (inout EventWriter) -> Void) {
        lock.withLock {
            add(&writer)
            writer.send()
        }
    }

    /// Says that something is what was expected, once.
    static func noteMet(_ place: String) {
        lock.withLock {
            guard met.insert(place).inserted else { return }
            writer.add("met", text: place)
            writer.send()
        }
    }

    /// A test begins: the supervisor is told before anything of it runs.
    static func begin(_ index: Int, outputStart: Int) {
        lock.withLock {
            issueCount = 0
            failureCount = 0
            scopes = []
            runningIndex = index
            lastIndex = index
            writer.add("begin", index, outputStart)
            writer.send()
        }
    }

    /// The test is over; the line goes out with the next one.
    ///
    /// - Returns: whether the test has failed, and whether any test has had an issue so far.
    static func end(_ index: Int, nanoseconds: Int, outputEnd: Int) -> (hasFailed: Bool, hadIssues: Bool) {
        lock.withLock {
            runningIndex = nil
            hasIssues = hasIssues || issueCount > 0
            if issueCount > issueCountMax {
                let rest = RecordedIssue(
                    place: .test, got: "\(issueCount) issues", expected: "at most \(issueCountMax)",
                    message: "one test; the rest is not shown")
                writer.add(rest)
            }
            writer.add("end", index, nanoseconds, outputEnd)
            return (failureCount > 0, hasIssues)
        }
    }

    /// Whether the running test has failed so far.
    static var hasFailed: Bool { lock.withLock { failureCount > 0 } }

    package static func record(_ issue: RecordedIssue) {
        let owner = ownIndex
        lock.withLock {
            if let earlier = owner ?? runningIndex ?? lastIndex, earlier != runningIndex {
                writer.add(issue, after: earlier)
                writer.send()
                return
            }
            var issue = issue
            for index in scopes.indices.reversed() {
                scopes[index].count += 1
                if scopes[index].isCollecting { return scopes[index].issues.append(issue) }
                issue.knownReason = issue.knownReason ?? scopes[index].knownReason
            }
            issueCount += 1
            if issue.knownReason == nil { failureCount += 1 }
            guard issueCount <= issueCountMax else { return }
            if printsIssues { return printIssue(issue) }
            writer.add(issue)
            writer.send()
        }
    }

    private static func printIssue(_ issue: RecordedIssue) {
        let place = "\(issue.place.path):\(issue.place.line):\(issue.place.column)"
        fputs("\(place): error: \(issue.text)\n", stderr)
    }

    static func openKnownIssue(_ reason: String) {
        lock.withLock { scopes.append(Scope(knownReason: reason, isCollecting: false)) }
    }

    /// Opens a scope whose issues are collected instead of recorded, so that expectations can be tested themselves.
    package static func openCollection() {
        lock.withLock { scopes.append(Scope(knownReason: nil, isCollecting: true)) }
    }

    /// Closes the innermost scope and returns how many issues it saw, and those it collected.
    @discardableResult
    package static func closeScope() -> (count: Int, collected: [RecordedIssue]) {
        lock.withLock {
            let scope = scopes.popLast()
            return (scope?.count ?? 0, scope?.issues ?? [])
        }
    }
}

/// Records an error thrown by a part of the running test, unless it is how a test ends itself.
///
/// - Throws: the error of `skip`, which ends the test as skipped.
func recordThrown(_ error: any Error, from part: String) throws {
    switch error {
    case is RequirementNotMet: break
    case is TestSkipped: throw error
    default:
        Recorder.record(
            RecordedIssue(
                kind: .thrownError, place: .test, got: "error \(errorText(error)) from \(part)", expected: "no error"))
    }
}

// MARK: - In-class tests

#if SELF_TESTS
extension Recorder: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testCollectsInsteadOfRecording": testCollectsInsteadOfRecording,
            "testMarksWhatIsKnown": testMarksWhatIsKnown,
            "testCountsOnlyInsideItsScope": testCountsOnlyInsideItsScope,
            "testAnyThreadRecordsForTheRunningTest": testAnyThreadRecordsForTheRunningTest,
        ]
    }

    static func hasMet(_ place: String) -> Bool { lock.withLock { met.contains(place) } }

    /// Runs code and returns the issues it recorded, which are then no issues of the running test.
    static func issues(of body: () throws -> Void) rethrows -> [RecordedIssue] {
        openCollection()
        defer { closeScope() }
        try body()
        return closeScopeAndReopen()
    }

    private static func closeScopeAndReopen() -> [RecordedIssue] {
        let collected = closeScope().collected
        openCollection()
        return collected
    }

    private static func testCollectsInsteadOfRecording() {
        let issues = issues { fail("collected") }
        expectEqual(issues.map(\.message), ["collected"])
    }

    private static func testMarksWhatIsKnown() {
        let issues = issues {
            openKnownIssue("why")
            fail("known")
            expectEqual(closeScope().count, 1, "issues seen by the scope")
        }
        expectEqual(issues.map(\.knownReason), ["why"])
    }

    private static func testCountsOnlyInsideItsScope() {
        let issues = issues {
            fail("before")
            openKnownIssue("why")
            expectEqual(closeScope().count, 0, "issues seen by the scope")
        }
        expectEqual(issues.count, 1)
    }

    private static func testAnyThreadRecordsForTheRunningTest() async {
        openCollection()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<20 { group.addTask { fail("\(number)") } }
        }
        let messages = closeScope().collected.map(\.message)
        expectEqual(Set(messages), Set((0..<20).map(String.init)))
    }
}
#endif

#endif
