// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v14)],
    dependencies: [
        .package(name: "InClassTesting", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "CAllocations",
                .product(name: "StringTables", package: "InClassTesting"),
            ]
        ),
        .target(name: "CAllocations"),
    ]
)
