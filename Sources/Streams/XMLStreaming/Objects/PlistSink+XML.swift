// How sinks of property-list messages receive whole XML documents.

public import PlistStreaming

extension PlistSink where Self: ~Copyable {
    /// Receives a whole XML document, as ``XMLRecordAdapter`` sends it.
    ///
    /// - Throws: The first error of the document or of this sink, with its position: that of an error of a record is where the record ends.
    /// - Complexity: O(*n*) in the bytes; memory for one record at a time.
    public mutating func readXML(
        _ bytes: RawSpan, options: XMLReaderOptions = XMLReaderOptions(),
        objectOptions: XMLObjectOptions = XMLObjectOptions()
    ) throws(StreamError) {
        try receive(objectOptions) { (messages) throws(StreamError) in try messages.readXML(bytes, options: options) }
    }

    /// Receives a whole XML document from a source: bytes, a string, whose declared encoding is ignored, a file or a descriptor.
    ///
    /// - Throws: What the other form throws, and errors of the source.

    public mutating func readXML(
        _ source: some ByteSource, options: XMLReaderOptions = XMLReaderOptions(),
        objectOptions: XMLObjectOptions = XMLObjectOptions()
    ) throws(StreamError) {
        try receive(objectOptions) { (messages) throws(StreamError) in try messages.readXML(source, options: options) }
    }

    /// Puts this sink behind one of XML for as long as a closure runs.
    mutating func receive(
        _ options: XMLObjectOptions, _ read: (inout XMLRecordAdapter<Self>) throws(StreamError) -> Void
    ) throws(StreamError) {
        var messages = XMLRecordAdapter(self, options: options)
        var thrown: StreamError?
        do throws(StreamError) { try read(&messages) } catch { thrown = error }
        self = messages.sink
        if let thrown { throw thrown }
    }
}
