// Describes a module to be tested: its sources, the objects of its test executable and its resources. The plugin writes the
// description as a file of lines, `key<TAB>value`. If you build by other means, you can write the file yourself.

internal import InClassSystem

/// A module to be tested and everything its test executable is made of.
package struct ModuleDescription: Equatable, Sendable {
    /// The module's name.
    package var module = ""
    /// The name of the module's build target.
    package var target = ""
    /// The folder of the package. Relative paths start there.
    package var root = ""
    /// Absolute paths of the module's Swift sources.
    package var sources: [String] = []
    /// SwiftPM's maps from sources to objects, one for each Swift module. A map also contains generated sources.
    package var fileMaps: [String] = []
    /// Objects to link.
    package var objects: [String] = []
    /// Objects of executable modules whose names are only known after the build. Each is a folder and the start of a
    /// name.
    package var executableModules: [String] = []
    /// Names of libraries, as after `-l`.
    package var libraries: [String] = []
    /// Further words for the linker, such as those of pkg-config.
    package var linkerOptions: [String] = []
    /// Folders with libraries, as after `-L`.
    package var searchPaths: [String] = []
    /// Folders that may hold the module's resources, for `resource(_:_:)`.
    package var resources: [String] = []
    /// The files of the resources. Tests may depend on their contents.
    package var resourceFiles: [String] = []
    /// The module's own resources in its sources: files and folders that are copied whole, for `expectGolden`.
    package var ownResources: [String] = []
    /// The folder of the built resource bundles. Code under test looks for them next to its executable.
    package var bundleFolder = ""
    /// The path for the test executable.
    package var executable = ""
    /// The C compiler of the toolchain that compiled the objects.
    package var clang = ""
    /// A Boolean value that indicates whether C++ is among the objects.
    package var usesCPlusPlus = false
    /// A Boolean value that indicates whether the module depends on InClassTesting only through other targets. Most of
    /// these modules have no tests.
    package var isIndirect = false
    /// A diagnostic for a module that lists tests although no build can run them.
    package var advice = ""
    /// The reason why the tests can't run here, if the writer of the file already knows it.
    package var obstacle = ""
    /// The parts of the module that can't be linked.
    package var unsupported = ""
    /// The lines that identify the linked and tested files, without the paths of the results.
    package var identity = ""

    package init() {}

    /// The static libraries among the linker options, which are linked like objects.
    package var libraryFiles: [String] { linkerOptions.filter { $0.hasPrefix("/") } }
}

/// An invalid line in a module description.
package struct DescriptionError: Error, Equatable, CustomStringConvertible {
    package var path: String
    package var line: Int
    package var text: String

    package var description: String { "\(path):\(line):1: error: expected 'key<TAB>value' but found '\(text)'" }
}

extension ModuleDescription {
    /// Reads a description.
    ///
    /// - Parameter products: the folder of products. Xcode's plugins don't know it and write a placeholder.
    /// - Throws: `DescriptionError` for the first invalid line.
    package init(lines text: String, path: String, products: String = "") throws(DescriptionError) {
        var placeholder = ""
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.isEmpty { continue }
            let parts = line.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if parts.count == 2, parts[0] == "placeholder" {
                placeholder = parts[1]
                continue
            }
            let isThere = !placeholder.isEmpty && parts.last?.hasPrefix(placeholder) ?? false
            let value = isThere ? products + parts[1].dropFirst(placeholder.count) : parts.last ?? ""
            guard parts.count == 2, add(key: parts[0], value) else {
                throw DescriptionError(path: path, line: index + 1, text: String(line))
            }
            if parts[0] != "test-executable" { identity += "\(line)\n" }
        }
    }

    private mutating func add(key: String, _ value: String) -> Bool {
        switch key {
        case "module": module = value
        case "target": target = value
        case "root": root = value
        case "source": sources.append(value)
        case "file-map": fileMaps.append(value)
        case "object": objects.append(value)
        case "executable-module": executableModules.append(value)
        case "library": libraries.append(value)
        case "linker": linkerOptions.append(value)
        case "search": searchPaths.append(value)
        case "resources": resources.append(value)
        case "resource-file": resourceFiles.append(value)
        case "own-resource": ownResources.append(value)
        case "bundles": bundleFolder = value
        case "test-executable": executable = value
        case "clang": clang = value
        case "c++": usesCPlusPlus = value == "yes"
        case "indirect": isIndirect = value == "yes"
        case "advice": advice = value
        case "obstacle": obstacle = value
        case "unsupported": unsupported = value
        case "option-file": break  // for the build system, which compares descriptions
        default: return false
        }
        return true
    }

    /// Finds the objects to link: the named objects, the existing objects of the file maps, and those of executables.
    ///
    /// A map also contains objects that a whole-module build doesn't write, so missing objects are ignored. It doesn't
    /// contain the objects of deleted sources, which may still be in the folder.
    package func resolvedObjects() throws(SystemError) -> [String] {
        var found = objects
        for map in fileMaps {
            let bytes = try FileAccess.contents(of: map)
            // Link-time optimisation writes the second kind.
            for key in ["object", "llvm-bc"] {
                found += OutputFileMap.paths(of: key, in: bytes).filter(FileAccess.exists)
            }
        }
        for start in executableModules {
            let prefix = FileAccess.name(of: start)
            let folder = FileAccess.directory(of: start)
            let newest = FileAccess.names(in: folder)
                .filter { Self.isHashed($0, after: prefix) }
                .map { "\(folder)/\($0)" }
                .max { FileAccess.modificationTime(of: $0) ?? 0 < FileAccess.modificationTime(of: $1) ?? 0 }
            if let newest { found.append(newest) }
        }
        return found.unique
    }

    /// Returns whether Swift Build uses this name for an executable's object, with a hash after the name of the target.
    private static func isHashed(_ name: String, after prefix: String, ending: String = "-testable.o") -> Bool {
        guard name.hasPrefix(prefix), name.hasSuffix(ending) else { return false }
        return name.dropFirst(prefix.count).dropLast(ending.count).allSatisfy(\.isHexDigit)
    }

    /// The sources that have been saved or deleted since their last compilation, or that were never compiled. They
    /// belong to the module itself or to the Swift modules that it is linked with. If the compiler's outputs are
    /// missing, the list is empty.
    ///
    /// If the compiler makes the same object again, it keeps the old file. It always rewrites the list of a source's
    /// dependencies, `.d`, but only if it succeeds. A module that is optimised as a whole has one such file.
    package var sourcesNewerThanBuild: [String] { compiledModules.flatMap(\.sourcesNewerThanBuild) }

    /// The sources in `sourcesNewerThanBuild` that belong to the module itself.
    var ownSourcesNewerThanBuild: [String] { ownOutputs.sourcesNewerThanBuild }

    /// The sources whose objects the compiler removed because it refused them, or other sources that it compiled with
    /// them.
    package var sourcesWithoutObject: [String] {
        target.isEmpty ? [] : compiledModules.flatMap(\.sourcesWithoutObject)
    }

    /// All known Swift sources of the test executable.
    package var linkedSources: Set<String> { Set(sources + mappedModules.flatMap(\.sources)) }

    /// A Boolean value that indicates whether Swift Build compiles the module twice: for the program, and with the
    /// tests for the modules that depend on it.
    private var isSwiftBuildProgram: Bool { executableModules.contains { FileAccess.name(of: $0) == "\(target)-" } }

    /// A Boolean value that indicates whether the last build compiled the module only for its program, without its
    /// tests.
    package var isBuiltWithoutTests: Bool {
        guard isSwiftBuildProgram else { return false }
        let objects = FileAccess.names(in: "\(bundleFolder)/ExecutableModules")
        return !objects.contains { Self.isHashed($0, after: "\(target)-") } || !ownSourcesNewerThanBuild.isEmpty
    }

    /// The outputs of the module itself, and of the other modules in the file maps.
    private var compiledModules: [CompilerOutputs] {
        [ownOutputs] + mappedModules.filter { $0.folders != [objectFolder] }
    }

    private var ownOutputs: CompilerOutputs { CompilerOutputs(sources: sources, folders: compileFolders, root: root) }

    private var mappedModules: [CompilerOutputs] {
        fileMaps.map { map in
            let bytes = (try? FileAccess.contents(of: map)) ?? []
            // Ignore the sources that the build itself has generated. They are among its products.
            let sources = OutputFileMap.sources(in: bytes).filter { !$0.hasPrefix("\(bundleFolder)/") }
            return CompilerOutputs(sources: sources, folders: [FileAccess.directory(of: map)], root: root)
        }
    }

    /// The folder to which a native build writes the module's objects. The module's own map comes first.
    var objectFolder: String { fileMaps.first.map(FileAccess.directory) ?? "\(bundleFolder)/\(module).build" }

    /// The folders to which the compiler writes for this module, in a native build or in Swift Build.
    private var compileFolders: [String] {
        let products = FileAccess.directory(of: bundleFolder)
        guard FileAccess.name(of: products) == "Products" else { return [objectFolder] }
        let root = "\(FileAccess.directory(of: products))/Intermediates.noindex"
        return FileAccess.names(in: root).filter { $0.hasSuffix(".build") }.flatMap { package in
            let folder = "\(root)/\(package)/\(FileAccess.name(of: bundleFolder))"
            let targets = FileAccess.names(in: folder).filter { name in
                name == "\(target).build" && !isSwiftBuildProgram
                    || ["-testable.build", ".build"].contains { Self.isHashed(name, after: "\(target)-", ending: $0) }
            }
            return targets.flatMap { target in
                let objects = "\(folder)/\(target)/Objects-normal"
                return FileAccess.names(in: objects).map { "\(objects)/\($0)" }
            }
        }
    }
}

extension Sequence<String> {
    /// The different elements, in the order of their first places.
    var unique: [String] {
        var seen: Set<String> = []
        return filter { seen.insert($0).inserted }
    }
}

// MARK: - Evidence of tests, without linking

extension ModuleDescription {
    /// A Boolean value that indicates whether the module's own objects contain the name of a type in InClassTesting.
    /// The objects of every module with tests do.
    package var usesLibrary: Bool {
        var own = self
        own.fileMaps = Array(fileMaps.prefix(1))
        own.objects = objects.filter { FileAccess.name(of: $0) == "\(target).o" }
        own.executableModules = executableModules.filter { FileAccess.name(of: $0) == "\(target)-" }
        // Mangled names contain the length and the name of the library. Errors in objects are reported when they are
        // linked.
        guard let objects = try? own.resolvedObjects(), !objects.isEmpty else { return true }
        return objects.contains { Self.file($0, holds: "14InClassTesting") }
    }

    /// A Boolean value that indicates whether the module exports InClassTesting to other modules. Such a module needs
    /// no tests.
    package var isTestKit: Bool {
        sources.contains { Self.file($0, holds: "@_exported import InClassTesting") }
    }

    /// A Boolean value that indicates whether a source declares a list of tests.
    package var listsTests: Bool {
        SourceScan(sources: sources, module: module).types.values.contains { !$0.lists.isEmpty }
    }

    private static func file(_ path: String, holds text: String) -> Bool {
        (try? FileAccess.contents(of: path))?.contains(text) ?? false
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension ModuleDescription: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testReadsValuesFromLines": testReadsValuesFromLines,
            "testReplacesXcodesPlaceholders": testReplacesXcodesPlaceholders,
            "testReportsInvalidLines": testReportsInvalidLines,
            "testIdentityIgnoresPathOfTheExecutable": testIdentityIgnoresPathOfTheExecutable,
        ]
            + .each("testReadsFileMaps", fileMaps) { text, paths in
                expectEqual(OutputFileMap.paths(of: "object", in: Array(text.utf8)), paths)
                let bitcode = text.replacing("\"object\"", with: "\"llvm-bc\"")
                expectEqual(OutputFileMap.paths(of: "llvm-bc", in: Array(bitcode.utf8)), paths)
                expectEqual(OutputFileMap.paths(of: "object", in: Array(bitcode.utf8)), [])
            }
    }

    private static func testReadsValuesFromLines() throws {
        let text = "module\tM\nsource\t/a b.swift\nsource\t/c\td.swift\n\nlibrary\tz\nc++\tyes\n"
        let description = try ModuleDescription(lines: text, path: "/m")
        expectEqual(description.module, "M")
        expectEqual(description.sources, ["/a b.swift", "/c\td.swift"])
        expectEqual(description.libraries, ["z"])
        expectTrue(description.usesCPlusPlus)
    }

    private static func testReplacesXcodesPlaceholders() throws {
        let folder = "${BUILD_DIR}/${CONFIGURATION}"
        let text = "placeholder\t\(folder)\nmodule\tM\nobject\t\(folder)/M.o\nbundles\t\(folder)\nsource\t/a.swift\n"
        let description = try ModuleDescription(lines: text, path: "/m", products: "/Products/Debug")
        expectEqual(description.objects, ["/Products/Debug/M.o"])
        expectEqual(description.bundleFolder, "/Products/Debug")
        expectEqual(description.sources, ["/a.swift"])
        expectThrows(DescriptionError.self) { _ = try ModuleDescription(lines: "placeholder", path: "/m") }
    }

    private static func testReportsInvalidLines() {
        for line in ["modul\tM", "module", "module M"] {
            let error = expectThrows(DescriptionError.self, line) {
                _ = try ModuleDescription(lines: "root\t/\n\(line)", path: "/m")
            }
            expectEqual(error?.line, 2)
            expectEqual(error?.text, line)
        }
    }

    private static func testIdentityIgnoresPathOfTheExecutable() throws {
        let one = try ModuleDescription(lines: "module\tM\ntest-executable\t/a/M.img\nlibrary\tz\n", path: "/m")
        let other = try ModuleDescription(lines: "module\tM\ntest-executable\t/b/M.img\nlibrary\tz\n", path: "/m")
        expectEqual(one.identity, other.identity)
        let linked = try ModuleDescription(lines: "module\tM\ntest-executable\t/a/M.img\nlibrary\ty\n", path: "/m")
        expectNotEqual(one.identity, linked.identity)
    }

    private static var fileMaps: [(String, [String])] {
        [
            ("{}", []),
            (
                #"{"": {"swift-dependencies": "/x"}, "/b.swift": {"object": "/b.o", "object-not": "/c.o"}, "/a": {"object" : "\/a \"q.o"}}"#,
                ["/a \"q.o", "/b.o"]
            ),
            // A path may look like a key.
            (#"{"a": "object", "c": {"object": "\"object\": \"d"}}"#, ["\"object\": \"d"]),
            (#"{"object": "#, []),
        ]
    }
}

enum TestEvidence {}

extension TestEvidence: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testFindsUsesInOwnObjects": testFindsUsesInOwnObjects, "testFindsListsInSources": testFindsListsInSources]
    }

    private static func testFindsUsesInOwnObjects() throws {
        let root = try temporaryDirectory()
        func write(_ text: String, _ name: String) throws {
            try FileAccess.write(Array(text.utf8), to: "\(root)/\(name)")
        }
        var module = ModuleDescription()
        module.target = "my-kit"
        expectTrue(module.usesLibrary, "without objects")
        module.objects = ["my-kit.o", "InClassTesting.o"].map { "\(root)/\($0)" }
        for name in ["my-kit.o", "my.o"] { try write("$s6my_kit", name) }
        try write("$s14InClassTesting", "InClassTesting.o")
        expectFalse(module.usesLibrary)
        try write("$s6my_kit1SV14InClassTesting", "my-kit.o")
        expectTrue(module.usesLibrary)
        module.fileMaps = ["a", "b"].map { "\(root)/\($0).json" }
        for name in ["a", "b"] { try write("{\"\(name)\": {\"object\": \"\(root)/\(name).o\"}}", "\(name).json") }
        module.objects = []
        try write("", "a.o")
        try write("14InClassTesting", "b.o")
        expectFalse(module.usesLibrary, "what only the second module names")
        try write("14InClassTesting", "a.o")
        expectTrue(module.usesLibrary)
        module = ModuleDescription()
        module.target = "tool"
        module.executableModules = ["tool-", "tool-x-"].map { "\(root)/\($0)" }
        for name in ["tool-1A", "tool-x-2B"] {
            try write(name.hasPrefix("tool-x") ? "14InClassTesting" : "", "\(name)-testable.o")
        }
        expectEqual(try module.resolvedObjects(), ["tool-1A", "tool-x-2B"].map { "\(root)/\($0)-testable.o" })
        expectFalse(module.usesLibrary, "a program whose name is the beginning of another's")
    }

    private static func testFindsListsInSources() throws {
        let path = "\(try temporaryDirectory())/a.swift"
        let rows = [
            ("", false, false), ("@_exported import InClassTesting", false, true),
            ("import InClassTesting\n// static var testSelectors: none", false, false),
            ("extension A: SelfTesting {\n    static var testSelectors: TestSelectors { [:] }", true, false),
            ("actor A {\n    nonisolated static let testSelectors: TestSelectors = [:]\n}", true, false),
            ("struct A { /*\n static let testSelectors: TestSelectors = [:]\n*/ }", false, false),
            ("print(A.testSelectors, \" testSelectors\")", false, false),
        ]
        var module = ModuleDescription()
        module.sources = ["/none.swift", path]
        for (text, listsTests, isTestKit) in rows {
            try FileAccess.write(Array(text.utf8), to: path)
            expectEqual(module.listsTests, listsTests, text)
            expectEqual(module.isTestKit, isTestKit, text)
        }
    }
}
#endif
