// Tries the mutants of a module one after another. Each is compiled outside of the build, linked with the objects of
// the build, and run. Tests that have noticed other mutants run first. The build's files stay unchanged.

internal import InClassSystem
import TestEvents

/// The result of trying a mutant.
package enum MutantOutcome: Sendable {
    /// A test failed or didn't end.
    case noticed
    case survived
    /// The compiler refused the mutant.
    case notCompiled
}

package final class MutantTrials {
    private let module: ModuleDescription
    private let compiler: MutantCompiler
    private var options: RunOptions
    /// The objects of the module and of everything that it is linked with.
    private let objects: [String]
    /// The modification times of the sources and the objects, by path.
    private let times: [(String, Int?)]
    /// The folder for all files of the trials.
    private let folder: LockedFolder
    /// The contents of the sources that have mutants, by path.
    private var contents: [String: [UInt8]] = [:]
    /// The tests that have noticed a mutant. They run first.
    private var noticing: Set<String> = []
    /// A Boolean value that indicates whether tests fail without a mutant if other tests ran first. In that case, all
    /// tests run in the order of their list.
    package private(set) var needsOrder = false
    /// The longest time in nanoseconds that a test or the computation of the lists takes.
    private var longest = 0
    private var runStart = ContinuousClock.now
    private var objectCount = 0

    /// Prepares trials of a built module.
    ///
    /// - Parameter options: the options of each run. They don't include the order of tests.
    /// - Throws: `MutantError` if the module hasn't been built, or if its sources aren't compiled one by one.
    package init(_ module: ModuleDescription, options: RunOptions) throws {
        self.module = module
        self.options = options
        if let source = module.sourcesNewerThanBuild.first {
            throw MutantError(description: "\(source) has changed since it was compiled; build again")
        }
        compiler = try MutantCompiler(module)
        objects = try module.resolvedObjects()
        times = (module.sources + objects).map { ($0, FileAccess.modificationTime(of: $0)) }
        let path = "\(FileAccess.directory(of: module.executable))/mutants/\(module.module)"
        guard let folder = try LockedFolder(path) else {
            throw MutantError(description: "another process tries the mutants of module '\(module.module)'")
        }
        self.folder = folder
        // The check above already covers the state of the sources.
        self.options.isBuildStep = true
        self.options.keepsDirectories = false
    }

    /// Returns the mutants on lines of the given sources that the tests reach, in the order of their places.
    ///
    /// - Parameter report: receives the events of the test run without a mutant.
    /// - Throws: `MutantError`. One reason is a test that fails without a mutant.
    package func mutants(of sources: [String], report: @escaping (RunEvent) -> Void) throws -> [Mutant] {
        var mutants: [Mutant] = []
        for path in sources {
            contents[path] = try FileAccess.contents(of: path)
            mutants += try MutantFinder.mutants(of: contents[path] ?? [], path: path)
        }
        let found = Set(mutants.map(\.place.path))
        if found.isEmpty { return [] }
        let reached = try reachedLines(of: sources.filter(found.contains), report: report)
        return mutants.filter { reached[$0.place.path]?[$0.place.line] ?? 0 > 0 }
    }

    /// Runs the tests once with sources that are compiled to count how often each line runs.
    private func reachedLines(of sources: [String], report: @escaping (RunEvent) -> Void) throws
        -> [String: [Int: Int]]
    {
        var replaced: [String: String] = [:]
        try compile(sources.count) { index, object in
            let words = ["-profile-generate", "-profile-coverage-mapping"]
            return try compiler.start(sources[index], contents: nil, object: object, options: words)
        } use: { index, object in
            guard let object else {
                throw MutantError(description: "\(sources[index]) doesn't compile with counters for its lines")
            }
            replaced[sources[index]] = object
            return true
        }
        var counted = mutated(replaced)
        CoverageReport(counted).begin()
        options.leavesProfiles = true
        let tally = try run(counted) { [self] event in
            switch event {
            case .planned: longest = Int((.now - runStart) / .nanoseconds(1))
            case .ended(let result): longest = max(longest, result.nanoseconds)
            default: break
            }
            report(event)
        }
        options.leavesProfiles = false
        if tally.isRed { throw MutantError(description: "mutation testing needs tests that pass") }
        if tally.planned == 0 { return [:] }
        counted.sources = sources
        let files = try CoverageReport(counted).finish().files
        return Dictionary(files.map { ($0.path, $0.counts) }, uniquingKeysWith: { $1 })
    }

    /// Tries mutants in their order.
    ///
    /// - Parameter report: receives the outcome of each mutant, and returns whether to try the next mutant.
    package func tryMutants(_ mutants: [Mutant], report: (Mutant, MutantOutcome) -> Bool) throws {
        options.stopsAtFirstFailure = true
        options.reportsOnlyNews = true
        // Every test needs less time, and an endless test still ends soon.
        options.timeoutMillisecondsMax = 500 + 3 * longest / 1_000_000
        try compile(mutants.count) { index, object in
            let path = mutants[index].place.path
            let changed = mutants[index].applied(to: contents[path] ?? [])
            return try compiler.start(path, contents: changed, object: object)
        } use: { index, object in
            if let (file, _) = times.first(where: { FileAccess.modificationTime(of: $0) != $1 }) {
                throw MutantError(description: "\(file) changed during mutation testing; build again")
            }
            var result = MutantOutcome.notCompiled
            if let object {
                result = try outcome(of: mutated([mutants[index].place.path: object]))
                FileAccess.removeTree(object)
            }
            // An interrupted run has no outcome.
            return Interruption.reason == nil && report(mutants[index], result)
        }
    }

    private func outcome(of mutated: ModuleDescription) throws -> MutantOutcome {
        let failed = try failures(mutated)
        if failed.isEmpty { return .survived }
        // The tests may also fail without a mutant, because earlier tests didn't run or because a mutant left files
        // behind.
        let unchanged = self.mutated([:], executable: "unchanged")
        options.choice.isFailedOnly = !noticing.isDisjoint(with: failed)
        var others = try failures(unchanged)
        options.choice.isFailedOnly = false
        if !others.isEmpty, !noticing.isEmpty {
            (needsOrder, noticing) = (true, [])
            others = try failures(unchanged)
            if others.isEmpty { return try outcome(of: mutated) }
        }
        // An interrupted run reports no more outcomes.
        if Interruption.reason != nil { return .survived }
        if !others.isEmpty {
            throw MutantError(description: "\(others.sorted().joined(separator: ", ")) now also fails without a mutant")
        }
        // The failed test may have removed its cause, or the test may be flaky.
        if try failures(mutated).isEmpty { return .survived }
        if !needsOrder { noticing.formUnion(failed) }
        return .noticed
    }

    /// Returns the names of the failed tests. If the run fails without a failed test, returns the name of the module.
    private func failures(_ module: ModuleDescription) throws -> Set<String> {
        var names: Set<String> = []
        do {
            let tally = try run(module) { event in
                if case .ended(let result) = event, result.outcome == .failed { names.insert(result.test.name) }
                if case .failedLate(let test, _) = event { names.insert(test.name) }
            }
            if tally.isRed, names.isEmpty { names = [module.module] }
        } catch RunError.protocolMismatch { names = [module.module] }
        return names
    }

    /// Compiles objects, several at once, and passes them on in their order until the caller stops.
    ///
    /// - Parameter use: receives the path of an object, or nil if the source doesn't compile. Returns whether to go on.
    private func compile(
        _ count: Int, start: (Int, String) throws -> Int32, use: (Int, String?) throws -> Bool
    ) throws {
        var compiling: [(object: String, process: Int32)] = []
        defer { for (_, process) in compiling { ChildProcess.end(process, after: .zero) } }
        var started = 0
        for index in 0..<count {
            while compiling.count < max(2, options.workerCountMax), started < count {
                // Use a new name, because a file at this path counts as compiled.
                objectCount += 1
                let object = "\(folder.path)/\(objectCount).o"
                compiling.append((object, try start(started, object)))
                started += 1
            }
            let (object, process) = compiling.removeFirst()
            // A compilation that takes this long is stuck in type checking.
            let hasEnded = ChildProcess.end(process, after: .seconds(120))
            let isThere = FileAccess.exists(object)
            if hasEnded, !isThere, Interruption.reason == nil, !MutantCompiler.hasRefused(object) {
                throw MutantError(description: "the compiler failed; is there space left in \(folder.path)?")
            }
            if try !use(index, isThere ? object : nil) { return }
        }
    }

    /// Returns the module with other objects for some of its sources.
    private func mutated(_ replaced: [String: String], executable: String = "mutated") -> ModuleDescription {
        var mutated = module
        let own = Dictionary(
            replaced.map { ("\(module.objectFolder)/\(FileAccess.name(of: $0)).o", $1) },
            uniquingKeysWith: { $1 })
        mutated.objects = objects.map { own[$0] ?? $0 }
        mutated.fileMaps = []
        mutated.executableModules = []
        // The target's build files and the record of its runs don't apply to this module.
        mutated.target = ""
        mutated.bundleFolder = ""
        mutated.executable = "\(folder.path)/\(executable).img"
        return mutated
    }

    /// Links a test executable unless it is up to date, and runs its tests.
    private func run(_ mutated: ModuleDescription, report: @escaping (RunEvent) -> Void) throws -> RunTally {
        var linked = mutated
        linked.bundleFolder = module.bundleFolder
        if try TestLinker(linked).link() == .compiledOut {
            throw MutantError(description: "the tests of module '\(module.module)' are compiled out of this build")
        }
        // An endless loop may fill the memory before its time limit ends.
        let before = inclass_data_limit()
        let memory = rlim_t(max(0, sysconf(Int32(_SC_PHYS_PAGES)))) * rlim_t(getpagesize())
        let limit = rlimit(rlim_cur: min(before.rlim_cur, memory / 2), rlim_max: before.rlim_max)
        if !compiler.isSanitized { inclass_set_data_limit(limit) }
        defer { inclass_set_data_limit(before) }
        runStart = .now
        var lastRun = LastRun(mutated)
        lastRun.failed = noticing
        lastRun.store(for: mutated)
        return try TestRun(mutated, options: options, report: report).run()
    }
}

// MARK: - The record of earlier trials

package struct TriedSources {
    /// The path of the record. It is next to the products, which the build, the plugin and your own runs share.
    private let path: String
    /// The lines of the sources whose mutants have been tried: the time of the last write in nanoseconds, and the path.
    private var lines: Set<String>
    /// The current lines of the module's sources.
    private let current: [String: String]

    /// Reads the record of a module. If the file can't be read, the record is empty.
    package init(of module: ModuleDescription) {
        path = "\(module.bundleFolder)/\(module.module).img.mutants"
        current = Dictionary(
            module.sources.map { ($0, "\(FileAccess.modificationTime(of: $0) ?? 0)\t\($0)") },
            uniquingKeysWith: { $1 })
        let text = String(decoding: (try? FileAccess.contents(of: path)) ?? [], as: UTF8.self)
        lines = Set(text.split(separator: "\n").map(String.init))
    }

    /// Returns whether all mutants of a source have been tried since the source was written.
    package func contains(_ source: String) -> Bool { lines.contains(current[source] ?? source) }

    /// Records that all mutants of some sources have been tried. The sources have the state in which this record found
    /// them.
    ///
    /// If the file can't be written, the function ignores the error: the next run tries more mutants.
    package mutating func insert(_ sources: [String]) {
        lines.formIntersection(current.values)
        lines.formUnion(sources.compactMap { current[$0] })
        try? FileAccess.write(Array(lines.sorted().joined(separator: "\n").utf8), to: path)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension TriedSources: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testForgetsRewrittenSources": testForgetsRewrittenSources,
            "testExecutablesOfABuildShareOneRecord": testExecutablesOfABuildShareOneRecord,
        ]
    }

    private static func module() throws -> ModuleDescription {
        let folder = try temporaryDirectory()
        var module = ModuleDescription()
        module.module = "M"
        module.bundleFolder = "\(folder)/debug"
        module.executable = "\(folder)/plugin/M.img"
        module.sources = ["a", "b\n", "c d"].map { "\(folder)/\($0).swift" }
        for path in module.sources { try FileAccess.write([], to: path) }
        for name in ["debug", "plugin"] { try FileAccess.makeFolder("\(folder)/\(name)") }
        return module
    }

    private static func testForgetsRewrittenSources() throws {
        let module = try module()
        var tried = TriedSources(of: module)
        expectEqual(module.sources.map(tried.contains), [false, false, false])
        tried.insert(module.sources)
        expectEqual(module.sources.map(tried.contains), [true, true, true])
        expectEqual(
            module.sources.map(TriedSources(of: module).contains), [true, false, true], "no line for a name of two")
        let moment = timeval(tv_sec: 1_000, tv_usec: 0)
        utimes(module.sources[2], [moment, moment])
        expectEqual(module.sources.map(TriedSources(of: module).contains), [true, false, false], "written")
        unlink(module.sources[0])
        expectFalse(TriedSources(of: module).contains(module.sources[0]), "gone")
    }

    private static func testExecutablesOfABuildShareOneRecord() throws {
        var module = try module()
        var tried = TriedSources(of: module)
        tried.insert([module.sources[0]])
        module.executable = "\(module.bundleFolder)/other/M.img"
        expectTrue(TriedSources(of: module).contains(module.sources[0]), "another executable of the build")
        module.bundleFolder += "/none"
        expectFalse(TriedSources(of: module).contains(module.sources[0]), "another build")
    }
}
#endif
