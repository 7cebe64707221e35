// Reads the sources of the tested module on demand. All parts of a run that need places share them.

/// The sources of a module: their lists and functions, their tokens, and whether they have changed since the
/// compilation.
final class TestedSources {
    private let module: ModuleDescription
    private(set) lazy var scan = SourceScan(sources: module.sources, module: module.module)
    /// The earlier of two times: when the test executable was linked and when its newest object was compiled. Linking again
    /// doesn't change the compilation time.
    private lazy var compilationTime: Int = {
        let compiled = (try? module.resolvedObjects())?.compactMap(FileAccess.modificationTime).max()
        return min(FileAccess.modificationTime(of: module.executable) ?? 0, compiled ?? .max)
    }()

    /// The tokenized sources by path, cached because one source may have many failures.
    private var files: [String: TokenizedFile?] = [:]

    init(of module: ModuleDescription = ModuleDescription()) { self.module = module }

    /// Returns a source and its tokens, or nil if it can't be read.
    func file(at path: String) -> TokenizedFile? {
        if let file = files[path] { return file }
        let file = (try? FileAccess.contents(of: path)).map { TokenizedFile($0) }
        files[path] = file
        return file
    }

    /// Returns whether a source is older than its compilation.
    func isAsCompiled(_ path: String) -> Bool {
        FileAccess.modificationTime(of: path).map { $0 < compilationTime } ?? false
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
import InClassTesting
import TestEvents

extension TestedSources {
    /// Creates sources with these lists and functions.
    convenience init(of module: ModuleDescription = ModuleDescription(), holding scan: SourceScan) {
        self.init(of: module)
        self.scan = scan
    }
}

extension TestedSources: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testDetectsSourcesChangedAfterCompilation": testDetectsSourcesChangedAfterCompilation,
            "testReadsSourcesOnDemand": testReadsSourcesOnDemand,
        ]
    }

    private static func write(_ path: String, _ text: String = "", at time: Int) throws {
        try FileAccess.write(Array(text.utf8), to: path)
        let moment = timeval(tv_sec: .init(time), tv_usec: 0)
        utimes(path, [moment, moment])
    }

    private static func testDetectsSourcesChangedAfterCompilation() throws {
        let folder = try temporaryDirectory()
        var module = ModuleDescription()
        module.executable = "\(folder)/executable"
        let (old, new) = ("\(folder)/old.swift", "\(folder)/new.swift")
        for (path, time) in [(module.executable, 3000), (old, 1000), (new, 2500)] { try write(path, at: time) }
        expectTrue(TestedSources(of: module).isAsCompiled(new), "before the executable was linked")
        module.objects = ["\(folder)/object"]
        try write(module.objects[0], at: 2000)
        expectFalse(TestedSources(of: module).isAsCompiled(new), "an executable that was linked again")
        expectTrue(TestedSources(of: module).isAsCompiled(old))
        expectFalse(TestedSources(of: module).isAsCompiled("\(folder)/deleted.swift"))
    }

    private static func testReadsSourcesOnDemand() throws {
        var module = ModuleDescription()
        module.module = "M"
        module.sources = ["\(try temporaryDirectory())/s.swift"]
        let sources = TestedSources(of: module)
        try write(module.sources[0], "struct T {\n func testA() {}\n}", at: 1000)
        let test = PlannedTest(typeName: "T", testName: "testA", testType: "unit", module: "M")
        expectEqual(sources.scan.place(of: test)?.line, 2)
        unlink(module.sources[0])
        expectEqual(sources.scan.place(of: test)?.line, 2, "read once")
    }
}
#endif
