// Parses the tokens of one source into types, their lists and functions, and the `#if` around them.
// `SourceParser+Lists.swift` reads the lists, and `SourceScan` answers questions about the result.

import TestEvents

/// A parser that follows the scopes of one source.
final class SourceParser {
    let file: TokenizedFile
    let path: String
    /// The module of the source, and the modules that it imports.
    private var modules: Set<String>
    private(set) var types: [String: ScannedType] = [:]
    /// The names of the types that other sources can't see.
    private(set) var privateTypes: Set<String> = []
    private var actors: Set<String> = []
    /// The line range of a type or an extension.
    typealias TypeBody = (typeName: String, path: String, lines: ClosedRange<Int>)
    /// The bodies of types. An inner body comes before the body around it.
    private(set) var bodies: [TypeBody] = []
    private var index = 0
    /// The owner of each open brace.
    private var scopes: [Scope] = []
    /// The owner of the next brace.
    private var pending = Scope.code
    /// For each open `#if`: whether its current branch is compiled in every build with tests, and the branch as it is
    /// written.
    private var conditions: [(isOfTests: Bool, text: String, line: Int)] = []
    /// The lines from each `#if` about tests to the `#endif` or `#else` that ends it, both included. Coverage and
    /// mutants leave these lines out.
    private(set) var linesOfTests: [ClosedRange<Int>] = []

    private enum Scope {
        /// A type or extension that begins on a line. Members of a private extension are private by default.
        case type(name: String, line: Int, isPrivateExtension: Bool)
        /// A test function, by its index.
        case test(typeName: String, number: Int)
        case code
    }

    init(_ bytes: [UInt8], path: String, module: String) {
        file = TokenizedFile(unread: bytes)
        self.path = path
        modules = [module, "Swift"]
    }

    /// Finds the lines of a source that are only compiled for tests.
    static func linesOfTests(_ bytes: [UInt8]) -> [ClosedRange<Int>] {
        let parser = SourceParser(bytes, path: "", module: "")
        parser.parse()
        return parser.linesOfTests
    }

    func name(_ index: Int) -> String {
        let name = file.text(index)
        return name.hasPrefix("`") ? name.filter { $0 != "`" } : name
    }

    func place(_ index: Int) -> SourcePlace { file.place(at: file.tokens[index].start, in: path) }

    func parse() {
        while file.has(index) {
            switch file.tokens[index].kind {
            case .word: parseWord()
            case .punctuation: parsePunctuation()
            case .string: index += 1
            }
        }
    }

    private func parsePunctuation() {
        switch file.base[file.tokens[index].start] {
        case UInt8(ascii: "{"):
            scopes.append(pending)
            if case .type = pending {} else if otherConditions.isEmpty { file.skipBody(behind: index) }
            pending = .code
        case UInt8(ascii: "}"):
            switch scopes.popLast() {
            case .type(let name, let line, _):
                bodies.append((name, path, line...max(line, file.line(index))))
            case .test(let typeName, let number): types[typeName]?.declared[number].lastLine = file.line(index)
            case .code, nil: break
            }
            pending = .code
        case UInt8(ascii: "#"): return parseCondition()
        default: break
        }
        index += 1
    }

    private func parseWord() {
        let token = file.tokens[index]
        // PERF: The length alone rules out most words.
        switch token.end - token.start {
        case 4 where file.isWord("enum", index), 5 where file.isWord("actor", index) || file.isWord("class", index),
            6 where file.isWord("struct", index), 8 where file.isWord("protocol", index),
            9 where file.isWord("extension", index):
            return parseType()
        case 4 where file.isWord("func", index): return parseFunction()
        case 3 where file.isWord("var", index) || file.isWord("let", index):
            pending = .code
            if file.isWord("testSelectors", index + 1) || file.isWord("testSelectorsByType", index + 1) {
                return parseList()
            }
        case 6 where file.isWord("import", index):
            // A kind may follow `import`, as in `import struct Module.Type`.
            modules.insert(name(file.isMark(".", index + 3) ? index + 2 : index + 1))
        default:
            if file.base[token.start] == UInt8(ascii: "t") { noteConditionalName() }
        }
        index += 1
    }

    /// Records a test that is named under a condition, for example in a part of a list.
    private func noteConditionalName() {
        let conditions = otherConditions
        guard !conditions.isEmpty, Self.isTestName(name(index)) else { return }
        for case .type(let typeName, _, _) in scopes.reversed() {
            types[typeName, default: ScannedType()].conditionalNames.append((name(index), conditions))
            return
        }
    }

    /// The conditions of the `#if` around the current token, except those about tests.
    var otherConditions: [String] { conditions.isEmpty ? [] : conditions.filter { !$0.isOfTests }.map(\.text) }

    /// The conditions of the `#if` around the current token, except those that are true in every build with tests.
    var allConditions: [String] { conditions.map(\.text).filter { !Self.alwaysTrue.contains($0) } }

    private static let alwaysTrue: Set = [
        "if DEBUG | | IN_CLASS_TESTS ", "if IN_CLASS_TESTS | | DEBUG ", "if ( DEBUG | | IN_CLASS_TESTS ) ", "if true ",
    ]

    /// The name of the type whose body contains the current token.
    private var typeName: String? {
        if case .type(let name, _, _)? = scopes.last { name } else { nil }
    }

    private func parseType() {
        let start = index
        index += 1
        if file.isWord("class", start), TokenizedFile.modifierNames.contains(file.mark(index)) { return }
        // A case of this name.
        if file.isWord("actor", start), TokenizedFile.declarationNames.contains(file.mark(index)) { return }
        let isExtension = file.isWord("extension", start)
        let isBracket = file.isMark("[", index) || file.isMark("(", index)
        guard file.has(index), file.tokens[index].kind == .word || isExtension && isBracket else { return }
        let isPrivate = !file.modifiers(before: start).isDisjoint(with: ["private", "fileprivate"])
        var name = parseTypeName()
        if let dot = name.firstIndex(of: "."), modules.contains(String(name[..<dot])) {
            name = String(name[name.index(after: dot)...])
        }
        var isHidden = isPrivate
        if case .type(let outer, _, let isPrivateExtension)? = scopes.last {
            name = "\(outer).\(name)"
            isHidden = isPrivate || isPrivateExtension
        }
        pending = .type(name: name, line: file.line(start), isPrivateExtension: isExtension && isPrivate)
        if !isExtension, isHidden { privateTypes.insert(name) }
        if file.isWord("actor", start) { actors.insert(name) }
        if file.isWord("protocol", start) { types[name, default: ScannedType()].isProtocol = true }
        let parents = parents(behind: index)
        if parents.isEmpty { return }
        types[name, default: ScannedType()].parents += parents.map {
            ($0, isExtension, allConditions)
        }
    }

    /// Returns the names after the colon before a body, each without its outer types and module.
    private func parents(behind start: Int) -> [String] {
        guard file.isMark(":", start) else { return [] }
        var position = start
        var names: [String] = []
        while file.has(position), !file.isMark("{", position), !file.isWord("where", position) {
            if file.tokens[position].kind == .word, !file.isMark(".", position + 1), !names.contains(name(position)) {
                names.append(name(position))
            }
            position += 1
        }
        return names
    }

    /// Reads a type and names it as workers do, without its generic arguments. A type that workers can't name gets a
    /// name that no other type has.
    private func parseTypeName() -> String {
        var name = ""
        while file.has(index) {
            if let end = endOfArguments(index) {
                index = end
            } else if name.isEmpty, file.opensBracket(index), let end = file.end(ofBracket: index) {
                let isArray = file.isMark("[", index)
                name = !isArray ? "(" : colon(in: index + 1..<end) == nil ? "Array" : "Dictionary"
                if isArray, file.isWord("of", index + 2) { name = "InlineArray" }
                index = end
            } else if file.isMark("?", index) {
                name = "Optional"
            } else if file.isMark(".", index), !name.isEmpty {
                name += "."
            } else if file.tokens[index].kind == .word, name.isEmpty || name.hasSuffix(".") {
                name += self.name(index)
            } else {
                break
            }
            index += 1
        }
        return name
    }

    /// Returns the end of the `<…>` that begins here. Braces end the search.
    private func endOfArguments(_ start: Int) -> Int? {
        guard file.isMark("<", start) else { return nil }
        var (position, depth) = (start, 0)
        while file.has(position), !file.isMark("{", position) {
            if file.isMark("<", position) { depth += 1 }
            // Ignore the `>` of an arrow.
            if file.isMark(">", position), !file.isMark("-", position - 1) { depth -= 1 }
            if depth == 0 { return position }
            position += 1
        }
        return nil
    }

    private func parseFunction() {
        let (start, nameIndex) = (index, index + 1)
        index += 2
        pending = .code
        guard let typeName, file.has(nameIndex), Self.isTestName(name(nameIndex)), file.isMark("(", nameIndex + 1),
            let end = file.end(ofBracket: nameIndex + 1)
        else { return }
        index = end + 1
        var effects: Set<String> = []
        // If the function has no body, the next declaration follows.
        while file.has(index), file.tokens[index].kind == .word || file.isMark("(", index),
            !TokenizedFile.modifierNames.contains(file.mark(index))
        {
            effects.insert(file.mark(index))
            index = file.next(index)
        }
        // Tests return no value, so this function isn't a test.
        if file.isMark("-", index), file.isMark(">", index + 1) { return }
        var test = DeclaredTest(
            name: name(nameIndex), place: place(nameIndex), lastLine: file.line(nameIndex),
            conditions: otherConditions)
        if end == nameIndex + 2 {
            test.entry = entry(
                for: test.name, file.modifiers(before: start), effects, isOfActor: actors.contains(typeName))
        }
        pending = .test(typeName: typeName, number: types[typeName]?.declared.count ?? 0)
        types[typeName, default: ScannedType()].declared.append(test)
    }

    /// Returns the list entry for a test function.
    private func entry(
        for name: String, _ modifiers: Set<String>, _ effects: Set<String>, isOfActor: Bool
    ) -> String {
        let word = name.utf8.allSatisfy(TokenizedFile.isWord) ? name : "`\(name)`"
        let key = "\"\(name.replacing("\"", with: "\\\""))\""
        if !modifiers.isDisjoint(with: ["static", "class"]) { return "\(key): \(word)" }
        if !isOfActor, modifiers.isDisjoint(with: ["mutating", "borrowing", "consuming"]) {
            return "\(key): fixture(\(word))"
        }
        let marks =
            (effects.contains("throws") ? "try " : "") + (isOfActor || effects.contains("async") ? "await " : "")
        return "\(key): fixture { \(marks)$0.\(word)() }"
    }

    /// Returns whether a name is `test` and then not a lowercase letter. `testFixture`, which creates a fixture, isn't
    /// a test.
    static func isTestName(_ name: String) -> Bool {
        guard name.hasPrefix("test"), name != "testFixture", let next = name.unicodeScalars.dropFirst(4).first else {
            return false
        }
        return !next.properties.isLowercase
    }

    private func parseList() {
        let (list, end) = list(namedAt: index + 1)
        index = end
        if let typeName { types[typeName, default: ScannedType()].lists.append(list) }
    }

    private func parseCondition() {
        let line = file.line(index)
        let word = index + 1
        index += 1
        var (position, text, isOfTests) = (word, "", false)
        while file.has(position), file.line(position) == line {
            let part = name(position)
            isOfTests =
                isOfTests || file.tokens[position].kind == .word && (part == "DEBUG" || part.hasSuffix("_TESTS"))
            text += part + " "
            position += 1
        }
        let isEnd = file.isWord("endif", word)
        if file.isWord("if", word) {
            conditions.append((isOfTests && !text.contains("!"), text, line))
        } else if isEnd || file.isWord("elseif", word) || file.isWord("else", word) {
            let ended = conditions.popLast()
            if let ended, ended.isOfTests { linesOfTests.append(ended.line...line) }
            if !isEnd { conditions.append((false, (ended?.text ?? "") + text, line)) }
        }
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
        ]
    }

    private static func scan(_ text: String) -> SourceScan { SourceScan(text: text, path: "/s.swift", module: "M") }

    private static func testFindsLinesOfTests() {
        func lines(_ source: String) -> [ClosedRange<Int>] { linesOfTests(Array(source.utf8)) }
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
        expectEqual(scan["S"]?.declared.filter { $0.entry != nil }.map(\.name), ["test2"])
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
