// swift-tools-version: 6.2
import PackageDescription

// swift build -c release -Xswiftc -sanitize=fuzzer,address -Xswiftc -use-ld=lld --package-path Examples/Fuzzing \
//     --product FuzzJSONReader
// Examples/Fuzzing/.build/release/FuzzJSONReader CORPUS -max_total_time=600 -max_len=600 -len_control=0
// Without the sanitizer, the targets don't link because the fuzzer is missing. Therefore this package is nested.
let package = Package(
    name: "Fuzzing",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "InClassTesting", path: "../..", traits: [])
    ],
    targets: [
        .target(name: "CFuzzer"),
        .target(name: "FuzzInputs", dependencies: ["CFuzzer", product("JSONStreaming"), product("PlistStreaming")]),
        fuzzer("FuzzJSONReader", "JSONStreaming"),
        fuzzer("FuzzJSONRoundTrip", "JSONStreaming"),
        fuzzer("FuzzObjects", "JSONStreaming", "PlistBuilding"),
        fuzzer("FuzzColumns", "JSONStreaming", "PlistBuilding"),
        fuzzer("FuzzTrees", "JSONStreaming", "PlistBuilding"),
        fuzzer("FuzzBinding", "JSONStreaming", "PlistBuilding"),
        fuzzer("FuzzSQLite", "JSONStreaming", "PlistBuilding", "SQLiteStreaming"),
        fuzzer("FuzzCSV", "CSVStreaming", "PlistBuilding"),
        fuzzer("FuzzXML", "XMLStreaming"),
        fuzzer("FuzzBinaryPlist", "PlistBuilding", "PropertyListFiles"),
        fuzzer("FuzzTextPlist", "PropertyListFiles"),
    ]
)

func fuzzer(_ name: String, _ modules: String...) -> Target {
    .executableTarget(name: name, dependencies: ["FuzzInputs"] + (modules + ["PlistStreaming"]).map(product))
}

func product(_ module: String) -> Target.Dependency { .product(name: module, package: "InClassTesting") }
