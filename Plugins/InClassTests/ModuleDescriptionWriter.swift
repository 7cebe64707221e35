// Writes a module's description for testlogger from the information that SwiftPM passes to a plugin. ModuleDescription in
// TestSupervision reads it. Both plugins compile this file.

import Foundation
import PackagePlugin

/// The locations of a build's products, derived from the location of testlogger.
struct BuildLayout {
    /// The folder of products, such as `.build/x86_64-unknown-linux-gnu/debug`.
    let products: URL
    /// A Boolean value that indicates whether this is the layout of Swift Build, with one object per module. The native
    /// build system creates one object per source.
    let isSwiftBuild: Bool
    /// The suffix of the names of natively built Swift objects.
    private let ending: String

    init(tool: URL, leavesBitcode: Bool = false) {
        ending = leavesBitcode ? "bc" : "o"
        products = tool.deletingLastPathComponent()
        isSwiftBuild = PluginSystem.isSwiftBuild(products: products.path)
    }

    /// The name of the configuration's folder: `debug`, `release`, `Debug-linux` …
    var configuration: String { PluginSystem.configuration(products: products.path) }

    /// The triple of the machine that runs the build, if the layout contains it.
    var triple: String { isSwiftBuild ? "" : products.deletingLastPathComponent().lastPathComponent }

    /// Returns the folder of a target's objects in a native build, which is named after the module.
    func objectFolder(of target: any SourceModuleTarget) -> URL {
        products.appending(path: "\(target.moduleName).build")
    }

    /// Returns the objects of a Clang target or the object of a Swift module, if their names are known.
    ///
    /// Swift Build names the object after the target.
    func objects(of target: any SourceModuleTarget) -> [URL] {
        if isSwiftBuild {
            return target.kind == .executable || target.kind == .snippet
                ? [] : [products.appending(path: "\(target.name).o")]
        }
        let folder = objectFolder(of: target)
        if target is SwiftSourceModuleTarget {
            return target.sourceFiles(withSuffix: ".swift").map {
                folder.appending(path: "\($0.url.lastPathComponent).\(ending)")
            }
        }
        let root = target.directoryURL.path
        return target.sourceFiles.filter { $0.type == .source }.map { file in
            folder.appending(path: "\(file.url.path.dropFirst(root.count + 1)).o")
        }
    }
}

extension BuildLayout {
    /// Returns the objects that earlier builds of Swift Build have created from an executable for modules that depend on it.
    fileprivate func testableObjects(of target: any SourceModuleTarget) -> [URL] {
        let folder = products.appending(path: "ExecutableModules")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasPrefix("\(target.name)-") && $0.hasSuffix("-testable.o") }.sorted()
            .map { folder.appending(path: $0) }
    }
}

/// A module that has tests or may have tests.
struct TestedModule {
    let target: SwiftSourceModuleTarget
    let packages: LocalPackages
    let layout: BuildLayout
    /// The folder for the description, the test executable and the empty source.
    let folder: URL
    /// The toolchain's compiler, or nil if the toolchain has no clang.
    let clang: URL?
    /// The option that selects another machine for the build, or nil.
    var machine: String?
    /// The file that the build checks for changed options. Swift Build doesn't run a step because an input is missing, so
    /// the description contains the path.
    var optionFile: URL?
    /// A Boolean value that indicates whether the target applies the plugin itself, which then can't run the target's tests.
    var hasPlugin = false

    /// The message to print if the module lists tests that can't run here.
    var advice: String? {
        if target.isMacro { return packages.adviceToMoveTests(from: target) }
        return hasPlugin ? packages.adviceToMovePlugin(from: target) : nil
    }

    var descriptionURL: URL { folder.appending(path: "\(target.moduleName).inclass") }

    /// All targets whose objects are linked into the test executable, with the module itself first. Macros run in the compiler.
    private var closure: [any Target] { target.closure { $0.dependencyTargets.filter { !$0.isMacro } } }

    /// A Boolean value that indicates whether the module can have tests: it depends on InClassTesting, directly or
    /// indirectly, or is InClassTesting itself.
    var canHaveTests: Bool { closure.contains { $0.isTestingLibrary } }

    /// A Boolean value that indicates whether the module depends on InClassTesting only through other targets. Most of these
    /// modules have no tests.
    private var isIndirect: Bool {
        !target.isTestingLibrary && !target.dependencyTargets.contains { $0.isTestingLibrary }
    }

    /// A Boolean value that indicates whether the module probably has tests.
    var mayListTests: Bool {
        !isIndirect
            || sources.contains { source in
                guard let text = try? Data(contentsOf: source) else { return false }
                return ["testSelectors", "Testing"].contains { text.firstRange(of: Data($0.utf8)) != nil }
            }
    }

    var sources: [URL] { target.sourceFiles(withSuffix: ".swift").map(\.url) }

    /// The files that the build must have created before the tests can be linked.
    var objects: [URL] {
        closure.compactMap { $0 as? any SourceModuleTarget }.flatMap { target in
            // The name of Swift Build's object of an executable isn't known before the first build, but the name of its
            // product is.
            layout.isSwiftBuild && target.kind == .executable
                ? [layout.products.appending(path: packages.programName(of: target))]
                    + layout.testableObjects(of: target) : layout.objects(of: target)
        }
    }

    /// The resource files of the module and of all its dependencies. Its tests may depend on them as on code. For a folder
    /// that is copied as a whole, these are all files in it, at any depth.
    var resources: [URL] {
        let resources = closure.compactMap { $0 as? any SourceModuleTarget }
            .flatMap { $0.sourceFiles.filter { $0.type == .resource }.map(\.url) }
        var folders: Set<String> = []
        return resources.flatMap { files(at: $0, outside: &folders) }
    }

    /// Returns a file, or all files in a folder at any depth, and follows links.
    ///
    /// - Parameter seen: The real paths of the folders that have been visited already.
    private func files(at url: URL, outside seen: inout Set<String>) -> [URL] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else { return [] }
        if !isFolder.boolValue { return [url] }
        guard seen.insert(url.resolvingSymlinksInPath().path).inserted,
            let names = try? FileManager.default.contentsOfDirectory(atPath: url.path)
        else { return [] }
        var files: [URL] = []
        for name in names.sorted() { files += self.files(at: url.appending(path: name), outside: &seen) }
        return files
    }

    /// The lines of the description.
    private var text: String {
        var text = ""
        // A value with a line break doesn't fit into a line. Such a file is an input of the step nevertheless.
        func add(_ key: String, _ values: [String?]) {
            for case let value? in values where !value.contains("\n") { text += "\(key)\t\(value)\n" }
        }
        let products = layout.products.path
        // Xcode's name of the folder of products, which the reader replaces with its own folder.
        add("placeholder", [PluginSystem.isPlaceholder(products) ? products : nil])
        add("module", [target.moduleName])
        add("target", [target.name])
        add("root", [packages.all[0].directoryURL.path])
        add("test-executable", [folder.appending(path: "\(target.moduleName).img").path])
        add("search", [products])
        add("bundles", [products])
        add("clang", [clang?.path])
        add("obstacle", [clang == nil ? "the toolchain has no clang" : nil])
        add("obstacle", [machine.map { "they are compiled for another machine (\($0))" }])
        add("indirect", [isIndirect ? "yes" : nil])
        add("advice", [advice])
        add("option-file", [optionFile?.path])
        add("source", sources.map(\.path))
        add("resource-file", resources.map(\.path))
        // Files, and folders that are copied as a whole.
        add("own-resource", target.sourceFiles.filter { $0.type == .resource }.map(\.url.path))
        for part in closure { addParts(of: part, add) }
        // Resource accessors are named after the package and the target.
        let owner = packages.owner(of: target) ?? packages.all[0]
        for ending in ["resources", "bundle"] {
            add("resources", [layout.products.appending(path: "\(owner.displayName)_\(target.name).\(ending)").path])
        }
        return text
    }

    /// Adds the objects and libraries of a target of the closure.
    private func addParts(of part: any Target, _ add: (_ key: String, _ values: [String?]) -> Void) {
        switch part {
        case let module as SwiftSourceModuleTarget:
            add("library", module.linkedLibraries)
            if !layout.isSwiftBuild {
                add("file-map", [layout.objectFolder(of: module).appending(path: "output-file-map.json").path])
            } else if module.kind == .executable {
                add("executable-module", [layout.products.appending(path: "ExecutableModules/\(module.name)-").path])
            } else {
                add("object", layout.objects(of: module).map(\.path))
            }
        case let module as ClangSourceModuleTarget:
            add("library", module.linkedLibraries)
            add("object", layout.objects(of: module).map(\.path))
            let endings: Set<String> = ["cpp", "cc", "cxx", "c++", "mm"]
            add("c++", [module.sourceFiles.contains { endings.contains($0.url.pathExtension) } ? "yes" : nil])
        case let library as SystemLibraryTarget: add("linker", library.linkerFlags)
        case let binary as BinaryArtifactTarget:
            let libraries = binary.librariesForThisMachine
            add("linker", libraries?.map(\.path) ?? [])
            let message = "it depends on the binary target '\(part.name)', which can't be linked on this machine"
            add("unsupported", [libraries == nil ? message : nil])
        default: break
        }
    }

    /// The static libraries of binary targets that the test executable is linked with.
    var binaryLibraries: [URL] {
        closure.compactMap { $0 as? BinaryArtifactTarget }.flatMap { $0.librariesForThisMachine ?? [] }
    }

    /// Writes the description if it has changed. An unchanged description doesn't run the tests again.
    func writeDescription() throws {
        let new = Data(text.utf8)
        if let old = try? Data(contentsOf: descriptionURL), old == new { return }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try new.write(to: descriptionURL, options: .atomic)
    }
}

// MARK: - Binary targets

extension BinaryArtifactTarget {
    /// The libraries for this machine. Empty if the artifacts are programs, nil if they can't be linked in a known way.
    var librariesForThisMachine: [URL]? {
        guard kind == .artifactsArchive,
            let data = try? Data(contentsOf: artifactURL.appending(path: "info.json")),
            let bundle = try? JSONDecoder().decode(ArtifactBundle.self, from: data)
        else { return nil }
        var libraries: [URL] = []
        for (_, artifact) in bundle.artifacts.sorted(by: { $0.key < $1.key }) where artifact.type != "executable" {
            guard artifact.type == "staticLibrary", let variant = artifact.variants.first(where: \.isForThisMachine)
            else { return nil }
            libraries.append(artifactURL.appending(path: variant.path))
        }
        return libraries
    }
}

/// The part of a bundle's `info.json` that contains the paths of its libraries.
private struct ArtifactBundle: Decodable {
    struct Artifact: Decodable {
        var type: String
        var variants: [Variant]
    }

    struct Variant: Decodable {
        var path: String
        var supportedTriples: [String]?

        var isForThisMachine: Bool {
            supportedTriples.map { PluginSystem.supports($0) } ?? true
        }
    }

    var artifacts: [String: Artifact]
}
