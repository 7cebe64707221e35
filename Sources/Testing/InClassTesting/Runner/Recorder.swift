// Sends issues to the supervisor. Task-local values connect an issue with its test, its known issues and its collections.
// Detached tasks and other threads have no such values, so the supervisor finds the test of their issues by the position of
// the expectation. Passing expectations don't use the recorder.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// An error that ends a test after a failed requirement. The issue has been recorded already.
struct RequirementNotMet: Error {}

/// An error that ends a skipped test. The recorder has the reason, unless a detached task, a thread or another test has
/// thrown the error first.
struct TestSkipped: Error { var reason: String }

/// The recorder of the running test's issues.
package enum Recorder {
    /// The maximum number of issues that one test sends. Further issues are only counted.
    static let issueCountMax = 100

    private static let lock = Lock()
    // SAFETY: read and written under the lock only.
    private nonisolated(unsafe) static var writer = EventWriter(descriptor: -1)
    private nonisolated(unsafe) static var issueCount = 0
    private nonisolated(unsafe) static var failureCount = 0
    private nonisolated(unsafe) static var hasIssues = false
    private nonisolated(unsafe) static var skipReason: String?
    /// A Boolean value that indicates whether issues are printed for the user of a debugger, instead of sent to a
    /// supervisor.
    // SAFETY: set once before anything runs.
    nonisolated(unsafe) static var printsIssues = false
    /// The positions of passed expectations and the paths of golden files that matched.
    private nonisolated(unsafe) static var met: Set<String> = []
    /// The issues of unknown tests in a process without a supervisor.
    private nonisolated(unsafe) static var strays: [RecordedIssue] = []
    /// The process that tests run in.
    private nonisolated(unsafe) static var process = getpid()
    /// The shared memory for the issues of this process if it is the child of an exit expectation.
    private nonisolated(unsafe) static var parent: ChildIssues?

    /// An open `withKnownIssue`, or an open collection of a test of this module.
    package final class Scope: @unchecked Sendable {
        // SAFETY: the variables are read and written under the lock of `Recorder` only.
        /// The reason of the known issue, or nil if the scope collects issues.
        fileprivate let knownReason: String?
        fileprivate let outer = Recorder.scope
        fileprivate var issues: [RecordedIssue] = []
        fileprivate var count = 0
        fileprivate var isSkipped = false
        fileprivate var isOpen = true

        init(knownReason: String?) { self.knownReason = knownReason }
    }

    /// The index of the running test, or nil outside a worker.
    private nonisolated(unsafe) static var runningIndex: Int?
    /// The index of the test that the current task belongs to, or nil in detached tasks and other threads.
    @TaskLocal static var ownIndex: Int?
    /// The innermost scope of the current task, or nil in detached tasks and other threads.
    @TaskLocal static var scope: Scope?

    /// Sends all events to this writer from now on.
    static func connect(_ newWriter: EventWriter) { lock.withLock { (writer, process) = (newWriter, getpid()) } }

    /// Adds lines other than issues, and sends them. Only the worker process itself does so.
    static func send(_ add: (inout EventWriter) -> Void) {
        endIfForked()
        lock.withLock {
            guard parent == nil else { return }
            add(&writer)
            writer.send()
        }
    }

    /// Reports once that the expectation at a position has passed.
    static func noteMet(_ place: String) {
        guard lock.withLock({ met.insert(place).inserted && getpid() == process }) else { return }
        send { $0.add("met", [place]) }
    }

    /// Begins a test. The event is sent before the test runs.
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

    /// Ends a test. The event is sent together with the next event.
    ///
    /// - Returns: Two Boolean values: one for a failure of the test, and one for an issue of any test so far.
    static func end(_ index: Int, nanoseconds: Int, outputEnd: Int) -> (hasFailed: Bool, hadIssues: Bool) {
        lock.withLock {
            runningIndex = nil
            hasIssues = hasIssues || issueCount > 0
            if issueCount > issueCountMax {
                let rest = RecordedIssue(
                    place: .test,
                    message: "\(issueCount) issues in one test; only the first \(issueCountMax) are shown")
                writer.add(rest, of: index)
            }
            if let skipReason { writer.add("skip", [skipReason]) }
            writer.add("end", index, nanoseconds, outputEnd)
            return (failureCount > 0, hasIssues)
        }
    }

    /// A Boolean value that indicates whether the running test, or the innermost scope, has had an issue so far.
    static var hasIssue: Bool {
        let scope = scope
        return lock.withLock { (scope?.count ?? issueCount) > 0 }
    }

    /// A Boolean value that indicates whether the running test has failed so far.
    static var hasFailed: Bool { lock.withLock { failureCount > 0 } }

    package static func record(_ issue: RecordedIssue) {
        let (owner, scope) = (ownIndex, scope)
        lock.withLock {
            guard var issue = passed(issue, from: scope) else { return }
            if let parent { return parent.add(issue.fields) }
            if printsIssues { return printIssue(issue) }
            guard writer.isConnected else { return strays.append(issue) }
            var isOfRunningTest = owner != nil && owner == runningIndex
            if getpid() != process {
                // Of a child process that a test has forked. The system writes only short lines as a whole.
                (issue.texts, issue.notes, isOfRunningTest) = (nil, [], false)
                writer.removeAll(from: 0)
            }
            // A failure of an unknown test may belong to the running test.
            if isOfRunningTest || owner == nil && issue.knownReason == nil {
                issueCount += 1
                if issue.knownReason == nil { failureCount += 1 }
            }
            if isOfRunningTest, issueCount > issueCountMax { return }
            writer.add(issue, of: owner)
            writer.send()
        }
    }

    /// Passes an issue through the scopes of its task. The innermost known issue expects it.
    ///
    /// - Returns: The issue, or nil if a scope has collected it.
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

    private static func printIssue(_ issue: RecordedIssue) {
        if issue.knownReason != nil { return }
        failureCount += 1
        let place = "\(issue.place.path):\(issue.place.line):\(issue.place.column)"
        fputs("\(place): error: \(issue.text)\n", inclass_stderr())
    }

    /// Removes and returns the issues of unknown tests.
    static func takeStrays() -> [RecordedIssue] {
        lock.withLock {
            defer { strays = [] }
            return strays
        }
    }

    // MARK: Child processes

    /// Forks a child whose issues go to shared memory.
    static func fork(into issues: ChildIssues) -> pid_t {
        // No other thread may hold the lock during the fork, because the child would wait for it forever.
        lock.withLock {
            let child = inclass_fork()
            if child == 0 { (parent, process) = (issues, getpid()) }
            return child
        }
    }

    /// Ends the calling process if it is a child that a test has forked, not the process that runs the tests.
    static func endIfForked() {
        if getpid() == process { return }
        let message = "a child process returned from the test instead of exiting"
        record(RecordedIssue(place: .test, message: message))
        _exit(70)
    }

    // MARK: Scopes

    /// Records that the running test is skipped, even if the error that is thrown for the skip is caught.
    static func noteSkip(_ reason: String) {
        let owner = ownIndex
        var next = scope
        lock.withLock {
            parent?.add([reason])
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
    /// - Returns: true if an issue or a skip occurred in the known issue.
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

    /// Runs code and returns the issues that it recorded. They don't count as issues of the running test.
    package static func issues(of body: () throws -> Void) rethrows -> [RecordedIssue] {
        let scope = Scope(knownReason: nil)
        try $scope.withValue(scope, operation: body)
        return collected(by: scope)
    }

    /// Runs code and returns the issues that it recorded. They don't count as issues of the running test.
    @_disfavoredOverload
    package static func issues(
        isolation: isolated (any Actor)? = #isolation, of body: () async throws -> Void
    ) async rethrows -> [RecordedIssue] {
        let scope = Scope(knownReason: nil)
        try await $scope.withValue(scope, operation: body)
        return collected(by: scope)
    }
}

/// Records an error thrown by a part of the running test, except errors that end the test after a requirement or skip.
///
/// - Throws: the error of `skip`, which ends the test as skipped.
func recordThrown(_ error: any Error, from part: String) throws {
    let skip = error as? TestSkipped
    if let skip { Recorder.noteSkip(skip.reason) }
    switch error {
    // A stored error may come from the requirement of another test.
    case is RequirementNotMet where Recorder.hasIssue: break
    case is TestSkipped where part != "tearDown()": throw error
    default:
        // After the test, during tearDown, a test can't be skipped.
        let text =
            skip != nil
            ? "a skip"
            : error is RequirementNotMet ? "the failed requirement of another test" : errorText(error)
        let subject = part == "the test" ? "" : "\(part) "
        Recorder.record(RecordedIssue(kind: .thrownError, place: .test, message: "\(subject)threw \(text)"))
    }
}

/// A lock that one thread holds at a time. InClassTesting has its own because it depends on no other module.
struct Lock: @unchecked Sendable {
    // SAFETY: used by the functions below only.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    /// Frees the lock. Call it after the last use of the lock.
    func destroy() {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Calls a closure while no other thread is in such a call. The closure must not use the same lock.
    func withLock<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }
}

// MARK: - In-class tests

#if SELF_TESTS
extension Recorder: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testCollectsInsteadOfRecording": { expectEqual(issues { fail("mine") }.map(\.message), ["mine"]) },
            "testCollectsIssuesOfChildTasks": testCollectsIssuesOfChildTasks,
            "testKnownIssuesExcludeOtherTasks": testKnownIssuesExcludeOtherTasks,
            "testSkipsSatisfyKnownIssues": testSkipsSatisfyKnownIssues,
            "testReportsRequirementsOfOtherTests": testReportsRequirementsOfOtherTests,
        ]
    }

    static func hasMet(_ place: String) -> Bool { lock.withLock { met.contains(place) } }

    private static func testCollectsIssuesOfChildTasks() async {
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

    /// A known issue includes neither a sibling of its task nor a task that outlives it.
    private static func testKnownIssuesExcludeOtherTasks() async {
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

    /// A detached task doesn't know the test that it skips.
    private static func testSkipsSatisfyKnownIssues() async {
        let skipped = Task<Void, any Error>.detached { try skip("no network") }
        let issues = await issues {
            withKnownIssue("why") { try skip("no network") }
            withKnownIssue("outer") { withKnownIssue("inner") { expectNoThrow { try skip("no network") } } }
            await withKnownIssue("why") { try await skipped.value }
            await withKnownIssue("why") { await expectNoThrow { try await skipped.value } }
            await withKnownIssue("why") { await expectThrows((any Error).self) { try await skipped.value } }
            await withKnownIssue("why") {
                do { try await skipped.value } catch { try? recordThrown(error, from: "the test") }
            }
        }
        expectEqual(issues, [])
    }

    /// The error of a requirement may be stored and thrown by several tests.
    private static func testReportsRequirementsOfOtherTests() {
        func run() { try? recordThrown(RequirementNotMet(), from: "the test") }
        expectEqual(issues(of: run).map(\.message), ["threw the failed requirement of another test"])
        let own = issues {
            fail("own")
            run()
        }
        expectEqual(own.map(\.message), ["own"])
    }
}
#endif

#endif
