// The formats of this package, whose readers are specialized for the usual sinks in the format's own module. The code that is
// generic over formats and sinks then costs one comparison of types for each document.

public import PlistBuilding
public import PlistStreaming

/// A format whose readers are specialized for the usual sinks.
///
/// A format implements `scan` and `makeReader`. The other requirements are for one sink each, so that the witnesses of
/// a format are specialized where it conforms. Code that is generic over the sinks, including its
/// closures, isn't specialized.
@usableFromInline
package protocol SpecializedFormat: StreamFormat {
    /// Reads a source into a sink of any type.
    func scan<Sink: PlistSink & ~Copyable>(_ source: some ByteSource, into sink: inout Sink) throws(StreamError)
    /// Creates a reader for a sink of any type.
    func makeReader<Sink: PlistSink & ~Copyable>(_ sink: consuming Sink) -> ErasedReader

    func scanValue(_ source: AnyByteSource, into sink: inout ValueBuilder) throws(StreamError)
    func scanTape(_ source: AnyByteSource, into sink: inout DecodingTape) throws(StreamError)
    func scanRecords(_ source: AnyByteSource, into sink: inout RecordTape) throws(StreamError)
    func scanTree(_ source: AnyByteSource, into sink: inout PropertyListBuilder) throws(StreamError)
    func scanColumns(_ source: AnyByteSource, into sink: inout ColumnsBuilder) throws(StreamError)
    func makeValueReader(_ sink: consuming ValueBuilder) -> ErasedReader
    func makeRecordReader(_ sink: consuming RecordTape) -> ErasedReader
}

extension SpecializedFormat {
    @inlinable
    package func scanValue(_ source: AnyByteSource, into sink: inout ValueBuilder) throws(StreamError) {
        try scan(source, into: &sink)
    }

    @inlinable
    package func scanTape(_ source: AnyByteSource, into sink: inout DecodingTape) throws(StreamError) {
        try scan(source, into: &sink)
    }

    @inlinable
    package func scanRecords(_ source: AnyByteSource, into sink: inout RecordTape) throws(StreamError) {
        try scan(source, into: &sink)
    }

    @inlinable
    package func scanTree(_ source: AnyByteSource, into sink: inout PropertyListBuilder) throws(StreamError) {
        try scan(source, into: &sink)
    }

    @inlinable
    package func scanColumns(_ source: AnyByteSource, into sink: inout ColumnsBuilder) throws(StreamError) {
        try scan(source, into: &sink)
    }

    @inlinable
    package func makeValueReader(_ sink: consuming ValueBuilder) -> ErasedReader { makeReader(sink) }

    @inlinable
    package func makeRecordReader(_ sink: consuming RecordTape) -> ErasedReader { makeReader(sink) }

    /// Reads a source into a sink, with a specialized reader if it is one of the usual sinks.
    @inlinable
    package func readSpecialized<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) {
        if try !readUsual(AnyByteSource(source), into: &sink) { try scan(source, into: &sink) }
    }

    /// Reads a source into one of the usual sinks.
    ///
    /// - Returns: False, without reading, for any other sink.
    @usableFromInline
    func readUsual<Sink: PlistSink & ~Copyable>(
        _ source: AnyByteSource, into sink: inout Sink
    ) throws(StreamError) -> Bool {
        if try sink.withSelf(
            as: ValueBuilder.self, { (sink) throws(StreamError) in try scanValue(source, into: &sink) })
        {
            return true
        }
        if try sink.withSelf(
            as: DecodingTape.self, { (sink) throws(StreamError) in try scanTape(source, into: &sink) })
        {
            return true
        }
        if try sink.withSelf(
            as: RecordTape.self, { (sink) throws(StreamError) in try scanRecords(source, into: &sink) })
        {
            return true
        }
        if try sink.withSelf(
            as: PropertyListBuilder.self, { (sink) throws(StreamError) in try scanTree(source, into: &sink) })
        {
            return true
        }
        return try sink.withSelf(as: ColumnsBuilder.self) { (sink) throws(StreamError) in
            try scanColumns(source, into: &sink)
        }
    }

    /// Creates a reader for a sink. The reader is specialized if the sink receives records.
    package func makeSpecializedReader<Sink: PlistSink & ~Copyable>(
        _ sink: consuming Sink
    ) -> any PushReader & ~Copyable {
        if Sink.isSame(as: ValueBuilder.self) { return makeValueReader(sink.cast(to: ValueBuilder.self)) }
        if Sink.isSame(as: RecordTape.self) { return makeRecordReader(sink.cast(to: RecordTape.self)) }
        return makeReader(sink)
    }
}

// PERF: JSONRecords/streams; the witnesses of a generic reader are generic themselves, while closures are specialized
// at the place of their creation.
/// A push reader of any type.
@usableFromInline
package struct ErasedReader: PushReader {
    @usableFromInline let feedBytes: (RawSpan) throws(StreamError) -> Void
    @usableFromInline let feedText: (RawSpan) throws(StreamError) -> Void
    @usableFromInline let end: () throws(StreamError) -> Void

    @usableFromInline
    final class Box<Reader: PushReader & ~Copyable> {
        @usableFromInline var reader: Reader

        @inlinable
        init(_ reader: consuming Reader) { self.reader = reader }
    }

    /// Creates a reader that passes everything on to another one.
    @inlinable @inline(__always)
    package init<Reader: PushReader & ~Copyable>(_ reader: consuming Reader) {
        let box = Box(reader)
        feedBytes = { (bytes) throws(StreamError) in try box.reader.feed(bytes) }
        feedText = { (text) throws(StreamError) in try box.reader.feed(text: text) }
        end = { () throws(StreamError) in try box.reader.finish() }
    }

    @usableFromInline
    package mutating func feed(_ bytes: RawSpan) throws(StreamError) { try feedBytes(bytes) }

    @usableFromInline
    package mutating func feed(text: RawSpan) throws(StreamError) { try feedText(text) }

    @usableFromInline
    package mutating func finish() throws(StreamError) { try end() }
}

extension PlistSink where Self: ~Copyable {
    fileprivate static func isSame<Other: ~Copyable>(as type: Other.Type) -> Bool {
        ObjectIdentifier(Self.self) == ObjectIdentifier(type)
    }

    /// Casts the sink to its own type, which the caller has compared.
    fileprivate consuming func cast<Other: ~Copyable>(to type: Other.Type) -> Other {
        precondition(Self.isSame(as: type), "a sink is of its own type")
        let memory = UnsafeMutablePointer<Self>.allocate(capacity: 1)
        defer { unsafe memory.deallocate() }
        unsafe memory.initialize(to: self)
        // SAFETY: the types are the same, and the value moves out of the memory that it was just moved to.
        return unsafe UnsafeMutableRawPointer(memory).assumingMemoryBound(to: Other.self).move()
    }
}
