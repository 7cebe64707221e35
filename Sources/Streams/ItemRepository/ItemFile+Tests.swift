// The in-class tests of repositories with damaged files, items of another type, and files of other formats.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import JSONStreaming
import PlistBuilding
import PlistStreaming
import PropertyListFiles
import SQLiteStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum ItemFileTests {}

extension ItemFileTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testKeepsACorruptFileAside": testKeepsACorruptFileAside,
            "testKeepsInvalidItemsInTheFile": testKeepsInvalidItemsInTheFile,
            "testReplacementPrecedesLeftOutItem": testReplacementPrecedesLeftOutItem,
            "testLastOfRepeatedMembersWins": testLastOfRepeatedMembersWins,
            "testReadsOnlyStartOfOtherFiles": testReadsOnlyStartOfOtherFiles,
            "testRemovedItemsStayRemoved": testRemovedItemsStayRemoved,
            "testKeepsDatesExactly": testKeepsDatesExactly,
            "testLaterFlushWins": testLaterFlushWins,
            "testReleasesItemsThatUseTheRepository": testReleasesItemsThatUseTheRepository,
            "testCountsItemsWithNaNKeys": testCountsItemsWithNaNKeys,
            "testReadsFilesWithSpecialNamesAndSizes": testReadsFilesWithSpecialNamesAndSizes,
            "testKeepsFilesOfOtherFormats": testKeepsFilesOfOtherFormats,
            "testReadsItemsOfOlderType": testReadsItemsOfOlderType,
        ]
    }

    private typealias Clip = ItemRepositoryTests.Clip
    private typealias Clips = ItemRepository<Clip>

    private static func testKeepsACorruptFileAside() throws {
        try ItemRepositoryTests.eachFormat { format, path in
            let clips = try Clips(path: path, format: format)
            for number in 0..<20 { clips.add(Clip(number)) }
            try clips.flush()
            var damaged = try ItemRepositoryTests.bytes(path)
            if format == .sqlite {
                // The header contains the size of the file, and SQLite doesn't detect a file that was cut at a page.
                damaged.replaceSubrange(0..<16, with: [UInt8](repeating: 0x78, count: 16))
            } else {
                damaged.removeLast(7)
            }
            for number in 1...3 {
                try ItemRepositoryTests.put(damaged, path)
                unsafe chmod(path, 0o600)
                let found = try Clips(path: path, format: format)
                expectEqual(found.count, 0, "items of a damaged file")
                guard found.problems.count == 1, case .corruptFile(_, let moved) = found.problems[0] else {
                    fail("\(format): expected a corrupt file, found \(found.problems)")
                    return
                }
                expectEqual(moved, "\(path).corrupt-\(number)", "where it is")
                expectEqual(try ItemRepositoryTests.bytes(moved), damaged, "what is in it")
                expectNotEqual(unsafe access(path, F_OK), 0, "the file under its name")
                found.add(Clip(number))
                try found.flush()
                expectEqual(try Clips(path: path, format: format).items, [Clip(number)], "the next file")
                var status = stat()
                expectEqual(unsafe stat(path, &status), 0, "stat")
                expectEqual(status.st_mode & 0o777, 0o600, "its permissions")
            }
        }
    }

    private static func testKeepsInvalidItemsInTheFile() throws {
        let texts = [
            #"{"identifier": "a", "views": 1}"#, #"{"views": 2, "x": null, "u": {"CF$UID": 3}}"#,
            #"{"identifier": "b", "views": "many"}"#, "7",
            #"{"identifier": "a", "views": 3}"#, #"{"identifier": "c"}"#,
        ]
        let messages = [
            "item 1 is left out: $: expected a member \"identifier\" of Clip",
            "item 2 is left out: $.views: expected an integer", "item 3 is left out: $: expected",
            "item 4 is left out: an earlier item has the key \"a\"",
        ]
        let json = "[\(texts.joined(separator: ","))]"
        try ItemRepositoryTests.eachFormat { format, path in
            try put(json: json, path, format)
            for round in 0..<3 {
                let clips = try Clips(path: path, format: format)
                let ids = clips.items.map(\.id)
                expectEqual(ids, ["a", "c"] + (round == 0 ? [] : ["new"]), "\(format), round \(round)")
                expectEqual(clips["a"]?.views, 1, "the first one of two")
                expectEqual(clips.problems.count, 4, "problems")
                if round == 0 {
                    for (problem, message) in zip(clips.problems, messages) {
                        expectTrue("\(problem)".hasPrefix(message), "\(problem)")
                    }
                    clips.add(Clip(0))
                    clips.remove(id: "clip 0")
                    var new = Clip()
                    new.identifier = "new"
                    clips.add(new)
                }
                try clips.flush()
            }
        }
    }

    /// An element with the same key does not replace an item that was removed.
    private static func testRemovedItemsStayRemoved() throws {
        let json =
            #"[{"identifier": "a"}, {"identifier": "a", "views": 2}, {"identifier": "b"}, {"identifier": "b"}, 7]"#
        try ItemRepositoryTests.eachFormat { format, path in
            try put(json: json, path, format)
            let clips = try Clips(path: path, format: format)
            expectEqual(clips.problems.count, 3, "\(format): \(clips.problems)")
            clips.remove(id: "a")
            clips.add(Clip(0))
            try clips.flush()
            try clips.reload()
            expectEqual(clips.items.map(\.id), ["b", "clip 0"], "\(format): a is gone")
            expectEqual(clips.problems.count, 2, "the other b, and 7: \(clips.problems)")
            clips.removeAll()
            try clips.flush()
            try clips.reload()
            expectEqual(clips.count, 0, "\(format): nothing")
            expectEqual(clips.problems.count, 0, "nothing besides: \(clips.problems)")
        }
    }

    private struct Older: StreamObject, Identifiable {
        var id = ""
        var value = 0
    }

    private struct Newer: StreamObject, Identifiable {
        var id = ""
        var value = ""
    }

    private struct Either: StreamObject, Identifiable {
        var id = ""
        var value = PropertyList.null
    }

    /// An added item comes before a left-out element with the same key, in case both become valid items later.
    private static func testReplacementPrecedesLeftOutItem() throws {
        try ItemRepositoryTests.eachFormat { format, path in
            let older = try ItemRepository<Older>(path: path, format: format)
            for (id, value) in [("a", 1), ("b", 2)] { older.add(Older(id: id, value: value)) }
            try older.flush()
            for round in 0..<2 {
                let newer = try ItemRepository<Newer>(path: path, format: format)
                expectEqual(newer.problems.count, 2, "left out: \(newer.problems)")
                newer.add(Newer(id: "a", value: "new"))
                try newer.flush()
                newer.add(Newer(id: "c\(round)", value: "new"))
                try newer.flush()
            }
            let either = try ItemRepository<Either>(path: path, format: format)
            expectEqual(
                either.items.map { "\($0.id) \($0.value)" },
                [#"a "new""#, #"c0 "new""#, #"c1 "new""#, "b 2"], "\(format)")
            expectEqual(
                either.problems.map(\.description),
                ["item 3 is left out: an earlier item has the key \"a\""], "\(format)")
        }
    }

    /// If members have the same name, the last one is used, even if an earlier one has the wrong type.
    private static func testLastOfRepeatedMembersWins() throws {
        let text = #"{"identifier":"a","views":"many","views":4}"#
        try ItemRepositoryTests.eachFormat { format, path in
            switch format {
            case .json: try ItemRepositoryTests.put(Array("[\(text)]".utf8), path)
            case .binaryPropertyList: return
            case .sqlite:
                let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
                try connection.execute("CREATE TABLE items (number INTEGER PRIMARY KEY, id TEXT, item TEXT)")
                try connection.run("INSERT INTO items VALUES (1, 'a', ?)", [text])
            }
            let clips = try Clips(path: path, format: format)
            expectEqual(clips["a"]?.views, 4, "\(format): \(clips.problems)")
        }
    }

    /// Only the beginning of a file of another format is read.
    private static func testReadsOnlyStartOfOtherFiles() throws {
        let path = "\(try temporaryDirectory())/large"
        for (start, count) in [("z", 256 << 10), ("bplist00", 4 << 20)] {
            try ItemRepositoryTests.put(
                Array(start.utf8) + [UInt8](repeating: 0, count: 4 << 20 - start.utf8.count), path)
            let file = ItemFile<Clip>(path: path, format: .binaryPropertyList)
            expectEqual(try file.bytes().count, count, start)
            expectEqual(try ItemFile<Clip>.isOfAnotherFormat(path), start != "z", start)
        }
    }

    static func put(json: String, _ path: String, _ format: ItemFileFormat) throws {
        switch format {
        case .json: try ItemRepositoryTests.put(Array(json.utf8), path)
        case .binaryPropertyList:
            var writer = BinaryPlistWriter(options: BinaryPlistWriterOptions(nulls: .write, writesUIDs: true))
            try writer.readJSON(json)
            try writer.finish()
            try ItemRepositoryTests.put(writer.bytes, path)
        case .sqlite:
            let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
            try connection.execute("CREATE TABLE items (number INTEGER PRIMARY KEY, id TEXT, item TEXT)")
            for element in try JSON.decode(PropertyList.self, from: json).elements {
                try connection.run("INSERT INTO items VALUES (NULL, '?', ?)", [try JSON.encodeToString(element)])
            }
        }
    }

    private struct Visit: StreamObject, Identifiable, Equatable {
        var id = Date(timeIntervalSinceReferenceDate: 0)
    }

    private static func testKeepsDatesExactly() throws {
        try ItemRepositoryTests.eachFormat { format, path in
            let visits = try ItemRepository<Visit>(path: path, format: format)
            for part in 0..<50 {
                visits.add(Visit(id: Date(timeIntervalSinceReferenceDate: 800_000_000.123456 + Double(part) / 8192)))
            }
            try visits.flush()
            let again = try ItemRepository<Visit>(path: path, format: format)
            expectEqual(again.items, visits.items, "\(format)")
            expectEqual(again.problems.count, 0, "\(again.problems)")
        }
    }

    private static func testLaterFlushWins() throws {
        try ItemRepositoryTests.eachFormat { format, path in
            let (first, second) = (try Clips(path: path, format: format), try Clips(path: path, format: format))
            var clip = Clip(1)
            first.add(clip)
            first.add(Clip(2))
            try first.flush()
            clip.views = 7
            second.add(Clip(3))
            second.add(clip)
            try second.flush()
            let third = try Clips(path: path, format: format)
            expectEqual(third.items, [Clip(3), clip], "\(format)")
            expectEqual(third.problems.count, 0, "\(format): \(third.problems)")
        }
    }

    /// An item that accesses its repository when it is released.
    private final class Watcher: StreamObject, Identifiable {
        nonisolated(unsafe) static weak var repository: ItemRepository<Watcher>?
        nonisolated(unsafe) static var counts: [Int] = []
        var id = 0
        init() {}
        init(_ id: Int) { self.id = id }
        deinit {
            if let count = unsafe Watcher.repository?.count { unsafe Watcher.counts.append(count) }
        }
    }

    private static func testReleasesItemsThatUseTheRepository() throws {
        let watchers = try ItemRepository<Watcher>(path: "\(try temporaryDirectory())/watchers", format: .json)
        unsafe (Watcher.repository, Watcher.counts) = (watchers, [])
        for id in 0..<40 { watchers.add(Watcher(id)) }
        watchers.add(Watcher(0))
        for id in 0..<30 { watchers.remove(id: id) }
        try watchers.flush()
        watchers.remove(id: 39)
        try watchers.flush()
        try watchers.reload()
        watchers.removeAll()
        expectTrue(unsafe Watcher.counts.count >= 41, "releases: \(unsafe Watcher.counts.count)")
        unsafe Watcher.repository = nil
    }

    private static func testCountsItemsWithNaNKeys() throws {
        struct Measure: StreamObject, Identifiable { var id = 0.0 }
        let measures = try ItemRepository<Measure>(path: "\(try temporaryDirectory())/measures")
        for id in 0..<35 { measures.add(Measure(id: id % 7 == 0 ? .nan : Double(id))) }
        for id in 0..<20 { measures.remove(id: Double(id)) }
        try measures.flush()
        expectEqual(measures.count, measures.items.count, "count")
        expectEqual(measures.count, 35 - 17, "what is left")
    }

    /// Names with a special meaning in SQLite are paths, a byte order mark before JSON is skipped, and reported sizes are not
    /// trusted.
    private static func testReadsFilesWithSpecialNamesAndSizes() throws {
        let old = unsafe try requireNotNil(getcwd(nil, 0), "directory")
        defer {
            unsafe chdir(old)
            unsafe free(old)
        }
        unsafe chdir(try temporaryDirectory())
        for name in ["file:x.db", ":memory:", "file::memory:?cache=shared"] {
            let clips = try Clips(path: name, format: .sqlite)
            clips.add(Clip(1))
            try clips.flush()
            expectEqual(unsafe access("./\(name)", F_OK), 0, name)
            expectEqual(try Clips(path: name, format: .sqlite).items, [Clip(1)], name)
        }
        try ItemRepositoryTests.put([0xEF, 0xBB, 0xBF] + Array(#"[{"identifier":"a"}]"#.utf8), "marked.json")
        expectEqual(try Clips(path: "marked.json", format: .json).items.map(\.id), ["a"], "behind a mark")
    }

    private static func testKeepsFilesOfOtherFormats() throws {
        try ItemRepositoryTests.eachFormat { format, path in
            let clips = try Clips(path: path, format: format)
            clips.add(Clip(1))
            try clips.flush()
            for other in ItemFileFormat.allCases where other != format {
                let error = expectThrows(StreamError.self, "\(format) as \(other)") {
                    _ = try Clips(path: path, format: other)
                }
                expectEqual(error?.kind, .cannotRead, "kind")
                expectEqual(try Clips(path: path, format: format).items, [Clip(1)], "the file")
            }
        }
    }

    private static func testReadsItemsOfOlderType() throws {
        struct Older: StreamObject, Identifiable {
            var identifier = ""
            var gone = 3
            var id: String { identifier }
        }
        try ItemRepositoryTests.eachFormat { format, path in
            let older = try ItemRepository<Older>(path: path, format: format)
            older.add(Older(identifier: "x"))
            try older.flush()
            let clips = try Clips(path: path, format: format)
            var expected = Clip()
            expected.identifier = "x"
            expectEqual(clips.items, [expected], "\(format)")
            expectEqual(clips.problems.count, 0, "problems")
        }
    }
}
#endif
