// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "InClassTesting",
    platforms: [.macOS(.v14)],
    products: [
        .library(name: "InClassTesting", targets: ["InClassTesting"]),
    ],
    targets: [
        .target(name: "InClassTesting"),
        .target(name: "TestEvents"),
    ]
)
