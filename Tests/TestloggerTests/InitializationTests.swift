// `swift package testlogger init` in a package that has only named the dependency.

import Foundation
import Testing

extension PackageTests {
    struct InitializationTests {}
}

extension PackageTests.InitializationTests {
    @Suite(.slow)
    struct SlowTests {
        @Test func story() throws {
            let package = try FixturePackage(
                named: "Fresh",
                files: [
                    "Package.swift": """
                    // swift-tools-version: 6.2
                    import PackageDescription

                    let package = Package(
                        name: "Fresh",
                        dependencies: [\(try FixturePackage.dependency)],
                        targets: [.target(name: "Fresh"), .target(name: "Other")]
                    )
                    """,
                    "Sources/Fresh/Fresh.swift": "public struct Fresh {}\n",
                    "Sources/Other/Other.swift": "public struct Other {}\n",
                ])
            func initialize(_ words: String...) throws -> ProgramResult {
                try RunningPrograms.run(
                    ["swift", "package", "--allow-writing-to-package-directory", "testlogger", "init"] + words,
                    in: package.folder)
            }
            let manifest = try package.text(of: "Package.swift")

            // Nothing to run yet, and the way out is named.
            let early = try package.swift("package", "testlogger")
            #expect(early.status != 0)
            #expect(early.text.contains("swift package testlogger init"), "\(early)")

            let unclear = try initialize()
            #expect(unclear.status != 0)
            #expect(unclear.text.contains("say which target is to be tested"), "\(unclear)")
            let wrong = try initialize("Frsh")
            #expect(wrong.status != 0)
            #expect(wrong.text.contains("there is no Swift target 'Frsh'"), "\(wrong)")
            #expect(try package.text(of: "Package.swift") == manifest, "what fails changes nothing")

            let result = try initialize("Fresh")
            #expect(result.status == 0, "\(result)")
            let green = try package.build()
            #expect(green.status == 0, "\(green)")
            #expect(package.built("FreshTested.swift").count == 1)

            let listed = try package.swift("package", "testlogger", "--list")
            #expect(listed.output.contains("FirstTests.testAddition"), "\(listed)")

            let test = try #require(
                try FileManager.default.subpathsOfDirectory(atPath: package.file("Sources").path)
                    .first { $0.hasSuffix("FirstTests.swift") })
            try package.replace("expectEqual(1 + 1, 2", with: "expectEqual(1 + 1, 3", in: "Sources/\(test)")
            let red = try package.build()
            #expect(red.status != 0)
            #expect(
                red.text.contains("error: got 2 instead of expected 3 for one and one (FirstTests.testAddition)"),
                "\(red)")

            let before = try package.text(of: "Package.swift")
            let again = try initialize("Fresh")
            #expect(again.status != 0)
            #expect(again.text.contains("nothing was changed"), "\(again)")
            #expect(try package.text(of: "Package.swift") == before)
        }

        /// A package that depends on a checkout or a fork of another name calls it by that.
        @Test func dependencyOfAnotherName() throws {
            let link = Fixtures.folder.appending(path: "other-name")
            try FileManager.default.createSymbolicLink(
                atPath: link.path, withDestinationPath: try Fixtures.dependency.get().path)
            let package = try FixturePackage(
                named: "Forked",
                files: [
                    "Package.swift": """
                    // swift-tools-version: 6.2
                    import PackageDescription

                    let package = Package(
                        name: "Forked", dependencies: [.package(path: "../other-name", traits: [])],
                        targets: [.target(name: "Forked")])

                    """,
                    "Sources/Forked/Forked.swift": "public struct Forked {}\n",
                ])
            let result = try package.swift(
                "package", "--allow-writing-to-package-directory", "testlogger", "init")
            #expect(result.status == 0, "\(result)")
            let described = try package.swift("package", "describe")
            #expect(described.status == 0, "\(described)")
        }
    }
}
