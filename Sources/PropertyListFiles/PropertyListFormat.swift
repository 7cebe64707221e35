// The three forms of property lists, told apart by their first bytes, and the doors for whichever it is.

public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A form of property lists.
public enum PropertyListFormat: Sendable, Hashable, CaseIterable {
    /// The binary form, `bplist00`.
    case binary
    /// XML with Apple's document type.
    case xml
    /// The text form of NeXTSTEP and OpenStep, with the types of GNUstep.
    case openStep

    /// Tells the form by the first bytes of an input.
    ///
    /// What begins with `bplist` is binary. What begins with `<?`, `<!` or `<plist`, after a byte order mark and whitespace, is XML, and
    /// so is what has the byte order mark or the first character of XML in UTF-16. All else is the old text form, whether it is valid or not.
    ///
    /// - Parameter firstBytes: The first bytes, of which 1,024 are looked at; or all, of a shorter input.
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
        if firstBytes.byteCount >= 2 {
            switch (firstBytes.byte(at: 0), firstBytes.byte(at: 1)) {
            case (0xFE, 0xFF), (0xFF, 0xFE), (0x00, 0x3C), (0x3C, 0x00):
                self = .xml
                return
            default: break
            }
        }
        var start = hasPrefix("\u{FEFF}", at: 0) ? 3 : 0
        while start < min(firstBytes.byteCount, Self.lookedAtByteCount) {
            let byte = firstBytes.byte(at: start)
            guard byte == 0x20 || (0x09...0x0D).contains(byte) else { break }
            start += 1
        }
        self = ["<?", "<!", "<plist"].contains { hasPrefix($0, at: start) } ? .xml : .openStep
    }

    /// The bytes that are looked at.
    static var lookedAtByteCount: Int { 1024 }
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

    /// Receives a whole property list of any form from an array of bytes.
    ///
    /// - Returns: The form.
    /// - Throws: The first error of the bytes or of this sink, with its position.
    @discardableResult
    public mutating func readPropertyList(
        _ bytes: [UInt8], limits: StreamLimits = .standard
    ) throws(StreamError) -> PropertyListFormat {
        try bytes.withSpan { (bytes) throws(StreamError) in try readPropertyList(bytes, limits: limits) }
    }

    /// Receives a whole property list in one of the text forms from a string.
    ///
    /// - Returns: The form.
    /// - Throws: The first error of the text or of this sink, with its position in the UTF-8 bytes.
    @discardableResult
    public mutating func readPropertyList(
        _ text: String, limits: StreamLimits = .standard
    ) throws(StreamError) -> PropertyListFormat {
        try text.withUTF8Span { (bytes) throws(StreamError) in try readPropertyList(bytes, limits: limits) }
    }

    /// Receives a whole property list of any form from data.
    ///
    /// - Returns: The form.
    /// - Throws: The first error of the bytes or of this sink, with its position.
    @discardableResult
    public mutating func readPropertyList(
        _ data: Data, limits: StreamLimits = .standard
    ) throws(StreamError) -> PropertyListFormat {
        try data.withSpan { (bytes) throws(StreamError) in try readPropertyList(bytes, limits: limits) }
    }

    /// Receives a whole property list of any form from a file: in chunks, unless it is binary.
    ///
    /// - Returns: The form.
    /// - Throws: The first error of the bytes or of this sink, with its position;
    ///   ``PlistStreaming/StreamError/Kind/cannotRead`` when the file cannot be read.
    @discardableResult
    public mutating func readPropertyList(
        contentsOfFile path: String, limits: StreamLimits = .standard
    ) throws(StreamError) -> PropertyListFormat {
        let format = try PropertyListFormat(ofFile: path)
        switch format {
        case .binary: try readBinaryPlist(contentsOfFile: path, options: BinaryPlistReaderOptions(limits: limits))
        case .xml: try readXMLPlist(contentsOfFile: path, options: XMLPlistReaderOptions(limits: limits))
        case .openStep: try readOpenStepPlist(contentsOfFile: path, options: OpenStepPlistReaderOptions(limits: limits))
        }
        return format
    }
}

extension PropertyListFormat {
    /// Tells the form of a file by its first bytes.
    ///
    /// - Throws: ``PlistStreaming/StreamError/Kind/cannotRead`` when the file cannot be read.
    public init(ofFile path: String) throws(StreamError) {
        let file = try InputFile(path: path)
        var format: PropertyListFormat?
        do throws(StreamError) {
            try file.readChunks(of: Self.lookedAtByteCount) { (chunk) throws(StreamError) in
                format = PropertyListFormat(firstBytes: chunk)
                throw StreamError.stopRequest()
            }
        } catch {
            if !error.isStopRequest { throw error }
        }
        self = format ?? .openStep
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension PropertyListFormat: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        ["testTellsForms": testTellsForms, "testReadsAnyForm": testReadsAnyForm]
    }

    private static func testTellsForms() {
        let rows: [(String, PropertyListFormat)] = [
            ("bplist00", .binary), ("bplist", .binary), ("bplis", .openStep), ("<?xml", .xml), (" \n<!DOCTYPE", .xml),
            ("\u{FEFF}\n<plist>", .xml), ("<", .openStep), ("<plis", .openStep), ("<0fbd>", .openStep), ("", .openStep),
            ("{a=b;}", .openStep), ("\0<", .xml), ("<\0", .xml), ("// <?xml", .openStep),
        ]
        for (text, format) in rows {
            expectEqual(text.withUTF8Span { PropertyListFormat(firstBytes: $0) }, format, text)
        }
    }

    private static func testReadsAnyForm() throws {
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
            expectEqual(try traces[2].readPropertyList(contentsOfFile: path), format, "format")
            expectEqual(traces.map(\.text), Array(repeating: script, count: 3), "messages of \(format)")
        }
        try Data().write(to: URL(fileURLWithPath: path))
        var trace = EventTrace()
        let empty = expectThrows(StreamError.self, "an empty file") { try trace.readPropertyList(contentsOfFile: path) }
        expectEqual(empty?.kind, .unexpectedEnd, "kind")
        let missing = expectThrows(StreamError.self, "no file") {
            try trace.readPropertyList(contentsOfFile: path + "x")
        }
        expectEqual(missing?.kind, .cannotRead, "kind")
    }
}
#endif
