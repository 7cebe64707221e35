// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Runs",
    dependencies: [.package(name: "InClassTesting", path: "../../..")],
    targets: [
        .target(name: "Runs", dependencies: [.product(name: "InClassTesting", package: "InClassTesting")])
    ]
)
