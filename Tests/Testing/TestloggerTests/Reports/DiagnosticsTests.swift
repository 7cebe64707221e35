// Compares testlogger's output for wrong tests, lists and command lines with golden files.

import Foundation
import Testing

extension TestloggerTests {
    @Suite(.serialized)
    struct DiagnosticsTests {
        let package: FixturePackage

        init() throws { package = try SharedPackages.diagnostics.get() }

        /// Runs commands in the package and returns their transcript.
        private func transcript(_ commands: String...) throws -> String {
            try commands.map { command in
                let words = command.split(separator: " ").map { $0 == "''" ? "" : String($0) }
                let result = try package.testlogger(Array(words.dropFirst()))
                var text = Goldens.transcript(of: result, as: command)
                text.replace(package.folder.path, with: "…")
                return text
            }.joined(separator: "\n")
        }

        @Test func reportsFailedExpectations() throws {
            try Goldens.expect(transcript("testlogger --stable-output Expectations"), is: "expectations")
        }

        @Test func reportsCrashesAndExits() throws {
            try Goldens.expect(transcript("testlogger --stable-output Hostile"), is: "hostile")
        }

        @Test func reportsTimeouts() throws {
            try Goldens.expect(
                transcript("testlogger --stable-output --timeout 1500 --test-type hanging Hostile"), is: "timeouts")
        }

        @Test func reportsMistakesInLists() throws {
            try Goldens.expect(transcript("testlogger --stable-output Lists"), is: "lists")
        }

        @Test func reportsRowsOfTables() throws {
            try Goldens.expect(
                transcript(
                    "testlogger --stable-output -v Tables", "testlogger --list Tables",
                    "testlogger --list Tables --filter testAdds\\(2",
                    "testlogger --stable-output -v Sources/Tables/Tables.swift:17",
                    "testlogger --stable-output -v Sources/Tables/Tables.swift:19",
                    "testlogger --stable-output -v Sources/Tables/Tables.swift:43"),
                is: "tables")
            // If a row crashes, the other rows run in a new process, which creates a different list.
            let random = try package.testlogger(["Tables"], environment: ["TABLES_ARE_RANDOM": "1"])
            #expect(
                random.status == 3 && random.errors.contains("the tests differ from process to process"), "\(random)")
        }

        @Test func reportsErrorsOfFixtures() throws {
            try Goldens.expect(transcript("testlogger --stable-output LifeCycle"), is: "life-cycle")
        }

        @Test func quotesCapturedOutput() throws {
            try Goldens.expect(transcript("testlogger --stable-output Speaking"), is: "captured-output")
        }

        @Test func printsOutcomesAndSummaries() throws {
            try Goldens.expect(
                transcript(
                    "testlogger --stable-output Quiet", "testlogger --stable-output -v Quiet",
                    "testlogger --stable-output -vv Quiet",
                    "testlogger --stable-output --verbose --test-type slow Quiet",
                    "testlogger --stable-output Quiet --filter Other.testOther",
                    "testlogger --stable-output -v Quiet Lists --filter testOther --skip Misspelt"),
                is: "outcomes")
        }

        @Test func listsSelectedTests() throws {
            try Goldens.expect(
                transcript(
                    "testlogger --list Quiet", "testlogger -l --test-type slow --test-type network Quiet",
                    "testlogger --list --filter ^Quiet.*Known Quiet Lists", "testlogger --list --skip . Quiet",
                    "testlogger --list --exact --filter Quiet.testKnown Quiet",
                    "testlogger --list --no-tests pass --skip . Quiet"),
                is: "listing")
        }

        @Test func rejectsWrongCommandLines() throws {
            try Goldens.expect(
                transcript(
                    "testlogger --stabel-output Quiet", "testlogger --frobnicate", "testlogger --timeout",
                    "testlogger --timeout soon Quiet", "testlogger --timeout 0 Quiet", "testlogger --list=yes Quiet",
                    "testlogger --timeout=soon Quiet", "testlogger Quite", "testlogger Xylophone", "testlogger ''",
                    "testlogger ./Quiet", "testlogger Package.swift/x", "testlogger /bin/ls", "testlogger missing.o",
                    "testlogger missing.inclass", "testlogger --filter testPases Quiet", "testlogger --filter ( Quiet",
                    "testlogger --test-type slw Quiet", "testlogger --filter testPasses --skip testPasses Quiet",
                    "testlogger NoTests", "testlogger -- --list"),
                is: "wrong-command-lines")
        }

        @Test func printsHelpAndVersion() throws {
            try Goldens.expect(
                transcript("testlogger --help", "testlogger -h Quiet", "testlogger --version"), is: "help")
        }

        /// Two runs print the same lines in the same order.
        @Test func secondRunPrintsTheSameLines() throws {
            let commands = ["--stable-output", "-vv", "Expectations", "Lists", "Quiet", "LifeCycle"]
            let first = try package.testlogger(commands)
            #expect(try package.testlogger(commands).output == first.output)
        }

        /// Every failure is reported at the line and column where its expectation's argument list begins.
        @Test func reportsColumnsOfExpectations() throws {
            let result = try package.testlogger(["Expectations"])
            let found = try IntendedDiagnostics(folder: package.folder.path).diagnostics(in: result.output)
            #expect(found.count > 100)
            var expected = Set<FoundDiagnostic>()
            for name in ["Equality", "Truth", "Throwing", "Values", "Messages"] {
                let path = package.file("Sources/Expectations/\(name).swift").path
                let lines = try package.text(of: "Sources/Expectations/\(name).swift").components(separatedBy: "\n")
                for (index, line) in lines.enumerated() {
                    // The column of a call is that of its parenthesis, or of its closure if that is the only argument.
                    guard
                        let call = line.firstMatch(
                            of: /\b(?:expect|require|withKnownIssue|fail|resource)[A-Z]?\w*(?:\(| (?={))/),
                        line.hasPrefix("        "), !line.contains("not reached"), !line.contains("func ")
                    else { continue }
                    let column = line[..<call.range.upperBound].utf8.count + (call.output.hasSuffix("(") ? 0 : 1)
                    expected.insert(FoundDiagnostic(path: path, line: index + 1, column: column, severity: "error"))
                }
            }
            let places = Set(found.filter { $0.severity == "error" })
            #expect(expected.subtracting(places).sorted() == [])
            // The remaining diagnostics are thrown errors, and a list that is too long to show. They are reported at
            // their tests.
            for place in places.subtracting(expected) {
                let lines = try String(contentsOfFile: place.path, encoding: .utf8).components(separatedBy: "\n")
                let text = String(
                    decoding: Array(lines[place.line - 1].utf8).dropFirst(place.column - 1), as: UTF8.self)
                #expect(text.hasPrefix("test"), "\(place)")
            }
        }
    }
}
