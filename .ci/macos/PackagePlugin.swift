// The declarations that the plugins use of SwiftPM's module PackagePlugin.

import Foundation

public protocol Plugin { init() }

extension Plugin {
    public var packageManager: PackageManager { PackageManager() }
    public static func main() async throws {}
}

public protocol BuildToolPlugin: Plugin {
    func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command]
}

public protocol CommandPlugin: Plugin {
    func performCommand(context: PluginContext, arguments: [String]) async throws
}

public struct PluginContext {
    public struct Tool { public let url: URL }

    public let package: Package
    public let pluginWorkDirectoryURL: URL

    public func tool(named name: String) throws -> Tool { fatalError() }
}

public enum Command {
    case _buildCommand

    public static func buildCommand(
        displayName: String?, executable: URL, arguments: [String], environment: [String: String] = [:],
        inputFiles: [URL] = [], outputFiles: [URL] = []
    ) -> Command { ._buildCommand }
}

public struct PackageManager {
    public enum BuildSubset { case target(String), product(String) }

    public struct BuildParameters {
        public enum Configuration: String { case debug, release, inherit }

        public var otherCFlags: [String] = []
        public var otherSwiftcFlags: [String] = []

        public init(configuration: Configuration = .debug) {}
    }

    public struct BuildResult {
        public var succeeded: Bool
        public var logText: String
    }

    public func build(_ subset: BuildSubset, parameters: BuildParameters) throws -> BuildResult { fatalError() }
}

public enum Diagnostics {
    public enum Severity: String { case error, warning, remark }

    public static func emit(_ severity: Severity, _ description: String, file: String? = #file, line: Int? = #line) {}
    public static func error(_ message: String, file: String? = #file, line: Int? = #line) {}
    public static func warning(_ message: String, file: String? = #file, line: Int? = #line) {}
    public static func remark(_ message: String, file: String? = #file, line: Int? = #line) {}
}

public enum PackageOrigin {
    case root
    case local(path: String)
    case repository(url: String, displayVersion: String, scmRevision: String)
    case registry(identity: String, displayVersion: String)
}

public struct Package {
    public let id: String
    public let displayName: String
    public let directoryURL: URL
    public let origin: PackageOrigin
    public let toolsVersion: ToolsVersion
    public let dependencies: [PackageDependency]
    public let products: [any Product]
    public let targets: [any Target]
}

public struct ToolsVersion {
    public let major: Int
    public let minor: Int
    public let patch: Int
}

public struct PackageDependency { public let package: Package }

public protocol Product {
    var id: String { get }
    var name: String { get }
    var targets: [any Target] { get }
}

public struct ExecutableProduct: Product {
    public let id: String
    public let name: String
    public let targets: [any Target]
    public let mainTarget: any Target
}

public struct LibraryProduct: Product {
    public let id: String
    public let name: String
    public let targets: [any Target]
}

public protocol Target {
    var id: String { get }
    var name: String { get }
    var directoryURL: URL { get }
    var dependencies: [TargetDependency] { get }
}

public enum TargetDependency {
    case target(any Target)
    case product(any Product)
}

public enum ModuleKind { case generic, executable, snippet, test, macro }

public protocol SourceModuleTarget: Target {
    var moduleName: String { get }
    var kind: ModuleKind { get }
    var sourceFiles: FileList { get }
    var linkedLibraries: [String] { get }
}

extension SourceModuleTarget {
    public func sourceFiles(withSuffix suffix: String) -> FileList { sourceFiles }
}

public struct SwiftSourceModuleTarget: SourceModuleTarget {
    public let id: String
    public let name: String
    public let directoryURL: URL
    public let dependencies: [TargetDependency]
    public let moduleName: String
    public let kind: ModuleKind
    public let sourceFiles: FileList
    public let linkedLibraries: [String]
}

public struct ClangSourceModuleTarget: SourceModuleTarget {
    public let id: String
    public let name: String
    public let directoryURL: URL
    public let dependencies: [TargetDependency]
    public let moduleName: String
    public let kind: ModuleKind
    public let sourceFiles: FileList
    public let linkedLibraries: [String]
}

public struct BinaryArtifactTarget: Target {
    public enum Kind { case xcframework, artifactsArchive }

    public let id: String
    public let name: String
    public let directoryURL: URL
    public let dependencies: [TargetDependency]
    public let kind: Kind
    public let artifactURL: URL
}

public struct SystemLibraryTarget: Target {
    public let id: String
    public let name: String
    public let directoryURL: URL
    public let dependencies: [TargetDependency]
    public let compilerFlags: [String]
    public let linkerFlags: [String]
}

public enum FileType { case source, header, resource, unknown }

public struct File {
    public let url: URL
    public let type: FileType
}

public struct FileList: Sequence {
    public func makeIterator() -> Array<File>.Iterator { [].makeIterator() }
}
