// Finds the static libraries of binary targets. An image is linked with them like any product.

import Foundation
import PackagePlugin

extension BinaryArtifactTarget {
    /// The libraries for this machine. Empty if the artifacts are programs, nil if they can't be linked in a known way.
    var librariesForThisMachine: [URL]? {
        guard kind == .artifactsArchive,
            let data = try? Data(contentsOf: artifactURL.appending(path: "info.json")),
            let bundle = try? JSONDecoder().decode(ArtifactBundle.self, from: data)
        else { return nil }
        var libraries: [URL] = []
        for (_, artifact) in bundle.artifacts.sorted(by: { $0.key < $1.key }) where artifact.type != "executable" {
            guard artifact.type == "staticLibrary", let variant = artifact.variants.first(where: \.isForThisMachine)
            else { return nil }
            libraries.append(artifactURL.appending(path: variant.path))
        }
        return libraries
    }
}

/// The part of a bundle's `info.json` that contains the paths of its libraries.
private struct ArtifactBundle: Decodable {
    struct Artifact: Decodable {
        var type: String
        var variants: [Variant]
    }

    struct Variant: Decodable {
        var path: String
        var supportedTriples: [String]?

        var isForThisMachine: Bool {
            supportedTriples.map { PluginSystem.supports($0) } ?? true
        }
    }

    var artifacts: [String: Artifact]
}
