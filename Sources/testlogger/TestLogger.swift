// The command: reads the command line, links and runs each subject, prints what the reporter makes of it, and says by
// its exit status what came of it.

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

/// The exit statuses, which are never reused for anything else.
enum ExitStatus: Int32 {
    case passed = 0
    case failed = 1
    case usage = 2
    case notRun = 3
    case nothingToRun = 4
}

@main
struct TestLogger {
    private let options: Options
    private let root: String
    private var tally = RunTally()
    /// All tests of all subjects, selected or not.
    private var plan: [PlannedTest] = []
    /// What to say if no subject has anything to run.
    private var absences: [String] = []

    static func main() {
        let words = CommandLine.arguments.dropFirst()
        do throws(UsageError) {
            let options = try Options(Array(words))
            if options.wantsHelp {
                print(Options.help)
                return
            }
            var logger = TestLogger(options: options)
            exit(logger.run().rawValue)
        } catch {
            complain(error.description)
            complain("'testlogger --help' lists the options", severity: "note")
            exit(ExitStatus.usage.rawValue)
        }
    }

    private init(options: Options) {
        self.options = options
        root = Subjects(directory: FileAccess.currentDirectory).root
    }

    private static func complain(_ text: String, severity: String = "error") {
        for line in text.split(separator: "\n") { fputs("\(severity): \(line)\n", stderr) }
    }

    private mutating func run() -> ExitStatus {
        let start = ContinuousClock.now
        var runOptions = RunOptions()
        runOptions.timeoutMilliseconds = options.timeoutMilliseconds
        runOptions.isListing = options.isListing
        let subjects: [Subject]
        do {
            guard !options.subjects.isEmpty else {
                throw UsageError(description: "no module, image or object is named")
            }
            runOptions.selection = try selection()
            subjects = try Subjects(directory: FileAccess.currentDirectory).find(options.subjects)
        } catch {
            Self.complain("\(error)")
            return .usage
        }
        var worst = ExitStatus.passed
        for subject in subjects {
            let status = run(subject, runOptions)
            if status == .failed || status == .notRun && worst != .failed { worst = status }
        }
        let mistakes = runOptions.selection.mistakes(in: plan)
        for mistake in mistakes { Self.complain(mistake) }
        if worst == .passed, options.marker == nil, tally.planned == 0 || !mistakes.isEmpty {
            if mistakes.isEmpty { for absence in absences { Self.complain(absence) } }
            worst = .nothingToRun
        }
        printSummary(start, worst)
        if worst == .passed, let marker = options.marker, !FileAccess.exists(marker) {
            // Only when it is missing: a build does not compile again what has not changed.
            do throws(SystemError) { try FileAccess.write([], to: marker) } catch {
                Self.complain(error.description)
                return .notRun
            }
        }
        return worst
    }

    private func selection() throws -> TestSelection {
        var selection = TestSelection()
        selection.testTypes = options.testTypes
        for filter in options.filters { selection.filters.append(try TestPattern(filter)) }
        for exclusion in options.exclusions { selection.exclusions.append(try TestPattern(exclusion)) }
        return selection
    }

    private func printSummary(_ start: ContinuousClock.Instant, _ status: ExitStatus) {
        if options.isListing || tally.planned == 0 && !tally.isRed { return }
        if options.verbosity == .quiet, !tally.isRed { return }
        let elapsed = (ContinuousClock.now - start).components
        let summary = SummaryText(
            passed: tally.passed, failed: tally.failed, skipped: tally.skipped, knownIssues: tally.knownIssues,
            moduleIssues: tally.moduleIssues, warnings: tally.warnings,
            nanoseconds: Int(elapsed.seconds * 1_000_000_000 + elapsed.attoseconds / 1_000_000_000))
        print(summary.line(isStable: options.isStable))
    }

    private mutating func run(_ subject: Subject, _ runOptions: RunOptions) -> ExitStatus {
        var description: ModuleDescription
        switch subject {
        case .image(let path):
            description = ModuleDescription()
            description.root = root
            description.image = path
        case .module(let module):
            description = module
            switch link(module) {
            case nil: break
            case let status?: return status
            }
        }
        return run(description, runOptions)
    }

    /// Links the image; nil when there is one to run.
    private mutating func link(_ module: ModuleDescription) -> ExitStatus? {
        do throws(LinkError) {
            switch try ImageLinker(module).link() {
            case .linked, .upToDate: return nil
            case .compiledOut:
                absences.append(
                    "the tests of module '\(module.module)' are compiled out of this build; "
                        + "'-Xswiftc -DIN_CLASS_TESTS' keeps them in a release build")
                return .passed
            }
        } catch {
            let manifest = SourcePlace(path: "\(module.root)/Package.swift", line: 1, column: 1)
            let text = DiagnosticText(paths: PathStyle(root: module.root, isRelative: options.isStable))
            switch error {
            case .obstacle(let reason) where options.marker != nil:
                print(
                    text.line(
                        .warning, at: manifest,
                        "tests of module '\(module.module)' not run: \(DiagnosticText.harmless(reason))"))
                // A description that has changed makes the next build try again, and say so again.
                for path in options.subjects { utimes(path, nil) }
                return .passed
            case .obstacle(let reason):
                Self.complain("tests of module '\(module.module)' not run: \(reason)")
                return .notRun
            case .refused(let output):
                print(text.line(.error, at: manifest, "the test image of module '\(module.module)' cannot be linked"))
                for line in DiagnosticText.captured(Array(output.utf8), omittedCount: 0) { print(line) }
                return .notRun
            }
        }
    }

    private mutating func run(_ module: ModuleDescription, _ runOptions: RunOptions) -> ExitStatus {
        let isTerminal = isatty(1) == 1 && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
        let paths = PathStyle(root: module.root, isRelative: options.isStable)
        let reporter = DiagnosticReporter(
            paths: paths, verbosity: options.verbosity, isStable: options.isStable, isColoured: isTerminal)
        let isListing = options.isListing
        do throws(RunError) {
            let run = try TestRun(module, options: runOptions) { event in
                if isListing, case .planned(_, let tests) = event {
                    for test in tests { print("\(test.module).\(test.name)") }
                }
                for line in reporter.lines(for: event) { print(line) }
            }
            let result = try run.run()
            plan += run.plan
            tally = tally + result
            if result.isRed { return .failed }
            if result.planned == 0 { noteAbsence(module, result, paths) }
            return .passed
        } catch {
            Self.complain(error.description)
            return .notRun
        }
    }

    private mutating func noteAbsence(_ module: ModuleDescription, _ result: RunTally, _ paths: PathStyle) {
        let name = module.module.isEmpty ? module.image : "module '\(module.module)'"
        let what = result.unselected > 0 ? "the selection leaves nothing of \(name) to run" : "\(name) lists no tests"
        absences.append(what)
        // A build goes on, but not in silence.
        guard options.marker != nil, let source = module.sources.first else { return }
        let place = SourcePlace(path: source, line: 1, column: 1)
        print(DiagnosticText(paths: paths).line(.warning, at: place, "\(what); a type lists its own in testSelectors"))
    }
}
