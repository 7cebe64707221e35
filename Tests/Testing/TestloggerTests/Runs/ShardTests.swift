// Tests shards, the parts of a run for several machines. Together they run each test exactly once.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct ShardTests {
        let package: FixturePackage

        init() throws { package = try SharedPackages.diagnostics.get() }

        private static let calm = ["COUNTING_CALM": "1"]

        /// Runs tests and returns their names in the order of the report.
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
        func shardsRunEachTestOnce(count: Int) throws {
            let whole = try run([])
            #expect(whole.count == 48)
            let shards = try (1...count).map { try run(["--shard", "\($0)/\(count)"]) }
            expectWhole(shards, whole)
        }

        /// A selection of tests doesn't move any test to another shard.
        @Test func selectionKeepsTestsInTheirShards() throws {
            let selection = ["--filter", "test(0|G|R)", "--skip", "test05"]
            let whole = try run(selection)
            #expect(whole.count == 9 + 6)
            let shards = try (1...4).map { try run(selection + ["--shard", "\($0)/4"]) }
            expectWhole(shards, whole)
            for (number, shard) in shards.enumerated() {
                let all = try run(["--shard", "\(number + 1)/4"])
                #expect(shard == all.filter(whole.contains))
            }
        }

        /// If there are more shards than tests, some shards are empty. They pass and write valid reports.
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
            #expect(sizes.reduce(0, +) == 4 && sizes.contains(0), "\(sizes)")
        }

        @Test(arguments: ["0/2", "3/2", "x", "1", "1/0", "hash:1/2"])
        func rejectsInvalidShards(text: String) throws {
            let result = try package.testlogger(["--shard", text, "Counting"])
            #expect(result.status == 2)
            #expect(result.errors.hasPrefix("error: option '--shard' expects I/N"), "\(result)")
        }

        @Test func manyShardsRunEachTestOnce() throws {
            let shards = try (1...20).map { shard in
                // There are fewer tests than shards, so most shards are empty.
                try run(["--filter", "Apple|Pear", "--shard", "\(shard)/20"], status: nil)
            }
            #expect(shards.filter(\.isEmpty).count >= 10)
            expectWhole(shards, try run(["--filter", "Apple|Pear"]))
        }

        @Test func startsNoTestAfterAFailure() throws {
            let rotten = ["ORCHARD_ROTTEN": "Apple.testRipens"]
            #expect(try run([], environment: rotten, status: 1).count == 48)
            // This test failed in the last run, so it runs first.
            let few = try run(["--filter", "Apple", "--jobs", "1", "--fail-fast"], environment: rotten, status: 1)
            #expect(few == ["Apple.testRipens"])
            let xml = package.file("fast.xml")
            let result = try package.testlogger(
                ["--jobs", "2", "--fail-fast", "--junit", xml.path, "Counting"], environment: Self.calm)
            #expect(result.status == 1)
            let cases = try JUnitReader(Data(contentsOf: xml)).cases
            #expect(cases.count == 40)
            #expect(cases.filter { $0.attributes["status"] == "notrun" }.count > 20, "\(cases.map(\.attributes))")
        }
    }
}

extension FileManager {
    func removeItemIfThere(_ file: URL) throws {
        if fileExists(atPath: file.path) { try removeItem(at: file) }
    }
}
