// What is another thing for the plugins on macOS and in Xcode, told without SwiftPM, so that it can be tested on any system.
//
// Sources: swift-package-manager's Basics/Sandbox.swift (on macOS a plugin, and each program that it starts, may write to its
// own folder and to temporary ones; `deny default` takes the network, and signals to other processes, too),
// Commands/PackageCommands/PluginCommand.swift (the options that allow more), `KERN_PROCARGS2` as `getproclline` of Apple's ps
// reads it; for Xcode what it tells build tool plugins of a tool that it builds: `${BUILD_DIR}/${CONFIGURATION}/NAME`, which it
// writes out in a command's words, and nowhere else.

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

    /// Returns whether a folder of products is named in Xcode's variables, whose values a plugin is not told.
    static func isPlaceholder(_ products: String) -> Bool { products.contains("${") }

    /// Returns whether a folder of products is that of Swift Build, as it is in Xcode.
    static func isSwiftBuild(products: String) -> Bool {
        isPlaceholder(products) || URL(filePath: products).deletingLastPathComponent().lastPathComponent == "Products"
    }

    /// A name for the configuration that a folder of products is of: `debug`, `release`, `Debug-linux` …
    static func configuration(products: String) -> String {
        isPlaceholder(products) ? "Xcode" : URL(filePath: products).lastPathComponent
    }

    // MARK: Binary targets

    /// Returns whether a variant of a library that supports these triples is one for a machine.
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

    /// The words of that process; none where they cannot be read.
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

    /// Reads what macOS says of a process: how many arguments it has, in four bytes; its path, with NULs behind it; its
    /// arguments and then its environment, with a NUL behind each.
    static func words(ofProcess bytes: [UInt8]) -> [String] {
        guard bytes.count >= 4 else { return [] }
        let count = (0..<4).reduce(0) { $0 | Int(bytes[$1]) << ($1 * 8) }
        let rest = bytes[4...].drop { $0 != 0 }.drop { $0 == 0 }
        let words = rest.split(
            separator: 0, maxSplits: max(0, min(count, rest.count)), omittingEmptySubsequences: false)
        return words.prefix(count).map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Locks

    /// Takes the lock of a file, which it creates, waiting for another process to release it.
    ///
    /// - Returns: The descriptor that holds the lock, or -1 where there is none to take.
    static func lock(_ file: URL) -> Int32 {
        try? FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let descriptor = open(file.path(percentEncoded: false), O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        while descriptor >= 0, flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
        return descriptor
    }

    /// Releases a lock, once.
    static func unlock(_ descriptor: inout Int32) {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    // MARK: Permissions

    /// The places that a command is asked to write to outside the build's folder, as the files' or folders' paths.
    static func written(by options: [String], package: String) -> [String] {
        var places: [String] = []
        for (index, option) in options.enumerated() {
            let parts = option.split(separator: "=", maxSplits: 1).map(String.init)
            switch parts.first {
            case "--accept": places.append(package)
            case "--junit", "--json":
                guard let path = parts.count == 2 ? parts[1] : options.dropFirst(index + 1).first else { continue }
                let file = URL(filePath: path, relativeTo: URL(filePath: package, directoryHint: .isDirectory))
                places.append(file.deletingLastPathComponent().standardizedFileURL.path(percentEncoded: false))
            default: continue
            }
        }
        return places.map { $0.count > 1 && $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
    }

    /// What to say when SwiftPM does not let a plugin write to a place, with the command that it lets.
    static func advice(for place: String, package: String, command: [String]) -> String {
        let isInside = place == package || place.hasPrefix("\(package)/")
        let option =
            isInside ? ["--allow-writing-to-package-directory"] : ["--allow-writing-to-directory", quoted(place)]
        let words = ["swift", "package"] + option + ["testlogger"] + command.map(quoted)
        return "SwiftPM lets a plugin write to \(place) only when it is told to: \(words.joined(separator: " "))"
    }

    /// A word as a shell takes it.
    static func quoted(_ word: String) -> String {
        word.contains { " '\"*?$&|;<>()[]\\".contains($0) } ? "'\(word.replacing("'", with: "'\\''"))'" : word
    }

    /// Returns whether this process can make files in a folder: a sandbox says so of none that it was not told of.
    static func canWrite(to folder: String) -> Bool {
        let path = "\(folder)/.testlogger-\(getpid())"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return unlink(path) == 0
    }
}
