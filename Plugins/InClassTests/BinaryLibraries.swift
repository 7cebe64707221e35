// The static libraries of binary targets, which an image is linked with as any product is.

import Foundation
import PackagePlugin

extension BinaryArtifactTarget {
    /// The libraries for this machine, none when the artifacts are programs; nil when it is not known how to link it.
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

/// The part of a bundle's `info.json` that tells where its libraries are.
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
