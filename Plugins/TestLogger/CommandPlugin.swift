// The command plugin: builds a package's modules and runs their tests, without a change of the manifest. Its subcommand
// `init` adds the plugin to the manifest.

import Foundation
import PackagePlugin

@main
struct TestLogger: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) async throws {
        let tool = try context.tool(named: "testlogger").url
        if arguments.first == "init" {
            let facts = try Initialization(context: context, words: Array(arguments.dropFirst())).writeFacts()
            try run(tool, ["--init", facts.path])
            return
        }
        let (names, options) = try split(arguments, tool)
        if options.contains("--help") || options.contains("-h") {
            try run(tool, ["--help"])
            return
        }
        let modules = try selectedModules(context, names, BuildLayout(tool: tool))
        var parameters = PackageManager.BuildParameters(configuration: .inherit)
        if options.contains("--coverage") {
            // The compiler options that `--enable-code-coverage` adds.
            parameters.otherSwiftcFlags = ["-profile-coverage-mapping", "-profile-generate"]
            parameters.otherCFlags = ["-fprofile-instr-generate", "-fcoverage-mapping"]
        }
        // The steps of these builds leave the tests to this command, because it could not report anything after a failed
        // step.
        var lock = PluginSystem.lock(context.pluginWorkDirectoryURL.appending(path: "command.lock"))
        defer { PluginSystem.unlock(&lock) }
        for module in modules {
            if module.target.isMacro {
                try module.writeDescription()
                continue
            }
            let result = try packageManager.build(.target(module.target.name), parameters: parameters)
            guard result.succeeded else {
                print(result.logText, terminator: "")
                throw Failure(description: "module '\(module.target.moduleName)' doesn't build")
            }
            try module.writeDescription()
        }
        PluginSystem.unlock(&lock)
        for option in ["--watch", "--debug"] where options.contains(option) {
            // While a plugin runs, SwiftPM locks the build and the terminal's input.
            let folder = FileManager.default.currentDirectoryPath + "/"
            let program = tool.path.hasPrefix(folder) ? String(tool.path.dropFirst(folder.count)) : tool.path
            let words = ([program] + options).map(PluginSystem.quoted)
            let command = (words + modules.map(\.target.moduleName)).joined(separator: " ")
            throw Failure(description: "'\(option)' doesn't work with 'swift package'; run: \(command)")
        }
        try run(tool, options + modules.map(\.descriptionURL.path))
    }

    /// Separates target names from options and their values. Only the tool itself can distinguish them.
    private func split(_ arguments: [String], _ tool: URL) throws -> (names: [String], options: [String]) {
        let output = try run(tool, ["--read-only"] + arguments, readsOutput: true)
        let words = String(decoding: output, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .dropLast().map(String.init)
        let parts = words.split(separator: "--", maxSplits: 1, omittingEmptySubsequences: false)
        return (Array(parts[0]), Array(parts[1]))
    }

    private func selectedModules(_ context: PluginContext, _ names: [String], _ layout: BuildLayout) throws
        -> [TestedModule]
    {
        let clang = try? context.tool(named: "clang").url
        let packages = LocalPackages(root: context.package)
        let testable = packages.all.flatMap(\.targets).compactMap { $0 as? SwiftSourceModuleTarget }
            .filter { $0.kind != .test }
            .map { target in
                TestedModule(
                    target: target, packages: packages, layout: layout,
                    folder: context.pluginWorkDirectoryURL.appending(path: layout.configuration), clang: clang)
            }
            .filter(\.canHaveTests)
            .sorted { $0.target.name < $1.target.name }
        let known = testable.map(\.target.name)
        if let name = names.first(where: { !known.contains($0) }) {
            let known = known.joined(separator: ", ")
            throw Failure(description: "there is no target '\(name)' with InClassTesting; known are \(known)")
        }
        if testable.isEmpty {
            throw Failure(
                description:
                    "no target depends on InClassTesting; 'swift package testlogger init TARGET' adds what is missing")
        }
        return testable.filter { names.isEmpty ? $0.mayListTests : names.contains($0.target.name) }
    }
}

/// Runs a program to its end. If it fails, exits with its status, because it has reported the error, and SwiftPM would add a
/// line about a failed plugin.
///
/// - Returns: The standard output if it is read.
@discardableResult
private func run(_ program: URL, _ arguments: [String], readsOutput: Bool = false) throws -> Data {
    // SwiftPM may end this process immediately. It could not end the tool then, so the tool watches this process, which
    // ends when SwiftPM has ended, because a signal that ends SwiftPM doesn't reach other processes.
    let parent = getppid()
    Thread.detachNewThread {
        while getppid() == parent { usleep(100_000) }
        exit(1)
    }
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["IN_CLASS_STARTER": "\(getpid())"]) { $1 }
    let pipe = readsOutput ? Pipe() : nil
    if let pipe { process.standardOutput = pipe }
    try process.run()
    let output = try pipe?.fileHandleForReading.readToEnd()
    process.waitUntilExit()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else { exit(process.terminationStatus) }
    return output ?? Data()
}

/// An error that ends the command, with a message for the user.
struct Failure: Error, CustomStringConvertible {
    var description: String
}

// MARK: - Preparing a package

/// `swift package testlogger init [TARGET]`: writes SwiftPM's facts about the package into a file. testlogger reads it and
/// prepares the package.
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
        lines += package.targets.map { ("name", $0.name) }
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
    /// ignores the variable for the build folder for the same reason, and disables the sandbox, because a sandbox can't
    /// contain another sandbox.
    private var swift: [String] {
        get throws {
            [
                "/usr/bin/env", "-u", "SWIFTPM_BUILD_DIR", try context.tool(named: "swift").url.path, "package",
                "--package-path", context.package.directoryURL.path, "--scratch-path",
                context.pluginWorkDirectoryURL.appending(path: "manifest").path,
                "--manifest-cache", "none", "--disable-sandbox",
            ]
        }
    }

    /// The targets that apply the plugin, and the names of dependencies. SwiftPM doesn't pass them to plugins.
    private var manifest: DumpedManifest {
        get throws {
            let words = try swift + ["dump-package"]
            let output = try run(URL(filePath: words[0]), Array(words.dropFirst()), readsOutput: true)
            return try JSONDecoder().decode(DumpedManifest.self, from: output)
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
