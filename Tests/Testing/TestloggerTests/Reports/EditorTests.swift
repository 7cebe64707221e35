// Applies the settings in the article on editors to the output of a failed run. A script named `swift` prints this
// output.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct EditorTests {
        /// Returns the only block of a language in the article.
        private static func block(_ language: String) throws -> String {
            try Article.named("Editors.md").block(language)
        }

        private static let output = Result {
            try SharedPackages.diagnostics.get().testlogger(["-v", "Expectations", "Lists", "Speaking"]).output
        }

        private let package: FixturePackage
        private let text: String
        private let intended: [FoundDiagnostic]
        /// A folder with a script `swift`, which prints the output of a failed run and records its arguments.
        private let programs: URL

        init() throws {
            package = try SharedPackages.diagnostics.get()
            text = try Self.output.get()
            intended = try IntendedDiagnostics(folder: package.folder.path).diagnostics(in: text)
                .filter { $0.severity != "fixit" }
            try #require(intended.count > 50)
            programs = Fixtures.folder.appending(path: "editors' programs")
            try FileManager.default.createDirectory(at: programs, withIntermediateDirectories: true)
            // Leave out fix-its, because not all editors can read them.
            let shown = text.split(separator: "\n").filter { !$0.contains(": fixit: ") }.joined(separator: "\n")
            try Data((shown + "\n").utf8).write(to: programs.appending(path: "run.txt"))
            try program("swift", "echo \"$@\" > \"$here/arguments\"; cat \"$here/run.txt\"; exit 1")
        }

        private func program(_ name: String, _ words: String) throws {
            try RunningPrograms.writeScript(
                "#!/bin/sh\nhere=$(dirname \"$0\")\n\(words)\n", to: programs.appending(path: name))
        }

        private func arguments() throws -> String {
            try String(contentsOf: programs.appending(path: "arguments"), encoding: .utf8)
        }

        private var environment: [String: String] {
            ["PATH": "\(programs.path):\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")"]
        }

        // MARK: VS Code

        private struct Tasks: Decodable {
            struct Task: Decodable {
                struct Matcher: Decodable {
                    struct Pattern: Decodable {
                        var regexp: String
                        var file, line, column, severity, message: Int
                    }
                    var fileLocation: [String]
                    var pattern: Pattern
                }
                var command: String
                var problemMatcher: Matcher
            }
            var tasks: [Task]
        }

        @Test func visualStudioCodeTasksFindDiagnostics() throws {
            let tasks = try JSONDecoder().decode(Tasks.self, from: Data(Self.block("json").utf8)).tasks
            #expect(
                tasks.map(\.command)
                    == ["swift build", "swift package testlogger '${relativeFile}:${lineNumber}'"])
            for task in tasks {
                let pattern = task.problemMatcher.pattern
                let expression = try NSRegularExpression(pattern: pattern.regexp)
                let found = text.split(separator: "\n").map(String.init).compactMap { line -> FoundDiagnostic? in
                    guard let match = expression.firstMatch(in: line, range: NSRange(line.startIndex..., in: line))
                    else { return nil }
                    func group(_ number: Int) -> String {
                        Range(match.range(at: number), in: line).map { String(line[$0]) } ?? ""
                    }
                    #expect(!group(pattern.message).isEmpty)
                    return FoundDiagnostic(
                        path: group(pattern.file), line: Int(group(pattern.line)) ?? 0,
                        column: Int(group(pattern.column)) ?? 0, severity: group(pattern.severity))
                }
                #expect(found == intended)
            }
        }

        // MARK: Xcode

        /// The build doesn't receive Xcode's variables.
        @Test func xcodeScriptPrintsDiagnostics() throws {
            try program(
                "xcrun", "env > \"$here/variables\"; [ \"$1 $2\" = '--sdk macosx' ] || exit 9; shift 2; exec \"$@\"")
            var variables = environment
            variables["SDKROOT"] = "/iPhone.sdk"
            variables["SRCROOT"] = package.folder.path
            variables["XCODE_VERSION_ACTUAL"] = "2600"
            let result = try RunningPrograms.run(
                ["sh", "-e", "-c", Self.block("sh")], in: Fixtures.folder, environment: variables)
            #expect(result.status == 1, "\(result)")
            #expect(try arguments() == "build --package-path \(package.folder.path)\n")
            let found = try SwiftBuildScraper().diagnostics(in: result.output)
            #expect(found == intended)
            let seen = try String(contentsOf: programs.appending(path: "variables"), encoding: .utf8)
            #expect(seen.contains("XCODE_VERSION_ACTUAL=2600\n") && !seen.contains("SDKROOT"), "\(seen)")
        }

        // MARK: Vim and Neovim

        /// Runs Vim with these settings and this command, and returns the locations in its quickfix list.
        private func places(_ settings: String, after command: String) throws -> [FoundDiagnostic] {
            let script = programs.appending(path: "settings.vim")
            let list = programs.appending(path: "places.txt")
            try? FileManager.default.removeItem(at: list)
            let lines = [
                settings, "silent! \(command)", "let found = []", "for entry in getqflist()",
                "  if entry.valid | call add(found, json_encode([bufname(entry.bufnr), entry.lnum, entry.col, entry.type])) | endif",
                "endfor", "call writefile(found, '\(list.path.replacing("'", with: "''"))')", "qall!",
            ]
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: script)
            let result = try RunningPrograms.run(
                ["vim", "-es", "-u", "NONE", "-i", "NONE", "-n", "-N", "-S", script.path, "Sources/Lists/Lists.swift"],
                in: package.folder, environment: environment.merging(["LC_ALL": "C.UTF-8"]) { $1 },
                timeLimit: .seconds(120))
            guard let text = try? String(contentsOf: list, encoding: .utf8) else {
                throw ProgramError(description: "vim wrote no list: \(result)")
            }
            let severities = ["e": "error", "w": "warning", "n": "note"]
            return try text.split(separator: "\n").map { line in
                let parts = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [Any])
                let path = parts[0] as? String ?? ""
                return FoundDiagnostic(
                    path: path.hasPrefix("/") ? path : package.file(path).path, line: parts[1] as? Int ?? 0,
                    column: parts[2] as? Int ?? 0, severity: severities[(parts[3] as? String ?? "").lowercased()] ?? "")
            }
        }

        @Test(.enabled(if: Vim.path != nil, "vim is not installed"))
        func vimSettingsFindDiagnostics() throws {
            let settings = try Self.block("vim")
            #expect(try places(settings, after: "make") == intended)
            #expect(try arguments() == "build\n")
            #expect(try places(settings, after: "call cursor(12, 1) | InClassTest") == intended)
            #expect(try arguments() == "package testlogger Sources/Lists/Lists.swift:12\n")
        }

        /// Tests Neovim's settings in Vim, written in Vim's syntax. The command is the same in both.
        @Test(.enabled(if: Vim.path != nil, "vim is not installed"))
        func neovimSettingsFindDiagnostics() throws {
            let block = try Self.block("lua")
            let options = block.matches(of: /vim\.opt\.(\w+) = "([^"]*)"/).map { (String($0.1), String($0.2)) }
            #expect(options.map(\.0) == ["makeprg", "errorformat"])
            let command = try #require(
                block.firstMatch(of: /nvim_create_autocmd\("(\w+)", \{ pattern = "(\w+)", command = "(\w+)" \}\)/))
            let settings =
                options.map { "let &\($0.0) = '\($0.1)'" } + ["autocmd \(command.1) \(command.2) \(command.3)"]
            #expect(try places(settings.joined(separator: "\n"), after: "make") == intended)
            #expect(try arguments() == "build\n")
        }

        // MARK: Emacs

        @Test(.enabled(if: Emacs.path != nil, "emacs is not installed"))
        func emacsSettingsFindDiagnostics() throws {
            let folder = Fixtures.folder.appending(path: "of Emacs")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data(Self.block("elisp").utf8).write(to: folder.appending(path: ".dir-locals.el"))
            try Data("// A source.\n".utf8).write(to: folder.appending(path: "a.swift"))
            let result = try RunningPrograms.run(
                [
                    "emacs", "--batch", "-Q", "--eval", "(setq enable-local-variables :all)", "--eval",
                    "(progn (require 'compile) (find-file \"a.swift\") (hack-local-variables)"
                        + " (princ (shell-command-to-string compile-command)))",
                ], in: folder, environment: environment.merging(["LC_ALL": "C.UTF-8"]) { $1 }, timeLimit: .seconds(120))
            #expect(try arguments() == "build\n", "\(result)")
            #expect(try Emacs(folder: folder).diagnostics(in: result.output) == intended)
        }
    }
}
