// The sink that writes property lists in the old text form.

public import PlistStreaming

/// A sink that writes a property list in the text form of NeXTSTEP and OpenStep, to memory or to a file descriptor.
///
/// The text is ASCII: other characters are escaped as `\U00e9`, with two escapes for each character beyond U+FFFF.
/// Strings of letters, digits, `_`, `$` and `.` are written without quotes. The options choose the format of Booleans,
/// numbers and dates.
///
/// ```swift
/// var writer = OpenStepPlistWriter()
/// try writer.write(["title": "write", "id": "5"])
/// try writer.finish()
/// writer.text
/// ```
///
/// Messages outside the grammar of `PlistSink` throw `misuse` before anything is written. If writing to the descriptor
/// fails, the whole message throws `cannotWrite` and may be sent again.
public struct OpenStepPlistWriter: PlistSink, ~Copyable {
    private let options: OpenStepPlistWriterOptions
    private var output: PlistTextOutput
    private let indent: Int
    /// A Boolean value that indicates whether the innermost container has no element or member yet, and is an array.
    private var isFirst = true
    private var isInArray = false
    /// For each container around the innermost one, whether it is an array.
    private var outer: [Bool] = []

    /// Creates a writer to memory.
    public init(options: OpenStepPlistWriterOptions = OpenStepPlistWriterOptions()) {
        self.init(options: options, output: ByteOutput())
    }

    /// Creates a writer to a file descriptor. The caller remains responsible for closing it.
    ///
    /// The writer uses `bufferByteCount` bytes of memory, plus that of the longest value.
    public init(
        descriptor: Int32, bufferByteCount: Int = 1 << 16,
        options: OpenStepPlistWriterOptions = OpenStepPlistWriterOptions()
    ) {
        self.init(
            options: options, output: ByteOutput(descriptor: descriptor, bufferByteCount: bufferByteCount),
            bufferByteCount: bufferByteCount)
    }

    /// Creates a writer to an output, which ``returnOutput(_:)`` returns.
    init(options: OpenStepPlistWriterOptions, taking output: inout ByteOutput) {
        self.init(options: options, output: ByteOutput(capacity: 0), bufferByteCount: 1 << 16)
        output.isHolding = true
        swap(&self.output.bytes, &output)
    }

    /// Returns the output that the writer was created with.
    mutating func returnOutput(_ output: inout ByteOutput) {
        swap(&self.output.bytes, &output)
        output.isHolding = false
    }

    private init(options: OpenStepPlistWriterOptions, output: consuming ByteOutput, bufferByteCount: Int = .max) {
        self.options = options
        self.output = PlistTextOutput(output, depthLimit: options.depthLimit, bufferByteCount: bufferByteCount)
        indent = if case .pretty(let indent) = options.layout { max(0, indent) } else { -1 }
    }

    /// Ends the text: checks that it is complete, and writes the contents of the buffer.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for an open container or a missing value,
    ///   ``/PlistStreaming/StreamError/Kind/cannotWrite`` if writing to the descriptor fails; then `finish()` may be
    ///   called again.
    public mutating func finish() throws(StreamError) {
        try output.finish()
    }

    /// Discards the written text so that the next text can reuse the writer's memory.
    public mutating func reset() {
        output.reset()
        (isFirst, isInArray, outer) = (true, false, [])
    }

    /// The text in memory so far. For a writer to a descriptor, only the characters that it hasn't begun to write.
    public var text: String {
        // SAFETY: all appended text is ASCII or was checked.
        unsafe output.bytes.text
    }

    /// A copy of the bytes in memory so far.
    public var bytes: [UInt8] { output.bytes.bytes }

    /// Calls a closure with the bytes in memory so far.
    public func withBytes<Value, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try output.bytes.withBytes(body)
    }

    // MARK: Containers

    /// Writes `(`.
    public mutating func beginArray() throws(StreamError) {
        try output.begin(isDictionary: false)
        try begin("(", isArray: true)
    }

    /// Writes `)`.
    public mutating func endArray() throws(StreamError) {
        try output.end(isDictionary: false)
        try end(")")
    }

    /// Writes `{`.
    public mutating func beginDictionary() throws(StreamError) {
        try output.begin(isDictionary: true)
        try begin("{", isArray: false)
    }

    /// Writes `}`.
    public mutating func endDictionary() throws(StreamError) {
        try output.end(isDictionary: true)
        try end("}")
    }

    /// Writes a key and `=`.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/invalidText`` for a key that is not valid UTF-8.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        try checkUTF8(utf8)
        try output.key()
        try beginLine(output.grammar.depth)
        isFirst = false
        try appendString(utf8)
        try output.append(" = ")
    }

    private mutating func begin(_ bracket: StaticString, isArray: Bool) throws(StreamError) {
        try beginElement(depth: output.grammar.depth - 1)
        try output.append(bracket)
        outer.append(isInArray)
        (isInArray, isFirst) = (isArray, true)
    }

    private mutating func end(_ bracket: StaticString) throws(StreamError) {
        if !isFirst { try beginLine(output.grammar.depth) }
        try output.append(bracket)
        isInArray = outer.popLast() ?? false
        isFirst = false
        try endValue()
    }

    private mutating func beginLine(_ depth: Int) throws(StreamError) {
        guard indent >= 0 else { return }
        try output.append(0x0A)
        try output.append(0x20, count: depth * indent)
    }

    /// Writes the text before a value.
    private mutating func beginElement(depth: Int) throws(StreamError) {
        guard isInArray else { return }
        if !isFirst { try output.append(",") }
        isFirst = false
        try beginLine(depth)
    }

    /// Writes the text after a value.
    private mutating func endValue() throws(StreamError) {
        if output.grammar.depth == 0 {
            if indent >= 0 { try output.append(0x0A) }
        } else if !isInArray {
            try output.append(";")
        }
    }

    private mutating func beginValue() throws(StreamError) {
        try output.beginValue()
        try beginElement(depth: output.grammar.depth)
    }

    // MARK: Values

    /// Throws, because property lists have no null.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable``.
    public mutating func writeNull() throws(StreamError) {
        throw StreamError(.unrepresentable, "property lists have no null")
    }

    /// Writes a Boolean, if the options specify a format for it.
    public mutating func writeBool(_ value: Bool) throws(StreamError) {
        try writeScalar("B", value ? "Y" : "N", string: value ? "1" : "0")
    }

    /// Writes an integer, if the options specify a format for it.
    public mutating func writeInteger(_ value: Int64) throws(StreamError) { try writeScalar("I", "\(value)") }

    /// Writes an unsigned integer, if the options specify a format for it.
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { try writeScalar("I", "\(value)") }

    /// Writes a floating-point number, if the options specify a format for it.
    public mutating func writeReal(_ value: Double) throws(StreamError) {
        try writeScalar("R", PlistScalarText.text(ofReal: value))
    }

    /// Writes a number, if the options specify a format for it: an integer of up to 128 bits exactly, or a number with
    /// a fraction as the nearest double.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable`` for a larger number.
    public mutating func writeNumber(text: RawSpan) throws(StreamError) {
        switch try PlistScalarText.number(text) {
        case .integer(let digits): try writeScalar("I", digits)
        case .real(let value): try writeReal(value)
        }
    }

    /// Writes a date in UTC, if the options specify a format for it.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable``, also for a date with a fraction that the options
    ///   reject.
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        let text = try options.dateFractions.text(secondsSince2001: seconds)
        try writeScalar("D", text.replacing("T", with: " ") + " +0000")
    }

    private mutating func writeScalar(_ type: String, _ text: String, string: String? = nil) throws(StreamError) {
        switch options.scalars {
        case .reject:
            throw StreamError(
                .unrepresentable, "OpenStep property lists have strings and data only; change the option scalars")
        case .gnustep:
            try beginValue()
            try output.append("<*\(type)\(text)>")
            try endValue()
        case .strings:
            try (string ?? text).withUTF8Span { (text) throws(StreamError) in try writeString(text) }
        }
    }

    /// Writes a string, with quotes and escapes if it needs them.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/invalidText`` for text that is not valid UTF-8.
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        try checkUTF8(utf8)
        try beginValue()
        try appendString(utf8)
        try endValue()
    }

    /// Writes data as hexadecimal digits in groups of four bytes.
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        try beginValue()
        try output.append("<")
        for offset in bytes.byteOffsets {
            if offset > 0, offset & 3 == 0 { try output.append(0x20) }
            try appendHexadecimal(UInt32(bytes.byte(at: offset)), digitCount: 2)
        }
        try output.append(">")
        try endValue()
    }

    private mutating func appendHexadecimal(_ number: UInt32, digitCount: Int) throws(StreamError) {
        for index in (0..<digitCount).reversed() {
            let digit = UInt8(truncatingIfNeeded: number >> UInt32(4 * index) & 15)
            try output.append(digit < 10 ? 0x30 + digit : 0x61 + digit - 10)
        }
    }

    /// Returns whether a string can be written without quotes so that all readers accept it.
    private static func isPlain(_ utf8: RawSpan) -> Bool {
        guard utf8.byteCount > 0 else { return false }
        for offset in utf8.byteOffsets {
            switch utf8.byte(at: offset) {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "."): break
            default: return false
            }
        }
        return true
    }

    private mutating func appendString(_ utf8: RawSpan) throws(StreamError) {
        if Self.isPlain(utf8) { return try output.bytes.append(utf8) }
        guard let text = String(validating: utf8) else { return }
        try output.append("\"")
        for unit in text.utf16 {
            switch unit {
            case 0x22, 0x5C: try output.append("\\\(Character(UnicodeScalar(UInt8(unit))))")
            case 0x20...0x7E: try output.append(UInt8(truncatingIfNeeded: unit))
            case 0x07: try output.append("\\a")
            case 0x08: try output.append("\\b")
            case 0x09: try output.append("\\t")
            case 0x0A: try output.append("\\n")
            case 0x0B: try output.append("\\v")
            case 0x0C: try output.append("\\f")
            case 0x0D: try output.append("\\r")
            case ..<0x80:
                // Three digits, so that a following digit isn't read as part of the escape.
                for shift: UInt16 in [6, 3, 0] {
                    if shift == 6 { try output.append("\\") }
                    try output.append(UInt8(0x30 + (unit >> shift & 7)))
                }
            default:
                try output.append("\\U")
                try appendHexadecimal(UInt32(unit), digitCount: 4)
            }
        }
        try output.append("\"")
    }
}
