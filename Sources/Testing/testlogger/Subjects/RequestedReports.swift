// Writes the reports that the options ask for: JSON lines during the run, all others at its end. TestReporting makes their
// contents.

internal import InClassSystem
import TestEvents
import TestReporting
import TestSupervision

final class RequestedReports {
    /// The run so far.
    private(set) var record = RunRecord()
    private let options: CommandLineOptions
    private let paths: PathStyle
    private let json: JSONLinesReport?
    private var jsonText = ""
    private let timestamp = RequestedReports.timestamp
    /// Of the checkout, on GitHub; nil elsewhere.
    private let workspace: PathStyle?
    /// The token that ends a block of lines that GitHub must not interpret.
    private let guardToken = "in-class-\(UInt64.random(in: 0 ... .max))"

    /// Prepares the reports that the options and the environment ask for.
    init(_ options: CommandLineOptions, root: String) {
        self.options = options
        paths = options.paths(root: root, isRelative: true)
        json = options.jsonPath.map { [paths] _ in JSONLinesReport(paths: paths, isStable: options.run.isStable) }
        let isOnGitHub = options.isOnGitHub || Environment.value(of: "GITHUB_ACTIONS") == "true"
        let folder = Environment.value(of: "GITHUB_WORKSPACE") ?? root
        workspace = isOnGitHub ? options.paths(root: folder, isRelative: true) : nil
    }

    /// True if no report is requested.
    var isEmpty: Bool { json == nil && options.junitPath == nil && workspace == nil }

    /// Makes lines of diagnostics safe to print where this run's output is read.
    func printable(_ lines: [String]) -> [String] {
        workspace == nil ? lines : GitHubAnnotations.guarded(lines, token: guardToken)
    }

    /// Takes the next event and prints what belongs on the standard output now.
    func add(_ event: RunEvent) {
        if isEmpty { return }
        record.add(event)
        guard let text = json?.lines(for: event).joinedLines else { return }
        if options.jsonPath == CommandLineOptions.standardOutput {
            print(text, terminator: "")
        } else {
            jsonText += text
        }
    }

    /// Writes everything, however far the run has come.
    ///
    /// - Throws: `SystemError` for the first file that cannot be written; the others are written all the same.
    func finish(earlyReason: String?, nanoseconds: Int) throws(SystemError) {
        record.earlyReason = earlyReason
        record.nanoseconds = nanoseconds
        var failure: SystemError?
        func write(_ text: String, to path: String, before: [UInt8] = []) {
            if path == CommandLineOptions.standardOutput { return print(text, terminator: "") }
            do throws(SystemError) { try FileReplacement.writeOutput(before + Array(text.utf8), to: path) } catch {
                failure = failure ?? error
            }
        }
        if let json, let path = options.jsonPath { write(jsonText + json.summary(of: record) + "\n", to: path) }
        if let workspace { print(GitHubAnnotations.lines(of: record, workspace).joinedLines, terminator: "") }
        if let path = options.junitPath { write(junitText, to: path) }
        if let workspace, let path = Environment.value(of: "GITHUB_STEP_SUMMARY") {
            // Each step of a job gets the same file.
            let before = (try? FileAccess.contents(of: path)) ?? []
            let text = GitHubSummary.text(of: record, workspace, isStable: options.run.isStable)
            write(text, to: path, before: before)
        }
        if let failure { throw failure }
    }

    private var junitText: String {
        var junit = JUnitReport.Options()
        junit.paths = paths
        junit.isStable = options.run.isStable
        junit.timestamp = timestamp
        if let seed = options.run.shuffleSeed { junit.properties = [("seed", "\(seed)")] }
        return JUnitReport.text(of: record, junit)
    }

    /// The present moment as JUnit writes it, in UTC.
    private static var timestamp: String {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 32)
        strftime(&text, text.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
