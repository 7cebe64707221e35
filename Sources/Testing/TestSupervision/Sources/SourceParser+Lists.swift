// Reads the lists of tests. A list is literal if it contains the names of all its entries as literals. Names that are
// computed at run time are unknown here.

import TestEvents

extension SourceParser {
    /// Reads the list whose name is at an index.
    ///
    /// - Returns: the list, and the index after it.
    func list(namedAt nameIndex: Int) -> (list: WrittenList, end: Int) {
        var start = nameIndex + 1
        // The type contains no brace and no equals sign.
        while file.has(start), !file.isMark("{", start), !file.isMark("=", start) { start += 1 }
        let isStored = file.isMark("=", start)
        var (bracket, end) = (start, start)
        repeat {
            while file.has(bracket), !file.opensBracket(bracket), !(isStored && beginsDeclaration(bracket)) {
                bracket += 1
            }
            // A value such as `others` has no brackets.
            end = file.opensBracket(bracket) ? file.next(bracket) : bracket
            // An initial value can contain more lists and closures.
            bracket = end
            while ["+", ".", "each", "timeLimit"].contains(file.mark(bracket)) { bracket += 1 }
        } while isStored && file.opensBracket(bracket)
        // A property of another type has no tests.
        let isList = (nameIndex..<start).contains { file.isWord("TestSelectors", $0) }
        var list = WrittenList(
            place: place(nameIndex), conditions: allConditions,
            isOverride: file.modifiers(before: nameIndex - 1).contains("override"),
            isOfUnitTests: isList && file.isWord("testSelectors", nameIndex),
            isLiteral: isList && !(isStored && ["+", ".", "?"].contains(file.mark(end))))
        read(
            start + 1..<max(start + 1, isStored ? end : end - 1), into: &list, isOfLists: !list.isOfUnitTests && isList)
        // The place for a new entry is only certain in a literal list of unit tests.
        if !list.isLiteral || !list.isOfUnitTests { list.insertion = nil }
        list.names = testNames(in: start..<min(end, file.tokens.count))
        return (list, end)
    }

    /// Returns whether a value ends before a token, because a declaration begins there or the type ends.
    private func beginsDeclaration(_ index: Int) -> Bool {
        if file.isMark("#", index) { return !file.isMark("=", index - 1) }
        return ["}", ";", "@"].contains(file.mark(index))
            || !file.isMark(".", index - 1) && TokenizedFile.declarationNames.contains(file.mark(index))
    }

    /// Reads the entries of an expression: literals, literals with a limit and tables, joined by `+`. Any other
    /// expression makes the list not literal, but literals inside it are still read.
    ///
    /// - Parameter isOfLists: a Boolean value that indicates whether the values of a literal are lists, as in
    ///   `["slow": [...], "network": [...]]`.
    private func read(_ range: Range<Int>, into list: inout WrittenList, isOfLists: Bool = false) {
        var (index, innerCount) = (range.lowerBound, 0)
        func add(_ entry: ListedTest) {
            list.entries.append(entry)
            // A condition inside the list may be true or false, so the entry gets an empty condition for each.
            list.entries[list.entries.count - 1].conditions += Array(repeating: "", count: max(0, innerCount))
        }
        while index < range.upperBound {
            if let table = table(at: index) {
                add(table.entry)
                index = table.end
            } else if file.isMark("[", index) {
                if list.insertion == nil, !file.isMark(":", index + 1) {
                    list.insertion = file.place(at: file.tokens[index].end, in: path)
                }
                for item in file.items(ofBracket: index) {
                    let key = item.lowerBound
                    if isOfLists, let colon = colon(in: item) {
                        read(colon + 1..<item.upperBound, into: &list)
                    } else if file.isString(key), file.isMark(":", key + 1), isPlainString(key) {
                        add(entry(at: item))
                    }
                }
                index = file.next(index)
            } else if file.isMark(".", index), file.isWord("timeLimit", index + 1), file.opensBracket(index + 2) {
                for argument in file.items(ofBracket: index + 2).dropFirst() { read(argument, into: &list) }
                index = file.next(index + 2)
            } else {
                if !file.isMark("+", index), !file.isWord("return", index) { list.isLiteral = false }
                if file.isMark("#", index) {
                    innerCount += file.isWord("if", index + 1) ? 1 : file.isWord("endif", index + 1) ? -1 : 0
                }
                index += 1
            }
        }
    }

    private func testNames(in range: Range<Int>) -> Set<String> {
        let words = range.lazy.filter { self.file.tokens[$0].kind == .word }
        return Set(words.map(name).filter(Self.isTestName))
    }

    /// Finds the first colon outside of inner brackets.
    func colon(in range: Range<Int>) -> Int? {
        var index = range.lowerBound
        while index < range.upperBound, !file.isMark(":", index) { index = file.next(index) }
        return index < range.upperBound ? index : nil
    }

    /// Returns whether a name is the same at run time. A name with an escape or an interpolation isn't.
    private func isPlainString(_ index: Int) -> Bool {
        let name = file.text(index)
        return !name.contains("\\") && !name.contains("\n")
    }

    private func entry(at item: Range<Int>) -> ListedTest {
        let key = item.lowerBound
        return ListedTest(
            name: file.text(key), function: listedFunction(behind: key + 2), place: place(key),
            lastLine: file.line(item.upperBound - 1), conditions: otherConditions)
    }

    /// Returns the function of an entry `testA` or `fixture(testA)`.
    private func listedFunction(behind index: Int) -> String? {
        let isFixture = file.isWord("fixture", index) && file.isMark("(", index + 1)
        let word = index + (isFixture ? 2 : 0)
        guard file.has(word), file.tokens[word].kind == .word, Self.isTestName(name(word)),
            file.isMark(isFixture ? ")" : ",", word + 1) || file.isMark("]", word + 1)
        else { return nil }
        return name(word)
    }

    /// Reads the table `.each("testA", rows, testA)` or `each("testA", [row, row]) {...}`, and returns the index after
    /// it.
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
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

enum WrittenListTests {}

extension WrittenListTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsLiteralListsOnly": testReadsLiteralListsOnly,
            "testReadsTablesWithTheirRows": testReadsTablesWithTheirRows,
            "testKeepsConditionsAndOverrides": testKeepsConditionsAndOverrides,
        ]
            + .each("testReadsConformancesAndSuperclasses", declarations) { row in
                let type = type(row.text + "\nextension S { static var testSelectors: TestSelectors { [:] } }")
                let parents = Dictionary(grouping: type?.parents ?? [], by: \.isAdded).mapValues { $0.map(\.name) }
                expectEqual(parents[false] ?? [], row.declared, row.text)
                expectEqual(parents[true] ?? [], row.added, row.text)
            }
    }

    private static func type(_ text: String) -> ScannedType? {
        SourceScan(text: text, path: "/s.swift", module: "M").types["S"]
    }

    private static func testReadsLiteralListsOnly() {
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
            ("testSelectors: TestSelectors = [\"a\": a] + .each(\"t\", rows) { f() } + [\"b\": b]\n", ["a", "t", "b"]),
            ("testSelectors: TestSelectors = .timeLimit(.seconds(5), [\"a\": a])\n", ["a"]),
            ("testSelectors: TestSelectors = [\"a\": a].others", nil),
            ("testSelectors: TestSelectors { each(\"t\", rows) { $0.t($1) }.x }", nil),
            ("testSelectorsByType: [TestType: TestSelectors] { [\"slow\": .each(\"t\", [1: 2]) { f($0) }] }", ["t"]),
            ("testSelectors: TestSelectors { TestSelectors(rows.map { (\"a\", $0) }) }", nil),
            ("testSelectors: TestSelectors { if x { [\"a\": a] } else { [\"b\": b] } }", nil),
            ("testSelectors: TestSelectors { helper }", nil),
            ("testSelectors: TestSelectors {\n#if X\n[\"a\": a]\n#else\n[\"b\": b]\n#endif\n}", nil),
            (
                "testSelectorsByType: [TestType: TestSelectors] { [\"slow\": [\"a\": a], "
                    + ".net: [\"b\": b, \"c\": { x[1: 2] }]] }",
                ["a", "b", "c"]
            ),
            (
                "testSelectorsByType: [TestType: TestSelectors] { "
                    + "[\"slow\": .timeLimit(.milliseconds(5), [\"a\": a]), \"x\": [:]] }",
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

    private static func testReadsTablesWithTheirRows() {
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
