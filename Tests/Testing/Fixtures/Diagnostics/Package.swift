// swift-tools-version: 6.2
// Modules whose tests fail in every way there is. Nothing here carries the build plugin: the tests link and run each
// module by name.
import PackageDescription

let names = [
    "Accepting", "Counting", "Expectations", "Hostile", "LifeCycle", "Lists", "NoTests", "Orchard", "Quiet", "Speaking",
    "Tables", "Watched",
]

let package = Package(
    name: "Diagnostics",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "InClassTesting", path: "../../../..")],
    targets: names.map { name in
        .target(name: name, dependencies: [.product(name: "InClassTesting", package: "InClassTesting")])
    }
)
