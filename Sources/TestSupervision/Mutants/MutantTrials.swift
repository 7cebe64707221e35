// Tries the mutants of a module one after another: compiled beside the build, linked with all that the build has, and run
// with the tests first that have noticed others. What the build has made stays as it is.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import TestEvents

/// What came of a mutant.
package enum MutantOutcome: Equatable, Sendable {
    /// A test failed, or did not end.
    case noticed
    case survived
    /// The compiler or the linker refused it.
    case notCompiled
}

package final class MutantTrials {
    private let module: ModuleDescription
    private let compiler: MutantCompiler
    private var options: RunOptions
    /// The objects of the module and of all that it is linked with.
    private let objects: [String]
    /// Where everything goes that is made here; it goes away with the trials.
    private let folder: String
    /// The contents of the sources that have mutants, by path.
    private var contents: [String: [UInt8]] = [:]
    /// The tests that have noticed a mutant.
    private var noticing: Set<String> = []
    private var longestTest = 0

    /// Prepares trials in a module as it has been built.
    ///
    /// - Throws: `MutantError` when it has not been built, or not so that its sources are compiled one by one.
    package init(_ module: ModuleDescription, options: RunOptions) throws(MutantError) {
        self.module = module
        self.options = options
        if let source = module.sourcesNewerThanBuild.first {
            throw MutantError("\(source) has changed since it was compiled; build it first")
        }
        compiler = try MutantCompiler(module)
        do throws(SystemError) { objects = try module.resolvedObjects() } catch {
            throw MutantError(error.description)
        }
        folder = try Self.makeFolder(for: module)
        self.options.choice.lines = []
        self.options.choice.isChangedOnly = false
        self.options.choice.shard = nil
        self.options.shuffleSeed = nil
        self.options.retryCount = 0
        // What the sources are by now is said above.
        self.options.isBuildStep = true
    }

    deinit {
        DirectoryKeeper.remove(LastRun(mutated([:])).keptDirectories)
        FileAccess.removeTree(folder)
    }

    /// Makes a folder of this process, and removes those of processes that are gone.
    private static func makeFolder(for module: ModuleDescription) throws(MutantError) -> String {
        let all = "\(FileAccess.directory(of: module.image))/mutants"
        for name in FileAccess.names(in: all) {
            if let process = name.split(separator: ".").last.flatMap({ pid_t($0) }), kill(process, 0) != 0 {
                FileAccess.removeTree("\(all)/\(name)")
            }
        }
        let folder = "\(all)/\(module.module).\(getpid())"
        do throws(SystemError) { try FileAccess.makeFolder(folder) } catch { throw MutantError(error.description) }
        return folder
    }

    // MARK: Finding

    /// Finds the mutants of some of the module's sources on lines that its tests reach, in the order of their places.
    ///
    /// - Parameter report: receives what happens while the tests run without a mutant.
    /// - Throws: `MutantError`, also when a test fails by itself.
    package func mutants(of sources: [String], report: @escaping (RunEvent) -> Void) throws(MutantError) -> [Mutant] {
        var mutants: [String: [Mutant]] = [:]
        for path in sources {
            do throws(SystemError) { contents[path] = try FileAccess.contents(of: path) } catch {
                throw MutantError(error.description)
            }
            mutants[path] = try MutantFinder.mutants(of: contents[path] ?? [], path: path)
        }
        let candidates = sources.filter { !(mutants[$0] ?? []).isEmpty }
        if candidates.isEmpty { return [] }
        let reached = try reachedLines(of: candidates, report: report)
        return candidates.flatMap { path in
            (mutants[path] ?? []).filter { reached[path]?[$0.place.line] ?? 0 > 0 }
        }
    }

    /// Runs the tests once, with the sources compiled so that they count how often each line runs.
    private func reachedLines(of sources: [String], report: @escaping (RunEvent) -> Void) throws(MutantError)
        -> [String: [Int: Int]]
    {
        var replaced: [String: String] = [:]
        var compiling: [(path: String, object: String, process: pid_t)] = []
        var rest = sources[...]
        while !rest.isEmpty || !compiling.isEmpty {
            if compiling.count < options.workerCountMax, let path = rest.popFirst() {
                let object = "\(folder)/counted\(rest.count).o"
                let words = ["-profile-generate", "-profile-coverage-mapping"]
                compiling.append((path, object, try start(path, nil, object, words)))
                continue
            }
            let (path, object, process) = compiling.removeFirst()
            guard MutantCompiler.wait(for: process, object: object) else {
                throw MutantError("\(path) does not compile so that its reached lines are counted")
            }
            replaced[path] = object
        }
        var counted = mutated(replaced)
        do throws(LinkError) {
            guard try link(counted) else {
                throw .failed("the tests of module '\(module.module)' are compiled out of this build")
            }
        } catch { throw MutantError(error.description) }
        CoverageReport(counted).begin()
        var options = options
        options.leavesProfiles = true
        let tally = try run(counted, options) { [self] event in
            if case .ended(let result) = event { longestTest = max(longestTest, result.nanoseconds) }
            report(event)
        }
        if tally.isRed { throw MutantError("mutants are tried with tests that pass") }
        if tally.planned == 0 { throw MutantError("no test of module '\(module.module)' is chosen") }
        counted.sources = sources
        do throws(CoverageError) {
            let files = try CoverageReport(counted).finish().files
            return Dictionary(files.map { ($0.path, $0.counts) }, uniquingKeysWith: { $1 })
        } catch { throw MutantError(error.description) }
    }

    // MARK: Trying

    /// Tries mutants in their order, compiling some ahead.
    ///
    /// - Parameters:
    ///   - goesOn: whether another is to be tried, which is asked before each.
    ///   - report: receives what came of each.
    package func tryMutants(
        _ mutants: [Mutant], while goesOn: () -> Bool, report: (Mutant, MutantOutcome) -> Void
    ) throws(MutantError) {
        var compiling: [(mutant: Mutant, object: String, process: pid_t)] = []
        defer {
            for (_, _, process) in compiling where !ChildProcess.hasEnded(process) {
                kill(process, SIGKILL)
                _ = ChildProcess.wait(for: process)
            }
        }
        options.stopsAtFirstFailure = true
        options.reportsOnlyNews = true
        // Longer than any of them takes, and short enough for those that never end.
        options.timeoutMilliseconds = min(options.timeoutMilliseconds, 1000 + longestTest / 100_000)
        var count = 0
        while goesOn() {
            while compiling.count < max(2, options.workerCountMax), count < mutants.count {
                let mutant = mutants[count]
                // Nobody else uses it before this one is done with.
                let object = "\(folder)/mutant\(count % (options.workerCountMax + 2)).o"
                let text = mutant.applied(to: contents[mutant.place.path] ?? [])
                compiling.append((mutant, object, try start(mutant.place.path, text, object)))
                count += 1
            }
            if compiling.isEmpty { return }
            let (mutant, object, process) = compiling.removeFirst()
            let isCompiled = MutantCompiler.wait(for: process, object: object)
            let outcome = isCompiled ? try outcome(of: mutated([mutant.place.path: object])) : .notCompiled
            // What ends in the middle says nothing.
            if Interruption.reason == nil { report(mutant, outcome) }
        }
    }

    private func outcome(of mutated: ModuleDescription) throws(MutantError) -> MutantOutcome {
        do throws(LinkError) { if try !link(mutated) { return .notCompiled } } catch { return .notCompiled }
        var lastRun = LastRun(mutated)
        lastRun.failed = noticing
        lastRun.store(for: mutated)
        let tally = try run(mutated, options) { [self] event in
            if case .ended(let result) = event, result.outcome == .failed { noticing.insert(result.test.name) }
        }
        return tally.isRed ? .noticed : .survived
    }

    // MARK: Images

    private func start(_ path: String, _ contents: [UInt8]?, _ object: String, _ words: [String] = [])
        throws(MutantError) -> pid_t
    {
        do throws(SystemError) {
            return try compiler.start(path, contents: contents, object: object, options: words)
        } catch { throw MutantError(error.description) }
    }

    /// The module with other objects in place of some sources' own.
    private func mutated(_ replaced: [String: String]) -> ModuleDescription {
        var mutated = module
        let own = Dictionary(
            replaced.map { ("\(module.bundleFolder)/\(module.target).build/\(FileAccess.name(of: $0)).o", $1) },
            uniquingKeysWith: { $1 })
        mutated.objects = objects.map { own[$0] ?? $0 }
        mutated.fileMaps = []
        mutated.executables = []
        // What the build has made of the target, and what is remembered of its runs, is not of this module.
        mutated.target = ""
        mutated.bundleFolder = ""
        mutated.image = "\(folder)/\(module.module).img"
        return mutated
    }

    /// - Returns: false when the module holds no tests.
    private func link(_ mutated: ModuleDescription) throws(LinkError) -> Bool {
        var mutated = mutated
        mutated.bundleFolder = module.bundleFolder
        unlink(mutated.image)
        return try ImageLinker(mutated).link() != .compiledOut
    }

    private func run(_ mutated: ModuleDescription, _ options: RunOptions, report: @escaping (RunEvent) -> Void)
        throws(MutantError) -> RunTally
    {
        let memory = MemoryLimit(isLimited: !compiler.isSanitized)
        defer { memory.lift() }
        do throws(RunError) { return try TestRun(mutated, options: options, report: report).run() } catch {
            guard case .protocolMismatch = error else { throw MutantError(error.description) }
            // It has changed how its tests are run.
            var tally = RunTally()
            tally.moduleIssues = 1
            return tally
        }
    }
}

/// What the processes of a run may take: a loop that never ends may well fill the memory before its time is over.
private struct MemoryLimit {
    private var before = rlimit()
    #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_DATA.rawValue)
    #else
    private static let resource = RLIMIT_DATA
    #endif

    /// Limits what is started from now on to half of the machine's memory.
    init(isLimited: Bool) {
        getrlimit(Self.resource, &before)
        guard isLimited else { return }
        var limit = before
        limit.rlim_cur = min(limit.rlim_cur, rlim_t(max(0, sysconf(Int32(_SC_PHYS_PAGES)))) * rlim_t(getpagesize()) / 2)
        setrlimit(Self.resource, &limit)
    }

    func lift() {
        var limit = before
        setrlimit(Self.resource, &limit)
    }
}
