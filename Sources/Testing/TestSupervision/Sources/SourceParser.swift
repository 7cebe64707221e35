// Reads the tokens of one source: which type each brace belongs to, and so whose lists and tests are in it. What is
// asked of the result is SourceScan's business.

internal import InClassSystem
import TestEvents

/// Follows the scopes of one source.
final class SourceParser: TokenReading {
    let source: UnsafeRawBufferPointer
    let path: String
    /// The source's own module, and those that it imports.
    private var modules: Set<String>
    private(set) var types: [String: ScannedType] = [:]
    /// The names of the types that other sources can't see.
    private(set) var privateTypes: Set<String> = []
    /// The bodies of types, each before what it lies in.
    private(set) var bodies: [TypeBody] = []

    let tokens: [SwiftToken]
    private var index = 0
    /// For each open brace the type that it belongs to, or nil for the braces of anything else.
    private var scopes: [Scope?] = []
    /// A type that was named and whose brace has not opened yet.
    private var pendingType: Scope?
    /// For each open `#if`: whether its present branch is compiled whenever tests are, and the branch as it is written.
    private var conditions: [(isOfTests: Bool, text: String, line: Int)] = []
    /// The lines from each `#if` about tests to the `#endif` or `#else` that ends it, both included: neither their coverage
    /// nor changes of them say anything of the code.
    private(set) var linesOfTests: [ClosedRange<Int>] = []
    /// The brackets of the dictionary literals that the present list is made of.
    var literals: [Int] = []
    /// Modifiers in front of the present declaration.
    private var isStatic = false
    private var isMutating = false
    private var isOverride = false
    private var isPrivate = false

    private struct Scope {
        var typeName: String
        /// The line of the declaration.
        var line: Int
        /// An extension whose members are private unless they say otherwise.
        var isPrivateExtension: Bool
    }

    init(source: UnsafeRawBufferPointer, path: String, module: String) {
        self.source = source
        self.path = path
        modules = [module, "Swift"]
        tokens = SwiftLexer.split(source)
    }

    func byte(at offset: Int) -> UInt8 { source[offset] }

    func isWord(_ word: StaticString, at position: Int) -> Bool {
        guard position < tokens.count else { return false }
        let token = tokens[position]
        guard token.kind == .word, token.end - token.start == word.utf8CodeUnitCount else { return false }
        guard let base = source.baseAddress else { return false }
        return memcmp(base + token.start, word.utf8Start, word.utf8CodeUnitCount) == 0
    }

    func isPunctuation(_ character: Unicode.Scalar, at position: Int) -> Bool {
        guard position < tokens.count, tokens[position].kind == .punctuation else { return false }
        return source[tokens[position].start] == UInt8(ascii: character)
    }

    func text(at position: Int) -> String {
        guard position < tokens.count else { return "" }
        let token = tokens[position]
        let name = String(decoding: source[token.start..<token.end], as: UTF8.self)
        return name.hasPrefix("`") ? name.filter { $0 != "`" } : name
    }

    func place(at position: Int) -> SourcePlace {
        SourcePlace(path: path, line: tokens[position].line, column: tokens[position].column)
    }

    /// Finds the lines of a source that are there for tests only.
    static func linesOfTests(_ source: UnsafeRawBufferPointer) -> [ClosedRange<Int>] {
        let parser = SourceParser(source: source, path: "", module: "")
        parser.parse()
        return parser.linesOfTests
    }

    func parse() {
        while index < tokens.count {
            let token = tokens[index]
            if token.kind == .word {
                parseWord(token)
            } else if token.kind == .punctuation {
                parsePunctuation(source[token.start])
            } else {
                index += 1
            }
        }
    }

    private func parsePunctuation(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "{"):
            scopes.append(pendingType)
            pendingType = nil
            resetModifiers()
        case UInt8(ascii: "}"):
            if let scope = scopes.popLast().flatMap(\.self) {
                let lines = scope.line...max(scope.line, tokens[index].line)
                bodies.append(TypeBody(typeName: scope.typeName, path: path, lines: lines))
            }
        case UInt8(ascii: "#"):
            return parseCondition()
        default: break
        }
        index += 1
    }

    private func parseWord(_ token: SwiftToken) {
        // Most words are told by their length alone.
        switch token.end - token.start {
        case 4 where isWord("enum", at: index), 5 where isWord("actor", at: index) || isWord("class", at: index),
            6 where isWord("struct", at: index), 8 where isWord("protocol", at: index),
            9 where isWord("extension", at: index):
            return parseType()
        case 4 where isWord("func", at: index):
            return parseFunction()
        case 3 where isWord("var", at: index) || isWord("let", at: index):
            if isWord("testSelectors", at: index + 1) || isWord("testSelectorsByType", at: index + 1) {
                return parseList()
            }
            resetModifiers()
        case 6 where isWord("static", at: index): isStatic = true
        case 6 where isWord("import", at: index):
            // Behind it may be the kind of what is imported of one.
            modules.insert(text(at: isPunctuation(".", at: index + 3) ? index + 2 : index + 1))
        case 7 where isWord("private", at: index), 11 where isWord("fileprivate", at: index): isPrivate = true
        case 8 where isWord("mutating", at: index),
            9 where isWord("borrowing", at: index) || isWord("consuming", at: index):
            isMutating = true
        case 8 where isWord("override", at: index): isOverride = true
        case 9 where isWord("typealias", at: index): resetModifiers()
        default:
            if source[token.start] == UInt8(ascii: "t") { noteConditionalName() }
        }
        index += 1
    }

    /// Notes a test that is named under a condition, maybe in a part of a list.
    private func noteConditionalName() {
        guard !otherConditions.isEmpty, !isWord("func", at: index - 1), Self.isTestName(text(at: index)),
            let typeName = scopes.last(where: { $0 != nil })??.typeName
        else { return }
        types[typeName, default: ScannedType()].conditionalNames[text(at: index), default: []].insert(otherConditions)
    }

    /// The `#if` around the present token that are not about tests.
    private var otherConditions: [String] { conditions.filter { !$0.isOfTests }.map(\.text) }

    private func resetModifiers() {
        isStatic = false
        isMutating = false
        isOverride = false
        isPrivate = false
    }

    private static let wordsBehindClass: [StaticString] = [
        "func", "var", "override", "final", "public", "package", "internal", "fileprivate", "private", "open",
    ]

    private func parseType() {
        let isClassModifier =
            isWord("class", at: index) && Self.wordsBehindClass.contains { isWord($0, at: index + 1) }
        if isClassModifier { isStatic = true }
        let line = tokens[index].line
        let isExtension = isWord("extension", at: index)
        let isProtocol = isWord("protocol", at: index)
        let isActor = isWord("actor", at: index)
        index += 1
        let isBracket = isPunctuation("[", at: index) || isPunctuation("(", at: index)
        guard !isClassModifier, index < tokens.count, tokens[index].kind == .word || isExtension && isBracket else {
            return
        }
        let isPrivate = isPrivate
        resetModifiers()
        var name = parseTypeName()
        if let dot = name.firstIndex(of: "."), modules.contains(String(name[..<dot])) {
            name = String(name[name.index(after: dot)...])
        }
        let typeName = scopes.last.flatMap(\.self).map { "\($0.typeName).\(name)" } ?? name
        pendingType = Scope(typeName: typeName, line: line, isPrivateExtension: isExtension && isPrivate)
        if !isExtension, isPrivate || scopes.last.flatMap(\.self)?.isPrivateExtension ?? false {
            privateTypes.insert(typeName)
        }
        let parents = parents(behind: index)
        if isProtocol { types[typeName, default: ScannedType()].isProtocol = true }
        if isActor { types[typeName, default: ScannedType()].isActor = true }
        if parents.isEmpty { return }
        let property = isExtension ? \ScannedType.addedParents : \.declaredParents
        types[typeName, default: ScannedType()][keyPath: property].formUnion(parents)
        for parent in parents {
            types[typeName, default: ScannedType()].conditionsOfParents[parent] = conditions.map(\.text)
        }
    }

    /// Reads a type, and names it as workers do but for the arguments; what has no such name is called what no type is.
    private func parseTypeName() -> String {
        var name = text(at: index)
        if let end = end(ofBracket: index), end > index {
            if isPunctuation("[", at: index) {
                name = colons(ofLiteral: index).isEmpty ? "Array" : "Dictionary"
                if isWord("of", at: index + 2) { name = "InlineArray" }
            }
            index = end
        }
        index += 1
        while index < tokens.count {
            if let end = endOfArguments(index) {
                index = end + 1
            } else if isPunctuation("?", at: index) {
                name = "Optional"
                index += 1
            } else if isPunctuation(".", at: index), index + 1 < tokens.count, tokens[index + 1].kind == .word {
                name += "." + text(at: index + 1)
                index += 2
            } else {
                break
            }
        }
        return name
    }

    private func parseFunction() {
        defer { resetModifiers() }
        index += 1
        guard let typeName = scopes.last.flatMap(\.self)?.typeName, index < tokens.count else { return }
        let name = text(at: index)
        guard Self.isTestName(name), isPunctuation("(", at: index + 1) else { return }
        // What returns a value is no test.
        let signature = (index + 3..<index + 12).prefix { !isPunctuation("{", at: $0) }
        if signature.contains(where: { isPunctuation("-", at: $0) && isPunctuation(">", at: $0 + 1) }) { return }
        guard isPunctuation(")", at: index + 2) else {
            types[typeName, default: ScannedType()].declaredForRows.append(
                DeclaredTest(
                    name: name, place: place(at: index), lastLine: lastLine(ofFunction: index), entry: "",
                    conditions: []))
            return
        }
        let isActor = types[typeName]?.isActor ?? false
        let isThrowing = signature.contains { isWord("throws", at: $0) }
        let isAsynchronous = isActor || signature.contains { isWord("async", at: $0) }
        let marks = (isThrowing ? "try " : "") + (isAsynchronous ? "await " : "")
        let word = name.utf8.allSatisfy(SwiftLexer.isWord) ? name : "`\(name)`"
        let entry = isStatic ? word : isMutating || isActor ? "fixture { \(marks)$0.\(word)() }" : "fixture(\(word))"
        types[typeName, default: ScannedType()].declared.append(
            DeclaredTest(
                name: name, place: place(at: index), lastLine: lastLine(ofFunction: index),
                entry: "\"\(name.replacing("\"", with: "\\\""))\": \(entry)", conditions: otherConditions))
    }

    /// `test` and then anything but a small letter; and not what makes a fixture.
    private static func isTestName(_ name: String) -> Bool {
        guard name.hasPrefix("test"), name != "testFixture", let next = name.unicodeScalars.dropFirst(4).first else {
            return false
        }
        return !next.properties.isLowercase
    }

    /// Reads a list from its name to the bracket or brace that ends it.
    private func parseList() {
        let typeName = scopes.last.flatMap(\.self)?.typeName
        let isOverride = isOverride
        resetModifiers()
        let nameIndex = index + 1
        index += 2
        // The type annotation has no brace and no equals sign.
        while index < tokens.count, !isPunctuation("{", at: index), !isPunctuation("=", at: index) { index += 1 }
        let bracket = (index..<max(index, tokens.count)).first { change(at: $0) > 0 }
        let end = bracket.flatMap { self.end(ofBracket: $0) } ?? tokens.count
        defer { index = end + 1 }
        guard let typeName, nameIndex < tokens.count else { return }
        var type = types[typeName] ?? ScannedType()
        type.lists.append(place(at: nameIndex))
        if (nameIndex..<index).contains(where: { isWord("TestSelectors", at: $0) }) {
            let isOfUnitTests = isWord("testSelectors", at: nameIndex)
            literals = []
            let entries = isOfUnitTests ? entries(ofList: index) : entries(ofLists: index)
            type.written.append(
                WrittenList(
                    place: place(at: nameIndex), conditions: conditions.map(\.text), isOverride: isOverride,
                    entries: entries, isOfUnitTests: isOfUnitTests))
            // Only in a list of literals is it known that an entry goes into one of them.
            if entries == nil || !isOfUnitTests { literals = [] }
        }
        if type.insertion == nil, isWord("testSelectors", at: nameIndex),
            let bracket = literals.first(where: { !isPunctuation(":", at: $0 + 1) }) ?? literals.first
        {
            type.insertion = SourcePlace(path: path, line: tokens[bracket].line, column: tokens[bracket].column + 1)
            type.isInsertionEmptyList = isPunctuation(":", at: bracket + 1)
        }
        // Of an `#if` within the list nobody knows.
        var innerCount = 0
        for position in index..<min(end, tokens.count) {
            switch tokens[position].kind {
            case .punctuation where isPunctuation("#", at: position):
                innerCount += isWord("if", at: position + 1) ? 1 : isWord("endif", at: position + 1) ? -1 : 0
            case .word:
                type.listedWords.insert(text(at: position))
                let hasDot = isPunctuation(".", at: position - 1) && !isWord("Self", at: position - 2)
                if isWord("each", at: position), let table = table(at: position - (hasDot ? 1 : 0)) {
                    type.listed.append(table.entry)
                }
            case .string where isPunctuation(":", at: position + 1) && !isPunctuation("[", at: position + 2):
                type.listed.append(
                    ListedTest(
                        name: text(at: position), function: listedFunction(behind: position + 2),
                        place: place(at: position), lastLine: lastLine(ofEntry: position),
                        conditions: otherConditions + Array(repeating: "", count: max(0, innerCount))))
            default: break
            }
        }
        types[typeName] = type
    }

    /// The function of an entry `testA` or `fixture(testA)`.
    func listedFunction(behind position: Int) -> String? {
        let isFixture = isWord("fixture", at: position) && isPunctuation("(", at: position + 1)
        let name = position + (isFixture ? 2 : 0)
        guard name < tokens.count, tokens[name].kind == .word, Self.isTestName(text(at: name)),
            isPunctuation(isFixture ? ")" : ",", at: name + 1) || isPunctuation("]", at: name + 1)
        else { return nil }
        return text(at: name)
    }

    private func parseCondition() {
        let line = tokens[index].line
        let word = index + 1
        index += 1
        var position = word
        var text = ""
        while position < tokens.count, tokens[position].line == line {
            text += self.text(at: position) + " "
            position += 1
        }
        func isAboutTests() -> Bool {
            let words = (word..<position).filter { tokens[$0].kind == .word }.map { self.text(at: $0) }
            return !text.contains("!") && words.contains { $0 == "DEBUG" || $0.hasSuffix("_TESTS") }
        }
        let isEnd = isWord("endif", at: word)
        if isWord("if", at: word) {
            conditions.append((isAboutTests(), text, line))
        } else if isEnd || isWord("elseif", at: word) || isWord("else", at: word) {
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
            "testFollowsNesting": testFollowsNesting,
            "testLeavesOutWhatIsNoTest": testLeavesOutWhatIsNoTest,
            "testKnowsConditionalCompilation": testKnowsConditionalCompilation,
            "testFindsWhatIsForTests": testFindsWhatIsForTests,
        ]
    }

    private static func scan(_ text: String) -> SourceScan { SourceScan(text: text, path: "/s.swift", module: "M") }

    private static func testFindsWhatIsForTests() {
        func lines(_ source: String) -> [ClosedRange<Int>] { Array(source.utf8).withUnsafeBytes(linesOfTests) }
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
        expectEqual(type?.listed.map(\.name), ["testA", "testB", "testD", "testE"])
        expectEqual(type?.listed.map(\.function), ["testA", "testB", nil, "testE"])
        expectEqual(type?.declared.map(\.name), ["testA", "testC"])
        expectEqual(type?.lists.map(\.line), [2, 7])
        expectEqual(type?.insertion, SourcePlace(path: "/s.swift", line: 2, column: 48))
        expectEqual(type?.declared.first?.place, SourcePlace(path: "/s.swift", line: 8, column: 25))
    }

    private static func testFollowsNesting() {
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

    private static func testLeavesOutWhatIsNoTest() {
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
        expectEqual(scan["S"]?.declared.map(\.name), ["test2"])
        let behind = Self.scan("let a = actor\nb < c\nstruct S { func test2() {} }")
        expectEqual(behind["S"]?.declared.map(\.name), ["test2"], "no arguments of a type")
    }

    private static func testKnowsConditionalCompilation() {
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
