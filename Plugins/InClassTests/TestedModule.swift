// Finds the tested modules of a package, and describes each of them for testlogger. Both plugins compile this file, and their
// own file. The compiler starts a process for each file of each plugin, so there are no more.
//
// `PluginSystem` contains the code that differs on macOS and in Xcode. It doesn't use SwiftPM's types, so the target
// TestloggerTests, where the module PackagePlugin doesn't exist, runs its tests on any system.
//
// Sources:
// - `getproclline` of Apple's ps: how to read `KERN_PROCARGS2`.
// - Xcode passes the path `${BUILD_DIR}/${CONFIGURATION}/NAME` to build tool plugins for a tool that it builds. It replaces
//   these variables only in the arguments of a command.

import Foundation

// MARK: - macOS and Xcode

enum PluginSystem {
    #if canImport(Darwin)
    static let isMacOS = true
    #else
    static let isMacOS = false
    #endif

    // MARK: Where a build puts things

    /// Returns whether a folder of products contains Xcode's variables. Plugins don't receive their values.
    static func isPlaceholder(_ products: String) -> Bool { products.contains("${") }

    /// Returns whether a folder of products belongs to Swift Build, as in Xcode.
    static func isSwiftBuild(products: String) -> Bool {
        isPlaceholder(products) || URL(filePath: products).deletingLastPathComponent().lastPathComponent == "Products"
    }

    /// Returns the name of the configuration of a folder of products: `debug`, `release`, `Debug-linux` …
    static func configuration(products: String) -> String {
        isPlaceholder(products) ? "Xcode" : URL(filePath: products).lastPathComponent
    }

    // MARK: Binary targets

    /// Returns whether a library variant with these triples supports a machine.
    static func supports(_ triples: [String], isMacOS: Bool = isMacOS, isARM: Bool = isARM) -> Bool {
        let architectures = isARM ? ["aarch64", "arm64"] : ["x86_64"]
        let system = isMacOS ? "apple-macos" : "linux-gnu"
        return triples.contains { triple in
            triple.contains(system) && architectures.contains { triple.hasPrefix("\($0)-") }
        }
    }

    #if arch(arm64)
    static let isARM = true
    #else
    static let isARM = false
    #endif

    // MARK: The process that runs a plugin

    /// The arguments of the process that runs the plugin, or an empty array if they can't be read.
    static var parentWords: [String] {
        #if canImport(Darwin)
        var name = [CTL_KERN, KERN_PROCARGS2, getppid()]
        var count = 0
        guard sysctl(&name, 3, nil, &count, nil, 0) == 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: count)
        guard sysctl(&name, 3, &bytes, &count, nil, 0) == 0 else { return [] }
        return words(ofProcess: Array(bytes.prefix(count)))
        #else
        guard let data = FileManager.default.contents(atPath: "/proc/\(getppid())/cmdline") else { return [] }
        return data.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        #endif
    }

    /// Parses macOS's information about a process: the number of arguments in four bytes, the path followed by NULs, then
    /// the arguments and the environment, each followed by a NUL.
    static func words(ofProcess bytes: [UInt8]) -> [String] {
        guard bytes.count >= 4 else { return [] }
        let count = (0..<4).reduce(0) { $0 | Int(bytes[$1]) << ($1 * 8) }
        let rest = bytes[4...].drop { $0 != 0 }.drop { $0 == 0 }
        let words = rest.split(
            separator: 0, maxSplits: max(0, min(count, rest.count)), omittingEmptySubsequences: false)
        return words.prefix(count).map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Locks

    /// Locks a file, which is created if necessary, and waits for another process to release the lock.
    ///
    /// - Returns: The descriptor that holds the lock, or -1 if the file can't be opened.
    static func lock(_ file: URL) -> Int32 {
        try? FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let descriptor = open(file.path(percentEncoded: false), O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        while descriptor >= 0, flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
        return descriptor
    }

    /// Releases a lock. Further calls have no effect.
    static func unlock(_ descriptor: inout Int32) {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    // MARK: Commands

    /// Returns a word with the quotes that a shell needs.
    static func quoted(_ word: String) -> String {
        word.contains { " '\"*?$&|;<>()[]\\".contains($0) } ? "'\(word.replacing("'", with: "'\\''"))'" : word
    }
}

// MARK: - Facts that SwiftPM does not pass to plugins

/// A package's manifest as text, for the position of a target's declaration and the target's plugins.
struct ManifestText {
    let path: String
    private let text: String

    init(folder: URL) {
        let url = folder.appending(path: "Package.swift")
        path = url.path
        text = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
    }

    /// Returns the position of a target's declaration in the compiler's form, or the beginning of the file.
    func place(of target: String) -> String {
        let before = text[..<(declaration(of: target)?.startIndex ?? text.startIndex)]
        let lines = before.split(separator: "\n", omittingEmptySubsequences: false)
        return "\(path):\(max(1, lines.count)):\((lines.last?.utf8.count ?? 0) + 1)"
    }

    /// Returns whether a target may have the plugin. The result is false only if the declaration can be read and doesn't
    /// name the plugin.
    func mayHavePlugin(_ target: String) -> Bool {
        guard let declaration = declaration(of: target) else { return true }
        guard let plugins = declaration.firstRange(of: /\bplugins\s*:/) else { return false }
        let list = declaration[plugins.lowerBound...].replacing(/\/\/[^\n]*|\/\*(?:[^*]|\*(?!\/))*\*\//, with: "")
        // A constant instead of a literal may contain the plugin. A label isn't a constant.
        return list.contains("InClassTests")
            || list.replacing(/"[^"]*"/, with: "").contains(/(?:[\[,]|(?:plugins|name)\s*:)\s*[A-Za-z_]\w*(?!\w|\s*:)/)
    }

    /// Returns the text from the dot of `.target(name: "…"` to its closing parenthesis.
    private func declaration(of target: String) -> Substring? {
        let start = /\.(?:target|executableTarget|testTarget|macro)\s*\(\s*name\s*:\s*"([^"]*)"/
        let declarations = text.matches(of: start).lazy.filter { $0.1 == target }
        return declarations.map { parenthesized(from: $0.range.lowerBound) }.first {
            // A dependency on the target begins in the same way, but has at most a condition after the name.
            $0.contains(/"\s*,\s*\w+\s*:/) && $0.prefixMatch(of: /\.target\([^,]*,\s*condition\s*:/) == nil
        }
    }

    /// Returns the text up to the parenthesis that closes the first parenthesis.
    private func parenthesized(from start: String.Index) -> Substring {
        var depth = 0
        var isString = false
        var previous: Character = " "
        for index in text[start...].indices {
            let character = text[index]
            if character == "\"", previous != "\\" { isString.toggle() }
            previous = character
            if isString { continue }
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            if depth == 0, character == ")" { return text[start...index] }
        }
        return text[start...]
    }
}

// MARK: - Packages

#if canImport(PackagePlugin)
import PackagePlugin

/// The packages whose tests run in a build: the built package and its local dependencies by path, which are edited together
/// with it. The tests of other dependencies run where these packages themselves are built.
struct LocalPackages {
    /// The packages, with the built package first.
    let all: [Package]
    /// The package of each target.
    private let owners: [String: Package]

    init(root: Package) {
        all = root.closure { package in
            // The package of InClassTesting is a tool, even as a local dependency.
            if case .local = package.origin { return !package.isTester }
            return false
        }
        owners = Dictionary(
            all.flatMap { package in package.targets.map { ($0.id, package) } }, uniquingKeysWith: { first, _ in first }
        )
    }

    /// Returns the file that runs the tests again when the options in `.testlogger` have changed.
    ///
    /// Swift Build runs the plugin in every build, so `.testlogger` itself is an input while it exists. The native build
    /// system runs the plugin only when the manifest or the names of sources change, and it fails if an input is missing.
    /// There the input is a link to `.testlogger`, or an empty file. A step without inputs has this file as its output, so
    /// the step runs when `.testlogger` has changed or is missing. testlogger creates the link when it finds a new
    /// `.testlogger`.
    func optionFile(_ layout: BuildLayout, folder: URL, _ commands: inout [Command]) throws -> URL? {
        let files = FileManager.default
        let file = all[0].directoryURL.appending(path: ".testlogger")
        let exists = files.fileExists(atPath: file.path)
        if layout.isSwiftBuild { return exists ? file : nil }
        // The extension of a file that is neither a source nor a resource.
        let link = folder.appending(path: "options.docc")
        if exists, (try? files.destinationOfSymbolicLink(atPath: link.path)) == nil {
            try? files.removeItem(at: link)
            try files.createSymbolicLink(at: link, withDestinationURL: file)
        }
        commands.append(
            .buildCommand(
                displayName: "Looking for .testlogger", executable: URL(filePath: "/bin/sh"),
                arguments: ["-c", #"[ -e "$0" ] || { rm -f "$0"; : > "$0"; }"#, link.path], outputFiles: [link]))
        return link
    }

    /// Returns the package of a target, or nil if the target isn't part of these packages.
    func owner(of target: any Target) -> Package? { owners[target.id] }

    /// Returns the name of an executable target's program.
    func programName(of target: any Target) -> String {
        let products = owner(of: target)?.products.compactMap { $0 as? ExecutableProduct } ?? []
        return products.first { $0.mainTarget.id == target.id }?.name ?? target.name
    }

    /// Returns a target and all its dependencies in these packages. Dependencies of macros are left out.
    func closure(of target: any Target) -> [any Target] {
        target.closure { $0.isMacro ? [] : $0.dependencyTargets.filter { owner(of: $0) != nil } }
    }
}

// MARK: Targets whose tests can't run

extension LocalPackages {
    /// Returns whether another target that may have the plugin depends on a target, so that the target's tests run there.
    func isReachedByPlugin(_ target: any Target) -> Bool {
        guard let owner = owner(of: target) else { return false }
        let manifest = ManifestText(folder: owner.directoryURL)
        return owner.targets.contains { other in
            other.id != target.id && manifest.mayHavePlugin(other.name)
                && closure(of: other).contains { $0.id == target.id }
        }
    }

    /// Returns the error for tests of a target that has the plugin itself.
    func adviceToMovePlugin(from target: any Target) -> String {
        let plugin = #"plugins: [.plugin(name: "InClassTests", package: "InClassTesting")]"#
        return place(of: target)
            + "error: '\(target.name)' lists tests, which the plugin InClassTests can't run for a "
            + "target that uses the plugin itself; add an empty Sources/Tested/Tested.swift and "
            + ".target(name: \"Tested\", dependencies: [\"\(target.name)\"], \(plugin))"
    }

    /// Returns the warning for tests of a macro, which is built as a program that the compiler runs.
    func adviceToMoveTests(from macro: any Target) -> String {
        place(of: macro)
            + "warning: the macro '\(macro.name)' lists tests, but no build runs the tests of macros; move the tested "
            + "code to a library target that '\(macro.name)' depends on, and make it a dependency of the target with the "
            + "plugin InClassTests"
    }

    private func place(of target: any Target) -> String {
        "\(ManifestText(folder: (owner(of: target) ?? all[0]).directoryURL).place(of: target.name)): "
    }
}

extension Package {
    /// A Boolean value that indicates whether this is the package of InClassTesting and of these plugins.
    var isTester: Bool { targets.contains { $0.isTestingLibrary } }

    /// Returns the package and its included dependencies at any depth, with the package first.
    func closure(_ isIncluded: (Package) -> Bool = { _ in true }) -> [Package] {
        reachable(from: self, id: \.id) { $0.dependencies.map(\.package).filter(isIncluded) }
    }
}

extension Target {
    /// A Boolean value that indicates whether this is the library that tests import.
    var isTestingLibrary: Bool { (self as? any SourceModuleTarget)?.moduleName == "InClassTesting" }

    var isMacro: Bool { (self as? any SourceModuleTarget)?.kind == .macro }

    /// Returns the target and its dependencies at any depth, with the target first.
    func closure(_ dependencies: (any Target) -> [any Target]) -> [any Target] {
        reachable(from: self, id: \.id, dependencies)
    }

    /// The direct dependencies, including the targets of products.
    var dependencyTargets: [any Target] {
        dependencies.flatMap { dependency -> [any Target] in
            switch dependency {
            case .target(let target): [target]
            case .product(let product): product.targets
            @unknown default: []
            }
        }
    }
}

/// Returns a node of a graph and all nodes that it leads to, each once and in a stable order.
private func reachable<Node>(from start: Node, id: (Node) -> String, _ next: (Node) -> [Node]) -> [Node] {
    var found: [Node] = []
    var seen: Set<String> = []
    func visit(_ node: Node) {
        guard seen.insert(id(node)).inserted else { return }
        found.append(node)
        next(node).forEach(visit)
    }
    visit(start)
    return found
}

// MARK: - The description of a module

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
#endif
