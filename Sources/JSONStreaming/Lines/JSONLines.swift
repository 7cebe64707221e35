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
        of type: Value.Type = Value.self, in chunks: Source, options: BuilderOptions = BuilderOptions(),
        readerOptions: JSONReaderOptions = JSONReaderOptions()
    ) -> JSONLines<Value, Source> where Source.Element: ContiguousBytes & Sendable {
        JSONLines(source: chunks, options: options, readerOptions: readerOptions) { chunk, buffer in
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
        of type: Value.Type = Value.self, in bytes: Source, options: BuilderOptions = BuilderOptions(),
        readerOptions: JSONReaderOptions = JSONReaderOptions()
    ) -> JSONLines<Value, Source> where Source.Element == UInt8 {
        JSONLines(source: bytes, options: options, readerOptions: readerOptions) { byte, buffer in
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
    private let options: BuilderOptions
    private let readerOptions: JSONReaderOptions
    /// Adds an element of the source to the bytes that wait, and tells whether they are to be read now.
    private let take: @Sendable (Source.Element, inout [UInt8]) -> Bool

    fileprivate init(
        source: Source, options: BuilderOptions, readerOptions: JSONReaderOptions,
        take: @escaping @Sendable (Source.Element, inout [UInt8]) -> Bool
    ) {
        self.source = source
        self.options = options
        self.readerOptions = readerOptions
        self.take = take
    }

    /// Begins to read the source.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(source: source.makeAsyncIterator(), take: take, options, readerOptions)
    }

    /// The state of a reading.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// nil at the end, so that a file or connection is closed.
        private var source: Source.AsyncIterator?
        private let take: @Sendable (Source.Element, inout [UInt8]) -> Bool
        private let lines: LineReader<Value>

        fileprivate init(
            source: Source.AsyncIterator, take: @escaping @Sendable (Source.Element, inout [UInt8]) -> Bool,
            _ options: BuilderOptions, _ readerOptions: JSONReaderOptions
        ) {
            self.source = source
            self.take = take
            lines = LineReader(options, readerOptions)
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

/// Makes values of bytes, piece by piece, and keeps those that nobody has asked for yet.
private final class LineReader<Value: StreamValue> {
    /// How many bytes are made values at once.
    static var pieceByteCount: Int { 1 << 16 }

    /// Bytes that wait to be read, from `offset` on.
    var waiting: [UInt8] = []
    private var offset = 0
    /// Whether those bytes are to be read before others are waited for.
    var isReady = false
    /// Whether there is nothing more to come but the values that are kept.
    private(set) var isFinished = false

    private var reader: JSONReader<ObjectStream<Value>>?
    private let values = Values()
    private var failure: StreamError?

    private final class Values {
        var kept: [Value] = []
        var next = 0

        var isEmpty: Bool { next == kept.count }

        func removeAll() { (kept, next) = ([], 0) }

        func take() -> Value? {
            guard next < kept.count else {
                kept.removeAll(keepingCapacity: true)
                next = 0
                return nil
            }
            next += 1
            return kept[next - 1]
        }
    }

    init(_ options: BuilderOptions, _ readerOptions: JSONReaderOptions) {
        let values = values
        var options = options.besideLines
        // Nobody could read those that are collected, and their number would end a feed without end.
        if options.unknownMembers == .collect { options.unknownMembers = .ignore }
        do throws(StreamError) {
            var stream = try ObjectStream<Value>(depth: 1, options: options) { value throws(StreamError) in
                values.kept.append(copy value)
            }
            // The lines are the elements of an array of which the reader knows nothing.
            try stream.beginArray()
            reader = JSONReader(sink: stream, options: readerOptions.ofLines)
        } catch {
            fail(error)
        }
    }

    /// The next value of the bytes that are here, nil when there is none yet.
    func next() throws(StreamError) -> Value? {
        while true {
            if let value = values.take() { return value }
            if let failure {
                self.failure = nil
                throw failure
            }
            guard isReady, !isFinished else { return nil }
            readPiece()
        }
    }

    private func readPiece() {
        let end = min(offset + Self.pieceByteCount, waiting.count)
        do throws(StreamError) {
            let range = offset..<end
            try unsafe waiting.withUnsafeBufferPointer { (buffer) throws(StreamError) in
                // SAFETY: the span does not leave the closure.
                let piece = unsafe UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: buffer[range]))
                try unsafe reader?.feed(piece.bytes)
            }
        } catch {
            return fail(error)
        }
        offset = end
        guard offset == waiting.count else { return }
        waiting.removeAll(keepingCapacity: waiting.capacity <= 1 << 20)
        (offset, isReady) = (0, false)
    }

    /// Reads what waits, and ends the text.
    func finish() {
        while !waiting.isEmpty, !isFinished { readPiece() }
        guard !isFinished else { return }
        do throws(StreamError) { try reader?.finish() } catch { return fail(error) }
        end()
    }

    private func fail(_ error: StreamError) {
        failure = error
        end()
    }

    /// Whether nothing comes any more, neither a value nor an error.
    var isSpent: Bool { isFinished && values.isEmpty && failure == nil }

    /// Gives up everything, also values and an error that nobody has asked for yet.
    func giveUp() {
        end()
        values.removeAll()
        failure = nil
    }

    /// Gives up what waits.
    func end() {
        isFinished = true
        reader = nil
        waiting = []
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistCoding

enum JSONLinesTests {
    struct Event: StreamObject, Equatable {
        var id = 0
        var name: String?
    }

    /// A source that gives its elements when they are asked for, and counts how many were.
    struct Source<Element: Sendable>: AsyncSequence {
        final class Count { var asked = 0 }
        let elements: [Element]
        let count = Count()
        var error: StreamError?

        struct AsyncIterator: AsyncIteratorProtocol {
            let source: Source
            mutating func next() async throws -> Element? {
                source.count.asked += 1
                if source.count.asked <= source.elements.count { return source.elements[source.count.asked - 1] }
                if let error = source.error { throw error }
                return nil
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }
    }

    /// The numbers of the events, and the error behind them.
    static func outcome<Events: AsyncSequence>(_ events: Events) async -> String where Events.Element == Event {
        var words: [String] = []
        do {
            for try await event in events { words.append("\(event.id)\(event.name ?? "")") }
        } catch {
            words.append("! \(error)")
        }
        return words.joined(separator: " ")
    }

    static func pieces(_ text: String, _ size: Int) -> [[UInt8]] {
        let bytes = Array(text.utf8)
        return stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
    }
}

extension JSONLinesTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testGivesValuesOfAnyPieces": testGivesValuesOfAnyPieces,
            "testSaysWhereAnErrorIs": testSaysWhereAnErrorIs,
            "testAsksForNoMoreThanItNeeds": testAsksForNoMoreThanItNeeds,
            "testGoesThroughLargeChunks": testGoesThroughLargeChunks,
            "testPassesOnAnErrorOfTheSource": testPassesOnAnErrorOfTheSource,
            "testIsNoEndWhenCancelled": testIsNoEndWhenCancelled,
            "testGivesTreesForTypesThatAreOnlyDecodable": testGivesTreesForTypesThatAreOnlyDecodable,
            "testEndsAfterItsCancellation": testEndsAfterItsCancellation,
            "testLetsTheSourceGo": testLetsTheSourceGo,
            "testCollectsNoUnknownMembers": testCollectsNoUnknownMembers,
        ]
    }

    private static let rows = [
        ("", ""), ("\n\n", ""), ("{\"id\":1}", "1"), ("{\"id\":1}\n{\"id\":2,\"name\":\"ö\"}\n", "1 2ö"),
        ("{\"id\":1} {\"id\":\n2}\r\n\r\n{\"id\":3,\"other\":[{}]}", "1 2 3"),
    ]

    private static func testGivesValuesOfAnyPieces() async {
        for (text, expected) in rows {
            for size in 1...max(1, text.utf8.count) {
                let chunks = Source(elements: pieces(text, size))
                expectEqual(await outcome(JSON.lines(in: chunks)), expected, "\(text) in pieces of \(size)")
                let data = Source(elements: pieces(text, size).map { Data($0) })
                expectEqual(await outcome(JSON.lines(in: data)), expected, "\(text) in data of \(size)")
            }
            let bytes = Source(elements: Array(text.utf8))
            expectEqual(await outcome(JSON.lines(in: bytes)), expected, "\(text) byte by byte")
        }
    }

    private static func testCollectsNoUnknownMembers() async {
        let text = (0..<5).map { "{\"id\":\($0),\"other\":[{}]}\n" }.joined()
        for size in [1, 7, 1_000] {
            let chunks = Source(elements: pieces(text, size))
            let limited = BuilderOptions(unknownMembers: .collect, unknownMemberLimit: 3)
            expectEqual(await outcome(JSON.lines(in: chunks, options: limited)), "0 1 2 3 4", "in pieces of \(size)")
            let again = Source(elements: pieces(text, size))
            let refused = await outcome(JSON.lines(in: again, options: BuilderOptions(unknownMembers: .reject)))
            expectTrue(refused.hasPrefix("! $[0].other: "), "\(refused), where they are refused")
        }
    }

    private static func testSaysWhereAnErrorIs() async {
        let rows = [
            (
                "{\"id\":1}\n{\"id\":\"x\"}\n{\"id\":3}\n",
                "1 ! $[1].id: expected an integer, found string \"x\" at line 2, column 7 (byte 15)"
            ),
            ("{\"id\":1}\n]\n", "1 ! expected a value, found ']' at line 2, column 1 (byte 9)"),
            (
                "{\"id\":1}\n{\"id\":2",
                "1 ! expected the rest of a number, found the end of the input at line 2, column 8 (byte 16)"
            ),
        ]
        for (text, expected) in rows {
            for size in [1, 2, 7, 1_000] {
                let chunks = Source(elements: pieces(text, size))
                let got = await outcome(JSON.lines(in: chunks))
                if text.hasSuffix("\n") { expectEqual(got, expected, "\(text) in pieces of \(size)") }
                expectTrue(got.hasPrefix("1 ! "), "\(got), in pieces of \(size)")
            }
            let bytes = Source(elements: Array(text.utf8))
            expectTrue(await outcome(JSON.lines(in: bytes)).hasPrefix("1 ! "), "\(text), byte by byte")
        }
        struct Constant: StreamObject { let id = 1 }
        let none = JSON.lines(of: Constant.self, in: Source(elements: [[UInt8]("{}".utf8)]))
        var iterator = none.makeAsyncIterator()
        do {
            _ = try await iterator.next()
            fail("a type that cannot be bound")
        } catch {
            expectEqual((error as? StreamError)?.kind, .misuse, "kind")
        }
        expectTrue(((try? await iterator.next()) ?? nil) == nil, "nothing behind an error")
    }

    private static func testAsksForNoMoreThanItNeeds() async throws {
        let chunks = ["{\"id\":1}\n{\"id\":2}\n{\"i", "d\":3}\n", "{\"id\":4}\n"]
        let source = Source(elements: chunks.map { Array($0.utf8) })
        var events = JSON.lines(of: Event.self, in: source).makeAsyncIterator()
        for (id, asked) in [(1, 1), (2, 1), (3, 2), (4, 3)] {
            expectEqual(try await events.next()?.id, id, "event")
            expectEqual(source.count.asked, asked, "chunks asked for at event \(id)")
        }
        expectNil(try await events.next(), "an event behind the last")
        let text = Array("{\"id\":1}\n{\"id\":2}\n".utf8)
        let bytes = Source(elements: text)
        var slow = JSON.lines(of: Event.self, in: bytes).makeAsyncIterator()
        _ = try await slow.next()
        expectEqual(bytes.count.asked, 9, "bytes asked for at the end of a line")
    }

    private static func testGoesThroughLargeChunks() async throws {
        let count = 20_000
        let text = (0..<count).map { "{\"id\":\($0),\"name\":\"a name\"}\n" }.joined()
        let chunk = Array(text.utf8)
        for chunks in [[chunk], [Array(chunk[..<100_001]), Array(chunk[100_001...])]] {
            var next = 0
            for try await event in JSON.lines(of: Event.self, in: Source(elements: chunks)) {
                if event.id != next { expectEqual(event.id, next, "event") }
                next += 1
            }
            expectEqual(next, count, "events")
        }
    }

    private static func testPassesOnAnErrorOfTheSource() async {
        var source = Source(elements: [Array("{\"id\":1}\n{\"id\":2".utf8)])
        source.error = StreamError(.cannotRead, "the line is dead")
        expectEqual(await outcome(JSON.lines(in: source)), "1 ! the line is dead", "events and error")
    }

    private static func testGivesTreesForTypesThatAreOnlyDecodable() async throws {
        struct Item: Decodable {
            var id: Int
            var sizes: [Float]
        }
        let source = Source(elements: pieces("{\"id\":1,\"sizes\":[0.1,1e-3]}\n{\"id\":2,\"sizes\":[]}", 7))
        var items: [Item] = []
        for try await list in JSON.lines(of: PropertyList.self, in: source) {
            items.append(try PropertyListValueDecoder().decode(Item.self, from: list))
        }
        expectEqual(items.map(\.id), [1, 2], "numbers")
        expectEqual(items.first?.sizes, [0.1, 0.001], "sizes")
    }

    // SAFETY: one task has it after the other.
    private struct Box<Lines>: @unchecked Sendable { var lines: Lines }

    /// Asks for the next value in a task that is cancelled.
    private static func nextWhenCancelled<Lines: AsyncIteratorProtocol & SendableMetatype>(
        _ lines: inout Lines
    ) async -> String where Lines.Element == Event {
        let box = Box(lines: lines)
        let task = Task { () -> (Box<Lines>, String) in
            while !Task.isCancelled { await Task.yield() }
            var box = box
            var words = ""
            do { words = try await box.lines.next().map { "\($0.id)" } ?? "nil" } catch {
                words = error is CancellationError ? "cancelled" : "\(error)"
            }
            return (box, words)
        }
        task.cancel()
        let (result, words) = await task.value
        lines = result.lines
        return words
    }

    private static func testEndsAfterItsCancellation() async throws {
        let text = "{\"id\":1}\n{\"id\":2}\n"
        for (chunks, before) in [
            ([text, text], 1), ([text, text], 2), ([text, text], 3), ([text + "]"], 2), ([text], 0),
        ] {
            let source = Source(elements: chunks.map { Array($0.utf8) })
            var lines = JSON.lines(of: Event.self, in: source).makeAsyncIterator()
            for _ in 0..<before { _ = try await lines.next() }
            expectEqual(await nextWhenCancelled(&lines), "cancelled", "after \(before) values of \(chunks)")
            expectEqual(await nextWhenCancelled(&lines), "nil", "once more, after \(before) values of \(chunks)")
            expectNil(try await lines.next(), "in a task that goes on, after \(before) values of \(chunks)")
        }
        // All values were there: nothing is missing.
        var lines = JSON.lines(of: Event.self, in: Source(elements: [Array(text.utf8)])).makeAsyncIterator()
        while try await lines.next() != nil {}
        expectEqual(await nextWhenCancelled(&lines), "nil", "behind the end")
    }

    /// A source that holds something, such as a file, while it is read.
    private struct Holding: AsyncSequence {
        final class Held {}
        let chunks: [String]
        let error: (any Error)?
        let hold: () -> Held

        struct AsyncIterator: AsyncIteratorProtocol {
            let held: Held
            let error: (any Error)?
            var chunks: [String]
            mutating func next() async throws -> [UInt8]? {
                if chunks.isEmpty, let error { throw error }
                return chunks.isEmpty ? nil : Array(chunks.removeFirst().utf8)
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(held: hold(), error: error, chunks: chunks) }
    }

    private static func testLetsTheSourceGo() async {
        let good = "{\"id\":1}\n"
        let rows: [([String], (any Error)?)] = [
            ([], nil), ([good], nil), ([good, "{\"id\""], nil), (["]", good], nil), ([good], CancellationError()),
        ]
        for (chunks, error) in rows {
            for isCancelled in [false, true] {
                weak var held: Holding.Held?
                let source = Holding(chunks: chunks, error: error) {
                    let object = Holding.Held()
                    held = object
                    return object
                }
                var lines = JSON.lines(of: Event.self, in: source).makeAsyncIterator()
                expectNotNil(held, "what the source holds")
                if isCancelled { _ = await nextWhenCancelled(&lines) }
                do { while try await lines.next() != nil {} } catch {}
                expectNil(held, "what the source holds behind \(chunks), cancelled: \(isCancelled)")
                withExtendedLifetime(lines) {}
            }
        }
    }

    private static func testIsNoEndWhenCancelled() async {
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        continuation.yield(Array("{\"id\":1}\n{\"id\":2}\n".utf8))
        let (started, start) = AsyncStream.makeStream(of: Int.self)
        let task = Task { () -> String in
            var words: [String] = []
            do {
                for try await event in JSON.lines(of: Event.self, in: stream) {
                    words.append("\(event.id)")
                    if event.id == 2 { start.yield(2) }
                }
                words.append("the end")
            } catch {
                words.append(error is CancellationError ? "cancelled" : "\(error)")
            }
            return words.joined(separator: " ")
        }
        for await _ in started { break }
        // The stream of chunks ends without an error when its task is cancelled.
        task.cancel()
        expectEqual(await task.value, "1 2 cancelled", "events")
    }
}
#endif
