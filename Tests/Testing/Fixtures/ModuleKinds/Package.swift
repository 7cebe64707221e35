// swift-tools-version: 6.2
// A stranger's package with everything that a module may be made of, and every kind of type that may have tests.
import PackageDescription

let tests: Target.Dependency = .product(name: "InClassTesting", package: "InClassTesting")
let plugin: Target.PluginUsage = .plugin(name: "InClassTests", package: "InClassTesting")
let neighbour: Target.Dependency = .product(name: "Neighbour", package: "Neighbour")

let package = Package(
    name: "ModuleKinds",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "InClassTesting", path: "../../../.."),
        .package(path: "Neighbour"),
    ],
    targets: [
        .target(name: "Kinds", dependencies: [tests, neighbour]),
        .target(name: "LifeCycles", dependencies: [tests]),
        .target(name: "CLanguage", linkerSettings: [.linkedLibrary("z"), .linkedLibrary("m")]),
        .target(name: "CPlusPlus"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "Mixed", dependencies: [tests, "CLanguage", "CPlusPlus", "CSQLite", neighbour]),
        .target(name: "Resources", dependencies: [tests], resources: [.copy("simple.txt"), .copy("Texts")]),
        .executableTarget(name: "tool", dependencies: [tests, "Mixed"]),
        // Tests the executable's own types, by depending on it.
        .target(name: "ToolTests", dependencies: ["SelfHosted", "tool"], plugins: [plugin]),
        // Swift Build runs the tests of a target that has the plugin itself; the native build system needs another one.
        .target(name: "SelfHosted", dependencies: [tests], plugins: [plugin]),
        .executableTarget(
            name: "app", dependencies: ["Kinds", "LifeCycles", "Resources"], plugins: [plugin]),
    ]
)
