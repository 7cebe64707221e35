// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.strictMemorySafety()]

let package = Package(
    name: "InClassTesting",
    platforms: [.macOS(.v14)],
    products: [
        .library(name: "PlistStreaming", targets: ["PlistStreaming"])
    ],
    targets: [
        .target(name: "PlistStreaming", swiftSettings: strict)
    ]
)
