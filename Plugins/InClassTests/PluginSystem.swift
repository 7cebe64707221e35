// Contains the code of the plugins that differs on macOS and in Xcode. It doesn't use SwiftPM's types, so tests can run it
// on any system.
//
// Sources:
// - `getproclline` of Apple's ps: how to read `KERN_PROCARGS2`.
// - Xcode passes the path `${BUILD_DIR}/${CONFIGURATION}/NAME` to build tool plugins for a tool that it builds. It replaces
//   these variables only in the arguments of a command.

import Foundation
#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum PluginSystem {
    #if canImport(Darwin)
    static let isMacOS = true
    #else
    static let isMacOS = false
    #endif

    // MARK: Where a build puts things

    /// Returns whether a folder of products contains Xcode's variables. Plugins don't receive their values.
    static func isPlaceholder(_ products: String) -> Bool { products.contains("${") }

    /// Returns whether a folder of products belongs to Swift Build, as in Xcode.
    static func isSwiftBuild(products: String) -> Bool {
        isPlaceholder(products) || URL(filePath: products).deletingLastPathComponent().lastPathComponent == "Products"
    }

    /// Returns the name of the configuration of a folder of products: `debug`, `release`, `Debug-linux` …
    static func configuration(products: String) -> String {
        isPlaceholder(products) ? "Xcode" : URL(filePath: products).lastPathComponent
    }

    // MARK: Binary targets

    /// Returns whether a library variant with these triples supports a machine.
    static func supports(_ triples: [String], isMacOS: Bool = isMacOS, isARM: Bool = isARM) -> Bool {
        let architectures = isARM ? ["aarch64", "arm64"] : ["x86_64"]
        let system = isMacOS ? "apple-macos" : "linux-gnu"
        return triples.contains { triple in
            triple.contains(system) && architectures.contains { triple.hasPrefix("\($0)-") }
        }
    }

    #if arch(arm64)
    static let isARM = true
    #else
    static let isARM = false
    #endif

    // MARK: The process that runs a plugin

    /// The arguments of the process that runs the plugin, or an empty array if they can't be read.
    static var parentWords: [String] {
        #if canImport(Darwin)
        var name = [CTL_KERN, KERN_PROCARGS2, getppid()]
        var count = 0
        guard sysctl(&name, 3, nil, &count, nil, 0) == 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: count)
        guard sysctl(&name, 3, &bytes, &count, nil, 0) == 0 else { return [] }
        return words(ofProcess: Array(bytes.prefix(count)))
        #else
        guard let data = FileManager.default.contents(atPath: "/proc/\(getppid())/cmdline") else { return [] }
        return data.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        #endif
    }

    /// Parses macOS's information about a process: the number of arguments in four bytes, the path followed by NULs, then
    /// the arguments and the environment, each followed by a NUL.
    static func words(ofProcess bytes: [UInt8]) -> [String] {
        guard bytes.count >= 4 else { return [] }
        let count = (0..<4).reduce(0) { $0 | Int(bytes[$1]) << ($1 * 8) }
        let rest = bytes[4...].drop { $0 != 0 }.drop { $0 == 0 }
        let words = rest.split(
            separator: 0, maxSplits: max(0, min(count, rest.count)), omittingEmptySubsequences: false)
        return words.prefix(count).map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Locks

    /// Locks a file, which is created if necessary, and waits for another process to release the lock.
    ///
    /// - Returns: The descriptor that holds the lock, or -1 if the file can't be opened.
    static func lock(_ file: URL) -> Int32 {
        try? FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let descriptor = open(file.path(percentEncoded: false), O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        while descriptor >= 0, flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
        return descriptor
    }

    /// Releases a lock. Further calls have no effect.
    static func unlock(_ descriptor: inout Int32) {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    // MARK: Commands

    /// Returns a word with the quotes that a shell needs.
    static func quoted(_ word: String) -> String {
        word.contains { " '\"*?$&|;<>()[]\\".contains($0) } ? "'\(word.replacing("'", with: "'\\''"))'" : word
    }
}
