// Tests which temporary directories remain after a run: only those of failed tests, until the next run, no matter how
// the run ends.

import Foundation
import Testing

extension FixturePackage {
    /// Returns whether the long test has written its file, which is in a temporary directory below a folder.
    func hasBegunLongTest(in folder: URL) -> Bool {
        // Folders may be deleted during the search.
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
        return paths.contains { $0.hasSuffix("Directories.testTakesLong/inner/file") }
    }
}

extension TestloggerTests {
    @Suite(.serialized)
    struct TemporaryDirectoryTests {
        let package: FixturePackage
        /// The folder for temporary files of this test's programs.
        let folder: URL

        init() throws {
            package = try SharedPackages.runs.get()
            folder = Fixtures.folder.appending(path: "temporary-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }

        private func run(_ words: String..., environment: [String: String] = [:]) throws -> ProgramResult {
            try package.testlogger(
                words + ["--filter", "Directories"], environment: ["TMPDIR": folder.path].merging(environment) { $1 })
        }

        /// Returns the sorted names of the tests whose files are left in a folder.
        private func left(in folder: URL) throws -> [String] {
            let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            return paths.filter { $0.hasSuffix("/inner/file") }
                .compactMap { $0.split(separator: "/").dropLast(2).last.map(String.init) }.sorted()
        }

        @Test(arguments: [1, 4])
        func keepsOnlyDirectoriesOfFailedTests(jobs: Int) throws {
            let failed = ["testCrashes", "testExits", "testFails", "testHangs"].map { "Directories.\($0)" }
            let reports = package.file("attached-\(jobs)").path
            let result = try run("Runs", "--jobs", "\(jobs)", "--json", reports + ".json", "--junit", reports + ".xml")
            #expect(result.status == 1)
            #expect(result.output.contains("8 tests, 2 passed, 5 failed, 1 skipped"), "\(result)")
            #expect(try left(in: folder) == failed)
            let notes = result.lines.compactMap {
                $0.components(separatedBy: "note: its temporary directory is kept: ").last
            }
            .filter { $0.hasPrefix(folder.path) }
            #expect(notes.map { URL(filePath: $0).lastPathComponent }.sorted() == failed)
            for note in notes { #expect(FileManager.default.fileExists(atPath: "\(note)/inner/file"), "\(note)") }
            let page = try #require(notes.first { $0.hasSuffix("Directories.testFails") }) + "/page.html"
            #expect(try String(contentsOfFile: page, encoding: .utf8) == "<html/>")
            #expect(result.lines.filter { $0.hasSuffix(": note: attached: \(page)") }.count == 1, "\(result)")
            #expect(result.text.components(separatedBy: "attached: ").count == 2, "\(result)")
            let json = try package.text(of: "attached-\(jobs).json")
            #expect(json.contains(#""attachments":["\#(page)"]"#), "\(json)")
            #expect(try package.text(of: "attached-\(jobs).xml").contains("[[ATTACHMENT|\(page)]]"))

            // The next run deletes the directories, even if it runs other tests.
            _ = try run("Runs", "--skip", "Hangs")
            #expect(try left(in: folder) == failed.filter { $0 != "Directories.testHangs" })
            _ = try run("Runs", "--skip", "Fails|Crashes|Exits|Hangs")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }

        @Test func stableOutputNamesNoPath() throws {
            let result = try run("Runs", "--stable-output", "--skip", "Hangs|Crashes|Exits")
            #expect(result.lines.contains { $0.hasSuffix(": note: its temporary directory is kept") }, "\(result)")
            #expect(result.lines.contains { $0.hasSuffix(": note: attached: page.html") }, "\(result)")
            #expect(!result.text.contains(folder.path), "\(result)")
            _ = try run("Runs", "--skip", "Fails|Crashes|Exits|Hangs")
        }

        @Test func keepsDirectoriesOfRepetitions() throws {
            _ = try run("Runs", "--repeat", "3", "--skip", "Hangs|Crashes|Exits")
            #expect(try left(in: folder) == Array(repeating: "Directories.testFails", count: 3))
            _ = try run("Runs", "--skip", "Fails|Crashes|Exits|Hangs")
            #expect(try left(in: folder) == [])
        }

        @Test func keepsDirectoriesOfEachAttempt() throws {
            _ = try run("Runs", "--retries", "2", "--skip", "Hangs|Crashes|Exits")
            #expect(
                try left(in: folder) == ["Directories.testFails", "Directories.testFails-2", "Directories.testFails-3"])
            _ = try run("Runs", "--skip", "Fails|Crashes|Exits|Hangs")
        }

        /// Sends signals at different times while a run starts, runs and ends.
        @Test func killedRunsLeaveNoDirectories() throws {
            let report = folder.appending(path: "report.xml")
            for step in 0..<8 {
                let command =
                    "\"$0\" Runs --test-type long --junit \"$1\" & sleep \(Double(step) * 0.08); kill -TERM $!; wait $!"
                let result = try RunningPrograms.run(
                    ["/bin/sh", "-c", command, Fixtures.testlogger.path, report.path], in: package.folder,
                    environment: ["TMPDIR": folder.path])
                #expect(result.status == 143, "\(result)")
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                #expect(names.filter { $0 != "report.xml" } == [], "after \(step * 80) ms")
            }
            // Send another signal in the middle of a test.
            let program = try package.startTestlogger(
                ["Runs", "--test-type", "long", "--junit", report.path], environment: ["TMPDIR": folder.path])
            try program.wait(for: "the test's first file") { package.hasBegunLongTest(in: folder) }
            program.send(SIGTERM)
            #expect(try program.result().status == 143)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["report.xml"])
            let xml = try String(contentsOf: report, encoding: .utf8)
            #expect(xml.contains("was running when SIGTERM ended the run"), "\(xml)")
        }
    }
}
