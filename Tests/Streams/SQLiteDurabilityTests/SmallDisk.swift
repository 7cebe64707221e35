// A file system of a few kibibytes, to be full or read-only.

import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A small file system of its own, which only root can have.
final class SmallDisk {
    let url: URL

    static let isAvailable: Bool = {
        guard getuid() == 0, let disk = try? SmallDisk(kibibytes: 64) else {
            // Skips are easily overlooked: say it where the run is read.
            print("SKIPPED: a full disk and a read-only file system, since this process cannot mount one")
            return false
        }
        return FileManager.default.fileExists(atPath: disk.url.path)
    }()

    init(kibibytes: Int) throws {
        url = FileManager.default.temporaryDirectory.appending(path: "disk-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try Self.run(["mount", "-t", "tmpfs", "-o", "size=\(kibibytes)k", "tmpfs", url.path])
    }

    deinit {
        try? Self.run(["umount", url.path])
        try? FileManager.default.removeItem(at: url)
    }

    func makeReadOnly() throws { try Self.run(["mount", "-o", "remount,ro", url.path]) }

    func path(_ name: String) -> String { url.appending(path: name).path }

    private static func run(_ words: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.fileWriteNoPermission) }
    }
}
