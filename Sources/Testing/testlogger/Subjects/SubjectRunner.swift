// Links and runs one module after another, prints their events in the form of TerminalText, and adds up the results.

internal import InClassSystem
import TestEvents
import TestReporting
import TestSupervision

final class SubjectRunner {
    private let options: CommandLineOptions
    private(set) var status = ExitStatus.passed
    private(set) var tally = RunTally()
    /// All tests of all modules, including the tests that aren't selected.
    private(set) var plan: [PlannedTest] = []
    /// The tests that failed in the last run and no longer exist.
    private(set) var goneFailures: Set<String> = []
    /// The errors of the selected lines.
    private(set) var lineMistakes: [String] = []
    /// The lines to print if no module has a test to run.
    private(set) var absences: [String] = []
    /// The tests that took longer than the limit of `--slow`, slowest first. Only the slowest are kept.
    private(set) var slowest: [TestResult] = []
    /// The fixes of literals and goldens, followed by the unchanged values that other tests expect.
    var fixes: [LiteralFix] { found + found.compactMap { $0.kept(if: met) } }
    private var found: [LiteralFix] = []
    /// The places of passed comparisons of all modules.
    private var met: Set<String> = []
    /// The failed comparisons that `--accept` can't fix.
    private(set) var unaccepted: [UnacceptedValue] = []
    /// The fixes that add unlisted tests to their lists.
    private(set) var listFixes: [SourceFixIt] = []
    private var skippedTests: Set<String> = []
    /// The test executables that an earlier repetition has linked.
    private var linkedExecutables: Set<String> = []

    private let reports: RequestedReports

    init(_ options: CommandLineOptions) {
        self.options = options
        reports = RequestedReports(options, root: SubjectFinder.here.root)
    }

    /// Writes the reports, even if the run ended early.
    func finishReports(earlyReason: String?, nanoseconds: Int) {
        if options.run.isListing { return }
        attempt { try reports.finish(earlyReason: earlyReason, nanoseconds: nanoseconds) }
    }

    /// Runs the tests of a module. Afterwards, `status` is the worst status so far.
    func run(_ module: ModuleDescription, _ runOptions: RunOptions) {
        if module.isExecutable { return test(module, runOptions) }
        if advise(module) { return }
        if module.isIndirect, !module.usesLibrary {
            return absences.append("error: \(name(of: module)) lists no tests")
        }
        if options.marker != nil, let earlier = PassCache(module) {
            test(module, runOptions, after: earlier)
        } else if link(module) {
            test(module, runOptions)
        }
    }

    /// Prints the advice for a module whose tests can't run. Returns whether the module has advice.
    private func advise(_ module: ModuleDescription) -> Bool {
        let isError = module.advice.contains(": error: ")
        guard !module.advice.isEmpty, !isError || options.marker != nil else { return false }
        if module.listsTests {
            print(module.advice)
            if isError { add(.notRun) }
        }
        return true
    }

    /// Runs the tests of a module in a build, except those that have passed already. Skipped tests run in every build.
    private func test(_ module: ModuleDescription, _ runOptions: RunOptions, after earlier: PassCache) {
        let skippedBefore = earlier.skippedTests
        if skippedBefore?.isEmpty ?? false { return }
        guard link(module) else { return }
        var runOptions = runOptions
        runOptions.choice.names = skippedBefore
        test(module, runOptions)
        // The reason for a skip is unknown to the build.
        if !skippedTests.isEmpty { Self.runAgainInNextBuild(options) }
        // Modules with warnings run again, so that the warnings are repeated.
        if status == .passed, tally.warnings == 0, tally.flaky == 0, tally.planned > 0 {
            earlier.record(skipped: skippedTests)
        }
    }

    /// Makes the next build run this step again, because a newer description is a changed input.
    static func runAgainInNextBuild(_ options: CommandLineOptions) {
        for path in options.subjects { utimes(path, nil) }
    }

    /// Prints the error of a part without which the tests haven't run as they should.
    private func attempt(_ body: () throws -> Void) {
        do { try body() } catch {
            TestLogger.complain("\(error)")
            add(.notRun)
        }
    }

    private func add(_ new: ExitStatus) {
        if new == .failed || new == .notRun && status != .failed { status = new }
    }

    /// Links the test executable of a module unless an earlier repetition has linked it.
    ///
    /// - Returns: false if the test executable can't be run.
    private func link(_ module: ModuleDescription) -> Bool {
        if linkedExecutables.contains(module.executable) { return true }
        do throws(LinkError) {
            if options.marker != nil, module.isBuiltWithoutTests {
                guard module.listsTests else { return false }
                throw .obstacle("Swift Build doesn't compile them for '--product' and 'swift run'; use 'swift build'")
            }
            guard try TestLinker(module).link() != .compiledOut else {
                absences.append(
                    "error: the tests of \(name(of: module)) are compiled out of this build; "
                        + "'-Xswiftc -DIN_CLASS_TESTS' keeps them in a release build")
                return false
            }
            linkedExecutables.insert(module.executable)
            return true
        } catch {
            report(error, of: module)
            return false
        }
    }

    private func report(_ error: LinkError, of module: ModuleDescription) {
        // A build that ends early also ends the linker, whose failure then has no other cause.
        if Interruption.signal != nil { return add(.notRun) }
        let manifest = SourcePlace(path: "\(module.root)/Package.swift", line: 1, column: 1)
        let text = DiagnosticText(options.style(root: module.root))
        if case .refused(let output) = error {
            print(text.line(.error, at: manifest, "the tests of module '\(module.module)' can't be linked"))
            for line in DiagnosticText.captured(Array(output.utf8), omittedCount: 0) { print(line) }
            return add(.notRun)
        }
        let what = "tests of module '\(module.module)' not run:"
        guard options.marker != nil else {
            TestLogger.complain("\(what) \(error)")
            return add(.notRun)
        }
        // An obstacle may exist only on this machine. The variable is set on machines that must run the tests.
        var isError = TestLogger.isOn("IN_CLASS_TESTS_REQUIRED")
        if case .failed = error { isError = true }
        print(
            text.line(isError ? .error : .warning, at: manifest, "\(what) \(DiagnosticText.harmless("\(error)"))"))
        if isError { add(.notRun) }
        Self.runAgainInNextBuild(options)
    }

    private func test(_ module: ModuleDescription, _ runOptions: RunOptions) {
        let style = options.style(root: module.root)
        var runOptions = runOptions
        runOptions.reportsOnlyNews =
            style.verbosity < .tests && options.run.slowMilliseconds == 0 && reports.isEmpty
        let run = TestRun(module, options: runOptions) { [self, runOptions] event in
            if case .planned(_, let tests) = event, options.run.isListing {
                for test in tests { print(test.name) }
            }
            if case .ended(let result) = event {
                if result.outcome == .skipped { skippedTests.insert(result.test.name) }
                if result.outcome != .skipped, runOptions.isSlow(nanoseconds: result.nanoseconds) {
                    slowest = Array((slowest + [result]).sorted { $0.nanoseconds > $1.nanoseconds }.prefix(10))
                }
            }
            if case .warning(let warning) = event, let fix = warning.fixIt, !listFixes.contains(fix) {
                listFixes.append(fix)
            }
            show(event, style)
            // Print in the order of the tests' own output, and before a test can end this process.
            if options.run.leavesOutput || event.isFailure { fflush(inclass_stdout()) }
        }
        if options.run.leavesProfiles { CoverageReport(module).begin() }
        attempt {
            let result = try run.run()
            plan += run.plan
            found += run.fixes
            met.formUnion(run.met)
            unaccepted += run.unaccepted
            goneFailures.formUnion(run.goneFailures)
            for mistake in run.lineMistakes where !lineMistakes.contains(mistake) { lineMistakes.append(mistake) }
            if options.run.leavesProfiles { printCoverage(module) }
            tally = tally + result
            if result.isRed || style.failsOnFlaky && result.flaky > 0 { add(.failed) }
            // A test that didn't run hasn't passed.
            if Interruption.signal != nil { return add(.notRun) }
            if result.planned == 0 {
                noteAbsence(module, run.plan, style)
            } else {
                warnOfTypes(module, run.plan, style)
            }
        }
    }

    /// Adds an event to the reports and prints its lines.
    private func show(_ event: RunEvent, _ style: TextStyle) {
        if !options.run.isListing { reports.add(event) }
        if options.printsText { for line in reports.printable(TerminalText(style).lines(for: event)) { print(line) } }
    }

    private func printCoverage(_ module: ModuleDescription) {
        attempt {
            let (files, path) = try CoverageReport(module).finish()
            let style = options.style(root: module.root, isRelative: true)
            for file in files where file.lineCount > 0 {
                let percentage = file.reachedCount * 100 / file.lineCount
                print("coverage: \(percentage) % of \(file.lineCount) lines of \(style.text(file.path))")
            }
            print("coverage: by line in \(style.text(path))")
        }
    }

    private func name(of module: ModuleDescription) -> String {
        module.module.isEmpty ? module.executable : "module '\(module.module)'"
    }

    private func noteAbsence(_ module: ModuleDescription, _ plan: [PlannedTest], _ style: TextStyle) {
        let name = name(of: module)
        let text = DiagnosticText(style)
        // A build step only warns, because it knows one module, and another module may contain the selected tests.
        if let (place, what) = options.packageChoices.obstacle(in: plan, of: name, chosen: options.run.choice.testTypes)
        {
            absences.append(text.line(.error, at: place, what))
            if options.marker != nil { print(text.line(.warning, at: place, what)) }
            return
        }
        let what = plan.isEmpty ? "\(name) lists no tests" : "the selection contains no tests of \(name)"
        absences.append("error: \(what)")
        guard options.marker != nil, plan.isEmpty, let source = module.sources.first else { return }
        if module.isIndirect || module.isTestKit { return }
        let place = SourcePlace(path: source, line: 1, column: 1)
        print(text.line(.warning, at: place, "\(what); a type lists its tests in testSelectors"))
    }

    private func warnOfTypes(_ module: ModuleDescription, _ plan: [PlannedTest], _ style: TextStyle) {
        if options.run.isListing { return }
        for (place, what) in options.packageChoices.misspeltTypes(in: plan, of: name(of: module)) {
            show(.warning(SourceWarning(place: place, text: what)), style)
            tally.warnings += 1
        }
    }
}

// MARK: - Debugging

extension SubjectRunner {
    /// Starts gdb or lldb on a test of the first subject that has it, with a breakpoint where the test begins.
    func debug(_ test: String, _ modules: [ModuleDescription]) -> ExitStatus {
        var names: [String] = []
        for module in modules where module.isExecutable || link(module) {
            var listing = RunOptions()
            listing.isListing = true
            let run = TestRun(module, options: listing) { _ in }
            do throws(RunError) { _ = try run.run() } catch {
                TestLogger.complain(error.description)
                return .notRun
            }
            if let index = run.plan.firstIndex(where: { $0.name == test }) {
                return startDebugger(
                    on: module, workerName: run.workerName(ofTestAt: index), place: run.place(ofTestAt: index))
            }
            names += run.plan.map(\.name)
        }
        TestLogger.complain("there is no test '\(test)'" + suggestion(for: test, among: names))
        return .nothingToRun
    }

    /// Replaces this process with the debugger. Returns only if no debugger could be started.
    private func startDebugger(on module: ModuleDescription, workerName: String, place: SourcePlace?) -> ExitStatus {
        let chosen = Environment.value(of: "IN_CLASS_DEBUGGER").map { [$0] } ?? ["gdb", "lldb"]
        guard let program = chosen.compactMap(FileAccess.program).first else {
            TestLogger.complain("there is no \(chosen.joined(separator: " or ")) on the PATH")
            return .notRun
        }
        let executable = [module.executable, "--in-class-debug", module.module, workerName]
        var words = [program]
        if FileAccess.name(of: program).hasPrefix("lldb") {
            if let place { words += ["-o", "breakpoint set --file \(place.path) --line \(place.line)"] }
            words += ["--"] + executable
        } else {
            // Swift's own crash reporter would handle the crash before the debugger does.
            words += ["-q", "-ex", "set breakpoint pending on", "-ex", "set environment SWIFT_BACKTRACE enable=no"]
            if let place { words += ["-ex", "break \(place.path):\(place.line)"] }
            words += ["--args"] + executable
        }
        fflush(nil)
        var arguments = words.map { strdup($0) } + [nil]
        execv(program, &arguments)
        TestLogger.complain(SystemError("start \(program)").description)
        return .notRun
    }
}
