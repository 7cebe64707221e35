// The format XML, with which PlistBuilding and PlistCoding decode and encode values.

@_exported import PlistBuilding
@_exported import PlistCoding
@_exported import PlistStreaming

/// XML 1.0 as values.
///
/// ```swift
/// struct Person: StreamObject { var id = 0, name = "", phone: [String] = [] }
/// let people = try XML.decode([Person].self, from: data)   // <people><person id="1"><name>Ada</name>…
/// let text = try XML(rootName: "people", recordName: "person").encodeToString(people)
/// ```
///
/// An array gets the children of the root element; a structure, a class or a dictionary gets the root element itself. Members are
/// attributes or child elements, and arrays are repeated elements. ``XMLRecordAdapter`` and ``XMLHandlers`` read documents of other shapes, and ``XMLTree`` keeps everything of a document.
///
/// ### What is written
///
/// The type that was written reads the same value:
///
/// - A member is a child element, or an attribute if its key begins with ``XMLObjectOptions/attributePrefix``. The member
///   ``XMLObjectOptions/textKey`` is the text.
/// - An array is its elements, each in an element with the name of the member. An array at the root has elements ``recordName``.
/// - Data is base64, and a date is text such as `2026-11-25T10:00:00Z`, with up to nine digits behind the seconds.
/// - Nil members and empty arrays are omitted, and read as the defaults of members. `WritingOptions(nilMembers: .writeNull)` writes nil
///   as an element with `xsi:nil="true"`. So is null elsewhere.
///
/// Arrays in arrays, keys that aren't names of elements, characters that XML excludes, and infinite numbers are refused.
public struct XML: DefaultFormat {
    /// How documents are read.
    public var reader: XMLReaderOptions
    /// How elements become values.
    public var objects: XMLObjectOptions
    /// How documents are written.
    public var writer: XMLWriterOptions
    /// The name of the root element that is written.
    public var rootName: String
    /// The name of the elements that the elements of an array at the root are written as.
    public var recordName: String

    /// Creates the format with its default options.
    public init() { self.init(reader: XMLReaderOptions()) }

    /// Creates the format for documents in an encoding, whatever they declare.
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
    /// - Throws: The first error of the source, the document or the sink, with its position: that of an error of a record is where the
    ///   record ends.
    /// - Complexity: O(*n*) in the bytes; memory for one record at a time.
    public func read<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) {
        try readSpecialized(source, into: &sink)
    }

    /// Writes contents as elements.
    ///
    /// - Throws: `unrepresentable` for an array in an array, a name that no element can have, a character that XML excludes, an
    ///   infinite number, and white space as the text of an element with children.
    /// - Complexity: O(*n*) in the bytes.
    public func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError) {
        try output.withOutput { (output) throws(StreamError) in
            var writer = XMLValueWriter(self, taking: &output)
            defer { writer.giveBack(&output) }
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
    /// Elements, whose scalars are text.
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
