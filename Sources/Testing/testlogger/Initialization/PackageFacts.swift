// The facts about a package that the command plugin passes to `swift package testlogger init`.

import TestSupervision

struct PackageFacts {
    struct Target {
        var name: String
        /// The name of the program that the target is built into, or nil for a library.
        var program: String?
        var folder = ""
        var sources: [String] = []
        /// A Boolean value that indicates whether the target depends on InClassTesting directly.
        var hasLibrary = false
        /// A Boolean value that indicates whether the target applies the plugin `InClassTests`.
        var hasPlugin = false
        /// The direct and indirect dependencies of the target.
        var dependencies: Set<String> = []
    }

    var root = ""
    /// The words after `init`.
    var words: [String] = []
    /// The version in the first line of the manifest, such as `5.9.0`.
    var toolsVersion = ""
    /// The name of this package in `.product(name:package:)`.
    var dependency = ""
    /// The last part of the package's path or address.
    var identity = ""
    var hasLibraryProduct = false
    /// The command that runs SwiftPM in a separate build folder.
    var swift: [String] = []
    /// The Swift targets that can be tested, and those that use such a target.
    var targets: [Target] = []
    /// The names and folders of all targets.
    var names: [String] = []
    var folders: [String] = []

    /// Reads lines with a key, a tab and a value. The lines after a target's name belong to the target.
    init(_ text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "\t", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { continue }
            let last = targets.count - 1
            switch parts[0] {
            case "root": root = parts[1]
            case "word": words.append(parts[1])
            case "tools-version": toolsVersion = parts[1]
            case "dependency": dependency = parts[1]
            case "identity": identity = parts[1]
            case "library-product": hasLibraryProduct = true
            case "swift": swift.append(parts[1])
            case "name": names.append(parts[1])
            case "any-folder": folders.append(parts[1])
            case "target": targets.append(Target(name: parts[1]))
            case "program": targets[last].program = parts[1]
            case "folder": targets[last].folder = parts[1]
            case "source": targets[last].sources.append(parts[1])
            case "library": targets[last].hasLibrary = true
            case "plugin": targets[last].hasPlugin = true
            case "uses": targets[last].dependencies.insert(parts[1])
            default: break
            }
        }
    }

    /// The numbers of the tools version.
    var version: [Int] { Self.numbers(toolsVersion[...]) }

    /// Returns the numbers of a version without zeros at the end.
    static func numbers(_ version: Substring) -> [Int] {
        let numbers = version.split(separator: ".").map { Int($0) ?? 0 }
        return Array(numbers[..<((numbers.lastIndex { $0 != 0 } ?? -1) + 1)])
    }

    func isAtLeast(_ version: [Int]) -> Bool { !self.version.lexicographicallyPrecedes(version) }

    var tested: Target? { targets.first { $0.name == "Tested" } }

    /// The targets that may be tested, libraries first.
    var candidates: [Target] {
        let candidates = targets.filter { $0.name != "Tested" || !$0.hasPlugin }
        return candidates.filter { $0.program == nil } + candidates.filter { $0.program != nil }
    }

    /// Returns the targets whose builds test a target: the programs that use it. If there are none, returns a library
    /// that applies the plugin, or else the libraries that no other library uses.
    func users(of target: Target) -> [String] {
        let users = targets.filter { $0.dependencies.contains(target.name) && $0.name != "Tested" }
        let programs = users.filter { $0.program != nil }
        if !programs.isEmpty { return programs.map(\.name) }
        if let user = users.first(where: \.hasPlugin) { return [user.name] }
        return users.filter { user in !users.contains { $0.dependencies.contains(user.name) } }.map(\.name)
    }
}
