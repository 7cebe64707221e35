// The XML format, which PlistBuilding and PlistCoding use to decode and encode values.

@_exported import PlistBuilding
@_exported import PlistCoding
@_exported import PlistStreaming

/// A format that reads and writes values as XML 1.0.
///
/// ```swift
/// struct Person: StreamObject { var id = 0, name = "", phone: [String] = [] }
/// let people = try XML.decode([Person].self, from: data)   // <people><person id="1"><name>Ada</name>…
/// let text = try XML(rootName: "people", recordName: "person").encodeToString(people)
/// ```
///
/// To read an array, the children of the root element become its elements. To read a structure, a class or a dictionary, the
/// root element itself becomes the value. Members are attributes or child elements, and arrays are repeated elements. Use
/// ``XMLRecordAdapter`` and ``XMLHandlers`` for documents of other shapes, and ``XMLTree`` to keep everything in a document.
///
/// ### What is written
///
/// Written values can be read again as the same type:
///
/// - A member is a child element, or an attribute if its key begins with ``XMLObjectOptions/attributePrefix``. The member
///   ``XMLObjectOptions/textKey`` is the text.
/// - An array is written as its elements, each in an element with the name of the member. The elements of an array at the
///   root are named ``recordName``.
/// - Nil members and empty arrays are omitted and read as the defaults of their members.
///   `WritingOptions(nilMembers: .writeNull)` writes nil members as elements with `xsi:nil="true"`. Other null values are
///   always written this way.
///
/// Arrays in arrays, keys that aren't valid element names, characters that XML excludes, and infinite numbers are errors.
public struct XML: DefaultFormat {
    /// The options for reading documents.
    public var reader: XMLReaderOptions
    /// The options for turning elements into values.
    public var objects: XMLObjectOptions
    /// The options for writing documents.
    public var writer: XMLWriterOptions
    /// The name of the written root element.
    public var rootName: String
    /// The name of the elements that are written for the elements of an array at the root.
    public var recordName: String

    /// Creates the format with its default options.
    public init() { self.init(reader: XMLReaderOptions()) }

    /// Creates the format for documents in an encoding, which overrides the encoding that they declare.
    ///
    /// ```swift
    /// let list = try XML(encoding: .windows1252).propertyList(from: mislabelled)
    /// ```
    public init(encoding: XMLEncoding) { self.init(reader: XMLReaderOptions(encoding: encoding)) }

    /// Creates the format.
    public init(
        reader: XMLReaderOptions = XMLReaderOptions(), objects: XMLObjectOptions = XMLObjectOptions(),
        writer: XMLWriterOptions = XMLWriterOptions(), rootName: String = "root", recordName: String = "record"
    ) {
        self.reader = reader
        self.objects = objects
        self.writer = writer
        self.rootName = rootName
        self.recordName = recordName
    }

    /// Reads a document and sends it to a sink, as ``XMLRecordAdapter`` describes.
    ///
    /// - Throws: The first error of the source, the document or the sink, with its position. An error in a record has the
    ///   position of the record's end.
    /// - Complexity: O(*n*) in the bytes; memory for one record at a time.
    public func read<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) {
        try readSpecialized(source, into: &sink)
    }

    /// Writes contents as elements.
    ///
    /// - Throws: `unrepresentable` for an array in an array, an invalid element name, a character that XML excludes, an
    ///   infinite number, or white space as the only text of an element with children.
    /// - Complexity: O(*n*) in the bytes.
    public func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError) {
        try output.withOutput { (output) throws(StreamError) in
            var writer = XMLValueWriter(self, taking: &output)
            defer { writer.returnOutput(&output) }
            try content.send(to: &writer)
            try writer.finish()
        }
    }

    /// Creates an ``XMLReader``.
    public func pushReader<Sink: PlistSink & ~Copyable>(into sink: consuming Sink) -> any PushReader & ~Copyable {
        makeSpecializedReader(sink)
    }
}

extension XMLReader: PushReader where Sink: ~Copyable {}

extension XML {
    /// The value types of elements, whose scalars are text.
    public var valueTypes: ValueTypes { .elements }
}

extension XML: SpecializedFormat {
    @usableFromInline
    package func scan<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) { try sink.readXML(source, options: reader, objectOptions: objects) }

    @usableFromInline
    package func makeReader<Sink: PlistSink & ~Copyable>(_ sink: consuming Sink) -> ErasedReader {
        ErasedReader(XMLReader(sink: XMLRecordAdapter(sink, options: objects), options: reader))
    }
}
