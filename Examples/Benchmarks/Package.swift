// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// The peers' libraries are linked where they are installed; without them their benchmarks are left out.
let jsonPeers = ["simdjson", "yyjson"].filter { FileManager.default.fileExists(atPath: "/usr/include/\($0).h") }

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
                "CJSONPeers",
                .product(name: "JSONStreaming", package: "InClassTesting"),
                .product(name: "PlistBuilding", package: "InClassTesting"),
                .product(name: "PlistStreaming", package: "InClassTesting"),
                .product(name: "StringTables", package: "InClassTesting"),
            ]
        ),
        .target(name: "CAllocations"),
        .executableTarget(name: "FrameworkBenchmarks"),
        .target(
            name: "CJSONPeers", cxxSettings: [.define("NDEBUG")],
            linkerSettings: jsonPeers.map { .linkedLibrary($0) }),
    ],
    cxxLanguageStandard: .cxx17
)
