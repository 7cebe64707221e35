// The reports that a run is asked for besides the diagnostics: which there are, where they go, and when they are
// written. What is in them is TestReporting's business.

internal import InClassSystem
import TestEvents
import TestReporting
import TestSupervision

final class RequestedReports {
    /// A report and the file it is written to; nil for the standard output.
    private struct Destination {
        var reporter: any RunReporter
        var path: String?
        /// What is to be written so far.
        var text = ""
        /// Write behind what the file has, which others write to as well.
        var isShared = false
    }

    private var destinations: [Destination] = []
    /// What ends the wrapping of lines that could act on GitHub; nil elsewhere.
    private var guardToken: String?

    /// Makes the reports that the options and the environment ask for.
    init(_ options: CommandLineOptions, root: String) {
        let paths = options.paths(root: root, isRelative: true)
        var junitOptions = JUnitReport.Options()
        junitOptions.paths = paths
        junitOptions.isStable = options.run.isStable
        junitOptions.timestamp = Self.timestamp
        if let seed = options.run.shuffleSeed { junitOptions.properties = [("seed", "\(seed)")] }
        func add(_ reporter: any RunReporter, _ path: String) {
            let isPrinted = path == CommandLineOptions.standardOutput
            destinations.append(Destination(reporter: reporter, path: isPrinted ? nil : path))
        }
        if let path = options.jsonPath { add(JSONLinesReport(paths: paths, isStable: options.run.isStable), path) }
        let isOnGitHub = options.isOnGitHub || Environment.value(of: "GITHUB_ACTIONS") == "true"
        let workspace = options.paths(root: Environment.value(of: "GITHUB_WORKSPACE") ?? root, isRelative: true)
        if isOnGitHub {
            guardToken = "in-class-\(UInt64.random(in: 0 ... .max))"
            destinations.append(Destination(reporter: GitHubReport(paths: workspace)))
        }
        if let path = options.junitPath { add(JUnitReport(options: junitOptions), path) }
        if isOnGitHub, let path = Environment.value(of: "GITHUB_STEP_SUMMARY") {
            // Each step of a job gets the same file.
            let summary = GitHubSummary(paths: workspace, isStable: options.run.isStable)
            destinations.append(Destination(reporter: summary, path: path, isShared: true))
        }
    }

    /// Whether nobody follows the run but the person at the terminal.
    var isEmpty: Bool { destinations.isEmpty }

    /// Makes lines of diagnostics safe to print where this run's output is read.
    func printable(_ lines: [String]) -> [String] {
        guardToken.map { GitHubReport.guarded(lines, token: $0) } ?? lines
    }

    /// Takes the next event and prints what belongs on the standard output now.
    func add(_ event: RunEvent) {
        for index in destinations.indices {
            let lines = destinations[index].reporter.add(event)
            if destinations[index].path == nil {
                for line in lines { print(line) }
            } else {
                destinations[index].text += lines.joinedLines
            }
        }
    }

    /// Writes everything, however far the run has come.
    ///
    /// - Throws: `SystemError` for the first file that cannot be written; the others are written all the same.
    func finish(_ end: RunEnd) throws(SystemError) {
        var failure: SystemError?
        for destination in destinations {
            let text = destination.text + destination.reporter.closingText(end)
            guard let path = destination.path else {
                print(text, terminator: "")
                continue
            }
            let before = destination.isShared ? (try? FileAccess.contents(of: path)) ?? [] : []
            do throws(SystemError) { try FileReplacement.writeOutput(before + Array(text.utf8), to: path) } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
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
