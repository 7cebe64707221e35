// Tests packages with all kinds of targets. Their tests run in the build step and a failing test is found, or the build
// says how to change the manifest.

import Foundation
import Testing

extension PackageTests {
    @Suite(.serialized)
    struct PackageLayoutTests {
        fileprivate static let native = Result { try package("native layouts", PackageLayout.current) }
        fileprivate static let swiftBuild = Result { try package("swiftbuild layouts", PackageLayout.current) }

        /// Writes a package with a target for each layout and a program that depends on all of them.
        fileprivate static func package(_ name: String, _ layouts: [PackageLayout], tools: String = "6.2") throws
            -> FixturePackage
        {
            let files = PackageLayout.files(layouts, dependency: try FixturePackage.dependency, tools: tools)
            let package = try FixturePackage(named: name, files: files)
            try FileManager.default.createSymbolicLink(
                atPath: package.file("Sources/linked").path, withDestinationPath: ".elsewhere/linked")
            return package
        }

        /// Returns the names of the layouts whose tests have run since the last call.
        fileprivate func ran(_ package: FixturePackage) throws -> Set<String> {
            guard package.exists("ran") else { return [] }
            defer { try? package.remove("ran") }
            return Set(try package.text(of: "ran").split(separator: "\n").map(String.init))
        }

        fileprivate func expectAllLayouts(_ package: FixturePackage, _ layouts: [PackageLayout], _ system: BuildSystem)
            throws
        {
            let tested = layouts.filter { $0.contents[$0.sourcePath]?.contains("shape_value") ?? false }
            let built = try package.build(system)
            try #require(built.status == 0, "\(built)")
            #expect(!built.text.contains("'test_kit' lists no tests"), "\(built)")
            #expect(try ran(package) == Set(tested.map(\.name)))
            // Run the command of each build step with a failing test.
            try package.write("", to: "red")
            defer { try? package.remove("red") }
            for layout in tested {
                let description = try #require(
                    package.built("/InClassTests/\(system.debugFolder)/\(layout.module).inclass").first,
                    "\(layout.name)")
                let marker = description.replacing(".inclass", with: "Tested.swift")
                #expect(package.exists(marker), "\(layout.name)")
                let result = try package.testlogger(["--marker", marker, description])
                #expect(result.status == 1, "\(layout.name): \(result)")
                let failure = "got 2 instead of expected 1 for \(layout.name) ("
                for (path, text) in layout.contents where text.contains("shape_value") {
                    // SwiftPM uses the real path of the package's folder for sources.
                    let folder = package.folder.resolvingSymlinksInPath().path
                    let paths = [path, path.replacing(".elsewhere/", with: "")].map { "\(folder)/\($0):" }
                    #expect(
                        result.lines.contains { line in
                            paths.contains(where: line.hasPrefix) && line.contains(failure)
                        }, "\(layout.name): \(result)")
                }
            }
            #expect(try ran(package) == Set(tested.map(\.name)))
        }

        /// Expects an error or a warning at the declaration of each target whose tests no build can run.
        fileprivate func expectAdvice(_ package: FixturePackage, _ system: BuildSystem) throws {
            try package.write(PackageLayout.own, to: "Sources/alone/Own.swift")
            defer { try? package.remove("Sources/alone/Own.swift") }
            let alone = try package.build(system, "--product", "alone")
            if system == .native {
                #expect(alone.status != 0, "\(alone)")
                let line = alone.lines.first {
                    $0.contains("error: 'alone' lists tests, which the plugin InClassTests can't")
                }
                #expect(try line?.hasPrefix(place(of: "alone", in: package)) ?? false, "\(alone)")
                #expect(line?.contains(#".target(name: "Tested", dependencies: ["alone"], plugins: ["#) ?? false)
                try package.remove("Sources/alone/Own.swift")
            } else {
                // Swift Build compiles only the program, so its tests don't run.
                #expect(alone.status == 0, "\(alone)")
                #expect(alone.text.contains("of module 'alone' not run: Swift Build doesn't"), "\(alone)")
                let all = try package.build(system)
                #expect(all.status == 0, "\(all)")
                #expect(try ran(package).contains("alone"))
            }
            try package.write(PackageLayout.own, to: "Sources/stand-in/Own.swift")
            defer { try? package.remove("Sources/stand-in/Own.swift") }
            let macro = try package.build(system, "--product", "app")
            #expect(macro.status == 0, "\(macro)")
            let line = macro.lines.first {
                $0.contains("warning: the macro 'stand-in' lists tests, but no build runs the tests of macros")
            }
            #expect(try line?.hasPrefix(place(of: "stand-in", in: package)) ?? false, "\(macro)")
        }

        private func place(of target: String, in package: FixturePackage) throws -> String {
            let lines = try package.text(of: "Package.swift").components(separatedBy: "\n")
            let line = try #require(lines.firstIndex { $0.contains("(name: \"\(target)\", ") })
            return "\(package.file("Package.swift").path):\(line + 1):9: "
        }

        @Test func testsEveryKindOfTarget() throws {
            try expectAllLayouts(Self.native.get(), PackageLayout.current, .native)
            try expectAdvice(Self.native.get(), .native)
        }
    }
}

extension PackageTests.PackageLayoutTests {
    @Suite(.serialized, .slow)
    struct SlowTests {
        @Test func testsEveryKindUnderSwiftBuild() throws {
            let tests = PackageTests.PackageLayoutTests()
            try tests.expectAllLayouts(
                PackageTests.PackageLayoutTests.swiftBuild.get(), PackageLayout.current, .swiftbuild)
            try tests.expectAdvice(PackageTests.PackageLayoutTests.swiftBuild.get(), .swiftbuild)
        }

        /// The command tests a target that depends on InClassTesting through another target.
        @Test(arguments: BuildSystem.allCases)
        func commandTestsIndirectDependents(_ system: BuildSystem) throws {
            typealias Tests = PackageTests.PackageLayoutTests
            let package = try (system == .native ? Tests.native : Tests.swiftBuild).get()
            _ = try Tests().ran(package)
            let result = try package.swift("package", "--build-system", system.rawValue, "testlogger", "feature")
            #expect(result.status == 0 && result.text.contains("1 test, 1 passed"), "\(result)")
            #expect(try Tests().ran(package) == ["feature"])
        }

        @Test(arguments: ["5.9", "6.0"], BuildSystem.allCases)
        func supportsEarlierToolsVersions(_ version: String, _ system: BuildSystem) throws {
            let package = try PackageTests.PackageLayoutTests.package(
                "\(system) \(version)", PackageLayout.earlier, tools: version)
            try PackageTests.PackageLayoutTests().expectAllLayouts(package, PackageLayout.earlier, system)
        }

        @Test(arguments: BuildSystem.allCases)
        func testsPackagesBehindLinks(_ system: BuildSystem) throws {
            let real = try PackageTests.PackageLayoutTests.package("\(system) place", PackageLayout.earlier)
            let link = Fixtures.folder.appending(path: "\(system) link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: real.folder)
            try PackageTests.PackageLayoutTests().expectAllLayouts(
                FixturePackage(at: link), PackageLayout.earlier, system)
        }
    }
}

extension BuildSystem {
    /// The name of the folder of debug builds on Linux.
    var debugFolder: String { self == .native ? "debug" : "Debug-linux" }
}
