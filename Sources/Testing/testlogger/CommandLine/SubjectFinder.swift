// Finds what a word of the command line names: a module that was built here, an image, or objects.

internal import InClassSystem
import TestSupervision

/// What is to be tested.
enum Subject: Equatable {
    /// A module whose image is linked first.
    case module(ModuleDescription)
    /// An image that somebody else linked.
    case image(String)

    /// The module; of an image that somebody else linked nothing is known but where it is, and where that is asked.
    var moduleDescription: ModuleDescription {
        switch self {
        case .module(let description): return description
        case .image(let path):
            var description = ModuleDescription()
            description.root = SubjectFinder.here.root
            description.image = path
            return description
        }
    }
}

struct SubjectFinder {
    /// The folder of the package that the current directory is in, or the current directory.
    let root: String
    /// The build that this program is of, if it is of one.
    private let place: BuildPlace?

    /// The finder for the current directory.
    static var here: SubjectFinder { SubjectFinder(directory: FileAccess.currentDirectory) }

    init(directory: String, place: BuildPlace? = .ofThisProgram) {
        self.place = place
        var folder = directory
        while folder != "/", !FileAccess.exists("\(folder)/Package.swift") { folder = FileAccess.directory(of: folder) }
        root = folder == "/" ? directory : folder
    }

    /// Finds what all words name; objects make one module together.
    func find(_ words: [String]) throws(UsageError) -> [Subject] {
        var subjects: [Subject] = []
        let objects = words.filter { $0.hasSuffix(".o") }
        for object in objects where !FileAccess.exists(object) {
            throw UsageError(description: "there is no object \(object)")
        }
        if !objects.isEmpty {
            var module = ModuleDescription()
            module.root = root
            module.objects = objects.compactMap(FileAccess.realPath)
            module.image = "\(FileAccess.directory(of: module.objects.first ?? root))/inclass.img"
            subjects.append(.module(module))
        }
        for word in words where !word.hasSuffix(".o") { subjects += try find(word) }
        return subjects
    }

    /// Finds all modules of the package.
    func all() throws(UsageError) -> [Subject] {
        let modules = try modules()
        if modules.isEmpty { throw UsageError(description: "no module, image, object or line is named\(noModules)") }
        return modules.map(Subject.module)
    }

    private func modules() throws(UsageError) -> [ModuleDescription] {
        var modules: [ModuleDescription] = []
        for (_, path) in builtModules().sorted(by: { $0.key < $1.key }) { modules.append(try description(at: path)) }
        return modules
    }

    private var noModules: String {
        "; no module has been built with the plugin InClassTests in \(root) (try 'swift build')"
    }

    /// Finds the modules that have these sources.
    func find(sources: [String]) throws(UsageError) -> [Subject] {
        let subjects = try modules().filter { module in
            sources.contains { path in
                let path = Self.spelling(of: path, among: module.sources)
                return module.sources.contains { ChosenLine.path(path, names: $0) }
            }
        }
        guard !subjects.isEmpty else {
            throw UsageError(
                description: "no module that has been built here has \(sources.joined(separator: " or "))")
        }
        return subjects.map(Subject.module)
    }

    /// A path as a module spells it, to one of whose sources it leads by links or `..`; any other as it is.
    static func spelling(of path: String, among sources: [String]) -> String {
        if sources.contains(where: { ChosenLine.path(path, names: $0) }) { return path }
        guard let real = FileAccess.realPath(path) else { return path }
        return sources.first { FileAccess.realPath($0) == real } ?? path
    }

    private func find(_ word: String) throws(UsageError) -> [Subject] {
        if word.hasSuffix(".inclass") { return [.module(try description(at: word))] }
        if word.contains("/") || FileAccess.isExecutable(word) && !FileAccess.isDirectory(word) {
            guard let path = FileAccess.realPath(word) else {
                throw UsageError(description: "there is no file \(word)")
            }
            guard FileAccess.isExecutable(path), ImageCheck.isTestImage(path) else {
                throw UsageError(description: "\(word) is not a test image: it has no function inclass_main")
            }
            return [.image(path)]
        }
        let built = builtModules()
        guard let path = built[word] else {
            let known = built.keys.sorted()
            let advice =
                known.isEmpty
                ? noModules : suggestion(for: word, among: known) + " (known are \(known.joined(separator: ", ")))"
            throw UsageError(description: "there is no module '\(word)'" + advice)
        }
        return [.module(try description(at: path))]
    }

    private func description(at path: String) throws(UsageError) -> ModuleDescription {
        do {
            let text = String(decoding: try FileAccess.contents(of: path), as: UTF8.self)
            return try ModuleDescription(lines: text, path: path, products: BuildPlace.programFolder)
        } catch { throw UsageError(description: "\(error)") }
    }

    /// The description of each module that the plugins have left of a build of this package: of the build that this
    /// program belongs to if it belongs to one, and of no other; else of the last that was tested.
    private func builtModules() -> [String: String] {
        if let place {
            let descriptions = descriptions(below: "\(place.scratch)/plugins", depth: 7).filter {
                has("root", root, $0)
            }
            if !descriptions.isEmpty { return newest(descriptions.filter { has("bundles", place.products, $0) }) }
        }
        // SwiftPM's own variable says where it builds, for whatever package.
        let elsewhere = Environment.value(of: "SWIFTPM_BUILD_DIR").map {
            descriptions(below: "\($0)/plugins", depth: 7)
        }
        return newest(
            descriptions(below: "\(root)/.build/plugins", depth: 7)
                + (elsewhere ?? []).filter { has("root", root, $0) })
    }

    /// Returns whether a description has a path under a key: the same place, whatever links lead there.
    private func has(_ key: String, _ place: String, _ description: String) -> Bool {
        let lines = String(decoding: (try? FileAccess.contents(of: description)) ?? [], as: UTF8.self).split(
            separator: "\n")
        let real = FileAccess.realPath(place)
        return lines.contains { line in
            guard line.hasPrefix("\(key)\t") else { return false }
            let path = String(line.dropFirst(key.utf8.count + 1))
            return path == place || real != nil && FileAccess.realPath(path) == real
        }
    }

    /// Of each module the description that was written last, or whose image was linked last: who builds without testing
    /// links none.
    private func newest(_ paths: [String]) -> [String: String] {
        var best: [String: (path: String, time: Int)] = [:]
        for path in paths {
            let module = String(FileAccess.name(of: path).dropLast(".inclass".count))
            let image = String(path.dropLast(".inclass".count)) + ".img"
            let time = [path, image].compactMap(FileAccess.modificationTime).max() ?? 0
            if let known = best[module], known.time >= time { continue }
            best[module] = (path, time)
        }
        return best.mapValues(\.path)
    }

    private func descriptions(below folder: String, depth: Int) -> [String] {
        guard depth > 0 else { return [] }
        var found: [String] = []
        for name in FileAccess.names(in: folder) {
            let path = "\(folder)/\(name)"
            if name.hasSuffix(".inclass") {
                found.append(path)
            } else if FileAccess.isDirectory(path) {
                found += descriptions(below: path, depth: depth - 1)
            }
        }
        return found
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension SubjectFinder: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsWhatWordsName": testFindsWhatWordsName, "testFindsTheModuleOfALine": testFindsTheModuleOfALine,
            "testTakesWhatWasWrittenLast": testTakesWhatWasWrittenLast,
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

    /// A package in which the modules `Apple` and `Pear` have been built, in a folder of its own.
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
        expectThrows(UsageError.self, "\(words)") { _ = try subjects.find(words) }?.description
    }

    private static func modules(_ subjects: [Subject]) -> [String] {
        subjects.map { if case .module(let module) = $0 { module.module } else { "no module" } }
    }

    private static func testFindsWhatWordsName() throws {
        let root = try package()
        let subjects = SubjectFinder(directory: root)
        expectEqual(modules(try subjects.find(["Pear", "Apple"])), ["Pear", "Apple"])
        expectEqual(modules(try subjects.all()), ["Apple", "Pear"])
        expectEqual(modules(try subjects.find(["\(root)/\(descriptions)/Pear.inclass"])), ["Pear"])
        for name in ["x.o", "y.o"] { try FileAccess.write([], to: "\(root)/\(name)") }
        let found = try subjects.find(["\(root)/x.o", "Apple", "\(root)/Sources/../y.o"])
        guard case .module(let objects) = try requireNotNil(found.first) else { return fail("objects are no module") }
        expectEqual(objects.objects, ["\(root)/x.o", "\(root)/y.o"])
        expectEqual(objects.image, "\(root)/inclass.img")
        expectEqual(objects.root, root)
        expectEqual(modules(found), ["", "Apple"])
        #if os(Linux)
        let image = try requireNotNil(FileAccess.realPath("/proc/self/exe"))
        expectEqual(try subjects.find([image]), [.image(image)])
        #endif
        try FileAccess.write(Array("module".utf8), to: "\(root)/bad.inclass")
        let rows = [
            ("\(root)/z.o", "there is no object \(root)/z.o"), ("/no/image", "there is no file /no/image"),
            ("\(root)/x.o/..", "there is no file \(root)/x.o/.."),
            ("/bin/sh", "/bin/sh is not a test image: it has no function inclass_main"),
            ("\(root)/Package.swift", "\(root)/Package.swift is not a test image: it has no function inclass_main"),
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
        expectEqual(error?.description, "no module that has been built here has x.swift or y.swift")
        let root = subjects.root
        try FileAccess.write([], to: "\(root)/Sources/a.swift")
        symlink("Sources", "\(root)/Link")
        for path in ["\(root)/.build/../Sources/a.swift", "\(root)/Link/a.swift"] {
            expectEqual(modules(try subjects.find(sources: [path])), ["Apple"], path)
        }
    }

    private static func testTakesWhatWasWrittenLast() throws {
        let root = try package()
        let other = "\(root)/.build/plugins/other"
        mkdir(other, 0o755)
        try describe("Pear", "target\tother", in: other)
        let folder = "\(root)/\(descriptions)"
        // What was written last counts, an image that was linked or a description.
        let steps: [(path: String, second: Int, target: String)] = [
            ("\(folder)/Pear.inclass", 1_000, "other"), ("\(other)/Pear.inclass", 500, ""),
            ("\(other)/Pear.img", 2_000, "other"), ("\(folder)/Pear.img", 3_000, ""),
            ("\(other)/Pear.img", 4_000, "other"), ("\(folder)/Pear.inclass", 5_000, ""),
        ]
        for step in steps {
            if !FileAccess.exists(step.path) { try FileAccess.write([], to: step.path) }
            let moment = timeval(tv_sec: .init(step.second), tv_usec: 0)
            utimes(step.path, [moment, moment])
            let found = try SubjectFinder(directory: root).find(["Pear"]).first
            guard case .module(let module)? = found else { return fail("no module") }
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
