// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "QuickStart",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "InClassTesting", path: "../..", traits: [])
    ],
    targets: [
        .target(name: "Stacks", dependencies: [.product(name: "InClassTesting", package: "InClassTesting")]),
        .executableTarget(
            name: "app", dependencies: ["Stacks"],
            plugins: [.plugin(name: "InClassTests", package: "InClassTesting")]),
    ]
)
