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
    /// The folder for the description, the image and the empty source.
    let folder: URL
    /// The toolchain's compiler, or nil if the toolchain has no clang.
    let clang: URL?
    /// The option that selects another machine for the build, or nil.
    var machine: String?
    /// The file that the build checks for changed options. Swift Build doesn't run a step because an input is missing, so
    /// the description contains the path.
    var optionFile: URL?
    /// The message to print if the module lists tests that can't run here.
    var advice: String?

    init(
        target: SwiftSourceModuleTarget, packages: LocalPackages, layout: BuildLayout, folder: URL, clang: URL?,
        machine: String? = nil
    ) {
        self.target = target
        self.packages = packages
        self.layout = layout
        self.folder = folder
        self.clang = clang
        self.machine = machine
        advice = target.isMacro ? packages.adviceToMoveTests(from: target) : nil
    }

    var descriptionURL: URL { folder.appending(path: "\(target.moduleName).inclass") }

    /// All targets whose objects are linked into the image, with the module itself first. Macros run in the compiler.
    private var closure: [any Target] {
        var found: [any Target] = []
        var seen: Set<String> = []
        func visit(_ target: any Target) {
            guard seen.insert(target.id).inserted else { return }
            if target.isMacro, target.id != self.target.id { return }
            found.append(target)
            target.dependencyTargets.forEach(visit)
        }
        visit(target)
        return found
    }

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

    /// The module's own resources: files, and folders that are copied as a whole.
    private var ownResources: [URL] { target.sourceFiles.filter { $0.type == .resource }.map(\.url) }

    private var text: String {
        // The name of the folder of products in the lines below. The reader replaces it with its own folder.
        var lines: [(String, String)] =
            PluginSystem.isPlaceholder(layout.products.path) ? [("placeholder", layout.products.path)] : []
        lines += [
            ("module", target.moduleName), ("target", target.name), ("root", packages.all[0].directoryURL.path),
            ("image", folder.appending(path: "\(target.moduleName).img").path),
            ("search", layout.products.path), ("bundles", layout.products.path),
        ]
        if let clang {
            lines.append(("clang", clang.path))
        } else {
            lines.append(("obstacle", "the toolchain has no clang"))
        }
        if let machine { lines.append(("obstacle", "they are compiled for another machine (\(machine))")) }
        if isIndirect { lines.append(("indirect", "yes")) }
        if let advice { lines.append(("advice", advice)) }
        if let optionFile { lines.append(("option-file", optionFile.path)) }
        lines += sources.map { ("source", $0.path) }
        // A name with a line break doesn't fit into a line. The file is an input of the step nevertheless.
        lines += resources.filter { !$0.path.contains("\n") }.map { ("resource-file", $0.path) }
        lines += ownResources.filter { !$0.path.contains("\n") }.map { ("own-resource", $0.path) }
        for part in closure {
            if let module = part as? SwiftSourceModuleTarget {
                lines += linkedLibraries(module.linkedLibraries)
                if !layout.isSwiftBuild {
                    let map = layout.objectFolder(of: module).appending(path: "output-file-map.json")
                    lines.append(("file-map", map.path))
                } else if module.kind == .executable {
                    lines.append(
                        ("executable", layout.products.appending(path: "ExecutableModules/\(module.name)-").path))
                } else {
                    lines += layout.objects(of: module).map { ("object", $0.path) }
                }
            } else if let module = part as? ClangSourceModuleTarget {
                lines += linkedLibraries(module.linkedLibraries)
                lines += layout.objects(of: module).map { ("object", $0.path) }
                let endings: Set<String> = ["cpp", "cc", "cxx", "c++", "mm"]
                if module.sourceFiles.contains(where: { endings.contains($0.url.pathExtension) }) {
                    lines.append(("c++", "yes"))
                }
            } else if let library = part as? SystemLibraryTarget {
                lines += library.linkerFlags.map { ("linker", $0) }
            } else if let binary = part as? BinaryArtifactTarget {
                if let libraries = binary.librariesForThisMachine {
                    lines += libraries.map { ("linker", $0.path) }
                } else {
                    lines.append(
                        ("unsupported", "it depends on the binary target '\(part.name)', which cannot be linked here"))
                }
            }
        }
        // Resource accessors are named after the package and the target.
        let owner = packages.owner(of: target) ?? packages.all[0]
        for ending in ["resources", "bundle"] {
            lines.append(
                ("resources", layout.products.appending(path: "\(owner.displayName)_\(target.name).\(ending)").path))
        }
        return lines.map { "\($0.0)\t\($0.1)\n" }.joined()
    }

    /// The static libraries of binary targets that the image is linked with.
    var binaryLibraries: [URL] {
        closure.compactMap { $0 as? BinaryArtifactTarget }.flatMap { $0.librariesForThisMachine ?? [] }
    }

    private func linkedLibraries(_ names: [String]) -> [(String, String)] { names.map { ("library", $0) } }

    /// Writes the description if it has changed. An unchanged description doesn't run the tests again.
    func writeDescription() throws {
        let new = Data(text.utf8)
        if let old = try? Data(contentsOf: descriptionURL), old == new { return }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try new.write(to: descriptionURL, options: .atomic)
    }
}
