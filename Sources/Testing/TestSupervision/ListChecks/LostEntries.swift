// Compares the lists as they are written with the plan that the image announces: a list that the compiler accepts may
// still be nobody's, since its type does not conform, or inherits the conformance, or has lost it to the optimiser.

import TestEvents

/// An entry, or a list whose entries are made at run time, that no worker has announced.
struct LostEntry: Equatable {
    var typeName: String
    /// Nil for the whole list.
    var testName: String?
    var place: SourcePlace
    var reason: String

    /// What a reader is told at the place.
    var issue: TestIssue {
        let what = testName.map { "'\($0)' of \(typeName)" } ?? "the list of \(typeName)"
        return TestIssue(
            kind: .list, path: place.path, line: place.line, column: place.column,
            got: "no run of \(what), since \(reason),", expected: "a run of each test that is listed")
    }
}

extension SourceScan {
    /// The entries that are not in the plan although they are compiled.
    ///
    /// - Parameters:
    ///   - refusals: what the worker says of types whose tests it cannot run, or that have none, by name.
    ///   - isAsCompiled: whether the source at a path is what was compiled.
    /// - Complexity: O(entries + plan).
    func lostEntries(
        plan: [PlannedTest], refusals: [String: String] = [:], isAsCompiled: (String) -> Bool = { _ in true }
    ) -> [LostEntry] {
        var planned = PlannedNames(plan) { types[$0]?.written.isEmpty == false }
        let evident = evidentConditions(planned)
        var lost: [LostEntry] = []
        for (name, type) in types.sorted(by: { $0.key < $1.key }) where !type.isProtocol {
            for list in type.written where isAsCompiled(list.place.path) {
                let isCompiled = Self.isCompiled(list.conditions, evident)
                // An extension may conform a type under an alias of its name.
                let isOfAnyName = !Self.protocols.isDisjoint(with: type.addedParents)
                func lose(_ entry: ListedTest?, isPlanned: Bool) {
                    let reason = reason(for: name, type, list, isPlanned: isPlanned, refusals)
                    let place = entry?.place ?? list.place
                    lost.append(LostEntry(typeName: name, testName: entry?.name, place: place, reason: reason))
                }
                for entry in list.entries ?? []
                where isCompiled && !planned.take(entry.name, of: name, orOfAny: isOfAnyName) {
                    lose(entry, isPlanned: planned.has(name))
                }
                if list.entries == nil, list.isOfUnitTests, isCompiled, !planned.has(name), refusals[name] == nil {
                    lose(nil, isPlanned: false)
                }
            }
        }
        return lost + lostByInheritance(&planned, evident, isAsCompiled)
    }

    private static func isCompiled(_ conditions: [String], _ evident: Set<String>) -> Bool {
        conditions.allSatisfy { isAlwaysTrue($0) || evident.contains($0) }
    }

    /// The entries of lists that a protocol gives the types that conform to it.
    private func lostByInheritance(
        _ planned: inout PlannedNames, _ evident: Set<String>, _ isAsCompiled: (String) -> Bool
    ) -> [LostEntry] {
        var lost: [LostEntry] = []
        for (parentName, parent) in types.sorted(by: { $0.key < $1.key }) where parent.isProtocol {
            let lists = parent.written.filter {
                isAsCompiled($0.place.path) && Self.isCompiled($0.conditions, evident)
            }
            for (name, type) in types.sorted(by: { $0.key < $1.key }) where !lists.isEmpty && !type.isProtocol {
                guard type.written.isEmpty, let conditions = type.conditionsOfParents[parentName],
                    Self.isCompiled(conditions, evident),
                    ![parent, type].allSatisfy({
                        Self.protocols.isDisjoint(with: $0.declaredParents.union($0.addedParents))
                    })
                else { continue }
                let isInline = type.declaredParents.contains(parentName)
                for entry in lists.flatMap({ $0.entries ?? [] })
                where !planned.take(entry.name, of: name, orOfAny: false) {
                    lost.append(
                        LostEntry(
                            typeName: name, testName: entry.name, place: entry.place,
                            reason: isInline ? Self.leftOut(name, parentName) : "its conformance is not in the image"))
                }
            }
        }
        return lost
    }

    private static func leftOut(_ name: String, _ parent: String) -> String {
        "the optimiser has left out its conformance; state it in an extension, 'extension \(name): \(parent)'"
    }

    private static let protocols: Set<String> = ["SelfTesting", "FixtureTesting"]

    /// The conditions that must hold, since something that is planned is written under them.
    func evidentConditions(of plan: [PlannedTest]) -> Set<String> {
        evidentConditions(PlannedNames(plan) { types[$0]?.written.isEmpty == false })
    }

    private func evidentConditions(_ planned: PlannedNames) -> Set<String> {
        var evident: Set<String> = []
        for (name, type) in types {
            let possible = type.written.filter { list in
                guard !list.conditions.isEmpty, let entries = list.entries, !entries.isEmpty else { return false }
                return entries.allSatisfy { planned.has($0.name, of: name) }
            }
            if possible.isEmpty { continue }
            // Of several lists that name the same test, it isn't known which of them is planned, nor whether it is one of
            // the type's own or what it inherits.
            let inherited = listOwner(inheritedBy: name).flatMap { types[$0] }
            let lists = type.written + (inherited?.written ?? [])
            let met = possible.filter { list in
                (list.entries ?? []).contains { entry in
                    lists.count { $0.entries?.contains { $0.name == entry.name } ?? false }
                        <= planned.count(of: entry.name, of: name)
                }
            }
            // Of lists in several branches of one `#if` any may be the one that is compiled.
            let conditions = Set(met.flatMap(\.conditions))
            for list in met {
                evident.formUnion(
                    list.conditions.prefix { one in !conditions.contains { Self.areBranches(one, $0) } })
            }
        }
        return evident
    }

    /// Returns whether both are of one `#if`, of whose branches each is written with those before it.
    private static func areBranches(_ one: String, _ other: String) -> Bool {
        one.hasPrefix("\(other)else") || other.hasPrefix("\(one)else")
    }

    /// Returns whether a condition holds wherever there are tests.
    private static func isAlwaysTrue(_ condition: String) -> Bool {
        let words = Set(condition.split(separator: " ").dropFirst())
        return words == ["DEBUG", "|", "IN_CLASS_TESTS"] || words == ["true"]
    }

    private func reason(
        for name: String, _ type: ScannedType, _ list: WrittenList, isPlanned: Bool, _ refusals: [String: String]
    ) -> String {
        if let refusal = refusals[name] { return refusal }
        let protocols = Self.protocols
        if list.isOverride { return "\(name) is generic, or no subclass of a type that conforms to SelfTesting" }
        if isPlanned { return "the list of \(name) that runs is another" }
        if !protocols.isDisjoint(with: type.declaredParents) {
            return Self.leftOut(name, "SelfTesting")
        }
        if !protocols.isDisjoint(with: type.addedParents) { return "its conformance is not in the image" }
        return "\(name) does not conform to SelfTesting"
    }
}

/// The names of a plan, each of which answers for one entry.
private struct PlannedNames {
    /// How many of each are left; none is as good as taken, and is still a name of the plan.
    private var counts: [String: [String: Int]] = [:]
    /// The tests of types that no list is known of: types inside functions, by another name, with an inherited list.
    private var others: [String: [String: Int]] = [:]

    init(_ plan: [PlannedTest], isKnown: (String) -> Bool) {
        for test in plan {
            // A table is written once, whatever its rows.
            if test.row?.index ?? 0 > 0 { continue }
            let name = SourceScan.plainName(test.typeName)
            counts[name, default: [:]][test.listedName, default: 0] += 1
        }
        for (name, tests) in counts where !isKnown(name) {
            others[Self.lastComponent(name), default: [:]].merge(tests, uniquingKeysWith: +)
        }
    }

    private static func lastComponent(_ name: String) -> String {
        name.lastIndex(where: { ".:".contains($0) }).map { String(name[name.index(after: $0)...]) } ?? name
    }

    /// The number of tests of this name that are not taken.
    func count(of testName: String, of typeName: String) -> Int {
        counts[typeName]?[testName] ?? others[Self.lastComponent(typeName)]?[testName] ?? 0
    }

    func has(_ typeName: String) -> Bool { counts[typeName] != nil || others[Self.lastComponent(typeName)] != nil }

    func has(_ testName: String, of typeName: String) -> Bool {
        counts[typeName]?[testName] != nil || others[Self.lastComponent(typeName)]?[testName] != nil
    }

    /// Takes a name for an entry, if need be that of a type that no list is known of; false when there is none left.
    mutating func take(_ testName: String, of typeName: String, orOfAny isOfAnyName: Bool) -> Bool {
        if let count = counts[typeName]?[testName], count > 0 {
            counts[typeName]?[testName] = count - 1
            return true
        }
        let last = Self.lastComponent(typeName)
        if let count = others[last]?[testName], count > 0 {
            others[last]?[testName] = count - 1
            return true
        }
        guard isOfAnyName, let other = others.first(where: { $0.value[testName, default: 0] > 0 })?.key else {
            return false
        }
        others[other]?[testName]? -= 1
        return true
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension LostEntry: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testInDoubtNothingIsLost": testInDoubtNothingIsLost,
            "testSaysWhy": testSaysWhy,
        ]
            + .each("testEveryEntryIsPlannedOrLost", listsAndPlans) { row in
                expectEqual(lost(row.text, planned: row.planned).map { $0.testName ?? "list" }, row.lost, row.text)
            }
    }

    private static let list = "static var testSelectors: TestSelectors { [\"testA\": testA, \"b\": { f() }] }"

    private static let byType =
        "static var testSelectorsByType: [TestType: TestSelectors] { [\"slow\": [\"testA\": testA]] }"

    /// What is lost of a source, as `name:line`, when `T.testA` and more are planned.
    private static func lost(_ text: String, planned: [String] = []) -> [LostEntry] {
        let plan = planned.map { name in
            let dot = name.lastIndex(of: ".") ?? name.startIndex
            return PlannedTest(
                typeName: String(name[..<dot]), testName: String(name[name.index(after: dot)...]), testType: "unit",
                module: "M")
        }
        return SourceScan(text: text, path: "/s.swift", module: "M").lostEntries(plan: plan)
    }

    private static var listsAndPlans: [(text: String, planned: [String], lost: [String])] {
        [
            ("struct S { \(list) }", [], ["testA", "b"]),
            ("struct S { \(list) }", ["S.testA", "S.b"], []),
            ("struct S<T> { \(list) }", ["S<Array<Int>>.testA", "S<Array<Int>>.b"], []),
            ("struct S { \(list) }", ["S.b"], ["testA"]),
            ("struct S { \(list) }", ["Other.testA", "Other.b"], ["testA", "b"]),
            // Two types of one name, of which one runs.
            ("private enum S { \(list) }\nprivate enum S { \(list) }", ["S.testA", "S.b"], ["testA", "b"]),
            ("protocol P: SelfTesting {}\nextension P { \(list) }\nstruct S: P {}", [], ["testA", "b"]),
            ("protocol P: SelfTesting {}\nextension P { \(list) }\nstruct S: P {}", ["S.testA", "S.b"], []),
            ("protocol P {}\nextension P { \(list) }\nstruct S: P, SelfTesting {}", ["S.b"], ["testA"]),
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

    private static func testInDoubtNothingIsLost() {
        let rows: [(text: String, planned: [String])] = [
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
        for row in rows { expectEqual(lost(row.text, planned: row.planned), [], row.text) }
        let scan = SourceScan(text: "struct S { \(list) }", path: "/s.swift", module: "M")
        expectEqual(scan.lostEntries(plan: [], isAsCompiled: { $0 != "/s.swift" }), [], "an edited source")
    }

    private static func testSaysWhy() {
        let rows: [(text: String, planned: [String], reason: String)] = [
            ("struct S { \(list) }", [], "S does not conform to SelfTesting"),
            (
                "struct S: SelfTesting { \(list) }", [],
                "the optimiser has left out its conformance; state it in an extension, 'extension S: SelfTesting'"
            ),
            ("extension S: FixtureTesting { \(list) }", [], "its conformance is not in the image"),
            (
                "class S: Base { override class \(list.dropFirst(7)) }", [],
                "S is generic, or no subclass of a type that conforms to SelfTesting"
            ),
            ("struct S { \(list) }", ["S.other"], "the list of S that runs is another"),
        ]
        for row in rows { expectEqual(lost(row.text, planned: row.planned).first?.reason, row.reason, row.text) }
        let entry = lost("\n struct S { \(list) }").first
        expectEqual(entry?.place, SourcePlace(path: "/s.swift", line: 2, column: 56))
        expectEqual(entry?.issue.got, "no run of 'testA' of S, since S does not conform to SelfTesting,")
        let refused = SourceScan(text: "struct S { \(list) }", path: "/s.swift", module: "M")
            .lostEntries(plan: [], refusals: ["S": "it is generic"])
        expectEqual(refused.map(\.reason), ["it is generic", "it is generic"])
    }
}
#endif
