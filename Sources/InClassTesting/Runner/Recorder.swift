// Sends issues to the supervisor. Task-local values say which test an issue belongs to, and which known issues and
// collections it is in. Detached tasks and other threads have no such values; the supervisor finds the test of their
// issues by the place of the expectation. Passing expectations never come here.

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

    fileprivate init(path: String, line: Int, column: Int) {
        self.path = path
        self.line = line
        self.column = column
    }

    /// No place of its own: the supervisor reports the issue where the test is declared.
    package static let test = CallPlace(path: "", line: 0, column: 0)
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

    /// All properties as text, in the order in which an event has them.
    package var fields: [String] {
        var fields = [
            kind.rawValue, place.path, String(place.line), String(place.column), got, expected, message,
            knownReason == nil ? "0" : "1", knownReason ?? "", texts == nil ? "0" : "1",
        ]
        if let texts { fields += [texts.golden, texts.got, texts.expected] }
        return fields + notes
    }

    /// Creates an issue from its fields, or nil if some are missing.
    init?(fields: [String]) {
        guard fields.count >= 10, let kind = Kind(rawValue: fields[0]), let line = Int(fields[2]),
            let column = Int(fields[3])
        else { return nil }
        self.init(
            kind: kind, place: CallPlace(path: fields[1], line: line, column: column), got: fields[4],
            expected: fields[5], message: fields[6], knownReason: fields[7] == "1" ? fields[8] : nil)
        var notes = fields[10...]
        if fields[9] == "1", notes.count >= 3 {
            let compared = Array(notes.prefix(3))
            texts = ComparedTexts(golden: compared[0], got: compared[1], expected: compared[2])
            notes = notes.dropFirst(3)
        }
        self.notes = Array(notes)
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

/// Ends a test that was skipped; the recorder has the reason.
struct TestSkipped: Error {}

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
    private nonisolated(unsafe) static var skipReason: String?
    /// Print issues for a person instead of sending them: there is a debugger in the supervisor's place.
    // SAFETY: set once before anything runs.
    nonisolated(unsafe) static var printsIssues = false
    /// The places of expectations and the paths of goldens that something has met.
    private nonisolated(unsafe) static var met: Set<String> = []
    /// The issues of no known test in a process that has no supervisor.
    private nonisolated(unsafe) static var strays: [RecordedIssue] = []
    /// The process that tests run in.
    private nonisolated(unsafe) static var process = getpid()
    /// Where the issues of this process go if it is the child of an exit expectation.
    private nonisolated(unsafe) static var parent: ChildIssues?

    /// An open `withKnownIssue`, or an open collection of a test of this module.
    package final class Scope: @unchecked Sendable {
        // SAFETY: the variables are read and written under the lock of `Recorder` only.
        /// Nil if this collects issues.
        fileprivate let knownReason: String?
        fileprivate let outer = Recorder.scope
        fileprivate var issues: [RecordedIssue] = []
        fileprivate var count = 0
        fileprivate var isSkipped = false
        fileprivate var isOpen = true

        init(knownReason: String?) { self.knownReason = knownReason }
    }

    /// The test that runs; nil outside a worker.
    private nonisolated(unsafe) static var runningIndex: Int?
    /// The test that the present task belongs to; nil in detached tasks and other threads.
    @TaskLocal static var ownIndex: Int?
    /// The innermost scope of the present task; nil in detached tasks and other threads.
    @TaskLocal static var scope: Scope?

    /// Sends everything to this writer from now on.
    static func connect(_ newWriter: EventWriter) { lock.withLock { (writer, process) = (newWriter, getpid()) } }

    /// Adds lines that concern no issue, and sends them; only the worker itself does.
    static func send(_ add: (inout EventWriter) -> Void) {
        endIfForked()
        lock.withLock {
            guard parent == nil else { return }
            add(&writer)
            writer.send()
        }
    }

    /// Says that something is what was expected, once.
    static func noteMet(_ place: String) {
        guard lock.withLock({ met.insert(place).inserted && getpid() == process }) else { return }
        send { $0.add("met", text: place) }
    }

    /// A test begins: the supervisor is told before anything of it runs.
    static func begin(_ index: Int, outputStart: Int) {
        lock.withLock {
            issueCount = 0
            failureCount = 0
            skipReason = nil
            runningIndex = index
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
            if let skipReason { writer.add("skip", text: skipReason) }
            writer.add("end", index, nanoseconds, outputEnd)
            return (failureCount > 0, hasIssues)
        }
    }

    /// Whether the running test has failed so far.
    static var hasFailed: Bool { lock.withLock { failureCount > 0 } }

    package static func record(_ issue: RecordedIssue) {
        let (owner, scope) = (ownIndex, scope)
        lock.withLock {
            guard let issue = passed(issue, from: scope) else { return }
            if let parent { return parent.add(issue) }
            if printsIssues { return printIssue(issue) }
            if getpid() != process { return sendFromChild(issue, of: owner) }
            guard let owner, owner == runningIndex else { return recordStray(issue, of: owner) }
            issueCount += 1
            if issue.knownReason == nil { failureCount += 1 }
            guard issueCount <= issueCountMax else { return }
            writer.add(issue)
            writer.send()
        }
    }

    /// Takes an issue through the scopes of its task; the innermost known issue expects it.
    ///
    /// - Returns: nil if a scope has collected the issue.
    private static func passed(_ issue: RecordedIssue, from innermost: Scope?) -> RecordedIssue? {
        var issue = issue
        var next = innermost
        while let scope = next {
            next = scope.outer
            if !scope.isOpen || scope.knownReason != nil && issue.knownReason != nil { continue }
            scope.count += 1
            guard let reason = scope.knownReason else {
                scope.issues.append(issue)
                return nil
            }
            issue.knownReason = reason
        }
        return issue
    }

    /// Records an issue of a test that has ended, or of an unknown test.
    private static func recordStray(_ issue: RecordedIssue, of owner: Int?) {
        guard writer.isConnected else { return strays.append(issue) }
        if owner == nil, issue.knownReason == nil {
            // It may be an issue of the running test.
            issueCount += 1
            failureCount += 1
        }
        writer.add(issue, of: owner)
        writer.send()
    }

    /// Sends an issue from a child process that a test has forked.
    private static func sendFromChild(_ issue: RecordedIssue, of owner: Int?) {
        var short = issue
        // The system writes only short lines at once.
        short.texts = nil
        short.notes = []
        writer.removeAll(from: 0)
        writer.add(short, of: owner)
        writer.send()
    }

    private static func printIssue(_ issue: RecordedIssue) {
        if issue.knownReason != nil { return }
        failureCount += 1
        let place = "\(issue.place.path):\(issue.place.line):\(issue.place.column)"
        fputs("\(place): error: \(issue.text)\n", stderr)
    }

    /// Takes the issues that belong to no known test.
    static func takeStrays() -> [RecordedIssue] {
        lock.withLock {
            defer { strays = [] }
            return strays
        }
    }

    // MARK: Child processes

    /// Forks a child whose issues go to shared memory.
    static func fork(_ fork: () -> pid_t, into issues: ChildIssues) -> pid_t {
        // No other thread holds the lock then, which the child would wait for in vain.
        lock.withLock {
            let child = fork()
            if child == 0 { (parent, process) = (issues, getpid()) }
            return child
        }
    }

    /// Ends the calling process if it isn't the one that tests run in but a child that a test has forked.
    static func endIfForked() {
        if getpid() == process { return }
        let message = "a child process returned from the test instead of exiting"
        record(RecordedIssue(place: .test, got: "", expected: "", message: message))
        _exit(70)
    }

    // MARK: Scopes

    /// Notes that the running test is to end as skipped, whatever becomes of the error that is thrown for it.
    static func noteSkip(_ reason: String) {
        let owner = ownIndex
        var next = scope
        lock.withLock {
            while let scope = next {
                scope.isSkipped = true
                if scope.knownReason == nil { return }
                next = scope.outer
            }
            if owner != nil, owner == runningIndex, skipReason == nil { skipReason = reason }
        }
    }

    /// Closes a known issue.
    ///
    /// - Returns: whether it saw an issue or a skip.
    static func close(_ scope: Scope) -> Bool {
        lock.withLock {
            scope.isOpen = false
            return scope.count > 0 || scope.isSkipped
        }
    }

    private static func collected(by scope: Scope) -> [RecordedIssue] {
        lock.withLock {
            scope.isOpen = false
            return scope.issues
        }
    }

    /// Runs code and returns the issues it recorded, which are then no issues of the running test.
    package static func issues(of body: () throws -> Void) rethrows -> [RecordedIssue] {
        let scope = Scope(knownReason: nil)
        try $scope.withValue(scope, operation: body)
        return collected(by: scope)
    }

    /// Runs code and returns the issues it recorded, which are then no issues of the running test.
    @_disfavoredOverload
    package static func issues(
        isolation: isolated (any Actor)? = #isolation, of body: () async throws -> Void
    ) async rethrows -> [RecordedIssue] {
        let scope = Scope(knownReason: nil)
        try await $scope.withValue(scope, operation: body)
        return collected(by: scope)
    }
}

/// Records an error thrown by a part of the running test, unless it is how a test ends itself.
///
/// - Throws: the error of `skip`, which ends the test as skipped.
func recordThrown(_ error: any Error, from part: String) throws {
    switch error {
    case is RequirementNotMet: break
    case is TestSkipped where part != "tearDown()": throw error
    default:
        // The test is over when its fixture is torn down.
        let text = error is TestSkipped ? "a skip" : "error \(errorText(error))"
        Recorder.record(
            RecordedIssue(kind: .thrownError, place: .test, got: "\(text) from \(part)", expected: "no error"))
    }
}

// MARK: - In-class tests

#if SELF_TESTS
extension Recorder: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testCollectsInsteadOfRecording": testCollectsInsteadOfRecording,
            "testChildTasksAreInTheScope": testChildTasksAreInTheScope,
            "testOtherTasksAreInNoScope": testOtherTasksAreInNoScope,
            "testSkipsMeetKnownIssues": testSkipsMeetKnownIssues,
            "testFieldsAreTheWholeIssue": testFieldsAreTheWholeIssue,
        ]
    }

    static func hasMet(_ place: String) -> Bool { lock.withLock { met.contains(place) } }

    private static func testCollectsInsteadOfRecording() {
        let issues = issues { fail("collected") }
        expectEqual(issues.map(\.message), ["collected"])
    }

    private static func testChildTasksAreInTheScope() async {
        let issues = await issues {
            await withKnownIssue("why") {
                await withTaskGroup(of: Void.self) { group in
                    for number in 0..<20 { group.addTask { fail("\(number)") } }
                }
            }
        }
        expectEqual(Set(issues.map(\.message)), Set((0..<20).map(String.init)))
        expectEqual(issues.map(\.knownReason), Array(repeating: "why", count: 20))
    }

    /// Neither a sibling of its task nor a task that outlives it is part of a known issue.
    private static func testOtherTasksAreInNoScope() async {
        let (closed, close) = AsyncStream<Void>.makeStream()
        let (opened, open) = AsyncStream<Void>.makeStream()
        let issues = await issues {
            var left: Task<Void, Never>?
            withKnownIssue("why") {
                fail("inside")
                left = Task {
                    for await _ in closed {}
                    fail("after")
                }
            }
            async let known: Void = withKnownIssue("sibling") {
                open.finish()
                for await _ in closed {}
                fail("known")
            }
            for await _ in opened {}
            fail("beside")
            close.finish()
            await left?.value
            await known
        }
        expectEqual(
            issues.map { "\($0.message) \($0.knownReason ?? "-")" }.sorted(),
            ["after -", "beside -", "inside why", "known sibling"])
    }

    private static func testSkipsMeetKnownIssues() {
        let issues = issues {
            withKnownIssue("why") { try skip("no network") }
            withKnownIssue("outer") { withKnownIssue("inner") { expectNoThrow { try skip("no network") } } }
        }
        expectEqual(issues, [])
    }

    private static func testFieldsAreTheWholeIssue() {
        var issue = RecordedIssue(
            kind: .thrownError, place: CallPlace("/a", 3, 14), got: "4", expected: "5", message: "m", notes: ["n", ""],
            knownReason: "")
        expectEqual(RecordedIssue(fields: issue.fields), issue)
        issue.texts = ComparedTexts(golden: "/g", got: "a\n", expected: "")
        expectEqual(RecordedIssue(fields: issue.fields), issue)
        expectNil(RecordedIssue(fields: []))
    }
}
#endif

#endif
