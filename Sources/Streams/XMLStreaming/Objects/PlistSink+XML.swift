// Lets sinks of property-list messages receive whole XML documents.

public import PlistStreaming

extension PlistSink where Self: ~Copyable {
    /// Receives a whole XML document, as ``XMLRecordAdapter`` sends it.
    ///
    /// - Throws: The first error of the document or of this sink, with its position. An error in a record has the position of
    ///   the record's end.
    /// - Complexity: O(*n*) in the bytes; memory for one record at a time.
    public mutating func readXML(
        _ bytes: RawSpan, options: XMLReaderOptions = XMLReaderOptions(),
        objectOptions: XMLObjectOptions = XMLObjectOptions()
    ) throws(StreamError) {
        try receive(objectOptions) { (messages) throws(StreamError) in try messages.readXML(bytes, options: options) }
    }

    /// Receives a whole XML document from a source: bytes, a string (its declared encoding is ignored), a file or a
    /// descriptor.
    ///
    /// - Throws: The same errors as the variant for bytes, and errors of the source.

    public mutating func readXML(
        _ source: some ByteSource, options: XMLReaderOptions = XMLReaderOptions(),
        objectOptions: XMLObjectOptions = XMLObjectOptions()
    ) throws(StreamError) {
        try receive(objectOptions) { (messages) throws(StreamError) in try messages.readXML(source, options: options) }
    }

    /// Makes this sink the receiver of an ``XMLRecordAdapter`` while a closure runs.
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
