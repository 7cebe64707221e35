// Finds the lists and declarations of tests in the sources of a module. A worker knows tests only by name. From the
// sources, a crash, a thrown error or a mistake in a list gets its line, and a chosen line gets its tests.

import TestEvents

/// A function whose name begins with `test`.
struct DeclaredTest: Equatable {
    var name: String
    var place: SourcePlace
    /// The last line of its body.
    var lastLine: Int
    /// A Boolean value that indicates whether tables call the function with their rows.
    var hasParameters = false
    var modifiers = Modifiers()
    /// The conditions of the `#if` around it that are not about tests, as they are written. This build may leave the
    /// function out.
    var conditions: [String]
}

/// The modifiers and effects of a declaration that decide about its list entry.
struct Modifiers: Equatable {
    var (isPrivate, isStatic, isOverride) = (false, false, false)
    /// A Boolean value that indicates whether a fixture can only call the function in a closure.
    var needsClosure = false
    var (isAsync, isThrowing, isMainActor) = (false, false, false)
}

/// An entry of a list.
struct ListedTest: Equatable {
    var name: String
    /// The `test…` function, if the entry consists only of its name.
    var function: String?
    var place: SourcePlace
    var lastLine: Int
    /// The conditions of the `#if` around it that are not about tests.
    var conditions: [String] = []
    /// The places of a table's rows, or nil if the rows aren't a literal in the list.
    var rows: [SourcePlace]?
    /// The last line with a row and without a part of the closure after the rows.
    var lastLineOfRows = 0
    /// The words `test…` of a table. They may be the names of functions that take its rows.
    var functions: Set<String> = []

    /// Returns whether a line of the entry selects a test of the entry's type. A line without a row selects all rows.
    func isMeant(_ test: PlannedTest, on line: Int) -> Bool {
        guard let row = test.row else { return test.testName == name }
        let lines = line == place.line || line > lastLineOfRows ? [] : (rows ?? []).map(\.line)
        guard row.table == name, let index = lines.lastIndex(where: { $0 <= line }) else { return row.table == name }
        return row.index == index || lines.indices.contains(row.index) && lines[row.index] == line
    }
}

/// A list as it is written.
struct WrittenList: Equatable {
    var place: SourcePlace
    /// The conditions of the `#if` around it, from the outermost to the innermost, as they are written.
    var conditions: [String]
    var isOverride: Bool
    /// A Boolean value that indicates whether the list contains the tests that run by default.
    var isOfUnitTests: Bool
    /// A Boolean value that indicates whether the names of all entries are literals.
    var isLiteral = false
    /// The entries. If the list isn't literal, all keys.
    var entries: [ListedTest] = []
    /// The words `test…` in the list. They may be the names of functions that it runs.
    var names: [String] = []
    /// The place for a new first entry.
    var insertion: SourcePlace?
}

/// The lists and test functions of one type and its extensions.
struct ScannedType {
    var lists: [WrittenList] = []
    /// The names after the colons of the type and its extensions, and the `#if` around them. If an extension adds a
    /// name, `isAdded` is true.
    var parents: [(name: String, isAdded: Bool, conditions: [String])] = []
    var declared: [DeclaredTest] = []
    /// The names `test…` that are used under an `#if` that isn't about tests, and its conditions.
    var conditionalNames: [(name: String, conditions: [String])] = []
    var (isProtocol, isActor) = (false, false)
    /// The lines of the type and its extensions.
    var bodies: [(path: String, lines: ClosedRange<Int>)] = []

    var entries: [ListedTest] { lists.flatMap(\.entries) }

    /// The place of the first list, or else the line where the type or an extension begins.
    var place: SourcePlace? {
        lists.first?.place
            ?? bodies.first.map { SourcePlace(path: $0.path, line: $0.lines.lowerBound, column: 1) }
    }

    /// Returns the list entry for a function of the type.
    func entry(for test: DeclaredTest) -> String {
        let word = test.name.utf8.allSatisfy(SwiftLexer.isWord) ? test.name : "`\(test.name)`"
        let key = "\"\(test.name.replacing("\"", with: "\\\""))\""
        if test.modifiers.isStatic { return "\(key): \(word)" }
        if !isActor, !test.modifiers.needsClosure { return "\(key): fixture(\(word))" }
        // A conformance to `@MainActor FixtureTesting` has closures of the main actor.
        let isOfOtherActor = isActor || test.modifiers.isMainActor && !parents.contains { $0.name == "MainActor" }
        let effects =
            (test.modifiers.isThrowing ? "try " : "") + (isOfOtherActor || test.modifiers.isAsync ? "await " : "")
        return "\(key): fixture { \(effects)$0.\(word)() }"
    }

    /// Adds the parts of the type from another file.
    fileprivate mutating func add(_ other: ScannedType) {
        lists += other.lists
        parents += other.parents
        declared += other.declared
        conditionalNames += other.conditionalNames
        isProtocol = isProtocol || other.isProtocol
        isActor = isActor || other.isActor
        bodies += other.bodies
    }
}

/// The tests found in a module's sources, by the name of their type.
struct SourceScan {
    /// The types by name. If several files have private types of the same name, each is called `File.swift:Type`.
    private(set) var types: [String: ScannedType] = [:]
    /// The number of lines of each source that mentions tests.
    private var lineCounts: [String: Int] = [:]

    /// Reads the sources that mention tests. Unreadable sources are ignored.
    ///
    /// - Complexity: O(bytes). Sources that don't mention tests are only searched for a word.
    init(sources: [String], module: String) {
        self.init(module: module, sources: sources.lazy.map { ($0, (try? FileAccess.contents(of: $0)) ?? []) })
    }

    private init(module: String, sources: some Sequence<(path: String, bytes: [UInt8])>) {
        var files: [SourceParser] = []
        var fileCounts: [String: Int] = [:]
        for (path, bytes) in sources {
            let text = SourceText(bytes)
            if text.offset(of: "testSelectors") == nil, text.offset(of: "func test") == nil { continue }
            let file = SourceParser(text, path: path)
            files.append(file)
            for name in file.privateTypes { fileCounts[name, default: 0] += 1 }
        }
        let ownPrefix = "\(module)."
        let isQualified = files.contains { $0.types.contains { $0.name.hasPrefix(ownPrefix) } }
        // A type with the name of the module hides the module.
        let isModule =
            isQualified
            && !sources.contains { SourceParser(SourceText($0.bytes)).types.contains { $0.name == module } }
        for file in files {
            let ambiguous = file.privateTypes.filter { fileCounts[$0, default: 0] > 1 }
            func key(_ written: String) -> String {
                let isPlain = !isModule || !written.hasPrefix(ownPrefix)
                let name = isPlain ? written : String(written.dropFirst(ownPrefix.count))
                let isAmbiguous = ambiguous.contains { name == $0 || name.hasPrefix("\($0).") }
                return isAmbiguous ? "\(FileAccess.name(of: file.path)):\(name)" : name
            }
            for (name, type) in file.types { types[key(name), default: ScannedType()].add(type) }
            lineCounts[file.path] = file.source.line(at: file.source.count)
        }
    }

    /// The type with the name that workers use, `Outer.Inner` or `Table<Int>`.
    subscript(typeName: String) -> ScannedType? { types[key(of: typeName)] }

    /// Returns the key of a type. If several private types have the name and only one of them has tests, returns that
    /// type's key.
    func key(of typeName: String) -> String {
        let name = Self.plainName(typeName)
        if types[name] != nil { return name }
        return types.first { !$0.value.lists.isEmpty && Self.unqualified($0.key) == name }?.key ?? name
    }

    /// Returns the class or protocol of this module that gives its list to a type without its own list.
    func listOwner(inheritedBy typeName: String) -> String? {
        var pending = [typeName]
        var seen: Set<String> = []
        while let name = pending.popLast() {
            guard seen.insert(name).inserted, let type = types[name] else { continue }
            if name != typeName, !type.lists.isEmpty { return name }
            let outer = name.lastIndex(of: ".").map { name[...$0] } ?? ""
            pending += Set(type.parents.map(\.name)).sorted().map { types[outer + $0] == nil ? $0 : outer + $0 }
        }
        return nil
    }

    /// Finds the entry of a test in the lists of its type.
    func entry(of test: PlannedTest) -> ListedTest? {
        self[test.typeName]?.lists.lazy.compactMap { $0.entries.first { $0.name == test.listedName } }.first
    }

    /// Finds the function that a test runs, if the sources show it.
    func function(of test: PlannedTest) -> DeclaredTest? {
        let declared = self[test.typeName]?.declared.filter { !$0.hasParameters } ?? []
        let function = entry(of: test)?.function
        return declared.first { $0.name == test.testName } ?? declared.first { $0.name == function }
    }

    /// Returns the place of a test's row if the rows of its table are a literal in the list.
    func row(of test: PlannedTest) -> SourcePlace? {
        guard let row = test.row, let rows = entry(of: test)?.rows, rows.indices.contains(row.index) else { return nil }
        return rows[row.index]
    }

    /// Returns the place of a test's row, or else of its function, its entry or its type's list. A type without a list
    /// inherits these.
    func place(of test: PlannedTest) -> SourcePlace? {
        if let place = ownPlace(of: test) { return place }
        var inherited = test
        inherited.typeName = listOwner(inheritedBy: key(of: test.typeName)) ?? ""
        return ownPlace(of: inherited) ?? self[test.typeName]?.place
    }

    private func ownPlace(of test: PlannedTest) -> SourcePlace? {
        row(of: test) ?? function(of: test)?.place ?? entry(of: test)?.place ?? self[test.typeName]?.lists.first?.place
    }

    // MARK: Lines

    /// Returns the tests that a line selects: those of the row, list entry or `test…` function around it. Otherwise, it
    /// selects the tests of the type around it. Outside of all types, it selects the tests of the file, if the file has
    /// that line.
    func indices(in plan: [PlannedTest], around line: ChosenLine) -> [Int] {
        let found = indices(in: plan, holding: line)
        if !found.isEmpty { return found }
        var around = types.flatMap { name, type in type.bodies.map { (name: name, body: $0) } }
        around.removeAll { !line.isIn($0.body.path, $0.body.lines.lowerBound, $0.body.lines.upperBound) }
        // The innermost type comes first. If all of its lines are those of another type, its name is longer.
        around.sort { ($0.body.lines.count, -$0.name.utf8.count) < ($1.body.lines.count, -$1.name.utf8.count) }
        for type in around {
            let found = plan.indices.filter { key(of: plan[$0].typeName) == type.name }
            if !found.isEmpty { return found }
        }
        if !around.isEmpty || lineCounts.contains(where: { line.names($0.key) && line.line > $0.value }) { return [] }
        return plan.indices.filter { place(of: plan[$0]).map { line.names($0.path) } ?? false }
    }

    /// Returns the tests whose row, list entry or `test…` function contains a line.
    func indices(in plan: [PlannedTest], holding line: ChosenLine) -> [Int] {
        let entries = types.mapValues { type in
            type.entries.filter { line.isIn($0.place.path, $0.place.line, $0.lastLine) }
        }
        let functions = types.mapValues { type in
            type.declared.filter { line.isIn($0.place.path, $0.place.line, $0.lastLine) }
        }
        let keys = plan.map { key(of: $0.typeName) }
        let listed = plan.indices.filter { index in
            entries[keys[index]]?.contains { $0.isMeant(plan[index], on: line.line) } ?? false
        }
        if !listed.isEmpty { return listed }
        return plan.indices.filter { index in
            guard let functions = functions[keys[index]], !functions.isEmpty else { return false }
            guard plan[index].row != nil else { return functions.contains { place(of: plan[index]) == $0.place } }
            return functions.contains { entry(of: plan[index])?.functions.contains($0.name) ?? false }
        }
    }

    /// Describes a line that selects no test, and the nearest test. Returns nil if the line selects a test.
    func mistake(in line: ChosenLine, of plan: [PlannedTest]) -> String? {
        guard indices(in: plan, around: line).isEmpty else { return nil }
        let places = plan.compactMap { test in place(of: test).map { (test.name, $0) } }.filter {
            line.names($0.1.path)
        }
        let nearest = places.min { abs($0.1.line - line.line) < abs($1.1.line - line.line) }
        let rest = nearest.map { "; the nearest is '\($0.0)' in line \($0.1.line)" } ?? ""
        return "no test is around line \(line.line) of \(line.path)\(rest)"
    }

    /// Returns the name without generic arguments and number.
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
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension SourceScan {
    /// Creates a scan of one source.
    init(text: String, path: String, module: String) {
        self.init(module: module, sources: [(path, Array(text.utf8))])
    }
}

extension SourceScan: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testChoosesRowsByLine": testChoosesRowsByLine,
            "testChoosesTestsAroundALine": testChoosesTestsAroundALine,
            "testOffersEntriesThatCompile": testOffersEntriesThatCompile,
            "testReadsTruncatedSources": testReadsTruncatedSources,
        ]
            + .each("testChoosesTestsOfOneTypeOnly", extendedTypes, testChoosesTestsOfOneTypeOnly)
            + .each("testFindsThePlaceOfATest", places, named: { "\($0.type).\($0.name)" }) { type, name, line in
                let test = PlannedTest(typeName: type, testName: name, testType: "unit", module: "M")
                expectEqual(scan(placedTests).place(of: test)?.line, line)
            }
            + .each(
                "testReadsTypesNamedLikeTheModule",
                ["", "struct M {}", "public final class M: P {}", "extension M {}"],
                testReadsTypesNamedLikeTheModule)
    }

    /// Sources that end within a name, a bracket or a string declare no more types.
    private static func testReadsTruncatedSources() {
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

    private static let placedTests = """
        class Base { class var testSelectors: TestSelectors { [
            "testA": testA,
            "testClosure": { _ in },
            "testOtherName": testA,
        ] }
            class func testA() {}
        }
        class Derived: Base {
            override class func testA() {}
        }
        final class Last: Derived {}
        struct Made { func testB() {} }
        """

    /// The line of a test. A test of a type without its own list is at the function that the type inherits, or else at the
    /// type.
    private static let places: [(type: String, name: String, line: Int?)] = [
        ("Base", "testA", 6), ("Base", "testClosure", 3), ("Base", "testOtherName", 6), ("Base", "testUnknown", 1),
        ("Derived", "testA", 9), ("Last", "testA", 6), ("Last", "testClosure", 3), ("Last", "testUnknown", 1),
        ("Made", "testD", 12), ("Unknown", "testA", nil),
    ]

    private static func testReadsTypesNamedLikeTheModule(_ declaration: String) {
        let list = "static var testSelectors: TestSelectors { [\"testA\": testA] }; static func testA() {}"
        let text = "extension M.Node { \(list) }"
        for sources in [[text, declaration], ["\(text); \(declaration)"]] {
            let scan = SourceScan(
                module: "M", sources: sources.enumerated().map { ("/\($0.offset).swift", Array($0.element.utf8)) })
            expectEqual(scan.types[declaration.isEmpty ? "Node" : "M.Node"]?.entries.map(\.name), ["testA"])
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

    private static func testChoosesTestsAroundALine() {
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

    /// Extensions, and the names of their types in the plan.
    private static var extendedTypes: [(extended: String, name: String)] {
        [
            ("Outer<Int>.Inner", "Outer<Int>.Inner"),
            ("Outer<[(Int) -> Void]>.Inner<A>", "Outer<(Int) -> ()>.Inner<A>"), ("[Int]", "Array<Int>"),
            ("[Int: [Int]]", "Dictionary<Int, Array<Int>>"), ("[[Int: Int]].Part", "Array.Part"),
            ("[Int]?", "Optional<Array<Int>>"), ("Int?", "Optional<Int>"), ("[2 of Int]", "InlineArray<2, Int>"),
            ("(any P)", "Any"),
            ("Foundation.URL", "URL"), ("URLs.URL", "URL"), ("Swift.Array<Int>.Part", "Array.Part"),
            ("M.Node", "Node"),
        ]
    }

    private static func testChoosesTestsOfOneTypeOnly(_ row: (extended: String, name: String)) {
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

    private static func testOffersEntriesThatCompile() {
        let type = scan(
            """
            extension S {
                static func testA() {}
                func testB() {}
                mutating func testC() async throws {}
                static func `test is "so"`() {}
                @MainActor private static func testD() throws {}
                borrowing func testE() {}
                @MainActor mutating func testF() throws {}
                static func testReturns() -> Int { 1 }
            }
            """)["S"]
        expectEqual(
            type?.declared.map { type?.entry(for: $0) },
            [
                "\"testA\": testA", "\"testB\": fixture(testB)", "\"testC\": fixture { try await $0.testC() }",
                #""test is \"so\"": `test is "so"`"#,
                "\"testD\": testD", "\"testE\": fixture { $0.testE() }",
                "\"testF\": fixture { try await $0.testF() }",
            ])
        let isolated = scan("extension S: @MainActor FixtureTesting { @MainActor mutating func testA() {} }")["S"]
        expectEqual(
            isolated?.declared.map { isolated?.entry(for: $0) }, ["\"testA\": fixture { $0.testA() }"])
        let actor = scan("actor S { func testA() {} }")["S"]
        expectEqual(
            actor?.declared.map { actor?.entry(for: $0) }, ["\"testA\": fixture { await $0.testA() }"])
    }
}
#endif
