// `--mutants`: tries small changes of the sources, and names those that no test has noticed. Here is what is chosen and
// printed; how a change is tried is MutantTrials' business.

#if canImport(Darwin)
@preconcurrency import Darwin
#elseif canImport(Musl)
@preconcurrency import Musl
#else
@preconcurrency import Glibc
#endif
import TestEvents
import TestReporting
import TestSupervision

struct Mutating {
    private let options: CommandLineOptions
    private let runOptions: RunOptions

    init(_ options: CommandLineOptions, _ runOptions: RunOptions) {
        self.options = options
        self.runOptions = runOptions
    }

    /// What has come of the mutants so far.
    private struct Tally {
        var noticed = 0
        var survived = 0
        var notCompiled = 0
        var untried = 0

        var tried: Int { noticed + survived }
    }

    /// Tries the mutants of the chosen sources, or of all.
    func run(_ subjects: [Subject]) -> ExitStatus {
        var modules: [ModuleDescription] = []
        for subject in subjects {
            guard case .module(let module) = subject, !module.target.isEmpty else {
                TestLogger.complain("only modules that 'swift build' has built here have mutants")
                return .usage
            }
            if !chosen(module).isEmpty { modules.append(module) }
        }
        if modules.isEmpty {
            let names = (options.sources + options.lines.map(\.path)).joined(separator: " or ")
            TestLogger.complain("no module that has been built here has \(names)")
            return .usage
        }
        var tally = Tally()
        let start = ContinuousClock.now
        for (index, module) in modules.enumerated() {
            // What one module leaves of its part the others have.
            let left = Duration.seconds(options.budgetSeconds) - (ContinuousClock.now - start)
            let deadline = ContinuousClock.now + left / (modules.count - index)
            do throws(MutantError) { try run(module, until: deadline, &tally) } catch {
                complain(error, paths(module))
                return .notRun
            }
            if Interruption.signal != nil { break }
        }
        return verdict(tally, ContinuousClock.now - start)
    }

    private func complain(_ error: MutantError, _ paths: PathStyle) {
        guard let place = error.place else { return TestLogger.complain(error.description) }
        let line = DiagnosticText(paths: paths).line(.error, at: place, error.description)
        TestLogger.complain(line, severity: nil)
    }

    private func paths(_ module: ModuleDescription) -> PathStyle { options.paths(root: module.root) }

    private func chosen(_ module: ModuleDescription) -> [String] {
        if options.sources.isEmpty, options.lines.isEmpty { return module.sources }
        return module.sources.filter { source in
            isWhole(source) || options.lines.contains { $0.names(source) }
        }
    }

    private func isWhole(_ source: String) -> Bool {
        options.lines.isEmpty && options.sources.isEmpty
            || options.sources.contains { ChosenLine.path($0, names: source) }
    }

    private func run(_ module: ModuleDescription, until deadline: ContinuousClock.Instant, _ tally: inout Tally)
        throws(MutantError)
    {
        var tried = TriedSources(of: module)
        let sources = chosen(module).filter { !options.isChangedOnly || !tried.contains($0) }
        if sources.isEmpty { return }
        let trials = try MutantTrials(module, options: runOptions)
        let terminal = options.terminal(paths(module))
        var mutants = try trials.mutants(of: sources) { event in
            switch event {
            case .ended(let result) where result.outcome != .failed: break
            case .ended, .moduleIssue: for line in terminal.lines(for: event) { print(line) }
            default: break
            }
        }
        mutants = mutants.filter { mutant in
            isWhole(mutant.place.path)
                || options.lines.contains { $0.names(mutant.place.path) && $0.line == mutant.place.line }
        }
        var generator = SeededGenerator(seed: options.seed ?? 1)
        mutants.shuffle(using: &generator)
        if let shard = options.shard { mutants = shard.part(of: Array(mutants.indices)).map { mutants[$0] } }
        var left: [String: Int] = [:]
        if options.shard == nil { for source in sources where isWhole(source) { left[source] = 0 } }
        for mutant in mutants { left[mutant.place.path]? += 1 }
        for (source, count) in left where count == 0 { tried.insert(source) }
        let total = tally.tried + tally.notCompiled + mutants.count
        tally.untried += mutants.count
        try trials.tryMutants(mutants, while: { ContinuousClock.now < deadline && Interruption.signal == nil }) {
            mutant, outcome in
            count(outcome, of: mutant, &tally, terminal, paths(module))
            showProgress(tally, of: total)
            left[mutant.place.path]? -= 1
            if left[mutant.place.path] == 0 { tried.insert(mutant.place.path) }
        }
        clearProgress()
    }

    private func count(
        _ outcome: MutantOutcome, of mutant: Mutant, _ tally: inout Tally, _ terminal: TerminalText, _ paths: PathStyle
    ) {
        tally.untried -= 1
        var text = mutant.text
        switch outcome {
        case .noticed:
            tally.noticed += 1
            text += " was noticed"
        case .notCompiled:
            tally.notCompiled += 1
            text += " does not compile"
        case .survived:
            tally.survived += 1
            text += ", and no test noticed"
        }
        guard outcome == .survived || options.verbosity >= .tests else { return }
        clearProgress()
        if outcome == .survived {
            let warning = SourceWarning(place: mutant.place, text: text)
            for line in terminal.lines(for: .warning(warning)) { print(line) }
        } else {
            print(DiagnosticText(paths: paths).line(.note, at: mutant.place, text))
        }
        fflush(stdout)
    }

    // MARK: Progress and summary

    private func showProgress(_ tally: Tally, of total: Int) {
        guard isatty(2) == 1, !options.isStable, options.verbosity > .quiet else { return }
        let done = tally.tried + tally.notCompiled
        fputs("\r\u{1B}[K\(done) of \(total) mutants, \(tally.survived) survived", stderr)
        fflush(stderr)
    }

    private func clearProgress() {
        guard isatty(2) == 1 else { return }
        fputs("\r\u{1B}[K", stderr)
        fflush(stderr)
    }

    private func verdict(_ tally: Tally, _ elapsed: Duration) -> ExitStatus {
        guard tally.tried + tally.notCompiled + tally.untried > 0 else {
            if options.isChangedOnly || options.shard != nil {
                print("no source has changed since all its mutants were tried")
                return .passed
            }
            TestLogger.complain("no line that the tests reach has anything to change")
            return .nothingToRun
        }
        var parts = ["\(tally.noticed) noticed", "\(tally.survived) survived"]
        if tally.tried > 0 { parts[0] += " (\(tally.noticed * 100 / tally.tried) %)" }
        if tally.notCompiled > 0 { parts.append("\(tally.notCompiled) do not compile") }
        if tally.untried > 0 { parts.append("\(tally.untried) not tried") }
        if options.isShuffled, let seed = options.seed { parts.append("seed \(seed)") }
        let nanoseconds = Int(elapsed / .nanoseconds(1))
        let time = options.isStable ? "" : " (\(TerminalText.duration(nanoseconds)))"
        print("mutants: \(parts.joined(separator: ", "))\(time)")
        return .passed
    }
}
