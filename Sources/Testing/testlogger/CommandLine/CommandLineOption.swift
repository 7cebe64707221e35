// The table of options: names, help, and what each sets. Parsing and help are made from it.

import TestSupervision

/// An option of the command line.
struct CommandLineOption {
    /// The effect of an option.
    enum Setter {
        case flag(WritableKeyPath<CommandLineOptions, Bool>)
        /// A whole number with its unit, at least 1 or at least 0.
        case number(WritableKeyPath<CommandLineOptions, Int>, of: String, allowsZero: Bool = false)
        case text(WritableKeyPath<CommandLineOptions, String?>)
        /// One more of several texts.
        case list(WritableKeyPath<CommandLineOptions, [String]>)
        case other((inout CommandLineOptions, String) throws(UsageError) -> Void)
    }

    /// The last one is the one that it is known by.
    let names: [String]
    /// The name of its value; nil for an option without one.
    let value: String?
    /// Its line in the help.
    let help: String
    /// True if `.testlogger` may contain it.
    let isOfPackage: Bool
    private let setter: Setter

    init(_ names: String..., value: String? = nil, help: String, isOfPackage: Bool = false, _ setter: Setter) {
        self.names = names
        self.value = value
        self.help = help
        self.isOfPackage = isOfPackage
        self.setter = setter
    }

    var name: String { names[names.count - 1] }

    /// Sets what this option sets.
    func set(_ options: inout CommandLineOptions, _ text: String) throws(UsageError) {
        switch setter {
        case .flag(let path): options[keyPath: path] = true
        case .text(let path): options[keyPath: path] = text
        case .other(let set): try set(&options, text)
        case .list(let path):
            // An empty pattern would be found in every name.
            if text.isEmpty { throw error("\(value ?? ""), which is not empty", "") }
            options[keyPath: path].append(text)
        case .number(let path, let what, let allowsZero):
            guard let number = Int(text), number >= (allowsZero ? 0 : 1) else {
                throw error("a number of \(what)\(allowsZero ? "" : " above 0")", text)
            }
            options[keyPath: path] = number
        }
    }

    private func error(_ expected: String, _ found: String) -> UsageError {
        UsageError(description: "option '\(name)' expects \(expected)" + (found.isEmpty ? "" : ", not '\(found)'"))
    }

    /// Reads one of a few words.
    private static func oneOf<Choice: RawRepresentable<String> & CaseIterable>(
        _ type: Choice.Type, _ name: String, _ text: String
    ) throws(UsageError) -> Choice {
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        throw UsageError(
            description: "option '\(name)' expects one of \(names.joined(separator: ", ")), not '\(text)'"
                + suggestion(for: text, among: names))
    }

    // MARK: The table

    /// All options, under the titles of the help.
    static var sections: [(title: String, options: [CommandLineOption])] {
        [
            ("selection", selection), ("running", running), ("mutation testing", mutationTesting),
            ("changing sources, debugging", changing), ("output", output),
        ]
    }

    static var all: [CommandLineOption] {
        // Only the build plugin uses this.
        sections.flatMap(\.options) + [
            CommandLineOption("--marker", value: "FILE", help: "", .other { ($0.marker, $0.verbosity) = ($1, .quiet) })
        ]
    }

    private static var selection: [CommandLineOption] {
        [
            CommandLineOption(
                "--filter", value: "PATTERN", help: "only tests whose Type.test matches; may be repeated",
                .list(\.filters)),
            CommandLineOption(
                "--skip", value: "PATTERN", help: "no tests whose Type.test matches; may be repeated",
                isOfPackage: true, .list(\.exclusions)),
            CommandLineOption(
                "--exact", help: "patterns are whole names instead of regular expressions", .flag(\.isExact)),
            CommandLineOption(
                "--test-type", value: "NAME", help: "the lists of this name; may be repeated [unit]",
                isOfPackage: true, .list(\.run.choice.testTypes)),
            CommandLineOption("--failed", help: "only what failed in the last run", .flag(\.run.choice.isFailedOnly)),
            CommandLineOption(
                "--changed", help: "only tests in sources that have changed since the last run",
                .flag(\.run.choice.isChangedOnly)),
            CommandLineOption(
                "--shard", value: "I/N", help: "only the I-th of N parts, for N machines",
                .other { (options, text) throws(UsageError) in
                    guard let shard = TestShard(text) else {
                        throw UsageError(
                            description: "option '--shard' expects I/N with I from 1 to N, not '\(text)'")
                    }
                    options.run.choice.shard = shard
                }),
            CommandLineOption(
                "--no-tests", value: "pass|fail",
                help: "result of an empty selection [pass with --shard, --failed, --changed]",
                .other { (options, text) throws(UsageError) in
                    options.emptyChoice = try oneOf(EmptyChoice.self, "--no-tests", text)
                }),
            CommandLineOption(
                "-l", "--list", help: "print the selected tests, and run nothing", .flag(\.run.isListing)),
        ]
    }

    private static var running: [CommandLineOption] {
        [
            CommandLineOption(
                "--timeout", value: "MS", help: "the limit of a test that sets none itself [10000]", isOfPackage: true,
                .number(\.run.timeoutMilliseconds, of: "milliseconds")),
            CommandLineOption(
                "-j", "--jobs", value: "N", help: "how many workers may run at once [the number of processors]",
                isOfPackage: true, .number(\.jobCount, of: "workers")),
            CommandLineOption("--isolate", help: "run each test in a process of its own", .flag(\.run.isolatesTests)),
            CommandLineOption(
                "--fail-fast", help: "begin nothing after the first failure", isOfPackage: true,
                .flag(\.run.stopsAtFirstFailure)),
            CommandLineOption(
                "--retries", value: "N", help: "run a failed test up to N times more; one that then passes is flaky",
                isOfPackage: true, .number(\.run.retryCount, of: "further attempts", allowsZero: true)),
            CommandLineOption(
                "--fail-on-flaky", help: "exit with status 1 if a test is flaky", isOfPackage: true,
                .flag(\.failsOnFlaky)),
            CommandLineOption(
                "--repeat", value: "N", help: "run everything N times", .number(\.repetitionCount, of: "runs")),
            CommandLineOption(
                "--until-failure", help: "run everything until a test fails, at most --repeat N times",
                .flag(\.isUntilFailure)),
            CommandLineOption(
                "--shuffle", value: "[SEED]", help: "run in random order; failures name the seed that repeats it",
                .other { (options, text) throws(UsageError) in
                    guard text.isEmpty || UInt64(text) != nil else {
                        throw UsageError(
                            description: "option '--shuffle' expects a whole number as its seed, not '\(text)'")
                    }
                    options.run.shuffleSeed = UInt64(text) ?? .random(in: 1...99_999)
                }),
            CommandLineOption(
                "--watch", help: "build and run again whenever a source is saved", .flag(\.isWatching)),
        ]
    }

    private static var mutationTesting: [CommandLineOption] {
        [
            CommandLineOption(
                "--mutants", help: "change the sources, one place at a time, and warn where no test fails",
                .flag(\.isMutating)),
            CommandLineOption(
                "--budget", value: "SECONDS", help: "how long that may take [300]",
                .number(\.budgetSeconds, of: "seconds")),
        ]
    }

    private static var changing: [CommandLineOption] {
        [
            CommandLineOption(
                "--accept", help: "write values that were got over the literals and golden files expected",
                .flag(\.run.isAccepting)),
            CommandLineOption("--fix-lists", help: "add tests that are in no list to theirs", .flag(\.fixesLists)),
            CommandLineOption(
                "--debug", value: "TEST", help: "start gdb or lldb on one test", .text(\.debuggedTest)),
        ]
    }

    private static var output: [CommandLineOption] {
        [
            CommandLineOption(
                "-v", "--verbose", help: "show every test with its outcome",
                .other { options, _ in options.verbosity = max(options.verbosity, .tests) }),
            CommandLineOption(
                "-vv", help: "show every test when it begins, too",
                .other { options, _ in options.verbosity = .progress }),
            CommandLineOption(
                "--slow", value: "MS", help: "warn of each test that takes longer; list the ten slowest",
                isOfPackage: true, .number(\.run.slowMilliseconds, of: "milliseconds")),
            CommandLineOption(
                "--no-capture", help: "show what tests print, as they print it; uses one worker",
                .flag(\.run.leavesOutput)),
            CommandLineOption(
                "--color", value: "WHEN", help: "auto, always or never [auto: on terminals, unless NO_COLOR is set]",
                isOfPackage: true,
                .other { (options, text) throws(UsageError) in
                    options.colour = try oneOf(ColourChoice.self, "--color", text)
                }),
            CommandLineOption(
                "--junit", value: "PATH", help: "write JUnit XML; '-' prints it instead of the text",
                .text(\.junitPath)),
            CommandLineOption(
                "--json", value: "PATH", help: "write events as JSON lines; '-' prints them instead of the text",
                .text(\.jsonPath)),
            CommandLineOption(
                "--github", help: "write GitHub annotations and a step summary [on in GitHub Actions]",
                .flag(\.isOnGitHub)),
            CommandLineOption(
                "--coverage", help: "report lines that tests reach, of a build with --enable-code-coverage",
                .flag(\.run.leavesProfiles)),
            CommandLineOption(
                "--stable-output", help: "print no times, and relative paths, so that output can be compared",
                .flag(\.run.isStable)),
            CommandLineOption("--version", help: "print the version", .flag(\.wantsVersion)),
            CommandLineOption("-h", "--help", help: "print this", .flag(\.wantsHelp)),
        ]
    }

    // MARK: Help

    static var help: String {
        var text = """
            usage: testlogger [options] [module | image | object… | file.swift:line]…

            Runs the tests that types list in testSelectors, and prints each failure as a compiler would:
            path:line:column: error: got 4 instead of expected 5 …

            A module is one that was built here with the plugin InClassTests. An image is an executable whose
            main function is inclass_main; objects (*.o) are linked into one. A line selects the test around
            it. Without any of these, all modules of the package are tested.

            """
        for (title, options) in sections {
            text += "\n\(title)\n"
            for option in options {
                let names = option.names.joined(separator: ", ") + (option.value.map { " \($0)" } ?? "")
                let start = "  \(option.names.count == 1 && names.hasPrefix("--") ? "    " : "")\(names)"
                text += start + String(repeating: " ", count: max(1, 28 - start.count)) + option.help + "\n"
            }
        }
        let ofPackage = all.filter(\.isOfPackage).map(\.name)
        return text + """

            The file .testlogger in the package's folder may hold these options, one a line:
            \(ofPackage.joined(separator: " "))

            exit status: 0 passed, 1 a test failed, 2 wrong command line, 3 the tests could not be run,
            4 nothing to run, 128 + N ended by signal N

            """
    }
}
