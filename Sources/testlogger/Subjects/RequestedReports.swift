// The reports that a run is asked for besides the diagnostics: which there are, where they go, and when they are
// written. What is in them is TestReporting's business.

#if canImport(Darwin)
@preconcurrency import Darwin
#elseif canImport(Musl)
@preconcurrency import Musl
#else
@preconcurrency import Glibc
#endif
import TestEvents
import TestReporting
import TestSupervision

/// The form of what is printed.
enum OutputFormat: String, CaseIterable {
    case text, tap, json, junit
}

final class RequestedReports {
    /// A report and the file it is written to; nil for the standard output.
    private struct Destination {
        var reporter: any RunReporter
        var path: String?
        var lines: [String] = []
        /// Write no file without lines.
        var isOptional = false
    }

    private var destinations: [Destination] = []
    private var junit: (report: JUnitReport, path: String)?
    /// What ends the wrapping of lines that could act on GitHub; nil elsewhere.
    private var guardToken: String?
    private var summary: (report: GitHubSummary, path: String)?

    /// Makes the reports that the options and the environment ask for.
    init(_ options: CommandLineOptions, root: String) {
        let paths = options.paths(root: root, isRelative: true)
        var junitOptions = JUnitReport.Options()
        junitOptions.paths = paths
        junitOptions.isStable = options.isStable
        junitOptions.timestamp = Self.timestamp
        if let seed = options.seed, options.isShuffled { junitOptions.properties = [("seed", "\(seed)")] }
        switch options.format {
        case .text: break
        case .tap: destinations.append(Destination(reporter: TAPReport(paths: paths, isStable: options.isStable)))
        case .json:
            destinations.append(Destination(reporter: JSONLinesReport(paths: paths, isStable: options.isStable)))
        case .junit: destinations.append(Destination(reporter: JUnitReport(options: junitOptions)))
        }
        if let path = options.jsonPath {
            destinations.append(
                Destination(reporter: JSONLinesReport(paths: paths, isStable: options.isStable), path: path))
        }
        if let path = options.warningsPath {
            destinations.append(Destination(reporter: WarningReport(paths: paths), path: path, isOptional: true))
        }
        if let path = options.junitPath { junit = (JUnitReport(options: junitOptions), path) }
        if options.isOnGitHub || Environment.value(of: "GITHUB_ACTIONS") == "true" {
            guardToken = "in-class-\(UInt64.random(in: 0 ... .max))"
            let workspace = options.paths(root: Environment.value(of: "GITHUB_WORKSPACE") ?? root, isRelative: true)
            destinations.append(Destination(reporter: GitHubReport(paths: workspace)))
            if let path = Environment.value(of: "GITHUB_STEP_SUMMARY") {
                summary = (GitHubSummary(paths: workspace, isStable: options.isStable), path)
            }
        }
    }

    /// Whether nobody follows the run but the person at the terminal.
    var isEmpty: Bool { destinations.isEmpty && junit == nil && summary == nil }

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
                destinations[index].lines += lines
            }
        }
        _ = junit?.report.add(event)
        _ = summary?.report.add(event)
    }

    /// Writes everything, however far the run has come.
    ///
    /// - Throws: `SystemError` for the first file that cannot be written; the others are written all the same.
    func finish(_ end: RunEnd) throws(SystemError) {
        var failure: SystemError?
        func write(_ text: String, to path: String) {
            do throws(SystemError) { try FileReplacement.writeOutput(Array(text.utf8), to: path) } catch {
                failure = failure ?? error
            }
        }
        for destination in destinations {
            let lines = destination.reporter.closingLines(end)
            if let path = destination.path {
                if destination.isOptional, destination.lines.isEmpty, lines.isEmpty { continue }
                write((destination.lines + lines).map { "\($0)\n" }.joined(), to: path)
            } else {
                for line in lines { print(line) }
            }
        }
        if let junit { write(junit.report.xml(endedEarly: end.earlyReason), to: junit.path) }
        if let summary {
            // GitHub gives every step the same file to add to.
            let before = (try? FileAccess.contents(of: summary.path)).map { String(decoding: $0, as: UTF8.self) } ?? ""
            write(before + summary.report.markdown(end), to: summary.path)
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
