// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting
import TestEvents

enum ListWarningTests {}

extension ListWarningTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testUnlistedTestWarnsAtItsDeclaration": testUnlistedTestWarnsAtItsDeclaration,
            "testIgnoresTypesWithoutList": testIgnoresTypesWithoutList,
            "testSortsWarningsByName": testSortsWarningsByName,
        ]
            + .each("testWarnsOnlyUnderMatchingConditions", conditionalTests) { text, isFound in
                let plan = [PlannedTest(typeName: "S", testName: "testA", testType: "unit", module: "M")]
                let found = ListCheck(SourceScan(text: text, path: "/s.swift", module: "M"), plan: plan).warnings
                expectEqual(found.count, isFound ? 1 : 0)
            }
            + .each("testChecksTypesThatInheritAList", inheritingTypes) { text, names in
                let texts = names.map { name in
                    "test 'testB' of \(name) is in no list and doesn't run; \(name) inherits the list of "
                }
                let found = warnings(text, planned: []).map(\.text)
                expectTrue(found.count == texts.count && zip(found, texts).allSatisfy { $0.hasPrefix($1) }, "\(found)")
            }
            + .each("testEntryThatRunsAnotherTestWarns", entries) { entry, function in
                let text = """
                    extension S {
                        static var testSelectors: TestSelectors { ["testA": testA, "testB": \(entry)] }
                        static func testA() {}
                        static func testB() {}
                    }
                    """
                expectEqual(
                    warnings(text, planned: ["testA", "testB"]).map(\.text),
                    function.map { ["entry 'testB' of S runs '\($0)'"] } ?? [])
            }
            + .each("testOffersFixItThatInsertsAnEntry", lists) { list, column in
                let source =
                    "extension S { static var testSelectors: TestSelectors { \(list) }; static func testB() {} }"
                let warning = try requireNotNil(warnings(source, planned: ["testA"]).first)
                expectEqual(warning.fixIt.map { $0.start.column - 56 }, column)
            }
    }

    /// Lists, and where in them an entry is inserted.
    private static var lists: [(list: String, column: Int?)] {
        [
            ("[\"testA\": testA]", 2), (".each(\"t\", [1, 2]) { _ in } + [\"testA\": testA]", 32),
            ("{ let rows = [1]; return .each(\"t\", rows) { _ in } + [\"testA\": testA] }()", nil),
            ("[:] + [\"testA\": testA]", 8), ("\n#if X\n[\"testA\": testA]\n#endif\n", nil),
        ]
    }

    private static var conditionalTests: [(text: String, isFound: Bool)] {
        let list = "static var testSelectors: TestSelectors { [\"testA\": testA] }; static func testA() {}"
        let (first, second) = ("extension S { \(list) }\n", list.replacing("\"testA\"", with: "\"testC\""))
        let inner = second.replacing("[", with: "\n#if X\n[").replacing("]", with: "]\n#endif\n")
        return [
            ("#if X\nextension S { \(list); static func testB() {} }\n#endif", true),
            ("extension S { \(list)\n#if X\nstatic func testB() {}\n#endif\n}", false),
            ("extension S { \(list); static func testB() {}\n#if X\nvar more: [M] { [testB] }\n#endif\n}", false),
            (
                "#if X\nextension S { \(list); static func testB() {} }\n#endif\n"
                    + "extension S {\n#if X\nvar more: [M] { [testB] }\n#endif\n}", true
            ),
            ("\(first)#if X\nextension S { \(second) }\n#endif", false),
            ("\(first)#if DEBUG\nextension S { \(second) }\n#endif", true),
            ("\(first)extension S { \(inner) }", false),
        ]
    }

    private static func warnings(_ text: String, planned: [String]) -> [SourceWarning] {
        let plan = planned.map { PlannedTest(typeName: "S<Int>", testName: $0, testType: "unit", module: "M") }
        return ListCheck(SourceScan(text: text, path: "/s.swift", module: "M"), plan: plan).warnings
    }

    private static func testUnlistedTestWarnsAtItsDeclaration() throws {
        let text =
            "extension S { static var testSelectors: TestSelectors { [\"testA\": testA] }\n static func testA() {}\n func testB() {} }"
        let warning = try requireNotNil(warnings(text, planned: ["testA"]).first)
        expectEqual(warning.text, "test 'testB' of S is in no list and doesn't run")
        expectEqual(warning.place, SourcePlace(path: "/s.swift", line: 3, column: 7))
        expectEqual(warning.fixIt?.text, "\"testB\": fixture(testB), ")
        expectEqual(warning.fixIt?.start.column, 58)
        let conditional = """
            extension S {
            #if os(Windows)
            static var testSelectors: TestSelectors { ["testW": testW] }
            #else
            static var testSelectors: TestSelectors { ["testA": testA] }
            #endif
            static func testA() {}
            static func testB() {}
            }
            """
        let active = try requireNotNil(warnings(conditional, planned: ["testA"]).first)
        expectEqual(active.fixIt?.start.line, 5, "the list of the compiled branch")
    }

    private static var inheritingTypes: [(text: String, names: [String])] {
        let list = "static var testSelectors: TestSelectors { [\"testA\": testA] }"
        return [
            (
                "class Base { class \(list.dropFirst(7)) }; class S: Base { func testB() {}; override func testA() {} }",
                ["S"]
            ),
            (
                "class Base { class \(list.dropFirst(7)) }; class M: Base {}; final class S: M { func testB() {} }",
                ["S"]
            ),
            ("protocol P: SelfTesting {}; extension P { \(list) }; struct S: P { func testB() {} }", ["S"]),
            (
                "protocol P {}; extension P { \(list) }; struct S {}; extension S: SelfTesting, P { func testB() {} }",
                ["S"]
            ),
            ("enum O { class Base { class \(list.dropFirst(7)) }; class S: Base { func testB() {} } }", ["O.S"]),
            ("protocol P: Q {}; protocol Q: P {}; struct S: P { func testB() {} }", []),
            ("protocol P {}; extension P { \(list) }; protocol Q: P { func testB() }", []),
            ("class Base { class \(list.dropFirst(7)) }; class S: Base { override class \(list.dropFirst(7)) }", []),
        ]
    }

    private static func testIgnoresTypesWithoutList() {
        expectEqual(warnings("struct S { func testB() {} }", planned: []), [])
    }

    /// Entries named `testB`, and the other function that they run.
    private static let entries = [
        ("testA", "testA"), ("fixture(testA)", "testA"), ("testB2", "testB2"), ("testB", nil),
        ("fixture(testB)", nil), ("fixture { try $0.testB() }", nil), ("{ f() }", nil), ("atestB", nil),
    ]

    private static func testSortsWarningsByName() {
        let types = ["D", "A", "C", "B", "E"].map { name in
            "extension \(name) { static var testSelectors: TestSelectors { [:] }; static func test\(name)() {} }"
        }
        expectEqual(
            warnings(types.joined(separator: "\n"), planned: []).map(\.text),
            ["A", "B", "C", "D", "E"].map { "test 'test\($0)' of \($0) is in no list and doesn't run" })
    }
}
#endif
