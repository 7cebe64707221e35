// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "TasksBackend",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "InClassTesting", path: "../..", traits: []),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
    ],
    targets: [
        .target(
            name: "Tasks",
            dependencies: [
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "InClassTesting", package: "InClassTesting"),
                .product(name: "JSONStreaming", package: "InClassTesting"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "PlistBuilding", package: "InClassTesting"),
                .product(name: "PlistStreaming", package: "InClassTesting"),
                .product(name: "SQLiteStreaming", package: "InClassTesting"),
            ],
            resources: [.embedInCode("Resources/page.html")]),
        .executableTarget(
            name: "TasksBackend",
            dependencies: [
                "Tasks",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "JSONStreaming", package: "InClassTesting"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "PlistBuilding", package: "InClassTesting"),
            ],
            plugins: [.plugin(name: "InClassTests", package: "InClassTesting")]),
        .executableTarget(
            name: "TasksLoad",
            dependencies: [
                "Tasks",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "JSONStreaming", package: "InClassTesting"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "SQLiteStreaming", package: "InClassTesting"),
            ]),
        .testTarget(name: "TasksBackendTests", dependencies: ["TasksBackend"]),
    ]
)
