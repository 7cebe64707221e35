// Where the files are that others made to test readers: beside the package, in ../shared/corpora, or above it. Without them the tests
// that need them say so and are skipped.

import Foundation

/// The corpora.
public enum TestCorpora {
    /// The place of a file or folder; where it would be beside the package, when it is nowhere.
    public static func place(_ path: String) -> URL {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        var folder = package
        while folder.path != "/" {
            folder = folder.deletingLastPathComponent()
            let place = folder.appending(path: "shared/corpora").appending(path: path)
            if FileManager.default.fileExists(atPath: place.path) { return place }
        }
        return package.deletingLastPathComponent().appending(path: "shared/corpora").appending(path: path)
    }
}
