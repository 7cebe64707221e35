// Reads the command line of the SwiftPM process that runs this plugin, for facts that SwiftPM doesn't pass to plugins. The
// build may be for another machine, whose objects are in a folder that plugins can't find. Or it may create no objects at
// all, for an editor's index. Arguments for a program that SwiftPM runs are ignored.

import Foundation

struct SwiftPMCommand {
    /// The arguments for SwiftPM itself.
    private let words: [String]

    /// Reads the command line of the process that runs this plugin. All arguments are ignored if the process isn't SwiftPM.
    ///
    /// - Parameter programs: The names of the programs that `swift run` can run. The arguments after such a name are not for
    ///   SwiftPM.
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
            // The word after an option may be its value or the program. Only the name can distinguish them.
            let isFree = !word.hasPrefix("-") && !isValue
            let mayBeValue = previous.hasPrefix("-") && !previous.contains("=") && !programs.contains(word)
            if hasPassengers, word == "--" || isFree && !mayBeValue { break }
            // The next word is for a compiler or is a path.
            isValue = word.hasPrefix("-X") || word.hasPrefix("--") && word.hasSuffix("-path")
            if !previous.hasPrefix("-X") { own.append(word) }
            previous = word
        }
        words = own
    }

    /// A Boolean value that indicates whether the build creates no objects, because an editor needs only the modules.
    var isForIndex: Bool { words.contains("--experimental-prepare-for-indexing") }

    /// A Boolean value that indicates whether the compiler creates bitcode instead of objects.
    var leavesBitcode: Bool { words.contains { $0.hasPrefix("--experimental-lto-mode") } }

    /// Returns the option that selects another machine than the one with this triple, or nil.
    func otherMachine(than host: String) -> String? {
        for (index, word) in words.enumerated() {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard let name = parts.first, Self.machineOptions.contains(name) else { continue }
            let value = parts.count == 2 ? parts[1] : index + 1 < words.count ? words[index + 1] : ""
            // The option may also name the host itself.
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
