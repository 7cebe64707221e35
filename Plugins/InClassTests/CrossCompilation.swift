// Tells whether this build is for another machine. SwiftPM does not say so to plugins, and in such a build nothing lies
// where the plugin would look for it; so the command line of the SwiftPM that runs this plugin is read.

import Foundation

enum CrossCompilation {
    /// Says why the tests of a build cannot run here, or nil when they can.
    static func obstacle(host: String) -> String? {
        obstacle(words: parentCommandLine, host: host)
    }

    static func obstacle(words: [String], host: String) -> String? {
        let options = [
            "--swift-sdk", "--experimental-swift-sdk", "--triple", "--arch", "--destination",
            "--experimental-destination",
        ]
        for (index, word) in words.enumerated() {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard let name = parts.first, options.contains(name) else { continue }
            let value = parts.count == 2 ? parts[1] : index + 1 < words.count ? words[index + 1] : ""
            // The host itself may be named, too.
            if name == "--triple" ? host == value : name == "--arch" && host.hasPrefix(value) { continue }
            return "they are compiled for another machine (\(name) \(value))"
        }
        return nil
    }

    /// The words of the process that runs this plugin; none where they cannot be read.
    private static var parentCommandLine: [String] {
        #if os(Linux)
        guard let data = FileManager.default.contents(atPath: "/proc/\(getppid())/cmdline") else { return [] }
        return data.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        #else
        // Unverified: nobody has built for another machine on macOS yet.
        return []
        #endif
    }
}
