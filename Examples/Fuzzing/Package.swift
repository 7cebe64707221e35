// swift-tools-version: 6.2
import PackageDescription

// swift build -c release -Xswiftc -sanitize=fuzzer,address -Xswiftc -use-ld=lld --package-path Examples/Fuzzing \
//     --product FuzzJSONReader
// Examples/Fuzzing/.build/release/FuzzJSONReader CORPUS -max_total_time=600 -max_len=600 -len_control=0
// The targets: FuzzJSONReader, FuzzJSONRoundTrip, FuzzObjects, FuzzColumns, FuzzTrees, FuzzBinding, FuzzSQLite, FuzzCSV,
// FuzzXML, FuzzBinaryPlist, FuzzTextPlist.
// Without the sanitizer the targets do not link, for want of the fuzzer; therefore this package is nested.
let package = Package(
    name: "Fuzzing",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "InClassTesting", path: "../..", traits: [])
    ],
    targets: [
        .executableTarget(
            name: "FuzzJSONReader",
            dependencies: [
                "CFuzzer",
                .product(name: "JSONStreaming", package: "InClassTesting"),
                .product(name: "PlistStreaming", package: "InClassTesting"),
            ]),
        .executableTarget(
            name: "FuzzCSV",
            dependencies: [
                "CFuzzer",
                .product(name: "CSVStreaming", package: "InClassTesting"),
                .product(name: "PlistBuilding", package: "InClassTesting"),
                .product(name: "PlistStreaming", package: "InClassTesting"),
            ]),
        .executableTarget(
            name: "FuzzJSONRoundTrip",
            dependencies: [
                "CFuzzer",
                .product(name: "JSONStreaming", package: "InClassTesting"),
                .product(name: "PlistStreaming", package: "InClassTesting"),
            ]),
        .target(
            name: "FuzzInputs",
            dependencies: [
                "CFuzzer",
                .product(name: "JSONStreaming", package: "InClassTesting"),
                .product(name: "PlistStreaming", package: "InClassTesting"),
            ]),
        .executableTarget(
            name: "FuzzSQLite",
            dependencies: [
                "FuzzInputs",
                .product(name: "JSONStreaming", package: "InClassTesting"),
                .product(name: "PlistBuilding", package: "InClassTesting"),
                .product(name: "PlistStreaming", package: "InClassTesting"),
                .product(name: "SQLiteStreaming", package: "InClassTesting"),
            ]),
        .executableTarget(
            name: "FuzzXML",
            dependencies: [
                "CFuzzer",
                .product(name: "PlistStreaming", package: "InClassTesting"),
                .product(name: "XMLStreaming", package: "InClassTesting"),
            ]),
        .target(name: "CFuzzer"),
    ]
        + ["FuzzBinaryPlist", "FuzzTextPlist"].map { name in
            .executableTarget(
                name: name,
                dependencies: [
                    "CFuzzer",
                    .product(name: "PlistBuilding", package: "InClassTesting"),
                    .product(name: "PlistStreaming", package: "InClassTesting"),
                    .product(name: "PropertyListFiles", package: "InClassTesting"),
                ])
        }
        + ["FuzzObjects", "FuzzColumns", "FuzzTrees", "FuzzBinding"].map { name in
            .executableTarget(
                name: name,
                dependencies: [
                    "FuzzInputs",
                    .product(name: "JSONStreaming", package: "InClassTesting"),
                    .product(name: "PlistBuilding", package: "InClassTesting"),
                    .product(name: "PlistStreaming", package: "InClassTesting"),
                ])
        }
)
