// The entry points for binary property lists: a reader that collects chunks, and functions that send the contents of
// bytes or a file directly to a sink.

public import PlistStreaming

/// A reader of a binary property list that owns its sink and accepts chunks of any size.
///
/// ```swift
/// var reader = BinaryPlistReader(sink: EventTrace())
/// try reader.feed(bytes)
/// try reader.finish()
/// print(reader.sink.text)
/// ```
///
/// The table of objects is at the end, so the reader keeps all bytes and sends nothing before ``finish()``. Input that
/// doesn't begin as a binary property list is refused immediately.
///
/// Sets are sent as arrays. A UID, the reference type of keyed archives, is sent as a dictionary with a number under
/// `CF$UID`. Integers of 128 bits are sent as the text of a number. Members are sent in the order of the file,
/// including repeated keys.
public struct BinaryPlistReader<Sink: PlistSink & ~Copyable>: ~Copyable {
    /// The receiver of the messages.
    public var sink: Sink
    @usableFromInline var bytes: [UInt8] = []
    @usableFromInline var failure: StreamError?
    @usableFromInline let options: BinaryPlistReaderOptions

    /// Creates a reader for a sink.
    public init(sink: consuming Sink, options: BinaryPlistReaderOptions = BinaryPlistReaderOptions()) {
        self.sink = sink
        self.options = options
    }

    /// Takes the next chunk of the input.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/limitExceeded`` if the input has more bytes than the limit, or an
    ///   error for invalid first bytes; the same error on every later call.
    @inlinable
    public mutating func feed(_ bytes: RawSpan) throws(StreamError) {
        if let failure { throw failure }
        do throws(StreamError) {
            try append(bytes)
        } catch {
            failure = error
            sink.cancel(with: error)
            throw error
        }
    }

    @usableFromInline
    mutating func append(_ bytes: RawSpan) throws(StreamError) {
        let limit = options.limits.totalByteCount
        let remaining = max(0, limit - self.bytes.count)
        bytes.extracting(0..<min(bytes.byteCount, remaining < .max ? remaining + 1 : remaining)).appendTo(&self.bytes)
        try self.bytes.withRawSpan { (bytes) throws(StreamError) in
            try BinaryObjectTable.checkBeginning(bytes, limit: limit)
        }
    }

    /// Ends the input, and sends its contents.
    ///
    /// - Throws: The first error of the input or the sink, with its position; the same error on every later call. After
    ///   the end, ``/PlistStreaming/StreamError/Kind/misuse``, until ``reset()``.
    @inlinable
    public mutating func finish() throws(StreamError) {
        if let failure { throw failure }
        do throws(StreamError) {
            try sink.readBinaryPlist(bytes, options: options)
        } catch {
            failure = error
            throw error
        }
        failure = StreamError(.misuse, "the input has ended; call reset to begin another one")
    }

    /// The number of bytes fed.
    public var byteOffset: Int { bytes.count }

    /// Discards the input so far, including errors, so that the reader accepts new input. The sink is unchanged.
    public mutating func reset() {
        bytes.removeAll()
        failure = nil
    }
}

extension PlistSink where Self: ~Copyable {
    // PERF: PropertyLists/binary; inlinable, so that the walk specializes for sinks of other packages.
    /// Receives a whole binary property list.
    ///
    /// - Throws: The first error of the bytes or of this sink, with the offset and the path of its object.
    /// - Complexity: O(*n*) in the values sent, whose number the options limit; one allocation per level and for text
    ///   that isn't ASCII.
    @inlinable
    public mutating func readBinaryPlist(
        _ bytes: RawSpan, options: BinaryPlistReaderOptions = BinaryPlistReaderOptions()
    ) throws(StreamError) {
        var walk: BinaryPlistWalk
        do throws(StreamError) { walk = try BinaryPlistWalk(bytes, options) } catch {
            cancel(with: error)
            throw error
        }
        do throws(StreamError) { try walk.send(bytes, to: &self) } catch {
            let error = walk.located(error, bytes)
            cancel(with: error)
            throw error
        }
    }

    /// Receives a whole binary property list from a source: bytes, or a file or descriptor, which is read into memory.
    ///
    /// - Throws: The first error of the source, the bytes or this sink, with its position.
    @inlinable
    public mutating func readBinaryPlist(
        _ source: some ByteSource, options: BinaryPlistReaderOptions = BinaryPlistReaderOptions()
    ) throws(StreamError) {
        if try source.withBytes({ (bytes) throws(StreamError) in try readBinaryPlist(bytes, options: options) }) {
            return
        }
        let bytes: WholeInput
        do throws(StreamError) {
            bytes = try BinaryObjectTable.wholeInput(source, limit: options.limits.totalByteCount)
        } catch {
            cancel(with: error)
            throw error
        }
        try bytes.withBytes { (bytes) throws(StreamError) in try readBinaryPlist(bytes, options: options) }
    }
}

extension BinaryPlistReader: PushReader where Sink: ~Copyable {}
