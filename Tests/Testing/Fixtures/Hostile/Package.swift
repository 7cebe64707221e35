// swift-tools-version: 6.2
// Tests that misbehave in every way we know, each followed by a healthy one that must not notice. The comments
// `// error: name` in the sources say where the one error of each is to be reported.
import PackageDescription

let package = Package(
    name: "Hostile",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "InClassTesting", path: "../../../..")],
    targets: [
        .target(name: "Hostile", dependencies: [.product(name: "InClassTesting", package: "InClassTesting")])
    ]
)
