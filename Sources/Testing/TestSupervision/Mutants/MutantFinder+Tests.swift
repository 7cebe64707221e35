// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting
import TestEvents

/// The tests of the finder. They have their own file because the finder's file is long.
enum MutantFinderTests {}

extension MutantFinderTests: SelfTesting {
    static var testSelectors: TestSelectors {
        .each("testFindsMutantsOfExpressions", rows, testFindsMutantsOfExpressions)
            + .each("testKeepsDeclarationsVisibleToOtherFiles", declarations, testKeepsDeclarationsVisibleToOtherFiles)
            + [
                "testSkipsAttributesDirectivesAndComments": testSkipsAttributesDirectivesAndComments,
                "testReplacesOnlyTheBytesOfATarget": testReplacesOnlyTheBytesOfATarget,
                "testMarkersNeedAReason": testMarkersNeedAReason,
                "testReadsTruncatedSources": testReadsTruncatedSources,
            ]
            + .each("testMarkersApplyToTheirOrNextLine", markCases) { source, left in
                let changes = try found("func f() {\n\(source)\n}").filter { !$0.hasPrefix("'\"") }
                expectEqual(changes, left.map { text("\($0) > \($0 + 1)") }, source)
            }
    }

    private static func found(_ source: String) throws -> [String] {
        try MutantFinder.mutants(of: Array(source.utf8), path: "/s.swift").map(\.text)
    }

    /// Sources and their changes, written as `old > new` or `-old`.
    private static let rows: [(source: String, changes: [String])] = [
        ("a < b", ["< > <="]), ("a==b", []), ("a == b && c != d", ["== > !=", "&& > ||", "!= > =="]),
        (#"a(/b < "c/) < d"#, ["< > <="]), (#"a(/\/*b/, =/./) < d"#, ["< > <="]),
        ("a &+ b - -c", ["&+ > &-", "- > +"]), ("a += b, c ^= d", ["+= > -=", "^= > |="]),
        ("f<A>(x) -> B", []), ("a ?? b as? C", []), ("0..<n", ["0 > 1", "..< > ..."]), ("a...b", ["... > ..<"]),
        ("f(a...) + x[b...]", ["+ > -"]), ("func f(_ a: Int...)", []), ("(...n)", ["... > ..<"]),
        ("0...9", ["0 > 1", "... > ..<", "9 > 10"]),
        ("(!a, !b.c) || !(d)", ["-!", "-!", "|| > &&", "-!"]), ("a! + b!.c", ["+ > -"]),
        ("1_000 + 0xFf + 0b1", ["1_000 > 1001", "+ > -", "0xFf > 0x100", "+ > -", "0b1 > 0b10"]),
        ("$0.1 + 1.5 + 1e5 + a.0", ["+ > -", "1 > 2", "+ > -", "+ > -"]),
        ("9223372036854775807 - 007", ["- > +", "007 > 8"]),
        ("true || a.false", ["true > false", "|| > &&"]),
        (
            ##"f("", "ab", "c", "x", "\n", #"d"#, "\(e)")"##,
            [
                #""" > "x""#, #""ab" > "x""#, #""c" > "x""#, #""x" > "y""#, #""\n" > "x""#, ##"#"d"# > "x""##,
                #""\(e)" > "x""#,
            ]
        ),
        (#""a" + b + "c""#, [#""a" > "x""#, #""c" > "x""#]),
        (
            "if a?.b[0]!.isEmpty, let b, c(d, e) {",
            ["a?.b[0]!.isEmpty > !a?.b[0]!.isEmpty", "0 > 1", "c(d, e) > !c(d, e)"]
        ),
        ("while a {", ["a > !a"]), ("guard a else {", ["a > !a"]), ("if a ?? b, c == d {", ["== > !="]),
        ("guard a < b, case .c = d, !e else {", ["< > <=", "-!"]), ("while true {", ["true > false"]),
        ("if #available(macOS 14, *), a {", ["a > !a"]), ("repeat { } while a(b)\nc { }", []),
        ("f(if: a, { b })", []),
        ("{\n try? await a.b(c)[0]?.d()\n}", ["-try? await a.b(c)[0]?.d()", "0 > 1"]),
        ("{ a = b; c[d] += e }", ["-a = b", "-c[d] += e", "+= > -="]), ("{ a == b }", ["== > !="]),
        ("{\n a(b)\n .c()\n}", []), ("{\n a(\n b)\n}", ["-a( b)"]), ("{ a { b() } }", ["-b()"]), ("{ a in b(a) }", []),
        ("{\n let a = b()\n return c()\n}", []), ("[\na(b)\n]", []), ("{ super.f(a) }", ["-super.f(a)"]),
        ("{\n case .a:\n b()\n default: c ? d : e()\n}", ["-b()"]),
        ("{ a = f { b() } }", ["-a = f { b() }", "-b()"]),
        ("{\n a =\n b\n + c.d {\n}\n e() }", ["-a = b + c.d { }", "+ > -", "-e()"]),
        ("{\n case a = b\n return .c(d)\n throw e\n if (f) { }\n g as? H\n}", []),
        (#"{ precondition(a < 1, "b") }"#, []), ("assert(a < 1)\nfatalError(\"a\")", []),
    ]

    private static func testFindsMutantsOfExpressions(_ source: String, _ changes: [String]) throws {
        expectEqual(try found("func f() { return \(source)"), changes.map(text))
    }

    private static func text(_ change: String) -> String {
        let parts = change.split(separator: " > ")
        return parts.count == 2 ? "'\(parts[0])' changed to '\(parts[1])'" : "'\(change.dropFirst())' removed"
    }

    /// Sources with declarations. The types in them may be inferred from their code.
    private static let declarations: [(source: String, changes: [String])] = [
        ("let a = 0..<10", []), ("let a = { b < !c }()", []), ("let a = b() + (c - d)", []),
        ("struct A { let b = c < d; var e: Int { f < g } }", ["< > <="]),
        ("let a = f { b() }\nfunc g() { b() }", ["-b()"]), ("let a = .init { b() }", []),
        ("let a = if let b, case let c? = d { 0..<c } else { d...1 }", []),
        ("var a = 1 { didSet { b(c < d) } }", ["-b(c < d)", "< > <="]),
        ("func f(_ a: G = b..<c, _ d: () -> E = { e - g }) where H == I { j - k }", ["- > +"]),
        ("class A { init() { a - b }\nsubscript(a: Int) -> Int { a * b } }", ["- > +", "* > /"]),
        ("struct A<let n: Int> { let a = 0..<b }\nactor B { let c = true }", []),
        ("enum A: Int { case a = 1, b\nstatic func <(c: A, d: A) -> Bool { c.e < d.e } }", ["< > <="]),
        ("let a: InlineArray<4, G<Int?, 5>>, b: [6 of [7 of A]], c = 8\nfunc f(a: Int = 9) { 10 }", ["10 > 11"]),
        ("func f() { a(G<H<4>>(5)); if b<c { d(6) } }", ["-a(G<H<4>>(5))", "4 > 5", "5 > 6", "-d(6)", "6 > 7"]),
    ]

    private static func testKeepsDeclarationsVisibleToOtherFiles(_ source: String, _ changes: [String]) throws {
        expectEqual(try found(source), changes.map(text))
    }

    private static func testSkipsAttributesDirectivesAndComments() throws {
        let source = """
            import struct A.B
            @available(macOS 14, *) @a(1) func f() {}
            func g() {
            #if swift(>=5) && X
            let a = #line, b = #c(1), c = 2
            #elseif X && 1 < 2
            3
            #endif
            #if DEBUG || IN_CLASS_TESTS
            4 + 5
            #endif
            6  // no mutants: it is of no matter
            // 7 + 8 /* 9 */
            /* 10 */
            }
            """
        expectEqual(try found(source), ["'2' changed to '3'", "'3' changed to '4'"])
    }

    private static func testReplacesOnlyTheBytesOfATarget() throws {
        let source = Array("{ é = #\"a\"#\nif b, !c { é(1) } }".utf8)
        let changed = try MutantFinder.mutants(of: source, path: "/s.swift").map { mutant in
            "\(mutant.place.line):\(mutant.place.column) \(String(decoding: mutant.applied(to: source), as: UTF8.self))"
        }
        expectEqual(
            changed,
            [
                "1:3 { ()\nif b, !c { é(1) } }", "1:8 { é = \"x\"\nif b, !c { é(1) } }",
                "2:4 { é = #\"a\"#\nif !b, !c { é(1) } }", "2:7 { é = #\"a\"#\nif b, c { é(1) } }",
                "2:12 { é = #\"a\"#\nif b, !c { () } }", "2:15 { é = #\"a\"#\nif b, !c { é(2) } }",
            ])
    }

    private static var markCases: [(source: String, left: [Int])] {
        [
            ("1\n2", [1, 2]), ("1\n2  // no mutants: c\n3", [1, 3]), ("1\n\t // no mutants: c\n2\n3", [1, 3]),
            ("// no mutants: a\n1\n2", [2]), ("1 // no mutants: b\n2\n// no mutants:c\n3\n4", [2, 4]),
            ("[\"// no mutants\"]\n1", [1]), ("\"\"\"\n// no mutants\n\"\"\" + 1 // no mutants: b\n2", [2]),
            ("1 // is // no mutants\n2", [1, 2]),
        ]
    }

    private static func testMarkersNeedAReason() {
        for end in ["", ":", ": \t", ":\nx", ":\r\nx", " of this"] {
            let error = expectThrows(MutantError.self, end) { _ = try found("a\n  b // no mutants\(end)") }
            expectEqual(error?.place, SourcePlace(path: "/s.swift", line: 2, column: 5), end)
        }
    }

    private static func testReadsTruncatedSources() throws {
        let source = Array(
            "@a(#if b, !c == \"{ d(1) \" else { try? e += 0x...9 } // no mutants: f\n@g. assert([\"".utf8)
        for start in source.indices {
            for end in start...source.count {
                _ = try? MutantFinder.mutants(of: Array(source[start..<end]), path: "")
            }
        }
    }
}
#endif
