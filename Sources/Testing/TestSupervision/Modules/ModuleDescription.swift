// What is known of a module that is to be tested: its sources, the objects its image is linked from, its resources.
// The plugin writes this as a file of lines, `key<TAB>value`; a person who builds by other means may write one too.

internal import InClassSystem

/// A module to be tested and everything its image is made of.
package struct ModuleDescription: Equatable, Sendable {
    /// The module's name.
    package var module = ""
    /// The name of the target that is built to make it.
    package var target = ""
    /// The folder of the package, which relative paths are relative to.
    package var root = ""
    /// Absolute paths of the module's Swift sources.
    package var sources: [String] = []
    /// SwiftPM's maps from sources to objects, each of one Swift module; the map knows generated sources too.
    package var fileMaps: [String] = []
    /// Objects to link.
    package var objects: [String] = []
    /// Objects of executable modules whose names are only known once they are built: a folder and the start of the name.
    package var executables: [String] = []
    /// Names of libraries, as after `-l`.
    package var libraries: [String] = []
    /// Further words for the linker, such as those of pkg-config.
    package var linkerOptions: [String] = []
    /// Folders with libraries, as after `-L`.
    package var searchPaths: [String] = []
    /// Folders that may hold the module's resources, for `resource(_:_:)`.
    package var resources: [String] = []
    /// The files that the resources are made of; tests may depend on their contents.
    package var resourceFiles: [String] = []
    /// The module's own resources in its sources, files and folders that are copied whole, for `expectGolden`.
    package var ownResources: [String] = []
    /// Where the built resource bundles are, which code under test looks for beside its executable.
    package var bundleFolder = ""
    /// Where to put the image.
    package var image = ""
    /// The C compiler of the toolchain that compiled the objects.
    package var clang = ""
    /// A Boolean value that indicates whether C++ is among the objects.
    package var usesCPlusPlus = false
    /// A Boolean value that indicates whether the module depends on InClassTesting through other targets only, most of which
    /// have no tests.
    package var isIndirect = false
    /// A diagnostic for a module whose tests no build can run, if it lists any.
    package var advice = ""
    /// Why the tests cannot be run here, when the writer of the file already knows.
    package var obstacle = ""
    /// What the module is made of that cannot be linked.
    package var unsupported = ""
    /// The lines that say what is linked and tested, and not where the results go.
    package var identity = ""

    package init() {}

    /// The static libraries among the linker options, which are linked like objects.
    package var libraryFiles: [String] { linkerOptions.filter { $0.hasPrefix("/") } }
}

/// A line of a module description that is not understood.
package struct DescriptionError: Error, Equatable, CustomStringConvertible {
    package var path: String
    package var line: Int
    package var text: String

    package var description: String { "\(path):\(line):1: error: expected 'key<TAB>value' but found '\(text)'" }
}

extension ModuleDescription {
    /// Reads a description.
    ///
    /// - Parameter products: the folder of products, which Xcode's plugins do not know and name by a placeholder.
    /// - Throws: `DescriptionError` for the first line that is not understood.
    package init(lines text: String, path: String, products: String = "") throws(DescriptionError) {
        var number = 0
        var placeholder = ""
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            number += 1
            if line.isEmpty { continue }
            let parts = line.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if parts.count == 2, parts[0] == "placeholder" {
                placeholder = parts[1]
                continue
            }
            let isThere = !placeholder.isEmpty && parts.last?.hasPrefix(placeholder) ?? false
            let value = isThere ? products + parts[1].dropFirst(placeholder.count) : parts.last ?? ""
            guard parts.count == 2, add(key: parts[0], value) else {
                throw DescriptionError(path: path, line: number, text: String(line))
            }
            if parts[0] != "image" { identity += "\(line)\n" }
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
        case "executable": executables.append(value)
        case "library": libraries.append(value)
        case "linker": linkerOptions.append(value)
        case "search": searchPaths.append(value)
        case "resources": resources.append(value)
        case "resource-file": resourceFiles.append(value)
        case "own-resource": ownResources.append(value)
        case "bundles": bundleFolder = value
        case "image": image = value
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

    /// Finds the objects to link: those named, those of the file maps that exist, those of executables.
    ///
    /// A map also names objects that a whole-module build does not write, hence "that exist"; it does not name those of
    /// deleted sources, which may still lie in the folder.
    package func resolvedObjects() throws(SystemError) -> [String] {
        var found = objects
        for map in fileMaps {
            let text = String(decoding: try FileAccess.contents(of: map), as: UTF8.self)
            // The second is what link-time optimisation compiles to.
            for key in ["\"object\"", "\"llvm-bc\""] as [StaticString] {
                found += OutputFileMap.paths(of: key, in: text).filter(FileAccess.exists)
            }
        }
        for start in executables {
            let prefix = FileAccess.name(of: start)
            let folder = FileAccess.directory(of: start)
            let newest = FileAccess.names(in: folder)
                .filter { Self.isHashed($0, after: prefix) }
                .map { "\(folder)/\($0)" }
                .max { FileAccess.modificationTime(of: $0) ?? 0 < FileAccess.modificationTime(of: $1) ?? 0 }
            if let newest { found.append(newest) }
        }
        var seen: Set<String> = []
        return found.filter { seen.insert($0).inserted }
    }

    /// Returns whether a name is Swift Build's for an executable's object: a hash follows the name of the target.
    private static func isHashed(_ name: String, after prefix: String, ending: String = "-testable.o") -> Bool {
        guard name.hasPrefix(prefix), name.hasSuffix(ending) else { return false }
        return name.dropFirst(prefix.count).dropLast(ending.count).allSatisfy(\.isHexDigit)
    }

    /// The sources that have been saved or deleted since they were last compiled, or never were, the module's own and
    /// those of the Swift modules that it is linked with; none where that is not known.
    ///
    /// A compiler that makes the same object again leaves the old one, but it always writes anew what a source depends
    /// on, `.d`, and only when it succeeds. A module that is optimised as a whole has one such file.
    package var sourcesNewerThanBuild: [String] { compiledModules.flatMap(\.sourcesNewerThanBuild) }

    /// Those of them that are the module's own.
    var ownSourcesNewerThanBuild: [String] { ownOutputs.sourcesNewerThanBuild }

    /// The sources whose objects the compiler has taken away, since it refused them or others that it compiled with them.
    package var sourcesWithoutObject: [String] {
        target.isEmpty ? [] : compiledModules.flatMap(\.sourcesWithoutObject)
    }

    /// All Swift sources that the image is made of, as far as they are known.
    package var linkedSources: Set<String> { Set(sources + mappedModules.flatMap(\.sources)) }

    /// A Boolean value that indicates whether Swift Build compiles the module twice: for the program, and with the tests for
    /// what depends on the module.
    private var isSwiftBuildProgram: Bool { executables.contains { FileAccess.name(of: $0) == "\(target)-" } }

    /// A Boolean value that indicates whether the last build has compiled the module for its program only, and so not its
    /// tests.
    package var isBuiltWithoutTests: Bool {
        guard isSwiftBuildProgram else { return false }
        let objects = FileAccess.names(in: "\(bundleFolder)/ExecutableModules")
        return !objects.contains { Self.isHashed($0, after: "\(target)-") } || !ownSourcesNewerThanBuild.isEmpty
    }

    /// The module itself, and the others of the file maps.
    private var compiledModules: [CompilerOutputs] {
        [ownOutputs] + mappedModules.filter { $0.folders != [objectFolder] }
    }

    private var ownOutputs: CompilerOutputs { CompilerOutputs(sources: sources, folders: compileFolders, root: root) }

    private var mappedModules: [CompilerOutputs] {
        fileMaps.map { map in
            let text = String(decoding: (try? FileAccess.contents(of: map)) ?? [], as: UTF8.self)
            // What the build itself has written lies among its products.
            let sources = OutputFileMap.sources(in: text).filter { !$0.hasPrefix("\(bundleFolder)/") }
            return CompilerOutputs(sources: sources, folders: [FileAccess.directory(of: map)], root: root)
        }
    }

    /// The folder to which a native build writes the module's objects; the module's own map comes first.
    var objectFolder: String { fileMaps.first.map(FileAccess.directory) ?? "\(bundleFolder)/\(module).build" }

    /// The folders to which the compiler writes when it compiles the module, natively or for Swift Build.
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

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension ModuleDescription: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testReadsLines": testReadsLines,
            "testKnowsWhatXcodeCallsTheProducts": testKnowsWhatXcodeCallsTheProducts,
            "testSaysWhichLineIsWrong": testSaysWhichLineIsWrong,
            "testIsTheSameWhereverTheImageIs": testIsTheSameWhereverTheImageIs,
        ]
            + .each("testReadsFileMaps", fileMaps) { text, paths in
                expectEqual(OutputFileMap.paths(of: "\"object\"", in: text), paths)
                let bitcode = text.replacing("\"object\"", with: "\"llvm-bc\"")
                expectEqual(OutputFileMap.paths(of: "\"llvm-bc\"", in: bitcode), paths)
                expectEqual(OutputFileMap.paths(of: "\"object\"", in: bitcode), [])
            }
    }

    private static func testReadsLines() throws {
        let text = "module\tM\nsource\t/a b.swift\nsource\t/c\td.swift\n\nlibrary\tz\nc++\tyes\n"
        let description = try ModuleDescription(lines: text, path: "/m")
        expectEqual(description.module, "M")
        expectEqual(description.sources, ["/a b.swift", "/c\td.swift"])
        expectEqual(description.libraries, ["z"])
        expectTrue(description.usesCPlusPlus)
    }

    private static func testKnowsWhatXcodeCallsTheProducts() throws {
        let folder = "${BUILD_DIR}/${CONFIGURATION}"
        let text = "placeholder\t\(folder)\nmodule\tM\nobject\t\(folder)/M.o\nbundles\t\(folder)\nsource\t/a.swift\n"
        let description = try ModuleDescription(lines: text, path: "/m", products: "/Products/Debug")
        expectEqual(description.objects, ["/Products/Debug/M.o"])
        expectEqual(description.bundleFolder, "/Products/Debug")
        expectEqual(description.sources, ["/a.swift"])
        expectThrows(DescriptionError.self) { _ = try ModuleDescription(lines: "placeholder", path: "/m") }
    }

    private static func testSaysWhichLineIsWrong() {
        for line in ["modul\tM", "module", "module M"] {
            let error = expectThrows(DescriptionError.self, line) {
                _ = try ModuleDescription(lines: "root\t/\n\(line)", path: "/m")
            }
            expectEqual(error?.line, 2)
            expectEqual(error?.text, line)
        }
    }

    private static func testIsTheSameWhereverTheImageIs() throws {
        let one = try ModuleDescription(lines: "module\tM\nimage\t/a/M.img\nlibrary\tz\n", path: "/m")
        let other = try ModuleDescription(lines: "module\tM\nimage\t/b/M.img\nlibrary\tz\n", path: "/m")
        expectEqual(one.identity, other.identity)
        let linked = try ModuleDescription(lines: "module\tM\nimage\t/a/M.img\nlibrary\ty\n", path: "/m")
        expectNotEqual(one.identity, linked.identity)
    }

    private static var fileMaps: [(String, [String])] {
        [
            ("{}", []),
            (
                #"{"": {"swift-dependencies": "/x"}, "/b.swift": {"object": "/b.o", "object-not": "/c.o"}, "/a": {"object" : "\/a \"q.o"}}"#,
                ["/a \"q.o", "/b.o"]
            ),
            // A path may say what a key says.
            (#"{"a": "object", "c": {"object": "\"object\": \"d"}}"#, ["\"object\": \"d"]),
            (#"{"object": "#, []),
        ]
    }
}
#endif
