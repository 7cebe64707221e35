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
    let value = unwrapped(value)
    let text: String
    switch value {
    case nil: text = "nil"
    case let string as String: text = quoted(string)
    case let substring as Substring: text = quoted(String(substring))
    case let character as Character: text = quoted(String(character))
    case let type as Any.Type: text = withoutDiscriminators(String(describing: type))
    case let error as any Error: text = errorText(error)
    case let value?:
        // CustomDebugStringConvertible comes first, because it describes `3.0`, `0.1` and `"x"` exactly. Text from custom
        // descriptions, in strings and collections of them, stays unchanged, because a difference must be visible.
        let mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .set {
            // Hashing is random, but texts of two runs or two values must be comparable.
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
    guard text.contains(" in _") else { return text }
    var result = ""
    var rest = text[...]
    while let character = rest.popFirst() {
        let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        let behind = rest.dropFirst(name.count)
        let discriminator = behind.dropFirst(5).prefix { $0.isHexDigit }
        if character == "(", !name.isEmpty, behind.hasPrefix(" in _"), discriminator.count >= 16,
            behind.dropFirst(5 + discriminator.count).first == ")"
        {
            result += name
            rest = behind.dropFirst(6 + discriminator.count)
        } else {
            result.append(character)
        }
    }
    return result
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
    let gotMirror = Mirror(reflecting: got)
    let expectedMirror = Mirror(reflecting: expected)
    var notes: [String] = []
    switch (gotMirror.displayStyle, expectedMirror.displayStyle) {
    case (.collection, .collection):
        notes = sequenceNotes(
            gotMirror.children.map { valueText($0.value) }, expectedMirror.children.map { valueText($0.value) })
    case (.set, .set):
        notes = setNotes(
            gotMirror.children.map { valueText($0.value) }, expectedMirror.children.map { valueText($0.value) })
    case (.dictionary, .dictionary):
        notes = dictionaryNotes(gotMirror, expectedMirror)
    case (.struct, .struct), (.class, .class):
        notes = fieldNotes(gotMirror, expectedMirror)
    default:
        break
    }
    if notes.isEmpty, valueText(got) == valueText(expected) {
        notes = [
            "the two values are unequal but are written alike; their types are \(type(of: got)) and \(type(of: expected))"
        ]
    }
    return notes
}

private func limited(_ notes: [String], count: Int? = nil) -> [String] {
    let count = count ?? notes.count
    guard count > noteCountMax else { return notes }
    return notes.prefix(noteCountMax - 1) + ["and \(count - noteCountMax + 1) more differences"]
}

/// Returns the lines of a text without their newlines. A final newline is followed by an empty line.
func textLines(_ text: String) -> [String] {
    // By bytes, because a carriage return and its newline are one character.
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

/// Describes the difference of two elements: as a whole, or from the first different character if they are long lines.
private func changeText(_ got: String, _ expected: String, unit: String) -> String {
    guard unit == "line", max(got.count, expected.count) > lineCharacterCountMax else {
        return "got \(got) instead of \(expected)"
    }
    let difference = firstDifference(got, expected)
    return "from character \(difference.place), got …\(difference.got)… instead of …\(difference.expected)…"
}

/// The beginning and the end of a long line.
private func shortened(_ line: String, unit: String) -> String {
    guard unit == "line", line.count > lineCharacterCountMax else { return line }
    return "\(line.prefix(lineCharacterCountMax - 40))… (\(line.count) characters) …\(line.suffix(20))"
}

/// Lists changed, missing and unexpected lines.
func lineNotes(_ got: [String], _ expected: [String]) -> [String] {
    sequenceNotes(got, expected, unit: "line", base: 1) { quoted($0) }
}

/// Lists changed, missing and unexpected elements, without the common beginning and end.
private func sequenceNotes(
    _ got: [String], _ expected: [String], unit: String = "element", base: Int = 0,
    text: (String) -> String = { $0 }
) -> [String] {
    let head = zip(got, expected).prefix { $0 == $1 }.count
    let gotRest = got.dropFirst(head)
    let expectedRest = expected.dropFirst(head)
    let tail = zip(gotRest.reversed(), expectedRest.reversed()).prefix { $0 == $1 }.count
    let gotMiddle = gotRest.dropLast(tail)
    let expectedMiddle = expectedRest.dropLast(tail)
    var notes: [String] = []
    var count = 0
    for offset in 0..<max(gotMiddle.count, expectedMiddle.count) {
        let one = offset < gotMiddle.count ? gotMiddle[head + offset] : nil
        let other = offset < expectedMiddle.count ? expectedMiddle[head + offset] : nil
        if one == other { continue }
        count += 1
        // If the texts are completely different, only the shown lines are converted.
        if count > noteCountMax { continue }
        let number = base + head + offset
        switch (one, other) {
        case (let one?, let other?):
            notes.append("\(unit) \(number): \(changeText(text(one), text(other), unit: unit))")
        case (let one?, nil):
            notes.append("\(unit) \(number): unexpected \(shortened(text(one), unit: unit))")
        default:
            notes.append("\(unit) \(number): missing \(shortened(text(other ?? ""), unit: unit))")
        }
    }
    return limited(notes, count: count)
}

private func setNotes(_ got: [String], _ expected: [String]) -> [String] {
    let missing = Set(expected).subtracting(got).sorted().map { "missing \($0)" }
    let unexpected = Set(got).subtracting(expected).sorted().map { "unexpected \($0)" }
    return limited(missing + unexpected)
}

private func dictionaryNotes(_ got: Mirror, _ expected: Mirror) -> [String] {
    func values(_ mirror: Mirror) -> [String: String] {
        var values: [String: String] = [:]
        for child in mirror.children {
            let pair = Mirror(reflecting: child.value).children.map { $0.value }
            if pair.count == 2 { values[valueText(pair[0])] = valueText(pair[1]) }
        }
        return values
    }
    let gotValues = values(got)
    let expectedValues = values(expected)
    var notes: [String] = []
    for key in Set(gotValues.keys).union(expectedValues.keys).sorted() {
        switch (gotValues[key], expectedValues[key]) {
        case (let value?, let other?) where value != other:
            notes.append("value of \(key): got \(value) instead of \(other)")
        case (nil, let other?): notes.append("missing \(key): \(other)")
        case (let value?, nil): notes.append("unexpected \(key): \(value)")
        default: break
        }
    }
    return limited(notes)
}

private func fieldNotes(_ got: Mirror, _ expected: Mirror) -> [String] {
    guard got.children.count > 1 else { return [] }
    var notes: [String] = []
    for (one, other) in zip(got.children, expected.children) {
        let (gotField, expectedField) = (valueText(one.value), valueText(other.value))
        if gotField != expectedField {
            notes.append(".\(one.label ?? "?"): got \(gotField) instead of \(expectedField)")
        }
    }
    return limited(notes)
}

// MARK: - In-class tests

#if SELF_TESTS
enum ValueTextTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesErrors": testWritesErrors, "testLeavesDiscriminatorsOut": testLeavesDiscriminatorsOut,
            "testAbridgesLongValues": testAbridgesLongValues, "testNotesAreLimited": testNotesAreLimited,
        ]
            + .each("testWritesValuesAsSourceDoes", values, named: \.1) { expectEqual(valueText($0), $1) }
            + .each("testNotesSayWhereValuesDiffer", differences, named: \.notes.description) { row in
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

    private static func testWritesErrors() {
        expectEqual(errorText(Trouble.big(2)), "Trouble.big(2)")
        expectEqual(errorText(Trouble.small), "Trouble.small")
        expectEqual(errorText(Failure()), "Failure(line: 3)")
        expectEqual(errorText(Spoken()), "Spoken \"it broke\"")
    }

    private static func testLeavesDiscriminatorsOut() {
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

    private static func testNotesAreLimited() {
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
