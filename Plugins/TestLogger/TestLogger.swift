// The command plugin: builds a package's modules and runs their tests, without a change of the manifest. Its subcommand
// `init` adds the plugin to the manifest.

import Foundation
import PackagePlugin

@main
struct TestLogger: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) async throws {
        if arguments.first == "init" {
            let facts = try Initialization(context: context, words: Array(arguments.dropFirst())).writeFacts()
            try run(context.tool(named: "testlogger").url, ["--init", facts.path])
            return
        }
        let tool = try context.tool(named: "testlogger").url
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
        let process = Process()
        let data = try process.output(of: [tool.path, "--read-only"] + arguments)
        // The tool has reported the error.
        guard process.terminationStatus == 0 else { exit(process.terminationStatus) }
        let words = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
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

    private func run(_ tool: URL, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = tool
        process.arguments = arguments
        // SwiftPM may end this process immediately. It could not end the tool then, so the tool watches this process.
        process.environment = ProcessInfo.processInfo.environment.merging(["IN_CLASS_STARTER": "\(getpid())"]) { $1 }
        endWithSwiftPM()
        try process.run()
        process.waitUntilExit()
        // The tool has reported the error. Without the exit, SwiftPM would add its own line about a failed plugin.
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            exit(process.terminationStatus)
        }
    }
}

/// Ends this program when SwiftPM has ended, because a signal that ends SwiftPM doesn't reach other processes.
private func endWithSwiftPM() {
    let parent = getppid()
    Thread.detachNewThread {
        while getppid() == parent { usleep(100_000) }
        exit(1)
    }
}

extension Process {
    /// Runs a program to its end and returns its standard output.
    func output(of words: [String]) throws -> Data {
        let output = Pipe()
        executableURL = URL(filePath: words[0])
        arguments = Array(words.dropFirst())
        standardOutput = output
        try run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        waitUntilExit()
        return data
    }
}

/// An error that ends the command, with a message for the user.
struct Failure: Error, CustomStringConvertible {
    var description: String
}
