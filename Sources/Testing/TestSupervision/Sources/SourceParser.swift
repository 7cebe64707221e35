// Parses the tokens of one source into types, their lists and functions, and the `#if` around them.
// `SourceParser+Lists.swift` reads the lists, and `SourceScan` answers questions about the result.

internal import InClassSystem
import TestEvents

/// A parser that follows the scopes of one source.
struct SourceParser {
    let source: SourceText
    let path: String
    var lexer: SwiftLexer
    /// The modules that the source imports.
    private var modules: Set = ["Swift"]
    /// The types in the order of their first mention.
    private(set) var types: [(name: String, type: ScannedType)] = []
    private var typeIndices: [String: Int] = [:]
    /// The names of the types that other sources can't see.
    private(set) var privateTypes: Set<String> = []
    /// The owner of each open brace.
    private var scopes: [Scope] = []
    /// The owner of the next brace.
    private var pending = Scope.code
    /// The modifiers since the last declaration.
    var modifiers = Modifiers()
    /// For each open `#if`: whether its current branch is compiled in every build with tests, the branch as it is
    /// written, its line, and the number of open braces.
    private var conditions: [(isOfTests: Bool, text: String, line: Int, braceCount: Int)] = []
    /// The conditions of the `#if` around the current token, except those about tests.
    private(set) var otherConditions: [String] = []
    /// The lines from each `#if` about tests to the `#endif` or `#else` that ends it, both included. Coverage and
    /// mutants leave these lines out.
    private(set) var linesOfTests: [ClosedRange<Int>] = []
    /// The offsets of the next text `func test` and the next `testSelectors`.
    private var (nextTest, nextList) = (-1, -1)
    /// The words `test…` of the current list, the number of `#if` in it, and the start of its last token.
    var (listNames, innerConditionCount, lastStart): ([String], Int, Int) = ([], 0, 0)

    private enum Scope {
        /// A type or extension that begins on a line. Members of a private extension are private by default.
        case type(index: Int, line: Int, isPrivateExtension: Bool)
        /// A test function, by its index.
        case test(type: Int, number: Int)
        case code
    }

    /// Parses a source.
    ///
    /// - Complexity: O(bytes). The bodies of functions are only searched for their end.
    init(_ source: SourceText, path: String = "") {
        self.source = source
        lexer = SwiftLexer(source)
        self.path = path
        lexer.next()
        while lexer.isInside {
            switch lexer.kind {
            case .word: parseWord()
            case .punctuation: parsePunctuation()
            default: lexer.next()
            }
        }
    }

    // PERF: These getters are mutating because a debug build would copy the whole parser for any other getter.

    /// The place of the current token.
    var place: SourcePlace { mutating get { source.place(at: lexer.start, in: path) } }

    /// The line of the current token.
    var line: Int { mutating get { source.line(at: lexer.start) } }

    // MARK: Scopes

    private mutating func parsePunctuation() {
        switch lexer.base[lexer.start] {
        case UInt8(ascii: "{"):
            scopes.append(pending)
            if case .type = pending {} else if otherConditions.isEmpty { skipBody() }
            (pending, modifiers) = (.code, Modifiers())
        case UInt8(ascii: "}"):
            // An inactive branch of an `#if` may have more closing braces than opening braces.
            if scopes.count > conditions.last?.braceCount ?? 0 { end(scopes.removeLast()) }
            (pending, modifiers) = (.code, Modifiers())
        case UInt8(ascii: "#"): return parseCondition()
        default: break
        }
        lexer.next()
    }

    private mutating func end(_ scope: Scope) {
        switch scope {
        case .type(let index, let first, _): types[index].type.bodies.append((path, first...max(first, line)))
        case .test(let type, let number): types[type].type.declared[number].lastLine = line
        case .code: break
        }
    }

    /// Goes to the end of a body without tests and conditions.
    private mutating func skipBody() {
        if nextTest < lexer.end { nextTest = source.offset(of: "func test", from: lexer.end) ?? .max }
        if nextList < lexer.end { nextList = source.offset(of: "testSelectors", from: lexer.end) ?? .max }
        _ = lexer.skipBody(before: min(nextTest, nextList))
    }

    private mutating func parseCondition() {
        let first = line
        let lineEnd = lexer.endOfLine
        lexer.next()
        let word = lexer.text
        guard ["if", "elseif", "else", "endif"].contains(word) else { return }
        var (text, isOfTests) = ("", false)
        while lexer.isInside, lexer.start < lineEnd {
            let part = lexer.name
            isOfTests = isOfTests || part == "DEBUG" || part.hasSuffix("_TESTS")
            text += part + " "
            lexer.next()
        }
        var braceCount = scopes.count
        if word != "if" {
            let ended = conditions.popLast()
            if let ended, ended.isOfTests { linesOfTests.append(ended.line...first) }
            text = (ended?.text ?? "") + text
            isOfTests = false
            // Every branch begins in the same scope. An inactive branch may have braces without partners.
            braceCount = min(braceCount, ended?.braceCount ?? braceCount)
            scopes.removeLast(scopes.count - braceCount)
        }
        if word != "endif" { conditions.append((isOfTests && !text.contains("!"), text, first, braceCount)) }
        otherConditions = conditions.filter { !$0.isOfTests }.map(\.text)
        (pending, modifiers) = (.code, Modifiers())
    }

    /// The conditions of the `#if` around the current token, except those that are true in every build with tests.
    var allConditions: [String] { conditions.map(\.text).filter { !Self.alwaysTrue.contains($0) } }

    private static let alwaysTrue: Set = [
        "if DEBUG | | IN_CLASS_TESTS ", "if IN_CLASS_TESTS | | DEBUG ", "if ( DEBUG | | IN_CLASS_TESTS ) ", "if true ",
    ]

    private mutating func parseWord() {
        if lexer.isMemberOrLabel {
            if !otherConditions.isEmpty, lexer.isTestName { noteConditionalName() }
            return lexer.next()
        }
        // PERF: The length alone rules out most words.
        switch lexer.end - lexer.start {
        case 3 where lexer.at("var") || lexer.at("let"): return parseVariable()
        case 4 where lexer.at("func"): return parseFunction()
        case 4 where lexer.at("enum"), 5 where lexer.at("actor") || lexer.at("class"),
            6 where lexer.at("struct"),
            8 where lexer.at("protocol"), 9 where lexer.at("extension"):
            return parseType()
        case 6 where lexer.at("static"): modifiers.isStatic = true
        case 6 where lexer.at("import"):
            modifiers = Modifiers()
            lexer.next()
            // A kind may follow `import`, as in `import struct Module.Type`.
            if lexer.isDeclaration { lexer.next() }
            modules.insert(lexer.name)
        case 9 where lexer.at("MainActor"): modifiers.isMainActor = true
        case 7 where lexer.at("private"), 11 where lexer.at("fileprivate"): modifiers.isPrivate = true
        case 8 where lexer.at("override"): modifiers.isOverride = true
        case 8 where lexer.at("mutating"), 9 where lexer.at("borrowing") || lexer.at("consuming"):
            modifiers.needsClosure = true
        case 9 where lexer.at("typealias"): modifiers = Modifiers()
        default: if !otherConditions.isEmpty, lexer.isTestName { noteConditionalName() }
        }
        lexer.next()
    }

    /// Records a test that is named under a condition, for example in a part of a list.
    private mutating func noteConditionalName() {
        for case .type(let index, _, _) in scopes.reversed() {
            return types[index].type.conditionalNames.append((lexer.name, otherConditions))
        }
    }

    // MARK: Declarations

    /// The type whose body contains the current token.
    private var type: Int? {
        mutating get { if case .type(let index, _, _)? = scopes.last { index } else { nil } }
    }

    /// Goes behind the keyword of a declaration, and returns the modifiers before it.
    private mutating func beginDeclaration() -> Modifiers {
        lexer.next()
        pending = .code
        defer { modifiers = Modifiers() }
        return modifiers
    }

    private mutating func parseVariable() {
        let modifiers = beginDeclaration()
        guard lexer.at("testSelectors") || lexer.at("testSelectorsByType") else { return }
        let list = parseList(isOverride: modifiers.isOverride)
        if let type { types[type].type.lists.append(list) }
    }

    private mutating func parseType() {
        let (keyword, first, isPrivate) = (lexer, line, modifiers.isPrivate)
        let isExtension = keyword.at("extension")
        lexer.next()
        // The modifier of a member, or a case of this name.
        if keyword.at("class") || keyword.at("actor"), lexer.isDeclaration {
            return modifiers.isStatic = keyword.at("class")
        }
        modifiers = Modifiers()
        if case .word = lexer.kind {} else if !isExtension || !(lexer.at("[") || lexer.at("(")) { return }
        var name = parseTypeName()
        if let dot = name.firstIndex(of: "."), modules.contains(String(name[..<dot])) {
            name = String(name[name.index(after: dot)...])
        }
        var isHidden = isPrivate
        if case .type(let outer, _, let isPrivateExtension)? = scopes.last {
            name = "\(types[outer].name).\(name)"
            isHidden = isPrivate || isPrivateExtension
        }
        if !isExtension, isHidden { privateTypes.insert(name) }
        let index = typeIndices[name] ?? types.count
        if index == types.count { types.append((name, ScannedType())) }
        typeIndices[name] = index
        pending = .type(index: index, line: first, isPrivateExtension: isExtension && isPrivate)
        if keyword.at("actor") { types[index].type.isActor = true }
        if keyword.at("protocol") { types[index].type.isProtocol = true }
        let conditions = allConditions
        types[index].type.parents += parseParents().map { ($0, isExtension, conditions) }
    }

    /// Reads a type and names it as workers do, without its generic arguments. A type that workers can't name gets a
    /// name that no other type has.
    private mutating func parseTypeName() -> String {
        var name = ""
        while lexer.isInside {
            if lexer.at("<") {
                if !skipArguments() { return name }
            } else if name.isEmpty, lexer.at("[") || lexer.at("(") {
                name = parseBracketedType()
            } else {
                if lexer.at("?") {
                    name = "Optional"
                } else if lexer.at("."), !name.isEmpty {
                    name += "."
                } else if case .word = lexer.kind, name.isEmpty || name.hasSuffix(".") {
                    name += lexer.name
                } else {
                    return name
                }
                lexer.next()
            }
        }
        return name
    }

    /// Goes behind `[Int]`, `[Int: Int]`, `[2 of Int]` or a type in parentheses, and returns the name of its type.
    private mutating func parseBracketedType() -> String {
        let isArray = lexer.at("[")
        advance()
        var second = lexer
        second.next()
        skipItem(toColon: true)
        let name = lexer.at(":") ? "Dictionary" : second.at("of") ? "InlineArray" : "Array"
        skipItems()
        return isArray ? name : "("
    }

    /// Goes behind the `<…>` that begins here, unless a brace precedes its end.
    private mutating func skipArguments() -> Bool {
        let before = lexer
        var depth = 0
        while lexer.isInside, !lexer.at("{") {
            if lexer.at("<") { depth += 1 }
            // Ignore the `>` of an arrow.
            if lexer.at(">"), lexer.base[lexer.start - 1] != UInt8(ascii: "-") { depth -= 1 }
            lexer.next()
            if depth == 0 { return true }
        }
        lexer = before
        return false
    }

    /// Returns the names after the colon before a body, each without its outer types and module.
    private mutating func parseParents() -> [String] {
        guard lexer.at(":") else { return [] }
        var names: [String] = []
        while lexer.isInside, !lexer.at("{"), !lexer.at("where") {
            let name = if case .word = lexer.kind { lexer.name } else { "" }
            lexer.next()
            if !name.isEmpty, !lexer.at("."), !names.contains(name) { names.append(name) }
        }
        return names
    }

    private mutating func parseFunction() {
        var modifiers = beginDeclaration()
        guard let type, lexer.isTestName else { return }
        var test = DeclaredTest(name: lexer.name, place: place, lastLine: line, conditions: otherConditions)
        lexer.next()
        guard lexer.accept("(") else { return }
        test.hasParameters = !lexer.at(")")
        skipItems(areParameters: true)
        // If the function has no body, the next declaration follows.
        while case .word = lexer.kind, !lexer.isDeclaration {
            if lexer.at("async") { modifiers.isAsync = true }
            if lexer.at("throws") { modifiers.isThrowing = true }
            lexer.next()
            if lexer.accept("(") { skipItems(areParameters: true) }
        }
        // Tests return no value, so any other function isn't a test.
        if lexer.accept("-"), lexer.accept(">") {
            let isVoid = lexer.accept("Void") || lexer.accept("(") && lexer.accept(")")
            guard isVoid, lexer.at("{") else { return }
        }
        test.modifiers = modifiers
        pending = .test(type: type, number: types[type].type.declared.count)
        types[type].type.declared.append(test)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension SourceParser: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsListsAndDeclarations": testFindsListsAndDeclarations,
            "testFindsNestedTypes": testFindsNestedTypes,
            "testEndsListsWithTheirValues": testEndsListsWithTheirValues,
            "testIgnoresFunctionsThatAreNoTests": testIgnoresFunctionsThatAreNoTests,
            "testFollowsConditionalCompilation": testFollowsConditionalCompilation,
            "testFindsLinesOfTests": testFindsLinesOfTests,
            "testReadsDenseSyntax": testReadsDenseSyntax,
            "testEndsCommentsLikeTheCompiler": {
                for end in ["\n", "\r", "\r\n"] {
                    let list = "static var testSelectors: TestSelectors { [\"testA\": testA] }"
                    let scan = scan("extension S { // }\(end)\(list)\(end)// func testB() {}\(end)func testA() {}\n}")
                    expectEqual(scan["S"]?.entries.map(\.name), ["testA"])
                    expectEqual(scan["S"]?.declared.map(\.name), ["testA"])
                }
            },
            "testTakesNoNamesForKeywords": {
                let list = "static var testSelectors: TestSelectors { [\"testA\": testA] }"
                let scan = scan(
                    """
                    \u{FEFF}extension S { \(list)
                        func f(struct ext: String, class: Int) {}
                        let kind = Kind.enum
                        func testA() {}
                        let other = Kind.static
                        func testB() {}
                    }
                    """)
                expectEqual(Array(scan.types.keys), ["S"])
                expectEqual(scan["S"]?.declared.map(\.name), ["testA", "testB"])
            },
        ]
            + .each(
                "testKeepsScopesBehindInactiveCode", ["}", "} }", "struct T {", "func f() { if true {", "} func g() {"]
            ) {
                let scan = scan(
                    """
                    struct S {
                        func testA() {
                            #if compiler(>=99)
                            \($0)
                            #endif
                        }
                        #if compiler(>=99)
                        \($0)
                        #elseif X
                        \($0)
                        func testB() {}
                        #else
                        static var testSelectors: TestSelectors { ["testA": testA] }
                        #endif
                        func testC() {}
                    }
                    struct U { func testD() {} }
                    """)
                let declared = scan["S"]?.declared.filter { $0.name != "testB" } ?? []
                expectEqual(declared.map(\.name), ["testA", "testC"], $0)
                expectEqual(declared.map(\.lastLine), [6, 15], $0)
                expectEqual(scan["S"]?.entries.map(\.name), ["testA"], $0)
                expectEqual(scan["U"]?.declared.map(\.name), ["testD"], $0)
            }
    }

    /// Reads valid syntax whose braces, quotes and slashes are hard to tell apart.
    private static func testReadsDenseSyntax() {
        let scan = scan(
            ####"""
            struct Str {
                let a = "}{ \("}" + "\("{")") \\" , b = #"\("}#" {"#, c = """
                  { \("""
                  } \("{ func testNo() {}")
                  """) func testNo2() {
                  """
                let r1 = /}{"/, r2 = #/}{ " /*/#, r3 = #/
                   } { " # comment }
                /#
                /* { /* } { */ " { */
                let closure: (Int) -> Int = { $0 / 2 }, d = 4 / 2 /* x */ / 1
                var computed: Int { get { 1 } set { } }
                var observed = 1 { didSet { } willSet { } }
                subscript(klass: Int) -> Int { get { 1 } }
                init(in Int = 1, protocol: Int = 2) { }
                func `func`() {} ; func `class`() -> Int { 1 }
                var `struct`: Int { 1 }
                enum `enum` { case a; static var testSelectors: [Int] { [] } }
                @available(*, deprecated, message: "} {") @inline(never) func attr() {}
                func generic<T: Equatable, each U>(_ x: T, _ y: repeat each U) -> (T) -> Void where T: Comparable { { _ in } }
                typealias F = (Int) -> Void
                func testUnlistedStr1() {}
                var ünïcode = 1; func testÜnlisted() {}; func testlower() {}; func `test raw name {`() {} ; func `testRaw "q"`() {}
                nonisolated(unsafe) static var s = [1: "a"] as [Int: String]
                #if os(Windows)
                func testWin() { }
                #elseif !os(Linux) && compiler(>=99)
                func testBad( { {
                #else
                func testElseUnlisted() { if true { } }
                #endif
                func testLine() throws { 
                    #if DEBUG
                    if #available(macOS 15, *) { _ = 1 } 
                    #else
                    #endif
                    throw Boom() }
                static func ==(a: Str, b: Str) -> Bool { a.ünïcode/b.ünïcode == 1/1 }
                func testUnlistedStr2() {}
                static func test3() async throws(Boom) -> () {}
                static func test4() -> Void {}
            }
            struct Boom: Error {}
            extension Str: FixtureTesting {
                static func testFixture() -> Str { Str() }
                static var testSelectors: TestSelectors { get { return ["testLine": fixture(testLine)] } }
            }
            """####)
        expectEqual(scan.types.keys.sorted(), ["Boom", "Str", "Str.enum"])
        expectEqual(scan["Str"]?.entries.map(\.name), ["testLine"])
        expectEqual(
            scan["Str"]?.declared.filter { $0.conditions.isEmpty }.map(\.name),
            [
                "testUnlistedStr1", "testÜnlisted", "test raw name {", "testRaw \"q\"", "testLine", "testUnlistedStr2",
                "test3", "test4",
            ])
    }

    private static func scan(_ text: String) -> SourceScan { SourceScan(text: text, path: "/s.swift", module: "M") }

    private static func testFindsLinesOfTests() {
        func lines(_ source: String) -> [ClosedRange<Int>] { SourceParser(SourceText(Array(source.utf8))).linesOfTests }
        let source = """
            a
            #if DEBUG || IN_CLASS_TESTS
            b
            #if os(Linux)
            c
            #endif
            #endif
            d
            #if !DEBUG
            e
            #endif
            #if DEBUG
            f
            #else
            g
            #endif
            """
        for text in [source, source.replacing("\n", with: "\r\n")] { expectEqual(lines(text), [2...7, 12...14]) }
        for condition in [
            "SELF_TESTS && (DEBUG || IN_CLASS_TESTS)", "(DEBUG || IN_CLASS_TESTS) && canImport(InClassTesting)",
        ] {
            expectEqual(lines("#if \(condition)\na\n#endif\n"), [1...3], condition)
        }
    }

    private static func testFindsListsAndDeclarations() {
        let type = scan(
            """
            extension Stack: SelfTesting {
                static var testSelectors: TestSelectors { [
                    "testA": testA, "testB": fixture(testB),
                    // "testC": testC,
                    "testD": fixture { $0.testD() },
                ] }
                static var testSelectorsByType: [TestType: TestSelectors] { ["slow": ["testE": testE]] }
                private static func testA() {}
                func testC() {}
            }
            """)["Stack"]
        expectEqual(type?.entries.map(\.name), ["testA", "testB", "testD", "testE"])
        expectEqual(type?.entries.map(\.function), ["testA", "testB", nil, "testE"])
        expectEqual(type?.declared.map(\.name), ["testA", "testC"])
        expectEqual(type?.lists.map(\.place.line), [2, 7])
        expectEqual(type?.lists.first?.insertion, SourcePlace(path: "/s.swift", line: 2, column: 48))
        expectEqual(type?.declared.first?.place, SourcePlace(path: "/s.swift", line: 8, column: 25))
    }

    private static func testEndsListsWithTheirValues() {
        for value in ["others", "other.actor", "#list", "[\"a\": a] + others"] {
            for next in ["; ", "\n", "\n#if X\n#endif\n", "\n@MainActor "] {
                let scan = scan(
                    "extension S { static let testSelectors: TestSelectors = \(value)\(next)static func testB() {}\n"
                        + "struct T { func testC() {} }; static let testSelectors: TestSelectors = \(value) }\n"
                        + "struct U { func testD() {} }")
                expectEqual(scan["S"]?.declared.map(\.name), ["testB"], "\(value)\(next)")
                expectEqual(scan["S"]?.lists.map(\.names), [[], []], "\(value)\(next)")
                expectEqual(scan["S.T"]?.declared.map(\.name), ["testC"], "\(value)\(next)")
                expectEqual(scan["U"]?.declared.map(\.name), ["testD"], "\(value)\(next)")
            }
        }
    }

    private static func testFindsNestedTypes() {
        let scan = scan(
            """
            struct Outer { enum Inner { class func testInner() {} }
              func f() { if true { struct Local { func testLocal() {} } } }
              func testOuter() {} }
            extension M.Other.Deep where T == Int { func testDeep() {} }
            class A<T>: B { func testGeneric() {} }
            """)
        expectEqual(scan.types.keys.sorted(), ["A", "Local", "Other.Deep", "Outer", "Outer.Inner"])
        expectNotNil(scan["A<Int>"], "found in spite of its arguments")
        expectNotNil(scan["Outer.Inner"])
    }

    private static func testIgnoresFunctionsThatAreNoTests() {
        let scan = scan(
            """
            struct S {
                func test() {}
                func testable() {}
                func testArgument(_ a: Int) {}
                static func testFixture() -> S { S() }
                func helper() { func testNested() {} }
                func test2() {}
            }
            func testGlobal() {}
            """)
        expectEqual(scan["S"]?.declared.filter { !$0.hasParameters }.map(\.name), ["test2"])
        let cases = Self.scan("enum E { case actor\nstruct S { func test2() {} }; case actor\nfunc test3() {} }")
        expectEqual(cases["E.S"]?.declared.map(\.name), ["test2"])
        expectEqual(cases["E"]?.declared.map(\.name), ["test3"])
        let behind = Self.scan("let a = actor\nb < c\nstruct S { func test2() {} }")
        expectEqual(behind["S"]?.declared.map(\.name), ["test2"], "no arguments of a type")
    }

    private static func testFollowsConditionalCompilation() {
        let guards = [
            "DEBUG || IN_CLASS_TESTS", "SELF_TESTS && (DEBUG || IN_CLASS_TESTS)",
            "(DEBUG || IN_CLASS_TESTS) && canImport(InClassTesting)",
        ]
        for condition in guards {
            let declared = scan(
                """
                #if \(condition)
                extension S {
                    func testA() {}
                    #if os(Windows)
                    func testB() {}
                    #else
                    func testC() {}
                    #endif
                    func testD() {}
                }
                #endif
                """)["S"]?.declared
            expectEqual(declared?.map { !$0.conditions.isEmpty }, [false, true, true, false], condition)
        }
    }
}
#endif
