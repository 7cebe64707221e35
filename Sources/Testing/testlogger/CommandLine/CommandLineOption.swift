// Defines the table of options: their names, help texts and effects. The parser and the help are generated from it.

import TestReporting
import TestSupervision

/// An option of the command line.
struct CommandLineOption: Sendable {
    /// Sets a value. For an invalid text, returns a description of valid texts, and the valid words if there are only a few.
    typealias Setter = @Sendable (inout CommandLineOptions, String) -> (expected: String, words: [String])?

    /// The names and the value, as in the help.
    private let synopsis: String
    private let help: String
    private let setter: Setter

    private typealias Path<Value> = WritableKeyPath<CommandLineOptions, Value> & Sendable

    private init(_ synopsis: String, _ help: String, _ setter: @escaping Setter) {
        self.synopsis = synopsis
        self.help = help
        self.setter = setter
    }

    private var words: [String] {
        synopsis.split(separator: " ").map { String($0.last == "," ? $0.dropLast() : $0) }
    }

    var names: [String] { words.filter { $0.hasPrefix("-") } }

    /// The name that identifies the option.
    var name: String { names.last ?? "" }

    /// The name of the value, or nil for an option without a value.
    var value: String? { words.last.flatMap { $0.hasPrefix("-") ? nil : $0 } }

    var isValueOptional: Bool { value?.hasPrefix("[") ?? false }

    /// A Boolean value that indicates whether `.testlogger` may contain the option.
    var isOfPackage: Bool { Self.namesOfPackage.contains(name) }

    static func named(_ name: String) throws(UsageError) -> CommandLineOption {
        if let option = all.first(where: { $0.names.contains(name) }) { return option }
        throw UsageError(
            description: "unknown option '\(name)'" + suggestion(for: name, among: all.flatMap(\.names)))
    }

    /// Applies the option.
    ///
    /// - Parameters:
    ///   - text: The value, or nil if the option was given without one.
    ///   - name: The name on the command line.
    func set(_ options: inout CommandLineOptions, _ text: String?, as name: String) throws(UsageError) {
        if let value, text == nil, !isValueOptional {
            throw UsageError(description: "option '\(name)' expects \(value) after it")
        }
        if value == nil, let text {
            throw UsageError(description: "option '\(name)' takes no value, but is given '\(text)'")
        }
        let text = text ?? ""
        guard let (expected, words) = setter(&options, text) else { return }
        throw UsageError(
            description: "option '\(self.name)' expects \(expected)"
                + (text.isEmpty ? "" : ", not '\(text)'" + suggestion(for: text, among: words)))
    }

    // MARK: Setters

    /// Sets a property to the value that a closure reads from the text. The closure returns nil for an invalid text.
    private static func value<Value>(
        _ path: Path<Value>, _ expected: String = "", _ words: [String] = [],
        _ read: @escaping @Sendable (String) -> Value?
    ) -> Setter {
        { options, text in
            guard let value = read(text) else { return (expected, words) }
            options[keyPath: path] = value
            return nil
        }
    }

    private static func flag(_ path: Path<Bool>) -> Setter { value(path) { _ in true } }

    private static func text(_ path: Path<String?>, _ name: String) -> Setter {
        value(path, "\(name), which is not empty") { $0.isEmpty ? nil : .some($0) }
    }

    private static func number(_ path: Path<Int>, of unit: String, allowsZero: Bool = false) -> Setter {
        value(path, "a number of \(unit)\(allowsZero ? "" : " above 0")") { text in
            Int(text).flatMap { $0 >= (allowsZero ? 0 : 1) ? $0 : nil }
        }
    }

    private static func choice<Value>(_ path: Path<Value>, _ choices: [(word: String, value: Value)]) -> Setter
    where Value: Sendable {
        let words = choices.map(\.word)
        return value(path, "one of \(words.joined(separator: ", "))", words) { text in
            choices.first { $0.word == text }.map(\.value)
        }
    }

    /// Appends one of several texts. An empty pattern would match every name.
    private static func list(_ path: Path<[String]>, _ value: String) -> Setter {
        { options, text in
            if text.isEmpty { return ("\(value), which is not empty", []) }
            options[keyPath: path].append(text)
            return nil
        }
    }

    private static func verbosity(_ verbosity: Verbosity) -> Setter {
        { options, _ in
            options.style.verbosity = max(options.style.verbosity, verbosity)
            return nil
        }
    }

    private static func marker(_ options: inout CommandLineOptions, _ text: String) -> (String, [String])? {
        (options.marker, options.style.verbosity) = (text, .quiet)
        return nil
    }

    // MARK: The table

    /// All options, under the titles of the help.
    private static let sections: [(title: String, options: [CommandLineOption])] = [
        ("selection", selection), ("running", running), ("mutation testing", mutationTesting),
        ("changing sources, debugging", changing), ("output", output),
    ]

    // Only the build plugin uses the last one.
    static let all: [CommandLineOption] =
        sections.flatMap(\.options) + [CommandLineOption("--marker FILE", "", marker)]

    /// The options that `.testlogger` may contain.
    private static let namesOfPackage = [
        "--skip", "--test-type", "--timeout", "--jobs", "--fail-fast", "--retries", "--fail-on-flaky", "--slow",
        "--color",
    ]

    private static let selection: [CommandLineOption] = [
        .init("--filter PATTERN", "only tests whose Type.test matches; may be repeated", list(\.filters, "PATTERN")),
        .init("--skip PATTERN", "no tests whose Type.test matches; may be repeated", list(\.exclusions, "PATTERN")),
        .init("--exact", "patterns are whole names instead of regular expressions", flag(\.isExact)),
        .init(
            "--test-type NAME", "only lists with this name; may be repeated [unit]",
            list(\.run.choice.testTypes, "NAME")),
        .init("--failed", "only what failed in the last run", flag(\.run.choice.isFailedOnly)),
        .init(
            "--changed", "only tests in sources that have changed since the last run",
            flag(\.run.choice.isChangedOnly)),
        .init(
            "--shard I/N", "run part I of N, for N machines",
            value(\.run.choice.shard, "I/N with I from 1 to N") { TestShard($0).map { .some($0) } }),
        .init(
            "--no-tests pass|fail", "result of an empty selection [pass with --shard, --failed, --changed]",
            choice(\.passesWithoutTests, [("pass", true), ("fail", false)])),
        .init("-l, --list", "print the selected tests, and run nothing", flag(\.run.isListing)),
    ]

    private static let running: [CommandLineOption] = [
        .init(
            "--timeout MS", "the time limit of tests without one of their own [10000]",
            number(\.run.timeoutMilliseconds, of: "milliseconds")),
        .init(
            "-j, --jobs N", "the largest number of parallel workers [the number of processors]",
            number(\.jobCount, of: "workers")),
        .init("--isolate", "run each test in a process of its own", flag(\.run.isolatesTests)),
        .init("--fail-fast", "stop after the first failure", flag(\.run.stopsAtFirstFailure)),
        .init(
            "--retries N", "run a failed test up to N times more; one that then passes is flaky",
            number(\.run.retryCount, of: "further attempts", allowsZero: true)),
        .init("--fail-on-flaky", "exit with status 1 if a test is flaky", flag(\.style.failsOnFlaky)),
        .init("--repeat N", "run everything N times", number(\.repetitionCount, of: "runs")),
        .init("--until-failure", "run everything until a test fails, at most --repeat N times", flag(\.isUntilFailure)),
        .init(
            "--shuffle [SEED]", "run in random order; failures name the seed that repeats it",
            value(\.run.shuffleSeed, "a whole number as its seed") { text in
                text.isEmpty ? .random(in: 1...99_999) : UInt64(text).map { .some($0) }
            }),
        .init("--watch", "build and run again whenever a source is saved", flag(\.isWatching)),
    ]

    private static let mutationTesting: [CommandLineOption] = [
        .init("--mutants", "change one place of the sources at a time, and warn if no test fails", flag(\.isMutating)),
        .init("--budget SECONDS", "the time limit for mutation testing [300]", number(\.budgetSeconds, of: "seconds")),
    ]

    private static let changing: [CommandLineOption] = [
        .init(
            "--accept", "replace expected literals and golden files by the actual values",
            flag(\.run.isAccepting)),
        .init("--fix-lists", "add unlisted tests to their lists", flag(\.fixesLists)),
        .init("--debug TEST", "debug one test with gdb or lldb", text(\.debuggedTest, "TEST")),
    ]

    private static let output: [CommandLineOption] = [
        .init("-v, --verbose", "show every test with its outcome", verbosity(.tests)),
        .init("-vv", "show every test when it begins, too", verbosity(.progress)),
        .init(
            "--slow MS", "warn of tests that take longer, and list the ten slowest",
            number(\.run.slowMilliseconds, of: "milliseconds")),
        .init("--no-capture", "show the output of tests immediately; uses one worker", flag(\.run.leavesOutput)),
        .init(
            "--color WHEN", "auto, always or never [auto: on terminals, unless NO_COLOR is set]",
            choice(\.isColoured, [("auto", nil), ("always", true), ("never", false)])),
        .init("--junit PATH", "write JUnit XML; '-' prints it instead of the text", text(\.junitPath, "PATH")),
        .init(
            "--json PATH", "write events as JSON lines; '-' prints them instead of the text",
            text(\.jsonPath, "PATH")),
        .init("--github", "write GitHub annotations and a step summary [on in GitHub Actions]", flag(\.isOnGitHub)),
        .init(
            "--coverage", "report the lines that tests reach [needs --enable-code-coverage]",
            flag(\.run.leavesProfiles)),
        .init(
            "--stable-output", "print relative paths and no times, so that runs can be compared",
            flag(\.run.isStable)),
        .init("--version", "print the version", flag(\.wantsVersion)),
        .init("-h, --help", "print this", flag(\.wantsHelp)),
    ]

    // MARK: Help

    static var help: String {
        var text = """
            usage: testlogger [options] [module | executable | object… | file.swift:line]…

            Runs the tests that types list in testSelectors, and prints each failure as a compiler would:
            path:line:column: error: got 4 instead of expected 5 …

            Name modules that were built here with the plugin InClassTests, executables whose main function is
            inclass_main, objects (*.o), which are linked into one executable, or a line, which selects the test
            around it. Without any of these, testlogger tests all modules of the package.

            """
        for (title, options) in sections {
            text += "\n\(title)\n"
            for option in options {
                let start = "  \(option.synopsis.hasPrefix("--") ? "    " : "")\(option.synopsis)"
                text += start + String(repeating: " ", count: max(1, 28 - start.count)) + option.help + "\n"
            }
        }
        return text + """

            The file .testlogger in the package's folder can contain these options, one per line:
            \(namesOfPackage.joined(separator: " "))

            exit status: 0 passed, 1 a test failed, 2 wrong command line, 3 the tests could not be run,
            4 nothing to run, 128 + N ended by signal N

            """
    }
}
