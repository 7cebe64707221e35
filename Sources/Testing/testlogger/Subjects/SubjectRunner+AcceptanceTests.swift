// The tests of `--accept`: what is written where, and what is left alone.

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
import InClassTesting
import TestSupervision

extension SubjectRunner {
    static func testAcceptsWhatTheCodeMakes() throws {
        let issue = "say \"issue\\texpectation\\t$(dirname $0)/a.swift\\t3\\t16\\t$1\\t2\\t\\t0\\t\\t0\""
        func scene(_ values: String) throws -> Scene {
            try Scene([("a", "for value in \(values); do set -- $value; \(issue); done")])
        }
        let none = "there is nothing to accept: no failed comparison is with a literal or a golden here"
        let one = try scene("5")
        expectFalse(try one.outcome().contains { $0.contains("accepted") }, "without asking")
        expectEqual(try one.outcome("--accept", "a.swift:2").last, none, "at another line")
        expectTrue(try one.text("a.swift").contains("(f, 2)"))
        expectEqual(try one.outcome("--accept").last, "a.swift:3:20: note: accepted 5 in place of 2")
        expectTrue(try one.text("a.swift").contains("(f, 5)"))
        expectEqual(
            try one.outcome("--accept").last,
            "a.swift:3:16: note: not accepted, since the source has changed since it was compiled")
        expectEqual(try scene("5 5").outcome("--accept").last, "a.swift:3:20: note: accepted 5 in place of 2", "twice")
        let readOnly = try scene("5")
        chmod(readOnly.module.sources[0], 0o444)
        expectEqual(try readOnly.outcome("--accept").first, "notRun", "what cannot be written")
        expectEqual(
            try scene("5 nil").outcome("--accept").suffix(2),
            [
                "a.swift:3:20: note: not accepted, since the tests got different values",
                "a.swift:3:16: note: not accepted, since what was got is no literal of its kind",
            ])
        let two = try scene("5 6")
        let notAccepted = "note: not accepted, since the tests got different values"
        expectEqual(try two.outcome("--accept").last, "a.swift:3:20: \(notAccepted)", "two values for one literal")
        expectTrue(try two.text("a.swift").contains("(f, 2)"))
    }

    static func testLeavesALiteralThatWasMet() throws {
        let issue = #"say "issue\texpectation\t$(dirname $0)/a.swift\t3\t16\t5\t2\t\t0\t\t0""#
        func met(_ column: Int) -> String {
            #"[ -z "$IN_CLASS_ACCEPTING" ] || say "met\t$(dirname $0)/a.swift:3:\#(column)""#
        }
        let notAccepted = "a.swift:3:20: note: not accepted, since the tests got different values"
        let accepted = "a.swift:3:20: note: accepted 5 in place of 2"
        for (tests, note) in [
            ([met(16), issue], notAccepted), ([issue, met(16)], notAccepted), (["\(met(16)); \(issue)"], notAccepted),
            ([met(17), issue], accepted),
        ] {
            let scene = try Scene(tests.enumerated().map { ("t\($0)", $1) })
            expectEqual(try scene.outcome("--accept").last, note, "\(tests)")
            expectEqual(try scene.text("a.swift").contains("(f, 2)"), note == notAccepted)
        }
    }

    /// The tests behind the first failure, and those of other modules, may have met it as well.
    static func testAcceptsWhatAllHaveMet() throws {
        let met = #"[ -z "$IN_CLASS_ACCEPTING" ] || say "met\t$(dirname $0)/a.swift:3:16""#
        let one = try Scene([("a", met)])
        let issue = "say \"issue\\texpectation\\t\(one.folder)/a.swift\\t3\\t16\\t5\\t2\\t\\t0\\t\\t0\""
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
            "nothing is accepted, since not all tests have run to their ends")
        expectTrue(try one.text("a.swift").contains("(f, 2)"), "a test too late")
    }

    /// Beside what is accepted there may be what is not, each with its reason.
    static func testSaysWhatItDoesNotAccept() throws {
        let source = """
            expectEqual(f, 2)
            expectEqual(f, 0x2)
            expectEqual(f, [2])
            expectEqual(f, 2)
            expectEqual(f, 2, "again")
            expectTrue(f)
            try requireEqual(f, #"2"#)
            expectEqual(f, expected)
            extension T { static var testSelectors: TestSelectors { ["a": a] } }
            """
        let calls = [
            "5 2 12", "5 2 12", "[5] [2] 12", "nil 2 12", "5 2 12", "false true 11", "5 2 17 1 5 2", "5 2 12",
        ]
        let script = calls.enumerated().map { index, call in
            let words = call.split(separator: " ").map(String.init)
            let texts = words.count > 3 ? #"1\t\t5\t2"# : "0"
            return #"say "issue\texpectation\t$(dirname $0)/a.swift\t"# + "\(index + 1)\\t\(words[2])\\t\(words[0])"
                + "\\t\(words[1])\\t\\t0\\t\\t\(texts)\""
        }
        func scene() throws -> Scene {
            let scene = try Scene([("a", script.joined(separator: "; "))])
            try scene.write(source, to: "a.swift")
            let moment = timeval(tv_sec: 1_000, tv_usec: 0)
            utimes(scene.module.sources[0], [moment, moment])
            return scene
        }
        let literal = "the expected value is not written as one plain literal"
        func note(_ line: Int, _ reason: String, column: Int = 12) -> String {
            "a.swift:\(line):\(column): note: not accepted, since \(reason)"
        }
        let found = try scene().outcome("--accept").filter { $0.contains("accepted") }
        expectEqual(
            found,
            [
                "a.swift:1:16: note: accepted 5 in place of 2", "a.swift:5:16: note: accepted 5 in place of 2",
                note(2, literal), note(3, literal), note(4, "what was got is no literal of its kind"),
                note(7, literal, column: 17), note(8, literal),
            ])
        expectEqual(
            try scene().outcome("--accept", "a.swift:3").filter { $0.contains("accept") }, [note(3, literal)])
        expectEqual(
            try scene().outcome("--accept", "a.swift:6").last,
            "there is nothing to accept: no failed comparison is with a literal or a golden here")
    }

    static func testAcceptsGoldens() throws {
        let issue = #"issue\texpectation\t/s.swift\t3\t1\t\t\t\t0\t\t1\t$(dirname $0)/g/$1.txt\t$2\t$3"#
        let golden = "golden() { say \"\(issue)\"; }; "
        func scene(_ calls: String...) throws -> Scene {
            try Scene([("a", golden + calls.map { "golden \($0)" }.joined(separator: "; "))])
        }
        let new = try scene("one tea ''", "one tea ''", "two cup ''", "two tea ''")
        expectEqual(
            try new.outcome("--accept").suffix(2),
            [
                "g/one.txt:1:1: note: accepted 1 line in a new golden",
                "g/two.txt:1:1: note: not accepted, since the tests got different values",
            ])
        expectEqual(try new.text("g/one.txt"), "tea")
        expectFalse(FileAccess.exists("\(new.folder)/g/two.txt"), "one of two texts is there")
        let old = try scene("one 'more tea' tea")
        mkdir("\(old.folder)/g", 0o755)
        try old.write("tea", to: "g/one.txt")
        expectEqual(try old.outcome("--accept").last, "g/one.txt:1:1: note: accepted 1 line in place of 1 line")
        expectEqual(try old.text("g/one.txt"), "more tea")
        let met = try Scene([
            ("a", golden + "golden one tea cup"),
            ("b", #"[ -z "$IN_CLASS_ACCEPTING" ] || say "met\t$(dirname $0)/g/one.txt""#),
        ])
        mkdir("\(met.folder)/g", 0o755)
        try met.write("cup", to: "g/one.txt")
        expectEqual(
            try met.outcome("--accept").last,
            "g/one.txt:1:1: note: not accepted, since the tests got different values", "one test passes")
        expectEqual(try met.text("g/one.txt"), "cup")
        expectFalse(try met.outcome().contains { $0.contains("understand") }, "nobody asked")
        expectEqual(try old.outcome("--accept").first, "notRun", "a golden that is not what was compared")
        expectEqual(try old.text("g/one.txt"), "more tea")
    }
}
#endif
