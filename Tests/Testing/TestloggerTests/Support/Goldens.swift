// Compares output with the text files in the folder Goldens. With RECORD_GOLDENS=1, a test with a different output
// rewrites its file and fails once, so that the change of the file is reviewed.

import Foundation
import Testing

enum Goldens {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Goldens")
    private static let isRecording = ProcessInfo.processInfo.environment["RECORD_GOLDENS"] == "1"

    /// Expects a text to equal the golden file of this name, byte for byte.
    static func expect(_ text: String, is name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let file = folder.appending(path: "\(name).txt")
        let golden = try? String(contentsOf: file, encoding: .utf8)
        if golden.map({ Array($0.utf8) }) == Array(text.utf8) { return }
        if isRecording {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
            Issue.record("recorded \(file.lastPathComponent); read its difference", sourceLocation: sourceLocation)
        } else {
            Issue.record(
                "\(difference(text, golden ?? ""))\nRECORD_GOLDENS=1 swift test rewrites \(file.lastPathComponent)",
                sourceLocation: sourceLocation)
        }
    }

    /// Returns a command with its output, its error output and its status, as a terminal would show them.
    static func transcript(of result: ProgramResult, as command: String) -> String {
        var text = "$ \(command)\n" + terminated(result.output)
        if !result.errors.isEmpty {
            text += result.errors.split(separator: "\n", omittingEmptySubsequences: false).dropLast(
                result.errors.hasSuffix("\n") ? 1 : 0
            )
            .map { "2> \($0)\n" }.joined()
        }
        return withoutUnstableWords(text + "status \(result.status)\n")
    }

    private static func terminated(_ text: String) -> String {
        text.isEmpty || text.hasSuffix("\n") ? text : text + "\n"
    }

    /// Replaces the parts of a text that depend on the Swift runtime: addresses in its messages and line numbers of its
    /// sources.
    static func withoutUnstableWords(_ text: String) -> String {
        text.replacing(/0x[0-9a-f]{6,16}/, with: "0x…").replacing(/\ Swift\/\w+\.swift:\d+/, with: " Swift/….swift:0")
    }

    /// Returns up to 40 lines that differ, with their line numbers.
    private static func difference(_ text: String, _ golden: String) -> String {
        let got = text.components(separatedBy: "\n")
        let expected = golden.components(separatedBy: "\n")
        let difference = got.difference(from: expected)
        var lines: [String] = []
        for change in difference.prefix(40) {
            switch change {
            case .remove(let offset, let line, _): lines.append("\(offset + 1) missing:    \(line)")
            case .insert(let offset, let line, _): lines.append("\(offset + 1) unexpected: \(line)")
            }
        }
        return lines.joined(separator: "\n")
    }
}
