// Compiles the framework once for all fixture packages. The build folder of each package starts as a copy of a build
// folder that already contains everything except the package's own targets.
//
// SwiftPM builds a file again if the compiler's arguments have changed, and these arguments contain the paths of the
// build. Therefore each build system has one fixed build place, and the build folder of the active package is moved
// there. One place is enough because tests of packages run one at a time.

import Foundation

enum SharedBuild {
    /// Returns the folder where a build system builds packages. The `.build` of each package is a symbolic link to it.
    ///
    /// The names contain spaces, an apostrophe and an umlaut because users' folders have such names, too.
    private static func place(of system: BuildSystem) -> URL {
        Fixtures.folder.appending(path: system == .native ? "a build place" : "The Builder's pläce")
    }

    /// The name that the build folder of an inactive package has in the package's folder.
    private static let waitingName = ".waiting-build"
    /// The file in a build folder that contains the name of the package that the folder belongs to.
    private static let ownerName = "owner"

    /// Makes a fixture package the active one. Called before a program starts in the package or its build folder is
    /// read.
    ///
    /// - Returns: The environment variables that tell SwiftPM where to build.
    static func enter(_ folder: URL, for words: [String] = []) throws -> [String: String] {
        let isFixture =
            folder.deletingLastPathComponent().path == Fixtures.folder.path
            && FileManager.default.fileExists(atPath: folder.appending(path: "Package.swift").path)
        guard isFixture, !words.contains("--scratch-path") else { return [:] }
        guard words.first == "swift" else {
            // If a package was compiled without SwiftPM, its `.build` is a folder of its own instead of a link.
            let link = folder.appending(path: ".build").path
            guard (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) != nil else { return [:] }
            return ["SWIFTPM_BUILD_DIR": try move(folder).path]
        }
        let system = words.contains(BuildSystem.swiftbuild.rawValue) ? BuildSystem.swiftbuild : .native
        // Build the framework before this package becomes the active one.
        let framework = folder.lastPathComponent == name(of: system) ? nil : try framework(system)
        let build = try move(folder, to: system)
        if let framework { try fill(build, with: framework, of: system) }
        return ["SWIFTPM_BUILD_DIR": build.path]
    }

    /// Moves a package's build folder to a build place, and moves the build folders of other packages away.
    ///
    /// - Parameter system: The build system, or nil for the one that built the package last.
    /// - Returns: The build place.
    private static func move(_ folder: URL, to system: BuildSystem? = nil) throws -> URL {
        let files = FileManager.default
        let link = folder.appending(path: ".build")
        let known = try? files.destinationOfSymbolicLink(atPath: link.path)
        let target = system.map(place) ?? known.map { URL(filePath: $0) } ?? place(of: .native)
        var source = folder.appending(path: waitingName)
        for place in BuildSystem.allCases.map(place) {
            let ownerFile = place.appending(path: ownerName)
            guard let owner = try? String(contentsOf: ownerFile, encoding: .utf8) else { continue }
            if owner == folder.lastPathComponent {
                source = place
            } else {
                try files.moveItem(at: place, to: Fixtures.folder.appending(path: "\(owner)/\(waitingName)"))
            }
        }
        if source.path != target.path, files.fileExists(atPath: source.path) {
            try files.moveItem(at: source, to: target)
        } else if source.path != target.path {
            try files.createDirectory(at: target, withIntermediateDirectories: true)
            try Data(folder.lastPathComponent.utf8).write(to: target.appending(path: ownerName))
        }
        if known != target.path {
            if known != nil { try files.removeItem(at: link) }
            try files.createSymbolicLink(at: link, withDestinationURL: target)
        }
        return target
    }

    /// Copies the built framework into a build folder, once for each build system.
    private static func fill(_ build: URL, with framework: URL, of system: BuildSystem) throws {
        let mark = build.appending(path: "framework-\(system)")
        guard !FileManager.default.fileExists(atPath: mark.path) else { return }
        // `-a` keeps the modification times, which SwiftPM uses to detect changes.
        let copied = try RunningPrograms.run(["cp", "-a", "\(framework.path)/.", build.path], in: Fixtures.folder)
        guard copied.status == 0 else { throw ProgramError(description: "\(copied)") }
        try Data().write(to: mark)
    }

    private static func framework(_ system: BuildSystem) throws -> URL {
        try (system == .native ? native : swiftBuild).get()
    }

    private static let native = Result { try buildFramework(.native) }
    private static let swiftBuild = Result { try buildFramework(.swiftbuild) }

    private static func name(of system: BuildSystem) -> String { "Framework-\(system)" }

    /// Builds the framework as the dependency of an almost empty package, and deletes the package's own files from the
    /// build.
    ///
    /// - Returns: The folder that contains the built framework.
    private static func buildFramework(_ system: BuildSystem) throws -> URL {
        let package = try FixturePackage(
            named: name(of: system),
            files: [
                "Package.swift": """
                // swift-tools-version: 6.2
                import PackageDescription
                let package = Package(
                    name: "Framework", platforms: [.macOS(.v15)],
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
        // Running the command also compiles the command plugin.
        for words in [["build"] + system.options, ["package"] + system.options + ["testlogger", "--help"]] {
            let result = try RunningPrograms.swift(words, in: package.folder)
            guard result.status == 0 else { throw ProgramError(description: "the framework does not build: \(result)") }
        }
        let place = place(of: system)
        // The plan of a build names its package. SwiftPM creates a new plan if it is missing.
        let plans = ["debug.yaml", "plugin-tools.yaml", "manifest.pif", "description.json"]
        for path in try FileManager.default.subpathsOfDirectory(atPath: place.path) {
            let name = path.split(separator: "/").last.map(String.init) ?? path
            let isOfPackage = name.hasPrefix("UsesFramework") || path.hasPrefix("plugins/outputs/") || path == ownerName
            if isOfPackage || plans.contains(where: name.hasSuffix) {
                try FileManager.default.removeItemIfThere(place.appending(path: path))
            }
        }
        // Move the framework out of the build place, so that the next package starts with an empty folder.
        let framework = Fixtures.folder.appending(path: "\(name(of: system)).build")
        try FileManager.default.moveItem(at: place, to: framework)
        return framework
    }
}
