// Reads the lists of tests. A list is literal if it contains the names of all its entries as literals. Names that are
// computed at run time are unknown here.

internal import InClassSystem
import TestEvents

extension SourceParser {
    /// Reads the list whose name is the current token, and goes behind it.
    mutating func parseList(isOverride: Bool) -> WrittenList {
        var list = WrittenList(
            place: place, conditions: allConditions, isOverride: isOverride,
            isOfUnitTests: lexer.at("testSelectors"))
        // The type contains no brace and no equals sign. A property of another type has no tests.
        while lexer.isInside, !lexer.at("{"), !lexer.at("=") {
            list.isLiteral = list.isLiteral || lexer.at("TestSelectors")
            lexer.next()
        }
        (listNames, innerConditionCount) = ([], 0)
        let isOfLists = list.isLiteral && !list.isOfUnitTests
        list.isOfUnitTests = list.isLiteral && list.isOfUnitTests
        let isStored = lexer.at("=")
        lexer.next()
        parseExpression(into: &list, isOfLists: isOfLists, isStored: isStored)
        if !isStored { lexer.next() }
        // The place for a new entry is only certain in a literal list of unit tests.
        if !list.isLiteral || !list.isOfUnitTests { list.insertion = nil }
        list.names = listNames
        return list
    }

    /// Reads an expression up to the bracket around it: literals, literals with a limit and tables, joined by `+`. Any
    /// other expression makes the list not literal, but literals inside it are still read.
    ///
    /// - Parameters:
    ///   - isOfLists: whether the values of a literal are lists, as in `["slow": [...], "network": [...]]`.
    ///   - isStored: whether the expression is the initial value of a property.
    ///   - isItem: whether a comma ends the expression.
    private mutating func parseExpression(
        into list: inout WrittenList, isOfLists: Bool = false, isStored: Bool = false, isItem: Bool = false
    ) {
        let start = lexer.start
        var depth = 0
        while lexer.isInside {
            if depth == 0, lexer.closesBracket || isItem && lexer.at(",") { return }
            if depth == 0, isStored, lexer.start > start, lexer.isDeclaration { return }
            let before = lexer
            if lexer.at("[") {
                parseLiteral(into: &list, isOfLists: isOfLists)
            } else if let entry = parseTable() {
                list.entries.append(entry)
            } else if lexer.accept("."), lexer.accept("timeLimit"), lexer.accept("(") {
                skipItem()
                while lexer.accept(",") { parseExpression(into: &list, isItem: true) }
                advance()
            } else {
                lexer = before
                if !lexer.at("+"), !lexer.at("return") { list.isLiteral = false }
                if lexer.at("#") {
                    advance()
                    innerConditionCount += lexer.at("if") ? 1 : lexer.at("endif") ? -1 : 0
                }
                depth += lexer.opensBracket ? 1 : lexer.closesBracket ? -1 : 0
                advance()
            }
        }
    }

    /// Reads the entries of a literal.
    private mutating func parseLiteral(into list: inout WrittenList, isOfLists: Bool) {
        let insertion = source.place(at: lexer.end, in: path)
        repeat {
            advance()
            if list.insertion == nil, !lexer.at(":") { list.insertion = insertion }
            if isOfLists {
                skipItem(toColon: true)
                if lexer.accept(":") { parseExpression(into: &list, isItem: true) }
            } else if var entry = parseName(), lexer.accept(":") {
                entry.function = parseFunctionOfEntry()
                skipItem()
                entry.lastLine = source.line(at: lastStart)
                list.entries.append(entry)
            }
            skipItem()
        } while lexer.at(",")
        advance()
    }

    /// Reads the name of an entry, if it is the same at run time. A name with an escape or an interpolation isn't.
    private mutating func parseName() -> ListedTest? {
        let length = lexer.end - lexer.start
        guard case .string = lexer.kind, memchr(lexer.base + lexer.start, 0x5C, length) == nil,
            memchr(lexer.base + lexer.start, 0x0A, length) == nil
        else { return nil }
        defer { lexer.next() }
        // A condition inside the list may be true or false, so the entry gets an empty condition for each.
        let conditions = otherConditions + Array(repeating: "", count: max(0, innerConditionCount))
        return ListedTest(name: lexer.text, place: place, lastLine: 0, conditions: conditions)
    }

    /// Returns the function of an entry `testA` or `fixture(testA)`.
    private mutating func parseFunctionOfEntry() -> String? {
        let isFixture = lexer.accept("fixture") && lexer.accept("(")
        let isTest = lexer.isTestName
        if isTest { advance() }
        let isAlone = isTest && (lexer.at(isFixture ? ")" : ",") || lexer.at("]"))
        let function = isAlone ? listNames.last : nil
        if isFixture { skipItems() }
        return function
    }

    /// Reads the table `.each("testA", rows, testA)` or `each("testA", [row, row]) {...}`, and goes behind it.
    private mutating func parseTable() -> ListedTest? {
        let before = lexer
        while lexer.accept(".") || lexer.accept("Self") {}
        guard lexer.accept("each"), lexer.accept("("), var entry = parseName(), lexer.accept(",") else {
            lexer = before
            return nil
        }
        let nameCount = listNames.count
        if lexer.at("[") { parseRows(of: &entry) }
        skipItems()
        if lexer.at("{") {
            entry.lastLineOfRows = min(entry.lastLineOfRows, line - 1)
            advance()
            skipItems()
        }
        entry.lastLine = source.line(at: lastStart)
        entry.functions = Set(listNames[nameCount...])
        return entry
    }

    /// Reads the rows of a table that are a literal.
    private mutating func parseRows(of entry: inout ListedTest) {
        var rows: [SourcePlace] = []
        repeat {
            advance()
            if !lexer.closesBracket { rows.append(place) }
            skipItem()
        } while lexer.at(",")
        let lastLine = source.line(at: lastStart)
        advance()
        if lexer.at(",") || lexer.at(")") { (entry.rows, entry.lastLineOfRows) = (rows, lastLine) }
    }

    // MARK: Tokens of lists

    /// Goes to the next token, and records the current one.
    mutating func advance() {
        lastStart = lexer.start
        if lexer.isTestName { listNames.append(lexer.name) }
        lexer.next()
    }

    /// Goes to the comma or the bracket after an argument or element, or to a colon in it. An inactive branch of an `#if`
    /// may have no such bracket, so the parameters of a function end with the branch.
    mutating func skipItem(toColon: Bool = false, isParameter: Bool = false) {
        var depth = 0
        while lexer.isInside, depth > 0 || !lexer.at(",") && !lexer.closesBracket && !(toColon && lexer.at(":")) {
            if isParameter, lexer.isDirective(at: lexer.start) { return }
            depth += lexer.opensBracket ? 1 : lexer.closesBracket ? -1 : 0
            advance()
        }
    }

    /// Goes behind the bracket that closes the arguments or elements from here.
    mutating func skipItems(areParameters: Bool = false) {
        skipItem(isParameter: areParameters)
        while lexer.at(",") {
            advance()
            skipItem(isParameter: areParameters)
        }
        if lexer.closesBracket { advance() }
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
