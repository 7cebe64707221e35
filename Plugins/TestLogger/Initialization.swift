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
        if let tester { lines += [("dependency", dependencyName(of: tester)), ("identity", tester.id)] }
        if package.products.contains(where: { $0 is LibraryProduct }) { lines.append(("library-product", "yes")) }
        lines += try swift.map { ("swift", $0) }
        for target in package.targets {
            lines += [("name", target.name), ("any-folder", target.directoryURL.path)]
        }
        let withPlugin = try targetsWithPlugin
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

    /// Returns the name of this package in targets' dependencies: the name in the manifest for a path, otherwise the last
    /// part of the path or address.
    private func dependencyName(of tester: Package) -> String {
        let name = "InClassTesting"
        let manifest = try? String(
            contentsOf: context.package.directoryURL.appending(path: "Package.swift"), encoding: .utf8)
        let isNamed = manifest?.contains(/name:\s*"InClassTesting"\s*,\s*path:/) ?? false
        return isNamed || tester.id == name.lowercased() ? name : tester.id
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

    /// The targets that apply the plugin. SwiftPM doesn't pass them to plugins.
    private var targetsWithPlugin: Set<String> {
        get throws {
            let process = Process()
            process.environment = ProcessInfo.processInfo.environment.filter { $0.key != "SWIFTPM_BUILD_DIR" }
            let data = try process.output(of: try swift + ["dump-package"])
            guard process.terminationReason == .exit, process.terminationStatus == 0 else {
                throw Failure(description: "SwiftPM can't load the package; nothing was changed")
            }
            let manifest = try JSONDecoder().decode(DumpedManifest.self, from: data)
            return Set(manifest.targets.filter(\.hasPlugin).map(\.name))
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

    var targets: [Target]
}
