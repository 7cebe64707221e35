// `.testlogger`, a file in a package's folder: what every run of its tests is to be like, the build's steps too.

import TestSupervision

/// A line of `.testlogger` that is not understood.
struct PackageOptionsError: Error, Equatable, CustomStringConvertible {
    /// `path:line:column: error: message`, as a compiler writes it.
    var description: String
}

/// The options of a package: those of the command line that make sense for a build's step, too, one a line.
///
///     # The network is slow here.
///     --timeout 20000
///     --test-type unit
///     --test-type network
///
/// What stands behind `#` at the beginning of a line or behind a space is a comment. A value is the rest of its line. What
/// the command line says of an option stands in place of all that the file says of it.
struct PackageOptions: Equatable {
    struct Line: Equatable {
        var name: String
        /// Nil for an option without one.
        var value: String?
        var number: Int
        /// Where the option begins, and its value, in bytes from 1.
        var column: Int
        var valueColumn: Int
    }

    static let fileName = ".testlogger"

    let path: String
    private(set) var lines: [Line] = []

    /// Reads the file of a package, if it has one.
    init?(root: String) throws(PackageOptionsError) {
        let path = "\(root)/\(Self.fileName)"
        // A link to nothing is somebody's mistake.
        guard FileAccess.exists(path) || FileAccess.isLink(path) else { return nil }
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try FileAccess.contents(of: path) } catch {
            throw PackageOptionsError(description: "\(path):1:1: error: \(error.description)")
        }
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0  // a byte order mark
        guard let text = String(validating: bytes[start...], as: UTF8.self) else {
            throw PackageOptionsError(description: "\(path):1:1: error: expected text in UTF-8")
        }
        try self.init(text: text, path: path)
    }

    init(text: String, path: String) throws(PackageOptionsError) {
        self.path = path
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            guard let option = Self.read(line, number: index + 1) else { continue }
            guard option.name.hasPrefix("-") else {
                throw error(
                    "expected an option such as '--timeout 20000' but found '\(option.name)'", option, option.column)
            }
            self.lines.append(option)
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Reads `--name value`, `--name=value` or `--name`; nil when nothing but a comment is there.
    private static func read(_ text: Substring, number: Int) -> Line? {
        let bytes = Array(text.utf8)
        var end =
            bytes.indices.first {
                bytes[$0] == UInt8(ascii: "#") && ($0 == 0 || isSpace(bytes[$0 - 1]))
            } ?? bytes.count
        while end > 0, isSpace(bytes[end - 1]) { end -= 1 }
        guard let start = bytes[..<end].firstIndex(where: { !isSpace($0) }) else { return nil }
        let nameEnd = bytes[start..<end].firstIndex { isSpace($0) || $0 == UInt8(ascii: "=") } ?? end
        var line = Line(
            name: String(decoding: bytes[start..<nameEnd], as: UTF8.self), number: number, column: start + 1,
            valueColumn: start + 1)
        if nameEnd < end {
            let valueStart = bytes[(nameEnd + 1)..<end].firstIndex { !isSpace($0) } ?? end
            line.value = String(decoding: bytes[valueStart..<end], as: UTF8.self)
            line.valueColumn = valueStart + 1
        }
        return line
    }

    func error(_ message: String, _ line: Line, _ column: Int) -> PackageOptionsError {
        PackageOptionsError(description: "\(path):\(line.number):\(column): error: \(message)")
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
            "testReadsOptions": testReadsOptions, "testTheCommandLineWins": testTheCommandLineWins,
            "testReadsTheFileThatIsThere": testReadsTheFileThatIsThere,
        ]
            + .each("testSaysWhatIsWrong", mistakes) { text, message in
                let error = expectThrows(PackageOptionsError.self) { _ = try options(text) }
                expectEqual(error?.description, "/p/.testlogger:\(message)")
            }
            + .each("testSaysWhichPatternIsWrong", [[], ["--skip", "b"], ["--exact"]]) { words in
                let error = expectThrows(PackageOptionsError.self) { _ = try options("\n --skip  (", words) }
                let start = "/p/.testlogger:2:10: error: '(' is not a regular expression: "
                expectTrue(error?.description.hasPrefix(start) ?? false)
            }
    }

    private static func options(_ text: String, _ words: [String] = []) throws -> CommandLineOptions {
        var options = try CommandLineOptions(words)
        try options.add(PackageOptions(text: text, path: "/p/.testlogger"))
        return options
    }

    private static func testReadsOptions() throws {
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

    private static func testTheCommandLineWins() throws {
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
        ("--watch", "1:1: error: option '--watch' is of one command, not of a package"),
        ("--zzzzzzzzzz", "1:1: error: unknown option '--zzzzzzzzzz'"),
        ("--color red", "1:9: error: option '--color' expects one of auto, always, never, not 'red'"),
    ]

    private static func testReadsTheFileThatIsThere() throws {
        let root = try temporaryDirectory()
        expectNil(try PackageOptions(root: root))
        symlink("nowhere", "\(root)/.testlogger")
        func expectError(_ text: String, line: UInt = #line) {
            let error = expectThrows(PackageOptionsError.self, line: line) { _ = try PackageOptions(root: root) }
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
