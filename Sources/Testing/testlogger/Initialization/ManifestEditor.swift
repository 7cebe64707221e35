// Edits the literals of a manifest, such as arguments of calls and elements of arrays, in the style of the existing
// items. All other bytes of the file stay unchanged.

import TestEvents
import TestSupervision

/// A manifest with its edits so far. A call or an array is the index of its opening bracket, and an item is the range of its
/// tokens.
struct ManifestEditor {
    let path: String
    private var file: TokenizedFile
    var bytes: [UInt8] { file.source.bytes }

    init(_ bytes: [UInt8], path: String) {
        file = TokenizedFile(bytes)
        self.path = path
    }

    func error(_ message: String, at token: Int? = nil) -> LocatedError {
        LocatedError(at: file.source.place(at: token.map { file.tokens[$0].start } ?? 0, in: path), message)
    }

    // MARK: Finding

    func items(_ bracket: Int) -> [Range<Int>] { file.items(ofBracket: bracket) }

    /// Returns the source text of an item.
    func text(_ item: Range<Int>) -> String { file.source.text(file.bytes(item)) }

    /// Returns the value of an argument.
    func value(_ label: String, in call: Int) -> Range<Int>? {
        items(call).first {
            $0.count > 2 && file.mark($0.lowerBound) == label && file.mark($0.lowerBound + 1) == ":"
        }?.dropFirst(2)
    }

    /// Returns the value of an argument if it is a literal array.
    func array(_ label: String, in call: Int) -> Int? {
        guard let value = value(label, in: call), file.mark(value.lowerBound) == "[",
            file.end(ofBracket: value.lowerBound) == value.upperBound - 1
        else { return nil }
        return value.lowerBound
    }

    /// Returns the opening brackets after a sequence of words.
    func brackets(after words: [String]) -> [Int] {
        file.tokens.indices.filter { bracket in
            file.end(ofBracket: bracket) != nil
                && words.indices.allSatisfy { file.mark(bracket - words.count + $0) == words[$0] }
        }
    }

    /// Finds the call `let package = Package(…)`, and the name of its variable.
    func package() throws(LocatedError) -> (name: String, call: Int) {
        for call in brackets(after: ["=", "Package"]) {
            let name = call - (file.mark(call - 4) == ":" ? 5 : 3)
            if ["let", "var"].contains(file.mark(name - 1)) { return (file.text(name), call) }
        }
        throw error("there is no 'let package = Package(…)'")
    }

    /// Finds the call that declares a target. A dependency on the target looks the same, but is in another list.
    private func target(_ name: String) throws(LocatedError) -> Int {
        let calls = ["target", "executableTarget"].flatMap { brackets(after: [".", $0]) }.filter { call in
            let list = file.bracket(around: call) ?? 0
            let isDependency = file.mark(list) == "[" && file.mark(list - 2) == "dependencies"
            return !isDependency && value("name", in: call).map { isMention($0.lowerBound, of: name) } ?? false
        }
        switch calls.count {
        case 1: return calls[0]
        case 0:
            let mention = file.tokens.indices.last { isMention($0, of: name) }
            throw error("target '\(name)' isn't declared by a literal '.target(name: \"\(name)\", …)'", at: mention)
        default: throw error("target '\(name)' is declared more than once", at: calls[1])
        }
    }

    private func isMention(_ token: Int, of name: String) -> Bool { file.isString(token) && file.text(token) == name }

    /// Finds the package's dependency on a package with this identity.
    func dependency(_ identity: String) -> (list: Int, index: Int)? {
        guard let list = (try? package()).flatMap({ array("dependencies", in: $0.call) }) else { return nil }
        let index = items(list).firstIndex { item in
            file.mark(item.lowerBound) == "."
                && item.contains { token in
                    guard token > 2, file.mark(token - 1) == ":",
                        ["url", "path", "name", "id"].contains(file.text(token - 2))
                    else { return false }
                    let name = FileAccess.name(of: file.text(token)).lowercased()
                    return name == identity || name == "\(identity).git"
                }
        }
        return index.map { (list, $0) }
    }

    // MARK: Editing

    private mutating func replace(_ range: Range<Int>, with text: String) {
        let newline = bytes.contains(0x0D) ? "\r\n" : "\n"
        var edited = bytes
        edited.replaceSubrange(range, with: text.replacing("\n", with: newline).utf8)
        file = TokenizedFile(edited)
    }

    mutating func replace(item: Range<Int>, with text: String) { replace(file.bytes(item), with: text) }

    /// Appends lines to the file.
    mutating func append(lines: String) {
        let isClosed = bytes.isEmpty || bytes.last == 0x0A
        replace(bytes.count..<bytes.count, with: (isClosed ? "" : "\n") + lines)
    }

    /// Adds an element to an array argument of a target or of the package. If the argument is missing, adds it, too.
    mutating func add(_ element: String, to label: String, of target: String?) throws(LocatedError) {
        let call = if let target { try self.target(target) } else { try package().call }
        if let array = array(label, in: call) { return append(element, to: array) }
        let value = value(label, in: call)
        // A package without this argument sets its targets elsewhere.
        if value != nil || label == "targets" {
            let owner = target.map { "target '\($0)'" } ?? "the package"
            throw error("'\(label):' of \(owner) isn't a literal array", at: value?.lowerBound ?? call)
        }
        // Swift requires this order: the platforms or dependencies follow the name, and the plugins are last.
        let items = items(call)
        let first = items.prefix { ["name", "defaultLocalization"].contains(file.mark($0.lowerBound)) }
        insert("\(label): [\(element)]", at: label == "plugins" ? items.count : first.count, into: call)
    }

    mutating func append(_ element: String, to list: Int) { insert(element, at: items(list).count, into: list) }

    private mutating func insert(_ text: String, at index: Int, into list: Int) {
        guard index > 0 else {
            let inside = file.tokens[list].end..<file.tokens[file.end(ofBracket: list) ?? list + 1].start
            let isBlank = bytes[inside].allSatisfy { $0 <= 0x20 }
            return replace(isBlank ? inside : inside.lowerBound..<inside.lowerBound, with: text)
        }
        let previous = items(list)[index - 1]
        let (start, end) = (file.bytes(previous).lowerBound, file.bytes(previous).upperBound)
        guard file.line(previous.lowerBound) > file.line(list) else { return replace(end..<end, with: ", \(text)") }
        let indentation = bytes[startOfLine(start)...].prefix { $0 == 0x20 || $0 == 0x09 }
        let line = "\n\(String(decoding: indentation, as: UTF8.self))\(text)"
        let hasComma = file.mark(previous.upperBound) == ","
        // A comment after the previous item stays there.
        guard let position = endOfLine(hasComma ? file.tokens[previous.upperBound].end : end) else {
            return replace(end..<end, with: ",\(line)")
        }
        replace(position..<position, with: hasComma ? "\(line)," : line)
        if !hasComma { replace(end..<end, with: ",") }
    }

    /// Removes an item and the comma that separates it. If the item has its own line, removes the line.
    mutating func remove(_ index: Int, from list: Int) {
        let item = items(list)[index]
        var (start, end) = (file.bytes(item).lowerBound, file.bytes(item).upperBound)
        if file.mark(item.upperBound) == "," {
            end = file.tokens[item.upperBound].end
        } else if index > 0, endOfLine(file.tokens[item.lowerBound - 1].end, withComment: false) != nil {
            start = file.tokens[item.lowerBound - 1].start
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
                editor.remove(index, from: 0)
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
            expectEqual(editor(text).items(package.call).count, 1, text)
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
