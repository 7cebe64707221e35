// Writes XML 1.0 that every parser accepts, for any text.

/// An element that contains other elements or text.
struct XMLElement: Sendable {
    let name: String
    /// The lines without their ends. A line may contain a text with further line ends.
    private let lines: [String]

    /// Creates an element.
    ///
    /// - Parameters:
    ///   - attributes: The attributes. An attribute without a value is left out.
    ///   - children: The child elements, or nil for an element that contains text.
    init(
        _ name: String, _ attributes: [(name: String, value: String?)] = [], content: String = "",
        children: [XMLElement]? = nil
    ) {
        self.name = name
        var start = "<\(name)"
        for case (let name, let value?) in attributes {
            start += " \(name)=\"\(Self.escaped(value, isAttribute: true))\""
        }
        if let children {
            lines = ["\(start)>"] + children.flatMap(\.lines).map { "  \($0)" } + ["</\(name)>"]
        } else {
            lines = [content.isEmpty ? "\(start)/>" : "\(start)>\(Self.escaped(content))</\(name)>"]
        }
    }

    /// The element as a document.
    var document: String { (["<?xml version=\"1.0\" encoding=\"UTF-8\"?>"] + lines).joinedLines }

    /// Escapes the markup characters of XML and removes the characters that XML doesn't allow.
    ///
    /// Every `>` is escaped, so `]]>` can't occur. Without references, a parser would replace line ends and tabs in
    /// attributes with spaces, and all carriage returns with line ends.
    // SPEC: XML 1.0, 2.2 (Char), 2.4, 2.11 and 3.3.3.
    static func escaped(_ text: String, isAttribute: Bool = false) -> String {
        text.replacingScalars { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            case "\"": "&quot;"
            case "'": "&apos;"
            case "\r": "&#13;"
            case "\n" where isAttribute: "&#10;"
            case "\t" where isAttribute: "&#9;"
            default: isAllowed(scalar) ? nil : ""
            }
        }
    }

    /// Returns the text as a parser reads it. Names that differ only in removed characters become equal.
    static func allowed(_ text: String) -> String {
        text.replacingScalars { isAllowed($0) ? nil : "" }
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x20 && scalar.value != 0xFFFE && scalar.value != 0xFFFF
            || "\t\n\r".unicodeScalars.contains(scalar)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension XMLElement: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testNestsElements": testNestsElements]
            + .each("testEscapesMarkup", escapes) { text, content, attribute in
                expectEqual(escaped(text), content)
                expectEqual(escaped(text, isAttribute: true), attribute)
            }
            + .each("testDropsCharactersInvalidInXML", scalars, named: { "U+\(String($0.0, radix: 16))" }) {
                value, isKept in
                let text = Unicode.Scalar(value).map { String(Character($0)) } ?? ""
                expectEqual(escaped("[\(text)]"), isKept ? "[\(text)]" : "[]")
                expectEqual(allowed("[\(text)]"), isKept ? "[\(text)]" : "[]")
            }
    }

    private static let escapes = [
        ("", "", ""), ("a&<>\"'é😀", "a&amp;&lt;&gt;&quot;&apos;é😀", "a&amp;&lt;&gt;&quot;&apos;é😀"),
        ("]]>", "]]&gt;", "]]&gt;"), ("a\r\n\tb", "a&#13;\n\tb", "a&#13;&#10;&#9;b"),
    ]

    private static let scalars: [(UInt32, Bool)] = [
        (0, false), (8, false), (9, true), (0xB, false), (0x1B, false), (0x1F, false), (0x20, true), (0x7F, true),
        (0x85, true), (0xD7FF, true), (0xE000, true), (0xFFFD, true), (0xFFFE, false), (0xFFFF, false),
        (0x10000, true), (0x10FFFF, true),
    ]

    private static func testNestsElements() {
        let children = [XMLElement("d"), XMLElement("e", content: "<"), XMLElement("f", children: [])]
        expectEqual(
            XMLElement("a", [("b", "1"), ("c", nil)], children: children).document,
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <a b="1">
              <d/>
              <e>&lt;</e>
              <f>
              </f>
            </a>

            """)
    }
}
#endif
