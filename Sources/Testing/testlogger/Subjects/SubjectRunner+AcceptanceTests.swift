// Tests `--accept`: the files and values that it writes, and those that it leaves unchanged.

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
import InClassTesting
import TestSupervision

extension SubjectRunner {
    private static let nothing = "nothing to accept: no failed comparison expects a literal or a golden file"
    private static let different = "note: not accepted: the tests got different values"

    static func testAcceptsActualValues() throws {
        let issue = "say \"issue\\t$index\\texpectation\\t$(dirname $0)/a.swift\\t3\\t16\\t$1\\t2\\t\\t0\\t\\t0\""
        func scene(_ values: String) throws -> Scene {
            try Scene([("a", "for value in \(values); do set -- $value; \(issue); done")])
        }
        let accepted = "a.swift:3:20: note: accepted 5 instead of 2"
        let one = try scene("5")
        expectFalse(try one.outcome().contains { $0.contains("accepted") }, "without asking")
        expectEqual(try one.outcome("--accept", "a.swift:2").last, nothing, "at another line")
        expectTrue(try one.text("a.swift").contains("(f, 2)"))
        expectEqual(try one.outcome("--accept").last, accepted)
        expectTrue(try one.text("a.swift").contains("(f, 5)"))
        let changed = "a.swift:3:16: note: not accepted: the source has changed since it was compiled"
        expectEqual(try one.outcome("--accept").last, changed)
        expectEqual(try scene("5 5").outcome("--accept").last, accepted, "twice")
        let readOnly = try scene("5")
        chmod(readOnly.module.sources[0], 0o444)
        expectEqual(try readOnly.outcome("--accept").first, "notRun", "what cannot be written")
        let noLiteral =
            "a.swift:3:16: note: not accepted: the actual value can't be written as a literal of the same kind"
        expectEqual(try scene("5 nil").outcome("--accept").suffix(2), ["a.swift:3:20: \(different)", noLiteral])
        let two = try scene("5 6")
        expectEqual(try two.outcome("--accept").last, "a.swift:3:20: \(different)", "two values for one literal")
        expectTrue(try two.text("a.swift").contains("(f, 2)"))
    }

    static var metTests: [(name: String, tests: [String], isAccepted: Bool)] {
        let issue = #"say "issue\t$index\texpectation\t$(dirname $0)/a.swift\t3\t16\t5\t2\t\t0\t\t0""#
        func met(_ column: Int) -> String {
            #"[ -z "$IN_CLASS_ACCEPTING" ] || say "met\t$(dirname $0)/a.swift:3:\#(column)""#
        }
        return [
            ("before", [met(16), issue], false), ("behind", [issue, met(16)], false),
            ("in one test", ["\(met(16)); \(issue)"], false), ("at another place", [met(17), issue], true),
        ]
    }

    static func testKeepsLiteralsOfPassedExpectations(_ row: (name: String, tests: [String], isAccepted: Bool)) throws {
        let scene = try Scene(row.tests.enumerated().map { ("t\($0)", $1) })
        let note = row.isAccepted ? "note: accepted 5 instead of 2" : different
        expectEqual(try scene.outcome("--accept").last, "a.swift:3:20: \(note)")
        expectEqual(try scene.text("a.swift").contains("(f, 2)"), !row.isAccepted)
    }

    /// Other tests may have passed with the old value: tests after the first failure, and tests of other modules.
    static func testRunsAllTestsBeforeAccepting() throws {
        let met = #"[ -z "$IN_CLASS_ACCEPTING" ] || say "met\t$(dirname $0)/a.swift:3:16""#
        let one = try Scene([("a", met)])
        let issue = "say \"issue\\t$index\\texpectation\\t\(one.folder)/a.swift\\t3\\t16\\t5\\t2\\t\\t0\\t\\t0\""
        let two = try Scene([("b", issue)])
        let both = try Scene([("b", issue), ("a", met.replacing("$(dirname $0)", with: one.folder))])
        _ = try one.outcome("--accept", two.description)
        expectTrue(try one.text("a.swift").contains("(f, 2)"), "a module before")
        _ = try two.outcome("--accept", one.description)
        expectTrue(try one.text("a.swift").contains("(f, 2)"), "a module behind")
        _ = try both.outcome("--accept", "--fail-fast", "--jobs", "1")
        expectTrue(try one.text("a.swift").contains("(f, 2)"), "a test behind")
        Interruption.watchSignals()
        defer { Interruption.forget() }
        let late = try Scene([("b", issue), ("c", "kill -TERM $PPID; sleep 600")])
        expectEqual(
            try late.outcome("--accept", "--jobs", "1", "--timeout", "600000").last,
            "nothing was accepted, because not all tests finished")
        expectTrue(try one.text("a.swift").contains("(f, 2)"), "a test too late")
    }

    /// Some values are accepted and others are refused, each with its reason.
    static func testReportsReasonsForNotAccepting() throws {
        let noPlainLiteral = "the expected value isn't one plain literal"
        // Source lines, the values of their comparisons, and the reasons why the values are refused.
        let rows: [(source: String, values: String, column: Int, reason: String?)] = [
            ("expectEqual(f, 2)", #"5\t2"#, 12, nil), ("expectEqual(f, 0x2)", #"5\t2"#, 12, noPlainLiteral),
            ("expectEqual(f, [2])", #"[5]\t[2]"#, 12, noPlainLiteral),
            ("expectEqual(f, 2)", #"nil\t2"#, 12, "the actual value can't be written as a literal of the same kind"),
            ("expectEqual(f, 2, \"again\")", #"5\t2"#, 12, nil), ("expectTrue(f)", #"false\ttrue"#, 11, nil),
            ("try requireEqual(f, #\"2\"#)", #"5\t2"#, 17, noPlainLiteral),
            ("expectEqual(f, expected)", #"5\t2"#, 12, noPlainLiteral),
        ]
        let script = rows.enumerated().map { index, row in
            // Line 7 compares strings, so its issue has whole texts.
            #"say "issue\t$index\texpectation\t$(dirname $0)/a.swift\t\#(index + 1)\t\#(row.column)\t\#(row.values)\t\t0\t\t"#
                + (index == 6 ? #"1\t\t5\t2""# : #"0""#)
        }
        let list = "extension T { static var testSelectors: TestSelectors { [\"a\": a] } }"
        func scene() throws -> Scene {
            let scene = try Scene([("a", script.joined(separator: "; "))])
            try scene.write((rows.map(\.source) + [list]).joined(separator: "\n"), to: "a.swift")
            let moment = timeval(tv_sec: 1_000, tv_usec: 0)
            utimes(scene.module.sources[0], [moment, moment])
            return scene
        }
        let accepted = [1, 5].map { "a.swift:\($0):16: note: accepted 5 instead of 2" }
        let refused = rows.enumerated().compactMap { index, row in
            row.reason.map { "a.swift:\(index + 1):\(row.column): note: not accepted: \($0)" }
        }
        expectEqual(try scene().outcome("--accept").filter { $0.contains("accepted") }, accepted + refused)
        expectEqual(try scene().outcome("--accept", "a.swift:3").filter { $0.contains("accept") }, [refused[1]])
        expectEqual(try scene().outcome("--accept", "a.swift:6").last, nothing)
    }

    static func testAcceptsGoldens() throws {
        let issue = #"issue\t$index\texpectation\t/s.swift\t3\t1\t\t\t\t0\t\t1\t$(dirname $0)/g/$1.txt\t$2\t$3"#
        let golden = "golden() { say \"\(issue)\"; }; "
        func scene(_ calls: String...) throws -> Scene {
            try Scene([("a", golden + calls.map { "golden \($0)" }.joined(separator: "; "))])
        }
        let new = try scene("one tea ''", "one tea ''", "two cup ''", "two tea ''")
        let first = "g/one.txt:1:1: note: accepted 1 line in a new golden file"
        expectEqual(try new.outcome("--accept").suffix(2), [first, "g/two.txt:1:1: \(different)"])
        expectEqual(try new.text("g/one.txt"), "tea")
        expectFalse(FileAccess.exists("\(new.folder)/g/two.txt"), "one of two texts is there")
        let old = try scene("one 'more tea' tea")
        mkdir("\(old.folder)/g", 0o755)
        try old.write("tea", to: "g/one.txt")
        expectEqual(try old.outcome("--accept").last, "g/one.txt:1:1: note: accepted 1 line (before: 1 line)")
        expectEqual(try old.text("g/one.txt"), "more tea")
        let met = try Scene([
            ("a", golden + "golden one tea cup"),
            ("b", #"[ -z "$IN_CLASS_ACCEPTING" ] || say "met\t$(dirname $0)/g/one.txt""#),
        ])
        mkdir("\(met.folder)/g", 0o755)
        try met.write("cup", to: "g/one.txt")
        expectEqual(try met.outcome("--accept").last, "g/one.txt:1:1: \(different)", "one test passes")
        expectEqual(try met.text("g/one.txt"), "cup")
        expectFalse(try met.outcome().contains { $0.contains("understand") }, "nobody asked")
        expectEqual(try old.outcome("--accept").first, "notRun", "a golden that is not what was compared")
        expectEqual(try old.text("g/one.txt"), "more tea")
    }
}
#endif
