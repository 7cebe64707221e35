// Adds functions for bound values, property lists and columns to every format.
//
// PERF: JSONTyped/documents; functions for single documents are inlinable, so that a format that is known costs no witnesses.

public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A builder of values of any bound type. Formats specialize their readers for it.
public typealias ValueBuilder = ObjectBuilder<PropertyList>

// MARK: - Reading

extension StreamFormat {
    /// Decodes a value of a bound type.
    ///
    /// - Throws: The first error of the source or the bytes, with its position, or of a value that doesn't fit, with its path
    ///   as well.
    /// - Complexity: O(*n*) in the bytes.
    @inlinable
    public func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from source: some ByteSource, options: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try decodeBound(type, from: source, options: options)
    }

    /// Decodes a value of a bound type.
    @inlinable
    package func decodeBound<Value: StreamValue>(
        _ type: Value.Type, from source: some ByteSource, options: BuilderOptions
    ) throws(StreamError) -> Value {
        try ValueBuilder.build(options) { (builder) throws(StreamError) in try read(source, into: &builder) }
    }

    /// Decodes the elements of an array, the lines or the records one by one, in constant memory.
    ///
    /// - Parameter body: A closure that gets each value in order. It may throw any error; `StreamError.stopRequest()` ends
    ///   reading without an error.
    /// - Throws: The first error of the source or the bytes, with its position, or of a value that doesn't fit. An error of
    ///   the closure is the cause of an error of the kind `receiverFailed`.
    /// - Complexity: O(*n*) in the bytes.
    public func decodeEach<Value: StreamValue, Failure: Error>(
        _ type: Value.Type = Value.self, from source: some ByteSource, options: BuilderOptions = BuilderOptions(),
        _ body: (borrowing Value) throws(Failure) -> Void
    ) throws(StreamError) {
        try decodeEachBound(type, from: source, options: options, body)
    }

    /// Decodes records of a bound type one by one.
    package func decodeEachBound<Value: StreamValue, Failure: Error>(
        _ type: Value.Type, from source: some ByteSource, options: BuilderOptions,
        _ body: (borrowing Value) throws(Failure) -> Void
    ) throws(StreamError) {
        try withoutActuallyEscaping(body) { (body) throws(StreamError) in
            var stream = try ValueBuilder(
                handingOver: Value.self, depth: 1, options: options, expectsArray: true
            ) { value throws(StreamError) in
                do throws(Failure) { try body(value) } catch { throw StreamError(ofReceiver: error) }
            }
            do throws(StreamError) { try read(source, into: &stream) } catch {
                if !error.isStopRequest { throw error }
            }
        }
    }

    /// Builds a tree.
    ///
    /// - Throws: The first error of the source or the bytes, with its position.
    /// - Complexity: O(*n*) in the bytes.
    public func propertyList(from source: some ByteSource, depthLimit: Int = 1_024) throws(StreamError) -> PropertyList
    {
        var builder = PropertyListBuilder(depthLimit: depthLimit)
        try read(source, into: &builder)
        return try builder.takeResult()
    }

    /// Builds typed columns of the elements of an array, the lines or the records.
    ///
    /// - Parameter columns: The names and types of the columns.
    /// - Throws: The first error of the source or the bytes, with its position, or of a value that doesn't fit its column;
    ///   `duplicateKey` for two columns with the same name.
    /// - Complexity: O(*n*) in the bytes.
    public func columns(
        _ columns: KeyValuePairs<String, ColumnType>, from source: some ByteSource
    ) throws(StreamError) -> Columns {
        var names: Set<[UInt8]> = []
        for (name, _) in columns where !names.insert(Array(name.utf8)).inserted {
            throw StreamError(.duplicateKey, "two columns have the same name, \(name.debugDescription)")
        }
        var builder = ColumnsBuilder(columns)
        try read(source, into: &builder)
        return try builder.takeResult()
    }
}

// MARK: - Writing

extension StreamFormat {
    /// Encodes a value of a bound type.
    ///
    /// - Throws: An error with the path of a value that the format can't represent.
    /// - Complexity: O(*n*) in the bytes.
    @inlinable
    public func encode<Value: StreamValue>(
        _ value: Value, options: WritingOptions = WritingOptions()
    ) throws(StreamError) -> Data {
        var data = Data()
        try write(BoundContent(value, options: options), to: &data)
        return data
    }

    /// Encodes a value of a bound type as text.
    ///
    /// - Throws: An error with the path of a value that the format can't represent; `misuse` for a binary format.
    /// - Complexity: O(*n*) in the bytes.
    @inlinable
    public func encodeToString<Value: StreamValue>(
        _ value: Value, options: WritingOptions = WritingOptions()
    ) throws(StreamError) -> String {
        try text(of: BoundContent(value, options: options))
    }

    /// Writes a value of a bound type to a file or a descriptor.
    ///
    /// - Throws: An error with the path of a value that the format can't represent, and errors of the destination.
    /// - Complexity: O(*n*) in the bytes.
    @inlinable
    public func write<Value: StreamValue>(
        _ value: Value, to output: some ExternalByteSink, options: WritingOptions = WritingOptions()
    ) throws(StreamError) {
        var output = output
        try write(BoundContent(value, options: options), to: &output)
    }

    /// Writes content as text.
    @inlinable
    package func text(of content: some StreamContent) throws(StreamError) -> String {
        var sink = StringSink()
        if isText { try write(content, to: &sink) }
        guard let text = sink.text else {
            throw StreamError(.misuse, "expected a UTF-8 text format, such as JSON")
        }
        return text
    }
}

/// A value of a bound type as content of a format.
public struct BoundContent<Value: StreamValue>: StreamContent {
    @usableFromInline let value: Value
    @usableFromInline let options: WritingOptions

    /// Creates content from a value.
    @inlinable
    public init(_ value: Value, options: WritingOptions = WritingOptions()) {
        self.value = value
        self.options = options
    }

    /// Sends the value.
    @inlinable
    public func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        try sink.write(value, options: options)
    }
}

extension PropertyList: StreamContent {}

// MARK: - Default formats

extension DefaultFormat {
    /// Decodes a value of a bound type; see ``/PlistStreaming/StreamFormat``.
    @inlinable
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from source: some ByteSource, options: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try Self().decode(type, from: source, options: options)
    }

    /// Decodes the elements of an array, the lines or the records one by one.
    public static func decodeEach<Value: StreamValue, Failure: Error>(
        _ type: Value.Type = Value.self, from source: some ByteSource, options: BuilderOptions = BuilderOptions(),
        _ body: (borrowing Value) throws(Failure) -> Void
    ) throws(StreamError) {
        try Self().decodeEach(type, from: source, options: options, body)
    }

    /// Returns the elements of an array, the lines or the records of a source, decoded one by one in constant memory.
    public static func records<Value: StreamValue & SendableMetatype, Source: ByteSource>(
        of type: Value.Type = Value.self, from source: Source, options: BuilderOptions = BuilderOptions()
    ) -> Records<Value, Self, Source> {
        Self().records(of: type, from: source, options: options)
    }

    /// Builds a tree.
    public static func propertyList(from source: some ByteSource) throws(StreamError) -> PropertyList {
        try Self().propertyList(from: source)
    }

    /// Builds typed columns.
    public static func columns(
        _ columns: KeyValuePairs<String, ColumnType>, from source: some ByteSource
    ) throws(StreamError) -> Columns {
        try Self().columns(columns, from: source)
    }

    /// Encodes a value of a bound type.
    @inlinable
    public static func encode<Value: StreamValue>(
        _ value: Value, options: WritingOptions = WritingOptions()
    ) throws(StreamError) -> Data {
        try Self().encode(value, options: options)
    }

    /// Encodes a value of a bound type as text.
    @inlinable
    public static func encodeToString<Value: StreamValue>(
        _ value: Value, options: WritingOptions = WritingOptions()
    ) throws(StreamError) -> String {
        try Self().encodeToString(value, options: options)
    }

    /// Writes a value of a bound type to a file or a descriptor.
    @inlinable
    public static func write<Value: StreamValue>(
        _ value: Value, to output: some ExternalByteSink, options: WritingOptions = WritingOptions()
    ) throws(StreamError) {
        try Self().write(value, to: output, options: options)
    }
}
