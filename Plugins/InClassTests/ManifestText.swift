// Reads facts from a package's manifest that SwiftPM doesn't pass to plugins: the position of a target's declaration, and
// the target's plugins.

import Foundation

struct ManifestText {
    let path: String
    private let text: String

    init(folder: URL) {
        let url = folder.appending(path: "Package.swift")
        path = url.path
        text = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
    }

    /// Returns the position of a target's declaration in the compiler's form, or the beginning of the file.
    func place(of target: String) -> String {
        let before = text[..<(declaration(of: target)?.startIndex ?? text.startIndex)]
        let lines = before.split(separator: "\n", omittingEmptySubsequences: false)
        return "\(path):\(max(1, lines.count)):\((lines.last?.utf8.count ?? 0) + 1)"
    }

    /// Returns whether a target may have the plugin. The result is false only if the declaration can be read and doesn't
    /// name the plugin.
    func mayHavePlugin(_ target: String) -> Bool {
        guard let declaration = declaration(of: target) else { return true }
        guard let plugins = declaration.firstRange(of: /\bplugins\s*:/) else { return false }
        let list = declaration[plugins.lowerBound...]
        // A constant instead of a literal may contain the plugin.
        return list.contains("InClassTests") || list.contains(/(?:[\[,]|plugins\s*:)\s*[A-Za-z_]/)
    }

    /// Returns the text from the dot of `.target(name: "…"` to its closing parenthesis.
    private func declaration(of target: String) -> Substring? {
        let name = NSRegularExpression.escapedPattern(for: target)
        guard
            let start = try? Regex(
                #"\.(?:target|executableTarget|testTarget|macro)\s*\(\s*name\s*:\s*""# + name + "\"")
        else { return nil }
        return text.ranges(of: start).lazy.map { parenthesized(from: $0.lowerBound) }.first {
            // A dependency on the target begins in the same way, but has at most a condition after the name.
            $0.contains(/"\s*,\s*\w+\s*:/) && $0.prefixMatch(of: /\.target\([^,]*,\s*condition\s*:/) == nil
        }
    }

    /// Returns the text up to the parenthesis that closes the first parenthesis.
    private func parenthesized(from start: String.Index) -> Substring {
        var depth = 0
        var isString = false
        var previous: Character = " "
        for index in text[start...].indices {
            let character = text[index]
            if character == "\"", previous != "\\" { isString.toggle() }
            previous = character
            if isString { continue }
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            if depth == 0, character == ")" { return text[start...index] }
        }
        return text[start...]
    }
}
