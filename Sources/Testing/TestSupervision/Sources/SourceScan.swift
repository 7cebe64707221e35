// Finds in the sources of a module where its tests are listed and where they are declared. A worker knows tests by
// name only; this is what gives a crash, a thrown error or a list's mistake its line, and what notices a test that
// nobody listed.

import TestEvents

/// A function that looks like a test: `test…` without parameters.
struct DeclaredTest: Equatable {
    var name: String
    var place: SourcePlace
    /// Where its body ends.
    var lastLine: Int
    /// What an entry for it would be.
    var entry: String
    /// The `#if` that it is in and that are not about tests, each as it is written: it may not be compiled here.
    var conditions: [String]
}

/// An entry of a list.
struct ListedTest: Equatable {
    var name: String
    /// The `test…` function it names, when that is all there is to it.
    var function: String?
    var place: SourcePlace
    var lastLine: Int
    /// The `#if` that it is in, as far as they are not about tests.
    var conditions: [String] = []
    /// For a table of cases, what is written of it.
    var table: WrittenTable?
}

/// A table of cases as it is written.
struct WrittenTable: Equatable {
    /// Where each row begins; nil for rows that are no literal in the list.
    var rows: [SourcePlace]?
    /// The last line on which there is a row and nothing of the closure that takes them.
    var lastLineOfRows = 0
    /// All words of it, among which are the functions that it runs.
    var functions: Set<String> = []

    /// Returns whether a row is on a line.
    func hasRow(_ index: Int, on line: Int) -> Bool {
        guard let rows, rows.indices.contains(index), line <= lastLineOfRows else { return false }
        let end = index + 1 < rows.count ? rows[index + 1].line - 1 : lastLineOfRows
        return (rows[index].line...max(rows[index].line, end)).contains(line)
    }
}

extension ListedTest {
    /// Returns whether a test of the entry's type is on a line of the entry: of a table all its rows, or those on the line.
    func isMeant(_ test: PlannedTest, on line: Int) -> Bool {
        guard let row = test.row, let table else { return test.row == nil && table == nil && test.testName == name }
        let isOfRows = line != place.line && (table.rows ?? []).indices.contains { table.hasRow($0, on: line) }
        return row.table == name && (!isOfRows || table.hasRow(row.index, on: line))
    }
}

/// What is between the braces of a type or an extension.
struct TypeBody: Equatable {
    var typeName: String
    var path: String
    var lines: ClosedRange<Int>
}

/// A list as it is written.
struct WrittenList: Equatable {
    var place: SourcePlace
    /// The `#if` that it is in, from the outermost to the innermost, each as it is written.
    var conditions: [String]
    var isOverride: Bool
    /// The entries whose names are literals; nil for a list that is made otherwise.
    var entries: [ListedTest]?
    /// A Boolean value that indicates whether it is of the tests that run unless others are asked for.
    var isOfUnitTests: Bool
}

/// What the sources say about one type's tests, extensions taken together.
struct ScannedType: Equatable {
    var written: [WrittenList] = []
    /// What its declaration and what its extensions say it is.
    var declaredParents: Set<String> = []
    var addedParents: Set<String> = []
    /// The `#if` that each of them is stated in.
    var conditionsOfParents: [String: [String]] = [:]
    var isProtocol = false
    var isActor = false
    var lists: [SourcePlace] = []
    /// Behind the opening bracket of the first list.
    var insertion: SourcePlace?
    var isInsertionEmptyList = false
    var listed: [ListedTest] = []
    /// All words in the lists, to which a test may owe its being run.
    var listedWords: Set<String> = []
    var declared: [DeclaredTest] = []
    /// The names `test…` that are used under an `#if` that is not about tests, with all that they are in.
    var conditionalNames: [String: Set<[String]>] = [:]
    /// The functions `test…` with parameters, which rows of tables are given to.
    var declaredForRows: [DeclaredTest] = []

    /// Adds what another file says about the type.
    mutating func add(_ other: ScannedType) {
        written += other.written
        declaredParents.formUnion(other.declaredParents)
        addedParents.formUnion(other.addedParents)
        conditionsOfParents.merge(other.conditionsOfParents) { $1 }
        isProtocol = isProtocol || other.isProtocol
        isActor = isActor || other.isActor
        lists += other.lists
        if insertion == nil { (insertion, isInsertionEmptyList) = (other.insertion, other.isInsertionEmptyList) }
        listed += other.listed
        listedWords.formUnion(other.listedWords)
        declared += other.declared
        conditionalNames.merge(other.conditionalNames) { $0.union($1) }
        declaredForRows += other.declaredForRows
    }
}

/// The tests found in a module's sources, by the name of their type.
struct SourceScan {
    /// Private types of one name in several files are called `File.swift:Type`.
    private(set) var types: [String: ScannedType] = [:]
    /// The bodies of all types, each before what it lies in.
    private var bodies: [TypeBody] = []
    /// The number of lines of each source that mentions tests.
    private var lineCounts: [String: Int] = [:]
    private let module: String

    /// Reads the sources that mention tests; one that cannot be read has none.
    ///
    /// - Complexity: O(bytes), of which only files that mention tests are looked at closely.
    init(sources: [String], module: String) {
        self.init(module: module, sources: sources.lazy.map { ($0, (try? FileAccess.contents(of: $0)) ?? []) })
    }

    /// Creates a scan of one source, for tests of this type.
    init(text: String, path: String, module: String) {
        self.init(module: module, sources: [(path, Array(text.utf8))])
    }

    private init(module: String, sources: some Sequence<(path: String, bytes: [UInt8])>) {
        self.module = module
        let files = sources.compactMap { path, bytes in bytes.withUnsafeBytes { Self.parsed($0, path, module) } }
        var fileCounts: [String: Int] = [:]
        for name in files.lazy.flatMap(\.privateTypes) { fileCounts[name, default: 0] += 1 }
        for file in files {
            let ambiguous = file.privateTypes.filter { fileCounts[$0, default: 0] > 1 }
            func key(_ name: String) -> String {
                let isAmbiguous = ambiguous.contains { name == $0 || name.hasPrefix("\($0).") }
                return isAmbiguous ? "\(FileAccess.name(of: file.path)):\(name)" : name
            }
            for (name, type) in file.types { types[key(name), default: ScannedType()].add(type) }
            lineCounts[file.path] = file.lineCount
            bodies += file.bodies.map { TypeBody(typeName: key($0.typeName), path: $0.path, lines: $0.lines) }
        }
    }

    /// The class or protocol of this module whose list a type without one of its own inherits.
    func listOwner(inheritedBy typeName: String) -> String? {
        var pending = [typeName]
        var seen: Set<String> = []
        while let name = pending.popLast() {
            guard seen.insert(name).inserted, let type = types[name] else { continue }
            if name != typeName, !type.lists.isEmpty { return name }
            let outer = name.lastIndex(of: ".").map { name[...$0] } ?? ""
            for parent in type.declaredParents.union(type.addedParents).sorted() {
                pending.append(types[outer + parent] == nil ? parent : outer + parent)
            }
        }
        return nil
    }

    /// What the sources say about a type by the name that workers use, `Outer.Inner` or `Table<Int>`.
    subscript(typeName: String) -> ScannedType? { types[key(of: typeName)] }

    /// The key of a type: of private types of one name, all but one of which have no tests, that one's.
    private func key(of typeName: String) -> String {
        let name = Self.plainName(typeName)
        if types[name] != nil { return name }
        return types.first { !$0.value.lists.isEmpty && Self.unqualified($0.key) == name }?.key ?? name
    }

    /// The place of a test's row or declaration, else of its entry, else of its type's list.
    func place(of test: PlannedTest) -> SourcePlace? {
        guard let type = self[test.typeName] else { return nil }
        let entry = type.listed.first { $0.name == test.listedName }
        if let row = test.row, let rows = entry?.table?.rows, rows.indices.contains(row.index) {
            return rows[row.index]
        }
        let declared =
            type.declared.first { $0.name == test.testName }
            ?? type.declared.first { $0.name == entry?.function }
        return declared?.place ?? entry?.place ?? type.lists.first
    }

    /// The tests that a line means: those of the row, the entry of a list or the function `test…` around it, else those of
    /// the type around it; outside of all types, those of its file, if it has such a line.
    func indices(in plan: [PlannedTest], around line: ChosenLine) -> [Int] {
        let found = indices(in: plan, holding: line)
        if !found.isEmpty { return found }
        let around = bodies.filter { line.isIn($0.path, $0.lines.lowerBound, $0.lines.upperBound) }
        for body in around {
            let found = plan.indices.filter { key(of: plan[$0].typeName) == body.typeName }
            if !found.isEmpty { return found }
        }
        if !around.isEmpty || lineCounts.contains(where: { line.names($0.key) && line.line > $0.value }) { return [] }
        return plan.indices.filter { place(of: plan[$0]).map { line.names($0.path) } ?? false }
    }

    /// The tests in whose row, list entry or function `test…` a line is.
    func indices(in plan: [PlannedTest], holding line: ChosenLine) -> [Int] {
        let typeNames = plan.map { key(of: $0.typeName) }
        func listed(_ entries: (ScannedType) -> [ListedTest]) -> [Int] {
            let around = types.mapValues { type in
                entries(type).filter { line.isIn($0.place.path, $0.place.line, $0.lastLine) }
            }
            return plan.indices.filter { index in
                around[typeNames[index]]?.contains { $0.isMeant(plan[index], on: line.line) } ?? false
            }
        }
        // Of a list that is not all literals every key is an entry, although not of every dictionary in it.
        for found in [listed { $0.written.flatMap { $0.entries ?? [] } }, listed(\.listed)] where !found.isEmpty {
            return found
        }
        let functions = types.mapValues { type in
            (type.declared + type.declaredForRows).filter { line.isIn($0.place.path, $0.place.line, $0.lastLine) }
        }
        return plan.indices.filter { index in
            guard let around = functions[typeNames[index]], !around.isEmpty else { return false }
            return around.contains { runs($0, plan[index]) }
        }
    }

    /// Says that a line means no test, and which test is the nearest; nil if it means one.
    func mistake(in line: ChosenLine, of plan: [PlannedTest]) -> String? {
        guard indices(in: plan, around: line).isEmpty else { return nil }
        let places = plan.compactMap { test in place(of: test).map { (test.name, $0) } }.filter {
            line.names($0.1.path)
        }
        let nearest = places.min { abs($0.1.line - line.line) < abs($1.1.line - line.line) }
        let rest = nearest.map { "; the nearest is '\($0.0)' in line \($0.1.line)" } ?? ""
        return "no test is around line \(line.line) of \(line.path)\(rest)"
    }

    /// Returns whether a function of its type is what a test runs, as far as the list says.
    private func runs(_ function: DeclaredTest, _ test: PlannedTest) -> Bool {
        guard let row = test.row else { return place(of: test) == function.place }
        let table = self[test.typeName]?.listed.first { $0.name == row.table }?.table
        return table?.functions.contains(function.name) ?? false
    }

    /// The name without generic arguments and number.
    static func plainName(_ name: String) -> String {
        var (depth, last) = (0, Character(" "))
        return String(
            name.prefix { $0 != "#" }.filter { character in
                if character == "<" { depth += 1 }
                let isEnd = character == ">" && last != "-"
                defer { if isEnd { depth -= 1 } }
                last = character
                return depth == 0
            })
    }

    private typealias ParsedFile = (
        path: String, types: [String: ScannedType], privateTypes: Set<String>, bodies: [TypeBody], lineCount: Int
    )

    private static func parsed(_ source: UnsafeRawBufferPointer, _ path: String, _ module: String) -> ParsedFile? {
        guard
            ByteSearch.offset(of: "testSelectors", in: source) != nil
                || ByteSearch.offset(of: "func test", in: source) != nil
        else { return nil }
        let parser = SourceParser(source: source, path: path, module: module)
        parser.parse()
        let lineCount = source.count { $0 == 0x0A } + 1
        return (path, parser.types, parser.privateTypes, parser.bodies, lineCount)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension SourceScan: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsThePlaceOfATest": testFindsThePlaceOfATest,
            "testChoosesRowsByLine": testChoosesRowsByLine,
            "testChoosesWhatIsAroundALine": testChoosesWhatIsAroundALine,
            "testOffersTheRightEntry": testOffersTheRightEntry,
            "testReadsSourcesThatEndAnywhere": testReadsSourcesThatEndAnywhere,
        ]
            + .each("testChoosesOfNoOtherType", extendedTypes, testChoosesOfNoOtherType)
    }

    /// Within each name, bracket and string; what is found of them is found of the whole, or less.
    private static func testReadsSourcesThatEndAnywhere() {
        let text = """
            @MainActor extension Outer.Inner: SelfTesting where T: P {
            class var testSelectors: TestSelectors { ["testA": testA, "b": { try f(1) }] + ["c": fixture(Self.testA)] }
            static var testSelectorsByType: [TestType: TestSelectors] { ["slow": ["d": testA]] }
            #if os(Linux) && DEBUG
            override func testA() async throws { "a \\(b) " }
            #endif
            }
            """
        let whole = scan(text)
        expectTrue(whole.types["Outer.Inner"] != nil, "the type")
        for count in 0...text.utf8.count {
            let part = scan(String(decoding: text.utf8.prefix(count), as: UTF8.self))
            expectTrue(
                part.types.keys.allSatisfy { "Outer.Inner".hasPrefix($0) }, "\(part.types.keys) of \(count) bytes")
        }
    }

    private static func scan(_ text: String) -> SourceScan { SourceScan(text: text, path: "/s.swift", module: "M") }

    private static func testFindsThePlaceOfATest() {
        let scan = scan(
            """
            extension S { static var testSelectors: TestSelectors { [
                "testA": testA,
                "testClosure": { _ in },
                "testOtherName": testA,
            ] }
            static func testA() {} }
            """)
        let rows = [("testA", 6), ("testClosure", 3), ("testOtherName", 6), ("testUnknown", 1)]
        for (name, line) in rows {
            let test = PlannedTest(typeName: "S", testName: name, testType: "unit", module: "M")
            expectEqual(scan.place(of: test)?.line, line, name)
        }
    }

    private static func testChoosesRowsByLine() {
        let scan = scan(
            """
            extension S { static var testSelectors: TestSelectors {
                ["testA": testA]
                    + .each("testRows", [
                        ("a", 1),
                        ("b",
                         2),
                        ("c", 3), ("d", 4),
                    ]) { text, value in
                        testRow(text, value)
                    }
                    + .each("testMade", made, testOther)
            }
            static func testRow(_ text: String, _ value: Int) {
            }
            static func testOther(_ row: Int) {
            }
            static func testA() {
            } }
            """)
        let rows = (0..<4).map { index in
            PlannedTest(
                typeName: "S", testName: "testRows(\(index))", testType: "unit", module: "M",
                row: PlannedTest.TableRow(table: "testRows", index: index))
        }
        let made = PlannedTest(
            typeName: "S", testName: "testMade(1)", testType: "unit", module: "M",
            row: PlannedTest.TableRow(table: "testMade", index: 0))
        let other = PlannedTest(typeName: "S", testName: "testA", testType: "unit", module: "M")
        let tests = rows + [made, other]
        expectEqual(tests.map { scan.place(of: $0)?.line }, [4, 5, 7, 7, 11, 17])
        let lines: [(Int, [Int])] = [
            (1, [0, 1, 2, 3, 4, 5]), (3, [0, 1, 2, 3]), (4, [0]), (5, [1]), (6, [1]), (7, [2, 3]), (8, [0, 1, 2, 3]),
            (9, [0, 1, 2, 3]), (10, [0, 1, 2, 3]), (11, [4]), (12, [0, 1, 2, 3, 4, 5]), (13, [0, 1, 2, 3]),
            (14, [0, 1, 2, 3]), (15, [4]), (17, [5]), (18, [5]),
        ]
        for (line, indices) in lines { expectEqual(scan.chosen(line, tests), indices, "line \(line)") }
    }

    private func chosen(_ line: Int, _ tests: [PlannedTest]) -> [Int] {
        var choice = TestChoice()
        choice.lines = [ChosenLine(path: "s.swift", line: line)]
        return choice.indices(in: tests, lastRun: LastRun(), sources: TestedSources(holding: self))
    }

    private static let severalTypes = """
        struct Untested { func f() {
        } }
        struct X {
            @MainActor
            static func testX() {
            }
            static func check() {
                struct Inner {}
            }
        }
        extension X: SelfTesting { static var testSelectors: TestSelectors { ["testX": testX] } }
        extension B: SelfTesting {
            static var testSelectors: TestSelectors { [
                "testB": {
                    check(["x": 1,
                        "testB2": 2])
                },
                "testB2": fixture(testB2),
                "testX": { b in
                },
            ] + .each("t", [
                1, // first
                2]) { n in
                check(n)
            } }
            static var testSelectorsByType: [TestType: TestSelectors] {
                ["slow": .timeLimit(.milliseconds(5), [
                    "testSlow": {
                    }])]
            }
            static func testB2() {
                func nested() {}
            }
            static func check() {}
            enum Nested {
            }
        }
        func global() {}
        """

    private static func testChoosesWhatIsAroundALine() {
        let scan = scan(severalTypes)
        var tests = [("X", "testX"), ("B", "testB"), ("B", "testB2"), ("B", "testX"), ("B", "testSlow")].map {
            PlannedTest(typeName: $0.0, testName: $0.1, testType: "unit", module: "M")
        }
        tests += (0...1).map { index in
            PlannedTest(
                typeName: "B", testName: "t(\(index))", testType: "unit", module: "M",
                row: PlannedTest.TableRow(table: "t", index: index))
        }
        let (all, ofB) = (Array(0...6), Array(1...6))
        let lines: [(ClosedRange<Int>, [Int])] = [
            (1...2, []), (3...11, [0]), (12...13, ofB), (14...17, [1]), (18...18, [2]), (19...20, [3]),
            (21...21, [5, 6]), (22...22, [5]), (23...25, [5, 6]), (26...27, ofB), (28...29, [4]), (30...30, ofB),
            (31...33, [2]), (34...37, ofB), (38...38, all), (99...99, []),
        ]
        for (range, indices) in lines {
            for line in range { expectEqual(scan.chosen(line, tests), indices, "line \(line)") }
        }
        let mistakes = [2, 13, 99].map { scan.mistake(in: ChosenLine(path: "s.swift", line: $0), of: tests) }
        expectEqual(
            mistakes,
            [
                "no test is around line 2 of s.swift; the nearest is 'X.testX' in line 5", nil,
                "no test is around line 99 of s.swift; the nearest is 'B.testB2' in line 31",
            ])
        var slow = TestChoice()
        slow.lines = [ChosenLine(path: "s.swift", line: 14)]
        slow.exclusions = [TestPattern(exactly: "B.testB")]
        let sources = TestedSources(holding: scan)
        expectEqual(slow.indices(in: tests, lastRun: LastRun(), sources: sources), [], "not what is around it, instead")
    }

    /// Every extension has a failing test of its own, or else none is chosen; the last stands for what is near it.
    private static var extendedTypes: [(extended: String, name: String)] {
        [
            ("Outer<Int>.Inner", "Outer<Int>.Inner"),
            ("Outer<[(Int) -> Void]>.Inner<A>", "Outer<(Int) -> ()>.Inner<A>"), ("[Int]", "Array<Int>"),
            ("[Int: [Int]]", "Dictionary<Int, Array<Int>>"), ("[[Int: Int]].Part", "Array.Part"),
            ("[Int]?", "Optional<Array<Int>>"), ("Int?", "Optional<Int>"), ("[2 of Int]", "InlineArray<2, Int>"),
            ("(any P)", "Any"),
            ("Foundation.URL", "URL"), ("URLs.URL", "URL"), ("Swift.Array<Int>.Part", "Array.Part"),
        ]
    }

    private static func testChoosesOfNoOtherType(_ row: (extended: String, name: String)) {
        let scan = scan(
            """
            import Foundation; import struct URLs.URL; extension \(row.extended): SelfTesting {
                static var testSelectors: TestSelectors { ["testA": testA] }
                static func testA() {
                }
            }
            extension Outer: SelfTesting { static var testSelectors: TestSelectors { ["testA": testA] } }
            """)
        let tests = [row.name, "Outer<Int>", "Int"].map {
            PlannedTest(typeName: $0, testName: "testA", testType: "unit", module: "M")
        }
        for line in 1...5 {
            expectEqual(scan.chosen(line, tests), row.name == "Any" ? [] : [0], "line \(line) of \(row.extended)")
        }
        expectEqual(scan.chosen(6, tests), [1], row.extended)
    }

    private static func testOffersTheRightEntry() {
        let declared = scan(
            """
            extension S {
                static func testA() {}
                func testB() {}
                mutating func testC() async throws {}
                static func `test is "so"`() {}
                @MainActor private static func testD() throws {}
                borrowing func testE() {}
                static func testReturns() -> Int { 1 }
            }
            """)["S"]?.declared
        expectEqual(
            declared?.map(\.entry),
            [
                "\"testA\": testA", "\"testB\": fixture(testB)", "\"testC\": fixture { try await $0.testC() }",
                #""test is \"so\"": `test is "so"`"#,
                "\"testD\": testD", "\"testE\": fixture { $0.testE() }",
            ])
        expectEqual(
            scan("actor S { func testA() {} }")["S"]?.declared.map(\.entry),
            ["\"testA\": fixture { await $0.testA() }"])
    }
}
#endif
