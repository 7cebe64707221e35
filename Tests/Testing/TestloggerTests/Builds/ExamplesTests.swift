// Checks that the packages in Examples still work. Benchmarks run once on small input and compare their results with
// those of other libraries. The timetable and the third-party format run with their tests, the backend's tests send
// requests to it, and fuzzers run briefly.

import Foundation
#if canImport(FoundationXML)
import FoundationXML
#endif
import Testing

extension TestloggerTests {
    enum ExamplesTests {}
}

extension TestloggerTests.ExamplesTests {
    @Suite(.serialized, .slow)
    struct SlowTests {
        /// The build folder of all nested packages but Fuzzing, so that the modules that they share are compiled once.
        private static let products = Fixtures.checkout.appending(path: ".build/examples")

        /// Builds a nested package with the debug configuration.
        ///
        /// - Returns: the folder of the package.
        private static func build(_ name: String, options: [String] = []) throws -> URL {
            let folder = Fixtures.checkout.appending(path: "Examples/\(name)")
            // The list of XCTest's tests comes from the index, and modules are shared only if all packages write one.
            let words = ["build", "--scratch-path", products.path] + options
            let build = try RunningPrograms.swift(words, in: folder)
            try #require(build.status == 0, "\(build)")
            return folder
        }

        private static func program(_ name: String) -> String { products.appending(path: "debug/\(name)").path }

        @Test func benchmarksAgreeWithTheirPeers() throws {
            // Not optimized, because that takes minutes; the fuzzers check results of optimized code.
            let folder = try Self.build("Benchmarks")
            let output = Fixtures.folder.appending(path: "benchmarks")
            let json = output.appending(path: "results.json")
            try FileManager.default.createDirectory(at: output, withIntermediateDirectories: true)
            let result = try RunningPrograms.run(
                [Self.program("Benchmarks"), "--smoke", "--json", json.path, "--plots", output.path], in: folder)
            #expect(result.status == 0, "\(result)")
            // The output consists of the measurements and two charts of each suite, for light and for dark pages.
            let measured = try JSONSerialization.jsonObject(with: Data(contentsOf: json)) as? [String: Any]
            let groups = try #require(measured?["groups"] as? [[String: Any]])
            for suite in Set(groups.compactMap { $0["suite"] as? String }) {
                for name in ["\(suite).svg", "\(suite)~dark.svg"] {
                    let parser = XMLParser(contentsOf: output.appending(path: name))
                    #expect(parser?.parse() == true, "\(name)")
                }
            }
            #expect(groups.count > 40)
        }

        @Test func buildsAndTestsTimetable() throws {
            let folder = try Self.build("Timetable")
            let result = try RunningPrograms.run([Self.program("timetable"), "--rows", "5000"], in: folder)
            #expect(result.status == 0, "\(result)")
            #expect(result.output.contains("5000 departures"), "\(result)")
        }

        @Test func buildsAndTestsThirdPartyFormat() throws {
            let folder = try Self.build("CBOR")
            let result = try RunningPrograms.run([Self.program("cbor"), "100"], in: folder)
            #expect(result.status == 0, "\(result)")
            #expect(result.output.matches(of: /times the speed of JSON/).count == 3, "\(result)")
            // AddingAFormat.md says that the reader and the writer together have fewer than 500 lines.
            let sources = folder.appending(path: "Sources/CBORStreaming")
            let files = try FileManager.default.contentsOfDirectory(atPath: sources.path)
                .map { sources.appending(path: $0) }
            let lines = try files.filter { !$0.lastPathComponent.hasSuffix("+Tests.swift") }.flatMap { file in
                try String(contentsOf: file, encoding: .utf8).components(separatedBy: "// MARK: - In-class tests")[0]
                    .split(separator: "\n").filter { !$0.trimmingPrefix(while: \.isWhitespace).isEmpty }
            }
            let code = lines.filter { !$0.trimmingPrefix(while: \.isWhitespace).hasPrefix("//") }
            #expect(code.count < 500, "lines of code")
            #expect(!code.contains { $0.contains("@testable") || $0.contains("@_spi") || $0.contains("package ") })
        }

        @Test func backendPassesItsTests() throws {
            // Its in-class tests are a step of the build.
            let folder = try Self.build("TasksBackend", options: ["--build-tests"])
            let result = try RunningPrograms.swift(
                ["test", "--skip-build", "--scratch-path", Self.products.path], in: folder)
            #expect(result.status == 0, "\(result)")
            let hasPeers = RunningPrograms.path(of: "wrk") != nil && RunningPrograms.path(of: "nginx") != nil
            guard hasPeers else { return }
            let words = [Self.program("TasksLoad"), "--rounds", "1", "--seconds", "1"]
            let load = try RunningPrograms.run(words, in: folder)
            #expect(load.status == 0, "\(load)")
            let writes = try RunningPrograms.run([Self.program("TasksLoad"), "--writes", "2"], in: folder)
            #expect(writes.status == 0 && writes.output.contains("none that was deleted"), "\(writes)")
        }

        #if os(Linux)
        @Test func fuzzersFindNothingInShortRuns() throws {
            let folder = Fixtures.checkout.appending(path: "Examples/Fuzzing")
            // This build isn't optimized either. `.ci/run` runs the optimized in-class tests. To find more, run the
            // release build of the fuzzers for hours.
            let words = [
                "build", "-c", "release", "--disable-index-store", "-Xswiftc", "-Onone", "-Xswiftc",
                "-sanitize=fuzzer,address",
            ]
            let build = try RunningPrograms.swift(words + ["-Xswiftc", "-use-ld=lld"], in: folder)
            try #require(build.status == 0, "\(build)")
            for target in [
                "FuzzJSONReader", "FuzzJSONRoundTrip", "FuzzObjects", "FuzzColumns", "FuzzTrees", "FuzzBinding",
                "FuzzSQLite", "FuzzXML", "FuzzCSV", "FuzzTextPlist", "FuzzBinaryPlist",
            ] {
                // For each input, FuzzSQLite opens five databases, and FuzzCSV reads the text thirty times.
                let runs = ["FuzzSQLite", "FuzzCSV"].contains(target) ? 500 : 5_000
                // The fuzzers write failing and slow inputs there.
                let artifacts = "-artifact_prefix=\(Fixtures.temporaryFolder.path)/"
                let options = ["-runs=\(runs)", "-max_len=400", "-seed=1", "-verbosity=0", "-len_control=0", artifacts]
                let result = try RunningPrograms.run([".build/release/\(target)"] + options, in: folder)
                #expect(result.status == 0, "\(target): \(result)")
            }
        }
        #endif
    }
}
