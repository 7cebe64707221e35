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
    init() { self.init { name in getenv(name).map { String(cString: $0) } } }

    init(_ variables: @escaping (String) -> String?) { self.variables = variables }

    /// The path of the file that must be gone when the run is over, else the run has ended too early.
    var prematureExitFile: String? { variables("TEST_PREMATURE_EXIT_FILE") }

    /// Changes options by what the environment says; an option that was given stays.
    ///
    /// - Throws: `UsageError` for a variable whose value makes no sense.
    func apply(to options: inout Options) throws(UsageError) {
        if let total = try number("TEST_TOTAL_SHARDS"), options.partition == nil {
            guard let index = try number("TEST_SHARD_INDEX"), index < total else {
                throw UsageError(
                    description: "TEST_TOTAL_SHARDS is \(total), but TEST_SHARD_INDEX is no number below it")
            }
            options.partition = .slice(index: index, count: total)
        }
        if let filter = variables("TESTBRIDGE_TEST_ONLY"), !filter.isEmpty { options.filters.append(filter) }
        if options.junitPath == nil { options.junitPath = variables("XML_OUTPUT_FILE") }
        if variables("TESTBRIDGE_TEST_RUNNER_FAIL_FAST") == "1" { options.stopsAtFirstFailure = true }
        if options.isShuffled, options.seed == nil, let seed = try number("TEST_RANDOM_SEED") {
            options.seed = UInt64(seed)
        }
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
        if let folder = variables("TEST_TMPDIR") { setenv("TMPDIR", folder, 1) }
        // Nine tenths of the time limit, so that there is time left to say how far the run got.
        if let seconds = variables("TEST_TIMEOUT").flatMap({ Int($0) }), seconds > 0 {
            Interruption.endRuns(at: ContinuousClock.now + .milliseconds(seconds * 900))
        }
    }

    /// Does what Bazel expects as the very last act.
    func end() { if let path = prematureExitFile { unlink(path) } }
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
        ]
    }

    private static func options(_ variables: [String: String], _ words: [String] = []) throws -> Options {
        var options = try Options(words)
        try BazelEnvironment { variables[$0] }.apply(to: &options)
        return options
    }

    private static func testSetsOptions() throws {
        let options = try options([
            "TEST_TOTAL_SHARDS": "3", "TEST_SHARD_INDEX": "2", "TESTBRIDGE_TEST_ONLY": "Stack/testPush",
            "TESTBRIDGE_TEST_RUNNER_FAIL_FAST": "1",
        ])
        expectEqual(options.partition, .slice(index: 2, count: 3))
        expectEqual(options.filters, ["Stack/testPush"])
        expectTrue(options.stopsAtFirstFailure)
        expectEqual(try self.options([:]), try Options([]))
    }

    private static func testOptionsOnTheCommandLineStay() throws {
        let variables = ["TEST_TOTAL_SHARDS": "3", "TEST_SHARD_INDEX": "2", "TEST_RANDOM_SEED": "5"]
        expectEqual(try options(variables, ["--shard", "1/2"]).partition, .slice(index: 0, count: 2))
        expectEqual(try options(variables, ["--shuffle"]).seed, 5)
        expectEqual(try options(variables, ["--shuffle=6"]).seed, 6)
        expectNil(try options(variables).seed)
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
