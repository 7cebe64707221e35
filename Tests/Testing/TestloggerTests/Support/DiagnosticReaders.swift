// Reimplements how other programs read a build's output: VS Code's problem matcher, Swift Build's scraper (Xcode),
// Vim's default 'errorformat' and Emacs' compilation mode. Each program must find all diagnostics and nothing else.
// Where Vim and Emacs are installed, tests also run the real programs.

import Foundation

/// A diagnostic that a reader found in a build's output.
struct FoundDiagnostic: Hashable, Comparable, CustomStringConvertible {
    var path: String
    var line: Int
    var column: Int
    var severity: String

    var description: String { "\(path):\(line):\(column): \(severity)" }
    static func < (one: Self, other: Self) -> Bool { one.description < other.description }
}

/// A regular expression with numbered groups.
private struct Pattern {
    private let expression: NSRegularExpression

    init(_ text: String) throws { expression = try NSRegularExpression(pattern: text) }

    /// Returns the texts of a match's groups, or nil if the line doesn't match. The text of a group that took no part
    /// is empty.
    func groups(in line: String) -> [String]? {
        let range = NSRange(line.startIndex..., in: line)
        guard let match = expression.firstMatch(in: line, range: range) else { return nil }
        return (0..<match.numberOfRanges).map { Range(match.range(at: $0), in: line).map { String(line[$0]) } ?? "" }
    }
}

/// A reader of the diagnostics in a build's output.
protocol DiagnosticReader {
    func diagnostics(in text: String) throws -> [FoundDiagnostic]
}

/// A reader that parses each line separately.
protocol LineReader: DiagnosticReader {
    func diagnostic(in line: String) -> FoundDiagnostic?
}

extension LineReader {
    func diagnostics(in text: String) throws -> [FoundDiagnostic] {
        text.split(separator: "\n").compactMap { diagnostic(in: String($0)) }
    }
}

/// A reader of the intended diagnostics: lines that begin with the path of a source in the package, a line and a
/// column.
struct IntendedDiagnostics: LineReader {
    let folder: String

    func diagnostic(in line: String) -> FoundDiagnostic? {
        guard line.hasPrefix(folder + "/"), let end = line.firstRange(of: ".swift:") else { return nil }
        let parts = line[end.upperBound...].split(separator: ":", maxSplits: 3)
        guard parts.count == 4, let number = Int(parts[0]), let column = Int(parts[1]) else { return nil }
        let path = String(line[..<end.lowerBound]) + ".swift"
        return FoundDiagnostic(
            path: path, line: number, column: column, severity: parts[2].trimmingCharacters(in: .whitespaces))
    }
}

/// The problem matcher of vscode-swift's package.json, after the prefix that its DiagnosticsManager allows.
struct VisualStudioCode: LineReader {
    private let pattern = Result {
        try Pattern(#"^(?:[`\-\s]*)(.*?):(\d+)(?::(\d+))?:\s+(warning|error|note):\s+(.*)$"#)
    }

    func diagnostics(in text: String) throws -> [FoundDiagnostic] {
        // vscode-swift stops reading at the message that ends the build.
        let end = text.firstRange(of: "\nBuild complete!")?.lowerBound ?? text.endIndex
        return text[..<end].split(separator: "\n").compactMap { diagnostic(in: String($0)) }
    }

    func diagnostic(in line: String) -> FoundDiagnostic? {
        guard let groups = try? pattern.get().groups(in: line), let number = Int(groups[2]) else { return nil }
        // Without a column, the editor doesn't jump to the location.
        return FoundDiagnostic(path: groups[1], line: number, column: Int(groups[3]) ?? 0, severity: groups[4])
    }
}

/// Swift Build's ShellScriptOutputParser, whose results Xcode shows. It finds a severity first, then the location
/// before it.
struct SwiftBuildScraper: LineReader {
    private let message = Result {
        try Pattern(#"^([^'"]+: +|[ \t\f\p{Z}]*)(error|warning|note|notice|fixit|testlogger): (.*)$"#)
    }
    private let location = Result { try Pattern(#"^([^:]+):(?:([0-9]+):)?(?:([0-9]+):)? +$"#) }

    func diagnostic(in line: String) -> FoundDiagnostic? {
        guard let groups = try? message.get().groups(in: line) else { return nil }
        guard let place = try? location.get().groups(in: groups[1]) else {
            return FoundDiagnostic(path: "", line: 0, column: 0, severity: groups[2])
        }
        return FoundDiagnostic(
            path: place[1], line: Int(place[2]) ?? 0, column: Int(place[3]) ?? 0, severity: groups[2])
    }
}

/// Vim's default 'errorformat'. The first format that matches determines the location. The formats don't contain a
/// severity.
struct VimFormats: LineReader {
    private let formats = Result {
        try [
            #"^[^"]+"(?<f>.+?)"\D+(?<l>\d+): .+$"#, #"^"(?<f>.+?)"\D+(?<l>\d+): .+$"#,
            #"^(?<f>.+?):(?<l>\d+):(?<c>\d+):.*$"#,
            #"^(?<f>.+?)\((?<l>\d+)\):.*$"#, #"^(?<f>.+?):(?<l>\d+):.*$"#,
            #"^"(?<f>.+?)", line (?<l>\d+)\D+(?<c>\d+)[^ ]+ .*$"#,
            #"^(?<f>.+?)\|(?<l>\d+)\| .*$"#,
        ].map { try Pattern($0) }
    }

    func diagnostic(in line: String) -> FoundDiagnostic? {
        for format in (try? formats.get()) ?? [] {
            guard let groups = format.groups(in: line), let number = Int(groups[2]) else { continue }
            return FoundDiagnostic(
                path: groups[1], line: number, column: groups.count > 3 ? Int(groups[3]) ?? 0 : 0, severity: "")
        }
        return nil
    }
}

/// The `gnu` entry of Emacs' compilation-error-regexp-alist-alist.
struct EmacsGNU: LineReader {
    private let pattern = Result {
        try Pattern(
            #"^(?:[A-Za-z][-A-Za-z0-9.]+: ?|[ \t]+(?:in |from))?([0-9]*[^0-9\n](?:[^\n :]| [^-/\n]|:[^ \n])*?): ?"#
                + #"([0-9]+)(?:-[0-9]+(?:\.[0-9]+)?|[.:]([0-9]+)(?:-(?:[0-9]+\.)?[0-9]+)?)?:"#
                + #"(?: *(Warning|warning|W:)| *([Ii]nfo\b|I:|[Nn]ote)| *[Ee]rror|[0-9]?(?:[^0-9\n]|$)|[0-9]{3})"#)
    }

    func diagnostic(in line: String) -> FoundDiagnostic? {
        guard let groups = try? pattern.get().groups(in: line), let number = Int(groups[2]) else { return nil }
        let severity = !groups[4].isEmpty ? "warning" : !groups[5].isEmpty ? "note" : "error"
        return FoundDiagnostic(path: groups[1], line: number, column: Int(groups[3]) ?? 0, severity: severity)
    }
}

// MARK: - The programs themselves

/// The installed Vim without user settings.
struct Vim: DiagnosticReader {
    let folder: URL
    /// An 'errorformat', or nil for the default one.
    var format: String?

    static var path: String? { RunningPrograms.path(of: "vim") }

    func diagnostics(in text: String) throws -> [FoundDiagnostic] {
        let input = folder.appending(path: "vim-input.txt")
        let output = folder.appending(path: "vim-output.txt")
        try Data(text.utf8).write(to: input)
        let script = folder.appending(path: "read.vim")
        var commands = ["set encoding=utf-8 fileencodings=utf-8"]
        if let format { commands.append("set errorformat=\(format)") }
        commands += [
            "silent! cgetfile \(input.path)", "let found = []",
            "for entry in getqflist()",
            "  if entry.valid | call add(found, entry.lnum . ' ' . entry.col . ' ' . entry.type . '.' . bufname(entry.bufnr)) | endif",
            "endfor", "call writefile(found, '\(output.path)')", "qall!",
        ]
        try Data((commands.joined(separator: "\n") + "\n").utf8).write(to: script)
        let result = try RunningPrograms.run(
            ["vim", "-es", "-u", "NONE", "-i", "NONE", "-n", "-S", script.path], in: folder,
            environment: ["LC_ALL": "C.UTF-8"],
            timeLimit: .seconds(120))
        guard let lines = try? String(contentsOf: output, encoding: .utf8) else {
            throw ProgramError(description: "vim wrote no result: \(result)")
        }
        let severities = ["e": "error", "w": "warning", "n": "note", "f": "fixit"]
        return lines.split(separator: "\n").map { line in
            let parts = line.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            let words = parts[0].split(separator: " ")
            let path = parts.count > 1 ? String(parts[1]) : ""
            return FoundDiagnostic(
                path: path.hasPrefix("/") ? path : folder.appending(path: path).path, line: Int(words[0]) ?? 0,
                column: Int(words[1]) ?? 0,
                severity: words.count > 2 ? severities[words[2].lowercased()] ?? String(words[2]) : "")
        }
    }
}

/// The compilation mode of the installed Emacs without user settings.
struct Emacs: DiagnosticReader {
    let folder: URL

    static var path: String? { RunningPrograms.path(of: "emacs") }

    func diagnostics(in text: String) throws -> [FoundDiagnostic] {
        let input = folder.appending(path: "emacs-input.txt")
        try Data(text.utf8).write(to: input)
        let script = folder.appending(path: "read.el")
        try Data(Self.program.utf8).write(to: script)
        let result = try RunningPrograms.run(
            ["emacs", "--batch", "-Q", "-l", script.path, input.path], in: folder, environment: ["LC_ALL": "C.UTF-8"],
            timeLimit: .seconds(120))
        guard result.status == 0 else { throw ProgramError(description: "emacs failed: \(result)") }
        let severities = ["0": "note", "1": "warning", "2": "error"]
        return result.output.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            guard words.count == 4, let number = Int(words[0]), let column = Int(words[1]) else { return nil }
            return FoundDiagnostic(
                path: words[3], line: number, column: column, severity: severities[words[2]] ?? words[2])
        }
    }

    /// A program that prints the line, column, type and file of each location that compilation mode finds. It ignores
    /// messages without a line, which appear when a build changes its folder.
    private static let program = """
        (require 'compile)
        (find-file (car command-line-args-left))
        (setq command-line-args-left nil)
        (compilation-mode)
        (compilation--ensure-parse (point-max))
        (let ((position (point-min)) (last nil))
          (while (< position (point-max))
            (let ((message (get-text-property position 'compilation-message)))
              (when (and message (not (eq message last)) (compilation--loc->line (compilation--message->loc message)))
                (let* ((loc (compilation--message->loc message))
                       (file (compilation--loc->file-struct loc)))
                  (princ (format "%s %s %s %s\\n" (or (compilation--loc->line loc) 0) (or (compilation--loc->col loc) 0)
                                 (compilation--message->type message) (caar file)))))
              (setq last message))
            (setq position (next-single-property-change position 'compilation-message nil (point-max)))))

        """
}
