// Which sources of a module have had all their mutants tried, and when they were written: what `--mutants --changed` leaves
// out.

package struct TriedSources {
    /// Beside the products, which the build, the plugin and a person's own runs share.
    private let path: String
    /// When each source was written whose mutants have been tried, in nanoseconds, and its path.
    private var lines: Set<String>
    /// The lines of the module's sources as they are by now.
    private let current: [String: String]

    /// Recalls what has been tried of a module; of what cannot be read nothing has.
    package init(of module: ModuleDescription) {
        path = "\(module.bundleFolder)/\(module.module).img.mutants"
        current = Dictionary(
            module.sources.map { ($0, "\(FileAccess.modificationTime(of: $0) ?? 0)\t\($0)") },
            uniquingKeysWith: { $1 })
        let text = String(decoding: (try? FileAccess.contents(of: path)) ?? [], as: UTF8.self)
        lines = Set(text.split(separator: "\n").map(String.init))
    }

    /// Returns whether all mutants of a source have been tried since it was written.
    package func contains(_ source: String) -> Bool { lines.contains(current[source] ?? source) }

    /// Remembers that all mutants of sources as they were found here have been tried.
    ///
    /// A memory that cannot be kept is no failure: more is tried next time.
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
        ["testForgetsWhatIsWrittenAgain": testForgetsWhatIsWrittenAgain, "testIsShared": testIsShared]
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

    private static func testForgetsWhatIsWrittenAgain() throws {
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

    private static func testIsShared() throws {
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
