// Tries the mutants of a module one after another: compiled beside the build, linked with all that the build has, and run
// with the tests first that have noticed others. What the build has made stays as it is.

internal import InClassSystem
import TestEvents

/// What came of a mutant.
package enum MutantOutcome: Sendable {
    /// A test failed, or did not end.
    case noticed
    case survived
    /// The compiler refused it.
    case notCompiled
}

package final class MutantTrials {
    private let module: ModuleDescription
    private let compiler: MutantCompiler
    private var options: RunOptions
    /// The objects of the module and of all that it is linked with.
    private let objects: [String]
    /// When the sources and the objects were written, by path.
    private let times: [(String, Int?)]
    /// Where everything goes that is made here; it goes away with the trials.
    private let folder: PassingFolder
    /// The contents of the sources that have mutants, by path.
    private var contents: [String: [UInt8]] = [:]
    /// The tests that have noticed a mutant, and run first.
    private var noticing: Set<String> = []
    /// A Boolean value that indicates whether tests have failed without a mutant because others ran first; all run in the order
    /// of their list then.
    package private(set) var needsOrder = false
    /// How long the longest test takes, or making the lists, in nanoseconds.
    private var longest = 0
    private var runStart = ContinuousClock.now
    private var objectCount = 0

    /// Prepares trials in a module as it has been built.
    ///
    /// - Parameter options: those of each run; that tests run in an order of their own is no part of them.
    /// - Throws: `MutantError` when it has not been built, or not so that its sources are compiled one by one.
    package init(_ module: ModuleDescription, options: RunOptions) throws {
        self.module = module
        self.options = options
        if let source = module.sourcesNewerThanBuild.first {
            throw MutantError(description: "\(source) has changed since it was compiled; build it first")
        }
        compiler = try MutantCompiler(module)
        objects = try module.resolvedObjects()
        times = (module.sources + objects).map { ($0, FileAccess.modificationTime(of: $0)) }
        folder = try PassingFolder(
            in: "\(FileAccess.directory(of: module.image))/mutants", named: module.module)
        // What the sources are by now is said above.
        self.options.isBuildStep = true
        self.options.keepsDirectories = false
    }

    /// Finds the mutants of some of the module's sources on lines that its tests reach, in the order of their places.
    ///
    /// - Parameter report: receives what happens while the tests run without a mutant.
    /// - Throws: `MutantError`, also when a test fails by itself.
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

    /// Runs the tests once, with the sources compiled so that they count how often each line runs.
    private func reachedLines(of sources: [String], report: @escaping (RunEvent) -> Void) throws
        -> [String: [Int: Int]]
    {
        var replaced: [String: String] = [:]
        try compile(sources.count) { index, object in
            let words = ["-profile-generate", "-profile-coverage-mapping"]
            return try compiler.start(sources[index], contents: nil, object: object, options: words)
        } use: { index, object in
            guard let object else {
                throw MutantError(description: "\(sources[index]) does not compile so that it counts its lines")
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
        if tally.isRed { throw MutantError(description: "mutants are tried with tests that pass") }
        if tally.planned == 0 { return [:] }
        counted.sources = sources
        let files = try CoverageReport(counted).finish().files
        return Dictionary(files.map { ($0.path, $0.counts) }, uniquingKeysWith: { $1 })
    }

    /// Tries mutants in their order.
    ///
    /// - Parameter report: receives what came of each, and says whether another is to be tried.
    package func tryMutants(_ mutants: [Mutant], report: (Mutant, MutantOutcome) -> Bool) throws {
        options.stopsAtFirstFailure = true
        options.reportsOnlyNews = true
        // Longer than any of them takes, and short enough for those that never end.
        options.timeoutMillisecondsMax = 500 + 3 * longest / 1_000_000
        try compile(mutants.count) { index, object in
            let path = mutants[index].place.path
            let changed = mutants[index].applied(to: contents[path] ?? [])
            return try compiler.start(path, contents: changed, object: object)
        } use: { index, object in
            if let (file, _) = times.first(where: { FileAccess.modificationTime(of: $0) != $1 }) {
                throw MutantError(description: "\(file) has changed while mutants were tried; build it first")
            }
            var result = MutantOutcome.notCompiled
            if let object {
                result = try outcome(of: mutated([mutants[index].place.path: object]))
                FileAccess.removeTree(object)
            }
            // What is ended in the middle says nothing.
            return Interruption.reason == nil && report(mutants[index], result)
        }
    }

    private func outcome(of mutated: ModuleDescription) throws -> MutantOutcome {
        let failed = try failures(mutated)
        if failed.isEmpty { return .survived }
        // They may fail without a mutant as well, for want of others that ran before, or by what a mutant has left behind.
        let unchanged = self.mutated([:], image: "unchanged")
        options.choice.isFailedOnly = !noticing.isDisjoint(with: failed)
        var others = try failures(unchanged)
        options.choice.isFailedOnly = false
        if !others.isEmpty, !noticing.isEmpty {
            (needsOrder, noticing) = (true, [])
            others = try failures(unchanged)
            if others.isEmpty { return try outcome(of: mutated) }
        }
        // Nobody is told any more.
        if Interruption.reason != nil { return .survived }
        if !others.isEmpty {
            throw MutantError(description: "without a mutant by now \(others.sorted().joined(separator: ", ")) fails")
        }
        // It may be that the failure has cleared that away, or that a test passes now and then.
        if try failures(mutated).isEmpty { return .survived }
        if !needsOrder { noticing.formUnion(failed) }
        return .noticed
    }

    /// The tests that fail, or the module itself.
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

    /// Has so many objects compiled, some at once, and hands them on in their order, until told to end.
    ///
    /// - Parameter use: receives nil for what does not compile, and says whether to go on.
    private func compile(
        _ count: Int, start: (Int, String) throws -> Int32, use: (Int, String?) throws -> Bool
    ) throws {
        var compiling: [(object: String, process: Int32)] = []
        defer { for (_, process) in compiling { ChildProcess.end(process, after: .zero) } }
        var started = 0
        for index in 0..<count {
            while compiling.count < max(2, options.workerCountMax), started < count {
                // A name of its own: what is there has been compiled.
                objectCount += 1
                let object = "\(folder.path)/\(objectCount).o"
                compiling.append((object, try start(started, object)))
                started += 1
            }
            let (object, process) = compiling.removeFirst()
            // One that takes so long is lost in a type.
            let hasEnded = ChildProcess.end(process, after: .seconds(120))
            let isThere = FileAccess.exists(object)
            if hasEnded, !isThere, Interruption.reason == nil, !MutantCompiler.hasRefused(object) {
                throw MutantError(description: "the compiler has failed; is there no space left in \(folder.path)?")
            }
            if try !use(index, isThere ? object : nil) { return }
        }
    }

    /// The module with other objects in place of some sources' own.
    private func mutated(_ replaced: [String: String], image: String = "mutated") -> ModuleDescription {
        var mutated = module
        let own = Dictionary(
            replaced.map { ("\(module.objectFolder)/\(FileAccess.name(of: $0)).o", $1) },
            uniquingKeysWith: { $1 })
        mutated.objects = objects.map { own[$0] ?? $0 }
        mutated.fileMaps = []
        mutated.executables = []
        // What the build has made of the target, and what is remembered of its runs, is not of this module.
        mutated.target = ""
        mutated.bundleFolder = ""
        mutated.image = "\(folder.path)/\(image).img"
        return mutated
    }

    /// Links an image, unless it is there, and runs its tests.
    private func run(_ mutated: ModuleDescription, report: @escaping (RunEvent) -> Void) throws -> RunTally {
        var linked = mutated
        linked.bundleFolder = module.bundleFolder
        if try ImageLinker(linked).link() == .compiledOut {
            throw MutantError(description: "the tests of module '\(module.module)' are compiled out of this build")
        }
        // A loop that never ends may well fill the memory before its time is over.
        let before = inclass_data_limit()
        if !compiler.isSanitized { inclass_set_data_limit(SystemCalls.halfOfMemory(within: before)) }
        defer { inclass_set_data_limit(before) }
        runStart = .now
        var lastRun = LastRun(mutated)
        lastRun.failed = noticing
        lastRun.store(for: mutated)
        return try TestRun(mutated, options: options, report: report).run()
    }
}
