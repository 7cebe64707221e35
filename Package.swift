// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "InClassTesting",
    platforms: [.macOS(.v14)],
    products: [
        .library(name: "InClassTesting", targets: ["InClassTesting"]),
        .library(name: "StringTables", targets: ["StringTables"]),
    ],
    targets: [
        .target(name: "InClassTesting"),
        .target(name: "StringTables", dependencies: ["InClassTesting"], swiftSettings: [.strictMemorySafety()]),
        .target(name: "TestEvents"),
    ]
)
