// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "CBOR",
    platforms: [.macOS(.v15)],
    products: [.library(name: "CBORStreaming", targets: ["CBORStreaming"])],
    dependencies: [
        .package(name: "InClassTesting", path: "../..", traits: [])
    ],
    targets: [
        .target(
            name: "CBORStreaming",
            dependencies: [
                .product(name: "InClassTesting", package: "InClassTesting"),
                .product(name: "PlistCoding", package: "InClassTesting"),
            ]),
        .target(
            name: "Measurements",
            dependencies: [
                "CBORStreaming",
                .product(name: "InClassTesting", package: "InClassTesting"),
                .product(name: "JSONStreaming", package: "InClassTesting"),
            ]),
        .executableTarget(
            name: "cbor", dependencies: ["Measurements"],
            plugins: [.plugin(name: "InClassTests", package: "InClassTesting")]),
    ]
)
