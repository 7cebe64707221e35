// Reads the entries of a list whose names are literals, and what a type says it is. What is made at run time has no names
// here; whether it is a list at all is for a reader of Swift to say, not for a reader of tokens.

extension SourceParser {
    /// The end of the `<…>` that begins here, in which there are no braces.
    func endOfArguments(_ start: Int) -> Int? {
        guard isPunctuation("<", at: start) else { return nil }
        var (position, depth) = (start, 0)
        while position < tokens.count, !isPunctuation("{", at: position) {
            if isPunctuation("<", at: position) { depth += 1 }
            // Not the end of an arrow.
            if isPunctuation(">", at: position), !isPunctuation("-", at: position - 1) { depth -= 1 }
            if depth == 0 { return position }
            position += 1
        }
        return nil
    }

    /// The names behind the colon of a declaration that has no body yet, each without what it is a member of.
    func parents(behind start: Int) -> Set<String> {
        guard isPunctuation(":", at: start) else { return [] }
        var position = start
        var names: Set<String> = []
        while position < tokens.count, !isPunctuation("{", at: position), !isWord("where", at: position) {
            if tokens[position].kind == .word, !isPunctuation(".", at: position + 1) {
                names.insert(text(at: position))
            }
            position += 1
        }
        return names
    }

    /// The entries of `{ [...] }`, `= [...]`, `{ .timeLimit(.milliseconds(5), [...]) }`, `{ .each("testA", rows) {...} }` and
    /// sums of these, or nil for anything else.
    func entries(ofList position: Int) -> [ListedTest]? {
        var entries: [ListedTest] = []
        let start = position + (isWord("return", at: position + 1) ? 2 : 1)
        guard let end = add(sumAt: start, to: &entries) else { return nil }
        let isAlone =
            isPunctuation("{", at: position)
            ? isPunctuation("}", at: end)
            : ![".", "?", "(", "{"].contains { isPunctuation($0, at: end) }
        return isAlone ? entries : nil
    }

    /// Adds the entries of lists that are joined.
    ///
    /// - Returns: what is behind them, or nil for anything else.
    private func add(sumAt start: Int, to entries: inout [ListedTest]) -> Int? {
        guard var end = add(partAt: start, to: &entries) else { return nil }
        while isPunctuation("+", at: end) {
            guard let next = add(partAt: end + 1, to: &entries) else { return nil }
            end = next
        }
        return end
    }

    /// Adds the entries of a literal, of one with a limit, or of a table.
    ///
    /// - Returns: what is behind it, or nil for anything else.
    private func add(partAt start: Int, to entries: inout [ListedTest]) -> Int? {
        if let table = table(at: start) {
            entries.append(table.entry)
            return table.end
        }
        if isPunctuation(".", at: start), isWord("timeLimit", at: start + 1), isPunctuation("(", at: start + 2) {
            let items = items(ofBracket: start + 2)
            guard items.count > 1, let end = add(sumAt: items[1].lowerBound, to: &entries), isPunctuation(")", at: end)
            else { return nil }
            return end + 1
        }
        guard isPunctuation("[", at: start), let end = end(ofBracket: start) else { return nil }
        literals.append(start)
        entries += keys(ofLiteral: start).compactMap { key in
            let name = text(at: key)
            // A name with an escape or an interpolation is another at run time.
            if name.contains("\\") || name.contains("\n") { return nil }
            return ListedTest(
                name: name, function: listedFunction(behind: key + 2), place: place(at: key),
                lastLine: lastLine(ofEntry: key))
        }
        return end + 1
    }

    /// The table `.each("testA", rows, testA)`, `each("testA", [row, row]) {...}`, and what is behind it.
    func table(at start: Int) -> (entry: ListedTest, end: Int)? {
        var word = start
        if isPunctuation(".", at: word) { word += 1 } else if isWord("Self", at: word) { word += 2 }
        guard isWord("each", at: word), isPunctuation("(", at: word + 1), word + 2 < tokens.count,
            tokens[word + 2].kind == .string, isPunctuation(",", at: word + 3), let last = end(ofBracket: word + 1)
        else { return nil }
        let name = text(at: word + 2)
        if name.contains("\\") || name.contains("\n") { return nil }
        var end = last + 1
        var lineOfClosure = Int.max
        if isPunctuation("{", at: end) {
            lineOfClosure = tokens[end].line
            guard let brace = self.end(ofBracket: end) else { return nil }
            end = brace + 1
        }
        var table = WrittenTable()
        table.functions = Set((word + 4..<end).filter { tokens[$0].kind == .word }.map { text(at: $0) })
        if isPunctuation("[", at: word + 4), let bracket = self.end(ofBracket: word + 4),
            isPunctuation(",", at: bracket + 1) || bracket + 1 == last
        {
            table.rows = items(ofBracket: word + 4).map { place(at: $0.lowerBound) }
            table.lastLineOfRows = min(tokens[bracket - 1].line, lineOfClosure - 1)
        }
        let lastLine = tokens[end - 1].line
        return (ListedTest(name: name, place: place(at: word + 2), lastLine: lastLine, table: table), end)
    }

    /// The last line of an entry, of which this is the name.
    func lastLine(ofEntry name: Int) -> Int {
        var depth = 0
        var position = name
        while position + 1 < tokens.count {
            depth += change(at: position + 1)
            if depth < 0 || depth == 0 && isPunctuation(",", at: position + 1) { break }
            position += 1
        }
        return tokens[position].line
    }

    /// The last line of a function's body, or that of its name if it has none.
    func lastLine(ofFunction name: Int) -> Int {
        var position = (end(ofBracket: name + 1) ?? tokens.count) + 1
        while position < tokens.count, !isPunctuation("{", at: position) {
            // What comes next in a protocol.
            if isPunctuation("}", at: position) || Self.declarations.contains(where: { isWord($0, at: position) }) {
                return tokens[name].line
            }
            position += 1
        }
        guard position < tokens.count else { return tokens[name].line }
        return tokens[end(ofBracket: position) ?? tokens.count - 1].line
    }

    private static let declarations: [StaticString] = ["func", "var", "let", "init", "static", "class", "mutating"]

    /// The entries of all lists of `{ ["slow": [...], "network": .timeLimit(.milliseconds(5), [...])] }`.
    func entries(ofLists position: Int) -> [ListedTest]? {
        let start = position + (isWord("return", at: position + 1) ? 2 : 1)
        guard isPunctuation("[", at: start), let end = end(ofBracket: start),
            isPunctuation("{", at: position)
                ? isPunctuation("}", at: end + 1)
                : !["+", ".", "?", "("].contains(where: { isPunctuation($0, at: end + 1) })
        else { return nil }
        var all: [ListedTest] = []
        for colon in colons(ofLiteral: start) {
            guard let entries = entries(ofList: colon) else { return nil }
            all += entries
        }
        return all
    }

    /// The string literals that are keys of a dictionary literal itself, not of one inside it.
    private func keys(ofLiteral bracket: Int) -> [Int] {
        items(ofBracket: bracket).map(\.lowerBound).filter {
            tokens[$0].kind == .string && isPunctuation(":", at: $0 + 1)
        }
    }

    /// The colons behind the keys of a dictionary literal, whatever these are.
    func colons(ofLiteral bracket: Int) -> [Int] {
        items(ofBracket: bracket).compactMap { item in
            var depth = 0
            let colon = item.first { position in
                depth += change(at: position)
                return depth == 0 && isPunctuation(":", at: position)
            }
            // `[:]` has no key.
            return item.count > 1 ? colon : nil
        }
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
                expectEqual(type?.declaredParents, row.declared, row.text)
                expectEqual(type?.addedParents, row.added, row.text)
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
            let lists = type("extension S { static var \(row.list) }")?.written
            expectEqual(lists?.count, 1, row.list)
            expectEqual(lists?.first?.entries?.map(\.name), row.entries, row.list)
        }
        expectEqual(type("struct S { var testSelectors: [Int] { [1] } }")?.written, [], "something else's list")
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
            """)?.written.first?.entries
        expectEqual(entries?.map(\.name), ["a", "testRows", "testMade", "testSum", "testNone"])
        expectEqual(entries?.map { $0.table?.rows?.map(\.line) }, [nil, [3, 3, 5], nil, nil, []])
        expectEqual(entries?.map { $0.table?.rows?.first?.column }, [nil, 9, nil, nil, nil])
        expectEqual(entries?.map(\.lastLine), [1, 8, 9, 9, 10])
        expectEqual(
            entries?.map { $0.table?.functions.filter { $0.hasPrefix("test") }.sorted() ?? [] },
            [[], ["testParses"], ["testMade"], [], []])
    }

    private static var declarations: [(text: String, declared: Set<String>, added: Set<String>)] {
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
            """)?.written
        expectEqual(lists?.map(\.isOverride), [true, true])
        expectEqual(lists?.first?.conditions, ["if DEBUG | | IN_CLASS_TESTS "])
        expectEqual(
            lists?.last?.conditions, ["if DEBUG | | IN_CLASS_TESTS ", "if os ( Linux ) else "])
    }
}
#endif
