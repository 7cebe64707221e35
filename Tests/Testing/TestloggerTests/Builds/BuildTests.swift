// Tests what builds do with tests: a failing test fails the build at the failure's line and before its dependents are
// built. Tests that passed don't run again and recompile nothing. A release build contains no part of the tests.

import Foundation
import Testing

extension PackageTests {
    @Suite(.serialized)
    struct BuildTests {
        static let source = "Sources/Stock/Stock.swift"
        private static let expectation = #"expectEqual(count(of: "pens"), 2, "count after adding")"#
        private static let broken = #"expectEqual(count(of: "pens"), 3, "count after adding")"#

        /// Returns how often the tests have run. The tests record each run themselves.
        private func runs(_ package: FixturePackage) throws -> Int {
            // The build and the command have separate test executables, each with its own record.
            try package.built(".img.runs").map { path in
                try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").count
            }.reduce(0, +)
        }

        private func app(_ package: FixturePackage) -> String? {
            let products = ["/debug/shop", "/Debug-linux/shop"]
            return package.built("/shop").first { path in
                products.contains(where: path.hasSuffix) && FileManager.default.isExecutableFile(atPath: path)
                    && (try? FileManager.default.contentsOfDirectory(atPath: path)) == nil
            }
        }

        /// Returns the modification times of the objects of the library and the app, keyed by path.
        private func compiledTimes(_ package: FixturePackage) throws -> [String: Date] {
            let paths = package.built(".o").filter {
                $0.contains("Stock") || $0.contains("shop") || $0.contains("main")
            }
            return Dictionary(uniqueKeysWithValues: try paths.map { ($0, try package.modificationTime(of: $0)) })
        }

        /// Breaks and repairs a package. The name of its folder contains spaces, and with Swift Build also an
        /// apostrophe.
        @Test func buildsFailUntilTestsPass() throws { try buildsFailUntilTestsPass(.native) }

        fileprivate func buildsFailUntilTestsPass(_ system: BuildSystem) throws {
            let package = try FixturePackage("Shop", as: system == .native ? "A corner shop" : "The Baker's päckage")
            // Programs that read diagnostics can't parse a path with a quote, so testlogger prints the relative path
            // instead.
            let path = system == .native ? package.file(Self.source).path : Self.source
            let line = "\(path):30:20: error: got 2 instead of expected 3 for count after adding (Stock.testAdds)"

            try package.replace(Self.expectation, with: Self.broken, in: Self.source)
            var result = try package.build(system)
            #expect(result.status != 0)
            #expect(result.lines.contains(line), "\(result)")
            #expect(result.lines.contains { $0.hasPrefix("2 tests, 1 passed, 1 failed (") }, "\(result)")
            #expect(app(package) == nil, "the app is not built")
            #expect(try runs(package) == 1)

            // The next build reports the failure again.
            result = try package.build(system)
            #expect(result.status != 0)
            #expect(result.lines.contains(line), "\(result)")
            #expect(try runs(package) == 2)

            result = try package.swift("run", "--build-system", system.rawValue, "shop")
            #expect(result.status != 0)
            #expect(!result.output.contains("pens: 3"), "\(result)")
            #expect(app(package) == nil)

            try package.replace(Self.broken, with: Self.expectation, in: Self.source)
            result = try package.build(system)
            #expect(result.status == 0, "\(result)")
            var passed = try runs(package)
            result = try package.swift("run", "--build-system", system.rawValue, "shop")
            #expect(result.output.hasSuffix("pens: 3\n"), "\(result)")
            // Swift Build runs a command once again if it builds a different set of targets than in the last build.
            if system == .swiftbuild {
                _ = try package.build(system)
                #expect(try runs(package) <= passed + 2)
                passed = try runs(package)
            }

            // If nothing has changed, no test runs and nothing is compiled or linked.
            let before = try compiledTimes(package)
            let binary = try #require(app(package))
            let linked = try package.modificationTime(of: binary)
            result = try package.build(system)
            #expect(result.status == 0)
            #expect(try runs(package) == passed)
            #expect(try compiledTimes(package) == before)
            #expect(try package.modificationTime(of: binary) == linked)
            try expectInputs(package, system)

            // The same is true after the command, or testlogger itself, has run all tests.
            result = try package.swift("package", "--build-system", system.rawValue, "testlogger")
            #expect(result.status == 0, "\(result)")
            let programs = ["/debug/testlogger-tool", "/Debug-linux/testlogger"]
            let program = try #require(
                programs.flatMap(package.built).first { FileManager.default.isExecutableFile(atPath: $0) })
            let ran = try RunningPrograms.run([program, "Stock"], in: package.folder)
            #expect(ran.status == 0, "\(ran)")
            result = try package.build(system)
            #expect(result.status == 0 && !result.text.contains(/Compiling \w+ \S+\.swift/), "\(result)")
            // SwiftPM may link testlogger again, and a new testlogger must run the tests. Therefore compare only
            // objects of sources.
            let isSource = { (path: String) in path.hasSuffix(".swift.o") }
            #expect(try compiledTimes(package).filter { isSource($0.key) } == before.filter { isSource($0.key) })
            passed = try runs(package)

            // If the tests pass after an edit, only the library is compiled and tested again. Its marker isn't
            // rewritten, so the app is linked but not compiled.
            let marker = try #require(package.built("StockTested.swift").first)
            let marked = try package.modificationTime(of: marker)
            try package.replace(
                "counts[article, default: 0] += count", with: "counts[article] = self.count(of: article) + count",
                in: Self.source)
            result = try package.build(system)
            #expect(result.status == 0, "\(result)")
            #expect(try runs(package) == passed + 1)
            #expect(try package.modificationTime(of: marker) == marked)
            let after = try compiledTimes(package)
            for (path, time) in before where path.contains("main.swift") || path.contains("StockTested") {
                #expect(after[path] == time, "\(path) is compiled again")
            }
            #expect(
                before.contains {
                    $0.key.contains("Stock.swift.o") || $0.key.hasSuffix("/Stock.o") ? after[$0.key] != $0.value : false
                })

            // If a test fails again, the existing app stays as it was and isn't run.
            let relinked = try package.modificationTime(of: binary)
            try package.replace(Self.expectation, with: Self.broken, in: Self.source)
            result = try package.swift("run", "--build-system", system.rawValue, "shop")
            #expect(result.status != 0)
            #expect(!result.output.contains("pens: 3"), "\(result)")
            #expect(result.lines.contains(line), "\(result)")
            #expect(try package.modificationTime(of: binary) == relinked)
        }

        /// Expects that `.testlogger` is an input of the tests, but no other file in the package's folder.
        private func expectInputs(_ package: FixturePackage, _ system: BuildSystem) throws {
            func expectBuild(runsTests: Bool, _ change: String) throws {
                let before = try runs(package)
                let result = try package.build(system, "-v")
                #expect(result.status == 0, "\(change): \(result)")
                #expect(try runs(package) == before + (runsTests ? 1 : 0), "\(change): \(result)")
                if !runsTests { #expect(!result.text.contains(/--marker|options\.docc/), "\(change): \(result)") }
            }
            try package.write("", to: "note")
            try expectBuild(runsTests: false, "a new file")
            try package.write("--timeout 50000\n", to: ".testlogger")
            try package.touch("Package.swift")
            try expectBuild(runsTests: true, "new options")
            try package.write("", to: "another note")
            try expectBuild(runsTests: false, "a new file beside options")
            try package.write("--timeout 60000\n", to: ".testlogger")
            try expectBuild(runsTests: true, "changed options")
            try expectBuild(runsTests: false, "nothing")
            try package.remove(".testlogger")
            try expectBuild(runsTests: true, "no options any more")
            try package.write("", to: "last note")
            try expectBuild(runsTests: false, "a new file again")
        }

        /// Builds the example in README as it is.
        @Test func buildsTheQuickStartExample() throws {
            let package = try FixturePackage(copying: "Examples/QuickStart", dependencyPath: "../..", as: "QuickStart")
            let result = try package.build()
            #expect(result.status == 0, "\(result)")
            #expect(package.built("Tested.swift").count == 1)
        }
    }
}

extension PackageTests.BuildTests {
    @Suite(.serialized, .slow)
    struct SlowTests {
        typealias BuildTests = PackageTests.BuildTests

        @Test func buildsFailUntilTestsPassUnderSwiftBuild() throws {
            try BuildTests().buildsFailUntilTestsPass(.swiftbuild)
        }

        /// The text section of a release build is identical to that of a package that never had tests.
        @Test(.enabled(if: RunningPrograms.path(of: "objcopy") != nil, "objcopy is not installed"))
        func releaseBuildsContainNoTests() throws {
            let package = try FixturePackage("Shop", as: "Release")
            func text() throws -> Data {
                let result = try package.build(.native, "-c", "release")
                #expect(result.status == 0, "\(result)")
                let sections = package.file("text")
                let copied = try RunningPrograms.run(
                    [
                        "objcopy", "-O", "binary", "--only-section=.text", package.file(".build/release/shop").path,
                        sections.path,
                    ],
                    in: package.folder)
                #expect(copied.status == 0, "\(copied)")
                return try Data(contentsOf: sections)
            }
            let withTests = try text()
            #expect(withTests.count > 1000)
            let source = try package.text(of: BuildTests.source)
            let start = try #require(source.firstRange(of: "#if DEBUG"))
            try package.write(String(source[..<start.lowerBound]), to: BuildTests.source)
            #expect(try text() == withTests)
            // The text section is also identical if the package doesn't depend on InClassTesting.
            var manifest = try package.text(of: "Package.swift")
            manifest = manifest.replacing(/,\s*plugins: \[.*?\]/, with: "")
            manifest = manifest.replacing(/, dependencies: \[.product.*?\]/, with: "").replacing(
                /dependencies: \[.package.*?\],/, with: "")
            #expect(!manifest.contains("name: \"InClassTesting\""))
            try package.write(manifest, to: "Package.swift")
            #expect(try text() == withTests)
        }
    }
}
