// `--accept`: replaces expected literals and golden files with the actual values.

import TestReporting
import TestSupervision

enum Acceptance {
    /// Writes the replacements into their files, and prints a note for each accepted and each refused value.
    ///
    /// - Parameter lines: The lines whose values are accepted, or an empty array for all values.
    /// - Returns: false if a file can't be written.
    static func apply(
        _ fixes: [LiteralFix], without unaccepted: [UnacceptedValue], lines: [ChosenLine], paths: PathStyle
    ) -> Bool {
        let chosen = fixes.filter { fix in lines.isEmpty || lines.contains { isMeant(fix, by: $0) } }
        let text = DiagnosticText(paths: paths)
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
            var problem: String?
            do throws(SystemError) {
                let isUnchanged = try LiteralFix.apply(single, to: path)
                if !isUnchanged {
                    problem = "\(paths.text(path)) has changed since the build; nothing was accepted in it"
                }
            } catch { problem = error.description }
            if let problem {
                TestLogger.complain(problem)
                isComplete = false
                continue
            }
            for fix in single { print(text.line(.note, at: fix.start, description(of: fix, isNew: isNew))) }
        }
        let left = unaccepted.filter { value in
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
