// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Timetable",
    platforms: [.macOS(.v15)],
    products: [.library(name: "Timetables", targets: ["Timetables"])],
    dependencies: [
        .package(name: "InClassTesting", path: "../..", traits: [])
    ],
    targets: [
        .target(
            name: "Timetables",
            dependencies: [
                .product(name: "CSVStreaming", package: "InClassTesting"),
                .product(name: "InClassTesting", package: "InClassTesting"),
                .product(name: "PlistBuilding", package: "InClassTesting"),
                .product(name: "PlistStreaming", package: "InClassTesting"),
                .product(name: "StringTables", package: "InClassTesting"),
            ]),
        .executableTarget(
            name: "timetable", dependencies: ["Timetables"],
            plugins: [.plugin(name: "InClassTests", package: "InClassTesting")]),
    ]
)
