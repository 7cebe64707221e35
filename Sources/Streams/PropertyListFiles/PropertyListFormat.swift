// The three forms of property lists, detection by their first bytes, and entry points for any form.

@_exported import PlistBuilding
@_exported import PlistCoding
@_exported import PlistStreaming

/// A form of property lists.
public enum PropertyListFormat: Sendable, Hashable, CaseIterable {
    /// The binary form, `bplist00`.
    case binary
    /// XML with Apple's document type.
    case xml
    /// The text form of NeXTSTEP and OpenStep, with the types of GNUstep.
    case openStep

    /// Determines the form from the first bytes of an input.
    ///
    /// Input that begins with `bplist` is binary. Input that begins with `<?`, `<!` or `<plist`, after a byte order
    /// mark and whitespace, is XML, and so is input that begins with `<` in UTF-16. Everything else is the old text
    /// form, whether it is valid or not.
    ///
    /// - Parameter firstBytes: The first bytes, of which at most 1,024 are examined, or the whole input if it is
    ///   shorter.
    public init(firstBytes: RawSpan) {
        func hasPrefix(_ text: String, at start: Int) -> Bool {
            let text = Array(text.utf8)
            guard start + text.count <= firstBytes.byteCount else { return false }
            return text.indices.allSatisfy { firstBytes.byte(at: start + $0) == text[$0] }
        }
        if hasPrefix("bplist", at: 0) {
            self = .binary
            return
        }
        if Self.isXMLInUTF16(firstBytes) {
            self = .xml
            return
        }
        var start = hasPrefix("\u{FEFF}", at: 0) ? 3 : 0
        while start < min(firstBytes.byteCount, Self.lookedAtByteCount) {
            let byte = firstBytes.byte(at: start)
            guard byte == 0x20 || (0x09...0x0D).contains(byte) else { break }
            start += 1
        }
        self = ["<?", "<!", "<plist"].contains { hasPrefix($0, at: start) } ? .xml : .openStep
    }

    /// Returns whether an input begins with `<` in UTF-16 of either byte order. Whitespace before it requires a byte
    /// order mark.
    private static func isXMLInUTF16(_ bytes: RawSpan) -> Bool {
        guard bytes.byteCount >= 2 else { return false }
        let first = (bytes.byte(at: 0), bytes.byte(at: 1))
        if first == (0x00, 0x3C) || first == (0x3C, 0x00) { return true }
        guard first == (0xFE, 0xFF) || first == (0xFF, 0xFE) else { return false }
        let low = first.0 == 0xFE ? 1 : 0
        var start = 2
        while start + 1 < min(bytes.byteCount, lookedAtByteCount), bytes.byte(at: start + 1 - low) == 0 {
            let byte = bytes.byte(at: start + low)
            guard byte == 0x20 || (0x09...0x0D).contains(byte) else { return byte == 0x3C }
            start += 2
        }
        return false
    }

    /// The number of bytes that are examined.
    static var lookedAtByteCount: Int { 1024 }
}

/// Property lists of any form, detected by the first bytes. They are written as XML.
///
/// ```swift
/// let settings = try AnyPropertyList.propertyList(from: .file("Info.plist"))
/// ```
public struct AnyPropertyList: DefaultFormat {
    /// The bounds of the input.
    public var limits: StreamLimits

    /// Creates the format with its default options.
    public init() { self.init(limits: .standard) }

    /// Creates the format.
    public init(limits: StreamLimits) { self.limits = limits }

    /// Reads a list and sends its messages to a sink: in chunks, unless it is binary.
    ///
    /// - Throws: The first error of the source, the list or the sink, with its position.
    public func read<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) {
        try sink.readPropertyList(source, limits: limits)
    }

    /// Writes contents as a property list in XML.
    public func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError) {
        try XMLPropertyList().write(content, to: &output)
    }
}

extension PlistSink where Self: ~Copyable {
    /// Receives a whole property list of any form.
    ///
    /// - Returns: The form.
    /// - Throws: The first error of the bytes or of this sink, with its position.
    @discardableResult
    public mutating func readPropertyList(
        _ bytes: RawSpan, limits: StreamLimits = .standard
    ) throws(StreamError) -> PropertyListFormat {
        let format = PropertyListFormat(firstBytes: bytes)
        switch format {
        case .binary: try readBinaryPlist(bytes, options: BinaryPlistReaderOptions(limits: limits))
        case .xml: try readXMLPlist(bytes, options: XMLPlistReaderOptions(limits: limits))
        case .openStep: try readOpenStepPlist(bytes, options: OpenStepPlistReaderOptions(limits: limits))
        }
        return format
    }

    /// Receives a whole property list of any form from a source: bytes, a string, a file or a descriptor.
    ///
    /// Reads the first 1,024 bytes to determine the form before it sends messages.
    /// - Returns: The form.
    /// - Throws: The first error of the source, the bytes or this sink, with its position.
    @discardableResult
    public mutating func readPropertyList(
        _ source: some ByteSource, limits: StreamLimits = .standard
    ) throws(StreamError) -> PropertyListFormat {
        var found: PropertyListFormat?
        _ = try source.withBytes { found = PropertyListFormat(firstBytes: $0) }
        if let found {
            try read(source, as: found, limits)
            return found
        }
        let input: InputWithBeginning
        do throws(StreamError) {
            input = try InputWithBeginning(source, byteCount: PropertyListFormat.lookedAtByteCount)
        } catch {
            cancel(with: error)
            throw error
        }
        let format = input.beginning.withRawSpan { PropertyListFormat(firstBytes: $0) }
        try read(input, as: format, limits)
        return format
    }

    private mutating func read(
        _ source: some ByteSource, as format: PropertyListFormat, _ limits: StreamLimits
    ) throws(StreamError) {
        switch format {
        case .binary: try readBinaryPlist(source, options: BinaryPlistReaderOptions(limits: limits))
        case .xml: try readXMLPlist(source, options: XMLPlistReaderOptions(limits: limits))
        case .openStep: try readOpenStepPlist(source, options: OpenStepPlistReaderOptions(limits: limits))
        }
    }
}

extension PropertyListFormat {
    /// Determines the form of a source from its first bytes, which are consumed if the source is a pipe. To determine
    /// the form and read everything, use ``AnyPropertyList``.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/cannotRead``.
    public init(of source: some ByteSource) throws(StreamError) {
        var found: PropertyListFormat?
        _ = try source.withBytes { found = PropertyListFormat(firstBytes: $0) }
        if let found {
            self = found
        } else {
            let input = try InputWithBeginning(source, byteCount: Self.lookedAtByteCount)
            self = input.beginning.withRawSpan { PropertyListFormat(firstBytes: $0) }
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import StreamingSystem
import Foundation
import InClassTesting

extension PropertyListFormat: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testDetectsFormats": testDetectsFormats,
            "testDetectsFormatsOfUTF16": testDetectsFormatsOfUTF16,
            "testReadsAnyFormat": testReadsAnyFormat,
            "testDetectsFormatsOfPipes": testDetectsFormatsOfPipes,
            "testReportsUnreadableFilesToTheSink": testReportsUnreadableFilesToTheSink,
        ]
    }

    private static func testDetectsFormats() {
        let rows: [(String, PropertyListFormat)] = [
            ("bplist00", .binary), ("bplist", .binary), ("bplis", .openStep), ("<?xml", .xml), (" \n<!DOCTYPE", .xml),
            ("\u{FEFF}\n<plist>", .xml), ("<", .openStep), ("<plis", .openStep), ("<0fbd>", .openStep), ("", .openStep),
            ("{a=b;}", .openStep), ("\0<", .xml), ("<\0", .xml), ("// <?xml", .openStep),
        ]
        for (text, format) in rows {
            expectEqual(text.withUTF8Span { PropertyListFormat(firstBytes: $0) }, format, text)
        }
    }

    private static func testReadsAnyFormat() throws {
        let script = "{ key \"a\" [ integer 1 string \"é\" data 00ff date 0.0 true real 0.5 ] }"
        var binary = BinaryPlistWriter()
        var xml = XMLPlistWriter()
        var old = OpenStepPlistWriter()
        try EventScript.send(script, to: &binary)
        try EventScript.send(script, to: &xml)
        try EventScript.send(script, to: &old)
        try binary.finish()
        try xml.finish()
        try old.finish()
        let path = try temporaryDirectory() + "/any.plist"
        for (format, bytes) in [(PropertyListFormat.binary, binary.bytes), (.xml, xml.bytes), (.openStep, old.bytes)] {
            var traces = [EventTrace](repeating: EventTrace(), count: 3)
            expectEqual(try traces[0].readPropertyList(bytes), format, "format")
            expectEqual(try traces[1].readPropertyList(Data(bytes)), format, "format")
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            expectEqual(try traces[2].readPropertyList(.file(path)), format, "format")
            expectEqual(traces.map(\.text), Array(repeating: script, count: 3), "messages of \(format)")
        }
        try Data().write(to: URL(fileURLWithPath: path))
        var trace = EventTrace()
        let empty = expectThrows(StreamError.self, "an empty file") { try trace.readPropertyList(.file(path)) }
        expectEqual(empty?.kind, .unexpectedEnd, "kind")
        let missing = expectThrows(StreamError.self, "no file") {
            try trace.readPropertyList(.file(path + "x"))
        }
        expectEqual(missing?.kind, .cannotRead, "kind")
    }

    private static func testDetectsFormatsOfUTF16() throws {
        let rows: [(String, PropertyListFormat)] = [
            ("<?xml", .xml), (" \n<plist", .xml), ("", .openStep), (" ", .openStep), ("\"a\" = \"b\";", .openStep),
            ("// <", .openStep), ("\u{3C00}", .openStep), ("\u{3C}", .xml),
            (String(repeating: " ", count: 1_024) + "<", .openStep),
        ]
        for (text, format) in rows {
            let units = Array(text.utf16)
            let big: [UInt8] = [0xFE, 0xFF] + units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            let little: [UInt8] = [0xFF, 0xFE] + units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
            for bytes in [big, little] {
                expectEqual(bytes.withRawSpan { PropertyListFormat(firstBytes: $0) }, format, text)
            }
        }
    }

    private static func testDetectsFormatsOfPipes() throws {
        let script = "{ " + (0..<300).map { "key \"k\($0)\" string \"v\" " }.joined() + "}"
        var binary = BinaryPlistWriter()
        var xml = XMLPlistWriter()
        var old = OpenStepPlistWriter()
        try EventScript.send(script, to: &binary)
        try EventScript.send(script, to: &xml)
        try EventScript.send(script, to: &old)
        try binary.finish()
        try xml.finish()
        try old.finish()
        for (format, bytes) in [(PropertyListFormat.binary, binary.bytes), (.xml, xml.bytes), (.openStep, old.bytes)] {
            for isPath in [true, false] {
                var ends: [Int32] = [-1, -1]
                // SAFETY: the array has two elements for the descriptors, and the count is that of the bytes.
                try requireEqual(unsafe pipe(&ends), 0, "pipe")
                defer { close(ends[0]) }
                // This number of bytes fits into a pipe.
                expectLessThan(bytes.count, 1 << 16, "bytes")
                expectEqual(unsafe write(ends[1], bytes, bytes.count), bytes.count, "written")
                close(ends[1])
                var trace = EventTrace()
                let told =
                    try isPath
                    ? trace.readPropertyList(.file("/dev/fd/\(ends[0])"))
                    : trace.readPropertyList(.descriptor(ends[0]))
                expectEqual(told, format, "form")
                expectTrue(trace.text == script, "messages of \(format)")
            }
        }
    }

    /// A sink that records the result it receives at the end.
    private struct ErrorRecorder: PartialSink {
        var errors: [StreamError] = []
        mutating func cancel(with error: StreamError) { errors.append(error) }
    }

    private static func testReportsUnreadableFilesToTheSink() {
        for path in ["/nonexistent/file", "/"] {
            var sinks = [ErrorRecorder](repeating: ErrorRecorder(), count: 4)
            let errors = [
                expectThrows(StreamError.self, "any form") { try sinks[0].readPropertyList(.file(path)) },
                expectThrows(StreamError.self, "binary") { try sinks[1].readBinaryPlist(.file(path)) },
                expectThrows(StreamError.self, "XML") { try sinks[2].readXMLPlist(.file(path)) },
                expectThrows(StreamError.self, "old text") { try sinks[3].readOpenStepPlist(.file(path)) },
            ]
            for (sink, error) in zip(sinks, errors) {
                expectEqual(error?.kind, .cannotRead, "kind")
                expectEqual(sink.errors.map(\.description), error.map { [$0.description] } ?? [], "what was told")
            }
        }
    }
}
#endif
