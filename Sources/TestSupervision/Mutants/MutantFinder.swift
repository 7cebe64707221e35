// Makes the mutants of one source, of its tokens alone: what does not compile is found out by compiling it. What is for
// tests only, attributes, `#if` and the like, assertions of what cannot be, and marked lines are left as they are.

import TestEvents

struct MutantFinder {
    private let path: String
    private let source: UnsafeRawBufferPointer
    private let tokens: [SwiftToken]
    /// For each opening bracket the token that closes it.
    private let partners: [Int]
    /// The lines without mutants, from 1.
    private var isLeftOut: [Bool]
    /// The brackets that are open: what each is, and the word before it.
    private var open: [(bracket: UInt8, word: String)] = []
    private var mutants: [Mutant] = []

    /// Finds the mutants of a source, in the order of their places.
    ///
    /// - Throws: `MutantError` for a mark that is not understood.
    /// - Complexity: O(length of the source).
    static func mutants(of bytes: [UInt8], path: String) throws(MutantError) -> [Mutant] {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(MutantError) in
                var finder = try MutantFinder(bytes, path: path)
                finder.run()
                return finder.mutants
            }
        }
        return try result.get()
    }

    private init(_ source: UnsafeRawBufferPointer, path: String) throws(MutantError) {
        self.path = path
        self.source = source
        tokens = SwiftLexer.split(source)
        isLeftOut = Array(repeating: false, count: (tokens.last?.line ?? 0) + 2)
        for line in try MutantMarks.lines(in: source, tokens, path: path) where line < isLeftOut.count {
            isLeftOut[line] = true
        }
        for lines in TestRegions.lineRanges(String(decoding: source, as: UTF8.self)) {
            for line in lines where line < isLeftOut.count { isLeftOut[line] = true }
        }
        var partners = Array(repeating: max(0, tokens.count - 1), count: tokens.count)
        var open: [Int] = []
        for (index, token) in tokens.enumerated() where token.kind == .punctuation {
            if Self.isOpening(source[token.start]) {
                open.append(index)
            } else if Self.isClosing(source[token.start]), let bracket = open.popLast() {
                partners[bracket] = index
            }
        }
        self.partners = partners
    }

    private mutating func run() {
        var index = 0
        while index < tokens.count {
            if isLeftOut[tokens[index].line] {
                follow(index)
                index += 1
            } else if let end = endOfAside(index) {
                index = end
            } else {
                index = step(index)
            }
        }
    }

    /// What is behind an attribute, a directive or a macro with its arguments, or behind an import or an assertion, if
    /// one begins here.
    private func endOfAside(_ index: Int) -> Int? {
        let word = text(index)
        if word == "@" || word == "#" {
            if word == "#", Self.directives.contains(text(index + 1)) { return endOfLine(index) }
            var last = index + 1
            while text(last + 1) == ".", last + 2 < tokens.count { last += 2 }
            let isCalled = text(last + 1) == "(" && tokens[last].end == tokens[last + 1].start
            return isCalled ? partners[last + 1] + 1 : last + 1
        }
        if word == "import" { return endOfLine(index) }
        return ["assert", "assertionFailure"].contains(word) && text(index + 1) == "(" ? partners[index + 1] + 1 : nil
    }

    private static let directives: Set<String> = [
        "if", "elseif", "else", "endif", "sourceLocation", "error", "warning",
    ]

    /// Adds what can be made of what begins with a token, and says which is next.
    private mutating func step(_ index: Int) -> Int {
        if startsStatement(index) { addRemoval(index) }
        follow(index)
        switch tokens[index].kind {
        case .string: addString(index)
        case .word:
            // A member, which may be called like a keyword or a number; not what is behind `...`.
            if text(index - 1) == ".", text(index - 2) != ".", tokens[index - 1].end == tokens[index].start { break }
            switch text(index) {
            case "true": add(index..<index + 1, "false")
            case "false": add(index..<index + 1, "true")
            case "if", "guard", "while": if text(index + 1) != ":" { addConditions(index) }
            default: addInteger(index)
            }
        case .punctuation:
            let end = endOfOperator(index)
            if end > index {
                addOperator(index..<end)
                return end
            }
        }
        return index + 1
    }

    /// Keeps account of brackets.
    private mutating func follow(_ index: Int) {
        guard tokens[index].kind == .punctuation else { return }
        let byte = source[tokens[index].start]
        if Self.isOpening(byte) { open.append((byte, text(index - 1))) }
        if Self.isClosing(byte) { _ = open.popLast() }
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

    /// The end of the operator that begins at a token; the token itself if it is none.
    private func endOfOperator(_ index: Int) -> Int {
        var end = index
        while end < tokens.count, tokens[end].kind == .punctuation,
            Self.operatorBytes.contains(source[tokens[end].start]),
            end == index || tokens[end - 1].end == tokens[end].start
        {
            end += 1
        }
        return end
    }

    /// What an operator becomes; nil where it is none between two values.
    private func swapped(_ operation: Range<Int>) -> String? {
        let name = text(operation)
        guard let new = Self.swaps[name], operation.lowerBound > 0, operation.upperBound < tokens.count else {
            return nil
        }
        if name.hasPrefix("..") {
            // `a...` has no counterpart, and neither has a parameter of many values.
            let isPostfix = byte(behind: operation) <= 0x20 && byte(before: operation) > 0x20
            return isPostfix || [")", ",", "]", "}"].contains(text(operation.upperBound)) ? nil : new
        }
        // Texts are joined by `+`, and nothing takes them away.
        let isOfText = [operation.lowerBound - 1, operation.upperBound].contains { tokens[$0].kind == .string }
        return isSpaced(operation) && !(isOfText && name.hasPrefix("+")) ? new : nil
    }

    private func isSpaced(_ operation: Range<Int>) -> Bool {
        byte(before: operation) <= 0x20 && byte(behind: operation) <= 0x20
    }

    private mutating func addOperator(_ operation: Range<Int>) {
        if let new = swapped(operation) {
            add(operation, new)
        } else if text(operation) == "!", byte(behind: operation) > 0x20,
            byte(before: operation) <= 0x20 || ["(", "[", "{"].contains(text(operation.lowerBound - 1))
        {
            add(operation, "", text: "'!' removed")
        }
    }

    // MARK: Literals

    private mutating func addInteger(_ index: Int) {
        let digits = text(index).filter { $0 != "_" }
        // `$0` is no number.
        guard let first = digits.utf8.first, (0x30...0x39).contains(first), text(index - 1) != "$" else { return }
        for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8), ("", 10)] where digits.hasPrefix(prefix) {
            guard let number = Int(digits.dropFirst(prefix.utf8.count), radix: radix), number < Int.max else { return }
            return add(index..<index + 1, prefix + String(number + 1, radix: radix, uppercase: true))
        }
    }

    private mutating func addString(_ index: Int) {
        let token = tokens[index]
        let old = String(decoding: source[token.start..<token.end], as: UTF8.self)
        // What a trap says is nothing that a test sees.
        if open.contains(where: { Self.traps.contains($0.word) }) || old.utf8.contains(0x0A) { return }
        let isCharacter = old.unicodeScalars.count == 1 || old.utf8.count == 2 && old.hasPrefix("\\")
        let new = old.isEmpty || isCharacter && old != "x" ? "x" : isCharacter ? "y" : ""
        add(
            index..<index + 1, new, in: token.start..<token.end,
            text: "\(Self.quoted("\"\(old)\"")) changed to '\"\(new)\"'")
    }

    private static let traps: Set<String> = ["precondition", "preconditionFailure", "fatalError"]

    // MARK: Conditions

    /// Negates each part of a condition in which nothing else is changed.
    private mutating func addConditions(_ keyword: Int) {
        // The condition of `repeat` has no brace behind it.
        let isOfRepeat = text(keyword) == "while" && text(keyword - 1) == "}"
        var (start, index) = (keyword + 1, keyword + 1)
        while index < tokens.count {
            let isEnd =
                text(index) == "{" || text(index) == "else" || isOfRepeat && tokens[index].line > tokens[keyword].line
            if isEnd || text(index) == "," {
                if start < index { addNegation(start..<index) }
                start = index + 1
            }
            if isEnd { return }
            index = Self.isOpening(byte(at: index)) ? partners[index] + 1 : index + 1
        }
    }

    private mutating func addNegation(_ condition: Range<Int>) {
        if ["let", "var", "case", "!", "true", "false"].contains(text(condition.lowerBound)) { return }
        var index = condition.lowerBound
        while index < condition.upperBound {
            let end = endOfOperator(index)
            if text(index) == "#" || isLeftOut[tokens[index].line] || end > index && swapped(index..<end) != nil {
                return
            }
            index = max(end, index + 1)
        }
        add(condition, "!(\(text(condition)))")
    }

    // MARK: Statements

    /// Whether a statement that could go begins at a token: one that begins with a name.
    private func startsStatement(_ index: Int) -> Bool {
        guard tokens[index].kind == .word, index > 0, open.last?.bracket == UInt8(ascii: "{"),
            !Self.keywords.contains(text(index))
        else { return false }
        let previous = index - 1
        let last = text(previous)
        if tokens[previous].kind == .punctuation, ["{", "}", ";"].contains(last) { return true }
        // A line does not go on where the last one has ended.
        return tokens[previous].line < tokens[index].line
            && (tokens[previous].kind != .punctuation || [")", "]", "!", "?", ">", ":"].contains(last))
    }

    /// Words that a bracket, a point or an equals sign may follow, and that no call begins with; behind all others there is
    /// a second word.
    private static let keywords: Set<String> = [
        "case", "catch", "default", "for", "guard", "if", "init", "return", "subscript", "super", "switch", "throw",
        "while",
    ]

    /// Takes away the call or the assignment that begins at a token, if it is one and ends on its line.
    private mutating func addRemoval(_ start: Int) {
        let line = tokens[start].line
        var index = start
        while ["try", "await"].contains(text(index)) { index += text(index + 1) == "?" ? 2 : 1 }
        let name = index
        var isAssignment = false
        while index < tokens.count, tokens[index].line == line, text(index) != ";", text(index) != "}" {
            let end = endOfOperator(index)
            if Self.isOpening(byte(at: index)) {
                // A closure may be all that there is to a call, and its statements are tried one by one.
                if text(index) == "{", !isAssignment { return }
                index = partners[index]
                if tokens[index].line != line { return }
            } else if !isAssignment, end > index, isSpaced(index..<end) {
                guard Self.assignments.contains(text(index..<end)) else { return }
                isAssignment = true
            } else if !isAssignment, index > name, tokens[index].kind != .punctuation, text(index - 1) != "." {
                return
            }
            index = max(end, index + 1)
        }
        let isCall = index > name + 1 && byte(at: index - 1) == UInt8(ascii: ")")
        guard isCall || isAssignment else { return }
        // Neither does it go on with the next line.
        if index < tokens.count, Self.operatorBytes.contains(byte(at: index)) || text(index) == ":" { return }
        add(start..<index, "()", text: "\(Self.quoted(text(start..<index))) removed")
    }

    private static let assignments = Set(swaps.keys.filter { $0.hasSuffix("=") && swaps[$0]?.hasSuffix("=") ?? false })
        .subtracting(["==", "!=", "===", "!=="]).union(["=", "%=", "&*="])

    // MARK: Tokens

    private static func isOpening(_ byte: UInt8) -> Bool { byte == 0x28 || byte == 0x5B || byte == 0x7B }
    private static func isClosing(_ byte: UInt8) -> Bool { byte == 0x29 || byte == 0x5D || byte == 0x7D }

    /// The text of a word or a punctuation; nothing where there is none.
    private func text(_ index: Int) -> String {
        guard tokens.indices.contains(index), tokens[index].kind != .string else { return "" }
        return text(index..<index + 1)
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: source[bytes(of: range)], as: UTF8.self) }

    /// The bytes from a token to another, with the quotes of those that are strings.
    private func bytes(of range: Range<Int>) -> Range<Int> {
        let (first, last) = (tokens[range.lowerBound], tokens[range.upperBound - 1])
        var (start, end) = (first.start, last.end)
        for byte in "\"#".utf8 {
            while first.kind == .string, start > 0, source[start - 1] == byte { start -= 1 }
            while last.kind == .string, end < source.count, source[end] == byte { end += 1 }
        }
        return start..<end
    }

    /// The byte of a punctuation, or 0.
    private func byte(at index: Int) -> UInt8 {
        tokens.indices.contains(index) && tokens[index].kind == .punctuation ? source[tokens[index].start] : 0
    }

    private func byte(before range: Range<Int>) -> UInt8 {
        let start = tokens[range.lowerBound].start
        return start > 0 ? source[start - 1] : 0
    }

    private func byte(behind range: Range<Int>) -> UInt8 {
        let end = tokens[range.upperBound - 1].end
        return end < source.count ? source[end] : 0
    }

    private func endOfLine(_ index: Int) -> Int {
        tokens[index...].firstIndex { $0.line != tokens[index].line } ?? tokens.count
    }

    private mutating func add(
        _ range: Range<Int>, _ replacement: String, in bytes: Range<Int>? = nil, text: String? = nil
    ) {
        let first = tokens[range.lowerBound]
        mutants.append(
            Mutant(
                place: SourcePlace(path: path, line: first.line, column: first.column),
                range: bytes ?? self.bytes(of: range), replacement: replacement,
                text: text ?? "\(Self.quoted(self.text(range))) changed to \(Self.quoted(replacement))"))
    }

    /// A text of one line, which is short enough to be read.
    private static func quoted(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return "'\(line.count > 60 ? "\(line.prefix(60))…" : line)'"
    }
}
