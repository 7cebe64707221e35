// Reads the lists of tests. A list is literal if the names of all entries stand in it; the names that are computed at run
// time are unknown here.

import TestEvents

extension SourceParser {
    /// Reads the list whose name is at an index.
    ///
    /// - Returns: the list, and the index of the bracket or brace that ends it.
    func list(namedAt nameIndex: Int) -> (list: WrittenList, end: Int) {
        var start = nameIndex + 1
        // The type has no brace and no equals sign.
        while file.has(start), !file.isMark("{", start), !file.isMark("=", start) { start += 1 }
        var bracket = start
        while file.has(bracket), !file.opensBracket(bracket) { bracket += 1 }
        let end = file.end(ofBracket: bracket) ?? file.tokens.count
        // A property of another type has no tests.
        let isList = (nameIndex..<start).contains { file.isWord("TestSelectors", $0) }
        var list = WrittenList(
            place: place(nameIndex), conditions: allConditions,
            isOverride: modifiers(before: nameIndex - 1).contains("override"),
            isOfUnitTests: isList && file.isWord("testSelectors", nameIndex))
        let value = start + (file.isWord("return", start + 1) ? 2 : 1)
        if isList, let end = list.isOfUnitTests ? sum(at: value, &list) : lists(at: value, &list) {
            list.isLiteral = file.isMark("=", start) || file.isMark("}", end)
        }
        if !list.isLiteral { list.entries = keys(in: start..<end) }
        // Only in a list of literals is it known that a new entry goes into one of them.
        if !list.isLiteral || !list.isOfUnitTests { list.insertion = nil }
        list.names = testNames(in: start..<end)
        return (list, end)
    }

    private func testNames(in range: Range<Int>) -> Set<String> {
        let words = range.lazy.filter { self.file.tokens[$0].kind == .word }
        return Set(words.map(name).filter(Self.isTestName))
    }

    /// Reads literals and tables that are joined.
    ///
    /// - Returns: the index behind them, or nil for anything else.
    private func sum(at start: Int, _ list: inout WrittenList) -> Int? {
        guard var end = part(at: start, &list) else { return nil }
        while file.isMark("+", end) {
            guard let next = part(at: end + 1, &list) else { return nil }
            end = next
        }
        return [".", "?", "(", "{"].contains(file.mark(end)) ? nil : end
    }

    /// Reads a literal, one with a limit, or a table.
    ///
    /// - Returns: the index behind it, or nil for anything else.
    private func part(at start: Int, _ list: inout WrittenList) -> Int? {
        if let table = table(at: start) {
            list.entries.append(table.entry)
            return table.end
        }
        if file.isMark(".", start), file.isWord("timeLimit", start + 1), file.isMark("(", start + 2) {
            let items = file.items(ofBracket: start + 2)
            guard items.count > 1, let end = sum(at: items[1].lowerBound, &list), file.isMark(")", end) else {
                return nil
            }
            return end + 1
        }
        guard file.isMark("[", start), let end = file.end(ofBracket: start) else { return nil }
        if list.insertion == nil, !file.isMark(":", start + 1) {
            list.insertion = file.place(at: file.tokens[start].end, in: path)
        }
        for key in file.items(ofBracket: start).map(\.lowerBound)
        where file.isString(key) && file.isMark(":", key + 1) && isPlainString(key) {
            list.entries.append(entry(at: key))
        }
        return end + 1
    }

    /// Reads the lists in `["slow": [...], "network": .timeLimit(.milliseconds(5), [...])]`.
    ///
    /// - Returns: the index behind it, or nil for anything else.
    private func lists(at start: Int, _ list: inout WrittenList) -> Int? {
        guard file.isMark("[", start), let end = file.end(ofBracket: start),
            !["+", ".", "?", "("].contains(file.mark(end + 1))
        else { return nil }
        // `[:]` has no key.
        for item in file.items(ofBracket: start) where item.count > 1 {
            guard let colon = colon(in: item), sum(at: colon + 1, &list) == item.upperBound else { return nil }
        }
        return end + 1
    }

    /// The first colon that is in no inner bracket.
    func colon(in range: Range<Int>) -> Int? {
        var index = range.lowerBound
        while index < range.upperBound, !file.isMark(":", index) { index = file.next(index) }
        return index < range.upperBound ? index : nil
    }

    /// Returns whether a name is the same at run time: one with an escape or an interpolation is not.
    private func isPlainString(_ index: Int) -> Bool {
        let name = file.text(index)
        return !name.contains("\\") && !name.contains("\n")
    }

    private func entry(at key: Int) -> ListedTest {
        var end = key
        while file.has(end + 1), !file.isMark(",", end + 1), !file.closesBracket(end + 1) {
            end = file.next(end + 1) - 1
        }
        return ListedTest(
            name: file.text(key), function: listedFunction(behind: key + 2), place: place(key),
            lastLine: file.line(min(end, file.tokens.count - 1)), conditions: otherConditions)
    }

    /// The function of an entry `testA` or `fixture(testA)`.
    private func listedFunction(behind index: Int) -> String? {
        let isFixture = file.isWord("fixture", index) && file.isMark("(", index + 1)
        let word = index + (isFixture ? 2 : 0)
        guard file.has(word), file.tokens[word].kind == .word, Self.isTestName(name(word)),
            file.isMark(isFixture ? ")" : ",", word + 1) || file.isMark("]", word + 1)
        else { return nil }
        return name(word)
    }

    /// The table `.each("testA", rows, testA)`, `each("testA", [row, row]) {...}`, and the index behind it.
    private func table(at start: Int) -> (entry: ListedTest, end: Int)? {
        var word = start
        if file.isMark(".", word) { word += 1 } else if file.isWord("Self", word) { word += 2 }
        guard file.isWord("each", word), file.isMark("(", word + 1), file.isString(word + 2), isPlainString(word + 2),
            file.isMark(",", word + 3), let last = file.end(ofBracket: word + 1)
        else { return nil }
        var end = last + 1
        var lineOfClosure = Int.max
        if file.isMark("{", end) {
            lineOfClosure = file.line(end)
            guard let brace = file.end(ofBracket: end) else { return nil }
            end = brace + 1
        }
        var entry = ListedTest(
            name: file.text(word + 2), place: place(word + 2), lastLine: file.line(end - 1),
            conditions: otherConditions,
            functions: testNames(in: word + 4..<end))
        if file.isMark("[", word + 4), let bracket = file.end(ofBracket: word + 4),
            file.isMark(",", bracket + 1) || bracket + 1 == last
        {
            entry.rows = file.items(ofBracket: word + 4).map { place($0.lowerBound) }
            entry.lastLineOfRows = min(file.line(bracket - 1), lineOfClosure - 1)
        }
        return (entry, end)
    }

    /// The keys and tables in a list that is not literal. A key of any dictionary may be an entry.
    private func keys(in range: Range<Int>) -> [ListedTest] {
        var entries: [ListedTest] = []
        var innerCount = 0
        for index in range {
            var entry: ListedTest?
            if file.isMark("#", index) {
                innerCount += file.isWord("if", index + 1) ? 1 : file.isWord("endif", index + 1) ? -1 : 0
            } else if file.isWord("each", index) {
                let isMember = file.isMark(".", index - 1) && !file.isWord("Self", index - 2)
                entry = table(at: index - (isMember ? 1 : 0))?.entry
            } else if file.isString(index), file.isMark(":", index + 1), !file.isMark("[", index + 2) {
                entry = self.entry(at: index)
            }
            guard var entry else { continue }
            // Conditions in the list may hold or not.
            entry.conditions += Array(repeating: "", count: max(0, innerCount))
            entries.append(entry)
        }
        return entries
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

enum WrittenListTests {}

extension WrittenListTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsLiteralsOnly": testReadsLiteralsOnly,
            "testReadsTables": testReadsTables,
            "testKeepsConditionsAndOverrides": testKeepsConditionsAndOverrides,
        ]
            + .each("testReadsWhatATypeIs", declarations) { row in
                let type = type(row.text + "\nextension S { static var testSelectors: TestSelectors { [:] } }")
                let parents = Dictionary(grouping: type?.parents ?? [], by: \.isAdded).mapValues { $0.map(\.name) }
                expectEqual(parents[false] ?? [], row.declared, row.text)
                expectEqual(parents[true] ?? [], row.added, row.text)
            }
    }

    private static func type(_ text: String) -> ScannedType? {
        SourceScan(text: text, path: "/s.swift", module: "M").types["S"]
    }

    private static func testReadsLiteralsOnly() {
        let rows: [(list: String, entries: [String]?)] = [
            ("testSelectors: TestSelectors { [\"a\": a, \"b\": fixture(b),] }", ["a", "b"]),
            ("testSelectors: TestSelectors { return [\"a\": a] }", ["a"]),
            ("testSelectors: TestSelectors { [:] }", []),
            ("testSelectors: TestSelectors = [\"a\": a]\n", ["a"]),
            (
                "testSelectors: InClassTesting.TestSelectors { [\"a\": { f([\"x\": 1], b ? \"y\" : \"z\") }, #\"b\"#: b] }",
                ["a", "b"]
            ),
            ("testSelectors: TestSelectors { [\"a\": isX ? \"b\" : c] }", ["a"]),
            ("testSelectors: TestSelectors { [\"a\\(1)\": a, \"b\\n\": b, \"c\": c, name: d] }", ["c"]),
            ("testSelectors: TestSelectors { .timeLimit(.milliseconds(5 * 1_000), [\"a\": a]) }", ["a"]),
            ("testSelectors: TestSelectors { .timeLimit(longest(of: a, b), [\"a\": a]) }", ["a"]),
            ("testSelectors: TestSelectors { [\"a\": a] + other }", nil),
            ("testSelectors: TestSelectors = [\"a\": a] + other", nil),
            ("testSelectors: TestSelectors { [\"a\": a] + [\"b\": b] }", ["a", "b"]),
            ("testSelectors: TestSelectors { [\"a\": a] + .each(\"t\", rows) { f() } + [\"b\": b] }", ["a", "t", "b"]),
            (
                "testSelectors: TestSelectors { .timeLimit(.milliseconds(5), [\"a\": a] + .each(\"t\", rows, t)) }",
                ["a", "t"]
            ),
            ("testSelectors: TestSelectors { .timeLimit(.milliseconds(5), .each(\"t\", rows, t)) }", ["t"]),
            ("testSelectors: TestSelectors { .each(name, rows, t) }", nil),
            ("testSelectors: TestSelectors = .each(\"t\", rows, t)\n", ["t"]),
            ("testSelectors: TestSelectors { each(\"t\", rows) { $0.t($1) }.x }", nil),
            ("testSelectorsByType: [TestType: TestSelectors] { [\"slow\": .each(\"t\", [1: 2]) { f($0) }] }", ["t"]),
            ("testSelectors: TestSelectors { TestSelectors(rows.map { (\"a\", $0) }) }", nil),
            ("testSelectors: TestSelectors { if x { [\"a\": a] } else { [\"b\": b] } }", nil),
            ("testSelectors: TestSelectors { helper }", nil),
            ("testSelectors: TestSelectors {\n#if X\n[\"a\": a]\n#else\n[\"b\": b]\n#endif\n}", nil),
            (
                "testSelectorsByType: [TestType: TestSelectors] { [\"slow\": [\"a\": a], .net: [\"b\": b, \"c\": { x[1: 2] }]] }",
                ["a", "b", "c"]
            ),
            (
                "testSelectorsByType: [TestType: TestSelectors] { [\"slow\": .timeLimit(.milliseconds(5), [\"a\": a]), \"x\": [:]] }",
                ["a"]
            ),
            ("testSelectorsByType: [TestType: TestSelectors] { [\"slow\": slow, \"x\": [\"a\": a]] }", nil),
            ("testSelectorsByType: [TestType: TestSelectors] { [:] }", []),
        ]
        for row in rows {
            let lists = type("extension S { static var \(row.list) }")?.lists
            expectEqual(lists?.count, 1, row.list)
            expectEqual(lists?.first.flatMap { $0.isLiteral ? $0.entries.map(\.name) : nil }, row.entries, row.list)
        }
        expectEqual(type("struct S { var testSelectors: [Int] { [1] } }")?.lists.map(\.isLiteral), [false])
    }

    private static func testReadsTables() {
        let entries = type(
            """
            extension S { static var testSelectors: TestSelectors { ["a": a]
                + .each("testRows", [
                    ("1+1", [2, 3]), ("x",
                        [4]),
                    row,
                ]) { text, value in
                    testParses(text)
                }
                + each("testMade", rows.map { [$0, 1] }, testMade) + Self.each("testSum", [1, 2] + more) { _, _ in }
                + .each("testNone", [], named: \\.x, f) } }
            """)?.lists.first?.entries
        expectEqual(entries?.map(\.name), ["a", "testRows", "testMade", "testSum", "testNone"])
        expectEqual(entries?.map { $0.rows?.map(\.line) }, [nil, [3, 3, 5], nil, nil, []])
        expectEqual(entries?.map { $0.rows?.first?.column }, [nil, 9, nil, nil, nil])
        expectEqual(entries?.map(\.lastLine), [1, 8, 9, 9, 10])
        expectEqual(
            entries?.map { $0.functions.sorted() },
            [[], ["testParses"], ["testMade"], [], []])
    }

    private static var declarations: [(text: String, declared: [String], added: [String])] {
        [
            ("struct S: A, M.B {}", ["A", "B"], []),
            ("class S<T: Hashable, U>: Base<T> where U: C {}", ["Base", "T"], []),
            (
                "struct S<F: (Int) -> Void>: A {}; extension S: @MainActor FixtureTesting where T == [Int: Int] {}",
                ["A"], ["MainActor", "FixtureTesting"]
            ),
            ("enum S {}; extension S: SelfTesting {}", [], ["SelfTesting"]),
            ("extension S where T: SelfTesting {}", [], []),
        ]
    }

    private static func testKeepsConditionsAndOverrides() {
        let lists = type(
            """
            #if DEBUG || IN_CLASS_TESTS
            class S: Base {
                override class var testSelectors: TestSelectors { ["testA": testA] }
                #if os(Linux)
                #else
                class override var testSelectorsByType: [TestType: TestSelectors] { [:] }
                #endif
                class func testA() {}
            }
            #endif
            """)?.lists
        expectEqual(lists?.map(\.isOverride), [true, true])
        expectEqual(lists?.first?.conditions, [], "it always holds")
        expectEqual(lists?.last?.conditions, ["if os ( Linux ) else "])
    }
}
#endif
