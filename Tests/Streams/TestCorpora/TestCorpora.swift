// Finds files from other projects that test readers. They are in `shared/corpora`, next to the package or next to one
// of its parent folders. Without them, the tests that need them report it and are skipped.

import Foundation

/// The test corpora.
public enum TestCorpora {
    /// Returns the location of a file or folder. If it doesn't exist, returns its expected location next to the
    /// package.
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
