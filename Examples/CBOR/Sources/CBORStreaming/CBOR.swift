// The format and its options. Reading is in `CBORReader`, writing in `CBORWriter`.

import PlistBuilding
import PlistCoding
public import PlistStreaming

/// CBOR, the Concise Binary Object Representation (RFC 8949).
///
/// ```swift
/// let tasks = try CBOR.decode([Task].self, from: .file("tasks.cbor"))
/// let data = try CBOR.encode(tasks)
/// ```
///
/// | CBOR | messages |
/// |---|---|
/// | integers, bignums and decimal fractions | integers, unsigned integers, reals, or text of numbers |
/// | floating-point numbers of 16, 32 and 64 bits | reals |
/// | byte strings, text strings | data, strings |
/// | arrays, maps | arrays, dictionaries |
/// | dates as text or as seconds since 1970 | dates |
/// | false, true, null, undefined | Booleans, null |
///
/// The content of other tags is read as if it had no tag. Maps with keys that aren't text, and other simple values, are
/// rejected. The length of a string comes before its bytes, so documents are collected in memory before they are read.
/// Containers are written with indefinite lengths because messages don't contain a count.
public struct CBOR: DefaultFormat {
    /// The limits for documents that are read or written.
    public var limits: StreamLimits

    /// Creates the format with its default options.
    public init() { self.init(limits: .standard) }

    /// Creates the format.
    public init(limits: StreamLimits) { self.limits = limits }

    /// A Boolean value that indicates whether the format is text, always false.
    public var isText: Bool { false }

    /// Reads a document and sends its messages to a sink.
    ///
    /// - Throws: The first error of the source, the document or the sink, with its byte offset.
    /// - Complexity: O(*n*) in the bytes.
    public func read<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) {
        do throws(StreamError) {
            try source.withAllBytes(limit: limits.totalByteCount) { (bytes) throws(StreamError) in
                try read(bytes, into: &sink)
            }
        } catch {
            sink.cancel(with: error)
            throw error
        }
    }

    private func read(_ bytes: RawSpan, into sink: inout some PlistSink & ~Copyable) throws(StreamError) {
        // The compiler specializes the reader for these builders, which decode values and build trees and columns.
        if try sink.withSelf(as: ValueBuilder.self, { sink throws(StreamError) in try scan(bytes, &sink) }) { return }
        if try sink.withSelf(as: DecodingTape.self, { sink throws(StreamError) in try scan(bytes, &sink) }) { return }
        if try sink.withSelf(as: ColumnsBuilder.self, { sink throws(StreamError) in try scan(bytes, &sink) }) { return }
        if try sink.withSelf(as: PropertyListBuilder.self, { sink throws(StreamError) in try scan(bytes, &sink) }) {
            return
        }
        try scan(bytes, &sink)
    }

    private func scan<Sink: PlistSink & ~Copyable>(_ bytes: RawSpan, _ sink: inout Sink) throws(StreamError) {
        guard bytes.byteCount <= limits.totalByteCount else {
            throw StreamError(.limitExceeded, "more than \(limits.totalByteCount) bytes")
        }
        var reader = CBORReader(limits: limits)
        do throws(StreamError) { try reader.read(bytes, into: &sink) } catch {
            throw error.ofSink(at: StreamPosition(byteOffset: reader.start))
        }
    }

    /// Creates a reader that collects all chunks and reads them when the input ends.
    public func pushReader<Sink: PlistSink & ~Copyable>(into sink: consuming Sink) -> any PushReader & ~Copyable {
        collectingReader(into: sink, byteLimit: limits.totalByteCount)
    }

    /// Writes contents.
    ///
    /// - Throws: Errors of the contents and of the destination; `limitExceeded` for values that exceed the limits.
    /// - Complexity: O(*n*) in the bytes.
    public func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError) {
        try output.withOutput { (output) throws(StreamError) in
            var writer = CBORWriter(limits: limits)
            swap(&writer.output, &output)
            defer { swap(&writer.output, &output) }
            try content.send(to: &writer)
            try writer.finish()
        }
    }
}
