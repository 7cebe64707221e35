// The contract between Bazel and its test runners, with Bazel's variables and without Bazel.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct BazelTests {
        let package: FixturePackage
        let folder: URL
        /// What Bazel sets for every test.
        let variables: [String: String]

        init() throws {
            package = try SharedPackages.runs.get()
            folder = Fixtures.folder.appending(path: "bazel-\(UUID().uuidString)")
            var variables: [String: String] = [:]
            for (name, path) in [("TEST_TMPDIR", "tmp"), ("TEST_UNDECLARED_OUTPUTS_DIR", "outputs")] {
                let url = folder.appending(path: path)
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
                variables[name] = url.path
            }
            for (name, path) in [
                ("XML_OUTPUT_FILE", "test.xml"), ("TEST_PREMATURE_EXIT_FILE", "premature"),
                ("TEST_WARNINGS_OUTPUT_FILE", "warnings"), ("TEST_INFRASTRUCTURE_FAILURE_FILE", "infrastructure"),
                ("TEST_SHARD_STATUS_FILE", "shards"), ("RUNS_ATTEMPTS", "."),
            ] { variables[name] = folder.appending(path: path).path }
            self.variables = variables
        }

        private func run(_ words: String..., adding more: [String: String] = [:]) throws -> ProgramResult {
            try package.testlogger(["Runs"] + words, environment: variables.merging(more) { $1 })
        }

        private func names(_ path: String = ".") throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: path).path).sorted()
        }

        private func text(_ path: String) throws -> String {
            try String(contentsOf: folder.appending(path: path), encoding: .utf8)
        }

        @Test func filesAreWhereBazelLooks() throws {
            let result = try run(
                "--retries", "1", adding: ["TESTBRIDGE_TEST_ONLY": "Directories/test(Fails|Passes)$|Flaky/testCrashes"])
            #expect(result.status == 1)
            #expect(try names() == ["crash", "outputs", "shards", "test.xml", "tmp", "warnings"])
            #expect(try names("tmp") == [])
            #expect(
                try names("outputs") == ["Directories.testFails", "Directories.testFails-2", "testlogger.jsonl"])
            #expect(try names("outputs/Directories.testFails/inner") == ["file"])
            #expect(try text("test.xml").contains(#"tests="3" failures="1" errors="0""#))
            #expect(try text("outputs/testlogger.jsonl").contains(#""event":"summary","planned":3,"passed":2"#))
            #expect(
                try text("warnings").hasPrefix("Sources/Runs/Flaky.swift:30:86: warning: flaky: passed at attempt 2"))
        }

        @Test func shardsAreTheWholeAndMayBeEmpty() throws {
            var cases = 0
            for shard in 0..<20 {
                let result = try run(
                    "--skip", "Hangs|Crashes|Exits|Never",
                    adding: ["TEST_TOTAL_SHARDS": "20", "TEST_SHARD_INDEX": "\(shard)"])
                let xml = try text("test.xml")
                cases += xml.components(separatedBy: "<testcase ").count - 1
                // 8 tests and 20 shards: most of them are empty.
                if shard >= 8 { #expect(result.status == 0, "shard \(shard): \(result)") }
                #expect(xml.hasSuffix("</testsuites>\n"))
                #expect(try names().contains("shards"))
            }
            #expect(cases == 8)
        }

        @Test func aTimeLimitLeavesAReport() throws {
            var xml = ""
            // On a busy machine the time may be over before the test is begun; then it was too short.
            for seconds in [1, 10, 100] where !xml.contains(#"line="64""#) {
                #expect(try run("--test-type", "long", adding: ["TEST_TIMEOUT": "\(seconds)"]).status == 1)
                xml = try text("test.xml")
            }
            #expect(xml.contains("got end of the run by its time limit"), "\(xml)")
            #expect(xml.contains(#"line="64""#), "the stack says where the test was: \(xml)")
            #expect(try names("tmp") == [])
            #expect(try !names().contains("premature"))
        }

        @Test func aSignalLeavesAReport() throws {
            let program = try package.startTestlogger(["Runs", "--test-type", "long"], environment: variables)
            let tmp = folder.appending(path: "tmp")
            try program.wait(for: "the test's first file") { package.hasBegunLongTest(in: tmp) }
            program.send(SIGTERM)
            #expect(try program.result().status == 143)
            #expect(try text("test.xml").contains("got end of the run by SIGTERM"))
            #expect(try names("tmp") == [])
        }

        @Test func aBrokenRunnerIsNamed() throws {
            let result = try package.testlogger(
                ["Runs", "--junit", "/nowhere/test.xml", "--filter", "testAsksForNone"], environment: variables)
            #expect(result.status == 3)
            #expect(try text("infrastructure").hasPrefix("testlogger\ncannot create /nowhere/test.xml"))
            #expect(try !names().contains("premature"))
        }

        @Test func pathsMayBeMapped() throws {
            let result = try run(
                "--filter", "Directories.testFailsWith", "--path-map", "/elsewhere=x", "--path-map",
                "\(package.folder.path)/=workspace/")
            #expect(
                result.lines.contains { $0.hasPrefix("workspace/Sources/Runs/Directories.swift:46:13: error: ") },
                "\(result)")
            #expect(try text("test.xml").contains(#"file="workspace/Sources/Runs/Directories.swift""#))
        }
    }
}
