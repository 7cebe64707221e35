// Changes the user's sources and golden files: `--accept` replaces expected values with the actual values, and `--fix-lists` adds
// unlisted tests to the lists of their types, according to the fix-its of the warnings.

import TestEvents
import TestReporting
import TestSupervision

/// The values that `--accept` writes.
enum Acceptance {
    /// Writes the replacements into their files, and prints a note for each accepted and each refused value.
    ///
    /// - Parameter lines: The lines whose values are accepted, or an empty array for all values.
    /// - Returns: false if a file can't be written.
    static func apply(_ runner: SubjectRunner, lines: [ChosenLine], style: TextStyle) -> Bool {
        let chosen = runner.fixes.filter { fix in lines.isEmpty || lines.contains { isMeant(fix, by: $0) } }
        let text = DiagnosticText(style)
        var isComplete = true
        for path in Set(chosen.map(\.path)).sorted() {
            var single: [LiteralFix] = []
            let here = chosen.filter { $0.path == path }
            for fix in here where !single.contains(where: { $0.range == fix.range }) {
                // Failures of one call in a loop, or of one golden, may have different values. Then no value is accepted.
                if here.allSatisfy({ $0.range != fix.range || $0.replacement == fix.replacement }) {
                    single.append(fix)
                } else if fix == here.first(where: { $0.range == fix.range }) {
                    print(text.line(.note, at: fix.start, "not accepted: the tests got different values"))
                }
            }
            if single.isEmpty { continue }
            let isNew = !FileAccess.exists(path)
            do {
                guard try LiteralFix.apply(single, to: path) else {
                    throw UsageError(
                        description: "\(style.text(path)) has changed since the build; nothing was accepted in it")
                }
                for fix in single { print(text.line(.note, at: fix.start, description(of: fix, isNew: isNew))) }
            } catch {
                TestLogger.complain("\(error)")
                isComplete = false
            }
        }
        let left = runner.unaccepted.filter { value in
            lines.isEmpty || lines.contains { $0.names(value.place.path) && $0.line == value.place.line }
        }
        for (index, value) in left.enumerated() where !left[..<index].contains(value) {
            print(text.line(.note, at: value.place, "not accepted: \(value.reason)"))
        }
        if chosen.isEmpty, left.isEmpty {
            print("nothing to accept: no failed comparison expects a literal or a golden file")
        }
        return isComplete
    }

    private static func isMeant(_ fix: LiteralFix, by line: ChosenLine) -> Bool {
        line.names(fix.call.path) && line.line == fix.call.line
            || line.names(fix.path) && (fix.start.line...fix.end.line).contains(line.line)
    }

    private static func description(of fix: LiteralFix, isNew: Bool) -> String {
        func lines(_ text: String) -> String {
            let count = text.utf8.count { $0 == 0x0A } + (text.utf8.last == 0x0A || text.isEmpty ? 0 : 1)
            return count == 1 ? "1 line" : "\(count) lines"
        }
        let texts = [fix.literal, fix.replacement].map {
            $0.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
        }
        let unchanged = zip(texts[0], texts[1]).prefix { $0.elementsEqual($1) }.count
        let change = texts[1].count > 1 ? "; the first change is in line \(fix.start.line + unchanged)" : ""
        if isNew { return "accepted \(lines(fix.replacement)) in a new golden file" }
        let isShown = [fix.literal, fix.replacement].allSatisfy { $0.utf8.count <= 400 && !$0.utf8.contains(0x0A) }
        return isShown && !fix.isGolden
            ? "accepted \(fix.replacement) instead of \(fix.literal)"
            : "accepted \(lines(fix.replacement)) (before: \(lines(fix.literal)))\(change)"
    }
}

/// The entries that `--fix-lists` adds.
enum ListFixes {
    /// Writes the insertions into their files, and prints a note for each.
    ///
    /// - Returns: false if a file couldn't be written.
    static func apply(_ fixes: [SourceFixIt], style: TextStyle) -> Bool {
        let text = DiagnosticText(style)
        if fixes.isEmpty { print("nothing to add: all tests are in lists") }
        var isComplete = true
        for path in Set(fixes.map(\.start.path)).sorted() {
            let here = fixes.filter { $0.start.path == path }
            do throws(SystemError) {
                try FileReplacement.write(inserting(here, into: try FileAccess.contents(of: path)), to: path)
                for fix in here {
                    print(text.line(.note, at: fix.start, "added \(fix.text.prefix { $0 != "," }); build to run it"))
                }
            } catch {
                TestLogger.complain(error.description)
                isComplete = false
            }
        }
        return isComplete
    }

    /// Returns the contents of a file with texts inserted. Texts at the same place keep their order.
    private static func inserting(_ fixes: [SourceFixIt], into bytes: [UInt8]) -> [UInt8] {
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map(Array.init)
        // Insert the last text first, so that the places of the others stay right.
        for fix in fixes.reversed().sorted(by: { ($0.start.line, $0.start.column) > ($1.start.line, $1.start.column) })
        {
            let (line, column) = (fix.start.line - 1, fix.start.column - 1)
            guard lines.indices.contains(line), column <= lines[line].count else { continue }
            lines[line].insert(contentsOf: fix.text.utf8, at: column)
        }
        return Array(lines.joined(separator: [0x0A]))
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension ListFixes: SelfTesting {
    static var testSelectors: TestSelectors { ["testInsertsFixesInOrder": testInsertsFixesInOrder] }

    private static func testInsertsFixesInOrder() throws {
        func fix(_ line: Int, _ column: Int, _ text: String) -> SourceFixIt {
            SourceFixIt(at: SourcePlace(path: "/s", line: line, column: column), inserting: text)
        }
        let fixes = [fix(2, 2, "a, "), fix(1, 1, "x, "), fix(2, 2, "b, "), fix(2, 4, "c, ")]
        let made = inserting(fixes, into: Array("é\n[y, z]\r\n".utf8))
        expectEqual(String(decoding: made, as: UTF8.self), "x, é\n[a, b, y,c,  z]\r\n")
    }
}
#endif
