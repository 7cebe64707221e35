// The in-class tests of JSON lines, whole and in pieces, cancelled and not.

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting
import PlistBuilding
import PlistCoding
import PlistStreaming

enum JSONLinesTests {
    struct Event: StreamObject, Equatable {
        var id = 0
        var name: String?
    }

    /// A source that returns its elements on request, and counts the requested ones.
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

    /// Returns the numbers of the events, and the error after them.
    static func outcome<Events: AsyncSequence>(_ events: Events) async -> String where Events.Element == Event {
        var results: [String] = []
        do {
            for try await event in events { results.append("\(event.id)\(event.name ?? "")") }
        } catch {
            results.append("! \(error)")
        }
        return results.joined(separator: " ")
    }

    static func pieces(_ text: String, _ size: Int) -> [[UInt8]] {
        let bytes = Array(text.utf8)
        return stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
    }
}

extension JSONLinesTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsChunksOfAnySize": testReadsChunksOfAnySize,
            "testReportsLocationOfErrors": testReportsLocationOfErrors,
            "testReadsOnlyNeededChunks": testReadsOnlyNeededChunks,
            "testReadsLargeChunks": testReadsLargeChunks,
            "testRethrowsErrorsOfTheSource": testRethrowsErrorsOfTheSource,
            "testCancellationIsAnError": testCancellationIsAnError,
            "testDeliversTreesForDecodableTypes": testDeliversTreesForDecodableTypes,
            "testEndsAfterCancellation": testEndsAfterCancellation,
            "testReleasesTheSourceAtTheEnd": testReleasesTheSourceAtTheEnd,
            "testCollectsNoUnknownMembers": testCollectsNoUnknownMembers,
        ]
    }

    private static let rows = [
        ("", ""), ("\n\n", ""), ("{\"id\":1}", "1"), ("{\"id\":1}\n{\"id\":2,\"name\":\"ö\"}\n", "1 2ö"),
        ("{\"id\":1} {\"id\":\n2}\r\n\r\n{\"id\":3,\"other\":[{}]}", "1 2 3"),
    ]

    private static func testReadsChunksOfAnySize() async {
        for (text, expected) in rows {
            for size in 1...max(1, text.utf8.count) {
                let chunks = Source(elements: pieces(text, size))
                expectEqual(await outcome(JSONLines().records(in: chunks)), expected, "\(text) in pieces of \(size)")
                let data = Source(elements: pieces(text, size).map { Data($0) })
                expectEqual(await outcome(JSONLines().records(in: data)), expected, "\(text) in data of \(size)")
            }
            let bytes = Source(elements: Array(text.utf8))
            expectEqual(await outcome(JSONLines().records(in: bytes)), expected, "\(text) byte by byte")
        }
    }

    private static func testCollectsNoUnknownMembers() async {
        let text = (0..<5).map { "{\"id\":\($0),\"other\":[{}]}\n" }.joined()
        for size in [1, 7, 1_000] {
            let chunks = Source(elements: pieces(text, size))
            let limited = BuilderOptions(unknownMembers: .collect, unknownMemberLimit: 3)
            expectEqual(
                await outcome(JSONLines().records(in: chunks, options: limited)), "0 1 2 3 4", "in pieces of \(size)")
            let again = Source(elements: pieces(text, size))
            let refused = await outcome(
                JSONLines().records(in: again, options: BuilderOptions(unknownMembers: .reject)))
            expectTrue(refused.hasPrefix("! $[0].other: "), "\(refused), where they are refused")
        }
    }

    private static func testReportsLocationOfErrors() async {
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
                let got = await outcome(JSONLines().records(in: chunks))
                if text.hasSuffix("\n") { expectEqual(got, expected, "\(text) in pieces of \(size)") }
                expectTrue(got.hasPrefix("1 ! "), "\(got), in pieces of \(size)")
            }
            let bytes = Source(elements: Array(text.utf8))
            expectTrue(await outcome(JSONLines().records(in: bytes)).hasPrefix("1 ! "), "\(text), byte by byte")
        }
        struct Constant: StreamObject { let id = 1 }
        let none = JSONLines().records(of: Constant.self, in: Source(elements: [[UInt8]("{}".utf8)]))
        var iterator = none.makeAsyncIterator()
        do {
            _ = try await iterator.next()
            fail("a type that cannot be bound")
        } catch {
            expectEqual((error as? StreamError)?.kind, .misuse, "kind")
        }
        expectTrue(((try? await iterator.next()) ?? nil) == nil, "nothing behind an error")
    }

    private static func testReadsOnlyNeededChunks() async throws {
        let chunks = ["{\"id\":1}\n{\"id\":2}\n{\"i", "d\":3}\n", "{\"id\":4}\n"]
        let source = Source(elements: chunks.map { Array($0.utf8) })
        var events = JSONLines().records(of: Event.self, in: source).makeAsyncIterator()
        for (id, asked) in [(1, 1), (2, 1), (3, 2), (4, 3)] {
            expectEqual(try await events.next()?.id, id, "event")
            expectEqual(source.count.asked, asked, "chunks asked for at event \(id)")
        }
        expectNil(try await events.next(), "an event behind the last")
        let text = Array("{\"id\":1}\n{\"id\":2}\n".utf8)
        let bytes = Source(elements: text)
        var slow = JSONLines().records(of: Event.self, in: bytes).makeAsyncIterator()
        _ = try await slow.next()
        expectEqual(bytes.count.asked, 9, "bytes asked for at the end of a line")
    }

    private static func testReadsLargeChunks() async throws {
        let count = 20_000
        let text = (0..<count).map { "{\"id\":\($0),\"name\":\"a name\"}\n" }.joined()
        let chunk = Array(text.utf8)
        for chunks in [[chunk], [Array(chunk[..<100_001]), Array(chunk[100_001...])]] {
            var next = 0
            for try await event in JSONLines().records(of: Event.self, in: Source(elements: chunks)) {
                if event.id != next { expectEqual(event.id, next, "event") }
                next += 1
            }
            expectEqual(next, count, "events")
        }
    }

    private static func testRethrowsErrorsOfTheSource() async {
        var source = Source(elements: [Array("{\"id\":1}\n{\"id\":2".utf8)])
        source.error = StreamError(.cannotRead, "the line is dead")
        expectEqual(await outcome(JSONLines().records(in: source)), "1 ! the line is dead", "events and error")
    }

    private static func testDeliversTreesForDecodableTypes() async throws {
        struct Item: Decodable {
            var id: Int
            var sizes: [Float]
        }
        let source = Source(elements: pieces("{\"id\":1,\"sizes\":[0.1,1e-3]}\n{\"id\":2,\"sizes\":[]}", 7))
        var items: [Item] = []
        for try await list in JSONLines().records(of: PropertyList.self, in: source) {
            items.append(try PropertyListValueDecoder().decode(Item.self, from: list))
        }
        expectEqual(items.map(\.id), [1, 2], "numbers")
        expectEqual(items.first?.sizes, [0.1, 0.001], "sizes")
    }

    // SAFETY: tasks access it one after another.
    private struct Box<Lines>: @unchecked Sendable { var lines: Lines }

    /// Requests the next value in a task that is cancelled.
    private static func nextWhenCancelled<Lines: AsyncIteratorProtocol & SendableMetatype>(
        _ lines: inout Lines
    ) async -> String where Lines.Element == Event {
        let box = Box(lines: lines)
        let task = Task { () -> (Box<Lines>, String) in
            while !Task.isCancelled { await Task.yield() }
            var box = box
            var value = ""
            do { value = try await box.lines.next().map { "\($0.id)" } ?? "nil" } catch {
                value = error is CancellationError ? "cancelled" : "\(error)"
            }
            return (box, value)
        }
        task.cancel()
        let (result, value) = await task.value
        lines = result.lines
        return value
    }

    private static func testEndsAfterCancellation() async throws {
        let text = "{\"id\":1}\n{\"id\":2}\n"
        for (chunks, before) in [
            ([text, text], 1), ([text, text], 2), ([text, text], 3), ([text + "]"], 2), ([text], 0),
        ] {
            let source = Source(elements: chunks.map { Array($0.utf8) })
            var lines = JSONLines().records(of: Event.self, in: source).makeAsyncIterator()
            for _ in 0..<before { _ = try await lines.next() }
            expectEqual(await nextWhenCancelled(&lines), "cancelled", "after \(before) values of \(chunks)")
            expectEqual(await nextWhenCancelled(&lines), "nil", "once more, after \(before) values of \(chunks)")
            expectNil(try await lines.next(), "in a task that goes on, after \(before) values of \(chunks)")
        }
        // All values were received, so none is missing.
        var lines = JSONLines().records(of: Event.self, in: Source(elements: [Array(text.utf8)])).makeAsyncIterator()
        while try await lines.next() != nil {}
        expectEqual(await nextWhenCancelled(&lines), "nil", "behind the end")
    }

    /// A source that holds a resource, such as a file, while it is read.
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

    private static func testReleasesTheSourceAtTheEnd() async {
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
                var lines = JSONLines().records(of: Event.self, in: source).makeAsyncIterator()
                expectNotNil(held, "what the source holds")
                if isCancelled { _ = await nextWhenCancelled(&lines) }
                do { while try await lines.next() != nil {} } catch {}
                expectNil(held, "what the source holds behind \(chunks), cancelled: \(isCancelled)")
                withExtendedLifetime(lines) {}
            }
        }
    }

    private static func testCancellationIsAnError() async {
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        continuation.yield(Array("{\"id\":1}\n{\"id\":2}\n".utf8))
        let (started, start) = AsyncStream.makeStream(of: Int.self)
        let task = Task { () -> String in
            var results: [String] = []
            do {
                for try await event in JSONLines().records(of: Event.self, in: stream) {
                    results.append("\(event.id)")
                    if event.id == 2 { start.yield(2) }
                }
                results.append("the end")
            } catch {
                results.append(error is CancellationError ? "cancelled" : "\(error)")
            }
            return results.joined(separator: " ")
        }
        for await _ in started { break }
        // The stream of chunks ends without an error when its task is cancelled.
        task.cancel()
        expectEqual(await task.value, "1 2 cancelled", "events")
    }
}
#endif
