// More doors of the readers: arrays, strings, data and files for those who have no span.

public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension XMLReader where Sink: ~Copyable {
    /// Reads the next chunk of the input, an array of bytes.
    ///
    /// - Throws: What ``feed(_:)-(RawSpan)`` throws.
    @inlinable
    public mutating func feed(_ bytes: [UInt8]) throws(StreamError) {
        try bytes.withRawSpan { bytes throws(StreamError) in try feed(bytes) }
    }

    /// Reads the next chunk of the input, a string.
    ///
    /// Where the input begins with a string, the encoding that the document declares does not count.
    /// - Throws: What ``feed(_:)-(RawSpan)`` throws.
    @inlinable
    public mutating func feed(_ text: String) throws(StreamError) {
        if !text.isEmpty { scanner.takeText() }
        try text.withUTF8Span { bytes throws(StreamError) in try feed(bytes) }
    }

    /// Reads the next chunk of the input, such as one that came from a network.
    ///
    /// - Throws: What ``feed(_:)-(RawSpan)`` throws.
    @inlinable
    public mutating func feed(_ data: Data) throws(StreamError) {
        try feed(data.bytes)
    }
}

extension XMLSink where Self: ~Copyable {
    /// Receives a whole XML document.
    ///
    /// - Throws: The first error of the document or of this sink, with its position.
    /// - Complexity: O(*n*).
    @inlinable
    public mutating func readXML(
        _ bytes: RawSpan, options: XMLReaderOptions = XMLReaderOptions()
    ) throws(StreamError) {
        var scanner = XMLScanner(options: options)
        try scanner.feed(bytes, into: &self)
        try scanner.finish(into: &self)
    }

    /// Receives a whole XML document from an array of bytes.
    ///
    /// - Throws: The first error of the document or of this sink, with its position.
    @inlinable
    public mutating func readXML(
        _ bytes: [UInt8], options: XMLReaderOptions = XMLReaderOptions()
    ) throws(StreamError) {
        try bytes.withRawSpan { bytes throws(StreamError) in try readXML(bytes, options: options) }
    }

    /// Receives a whole XML document from a string, of which the encoding that it declares does not count.
    ///
    /// - Throws: The first error of the document or of this sink, with its position in the UTF-8 bytes.
    @inlinable
    public mutating func readXML(
        _ text: String, options: XMLReaderOptions = XMLReaderOptions()
    ) throws(StreamError) {
        var scanner = XMLScanner(options: options)
        scanner.takeText()
        try text.withUTF8Span { bytes throws(StreamError) in try scanner.feed(bytes, into: &self) }
        try scanner.finish(into: &self)
    }

    /// Receives a whole XML document from data.
    ///
    /// - Throws: The first error of the document or of this sink, with its position.
    @inlinable
    public mutating func readXML(_ data: Data, options: XMLReaderOptions = XMLReaderOptions()) throws(StreamError) {
        try readXML(data.bytes, options: options)
    }

    /// Receives a whole XML document from a file, in chunks and in memory that does not depend on its size.
    ///
    /// - Throws: The first error of the document or of this sink, with its position;
    ///   ``/PlistStreaming/StreamError/Kind/cannotRead`` when the file cannot be read.
    @inlinable
    public mutating func readXML(
        contentsOfFile path: String, options: XMLReaderOptions = XMLReaderOptions()
    ) throws(StreamError) {
        let file = try InputFile(path: path) { abandon(after: $0) }
        try readXML(file, options: options)
    }

    /// Receives a whole XML document from an open file or another descriptor, in chunks.
    ///
    /// - Throws: The first error of the document or of this sink, with its position;
    ///   ``/PlistStreaming/StreamError/Kind/cannotRead`` when the descriptor cannot be read.
    @inlinable
    public mutating func readXML(
        _ file: borrowing InputFile, options: XMLReaderOptions = XMLReaderOptions()
    ) throws(StreamError) {
        var scanner = XMLScanner(options: options)
        do throws(StreamError) {
            try file.readChunks { chunk throws(StreamError) in try scanner.feed(chunk, into: &self) }
        } catch {
            // Where the file cannot be read to its end; of its own errors the scanner has told.
            if scanner.failure == nil { abandon(after: error) }
            throw error
        }
        try scanner.finish(into: &self)
    }
}
