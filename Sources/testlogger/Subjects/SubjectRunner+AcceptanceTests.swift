// The tests of `--accept`: what is written where, and what is left alone.

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
#if canImport(Darwin)
@preconcurrency import Darwin
#elseif canImport(Musl)
@preconcurrency import Musl
#else
@preconcurrency import Glibc
#endif
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
        expectEqual(try one.outcome("--accept").last, none, "a source that is newer than what ran")
        expectEqual(try scene("5 5").outcome("--accept").last, "a.swift:3:20: note: accepted 5 in place of 2", "twice")
        let readOnly = try scene("5")
        chmod(readOnly.module.sources[0], 0o444)
        expectEqual(try readOnly.outcome("--accept").first, "notRun", "what cannot be written")
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
