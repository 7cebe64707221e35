// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Runs",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "InClassTesting", path: "../../../..")],
    targets: [
        .target(name: "Runs", dependencies: [.product(name: "InClassTesting", package: "InClassTesting")])
    ]
)
