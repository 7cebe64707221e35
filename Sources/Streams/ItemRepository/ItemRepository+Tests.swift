// The in-class tests of repositories, each with every file format.

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

enum ItemRepositoryTests {
    struct Frame: StreamObject, Equatable {
        var x = 0.0
        var width = 0.0
    }

    struct Clip: StreamObject, Identifiable, Equatable {
        var identifier = ""
        var createdAt = Date(timeIntervalSinceReferenceDate: 0)
        var data = Data()
        var note: String? = nil
        var views: UInt = 0
        var frame = Frame()
        var id: String { identifier }

        init() {}

        init(_ number: Int) {
            identifier = "clip \(number)"
            createdAt = Date(timeIntervalSinceReferenceDate: 780_000_000.25 + Double(number))
            data = Data("bytes \(number) \u{1F600}".utf8)
            note = number % 2 == 0 ? "näme\n\(number)" : nil
            views = UInt.max - UInt(number)
            frame = Frame(x: 0.1 * Double(number), width: -1e300)
        }

        static var streamMembers: StreamMembers {
            [
                .required("identifier", \Clip.identifier), .member("createdAt", \Clip.createdAt),
                .member("data", \Clip.data), .member("note", \Clip.note), .member("views", \Clip.views),
                .member("frame", \Clip.frame),
            ]
        }
    }
}

extension ItemRepositoryTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testKeepsItemsByKey": testKeepsItemsByKey,
            "testReadsItsOwnFiles": testReadsItsOwnFiles,
            "testReloadDiscardsUnwrittenChanges": testReloadDiscardsUnwrittenChanges,
            "testBehavesLikeAnOrderedDictionary": testBehavesLikeAnOrderedDictionary,
            "testThrowsErrorsOfTheFileSystem": testThrowsErrorsOfTheFileSystem,
            "testSurvivesKillsAtAnyMoment": testSurvivesKillsAtAnyMoment,
            "testFollowsSymbolicAndKeepsHardLinks": testFollowsSymbolicAndKeepsHardLinks,
        ]
    }

    private typealias Clips = ItemRepository<Clip>

    static func eachFormat(_ body: (ItemFileFormat, String) throws -> Void) throws {
        for format in ItemFileFormat.allCases { try body(format, "\(try directory(for: format))/clips") }
    }

    static func directory(for format: ItemFileFormat) throws -> String {
        let path = "\(try temporaryDirectory())/\(format)"
        unsafe mkdir(path, 0o755)
        return path
    }

    static func bytes(_ path: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try InputFile(path: path).readChunks { bytes += Array(copying: $0) }
        return bytes
    }

    static func put(_ bytes: [UInt8], _ path: String) throws {
        var options = OutputFile.Options()
        options.isDurable = false
        let file = try OutputFile(path: path, options: options)
        try requireEqual(unsafe write(file.descriptor, bytes, bytes.count), bytes.count, "written bytes")
        try file.commit()
    }

    /// Overwrites bytes of a file.
    static func overwrite(_ path: String, at offset: Int, _ replacement: [UInt8]) throws {
        let descriptor = unsafe open(path, O_WRONLY)
        defer { close(descriptor) }
        let count = unsafe pwrite(descriptor, replacement, replacement.count, off_t(offset))
        try requireEqual(count, replacement.count, "written bytes")
    }

    // MARK: Items

    private static func testKeepsItemsByKey() throws {
        let clips = try Clips(path: "\(try temporaryDirectory())/none")
        expectEqual(clips.count, 0, "without a file")
        for number in 0..<5 { expectNil(clips.add(Clip(number)), "new \(number)") }
        var changed = Clip(2)
        changed.views = 7
        expectEqual(clips.add(changed), Clip(2), "what was replaced")
        expectEqual(clips["clip 2"]?.views, 7, "what replaced it")
        expectNil(clips["clip 9"], "no such item")
        expectEqual(clips.remove(id: "clip 0"), Clip(0), "what was removed")
        expectNil(clips.remove(id: "clip 0"), "what is gone")
        expectNil(clips["clip 0"], "what is gone, looked up")
        expectEqual(clips.items.map(\.id), ["clip 1", "clip 2", "clip 3", "clip 4"], "order")
        clips.add(Clip(0))
        expectEqual(clips.items.last?.id, "clip 0", "what was added again")
        expectEqual(clips.count, 5, "count")
        clips.removeAll()
        expectEqual(clips.items, [], "all removed")
    }

    private static func testReadsItsOwnFiles() throws {
        try eachFormat { format, path in
            let clips = try Clips(path: path, format: format)
            for count in [0, 1, 300] {
                for number in 0..<count { clips.add(Clip(number)) }
                try clips.flush()
                let again = try Clips(path: path, format: format)
                expectEqual(again.items, clips.items, "\(count) items as \(format)")
                expectEqual(again.problems.count, 0, "problems")
            }
            clips.removeAll()
            try clips.flush()
            expectEqual(try Clips(path: path, format: format).count, 0, "no more items")
        }
    }

    private static func testReloadDiscardsUnwrittenChanges() throws {
        try eachFormat { format, path in
            let clips = try Clips(path: path, format: format)
            clips.add(Clip(1))
            try clips.flush()
            clips.add(Clip(2))
            clips.remove(id: "clip 1")
            try clips.reload()
            expectEqual(clips.items, [Clip(1)], "\(format)")
            unsafe unlink(path)
            try clips.reload()
            expectEqual(clips.items, [], "without the file")
            try clips.flush()
            expectEqual(try Clips(path: path, format: format).count, 0, "an empty file as \(format)")
        }
    }

    private static func testBehavesLikeAnOrderedDictionary() throws {
        try eachFormat { format, path in
            var random = TestRandom(seed: 20_261_123)
            var clips = try Clips(path: path, format: format)
            var expected: [Clip] = []
            for _ in 0..<400 {
                var clip = Clip(Int.random(in: 0..<60, using: &random))
                clip.views = UInt.random(in: 0...9, using: &random)
                let index = expected.firstIndex { $0.id == clip.id }
                switch Int.random(in: 0..<20, using: &random) {
                case 0..<9:
                    if let index { expected[index] = clip } else { expected.append(clip) }
                    clips.add(clip)
                case 9..<18:
                    expectEqual(clips.remove(id: clip.id), index.map { expected.remove(at: $0) }, "removed")
                case 18: try clips.flush()
                default:
                    try clips.flush()
                    clips = try Clips(path: path, format: format)
                }
                guard clips.items != expected || clips.count != expected.count else { continue }
                expectEqual(clips.items.map(\.id), expected.map(\.id), "\(format)")
                return
            }
        }
    }

    // MARK: System errors

    private static func testThrowsErrorsOfTheFileSystem() throws {
        try eachFormat { format, path in
            unsafe mkdir(path, 0o755)
            expectThrows(StreamError.self, "a directory, as \(format)") { _ = try Clips(path: path, format: format) }
            let clips = try Clips(path: "\(path)/no/such/clips", format: format)
            clips.add(Clip(1))
            let error = expectThrows(StreamError.self, "no directory, as \(format)") { try clips.flush() }
            expectEqual(error?.kind, .cannotWrite, "kind")
            expectEqual(clips.items, [Clip(1)], "the items")
        }
        let clips = try ItemRepository<Ratio>(path: "\(try temporaryDirectory())/ratios", format: .json)
        clips.add(Ratio(id: 1, value: 0.5))
        try clips.flush()
        let before = try bytes(clips.path)
        clips.add(Ratio(id: 2, value: .infinity))
        let error = expectThrows(StreamError.self, "what JSON cannot hold") { try clips.flush() }
        expectEqual(error?.path?.description, "$[1].value", "path")
        expectEqual(try bytes(clips.path), before, "the file")
    }

    private struct Ratio: StreamObject, Identifiable {
        var id = 0
        var value = 0.0
    }

    /// A child process writes generations of items until it is killed. The file must contain one complete generation.
    private static func testSurvivesKillsAtAnyMoment() throws {
        var random = TestRandom(seed: 5)
        try eachFormat { format, path in
            for round in 0..<6 {
                let delay = UInt32.random(in: 2_000...40_000, using: &random)
                expectExit(.signal(SIGKILL), "round \(round)") {
                    let killer = Thread {
                        usleep(delay)
                        kill(getpid(), SIGKILL)
                    }
                    guard killer.start(), let clips = try? Clips(path: path, format: format) else { return }
                    for generation in UInt(round * 1_000_000)... {
                        for number in 0..<50 {
                            var clip = Clip(number)
                            clip.views = generation
                            clips.add(clip)
                        }
                        guard (try? clips.flush()) != nil else { return }
                    }
                }
                let clips = try Clips(path: path, format: format)
                expectEqual(clips.problems.count, 0, "\(format): \(clips.problems)")
                expectTrue(clips.count == 50 || clips.count == 0, "\(format): \(clips.count) items")
                expectTrue(Set(clips.items.map(\.views)).count <= 1, "\(format): items of one generation")
            }
        }
    }

    /// A thread of the child process, which must not use Foundation.
    private final class Thread: @unchecked Sendable {
        private let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }

        func start() -> Bool {
            #if canImport(Darwin)
            var thread: pthread_t?
            #else
            var thread = pthread_t()
            #endif
            // SAFETY: the reference is retained until the thread takes it.
            return unsafe pthread_create(
                &thread, nil,
                { argument in
                    #if canImport(Darwin)
                    let address: UnsafeMutableRawPointer? = unsafe argument
                    #else
                    let address = unsafe argument
                    #endif
                    if let address = unsafe address {
                        unsafe Unmanaged<Thread>.fromOpaque(address).takeRetainedValue().body()
                    }
                    return nil
                }, Unmanaged.passRetained(self).toOpaque()) == 0
        }
    }

    private static func testFollowsSymbolicAndKeepsHardLinks() throws {
        for format in [ItemFileFormat.binaryPropertyList, .json] {
            let directory = try directory(for: format)
            let clips = try Clips(path: "\(directory)/real", format: format)
            try clips.flush()
            let empty = try bytes(clips.path)
            expectEqual(unsafe symlink("real", "\(directory)/link"), 0, "symlink")
            expectEqual(unsafe link("\(directory)/real", "\(directory)/backup"), 0, "link")
            let linked = try Clips(path: "\(directory)/link", format: format)
            linked.add(Clip(1))
            try linked.flush()
            try clips.reload()
            expectEqual(clips.items, [Clip(1)], "what the link leads to")
            expectEqual(try bytes("\(directory)/backup"), empty, "the old file by its other name")
            expectEqual(OutputFile.names(in: directory).count, 5, "files, with two for directories")
        }
    }
}
#endif
