// Infers the types of columns from their fields: the narrowest type that holds every field without losing a digit.

import PlistBuilding
import PlistStreaming

/// The possible types of columns, based on the fields so far.
struct InferredTypes: Sendable {
    /// The types that can hold all fields so far.
    private struct Candidates: OptionSet {
        let rawValue: UInt8
        static let integer = Candidates(rawValue: 1)
        static let real = Candidates(rawValue: 2)
        static let bool = Candidates(rawValue: 4)
        /// Set until the first field that is not null.
        static let none = Candidates(rawValue: 8)
        static let all: Candidates = [.integer, .real, .bool, .none]
    }

    private var names: [String] = []
    private var candidates: [Candidates] = []

    init() {}

    /// Combines the results for parts of a text.
    init(joining parts: [InferredTypes]) {
        names = parts.first { !$0.names.isEmpty }?.names ?? []
        candidates = [Candidates](repeating: .all, count: names.count)
        for part in parts {
            for (index, found) in part.candidates.enumerated() where index < candidates.count {
                candidates[index].formIntersection(found)
            }
        }
    }

    /// Notes the fields of a chunk.
    mutating func note(_ chunk: RawSpan, _ cursor: CSVCursor) throws(StreamError) {
        try cursor.passRows(of: chunk) { (row) throws(StreamError) in note(row) }
        begin(cursor)
    }

    /// Notes the record that the end of the input completes.
    mutating func noteLast(_ cursor: CSVCursor) throws(StreamError) {
        try cursor.passLastRow { (row) throws(StreamError) in note(row) }
        begin(cursor)
    }

    private mutating func begin(_ cursor: CSVCursor) {
        guard names.isEmpty, cursor.width >= 0 else { return }
        // Columns without names are numbered from 1.
        names = cursor.header?.names ?? (0..<cursor.width).map { "\($0 + 1)" }
        while candidates.count < names.count { candidates.append(.all) }
    }

    private mutating func note(_ row: borrowing CSVRow) {
        while candidates.count < row.count { candidates.append(.all) }
        for field in 0..<row.count where candidates[field] != [] {
            // PERF: CSV/columns; most fields are short integers, or in a text column.
            let text = row[field]
            if text.byteCount == 0 && !row.isQuoted(at: field) { continue }
            if row.isShortInteger(at: field) {
                candidates[field].formIntersection([.integer, .real])
            } else {
                candidates[field].formIntersection(row.isQuoted(at: field) ? [] : Self.candidates(for: text))
            }
        }
    }

    /// Returns the types that can hold an unquoted text.
    private static func candidates(for text: RawSpan) -> Candidates {
        guard let number = DecimalNumber(text) else {
            return text.equals("true") || text.equals("false") ? .bool : []
        }
        let isZero = number.mantissa == 0 && !number.isTruncated
        var found: Candidates = []
        if number.isInteger, !(isZero && number.isNegative), NumberText.integer(text, as: Int64.self) != nil {
            found = .integer
        }
        if isZero || isReal(number, text) { found.insert(.real) }
        return found
    }

    /// Returns whether a double represents a number, and no other number with the same number of digits.
    private static func isReal(_ number: DecimalNumber, _ text: RawSpan) -> Bool {
        guard let value = NumberText.real(text, as: Double.self), value != 0, !number.isTruncated else { return false }
        // SPEC: IEEE 754; a decimal of 15 digits survives the conversion to a double that isn't subnormal and back.
        if number.mantissa < 1_000_000_000_000_000, value.magnitude >= 0x1p-1022 { return true }
        return NumberText.isShortest(text, of: value)
    }

    /// Returns the columns that the options select, or all columns.
    ///
    /// - Throws: `unknownMember` for a column that doesn't exist.
    func columns(_ options: CSVReaderOptions) throws(StreamError) -> [(name: String, type: ColumnType)] {
        let header = CSVHeader(names)
        var columns: [(name: String, type: ColumnType)] = []
        for name in options.columns ?? names {
            let found = candidates[try header.requiredIndex(of: name)]
            let type: ColumnType =
                found == .all
                ? .string
                : found.contains(.integer)
                    ? .integer : found.contains(.real) ? .real : found.contains(.bool) ? .bool : .string
            columns.append((name, type))
        }
        return columns
    }
}
