// Determines how the affinity of a column changes inserted values, and so which values it stores unchanged.

import PlistBuilding
import PlistStreaming

// SPEC: https://sqlite.org/datatype3.html section 3. SQLite converts text to a number if all of it is one, a real with an
// integer's value to the equal integer, and numbers to text, reals with 15 digits.
extension SQLiteColumn.Affinity {
    /// Describes a value that would be changed by storing it; nil if it would be read back unchanged.
    ///
    /// A number of equal value is the same, and so are an integer and its digits: the text `7`, but not `007`, in a column of
    /// integers. A number that comes by its text is asked for as what is kept of it.
    ///
    /// - Parameter keepingTypes: Whether a number and its digits are different values, and 0.0 and -0.0 are.
    func change(of message: ScalarMessage, keepingTypes: Bool = false) -> String? {
        switch unsafe (self, message) {
        case (.blob, _):
            return nil
        case (.text, .integer), (.text, .unsigned):
            return keepingTypes ? "an integer, which would become text" : nil
        case (.text, .bool(let value)):
            return "\(value), which would become text"
        case (.text, .real):
            return "a real, which would become text of 15 digits"
        case (.real, .integer(let value)):
            return Int64(exactly: Double(value)) == value ? nil : "integer \(value), which would be rounded"
        case (.real, .unsigned(let value)):
            return UInt64(exactly: Double(value)) == value ? nil : "integer \(value), which would be rounded"
        case (_, .real(let value)):
            return keepingTypes && value == 0 && value.sign == .minus ? "-0.0, which would become 0" : nil
        case (.integer, .string(let text)), (.numeric, .string(let text)):
            if unsafe !NumericText.isNumber(text) { return nil }
            if keepingTypes { return "a text that would become a number" }
            return unsafe NumericText.isInteger(text)
                ? nil : "a text that would become a number with other digits"
        case (.real, .string(let text)):
            return unsafe NumericText.isNumber(text) ? "a text that would become a real" : nil
        default:
            return nil
        }
    }

    /// The kind of values that a column has to store.
    package enum Content {
        case integers, reals, text
        /// Dates as text that isn't a number.
        case dates
        case blobs
        /// Values of all kinds, each stored as its own kind.
        case anything
    }

    /// Returns whether all values of a kind are read back as equal ones. A column of numbers isn't accepted for dates as
    /// text, although it would store them unchanged.
    package func keeps(_ content: Content) -> Bool {
        switch content {
        case .integers: self != .text && self != .real
        case .reals: self != .text
        case .text: self == .text || self == .blob
        case .dates: self != .real && self != .integer
        case .blobs: true
        case .anything: self == .blob
        }
    }
}

/// Texts that SQLite reads as numbers.
package enum NumericText {
    /// Returns whether a text is an integer of 64 bits in SQLite's own notation.
    static func isInteger(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count <= 20, let value = unsafe Int64(String(decoding: text, as: UTF8.self)) else { return false }
        return unsafe text.elementsEqual("\(value)".utf8)
    }

    /// Returns whether SQLite reads a whole text as a number.
    package static func isNumber(_ text: String) -> Bool {
        // SAFETY: the bytes do not leave the closure.
        text.withUTF8Span { span in unsafe span.withUnsafeBytes { unsafe isNumber($0) } }
    }

    // SPEC: sqlite3AtoF of sqlite/src/util.c: spaces, a sign, digits with a point among them, an exponent, spaces.
    /// Returns whether SQLite reads a whole text as a number.
    static func isNumber(_ text: UnsafeRawBufferPointer) -> Bool {
        var index = text.startIndex
        func isAt(_ bytes: StaticString) -> Bool {
            guard index < text.endIndex else { return false }
            let byte = unsafe text[index]
            return unsafe UnsafeBufferPointer(start: bytes.utf8Start, count: bytes.utf8CodeUnitCount).contains(byte)
        }
        func skip(_ bytes: StaticString) -> Int {
            let start = index
            while isAt(bytes) { index += 1 }
            return index - start
        }
        let (spaces, digits): (StaticString, StaticString) = (" \t\n\u{B}\u{C}\r", "0123456789")
        _ = skip(spaces)
        if isAt("+-") { index += 1 }
        var digitCount = skip(digits)
        if isAt(".") {
            index += 1
            digitCount += skip(digits)
        }
        guard digitCount > 0 else { return false }
        if isAt("eE") {
            index += 1
            if isAt("+-") { index += 1 }
            guard skip(digits) > 0 else { return false }
        }
        _ = skip(spaces)
        return index == text.endIndex
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension NumericText: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testRecognizesSameNumbersAsSQLite": testRecognizesSameNumbersAsSQLite,
            "testPredictsTextsKeptBySQLite": testPredictsTextsKeptBySQLite,
            "testPredictsContentsKeptBySQLite": testPredictsContentsKeptBySQLite,
        ]
    }

    /// Texts with all notations of numbers, and texts that are almost numbers.
    private static var samples: [String] {
        var samples = [
            "", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "0x1",
            "1_0",
            "1e400", "Inf", "nan", "1e5e5", "1.5.5", "--1", "+ 1", "1 1", "é", "１", "1\u{A0}", "true",
        ]
        let parts: [[String]] = [
            ["", " ", "\t\u{B}", "x"], ["", "-", "+"], ["", "0", "7", "007", "10"], ["", ".", ".5", ".0"],
            ["", "e", "e1", "E-", "e+02"],
            ["", " ", "\n\r\u{C}", "x"],
        ]
        var made = [""]
        for choices in parts { made = made.flatMap { start in choices.map { start + $0 } } }
        samples += made
        return samples
    }

    private static func testRecognizesSameNumbersAsSQLite() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE t (n NUMERIC)")
        let statement = try connection.prepare("INSERT INTO t VALUES (?) RETURNING typeof(n) <> 'text', n = ?1 || ''")
        var numberCount = 0
        for text in samples {
            try statement.bind([text])
            try requireTrue(try statement.step(), text)
            let isNumber = statement.integer(at: 0) != 0
            statement.reset()
            expectEqual(Self.isNumber(text), isNumber, text.debugDescription)
            numberCount += isNumber ? 1 : 0
        }
        expectTrue(numberCount > 500, "\(numberCount) numbers")
    }

    private static func testPredictsTextsKeptBySQLite() throws {
        for affinity in ["INTEGER", "NUMERIC", "REAL", "TEXT", "BLOB"] {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute("CREATE TABLE t (a \(affinity))")
            let rule = try requireNotNil(try connection.columns(ofTable: "t").first?.affinity, affinity)
            let statement = try connection.prepare(
                "INSERT INTO t VALUES (?) RETURNING CAST(a AS TEXT) = CAST(?1 AS TEXT)")
            // Text is kept unchanged if the stored value has the same text.
            for text in samples {
                try statement.bind([text])
                try requireTrue(try statement.step(), text)
                let isKept = statement.integer(at: 0) != 0
                statement.reset()
                var copy = text
                copy.withUTF8 { bytes in
                    guard unsafe rule.change(of: .string(UnsafeRawBufferPointer(bytes))) == nil else { return }
                    expectTrue(isKept, "\(text.debugDescription) in \(affinity)")
                }
            }
            for value in [0, 1, -1, 1 << 53, 1 << 53 + 1, -(1 << 53) - 1, 1 << 62 + 1, .max, .min] {
                let stored = try connection.value("INSERT INTO t VALUES (?) RETURNING a", [value])
                let isKept =
                    stored == .integer(Int64(value)) || stored == .text("\(value)")
                    || stored.map { Int64(exactly: $0.real ?? 0.5) == Int64(value) } == true
                expectEqual(unsafe rule.change(of: .integer(Int64(value))) == nil, isKept, "\(value) in \(affinity)")
            }
        }
    }

    private static func testPredictsContentsKeptBySQLite() throws {
        let rows: [(SQLiteColumn.Affinity.Content, [SQLiteValue])] = [
            (.integers, [1, -1, .integer(1 << 53 + 1), .integer(.max)]), (.reals, [1.5, 2.0, 1e300, .real(0.1 + 0.2)]),
            (.text, ["7", "007", "1.0", "a"]), (.dates, ["2026-11-21 06:38:16.250"]), (.blobs, [.blob([0x37])]),
            (.anything, [7, 7.5, "7", .blob([0x37])]),
        ]
        for affinity in ["INTEGER", "NUMERIC", "REAL", "TEXT", "BLOB"] {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute("CREATE TABLE t (a \(affinity))")
            let rule = try requireNotNil(try connection.columns(ofTable: "t").first?.affinity, affinity)
            for (content, values) in rows {
                let isKept = try values.allSatisfy { value in
                    try connection.run("DELETE FROM t")
                    try connection.run("INSERT INTO t VALUES (?)", [value])
                    return try connection.value("SELECT +a IS ? FROM t", [value]) == 1
                }
                let isExpected = content == .dates ? rule != .integer && rule != .real : isKept
                expectEqual(rule.keeps(content), isExpected, "\(content) in \(affinity)")
                expectTrue(isKept || !rule.keeps(content), "\(content) that \(affinity) changes")
            }
        }
    }
}
#endif
