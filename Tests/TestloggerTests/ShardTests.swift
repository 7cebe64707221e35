// Parts of a run for several machines: together they are the whole, and no test is in two. Also what Bazel says and
// expects to be told through the environment and files.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct ShardTests {
        let package: FixturePackage

        init() throws { package = try SharedPackages.diagnostics.get() }

        private static let calm = ["COUNTING_CALM": "1"]

        /// Runs, and returns the tests that have run in the order in which they are reported.
        private func run(
            _ words: [String], environment: [String: String] = [:], status: Int32? = nil,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws -> [String] {
            let result = try package.testlogger(
                words + ["--json", package.file("shard.json").path, "Counting", "Orchard"],
                environment: Self.calm.merging(environment) { $1 })
            #expect(
                status.map { $0 == result.status } ?? [0, 1].contains(result.status), "\(result)",
                sourceLocation: sourceLocation)
            return try ReportedEvent.read(package.text(of: "shard.json")).filter { $0.event == "finished" }.map(\.test)
        }

        private func expectWhole(
            _ parts: [[String]], _ whole: [String], sourceLocation: SourceLocation = #_sourceLocation
        ) {
            #expect(parts.flatMap(\.self).sorted() == whole.sorted(), sourceLocation: sourceLocation)
            #expect(Set(whole).count == whole.count, sourceLocation: sourceLocation)
            for part in parts {
                #expect(part == whole.filter(Set(part).contains), "the order stays", sourceLocation: sourceLocation)
            }
        }

        @Test(arguments: [1, 2, 3, 7])
        func shardsAreTheWhole(count: Int) throws {
            let whole = try run([])
            #expect(whole.count == 48)
            let shards = try (1...count).map { try run(["--shard", "\($0)/\(count)"]) }
            expectWhole(shards, whole)
            let bazel = try (0..<count).map {
                try run([], environment: ["TEST_TOTAL_SHARDS": "\(count)", "TEST_SHARD_INDEX": "\($0)"])
            }
            #expect(bazel == shards)
        }

        /// A filter comes first, and a part of few tests is even.
        @Test func shardsOfSelection() throws {
            let selection = ["--filter", "test(0|G|R)", "--skip", "test05"]
            let whole = try run(selection)
            #expect(whole.count == 9 + 6)
            let shards = try (1...4).map { try run(selection + ["--shard", "\($0)/4"]) }
            expectWhole(shards, whole)
            // Each module is divided by itself.
            #expect(shards.allSatisfy { (3...5).contains($0.count) }, "\(shards.map(\.count))")
        }

        /// More machines than tests: some have nothing to do, and say so in a valid report.
        @Test func emptyShardPasses() throws {
            let report = package.file("empty.xml")
            let sizes = try (1...5).map { number in
                try FileManager.default.removeItemIfThere(report)
                let words = ["--filter", "Apple", "--shard", "\(number)/5", "--junit", report.path]
                let count = try run(words, status: 0).count
                #expect(try JUnitReader(Data(contentsOf: report)).cases.count == count)
                if JUnitReader.hasValidator { try JUnitReader.expectValid([report]) }
                return count
            }
            #expect(sizes == [1, 1, 1, 1, 0])
        }

        @Test(arguments: ["0/2", "3/2", "x", "1", "1/0", "hash:1/2"])
        func wrongShard(text: String) throws {
            let result = try package.testlogger(["--shard", text, "Counting"])
            #expect(result.status == 2)
            #expect(result.errors.hasPrefix("error: option '--shard' expects I/N"), "\(result)")
        }

        // MARK: Bazel

        @Test func bazelFiles() throws {
            let xml = package.file("bazel.xml")
            let status = package.file("shard-status")
            let premature = package.file("premature")
            for file in [xml, status, premature] { try FileManager.default.removeItemIfThere(file) }
            let environment = [
                "TEST_TOTAL_SHARDS": "2", "TEST_SHARD_INDEX": "1", "TEST_SHARD_STATUS_FILE": status.path,
                "XML_OUTPUT_FILE": xml.path, "TEST_PREMATURE_EXIT_FILE": premature.path,
                "TESTBRIDGE_TEST_ONLY": "Apple/test", "TEST_TMPDIR": package.folder.path,
            ]
            let tests = try run([], environment: environment, status: 0)
            #expect(tests == ["Apple.testRipens", "Apple.testRots"])
            #expect(FileManager.default.fileExists(atPath: status.path))
            #expect(!FileManager.default.fileExists(atPath: premature.path))
            let data = try Data(contentsOf: xml)
            #expect(try JUnitReader(data).cases.map(\.name) == tests.map { "Orchard.\($0)" })
            // Bazel takes a time without a point for milliseconds.
            let times = try JUnitReader(data).suites.compactMap { $0["time"] }
            #expect(times.count > 1 && times.allSatisfy { $0.contains(".") }, "\(times)")
            if JUnitReader.hasValidator { try JUnitReader.expectValid([xml]) }
        }

        @Test func bazelFailFast() throws {
            let all = try run([], environment: ["ORCHARD_ROTTEN": "Apple.testRipens"], status: 1)
            #expect(all.count == 48)
            let few = try run(
                ["--filter", "Apple", "--jobs", "1"],
                environment: [
                    "ORCHARD_ROTTEN": "Apple.testRipens", "TESTBRIDGE_TEST_RUNNER_FAIL_FAST": "1",
                ], status: 1)
            // It failed before, so it comes first.
            #expect(few == ["Apple.testRipens"])
            let xml = package.file("fast.xml")
            let result = try package.testlogger(
                ["--jobs", "2", "--junit", xml.path, "Counting"],
                environment: Self.calm.merging(["TESTBRIDGE_TEST_RUNNER_FAIL_FAST": "1"]) { $1 })
            #expect(result.status == 1)
            let cases = try JUnitReader(Data(contentsOf: xml)).cases
            #expect(cases.count == 40)
            #expect(cases.filter { $0.attributes["status"] == "notrun" }.count > 20, "\(cases.map(\.attributes))")
        }

        /// At nine tenths of its time a run ends itself, and marks what was running.
        @Test func bazelTimeLimit() throws {
            let xml = package.file("limit.xml")
            var cases: [JUnitCase] = []
            // On a busy machine the time may be over before the tests are known; then it was too short.
            for seconds in [2, 20, 200] where cases.count < 3 {
                let start = ContinuousClock.now
                let result = try package.testlogger(
                    ["--test-type", "hanging", "--timeout", "600000", "Hostile"],
                    environment: ["TEST_TIMEOUT": "\(seconds)", "XML_OUTPUT_FILE": xml.path, "BAZEL_RUN": "limit"])
                #expect(ContinuousClock.now - start < .seconds(500), "well before a test's own limit")
                #expect(result.status != 0, "\(result)")
                #expect(try RunningPrograms.processes(with: "BAZEL_RUN=limit") == [])
                cases = try JUnitReader(Data(contentsOf: xml)).cases
            }
            #expect(cases.count == 3)
            #expect(cases.contains { $0.outcome == "error" }, "\(cases)")
            #expect(cases.contains { $0.attributes["status"] == "notrun" }, "\(cases)")
            if JUnitReader.hasValidator { try JUnitReader.expectValid([xml]) }
        }

        @Test(arguments: [
            (["TEST_TOTAL_SHARDS": "2"], "TEST_TOTAL_SHARDS is 2, but TEST_SHARD_INDEX is no number below it"),
            (["TEST_TOTAL_SHARDS": "2", "TEST_SHARD_INDEX": "2"], "TEST_TOTAL_SHARDS is 2"),
            (["TEST_TOTAL_SHARDS": "two"], "TEST_TOTAL_SHARDS is 'two', which is no number"),
            (["TESTBRIDGE_TEST_ONLY": "("], "'(' is not a regular expression"),
        ])
        func bazelNonsense(environment: [String: String], message: String) throws {
            let result = try package.testlogger(["Orchard"], environment: environment)
            #expect(result.status == 2, "\(result)")
            #expect(result.errors.contains(message), "\(result)")
        }
    }
}

extension FileManager {
    func removeItemIfThere(_ file: URL) throws {
        if fileExists(atPath: file.path) { try removeItem(at: file) }
    }
}
