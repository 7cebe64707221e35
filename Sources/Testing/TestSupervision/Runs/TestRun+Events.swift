// Handles the events of workers: results, retries and the diagnosis of crashes.

import TestEvents

extension TestRun {
    /// A test without a final result. It has run and runs again.
    struct OpenTest {
        /// The failed attempts of the test.
        var attempts: [TestResult]
        /// The crash or other death in the last attempt, if the next attempt only checks whether the test fails alone,
        /// too.
        var diagnosis: Diagnosis?
    }

    struct Diagnosis {
        let end: ProcessEnd
        /// The index of the issue that describes the death.
        let issueIndex: Int
        /// The test that the worker ran before.
        let previous: PlannedTest?

        /// The note for a test that passes alone.
        var passNote: String {
            previous.map { "it passes when it runs alone; it failed in a process that had run \($0.name) before" }
                ?? "it passed when it ran again"
        }
    }

    /// Handles the events of a worker and its end, and checks its limits.
    func serve(_ session: WorkerSession) throws(RunError) {
        session.receive()
        while let event = try session.nextEvent() { try take(event, of: session) }
        if let death = session.death() {
            take(death, of: session)
            session.state = .dead
        } else {
            session.checkLimits()
        }
    }

    private func take(_ event: TestEvent, of session: WorkerSession) throws(RunError) {
        switch event {
        case .begin(let index, let outputStart):
            guard plan.indices.contains(index) else {
                throw .protocolMismatch("the test executable began an unknown test")
            }
            session.begin(
                WorkerSession.RunningTest(
                    index: index, timeoutMilliseconds: plan[index].timeoutMilliseconds, outputStart: outputStart))
            if open.isEmpty || open[index]?.diagnosis == nil { results.takeBeginning(index) }
        case .end(let index, let nanoseconds, let outputEnd):
            guard let test = session.end(index) else { return try session.refuseLine() }
            if test.issues.isEmpty, test.skipReason == nil, open.isEmpty {
                return results.takePass(index, nanoseconds)
            }
            let result = session.result(of: test, plan[index], nanoseconds: nanoseconds, outputEnd: outputEnd)
            if let diagnosis = open[index]?.diagnosis {
                conclude(
                    index,
                    result.outcome == .failed ? "when it runs alone, it fails in a different way" : diagnosis.passNote)
                // This deallocates the session, which kills its process.
                session.state = .dead
            } else {
                let attempts = open.removeValue(forKey: index)?.attempts ?? []
                settle(results.completed(result, index, test.directory), index, after: attempts)
            }
        case .issue(let issue):
            if session.state == .starting {
                session.announcement.issues.append(issue)
            } else if let test = session.current {
                _ = session.add(issue, to: test.index)
            } else {
                try session.refuseLine()
            }
        case .stray(let index?, _) where index >= plan.count:
            throw .protocolMismatch("the test executable named an unknown test")
        case .stray(nil, let issue) where session.state == .starting:
            session.announcement.issues.append(issue)
        case .stray(let index, let issue): take(issue, of: index, session)
        case .skip(let reason): session.current?.skipReason = reason
        case .directory(let path): session.current?.directory = path
        case .attachment(let name): session.current?.attachments.append(name)
        case .met(let place): results.met.insert(place)
        case .idle: session.state = .idle
        case .changed: session.finish()
        case .crash, .exit: session.lastWords = event
        case .version, .untested, .list, .planned, .row, .ready:
            try session.announcement.add(event)
            if case .ready = event {
                session.state = .idle
                try takePlan(of: session)
            }
        }
    }

    /// Handles the end of a worker.
    private func take(_ death: WorkerDeath, of session: WorkerSession) {
        if let only = session.only, open[only]?.diagnosis != nil {
            if session.current == nil || death.isInterruption { return conclude(only, nil) }
            return conclude(only, "it also fails when it runs alone", again: death)
        }
        let rest = session.takeUnfinished { results.done[$0] || $0 == session.current?.index }
        queue.putBack(rest)
        // If a build ends the run, no test and no worker has failed.
        if options.isBuildStep, death.isInterruption {
            isStopping = true
        } else if let running = session.current {
            take(death, in: running, of: session)
        } else if announcement == nil || !death.isInterruption {
            let isClosing = session.state == .closing
            let leaks = isClosing ? locator.leaks(death) : []
            leaks.forEach(results.reportModuleIssue)
            let isQuiet = death.end == .exited(0) && session.state != .starting && (isClosing || rest.isEmpty)
            if !leaks.isEmpty || isQuiet && announcement != nil { return }
            let phase = announcement == nil ? "before it listed its tests" : "after its last test"
            let issue = locator.issue(for: death, phase: phase)
            if isOver(session), let index = session.previousIndex {
                // Of an isolated test, which has left tasks running.
                take(issue, of: index, session)
            } else {
                results.reportModuleIssue(issue)
            }
            // The next worker would end in the same way.
            if session.begunCount == 0, !isClosing { isStopping = true }
        }
    }

    /// Handles the death of a worker during a test.
    private func take(_ death: WorkerDeath, in running: WorkerSession.RunningTest, of session: WorkerSession) {
        let index = running.index
        let attempts = open.removeValue(forKey: index)?.attempts ?? []
        let previous = session.begunCount > 1 ? session.previousIndex.map { plan[$0] } : nil
        // A retried test runs alone in any case. The first test of a worker was alone, too.
        let isDiagnosed = death.cause == nil && (options.retryCount == 0 || options.leavesOutput)
        let wasAlone = previous == nil && !options.leavesOutput
        var result = session.result(of: running, plan[index])
        result.issues.append(issue(for: death, in: result.test))
        if isDiagnosed, wasAlone {
            result.issues[result.issues.count - 1].notes.append("it also fails when it runs alone")
        }
        result.outcome = .failed
        (result.output, result.omittedOutputCount) = (death.output, death.omittedOutputCount)
        let isFinal = death.isInterruption
        result = results.completed(result, index, isFinal ? nil : running.directory)
        guard isDiagnosed, !wasAlone else { return settle(result, index, after: attempts, isFinal: isFinal) }
        let diagnosis = Diagnosis(end: death.end, issueIndex: result.issues.count - 1, previous: previous)
        open[index] = OpenTest(attempts: attempts + [result], diagnosis: diagnosis)
        retries.insert(index, at: 0)
    }

    private func issue(for death: WorkerDeath, in test: PlannedTest) -> TestIssue {
        locator.located(locator.issue(for: death), test: test)
    }

    /// Ends a diagnosis with a note for the test's issue.
    ///
    /// - Parameter again: the death of the worker in the diagnosis.
    private func conclude(_ index: Int, _ note: String?, again: WorkerDeath? = nil) {
        guard var test = open.removeValue(forKey: index), let diagnosis = test.diagnosis,
            var result = test.attempts.popLast()
        else { return }
        var notes = result.issues[diagnosis.issueIndex].notes
        if let note, options.retryCount == 0 { notes.insert(note, at: 0) }
        // The messages of the first death went to the terminal.
        if options.leavesOutput, let again, again.end == diagnosis.end {
            result.issues[diagnosis.issueIndex] = issue(for: again, in: result.test)
        }
        result.issues[diagnosis.issueIndex].notes = notes
        settle(result, index, after: test.attempts)
    }

    /// Repeats a test after a failed attempt, or reports its result.
    private func settle(_ result: TestResult, _ index: Int, after attempts: [TestResult], isFinal: Bool = false) {
        if result.outcome == .failed, !isFinal, !isStopping, attempts.count < options.retryCount {
            open[index] = OpenTest(attempts: attempts + [result])
            retries.append(index)
        } else {
            var result = result
            result.earlierAttempts = attempts
            results.add(result, index)
        }
        stopIfFailed()
    }

    /// Reports the last attempts of the tests whose next attempt hasn't begun.
    func giveUpRetries() {
        retries = []
        let running = sessions.filter { $0.state == .running }.compactMap(\.only)
        for index in open.keys.sorted() where !running.contains(index) {
            guard var test = open.removeValue(forKey: index), let result = test.attempts.popLast() else { continue }
            settle(result, index, after: test.attempts, isFinal: true)
        }
    }

    /// Handles an issue that no task of the running test has recorded.
    private func take(_ issue: TestIssue, of index: Int?, _ session: WorkerSession) {
        if let index, session.add(issue, to: index) { return }
        let isDiagnosis = session.only.map { open[$0]?.diagnosis != nil } ?? false
        if issue.knownReason != nil || isDiagnosis { return }
        let running = session.current?.index
        let owner = index ?? locator.owner(of: issue, in: plan, running: running) { results.done[$0] }
        if let owner, session.add(issue, to: owner) { return }
        if let owner, let last = open[owner]?.attempts.indices.last {
            open[owner]?.attempts[last].issues.append(results.noted(issue, afterTest: plan[owner]))
        } else {
            results.take(issue, of: owner, running: running)
        }
        stopIfFailed()
    }

    func stopIfFailed() {
        if options.stopsAtFirstFailure, results.hasFailures { isStopping = true }
    }
}
