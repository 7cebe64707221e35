// What the SwiftPM that runs this plugin was asked for, where a plugin is told nothing of it: whether the build is for
// another machine, whose objects lie where no plugin knows, or makes no objects at all, for an editor's index. Read from
// SwiftPM's own command line, and only from those of its words that are not meant for a program that it runs.

import Foundation

struct SwiftPMCommand {
    /// The words that are SwiftPM's own.
    private let words: [String]

    /// Reads the command line of the process that runs this plugin; no word of it counts unless that is SwiftPM.
    ///
    /// - Parameter programs: the names of what `swift run` can run: what follows such a name is not SwiftPM's.
    init(programs: Set<String>) { self.init(PluginSystem.parentWords, programs: programs) }

    init(_ commandLine: [String], programs: Set<String>) {
        let command = commandLine.first.map { URL(filePath: $0).lastPathComponent } ?? ""
        guard ["swift-build", "swift-run", "swift-test", "swift-package"].contains(command) else {
            words = []
            return
        }
        let hasPassengers = command == "swift-run" || command == "swift-package"
        var own: [String] = []
        var previous = ""
        var isValue = false
        for word in commandLine.dropFirst() {
            // The word behind an option may be its value or the program, which only the name can tell.
            let isFree = !word.hasPrefix("-") && !isValue
            let mayBeValue = previous.hasPrefix("-") && !previous.contains("=") && !programs.contains(word)
            if hasPassengers, word == "--" || isFree && !mayBeValue { break }
            // What follows is for a compiler or is a path.
            isValue = word.hasPrefix("-X") || word.hasPrefix("--") && word.hasSuffix("-path")
            if !previous.hasPrefix("-X") { own.append(word) }
            previous = word
        }
        words = own
    }

    /// A Boolean value that indicates whether nothing is compiled to objects: an editor asks for the modules alone.
    var isForIndex: Bool { words.contains("--experimental-prepare-for-indexing") }

    /// A Boolean value that indicates whether the compiler leaves bitcode in place of objects.
    var leavesBitcode: Bool { words.contains { $0.hasPrefix("--experimental-lto-mode") } }

    /// The option by which a build is for another machine than the one with this triple, or nil.
    func otherMachine(than host: String) -> String? {
        for (index, word) in words.enumerated() {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard let name = parts.first, Self.machineOptions.contains(name) else { continue }
            let value = parts.count == 2 ? parts[1] : index + 1 < words.count ? words[index + 1] : ""
            // The host itself may be named, too.
            if name == "--triple" ? host == value : name == "--arch" && Self.architecture(of: host) == value {
                continue
            }
            return "\(name) \(value)"
        }
        return nil
    }

    private static let machineOptions: Set<String> = [
        "--swift-sdk", "--experimental-swift-sdk", "--triple", "--arch", "--destination", "--experimental-destination",
    ]

    private static func architecture(of triple: String) -> String {
        triple.split(separator: "-").first.map(String.init) ?? ""
    }
}
