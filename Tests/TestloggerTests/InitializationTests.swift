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
                        name: "Fresh", platforms: [.macOS(.v15)],
                        dependencies: [\(try FixturePackage.dependency)],
                        targets: [.target(name: "Fresh"), .target(name: "Other")]
                    )
                    """,
                    "Sources/Fresh/Fresh.swift": "public struct Fresh {}\n",
                    "Sources/Other/Other.swift": "public struct Other {}\n",
                ])
            let manifest = try package.text(of: "Package.swift")

            // Nothing to run yet, and the way out is named.
            let early = try package.swift("package", "testlogger")
            #expect(early.status != 0)
            #expect(early.text.contains("swift package testlogger init"), "\(early)")

            let unclear = try package.initialize()
            #expect(unclear.status != 0)
            #expect(unclear.text.contains("(Fresh, Other): swift package testlogger init Fresh\n"), "\(unclear)")
            let wrong = try package.initialize("Frsh")
            #expect(wrong.status != 0)
            #expect(wrong.text.contains("there is no Swift target 'Frsh'"), "\(wrong)")
            #expect(try package.text(of: "Package.swift") == manifest, "what fails changes nothing")

            let result = try package.initialize("Fresh")
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

            try package.replace("expectEqual(1 + 1, 3", with: "expectEqual(1 + 1, 2", in: "Sources/\(test)")

            let before = try package.text(of: "Package.swift")
            let again = try package.initialize("Fresh")
            #expect(again.status == 0)
            #expect(again.text.contains("nothing to do: 'Fresh' depends on InClassTesting"), "\(again)")
            #expect(try package.text(of: "Package.swift") == before)
            try expectNextTarget(package)
        }

        /// What tests one target tests the next one, too.
        private func expectNextTarget(_ package: FixturePackage) throws {
            let second = try package.initialize("Other")
            #expect(second.status == 0, "\(second)")
            #expect(try package.text(of: "Sources/Other/FirstTests.swift").contains("testAddition"))
            let both = try package.build()
            #expect(both.status == 0, "\(both)")
            #expect(package.built("OtherTested.swift").count == 1)
            #expect(try package.initialize("Other").text.contains("nothing to do"))

            // A program that comes later, when the first test has been moved: there is no other one.
            try package.write("import Other\n", to: "Sources/app/main.swift")
            try package.write(package.text(of: "Sources/Other/FirstTests.swift"), to: "Sources/Other/Other.swift")
            try package.remove("Sources/Other/FirstTests.swift")
            try package.replace(
                ".target(name: \"Other\")]",
                with: ".target(name: \"Other\"), .executableTarget(name: \"app\", dependencies: [\"Other\"])]",
                in: "Package.swift")
            let late = try package.initialize("Other")
            #expect(late.output.contains("its tests run in the build of 'app'\n"), "\(late)")
            #expect(!package.exists("Sources/Other/FirstTests.swift"))
            let run = try package.swift("run", "app")
            #expect(run.status == 0, "\(run)")
        }

        /// What uses a target waits for its tests: programs first, and a library when there are none.
        @Test func usersWait() throws {
            let package = try FixturePackage(
                named: "Shop",
                files: [
                    "Package.swift": """
                    // swift-tools-version: 6.2
                    import PackageDescription

                    let package = Package(
                        name: "Shop", platforms: [.macOS(.v15)],
                        dependencies: [\(try FixturePackage.dependency)],
                        targets: [
                            .target(name: "Money"), .target(name: "Shop", dependencies: ["Money"]),
                            .target(name: "Labels", dependencies: ["Names"]), .target(name: "Names"),
                            .executableTarget(name: "shopctl", dependencies: ["Shop"]),
                            .executableTarget(name: "till", dependencies: ["Money"]),
                            .testTarget(name: "LabelsTests", dependencies: ["Labels", "Money"]),
                        ]
                    )
                    """,
                    "Sources/Money/Money.swift": "public struct Money {}\n",
                    "Sources/Shop/Shop.swift": "public struct Shop { public init() {} }\n",
                    "Sources/Labels/Labels.swift": "public struct Labels {}\n",
                    "Sources/Names/Names.swift": "public struct Names {}\n",
                    "Sources/shopctl/main.swift": "import Shop\n\n_ = Shop()\nprint(\"open\")\n",
                    "Sources/till/main.swift": "print(\"money\")\n",
                    "Tests/LabelsTests/LabelsTests.swift": "\n",
                ])
            let shop = try package.initialize("Shop")
            #expect(shop.output.contains("its tests run in the build of 'shopctl'\n"), "\(shop)")
            try package.replace(
                "expectEqual(1 + 1, 2", with: "expectEqual(1 + 1, 3", in: "Sources/Shop/FirstTests.swift")
            let red = try package.swift("run", "shopctl")
            #expect(red.status != 0 && !red.output.contains("open"), "\(red)")
            #expect(red.text.contains("error: got 2 instead of expected 3"), "\(red)")
            try package.replace(
                "expectEqual(1 + 1, 3", with: "expectEqual(1 + 1, 2", in: "Sources/Shop/FirstTests.swift")

            let money = try package.initialize("Money")
            #expect(money.output.contains("its tests run in the build of 'shopctl', 'till'\n"), "\(money)")
            let names = try package.initialize("Names")
            #expect(names.output.contains("its tests run in the build of 'Labels'\n"), "\(names)")
            for name in ["Shop", "Money", "Names"] {
                let again = try package.initialize(name)
                #expect(again.status == 0 && again.output.contains("nothing to do"), "\(again)")
            }
            let manifest = try package.text(of: "Package.swift")
            #expect(!manifest.contains("Tested\""), "no target is made: \(manifest)")
            let green = try package.swift("run", "shopctl")
            #expect(green.status == 0 && green.output == "open\n", "\(green)")
            let built = try package.build()
            #expect(built.status == 0, "\(built)")
            for name in ["Shop", "Money", "Names"] { #expect(!package.built("\(name)Tested.swift").isEmpty) }
        }

        /// The native system cannot hold a program back for its own tests: whoever asks for them is told.
        @Test func programAlone() throws {
            let package = try FixturePackage(
                named: "Alone",
                files: [
                    "Package.swift": """
                    // swift-tools-version: 6.2
                    import PackageDescription

                    let package = Package(
                        name: "Alone", platforms: [.macOS(.v15)], products: [.executable(name: "alone", targets: ["Alone"])],
                        dependencies: [\(try FixturePackage.dependency)], targets: [.executableTarget(name: "Alone")])

                    """,
                    "Sources/Alone/main.swift": "print(\"alone\")\n",
                ])
            let result = try package.initialize()
            #expect(
                result.output.contains("'swift run alone' does not wait for the tests, 'swift build' does\n"),
                "\(result)")
            try package.replace(
                "expectEqual(1 + 1, 2", with: "expectEqual(1 + 1, 3", in: "Sources/Alone/FirstTests.swift")
            let red = try package.build()
            #expect(red.status != 0 && red.text.contains("got 2 instead of expected 3"), "\(red)")
            let run = try package.swift("run", "alone")
            #expect(run.status == 0 && run.output == "alone\n", "\(run)")
            let again = try package.initialize()
            #expect(again.status == 0 && again.output.contains("nothing to do"), "\(again)")

            // A target of the package's own that has the name.
            let manifest = """
                // swift-tools-version: 6.2
                import PackageDescription

                let package = Package(
                    name: "Alone", platforms: [.macOS(.v15)], dependencies: [\(try FixturePackage.dependency)],
                    targets: [.executableTarget(name: "Alone", dependencies: ["Tested"]), .target(name: "Tested")])

                """
            try package.write(manifest, to: "Package.swift")
            let taken = try package.initialize("Alone")
            #expect(taken.status != 0 && taken.text.contains("'Tested' would have to depend on 'Alone'"), "\(taken)")
            #expect(try package.text(of: "Package.swift") == manifest)
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
                        name: "Forked", platforms: [.macOS(.v15)], dependencies: [.package(path: "../other-name", traits: [])],
                        targets: [.target(name: "Forked")])

                    """,
                    "Sources/Forked/Forked.swift": "public struct Forked {}\n",
                ])
            let result = try package.initialize()
            #expect(result.status == 0, "\(result)")
            let described = try package.swift("package", "describe")
            #expect(described.status == 0, "\(described)")
        }
    }
}

extension FixturePackage {
    fileprivate func initialize(_ words: String...) throws -> ProgramResult {
        try RunningPrograms.run(
            ["swift", "package", "--allow-writing-to-package-directory", "testlogger", "init"] + words, in: folder)
    }
}
