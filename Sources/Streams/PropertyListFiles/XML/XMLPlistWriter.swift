// The sink that writes property lists in XML.

public import PlistStreaming
import XMLStreaming

/// A sink that writes a property list in XML with Apple's document type, to memory or to a file descriptor.
///
/// The layout is that of Foundation and plistlib: a line for each value, indented by tabs, and data in Base64 in lines
/// of 76 columns. Characters that XML can't represent throw an error: control characters other than tab, line feed and
/// carriage return, and the two noncharacters U+FFFE and U+FFFF. A carriage return is written as a reference, because
/// readers otherwise convert it to a line feed.
///
/// ```swift
/// var writer = XMLPlistWriter()
/// try writer.write(["title": "write"])
/// try writer.finish()
/// writer.text
/// ```
///
/// Messages outside the grammar of `PlistSink` throw `misuse` before anything is written. If writing to the descriptor
/// fails, the whole message throws `cannotWrite` and may be sent again.
public struct XMLPlistWriter: PlistSink, ~Copyable {
    private let options: XMLPlistWriterOptions
    private var output: PlistTextOutput
    /// For each open container, whether it is a dictionary; and whether the innermost one is still empty.
    private var open: [Bool] = []
    private var isEmpty = false

    /// Creates a writer to memory.
    public init(options: XMLPlistWriterOptions = XMLPlistWriterOptions()) {
        self.init(options: options, output: ByteOutput())
    }

    /// Creates a writer to a file descriptor. The caller remains responsible for closing it.
    ///
    /// The writer uses `bufferByteCount` bytes of memory, plus that of the longest value.
    public init(
        descriptor: Int32, bufferByteCount: Int = 1 << 16, options: XMLPlistWriterOptions = XMLPlistWriterOptions()
    ) {
        self.init(
            options: options, output: ByteOutput(descriptor: descriptor, bufferByteCount: bufferByteCount),
            bufferByteCount: bufferByteCount)
    }

    /// Creates a writer to an output, which ``returnOutput(_:)`` returns.
    init(options: XMLPlistWriterOptions, taking output: inout ByteOutput) {
        self.init(options: options, output: ByteOutput(capacity: 0), bufferByteCount: 1 << 16)
        output.isHolding = true
        swap(&self.output.bytes, &output)
    }

    /// Returns the output that the writer was created with.
    mutating func returnOutput(_ output: inout ByteOutput) {
        swap(&self.output.bytes, &output)
        output.isHolding = false
    }

    private init(options: XMLPlistWriterOptions, output: consuming ByteOutput, bufferByteCount: Int = .max) {
        self.options = options
        self.output = PlistTextOutput(output, depthLimit: options.depthLimit, bufferByteCount: bufferByteCount)
    }

    /// Ends the text: checks that it is complete, and writes its last line and the contents of the buffer.
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
        (open, isEmpty) = ([], false)
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

    /// Writes `<array>`.
    public mutating func beginArray() throws(StreamError) { try begin(isDictionary: false) }

    /// Writes `</array>`, or `<array/>` if it is empty.
    public mutating func endArray() throws(StreamError) { try end(isDictionary: false) }

    /// Writes `<dict>`.
    public mutating func beginDictionary() throws(StreamError) { try begin(isDictionary: true) }

    /// Writes `</dict>`, or `<dict/>` if it is empty.
    public mutating func endDictionary() throws(StreamError) { try end(isDictionary: true) }

    /// Writes a key.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable`` if the key contains a character that XML doesn't
    ///   have, ``/PlistStreaming/StreamError/Kind/invalidText`` if it isn't valid UTF-8.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        try WrittenText.check(utf8, in: "a key")
        try output.key()
        try beginLine()
        try output.append("<key>")
        try WrittenText.append(utf8, in: .content, to: &output.bytes)
        try output.append("</key>\n")
    }

    private mutating func begin(isDictionary: Bool) throws(StreamError) {
        try output.begin(isDictionary: isDictionary)
        try beginLine()
        // The first element or the end determines how the tag continues.
        open.append(isDictionary)
        isEmpty = true
    }

    private mutating func end(isDictionary: Bool) throws(StreamError) {
        try output.end(isDictionary: isDictionary)
        open.removeLast()
        if isEmpty {
            try output.append(isDictionary ? "<dict/>\n" : "<array/>\n")
        } else {
            try output.append(0x09, count: open.count)
            try output.append(isDictionary ? "</dict>\n" : "</array>\n")
        }
        isEmpty = false
        try endValue()
    }

    /// Writes the text before a value or a key: the beginning of the text or of the container, and tabs.
    private mutating func beginLine() throws(StreamError) {
        if open.isEmpty {
            try output.append("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
            try output.append("<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" ")
            try output.append("\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n")
        }
        if isEmpty, let isDictionary = open.last { try output.append(isDictionary ? "<dict>\n" : "<array>\n") }
        isEmpty = false
        try output.append(0x09, count: open.count)
    }

    private mutating func endValue() throws(StreamError) {
        if open.isEmpty { try output.append("</plist>\n") }
    }

    // MARK: Values

    /// Throws, because property lists have no null.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable``.
    public mutating func writeNull() throws(StreamError) {
        throw StreamError(.unrepresentable, "property lists have no null")
    }

    /// Writes `<true/>` or `<false/>`.
    public mutating func writeBool(_ value: Bool) throws(StreamError) {
        try output.beginValue()
        try beginLine()
        try output.append(value ? "<true/>\n" : "<false/>\n")
        try endValue()
    }

    /// Writes an integer.
    public mutating func writeInteger(_ value: Int64) throws(StreamError) { try write("\(value)", in: "integer") }

    /// Writes an unsigned integer.
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { try write("\(value)", in: "integer") }

    /// Writes a floating-point number with the fewest digits that read back as the same double, or `nan`, `+infinity`
    /// or `-infinity`.
    public mutating func writeReal(_ value: Double) throws(StreamError) {
        try write(PlistScalarText.text(ofReal: value), in: "real")
    }

    /// Writes a number: an integer of up to 128 bits exactly, or a number with a fraction or exponent as the nearest
    /// double.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable`` for a larger number.
    public mutating func writeNumber(text: RawSpan) throws(StreamError) {
        switch try PlistScalarText.number(text) {
        case .integer(let digits): try write(digits, in: "integer")
        case .real(let value): try writeReal(value)
        }
    }

    /// Writes a date in UTC.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable`` for a date outside the years 0 to 9999, or for a
    ///   fraction of a second that the options reject.
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try write(try options.dateFractions.text(secondsSince2001: seconds) + "Z", in: "date")
    }

    /// Writes a string.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable`` if the string contains a character that XML
    ///   doesn't have, ``/PlistStreaming/StreamError/Kind/invalidText`` if it isn't valid UTF-8.
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        try WrittenText.check(utf8, in: "a string")
        try output.beginValue()
        try beginLine()
        try output.append("<string>")
        try WrittenText.append(utf8, in: .content, to: &output.bytes)
        try output.append("</string>\n")
        try endValue()
    }

    /// Writes data in Base64.
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        try output.beginValue()
        try beginLine()
        try output.append("<data>\n")
        // 76 columns including tabs of 8 columns each, and at least three groups of four characters, as in Foundation.
        let lineByteCount = max(12, 76 - 8 * open.count) / 4 * 3
        for start in stride(from: 0, to: bytes.byteCount, by: lineByteCount) {
            try output.append(0x09, count: open.count)
            let line = bytes.extracting(start..<min(start + lineByteCount, bytes.byteCount))
            try Base64Text.write(line, to: &output.bytes)
            try output.append("\n")
        }
        try output.append(0x09, count: open.count)
        try output.append("</data>\n")
        try endValue()
    }

    private mutating func write(_ text: String, in element: String) throws(StreamError) {
        try output.beginValue()
        try beginLine()
        try output.append("<\(element)>\(text)</\(element)>\n")
        try endValue()
    }
}
