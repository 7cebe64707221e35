// What Bazel tells its test runners through the environment (its test encyclopedia): a run inside Bazel needs no options.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import TestReporting
import TestSupervision

struct BazelEnvironment {
    private let variables: (String) -> String?

    /// Reads the variables of this process.
    init() { self.init(Environment.value) }

    init(_ variables: @escaping (String) -> String?) { self.variables = variables }

    /// The path of the file that must be gone when the run is over, else the run has ended too early.
    var prematureExitFile: String? { variables("TEST_PREMATURE_EXIT_FILE") }

    /// Changes options by what the environment says; an option that was given stays.
    ///
    /// - Throws: `UsageError` for a variable whose value makes no sense.
    func apply(to options: inout CommandLineOptions) throws(UsageError) {
        if let total = try number("TEST_TOTAL_SHARDS"), options.shard == nil {
            guard let index = try number("TEST_SHARD_INDEX"), index < total else {
                throw UsageError(
                    description: "TEST_TOTAL_SHARDS is \(total), but TEST_SHARD_INDEX is no number below it")
            }
            options.shard = TestShard(index: index, count: total)
        }
        if let filter = variables("TESTBRIDGE_TEST_ONLY"), !filter.isEmpty { options.filters.append(filter) }
        if options.junitPath == nil { options.junitPath = variables("XML_OUTPUT_FILE") }
        if variables("TESTBRIDGE_TEST_RUNNER_FAIL_FAST") == "1" { options.stopsAtFirstFailure = true }
        if options.isShuffled, options.seed == nil {
            let name = variables("TEST_RANDOM_SEED") == nil ? "TEST_RUN_NUMBER" : "TEST_RANDOM_SEED"
            options.seed = try number(name).map { UInt64($0) }
        }
        // What stays behind after a run: everything that happened, and what failed tests have left.
        if let folder = folder("TEST_UNDECLARED_OUTPUTS_DIR") {
            if options.jsonPath == nil { options.jsonPath = "\(folder)/testlogger.jsonl" }
            options.keptDirectoryFolder = folder
        }
        options.warningsPath = variables("TEST_WARNINGS_OUTPUT_FILE")
    }

    private func folder(_ name: String) -> String? {
        variables(name).flatMap { FileAccess.isDirectory($0) ? $0 : nil }
    }

    private func number(_ name: String) throws(UsageError) -> Int? {
        guard let text = variables(name), !text.isEmpty else { return nil }
        guard let number = Int(text), number >= 0 else {
            throw UsageError(description: "\(name) is '\(text)', which is no number")
        }
        return number
    }

    /// Does what Bazel expects before the first test: says that shards are understood, and that the run has begun.
    func begin() throws(SystemError) {
        for path in [variables("TEST_SHARD_STATUS_FILE"), prematureExitFile].compactMap(\.self) {
            try FileAccess.write([], to: path)
        }
        for (name, value) in environment { setenv(name, value, 1) }
        // Nine tenths of the time limit, so that there is time left to say how far the run got.
        if let seconds = variables("TEST_TIMEOUT").flatMap({ Int($0) }), seconds > 0 {
            Interruption.endRuns(at: ContinuousClock.now + .milliseconds(seconds * 900))
        }
    }

    /// What tests find in their environment in place of what Bazel has put there: all temporary files, and what programs
    /// keep at home, belong into Bazel's folder; resources are among the runfiles.
    var environment: [(name: String, value: String)] {
        var environment: [(name: String, value: String)] = []
        if let folder = variables("TEST_TMPDIR") {
            environment.append(("TMPDIR", folder))
            if variables("HOME") == nil { environment.append(("HOME", folder)) }
        }
        if let folder = folder("RUNFILES_DIR") ?? folder("TEST_SRCDIR") {
            let workspace = variables("TEST_WORKSPACE").map { "\(folder)/\($0)" } ?? folder
            environment.append(("IN_CLASS_RESOURCES", workspace == folder ? folder : "\(workspace):\(folder)"))
        }
        return environment
    }

    /// Does what Bazel expects at the end, the premature exit file's removal as the very last act.
    ///
    /// - Parameter failure: why the tests could not be run, if they could not.
    func end(failure: String?) {
        if let failure, let path = variables("TEST_INFRASTRUCTURE_FAILURE_FILE") {
            // The first line names the component, the second says what happened.
            let line = failure.split(separator: "\n").joined(separator: " ")
            try? FileAccess.write(Array("testlogger\n\(line)\n".utf8), to: path)
        }
        if let path = prematureExitFile { unlink(path) }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension BazelEnvironment: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSetsOptions": testSetsOptions,
            "testOptionsOnTheCommandLineStay": testOptionsOnTheCommandLineStay,
            "testRefusesNonsense": testRefusesNonsense,
            "testPutsFilesWhereBazelLooks": testPutsFilesWhereBazelLooks,
            "testTestsFindBazelsFolders": testTestsFindBazelsFolders,
            "testSaysThatTheRunnerBroke": testSaysThatTheRunnerBroke,
        ]
    }

    private static func options(_ variables: [String: String], _ words: [String] = []) throws -> CommandLineOptions {
        var options = try CommandLineOptions(words)
        try BazelEnvironment { variables[$0] }.apply(to: &options)
        return options
    }

    private static func testSetsOptions() throws {
        let options = try options([
            "TEST_TOTAL_SHARDS": "3", "TEST_SHARD_INDEX": "2", "TESTBRIDGE_TEST_ONLY": "Stack/testPush",
            "TESTBRIDGE_TEST_RUNNER_FAIL_FAST": "1",
        ])
        expectEqual(options.shard, TestShard(index: 2, count: 3))
        expectEqual(options.filters, ["Stack/testPush"])
        expectTrue(options.stopsAtFirstFailure)
        expectEqual(try self.options([:]), try CommandLineOptions([]))
    }

    private static func testOptionsOnTheCommandLineStay() throws {
        let variables = ["TEST_TOTAL_SHARDS": "3", "TEST_SHARD_INDEX": "2", "TEST_RANDOM_SEED": "5"]
        expectEqual(try options(variables, ["--shard", "1/2"]).shard, TestShard(index: 0, count: 2))
        expectEqual(try options(variables, ["--shuffle"]).seed, 5)
        expectEqual(try options(variables, ["--shuffle=6"]).seed, 6)
        expectEqual(try options(["TEST_RUN_NUMBER": "4"], ["--shuffle"]).seed, 4)
        expectNil(try options(variables).seed)
    }

    private static func testPutsFilesWhereBazelLooks() throws {
        let folder = try temporaryDirectory()
        let variables = [
            "XML_OUTPUT_FILE": "/x/test.xml", "TEST_WARNINGS_OUTPUT_FILE": "/x/warnings",
            "TEST_UNDECLARED_OUTPUTS_DIR": folder,
        ]
        var found = try options(variables)
        expectEqual(found.junitPath, "/x/test.xml")
        expectEqual(found.warningsPath, "/x/warnings")
        expectEqual(found.jsonPath, "\(folder)/testlogger.jsonl")
        expectEqual(found.keptDirectoryFolder, folder)
        found = try options(variables, ["--junit", "a", "--json", "b"])
        expectEqual(found.junitPath, "a")
        expectEqual(found.jsonPath, "b")
        expectNil(try options(["TEST_UNDECLARED_OUTPUTS_DIR": "\(folder)/missing"]).jsonPath)
    }

    private static func testTestsFindBazelsFolders() throws {
        let folder = try temporaryDirectory()
        func environment(_ variables: [String: String]) -> [String] {
            BazelEnvironment { variables[$0] }.environment.map { "\($0.name)=\($0.value)" }
        }
        expectEqual(environment([:]), [])
        expectEqual(environment(["TEST_TMPDIR": "/t"]), ["TMPDIR=/t", "HOME=/t"])
        expectEqual(environment(["TEST_TMPDIR": "/t", "HOME": "/h"]), ["TMPDIR=/t"])
        let variables = ["TEST_SRCDIR": folder, "TEST_WORKSPACE": "main"]
        expectEqual(environment(variables), ["IN_CLASS_RESOURCES=\(folder)/main:\(folder)"])
        expectEqual(environment(["RUNFILES_DIR": folder]), ["IN_CLASS_RESOURCES=\(folder)"])
        expectEqual(environment(["TEST_SRCDIR": "\(folder)/missing"]), [])
    }

    private static func testSaysThatTheRunnerBroke() throws {
        let folder = try temporaryDirectory()
        let variables = [
            "TEST_INFRASTRUCTURE_FAILURE_FILE": "\(folder)/failure", "TEST_PREMATURE_EXIT_FILE": "\(folder)/exit",
        ]
        let bazel = BazelEnvironment { variables[$0] }
        try bazel.begin()
        expectEqual(FileAccess.names(in: folder), ["exit"])
        bazel.end(failure: nil)
        expectEqual(FileAccess.names(in: folder), [])
        bazel.end(failure: "cannot link:\nno space")
        expectEqual(
            String(decoding: try FileAccess.contents(of: "\(folder)/failure"), as: UTF8.self),
            "testlogger\ncannot link: no space\n")
    }

    private static func testRefusesNonsense() {
        for variables in [
            ["TEST_TOTAL_SHARDS": "x"], ["TEST_TOTAL_SHARDS": "2"],
            ["TEST_TOTAL_SHARDS": "2", "TEST_SHARD_INDEX": "2"],
        ] {
            expectThrows(UsageError.self, "\(variables)") { _ = try options(variables) }
        }
    }
}
#endif
