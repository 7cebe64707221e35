// swift-tools-version: 6.2
// A module whose in-class tests are cases of swift-testing, too, and whose reached lines are known.
import PackageDescription

let package = Package(
    name: "Bridge",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "InClassTesting", path: "../../../..")],
    targets: [
        .target(name: "Ledger", dependencies: [.product(name: "InClassTesting", package: "InClassTesting")]),
        .target(
            name: "Papers", dependencies: [.product(name: "InClassTesting", package: "InClassTesting")],
            resources: [.copy("Goldens")]),
        .target(
            name: "Tested", dependencies: ["Ledger", "Papers"],
            plugins: [.plugin(name: "InClassTests", package: "InClassTesting")]),
        .testTarget(
            name: "LedgerTests",
            dependencies: ["Ledger", "Papers", .product(name: "InClassTesting", package: "InClassTesting")]),
    ]
)
