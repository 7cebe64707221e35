// The build tool plugin: adds a build step that runs a module's tests. Targets that use the module wait for this step.

import Foundation
import PackagePlugin

@main
struct InClassTests: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
        // The tests of a dependency run where the dependency itself is built.
        guard case .root = context.package.origin else { return [] }
        let command = SwiftPMCommand(programs: Set(context.package.programs))
        if command.isForIndex { return [] }
        let tool = try context.tool(named: "testlogger").url
        let layout = BuildLayout(tool: tool, leavesBitcode: command.leavesBitcode)
        let clang = try? context.tool(named: "clang").url
        let machine = command.otherMachine(than: layout.triple)
        let packages = LocalPackages(root: context.package)
        // Swift Build starts its commands without the user's environment variables, but runs this plugin in every build. The
        // native build system does neither.
        let variables = ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix("IN_CLASS_TESTS_") }
        var commands: [Command] = []
        let options = try packages.optionFile(layout, folder: context.pluginWorkDirectoryURL, &commands)
        for case let tested as SwiftSourceModuleTarget in packages.closure(of: target) where tested.kind != .test {
            var module = TestedModule(
                target: tested, packages: packages, layout: layout,
                folder: context.pluginWorkDirectoryURL.appending(path: layout.configuration), clang: clang,
                machine: machine)
            guard module.canHaveTests else { continue }
            module.optionFile = options
            let isOwn = tested.id == target.id
            if isOwn, !layout.isSwiftBuild, !tested.isMacro {
                // The native build system can't run a target's tests before it has built the target.
                if packages.isReachedByPlugin(tested) { continue }
                module.hasPlugin = true
            }
            try module.writeDescription()
            // An empty source, because the build must wait for an output. Swift Build doesn't need it for a target's own
            // tests, and would compile it before they run.
            let isRun = module.advice == nil
            let marker = module.folder.appending(path: "\(tested.moduleName)\(isRun ? "Tested" : "Listed").swift")
            let inputs = isRun ? module.objects + module.binaryLibraries + module.resources : module.sources
            commands.append(
                .buildCommand(
                    displayName: "\(isRun ? "Testing" : "Looking for tests in") \(tested.moduleName)",
                    executable: tool,
                    arguments: ["--marker", marker.path, module.descriptionURL.path],
                    environment: layout.isSwiftBuild ? variables : [:],
                    inputFiles: [module.descriptionURL] + (options.map { [$0] } ?? []) + (machine == nil ? inputs : []),
                    outputFiles: isOwn && layout.isSwiftBuild ? [] : [marker]))
        }
        return commands
    }
}

extension Package {
    /// The names of the programs that `swift run` and `swift package` can run in this package.
    fileprivate var programs: [String] {
        ["plugin", "testlogger"]
            + closure().flatMap { package in
                package.products.filter { $0 is ExecutableProduct }.map(\.name)
                    + package.targets.filter { ($0 as? any SourceModuleTarget)?.kind == .executable }.map(\.name)
            }
    }
}

// MARK: - The command line of SwiftPM

/// Reads the command line of the SwiftPM process that runs this plugin, for facts that SwiftPM doesn't pass to plugins. The
/// build may be for another machine, whose objects are in a folder that plugins can't find. Or it may create no objects at
/// all, for an editor's index. Arguments for a program that SwiftPM runs are ignored.
struct SwiftPMCommand {
    /// The arguments for SwiftPM itself.
    private let words: [String]

    /// Reads the command line of the process that runs this plugin. All arguments are ignored if the process isn't SwiftPM.
    ///
    /// - Parameter programs: The names of the programs that `swift run` can run. The arguments after such a name are not for
    ///   SwiftPM.
    init(programs: Set<String>) { self.init(PluginSystem.parentWords, programs: programs) }

    init(_ commandLine: [String], programs: Set<String>) {
        let command = commandLine.first.map { URL(filePath: $0).lastPathComponent } ?? ""
        guard ["swift-build", "swift-run", "swift-test", "swift-package"].contains(command) else {
            words = []
            return
        }
        let hasPassengers = command == "swift-run" || command == "swift-package"
        var own: [String] = []
        var previous = ""
        var isValue = false
        for word in commandLine.dropFirst() {
            // The word after an option may be its value or the program. Only the name can distinguish them.
            let isFree = !word.hasPrefix("-") && !isValue
            let mayBeValue = previous.hasPrefix("-") && !previous.contains("=") && !programs.contains(word)
            if hasPassengers, word == "--" || isFree && !mayBeValue { break }
            // The next word is for a compiler or is a path.
            isValue = word.hasPrefix("-X") || word.hasPrefix("--") && word.hasSuffix("-path")
            if !previous.hasPrefix("-X") { own.append(word) }
            previous = word
        }
        words = own
    }

    /// A Boolean value that indicates whether the build creates no objects, because an editor needs only the modules.
    var isForIndex: Bool { words.contains("--experimental-prepare-for-indexing") }

    /// A Boolean value that indicates whether the compiler creates bitcode instead of objects.
    var leavesBitcode: Bool { words.contains { $0.hasPrefix("--experimental-lto-mode") } }

    /// Returns the option that selects another machine than the one with this triple, or nil.
    func otherMachine(than host: String) -> String? {
        for (index, word) in words.enumerated() {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard let name = parts.first, Self.machineOptions.contains(name) else { continue }
            let value = parts.count == 2 ? parts[1] : index + 1 < words.count ? words[index + 1] : ""
            // The option may also name the host itself.
            if name == "--triple" ? host == value : name == "--arch" && Self.architecture(of: host) == value {
                continue
            }
            return "\(name) \(value)"
        }
        return nil
    }

    private static let machineOptions: Set<String> = [
        "--swift-sdk", "--experimental-swift-sdk", "--triple", "--arch", "--destination", "--experimental-destination",
    ]

    private static func architecture(of triple: String) -> String {
        triple.split(separator: "-").first.map(String.init) ?? ""
    }
}
