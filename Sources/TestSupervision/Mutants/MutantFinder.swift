// Makes the mutants of one source, of its tokens alone: what does not compile is found out by compiling it. What is for
// tests only, attributes, `#if` and the like, assertions of what cannot be, and marked lines are left as they are; and so is
// what may decide a type, since the other files of the module are not compiled again.

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
    }

    private let path: String
    private let source: UnsafeRawBufferPointer
    private var pieces: [Piece] = []
    /// For each opening bracket the piece that closes it.
    private var partners: [Int: Int] = [:]
    /// The lines without mutants, from 1.
    private var leftOut: Set<Int>
    /// What surrounds a piece: declarations, of types or of the file; what a declaration says of types and values, from
    /// which other files may know a type; or what runs, of which they know nothing.
    private enum Room { case declarations, values, body }

    /// The brackets that are open, those of generic arguments too: which they are, and what is in them.
    private var open: [(bracket: String, room: Room)] = []
    private var room: Room { open.last?.room ?? .declarations }
    /// The last word among declarations that says what is declared, or the equals sign since.
    private var declaration = ""
    private var mutants: [Mutant] = []

    /// Finds the mutants of a source, in the order of their places.
    ///
    /// - Throws: `MutantError` for a mark that is not understood.
    /// - Complexity: O(length of the source).
    static func mutants(of bytes: [UInt8], path: String) throws -> [Mutant] {
        try bytes.withUnsafeBytes { bytes in
            var finder = try MutantFinder(bytes, path: path)
            var index = 0
            while index < finder.pieces.count { index = finder.step(index) }
            return finder.mutants
        }
    }

    private init(_ source: UnsafeRawBufferPointer, path: String) throws {
        self.path = path
        self.source = source
        let tokens = SwiftLexer.split(source)
        leftOut = try MutantMarks.lines(in: source, tokens, path: path)
        for lines in TestRegions.lineRanges(String(decoding: source, as: UTF8.self)) { leftOut.formUnion(lines) }
        var open: [Int] = []
        for token in tokens {
            if pieces.last?.line != token.line { leaveOutDirective(token) }
            add(token)
            if ["(", "[", "{"].contains(text(pieces.count - 1)) { open.append(pieces.count - 1) }
            if [")", "]", "}"].contains(text(pieces.count - 1)), let bracket = open.popLast() {
                partners[bracket] = pieces.count - 1
            }
        }
        for bracket in open { partners[bracket] = pieces.count - 1 }
    }

    /// Leaves a line out that is about what is compiled.
    private mutating func leaveOutDirective(_ token: SwiftToken) {
        let line = String(decoding: source[token.start...].prefix { $0 != 0x0A }, as: UTF8.self)
        if ["#if ", "#elseif ", "import "].contains(where: line.hasPrefix) { leftOut.insert(token.line) }
    }

    private mutating func add(_ token: SwiftToken) {
        var (start, end) = (token.start, token.end)
        for byte in "\"#".utf8 where token.kind == .string {
            while start > 0, source[start - 1] == byte { start -= 1 }
            while end < source.count, source[end] == byte { end += 1 }
        }
        let text = String(decoding: source[start..<end], as: UTF8.self)
        if let last = pieces.last, last.end == start, isOperator(pieces.count - 1), Self.isOperator(text) {
            pieces[pieces.count - 1].end = end
            pieces[pieces.count - 1].text += text
        } else {
            pieces.append(
                Piece(kind: token.kind, start: start, end: end, line: token.line, column: token.column, text: text))
        }
    }

    /// Adds what can be made of what begins with a piece, and says which is next.
    private mutating func step(_ index: Int) -> Int {
        let piece = pieces[index]
        let isLeftOut = leftOut.contains(piece.line)
        if !isLeftOut, let end = endOfAside(index) { return end }
        if !isLeftOut, startsStatement(index) { addRemoval(index) }
        if piece.kind != .string { followBrackets(index) }
        if isLeftOut { return index + 1 }
        if piece.kind == .string {
            addString(index)
        } else if isOperator(index) {
            if room == .body { addOperator(index) }
        } else if !isMember(index) {
            switch piece.text {
            case "true": add(index..<index + 1, "false")
            case "false": add(index..<index + 1, "true")
            case "if", "guard", "while": if room == .body, text(index + 1) != ":" { addConditions(index) }
            default: addInteger(index)
            }
        }
        return index + 1
    }

    // MARK: Brackets

    private static let types: Set<String> = ["actor", "class", "enum", "extension", "protocol", "struct"]
    private static let declarators = types.union(["deinit", "func", "init", "let", "subscript", "var"])

    private mutating func followBrackets(_ index: Int) {
        let text = text(index)
        // What began like generic arguments was a comparison.
        if ["{", "=", ")", "]", "}"].contains(text) { while open.last?.bracket == "<" { open.removeLast() } }
        // A value may be `if let`, and a call of `.init`.
        let isDeclarator = Self.declarators.contains(text) && !["if", "case", ",", "."].contains(self.text(index - 1))
        if room == .declarations, text == "=" || isDeclarator { declaration = text }
        if [")", "]", "}"].contains(text) { _ = open.popLast() }
        let isGeneric = text == "<" && byte(before: index) > 0x20 && byte(behind: index) > 0x20
        if isGeneric || ["(", "[", "{"].contains(text) {
            open.append((text, room(behind: index)))
        }
        if text != "->" {
            for character in text where character == ">" && open.last?.bracket == "<" { open.removeLast() }
        }
    }

    /// What is in the brackets that a piece opens.
    private func room(behind index: Int) -> Room {
        if room != .declarations { return room }
        if text(index) == "{", Self.types.contains(declaration) { return .declarations }
        let isValue = declaration == "=" && !["didSet", "willSet"].contains(text(index + 1))
        return text(index) != "{" || isValue ? .values : .body
    }

    /// What they say is nothing that a test sees.
    private static let assertions: Set<String> = [
        "assert", "assertionFailure", "fatalError", "precondition", "preconditionFailure",
    ]

    /// What is behind an attribute, a macro or an assertion with its arguments, if one begins here.
    private func endOfAside(_ index: Int) -> Int? {
        let name = ["@", "#"].contains(text(index)) ? index + 1 : index
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

    /// What an operator becomes; nil where it is none between two values.
    private func swapped(_ index: Int) -> String? {
        guard let new = Self.swaps[text(index)], index > 0, index + 1 < pieces.count else { return nil }
        if text(index).hasPrefix("..") {
            // `a...` has no counterpart, and neither has a parameter of many values.
            let isPostfix = !isSpaced(index) && byte(behind: index) <= 0x20
            return isPostfix || [")", ",", "]", "}"].contains(text(index + 1)) ? nil : new
        }
        // Texts are joined by `+`, and nothing takes them away.
        let isOfText = pieces[index - 1].kind == .string || pieces[index + 1].kind == .string
        return isSpaced(index) && !(isOfText && text(index).hasPrefix("+")) ? new : nil
    }

    private mutating func addOperator(_ index: Int) {
        if let new = swapped(index) {
            add(index..<index + 1, new)
        } else if text(index) == "!", byte(behind: index) > 0x20,
            byte(before: index) <= 0x20 || ["(", "[", "{"].contains(text(index - 1))
        {
            add(index..<index + 1, "", text: "'!' removed")
        }
    }

    // MARK: Literals

    private mutating func addInteger(_ index: Int) {
        let digits = text(index).filter { $0 != "_" }
        // `$0` is no number, and what types have as arguments says how they are laid out.
        guard digits.first?.isNumber ?? false, text(index - 1) != "$", open.last?.bracket != "<",
            text(index + 1) != "of"
        else { return }
        for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8), ("", 10)] where digits.hasPrefix(prefix) {
            guard let number = Int(digits.dropFirst(prefix.count), radix: radix), number < Int.max else { return }
            return add(index..<index + 1, prefix + String(number + 1, radix: radix, uppercase: true))
        }
    }

    private mutating func addString(_ index: Int) {
        let pounds = String(text(index).prefix { $0 == "#" })
        let old = text(index).dropFirst(pounds.count + 1).dropLast(pounds.count + 1)
        if text(index).utf8.contains(0x0A) { return }
        let isCharacter = old.unicodeScalars.count == 1 || old.utf8.count == 2 && old.hasPrefix("\\")
        let new = old.isEmpty || isCharacter && old != "x" ? "x" : isCharacter ? "y" : ""
        add(index..<index + 1, "\(pounds)\"\(new)\"\(pounds)")
    }

    // MARK: Conditions

    private static let notNegated: Set<String> = ["let", "var", "case", "!", "#", "true", "false"]

    /// Negates each part of a condition in which nothing else is changed.
    private mutating func addConditions(_ keyword: Int) {
        var (start, isPlain, index) = (keyword + 1, true, keyword + 1)
        // The condition of `repeat` has no brace behind it.
        let isOfRepeat = text(keyword) == "while" && text(keyword - 1) == "}"
        while index < pieces.count {
            let isEnd =
                ["{", "else"].contains(text(index)) || isOfRepeat && pieces[index].line > pieces[keyword].line
            if isEnd || text(index) == "," {
                if isPlain, start < index { add(start..<index, "!(\(text(start..<index)))") }
                (start, isPlain) = (index + 1, true)
            }
            if isEnd { return }
            let next = (partners[index] ?? index) + 1
            for piece in index..<next where swapped(piece) != nil || leftOut.contains(pieces[piece].line) {
                isPlain = false
            }
            if Self.notNegated.contains(text(index)) { isPlain = false }
            index = next
        }
    }

    // MARK: Statements

    /// Whether a statement that could go begins at a piece: one that begins with a name.
    private func startsStatement(_ index: Int) -> Bool {
        guard room == .body, pieces[index].kind == .word, open.last?.bracket == "{",
            !Self.keywords.contains(text(index))
        else {
            return false
        }
        if ["{", "}", ";"].contains(text(index - 1)) { return true }
        // A line does not go on where the last one has ended.
        return pieces[index - 1].line < pieces[index].line
            && (pieces[index - 1].kind != .punctuation || [")", "]", "!", "?", ">", ":"].contains(text(index - 1)))
    }

    /// Words that a bracket, a point or an equals sign may follow, and that no call begins with; behind all others there
    /// is a second word.
    private static let keywords: Set<String> = [
        "case", "catch", "default", "for", "guard", "if", "init", "return", "subscript", "super", "switch", "throw",
        "while",
    ]

    /// Takes away the call or the assignment that begins at a piece, if it is one and ends on its line.
    private mutating func addRemoval(_ start: Int) {
        let line = pieces[start].line
        var index = start
        while ["try", "await"].contains(text(index)) { index += text(index + 1) == "?" ? 2 : 1 }
        let name = index
        var isAssignment = false
        while index < pieces.count, pieces[index].line == line, text(index) != ";", text(index) != "}" {
            if !isAssignment {
                // A closure may be all that there is to a call, and its statements are tried one by one.
                let isOther =
                    text(index) == "{" || index > name && pieces[index].kind != .punctuation && !isMember(index)
                isAssignment =
                    isOperator(index) && isSpaced(index) && text(index).hasSuffix("=")
                    && !["==", "!=", "<=", ">=", "===", "!==", "~="].contains(text(index))
                if isOther || isOperator(index) && isSpaced(index) && !isAssignment { return }
            }
            index = partners[index] ?? index
            if pieces[index].line != line { return }
            index += 1
        }
        // Neither does it go on with the next line.
        guard isAssignment || index > name + 1 && text(index - 1) == ")", !isOperator(index), text(index) != ":" else {
            return
        }
        add(start..<index, "()", text: "\(Self.quoted(text(start..<index))) removed")
    }

    // MARK: Pieces

    /// The text of a piece, or nothing where there is none.
    private func text(_ index: Int) -> String { pieces.indices.contains(index) ? pieces[index].text : "" }

    private func text(_ range: Range<Int>) -> String {
        String(decoding: source[pieces[range.lowerBound].start..<pieces[range.upperBound - 1].end], as: UTF8.self)
    }

    private func byte(before index: Int) -> UInt8 { pieces[index].start > 0 ? source[pieces[index].start - 1] : 0 }
    private func byte(behind index: Int) -> UInt8 { pieces[index].end < source.count ? source[pieces[index].end] : 0 }

    /// Whether a word is a member, which may be called like a keyword or be a number.
    private func isMember(_ index: Int) -> Bool { text(index - 1).hasSuffix(".") && text(index - 1) != "..." }

    /// Whether there is space on both sides of a piece.
    private func isSpaced(_ index: Int) -> Bool { byte(before: index) <= 0x20 && byte(behind: index) <= 0x20 }

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
