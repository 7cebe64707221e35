// Tests `--accept`, which replaces literals with actual values and changes no other byte.

import Foundation
import Testing

extension PackageTests {
    @Suite(.serialized)
    struct AcceptanceTests {
        private static let path = "Sources/Accepting/Accepting.swift"
        /// A copy of the fixture for tests that change sources and build again.
        static let shared = Result {
            let package = try FixturePackage("Diagnostics", as: "Editing")
            try package.replace(
                """
                    "Accepting", "Counting", "Expectations", "Hostile", "LifeCycle", "Lists", "NoTests", "Orchard", "Quiet", "Speaking",
                    "Tables", "Watched",
                """, with: "    \"Accepting\", \"Watched\",", in: "Package.swift")
            let result = try package.swift("package", "testlogger", "--list")
            guard result.status == 0 else { throw ProgramError(description: "Editing does not build: \(result)") }
            return package
        }

        let package: FixturePackage
        /// The source as it was compiled.
        private let original: Data
        private let compiled: Date

        init() throws {
            package = try Self.shared.get()
            let source = Fixtures.checkout.appending(path: "Tests/Testing/Fixtures/Diagnostics/\(Self.path)")
            original = try Data(contentsOf: source)
            compiled = Date(timeIntervalSinceNow: -3600)
            try put(original, compiled)
        }

        private func put(_ data: Data, _ date: Date) throws {
            try data.write(to: package.file(Self.path))
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: package.file(Self.path).path)
        }

        private func source() throws -> Data { try Data(contentsOf: package.file(Self.path)) }

        /// Returns the original with these texts replaced. Each text must occur exactly once.
        private func replacing(_ replacements: [(String, String)]) throws -> Data {
            var text = String(decoding: original, as: UTF8.self)
            for (old, new) in replacements {
                #expect(text.components(separatedBy: old).count == 2, "\(old)")
                text = text.replacing(old, with: new)
            }
            return Data(text.utf8)
        }

        private static let integer = ("expectEqual(number(), 41 ,", "expectEqual(number(), 42 ,")
        private static let text = (
            #"expectEqual(text(), "b", "text")"#, #"expectEqual(text(), "a \"quoted\" é\n\tline", "text")"#
        )
        private static let all = [
            integer, ("(-number(), -1)", "(-number(), -42)"), text, ("== 42, false)", "== 42, true)"),
            ("/ 4, 1.25)", "/ 4, 10.5)"),
            ("(number(), 1); expectEqual(number(), 2)", "(number(), 42); expectEqual(number(), 42)"),
            (#"(number(), 5, "not 5,"#, #"(number(), 42, "not 5,"#),
            (#"(strange(), "")"#, #"(strange(), "\u{0}\u{1b}[1m\\(x)\u{7f}\#u{200B}\r #\"")"#),
        ]

        @Test func replacesLiteralsAndNothingElse() throws {
            let result = try package.testlogger(["--stable-output", "--accept", "Accepting"])
            #expect(try source() == replacing(Self.all), "\(result)")
            #expect(result.lines.filter { $0.contains(": note: accepted ") }.count == Self.all.count + 1, "\(result)")
            #expect(result.lines.filter { $0.contains(": note: not accepted: ") }.count == 4, "\(result)")
            #expect(result.status == 1, "the run itself was red")
            // The accepted values are correct: in the next run, a test fails only if its value can't be written as a
            // literal.
            let again = try package.swift("package", "testlogger", "--stable-output", "-v", "Accepting")
            let failed = again.lines.filter { $0.hasPrefix("failed ") }
            #expect(
                failed == ["testNoLiteral", "testInLoop", "testRaw", "testRows(7)"].map { "failed Accepting.\($0)" },
                "\(again)")
            // Compile the original again for the other tests.
            try put(original, Date())
            #expect(try package.swift("package", "testlogger", "--list", "Accepting").status == 0)
        }

        @Test func acceptsOnlyTheChosenLine() throws {
            let lines = String(decoding: original, as: UTF8.self).components(separatedBy: "\n")
            let line = try #require(lines.firstIndex { $0.contains(Self.integer.0) }) + 1
            let result = try package.testlogger(["--stable-output", "--accept", "Accepting.swift:\(line)"])
            #expect(try source() == replacing([Self.integer]), "\(result)")
            try put(original, compiled)
            let text = try #require(lines.firstIndex { $0.contains(Self.text.0) }) + 1
            _ = try package.testlogger(["--accept", "Accepting", "\(Self.path):\(text)"])
            #expect(try source() == replacing([Self.text]))
            try put(original, compiled)
            let none = try package.testlogger(["--stable-output", "--accept", "Accepting.swift:1"])
            #expect(try source() == original)
            #expect(none.text.contains("nothing"), "\(none)")
        }

        /// `--accept` doesn't change a source that is newer than its object, even if the test executable was linked after the
        /// change.
        @Test(arguments: [false, true])
        func refusesChangedSource(isRelinked: Bool) throws {
            let changed = Data("// A line more.\n".utf8) + original
            try put(changed, Date())
            if isRelinked {
                for path in package.built("/Accepting.img") { try FileManager.default.removeItem(atPath: path) }
            }
            let result = try package.testlogger(["--stable-output", "--accept", "Accepting"])
            #expect(result.status != 0)
            #expect(try source() == changed, "\(result)")
            let note = "note: not accepted: the source has changed since it was compiled"
            #expect(result.output.contains(note), "\(result)")
            // A newer modification time alone prevents the change.
            try put(original, Date())
            _ = try package.testlogger(["--accept", "Accepting"])
            #expect(try source() == original)
        }

        @Test func reportsThatNothingFailed() throws {
            let result = try package.testlogger(["--stable-output", "--accept", "Watched"])
            #expect(result.status == 0, "\(result)")
            #expect(result.output.contains("nothing to accept"), "\(result)")
        }
    }
}
