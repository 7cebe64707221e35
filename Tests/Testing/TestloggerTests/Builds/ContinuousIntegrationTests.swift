// Runs the commands in the article on continuous integration, as a server would, in a package with a failing test.

import Foundation
import Testing

extension PackageTests {
    enum ContinuousIntegrationTests {}
}

extension PackageTests.ContinuousIntegrationTests {
    @Suite(.serialized, .slow)
    struct SlowTests {
        /// Returns the only block of a language below a heading.
        private static func block(_ language: String, below heading: String) throws -> String {
            try Article.named("ContinuousIntegration.md").block(language, below: heading)
        }

        private static func only(_ pattern: Regex<(Substring, Substring)>, in text: String) throws -> String {
            let matches = text.matches(of: pattern)
            try #require(matches.count == 1, "\(matches.count) in \(text)")
            return String(matches[0].1)
        }

        /// A package with a failing and a passing test, which SwiftPM has built once.
        private static let shop = Result {
            let package = try FixturePackage("Shop", as: "Shop on a server")
            try package.replace("2, \"count after", with: "3, \"count after", in: "Sources/Stock/Stock.swift")
            #expect(try package.build().status == 1)
            return package
        }

        private let package: FixturePackage

        init() throws {
            package = try Self.shop.get()
            try FileManager.default.removeItemIfThere(package.file("tests.xml"))
        }

        private func run(_ command: String, _ variables: [String: String] = [:]) throws -> ProgramResult {
            try RunningPrograms.run(["bash", "-e", "-c", command], in: package.folder, environment: variables)
        }

        /// Returns the outcome of each test in a report.
        ///
        /// - Parameter path: The path where the block collects the report.
        private func outcomes(_ path: String) throws -> [String: String] {
            let reader = try JUnitReader(Data(contentsOf: package.file(path)))
            return Dictionary(reader.cases.map { ($0.name, $0.outcome) }) { $1 }
        }

        private static let expected = ["Stock.Stock.testAdds": "failure", "Stock.Stock.testRuns": "passed"]

        @Test func gitHubShardsReportFailures() throws {
            let block = try Self.block("yaml", below: "GitHub")
            let command = try Self.only(/- run: (.+)/, in: block)
            let shards = try Self.only(/shard: \[(.+)\]/, in: block).split(separator: ", ")
            let path = try Self.only(/path: (.+)/, in: block)
            var all: [String: String] = [:]
            var annotations: [String] = []
            for shard in shards {
                let words = command.replacing("${{ matrix.shard }}", with: shard)
                let result = try run(
                    words, ["GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": package.folder.path])
                let found = try outcomes(path)
                #expect((result.status == 0) == !found.values.contains("failure"), "\(result)")
                annotations += result.text.split(separator: "\n").map(String.init).filter { $0.hasPrefix("::error ") }
                all.merge(found) { "\($0), then \($1)" }
            }
            #expect(all == Self.expected)
            #expect(annotations.count == 1 && annotations[0].contains("file=Sources/Stock/Stock.swift,"))
        }

        @Test func gitLabShardsReportFailures() throws {
            let block = try Self.block("yaml", below: "GitLab")
            let command = try Self.only(/script:\n +- (.+)/, in: block)
            let count = try Self.only(/parallel: (\d+)/, in: block)
            let path = try Self.only(/junit: (.+)/, in: block)
            var all: [String: String] = [:]
            for index in 1...(try #require(Int(count))) {
                let result = try run(command, ["CI_NODE_INDEX": "\(index)", "CI_NODE_TOTAL": count])
                let found = try outcomes(path)
                #expect((result.status == 0) == !found.values.contains("failure"), "\(result)")
                all.merge(found) { "\($0), then \($1)" }
            }
            #expect(all == Self.expected)
        }

        @Test func jenkinsReportsFailures() throws {
            let block = try Self.block("groovy", below: "Jenkins")
            let result = try run(Self.only(/sh '(.+)'/, in: block))
            #expect(result.status != 0, "\(result)")
            #expect(try outcomes(Self.only(/junit '(.+)'/, in: block)) == Self.expected)
        }
    }
}
