// Shows the changes of a file in the form of `diff -u` and `git diff`.

enum UnifiedDiff {
    private struct Row {
        var mark: Character
        var text: Substring
        var old: Int
        var new: Int
    }

    /// Compares two versions of a file; the old one is nil if the file is new.
    static func text(_ path: String, from old: String?, to new: String) -> String {
        let rows = rows(lines(of: old ?? ""), lines(of: new))
        var text = "--- \(old == nil ? "/dev/null" : "a/\(path)")\n+++ b/\(path)\n"
        var next = 0
        while let change = rows[next...].firstIndex(where: { $0.mark != " " }) {
            var end = change
            // Changes share a hunk if at most six lines are between them.
            while let more = rows[end...].prefix(7).lastIndex(where: { $0.mark != " " }) { end = more + 1 }
            let hunk = rows[max(next, change - 3)..<min(rows.count, end + 3)]
            text += header(hunk)
            for row in hunk {
                text += "\(row.mark)\(row.text)"
                if row.text.utf8.last != 0x0A { text += "\n\\ No newline at end of file\n" }
            }
            next = hunk.endIndex
        }
        return text
    }

    private static func header(_ hunk: ArraySlice<Row>) -> String {
        let first = hunk[hunk.startIndex]
        let oldCount = hunk.count { $0.mark != "+" }
        let newCount = hunk.count { $0.mark != "-" }
        return "@@ -\(first.old + min(oldCount, 1)),\(oldCount) +\(first.new + min(newCount, 1)),\(newCount) @@\n"
    }

    private static func lines(of text: String) -> [Substring] {
        var lines: [Substring] = []
        var rest = text[...]
        while let end = rest.utf8.firstIndex(of: 0x0A) {
            let next = rest.utf8.index(after: end)
            lines.append(rest[..<next])
            rest = rest[next...]
        }
        return rest.isEmpty ? lines : lines + [rest]
    }

    private static func rows(_ old: [Substring], _ new: [Substring]) -> [Row] {
        var removed: Set<Int> = []
        var inserted: Set<Int> = []
        for change in new.difference(from: old) {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): inserted.insert(offset)
            }
        }
        var rows: [Row] = []
        var (i, j) = (0, 0)
        while i < old.count || j < new.count {
            if removed.contains(i) {
                rows.append(Row(mark: "-", text: old[i], old: i, new: j))
                i += 1
            } else if inserted.contains(j) {
                rows.append(Row(mark: "+", text: new[j], old: i, new: j))
                j += 1
            } else {
                rows.append(Row(mark: " ", text: new[j], old: i, new: j))
                (i, j) = (i + 1, j + 1)
            }
        }
        return rows
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension UnifiedDiff: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testShowsChangesWithContext": testShowsChangesWithContext,
            "testShowsNewFiles": {
                expectEqual(text("b", from: nil, to: "x\n"), "--- /dev/null\n+++ b/b\n@@ -0,0 +1,1 @@\n+x\n")
            },
        ]
    }

    private static func testShowsChangesWithContext() {
        let old = (1...20).map { "\($0)\n" }.joined()
        let new = old.replacing("\n3\n", with: "\nthree\n").replacing("\n19\n", with: "\n").replacing(
            "20\n", with: "20")
        expectEqual(
            text("a", from: old, to: new),
            """
            --- a/a
            +++ b/a
            @@ -1,6 +1,6 @@
             1
             2
            -3
            +three
             4
             5
             6
            @@ -16,5 +16,4 @@
             16
             17
             18
            -19
            -20
            +20
            \\ No newline at end of file

            """)
        for (second, hunkCount) in [("\n12\n", 1), ("\n13\n", 2)] {
            let changed = text("a", from: old, to: old.replacing("\n5\n", with: "\n").replacing(second, with: "\n"))
            expectEqual(changed.matches(of: /@@ -/).count, hunkCount, "hunks, the second change in \(second)")
        }
    }
}
#endif
