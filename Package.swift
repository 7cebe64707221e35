// swift-tools-version: 6.2
import PackageDescription

/// The tester's own tests are compiled in a checkout of its own, but not where it is somebody's dependency: nobody else
/// waits for them, and nobody else's testlogger holds InClassTesting.
let hasSelfTests = !Context.packageDirectory.contains("/checkouts/")
let selfTests: [SwiftSetting] = hasSelfTests ? [.define("SELF_TESTS")] : []
let selfTestDependencies: [Target.Dependency] = hasSelfTests ? ["InClassTesting"] : []

let package = Package(
    name: "InClassTesting",
    platforms: [.macOS(.v14)],
    products: [
        .library(name: "InClassTesting", targets: ["InClassTesting"]),
        .library(name: "StringTables", targets: ["StringTables"]),
        .executable(name: "testlogger", targets: ["testlogger"]),
        .plugin(name: "InClassTests", targets: ["InClassTests"]),
        .plugin(name: "TestLogger", targets: ["TestLogger"]),
    ],
    targets: [
        .target(name: "InClassTesting", swiftSettings: selfTests),
        .target(name: "StringTables", dependencies: ["InClassTesting"], swiftSettings: [.strictMemorySafety()]),
        .target(name: "TestEvents", dependencies: selfTestDependencies, swiftSettings: selfTests),
        .target(name: "TestSupervision", dependencies: ["TestEvents"] + selfTestDependencies, swiftSettings: selfTests),
        .target(name: "TestReporting", dependencies: ["TestEvents"] + selfTestDependencies, swiftSettings: selfTests),
        .executableTarget(
            name: "testlogger",
            dependencies: ["TestEvents", "TestSupervision", "TestReporting"] + selfTestDependencies,
            swiftSettings: selfTests),
        .target(
            name: "SelfTests",
            dependencies: [
                "InClassTesting", "StringTables", "TestEvents", "TestSupervision", "TestReporting", "testlogger",
            ],
            plugins: ["InClassTests"]),
        .plugin(name: "InClassTests", capability: .buildTool(), dependencies: ["testlogger"]),
        .plugin(
            name: "TestLogger",
            capability: .command(
                intent: .custom(verb: "testlogger", description: "Run in-class tests, or 'init' a package for them")),
            dependencies: ["testlogger"]),
    ]
)
