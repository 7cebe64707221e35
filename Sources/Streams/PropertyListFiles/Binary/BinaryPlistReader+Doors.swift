// More doors of the reader of binary property lists: arrays and data for those who have no span.

public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension BinaryPlistReader where Sink: ~Copyable {
    /// Takes the next chunk of the input, an array of bytes.
    ///
    /// - Throws: What ``feed(_:)-(RawSpan)`` throws.
    @inlinable  // PERF: so that the walk specialises for sinks of other packages; so are the others.
    public mutating func feed(_ bytes: [UInt8]) throws(StreamError) {
        try bytes.withRawSpan { bytes throws(StreamError) in try feed(bytes) }
    }

    /// Takes the next chunk of the input, such as one that came from a network.
    ///
    /// - Throws: What ``feed(_:)-(RawSpan)`` throws.
    @inlinable
    public mutating func feed(_ data: Data) throws(StreamError) {
        try feed(data.bytes)
    }
}

extension PlistSink where Self: ~Copyable {
    /// Receives a whole binary property list from data.
    ///
    /// - Throws: What ``readBinaryPlist(_:options:)-(RawSpan,_)`` throws.
    @inlinable
    public mutating func readBinaryPlist(
        _ data: Data, options: BinaryPlistReaderOptions = BinaryPlistReaderOptions()
    ) throws(StreamError) {
        try readBinaryPlist(data.bytes, options: options)
    }
}
