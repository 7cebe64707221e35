// swift-tools-version: 6.2
import PackageDescription

/// The streaming modules are built with strict memory safety: each unsafe expression is marked and explained.
let strict: [SwiftSetting] = [.strictMemorySafety()]

/// Tags and texts that borrow memory of a reader declare their lifetimes.
let lifetimes: [SwiftSetting] = [.enableExperimentalFeature("Lifetimes")]

/// testlogger's own tests are compiled in a checkout of this package, but not in packages that depend on it. Their builds
/// don't wait for these tests, and their testlogger doesn't contain InClassTesting. A dependency by path needs `traits: []`.
let hasSelfTests = !Context.packageDirectory.contains("/checkouts/")
let selfTests: [SwiftSetting] = [.define("SELF_TESTS", .when(traits: ["SelfTests"]))]
let selfTestDependencies: [Target.Dependency] = [
    .target(name: "InClassTesting", condition: .when(traits: ["SelfTests"]))
]

let package = Package(
    name: "InClassTesting",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "InClassTesting", targets: ["InClassTesting"]),
        .executable(name: "testlogger", targets: ["testlogger"]),
        .plugin(name: "InClassTests", targets: ["InClassTests"]),
        .plugin(name: "TestLogger", targets: ["TestLogger"]),
        .library(name: "StringTables", targets: ["StringTables"]),
        .library(name: "PlistStreaming", targets: ["PlistStreaming"]),
        .library(name: "PlistBuilding", targets: ["PlistBuilding"]),
        .library(name: "PlistCoding", targets: ["PlistCoding"]),
        .library(name: "JSONStreaming", targets: ["JSONStreaming"]),
        .library(name: "PropertyListFiles", targets: ["PropertyListFiles"]),
        .library(name: "CSVStreaming", targets: ["CSVStreaming"]),
        .library(name: "XMLStreaming", targets: ["XMLStreaming"]),
        .library(name: "SQLiteStreaming", targets: ["SQLiteStreaming"]),
        .library(name: "SQLiteImporting", targets: ["SQLiteImporting"]),
        .library(name: "ItemRepository", targets: ["ItemRepository"]),
        .executable(name: "convert", targets: ["convert"]),
    ],
    traits: [
        .trait(name: "SelfTests", description: "Tests of testlogger itself"),
        .default(enabledTraits: hasSelfTests ? ["SelfTests"] : []),
    ],
    targets: [
        .systemLibrary(name: "CInClassSystem"),
        .target(name: "InClassSystem", dependencies: ["CInClassSystem"]),
        .target(name: "InClassTestingSystem", dependencies: ["CInClassSystem"]),
        .target(name: "InClassTesting", dependencies: ["InClassTestingSystem"], swiftSettings: selfTests),
        .target(name: "TestEvents", dependencies: ["InClassSystem"] + selfTestDependencies, swiftSettings: selfTests),
        .target(
            name: "TestSupervision", dependencies: ["InClassSystem", "TestEvents"] + selfTestDependencies,
            swiftSettings: selfTests),
        .target(name: "TestReporting", dependencies: ["TestEvents"] + selfTestDependencies, swiftSettings: selfTests),
        .executableTarget(
            name: "testlogger",
            dependencies: ["InClassSystem", "TestEvents", "TestSupervision", "TestReporting"] + selfTestDependencies,
            swiftSettings: selfTests),
        .target(
            name: "SelfTests",
            dependencies: [
                "InClassTesting", "TestEvents", "TestSupervision", "TestReporting", "testlogger", "convert",
                "SQLiteImporting", "PropertyListFiles", "ItemRepository", "CSVStreaming", "XMLStreaming",
            ],
            plugins: ["InClassTests"]),
        .plugin(name: "InClassTests", capability: .buildTool(), dependencies: ["testlogger"]),
        .plugin(
            name: "TestLogger",
            capability: .command(
                intent: .custom(verb: "testlogger", description: "Run in-class tests, or 'init' a package for them")),
            dependencies: ["testlogger"]),
        .systemLibrary(name: "CStackAddress"),
        .target(name: "StreamingSystem"),
        .target(
            name: "PlistStreaming", dependencies: ["StreamingSystem", "CStackAddress", "InClassTesting"],
            swiftSettings: strict
        ),
        .target(name: "StringTables", dependencies: ["InClassTesting"], swiftSettings: strict),
        .target(name: "CBlockMasks"),
        .target(name: "BlockMasks", dependencies: ["CBlockMasks", "InClassTesting"], swiftSettings: strict),
        .target(
            name: "PlistBuilding",
            dependencies: ["StreamingSystem", "CStackAddress", "InClassTesting", "PlistStreaming", "StringTables"],
            swiftSettings: strict),
        .target(
            name: "PlistCoding", dependencies: ["InClassTesting", "PlistBuilding", "PlistStreaming", "StringTables"],
            swiftSettings: strict),
        .target(
            name: "JSONStreaming",
            dependencies: [
                "BlockMasks", "CBlockMasks", "InClassTesting", "PlistBuilding", "PlistCoding", "PlistStreaming",
            ],
            swiftSettings: strict),
        .target(
            name: "CSVStreaming",
            dependencies: ["BlockMasks", "InClassTesting", "PlistBuilding", "PlistCoding", "PlistStreaming"],
            swiftSettings: strict + lifetimes),
        .target(
            name: "XMLStreaming",
            dependencies: [
                "BlockMasks", "CBlockMasks", "InClassTesting", "PlistBuilding", "PlistCoding", "PlistStreaming",
                "StringTables",
            ],
            swiftSettings: strict + lifetimes),
        .target(
            name: "PropertyListFiles",
            dependencies: [
                "StreamingSystem", "InClassTesting", "PlistBuilding", "PlistCoding", "PlistStreaming", "XMLStreaming",
            ],
            swiftSettings: strict),
        // Without pkgConfig: with it, SwiftPM warns all users without SQLite's header, even if they import only InClassTesting.
        .systemLibrary(name: "CSystemSQLite"),
        .target(
            name: "SQLiteStreaming",
            dependencies: [
                "CSystemSQLite", "InClassTesting", "PlistBuilding", "PlistCoding", "PlistStreaming", "StringTables",
            ],
            swiftSettings: strict),
        .target(
            name: "SQLiteImporting",
            dependencies: [
                "CSystemSQLite", "InClassTesting", "PlistBuilding", "PlistStreaming", "SQLiteStreaming", "StringTables",
            ],
            swiftSettings: strict),
        .target(
            name: "ItemRepository",
            dependencies: [
                "InClassTesting", "JSONStreaming", "PlistBuilding", "PlistStreaming", "PropertyListFiles",
                "SQLiteStreaming",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "convert",
            dependencies: [
                "CSVStreaming", "InClassTesting", "JSONStreaming", "PlistBuilding", "PlistStreaming",
                "PropertyListFiles", "SQLiteStreaming", "StringTables", "XMLStreaming",
            ],
            path: "Examples/Convert", swiftSettings: lifetimes,
            plugins: ["InClassTests"]),
        .target(name: "TestCorpora", path: "Tests/Streams/TestCorpora"),
        .testTarget(
            name: "FormatTests", dependencies: ["CSVStreaming", "JSONStreaming", "PropertyListFiles", "XMLStreaming"],
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]),
        .testTarget(
            name: "JSONConformanceTests",
            dependencies: ["JSONStreaming", "PlistBuilding", "PlistStreaming", "TestCorpora"]),
        .testTarget(
            name: "CSVConformanceTests",
            dependencies: ["CSVStreaming", "PlistBuilding", "PlistStreaming", "TestCorpora"]),
        .testTarget(
            name: "PropertyListTests",
            dependencies: ["PlistBuilding", "PlistStreaming", "PropertyListFiles", "TestCorpora"]),
        .testTarget(
            name: "XMLConformanceTests", dependencies: ["PlistStreaming", "TestCorpora", "XMLStreaming"],
            swiftSettings: lifetimes),
        .testTarget(name: "ConvertTests", dependencies: ["SQLiteStreaming", "convert"]),
        .executableTarget(
            name: "SQLiteWorker",
            dependencies: ["JSONStreaming", "PlistBuilding", "PlistStreaming", "SQLiteImporting", "SQLiteStreaming"],
            path: "Tests/Streams/SQLiteWorker"),
        .testTarget(
            name: "SQLiteDurabilityTests",
            dependencies: [
                "JSONStreaming", "PlistBuilding", "PlistStreaming", "SQLiteImporting", "SQLiteStreaming",
                "SQLiteWorker",
            ]),
        .testTarget(
            name: "SQLiteTests",
            dependencies: ["JSONStreaming", "PlistBuilding", "PlistStreaming", "SQLiteStreaming", "TestCorpora"]),
        .testTarget(name: "TestloggerTests", dependencies: ["testlogger"], exclude: ["Goldens"]),
    ]
)

// Sources/Testing and Tests/Testing contain the framework, Sources/Streams and Tests/Streams the streams.
let testing: Set = [
    "CInClassSystem", "InClassSystem", "InClassTesting", "InClassTestingSystem", "SelfTests", "TestEvents",
    "TestReporting", "TestSupervision", "TestloggerTests", "testlogger",
]
for target in package.targets where target.path == nil && target.type != .plugin {
    let product = testing.contains(target.name) ? "Testing" : "Streams"
    target.path = "\(target.type == .test ? "Tests" : "Sources")/\(product)/\(target.name)"
}
