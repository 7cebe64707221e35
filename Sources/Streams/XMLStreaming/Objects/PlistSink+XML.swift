// The doors by which sinks of property-list messages receive whole XML documents.

public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PlistSink where Self: ~Copyable {
    /// Receives a whole XML document, as ``XMLMessages`` sends it.
    ///
    /// - Throws: The first error of the document or of this sink, with its position: that of an error of a record is where the record ends.
    /// - Complexity: O(*n*) in the bytes; memory for one record at a time.
    public mutating func readXML(
        _ bytes: RawSpan, options: XMLReaderOptions = XMLReaderOptions(),
        objectOptions: XMLObjectOptions = XMLObjectOptions()
    ) throws(StreamError) {
        try receive(objectOptions) { (messages) throws(StreamError) in try messages.readXML(bytes, options: options) }
    }

    /// Receives a whole XML document from an array of bytes.
    ///
    /// - Throws: What the other forms throw.
    public mutating func readXML(
        _ bytes: [UInt8], options: XMLReaderOptions = XMLReaderOptions(),
        objectOptions: XMLObjectOptions = XMLObjectOptions()
    ) throws(StreamError) {
        try receive(objectOptions) { (messages) throws(StreamError) in try messages.readXML(bytes, options: options) }
    }

    /// Receives a whole XML document from a string.
    ///
    /// - Throws: What the other forms throw.
    public mutating func readXML(
        _ text: String, options: XMLReaderOptions = XMLReaderOptions(),
        objectOptions: XMLObjectOptions = XMLObjectOptions()
    ) throws(StreamError) {
        try receive(objectOptions) { (messages) throws(StreamError) in try messages.readXML(text, options: options) }
    }

    /// Receives a whole XML document from data.
    ///
    /// - Throws: What the other forms throw.
    public mutating func readXML(
        _ data: Data, options: XMLReaderOptions = XMLReaderOptions(),
        objectOptions: XMLObjectOptions = XMLObjectOptions()
    ) throws(StreamError) {
        try receive(objectOptions) { (messages) throws(StreamError) in try messages.readXML(data, options: options) }
    }

    /// Receives a whole XML document from a file, in chunks.
    ///
    /// - Throws: What the other forms throw; ``/PlistStreaming/StreamError/Kind/cannotRead`` when the file cannot be read.
    public mutating func readXML(
        contentsOfFile path: String, options: XMLReaderOptions = XMLReaderOptions(),
        objectOptions: XMLObjectOptions = XMLObjectOptions()
    ) throws(StreamError) {
        try receive(objectOptions) { (messages) throws(StreamError) in
            try messages.readXML(contentsOfFile: path, options: options)
        }
    }

    /// Receives a whole XML document from an open file or another descriptor, in chunks.
    ///
    /// - Throws: What the other forms throw; ``/PlistStreaming/StreamError/Kind/cannotRead`` when the descriptor cannot be read.
    public mutating func readXML(
        _ file: borrowing InputFile, options: XMLReaderOptions = XMLReaderOptions(),
        objectOptions: XMLObjectOptions = XMLObjectOptions()
    ) throws(StreamError) {
        try receive(objectOptions) { (messages) throws(StreamError) in try messages.readXML(file, options: options) }
    }

    /// Puts this sink behind one of XML for as long as a closure runs.
    private mutating func receive(
        _ options: XMLObjectOptions, _ read: (inout XMLMessages<Self>) throws(StreamError) -> Void
    ) throws(StreamError) {
        var messages = XMLMessages(self, options: options)
        var thrown: StreamError?
        do throws(StreamError) { try read(&messages) } catch { thrown = error }
        self = messages.sink
        if let thrown { throw thrown }
    }
}
