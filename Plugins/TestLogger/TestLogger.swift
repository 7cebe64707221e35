// The command plugin: builds a package's modules and runs their tests, without a line in the manifest; and `init`,
// which writes that line.

import Foundation
import PackagePlugin

@main
struct TestLogger: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) async throws {
        if arguments.first == "init" {
            try Initialization(package: context.package).run(Array(arguments.dropFirst()))
            return
        }
        let tool = try context.tool(named: "testlogger").url
        let (names, options) = split(arguments)
        if options.contains("--help") || options.contains("-h") {
            try run(tool, ["--help"])
            return
        }
        let modules = try selectedModules(context, names, BuildLayout(tool: tool))
        for module in modules {
            let result = try packageManager.build(
                .target(module.target.name), parameters: .init(configuration: .inherit))
            guard result.succeeded else {
                print(result.logText, terminator: "")
                throw Failure(description: "module '\(module.target.moduleName)' does not build")
            }
            try module.writeDescription()
        }
        try run(tool, options + modules.map(\.descriptionURL.path))
    }

    /// Separates target names from options and their values.
    private func split(_ arguments: [String]) -> (names: [String], options: [String]) {
        let withValue: Set<String> = [
            "-tt", "--test-type", "--filter", "--skip", "--timeout", "--shard", "--partition", "--slow", "--slowest",
            "-j",
            "--jobs", "--repeat", "--debug",
        ]
        var names: [String] = []
        var options: [String] = []
        var rest = arguments[...]
        while let word = rest.popFirst() {
            // A line of a source goes to the tool as it is.
            if !word.hasPrefix("-"), !word.contains(":") { names.append(word) } else { options.append(word) }
            if word == "--shuffle", let seed = rest.first, UInt64(seed) != nil { options.append(rest.removeFirst()) }
            if withValue.contains(word), let value = rest.popFirst() { options.append(value) }
        }
        return (names, options)
    }

    private func selectedModules(_ context: PluginContext, _ names: [String], _ layout: BuildLayout) throws
        -> [TestedModule]
    {
        let clang = try? context.tool(named: "clang").url
        let testable = context.package.targets.compactMap { $0 as? SwiftSourceModuleTarget }
            .filter { $0.kind != .test && $0.kind != .macro }
            .map { target in
                TestedModule(
                    target: target, package: context.package, layout: layout,
                    folder: context.pluginWorkDirectoryURL.appending(path: layout.configuration), clang: clang)
            }
            .filter(\.canHaveTests)
        let known = testable.map(\.target.name)
        for name in names where !known.contains(name) {
            throw Failure(
                description:
                    "there is no target '\(name)' with InClassTesting; known are \(known.joined(separator: ", "))")
        }
        if testable.isEmpty {
            throw Failure(
                description:
                    "no target depends on InClassTesting; 'swift package testlogger init TARGET' adds what is missing")
        }
        return names.isEmpty ? testable : testable.filter { names.contains($0.target.name) }
    }

    private func run(_ tool: URL, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = tool
        process.arguments = arguments
        try process.run()
        process.waitUntilExit()
        // The tool has said why; SwiftPM's own line about a failed plugin would only follow it.
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            exit(process.terminationStatus)
        }
    }
}

/// What ends the command, in words for the person who gave it.
struct Failure: Error, CustomStringConvertible {
    var description: String
}
