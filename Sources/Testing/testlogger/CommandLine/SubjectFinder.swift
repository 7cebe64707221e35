// Finds the modules that arguments of the command line name: modules that were built here, test executables, or objects.

internal import InClassSystem
import TestSupervision

extension ModuleDescription {
    /// A Boolean value that indicates whether the module is an existing test executable without a description.
    var isExecutable: Bool { module.isEmpty && objects.isEmpty }
}

struct SubjectFinder {
    /// The folder of the package that contains the current directory, or the current directory.
    let root: String
    /// The build that this program belongs to, if it belongs to one.
    private let place: BuildPlace?

    /// The finder for the current directory.
    static var here: SubjectFinder { SubjectFinder(directory: FileAccess.currentDirectory) }

    init(directory: String, place: BuildPlace? = .ofThisProgram) {
        self.place = place
        var folder = directory
        while folder != "/", !FileAccess.exists("\(folder)/Package.swift") { folder = FileAccess.directory(of: folder) }
        root = folder == "/" ? directory : folder
    }

    /// Finds the modules that words name. All objects form one module.
    func find(_ words: [String]) throws -> [ModuleDescription] {
        let objects = words.filter { $0.hasSuffix(".o") }
        for object in objects where !FileAccess.exists(object) {
            throw UsageError(description: "there is no object \(object)")
        }
        var modules: [ModuleDescription] = []
        if !objects.isEmpty {
            let objects = objects.compactMap(FileAccess.realPath)
            var module = self.module(executable: "\(FileAccess.directory(of: objects.first ?? root))/inclass.img")
            module.objects = objects
            modules.append(module)
        }
        for word in words where !word.hasSuffix(".o") { modules.append(try find(word)) }
        return modules
    }

    /// Finds all modules of the package.
    func all() throws(UsageError) -> [ModuleDescription] {
        let modules = builtModules()
        if modules.isEmpty {
            throw UsageError(description: "no module, executable, object or line was given\(noModules)")
        }
        return modules
    }

    private var noModules: String {
        "; no module has been built with the plugin InClassTests in \(root) (try 'swift build')"
    }

    /// Finds the modules that have one of these sources.
    func find(sources: [String]) throws(UsageError) -> [ModuleDescription] {
        let modules = builtModules().filter { module in
            sources.contains { path in
                let path = Self.spelling(of: path, among: module.sources)
                return module.sources.contains { ChosenLine.path(path, names: $0) }
            }
        }
        if !modules.isEmpty { return modules }
        throw UsageError(description: "no module that was built here contains \(sources.joined(separator: " or "))")
    }

    /// Returns the path of a source as a list of sources contains it. The given path may lead to the source through
    /// links or `..`.
    static func spelling(of path: String, among sources: [String]) -> String {
        if sources.contains(where: { ChosenLine.path(path, names: $0) }) { return path }
        guard let real = FileAccess.realPath(path) else { return path }
        return sources.first { FileAccess.realPath($0) == real } ?? path
    }

    private func find(_ word: String) throws -> ModuleDescription {
        if word.hasSuffix(".inclass") { return try Self.description(at: word) }
        if word.contains("/") || FileAccess.isExecutable(word) && !FileAccess.isDirectory(word) {
            guard let path = FileAccess.realPath(word) else {
                throw UsageError(description: "there is no file \(word)")
            }
            guard FileAccess.isExecutable(path), ExecutableCheck.isTestExecutable(path) else {
                throw UsageError(description: "\(word) isn't a test executable: it has no function inclass_main")
            }
            return module(executable: path)
        }
        let built = builtModules()
        if let module = built.first(where: { $0.module == word }) { return module }
        let known = built.map(\.module)
        let advice =
            known.isEmpty
            ? noModules : suggestion(for: word, among: known) + " (known are \(known.joined(separator: ", ")))"
        throw UsageError(description: "there is no module '\(word)'" + advice)
    }

    private func module(executable: String) -> ModuleDescription {
        var module = ModuleDescription()
        module.root = root
        module.executable = executable
        return module
    }

    private static func description(at path: String) throws -> ModuleDescription {
        let text = String(decoding: try FileAccess.contents(of: path), as: UTF8.self)
        return try ModuleDescription(lines: text, path: path, products: BuildPlace.programFolder)
    }

    /// The modules that the plugins have described in a build of this package, sorted by name.
    ///
    /// If this program belongs to a build of this package, only the modules of that build are found. Otherwise, the
    /// modules that were tested last are found.
    private func builtModules() -> [ModuleDescription] {
        if let place {
            let described = descriptions(below: "\(place.scratch)/plugins").filter { isSame($0.module.root, root) }
            if !described.isEmpty { return newest(described.filter { isSame($0.module.bundleFolder, place.products) }) }
        }
        // SwiftPM's variable for the build folder applies to all packages.
        let elsewhere = Environment.value(of: "SWIFTPM_BUILD_DIR").map { descriptions(below: "\($0)/plugins") } ?? []
        return newest(
            descriptions(below: "\(root)/.build/plugins") + elsewhere.filter { isSame($0.module.root, root) })
    }

    /// Returns whether paths lead to the same place.
    private func isSame(_ path: String, _ place: String) -> Bool {
        let real = FileAccess.realPath(place)
        return path == place || real != nil && FileAccess.realPath(path) == real
    }

    private typealias Description = (path: String, module: ModuleDescription)

    /// Returns one description for each module: the one that was written last, or whose test executable was linked
    /// last. A build without tests links no test executable.
    private func newest(_ descriptions: [Description]) -> [ModuleDescription] {
        func time(_ path: String) -> Int {
            [path, path.dropLast(".inclass".count) + ".img"].compactMap(FileAccess.modificationTime).max() ?? 0
        }
        return Dictionary(grouping: descriptions, by: \.module.module)
            .compactMap { $1.max { time($0.path) < time($1.path) }?.module }.sorted { $0.module < $1.module }
    }

    private func descriptions(below folder: String, depth: Int = 7) -> [Description] {
        guard depth > 0 else { return [] }
        return FileAccess.names(in: folder).map { "\(folder)/\($0)" }.flatMap { path -> [Description] in
            if !path.hasSuffix(".inclass") { return descriptions(below: path, depth: depth - 1) }
            return (try? Self.description(at: path)).map { [(path, $0)] } ?? []
        }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension SubjectFinder: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsModulesObjectsAndExecutables": testFindsModulesObjectsAndExecutables,
            "testFindsTheModuleOfALine": testFindsTheModuleOfALine,
            "testPrefersTheNewestBuild": testPrefersTheNewestBuild,
            "testFindsModulesBehindLinks": testFindsModulesBehindLinks,
        ]
            + .each("testFindsThePackageAroundAFolder", ["", "/Sources", "/.build/plugins"]) { folder in
                let root = try package()
                expectEqual(SubjectFinder(directory: root + folder).root, root)
            }
            + .each("testUsesFoldersWithoutPackage", ["/", "/no/folder"]) { folder in
                expectEqual(SubjectFinder(directory: folder).root, folder)
            }
    }

    /// Creates a package whose modules `Apple` and `Pear` have been built.
    private static func package() throws -> String {
        let root = FileAccess.realPath(try temporaryDirectory()) ?? ""
        for path in ["Sources", descriptions] { try FileAccess.makeFolder("\(root)/\(path)") }
        try FileAccess.write([], to: "\(root)/Package.swift")
        for (name, source) in [("Apple", "a"), ("Pear", "b")] {
            try describe(name, "source\t\(root)/Sources/\(source).swift", in: "\(root)/\(descriptions)")
        }
        return root
    }

    private static let descriptions = ".build/plugins/outputs/p/T/destination/InClassTests/debug"

    private static func describe(_ name: String, _ lines: String, in folder: String) throws {
        try FileAccess.write(Array("module\t\(name)\n\(lines)\n".utf8), to: "\(folder)/\(name).inclass")
    }

    private static func error(_ words: [String], in subjects: SubjectFinder) -> String? {
        expectThrows((any Error).self, "\(words)") { _ = try subjects.find(words) }.map { "\($0)" }
    }

    private static func modules(_ subjects: [ModuleDescription]) -> [String] { subjects.map(\.module) }

    private static func testFindsModulesObjectsAndExecutables() throws {
        let root = try package()
        let subjects = SubjectFinder(directory: root)
        expectEqual(modules(try subjects.find(["Pear", "Apple"])), ["Pear", "Apple"])
        expectEqual(modules(try subjects.all()), ["Apple", "Pear"])
        expectEqual(modules(try subjects.find(["\(root)/\(descriptions)/Pear.inclass"])), ["Pear"])
        for name in ["x.o", "y.o"] { try FileAccess.write([], to: "\(root)/\(name)") }
        let found = try subjects.find(["\(root)/x.o", "Apple", "\(root)/Sources/../y.o"])
        let objects = try requireNotNil(found.first)
        expectEqual(objects.objects, ["\(root)/x.o", "\(root)/y.o"])
        expectEqual(objects.executable, "\(root)/inclass.img")
        expectEqual(objects.root, root)
        expectEqual(modules(found), ["", "Apple"])
        #if os(Linux)
        let executable = try requireNotNil(FileAccess.realPath("/proc/self/exe"))
        expectEqual(try subjects.find([executable]).map(\.executable), [executable])
        #endif
        try FileAccess.write(Array("module".utf8), to: "\(root)/bad.inclass")
        let rows = [
            ("\(root)/z.o", "there is no object \(root)/z.o"), ("/no/executable", "there is no file /no/executable"),
            ("\(root)/x.o/..", "there is no file \(root)/x.o/.."),
            ("/bin/sh", "/bin/sh isn't a test executable: it has no function inclass_main"),
            ("\(root)/Package.swift", "\(root)/Package.swift isn't a test executable: it has no function inclass_main"),
            ("Pea", "there is no module 'Pea'; did you mean 'Pear'? (known are Apple, Pear)"),
            ("\(root)/bad.inclass", "\(root)/bad.inclass:1:1: error: expected 'key<TAB>value' but found 'module'"),
        ]
        for (word, text) in rows { expectEqual(error([word], in: subjects), text) }
        rename("\(root)/.build", "\(root)/other")
        expectEqual(
            error(["Pear"], in: subjects),
            "there is no module 'Pear'; no module has been built with the plugin InClassTests in \(root) "
                + "(try 'swift build')")
    }

    private static func testFindsTheModuleOfALine() throws {
        let subjects = SubjectFinder(directory: try package())
        for (text, names) in [("b.swift:3", ["Pear"]), ("Sources/a.swift:1:2", ["Apple"])] {
            expectEqual(modules(try subjects.find(sources: [try requireNotNil(ChosenLine(text)).path])), names, text)
        }
        expectEqual(modules(try subjects.find(sources: ["a.swift", "b.swift"])), ["Apple", "Pear"])
        let error = expectThrows(UsageError.self) { _ = try subjects.find(sources: ["x.swift", "y.swift"]) }
        expectEqual(error?.description, "no module that was built here contains x.swift or y.swift")
        let root = subjects.root
        try FileAccess.write([], to: "\(root)/Sources/a.swift")
        symlink("Sources", "\(root)/Link")
        for path in ["\(root)/.build/../Sources/a.swift", "\(root)/Link/a.swift"] {
            expectEqual(modules(try subjects.find(sources: [path])), ["Apple"], path)
        }
    }

    private static func testPrefersTheNewestBuild() throws {
        let root = try package()
        let other = "\(root)/.build/plugins/other"
        mkdir(other, 0o755)
        try describe("Pear", "target\tother", in: other)
        let folder = "\(root)/\(descriptions)"
        // The newest description or test executable is used.
        let steps: [(path: String, second: Int, target: String)] = [
            ("\(folder)/Pear.inclass", 1_000, "other"), ("\(other)/Pear.inclass", 500, ""),
            ("\(other)/Pear.img", 2_000, "other"), ("\(folder)/Pear.img", 3_000, ""),
            ("\(other)/Pear.img", 4_000, "other"), ("\(folder)/Pear.inclass", 5_000, ""),
        ]
        for step in steps {
            if !FileAccess.exists(step.path) { try FileAccess.write([], to: step.path) }
            let moment = timeval(tv_sec: .init(step.second), tv_usec: 0)
            utimes(step.path, [moment, moment])
            let module = try requireNotNil(try SubjectFinder(directory: root).find(["Pear"]).first)
            expectEqual(module.target, step.target, "\(step.path) of \(step.second)")
        }
    }

    private static func testFindsModulesBehindLinks() throws {
        let folder = try requireNotNil(FileAccess.realPath(try temporaryDirectory()), "a directory")
        for name in ["p", "disk/plugins", "disk/x/debug", "disk/x/release"] {
            try FileAccess.makeFolder("\(folder)/\(name)")
        }
        try FileAccess.write([], to: "\(folder)/p/Package.swift")
        try requireEqual(symlink("../disk", "\(folder)/p/.build"), 0, "a link to the folder of builds")
        try requireEqual(symlink("p", "\(folder)/q"), 0, "a link to the package")
        for root in ["\(folder)/p", "\(folder)/q"] {
            for build in ["\(folder)/disk", "\(folder)/p/.build", "\(root)/.build"] {
                try describe("M", "root\t\(root)\nbundles\t\(build)/x/debug", in: "\(folder)/disk/plugins")
                func found(_ configuration: String) throws -> [String] {
                    let place = try requireNotNil(BuildPlace(products: "\(folder)/disk/x/\(configuration)"), "a place")
                    return modules(try SubjectFinder(directory: "\(folder)/p", place: place).find(["M"]))
                }
                expectEqual(try found("debug"), ["M"], "modules of \(root), built in \(build)")
                expectThrows(UsageError.self, "modules of another build") { _ = try found("release") }
            }
        }
    }
}
#endif
