// Functions of every format for values of `Codable` types. A type that is also bound to streams is read and written as
// a bound type.

public import PlistBuilding
public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A format that decodes `Decodable` types in its own way, such as from text that isn't copied.
@usableFromInline
package protocol CodingFormat: StreamFormat {
    /// The maximum number of bytes in a document.
    var byteLimit: Int { get }

    /// Decodes a value.
    func decodeCoded<Value: Decodable>(
        _ type: Value.Type, from bytes: RawSpan, options: DecodingOptions
    ) throws -> Value
}

// MARK: - Decoding

extension StreamFormat {
    /// Decodes a value of a `Decodable` type.
    ///
    /// - Throws: A `StreamError` for the source and the bytes, with its position; for values that don't fit, a
    ///   `DecodingError` or the error that the type throws.
    /// - Complexity: O(*n*) in the bytes; values are kept in 16 bytes each.
    @inlinable  // PERF: JSONTyped/documents; so that a known format decodes without a dynamic cast.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from source: some ByteSource, options: DecodingOptions = DecodingOptions()
    ) throws -> Value {
        if let format = self as? any CodingFormat {
            var result: Result<Value, any Error>?
            try source.withAllBytes(limit: format.byteLimit) { bytes in
                result = Result { try format.decodeCoded(type, from: bytes, options: options) }
            }
            if let result { return try result.get() }
        }
        return try decodeTape(type, from: source, options: options)
    }

    @usableFromInline
    func decodeTape<Value: Decodable>(
        _ type: Value.Type, from source: some ByteSource, options: DecodingOptions
    ) throws -> Value {
        var tape = DecodingTape(for: self, expectsArray: type is any DecodableArray.Type)
        try read(source, into: &tape)
        return try tape.decode(type, options: options)
    }

    /// Decodes a value of a type that is bound to streams and `Decodable`, as a bound type.
    @inlinable
    public func decode<Value: StreamValue & Decodable>(
        _ type: Value.Type = Value.self, from source: some ByteSource, options: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try decodeBound(type, from: source, options: options)
    }

    /// Decodes the elements of an array, the lines or the records one by one, each in its own memory.
    ///
    /// - Parameter body: Receives each value in order, and may throw any error; `StreamError.stopRequest()` ends the reading.
    /// - Throws: A `StreamError` for the source and the bytes, with its position. An error of a value or of the closure
    ///   becomes the cause of a `receiverFailed` error.
    /// - Complexity: O(*n*) in the bytes.
    public func decodeEach<Value: Decodable, Failure: Error>(
        _ type: Value.Type = Value.self, from source: some ByteSource, options: DecodingOptions = DecodingOptions(),
        _ body: (Value) throws(Failure) -> Void
    ) throws(StreamError) {
        try withoutActuallyEscaping(body) { (body) throws(StreamError) in
            var records = RecordTape(Value.self, of: self, options) { value throws(StreamError) in
                do throws(Failure) { try body(value) } catch { throw StreamError(ofReceiver: error) }
            }
            do throws(StreamError) { try read(source, into: &records) } catch {
                if !error.isStopRequest { throw error }
            }
        }
    }

    /// Decodes the elements of an array, the lines or the records one by one, as values of a bound type.
    public func decodeEach<Value: StreamValue & Decodable, Failure: Error>(
        _ type: Value.Type = Value.self, from source: some ByteSource, options: BuilderOptions = BuilderOptions(),
        _ body: (borrowing Value) throws(Failure) -> Void
    ) throws(StreamError) {
        try decodeEachBound(type, from: source, options: options, body)
    }

    /// Returns the elements of an array, the lines or the records of a source, decoded one by one.
    public func records<Value: Decodable & SendableMetatype, Source: ByteSource>(
        of type: Value.Type = Value.self, from source: Source, options: DecodingOptions = DecodingOptions()
    ) -> Records<Value, Self, Source> {
        Records(format: self, source: source) { RecordReader(decoding: $0, options) }
    }

    /// Returns the elements of an array, the lines or the records of a source, as values of a bound type.
    public func records<Value: StreamValue & Decodable & SendableMetatype, Source: ByteSource>(
        of type: Value.Type = Value.self, from source: Source, options: BuilderOptions = BuilderOptions()
    ) -> Records<Value, Self, Source> {
        boundRecords(of: type, from: source, options: options)
    }

    /// Returns the records in chunks of bytes that arrive, each as soon as it is complete.
    public func records<Value: Decodable & SendableMetatype, Source: AsyncSequence>(
        of type: Value.Type = Value.self, in chunks: Source, options: DecodingOptions = DecodingOptions()
    ) -> AsyncRecords<Value, Source> where Source.Element: ContiguousBytes & Sendable {
        AsyncRecords(chunks: chunks, format: self) { RecordReader(decoding: $0, options) }
    }

    /// Returns the records in bytes that arrive, each as soon as its line ends.
    public func records<Value: Decodable & SendableMetatype, Source: AsyncSequence>(
        of type: Value.Type = Value.self, in bytes: Source, options: DecodingOptions = DecodingOptions()
    ) -> AsyncRecords<Value, Source> where Source.Element == UInt8 {
        AsyncRecords(bytes: bytes, format: self) { RecordReader(decoding: $0, options) }
    }

    /// Returns the records in bytes that arrive, as values of a bound type.
    public func records<Value: StreamValue & Decodable & SendableMetatype, Source: AsyncSequence>(
        of type: Value.Type = Value.self, in bytes: Source, options: BuilderOptions = BuilderOptions()
    ) -> AsyncRecords<Value, Source> where Source.Element == UInt8 {
        boundRecords(of: type, in: bytes, options: options)
    }

    /// Returns the records in chunks of bytes that arrive, as values of a bound type.
    public func records<Value: StreamValue & Decodable & SendableMetatype, Source: AsyncSequence>(
        of type: Value.Type = Value.self, in chunks: Source, options: BuilderOptions = BuilderOptions()
    ) -> AsyncRecords<Value, Source> where Source.Element: ContiguousBytes & Sendable {
        boundRecords(of: type, in: chunks, options: options)
    }
}

extension RecordReader where Value: Decodable {
    /// Creates a reader of records of a `Decodable` type.
    convenience init(decoding format: some StreamFormat, _ options: DecodingOptions) {
        self.init { (values) throws(StreamError) in
            format.pushReader(into: RecordTape(Value.self, of: format, options) { values.append($0) })
        }
    }
}

// MARK: - Encoding

extension StreamFormat {
    /// Encodes a value of an `Encodable` type.
    ///
    /// - Throws: An error with the path of the first value that the format can't represent. An error that the type
    ///   throws becomes the cause of such an error.
    /// - Complexity: O(*n*) in the bytes.
    @inlinable
    public func encode<Value: Encodable>(
        _ value: Value, options: EncodingOptions = EncodingOptions()
    ) throws(StreamError) -> Data {
        var data = Data()
        try write(CodedContent(value, options: options), to: &data)
        return data
    }

    /// Encodes a value of a type that is bound to streams and `Encodable`, as a bound type.
    @inlinable
    public func encode<Value: StreamValue & Encodable>(
        _ value: Value, options: WritingOptions = WritingOptions()
    ) throws(StreamError) -> Data {
        var data = Data()
        try write(BoundContent(value, options: options), to: &data)
        return data
    }

    /// Encodes a value of an `Encodable` type as text.
    ///
    /// - Throws: The same errors as ``encode(_:options:)-(_,EncodingOptions)``; `misuse` for a binary format.
    @inlinable
    public func encodeToString<Value: Encodable>(
        _ value: Value, options: EncodingOptions = EncodingOptions()
    ) throws(StreamError) -> String {
        try text(of: CodedContent(value, options: options))
    }

    /// Encodes a value of a type that is bound to streams and `Encodable` as text, as a bound type.
    @inlinable
    public func encodeToString<Value: StreamValue & Encodable>(
        _ value: Value, options: WritingOptions = WritingOptions()
    ) throws(StreamError) -> String {
        try text(of: BoundContent(value, options: options))
    }

    /// Writes a value of an `Encodable` type to a file or a descriptor.
    ///
    /// - Throws: The same errors as ``encode(_:options:)-(_,EncodingOptions)``, and errors of the destination.
    @inlinable
    public func write<Value: Encodable>(
        _ value: Value, to output: some ExternalByteSink, options: EncodingOptions = EncodingOptions()
    ) throws(StreamError) {
        var output = output
        try write(CodedContent(value, options: options), to: &output)
    }

    /// Writes a value of a type that is bound to streams and `Encodable`, as a bound type.
    @inlinable
    public func write<Value: StreamValue & Encodable>(
        _ value: Value, to output: some ExternalByteSink, options: WritingOptions = WritingOptions()
    ) throws(StreamError) {
        var output = output
        try write(BoundContent(value, options: options), to: &output)
    }
}

/// A value of an `Encodable` type as contents.
public struct CodedContent<Value: Encodable>: StreamContent {
    @usableFromInline let value: Value
    @usableFromInline let options: EncodingOptions

    /// Creates contents of a value.
    @inlinable
    public init(_ value: Value, options: EncodingOptions = EncodingOptions()) {
        self.value = value
        self.options = options
    }

    /// Sends the value.
    @inlinable
    public func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        try sink.write(encodable: value, options: options)
    }
}

// MARK: - Default formats

extension DefaultFormat {
    /// Decodes a value of a `Decodable` type.
    @inlinable
    public static func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from source: some ByteSource, options: DecodingOptions = DecodingOptions()
    ) throws -> Value {
        try Self().decode(type, from: source, options: options)
    }

    /// Decodes a value of a type that is bound to streams and `Decodable`, as a bound type.
    @inlinable
    public static func decode<Value: StreamValue & Decodable>(
        _ type: Value.Type = Value.self, from source: some ByteSource, options: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try Self().decodeBound(type, from: source, options: options)
    }

    /// Decodes the elements of an array, the lines or the records one by one, each in its own memory.
    public static func decodeEach<Value: Decodable, Failure: Error>(
        _ type: Value.Type = Value.self, from source: some ByteSource, options: DecodingOptions = DecodingOptions(),
        _ body: (Value) throws(Failure) -> Void
    ) throws(StreamError) {
        try Self().decodeEach(type, from: source, options: options, body)
    }

    /// Decodes the elements of an array, the lines or the records one by one, as values of a bound type.
    public static func decodeEach<Value: StreamValue & Decodable, Failure: Error>(
        _ type: Value.Type = Value.self, from source: some ByteSource, options: BuilderOptions = BuilderOptions(),
        _ body: (borrowing Value) throws(Failure) -> Void
    ) throws(StreamError) {
        try Self().decodeEach(type, from: source, options: options, body)
    }

    /// Returns the elements of an array, the lines or the records of a source, decoded one by one.
    public static func records<Value: Decodable & SendableMetatype, Source: ByteSource>(
        of type: Value.Type = Value.self, from source: Source, options: DecodingOptions = DecodingOptions()
    ) -> Records<Value, Self, Source> {
        Self().records(of: type, from: source, options: options)
    }

    /// Returns the elements of an array, the lines or the records of a source, as values of a bound type.
    public static func records<Value: StreamValue & Decodable & SendableMetatype, Source: ByteSource>(
        of type: Value.Type = Value.self, from source: Source, options: BuilderOptions = BuilderOptions()
    ) -> Records<Value, Self, Source> {
        Self().records(of: type, from: source, options: options)
    }

    /// Encodes a value of an `Encodable` type.
    @inlinable
    public static func encode<Value: Encodable>(
        _ value: Value, options: EncodingOptions = EncodingOptions()
    ) throws(StreamError) -> Data {
        try Self().encode(value, options: options)
    }

    /// Encodes a value of a type that is bound to streams and `Encodable`, as a bound type.
    @inlinable
    public static func encode<Value: StreamValue & Encodable>(
        _ value: Value, options: WritingOptions = WritingOptions()
    ) throws(StreamError) -> Data {
        try Self().encode(value, options: options)
    }

    /// Encodes a value of an `Encodable` type as text.
    @inlinable
    public static func encodeToString<Value: Encodable>(
        _ value: Value, options: EncodingOptions = EncodingOptions()
    ) throws(StreamError) -> String {
        try Self().encodeToString(value, options: options)
    }

    /// Encodes a value of a type that is bound to streams and `Encodable` as text, as a bound type.
    @inlinable
    public static func encodeToString<Value: StreamValue & Encodable>(
        _ value: Value, options: WritingOptions = WritingOptions()
    ) throws(StreamError) -> String {
        try Self().encodeToString(value, options: options)
    }

    /// Writes a value of an `Encodable` type to a file or a descriptor.
    @inlinable
    public static func write<Value: Encodable>(
        _ value: Value, to output: some ExternalByteSink, options: EncodingOptions = EncodingOptions()
    ) throws(StreamError) {
        try Self().write(value, to: output, options: options)
    }

    /// Writes a value of a type that is bound to streams and `Encodable`, as a bound type.
    @inlinable
    public static func write<Value: StreamValue & Encodable>(
        _ value: Value, to output: some ExternalByteSink, options: WritingOptions = WritingOptions()
    ) throws(StreamError) {
        try Self().write(value, to: output, options: options)
    }
}
