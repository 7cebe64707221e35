// `--mutants`: tries small changes of the sources, and prints the changes that no test has noticed. This file selects mutants
// and prints results. MutantTrials tries the mutants.

import TestEvents
import TestReporting
import TestSupervision

final class Mutating {
    private let options: CommandLineOptions
    private let runOptions: RunOptions
    /// The number of mutants with each outcome, and of all mutants.
    private var counts: [MutantOutcome: Int] = [:]
    private var total = 0

    init(_ options: CommandLineOptions, _ runOptions: RunOptions) {
        self.options = options
        var runOptions = runOptions
        // Lines, changes and shards select mutants, not tests.
        runOptions.choice.lines = []
        runOptions.choice.isChangedOnly = false
        runOptions.choice.shard = nil
        runOptions.shuffleSeed = nil
        self.runOptions = runOptions
    }

    /// Tries the mutants of the selected sources, or of all sources, and prints the mutants that no test has noticed.
    func run(_ modules: [ModuleDescription]) -> ExitStatus {
        let modules = modules.filter { !chosenSources($0).isEmpty }
        if modules.isEmpty {
            TestLogger.complain("mutation testing needs modules built here by 'swift build', or their sources")
            return .usage
        }
        let start = ContinuousClock.now
        for (index, module) in modules.enumerated() where Interruption.signal == nil {
            // The remaining time is divided among the remaining modules.
            let left = Duration.seconds(options.budgetSeconds) - (ContinuousClock.now - start)
            do { try run(module, until: .now + left / (modules.count - index)) } catch {
                complain(error, module)
                return .notRun
            }
        }
        return verdict(after: .now - start)
    }

    private func complain(_ error: any Error, _ module: ModuleDescription) {
        guard let place = (error as? MutantError)?.place else { return TestLogger.complain("\(error)") }
        let text = DiagnosticText(options.style(root: module.root))
        TestLogger.complain(text.line(.error, at: place, "\(error)"), severity: nil)
    }

    private func chosenSources(_ module: ModuleDescription) -> [String] {
        if module.target.isEmpty { return [] }
        let places = options.places
        return module.sources.filter { source in places.isEmpty || places.contains { $0.names(source) } }
    }

    private func run(_ module: ModuleDescription, until deadline: ContinuousClock.Instant) throws {
        var tried = TriedSources(of: module)
        let sources = chosenSources(module).filter { !options.run.choice.isChangedOnly || !tried.contains($0) }
        if sources.isEmpty { return }
        let trials = try MutantTrials(module, options: runOptions)
        defer { showProgress("") }
        let terminal = TerminalText(options.style(root: module.root))
        showProgress("running the tests without a mutant")
        var mutants = try trials.mutants(of: sources) { event in
            if case .ended(let result) = event, result.outcome != .failed { return }
            for line in terminal.lines(for: event) { print(line) }
        }
        var generator = SeededGenerator(seed: options.run.shuffleSeed ?? 1)
        mutants = mutants.shuffled(using: &generator).filter { mutant in
            options.places.isEmpty
                || options.places.contains { $0.names(mutant.place.path) && [0, mutant.place.line].contains($0.line) }
        }
        if let shard = options.run.choice.shard {
            mutants = shard.part(of: Array(mutants.indices)) { "\($0)" }.map { mutants[$0] }
        }
        total += mutants.count
        var untried = mutants[...]
        try trials.tryMutants(mutants) { mutant, outcome in
            untried.removeFirst()
            counts[outcome, default: 0] += 1
            if outcome == .survived {
                showProgress("")
                let warning = SourceWarning(place: mutant.place, text: "\(mutant.text): no test fails")
                for line in terminal.lines(for: .warning(warning)) { print(line) }
            }
            showProgress("\(counts.values.reduce(0, +)) of \(total) mutants, \(counts[.survived] ?? 0) survived")
            return ContinuousClock.now < deadline
        }
        showProgress("")
        if trials.needsOrder {
            TestLogger.complain(
                "tests of module '\(module.module)' fail without a mutant if other tests run first", severity: "warning"
            )
        }
        // A source has been tried only with all its lines and all tests.
        let parts: Set<String> = ["--shard", "--filter", "--skip", "--test-type"]
        if !options.lines.isEmpty || !options.given.isDisjoint(with: parts) { return }
        tried.insert(sources.filter { source in !untried.contains { $0.place.path == source } })
    }

    private func showProgress(_ text: String) {
        TestLogger.showProgress(options.style.verbosity > .quiet ? text : "")
    }

    private func verdict(after elapsed: Duration) -> ExitStatus {
        if total == 0, options.run.choice.isChangedOnly {
            print("no source has changed since its mutants were tried")
            return .passed
        }
        if total == 0, options.run.choice.shard == nil {
            TestLogger.complain("the tests reach no line with a mutant")
            return .nothingToRun
        }
        let (noticed, survived) = (counts[.noticed] ?? 0, counts[.survived] ?? 0)
        let share = noticed + survived > 0 ? " (\(noticed * 100 / (noticed + survived)) %)" : ""
        var parts = ["\(noticed) noticed\(share)", "\(survived) survived"]
        if let count = counts[.notCompiled] { parts.append("\(count) not compiled") }
        let left = total - counts.values.reduce(0, +)
        if left > 0 { parts.append("\(left) not tried") }
        if let seed = options.run.shuffleSeed { parts.append("seed \(seed)") }
        let time = TerminalText.duration(Int(elapsed / .nanoseconds(1)))
        print("mutants: \(parts.joined(separator: ", "))\(options.run.isStable ? "" : " (\(time))")")
        return .passed
    }
}
