// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "InClassTesting",
    platforms: [.macOS(.v14)],
    products: [],
    targets: []
)
