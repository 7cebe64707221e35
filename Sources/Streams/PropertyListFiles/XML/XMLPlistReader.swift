// The entry points for property lists in XML: a reader that accepts chunks, and functions that send whole documents to
// a sink.

public import PlistStreaming
import XMLStreaming

/// The options of a reader of property lists in XML.
public struct XMLPlistReaderOptions: Sendable {
    /// The limits of the input.
    public var limits: StreamLimits

    /// Creates options.
    public init(limits: StreamLimits = .standard) {
        self.limits = limits
    }

    /// The options for reading the XML: no external entities, and two more levels of elements than containers.
    var xml: XMLReaderOptions {
        var limits = limits
        limits.depth = limits.depth < .max - 2 ? limits.depth + 2 : .max
        return XMLReaderOptions(limits: limits, knowsNamespaces: false, externalEntities: .reject)
    }
}

/// A reader of property lists in XML that owns its sink and accepts chunks of any size.
///
/// ```swift
/// var reader = XMLPlistReader(sink: EventTrace())
/// try reader.feed(bytes)
/// try reader.finish()
/// print(reader.sink.text)
/// ```
///
/// The XML is checked completely. Entities of the document itself are replaced within limits, and external ones are
/// refused. The document is a `plist` with one value of the eight types. Integers may be hexadecimal, and of any size
/// in decimal digits. Reals may be `nan`, `infinity` and `-infinity`. Dates are in UTC, with whole seconds.
public struct XMLPlistReader<Sink: PlistSink & ~Copyable>: ~Copyable {
    private var reader: XMLReader<XMLPlistEvents<Sink>>

    /// Creates a reader for a sink.
    public init(sink: consuming Sink, options: XMLPlistReaderOptions = XMLPlistReaderOptions()) {
        reader = XMLReader(sink: XMLPlistEvents(sink, limits: options.limits), options: options.xml)
    }

    /// The receiver of the messages.
    public var sink: Sink {
        _read { yield reader.sink.target }
        _modify { yield &reader.sink.target }
    }

    /// Reads the next chunk of the input.
    ///
    /// - Throws: The first error of the input or the sink, with its position; the same error on every later call.
    public mutating func feed(_ bytes: RawSpan) throws(StreamError) { try reader.feed(bytes) }

    /// Reads the next chunk of a text in UTF-8. If the input begins with such a chunk, the encoding that the document
    /// declares is ignored.
    ///
    /// - Throws: The same errors as ``feed(_:)-(RawSpan)``.
    public mutating func feed(text: RawSpan) throws(StreamError) { try reader.feed(text: text) }

    /// Ends the input.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unexpectedEnd`` if the document is incomplete.
    public mutating func finish() throws(StreamError) { try reader.finish() }

    /// The number of bytes fed.
    public var byteOffset: Int { reader.byteOffset }

    /// The number of comments so far, and the offset of the first one in the UTF-8 form of the document.
    package var comments: (count: Int, firstOffset: Int?) { reader.sink.comments }

    /// Discards the input so far, including errors, so that the reader accepts new input. The sink is unchanged.
    public mutating func reset() {
        reader.reset()
        reader.sink.reset()
    }
}

extension PlistSink where Self: ~Copyable {
    /// Receives a whole property list in XML.
    ///
    /// - Throws: The first error of the document or of this sink, with its position.
    /// - Complexity: O(*n*) in the bytes.
    public mutating func readXMLPlist(
        _ bytes: RawSpan, options: XMLPlistReaderOptions = XMLPlistReaderOptions()
    ) throws(StreamError) {
        try receive(options) { (events, xml) throws(StreamError) in try events.readXML(bytes, options: xml) }
    }

    /// Receives a whole property list in XML from a source: bytes, a string (whose declared encoding is ignored), a
    /// file or a descriptor.
    ///
    /// - Throws: The first error of the source, the document or this sink, with its position.

    public mutating func readXMLPlist(
        _ source: some ByteSource, options: XMLPlistReaderOptions = XMLPlistReaderOptions()
    ) throws(StreamError) {
        try receive(options) { (events, xml) throws(StreamError) in try events.readXML(source, options: xml) }
    }

    /// Puts an XML reader in front of this sink while a closure runs.
    private mutating func receive(
        _ options: XMLPlistReaderOptions,
        _ read: (inout XMLPlistEvents<Self>, XMLReaderOptions) throws(StreamError) -> Void
    ) throws(StreamError) {
        var events = XMLPlistEvents(self, limits: options.limits)
        do throws(StreamError) { try read(&events, options.xml) } catch {
            self = events.takeTarget()
            throw error
        }
        self = events.takeTarget()
    }
}

extension XMLPlistReader: PushReader where Sink: ~Copyable {}
