// Recognizes string literals that are written in a usual form, on one line or on several lines, and writes another text in
// the same form.

import TestEvents

/// The form of a string literal.
struct StringLiteral {
    /// The newline characters and the indentation, if the literal has several lines.
    private let margin: (newline: String, indentation: String)?

    /// Finds the form of a literal. Returns nil unless `saying` writes the same literal for the text, byte for byte. So the
    /// literal isn't raw, has no interpolation, and has no other escapes.
    init?(_ literal: String, of text: String) {
        let lines = literal.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
        guard let first = lines.first, let last = lines.last else { return nil }
        let newline = first.last == 0x0D ? "\r\n" : "\n"
        margin = lines.count == 1 ? nil : (newline, String(Substring(last.dropLast(3))))
        guard saying(text).utf8.elementsEqual(literal.utf8) else { return nil }
    }

    /// Returns a literal in this form.
    func saying(_ text: String) -> String {
        guard let (newline, indentation) = margin else { return "\"\(Self.escaped(text, inLines: false))\"" }
        let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: text.isEmpty).map { line in
            (line.isEmpty ? "" : indentation + Self.escaped(String(Substring(line)), inLines: true)) + newline
        }
        return "\"\"\"\(newline)\(lines.joined())\(indentation)\"\"\""
    }

    private static func escaped(_ text: String, inLines: Bool) -> String {
        let marked = text.replacingScalars { $0 == "\\" ? "\\\\" : $0 == "\"" && !inLines ? "\\\"" : nil }
        let result = marked.escapedForLiteral
        return inLines ? result.replacing("\"\"\"", with: #"\"\"\""#) : result
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension StringLiteral: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testKeepsTheFormOfTheLiteral": testKeepsTheFormOfTheLiteral]
            + .each("testRecognizesLiterals", literals) { literal, text in
                expectEqual(StringLiteral(literal, of: text)?.saying(text), literal)
                expectNil(StringLiteral(literal, of: text + "x")?.saying(text), literal)
            }
            + .each("testRefusesUnusualLiterals", unusualLiterals) { literal, text in
                expectNil(StringLiteral(literal, of: text)?.saying(text))
            }
            + .each("testRoundTripsText", texts) { text in
                for (form, old) in forms {
                    let written = try requireNotNil(StringLiteral(form, of: old), form).saying(text)
                    expectEqual(StringLiteral(written, of: text)?.saying(text), written, form)
                }
            }
    }

    private static let quotes = "\"\"\""

    private static var literals: [(literal: String, text: String)] {
        [
            (#""""#, ""), (#""a""#, "a"), (#""\n\r\t\\\"'\u{0}é""#, "\n\r\t\\\"'\0é"),
            ("\(quotes)\n\(quotes)", ""), ("\(quotes)\n  \(quotes)", ""),
            ("\(quotes)\n  a\n\n   b \n  \(quotes)", "a\n\n b "), ("\(quotes)\n  a\n\n\n  \(quotes)", "a\n\n"),
            ("\(quotes)\r\n\ta\r\n\tb\r\n\t\(quotes)", "a\nb"), ("\(quotes)\n\"\"a\"\n\(quotes)", "\"\"a\""),
            ("\(quotes)\n\\\"\\\"\\\"\n\(quotes)", quotes),
        ]
    }

    private static var unusualLiterals: [(literal: String, text: String)] {
        [
            ("", ""), ("\"", ""), ("a", "a"), ("5", "5"), ("\"a", "a"), ("\"\\(a)\"", "a"), ("\"\\x\"", "x"),
            ("\"\\\"", "\""), ("\"\\u{e9}\"", "é"), ("\"\\0\"", "\0"), ("\"e\u{301}\"", "é"),
            ("\(quotes)\n a\n  \(quotes)", "a"), ("\(quotes)\n a \(quotes)", "a"), ("\(quotes)\n\\(a)\n\(quotes)", "a"),
            ("\(quotes)\na\\\nb\n\(quotes)", "ab"), ("#\"a\"#", "a"),
        ]
    }

    private static let forms = [
        ("\"\"", ""), ("\(quotes)\n\(quotes)", ""), ("\(quotes)\n\t  a\n\t  \(quotes)", "a"),
        ("\(quotes)\r\n  \(quotes)", ""),
    ]

    private static let texts = [
        "", "a", "\n", "a\n", "\na", "\n\n", " a \n  \n\t", "\"", "\"\"", quotes, quotes + "\"", quotes + quotes,
        "a\(quotes)\n\(quotes)", "\\", "\\(a)", "\\\n", "\\\"", "\r\n", "a\rb",
        "\0\u{1B}\u{7F}\u{85}\u{2028}\u{FEFF}é", "\u{301}a\n\u{301}",
    ]

    private static func testKeepsTheFormOfTheLiteral() {
        let texts = [
            "\"a\\n\\nb\"", "\(quotes)\na\n\nb\n\(quotes)", "\(quotes)\n\t  a\n\n\t  b\n\t  \(quotes)",
            "\(quotes)\r\n  a\r\n\r\n  b\r\n  \(quotes)",
        ]
        for ((form, old), text) in zip(forms, texts) {
            expectEqual(StringLiteral(form, of: old)?.saying("a\n\nb"), text)
        }
    }
}
#endif
