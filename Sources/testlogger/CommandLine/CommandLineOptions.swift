// The words of the command line and what they mean.

import TestEvents
import TestReporting
import TestSupervision

/// A command line that is not understood.
struct UsageError: Error, Equatable, CustomStringConvertible {
    var description: String
}

/// What a run ends with for which nothing was chosen.
enum EmptyChoice: String, CaseIterable {
    case pass, fail
}

/// When the severity of a diagnostic is coloured.
enum ColourChoice: String, CaseIterable {
    /// On a terminal, unless `NO_COLOR` says otherwise.
    case automatic = "auto"
    case always, never
}

struct CommandLineOptions: Equatable {
    /// Modules, descriptions, objects and images, as they were written.
    var subjects: [String] = []
    /// Everything else, as it was written: options and their values.
    var optionWords: [String] = []
    /// Places in the sources whose tests are to run.
    var lines: [ChosenLine] = []
    /// Whole sources, of which mutants are to be made.
    var sources: [String] = []
    var testTypes: [String] = []
    var filters: [String] = []
    var exclusions: [String] = []
    var isFailedOnly = false
    var isChangedOnly = false
    /// Filters and exclusions are whole names.
    var isExact = false
    var shard: TestShard?
    /// What a choice without any test ends with; nil for what is usual.
    var emptyChoice: EmptyChoice?
    var verbosity = Verbosity.summary
    var timeoutMilliseconds = 10_000
    var slowMilliseconds = 0
    var jobCount: Int?
    /// How often a failed test is run again.
    var retryCount = 0
    var failsOnFlaky = false
    var repetitionCount = 1
    /// Repeat until a test fails, or so often at the most.
    var isUntilFailure = false
    var isShuffled = false
    /// Try small changes of the sources instead of the sources themselves.
    var isMutating = false
    /// How long that may take.
    var budgetSeconds = 300
    /// Run again whenever a source is saved.
    var isWatching = false
    var seed: UInt64?
    /// What follows `--shuffle` and isn't a seed: a subject, or a mistake.
    private(set) var wordAfterShuffle: String?
    var stopsAtFirstFailure = false
    var isListing = false
    var isStable = false
    var wantsHelp = false
    var wantsVersion = false
    var colour = ColourChoice.automatic
    /// Leave to the terminal what tests write, one worker's.
    var leavesOutput = false
    /// Where reports go; `standardOutput` means in place of the text.
    var junitPath: String?
    var jsonPath: String?
    /// Print annotations for GitHub's pages, also elsewhere.
    var isOnGitHub = false
    /// Write what was got in place of the literals that were expected.
    var isAccepting = false
    /// The test to start a debugger on.
    var debuggedTest: String?
    var wantsCoverage = false
    /// The file that a build waits for: created when the tests pass, so that the build goes on.
    var marker: String?
    /// The path that stands for the standard output.
    static let standardOutput = "-"

    /// A Boolean value that indicates whether people read the output: no report is printed in place of it.
    var printsText: Bool { jsonPath != Self.standardOutput && junitPath != Self.standardOutput }

    /// The options that were given, by the last of their names.
    private(set) var given: Set<String> = []
    /// What the package's file has chosen.
    private(set) var packageChoices: [PackageChoice] = []

    /// Every option, with the name of its value if it has one; its last name is the one that it is set by.
    private static let known: [(names: [String], value: String?)] = [
        (["-h", "--help"], nil), (["--version"], nil), (["-l", "--list"], nil), (["-v", "--verbose"], nil),
        (["-vv"], nil), (["--test-type"], "NAME"), (["--filter"], "PATTERN"), (["--skip"], "PATTERN"),
        (["--exact"], nil), (["--failed"], nil), (["--changed"], nil), (["--shard"], "I/N"),
        (["--no-tests"], "pass or fail"), (["--timeout"], "MS"), (["--slow"], "MS"), (["-j", "--jobs"], "N"),
        (["--repeat"], "N"), (["--until-failure"], nil), (["--retries"], "N"), (["--fail-on-flaky"], nil),
        (["--shuffle"], "[SEED]"), (["--fail-fast"], nil), (["--no-capture"], nil), (["--color"], "WHEN"),
        (["--stable-output"], nil), (["--accept"], nil), (["--debug"], "TEST"), (["--junit"], "PATH"),
        (["--json"], "PATH"), (["--github"], nil), (["--watch"], nil), (["--coverage"], nil), (["--mutants"], nil),
        (["--budget"], "SECONDS"),
        // What the build plugin says, and nobody else.
        (["--marker"], "FILE"),
    ]

    /// Reads the words after the program's name.
    init(_ words: [String]) throws(UsageError) {
        var rest = words[...]
        var isEndOfOptions = false
        while let word = rest.popFirst() {
            guard word.hasPrefix("-"), word != "-", !isEndOfOptions else {
                if let line = ChosenLine(word) {
                    lines.append(line)
                    optionWords.append(word)
                } else if word.hasSuffix(".swift") {
                    sources.append(word)
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
            let (name, valueName) = try Self.option(named: parts[0])
            var value = ""
            if name == "--shuffle" {
                // The one option that may do without its value.
                if parts.count == 2 {
                    value = parts[1]
                } else if let next = rest.first, UInt64(next) != nil {
                    value = rest.removeFirst()
                    optionWords.append(value)
                } else {
                    wordAfterShuffle = rest.first
                }
            } else if let valueName {
                guard let given = parts.count == 2 ? parts[1] : rest.popFirst() else {
                    throw UsageError(description: "option '\(parts[0])' expects \(valueName) after it")
                }
                value = given
                if parts.count == 1 { optionWords.append(given) }
            } else if parts.count == 2 {
                throw UsageError(description: "option '\(parts[0])' takes no value, but is given '\(parts[1])'")
            }
            given.insert(name)
            try set(name, value)
        }
        try checkMutants()
        let actions = ["--junit", "--json", "--accept", "--coverage", "--watch"]
        if isListing, let other = actions.first(where: given.contains) {
            throw UsageError(description: "option '\(other)' does not go with '--list', which runs nothing")
        }
        if jsonPath == Self.standardOutput, junitPath == Self.standardOutput {
            throw UsageError(description: "options '--json' and '--junit' can't both print to the standard output")
        }
        // Among what they leave out may be what a literal is right for.
        if isAccepting, let other = ["--failed", "--changed", "--shard"].first(where: given.contains) {
            throw UsageError(description: "option '\(other)' does not go with '--accept'")
        }
    }

    /// What has no meaning with mutants, or none without.
    private func checkMutants() throws(UsageError) {
        if isMutating {
            let others = [
                "--list", "--failed", "--repeat", "--until-failure", "--watch", "--accept", "--debug", "--no-capture",
                "--coverage", "--junit", "--json", "--github",
            ]
            guard let other = others.first(where: given.contains) else { return }
            throw UsageError(description: "option '\(other)' does not go with '--mutants'")
        }
        if given.contains("--budget") { throw UsageError(description: "option '--budget' is for '--mutants'") }
        guard let source = sources.first else { return }
        throw UsageError(description: "'\(source)' names no line; '\(source):1' would, and '--mutants' needs none")
    }

    /// Splits `--jobs=2` and `-j2`.
    private static func parts(of word: String) -> [String] {
        let short = String(word.prefix(2))
        if short != "--", word.utf8.count > 2, !word.contains("="),
            known.contains(where: { $0.names.contains(short) && $0.value != nil })
        {
            return [short, String(word.dropFirst(2))]
        }
        return word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    }

    /// The name that an option is set by, and that of its value.
    private static func option(named word: String) throws(UsageError) -> (name: String, valueName: String?) {
        if let option = known.first(where: { $0.names.contains(word) }), let name = option.names.last {
            return (name, option.value)
        }
        let names = known.flatMap(\.names)
        throw UsageError(description: "unknown option '\(word)'" + suggestion(for: word, among: names))
    }

    /// Takes from a package's options those that were not given.
    mutating func add(_ package: PackageOptions) throws(PackageOptionsError) {
        for line in package.lines {
            var column = line.column
            do throws(UsageError) {
                let (name, valueName) = try Self.option(named: line.name)
                guard PackageOptions.names.contains(name) else {
                    throw UsageError(description: "option '\(line.name)' is of one command, not of a package")
                }
                if let valueName, line.value == nil {
                    throw UsageError(description: "option '\(line.name)' expects \(valueName) after it")
                }
                column = line.valueColumn
                if valueName == nil, let value = line.value {
                    throw UsageError(description: "option '\(line.name)' takes no value, but is given '\(value)'")
                }
                // What the command line wins over must make sense, too.
                var changed = self
                try changed.set(name, line.value ?? "")
                if name == "--skip" { try Self.checkPattern(line.value ?? "") }
                if given.contains(name) { continue }
                self = changed
                if ["--test-type", "--skip"].contains(name), let value = line.value {
                    let place = SourcePlace(path: package.path, line: line.number, column: line.valueColumn)
                    packageChoices.append(PackageChoice(name: name, value: value, place: place))
                }
            } catch {
                throw package.error(error.description, line, column)
            }
        }
    }

    private static func checkPattern(_ text: String) throws(UsageError) {
        do throws(PatternError) { _ = try TestPattern(text) } catch { throw UsageError(description: error.description) }
    }

    private mutating func set(_ name: String, _ value: String) throws(UsageError) {
        switch name {
        case "--help": wantsHelp = true
        case "--version": wantsVersion = true
        case "--list": isListing = true
        case "--verbose": verbosity = max(verbosity, .tests)
        case "-vv": verbosity = .progress
        case "--test-type": testTypes.append(try notEmpty(name, value, "NAME"))
        case "--filter": filters.append(try notEmpty(name, value, "PATTERN"))
        case "--skip": exclusions.append(try notEmpty(name, value, "PATTERN"))
        case "--failed": isFailedOnly = true
        case "--changed": isChangedOnly = true
        case "--exact": isExact = true
        case "--shard":
            guard let part = TestShard(value) else {
                throw UsageError(description: "option '--shard' expects I/N with I from 1 to N, not '\(value)'")
            }
            shard = part
        case "--no-tests": emptyChoice = try oneOf(EmptyChoice.self, name, value)
        case "--timeout": timeoutMilliseconds = try number(name, value, "a number of milliseconds")
        case "--slow": slowMilliseconds = try number(name, value, "a number of milliseconds")
        case "--jobs": jobCount = try number(name, value, "a number of workers")
        case "--repeat": repetitionCount = try number(name, value, "a number of runs")
        case "--retries": retryCount = try number(name, value, "a number of further attempts", least: 0)
        case "--fail-on-flaky": failsOnFlaky = true
        case "--until-failure": isUntilFailure = true
        case "--shuffle":
            isShuffled = true
            guard value.isEmpty || UInt64(value) != nil else {
                throw UsageError(description: "option '--shuffle' expects a whole number as its seed, not '\(value)'")
            }
            seed = UInt64(value)
        case "--junit": junitPath = value
        case "--json": jsonPath = value
        case "--github": isOnGitHub = true
        case "--watch": isWatching = true
        case "--accept": isAccepting = true
        case "--no-capture": leavesOutput = true
        case "--color": colour = try oneOf(ColourChoice.self, name, value)
        case "--debug": debuggedTest = value
        case "--coverage": wantsCoverage = true
        case "--mutants": isMutating = true
        case "--budget": budgetSeconds = try number(name, value, "a number of seconds")
        case "--fail-fast": stopsAtFirstFailure = true
        case "--stable-output": isStable = true
        case "--marker":
            marker = value
            verbosity = .quiet
        default: break
        }
    }

    /// An empty pattern would be found in every name.
    private func notEmpty(_ name: String, _ value: String, _ what: String) throws(UsageError) -> String {
        if !value.isEmpty { return value }
        throw UsageError(description: "option '\(name)' expects \(what), which is not empty")
    }

    private func number(_ name: String, _ value: String, _ what: String, least: Int = 1) throws(UsageError) -> Int {
        guard let number = Int(value), number >= least else {
            let limit = least == 1 ? " above 0" : ""
            throw UsageError(description: "option '\(name)' expects \(what)\(limit), not '\(value)'")
        }
        return number
    }

    private func oneOf<Choice: RawRepresentable<String> & CaseIterable>(
        _ type: Choice.Type, _ name: String, _ value: String
    ) throws(UsageError) -> Choice {
        if let choice = Choice(rawValue: value) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        throw UsageError(
            description: "option '\(name)' expects one of \(names.joined(separator: ", ")), not '\(value)'"
                + suggestion(for: value, among: names))
    }

    /// How paths are printed that belong to a package in this folder.
    func paths(root: String, isRelative: Bool? = nil) -> PathStyle {
        PathStyle(root: root, isRelative: isRelative ?? isStable)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension CommandLineOptions: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsEveryForm": testReadsEveryForm,
            "testSaysWhatIsWrong": testSaysWhatIsWrong,
            "testHelpNamesEveryOption": testHelpNamesEveryOption,
        ]
    }

    private static func testReadsEveryForm() throws {
        let options = try CommandLineOptions([
            "--test-type", "slow", "--test-type=unit", "--filter", "a", "--skip=b", "-v", "--timeout", "50", "M", "--",
            "-x",
        ])
        expectEqual(options.testTypes, ["slow", "unit"])
        expectEqual(options.filters, ["a"])
        expectEqual(options.exclusions, ["b"])
        expectEqual(options.verbosity, .tests)
        expectEqual(options.timeoutMilliseconds, 50)
        expectEqual(options.subjects, ["M", "-x"])
        expectEqual(
            options.optionWords,
            ["--test-type", "slow", "--test-type=unit", "--filter", "a", "--skip=b", "-v", "--timeout", "50"])
        expectEqual(try CommandLineOptions(["-vv", "-v"]).verbosity, .progress)
        expectEqual(try CommandLineOptions(["--shuffle", "7", "M"]).seed, 7)
        expectEqual(try CommandLineOptions(["--shuffle", "M"]).subjects, ["M"])
        expectEqual(try CommandLineOptions(["--shuffle", "M"]).wordAfterShuffle, "M")
        expectEqual(try CommandLineOptions(["-j2", "-vv", "M"]).jobCount, 2)
        expectEqual(try CommandLineOptions(["Sources/S.swift:42"]).lines.map(\.line), [42])
        expectEqual(try CommandLineOptions(["--retries", "0"]).retryCount, 0)
        expectFalse(try CommandLineOptions(["--json", "-", "--junit", "a"]).printsText)
        expectTrue(try CommandLineOptions(["--json", "b", "--junit", "a"]).printsText)
        expectEqual(try CommandLineOptions(["--shard", "2/3"]).shard, TestShard(index: 1, count: 3))
        expectEqual(try CommandLineOptions(["--color", "never"]).colour, .never)
        expectEqual(try CommandLineOptions(["--no-tests", "fail"]).emptyChoice, .fail)
        let mutants = try CommandLineOptions(["--mutants", "S.swift", "T.swift:4", "M", "--budget", "9"])
        expectEqual(mutants.sources, ["S.swift"])
        expectEqual(mutants.optionWords, ["--mutants", "S.swift", "T.swift:4", "--budget", "9"])
        expectEqual(mutants.budgetSeconds, 9)
        expectEqual(try CommandLineOptions(["-j", "2", "-v"]).given, ["--jobs", "--verbose"])
    }

    private static func testSaysWhatIsWrong() {
        let rows = [
            (["--filtre"], "unknown option '--filtre'; did you mean '--filter'?"),
            (["--filter"], "option '--filter' expects PATTERN after it"),
            (["--filter="], "option '--filter' expects PATTERN, which is not empty"),
            (["--skip", ""], "option '--skip' expects PATTERN, which is not empty"),
            (["--test-type", ""], "option '--test-type' expects NAME, which is not empty"),
            (["--list=x"], "option '--list' takes no value, but is given 'x'"),
            (["--timeout", "0"], "option '--timeout' expects a number of milliseconds above 0, not '0'"),
            (
                ["--color", "alway"],
                "option '--color' expects one of auto, always, never, not 'alway'; did you mean 'always'?"
            ),
            (["--no-tests=x"], "option '--no-tests' expects one of pass, fail, not 'x'"),
            (["--shard", "3/2"], "option '--shard' expects I/N with I from 1 to N, not '3/2'"),
            (["--shuffle=x"], "option '--shuffle' expects a whole number as its seed, not 'x'"),
            (["-jx"], "option '--jobs' expects a number of workers above 0, not 'x'"),
            (["--list", "--junit", "x"], "option '--junit' does not go with '--list', which runs nothing"),
            (["--retries", "-1"], "option '--retries' expects a number of further attempts, not '-1'"),
            (["--json", "-", "--junit=-"], "options '--json' and '--junit' can't both print to the standard output"),
            (["S.swift"], "'S.swift' names no line; 'S.swift:1' would, and '--mutants' needs none"),
            (["--budget", "5"], "option '--budget' is for '--mutants'"),
            (["--mutants", "--budget", "0"], "option '--budget' expects a number of seconds above 0, not '0'"),
            (["--mutants", "--watch"], "option '--watch' does not go with '--mutants'"),
            (["--failed", "--accept"], "option '--failed' does not go with '--accept'"),
            (["--zzzzzzzz"], "unknown option '--zzzzzzzz'"),
        ]
        for (words, text) in rows {
            expectEqual(expectThrows(UsageError.self) { _ = try CommandLineOptions(words) }?.description, text)
        }
    }

    private static func testHelpNamesEveryOption() {
        let words = Set(help.split(whereSeparator: { " ,\n".contains($0) }).map(String.init))
        for name in known.flatMap(\.names) where name != "--marker" { expectTrue(words.contains(name), name) }
        expectFalse(help.contains("--marker"), "what only the build plugin says")
    }
}
#endif
