// The framework is compiled once for all fixture packages: a package begins with a copy of a build folder in which
// everything but its own targets is built already.
//
// The paths of a build are in the arguments of its compilers, by which SwiftPM knows what is built. So there is one place
// to build in for each build system, and the build folder of whichever package is at work is moved there. Tests of
// packages run one at a time, hence one place is enough.

import Foundation

enum SharedBuild {
    /// Where packages are built; `.build` of each is a link to it. People have such names for their folders.
    private static func place(of system: BuildSystem) -> URL {
        Fixtures.folder.appending(path: system == .native ? "a build place" : "The Builder's pläce")
    }

    /// Where the build folder of a package that is not at work waits.
    private static let waitingName = ".waiting-build"
    /// In the build folder: the name of the package that it belongs to.
    private static let ownerName = "owner"

    /// Makes a fixture package the one at work, before a program starts in it or its build folder is read.
    ///
    /// - Returns: the variables that tell SwiftPM where to build.
    static func enter(_ folder: URL, for words: [String] = []) throws -> [String: String] {
        let isFixture =
            folder.deletingLastPathComponent().path == Fixtures.folder.path
            && FileManager.default.fileExists(atPath: folder.appending(path: "Package.swift").path)
        guard isFixture, !words.contains("--scratch-path") else { return [:] }
        guard words.first == "swift" else {
            // A package whose modules were compiled without SwiftPM has no place.
            let link = folder.appending(path: ".build").path
            guard (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) != nil else { return [:] }
            return ["SWIFTPM_BUILD_DIR": try move(folder).path]
        }
        let system = words.contains(BuildSystem.swiftbuild.rawValue) ? BuildSystem.swiftbuild : .native
        // Built before this package takes the place.
        let framework = folder.lastPathComponent == name(of: system) ? nil : try framework(system)
        let build = try move(folder, to: system)
        if let framework { try fill(build, with: framework, of: system) }
        return ["SWIFTPM_BUILD_DIR": build.path]
    }

    /// Moves a package's build folder to the place of a build system, or of the one that it was built with last, and that
    /// of the package before it away.
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

    /// Copies what is built already into a build folder, once for each build system.
    private static func fill(_ build: URL, with framework: URL, of system: BuildSystem) throws {
        let mark = build.appending(path: "framework-\(system)")
        guard !FileManager.default.fileExists(atPath: mark.path) else { return }
        // With all times, by which SwiftPM knows what has changed.
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

    /// Builds the framework for a package that does nothing with it, and leaves nothing of that package.
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
        // The command compiles its plugin, too.
        for words in [["build"] + system.options, ["package"] + system.options + ["testlogger", "--help"]] {
            let result = try RunningPrograms.swift(words, in: package.folder)
            guard result.status == 0 else { throw ProgramError(description: "the framework does not build: \(result)") }
        }
        let place = place(of: system)
        // The plan of a build names its package; whoever has none makes one.
        let plans = ["debug.yaml", "plugin-tools.yaml", "manifest.pif", "description.json"]
        for path in try FileManager.default.subpathsOfDirectory(atPath: place.path) {
            let name = path.split(separator: "/").last.map(String.init) ?? path
            let isOfPackage = name.hasPrefix("UsesFramework") || path.hasPrefix("plugins/outputs/") || path == ownerName
            if isOfPackage || plans.contains(where: name.hasSuffix) {
                try FileManager.default.removeItemIfThere(place.appending(path: path))
            }
        }
        // It stays away from the place, whose next package begins anew.
        let framework = Fixtures.folder.appending(path: "\(name(of: system)).build")
        try FileManager.default.moveItem(at: place, to: framework)
        return framework
    }
}
