// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.strictMemorySafety()]

let package = Package(
    name: "InClassTesting",
    platforms: [.macOS(.v14)],
    products: [
        .library(name: "InClassTesting", targets: ["InClassTesting"]),
        .library(name: "PlistStreaming", targets: ["PlistStreaming"]),
        .library(name: "JSONStreaming", targets: ["JSONStreaming"]),
    ],
    targets: [
        .target(name: "InClassTesting"),
        .target(name: "TestEvents"),
        .target(name: "PlistStreaming", dependencies: ["InClassTesting"], swiftSettings: strict),
        .target(name: "JSONStreaming", dependencies: ["InClassTesting", "PlistStreaming"], swiftSettings: strict),
    ]
)
