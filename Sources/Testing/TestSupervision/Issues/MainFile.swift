// Finds the globals of a program's main.swift. The statements of main.swift initialize them and don't run in a test
// test executable. There, a global is zero, and a test that uses it may crash.

import TestEvents

struct MainFile {
    /// The names of the globals.
    private let names: Set<String>

    /// Finds the globals of a module's `main.swift`. Returns nil if the file declares no globals.
    init?(of module: ModuleDescription, in sources: TestedSources) {
        guard let path = module.sources.first(where: { FileAccess.name(of: $0) == "main.swift" }),
            let file = sources.file(at: path)
        else { return nil }
        let keywords = file.tokens.indices.filter { index in
            // Ignore conditions such as `if let`.
            file.bracket(around: index) == nil && ["let", "var"].contains(file.mark(index))
                && !["if", "guard", "while", "case", "catch", ","].contains(file.mark(index - 1))
        }
        names = Set(keywords.map { file.text(file.isMark("(", $0 + 1) ? $0 + 2 : $0 + 1) })
        if names.isEmpty { return nil }
    }

    /// Returns a note if the code around a failure uses such a global.
    ///
    /// - Parameter function: the test's function.
    func note(on issue: TestIssue, function: DeclaredTest?, in sources: TestedSources) -> String? {
        var ranges = ([issue.knownPlace] + issue.callers).compactMap(\.self).map { ($0.path, $0.line...$0.line) }
        if let function { ranges.append((function.place.path, function.place.line...function.lastLine)) }
        for (path, lines) in ranges {
            guard let file = sources.file(at: path) else { continue }
            let use = file.tokens.indices.first { lines.contains(file.line($0)) && names.contains(file.mark($0)) }
            guard let use else { continue }
            return
                "'\(file.text(use))' of main.swift has no value in tests, because they don't run the statements of main.swift; "
                + "declare it in another file"
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
        let text = """
            import A
            @MainActor private let config = Config()
            nonisolated(unsafe) var (count) = 0
            do {
              var local = 1
            }
            if let local = f(config) {}
            """
        try FileAccess.write(Array(text.utf8), to: module.sources[1])
        let source = "func testA() {\n  f(local)\n  expectEqual(config.size, 3)\n  g(\"configs\")\n h(count)\n}\n"
        try FileAccess.write(Array(source.utf8), to: module.sources[0])
        let sources = TestedSources(of: module)
        let file = try requireNotNil(MainFile(of: module, in: sources))
        let issue = TestIssue(kind: .crash, got: "", expected: "")
        for (line, end, name) in [
            (1, 1, nil), (1, 2, nil), (3, 3, "config"), (4, 4, nil), (5, 5, "count"), (1, 9, "config"),
        ] {
            let function = DeclaredTest(
                name: "", place: SourcePlace(path: module.sources[0], line: line, column: 1), lastLine: end,
                conditions: [])
            let note = file.note(on: issue, function: function, in: sources)
            expectEqual(note?.split(separator: "'").first.map(String.init), name)
        }
        let place = SourcePlace(path: module.sources[0], line: 3, column: 1)
        expectNotNil(file.note(on: issue.placed(at: place), function: nil, in: sources))
        expectNotNil(file.note(on: issue.called(from: [place]), function: nil, in: sources))
        module.sources.removeLast()
        expectNil(MainFile(of: module, in: sources))
    }
}
#endif
