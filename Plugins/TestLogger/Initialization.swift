// `swift package testlogger init [TARGET]`: writes SwiftPM's facts about the package into a file. testlogger reads it and
// prepares the package.

import Foundation
import PackagePlugin

struct Initialization {
    let context: PluginContext
    let words: [String]

    /// Writes the facts that PackageFacts of testlogger reads.
    func writeFacts() throws -> URL {
        let package = context.package
        let tester = package.dependencies.map(\.package).first(where: \.isTester)
        let version = package.toolsVersion
        var lines = [
            ("root", package.directoryURL.path),
            ("tools-version", "\(version.major).\(version.minor).\(version.patch)"),
        ]
        lines += words.map { ("word", $0) }
        let manifest = try manifest
        if let tester { lines += [("dependency", manifest.name(of: tester.id)), ("identity", tester.id)] }
        if package.products.contains(where: { $0 is LibraryProduct }) { lines.append(("library-product", "yes")) }
        lines += try swift.map { ("swift", $0) }
        for target in package.targets {
            lines += [("name", target.name), ("any-folder", target.directoryURL.path)]
        }
        let withPlugin = manifest.targets.filter(\.hasPlugin).map(\.name)
        let packages = LocalPackages(root: package)
        let targets = package.targets.compactMap { $0 as? SwiftSourceModuleTarget }
            .filter { $0.kind == .generic || $0.kind == .executable }
        for target in targets.sorted(by: { $0.name < $1.name }) {
            lines += [("target", target.name), ("folder", target.directoryURL.path)]
            if target.kind == .executable { lines.append(("program", packages.programName(of: target))) }
            if target.dependencyTargets.contains(where: \.isTestingLibrary) { lines.append(("library", "yes")) }
            if withPlugin.contains(target.name) { lines.append(("plugin", "yes")) }
            lines += packages.closure(of: target).filter { $0.id != target.id }.map { ("uses", $0.name) }
            lines += target.sourceFiles(withSuffix: "swift").map { ("source", $0.url.path) }
        }
        let file = context.pluginWorkDirectoryURL.appending(path: "init")
        try Data(lines.map { "\($0)\t\($1)\n" }.joined().utf8).write(to: file, options: .atomic)
        return file
    }

    /// The command for SwiftPM with a separate build folder, because the package's folder is locked while a plugin runs. It
    /// disables the sandbox, because a sandbox can't contain another sandbox.
    private var swift: [String] {
        get throws {
            [
                try context.tool(named: "swift").url.path, "package", "--package-path",
                context.package.directoryURL.path,
                "--scratch-path", context.pluginWorkDirectoryURL.appending(path: "manifest").path,
                "--manifest-cache", "none", "--disable-sandbox",
            ]
        }
    }

    /// The targets that apply the plugin, and the names of dependencies. SwiftPM doesn't pass them to plugins.
    private var manifest: DumpedManifest {
        get throws {
            let process = Process()
            process.environment = ProcessInfo.processInfo.environment.filter { $0.key != "SWIFTPM_BUILD_DIR" }
            let data = try process.output(of: try swift + ["dump-package"])
            guard process.terminationReason == .exit, process.terminationStatus == 0 else {
                throw Failure(description: "SwiftPM can't load the package; nothing was changed")
            }
            return try JSONDecoder().decode(DumpedManifest.self, from: data)
        }
    }
}

/// The used part of the output of `swift package dump-package`.
private struct DumpedManifest: Decodable {
    struct Target: Decodable {
        var name: String
        /// Each dictionary has one key, `plugin`, with the names of the plugin and of its package.
        var pluginUsages: [[String: [String?]]]?

        var hasPlugin: Bool { (pluginUsages ?? []).contains { $0["plugin"]?.first == "InClassTests" } }
    }

    struct Dependency: Decodable {
        var identity: String
        var nameForTargetDependencyResolutionOnly: String?
    }

    var targets: [Target]
    /// Each dictionary has one key, the kind of the dependency.
    var dependencies: [[String: [Dependency]]]

    /// Returns the name of a package in targets' dependencies: the name in the manifest, otherwise the last part of the path
    /// or address.
    func name(of identity: String) -> String {
        let dependency = dependencies.flatMap(\.values).joined().first { $0.identity == identity }
        let name = identity == "inclasstesting" ? "InClassTesting" : identity
        return dependency?.nameForTargetDependencyResolutionOnly ?? name
    }
}
