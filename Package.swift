// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.strictMemorySafety()]

let package = Package(
    name: "InClassTesting",
    platforms: [.macOS(.v14)],
    products: [
        .library(name: "InClassTesting", targets: ["InClassTesting"]),
        .executable(name: "testlogger", targets: ["testlogger"]),
        .plugin(name: "InClassTests", targets: ["InClassTests"]),
        .plugin(name: "TestLogger", targets: ["TestLogger"]),
        .library(name: "PlistStreaming", targets: ["PlistStreaming"]),
        .library(name: "JSONStreaming", targets: ["JSONStreaming"]),
        .executable(name: "convert", targets: ["convert"]),
    ],
    targets: [
        .target(name: "InClassTesting"),
        .target(name: "TestEvents"),
        .target(name: "TestSupervision", dependencies: ["TestEvents"]),
        .target(name: "TestReporting", dependencies: ["TestEvents"]),
        .executableTarget(name: "testlogger", dependencies: ["TestEvents", "TestSupervision", "TestReporting"]),
        .plugin(name: "InClassTests", capability: .buildTool(), dependencies: ["testlogger"]),
        .plugin(
            name: "TestLogger",
            capability: .command(
                intent: .custom(verb: "testlogger", description: "Run in-class tests, or 'init' a package for them")),
            dependencies: ["testlogger"]),
        .target(name: "PlistStreaming", dependencies: ["InClassTesting"], swiftSettings: strict),
        .target(name: "JSONStreaming", dependencies: ["InClassTesting", "PlistStreaming"], swiftSettings: strict),
        .executableTarget(
            name: "convert",
            dependencies: ["InClassTesting", "JSONStreaming", "PlistStreaming"],
            path: "Examples/Convert",
            plugins: ["InClassTests"]),
        .testTarget(name: "JSONConformanceTests", dependencies: ["JSONStreaming", "PlistStreaming"]),
        .testTarget(name: "ConvertTests", dependencies: ["convert"]),
    ]
)
