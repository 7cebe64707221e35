// Tests of replaced values: the deinitializer of the old value may access its place, which then contains the new one.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum ReplacingTests {
    /// The object that is being built or reused.
    nonisolated(unsafe) static weak var watched: Watched?
    /// The values that deinitializers have seen in their places.
    nonisolated(unsafe) static var seen: [Int] = []

    /// An object that reads its parent when it is deinitialized.
    final class DeinitObserver: StreamObject {
        let look: (Watched) -> Int
        init() { look = { $0.held.mark } }
        init(_ look: @escaping (Watched) -> Int) { self.look = look }
        deinit { if let watched = unsafe watched { unsafe seen.append(look(watched)) } }
        static var streamMembers: StreamMembers { [] }
    }

    struct Held: StreamObject {
        var mark = 1
        var observer = DeinitObserver()
    }

    /// A value that is created from a string or null.
    struct Text: StreamRepresentable {
        var mark = 1
        var observer = DeinitObserver { $0.text.mark }
        init() {}
        init(representation: String?) throws(StreamError) { mark = representation?.utf8.count ?? 0 }
        var representation: String? { nil }
    }

    /// A value that is created from anything.
    struct Anything: StreamRepresentable {
        var mark = 1
        var observer = DeinitObserver { $0.anything.mark }
        init() {}
        init(representation: PropertyList) throws(StreamError) { mark = 9 }
        var representation: PropertyList { nil }
    }

    /// An object that others can access from the start.
    final class Watched: StreamObject {
        var held = Held()
        var text = Text()
        var anything = Anything()
        init() { if unsafe ReplacingTests.watched == nil { unsafe ReplacingTests.watched = self } }
    }
}

extension ReplacingTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReplacedValuesAreReleasedAfterAssignment": testReplacedValuesAreReleasedAfterAssignment,
            "testResetValuesAreReleasedAfterAssignment": testResetValuesAreReleasedAfterAssignment,
        ]
    }

    /// The documents, and the values that each deinitializer sees.
    private static let rows: [(json: String, seen: [Int])] = [
        (#"{"held":{"mark":7}}"#, [7]), (#"{"held":{"mark":7},"held":{"mark":8}}"#, [7, 8]),
        (#"{"text":"four"}"#, [4]), (#"{"text":null,"text":"of more than fifteen bytes"}"#, [0, 26]),
        (#"{"anything":[1,2]}"#, [9]), (#"{"anything":{}}"#, [9]), (#"{"anything":3}"#, [9]),
    ]

    private static func testReplacedValuesAreReleasedAfterAssignment() throws {
        for (json, expected) in rows {
            let bytes = Array("[\(json)]".utf8) + [UInt8](repeating: 0x20, count: 256)
            for byteCount in [bytes.count, 1, 5] {
                unsafe (watched, seen) = (nil, [])
                var reader = JSONReader(sink: try ObjectBuilder<[Watched]>())
                for start in stride(from: 0, to: bytes.count, by: byteCount) {
                    try reader.feed(Array(bytes[start..<min(start + byteCount, bytes.count)]))
                }
                try reader.finish()
                let result = try reader.sink.takeResult()
                unsafe expectEqual(seen, expected, "\(json) in pieces of \(byteCount)")
                withExtendedLifetime(result) {}
            }
        }
    }

    private static func testResetValuesAreReleasedAfterAssignment() throws {
        unsafe (watched, seen) = (nil, [])
        var seenBefore: [Int] = []
        var stream = try RecordStream<Watched> { (value) throws(StreamError) in unsafe seenBefore = seen }
        try stream.readJSON(#"[{"held":{"mark":7},"text":"four","anything":1},{}]"#)
        expectEqual(seenBefore, [7, 4, 9, 1, 1, 1], "what was seen until the second value was there")
    }
}
#endif
