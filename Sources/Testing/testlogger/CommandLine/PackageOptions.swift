// Reads `.testlogger`, a file in a package's folder with options for every run of its tests, including build steps.

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
        var number: Int
        /// The columns of the option and of its value, in bytes from 1.
        var column: Int
        var valueColumn: Int
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
            throw LocatedError(path: path, error.description)
        }
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0  // a byte order mark
        guard let text = String(validating: bytes[start...], as: UTF8.self) else {
            throw LocatedError(path: path, "expected text in UTF-8")
        }
        try self.init(text: text, path: path)
    }

    init(text: String, path: String) throws(LocatedError) {
        self.path = path
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            var code = line[..<(line.firstRange(of: /(?:^|[ \t])#/)?.lowerBound ?? line.endIndex)]
            while code.last == " " || code.last == "\t" { code.removeLast() }
            guard !code.isEmpty, let match = code.wholeMatch(of: /[ \t]*([^ \t=]*)(?:[ \t=][ \t]*(.*))?/) else {
                continue
            }
            let column = { (text: Substring) in line.utf8.distance(from: line.startIndex, to: text.startIndex) + 1 }
            let (name, value) = (match.1, match.2)
            guard name.hasPrefix("-") else {
                throw LocatedError(
                    path: path, line: index + 1, column: column(name),
                    "expected an option such as '--timeout 20000' but found '\(name)'")
            }
            self.lines.append(
                Line(
                    name: String(name), value: value.map(String.init), number: index + 1, column: column(name),
                    valueColumn: column(value ?? name)))
        }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
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
    ]

    private static func testReadsOnlyValidFiles() throws {
        let root = try temporaryDirectory()
        expectNil(try PackageOptions(root: root))
        symlink("nowhere", "\(root)/.testlogger")
        func expectError(_ text: String, line: UInt = #line) {
            let error = expectThrows(LocatedError.self, line: line) { _ = try PackageOptions(root: root) }
            expectEqual(error?.description, "\(root)/.testlogger:1:1: error: \(text)", line: line)
        }
        expectError("cannot open \(root)/.testlogger: No such file or directory")
        for text in ["--jobs 2\n", "\u{FEFF}--jobs 2\n"] {
            try FileAccess.write(Array(text.utf8), to: "\(root)/.testlogger")
            expectEqual(try PackageOptions(root: root)?.lines.map { "\($0.column) \($0.name)" }, ["1 --jobs"], text)
        }
        try FileAccess.write([0x2D, 0xFF], to: "\(root)/.testlogger")
        expectError("expected text in UTF-8")
    }
}
#endif
