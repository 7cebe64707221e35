// `--fix-lists`: adds unlisted tests to the lists of their types, according to the fix-its of the warnings.

import TestEvents
import TestReporting
import TestSupervision

enum ListFixes {
    /// Writes the insertions into their files, and prints a note for each.
    ///
    /// - Returns: false if a file couldn't be written.
    static func apply(_ fixes: [SourceFixIt], paths: PathStyle) -> Bool {
        let text = DiagnosticText(paths: paths)
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
