// The globals of a program's main.swift, which are initialized by its statements. Those don't run in a test image: there a
// global is zero, and to use it may crash.

import TestEvents

struct MainFile {
    /// The names of the globals.
    private let names: Set<String>

    /// Reads the `main.swift` of a module, or returns nil if it has none with globals.
    init?(of module: ModuleDescription) {
        guard let path = module.sources.first(where: { FileAccess.name(of: $0) == "main.swift" }),
            let lines = Self.lines(of: path)
        else { return nil }
        var names: Set<String> = []
        for line in lines where line.first.map({ $0 != " " && $0 != "\t" }) ?? false {
            let words = Self.words(of: line)
            guard let keyword = words.firstIndex(where: { $0 == "let" || $0 == "var" }), keyword + 1 < words.count,
                words[..<keyword].allSatisfy({ Self.modifiers.contains(String($0)) })
            else { continue }
            names.insert(String(words[keyword + 1]))
        }
        if names.isEmpty { return nil }
        self.names = names
    }

    private static let modifiers: Set = [
        "public", "package", "internal", "fileprivate", "private", "nonisolated", "unsafe", "MainActor", "final",
        "weak",
    ]

    private static func lines(of path: String) -> [Substring]? {
        (try? FileAccess.contents(of: path)).map {
            String(decoding: $0, as: UTF8.self).split(omittingEmptySubsequences: false) { $0.isNewline }
        }
    }

    private static func words(of line: Substring) -> [Substring] {
        line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
    }

    /// Says that the code around a failure uses such a global.
    ///
    /// - Parameter function: the lines of the test's function.
    func note(on issue: TestIssue, function: (path: String, lines: ClosedRange<Int>)?) -> String? {
        var ranges = ([issue.knownPlace] + issue.callers).compactMap(\.self).map { ($0.path, $0.line...$0.line) }
        if let function { ranges.append(function) }
        for (path, range) in ranges {
            guard let lines = Self.lines(of: path) else { continue }
            for line in lines.indices where range.contains(line + 1) {
                guard let name = Self.words(of: lines[line]).first(where: { names.contains(String($0)) }) else {
                    continue
                }
                return "'\(name)' of main.swift has no value in tests, which do not run the statements of main.swift; "
                    + "declare it in another file"
            }
        }
        return nil
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension MainFile: SelfTesting {
    static var testSelectors: TestSelectors { ["testNamesGlobalsNearFailures": testNamesGlobalsNearFailures] }

    private static func testNamesGlobalsNearFailures() throws {
        let folder = try temporaryDirectory()
        var module = ModuleDescription()
        module.sources = ["\(folder)/a.swift", "\(folder)/main.swift"]
        let text =
            "import A\n@MainActor private let config = Config()\nvar (count) = 0\nlet\n  var local = 1\nf(config)\n"
        try FileAccess.write(Array(text.utf8), to: module.sources[1])
        let source = "func testA() {\n  f(local)\n  expectEqual(config.size, 3)\n  g(\"configs\")\n h(count)\n}\n"
        try FileAccess.write(Array(source.utf8), to: module.sources[0])
        let file = try requireNotNil(MainFile(of: module))
        let issue = TestIssue(kind: .crash, got: "", expected: "")
        for (line, end, name) in [
            (1, 1, nil), (1, 2, nil), (3, 3, "config"), (4, 4, nil), (5, 5, "count"), (1, 9, "config"),
        ] {
            let note = file.note(on: issue, function: (module.sources[0], line...end))
            expectEqual(note?.split(separator: "'").first.map(String.init), name)
        }
        let place = SourcePlace(path: module.sources[0], line: 3, column: 1)
        expectNotNil(file.note(on: issue.placed(at: place), function: nil))
        expectNotNil(file.note(on: issue.called(from: [place]), function: nil))
        module.sources.removeLast()
        expectNil(MainFile(of: module))
    }
}
#endif
