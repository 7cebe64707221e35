// Runs the commands of an article in order, as a reader would, in the folder of a new user who has only the address of
// this package.

import Foundation
import Testing

/// A simulated reader who runs an article's commands from the first to the last.
struct ArticleRunner {
    let article: Article
    /// The working directory of the commands.
    var folder: URL
    private var left: ArraySlice<Article.Block>
    private var ran: Set<String> = []

    init(_ name: String, in folder: URL) throws {
        article = try Article.named(name)
        self.folder = folder
        left =
            article.blocks.filter { block in
                // `ReadmeTests` compiles the Swift blocks.
                block.language != "swift" && !Self.elsewhere.contains { $0.article == name && $0.what == block.name }
            }[...]
    }

    /// The blocks and commands of articles that an article runner doesn't run. `why` is the test that runs them, the
    /// article that contains the same command, or the reason they aren't run.
    static let elsewhere: [(article: String, what: String, why: String)] = [
        ("Architecture.md", "Overview: text", "a drawing"),
        ("ContinuousIntegration.md", "GitHub: yaml", "ContinuousIntegrationTests.gitHubShardsReportFailures"),
        ("ContinuousIntegration.md", "GitLab: yaml", "ContinuousIntegrationTests.gitLabShardsReportFailures"),
        ("ContinuousIntegration.md", "Jenkins: groovy", "ContinuousIntegrationTests.jenkinsReportsFailures"),
        (
            "CrashesAndTimeouts.md", "Failures of tasks, threads and child processes: text",
            "MisbehaviorTests.misbehaviorFailsOnlyItsTest"
        ),
        ("CrashesAndTimeouts.md", "When testlogger is killed: text", "MisbehaviorTests.reportsKilledSupervisor"),
        ("Editors.md", "VS Code: json", "EditorTests.visualStudioCodeTasksFindDiagnostics"),
        ("Editors.md", "Xcode: sh", "EditorTests.xcodeScriptPrintsDiagnostics"),
        ("Editors.md", "Vim: vim", "EditorTests.vimSettingsFindDiagnostics"),
        ("Editors.md", "Neovim: lua", "EditorTests.neovimSettingsFindDiagnostics"),
        ("Editors.md", "Emacs: elisp", "EditorTests.emacsSettingsFindDiagnostics"),
        ("EventStream.md", "The events of the example: json", "EventStreamTests.sampleMatchesARun"),
        ("EventStream.md", "The private format of workers: text", "EventStreamTests.linesMatchThoseOfAWorker"),
        ("README.md", "Installation: sh", "GettingStarted.md has the same"),
        ("README.md", "swift package testlogger init TARGET", "InitializationTests.preparesTargetsOneByOne"),
        ("README.md", "swift build -c release -Xswiftc -DIN_CLASS_TESTS", "GettingStarted.md"),
        ("README.md", "swift test", "it runs this test"),
        (
            "Performance.md", "swift run -c release --package-path Examples/Benchmarks Benchmarks Framework",
            "ExamplesTests.benchmarksAgreeWithTheirPeers"
        ),
        (
            "Streams.md", "swift run -c release --package-path Examples/Timetable timetable",
            "ExamplesTests.buildsAndTestsTimetable"
        ),
        (
            "Streams.md", "swift run -c release --package-path Examples/CBOR cbor",
            "ExamplesTests.buildsAndTestsThirdPartyFormat"
        ),
        (
            "Streams.md", "swift run -c release --package-path Examples/TasksBackend TasksLoad",
            "ExamplesTests.backendPassesItsTests"
        ),
        (
            "Streams.md", "swift run -c release --package-path Examples/Benchmarks Benchmarks",
            "ExamplesTests.benchmarksAgreeWithTheirPeers"
        ),
    ]

    /// Returns a command line without its trailing comment.
    static func command(in line: String) -> String {
        let command = line.firstRange(of: "  #").map { line[..<$0.lowerBound] } ?? line[...]
        return command.trimmingCharacters(in: .whitespaces)
    }

    /// Removes and returns the next block, which must have this language.
    mutating func next(_ language: String) throws -> Article.Block {
        let first = left.popFirst()
        let block = try #require(first, "\(article.name) has no block of \(language) more")
        try #require(block.language == language, "\(article.path):\(block.line) is of \(block.language)")
        return block
    }

    /// Runs a command line in a shell and expects this exit status.
    @discardableResult
    mutating func run(_ line: String, _ status: Int32, _ variables: [String: String] = [:]) throws -> ProgramResult {
        ran.insert(Self.command(in: line))
        let line = try line.replacing("ADDRESS", with: NewUser.address.get())
        let result = try RunningPrograms.shell(
            line, in: folder, environment: variables.merging(NewUser.variables) { $1 })
        #expect(result.status == status, "\(article.name): \(result)")
        return result
    }

    /// Runs each line of the next block and expects these exit statuses.
    @discardableResult
    mutating func runs(_ statuses: Int32..., variables: [String: String] = [:]) throws -> [ProgramResult] {
        let block = try next("sh")
        try #require(block.lines.count == statuses.count, "\(article.path):\(block.line) has other lines")
        return try zip(block.lines, statuses).map { try run($0, $1, variables) }
    }

    /// Runs the lines of the next block that begin with a prompt, and compares their output with the lines after them.
    mutating func runs(asShownWith statuses: Int32...) throws {
        let parts = try next("console").text.components(separatedBy: "$ ")
        try #require(parts.first == "" && parts.count == statuses.count + 1)
        var last: Int32 = 0
        for (part, status) in zip(parts.dropFirst(), statuses) {
            let lines = part.split(separator: "\n").map(String.init)
            let result = try run(lines[0].replacing("$?", with: "\(last)"), status)
            expect(lines.dropFirst(), in: result)
            last = result.status
        }
    }

    /// Compares the next block with the output of a command.
    mutating func shows(_ result: ProgramResult) throws { expect(try next("text").lines[...], in: result) }

    /// Runs a command that appears in the article's text, and expects this exit status.
    @discardableResult
    mutating func runs(_ command: String, _ status: Int32) throws -> ProgramResult {
        #expect(article.commands.contains(command), "\(article.name) does not name \(command)")
        return try run(command, status)
    }

    /// Expects that all blocks were run. In README.md and Streams.md, the commands in the text must also have been run,
    /// except those in `elsewhere`.
    func ends() throws {
        #expect(left.isEmpty, "\(article.name): not run: \(left.map(\.name))")
        guard ["README.md", "Streams.md"].contains(article.name) else { return }
        let elsewhere = Self.elsewhere.filter { $0.article == article.name }.map(\.what)
        #expect(article.commands.subtracting(ran).subtracting(elsewhere) == [], "\(article.name)")
    }

    /// Expects that a command printed these lines in this order. Other lines may appear between them.
    private func expect(_ shown: ArraySlice<String>, in result: ProgramResult) {
        func stable(_ line: String) -> String {
            line.replacing(/\(\d+(\.\d+)? (ns|µs|ms|s)\)/, with: "(…)").replacing(folder.path + "/", with: "")
        }
        var left = shown[...]
        for line in result.lines.map(stable) {
            guard let expected = left.first.map(stable) else { break }
            let isAnywhere = expected.hasPrefix("…/") && line.hasSuffix(expected.dropFirst(2))
            if line == expected || isAnywhere { left.removeFirst() }
        }
        #expect(left.isEmpty, "\(article.name) shows what was not printed: \(left.joined(separator: "\n"))\n\(result)")
    }
}

/// The files of a new user: a repository with this package, a clone of it, caches, and a folder for the user's
/// packages.
enum NewUser {
    static let folder = Fixtures.folder.appending(path: "newcomer")
    /// The variable that moves SwiftPM's caches, so that these tests don't change those of the person who runs them.
    static let variables = ["XDG_CACHE_HOME": folder.appending(path: "caches").path]

    /// The URL of a repository with the current contents of this checkout, including uncommitted changes.
    static let address = Result {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try run("git", "init", "--quiet", "--bare", "--initial-branch", "main", "InClassTesting.git")
        let git = [
            "git", "-C", Fixtures.checkout.path, "--git-dir", "\(folder.path)/InClassTesting.git", "--work-tree", ".",
            "-c", "user.name=Tests", "-c", "user.email=tests@localhost", "-c", "commit.gpgsign=false",
        ]
        try run(git + ["add", "--all"])
        try run(git + ["commit", "--quiet", "--message", "As it is now"])
        return "file://\(folder.path)/InClassTesting.git"
    }

    /// The folder of a fresh clone of this repository.
    static let clone = Result {
        try run("git", "clone", "--quiet", address.get(), "InClassTesting")
        return folder.appending(path: "InClassTesting")
    }

    static func run(_ words: String...) throws { try run(words) }

    static func run(_ words: [String]) throws {
        let result = try RunningPrograms.run(words, in: folder)
        guard result.status == 0 else { throw ProgramError(description: "\(result)") }
    }
}
