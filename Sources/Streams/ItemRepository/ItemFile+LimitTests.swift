// The in-class tests that a repository reads written items back unchanged, or refuses to write them.

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting
import JSONStreaming
import PlistBuilding
import PlistStreaming

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum ItemLimitTests {
    /// An item with any number of levels.
    final class Node: StreamObject, Identifiable {
        var id = ""
        var kids: [Node] = []
        init() {}

        /// Creates nested nodes, with 2 levels for each.
        init(_ count: Int) {
            id = "a"
            var innermost: Node = self
            for _ in 1..<count {
                let kid = Node()
                innermost.kids = [kid]
                innermost = kid
            }
        }
    }

    /// An item with any keys and values.
    struct Bag: StreamObject, Identifiable, Equatable {
        var id = 0
        var counts: [String: Int] = [:]
        var any = PropertyList.null
    }

    struct Choice: StreamObject, Identifiable, Equatable {
        var id = ""
        var number: Int? = 5
        var text: String? = "default"
        var list: [Int]? = [1]
        var inner: Inner? = Inner()
        var flag: Bool?

        struct Inner: StreamObject, Equatable {
            var real: Double? = 0.5
        }
    }

    struct Wanted: StreamObject, Identifiable, Equatable {
        var id = 0
        var note: String?
        static var streamMembers: StreamMembers { [.member("id", \Wanted.id), .required("note", \Wanted.note)] }
    }
}

extension ItemLimitTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testKeepsNilMembers": testKeepsNilMembers,
            "testReadsNullAsDefault": testReadsNullAsDefault,
            "testReadsNestedOptionalsAsNilAndURLsWithoutABase": testReadsNestedOptionalsAsNilAndURLsWithoutABase,
            "testReadsItsOwnLargestFiles": testReadsItsOwnLargestFiles,
            "testRefusesToWriteUnreadableDepth": testRefusesToWriteUnreadableDepth,
            "testRefusesRepeatedLongKeys": testRefusesRepeatedLongKeys,
            "testKeepsNumbersOfAnyLength": testKeepsNumbersOfAnyLength,
            "testNamesRefusedItem": testNamesRefusedItem,
            "testReadsDashAsFileName": testReadsDashAsFileName,
        ]
    }

    private static let eachFormat = ItemRepositoryTests.eachFormat

    // MARK: Nil

    private static func testKeepsNilMembers() throws {
        let nothing = Choice(id: "nil", number: nil, text: nil, list: nil, inner: nil, flag: nil)
        let inside = Choice(id: "inside", inner: Choice.Inner(real: nil), flag: true)
        try eachFormat { format, path in
            for isBesideOthers in [false, true] {
                if isBesideOthers { try ItemFileTests.put(json: "[7]", path, format) }
                let choices = try ItemRepository<Choice>(path: path, format: format)
                let items = [nothing, inside, Choice(id: "defaults")]
                for item in items { choices.add(item) }
                try choices.flush()
                try choices.reload()
                expectEqual(choices.items, items, "\(format)")
                expectEqual(choices.problems.count, isBesideOthers ? 1 : 0, "problems")
                unsafe unlink(path)
            }
            let wanted = try ItemRepository<Wanted>(path: path, format: format)
            wanted.add(Wanted(id: 1))
            try wanted.flush()
            try wanted.reload()
            expectEqual(wanted.items, [Wanted(id: 1)], "a required member that is nil, \(format)")
        }
    }

    /// Members that were nil when they were written, in a type that no longer accepts nil.
    private static func testReadsNullAsDefault() throws {
        struct Newer: StreamObject, Identifiable, Equatable {
            var id = ""
            var number = 7
        }
        try eachFormat { format, path in
            let choices = try ItemRepository<Choice>(path: path, format: format)
            choices.add(Choice(id: "x", number: nil))
            try choices.flush()
            for element in ["", ", 7"] {
                if !element.isEmpty {
                    unsafe unlink(path)
                    try ItemFileTests.put(json: #"[{"id": "x", "number": null}\#(element)]"#, path, format)
                }
                let newer = try ItemRepository<Newer>(path: path, format: format)
                expectEqual(newer.items, [Newer(id: "x")], "\(format)")
                expectEqual(newer.problems.count, element.isEmpty ? 0 : 1, "\(format): \(newer.problems)")
            }
        }
    }

    /// One null stands for every level of an optional, and the text of a URL doesn't say what it is relative to.
    private static func testReadsNestedOptionalsAsNilAndURLsWithoutABase() throws {
        struct Loose: StreamObject, Identifiable {
            var id = 1
            var count: Int?? = .some(5)
            var link: URL?
        }
        try eachFormat { format, path in
            let items = try ItemRepository<Loose>(path: path, format: format)
            items.add(Loose(count: .some(nil), link: URL(string: "b", relativeTo: URL(string: "http://example.com/a"))))
            try items.flush()
            try items.reload()
            expectEqual(items.problems.count, 0, "problems")
            expectEqual(items.items.map { $0.count == nil }, [true], "nil, \(format)")
            expectEqual(items.items.map(\.link), [URL(string: "http://example.com/b")], "without a base, \(format)")
        }
    }

    // MARK: Limits

    /// Texts beyond the default limit of readers, and the greatest depth for writing.
    private static func testReadsItsOwnLargestFiles() throws {
        var long = ItemRepositoryTests.Clip(1)
        long.note = String(repeating: "x", count: 1 + 64 << 20)
        for format in [ItemFileFormat.binaryPropertyList, .sqlite].sampledInDebug(every: 2) {
            let path = "\(try temporaryDirectory())/long-\(format)"
            let clips = try ItemRepository<ItemRepositoryTests.Clip>(path: path, format: format)
            clips.add(long)
            try clips.flush()
            try clips.reload()
            expectEqual(clips.problems.count, 0, "\(format): \(clips.problems)")
            expectEqual(clips[long.id]?.note?.utf8.count, 1 + 64 << 20, "bytes, \(format)")
        }
        for (count, isWritten) in [(255, true), (256, false), (400, false)] {
            let path = "\(try temporaryDirectory())/nodes\(count)"
            let opening = String(repeating: #"{"id":"a","kids":["#, count: count)
            let json = "[\(opening)\(String(repeating: "]}", count: count))]"
            try ItemRepositoryTests.put(Array(json.utf8), path)
            do throws(StreamError) {
                let nodes = try ItemRepository<Node>(path: path, format: .json)
                try nodes.flush()
                expectTrue(isWritten, "\(count) levels were written")
            } catch {
                expectFalse(isWritten, "\(count) levels: \(error)")
                expectEqual(error.kind, .limitExceeded, "kind")
            }
            expectEqual(try ItemRepositoryTests.bytes(path).count, json.utf8.count, "the file")
        }
    }

    /// Tests the last level that is read and the first one beyond it, alone and together with an element that is not an item.
    private static func testRefusesToWriteUnreadableDepth() throws {
        try eachFormat { format, path in
            // A row is an item, but elements of a file are within an array.
            let (most, mostArrays) = format == .sqlite ? (256, 511) : (255, 510)
            for json in ["[]", "[7]"] {
                for (count, isWritten) in [(most, true), (most + 1, false)] {
                    unsafe unlink(path)
                    try ItemFileTests.put(json: json, path, format)
                    let nodes = try ItemRepository<Node>(path: path, format: format)
                    let problemCount = nodes.problems.count
                    nodes.add(Node(count))
                    let error = captureError { () throws(StreamError) in try nodes.flush() }
                    expectEqual(error?.kind, isWritten ? nil : .limitExceeded, "\(format), \(count) nodes, \(json)")
                    try nodes.reload()
                    expectEqual(nodes.count, isWritten ? 1 : 0, "items of \(format), \(count) nodes, \(json)")
                    expectEqual(nodes.problems.count, problemCount, "\(nodes.problems)")
                }
            }
            // A property list, whose type doesn't limit the levels.
            for (count, isWritten) in [(mostArrays, true), (mostArrays + 1, false)] {
                unsafe unlink(path)
                let bags = try ItemRepository<Bag>(path: path, format: format)
                var bag = Bag(id: 1)
                let brackets = String(repeating: "[", count: count) + String(repeating: "]", count: count)
                bag.any = try JSON.decode(PropertyList.self, from: brackets)
                bags.add(bag)
                let error = captureError { () throws(StreamError) in try bags.flush() }
                expectEqual(error?.kind, isWritten ? nil : .limitExceeded, "\(format), \(count) arrays")
                try bags.reload()
                expectEqual(bags.items, isWritten ? [bag] : [], "\(format), \(count) arrays")
            }
        }
    }

    private static func captureError(_ body: () throws(StreamError) -> Void) -> StreamError? {
        do throws(StreamError) { try body() } catch { return error }
        return nil
    }

    /// A property list stores a key once, and its reader limits the expanded size to 64 MiB. This test is slow.
    private static func testRefusesRepeatedLongKeys() throws {
        let bags = try ItemRepository<Bag>(path: "\(try temporaryDirectory())/bags")
        let key = String(repeating: "k", count: 1 << 16)
        for id in 0..<1_000 { bags.add(Bag(id: id, counts: [key: id])) }
        try bags.flush()
        let before = try ItemRepositoryTests.bytes(bags.path)
        for id in 1_000..<1_300 { bags.add(Bag(id: id, counts: [key: id])) }
        let error = captureError { () throws(StreamError) in try bags.flush() }
        expectEqual(error?.kind, .limitExceeded, "kind")
        expectTrue(error?.description.hasPrefix("$[11") ?? false, "words: \(error?.description.prefix(80) ?? "")")
        expectTrue(error?.message.contains("long keys") ?? false, "words: \(error?.message.prefix(80) ?? "")")
        expectTrue(try ItemRepositoryTests.bytes(bags.path) == before, "the file")
        try bags.reload()
        expectEqual(bags.count, 1_000, "\(bags.problems)")
    }

    private static func testKeepsNumbersOfAnyLength() throws {
        for format in [ItemFileFormat.json, .sqlite] {
            let path = "\(try temporaryDirectory())/numbers-\(format)"
            let bags = try ItemRepository<Bag>(path: path, format: format)
            let digits = String(repeating: "7", count: 5_000)
            let bag = Bag(
                id: 1,
                any: try JSON(reader: JSONReaderOptions(limits: StreamLimits(numberByteCount: .max))).decode(
                    PropertyList.self, from: digits))
            bags.add(bag)
            try bags.flush()
            try bags.reload()
            expectEqual(bags.items, [bag], "\(format): \(bags.problems)")
        }
    }

    private static func testNamesRefusedItem() throws {
        struct Ratio: StreamObject, Identifiable {
            var id = 0
            var value = 0.0
        }
        for json in ["[]", "[7]"] {
            for format in [ItemFileFormat.json, .sqlite] {
                let path = "\(try temporaryDirectory())/ratios-\(format)\(json.utf8.count)"
                try ItemFileTests.put(json: json, path, format)
                let ratios = try ItemRepository<Ratio>(path: path, format: format)
                ratios.add(Ratio(id: 1, value: 0.5))
                ratios.add(Ratio(id: 2, value: .nan))
                let error = captureError { () throws(StreamError) in try ratios.flush() }
                expectEqual(error?.path?.description, "$[1].value", "path, \(format), \(json)")
                expectEqual(error?.kind, .unrepresentable, "kind")
            }
        }
    }

    // MARK: Names

    private static func testReadsDashAsFileName() throws {
        let old = unsafe try requireNotNil(getcwd(nil, 0), "directory")
        defer {
            unsafe chdir(old)
            unsafe free(old)
        }
        for format in ItemFileFormat.allCases {
            unsafe chdir(try ItemRepositoryTests.directory(for: format))
            let bags = try ItemRepository<Bag>(path: "-", format: format)
            bags.add(Bag(id: 1))
            try bags.flush()
            expectEqual(unsafe access("./-", F_OK), 0, "the file, \(format)")
            expectEqual(try ItemRepository<Bag>(path: "./-", format: format).items, [Bag(id: 1)], "\(format)")
            expectEqual(try ItemRepository<Bag>(path: "-", format: format).items, [Bag(id: 1)], "\(format)")
        }
    }
}
#endif
