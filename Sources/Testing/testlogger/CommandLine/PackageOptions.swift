// Reads `.testlogger`, a file in a package's folder with options for every run of its tests, including build steps.

internal import InClassSystem
import TestEvents
import TestSupervision

/// The options of a package: options of the command line that also make sense for a build step, one per line.
///
///     # The network is slow here.
///     --timeout 20000
///     --test-type unit
///     --test-type network
///
/// A comment begins with `#` at the beginning of a line or after a space. A value is the rest of its line. If the command
/// line contains an option, all lines with this option are ignored.
struct PackageOptions: Equatable {
    struct Line: Equatable {
        var name: String
        /// The value, or nil for a line without a value.
        var value: String?
        /// The places of the option and of its value.
        var place: SourcePlace
        var valuePlace: SourcePlace
    }

    static let fileName = ".testlogger"

    let path: String
    private(set) var lines: [Line] = []

    /// Reads the file of a package, if it has one.
    init?(root: String) throws(LocatedError) {
        let path = "\(root)/\(Self.fileName)"
        // A link to a missing file is an error.
        guard FileAccess.exists(path) || FileAccess.isLink(path) else { return nil }
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try FileAccess.contents(of: path) } catch {
            let other = "expected a file with options but found a folder, a pipe or a device"
            throw LocatedError(path: path, error.code == EISDIR ? other : error.description)
        }
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0  // a byte order mark
        guard let text = String(validating: bytes[start...], as: UTF8.self) else {
            let repaired = String(decoding: bytes[start...], as: UTF8.self)
            let valid = zip(repaired.utf8, bytes[start...]).prefix { $0 == $1 }.map(\.1)
            let lines = valid.split(separator: 0x0A, omittingEmptySubsequences: false)
            throw LocatedError(
                path: path, line: lines.count, column: (lines.last?.count ?? 0) + 1, "expected text in UTF-8")
        }
        try self.init(text: text, path: path)
    }

    init(text: String, path: String) throws(LocatedError) {
        self.path = path
        // Other characters that Unicode calls newlines, such as form feeds, end no line in an editor.
        let lines = text.split(omittingEmptySubsequences: false) { ["\n", "\r\n", "\r"].contains($0) }
        for (index, line) in lines.enumerated() {
            var code = line[..<(line.firstRange(of: /(?:^|[ \t\x0B\x0C])#/)?.lowerBound ?? line.endIndex)]
            while let last = code.last, " \t\u{0B}\u{0C}".contains(last) { code.removeLast() }
            let form = /(?s)[ \t\x0B\x0C]*([^ \t\x0B\x0C=]*)(?:[ \t\x0B\x0C=][ \t\x0B\x0C]*(.*))?/
            guard !code.isEmpty, let match = code.wholeMatch(of: form) else { continue }
            let place = { (text: Substring) in
                let column = line.utf8.distance(from: line.startIndex, to: text.startIndex) + 1
                return SourcePlace(path: path, line: index + 1, column: column)
            }
            let (name, value) = (match.1, match.2)
            guard name.hasPrefix("-") else {
                throw LocatedError(
                    at: place(name), "expected an option such as '--timeout 20000' but found '\(name)'")
            }
            self.lines.append(
                Line(
                    name: String(name), value: value.map(String.init), place: place(name),
                    valuePlace: place(value ?? name)))
        }
    }
}

// Checks the test types and exclusions. A mistake there would turn off tests in every run, and the builds would still pass.
extension [PackageOptions.Line] {
    /// Returns the place of the first choice that excludes all tests of a module, and a message.
    func obstacle(in plan: [PlannedTest], of module: String, chosen types: [String]) -> (SourcePlace, String)? {
        if isEmpty || plan.isEmpty { return nil }
        let what = plan.count == 1 ? "the only test" : "none of the \(plan.count) tests"
        let rest = "leaves \(what) of \(module) \(plan.count == 1 ? "out" : "to run")"
        var left = plan.filter { types.isEmpty ? $0.testType == "unit" : types.contains($0.testType) }
        if left.isEmpty {
            guard let choice = first(where: { $0.name == "--test-type" }), let type = choice.value else { return nil }
            let near = suggestion(for: type, among: Set(plan.map(\.testType)).sorted())
            return (choice.valuePlace, "test type '\(type)' \(rest)\(near)")
        }
        for choice in self where choice.name == "--skip" {
            guard let text = choice.value, let pattern = try? TestPattern(text) else { continue }
            left.removeAll(where: pattern.matches)
            if left.isEmpty { return (choice.valuePlace, "skipping '\(text)' \(rest)") }
        }
        return nil
    }

    /// Returns warnings about unknown test types that are similar to a test type of the module. Other unknown test types may
    /// belong to other modules.
    func misspeltTypes(in plan: [PlannedTest], of module: String) -> [(SourcePlace, String)] {
        if isEmpty { return [] }
        let types = filter { $0.name == "--test-type" }
        let known = Set(plan.map(\.testType))
        let others = known.subtracting(types.compactMap(\.value)).sorted()
        return types.compactMap { line in
            // Almost all short words are similar.
            guard let type = line.value, type.utf8.count > 3, !known.contains(type) else { return nil }
            let near = suggestion(for: type, among: others)
            return near.isEmpty ? nil : (line.valuePlace, "\(module) has no test type '\(type)'\(near)")
        }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting
import TestReporting

extension PackageOptions: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsOptionsAndComments": testReadsOptionsAndComments,
            "testCommandLineOverridesFile": testCommandLineOverridesFile,
            "testReadsOnlyValidFiles": testReadsOnlyValidFiles,
        ]
            + .each("testReportsInvalidOptions", mistakes) { text, message in
                let error = expectThrows(LocatedError.self) { _ = try options(text) }
                expectEqual(error?.description, "/p/.testlogger:\(message)")
            }
            + .each("testReportsInvalidPatterns", [[], ["--skip", "b"], ["--exact"]]) { words in
                let error = expectThrows(LocatedError.self) { _ = try options("\n --skip  (", words) }
                let start = "/p/.testlogger:2:10: error: '(' is not a regular expression: "
                expectTrue(error?.description.hasPrefix(start) ?? false)
            }
    }

    private static func options(_ text: String, _ words: [String] = []) throws -> CommandLineOptions {
        var options = try CommandLineOptions(words)
        try options.add(PackageOptions(text: text, path: "/p/.testlogger"))
        return options
    }

    private static func testReadsOptionsAndComments() throws {
        let options = try options(
            """
            # comment
              # another

            --timeout 20000   # slow
            \t--jobs=3
            -j\t4
            --skip a b#c # d
            --fail-fast
            """)
        expectEqual(options.run.timeoutMilliseconds, 20_000)
        expectEqual(options.jobCount, 4, "the last one counts")
        expectEqual(options.exclusions, ["a b#c"])
        expectTrue(options.run.stopsAtFirstFailure)
        expectEqual(try self.options("").packageChoices, [])
        expectEqual(try self.options("--skip \u{0C}a\u{85}b\u{2028}c\u{0C}\u{0B}").exclusions, ["a\u{85}b\u{2028}c"])
        expectEqual(try self.options("--timeout 5\r\n--fail-on-flaky\r\n").run.timeoutMilliseconds, 5)
    }

    private static func testCommandLineOverridesFile() throws {
        let text = "--test-type slow\n--test-type unit\n--timeout 5\n--skip a\n"
        let options = try options(text, ["--test-type", "network", "--timeout", "6"])
        expectEqual(options.run.choice.testTypes, ["network"])
        expectEqual(options.run.timeoutMilliseconds, 6)
        expectEqual(options.exclusions, ["a"])
        expectEqual(try self.options(text).run.choice.testTypes, ["slow", "unit"])
        expectEqual(try self.options(text, ["--skip", "b"]).exclusions, ["b"])
    }

    private static let mistakes = [
        ("#\n\n--tmeout 5", "3:1: error: unknown option '--tmeout'; did you mean '--timeout'?"),
        ("  timeout 5", "1:3: error: expected an option such as '--timeout 20000' but found 'timeout'"),
        ("--timeout soon", "1:11: error: option '--timeout' expects a number of milliseconds above 0, not 'soon'"),
        ("--timeout\n", "1:1: error: option '--timeout' expects MS after it"),
        ("--fail-fast yes", "1:13: error: option '--fail-fast' takes no value, but is given 'yes'"),
        ("--skip=", "1:8: error: option '--skip' expects PATTERN, which is not empty"),
        ("--test-type= # none", "1:13: error: option '--test-type' expects NAME, which is not empty"),
        ("--watch", "1:1: error: option '--watch' can't be set in .testlogger"),
        ("--zzzzzzzzzz", "1:1: error: unknown option '--zzzzzzzzzz'"),
        ("--color red", "1:9: error: option '--color' expects one of auto, always, never, not 'red'"),
        // A form feed separates words, but not lines.
        (
            "# \u{0C}a\n\u{0C}\n\u{0B}--jobs 2\u{0C}# b\n \u{0C}--watch",
            "4:3: error: option '--watch' can't be set in .testlogger"
        ),
        ("--skip a\u{85}b\u{2028}c\n--watch", "2:1: error: option '--watch' can't be set in .testlogger"),
    ]

    private static func testReadsOnlyValidFiles() throws {
        let root = try temporaryDirectory()
        expectNil(try PackageOptions(root: root))
        symlink("nowhere", "\(root)/.testlogger")
        func expectError(_ text: String, at place: String = "1:1", line: UInt = #line) {
            let error = expectThrows(LocatedError.self, line: line) { _ = try PackageOptions(root: root) }
            expectEqual(error?.description, "\(root)/.testlogger:\(place): error: \(text)", line: line)
        }
        expectError("cannot open \(root)/.testlogger: No such file or directory")
        for text in ["--jobs 2\n", "\u{FEFF}--jobs 2\n"] {
            try FileAccess.write(Array(text.utf8), to: "\(root)/.testlogger")
            let lines = try PackageOptions(root: root)?.lines.map { "\($0.place.column) \($0.name)" }
            expectEqual(lines, ["1 --jobs"], text)
        }
        for (line, column, text) in [(1, 2, [0x2D, 0xFF]), (3, 5, Array("a\n\n# é\u{FF}".utf8.dropLast()))] {
            try FileAccess.write(text, to: "\(root)/.testlogger")
            expectError("expected text in UTF-8", at: "\(line):\(column)")
        }
        unlink("\(root)/.testlogger")
        let other = "expected a file with options but found a folder, a pipe or a device"
        mkfifo("\(root)/.testlogger", 0o600)
        expectError(other)
        unlink("\(root)/.testlogger")
        symlink("/dev/zero", "\(root)/.testlogger")
        expectError(other)
        unlink("\(root)/.testlogger")
        mkdir("\(root)/.testlogger", 0o700)
        expectError(other)
    }
}

enum PackageChoiceTests: SelfTesting {
    static var testSelectors: TestSelectors {
        .each("testFindsOptionsThatExcludeAllTests", obstacles, named: { "\($0.lines) \($0.types) \($0.chosen)" }) {
            row in
            let found = try choices(row.lines).obstacle(in: plan(row.types), of: "M", chosen: row.chosen)
            expectEqual(found.map { "\($0.line): \($1)" }, row.text)
        }
            + .each("testFindsMisspelledTypes", spellings) { chosen, known, texts in
                let found = try choices(chosen.map { "--test-type \($0)" }).misspeltTypes(in: plan(known), of: "M")
                expectEqual(found.map(\.1), texts)
            }
    }

    private static func choices(_ lines: [String]) throws -> [PackageOptions.Line] {
        var options = try CommandLineOptions([])
        try options.add(PackageOptions(text: lines.joined(separator: "\n"), path: "/p"))
        return options.packageChoices
    }

    private static func plan(_ types: [String]) -> [PlannedTest] {
        types.enumerated().map { PlannedTest(typeName: "T", testName: "\($0)", testType: $1, module: "M") }
    }

    private static let obstacles: [(lines: [String], types: [String], chosen: [String], text: String?)] = [
        ([], ["slow"], [], nil), (["--skip T"], [], [], nil), (["--skip T.1"], ["unit", "unit"], [], nil),
        (["--skip T.1", "--skip 0"], ["unit", "slow"], [], "2: skipping '0' leaves none of the 2 tests of M to run"),
        (["--skip T"], ["unit"], [], "1: skipping 'T' leaves the only test of M out"),
        // The command line chose the test type.
        (["--skip T"], ["unit"], ["slow"], nil),
        (
            ["--test-type slo"], ["slow"], ["slo"],
            "1: test type 'slo' leaves the only test of M out; did you mean 'slow'?"
        ),
        (["--test-type a", "--test-type slow", "--skip 0"], ["unit", "slow"], ["a", "slow"], nil),
    ]

    private static let spellings = [
        (["slwo"], ["unit", "slow"], ["M has no test type 'slwo'; did you mean 'slow'?"]),
        (["slow", "slwo"], ["unit", "slow"], []), (["uni"], ["unit"], []), (["network"], ["unit"], []),
        (["unit"], ["unit", "unix"], []),
    ]
}
#endif
