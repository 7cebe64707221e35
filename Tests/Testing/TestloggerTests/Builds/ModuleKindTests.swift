// Tests a user's package with every kind of type and module: in both build systems, in debug and release, and with the
// command. A build whose tests pass prints nothing about them.

import Foundation
import Testing

extension PackageTests {
    @Suite(.serialized)
    struct ModuleKindTests {
        static let shared = Result { try FixturePackage("ModuleKinds") }
        let package: FixturePackage

        init() throws { package = try Self.shared.get() }

        /// The modules that the build plugin tests, in the order of the golden file.
        static let modules = ["Kinds", "LifeCycles", "Mixed", "Resources", "SelfHosted", "tool"]

        /// Expects that a build tested the modules. Runs the tests of each module again and compares the output with a
        /// golden file.
        func expectTested(
            _ modules: [String], in configuration: String, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let built = package.built(".inclass").filter {
                $0.contains("/InClassTests/\(configuration)/")
            }
            for module in modules {
                let description = try #require(
                    built.first { $0.hasSuffix("/\(module).inclass") }, "\(module) in \(configuration)",
                    sourceLocation: sourceLocation)
                let start = description.dropLast(".inclass".count)
                let markers = ["Tested.swift", "Tested.h"].filter {
                    FileManager.default.fileExists(atPath: start + $0)
                }
                #expect(markers.count == 1, "\(module) is tested", sourceLocation: sourceLocation)
                let result = try package.testlogger(["-v", "--stable-output", description])
                try Goldens.expect(
                    Goldens.transcript(of: result, as: "testlogger -v --stable-output \(module)"),
                    is: "module-kinds-\(module)",
                    sourceLocation: sourceLocation)
            }
        }

        /// Expects a build to succeed and to print nothing about tests.
        func expectQuiet(_ result: ProgramResult, sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(result.status == 0, "\(result)", sourceLocation: sourceLocation)
            let news = result.lines.filter { line in
                // Swift Build sets this linker option itself, also without plugins.
                !line.contains("argument unused during compilation: '-rdynamic'")
                    && (line.contains("warning:") || line.contains("error:") || line.contains(" passed")
                        || line.contains("tests,"))
            }
            #expect(news == [], sourceLocation: sourceLocation)
        }

        @Test func testsEveryModuleInDebugBuilds() throws {
            expectQuiet(try package.build(.native))
            try expectTested(Self.modules, in: "debug")
            let app = try RunningPrograms.run([package.file(".build/debug/app").path], in: package.folder)
            #expect(app.output == "Zebra() simple text\n\n")
        }

        /// The command finds the tests of all targets, including those that don't use the plugin.
        func commandTestsEveryTarget() throws {
            let all = try package.swift("package", "testlogger", "-v", "--stable-output")
            #expect(all.status == 0, "\(all)")
            let lines = all.output.split(separator: "\n").filter { $0.contains("passed") || $0.contains("skipped") }
            let byName = try Self.modules.flatMap { module in
                try package.testlogger(["-v", "--stable-output", module]).output.split(separator: "\n").dropLast()
            }
            #expect(Set(lines.dropLast()) == Set(byName))
            #expect(lines.last == "\(byName.count) tests, \(byName.count - 1) passed, 1 skipped")
        }

        func commandListsTestsOfTargets() throws {
            let result = try package.swift("package", "testlogger", "--list", "--filter", "test[CS]", "Mixed", "tool")
            #expect(result.status == 0, "\(result)")
            let lines = result.output.split(separator: "\n").filter { $0.contains(".test") }
            #expect(
                Set(lines) == [
                    "Mixed.testC", "Mixed.testCPlusPlusExceptions", "Mixed.testSQLite", "Arguments.testCount",
                ])
            let help = try package.swift("package", "testlogger", "--help")
            #expect(help.status == 0)
            #expect(help.output.contains("usage: testlogger [options]"))
        }

        @Test func commandRejectsUnknownTargetsAndOptions() throws {
            let target = try package.swift("package", "testlogger", "Mixd")
            #expect(target.status != 0)
            #expect(target.text.contains("there is no target 'Mixd' with InClassTesting"), "\(target)")
            let option = try package.swift("package", "testlogger", "--flter", "x", "Mixed")
            // SwiftPM reports every nonzero status as 1.
            #expect(option.status != 0, "\(option)")
            #expect(option.text.contains("unknown option '--flter'; did you mean '--filter'?"))
        }
    }
}

extension PackageTests.ModuleKindTests {
    @Suite(.serialized, .slow)
    struct SlowTests {
        typealias ModuleKindTests = PackageTests.ModuleKindTests
        let tests: ModuleKindTests

        init() throws { tests = try ModuleKindTests() }

        @Test func commandTestsEveryTarget() throws { try tests.commandTestsEveryTarget() }
        @Test func commandListsTestsOfTargets() throws { try tests.commandListsTestsOfTargets() }

        @Test func testsEveryModuleUnderSwiftBuild() throws {
            tests.expectQuiet(try tests.package.build(.swiftbuild))
            try tests.expectTested(ModuleKindTests.modules, in: "Debug-linux")
        }

        @Test func commandRunsUnderSwiftBuild() throws {
            let result = try tests.package.swift(
                "package", "--build-system", "swiftbuild", "testlogger", "-v", "--stable-output", "Resources")
            #expect(result.status == 0, "\(result)")
            #expect(
                result.output.contains(
                    "passed Texts.testBundle\npassed Texts.testResource\npassed Texts.testNestedResource\n"))
        }

        /// Tests aren't compiled in release builds, and the build doesn't mention this.
        @Test func releaseBuildsContainNoTests() throws {
            tests.expectQuiet(try tests.package.build(.native, "-c", "release"))
            #expect(tests.package.built(".img").filter { $0.contains("/InClassTests/release/") } == [])
            let app = try Data(contentsOf: tests.package.file(".build/release/app"))
            #expect(app.firstRange(of: Data("inclass_main".utf8)) == nil)
            #expect(app.firstRange(of: Data("testSelectors".utf8)) == nil)
            // The command reports that the release build has no tests.
            let result = try tests.package.swift("package", "-c", "release", "testlogger", "Kinds")
            #expect(result.status != 0, "\(result)")
            #expect(result.text.contains("the tests of module 'Kinds' are compiled out of this build"))
        }

        @Test func releaseBuildsCanRunTests() throws {
            tests.expectQuiet(try tests.package.build(.native, "-c", "release", "-Xswiftc", "-DIN_CLASS_TESTS"))
            try tests.expectTested(ModuleKindTests.modules, in: "release")
        }

        @Test func swiftBuildReleasesCanRunTests() throws {
            tests.expectQuiet(try tests.package.build(.swiftbuild, "-c", "release", "-Xswiftc", "-DIN_CLASS_TESTS"))
            try tests.expectTested(ModuleKindTests.modules, in: "Release-linux")
        }
    }
}
