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
    func serve(_ worker: Worker) throws(RunError) {
        worker.receive()
        while let event = try worker.nextEvent() { try take(event, of: worker) }
        if let death = worker.death() {
            take(death, of: worker)
            worker.state = .dead
        } else {
            worker.checkLimits()
        }
    }

    private func take(_ event: TestEvent, of worker: Worker) throws(RunError) {
        switch event {
        case .begin(let index, let outputStart):
            guard plan.indices.contains(index) else {
                throw .protocolMismatch("the test executable began an unknown test")
            }
            worker.begin(
                Worker.RunningTest(
                    index: index, timeoutMilliseconds: plan[index].timeoutMilliseconds, outputStart: outputStart))
            if open.isEmpty || open[index]?.diagnosis == nil { results.takeBeginning(index) }
        case .end(let index, let nanoseconds, let outputEnd):
            guard let test = worker.end(index) else { return try worker.refuseLine() }
            if test.issues.isEmpty, test.skipReason == nil, open.isEmpty {
                return results.takePass(index, nanoseconds)
            }
            let result = worker.result(of: test, plan[index], nanoseconds: nanoseconds, outputEnd: outputEnd)
            if let diagnosis = open[index]?.diagnosis {
                conclude(
                    index,
                    result.outcome == .failed ? "when it runs alone, it fails in a different way" : diagnosis.passNote)
                // This deallocates the worker, which kills its process.
                worker.state = .dead
            } else {
                let attempts = open.removeValue(forKey: index)?.attempts ?? []
                settle(results.completed(result, index, test.directory), index, after: attempts)
            }
        case .issue(let index?, _) where index >= plan.count:
            throw .protocolMismatch("the test executable named an unknown test")
        case .issue(nil, let issue) where worker.state == .starting:
            worker.announcement.issues.append(issue)
        case .issue(let index, let issue): take(issue, of: index, worker)
        case .skip(let reason): worker.current?.skipReason = reason
        case .directory(let path): worker.current?.directory = path
        case .attachment(let name): worker.current?.attachments.append(name)
        case .met(let place): results.met.insert(place)
        case .idle where !worker.hasRunTests: try worker.refuseLine()
        case .idle: worker.state = .idle
        case .changed: worker.finish()
        case .finished: worker.hasFinished = true
        case .crash, .exit: worker.crashReport = event
        case .version, .untested, .list, .planned, .ready:
            try worker.announcement.add(event)
            if case .ready = event {
                worker.state = .idle
                try takePlan(of: worker)
            }
        }
    }

    /// Handles the end of a worker.
    private func take(_ death: WorkerDeath, of worker: Worker) {
        if let only = worker.only, open[only]?.diagnosis != nil {
            if worker.current == nil || death.isInterruption { return conclude(only, nil) }
            return conclude(only, "it also fails when it runs alone", again: death)
        }
        let rest = worker.takeUnfinished { results.done[$0] || $0 == worker.current?.index }
        queue.putBack(rest)
        // If a build ends the run, no test and no worker has failed.
        if options.isBuildStep, death.isInterruption {
            isStopping = true
        } else if let running = worker.current {
            take(death, in: running, of: worker)
        } else if announcement == nil || !death.isInterruption {
            let isClosing = worker.state == .closing
            let leaks = isClosing ? locator.leaks(death) : []
            leaks.forEach(results.reportModuleIssue)
            if !leaks.isEmpty || worker.hasFinished && death.end == .exited(0) { return }
            let phase = announcement == nil ? "before it listed its tests" : "after its last test"
            let issue = locator.issue(for: death, phase: phase)
            if isOver(worker), let index = worker.previousIndex {
                // Of an isolated test, which has left tasks running.
                take(issue, of: index, worker)
            } else {
                results.reportModuleIssue(issue)
            }
            // The next worker would end in the same way.
            if worker.begunCount == 0, !isClosing { isStopping = true }
        }
    }

    /// Handles the death of a worker during a test.
    private func take(_ death: WorkerDeath, in running: Worker.RunningTest, of worker: Worker) {
        let index = running.index
        let attempts = open.removeValue(forKey: index)?.attempts ?? []
        let previous = worker.begunCount > 1 ? worker.previousIndex.map { plan[$0] } : nil
        // A retried test runs alone in any case. The first test of a worker was alone, too.
        let isDiagnosed = death.cause == nil && (options.retryCount == 0 || options.leavesOutput)
        let wasAlone = previous == nil && !options.leavesOutput
        var result = worker.result(of: running, plan[index])
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
        let running = workers.filter { $0.state == .running }.compactMap(\.only)
        for index in open.keys.sorted() where !running.contains(index) {
            guard var test = open.removeValue(forKey: index), let result = test.attempts.popLast() else { continue }
            settle(result, index, after: test.attempts, isFinal: true)
        }
    }

    /// Handles an issue of a test, which may have ended, or of an unknown test.
    private func take(_ issue: TestIssue, of index: Int?, _ worker: Worker) {
        if let index, worker.add(issue, to: index) { return }
        let isDiagnosis = worker.only.map { open[$0]?.diagnosis != nil } ?? false
        if issue.knownReason != nil || isDiagnosis { return }
        let running = worker.current?.index
        let owner = index ?? locator.owner(of: issue, in: plan, running: running) { results.done[$0] }
        if let owner, worker.add(issue, to: owner) { return }
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
