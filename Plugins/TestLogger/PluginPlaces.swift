// Which targets the line `plugins:` stands on, so that a build tests a target: those that use it.

import Foundation
import PackagePlugin

struct PluginPlaces {
    private let packages: LocalPackages
    private let targets: [SwiftSourceModuleTarget]
    /// The names of the targets on which the plugin stands.
    let taken: Set<String>

    init(context: PluginContext, manifest: String) throws {
        packages = LocalPackages(root: context.package)
        targets = context.package.targets.compactMap { $0 as? SwiftSourceModuleTarget }
            .filter { $0.kind == .generic || $0.kind == .executable }
            .sorted { $0.name < $1.name }
        taken = try manifest.contains("InClassTests") ? Self.targetsWithPlugin(context) : []
    }

    /// The targets that may be tested, those that programs are made of last.
    var candidates: [SwiftSourceModuleTarget] {
        let candidates = targets.filter { $0.name != "Tested" || !taken.contains("Tested") }
        return candidates.filter { $0.kind == .generic } + candidates.filter { $0.kind == .executable }
    }

    /// The targets whose builds are to test another: the programs that use it, directly or not, else a library on which
    /// the plugin stands, else those that no other library uses.
    func users(of target: SwiftSourceModuleTarget) -> [String] {
        let users = targets.filter { $0.id != target.id && uses($0, target) }
        let programs = users.filter { $0.kind == .executable }
        if !programs.isEmpty { return programs.map(\.name) }
        if let user = users.first(where: { taken.contains($0.name) }) { return [user.name] }
        return users.filter { user in !users.contains { $0.id != user.id && uses($0, user) } }.map(\.name)
    }

    /// Whether a target can depend on another, or does.
    func canUse(_ user: any Target, _ target: any Target) -> Bool {
        targets.contains { $0.id == user.id } && !uses(target, user)
    }

    private func uses(_ user: any Target, _ target: any Target) -> Bool {
        packages.closure(of: user).contains { $0.id == target.id }
    }

    /// Asks SwiftPM, which tells plugins on which targets they stand only when it runs them there.
    private static func targetsWithPlugin(_ context: PluginContext) throws -> Set<String> {
        let output = Pipe()
        let process = Process()
        process.executableURL = try context.tool(named: "swift").url
        // Neither the folder that is locked while a plugin runs, nor what a sandbox keeps it from.
        process.arguments = [
            "package", "--package-path", context.package.directoryURL.path,
            "--scratch-path", context.pluginWorkDirectoryURL.appending(path: "manifest").path,
            "--manifest-cache", "none", "--disable-sandbox", "dump-package",
        ]
        // It would take the place of the folder that is named, and be the one that is locked.
        process.environment = ProcessInfo.processInfo.environment.filter { $0.key != "SWIFTPM_BUILD_DIR" }
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        // SwiftPM has said why.
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw Failure(description: "Package.swift could not be read; nothing was changed")
        }
        let manifest = try JSONDecoder().decode(DumpedManifest.self, from: data)
        return Set(manifest.targets.filter(\.hasPlugin).map(\.name))
    }
}

/// What is read of that which `swift package dump-package` prints.
private struct DumpedManifest: Decodable {
    struct Target: Decodable {
        var name: String
        /// Each has one key, `plugin`, with the names of the plugin and of its package.
        var pluginUsages: [[String: [String?]]]?

        var hasPlugin: Bool { (pluginUsages ?? []).contains { $0["plugin"]?.first == "InClassTests" } }
    }

    var targets: [Target]
}
