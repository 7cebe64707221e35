// Tests that editors, Xcode and SwiftPM find each diagnostic at its file, line and column, and nothing else.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct DiagnosticReaderTests {
        let package: FixturePackage

        /// The complete output of testlogger for the failing package, as a build shows it.
        private static let output = Result {
            let package = try SharedPackages.diagnostics.get()
            return try package.testlogger([
                "-vv", "--timeout", "1500", "--test-type", "unit", "--test-type", "hanging", "Expectations", "Hostile",
                "LifeCycle", "Lists", "Quiet", "Speaking",
            ])
        }

        let text: String
        /// The diagnostics in the text, without fix-its.
        let intended: [FoundDiagnostic]
        let fixIts: [FoundDiagnostic]

        init() throws {
            package = try SharedPackages.diagnostics.get()
            // The text contains summaries, outcomes and captured output. `Lists` runs again without selected tests,
            // because a selection makes lists incomplete.
            text = try Self.output.get().output + package.testlogger(["Lists"]).output
            let all = try IntendedDiagnostics(folder: package.folder.path).diagnostics(in: text)
            intended = all.filter { $0.severity != "fixit" }
            fixIts = all.filter { $0.severity == "fixit" }
        }

        /// Expects a reader to find exactly these diagnostics, in this order.
        private func expect(
            _ reader: some DiagnosticReader, toFind expected: [FoundDiagnostic],
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let found = try reader.diagnostics(in: text)
            let differences = found.difference(from: expected).prefix(20).map { change in
                switch change {
                case .insert(_, let diagnostic, _): "found what is none: \(diagnostic)"
                case .remove(_, let diagnostic, _): "did not find \(diagnostic)"
                }
            }
            #expect(differences == [], sourceLocation: sourceLocation)
        }

        @Test func outputContainsEveryKindOfDiagnostic() {
            #expect(Set(intended.map(\.severity)) == ["error", "warning", "note"])
            #expect(intended.count > 200)
            #expect(!fixIts.isEmpty)
            #expect(intended.allSatisfy { $0.line > 0 && $0.column > 0 })
            #expect(text.contains("x.swift:3:1"), "captured output is among what readers see")
        }

        @Test func visualStudioCodeFindsDiagnostics() throws {
            try expect(VisualStudioCode(), toFind: intended)
        }

        @Test func swiftBuildFindsDiagnostics() throws {
            try expect(
                SwiftBuildScraper(), toFind: IntendedDiagnostics(folder: package.folder.path).diagnostics(in: text))
        }

        @Test func vimFormatsFindDiagnostics() throws {
            let all = try IntendedDiagnostics(folder: package.folder.path).diagnostics(in: text)
            try expect(
                VimFormats(),
                toFind: all.map { FoundDiagnostic(path: $0.path, line: $0.line, column: $0.column, severity: "") })
        }

        @Test func emacsPatternFindsDiagnostics() throws {
            try expect(EmacsGNU(), toFind: inEmacs)
        }

        /// The diagnostics as Emacs reads them. Emacs doesn't know fix-its and reads them as errors, at the correct
        /// location.
        private var inEmacs: [FoundDiagnostic] {
            get throws {
                try IntendedDiagnostics(folder: package.folder.path).diagnostics(in: text).map { diagnostic in
                    var diagnostic = diagnostic
                    if diagnostic.severity == "fixit" { diagnostic.severity = "error" }
                    return diagnostic
                }
            }
        }

        @Test(.enabled(if: Vim.path != nil, "vim is not installed"))
        func vimFindsDiagnostics() throws {
            let all = try IntendedDiagnostics(folder: package.folder.path).diagnostics(in: text)
            try expect(
                Vim(folder: package.folder),
                toFind: all.map { FoundDiagnostic(path: $0.path, line: $0.line, column: $0.column, severity: "") })
        }

        @Test(.enabled(if: Vim.path != nil, "vim is not installed"))
        func vimFindsSeverities() throws {
            try expect(
                Vim(folder: package.folder, format: #"%f:%l:%c:\ %t%*[a-z]:\ %m"#),
                toFind: IntendedDiagnostics(folder: package.folder.path).diagnostics(in: text))
        }

        @Test(.enabled(if: Emacs.path != nil, "emacs is not installed"))
        func emacsFindsDiagnostics() throws {
            try expect(Emacs(folder: package.folder), toFind: inEmacs)
        }
    }
}
