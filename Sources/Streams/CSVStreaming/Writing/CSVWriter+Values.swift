// Writes the texts of values, and decides which fields are in quotes.

import PlistBuilding
public import PlistStreaming

extension CSVWriter {
    /// Writes an empty field.
    public mutating func writeNull() throws(StreamError) {
        try beginField()
        endField()
    }

    /// Writes `true` or `false`.
    ///
    /// - Throws: `unrepresentable` if one of its bytes is special in the dialect. The functions for numbers throw the
    ///   same error.
    public mutating func writeBool(_ value: Bool) throws(StreamError) { try write(value ? "true" : "false", .bare) }

    /// Writes an integer.
    public mutating func writeInteger(_ value: Int64) throws(StreamError) { try write("\(value)", .bare) }

    /// Writes an unsigned integer.
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { try write("\(value)", .bare) }

    /// Writes a double with the fewest digits that read back as the same double, always with a point or an exponent.
    ///
    /// - Throws: `unrepresentable` for NaN and the infinities.
    public mutating func writeReal(_ value: Double) throws(StreamError) {
        guard value.isFinite else {
            throw atField(StreamError(.unrepresentable, "expected a finite number, got \(value)"))
        }
        try write(NumberText.text(of: value), .bare)
    }

    /// Writes the text of a number unchanged.
    ///
    /// - Throws: `misuse` if the text isn't a JSON number.
    public mutating func writeNumber(text: RawSpan) throws(StreamError) {
        guard DecimalNumber(text) != nil else {
            throw StreamError(.misuse, "expected a JSON number, got \(ShownText.quoted(text))")
        }
        try beginField()
        try write(text, .bare)
        endField()
    }

    /// Writes a string, in quotes if necessary.
    ///
    /// - Throws: `invalidText` if the text isn't UTF-8, `unrepresentable` if it needs quotes and the dialect has no
    ///   quote byte.
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        guard utf8.isValidUTF8 else {
            throw atField(StreamError(.invalidText, "the string is not valid UTF-8"))
        }
        try beginField()
        try write(utf8, .text)
        endField()
    }

    /// Writes bytes as Base64 (RFC 4648 section 4).
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        try Base64Text.string(of: bytes).withUTF8Span { text throws(StreamError) in try writeString(text) }
    }

    /// Writes a date in RFC 3339 format in UTC, with as many digits of a second as needed to read back the same date,
    /// at most nine.
    ///
    /// - Throws: `unrepresentable` for dates outside the years 0 to 9999.
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        guard let text = DateText.rfc3339(secondsSince2001: seconds) else {
            throw atField(
                StreamError(
                    .unrepresentable, "expected a date from year 0 to 9999, got \(seconds) seconds since 2001"))
        }
        try write(text, .either)
    }

    private mutating func write(_ text: String, _ form: FieldQuoting.Form) throws(StreamError) {
        try beginField()
        try text.withUTF8Span { text throws(StreamError) in try write(text, form) }
        endField()
    }

    private mutating func write(_ text: RawSpan, _ form: FieldQuoting.Form) throws(StreamError) {
        do throws(StreamError) {
            try FieldQuoting(options).write(text, form, isFirst: isFirstColumn, to: &line)
        } catch {
            throw atField(error)
        }
    }
}

/// The rules for quoting fields.
struct FieldQuoting {
    private let options: CSVWriterOptions

    /// The kind of a text, which determines whether it is quoted.
    enum Form {
        /// A string, which must be read back as a string.
        case text
        /// A number or a Boolean, which must not be in quotes.
        case bare
        /// A name or a date, which means the same with and without quotes.
        case either
    }

    init(_ options: CSVWriterOptions) { self.options = options }

    /// Appends the text of a field.
    ///
    /// - Parameter isFirst: A Boolean value that indicates whether the field is the first one of its line, where bytes
    ///   may begin a comment or a byte order mark.
    /// - Throws: `unrepresentable` if the text needs quotes and the dialect has no quote byte, or if the value must not
    ///   be in quotes.
    func write(_ text: RawSpan, _ form: Form, isFirst: Bool, to output: inout ByteOutput) throws(StreamError) {
        guard options.quoting == .all || needsQuotes(text, isFirst) || form == .text && isAmbiguous(text) else {
            return try output.append(text)
        }
        if form == .bare, options.quoting != .all {
            throw StreamError(.unrepresentable, "the value needs quotes, which make it a string")
        }
        guard let quote = options.dialect.quote else {
            if !needsQuotes(text, isFirst) { return try output.append(text) }
            throw StreamError(.unrepresentable, "the text needs quotes, but the dialect has none")
        }
        try output.append(quote)
        var start = 0
        for offset in 0..<text.byteCount where text.byte(at: offset) == quote {
            try output.append(text.extracting(start..<offset + 1))
            try output.append(quote)
            start = offset + 1
        }
        try output.append(text.extracting(start..<text.byteCount))
        try output.append(quote)
    }

    private func needsQuotes(_ text: RawSpan, _ isFirst: Bool) -> Bool {
        let dialect = options.dialect
        if isFirst, text.byteCount > 0 {
            let first = text.byte(at: 0)
            if first == dialect.comment || first == 0xEF { return true }
        }
        for offset in 0..<text.byteCount {
            let byte = text.byte(at: offset)
            if byte == dialect.delimiter || byte == dialect.quote || byte == 0x0A || byte == 0x0D { return true }
        }
        return false
    }

    /// Returns whether an unquoted text would be read as null, a Boolean or a number.
    private func isAmbiguous(_ text: RawSpan) -> Bool {
        guard text.byteCount > 0 else { return true }
        switch text.byte(at: 0) {
        case UInt8(ascii: "t"): return text.equals("true")
        case UInt8(ascii: "f"): return text.equals("false")
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return unsafe text.withUnsafeBytes { unsafe ScalarMessage(exactNumberIn: $0) != nil }
        default: return false
        }
    }
}
