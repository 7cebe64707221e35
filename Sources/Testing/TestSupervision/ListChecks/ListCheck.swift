// Compares the lists in the sources with the tests that the test executable announces. The compiler accepts a list that doesn't
// run because its type doesn't conform to the protocol, inherits the conformance or has lost it to the optimiser. It
// also accepts a test that is in no list, and an entry with a wrong name.

import TestEvents

/// An entry, or a list whose entries are computed at run time, that no worker has announced.
struct LostEntry: Equatable {
    var typeName: String
    /// The name of the test, or nil for the whole list.
    var testName: String?
    var place: SourcePlace
    var reason: String

    /// The message at the place.
    var issue: TestIssue {
        let what = testName.map { "entry '\($0)' of \(typeName)" } ?? "list of \(typeName)"
        return TestIssue(
            kind: .list, path: place.path, line: place.line, column: place.column,
            message: "\(what) doesn't run: \(reason)")
    }
}

/// The mistakes in the lists of a module.
struct ListCheck {
    /// The entries that are not in the plan although they are compiled.
    private(set) var lost: [LostEntry] = []
    /// The tests that are in no list, and entries whose name differs from the function that they run.
    private(set) var warnings: [SourceWarning] = []

    private let scan: SourceScan
    private let refusals: [String: String]
    private let isAsCompiled: (String) -> Bool
    /// The number of planned tests of each name that no entry accounts for, by type. A name stays when its last test is
    /// taken. Tests of types without a known list are under `?` and the last part of the type's name. Such a type is
    /// declared in a function, has another name or inherits its list.
    private var planned: [String: [String: Int]] = [:]
    /// The `#if` conditions that must be true, because planned tests are written under them.
    private var evident: Set<String> = []

    /// Compares the sources with a plan.
    ///
    /// - Parameters:
    ///   - refusals: for each type whose tests the worker can't run or doesn't find, the reason, by the type's name.
    ///   - isAsCompiled: returns true if the source at a path hasn't changed since it was compiled.
    /// - Complexity: O(entries + plan).
    init(
        _ scan: SourceScan, plan: [PlannedTest], refusals: [String: String] = [:],
        isAsCompiled: @escaping (String) -> Bool = { _ in true }
    ) {
        self.scan = scan
        self.refusals = refusals
        self.isAsCompiled = isAsCompiled
        var (typeName, key) = ("", "")
        // All rows of a table share one entry.
        for test in plan where test.row?.index ?? 0 == 0 {
            if test.typeName != typeName {
                typeName = test.typeName
                let name = SourceScan.plainName(typeName)
                key = scan.types[name]?.lists.isEmpty == false ? name : Self.unknown(name)
            }
            planned[key, default: [:]][test.listedName, default: 0] += 1
        }
        evident = evidentConditions()
        for (name, type) in scan.types.sorted(by: { $0.key < $1.key }) {
            if !type.isProtocol { findLost(name, type) }
            findUnlisted(name, type)
            for entry in type.entries where entry.function != nil && entry.function != entry.name {
                guard let function = entry.function, evident.isSuperset(of: entry.conditions) else { continue }
                let text = "entry '\(entry.name)' of \(name) runs '\(function)'"
                warnings.append(SourceWarning(place: entry.place, text: text))
            }
        }
    }

    // MARK: Planned names

    /// Returns the key of the planned tests of a type without a known list.
    fileprivate static func unknown(_ name: String) -> String {
        let last = name.lastIndex(where: { ".:".contains($0) }).map { name[name.index(after: $0)...] } ?? name[...]
        return "?\(last)"
    }

    private func isPlanned(_ typeName: String) -> Bool {
        planned[typeName] != nil || planned[Self.unknown(typeName)] != nil
    }

    // MARK: Duplicate entries

    /// Returns the indices of tests whose list has an earlier entry with the same name.
    static func duplicates(in plan: [PlannedTest]) -> Set<Int> {
        var (duplicates, names): (Set<Int>, Set<String>) = ([], [])
        var index = 0
        // PERF: `while` instead of `for`, which costs more than the loop in a debug build. The tests of a list are
        // adjacent.
        while index < plan.count {
            if index > 0,
                plan[index].typeName != plan[index - 1].typeName
                    || plan[index].testType != plan[index - 1].testType
            {
                names = []
            }
            if !names.insert(plan[index].testName).inserted { duplicates.insert(index) }
            index += 1
        }
        return duplicates
    }

    /// Returns the result of an entry whose name an earlier entry has, at its place in the sources.
    static func duplicate(_ test: PlannedTest, in scan: SourceScan) -> TestResult {
        var result = TestResult(test: test, outcome: .failed)
        let issue = TestIssue(kind: .list, message: "duplicate entry; only the first one runs")
        let entries = scan[test.typeName]?.entries.filter { $0.name == test.listedName } ?? []
        result.issues = [issue.placed(at: entries.dropFirst().prefix(1).map(\.place))]
        return result
    }

    // MARK: Lost entries

    private static let protocols: Set<String> = ["SelfTesting", "FixtureTesting"]

    private static func conforms(_ type: ScannedType) -> Bool { type.parents.contains { protocols.contains($0.name) } }

    private mutating func findLost(_ name: String, _ type: ScannedType) {
        var keys = [name, Self.unknown(name)]
        // An extension may use an alias of the type's name.
        if !type.lists.isEmpty, type.parents.contains(where: { $0.isAdded && Self.protocols.contains($0.name) }) {
            keys += planned.keys.filter { $0.hasPrefix("?") }
        }
        for (list, parent) in effectiveLists(of: type)
        where evident.isSuperset(of: list.conditions) && isAsCompiled(list.place.path) {
            var entries: [ListedTest?] = []
            if list.isLiteral {
                entries = list.entries.filter { entry in
                    !keys.contains { planned[$0]?.take(entry.name) ?? false }
                }
            } else if parent == nil, list.isOfUnitTests, !isPlanned(name), refusals[name] == nil {
                entries = [nil]
            }
            lost += entries.map { entry in
                LostEntry(
                    typeName: name, testName: entry?.name, place: entry?.place ?? list.place,
                    reason: reason(name, type, list, parent))
            }
        }
    }

    /// Returns the lists of a type. For a type without a list, returns the lists that protocols give it.
    private func effectiveLists(of type: ScannedType) -> [(list: WrittenList, parent: String?)] {
        if !type.lists.isEmpty { return type.lists.map { ($0, nil) } }
        var lists: [(WrittenList, String?)] = []
        for statement in type.parents where evident.isSuperset(of: statement.conditions) {
            guard let parent = scan.types[statement.name], parent.isProtocol,
                Self.conforms(parent) || Self.conforms(type)
            else { continue }
            lists += parent.lists.map { ($0, statement.name) }
        }
        return lists
    }

    private func reason(_ name: String, _ type: ScannedType, _ list: WrittenList, _ parent: String?) -> String {
        if let refusal = refusals[name] { return refusal }
        if list.isOverride { return "\(name) is generic or doesn't inherit from a type that conforms to SelfTesting" }
        if isPlanned(name) { return "\(name) runs another list" }
        let statements = type.parents.filter {
            parent.map { [$0] }?.contains($0.name) ?? Self.protocols.contains($0.name)
        }
        if statements.contains(where: { !$0.isAdded }) {
            let conformance = "extension \(name): \(parent ?? "SelfTesting")"
            return "the optimizer removed its conformance; declare it in an extension, '\(conformance)'"
        }
        return statements.isEmpty
            ? "\(name) doesn't conform to SelfTesting" : "its conformance isn't in the test executable"
    }

    // MARK: Unlisted tests

    private mutating func findUnlisted(_ name: String, _ type: ScannedType) {
        if type.declared.isEmpty { return }
        // Functions in a protocol are requirements. A type without a list may call its own functions.
        let owner = type.lists.isEmpty && !type.isProtocol ? scan.listOwner(inheritedBy: name) : nil
        let listed = owner.flatMap { scan.types[$0] } ?? type
        if listed.lists.isEmpty { return }
        let evident = evident
        for test in type.declared {
            guard !test.hasParameters, evident.isSuperset(of: test.conditions),
                planned.count(of: test.name, of: name) == nil,
                !listed.lists.contains(where: { $0.names.contains(test.name) }),
                // The test may be in a list of another branch of an `#if`.
                !(type.conditionalNames + listed.conditionalNames).contains(where: {
                    $0.name == test.name && !evident.isSuperset(of: $0.conditions)
                })
            else { continue }
            let rest = owner.map { "; \(name) inherits the list of \($0)" } ?? ""
            let text = "test '\(test.name)' of \(name) is in no list and doesn't run\(rest)"
            let insertion = type.lists.lazy.filter { evident.isSuperset(of: $0.conditions) }.compactMap(\.insertion)
                .first
            let fixIt = insertion.map { SourceFixIt(at: $0, inserting: "\(type.entry(for: test)), ") }
            warnings.append(SourceWarning(place: test.place, text: text, fixIt: fixIt))
        }
    }

    // MARK: Conditions

    private func evidentConditions() -> Set<String> {
        var evident: [WrittenList] = []
        for (name, type) in scan.types where type.lists.contains(where: { !$0.conditions.isEmpty }) {
            // If several lists name the same test, any of them may be the planned list. Own and inherited lists count
            // alike.
            let inherited = scan.listOwner(inheritedBy: name).flatMap { scan.types[$0] }
            var counts: [String: Int] = [:]
            for list in type.lists + (inherited?.lists ?? []) where list.isLiteral {
                for entry in Set(list.entries.map(\.name)) { counts[entry, default: 0] += 1 }
            }
            evident += type.lists.filter { list in
                list.isLiteral && list.entries.allSatisfy { planned.count(of: $0.name, of: name) != nil }
                    && list.entries.contains {
                        counts[$0.name, default: 0] <= planned.count(of: $0.name, of: name) ?? 0
                    }
            }
        }
        // If the branches of an `#if` contain several lists, any of them may be the compiled list.
        let conditions = Set(evident.flatMap(\.conditions))
        return Set(
            evident.flatMap { list in
                list.conditions.prefix { one in !conditions.contains { Self.areBranches(one, $0) } }
            })
    }

    /// Returns whether both conditions are branches of the same `#if`. Each branch is written with the branches before
    /// it.
    private static func areBranches(_ one: String, _ other: String) -> Bool {
        one.hasPrefix("\(other)else") || other.hasPrefix("\(one)else")
    }
}

extension [String: [String: Int]] {
    /// Returns the number of tests with this name that are left, or nil if the plan doesn't contain the name.
    fileprivate func count(of testName: String, of typeName: String) -> Int? {
        self[typeName]?[testName] ?? self[ListCheck.unknown(typeName)]?[testName]
    }
}

extension [String: Int] {
    /// Takes one of the tests with a name.
    ///
    /// - Returns: false if no such test is left.
    fileprivate mutating func take(_ name: String) -> Bool {
        guard let index = index(forKey: name), values[index] > 0 else { return false }
        values[index] -= 1
        return true
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension ListCheck: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testToleratesEditedSources": {
                let scan = SourceScan(text: "struct S { \(list) }", path: "/s.swift", module: "M")
                expectEqual(ListCheck(scan, plan: [], isAsCompiled: { $0 != "/s.swift" }).lost, [])
            },
            "testReportsLostListsAtTheirPlaces": testReportsLostListsAtTheirPlaces,
            "testFindsDuplicatesWithinAList": testFindsDuplicatesWithinAList,
        ]
            + .each("testReportsUnplannedEntriesAsLost", listsAndPlans) { row in
                expectEqual(lost(row.text, planned: row.planned).map { $0.testName ?? "list" }, row.lost, row.text)
            }
            + .each("testToleratesUnknownConditions", uncertainLists) { text, planned in
                expectEqual(lost(text, planned: planned), [])
            }
            + .each("testReportsWhyListsAreLost", reasons) { text, planned, reason in
                expectEqual(lost(text, planned: planned).first?.reason, reason)
            }
    }

    private static func testFindsDuplicatesWithinAList() {
        let rows = [
            ("A", "t", "unit"), ("A", "t", "slow"), ("A", "t", "slow"), ("B", "t", "unit"), ("B", "u", "unit"),
            ("B", "t", "unit"),
        ]
        let plan = rows.map { PlannedTest(typeName: $0.0, testName: $0.1, testType: $0.2, module: "M") }
        expectEqual(duplicates(in: plan), [2, 5])
    }

    private static let list = "static var testSelectors: TestSelectors { [\"testA\": testA, \"b\": { f() }] }"

    private static let byType =
        "static var testSelectorsByType: [TestType: TestSelectors] { [\"slow\": [\"testA\": testA]] }"

    /// Finds the lost entries of a source if these tests are planned.
    private static func lost(_ text: String, planned: [String] = []) -> [LostEntry] {
        let plan = planned.map { name in
            let dot = name.lastIndex(of: ".") ?? name.startIndex
            return PlannedTest(
                typeName: String(name[..<dot]), testName: String(name[name.index(after: dot)...]), testType: "unit",
                module: "M")
        }
        return ListCheck(SourceScan(text: text, path: "/s.swift", module: "M"), plan: plan).lost
    }

    private static var listsAndPlans: [(text: String, planned: [String], lost: [String])] {
        [
            ("struct S { \(list) }", [], ["testA", "b"]),
            ("struct S { \(list) }", ["S.testA", "S.b"], []),
            ("struct S<T> { \(list) }", ["S<Array<Int>>.testA", "S<Array<Int>>.b"], []),
            ("struct S { \(list) }", ["S.b"], ["testA"]),
            ("struct S { \(list) }", ["Other.testA", "Other.b"], ["testA", "b"]),
            // Two types have the same name, and only one of them runs.
            ("private enum S { \(list) }\nprivate enum S { \(list) }", ["S.testA", "S.b"], ["testA", "b"]),
            ("protocol P: SelfTesting {}\nextension P { \(list) }\nstruct S: P {}", [], ["testA", "b"]),
            ("protocol P: SelfTesting {}\nextension P { \(list) }\nstruct S: P {}", ["S.testA", "S.b"], []),
            ("protocol P {}\nextension P { \(list) }\nstruct S: P, SelfTesting {}", ["S.b"], ["testA"]),
            // The tests of a list that two types inherit don't stand for those of another list.
            (
                "protocol P: SelfTesting {}\nextension P { \(list) }\nstruct S: P {}\nstruct T: P {}\nstruct U { \(list) }",
                ["S.testA", "S.b", "T.testA", "T.b"], ["testA", "b"]
            ),
            ("struct S { static var testSelectors: TestSelectors { helper } }", [], ["list"]),
            ("struct S { static var testSelectors: TestSelectors { helper } }", ["S.made"], []),
            ("#if DEBUG || IN_CLASS_TESTS\nstruct S { \(list) }\n#endif", [], ["testA", "b"]),
            ("#if X\nstruct S { \(list) }\nstruct T { \(list) }\n#endif", ["S.testA", "S.b"], ["testA", "b"]),
            (
                "struct S { static var testSelectorsByType: [TestType: TestSelectors] { [\"slow\": [\"c\": c]] } }", [],
                ["c"]
            ),
        ]
    }

    private static var uncertainLists: [(text: String, planned: [String])] {
        [
            ("#if os(Windows)\nstruct S { \(list) }\n#endif", []),
            ("#if X\nstruct S { \(list) }\n#endif\n#if Y\nstruct S { \(list) }\n#endif", ["S.testA", "S.b"]),
            ("#if false\nstruct S { \(list) }\n#endif\nstruct S { \(list) }", ["S.testA", "S.b"]),
            ("#if DEBUG\nstruct S { \(list) }\n#endif", []),
            ("#if SLOW_TESTS && (DEBUG || IN_CLASS_TESTS)\nstruct S { \(list) }\n#endif", []),
            ("#if X\nstruct T { \(list) }\n#else\nstruct S { \(list) }\n#endif", ["T.testA", "T.b"]),
            ("struct S {\n#if X\n\(list)\n#else\n\(list)\n#endif\n}", ["S.testA", "S.b"]),
            (
                "class B { \(list) }\nclass S: B {\n#if X\noverride \(list)\n#endif\n}\n"
                    + "#if X\nstruct T { \(list) }\n#endif", ["B.testA", "B.b", "S.testA", "S.b"]
            ),
            ("struct S {\n#if X\n#if Y\n\(list)\n#endif\n#elseif Z\n\(list)\n#endif\n}", ["S.testA", "S.b"]),
            (
                "#if X\nstruct S { \(list) }\n#elseif Y\nstruct S { \(list) }\n#else\nstruct S { \(list) }\n#endif",
                ["S.testA", "S.b"]
            ),
            ("#if X\nextension S { \(list) }\n#endif\nextension S { \(byType) }", ["S.testA"]),
            ("protocol P { static var testSelectors: TestSelectors { get } }\nextension P { \(list) }", []),
            ("protocol P {}\nextension P { \(list) }\nstruct S: P {}", []),
            ("protocol P: SelfTesting {}\nextension P { \(list) }\n#if X\nstruct S: P {}\n#endif", []),
            ("func f() { struct S { \(list) } }", ["Outer.S.testA", "Outer.S.b"]),
            ("extension Alias: SelfTesting { \(list) }", ["Outer.S.testA", "Outer.S.b"]),
            ("struct S { static var testSelectors: [String] { [\"testA\"] } }", []),
            (
                "struct S { /* \(list) */ }\n// struct S { \(list) }\nlet text = \"\"\"\nstruct S { \(list) }\n\"\"\"",
                []
            ),
            ("struct S { static var testSelectors: TestSelectors { [:] } }", []),
        ]
    }

    private static var reasons: [(text: String, planned: [String], reason: String)] {
        [
            ("struct S { \(list) }", [], "S doesn't conform to SelfTesting"),
            (
                "struct S: SelfTesting { \(list) }", [],
                "the optimizer removed its conformance; declare it in an extension, 'extension S: SelfTesting'"
            ),
            ("extension S: FixtureTesting { \(list) }", [], "its conformance isn't in the test executable"),
            (
                "class S: Base { override class \(list.dropFirst(7)) }", [],
                "S is generic or doesn't inherit from a type that conforms to SelfTesting"
            ),
            ("struct S { \(list) }", ["S.other"], "S runs another list"),
        ]
    }

    private static func testReportsLostListsAtTheirPlaces() {
        let entry = lost("\n struct S { \(list) }").first
        expectEqual(entry?.place, SourcePlace(path: "/s.swift", line: 2, column: 56))
        expectEqual(entry?.issue.message, "entry 'testA' of S doesn't run: S doesn't conform to SelfTesting")
        let refused = ListCheck(
            SourceScan(text: "struct S { \(list) }", path: "/s.swift", module: "M"), plan: [],
            refusals: ["S": "it is generic"])
        expectEqual(refused.lost.map(\.reason), ["it is generic", "it is generic"])
    }
}
#endif
