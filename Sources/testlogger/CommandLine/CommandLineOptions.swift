// The words of the command line and what they mean.

import TestReporting
import TestSupervision

/// A command line that is not understood.
struct UsageError: Error, Equatable, CustomStringConvertible {
    var description: String
}

struct CommandLineOptions: Equatable {
    /// Modules, descriptions, objects and images, as they were written.
    var subjects: [String] = []
    /// Everything else, as it was written: options and their values.
    var optionWords: [String] = []
    /// Places in the sources whose tests are to run.
    var lines: [ChosenLine] = []
    var testTypes: [String] = []
    var filters: [String] = []
    var exclusions: [String] = []
    var isFailedOnly = false
    var isChangedOnly = false
    var partition: TestPartition?
    var verbosity = Verbosity.summary
    var timeoutMilliseconds = 10_000
    var slowMilliseconds = 0
    var slowestCount = 0
    var jobCount: Int?
    /// How often a failed test is run again.
    var retryCount = 0
    var failsOnFlaky = false
    /// What to write in place of the beginnings of paths.
    var pathMaps: [PathMap] = []
    /// Where the temporary directories of failed tests go.
    var keptDirectoryFolder = ""
    /// Where warnings are written to, too.
    var warningsPath: String?
    var repetitionCount = 1
    /// Repeat until a test fails, or so often at the most.
    var isUntilFailure = false
    var isShuffled = false
    /// Run again whenever a source is saved.
    var isWatching = false
    var seed: UInt64?
    var stopsAtFirstFailure = false
    var isListing = false
    var isStable = false
    var wantsHelp = false
    var format = OutputFormat.text
    var junitPath: String?
    var jsonPath: String?
    /// Print annotations for GitHub's pages, also elsewhere.
    var isOnGitHub = false
    /// Write what was got in place of the literals that were expected.
    var isAccepting = false
    /// The test to start a debugger on.
    var debuggedTest: String?
    var wantsCoverage = false
    /// Show what `--accept` would write, as Xcode reads it.
    var showsReplacements = false
    /// The file that a build waits for: created when the tests pass, so that the build goes on.
    var marker: String?

    /// Every option, with the name of its value if it has one; its last name is the one that it is set by.
    private static let known: [(names: [String], value: String?)] = [
        (["-h", "--help"], nil), (["-l", "--list"], nil), (["-v", "--verbose"], nil), (["-vv"], nil),
        (["-tt", "--test-type"], "NAME"), (["--filter"], "PATTERN"), (["--skip"], "PATTERN"), (["--failed"], nil),
        (["--changed"], nil), (["--shard"], "I/N"), (["--partition"], "PART"), (["--timeout"], "MS"),
        (["--slow"], "MS"), (["--slowest"], "N"), (["-j", "--jobs"], "N"), (["--repeat"], "N"),
        (["--until-failure"], nil), (["--retries"], "N"), (["--fail-on-flaky"], nil), (["--path-map"], "FROM=TO"),
        (["--shuffle"], "[SEED]"), (["--fail-fast"], nil), (["--stable-output"], nil),
        (["--accept"], nil), (["--fixits"], nil), (["--debug"], "TEST"), (["--format"], "FORM"), (["--junit"], "PATH"),
        (["--json"], "PATH"),
        (["--github"], nil), (["--watch"], nil), (["--coverage"], nil), (["--marker"], "FILE"),
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
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let option = Self.known.first(where: { $0.names.contains(parts[0]) }), let name = option.names.last
            else {
                let names = Self.known.flatMap(\.names)
                throw UsageError(description: "unknown option '\(parts[0])'" + suggestion(for: parts[0], among: names))
            }
            var value = ""
            if name == "--shuffle" {
                // The one option that may do without its value.
                if parts.count == 2 {
                    value = parts[1]
                } else if let next = rest.first, UInt64(next) != nil {
                    value = rest.removeFirst()
                    optionWords.append(value)
                }
            } else if let valueName = option.value {
                guard let given = parts.count == 2 ? parts[1] : rest.popFirst() else {
                    throw UsageError(description: "option '\(parts[0])' expects \(valueName) after it")
                }
                value = given
                if parts.count == 1 { optionWords.append(given) }
            } else if parts.count == 2 {
                throw UsageError(description: "option '\(parts[0])' takes no value, but is given '\(parts[1])'")
            }
            try set(name, value)
        }
    }

    private mutating func set(_ name: String, _ value: String) throws(UsageError) {
        switch name {
        case "--help": wantsHelp = true
        case "--list": isListing = true
        case "--verbose": verbosity = max(verbosity, .tests)
        case "-vv": verbosity = .progress
        case "--test-type": testTypes.append(value)
        case "--filter": filters.append(value)
        case "--skip": exclusions.append(value)
        case "--failed": isFailedOnly = true
        case "--changed": isChangedOnly = true
        case "--shard", "--partition":
            guard let part = TestPartition(value), name == "--partition" || !value.contains(":") else {
                let forms = name == "--shard" ? "I/N" : "slice:I/N or hash:I/N"
                throw UsageError(description: "option '\(name)' expects \(forms) with I from 1 to N, not '\(value)'")
            }
            partition = part
        case "--timeout": timeoutMilliseconds = try number(name, value, "a number of milliseconds")
        case "--slow": slowMilliseconds = try number(name, value, "a number of milliseconds")
        case "--slowest": slowestCount = try number(name, value, "a number of tests")
        case "--jobs": jobCount = try number(name, value, "a number of workers")
        case "--repeat": repetitionCount = try number(name, value, "a number of runs")
        case "--retries": retryCount = try number(name, value, "a number of further attempts", least: 0)
        case "--fail-on-flaky": failsOnFlaky = true
        case "--path-map":
            guard let map = PathMap(value) else {
                throw UsageError(description: "option '--path-map' expects FROM=TO, not '\(value)'")
            }
            pathMaps.append(map)
        case "--until-failure": isUntilFailure = true
        case "--shuffle":
            isShuffled = true
            guard value.isEmpty || UInt64(value) != nil else {
                throw UsageError(description: "option '--shuffle' expects a whole number as its seed, not '\(value)'")
            }
            seed = UInt64(value)
        case "--format":
            guard let form = OutputFormat(rawValue: value) else {
                let names = OutputFormat.allCases.map(\.rawValue)
                throw UsageError(
                    description: "option '--format' expects one of \(names.joined(separator: ", ")), not '\(value)'"
                        + suggestion(for: value, among: names))
            }
            format = form
        case "--junit": junitPath = value
        case "--json": jsonPath = value
        case "--github": isOnGitHub = true
        case "--watch": isWatching = true
        case "--accept": isAccepting = true
        case "--fixits": showsReplacements = true
        case "--debug": debuggedTest = value
        case "--coverage": wantsCoverage = true
        case "--fail-fast": stopsAtFirstFailure = true
        case "--stable-output": isStable = true
        case "--marker":
            marker = value
            verbosity = .quiet
        default: break
        }
    }

    private func number(_ name: String, _ value: String, _ what: String, least: Int = 1) throws(UsageError) -> Int {
        guard let number = Int(value), number >= least else {
            let limit = least == 1 ? " above 0" : ""
            throw UsageError(description: "option '\(name)' expects \(what)\(limit), not '\(value)'")
        }
        return number
    }

    /// How paths are printed that belong to a package in this folder.
    func paths(root: String, isRelative: Bool? = nil) -> PathStyle {
        PathStyle(root: root, isRelative: isRelative ?? isStable, maps: pathMaps)
    }

    static let help = """
        usage: testlogger [options] <module | image | object… | file.swift:line>…

        Runs the tests that the types of a module list for themselves (testSelectors), and prints each failure as a
        compiler would: path:line:column: error: got 4 instead of expected 5 …

        A module is one that 'swift build' has built here with the plugin InClassTests; an image is an executable linked
        with inclass_main as its main function; objects (*.o) are linked into one; a line selects the test around it.

        what is run
              --filter PATTERN     only tests whose Type.test matches this extended regular expression; may be repeated
              --skip PATTERN       no tests whose Type.test matches; may be repeated
          -tt, --test-type NAME    the lists of this name instead of 'unit'; may be repeated
              --failed             only what failed in the last run
              --changed            only tests in sources that have changed since the last run
              --shard I/N          only the I-th of N parts, for N machines
              --partition PART     only a part: slice:I/N is even, hash:I/N leaves each test in its part
          -l, --list               run nothing; print the selected tests, one a line

        how it is run
              --timeout MS         how long a test may take that sets no limit of its own (default 10000)
          -j, --jobs N             how many workers at once, when there is enough to do (default: the processors)
              --fail-fast          begin nothing after the first failure
              --retries N          run a failed test up to N times more, each time in a process of its own; one that
                                   passes then is flaky, which is shown and counted, but is no failure
              --fail-on-flaky      a flaky test makes the exit status 1, although it is counted as passed
              --repeat N           run everything N times
              --until-failure      run everything until a test fails, or --repeat N times at the most
              --watch              build and run again whenever a source is saved
              --shuffle [SEED]     in random order; each failure names the seed that repeats it

        what is done about failures
              --accept             write what was got in place of each literal or golden file that was expected; with
                                   file.swift:line, only there
              --fixits             print for each such literal the line from which Xcode offers to do it
              --debug Type.test    start gdb or lldb on one test, with nothing kept from the terminal

        what is printed
          -v, --verbose            every test with its outcome
          -vv                      every test when it begins, too
              --slow MS            a warning for each test that takes longer
              --slowest N          the N slowest tests
              --format FORM        text, tap, json (lines) or junit
              --junit PATH         JUnit's XML into a file, too
              --json PATH          events as JSON lines into a file, too
              --github             annotations for GitHub's pages, and its step summary; by itself inside GitHub Actions
              --coverage           the lines that the tests reach, of a build with --enable-code-coverage, as a summary
                                   and in lcov's form beside the image
              --stable-output      no times, and paths relative to the package, so that output can be compared
              --path-map FROM=TO   paths that begin with FROM are printed and reported with TO in its place; may be
                                   repeated, the first that fits counts
              --marker FILE        as a build's step: failures only; and create FILE when all tests pass
          -h, --help               this

        on several machines
          Each machine builds, and runs its part; the parts are the whole, and an empty part passes. With GitHub Actions:
              strategy: { matrix: { shard: [1, 2, 3] } }
              steps:
                - run: swift package testlogger --shard ${{ matrix.shard }}/3 --junit tests.xml
          Annotations and the step summary come by themselves there. Bazel's test_sharding needs no option.

        temporary directories
          'try temporaryDirectory()' makes one for the running test alone. It goes when the test has passed; that of a
          failed test stays until the module's next run, and a note names it.

        exit status: 0 all passed, 1 a test failed, 2 the command line is wrong, 3 the tests could not be run,
        4 there is nothing to run, 128 and the signal's number when it was ended by one
        """
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
            "-tt", "slow", "--test-type=unit", "--filter", "a", "--skip=b", "-v", "--timeout", "50", "M", "--", "-x",
        ])
        expectEqual(options.testTypes, ["slow", "unit"])
        expectEqual(options.filters, ["a"])
        expectEqual(options.exclusions, ["b"])
        expectEqual(options.verbosity, .tests)
        expectEqual(options.timeoutMilliseconds, 50)
        expectEqual(options.subjects, ["M", "-x"])
        expectEqual(
            options.optionWords,
            ["-tt", "slow", "--test-type=unit", "--filter", "a", "--skip=b", "-v", "--timeout", "50"])
        expectEqual(try CommandLineOptions(["-vv", "-v"]).verbosity, .progress)
        expectEqual(try CommandLineOptions(["--shuffle", "7", "M"]).seed, 7)
        expectEqual(try CommandLineOptions(["--shuffle", "M"]).subjects, ["M"])
        expectEqual(try CommandLineOptions(["Sources/S.swift:42"]).lines.map(\.line), [42])
        expectEqual(try CommandLineOptions(["--retries", "0"]).retryCount, 0)
        expectEqual(try CommandLineOptions(["--path-map", "/a=b=c"]).pathMaps, [PathMap(from: "/a", to: "b=c")])
        expectEqual(try CommandLineOptions(["--partition", "hash:2/3"]).partition, .hash(index: 1, count: 3))
    }

    private static func testSaysWhatIsWrong() {
        let rows = [
            (["--filtre"], "unknown option '--filtre'; did you mean '--filter'?"),
            (["--filter"], "option '--filter' expects PATTERN after it"),
            (["--list=x"], "option '--list' takes no value, but is given 'x'"),
            (["--timeout", "0"], "option '--timeout' expects a number of milliseconds above 0, not '0'"),
            (["--shard", "3/2"], "option '--shard' expects I/N with I from 1 to N, not '3/2'"),
            (["--shuffle=x"], "option '--shuffle' expects a whole number as its seed, not 'x'"),
            (["--retries", "-1"], "option '--retries' expects a number of further attempts, not '-1'"),
            (["--path-map", "x"], "option '--path-map' expects FROM=TO, not 'x'"),
            (["--path-map==x"], "option '--path-map' expects FROM=TO, not '=x'"),
            (["--zzzzzzzz"], "unknown option '--zzzzzzzz'"),
        ]
        for (words, text) in rows {
            expectEqual(expectThrows(UsageError.self) { _ = try CommandLineOptions(words) }?.description, text)
        }
    }

    private static func testHelpNamesEveryOption() {
        for name in known.flatMap(\.names) { expectTrue(help.contains(" \(name)"), name) }
    }
}
#endif
