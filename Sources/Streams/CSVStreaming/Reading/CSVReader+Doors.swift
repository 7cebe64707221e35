// More doors of the readers: arrays, strings and data for those who have no span.

public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension CSVReader where Sink: ~Copyable {
    /// Reads the next chunk of the input, an array of bytes.
    ///
    /// - Throws: What ``feed(_:)-(RawSpan)`` throws.
    @inlinable  // PERF: so that the loop over messages specialises for sinks of other packages; so are the others.
    public mutating func feed(_ bytes: [UInt8]) throws(StreamError) {
        try bytes.withRawSpan { bytes throws(StreamError) in try feed(bytes) }
    }

    /// Reads the next chunk of the input, a string.
    ///
    /// - Throws: What ``feed(_:)-(RawSpan)`` throws.
    @inlinable
    public mutating func feed(_ text: String) throws(StreamError) {
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

extension CSVRowReader {
    /// Reads the next chunk of the input, an array of bytes, and lends the records that it completes.
    ///
    /// - Throws: What ``feed(_:_:)-(RawSpan,_)`` throws.
    public mutating func feed(
        _ bytes: [UInt8], _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        try bytes.withRawSpan { bytes throws(StreamError) in try feed(bytes, body) }
    }

    /// Reads the next chunk of the input, a string, and lends the records that it completes.
    ///
    /// - Throws: What ``feed(_:_:)-(RawSpan,_)`` throws.
    public mutating func feed(
        _ text: String, _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        try text.withUTF8Span { bytes throws(StreamError) in try feed(bytes, body) }
    }

    /// Reads the next chunk of the input, such as one from a network, and lends the records that it completes.
    ///
    /// - Throws: What ``feed(_:_:)-(RawSpan,_)`` throws.
    public mutating func feed(
        _ data: Data, _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        try feed(data.bytes, body)
    }
}

extension PlistSink where Self: ~Copyable {
    /// Receives a whole delimited text from data.
    ///
    /// - Throws: What ``readCSV(_:options:)-(RawSpan,_)`` throws.
    @inlinable
    public mutating func readCSV(_ data: Data, options: CSVReaderOptions = CSVReaderOptions()) throws(StreamError) {
        try readCSV(data.bytes, options: options)
    }
}
