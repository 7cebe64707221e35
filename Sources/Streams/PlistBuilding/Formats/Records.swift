// Sequences of single records, from a source or from chunks that arrive asynchronously.

public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension StreamFormat {
    /// Returns the elements of an array, the lines or the records of a source, decoded one by one in constant memory.
    ///
    /// ```swift
    /// for try await stop in CSV().records(of: Stop.self, from: .file("stops.csv")) { … }
    ///
    /// var records = JSONLines().records(of: Event.self, from: .descriptor(0)).makeIterator()
    /// while let event = try records.next() { … }
    /// ```
    public func records<Value: StreamValue & SendableMetatype, Source: ByteSource>(
        of type: Value.Type = Value.self, from source: Source, options: BuilderOptions = BuilderOptions()
    ) -> Records<Value, Self, Source> {
        boundRecords(of: type, from: source, options: options)
    }

    /// Returns the records in chunks of bytes that arrive asynchronously. Each record is returned as soon as it is complete.
    ///
    /// ```swift
    /// for try await event in JSONLines().records(of: Event.self, in: response.body) { … }
    /// ```
    /// Chunks are `Data`, `[UInt8]` or other contiguous bytes. They may end anywhere. If the options collect unknown members,
    /// these members are ignored.
    public func records<Value: StreamValue & SendableMetatype, Source: AsyncSequence>(
        of type: Value.Type = Value.self, in chunks: Source, options: BuilderOptions = BuilderOptions()
    ) -> AsyncRecords<Value, Source> where Source.Element: ContiguousBytes & Sendable {
        boundRecords(of: type, in: chunks, options: options)
    }

    /// Returns the records in bytes that arrive asynchronously. Each record is returned as soon as its line ends.
    ///
    /// ```swift
    /// for try await event in JSONLines().records(of: Event.self, in: url.resourceBytes) { … }
    /// ```
    public func records<Value: StreamValue & SendableMetatype, Source: AsyncSequence>(
        of type: Value.Type = Value.self, in bytes: Source, options: BuilderOptions = BuilderOptions()
    ) -> AsyncRecords<Value, Source> where Source.Element == UInt8 {
        boundRecords(of: type, in: bytes, options: options)
    }
}

extension StreamFormat {
    /// Returns the records of a source as values of a bound type.
    package func boundRecords<Value: StreamValue, Source: ByteSource>(
        of type: Value.Type, from source: Source, options: BuilderOptions
    ) -> Records<Value, Self, Source> {
        Records(format: self, source: source) { RecordReader($0, options) }
    }

    /// Returns the records in chunks as values of a bound type.
    package func boundRecords<Value: StreamValue, Source: AsyncSequence>(
        of type: Value.Type, in chunks: Source, options: BuilderOptions
    ) -> AsyncRecords<Value, Source> where Source.Element: ContiguousBytes & Sendable {
        AsyncRecords(chunks: chunks, format: self) { RecordReader($0, options) }
    }

    /// Returns the records in bytes as values of a bound type.
    package func boundRecords<Value: StreamValue, Source: AsyncSequence>(
        of type: Value.Type, in bytes: Source, options: BuilderOptions
    ) -> AsyncRecords<Value, Source> where Source.Element == UInt8 {
        AsyncRecords(bytes: bytes, format: self) { RecordReader($0, options) }
    }
}

// MARK: - Records of a source

/// The records of a source, decoded one by one in constant memory.
public struct Records<Value, Format: StreamFormat, Source: ByteSource>: AsyncSequence {
    private let format: Format
    private let source: Source
    private let makeReader: (Format) -> RecordReader<Value>

    package init(format: Format, source: Source, makeReader: @escaping (Format) -> RecordReader<Value>) {
        self.format = format
        self.source = source
        self.makeReader = makeReader
    }

    /// Begins to read the source.
    public func makeIterator() -> Iterator { Iterator(makeReader(format), source) }

    /// Begins to read the source.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(records: makeIterator()) }

    /// The records, each as a success, and any error that ended reading as the last element.
    public var results: some Sequence<Result<Value, StreamError>> {
        let records = makeIterator()
        return AnyIterator { () -> Result<Value, StreamError>? in
            do throws(StreamError) { return try records.next().map { .success($0) } } catch { return .failure(error) }
        }
    }

    /// An iterator over the records, which stores the state of reading.
    public final class Iterator {
        private let reader: RecordReader<Value>
        @usableFromInline let queue: RecordQueue<Value>
        private var input: ByteInput?
        private let isText: Bool
        private var failure: StreamError?

        fileprivate init(_ reader: RecordReader<Value>, _ source: Source) {
            self.reader = reader
            isText = source.isText
            queue = reader.values
            do throws(StreamError) { input = try source.open() } catch { failure = error }
        }

        /// Returns the next record, or nil at the end and after an error.
        ///
        /// - Throws: The first error of the source or the bytes, with its position, or of a value that doesn't fit.
        @inlinable
        public func next() throws(StreamError) -> Value? {
            if let value = queue.take() { return value }
            return try fill() ? queue.take() : nil
        }

        /// Reads until a record is complete, and returns false at the end.
        @usableFromInline
        func fill() throws(StreamError) -> Bool {
            if let failure {
                self.failure = nil
                throw failure
            }
            guard var open = input.take() else { return false }
            let isFilled = try reader.fill(from: &open, isText: isText)
            if isFilled { input = consume open }
            return isFilled
        }
    }
}

extension Records {
    /// An asynchronous iterator over the records, for `for try await`.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let records: Iterator

        /// Returns the next record, or nil at the end and after an error.
        ///
        /// - Throws: A `StreamError`; `CancellationError` if the task is canceled.
        public func next() async throws -> Value? {
            try Task.checkCancellation()
            return try records.next()
        }
    }
}

// MARK: - Records of asynchronous chunks

/// The records in chunks that arrive asynchronously, in order.
///
/// The last chunk, some of its values, and the incomplete record are kept in memory.
///
/// An error in the bytes, or a value that doesn't fit, throws a `StreamError`. Its position is counted in all bytes, and its
/// path begins with the number of the record, from 0: `$[3].title`. The error is thrown after the records before it, and ends
/// the sequence. If the task is canceled, a `CancellationError` ends the sequence. The source is released after an error and
/// at the end.
public struct AsyncRecords<Value, Source: AsyncSequence>: AsyncSequence {
    /// The type of the records.
    public typealias Element = Value

    private let source: Source
    private let maker: Maker
    /// Adds an element of the source to the waiting bytes, and returns whether to read them now.
    private let take: @Sendable (Source.Element, inout [UInt8]) -> Bool

    // SAFETY: the closure captures a format and options, which are sendable, and the type of the records.
    private struct Maker: @unchecked Sendable {
        let make: () -> RecordReader<Value>
    }

    package init<Format: StreamFormat>(
        chunks: Source, format: Format, makeReader: @escaping (Format) -> RecordReader<Value>
    ) where Source.Element: ContiguousBytes & Sendable {
        source = chunks
        maker = Maker { makeReader(format) }
        take = { chunk, buffer in
            // SAFETY: the bytes are copied within the closure.
            unsafe chunk.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
            return true
        }
    }

    package init<Format: StreamFormat>(
        bytes: Source, format: Format, makeReader: @escaping (Format) -> RecordReader<Value>
    ) where Source.Element == UInt8 {
        source = bytes
        maker = Maker { makeReader(format) }
        take = { byte, buffer in
            buffer.append(byte)
            return byte == UInt8(ascii: "\n") || buffer.count >= RecordPiece.byteCount
        }
    }

    /// Begins to read the source.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(source: source.makeAsyncIterator(), take: take, maker.make())
    }

    /// An asynchronous iterator over the records.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The source, or nil at the end, so that a file or connection is closed.
        private var source: Source.AsyncIterator?
        private let take: @Sendable (Source.Element, inout [UInt8]) -> Bool
        private let records: RecordReader<Value>

        fileprivate init(
            source: Source.AsyncIterator, take: @escaping @Sendable (Source.Element, inout [UInt8]) -> Bool,
            _ records: RecordReader<Value>
        ) {
            self.source = source
            self.take = take
            self.records = records
        }

        /// Waits for the next value, and returns nil at the end.
        /// - Throws: An error of the source, a `StreamError`, or `CancellationError`.
        public mutating func next() async throws -> Value? {
            defer { if records.isFinished { source = nil } }
            while true {
                if Task.isCancelled, !records.isSpent {
                    records.giveUp()
                    throw CancellationError()
                }
                if let value = try records.next() { return value }
                if records.isFinished { return nil }
                do {
                    guard let element = try await source?.next() else {
                        // Many sources end if the task is canceled.
                        if !Task.isCancelled { records.finish() }
                        continue
                    }
                    if take(element, &records.waiting) { records.isReady = true }
                } catch {
                    records.giveUp()
                    throw error
                }
            }
        }
    }
}

extension AsyncRecords: Sendable where Source: Sendable {}
