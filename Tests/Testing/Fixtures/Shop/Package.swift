// swift-tools-version: 6.2
// The smallest package with in-class tests: a library, and an app that waits for the library's tests.
import PackageDescription

let package = Package(
    name: "Shop",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "InClassTesting", path: "../../../..")],
    targets: [
        .target(name: "Stock", dependencies: [.product(name: "InClassTesting", package: "InClassTesting")]),
        .executableTarget(
            name: "shop", dependencies: ["Stock"],
            plugins: [.plugin(name: "InClassTests", package: "InClassTesting")]),
    ]
)
