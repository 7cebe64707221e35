// A file system of a few kibibytes, used for full and read-only disks.

import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A separate small file system, which only root can mount.
final class SmallDisk {
    let url: URL

    static let isAvailable: Bool = {
        guard getuid() == 0, let disk = try? SmallDisk(kibibytes: 64) else {
            // Print a message because skipped tests are easy to overlook.
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

    private static func run(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.fileWriteNoPermission) }
    }
}
