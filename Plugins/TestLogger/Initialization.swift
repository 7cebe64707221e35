// `swift package testlogger init [TARGET]`: writes into a package what in-class tests need, and a first test.

import Foundation
import PackagePlugin

struct Initialization {
    let package: Package

    func run(_ arguments: [String]) throws {
        guard !package.targets.contains(where: { $0.name == "Tested" }) else {
            throw Failure(description: "the package has a target 'Tested' already; nothing was changed")
        }
        let target = try chosenTarget(arguments)
        let manifest = package.directoryURL.appending(path: "Package.swift")
        let testFile = target.directoryURL.appending(path: "FirstTests.swift")
        let targetFile = package.directoryURL.appending(path: "Sources/Tested/Tested.swift")
        for file in [testFile, targetFile] where FileManager.default.fileExists(atPath: file.path) {
            throw Failure(description: "\(file.path) is there already; nothing was changed")
        }
        let before = try String(contentsOf: manifest, encoding: .utf8)
        let addition = manifestText(for: target, dependency: dependencyName(in: before))
        // The manifest last: until then the package builds as before.
        try FileManager.default.createDirectory(
            at: targetFile.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(targetText.utf8).write(to: targetFile, options: .atomic)
        try Data(testText.utf8).write(to: testFile, options: .atomic)
        try Data((before + (before.hasSuffix("\n") ? "" : "\n") + addition).utf8).write(to: manifest, options: .atomic)
        print(
            """
            Package.swift: '\(target.name)' depends on InClassTesting, and the new target 'Tested' runs its tests in every build
            \(testFile.path): a first test; move it to the bottom of the file of the type it tests
            now: swift build
            """)
    }

    private func chosenTarget(_ arguments: [String]) throws -> SwiftSourceModuleTarget {
        let candidates = package.targets.compactMap { $0 as? SwiftSourceModuleTarget }
            .filter { $0.kind == .generic || $0.kind == .executable }
        let names = candidates.map(\.name).joined(separator: ", ")
        if let name = arguments.first {
            guard let target = candidates.first(where: { $0.name == name }) else {
                throw Failure(description: "there is no Swift target '\(name)'; there are \(names)")
            }
            return target
        }
        guard candidates.count == 1, let target = candidates.first else {
            throw Failure(
                description: "say which target is to be tested: swift package testlogger init TARGET (\(names))")
        }
        return target
    }

    /// What the manifest calls this package: the name that it gives to a path, else the last part of the path or address.
    private func dependencyName(in manifest: String) -> String {
        let name = "InClassTesting"
        let tester = package.dependencies.map(\.package).first(where: \.isTester)
        guard let tester, !manifest.contains(/name:\s*"InClassTesting"\s*,\s*path:/) else { return name }
        return tester.id == name.lowercased() ? name : tester.id
    }

    private func manifestText(for target: SwiftSourceModuleTarget, dependency: String) -> String {
        let hasLibrary = target.dependencies.contains { dependency in
            if case .product(let product) = dependency { product.name == "InClassTesting" } else { false }
        }
        var text = "\n// In-class tests of '\(target.name)' run in every build.\n"
        if !hasLibrary {
            text += """
                for target in package.targets where target.name == "\(target.name)" {
                    target.dependencies.append(.product(name: "InClassTesting", package: "\(dependency)"))
                }

                """
        }
        return text + """
            package.targets.append(
                .target(
                    name: "Tested", dependencies: ["\(target.name)"],
                    plugins: [.plugin(name: "InClassTests", package: "\(dependency)")]))

            """
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
