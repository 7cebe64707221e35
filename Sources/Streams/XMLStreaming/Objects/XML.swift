// The doors of one line: a value of a bound type from an XML document.

public import PlistBuilding
public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Values from XML documents.
///
/// ```swift
/// struct Person: StreamObject { var id = 0, name = "", phone: [String] = [] }
/// let people = try XML.decode([Person].self, from: data)   // <people><person id="1"><name>Ada</name>…
/// ```
///
/// An array gets the children of the root element; a structure, a class or a dictionary gets the root element itself. More ways, such
/// as one value at a time, are made of ``XMLMessages`` and the builders: `ObjectStream`, `ColumnsBuilder`.
public enum XML {
    /// Makes a value of the document in an array of bytes.
    ///
    /// - Throws: The first error of the document, with its position, or of a value that does not fit, with its path as well.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from bytes: [UInt8], options: XMLReaderOptions = XMLReaderOptions(),
        objectOptions: XMLObjectOptions = XMLObjectOptions(), builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readXML(bytes, options: options, objectOptions: objectOptions)
        }
    }

    /// Makes a value of the document in data.
    ///
    /// - Throws: What the other forms throw.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from data: Data, options: XMLReaderOptions = XMLReaderOptions(),
        objectOptions: XMLObjectOptions = XMLObjectOptions(), builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readXML(data, options: options, objectOptions: objectOptions)
        }
    }

    /// Makes a value of the document in a string.
    ///
    /// - Throws: What the other forms throw.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from text: String, options: XMLReaderOptions = XMLReaderOptions(),
        objectOptions: XMLObjectOptions = XMLObjectOptions(), builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readXML(text, options: options, objectOptions: objectOptions)
        }
    }

    /// Makes a value of the document in a file, which is read in chunks.
    ///
    /// - Throws: What the other forms throw; ``/PlistStreaming/StreamError/Kind/cannotRead`` when the file cannot be read.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, contentsOfFile path: String, options: XMLReaderOptions = XMLReaderOptions(),
        objectOptions: XMLObjectOptions = XMLObjectOptions(), builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readXML(contentsOfFile: path, options: options, objectOptions: objectOptions)
        }
    }
}
