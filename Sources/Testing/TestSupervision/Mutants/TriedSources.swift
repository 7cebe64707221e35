// Records the sources of a module whose mutants have all been tried, with the times of their last writes.
// `--mutants --changed` leaves these sources out.

package struct TriedSources {
    /// The path of the record. It is next to the products, which the build, the plugin and your own runs share.
    private let path: String
    /// The lines of the sources whose mutants have been tried: the time of the last write in nanoseconds, and the path.
    private var lines: Set<String>
    /// The current lines of the module's sources.
    private let current: [String: String]

    /// Reads the record of a module. If the file can't be read, the record is empty.
    package init(of module: ModuleDescription) {
        path = "\(module.bundleFolder)/\(module.module).img.mutants"
        current = Dictionary(
            module.sources.map { ($0, "\(FileAccess.modificationTime(of: $0) ?? 0)\t\($0)") },
            uniquingKeysWith: { $1 })
        let text = String(decoding: (try? FileAccess.contents(of: path)) ?? [], as: UTF8.self)
        lines = Set(text.split(separator: "\n").map(String.init))
    }

    /// Returns whether all mutants of a source have been tried since the source was written.
    package func contains(_ source: String) -> Bool { lines.contains(current[source] ?? source) }

    /// Records that all mutants of some sources have been tried. The sources have the state in which this record found
    /// them.
    ///
    /// If the file can't be written, the function ignores the error: the next run tries more mutants.
    package mutating func insert(_ sources: [String]) {
        lines.formIntersection(current.values)
        lines.formUnion(sources.compactMap { current[$0] })
        try? FileAccess.write(Array(lines.sorted().joined(separator: "\n").utf8), to: path)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
import InClassTesting

extension TriedSources: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testForgetsRewrittenSources": testForgetsRewrittenSources,
            "testImagesOfABuildShareOneRecord": testImagesOfABuildShareOneRecord,
        ]
    }

    private static func module() throws -> ModuleDescription {
        let folder = try temporaryDirectory()
        var module = ModuleDescription()
        module.module = "M"
        module.bundleFolder = "\(folder)/debug"
        module.image = "\(folder)/plugin/M.img"
        module.sources = ["a", "b\n", "c d"].map { "\(folder)/\($0).swift" }
        for path in module.sources { try FileAccess.write([], to: path) }
        for name in ["debug", "plugin"] { try FileAccess.makeFolder("\(folder)/\(name)") }
        return module
    }

    private static func testForgetsRewrittenSources() throws {
        let module = try module()
        var tried = TriedSources(of: module)
        expectEqual(module.sources.map(tried.contains), [false, false, false])
        tried.insert(module.sources)
        expectEqual(module.sources.map(tried.contains), [true, true, true])
        expectEqual(
            module.sources.map(TriedSources(of: module).contains), [true, false, true], "no line for a name of two")
        let moment = timeval(tv_sec: 1_000, tv_usec: 0)
        utimes(module.sources[2], [moment, moment])
        expectEqual(module.sources.map(TriedSources(of: module).contains), [true, false, false], "written")
        unlink(module.sources[0])
        expectFalse(TriedSources(of: module).contains(module.sources[0]), "gone")
    }

    private static func testImagesOfABuildShareOneRecord() throws {
        var module = try module()
        var tried = TriedSources(of: module)
        tried.insert([module.sources[0]])
        module.image = "\(module.bundleFolder)/other/M.img"
        expectTrue(TriedSources(of: module).contains(module.sources[0]), "another image of the build")
        module.bundleFolder += "/none"
        expectFalse(TriedSources(of: module).contains(module.sources[0]), "another build")
    }
}
#endif
