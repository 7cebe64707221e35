// Writes what testlogger must know of a module, from what SwiftPM tells a plugin: the counterpart of
// ModuleDescription in TestSupervision, which reads it. Both plugins compile this one file.

import Foundation
import PackagePlugin

/// Where a build puts things, told from where it has put testlogger.
struct BuildLayout {
    /// The folder of products, such as `.build/x86_64-unknown-linux-gnu/debug`.
    let products: URL
    /// A Boolean value that indicates whether this is Swift Build's layout, one object a module, or the native one's, one
    /// object a source.
    let isSwiftBuild: Bool
    /// How the names of natively built Swift objects end.
    private let ending: String

    init(tool: URL, leavesBitcode: Bool = false) {
        ending = leavesBitcode ? "bc" : "o"
        products = tool.deletingLastPathComponent()
        isSwiftBuild = PluginSystem.isSwiftBuild(products: products.path)
    }

    /// The name of the configuration's folder: `debug`, `release`, `Debug-linux` …
    var configuration: String { PluginSystem.configuration(products: products.path) }

    /// The triple of the machine that the build runs on, where the layout names it.
    var triple: String { isSwiftBuild ? "" : products.deletingLastPathComponent().lastPathComponent }

    /// The folder of a target's objects in a native build, which is named after the module.
    func objectFolder(of target: any SourceModuleTarget) -> URL {
        products.appending(path: "\(target.moduleName).build")
    }

    /// The objects of a Clang target or the object of a Swift module, as far as their names are known.
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
    /// The objects that earlier builds of Swift Build have made of an executable for the modules that depend on it.
    fileprivate func testableObjects(of target: any SourceModuleTarget) -> [URL] {
        let folder = products.appending(path: "ExecutableModules")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasPrefix("\(target.name)-") && $0.hasSuffix("-testable.o") }.sorted()
            .map { folder.appending(path: $0) }
    }
}

/// A module that has tests, or may have.
struct TestedModule {
    let target: SwiftSourceModuleTarget
    let packages: LocalPackages
    let layout: BuildLayout
    /// Where to put the description, the image and the marker.
    let folder: URL
    /// The toolchain's compiler, when it has one.
    let clang: URL?
    /// The option by which the build is for another machine, if it is.
    var machine: String?
    /// The file that the build looks at for changed options. Swift Build runs no step because an input is gone, so the
    /// description names it.
    var optionFile: URL?
    /// What to print if the module lists tests, which can't run here.
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

    /// All targets whose objects make the image, the module's own first: macros run in the compiler.
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

    /// A Boolean value that indicates whether the module can have tests: InClassTesting is among all that it depends on, or is
    /// the module itself.
    var canHaveTests: Bool { closure.contains { $0.isTestingLibrary } }

    /// A Boolean value that indicates whether the module depends on InClassTesting through other targets only, most of which
    /// have no tests.
    private var isIndirect: Bool {
        !target.isTestingLibrary && !target.dependencyTargets.contains { $0.isTestingLibrary }
    }

    /// A Boolean value that indicates whether tests are to be expected in the module.
    var mayListTests: Bool {
        !isIndirect
            || sources.contains { source in
                guard let text = try? Data(contentsOf: source) else { return false }
                return ["testSelectors", "Testing"].contains { text.firstRange(of: Data($0.utf8)) != nil }
            }
    }

    var sources: [URL] { target.sourceFiles(withSuffix: ".swift").map(\.url) }

    /// The files that the build must have made before the tests can be linked.
    var objects: [URL] {
        closure.compactMap { $0 as? any SourceModuleTarget }.flatMap { target in
            // The name of Swift Build's object of an executable isn't known before the first build; that of its product is.
            layout.isSwiftBuild && target.kind == .executable
                ? [layout.products.appending(path: packages.programName(of: target))]
                    + layout.testableObjects(of: target) : layout.objects(of: target)
        }
    }

    /// The files that make the resources of the module and of all it depends on: its tests may depend on them as on
    /// code. A folder that is copied whole is all files in it, at any depth.
    var resources: [URL] {
        let resources = closure.compactMap { $0 as? any SourceModuleTarget }
            .flatMap { $0.sourceFiles.filter { $0.type == .resource }.map(\.url) }
        var folders: Set<String> = []
        return resources.flatMap { files(at: $0, outside: &folders) }
    }

    /// A file, or all files in a folder at any depth, also where links lead to.
    ///
    /// - Parameter seen: the real folders whose files are known, by whatever way.
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

    /// The module's own resources: files, and folders that are copied whole.
    private var ownResources: [URL] { target.sourceFiles.filter { $0.type == .resource }.map(\.url) }

    private var text: String {
        // What the folder of products is called below; it is where the reader of this is.
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
        // A name of several lines is an input all the same.
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
        // Accessors are named after the package and the target.
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

    /// Writes the description if it has changed, so that an unchanged one does not run the tests again.
    func writeDescription() throws {
        let new = Data(text.utf8)
        if let old = try? Data(contentsOf: descriptionURL), old == new { return }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try new.write(to: descriptionURL, options: .atomic)
    }
}
