// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.strictMemorySafety()]

let package = Package(
    name: "InClassTesting",
    platforms: [.macOS(.v14)],
    products: [
        .library(name: "InClassTesting", targets: ["InClassTesting"]),
        .library(name: "PlistBuilding", targets: ["PlistBuilding"]),
        .library(name: "PlistStreaming", targets: ["PlistStreaming"]),
        .library(name: "StringTables", targets: ["StringTables"]),
    ],
    targets: [
        .target(name: "InClassTesting"),
        .target(
            name: "PlistBuilding", dependencies: ["InClassTesting", "PlistStreaming", "StringTables"],
            swiftSettings: strict),
        .target(name: "PlistStreaming", swiftSettings: strict),
        .target(name: "StringTables", dependencies: ["InClassTesting"], swiftSettings: strict),
        .target(name: "TestEvents"),
    ]
)
