// Creates the mutants of one source from its tokens. The compiler sorts out the mutants that don't compile. Only bodies
// of functions and accessors change: other code may determine a type, and the other files of the module aren't compiled
// again. Tests, attributes, `#if` and other directives, assertions and marked lines stay unchanged.

import TestEvents

struct MutantFinder {
    private let path: String
    private let file: TokenizedFile
    private var tokens: [SwiftToken] { file.tokens }
    /// The lines without mutants, from 1.
    private var leftOut: Set<Int> = []
    /// The last keyword of a declaration outside of bodies, or an equals sign after it.
    private var declaration = ""
    /// The end of the last body that has begun.
    private var bodyEnd = 0
    private var mutants: [Mutant] = []

    /// Returns the mutants of a source in the order of their places.
    ///
    /// - Throws: `MutantError` for an invalid mark.
    /// - Complexity: O(length of the source).
    static func mutants(of bytes: [UInt8], path: String) throws -> [Mutant] {
        var finder = try MutantFinder(bytes, path: path)
        var index = 0
        while index < finder.tokens.count {
            index = index < finder.bodyEnd ? finder.stepInBody(index) : finder.step(index)
        }
        return finder.mutants
    }

    private init(_ bytes: [UInt8], path: String) throws {
        self.path = path
        file = TokenizedFile(bytes, isForMutants: true)
        for lines in SourceParser(file.source).linesOfTests { leftOut.formUnion(lines) }
        for comment in file.comments { try addMark(comment) }
    }

    /// Excludes the line of a mark, `// no mutants: both orders are right`. If the line contains only the mark,
    /// excludes the next line.
    private mutating func addMark(_ comment: Range<Int>) throws {
        let (text, mark) = (file.source.text(comment), "// no mutants")
        guard text.hasPrefix(mark) else { return }
        let (reason, place) = (text.dropFirst(mark.count), file.source.place(at: comment.lowerBound, in: path))
        guard reason.first == ":", reason.dropFirst().contains(where: { !$0.isWhitespace }) else {
            throw MutantError(
                description: "expected a reason, as in '// no mutants: both orders are right'", place: place)
        }
        let isAlone = file.source.bytes[..<comment.lowerBound].reversed().prefix { $0 != 0x0A }.allSatisfy {
            $0 <= 0x20
        }
        leftOut.insert(isAlone ? place.line + 1 : place.line)
    }

    private static let types: Set<String> = ["actor", "class", "enum", "extension", "protocol", "struct"]
    private static let declarators = types.union(["deinit", "func", "init", "let", "subscript", "var"])

    /// Looks for the next body from a token outside of bodies, and returns the next token.
    private mutating func step(_ index: Int) -> Int {
        // The word may also be in a value: in `if let`, in a call of `.init`, or in a type `<let n: Int>`.
        let isDeclarator =
            Self.declarators.contains(text(index)) && !["if", "case", ",", ".", "<"].contains(text(index - 1))
        if text(index) == "=" || isDeclarator { declaration = text(index) }
        guard file.opensBracket(index) else { return index + 1 }
        // Values and other brackets contain no bodies.
        let isValue = declaration == "=" && !["didSet", "willSet"].contains(text(index + 1))
        if text(index) != "{" || isValue { return file.next(index) }
        if !Self.types.contains(declaration) { bodyEnd = file.next(index) }
        return index + 1
    }

    /// Adds the mutants that begin with a token of a body, and returns the next token.
    private mutating func stepInBody(_ index: Int) -> Int {
        if leftOut.contains(file.line(index)) { return index + 1 }
        if let end = endOfAside(index) { return end }
        if file.isString(index) {
            // The literal may be a character, so the replacement is one character, too.
            add(index..<index + 1, text(index) == "\"x\"" ? "\"y\"" : "\"x\"")
        } else if tokens[index].kind == .punctuation {
            addOperator(index)
        } else if !isMember(index) {
            addRemoval(index)
            addNegation(index)
            addLiteral(index)
        }
        return index + 1
    }

    /// The functions of assertions. Tests can't see their effects.
    private static let assertions: Set<String> = [
        "assert", "assertionFailure", "fatalError", "precondition", "preconditionFailure",
    ]

    /// Returns the index after an attribute, macro, compilation condition or assertion that begins here.
    private func endOfAside(_ index: Int) -> Int? {
        let name = ["@", "#"].contains(text(index)) ? index + 1 : index
        if text(index) == "#", ["if", "elseif"].contains(text(name)) {
            return (name..<tokens.count).first { file.line($0) > file.line(index) } ?? tokens.count
        }
        let isOne = name > index || Self.assertions.contains(text(index))
        return isOne && file.isMark("(", name + 1) ? file.next(name + 1) : nil
    }

    // MARK: Operators

    private static let swaps: [String: String] = [
        "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "===": "!==", "!==": "===",
        "+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "&+": "&-", "&-": "&+", "&*": "&+",
        "&&": "||", "||": "&&", "&": "|", "|": "&", "^": "|", "<<": ">>", ">>": "<<", "&<<": "&>>", "&>>": "&<<",
        "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "&+=": "&-=", "&-=": "&+=", "|=": "&=", "&=": "|=",
        "^=": "|=", "<<=": ">>=", ">>=": "<<=", "&<<=": "&>>=", "&>>=": "&<<=", "..<": "...", "...": "..<",
    ]

    private mutating func addOperator(_ index: Int) {
        let text = text(index)
        if text == "!", byte(behind: index) > 0x20, " \n\t([{".utf8.contains(byte(before: index)) {
            return add(index..<index + 1, "", text: "'!' removed")
        }
        // `a...` has no counterpart.
        let isRange = text.hasPrefix("..") && !" \n),]}".utf8.contains(byte(behind: index))
        // A text literal can be added with `+`, but not subtracted.
        let isOfText = self.text(index - 1).hasSuffix("\"") || self.text(index + 1).hasPrefix("\"")
        guard let new = Self.swaps[text], isRange || isInfix(index), !(isOfText && text.hasPrefix("+")) else { return }
        add(index..<index + 1, new)
    }

    // MARK: Words

    private mutating func addLiteral(_ index: Int) {
        if let new = ["true": "false", "false": "true"][text(index)] { return add(index..<index + 1, new) }
        let digits = text(index).filter { $0 != "_" }
        // `$0` isn't a number.
        if text(index - 1) == "$" { return }
        for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8), ("", 10)] where digits.hasPrefix(prefix) {
            guard let number = Int(digits.dropFirst(prefix.count), radix: radix), number < Int.max else { return }
            return add(index..<index + 1, prefix + String(number + 1, radix: radix, uppercase: true))
        }
    }

    /// Negates the value that begins at a token, if it is the first or the last part of a condition.
    private mutating func addNegation(_ start: Int) {
        if ["true", "false"].contains(text(start)) { return }
        let end = endOfValue(start)
        let isFirst = ["if", "guard", "while"].contains(text(start - 1)) && ["{", "else", ","].contains(text(end))
        let isLast = text(start - 1) == "," && ["{", "else"].contains(text(end))
        if isInBraces(start), isFirst || isLast { add(start..<end, "!\(text(start..<end))") }
    }

    /// Removes the call or the assignment that begins at a token.
    private mutating func addRemoval(_ start: Int) {
        // If the previous line ends with an operator or a comma, this line continues it.
        let isBehindLine =
            file.line(start - 1) < file.line(start) && !isInfix(start - 1) && text(start - 1) != ","
        guard isInBraces(start), isBehindLine || ["{", "}", ";"].contains(text(start - 1)) else { return }
        var name = start
        while ["try", "await"].contains(text(name)) { name += text(name + 1) == "?" ? 2 : 1 }
        let value = endOfValue(name)
        var end = value
        while end < tokens.count, !["}", ";"].contains(text(end)),
            file.line(end) == file.line(end - 1) || file.isOperator(end) || isInfix(end - 1)
        {
            end = file.next(end)
        }
        // If the call consists only of a closure, it stays. The statements of the closure have their own mutants.
        let isCall = end == value && text(end - 1) == ")"
        let isAssignment =
            isInfix(value) && text(value).hasSuffix("=")
            && !["==", "!=", "<=", ">=", "===", "!==", "~="].contains(text(value))
        if isCall || isAssignment { add(start..<end, "()", text: "\(Self.quoted(text(start..<end))) removed") }
    }

    /// Returns the index after a name with its members, arguments and subscripts.
    private func endOfValue(_ start: Int) -> Int {
        var end = start + 1
        while end < tokens.count, byte(before: end) > 0x20 {
            if isMember(end + 1) {
                end += 2
            } else if ["(", "["].contains(text(end)) {
                end = file.next(end)
            } else if ["?", "!"].contains(text(end)) {
                end += 1
            } else {
                break
            }
        }
        return end
    }

    // MARK: Tokens

    /// Returns the source of a token, or an empty text if the token doesn't exist.
    private func text(_ index: Int) -> String { tokens.indices.contains(index) ? text(index..<index + 1) : "" }

    private func text(_ range: Range<Int>) -> String { file.source.text(file.bytes(range)) }

    private func byte(before index: Int) -> UInt8 {
        tokens[index].start > 0 ? file.source.base[tokens[index].start - 1] : 0
    }
    private func byte(behind index: Int) -> UInt8 { file.source.base[tokens[index].end] }

    /// Returns whether the innermost bracket around a token is a brace.
    private func isInBraces(_ index: Int) -> Bool { file.isMark("{", tokens[index].bracket) }

    /// Returns whether a word is a member. A member may have the name of a keyword or be a number.
    private func isMember(_ index: Int) -> Bool { text(index - 1).hasSuffix(".") && text(index - 1) != "..." }

    /// Returns whether a token is an operator with space on both sides.
    private func isInfix(_ index: Int) -> Bool {
        file.isOperator(index) && byte(before: index) <= 0x20 && byte(behind: index) <= 0x20
    }

    private mutating func add(_ range: Range<Int>, _ replacement: String, text: String? = nil) {
        mutants.append(
            Mutant(
                place: file.source.place(at: tokens[range.lowerBound].start, in: path), range: file.bytes(range),
                replacement: replacement,
                text: text ?? "\(Self.quoted(self.text(range))) changed to \(Self.quoted(replacement))"))
    }

    /// Returns a text as one short line.
    private static func quoted(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return "'\(line.count > 60 ? "\(line.prefix(60))…" : line)'"
    }
}

/// A change of one operator, literal, condition or statement.
package struct Mutant: Equatable, Sendable {
    /// The place where the changed text begins.
    package var place: SourcePlace
    /// The byte offsets of the replaced text.
    var range: Range<Int>
    var replacement: String
    /// The description of the change, as it is printed: `'<' changed to '<='`.
    package var text: String

    /// Returns the source with the change.
    func applied(to source: [UInt8]) -> [UInt8] {
        source[..<range.lowerBound] + Array(replacement.utf8) + source[range.upperBound...]
    }
}

/// The reason why no mutants can be tried.
package struct MutantError: Error, Equatable, CustomStringConvertible {
    package var description: String
    /// The place of the error in a source, if it has one.
    package var place: SourcePlace?
}
