// Gives an issue its place in the sources: that of a crash from the frames it left, that of anything without a place of
// its own from the declaration of its test.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import TestEvents

struct IssueLocator {
    let module: ModuleDescription
    let sources: () -> SourceScan

    /// Where a message goes that concerns no place: the first source file.
    var fallbackPlace: SourcePlace { SourcePlace(path: module.sources.first ?? module.image, line: 1, column: 1) }

    /// Gives an issue without a place that of its test's declaration.
    func located(_ issue: TestIssue, test: PlannedTest?) -> TestIssue {
        guard issue.path.isEmpty || issue.line == 0 else { return issue }
        return issue.placed(at: test.flatMap { sources().place(of: $0) } ?? fallbackPlace)
    }

    /// Describes how a worker died, at the innermost place in the module's own sources.
    func issue(for death: WorkerDeath, expected: String) -> TestIssue {
        let fatal = FatalMessage(output: String(decoding: death.output, as: UTF8.self))
        var issue = TestIssue(kind: .crash, got: "", expected: expected)
        var frames: [Int] = []
        if case .crash(_, let found)? = death.lastWords { frames = found }
        if case .exit(let found)? = death.lastWords { frames = found }
        switch (death.verdict, death.lastWords, death.end) {
        case (.timeout(let milliseconds), _, _):
            issue.kind = .timeout
            issue.got = "no end after \(milliseconds) ms"
        case (.flood(let byteCount), _, _):
            issue.got = "\(byteCount >> 20) MB of output"
        case (.interruption(let reason), _, _):
            issue.kind = .timeout
            issue.got = "end of the run by \(reason)"
        case (.silence, _, _):
            issue.got = "a closed descriptor \(Worker.eventDescriptor), over which the worker reports"
        case (.intrusion, _, _):
            issue.got = "a foreign line in descriptor \(Worker.eventDescriptor), over which the worker reports"
        case (_, .crash(let signal, _), _):
            issue.got = "crash \(signalName(Int32(clamping: signal)))" + (fatal.map { " '\($0.text)'" } ?? "")
        case (_, _, .killed(let signal)):
            issue.got = "crash \(signalName(signal))" + (fatal.map { " '\($0.text)'" } ?? "")
        case (_, _, .exited(let code)):
            issue.kind = .exit
            issue.got = "exit(\(code))"
        }
        if death.verdict == nil, let report = SanitizerReport(output: String(decoding: death.output, as: UTF8.self)) {
            issue.kind = .crash
            issue.got = report.text
            // In C that belongs to another module, of which this one's sources show the call.
            if report.isAtFirstPlace, let place = report.places.first, !isOwn(place) {
                issue.got += " at \(place.path):\(place.line):\(place.column)"
            }
            return issue.placed(at: report.places.filter(isOwn))
        }
        let places = Symbolizer(image: module.image, clang: module.clang).places(of: frames).filter(isOwn)
        // The optimiser merges traps, which then have no line; the runtime's message may still name the file.
        if let place = places.first ?? fatal?.place(among: module.sources) { issue = issue.placed(at: place) }
        if places.count >= 40, case .crash(let signal, _)? = death.lastWords, signal == SIGSEGV || signal == SIGBUS {
            issue.got += " 'stack overflow'"
        }
        return issue.called(from: places.dropFirst())
    }

    /// The leaks that a worker has found when its tests were over, each where the memory was allocated.
    func leaks(_ death: WorkerDeath) -> [TestIssue] {
        SanitizerReport.leaks(in: String(decoding: death.output, as: UTF8.self)).map { leak in
            let issue = TestIssue(kind: .crash, got: leak.text, expected: "no memory that nobody can free")
            let places = leak.places.filter(isOwn)
            return issue.placed(at: places.isEmpty ? [fallbackPlace] : places)
        }
    }

    private func isOwn(_ place: SourcePlace) -> Bool {
        module.sources.isEmpty
            ? !place.path.contains("/InClassTesting/") && place.path.hasSuffix(".swift")
            : module.sources.contains(place.path)
    }
}

extension TestIssue {
    /// The same issue at the first of several places, called from the others; without any, where it was.
    func placed(at places: [SourcePlace]) -> TestIssue {
        guard let place = places.first else { return self }
        return placed(at: place).called(from: places.dropFirst())
    }

    /// The same issue with these callers; recursion says the same place again and again.
    func called(from places: ArraySlice<SourcePlace>) -> TestIssue {
        var issue = self
        for caller in places where caller != issue.callers.last && issue.callers.count < 8 {
            issue.callers.append(caller)
        }
        return issue
    }

    /// The same issue at a place.
    func placed(at place: SourcePlace) -> TestIssue {
        var issue = self
        issue.path = place.path
        issue.line = place.line
        issue.column = place.column
        return issue
    }
}
