// Parses the options of a command, from the command line and from `.testlogger`.

internal import InClassSystem
import TestEvents
import TestReporting
import TestSupervision

/// An invalid command line, or a command that can't be executed.
struct UsageError: Error, Equatable, CustomStringConvertible {
    var description: String
}

/// An error in a file, with its place.
struct LocatedError: Error, Equatable, CustomStringConvertible {
    let place: SourcePlace
    let message: String

    init(at place: SourcePlace, _ message: String) {
        self.place = place
        self.message = message
    }

    init(path: String, line: Int = 1, column: Int = 1, _ message: String) {
        self.init(at: SourcePlace(path: path, line: line, column: column), message)
    }

    /// The message as a compiler prints it.
    var description: String { "\(place.text): error: \(message)" }
}

struct CommandLineOptions {
    /// The words for modules, descriptions, objects and test executables.
    var subjects: [String] = []
    /// All other words: options, their values, and places in sources.
    var optionWords: [String] = []
    /// The places in the sources whose tests are to run or whose mutants are to be created. The line of a whole source is 0.
    var places: [ChosenLine] = []
    var lines: [ChosenLine] { places.filter { $0.line > 0 } }
    /// The options of each run. `runOptions` completes them.
    var run = RunOptions()
    var filters: [String] = []
    var exclusions: [String] = []
    /// A Boolean value that indicates whether filters and exclusions are whole names.
    var isExact = false
    /// A Boolean value that indicates whether a run without tests passes, or nil if that depends on the selection.
    var passesWithoutTests: Bool?
    /// The form of printed text, which `style(root:)` completes.
    var style = TextStyle()
    /// The maximum number of workers, or 0 for the number of processors.
    var jobCount = 0
    /// The maximum number of runs.
    var repetitionCount = 1
    var isUntilFailure = false
    var isMutating = false
    /// The time limit for all mutants.
    var budgetSeconds = 300
    var isWatching = false
    /// The word after `--shuffle` if it isn't a seed: a subject or a mistake.
    private(set) var wordAfterShuffle: String?
    var wantsHelp = false
    var wantsVersion = false
    /// A Boolean value that indicates whether severities of diagnostics are coloured, or nil if that depends on the output.
    var isColoured: Bool?
    /// The paths of reports. `standardOutput` replaces the text.
    var junitPath: String?
    var jsonPath: String?
    /// A Boolean value that indicates whether annotations for GitHub are printed outside of GitHub Actions, too.
    var isOnGitHub = false
    /// A Boolean value that indicates whether unlisted tests are added to their lists.
    var fixesLists = false
    /// The test to start a debugger on.
    var debuggedTest: String?
    /// The file that a build waits for. It is created when the tests have passed.
    var marker: String?
    /// The path for the standard output.
    static let standardOutput = "-"

    /// A Boolean value that indicates whether text is printed, because no report is printed.
    var printsText: Bool { jsonPath != Self.standardOutput && junitPath != Self.standardOutput }

    /// The names of all options on the command line.
    private(set) var given: Set<String> = []
    /// The choices of `.testlogger`.
    private(set) var packageChoices: [PackageOptions.Line] = []

    /// Reads the words after the program's name.
    init(_ words: [String]) throws(UsageError) {
        var rest = words[...]
        var isEndOfOptions = false
        while let word = rest.popFirst() {
            guard word.hasPrefix("-"), word != "-", !isEndOfOptions else {
                let source = word.hasSuffix(".swift") ? ChosenLine(path: word, line: 0) : nil
                if let place = ChosenLine(word) ?? source {
                    places.append(place)
                    optionWords.append(word)
                } else {
                    subjects.append(word)
                }
                continue
            }
            if word == "--" {
                isEndOfOptions = true
                continue
            }
            optionWords.append(word)
            let parts = Self.parts(of: word)
            let option = try CommandLineOption.named(parts[0])
            var value = parts.count == 2 ? parts[1] : nil
            if value == nil, option.value != nil, let next = rest.first {
                if !option.isValueOptional || UInt64(next) != nil {
                    value = rest.removeFirst()
                    optionWords.append(next)
                } else {
                    wordAfterShuffle = next
                }
            }
            // Only one of several parts can run.
            guard given.insert(option.name).inserted || option.name != "--shard" else {
                throw UsageError(description: "option '--shard' is given twice")
            }
            try option.set(&self, value, as: parts[0])
        }
        try checkCombinations()
    }

    /// The options that can't be combined with another option, and the end of the message.
    private static let conflicts: [(option: String, others: [String], reason: String)] = [
        ("--list", ["--junit", "--json", "--accept", "--fix-lists", "--coverage", "--watch"], ", which runs nothing"),
        // A literal may be right for one of the excluded tests.
        ("--accept", ["--failed", "--changed", "--shard"], ""),
        (
            "--fix-lists", ["--filter", "--skip", "--test-type", "--failed", "--changed", "--shard"],
            ", which checks all lists"
        ),
        (
            "--mutants",
            [
                "--list", "--failed", "--repeat", "--until-failure", "--watch", "--accept", "--fix-lists", "--debug",
                "--no-capture", "--coverage", "--junit", "--json", "--github",
            ], ""
        ),
    ]

    private func checkCombinations() throws(UsageError) {
        for (option, others, reason) in Self.conflicts where given.contains(option) {
            guard let other = others.first(where: given.contains) else { continue }
            throw UsageError(description: "option '\(other)' can't be combined with '\(option)'\(reason)")
        }
        if fixesLists, let line = lines.first {
            throw UsageError(
                description: "'\(line.path):\(line.line)' can't be combined with '--fix-lists', which checks all lists")
        }
        if let jsonPath, let junitPath, Self.destination(jsonPath) == Self.destination(junitPath) {
            let place = jsonPath == Self.standardOutput ? "print to the standard output" : "write '\(jsonPath)'"
            throw UsageError(description: "options '--json' and '--junit' can't both \(place)")
        }
        if isMutating { return }
        if given.contains("--budget") { throw UsageError(description: "option '--budget' needs '--mutants'") }
        guard let source = places.first(where: { $0.line == 0 })?.path else { return }
        throw UsageError(description: "'\(source)' has no line; write '\(source):LINE', or add '--mutants'")
    }

    /// Returns a report's absolute path without links. The report may not exist yet.
    private static func destination(_ path: String) -> String {
        if path == standardOutput { return path }
        let folder = FileAccess.directory(of: path)
        return FileAccess.realPath(path) ?? "\(FileAccess.realPath(folder) ?? folder)/\(FileAccess.name(of: path))"
    }

    /// Splits `--jobs=2` and `-j2`.
    private static func parts(of word: String) -> [String] {
        let short = String(word.prefix(2))
        if short != "--", word.utf8.count > 2, !word.contains("="),
            CommandLineOption.all.contains(where: { $0.names.contains(short) && $0.value != nil })
        {
            return [short, String(word.dropFirst(2))]
        }
        return word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    }

    /// Applies the options of a package that the command line doesn't contain.
    mutating func add(_ package: PackageOptions) throws(LocatedError) {
        for line in package.lines {
            var place = line.place
            do {
                let option = try CommandLineOption.named(line.name)
                guard option.isOfPackage else {
                    throw UsageError(description: "option '\(line.name)' can't be set in .testlogger")
                }
                place = line.valuePlace
                // An option that the command line overrides is checked, too.
                var changed = self
                try option.set(&changed, line.value, as: line.name)
                if option.name == "--skip" { _ = try TestPattern(line.value ?? "") }
                if given.contains(option.name) { continue }
                self = changed
                if ["--test-type", "--skip"].contains(option.name) { packageChoices.append(line) }
            } catch { throw LocatedError(at: place, "\(error)") }
        }
    }

    private static func patterns(_ texts: [String], areExact: Bool) throws(PatternError) -> [TestPattern] {
        try texts.map { text throws(PatternError) in areExact ? TestPattern(exactly: text) : try TestPattern(text) }
    }

    /// Returns the options of each run, including the options of the package.
    func runOptions() throws(PatternError) -> RunOptions {
        var run = run
        run.choice.filters = try Self.patterns(filters, areExact: isExact)
        // Exclusions of the package are always regular expressions.
        run.choice.exclusions = try Self.patterns(exclusions, areExact: isExact && given.contains("--skip"))
        run.choice.isUsual = given.isDisjoint(with: ["--test-type", "--skip"])
        run.choice.lines = lines
        // Only a value that all tests expect is accepted.
        if run.isAccepting { run.stopsAtFirstFailure = false }
        run.isBuildStep = marker != nil
        let processors = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        // A build step leaves half of the processors to the compiler.
        let usual = run.isBuildStep ? max(1, processors / 2) : processors
        run.workerCountMax = run.leavesOutput ? 1 : jobCount > 0 ? jobCount : usual
        return run
    }

    /// Returns the form of text about a package in this folder.
    func style(root: String, isRelative: Bool = false) -> TextStyle {
        var style = style
        style.root = root
        style.isStable = run.isStable
        style.isRelative = isRelative || run.isStable
        style.showsReplacements = Environment.isXcode
        let isUsual = isatty(1) == 1 && (Environment.value(of: "NO_COLOR") ?? "").isEmpty
        style.isColoured = isColoured ?? isUsual
        return style
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension CommandLineOptions: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsEveryFormOfOption": testReadsEveryFormOfOption,
            "testHelpNamesEveryOption": testHelpNamesEveryOption,
            "testReportsGoToDifferentFiles": testReportsGoToDifferentFiles,
        ]
            + .each("testReportsInvalidCommandLines", mistakes) { line, text in
                let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
                expectEqual(expectThrows(UsageError.self) { _ = try CommandLineOptions(words) }?.description, text)
            }
    }

    private static func testReadsEveryFormOfOption() throws {
        let options = try CommandLineOptions([
            "--test-type", "slow", "--test-type=unit", "--filter", "a", "--skip=b", "-v", "--timeout", "50", "M", "--",
            "-x",
        ])
        expectEqual(options.run.choice.testTypes, ["slow", "unit"])
        expectEqual(options.filters, ["a"])
        expectEqual(options.exclusions, ["b"])
        expectEqual(options.style.verbosity, .tests)
        expectEqual(options.run.timeoutMilliseconds, 50)
        expectEqual(options.subjects, ["M", "-x"])
        expectEqual(
            options.optionWords,
            ["--test-type", "slow", "--test-type=unit", "--filter", "a", "--skip=b", "-v", "--timeout", "50"])
        expectEqual(try CommandLineOptions(["-vv", "-v"]).style.verbosity, .progress)
        expectEqual(try CommandLineOptions(["--shuffle", "7", "M"]).run.shuffleSeed, 7)
        expectEqual(try CommandLineOptions(["--shuffle", "M"]).subjects, ["M"])
        expectEqual(try CommandLineOptions(["--shuffle", "M"]).wordAfterShuffle, "M")
        expectEqual(try CommandLineOptions(["-j2", "-vv", "M"]).jobCount, 2)
        expectEqual(try CommandLineOptions(["Sources/S.swift:42"]).lines.map(\.line), [42])
        expectEqual(try CommandLineOptions(["--retries", "0"]).run.retryCount, 0)
        expectFalse(try CommandLineOptions(["--json", "-", "--junit", "a"]).printsText)
        expectTrue(try CommandLineOptions(["--json", "b", "--junit", "a"]).printsText)
        expectEqual(try CommandLineOptions(["--shard", "2/3"]).run.choice.shard, TestShard(index: 1, count: 3))
        expectEqual(try CommandLineOptions(["--color", "never"]).isColoured, false)
        expectEqual(try CommandLineOptions(["--no-tests", "fail"]).passesWithoutTests, false)
        let mutants = try CommandLineOptions(["--mutants", "S.swift", "T.swift:4", "M", "--budget", "9"])
        expectEqual(mutants.places.map { "\($0.path):\($0.line)" }, ["S.swift:0", "T.swift:4"])
        expectEqual(mutants.optionWords, ["--mutants", "S.swift", "T.swift:4", "--budget", "9"])
        expectEqual(mutants.budgetSeconds, 9)
        expectEqual(try CommandLineOptions(["-j", "2", "-v"]).given, ["--jobs", "--verbose"])
    }

    /// Invalid command lines and their error messages. A trailing space stands for an empty word.
    private static let mistakes = [
        ("--filtre", "unknown option '--filtre'; did you mean '--filter'?"),
        ("--filter", "option '--filter' expects PATTERN after it"),
        ("--filter=", "option '--filter' expects PATTERN, which is not empty"),
        ("--skip ", "option '--skip' expects PATTERN, which is not empty"),
        ("--test-type ", "option '--test-type' expects NAME, which is not empty"),
        ("--list=x", "option '--list' takes no value, but is given 'x'"),
        ("--fix-lists --list", "option '--fix-lists' can't be combined with '--list', which runs nothing"),
        ("--fix-lists --filter x", "option '--filter' can't be combined with '--fix-lists', which checks all lists"),
        ("--fix-lists S.swift:4", "'S.swift:4' can't be combined with '--fix-lists', which checks all lists"),
        ("--timeout 0", "option '--timeout' expects a number of milliseconds above 0, not '0'"),
        ("--color alway", "option '--color' expects one of auto, always, never, not 'alway'; did you mean 'always'?"),
        ("--no-tests=x", "option '--no-tests' expects one of pass, fail, not 'x'"),
        ("--shard 3/2", "option '--shard' expects I/N with I from 1 to N, not '3/2'"),
        ("--shard 1/2 --shard 2/2", "option '--shard' is given twice"),
        ("--shuffle=x", "option '--shuffle' expects a whole number as its seed, not 'x'"),
        ("-jx", "option '--jobs' expects a number of workers above 0, not 'x'"),
        ("--list --junit x", "option '--junit' can't be combined with '--list', which runs nothing"),
        ("--retries -1", "option '--retries' expects a number of further attempts, not '-1'"),
        ("--json - --junit=-", "options '--json' and '--junit' can't both print to the standard output"),
        ("--junit x --json=x", "options '--json' and '--junit' can't both write 'x'"),
        ("--json=", "option '--json' expects PATH, which is not empty"),
        ("--debug ", "option '--debug' expects TEST, which is not empty"),
        ("S.swift", "'S.swift' has no line; write 'S.swift:LINE', or add '--mutants'"),
        ("--budget 5", "option '--budget' needs '--mutants'"),
        ("--mutants --budget 0", "option '--budget' expects a number of seconds above 0, not '0'"),
        ("--mutants --watch", "option '--watch' can't be combined with '--mutants'"),
        ("--failed --accept", "option '--failed' can't be combined with '--accept'"),
        ("--zzzzzzzz", "unknown option '--zzzzzzzz'"),
    ]

    private static func testReportsGoToDifferentFiles() throws {
        let folder = try temporaryDirectory()
        mkdir("\(folder)/real", 0o700)
        symlink("real", "\(folder)/link")
        symlink("link/report", "\(folder)/report")
        func error(_ json: String, _ junit: String) -> String? {
            do { _ = try CommandLineOptions(["--json", json, "--junit", junit]) } catch { return "\(error)" }
            return nil
        }
        // The report may exist or not.
        for _ in 0..<2 {
            for other in ["real/./report", "real/../real/report", "link/report", "/real//report"] {
                let text = "options '--json' and '--junit' can't both write '\(folder)/real/report'"
                expectEqual(error("\(folder)/real/report", "\(folder)/\(other)"), text, other)
            }
            expectNil(error("\(folder)/real/report", "\(folder)/real/other"))
            try FileAccess.write([], to: "\(folder)/real/report")
        }
        expectNotNil(error("\(folder)/real/report", "\(folder)/report"), "a link to the report")
        expectNotNil(error("x1", "./x1"), "paths in the current directory")
        expectNil(error("-", "./-"), "the standard output and a file")
    }

    private static func testHelpNamesEveryOption() {
        let help = CommandLineOption.help
        let words = Set(help.split(whereSeparator: { " ,\n".contains($0) }).map(String.init))
        for name in CommandLineOption.all.flatMap(\.names) where name != "--marker" {
            expectTrue(words.contains(name), name)
        }
        expectFalse(help.contains("--marker"), "what only the build plugin says")
        let lines = help.split(separator: "\n").map(String.init)
        expectEqual(lines.filter { $0.count > 100 }, [])
    }
}
#endif
