// Makes the mutants of one source, of its tokens alone: what does not compile is found out by compiling it. Only what runs
// is changed, the bodies of functions and the like: what is around them may decide a type, and the other files of the module
// are not compiled again. What is for tests only, attributes, `#if` and the like, assertions of what cannot be, and marked
// lines are left as they are.

import TestEvents

struct MutantFinder {
    /// A token, or an operator of several.
    private struct Piece {
        let kind: SwiftToken.Kind
        let start: Int
        var end: Int
        let line: Int
        let column: Int
        /// As it is written, quotes included.
        var text: String
        /// A Boolean value that indicates whether no other brackets are within the braces that it is in.
        let isInBraces: Bool
    }

    private let path: String
    private let source: UnsafeRawBufferPointer
    private var pieces: [Piece] = []
    /// For each opening bracket the piece that closes it.
    private var partners: [Int: Int] = [:]
    /// The lines without mutants, from 1.
    private var leftOut: Set<Int> = []
    /// The last word outside of bodies that says what is declared, or the equals sign since.
    private var declaration = ""
    /// Behind the last body that has begun.
    private var bodyEnd = 0
    private var mutants: [Mutant] = []

    /// Finds the mutants of a source, in the order of their places.
    ///
    /// - Throws: `MutantError` for a mark that is not understood.
    /// - Complexity: O(length of the source).
    static func mutants(of bytes: [UInt8], path: String) throws -> [Mutant] {
        try bytes.withUnsafeBytes { bytes in
            var finder = try MutantFinder(bytes, path: path)
            var index = 0
            while index < finder.pieces.count {
                index = index < finder.bodyEnd ? finder.stepInBody(index) : finder.step(index)
            }
            return finder.mutants
        }
    }

    private init(_ source: UnsafeRawBufferPointer, path: String) throws {
        self.path = path
        self.source = source
        for lines in SourceParser.linesOfTests(source) { leftOut.formUnion(lines) }
        var open: [Int] = []
        for token in SwiftLexer.split(source, keepsComments: true) {
            if token.kind == .comment {
                try addMark(token)
                continue
            }
            add(token, isInBraces: open.last.map { text($0) } == "{")
            let index = pieces.count - 1
            if ["(", "[", "{"].contains(text(index)) { open.append(index) }
            if [")", "]", "}"].contains(text(index)), let bracket = open.popLast() { partners[bracket] = index }
        }
        for bracket in open { partners[bracket] = pieces.count - 1 }
    }

    /// Leaves out the line of a mark, `// no mutants: both orders are right`, or the next where it is alone.
    private mutating func addMark(_ comment: SwiftToken) throws {
        let (text, mark) = (String(decoding: source[comment.start..<comment.end], as: UTF8.self), "// no mutants")
        guard text.hasPrefix(mark) else { return }
        let reason = text.dropFirst(mark.count)
        guard reason.first == ":", reason.dropFirst().contains(where: { !$0.isWhitespace }) else {
            throw MutantError(
                description: "expected a reason, as in '// no mutants: both orders are right'",
                place: SourcePlace(path: path, line: comment.line, column: comment.column))
        }
        let isAlone = source[..<comment.start].reversed().prefix { $0 != 0x0A }.allSatisfy { $0 <= 0x20 }
        leftOut.insert(isAlone ? comment.line + 1 : comment.line)
    }

    private mutating func add(_ token: SwiftToken, isInBraces: Bool) {
        var (start, end) = (token.start, token.end)
        for byte in "\"#".utf8 where token.kind == .string {
            while start > 0, source[start - 1] == byte { start -= 1 }
            while end < source.count, source[end] == byte { end += 1 }
        }
        let text = String(decoding: source[start..<end], as: UTF8.self)
        let isOfOperator = token.kind == .punctuation && Self.isOperator(text)
        if let last = pieces.last, last.end == start, isOperator(pieces.count - 1), isOfOperator {
            pieces[pieces.count - 1].end = end
            pieces[pieces.count - 1].text += text
        } else {
            pieces.append(
                Piece(
                    kind: token.kind, start: start, end: end, line: token.line, column: token.column, text: text,
                    isInBraces: isInBraces))
        }
    }

    private static let types: Set<String> = ["actor", "class", "enum", "extension", "protocol", "struct"]
    private static let declarators = types.union(["deinit", "func", "init", "let", "subscript", "var"])

    /// Looks for the next body from a piece outside of bodies, and says which piece is next.
    private mutating func step(_ index: Int) -> Int {
        // A value may be `if let`, a call of `.init`, and an argument of a type `<let n: Int>`.
        let isDeclarator =
            Self.declarators.contains(text(index)) && !["if", "case", ",", ".", "<"].contains(text(index - 1))
        if text(index) == "=" || isDeclarator { declaration = text(index) }
        guard let partner = partners[index] else { return index + 1 }
        // What is in a value, or in brackets, is passed over.
        let isValue = declaration == "=" && !["didSet", "willSet"].contains(text(index + 1))
        if text(index) != "{" || isValue { return partner + 1 }
        if !Self.types.contains(declaration) { bodyEnd = partner + 1 }
        return index + 1
    }

    /// Adds what can be made of what begins with a piece of a body, and says which is next.
    private mutating func stepInBody(_ index: Int) -> Int {
        let piece = pieces[index]
        if leftOut.contains(piece.line) { return index + 1 }
        if let end = endOfAside(index) { return end }
        if piece.kind == .string {
            // A character as well as a text.
            add(index..<index + 1, piece.text == "\"x\"" ? "\"y\"" : "\"x\"")
        } else if piece.kind == .punctuation {
            addOperator(index)
        } else if !isMember(index) {
            addRemoval(index)
            addNegation(index)
            addLiteral(index)
        }
        return index + 1
    }

    /// What they say is nothing that a test sees.
    private static let assertions: Set<String> = [
        "assert", "assertionFailure", "fatalError", "precondition", "preconditionFailure",
    ]

    /// What is behind an attribute, a macro, a condition of what is compiled or an assertion, if one begins here.
    private func endOfAside(_ index: Int) -> Int? {
        let name = ["@", "#"].contains(text(index)) ? index + 1 : index
        if text(index) == "#", ["if", "elseif"].contains(text(name)) {
            return pieces[name...].firstIndex { $0.line > pieces[index].line } ?? pieces.count
        }
        let isOne = name > index || Self.assertions.contains(text(index))
        return isOne && text(name + 1) == "(" ? (partners[name + 1] ?? name) + 1 : nil
    }

    // MARK: Operators

    private static let swaps: [String: String] = [
        "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "===": "!==", "!==": "===",
        "+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "&+": "&-", "&-": "&+", "&*": "&+",
        "&&": "||", "||": "&&", "&": "|", "|": "&", "^": "|", "<<": ">>", ">>": "<<", "&<<": "&>>", "&>>": "&<<",
        "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "&+=": "&-=", "&-=": "&+=", "|=": "&=", "&=": "|=",
        "^=": "|=", "<<=": ">>=", ">>=": "<<=", "&<<=": "&>>=", "&>>=": "&<<=", "..<": "...", "...": "..<",
    ]

    private static let operatorBytes = Set("+-*/%<>=!&|^~?.".utf8)

    private static func isOperator(_ text: String) -> Bool { text.utf8.allSatisfy(operatorBytes.contains) }

    private func isOperator(_ index: Int) -> Bool {
        pieces.indices.contains(index) && pieces[index].kind == .punctuation && Self.isOperator(text(index))
    }

    private mutating func addOperator(_ index: Int) {
        let text = text(index)
        if text == "!", byte(behind: index) > 0x20, " \n\t([{".utf8.contains(byte(before: index)) {
            return add(index..<index + 1, "", text: "'!' removed")
        }
        // `a...` has no counterpart.
        let isRange = text.hasPrefix("..") && !" \n),]}".utf8.contains(byte(behind: index))
        // Texts are joined by `+`, and nothing takes them away.
        let isOfText = self.text(index - 1).hasSuffix("\"") || self.text(index + 1).hasPrefix("\"")
        guard let new = Self.swaps[text], isRange || isInfix(index), !(isOfText && text.hasPrefix("+")) else { return }
        add(index..<index + 1, new)
    }

    // MARK: Words

    private mutating func addLiteral(_ index: Int) {
        if let new = ["true": "false", "false": "true"][text(index)] { return add(index..<index + 1, new) }
        let digits = text(index).filter { $0 != "_" }
        // `$0` is no number.
        if text(index - 1) == "$" { return }
        for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8), ("", 10)] where digits.hasPrefix(prefix) {
            guard let number = Int(digits.dropFirst(prefix.count), radix: radix), number < Int.max else { return }
            return add(index..<index + 1, prefix + String(number + 1, radix: radix, uppercase: true))
        }
    }

    /// Negates the value that begins at a piece, if it is the first part of a condition, or the last.
    private mutating func addNegation(_ start: Int) {
        if ["true", "false"].contains(text(start)) { return }
        let end = endOfValue(start)
        let isFirst = ["if", "guard", "while"].contains(text(start - 1)) && ["{", "else", ","].contains(text(end))
        let isLast = text(start - 1) == "," && ["{", "else"].contains(text(end))
        if pieces[start].isInBraces, isFirst || isLast { add(start..<end, "!\(text(start..<end))") }
    }

    /// Takes away the call or the assignment that begins at a piece, if it is one.
    private mutating func addRemoval(_ start: Int) {
        // A line does not go on where the last one has ended.
        let isBehindLine =
            pieces[start - 1].line < pieces[start].line && !isInfix(start - 1) && text(start - 1) != ","
        guard pieces[start].isInBraces, isBehindLine || ["{", "}", ";"].contains(text(start - 1)) else { return }
        var name = start
        while ["try", "await"].contains(text(name)) { name += text(name + 1) == "?" ? 2 : 1 }
        let value = endOfValue(name)
        var end = value
        while end < pieces.count, !["}", ";"].contains(text(end)),
            pieces[end].line == pieces[end - 1].line || isOperator(end) || isInfix(end - 1)
        {
            end = (partners[end] ?? end) + 1
        }
        // A closure may be all that there is to a call, and its statements are tried one by one.
        let isCall = end == value && text(end - 1) == ")"
        let isAssignment =
            isInfix(value) && text(value).hasSuffix("=")
            && !["==", "!=", "<=", ">=", "===", "!==", "~="].contains(text(value))
        if isCall || isAssignment { add(start..<end, "()", text: "\(Self.quoted(text(start..<end))) removed") }
    }

    /// What is behind a name with its members, arguments and subscripts.
    private func endOfValue(_ start: Int) -> Int {
        var end = start + 1
        while end < pieces.count, byte(before: end) > 0x20 {
            if isMember(end + 1) {
                end += 2
            } else if ["(", "["].contains(text(end)) {
                end = (partners[end] ?? end) + 1
            } else if ["?", "!"].contains(text(end)) {
                end += 1
            } else {
                break
            }
        }
        return end
    }

    // MARK: Pieces

    /// The text of a piece, or nothing where there is none.
    private func text(_ index: Int) -> String { pieces.indices.contains(index) ? pieces[index].text : "" }

    private func text(_ range: Range<Int>) -> String {
        String(decoding: source[pieces[range.lowerBound].start..<pieces[range.upperBound - 1].end], as: UTF8.self)
    }

    private func byte(before index: Int) -> UInt8 { pieces[index].start > 0 ? source[pieces[index].start - 1] : 0 }
    private func byte(behind index: Int) -> UInt8 { pieces[index].end < source.count ? source[pieces[index].end] : 0 }

    /// Returns whether a word is a member, which may be called like a keyword or be a number.
    private func isMember(_ index: Int) -> Bool { text(index - 1).hasSuffix(".") && text(index - 1) != "..." }

    /// Returns whether a piece is an operator with space on both sides.
    private func isInfix(_ index: Int) -> Bool {
        isOperator(index) && byte(before: index) <= 0x20 && byte(behind: index) <= 0x20
    }

    private mutating func add(_ range: Range<Int>, _ replacement: String, text: String? = nil) {
        let first = pieces[range.lowerBound]
        mutants.append(
            Mutant(
                place: SourcePlace(path: path, line: first.line, column: first.column),
                range: first.start..<pieces[range.upperBound - 1].end, replacement: replacement,
                text: text ?? "\(Self.quoted(self.text(range))) changed to \(Self.quoted(replacement))"))
    }

    /// A text of one line, which is short enough to be read.
    private static func quoted(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return "'\(line.count > 60 ? "\(line.prefix(60))…" : line)'"
    }
}
