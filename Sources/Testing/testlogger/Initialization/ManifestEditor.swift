// Edits the literals of a manifest, such as arguments of calls and elements of arrays, in the style of the existing
// items. All other bytes of the file stay unchanged.

import TestEvents
import TestSupervision

struct ManifestEditor {
    /// The arguments of a call or the elements of an array, as ranges of tokens.
    struct List {
        /// The opening bracket.
        var start: Int
        /// The closing bracket.
        var end: Int
        var items: [Range<Int>] = []
    }

    let path: String
    private var file: TokenizedFile
    /// The manifest with all edits so far.
    var bytes: [UInt8] { file.source.bytes }
    private var tokens: [SwiftToken] { file.tokens }

    init(_ bytes: [UInt8], path: String) {
        file = TokenizedFile(bytes)
        self.path = path
    }

    private mutating func replace(_ range: Range<Int>, with text: String) {
        let newline = bytes.contains(0x0D) ? "\r\n" : "\n"
        var edited = bytes
        edited.replaceSubrange(range, with: text.replacing("\n", with: newline).utf8)
        file = TokenizedFile(edited)
    }

    func error(_ message: String, at token: Int? = nil) -> LocatedError {
        LocatedError(at: file.source.place(at: token.map { tokens[$0].start } ?? 0, in: path), message)
    }

    // MARK: Finding

    func text(_ token: Int) -> String { file.text(token) }

    /// Returns the source text from the first to the last of these tokens.
    func text(_ range: Range<Int>) -> String {
        file.source.text(tokens[range.lowerBound].start..<tokens[range.upperBound - 1].end)
    }

    private func isString(_ token: Int) -> Bool { tokens.indices.contains(token) && tokens[token].kind == .string }

    /// Reads the list after an opening bracket.
    func list(at start: Int) -> List? {
        file.end(ofBracket: start).map { List(start: start, end: $0, items: file.items(ofBracket: start)) }
    }

    /// Returns the value of an argument.
    func value(_ label: String, in list: List) -> Range<Int>? {
        let item = list.items.first { $0.count > 2 && text($0.lowerBound) == label && text($0.lowerBound + 1) == ":" }
        return item.map { $0.lowerBound + 2..<$0.upperBound }
    }

    /// Returns the value of an argument if it is a literal array.
    func array(_ label: String, in list: List) -> List? {
        guard let value = value(label, in: list), text(value.lowerBound) == "[",
            let array = self.list(at: value.lowerBound), array.end == value.upperBound - 1
        else { return nil }
        return array
    }

    /// Returns the indices of tokens where this sequence of words begins.
    func places(of words: [String]) -> [Int] {
        tokens.indices.filter { index in
            words.indices.allSatisfy { file.mark(index + $0) == words[$0] }
        }
    }

    /// Finds the call `let package = Package(…)`, and the name of its variable.
    func package() throws(LocatedError) -> (name: String, arguments: List) {
        for index in places(of: ["=", "Package", "("]) {
            let name = index - (text(index - 2) == ":" ? 3 : 1)
            guard ["let", "var"].contains(text(name - 1)), let arguments = list(at: index + 2) else { continue }
            return (text(name), arguments)
        }
        throw error("there is no 'let package = Package(…)'")
    }

    /// Finds the call that declares a target.
    func target(_ name: String) throws(LocatedError) -> List {
        var found: [List] = []
        for kind in ["target", "executableTarget"] {
            for index in places(of: [".", kind, "("]) where !isDependency(index) {
                guard let call = list(at: index + 2), let value = value("name", in: call), value.count == 1,
                    isString(value.lowerBound), text(value.lowerBound) == name
                else { continue }
                found.append(call)
            }
        }
        if found.count == 1 { return found[0] }
        let targets = (try? package()).flatMap { value("targets", in: $0.arguments) }
        let isMention = { isString($0) && text($0) == name }
        let mention = targets?.first(where: isMention) ?? tokens.indices.first(where: isMention)
        throw found.count > 1
            ? error("target '\(name)' is declared more than once", at: found[1].start)
            : error("target '\(name)' isn't declared by a literal '.target(name: \"\(name)\", …)'", at: mention)
    }

    /// Returns whether `.target(` is an element of `dependencies: […]`.
    private func isDependency(_ index: Int) -> Bool {
        guard let bracket = file.bracket(around: index) else { return false }
        return text(bracket) == "[" && text(bracket - 1) == ":" && text(bracket - 2) == "dependencies"
    }

    // MARK: Editing

    private static let packageOrder = [
        "name", "defaultLocalization", "platforms", "pkgConfig", "providers", "products", "traits", "dependencies",
        "targets", "swiftLanguageModes", "swiftLanguageVersions", "cLanguageStandard", "cxxLanguageStandard",
    ]
    private static let targetOrder = [
        "name", "dependencies", "path", "exclude", "sources", "resources", "publicHeadersPath", "packageAccess",
        "cSettings", "cxxSettings", "swiftSettings", "linkerSettings", "plugins",
    ]

    /// Adds an element to an array argument of a target or of the package. If the argument is missing, adds it, too.
    mutating func add(_ element: String, to label: String, of target: String?) throws(LocatedError) {
        let call = if let target { try self.target(target) } else { try package().arguments }
        if let array = array(label, in: call) { return append(element, to: array) }
        let value = value(label, in: call)
        // A package without this argument sets its targets elsewhere.
        if value != nil || label == "targets" {
            let owner = target.map { "target '\($0)'" } ?? "the package"
            throw error("'\(label):' of \(owner) isn't a literal array", at: value?.lowerBound ?? call.start)
        }
        insert("\(label): [\(element)]", in: target == nil ? Self.packageOrder : Self.targetOrder, into: call)
    }

    private mutating func insert(_ argument: String, in order: [String], into call: List) {
        let label = argument.prefix { $0 != ":" }
        let later = order.drop { $0 != label }
        let index = call.items.firstIndex { later.contains(text($0.lowerBound)) } ?? call.items.count
        insert(argument, at: index, into: call)
    }

    mutating func append(_ element: String, to list: List) { insert(element, at: list.items.count, into: list) }

    /// Appends lines to the file.
    mutating func append(lines: String) {
        let isClosed = bytes.isEmpty || bytes.last == 0x0A
        replace(bytes.count..<bytes.count, with: (isClosed ? "" : "\n") + lines)
    }

    private mutating func insert(_ text: String, at index: Int, into list: List) {
        guard index > 0 else {
            let inside = tokens[list.start].end..<tokens[list.end].start
            let isBlank = bytes[inside].allSatisfy { $0 <= 0x20 }
            return replace(isBlank ? inside : inside.lowerBound..<inside.lowerBound, with: Self.inOneLine(text))
        }
        let previous = list.items[index - 1]
        let end = tokens[previous.upperBound - 1].end
        guard file.line(previous.lowerBound) > file.line(list.start) else {
            return replace(end..<end, with: ", \(Self.inOneLine(text))")
        }
        let lineStart = startOfLine(tokens[previous.lowerBound].start)
        let indentation = String(
            decoding: bytes[lineStart...].prefix { $0 == 0x20 || $0 == 0x09 }, as: UTF8.self)
        let line = "\n\(text)".replacing("\n", with: "\n\(indentation)")
        let hasComma = self.text(previous.upperBound) == ","
        // A comment after the previous item stays there.
        let position = endOfLine(hasComma ? tokens[previous.upperBound].end : end)
        guard let position else { return replace(end..<end, with: ",\(line)") }
        replace(position..<position, with: hasComma ? "\(line)," : line)
        if !hasComma { replace(end..<end, with: ",") }
    }

    private static func inOneLine(_ text: String) -> String {
        text.replacing("(\n    ", with: "(").replacing("\n    ", with: " ")
    }

    mutating func replaceItem(_ item: Range<Int>, with text: String) {
        replace(tokens[item.lowerBound].start..<tokens[item.upperBound - 1].end, with: text)
    }

    /// Removes an item and the comma that separates it. If the item has its own line, removes the line.
    mutating func remove(_ index: Int, from list: List) {
        let item = list.items[index]
        var (start, end) = (tokens[item.lowerBound].start, tokens[item.upperBound - 1].end)
        if text(item.upperBound) == "," {
            end = tokens[item.upperBound].end
        } else if index > 0, endOfLine(tokens[item.lowerBound - 1].end, withComment: false) != nil {
            start = tokens[item.lowerBound - 1].start
        }
        let lineStart = startOfLine(start)
        if bytes[lineStart..<start].allSatisfy({ $0 <= 0x20 }), let lineEnd = endOfLine(end) {
            start = lineStart
            end = bytes[lineEnd...].firstIndex(of: 0x0A).map { $0 + 1 } ?? lineEnd
        } else if bytes[end] == 0x20 {
            end += 1
        }
        replace(start..<end, with: "")
    }

    private func startOfLine(_ offset: Int) -> Int { bytes[..<offset].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0 }

    /// Returns the end of the line, or nil if the rest of the line contains more than a comment.
    private func endOfLine(_ offset: Int, withComment isComment: Bool = true) -> Int? {
        let end = bytes[offset...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
        let rest = bytes[offset..<end].drop { $0 <= 0x20 }
        return rest.isEmpty || isComment && rest.starts(with: Array("//".utf8)) ? end : nil
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension ManifestEditor: SelfTesting {
    static var testSelectors: TestSelectors {
        let tests: TestSelectors = [
            "testFindsThePackage": testFindsThePackage, "testKeepsLineEndings": testKeepsLineEndings,
        ]
        return tests + .each("testAddsAnArgument", argumentRows) { expectEqual(try adding(to: $0), $1) }
            + .each("testAddsAnElement", elementRows) { old, new in
                func target(_ list: String) -> String { "  .target(name: \"A\", dependencies: \(list), path: \"p\")" }
                expectEqual(try adding(to: target(old)), target(new))
            }
            + .each("testRefusesListsWithoutLiterals", refused) { text, message in
                var editor = editor(text)
                let error = expectThrows(LocatedError.self) { try editor.add("x", to: "dependencies", of: "A") }
                expectEqual(error.map { "\($0.place.line):\($0.place.column): \($0.message)" }, message)
                expectEqual(editor.edited, text)
            }
            + .each("testRemovesItems", removals, named: { "\($0.1) of \($0.0)" }) { text, index, expected in
                var editor = editor(text)
                editor.remove(index, from: try requireNotNil(editor.list(at: 0)))
                expectEqual(editor.edited, expected)
            }
    }

    private static func editor(_ text: String) -> ManifestEditor { ManifestEditor(Array(text.utf8), path: "/p") }

    private var edited: String { String(decoding: bytes, as: UTF8.self) }

    private static func adding(to text: String) throws -> String {
        var editor = editor(text)
        try editor.add("x", to: "dependencies", of: "A")
        return editor.edited
    }

    private static let argumentRows = [
        (".target(name: \"A\")", ".target(name: \"A\", dependencies: [x])"),
        (".target(name: \"A\", path: \"p\")", ".target(name: \"A\", dependencies: [x], path: \"p\")"),
        (".executableTarget(\n  name: \"A\"\n)", ".executableTarget(\n  name: \"A\",\n  dependencies: [x]\n)"),
        (".target(\n  name: \"A\")", ".target(\n  name: \"A\",\n  dependencies: [x])"),
        (
            ".target(\n  name: \"A\", // [\n  path: \"p\"\n)",
            ".target(\n  name: \"A\", // [\n  dependencies: [x],\n  path: \"p\"\n)"
        ),
        (".target(\n  name: \"A\", // (\n)", ".target(\n  name: \"A\", // (\n  dependencies: [x],\n)"),
        (".target(\n  name: \"A\" // (\n)", ".target(\n  name: \"A\", // (\n  dependencies: [x]\n)"),
        (
            ".target(\n  name: \"A\", path: \"p\"\n)",
            ".target(\n  name: \"A\",\n  dependencies: [x], path: \"p\"\n)"
        ),
        (
            "[.target(name: \"B\", dependencies: [.target(name: \"A\")]), .target(name: \"A\")]",
            "[.target(name: \"B\", dependencies: [.target(name: \"A\")]), .target(name: \"A\", dependencies: [x])]"
        ),
    ]

    private static let elementRows = [
        ("[]", "[x]"), ("[ ]", "[x]"), ("[/* a */]", "[x/* a */]"), ("[a]", "[a, x]"), ("[a, ]", "[a, x, ]"),
        ("[\n    a\n  ]", "[\n    a,\n    x\n  ]"), ("[\n    a,\n  ]", "[\n    a,\n    x,\n  ]"),
        ("[\n\ta,  // ]\n\tb,  // b\n]", "[\n\ta,  // ]\n\tb,  // b\n\tx,\n]"),
        ("[\n    a]", "[\n    a,\n    x]"), ("[\n    a, b,\n  ]", "[\n    a, b,\n    x,\n  ]"),
        ("[\n    \"a]\", f([1], { $0 })\n  ]", "[\n    \"a]\", f([1], { $0 }),\n    x\n  ]"),
        ("[a(\n    b)]", "[a(\n    b), x]"), ("[\n    #\"a\"#\n]", "[\n    #\"a\"#,\n    x\n]"),
        ("[\n    a, /* b\n    */]", "[\n    a,\n    x, /* b\n    */]"),
    ]

    private static let undeclared = "target 'A' isn't declared by a literal '.target(name: \"A\", …)'"
    private static let refused = [
        ("let names = [\n  \"A\"]\nnames.map { .target(name: $0) }", "2:3: \(undeclared)"), ("", "1:1: \(undeclared)"),
        (".target(name: \"A\", dependencies: base + [a])", "1:34: 'dependencies:' of target 'A' isn't a literal array"),
        (
            "#if os(Linux)\n.target(name: \"A\")\n#else\n.target(name: \"A\")\n#endif",
            "4:8: target 'A' is declared more than once"
        ),
    ]

    private static let removals = [
        ("(a, b, c)", 1, "(a, c)"), ("(a, b)", 1, "(a, )"), ("(a)", 0, "()"),
        ("(\n  a,\n  b,\n  c\n)", 1, "(\n  a,\n  c\n)"), ("(\n  a,\n  b\n)", 1, "(\n  a\n)"),
        ("(\n  a,  // a\n  b  // b\n)", 1, "(\n  a,  // a\n)"), ("(\n  a: [\n    1\n  ],\n  b)", 0, "(\n  b)"),
        ("(\n  a, b,\n  c)", 0, "(\n  b,\n  c)"), ("[\n  \"a\"\n]", 0, "[\n]"),
    ]

    private static func testFindsThePackage() throws {
        for text in ["let p = Package(name: \"P\")", "// Package(\nvar p: Package = Package(\n  name: \"P\")"] {
            let package = try editor(text).package()
            expectEqual(package.name, "p", text)
            expectEqual(package.arguments.items.count, 1, text)
        }
        let error = expectThrows(LocatedError.self) { _ = try editor("let p: Package = .init(name: \"P\")").package() }
        expectEqual(error?.message, "there is no 'let package = Package(…)'")
    }

    private static func testKeepsLineEndings() throws {
        var editor = editor("[\r\n  .target(\r\n    name: \"A\"\r\n  ),\r\n]")
        try editor.add("x", to: "plugins", of: "A")
        editor.append(lines: "a\n")
        expectEqual(
            editor.edited, "[\r\n  .target(\r\n    name: \"A\",\r\n    plugins: [x]\r\n  ),\r\n]\r\na\r\n")
    }
}
#endif
