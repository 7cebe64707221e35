// The main program: reads the command line, runs the tests of the modules and determines the exit status.
//
// A test's way through this module: before it runs, TestLogger, CommandLineOptions, SubjectFinder and SubjectRunner; then
// SubjectRunner, which prints its result, and RequestedReports. *Working on InClassTesting* describes all steps.

internal import InClassSystem
import TestEvents
import TestReporting
import TestSupervision

/// The exit statuses. A number is never reused for another meaning.
enum ExitStatus: Int32 {
    case passed = 0
    case failed = 1
    case usage = 2
    case notRun = 3
    case nothingToRun = 4
}

@main
struct TestLogger {
    static func main() {
        setvbuf(inclass_stdout(), nil, _IOFBF, 1 << 16)
        var status: Int32
        do throws(UsageError) {
            let words = CommandLine.arguments.dropFirst()
            if words.first == "--read-only" {
                let options = try CommandLineOptions(Array(words.dropFirst()))
                for word in options.subjects + ["--"] + options.optionWords { print(word) }
                return
            }
            if words.first == "--init", words.count == 2, let facts = words.last {
                Starter.endWithIt()
                let status = Initialization.run(facts)
                fflush(nil)
                _exit(status.rawValue)
            }
            let options = try CommandLineOptions(Array(words))
            if options.wantsHelp {
                print(CommandLineOption.help, terminator: "")
                return
            }
            if options.wantsVersion {
                print("testlogger \(version), worker protocol \(TestEvent.currentVersion)")
                return
            }
            Starter.endWithIt()
            // A debugger replaces this process.
            if options.debuggedTest == nil { waitForChild(options) }
            Interruption.watchSignals()
            var command = TestLogger(options)
            status = command.run().rawValue
        } catch {
            complain(error.description)
            complain(whereHelpIs, severity: "note")
            status = ExitStatus.usage.rawValue
        }
        if let signal = Interruption.signal { status = 128 + signal }
        fflush(nil)
        // An instrumented build would write a profile of this program in `exit`.
        _exit(status)
    }

    /// Continues in a child process, and reports a signal that ends it.
    private static func waitForChild(_ options: CommandLineOptions) {
        WaitingParent.fork { signal, name in
            var command = TestLogger(options)
            let root = command.root(of: (try? command.findModules()) ?? [])
            let reason = signal == SIGKILL ? " from a test, or from the system because it was out of memory" : ""
            print(
                "\(root)/Package.swift:1:1: error: testlogger was ended by signal \(signal) (\(name))\(reason); "
                    + "not all tests ran")
            return ExitStatus.notRun.rawValue
        }
    }

    /// The next release, in the form of semver.org.
    private static let version = "1.0.0-dev"

    private static let whereHelpIs = "'testlogger --help' lists the options"

    static func complain(_ text: String, severity: String? = "error") {
        fflush(inclass_stdout())
        let start = severity.map { "\($0): " } ?? ""
        for line in text.split(separator: "\n") { fputs("\(start)\(line)\n", inclass_stderr()) }
        if Starter.isSandboxed, text.contains(": \(String(cString: strerror(EPERM)))") {
            fputs("note: \(sandboxNote)\n", inclass_stderr())
        }
    }

    /// Prints an error, which may have a place.
    static func complain(_ error: any Error) { complain("\(error)", severity: error is LocatedError ? nil : "error") }

    // SPEC: Basics/Sandbox.swift and Commands/PackageCommands/PluginCommand.swift of swift-package-manager.
    private static let sandboxNote =
        "SwiftPM lets plugins write only with permission: swift package --allow-writing-to-package-directory "
        + "testlogger …, or --allow-writing-to-directory PATH for other folders"

    /// Replaces the text of the last line of a terminal.
    static func showProgress(_ text: String) {
        fflush(inclass_stdout())
        if isatty(2) == 1 { fputs("\r\u{1B}[K\(text)", inclass_stderr()) }
    }

    private var options: CommandLineOptions

    private init(_ options: CommandLineOptions) { self.options = options }

    private mutating func run() -> ExitStatus {
        let runOptions: RunOptions
        let modules: [ModuleDescription]
        if options.marker != nil, Self.isOn("IN_CLASS_TESTS_OFF") || BuildPlace.isOfCommand {
            SubjectRunner.runAgainInNextBuild(options)
            return createMarker()
        }
        do {
            modules = try findModules()
            if let package = try PackageOptions(root: root(of: modules)) {
                try options.add(package)
                watch(package)
            }
            runOptions = try options.runOptions()
        } catch {
            Self.complain(error)
            if let word = options.wordAfterShuffle, options.subjects.contains(word), !(error is PatternError) {
                Self.complain("'--shuffle' takes a whole number as its seed", severity: "note")
            }
            return .usage
        }
        if let test = options.debuggedTest { return SubjectRunner(options).debug(test, modules) }
        if options.isMutating { return Mutating(options, runOptions).run(modules) }
        guard options.isWatching else { return runOnce(modules, runOptions) }
        guard modules.allSatisfy({ !$0.target.isEmpty }) else {
            Self.complain("'--watch' needs modules built here by 'swift build'")
            return .usage
        }
        var status = ExitStatus.passed
        Watching(modules: modules).loop { status = runOnce(modules, runOptions) }
        return status
    }

    private func runOnce(_ modules: [ModuleDescription], _ runOptions: RunOptions) -> ExitStatus {
        let start = ContinuousClock.now
        let runner = SubjectRunner(options)
        let count = options.isUntilFailure && options.repetitionCount == 1 ? Int.max : options.repetitionCount
        var repetition = 0
        while repetition < count, Interruption.signal == nil {
            repetition += 1
            var runOptions = runOptions
            runOptions.isRepetition = repetition > 1
            for module in modules { runner.run(module, runOptions) }
            if options.isUntilFailure || options.run.stopsAtFirstFailure, runner.status != .passed { break }
            if options.run.isListing || runner.tally.planned == 0 { break }
        }
        let nanoseconds = Int((ContinuousClock.now - start) / .nanoseconds(1))
        runner.finishReports(earlyReason: Interruption.reason.map { "ended by \($0)" }, nanoseconds: nanoseconds)
        let status = verdict(runner, runOptions)
        guard options.printsText else { return finish(status) }
        if runner.status == .failed, repetition > 1 { print("failed in repetition \(repetition)") }
        for result in runner.slowest {
            print("slowest: \(result.test.name) (\(TerminalText.duration(result.nanoseconds)))")
        }
        printSummary(runner, nanoseconds)
        let style = options.style(root: SubjectFinder.here.root)
        if options.run.isAccepting {
            if runner.tally.notRun > 0 || Interruption.reason != nil {
                // The other tests may expect other values.
                print("nothing was accepted, because not all tests finished")
            } else if !Acceptance.apply(runner, lines: options.lines, style: style) {
                return .notRun
            }
        }
        if options.fixesLists, !ListFixes.apply(runner.listFixes, style: style) { return .notRun }
        if status == .failed { printProgram() }
        return finish(status)
    }

    /// Lets the build continue if the tests have passed and everything is printed.
    private func finish(_ status: ExitStatus) -> ExitStatus {
        if fflush(inclass_stdout()) != 0 || ferror(inclass_stdout()) != 0 {
            // Text without a reader is not an error, unlike an unwritten report.
            let isUnread = options.printsText && write(1, "\n", 1) < 0 && errno == EPIPE
            if !isUnread {
                Self.complain(SystemError("write the standard output").description)
                return status == .failed ? .failed : .notRun
            }
        }
        return status == .passed ? createMarker() : status
    }

    /// Prints the path of this program if the link `.build/debug` is missing. A passing build creates the link.
    private func printProgram() {
        guard options.marker != nil, let place = BuildPlace.ofThisProgram,
            !FileAccess.exists("\(place.scratch)/\(FileAccess.name(of: place.products))"),
            FileAccess.exists("\(place.scratch)/plugins"),
            FileAccess.name(of: FileAccess.directory(of: place.products)) != "Products"
        else { return }
        let program = "\(place.products)/\(FileAccess.name(of: BuildPlace.program))"
        let isPlain = program.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"'\"\\$`!*?[](){}<>|&;#~".utf8.contains($0) }
        let word = isPlain ? program : "'\(program.replacing("'", with: #"'\''"#))'"
        print("run the failed tests again with \(word) --failed")
    }

    /// Makes a new `.testlogger` an input of the native build's steps. The plugin has created an empty file for it.
    private func watch(_ package: PackageOptions) {
        guard let marker = options.marker else { return }
        let link = "\(FileAccess.directory(of: FileAccess.directory(of: marker)))/options.docc"
        if FileAccess.exists(link), !FileAccess.isLink(link), unlink(link) == 0 { symlink(package.path, link) }
    }

    /// The folder of the package that is tested.
    private func root(of modules: [ModuleDescription]) -> String {
        modules.lazy.map(\.root).first { !$0.isEmpty } ?? SubjectFinder.here.root
    }

    /// Returns whether an environment variable has a value other than a negative word.
    static func isOn(_ variable: String) -> Bool {
        guard let value = Environment.value(of: variable)?.lowercased() else { return false }
        return !["", "0", "false", "no", "off"].contains(value)
    }

    /// Finds the modules to test, and replaces paths of sources with the modules' own paths.
    private mutating func findModules() throws -> [ModuleDescription] {
        let finder = SubjectFinder.here
        let sources = options.places.map(\.path)
        let modules =
            !options.subjects.isEmpty
            ? try finder.find(options.subjects) : try sources.isEmpty ? finder.all() : finder.find(sources: sources)
        let known = modules.flatMap(\.sources)
        options.places = options.places.map { place in
            ChosenLine(path: SubjectFinder.spelling(of: place.path, among: known), line: place.line)
        }
        return modules
    }

    /// Returns the exit status for the results of all modules, and prints why no test has run.
    private func verdict(_ runner: SubjectRunner, _ runOptions: RunOptions) -> ExitStatus {
        var named = runOptions.choice
        // A test type in `.testlogger` may be missing in some modules.
        if !options.given.contains("--test-type") { named.testTypes = [] }
        let isEmpty = runner.tally.planned == 0
        // A run that didn't begin has no plan to compare the selection with.
        let isComparable = runner.status != .notRun && !(isEmpty && options.passesWithoutTests == true)
        let mistakes = isComparable ? named.mistakes(in: runner.plan) + runner.lineMistakes : []
        for mistake in mistakes { Self.complain(mistake) }
        let gone = runner.goneFailures.sorted()
        if !gone.isEmpty {
            let rest = gone.count > 10 ? " and \(gone.count - 10) more" : ""
            Self.complain(
                "tests that failed in the last run no longer exist: \(gone.prefix(10).joined(separator: ", "))\(rest); "
                    + "a run of all tests forgets them")
        }
        guard runner.status == .passed, options.marker == nil else { return runner.status }
        // A shard, or the selection of failed tests, may be empty.
        let isPart = options.run.choice.shard != nil && runner.plan.contains(where: runOptions.choice.includes)
        let mayBeEmpty =
            options.passesWithoutTests
            ?? (isPart || options.run.choice.isFailedOnly || options.run.choice.isChangedOnly)
        if !gone.isEmpty { return .nothingToRun }
        if !isEmpty || mayBeEmpty, mistakes.isEmpty { return .passed }
        if mistakes.isEmpty { for absence in runner.absences { Self.complain(absence, severity: nil) } }
        return .nothingToRun
    }

    private func printSummary(_ runner: SubjectRunner, _ nanoseconds: Int) {
        let tally = runner.tally
        if options.run.isListing { return }
        if tally.planned == 0, !tally.isRed {
            if options.run.choice.isFailedOnly, runner.goneFailures.isEmpty {
                print("nothing failed in the last run")
            } else if options.run.choice.isChangedOnly {
                print("no source has changed since its tests ran")
            }
            return
        }
        if options.style.verbosity == .quiet, !tally.isRed, tally.flaky == 0 { return }
        print(tally.line(nanoseconds: nanoseconds, isStable: options.run.isStable))
    }

    /// Lets the build continue. An existing marker stays unchanged, so that the build doesn't compile it again.
    private func createMarker() -> ExitStatus {
        guard let marker = options.marker, !FileAccess.exists(marker) else { return .passed }
        do throws(SystemError) { try FileAccess.write([], to: marker) } catch {
            Self.complain(error.description)
            return .notRun
        }
        return .passed
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
extension TestLogger {
    /// Runs a command in this process.
    static func status(_ words: [String]) throws -> ExitStatus {
        var command = TestLogger(try CommandLineOptions(words))
        return command.run()
    }
}
#endif
