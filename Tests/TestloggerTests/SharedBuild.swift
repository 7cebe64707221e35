// The framework is compiled once for all fixture packages: a package begins with a copy of a build folder in which
// everything but its own targets is built already.
//
// The paths of a build are in the arguments of its compilers, by which SwiftPM knows what is built. So every package is
// built by the same path of its build folder, a link that leads to the folder of whichever package is at work. Tests of
// packages run one at a time, hence one link is enough.

import Foundation

enum SharedBuild {
    /// The build folder of the package at work, as SwiftPM knows it.
    private static let link = Fixtures.folder.appending(path: "build")

    /// Makes a fixture package the one at work, before a program starts in it.
    ///
    /// - Returns: the variables that tell SwiftPM where to build.
    static func enter(_ folder: URL, for words: [String]) throws -> [String: String] {
        let files = FileManager.default
        let isFixture =
            folder.deletingLastPathComponent().path == Fixtures.folder.path
            && files.fileExists(atPath: folder.appending(path: "Package.swift").path)
        guard isFixture, !words.contains("--scratch-path") else { return [:] }
        let build = folder.appending(path: ".build")
        if words.first == "swift" {
            try fill(build, for: words.contains(BuildSystem.swiftbuild.rawValue) ? .swiftbuild : .native)
        }
        if (try? files.destinationOfSymbolicLink(atPath: link.path)) != build.path {
            try files.removeItemIfThere(link)
            try files.createSymbolicLink(at: link, withDestinationURL: build)
        }
        return ["SWIFTPM_BUILD_DIR": link.path]
    }

    /// Copies what is built already into a build folder, once for each build system.
    private static func fill(_ build: URL, for system: BuildSystem) throws {
        try FileManager.default.createDirectory(at: build, withIntermediateDirectories: true)
        let package = build.deletingLastPathComponent().lastPathComponent
        let mark = build.appending(path: "framework-\(system)")
        guard package != name(of: system), !FileManager.default.fileExists(atPath: mark.path) else { return }
        let framework = try (system == .native ? native : swiftBuild).get()
        // With all times, by which SwiftPM knows what has changed.
        let copied = try RunningPrograms.run(["cp", "-a", "\(framework.path)/.", build.path], in: Fixtures.folder)
        guard copied.status == 0 else { throw ProgramError(description: "\(copied)") }
        try Data().write(to: mark)
    }

    private static let native = Result { try buildFramework(.native) }
    private static let swiftBuild = Result { try buildFramework(.swiftbuild) }

    private static func name(of system: BuildSystem) -> String { "Framework-\(system)" }

    /// Builds the framework for a package that does nothing with it, and leaves nothing of that package.
    private static func buildFramework(_ system: BuildSystem) throws -> URL {
        let package = try FixturePackage(
            named: name(of: system),
            files: [
                "Package.swift": """
                // swift-tools-version: 6.2
                import PackageDescription
                let package = Package(
                    name: "Framework",
                    dependencies: [\(try FixturePackage.dependency)],
                    targets: [
                        .target(
                            name: "UsesFramework",
                            dependencies: [.product(name: "InClassTesting", package: "InClassTesting")],
                            plugins: [.plugin(name: "InClassTests", package: "InClassTesting")])
                    ])
                """,
                "Sources/UsesFramework/Empty.swift": "import InClassTesting\n",
            ])
        let result = try package.build(system)
        guard result.status == 0 else { throw ProgramError(description: "the framework does not build: \(result)") }
        // The plan of a build names its package; whoever has none makes one.
        let plans = ["debug.yaml", "plugin-tools.yaml", "manifest.pif", "description.json"]
        let build = package.file(".build")
        for path in try FileManager.default.subpathsOfDirectory(atPath: build.path) {
            let name = path.split(separator: "/").last.map(String.init) ?? path
            let isOfPackage = name.hasPrefix("UsesFramework") || path.hasPrefix("plugins/outputs/")
            if isOfPackage || plans.contains(where: name.hasSuffix) {
                try FileManager.default.removeItemIfThere(build.appending(path: path))
            }
        }
        return build
    }
}
