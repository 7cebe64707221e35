// Writes the reports that the options request: JSON lines during the run, and all others at its end. TestReporting
// creates their contents.

internal import InClassSystem
import TestEvents
import TestReporting
import TestSupervision

final class RequestedReports {
    /// The record of the run so far.
    private(set) var record = RunRecord()
    private let options: CommandLineOptions
    private let style: TextStyle
    private let json: JSONLinesReport?
    private var jsonText = ""
    private let timestamp = RequestedReports.timestamp
    /// The form of paths that are relative to GitHub's checkout, or nil outside of GitHub.
    private let workspace: TextStyle?
    /// The token that ends a block of lines that GitHub must not interpret.
    private let guardToken = "in-class-\(UInt64.random(in: 0 ... .max))"

    /// Prepares the reports that the options and the environment request.
    init(_ options: CommandLineOptions, root: String) {
        self.options = options
        var style = options.style(root: root, isRelative: true)
        style.showsReplacements = false
        self.style = style
        json = options.jsonPath == nil ? nil : JSONLinesReport(style)
        let isOnGitHub = options.isOnGitHub || Environment.value(of: "GITHUB_ACTIONS") == "true"
        let folder = Environment.value(of: "GITHUB_WORKSPACE") ?? root
        workspace = isOnGitHub ? options.style(root: folder, isRelative: true) : nil
    }

    /// A Boolean value that indicates whether no report is requested.
    var isEmpty: Bool { json == nil && options.junitPath == nil && workspace == nil }

    /// Returns lines of diagnostics that GitHub doesn't interpret as commands, if it reads the output.
    func printable(_ lines: [String]) -> [String] {
        workspace == nil ? lines : GitHubAnnotations.guarded(lines, token: guardToken)
    }

    /// Adds an event to the reports. Prints its JSON if that goes to the standard output.
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

    /// Writes all reports, also those of an incomplete run.
    ///
    /// - Throws: `SystemError` for the first file that can't be written. The other files are still written.
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
            // All steps of a job share this file.
            let before = (try? FileAccess.contents(of: path)) ?? []
            write(GitHubSummary.text(of: record, workspace), to: path, before: before)
        }
        if let failure { throw failure }
    }

    private var junitText: String {
        var junit = JUnitReport.Options()
        junit.style = style
        junit.timestamp = timestamp
        if let seed = options.run.shuffleSeed { junit.properties = [("seed", "\(seed)")] }
        return JUnitReport.text(of: record, junit)
    }

    /// The current time in UTC, in JUnit's format.
    private static var timestamp: String {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 32)
        strftime(&text, text.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
