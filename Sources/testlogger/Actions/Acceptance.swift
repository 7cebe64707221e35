// `--accept`: what the code makes becomes what the tests expect, literal by literal, when the person says so.

import TestReporting
import TestSupervision

enum Acceptance {
    /// Writes the replacements into their files, those at certain lines only if there are any, and says what it did.
    ///
    /// - Returns: false when something could not be written.
    static func apply(_ fixes: [LiteralFix], lines: [ChosenLine], paths: PathStyle) -> Bool {
        let chosen = fixes.filter { fix in
            lines.isEmpty || lines.contains { $0.names(fix.path) && $0.line == fix.start.line }
        }
        let text = DiagnosticText(paths: paths)
        var isComplete = true
        for path in Set(chosen.map(\.path)).sorted() {
            // Two failures of one call, in a loop, may want different values: then neither is right.
            let here = chosen.filter { $0.path == path }
            let unambiguous = here.filter { fix in
                here.allSatisfy { $0.range != fix.range || $0.replacement == fix.replacement }
            }
            var single: [LiteralFix] = []
            for fix in unambiguous where !single.contains(where: { $0.range == fix.range }) { single.append(fix) }
            do throws(SystemError) {
                guard try LiteralFix.apply(single, to: path) else {
                    TestLogger.complain("\(paths.text(path)) has changed; nothing was accepted in it")
                    isComplete = false
                    continue
                }
            } catch {
                TestLogger.complain(error.description)
                isComplete = false
                continue
            }
            for fix in single {
                print(text.line(.note, at: fix.start, "accepted \(fix.replacement) in place of \(fix.literal)"))
            }
        }
        if chosen.isEmpty { print("there is nothing to accept: no failed comparison is with a literal here") }
        return isComplete
    }
}
