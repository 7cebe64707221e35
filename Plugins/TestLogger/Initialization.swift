// `swift package testlogger init [TARGET]`: writes into a package what in-class tests need, and a first test.

import Foundation
import PackagePlugin

struct Initialization {
    let context: PluginContext

    func run(_ arguments: [String]) throws {
        let package = context.package.directoryURL
        let manifest = package.appending(path: "Package.swift")
        let before = try String(contentsOf: manifest, encoding: .utf8)
        let places = try PluginPlaces(context: context, manifest: before)
        let target = try chosenTarget(arguments, among: places.candidates)
        let users = places.users(of: target)
        let change = ManifestChange(
            target: target.name, dependency: dependencyName(in: before), addsLibrary: !hasLibrary(target),
            users: users, makesTested: try users.isEmpty && !hasTested(for: target, places),
            places: (users.isEmpty ? ["Tested"] : users).filter { !places.taken.contains($0) })
        guard !change.isEmpty else {
            print("nothing to do: \(change.summary)")
            return
        }
        let testFile = target.directoryURL.appending(path: "FirstTests.swift")
        let isTested = try hasTests(target)
        guard isTested || !FileManager.default.fileExists(atPath: testFile.path) else {
            throw Failure(description: "\(testFile.path) is there already; nothing was changed")
        }
        // The manifest last: until then the package builds as before.
        if change.makesTested { try write(targetText, to: package.appending(path: "Sources/Tested/Tested.swift")) }
        if !isTested { try write(testText, to: testFile) }
        let text = before + (before.hasSuffix("\n") ? "" : "\n") + change.text
        try Data(text.utf8).write(to: manifest, options: .atomic)
        print("Package.swift: \(change.summary)")
        if !isTested {
            print("\(testFile.path): a first test; move it to the bottom of the file of the type it tests")
        }
        if target.kind == .executable {
            print("'swift run \(programName(of: target))' does not wait for the tests, 'swift build' does")
        }
        print("now: swift build")
    }

    private func programName(of target: SwiftSourceModuleTarget) -> String {
        let programs = context.package.products.compactMap { $0 as? ExecutableProduct }
        return programs.first { $0.mainTarget.id == target.id }?.name ?? target.name
    }

    private func chosenTarget(_ arguments: [String], among candidates: [SwiftSourceModuleTarget]) throws
        -> SwiftSourceModuleTarget
    {
        let names = candidates.map(\.name).joined(separator: ", ")
        guard let first = candidates.first else {
            throw Failure(description: "there is no Swift target to be tested; nothing was changed")
        }
        guard arguments.count <= 1 else {
            throw Failure(description: "one target at a time: swift package testlogger init \(arguments[0])")
        }
        if let name = arguments.first {
            guard let target = candidates.first(where: { $0.name == name }) else {
                throw Failure(description: "there is no Swift target '\(name)'; there are \(names)")
            }
            return target
        }
        guard candidates.count == 1 else {
            throw Failure(
                description:
                    "say which target is to be tested (\(names)): swift package testlogger init \(first.name)")
        }
        return first
    }

    /// Whether the package has the target already that tests hang on where nothing else uses what is tested.
    private func hasTested(for target: SwiftSourceModuleTarget, _ places: PluginPlaces) throws -> Bool {
        guard let tested = context.package.targets.first(where: { $0.name == "Tested" }) else { return false }
        guard places.canUse(tested, target) else {
            throw Failure(
                description: "'Tested' would have to depend on '\(target.name)', and can not; nothing was changed")
        }
        return true
    }

    /// Whether the first test has been written, here or where it was moved to.
    private func hasTests(_ target: SwiftSourceModuleTarget) throws -> Bool {
        try target.sourceFiles(withSuffix: "swift").contains { file in
            try String(contentsOf: file.url, encoding: .utf8).contains("import InClassTesting")
        }
    }

    private func hasLibrary(_ target: SwiftSourceModuleTarget) -> Bool {
        target.dependencies.contains { dependency in
            if case .product(let product) = dependency { product.name == "InClassTesting" } else { false }
        }
    }

    /// Writes a file, unless there is one.
    private func write(_ text: String, to file: URL) throws {
        guard !FileManager.default.fileExists(atPath: file.path) else { return }
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file, options: .atomic)
    }

    /// What the manifest calls this package: the name that it gives to a path, else the last part of the path or address.
    private func dependencyName(in manifest: String) -> String {
        let name = "InClassTesting"
        let tester = context.package.dependencies.map(\.package).first(where: \.isTester)
        guard let tester, !manifest.contains(/name:\s*"InClassTesting"\s*,\s*path:/) else { return name }
        return tester.id == name.lowercased() ? name : tester.id
    }

    private var targetText: String {
        "// Nothing needs to be here: this target is what the in-class tests of the package hang on.\n"
    }

    private var testText: String {
        """
        // A first test. A type's tests belong at the bottom of the type's own file, in an extension of the type.

        #if DEBUG || IN_CLASS_TESTS
        import InClassTesting

        enum FirstTests {}

        extension FirstTests: SelfTesting {
            static var testSelectors: TestSelectors { [
                "testAddition": testAddition,
            ] }

            private static func testAddition() {
                expectEqual(1 + 1, 2, "one and one")
            }
        }
        #endif

        """
    }
}

/// What is appended to a manifest.
private struct ManifestChange {
    /// The target that is tested.
    let target: String
    /// What the manifest calls the package of the library and the plugin.
    let dependency: String
    let addsLibrary: Bool
    /// The targets that use it already; when there is none, `Tested` is to use it.
    let users: [String]
    let makesTested: Bool
    /// The targets that the plugin does not stand on yet.
    let places: [String]

    var isEmpty: Bool { !addsLibrary && !users.isEmpty && places.isEmpty }

    var summary: String {
        let names = users.map { "'\($0)'" }.joined(separator: ", ")
        let tested = makesTested ? "the new target 'Tested'" : "'Tested', which depends on it now"
        return "'\(target)' depends on InClassTesting; its tests run in the build of \(users.isEmpty ? tested : names)"
    }

    var text: String {
        let plugins = "[.plugin(name: \"InClassTests\", package: \"\(dependency)\")]"
        var text = "\n// In-class tests of '\(target)' run in every build.\n"
        if addsLibrary {
            text += statement(
                on: [target],
                "target.dependencies.append(.product(name: \"InClassTesting\", package: \"\(dependency)\"))")
        }
        if makesTested {
            return text + """
                package.targets.append(
                    .target(
                        name: "Tested", dependencies: ["\(target)"],
                        plugins: \(plugins)))

                """
        }
        if users.isEmpty { text += statement(on: ["Tested"], "target.dependencies.append(\"\(target)\")") }
        if !places.isEmpty { text += statement(on: places, "target.plugins = (target.plugins ?? []) + \(plugins)") }
        return text
    }

    private func statement(on names: [String], _ statement: String) -> String {
        let condition =
            names.count == 1
            ? "target.name == \"\(names[0])\""
            : "[\(names.map { "\"\($0)\"" }.joined(separator: ", "))].contains(target.name)"
        return """
            for target in package.targets where \(condition) {
                \(statement)
            }

            """
    }
}
