// JSON lines as they arrive: an asynchronous sequence of values over one of bytes, or of chunks of bytes.

public import PlistBuilding
import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension JSON {
    /// Returns the values in chunks of bytes that arrive, each as soon as it is complete: JSON lines, or other values that
    /// whitespace separates.
    ///
    /// ```swift
    /// for try await event in JSON.lines(of: Event.self, in: response.body) { … }
    /// ```
    ///
    /// Chunks are `Data`, `[UInt8]` or other contiguous bytes, which may end anywhere. A type that is only `Decodable` comes by a tree
    /// of each value, in which numbers with a fraction are doubles: lines of `PropertyList.self`, each of which
    /// `PropertyListValueDecoder().decode(Event.self, from: list)` makes a value. Unknown members are ignored where the options
    /// collect them, since there is nowhere to read them.
    public static func lines<Value: StreamValue, Source: AsyncSequence>(
        of type: Value.Type = Value.self, in chunks: Source, options: JSONReaderOptions = JSONReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) -> JSONLines<Value, Source> where Source.Element: ContiguousBytes & Sendable {
        JSONLines(source: chunks, options: options, builderOptions: builderOptions) { chunk, buffer in
            // SAFETY: the bytes are copied within the closure.
            unsafe chunk.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
            return true
        }
    }

    /// Returns the values in bytes that arrive, each as soon as its line ends: JSON lines, or other values that whitespace
    /// separates.
    ///
    /// ```swift
    /// for try await event in JSON.lines(of: Event.self, in: url.resourceBytes) { … }
    /// ```
    public static func lines<Value: StreamValue, Source: AsyncSequence>(
        of type: Value.Type = Value.self, in bytes: Source, options: JSONReaderOptions = JSONReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) -> JSONLines<Value, Source> where Source.Element == UInt8 {
        JSONLines(source: bytes, options: options, builderOptions: builderOptions) { byte, buffer in
            buffer.append(byte)
            // No value goes beyond what is held without a newline in it, but for those that have newlines themselves.
            return byte == UInt8(ascii: "\n") || buffer.count >= LineReader<Value>.pieceByteCount
        }
    }
}

/// The values of JSON lines that arrive piece by piece, in order; made by `JSON.lines(of:in:)`.
///
/// Held in memory are the chunk at hand, a part of it as values, and the value that is not complete, however much arrives.
///
/// An error of the text, or of a value that does not fit, is a `StreamError` with the position in all bytes and with a path
/// that begins with the number of the value, from 0: `$[3].title`. It comes after the values before it, and ends the sequence.
/// When the task is cancelled, a `CancellationError` does, so that values that are missing are never taken for the end. Behind an
/// error there is nothing, and the source is let go, as at the end.
public struct JSONLines<Value: StreamValue, Source: AsyncSequence>: AsyncSequence {
    /// A value.
    public typealias Element = Value

    private let source: Source
    private let options: JSONReaderOptions
    private let builderOptions: BuilderOptions
    /// Adds an element of the source to the bytes that wait, and tells whether they are to be read now.
    private let take: @Sendable (Source.Element, inout [UInt8]) -> Bool

    fileprivate init(
        source: Source, options: JSONReaderOptions, builderOptions: BuilderOptions,
        take: @escaping @Sendable (Source.Element, inout [UInt8]) -> Bool
    ) {
        self.source = source
        self.options = options
        self.builderOptions = builderOptions
        self.take = take
    }

    /// Begins to read the source.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(source: source.makeAsyncIterator(), take: take, options, builderOptions)
    }

    /// The state of a reading.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// nil at the end, so that a file or connection is closed.
        private var source: Source.AsyncIterator?
        private let take: @Sendable (Source.Element, inout [UInt8]) -> Bool
        private let lines: LineReader<Value>

        fileprivate init(
            source: Source.AsyncIterator, take: @escaping @Sendable (Source.Element, inout [UInt8]) -> Bool,
            _ options: JSONReaderOptions, _ builderOptions: BuilderOptions
        ) {
            self.source = source
            self.take = take
            lines = LineReader(options, builderOptions)
        }

        /// Waits for the next value, and returns nil at the end.
        /// - Throws: An error of the source, a `StreamError`, or `CancellationError`.
        public mutating func next() async throws -> Value? {
            defer { if lines.isFinished { source = nil } }
            while true {
                if Task.isCancelled, !lines.isSpent {
                    lines.giveUp()
                    throw CancellationError()
                }
                if let value = try lines.next() { return value }
                if lines.isFinished { return nil }
                do {
                    guard let element = try await source?.next() else {
                        // Many sources end when the task is cancelled.
                        if !Task.isCancelled { lines.finish() }
                        continue
                    }
                    if take(element, &lines.waiting) { lines.isReady = true }
                } catch {
                    lines.giveUp()
                    throw error
                }
            }
        }
    }
}

extension JSONLines: Sendable where Source: Sendable {}
