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
