// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// The installed libraries of the peers. Benchmarks of missing libraries are left out.
let jsonPeers = ["simdjson", "yyjson"].filter { FileManager.default.fileExists(atPath: "/usr/include/\($0).h") }
let xmlPeers = [("expat", "expat.h"), ("xml2", "libxml2"), ("pugixml", "pugixml.hpp")]
    .filter { FileManager.default.fileExists(atPath: "/usr/include/\($0.1)") }.map(\.0)

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "InClassTesting", path: "../..", traits: []),
        .package(name: "Timetable", path: "../Timetable"),
        .package(url: "https://github.com/CoreOffice/XMLCoder", exact: "0.18.2"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/swiftcsv/SwiftCSV", exact: "0.10.0"),
    ],
    targets: [
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "CAllocations",
                "CJSONPeers",
                "CSQLitePeers",
                "CSQLiteUpsert",
                "CXMLPeers",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "SwiftCSV", package: "SwiftCSV"),
                .product(name: "Timetables", package: "Timetable"),
                .product(name: "XMLCoder", package: "XMLCoder"),
                .product(name: "CSVStreaming", package: "InClassTesting"),
                .product(name: "XMLStreaming", package: "InClassTesting"),
                .product(name: "ItemRepository", package: "InClassTesting"),
                .product(name: "JSONStreaming", package: "InClassTesting"),
                .product(name: "PlistBuilding", package: "InClassTesting"),
                .product(name: "PlistStreaming", package: "InClassTesting"),
                .product(name: "PropertyListFiles", package: "InClassTesting"),
                .product(name: "SQLiteImporting", package: "InClassTesting"),
                .product(name: "SQLiteStreaming", package: "InClassTesting"),
                .product(name: "StringTables", package: "InClassTesting"),
            ]
        ),
        .target(name: "CAllocations"),
        .target(name: "CSQLiteUpsert", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(
            name: "CJSONPeers", cxxSettings: [.define("NDEBUG")],
            linkerSettings: jsonPeers.map { .linkedLibrary($0) }),
        .target(name: "CSQLitePeers", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(
            name: "CXMLPeers", cSettings: [.unsafeFlags(["-I/usr/include/libxml2"])],
            linkerSettings: xmlPeers.map { .linkedLibrary($0) }),
    ],
    cxxLanguageStandard: .cxx17
)
