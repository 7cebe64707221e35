// Converts values to text for a failure: the value on the first line, and notes about the difference of two values. Used
// only after an expectation has failed.

#if DEBUG || IN_CLASS_TESTS

/// The maximum number of characters of one value on the first line of a failure.
let characterCountMax = 400
/// The maximum number of characters of an issue's message.
let messageCharacterCountMax = 4_000
/// The maximum number of notes about the difference of two values.
private let noteCountMax = 8
/// The maximum number of characters of a line. Longer lines are shortened.
let lineCharacterCountMax = 160

/// Returns a value as Swift source if possible: strings are quoted and escaped, optionals are unwrapped.
package func valueText(_ value: Any) -> String {
    if let text = wholeText(value) { return abridged(quoted(text)) }
    let text: String
    switch unwrapped(value) {
    case nil: text = "nil"
    case let type as Any.Type: text = withoutDiscriminators(String(describing: type))
    case let error as any Error: text = errorText(error)
    case let value?:
        // CustomDebugStringConvertible comes first, because it describes `3.0`, `0.1` and `"x"` exactly. The text of
        // custom descriptions stays unchanged, even in strings and collections, because a difference must be visible.
        let mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .set {
            // Hashing is random, but the texts of two runs or two values must be comparable.
            text = "[\(mirror.children.map { valueText($0.value) }.sorted().joined(separator: ", "))]"
        } else if value is any CustomDebugStringConvertible {
            text = escaped(String(reflecting: value))
        } else if let described = value as? any CustomStringConvertible {
            text = escaped(described.description)
        } else {
            text = withoutDiscriminators(escaped(String(describing: value)))
        }
    }
    return abridged(text)
}

/// Replaces type names with the names in their source. An optimized build calls private types `(Trouble in _39AF…)`, and raw
/// identifiers have no-break spaces.
func withoutDiscriminators(_ text: String) -> String {
    var text = text
    if text.contains("`"), text.contains("\u{A0}") {
        // Every other part is between backticks.
        text = text.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { index, part in
            String(index.isMultiple(of: 2) ? part : part.replacing("\u{A0}", with: " "))
        }.joined(separator: "`")
    }
    // PERF: a search for a regular expression takes microseconds.
    guard text.contains(" in _") else { return text }
    return text.replacing(/\((\w+) in _[0-9A-F]{16,}\)/) { $0.output.1 }
}

/// Describes an error: an enumeration's case or a structure's fields, after the name of the type.
package func errorText(_ error: any Error) -> String {
    let type = withoutDiscriminators("\(type(of: error))")
    let text = withoutDiscriminators(escaped(String(describing: error)))
    if text.isEmpty || text == type { return type }
    if Mirror(reflecting: error).displayStyle == .enum, !(error is any CustomStringConvertible) {
        return abridged("\(type).\(text)")
    }
    return abridged(text.hasPrefix(type) ? text : "\(type) \(quoted(String(describing: error)))")
}

/// Returns the whole text if the value is a text.
func wholeText(_ value: Any) -> String? {
    switch unwrapped(value) {
    case let string as String: string
    case let substring as Substring: String(substring)
    case let character as Character: String(character)
    default: nil
    }
}

private func unwrapped(_ value: Any) -> Any? {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return value }
    return mirror.children.first?.value
}

/// Quotes a text as a string literal of one line.
package func quoted(_ text: String) -> String { "\"\(escaped(text, quote: true))\"" }

/// Escapes a text as in a string literal, so that it fits on one line.
package func escaped(_ text: String, quote: Bool = false) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\n": result += "\\n"
        case "\r": result += "\\r"
        case "\t": result += "\\t"
        case "\"" where quote: result += "\\\""
        case "\\" where quote: result += "\\\\"
        case _
        where scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value) || (0x2028...0x202E).contains(scalar.value)
            || (0x2066...0x2069).contains(scalar.value):
            result += "\\u{\(String(scalar.value, radix: 16))}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}

/// Leaves out the middle of a long text.
func abridged(_ text: String, to countMax: Int = characterCountMax) -> String {
    guard text.utf8.count > countMax, text.count > countMax else { return text }
    return "\(text.prefix(countMax - 60))… (\(text.count) characters) …\(text.suffix(40))"
}

// MARK: - Differences

/// Describes where two unequal values differ if their first lines may not show it.
package func differenceNotes(got: Any, expected: Any) -> [String] {
    guard let got = unwrapped(got), let expected = unwrapped(expected) else { return [] }
    if let got = got as? String, let expected = expected as? String { return stringNotes(got, expected) }
    let (gotMirror, expectedMirror) = (Mirror(reflecting: got), Mirror(reflecting: expected))
    var parts: [Part] = []
    switch (gotMirror.displayStyle, expectedMirror.displayStyle) {
    case (.collection, .collection):
        parts = elementParts(elements(gotMirror), elements(expectedMirror), unit: "element", base: 0)
    case (.set, .set):
        let (gotTexts, expectedTexts) = (Set(elements(gotMirror)), Set(elements(expectedMirror)))
        parts =
            expectedTexts.subtracting(gotTexts).sorted().map { ("", nil, $0) }
            + gotTexts.subtracting(expectedTexts).sorted().map { ("", $0, nil) }
    case (.dictionary, .dictionary):
        parts = entryParts(entries(gotMirror), entries(expectedMirror))
    case (.struct, .struct), (.class, .class):
        // A single field shows no more than the value itself.
        if gotMirror.children.count > 1 {
            parts = zip(gotMirror.children, expectedMirror.children).map { one, other in
                (".\(one.label ?? "?")", valueText(one.value), valueText(other.value))
            }
        }
    default: break
    }
    var notes = differences(of: parts, change)
    if notes.isEmpty, valueText(got) == valueText(expected) {
        notes = [
            "the two values are unequal but are written alike; their types are \(type(of: got)) and \(type(of: expected))"
        ]
    }
    return notes
}

/// A part of two values: its label, and its text in each value. A value without the part has nil. Entries of sets have no
/// label.
private typealias Part = (label: String, got: String?, expected: String?)

/// Returns a note for each different part, up to a limit.
private func differences(of parts: [Part], _ change: (_ got: String?, _ expected: String?) -> String) -> [String] {
    let different = parts.filter { $0.got != $0.expected }
    let notes = different.prefix(noteCountMax).map { part in
        "\(part.label)\(part.label.isEmpty ? "" : ": ")\(change(part.got, part.expected))"
    }
    guard different.count > noteCountMax else { return notes }
    return notes.dropLast() + ["and \(different.count - noteCountMax + 1) more differences"]
}

private func change(_ got: String?, _ expected: String?) -> String {
    guard let got else { return "missing \(expected ?? "")" }
    return expected.map { "got \(got) instead of \($0)" } ?? "unexpected \(got)"
}

private func elements(_ mirror: Mirror) -> [String] { mirror.children.map { valueText($0.value) } }

private func entries(_ mirror: Mirror) -> [String: String] {
    var entries: [String: String] = [:]
    for child in mirror.children {
        let pair = elements(Mirror(reflecting: child.value))
        if pair.count == 2 { entries[pair[0]] = pair[1] }
    }
    return entries
}

private func entryParts(_ got: [String: String], _ expected: [String: String]) -> [Part] {
    Set(got.keys).union(expected.keys).sorted().map { key in
        let (value, other) = (got[key], expected[key])
        if value != nil, other != nil { return ("value of \(key)", value, other) }
        return ("", value.map { "\(key): \($0)" }, other.map { "\(key): \($0)" })
    }
}

/// Returns the different elements, without the common beginning and end.
private func elementParts(_ got: [String], _ expected: [String], unit: String, base: Int) -> [Part] {
    let head = zip(got, expected).prefix { $0 == $1 }.count
    let (gotRest, expectedRest) = (got.dropFirst(head), expected.dropFirst(head))
    let tail = zip(gotRest.reversed(), expectedRest.reversed()).prefix { $0 == $1 }.count
    let (gotEnd, expectedEnd) = (got.count - tail, expected.count - tail)
    var parts: [Part] = []
    for index in head..<max(gotEnd, expectedEnd) {
        let one = index < gotEnd ? got[index] : nil
        let other = index < expectedEnd ? expected[index] : nil
        // PERF: labels of parts that aren't shown are not created.
        if one != other { parts.append((parts.count < noteCountMax ? "\(unit) \(base + index)" : "", one, other)) }
    }
    return parts
}

/// Returns the lines of a text without their newlines. A final newline is followed by an empty line.
func textLines(_ text: String) -> [String] {
    // Split at bytes, because a carriage return and its newline are one character.
    text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { String(Substring($0)) }
}

/// Names the first different character if the strings are too long to find it quickly.
private func stringNotes(_ got: String, _ expected: String) -> [String] {
    if got.unicodeScalars.elementsEqual(expected.unicodeScalars) { return [] }
    let gotLines = textLines(got)
    let expectedLines = textLines(expected)
    if gotLines.count > 1 || expectedLines.count > 1 { return lineNotes(gotLines, expectedLines) }
    guard max(got.count, expected.count) > 24 else { return [] }
    let difference = firstDifference(got, expected)
    return [
        "first difference at character \(difference.place): got …\(quoted(difference.got)) instead of …\(quoted(difference.expected))"
    ]
}

/// Finds the first different character of two texts, and the text around it in each.
func firstDifference(_ got: String, _ expected: String) -> (place: Int, got: String, expected: String) {
    let common = zip(got, expected).prefix { $0 == $1 }.count
    let start = max(0, common - 8)
    return (common, String(got.dropFirst(start).prefix(24)), String(expected.dropFirst(start).prefix(24)))
}

/// Lists changed, missing and unexpected lines.
func lineNotes(_ got: [String], _ expected: [String]) -> [String] {
    func shortened(_ line: String) -> String {
        guard line.count > lineCharacterCountMax else { return line }
        return "\(line.prefix(lineCharacterCountMax - 40))… (\(line.count) characters) …\(line.suffix(20))"
    }
    return differences(of: elementParts(got, expected, unit: "line", base: 1)) { got, expected in
        let (got, expected) = (got.map { quoted($0) }, expected.map { quoted($0) })
        // Long lines are described from the first different character.
        if let got, let expected, max(got.count, expected.count) > lineCharacterCountMax {
            let difference = firstDifference(got, expected)
            return "from character \(difference.place), got …\(difference.got)… instead of …\(difference.expected)…"
        }
        return change(got.map(shortened), expected.map(shortened))
    }
}

// MARK: - In-class tests

#if SELF_TESTS
enum ValueTextTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesErrorsWithTheirTypes": testWritesErrorsWithTheirTypes,
            "testOmitsDiscriminators": testOmitsDiscriminators,
            "testAbridgesLongValues": testAbridgesLongValues, "testLimitsNotes": testLimitsNotes,
        ]
            + .each("testWritesValuesAsInSource", values, named: \.1) { expectEqual(valueText($0), $1) }
            + .each("testNotesLocateDifferences", differences, named: \.notes.description) { row in
                expectEqual(differenceNotes(got: row.got, expected: row.expected), row.notes)
            }
    }

    private struct Point { var x = 1, y = 2 }
    private struct Described: CustomStringConvertible { var description: String { "a: error: b" } }
    private struct `Raw type` { var `the field` = "" }
    private enum Shape { case circle(radius: Int), none }
    private enum Trouble: Error { case big(Int), small }
    private struct Failure: Error { var line = 3 }
    private struct Spoken: Error, CustomStringConvertible { var description: String { "it broke" } }

    private static var values: [(Any, String)] {
        [
            (4, "4"), (-1.0, "-1.0"), (Float(0.1), "0.1"), ("a", "\"a\""), (Character("é"), "\"é\""),
            (Substring("s"), "\"s\""), (true, "true"), (nil as Int? as Any, "nil"), (Optional(4) as Any, "4"),
            ([1, 2], "[1, 2]"), (Set(["b", "a", "c"]), "[\"a\", \"b\", \"c\"]"), (["a"], "[\"a\"]"),
            (["k": 1], "[\"k\": 1]"), (1..<3, "Range(1..<3)"),
            (Point(), "Point(x: 1, y: 2)"), (Shape.circle(radius: 2), "circle(radius: 2)"), (Shape.none, "none"),
            (Described(), "a: error: b"), (Int.self, "Int"), ((1, "a"), "(1, \"a\")"),
            ("a\n\t\r\"\\\u{1B}\u{2028}", #""a\n\t\r\"\\\u{1b}\u{2028}""#), (`Raw type`.self, "`Raw type`"),
            (`Raw type`(`the field`: "a\u{A0}b"), "`Raw type`(`the field`: \"a\u{A0}b\")"),
        ]
    }

    private static func testWritesErrorsWithTheirTypes() {
        expectEqual(errorText(Trouble.big(2)), "Trouble.big(2)")
        expectEqual(errorText(Trouble.small), "Trouble.small")
        expectEqual(errorText(Failure()), "Failure(line: 3)")
        expectEqual(errorText(Spoken()), "Spoken \"it broke\"")
    }

    private static func testOmitsDiscriminators() {
        let hash = "_0123456789ABCDEF0123456789ABCDEF"
        let rows = [
            ("(Trouble in \(hash))", "Trouble"), ("Box<(A in \(hash)), (B in \(hash))>.small", "Box<A, B>.small"),
            ("(A in \(hash))(x: 1)", "A(x: 1)"), ("(a in _b)", "(a in _b)"), ("(A in \(hash)", "(A in \(hash)"),
        ]
        for (text, plain) in rows { expectEqual(withoutDiscriminators(text), plain) }
        expectEqual(escaped("x\ny"), "x\\ny")
    }

    private static func testAbridgesLongValues() {
        let text = valueText(String(repeating: "x", count: 5000))
        expectLessThan(text.count, 450)
        expectTrue(text.contains("(5002 characters)"), "the length is said")
        let message = String(repeating: "x", count: 1_000_000)
        let issue = RecordedIssue(place: .test, got: "", expected: "", message: message)
        expectLessThan(issue.message.count, messageCharacterCountMax + 50)
    }

    private static var differences: [(got: Any, expected: Any, notes: [String])] {
        let long = String(repeating: "x", count: 40)
        return [
            (1, 2, []), ("a", "b", []), ("a\nb\nc", "a\nx\nc", ["line 2: got \"b\" instead of \"x\""]),
            ("a\r\nb\nc", "a\nb\nc", ["line 1: got \"a\\r\" instead of \"a\""]),
            ([1, 2, 3], [1, 3], ["element 1: unexpected 2"]), ([1, 3], [1, 2, 3], ["element 1: missing 2"]),
            ([1, 2], [1, 4], ["element 1: got 2 instead of 4"]),
            (
                ["a": 1, "b": 2], ["a": 2, "c": 3],
                ["value of \"a\": got 1 instead of 2", "unexpected \"b\": 2", "missing \"c\": 3"]
            ),
            (Set([1, 2]), Set([2, 3]), ["missing 3", "unexpected 1"]),
            (Point(), Point(x: 1, y: 3), [".y: got 2 instead of 3"]),
            (
                long + "a", long + "b",
                ["first difference at character 40: got …\"xxxxxxxxa\" instead of …\"xxxxxxxxb\""]
            ),
        ]
    }

    private static func testLimitsNotes() {
        let long = String(repeating: "x", count: 1000)
        expectEqual(
            differenceNotes(got: "a\n\(long)1", expected: "a\n\(long)2\n\(long)"),
            [
                "line 2: from character 1001, got …xxxxxxxx1\"… instead of …xxxxxxxx2\"…",
                "line 3: missing \"\(long.prefix(119))… (1002 characters) …\(long.prefix(19))\"",
            ])
        let notes = differenceNotes(got: Array(0..<100), expected: Array(100..<200))
        expectEqual(notes.count, 8)
        expectEqual(notes.last, "and 93 more differences")
    }
}
#endif

#endif
