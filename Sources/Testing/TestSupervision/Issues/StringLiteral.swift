// Reads the text of a string literal in a source, and writes another literal in the same form: on one line, or on
// several lines with the same indentation.

import TestEvents

/// A string literal without interpolations.
struct StringLiteral {
    private let text: String
    /// The newline characters and the indentation, if the literal has several lines.
    private let margin: (newline: String, indentation: String)?

    /// Reads a literal with its quotes. Returns nil for a raw literal, an interpolated literal, and any uncertain case.
    init?(_ literal: String) {
        var lines = literal.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
        var contents = String(Substring(literal.utf8.dropFirst().dropLast()))
        if let first = lines.first, let last = lines.last, lines.count > 1 {
            lines = Array(lines.dropFirst().dropLast())
            let (newline, indentation) = (first.last == 0x0D ? "\r\n" : "\n", last.dropLast(3))
            let isPlain = lines.allSatisfy { $0.starts(with: indentation) || $0.allSatisfy { $0 <= 0x20 } }
            guard "\(Substring(first))\n" == "\"\"\"\(newline)", Substring(last.suffix(3)) == "\"\"\"",
                isPlain, indentation.allSatisfy({ $0 <= 0x20 })
            else { return nil }
            margin = (newline, String(Substring(indentation)))
            // Every line of the text ends with a newline.
            let texts = lines.map { $0.starts(with: indentation) ? $0.dropFirst(indentation.count) : "".utf8[...] }
            contents = texts.map { String(Substring($0.last == 0x0D ? $0.dropLast() : $0)) }.joined(separator: "\n")
        } else {
            guard literal.utf8.count > 1, literal.utf8.first == 0x22, literal.utf8.last == 0x22 else { return nil }
            margin = nil
        }
        guard let text = Self.unescaped(contents) else { return nil }
        self.text = text
    }

    /// Returns whether the literal has this text, byte for byte.
    func says(_ other: String) -> Bool { text.utf8.elementsEqual(other.utf8) }

    /// Returns a literal in the same form with another text.
    func saying(_ text: String) -> String {
        guard let (newline, indentation) = margin else { return "\"\(Self.escaped(text, inLines: false))\"" }
        let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            line.isEmpty ? "" : indentation + Self.escaped(String(Substring(line)), inLines: true)
        }
        return "\"\"\"\(newline)\(lines.joined(separator: newline))\(newline)\(indentation)\"\"\""
    }

    private static func unescaped(_ contents: String) -> String? {
        var result = String.UnicodeScalarView()
        var rest = contents.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\\" else {
                result.append(scalar)
                continue
            }
            switch rest.popFirst() {
            case "n": result.append("\n")
            case "r": result.append("\r")
            case "t": result.append("\t")
            case "0": result.append("\0")
            case let mark? where "\\\"'".unicodeScalars.contains(mark): result.append(mark)
            case "u":
                guard rest.popFirst() == "{", let end = rest.firstIndex(of: "}"),
                    let value = UInt32(String(rest[..<end]), radix: 16), let scalar = Unicode.Scalar(value)
                else { return nil }
                result.append(scalar)
                rest = rest[end...].dropFirst()
            case "\n": continue  // the line goes on
            default: return nil
            }
        }
        return String(result)
    }

    private static func escaped(_ text: String, inLines: Bool) -> String {
        let marked = text.replacingScalars { $0 == "\\" ? "\\\\" : $0 == "\"" && !inLines ? "\\\"" : nil }
        let result = marked.escapedForLiteral
        guard inLines else { return result }
        // Bytes, because a combining character after a quote belongs to the same `Character`.
        let quotes = Array("\"\"\"".utf8)
        return String(decoding: Array(result.utf8).replacing(quotes, with: Array(#"\"\"\""#.utf8)), as: UTF8.self)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension StringLiteral: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testKeepsTheFormOfTheLiteral": testKeepsTheFormOfTheLiteral]
            + .each("testReadsLiteralsLikeTheCompiler", literals) { literal, text in
                expectEqual(StringLiteral(literal)?.text, text)
            }
            + .each("testRejectsInvalidLiterals", invalidLiterals) { expectNil(StringLiteral($0)?.text) }
            + .each("testRoundTripsText", texts) { text in
                for form in forms {
                    let written = try requireNotNil(StringLiteral(form), form).saying(text)
                    let read = StringLiteral(written)
                    expectTrue(read?.says(text) ?? false, written)
                    expectEqual(read?.saying(text), written, "the same form")
                }
            }
    }

    private static let quotes = "\"\"\""

    private static var literals: [(literal: String, text: String)] {
        [
            (#""""#, ""), (#""a""#, "a"), (#""\n\r\t\0\\\"\'\u{e9}é""#, "\n\r\t\0\\\"'\u{e9}é"),
            ("\(quotes)\n\(quotes)", ""), ("\(quotes)\n  \(quotes)", ""), ("\(quotes)\n\n\(quotes)", ""),
            ("\(quotes)\n  a\n\n   b \n  \(quotes)", "a\n\n b "), ("\(quotes)\n  a\n \n   \n  \(quotes)", "a\n\n "),
            ("\(quotes)\r\n\ta\r\n\tb\r\n\t\(quotes)", "a\nb"), ("\(quotes)\n\"\"a\"\n\(quotes)", "\"\"a\""),
            ("\(quotes)\na\\\nb\\n\n\(quotes)", "ab\n"), ("\(quotes)\n\\\(quotes)\n\(quotes)", quotes),
        ]
    }

    private static let invalidLiterals = [
        "", "\"", "a", "5", "\"a", "\"\\(a)\"", "\"\\x\"", "\"\\", "\"\\\"", "\"\\u{110000}\"", "\"\\u{}\"",
        "\"\\u{1\"",
        "\(quotes)\n a\n  \(quotes)", "\(quotes)\n a \(quotes)", "\(quotes)\n\\(a)\n\(quotes)", "#\"a\"#",
    ]

    private static let forms = [
        "\"\"", "\(quotes)\n\(quotes)", "\(quotes)\n\t  a\n\t  \(quotes)", "\(quotes)\r\n  \(quotes)",
    ]

    private static let texts = [
        "", "a", "\n", "a\n", "\na", "\n\n", " a \n  \n\t", "\"", "\"\"", quotes, quotes + "\"", quotes + quotes,
        "a\(quotes)\n\(quotes)", "\\", "\\(a)", "\\\n", "\\\"", "\r\n", "a\rb",
        "\0\u{1B}\u{7F}\u{85}\u{2028}\u{FEFF}é", "\u{301}a\n\u{301}", "a\(quotes)\u{301}b",
    ]

    private static func testKeepsTheFormOfTheLiteral() {
        let texts = ["\"a\\nb\"", "\(quotes)\na\nb\n\(quotes)", "\(quotes)\n\t  a\n\t  b\n\t  \(quotes)"]
        for (form, text) in zip(forms, texts) { expectEqual(StringLiteral(form)?.saying("a\nb"), text) }
        expectEqual(StringLiteral(forms[3])?.saying("a\n\nb"), "\(quotes)\r\n  a\r\n\r\n  b\r\n  \(quotes)")
    }
}
#endif
