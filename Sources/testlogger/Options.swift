// The words of the command line and what they mean.

import TestReporting
import TestSupervision

/// A command line that is not understood.
struct UsageError: Error, Equatable, CustomStringConvertible {
    var description: String
}

struct Options: Equatable {
    /// Modules, descriptions, objects and images, as they were written.
    var subjects: [String] = []
    var testTypes: [String] = []
    var filters: [String] = []
    var exclusions: [String] = []
    var verbosity = Verbosity.summary
    var timeoutMilliseconds = 10_000
    var isListing = false
    var isStable = false
    var wantsHelp = false
    /// The file that a build waits for: created when the tests pass, so that the build goes on.
    var marker: String?

    /// Every option, with the name of its value if it has one.
    private static let known: [(names: [String], value: String?)] = [
        (["-h", "--help"], nil), (["-l", "--list"], nil), (["-v", "--verbose"], nil), (["-vv"], nil),
        (["-tt", "--test-type"], "NAME"), (["--filter"], "PATTERN"), (["--skip"], "PATTERN"),
        (["--timeout"], "MILLISECONDS"), (["--stable-output"], nil), (["--marker"], "FILE"),
    ]

    /// Reads the words after the program's name.
    init(_ words: [String]) throws(UsageError) {
        var rest = words[...]
        var isEndOfOptions = false
        while let word = rest.popFirst() {
            guard word.hasPrefix("-"), word != "-", !isEndOfOptions else {
                subjects.append(word)
                continue
            }
            if word == "--" {
                isEndOfOptions = true
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let option = Self.known.first(where: { $0.names.contains(parts[0]) }), let name = option.names.last
            else {
                let names = Self.known.flatMap(\.names)
                throw UsageError(description: "unknown option '\(parts[0])'" + suggestion(for: parts[0], among: names))
            }
            var value = ""
            if let valueName = option.value {
                guard let given = parts.count == 2 ? parts[1] : rest.popFirst() else {
                    throw UsageError(description: "option '\(parts[0])' expects \(valueName) after it")
                }
                value = given
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
        case "--timeout":
            guard let milliseconds = Int(value), milliseconds > 0 else {
                throw UsageError(
                    description: "option '--timeout' expects a number of milliseconds above 0, not '\(value)'")
            }
            timeoutMilliseconds = milliseconds
        case "--stable-output": isStable = true
        case "--marker":
            marker = value
            verbosity = .quiet
        default: break
        }
    }

    static let help = """
        usage: testlogger [options] <module | image | object…>

        Runs the tests that the types of a module list for themselves (testSelectors), and prints each failure as a
        compiler would: path:line:column: error: got 4 instead of expected 5 …

        A module is one that 'swift build' has built here with the plugin InClassTests; an image is an executable linked
        with inclass_main as its main function; objects (*.o) are linked into one.

          -l, --list               print the selected tests, one a line, and run nothing
          -tt, --test-type NAME    run the lists of this name instead of 'unit'; may be repeated
              --filter PATTERN     run only tests whose Type.test matches this extended regular expression; may be repeated
              --skip PATTERN       leave out tests whose Type.test matches; may be repeated
              --timeout MS         how long one test may take (default 10000)
          -v, --verbose            print every test with its outcome
          -vv                      print every test when it begins, too
              --stable-output      print no times, and paths relative to the package, so that output can be compared
              --marker FILE        as a build's step: print failures only, and create FILE when all tests pass
          -h, --help               print this

        exit status: 0 all passed, 1 a test failed, 2 the command line is wrong, 3 the tests could not be run,
        4 there is nothing to run
        """
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension Options: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsEveryForm": testReadsEveryForm,
            "testSaysWhatIsWrong": testSaysWhatIsWrong,
            "testHelpNamesEveryOption": testHelpNamesEveryOption,
        ]
    }

    private static func testReadsEveryForm() throws {
        let options = try Options([
            "-tt", "slow", "--test-type=unit", "--filter", "a", "--skip=b", "-v", "--timeout", "50", "M", "--", "-x",
        ])
        expectEqual(options.testTypes, ["slow", "unit"])
        expectEqual(options.filters, ["a"])
        expectEqual(options.exclusions, ["b"])
        expectEqual(options.verbosity, .tests)
        expectEqual(options.timeoutMilliseconds, 50)
        expectEqual(options.subjects, ["M", "-x"])
        expectEqual(try Options(["-vv", "-v"]).verbosity, .progress)
    }

    private static func testSaysWhatIsWrong() {
        let rows = [
            (["--filtre"], "unknown option '--filtre'; did you mean '--filter'?"),
            (["--filter"], "option '--filter' expects PATTERN after it"),
            (["--list=x"], "option '--list' takes no value, but is given 'x'"),
            (["--timeout", "0"], "option '--timeout' expects a number of milliseconds above 0, not '0'"),
            (["--zzzzzzzz"], "unknown option '--zzzzzzzz'"),
        ]
        for (words, text) in rows {
            expectEqual(expectThrows(UsageError.self) { _ = try Options(words) }?.description, text)
        }
    }

    private static func testHelpNamesEveryOption() {
        for name in known.flatMap(\.names) { expectTrue(help.contains(" \(name)"), name) }
    }
}
#endif
