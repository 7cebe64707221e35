// Parses the report of a sanitizer that has ended a process, and the leaks that were found after the tests. Also
// contains the options that make a sanitizer end the process at the first error.

import TestEvents

/// A report of AddressSanitizer, ThreadSanitizer or UndefinedBehaviorSanitizer.
struct SanitizerReport: Equatable {
    /// The kind of error, such as `AddressSanitizer: heap-use-after-free`.
    var text: String
    /// The places of the frames that have a place, innermost first.
    var places: [SourcePlace]
    /// A Boolean value that indicates whether the error happened at the first place, and not in code of the sanitizer
    /// or the system.
    var isAtFirstPlace = false

    /// Reads the last report in an output.
    init?(output: String) {
        let lines = output.split(separator: "\n")
        guard let (index, found) = lines.indices.reversed().lazy.compactMap({ Self.title(lines[$0], $0) }).first else {
            return nil
        }
        text = found.text
        places = found.place.map { [$0] } ?? []
        isAtFirstPlace = found.place != nil
        places += lines[(index + 1)...].prefix { !$0.hasPrefix("SUMMARY: ") }.compactMap(Self.place)
    }

    private static func title(_ line: Substring, _ index: Int) -> (Int, (text: String, place: SourcePlace?))? {
        for name in ["AddressSanitizer", "ThreadSanitizer"] {
            for severity in ["ERROR", "WARNING"] {
                guard let title = line.part(behind: "\(severity): \(name): ") else { continue }
                let end = [" on ", " (pid", " at pc", ":"].compactMap { title.part(before: $0)?.count }.min()
                return (index, ("\(name): \(title.prefix(end ?? title.count))", nil))
            }
        }
        guard let error = line.part(behind: ": runtime error: "), let place = line.part(before: ": runtime error: ")
        else { return nil }
        return (index, ("UndefinedBehaviorSanitizer: \(error)", SourcePlace(place)))
    }

    /// Returns the leaks in a report of LeakSanitizer: their descriptions, and the places where the memory was
    /// allocated.
    static func leaks(in output: String) -> [SanitizerReport] {
        var leaks: [(report: SanitizerReport, isDirect: Bool)] = []
        for line in output.split(separator: "\n") {
            if let size = line.part(behind: "irect leak of ") {
                let what = size.part(before: " allocated from") ?? size
                let report = SanitizerReport(text: "LeakSanitizer: leak of \(what)", places: [])
                leaks.append((report, line.hasPrefix("Direct")))
            } else if !leaks.isEmpty, let place = place(line) {
                leaks[leaks.count - 1].report.places.append(place)
            }
        }
        // Indirect leaks belong to a direct leak. If there are only indirect leaks, objects refer to each other.
        let direct = leaks.filter(\.isDirect)
        return (direct.isEmpty ? leaks : direct).map(\.report)
    }

    private init(text: String, places: [SourcePlace]) {
        self.text = text
        self.places = places
    }

    /// Reads the place of a frame: `#1 0x12 in f() /a/b.swift:3:4 (M.img+0x1) (BuildId: x)`.
    private static func place(_ line: Substring) -> SourcePlace? {
        guard line.drop(while: { $0 == " " }).first == "#", let path = line.part(behind: " /") else { return nil }
        return SourcePlace("/" + (path.part(before: " (") ?? path))
    }

    // MARK: Options

    /// Returns the variables for the environment of a worker whose test executable contains a sanitizer.
    ///
    /// A race or undefined behaviour ends the process like a crash, so the test that caused it is known. The worker
    /// searches for leaks after the tests. The forked children of tests don't.
    static func environment(_ module: ModuleDescription, inherited: (String) -> String?) -> [String: String] {
        let forced: [Instrumentation: (String, String)] = [
            .address: ("ASAN_OPTIONS", "leak_check_at_exit=0"),
            // A child of an exit expectation may start threads.
            .thread: ("TSAN_OPTIONS", "halt_on_error=1:atexit_sleep_ms=0:die_after_fork=0"),
            .undefined: ("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1"),
        ]
        let sanitizers = instrumentation(of: module.executable).compactMap { forced[$0] }
        if sanitizers.isEmpty { return [:] }
        let path = FileAccess.program(named: "llvm-symbolizer", beside: module.clang)
        var environment: [String: String] = [:]
        for (name, options) in sanitizers {
            let parts = [path.map { "external_symbolizer_path=\($0)" }, inherited(name), options]
            environment[name] = parts.compactMap(\.self).filter { !$0.isEmpty }.joined(separator: ":")
        }
        return environment
    }

    private static func instrumentation(of executable: String) -> Set<Instrumentation> {
        if let response = try? FileAccess.contents(of: "\(executable).link") {
            let words = String(decoding: response, as: UTF8.self)
            return Set(Instrumentation.allCases.filter { words.contains("\"\($0.rawValue)\"") })
        }
        let object = (try? FileAccess.contents(of: executable)).flatMap { ObjectFile(bytes: $0) }
        return object.map(Instrumentation.found) ?? []
    }
}

extension Substring {
    /// Returns the part after the first occurrence of a text.
    fileprivate func part(behind text: String) -> Substring? { firstRange(of: text).map { self[$0.upperBound...] } }

    /// Returns the part before the first occurrence of a text.
    fileprivate func part(before text: String) -> Substring? { firstRange(of: text).map { self[..<$0.lowerBound] } }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension SanitizerReport: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsLeaks": testReadsLeaks,
            "testSetsOptionsForSanitizersOnly": testSetsOptionsForSanitizersOnly,
        ]
            + .each("testReadsSanitizerReports", reports) { row in
                let report = SanitizerReport(output: row.output)
                expectEqual(report?.text, row.text)
                expectEqual(report?.places.map(\.text) ?? [], row.places, row.text ?? "")
            }
    }

    private static var reports: [(output: String, text: String?, places: [String])] {
        [
            (
                """
                of a test
                ==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x1 at pc 0x2 bp 0x3 sp 0x4
                READ of size 8 at 0x1 thread T0
                    #0 0x2 in $s1M (/s/executable+0x4)
                    #1 0x3 in f() (.cold) /s/a b.swift:3:4
                    #2 0x3 in g() /s/c.swift:5 (executable+0x2) (BuildId: 0)
                SUMMARY: AddressSanitizer: heap-use-after-free /s/a b.swift:3:4 in f()
                    #0 0x2 in h() /s/after.swift:1:1
                """, "AddressSanitizer: heap-use-after-free", ["/s/a b.swift:3:4", "/s/c.swift:5:1"]
            ),
            (
                """
                WARNING: ThreadSanitizer: data race (pid=12)
                  Write of size 8 at 0x7 by thread T2:
                    #0 M.f() -> () /s/a.swift:34:58 (executable+0xf) (BuildId: a)
                    #1 main <null> (executable+0xf)
                """, "ThreadSanitizer: data race", ["/s/a.swift:34:58"]
            ),
            (
                "/s/a.c:3:9: runtime error: signed integer overflow: 1 + 2\n    #0 0x1 in f /s/b.c:4:5\n",
                "UndefinedBehaviorSanitizer: signed integer overflow: 1 + 2", ["/s/a.c:3:9", "/s/b.c:4:5"]
            ),
            ("==1==ERROR: AddressSanitizer: stack-overflow on address 0x7", "AddressSanitizer: stack-overflow", []),
            ("an ERROR: of another kind", nil, []),
        ]
    }

    private static func testReadsLeaks() {
        let leaks = leaks(
            in: """
                ==1==ERROR: LeakSanitizer: detected memory leaks

                Direct leak of 123 byte(s) in 1 object(s) allocated from:
                    #0 0x1 in malloc /build/asan.cpp:1:2
                    #1 0x2 in f() /s/a.swift:3:4

                Indirect leak of 8 byte(s) in 1 object(s) allocated from:
                    #0 0x1 in g() /s/b.swift:3:4

                SUMMARY: AddressSanitizer: 131 byte(s) leaked in 2 allocation(s).
                """)
        expectEqual(leaks.map(\.text), ["LeakSanitizer: leak of 123 byte(s) in 1 object(s)"])
        expectEqual(leaks.first?.places.map(\.line), [1, 3])
        let circle = Self.leaks(
            in: """
                Indirect leak of 8 byte(s) in 1 object(s) allocated from:
                    #0 0x1 in g() /s/b.swift:3:4

                Indirect leak of 16 byte(s) in 1 object(s) allocated from:
                    #0 0x1 in g() /s/b.swift:5:4

                SUMMARY: AddressSanitizer: 24 byte(s) leaked in 2 allocation(s).
                """)
        expectEqual(circle.map(\.places.first?.line), [3, 5], "objects that refer to each other")
    }

    private static func testSetsOptionsForSanitizersOnly() throws {
        var module = ModuleDescription()
        module.executable = "\(try temporaryDirectory())/executable"
        try FileAccess.write(Array("\"/a.o\"\n\"-lm\"\n".utf8), to: "\(module.executable).link")
        expectEqual(environment(module) { _ in nil }, [:])
        try FileAccess.write(Array("\"/a.o\"\n\"-fsanitize=address\"\n".utf8), to: "\(module.executable).link")
        let options = environment(module) { $0 == "ASAN_OPTIONS" ? "detect_leaks=0" : nil }
        expectEqual(options.keys.sorted(), ["ASAN_OPTIONS"])
        expectTrue(options["ASAN_OPTIONS"]?.hasSuffix("detect_leaks=0:leak_check_at_exit=0") ?? false, "\(options)")
    }
}
#endif
