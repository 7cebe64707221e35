// swift-tools-version: 6.2
// Somebody else's package, which knows nothing of in-class tests.
import PackageDescription

let package = Package(
    name: "Neighbour",
    products: [.library(name: "Neighbour", targets: ["Neighbour"])],
    targets: [.target(name: "CNeighbour"), .target(name: "Neighbour", dependencies: ["CNeighbour"])]
)
