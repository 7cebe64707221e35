// Gives an issue its place in the sources. A crash gets it from its stack frames. Any other issue without a place gets
// the declaration of its test.

internal import InClassSystem
import TestEvents

struct IssueLocator {
    let module: ModuleDescription
    let sources: TestedSources

    /// The place for messages that concern no place: the first source file.
    var fallbackPlace: SourcePlace { SourcePlace(path: module.sources.first ?? module.executable, line: 1, column: 1) }

    /// Returns the place of a type's first list, or else of the type.
    func placeOfList(_ typeName: String) -> SourcePlace { sources.scan[typeName]?.place ?? fallbackPlace }

    /// Gives an issue without a place the place of its test's declaration.
    func located(_ issue: TestIssue, test: PlannedTest?) -> TestIssue {
        if issue.knownPlace != nil { return issue }
        return issue.placed(at: test.flatMap { sources.scan.place(of: $0) } ?? fallbackPlace)
    }

    /// Returns a note if the failed code uses a global of `main.swift`.
    func noteOnMainFile(_ issue: TestIssue, of test: PlannedTest) -> String? {
        MainFile(of: module, in: sources)?.note(on: issue, function: sources.scan.function(of: test), in: sources)
    }

    /// Finds the test whose function or list entry contains the issue's place. Prefers the running test to the last
    /// finished one.
    func owner(of issue: TestIssue, in plan: [PlannedTest], running: Int?, isDone: (Int) -> Bool) -> Int? {
        guard let place = issue.knownPlace else { return nil }
        let tests = sources.scan.indices(in: plan, holding: ChosenLine(path: place.path, line: place.line))
        if let running, tests.contains(running) { return running }
        return tests.last(where: isDone)
    }

    /// Describes how a worker ended, at the innermost place in the module's own sources.
    ///
    /// - Parameter phase: the words that say when a worker ended outside tests, such as `before it listed its tests`.
    func issue(for death: WorkerDeath, phase: String? = nil) -> TestIssue {
        var issue = TestIssue(kind: .crash)
        let suffix = phase.map { " \($0)" } ?? ""
        var frames: [Int] = []
        if case .crash(_, let found)? = death.crashReport { frames = found }
        if case .exit(let found)? = death.crashReport { frames = found }
        switch (death.cause, death.crashReport, death.end) {
        case (.timeout(let milliseconds), _, _):
            issue.kind = .timeout
            issue.message = "timed out after \(Self.time(milliseconds))\(suffix)"
        case (.flood(let byteCount), _, _):
            issue.message = "printed more than \(byteCount >> 20) MB\(suffix)"
        case (.interruption(let reason), _, _):
            issue.kind = .timeout
            issue.message = "was running when \(reason) ended the run"
        case (.silence, _, _):
            issue.message = "closed descriptor \(Worker.eventDescriptor), which testlogger needs for results\(suffix)"
        case (.intrusion, _, _):
            issue.message = "wrote to descriptor \(Worker.eventDescriptor), which testlogger needs for results\(suffix)"
        case (_, .crash(let signal, _), _):
            issue.signal = signalName(Int32(clamping: signal))
        case (_, _, .killed(let signal)):
            issue.signal = signalName(signal)
        case (_, _, .exited(let code)):
            issue.kind = .exit
            issue.message = "exited with status \(code) \(phase ?? "before the test ended")"
        }
        // The runtime ends a process after its message by one of these signals. After others, the test printed the text.
        let isTrap = ["SIGILL", "SIGTRAP", "SIGABRT"].contains(issue.signal)
        let fatal = FatalMessage(output: String(decoding: death.output, as: UTF8.self))
        if let signal = issue.signal {
            issue.message = "crashed with \(signal)\(suffix)" + (fatal.map { isTrap ? ": \($0.text)" : "" } ?? "")
        }
        if death.cause == nil, let report = SanitizerReport(output: String(decoding: death.output, as: UTF8.self)) {
            issue.kind = .crash
            issue.signal = nil
            issue.message = report.text
            // The place in C belongs to another module. The sources of this module contain the call.
            if report.isAtFirstPlace, let place = report.places.first, !isOwn(place) {
                issue.message += " at \(place.text)"
            }
            return issue.placed(at: report.places.filter(isOwn))
        }
        let places = Symbolizer(executable: module.executable, clang: module.clang).places(of: frames).filter(isOwn)
        // The optimiser merges traps, which then have no line. The runtime's message may still name the file.
        if let place = places.first ?? fatal?.place(among: module.sources) { issue = issue.placed(at: place) }
        // Recursion without its own lines, such as in 'deinit', is visible in the addresses.
        let isDeep = places.count >= 40 || frames.count >= 40 && Set(frames).count * 2 < frames.count
        if isDeep, issue.signal == "SIGSEGV" || issue.signal == "SIGBUS" {
            issue.message += ": stack overflow"
        }
        return issue.called(from: places.dropFirst())
    }

    /// Returns a time limit as text: `10 s` or `250 ms`.
    static func time(_ milliseconds: Int) -> String {
        milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }

    /// Returns the leaks that a worker found after its tests, each at the place where the memory was allocated.
    func leaks(_ death: WorkerDeath) -> [TestIssue] {
        SanitizerReport.leaks(in: String(decoding: death.output, as: UTF8.self)).map { leak in
            let issue = TestIssue(kind: .crash, message: leak.text)
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
    /// Returns the same issue at the first of several places, called from the others. Without places, returns it
    /// unchanged.
    func placed(at places: [SourcePlace]) -> TestIssue {
        guard let place = places.first else { return self }
        return placed(at: place).called(from: places.dropFirst())
    }

    /// Returns the same issue with these callers. Consecutive equal places, as in recursion, are added once.
    func called(from places: ArraySlice<SourcePlace>) -> TestIssue {
        var issue = self
        for caller in places where caller != issue.callers.last && issue.callers.count < 8 {
            issue.callers.append(caller)
        }
        return issue
    }

    /// Returns the same issue at a place.
    func placed(at place: SourcePlace) -> TestIssue {
        var issue = self
        issue.place = place
        return issue
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension IssueLocator: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReportsInnermostFrameOfTheModule": testReportsInnermostFrameOfTheModule,
            "testUsesReportsOfSanitizers": testUsesReportsOfSanitizers,
            "testFindsLeaksOfTheModule": testFindsLeaksOfTheModule,
            "testFallsBackToThePlaceOfTheTest": testFallsBackToThePlaceOfTheTest,
        ]
            + .each("testReportsHowAWorkerDied", deaths, named: \.message) { death, phase, kind, message in
                let issue = locator().issue(for: death, phase: phase)
                expectEqual(issue.message, message)
                expectEqual(issue.kind, kind)
                let hasPlace = !death.output.isEmpty
                expectEqual(issue.place.path, hasPlace ? "/m/b.swift" : "")
                expectEqual(issue.place.line, hasPlace ? 7 : 0)
            }
            + .each(
                "testRecognizesStackOverflows",
                [(SIGSEGV, 40, true), (SIGBUS, 40, true), (SIGSEGV, 39, false), (SIGILL, 50, false)],
                named: { "\($0.1) frames, \(signalName($0.0))" }
            ) { signal, count, isOverflow in
                let deep = try Symbolizer.scripted(
                    "i=0; while [ $i -lt \(count) ]; do i=$((i+1)); echo /m/a.swift:$i:1; done")
                let issue = locator(deep).issue(
                    for: death(.killed(signal: SIGKILL), .crash(signal: Int(signal), frames: [1])))
                expectEqual(issue.message.hasSuffix(": stack overflow"), isOverflow, issue.message)
                expectEqual(issue.callers.map(\.line), Array(2...9), "the callers that are named")
            }
            + .each(
                "testRecognizesRecursionWithoutLines",
                [
                    (Array(repeating: [1, 2], count: 20), true), ((0..<20).map { [$0, 100] }, false),
                    (Array(repeating: [1], count: 39), false),
                ]
            ) { frames, isOverflow in
                let crash = TestEvent.crash(signal: Int(SIGSEGV), frames: frames.flatMap(\.self))
                let issue = locator().issue(for: death(.killed(signal: SIGKILL), crash))
                expectEqual(issue.message, "crashed with SIGSEGV" + (isOverflow ? ": stack overflow" : ""))
            }
    }

    private static func locator(_ symbolizer: Symbolizer? = nil, sources: [String] = ["/m/a.swift", "/m/b.swift"])
        -> Self
    {
        var module = ModuleDescription()
        module.sources = sources
        module.executable = symbolizer?.executable ?? "/no/executable"
        module.clang = symbolizer?.clang ?? ""
        let scan = SourceScan(text: "struct T {\n func testA() {}\n}", path: "/m/a.swift", module: "M")
        return Self(module: module, sources: TestedSources(of: module, holding: scan))
    }

    private static func death(
        _ end: ProcessEnd, _ crashReport: TestEvent? = nil, _ cause: WorkerDeath.Cause? = nil, output: String = ""
    ) -> WorkerDeath {
        WorkerDeath(end: end, crashReport: crashReport, cause: cause, output: Array(output.utf8))
    }

    private static var deaths: [(death: WorkerDeath, phase: String?, kind: TestIssue.Kind, message: String)] {
        let fatal = "M/b.swift:7: Fatal error: no\n"
        let crash = TestEvent.crash(signal: 11, frames: [])
        let (killed, trap) = (ProcessEnd.killed(signal: SIGKILL), ProcessEnd.killed(signal: SIGILL))
        let (before, after) = ("before it listed its tests", "after its last test")
        return [
            (death(.exited(0), .exit(frames: [])), nil, .exit, "exited with status 0 before the test ended"),
            (death(.exited(7)), nil, .exit, "exited with status 7 before the test ended"),
            (death(.exited(7)), before, .exit, "exited with status 7 before it listed its tests"),
            (death(.killed(signal: SIGABRT)), nil, .crash, "crashed with SIGABRT"),
            (death(killed, crash), nil, .crash, "crashed with SIGSEGV"),
            // The output is a text like that of the runtime.
            (death(killed, crash, output: fatal), nil, .crash, "crashed with SIGSEGV"),
            (death(killed, .crash(signal: 4, frames: []), output: fatal), nil, .crash, "crashed with SIGILL: no"),
            (death(trap, output: fatal), nil, .crash, "crashed with SIGILL: no"),
            (death(trap, output: fatal), after, .crash, "crashed with SIGILL after its last test: no"),
            (death(killed, crash, .timeout(milliseconds: 20)), nil, .timeout, "timed out after 20 ms"),
            (death(killed, crash, .timeout(milliseconds: 2000)), nil, .timeout, "timed out after 2 s"),
            (death(killed, nil, .flood(byteCount: 3 << 20)), nil, .crash, "printed more than 3 MB"),
            (
                death(killed, crash, .interruption(reason: "SIGTERM")), nil, .timeout,
                "was running when SIGTERM ended the run"
            ),
            (
                death(.exited(0), nil, .silence), nil, .crash,
                "closed descriptor 198, which testlogger needs for results"
            ),
            (
                death(killed, nil, .intrusion), nil, .crash,
                "wrote to descriptor 198, which testlogger needs for results"
            ),
        ]
    }

    private static func testReportsInnermostFrameOfTheModule() throws {
        let other = "echo /other/x.swift:1:1"
        let symbolizer = try Symbolizer.scripted(
            "\(other); echo /m/a.swift:3:4; echo /m/a.swift:3:4; echo /m/b.swift:5:6; \(other); echo /m/a.swift:9:1")
        for words in [TestEvent.crash(signal: 11, frames: [1]), .exit(frames: [1])] {
            let issue = locator(symbolizer).issue(for: death(.killed(signal: SIGKILL), words))
            expectEqual(issue.place, place(3, 4))
            expectEqual(issue.callers, [place(3, 4), place(5, 6, "/m/b.swift"), place(9, 1)], "callers")
        }
        let others = try Symbolizer.scripted("echo /p/InClassTesting/x.swift:1:1; echo /p/y.c:1:1; echo /p/z.swift:1:1")
        let unknown = locator(others, sources: []).issue(
            for: death(.killed(signal: SIGKILL), .crash(signal: 11, frames: [1])))
        expectEqual(unknown.place.path, "/p/z.swift", "of a module whose sources are not known")
    }

    private static func place(_ line: Int, _ column: Int, _ path: String = "/m/a.swift") -> SourcePlace {
        SourcePlace(path: path, line: line, column: column)
    }

    private static func testUsesReportsOfSanitizers() {
        let address =
            "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n #0 0x1 in f /m/a.swift:3:4 (x)\n"
        let undefined =
            "/c/x.c:3:5: runtime error: signed integer overflow\n #0 0x1 in f /c/x.c:3:5\n #1 0x2 in g /m/b.swift:5:6\n"
        let rows: [(String, String, SourcePlace)] = [
            (address, "AddressSanitizer: heap-use-after-free", place(3, 4)),
            (
                undefined, "UndefinedBehaviorSanitizer: signed integer overflow at /c/x.c:3:5",
                place(5, 6, "/m/b.swift")
            ),
        ]
        for (output, message, place) in rows {
            let issue = locator().issue(for: death(.exited(1), output: output))
            expectEqual(issue.message, message)
            expectEqual(issue.kind, .crash, message)
            expectEqual(issue.place, place, message)
            let ended = locator().issue(
                for: death(.exited(1), nil, .timeout(milliseconds: 5), output: output))
            expectEqual(ended.message, "timed out after 5 ms", "what the supervisor did comes first")
        }
    }

    private static func testFindsLeaksOfTheModule() {
        let output = """
            ==1==ERROR: LeakSanitizer: detected memory leaks
            Direct leak of 16 byte(s) in 1 object(s) allocated from:
                #0 0x1 in malloc /rt/x.cpp:1:1
                #1 0x2 in f /m/b.swift:5:6
            Direct leak of 32 byte(s) in 2 object(s) allocated from:
                #0 0x1 in malloc /rt/x.cpp:1:1
            """
        let leaks = locator().leaks(death(.exited(23), output: output))
        expectEqual(
            leaks.map(\.message),
            [16, 32].map { "LeakSanitizer: leak of \($0) byte(s) in \($0 / 16) object(s)" })
        expectEqual(
            leaks.map(\.place),
            [place(5, 6, "/m/b.swift"), place(1, 1)])
        expectEqual(leaks.map(\.kind), [.crash, .crash])
    }

    private static func testFallsBackToThePlaceOfTheTest() {
        let test = PlannedTest(typeName: "T", testName: "testA", testType: "unit", module: "M")
        let issue = TestIssue(kind: .thrownError, got: "1", expected: "2")
        let rows: [(TestIssue, PlannedTest?, SourcePlace)] = [
            (issue, test, place(2, 7)), (issue, nil, place(1, 1)), (issue.placed(at: place(8, 9)), test, place(8, 9)),
            (issue.placed(at: place(0, 0)), test, place(2, 7)),
        ]
        for (issue, test, place) in rows {
            let located = locator().located(issue, test: test)
            expectEqual(located.place, place)
        }
        expectEqual(locator(sources: []).fallbackPlace, place(1, 1, "/no/executable"))
        expectEqual(issue.placed(at: []).place.line, 0, "no place")
    }
}
#endif
