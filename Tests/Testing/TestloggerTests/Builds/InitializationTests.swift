// Tests `swift package testlogger init` in packages that declare only the dependency.

import Foundation
import Testing

extension PackageTests {
    @Suite
    struct InitializationTests {
        /// Builds a client that has in-class tests of its own and depends on a library that `init` has prepared.
        @Test func clientsOfLibrariesCompileNoTests() throws {
            let address = try LibraryPackage(named: "Shelf").address
            let client = try FixturePackage(
                named: "Reader",
                files: [
                    "Package.swift": """
                    // swift-tools-version: 6.2
                    import PackageDescription

                    let package = Package(
                        name: "Reader", platforms: [.macOS(.v15)],
                        dependencies: [\(try FixturePackage.dependency), .package(url: \(address), from: "1.0.0")],
                        targets: [
                            .target(
                                name: "Pages",
                                dependencies: [.product(name: "InClassTesting", package: "InClassTesting")],
                                plugins: [.plugin(name: "InClassTests", package: "InClassTesting")]),
                            .executableTarget(name: "reader", dependencies: [.product(name: "Shelf", package: "Shelf")]),
                        ])

                    """,
                    "Sources/Pages/Pages.swift": "import InClassTesting\n",
                    "Sources/reader/main.swift": "import Shelf\n\nprint(Shelf(3).count)\n",
                ])
            // The client builds the module InClassTesting before the library is compiled.
            let result = try client.swift("run", "--cache-path", client.file("cache").path, "reader")
            #expect(result.status == 0 && result.output.hasSuffix("3\n"), "\(result)")
            try LibraryPackage.expectNothing(of: "testFixture", in: client.built("/Shelf.swiftmodule"))
            try LibraryPackage.expectNothing(of: "14InClassTesting", in: client.built("/debug/reader"))
        }
    }
}

/// A library that `init` has prepared, published as version 1.0.0.
private struct LibraryPackage {
    let package: FixturePackage
    /// The URL of the library's repository, as a Swift string literal.
    let address: String

    init(named name: String) throws {
        package = try FixturePackage(
            named: name,
            files: [
                "Package.swift": """
                // swift-tools-version: 5.9
                import PackageDescription

                let package = Package(
                    name: "Shelf",
                    products: [.library(name: "Shelf", targets: ["Shelf"])],
                    dependencies: [\(try FixturePackage.dependency)],
                    targets: [.target(name: "Shelf")]
                )

                """,
                "Sources/Shelf/Shelf.swift": """
                public struct Shelf: Sendable {
                    public var count: Int
                    public init(_ count: Int) { self.count = count }
                }

                // MARK: - In-class tests

                #if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
                extension Shelf: FixtureTesting {
                    public static var testSelectors: TestSelectors { ["testCount": fixture { $0.testCount() }] }
                    public static func testFixture() -> Shelf { Shelf(4) }
                    func testCount() { expectEqual(count, 4, "books") }
                }
                #endif

                """,
            ])
        let result = try package.initialize()
        #expect(result.status == 0, "\(result)")
        try package.replace(
            "#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)\n",
            with: "#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)\nimport InClassTesting\n\n",
            in: "Sources/Shelf/Shelf.swift")
        let bare = Fixtures.folder.appending(path: "\(name)-addresses/Shelf")
        let commands = [
            "git init -q && git add Package.swift Sources",
            "git -c user.name=a -c user.email=a@b.c commit -q -m a && git tag 1.0.0",
            "git clone -q --bare . '\(bare.path)'",
        ]
        let published = try RunningPrograms.shell(commands.joined(separator: " && "), in: package.folder)
        #expect(published.status == 0, "\(published)")
        address = FixturePackage.literal("file://\(bare.path)")
    }

    static func expectNothing(of name: String, in files: [String]) throws {
        #expect(!files.isEmpty)
        for file in files {
            let data = try Data(contentsOf: URL(filePath: file))
            #expect(data.range(of: Data(name.utf8)) == nil, "\(name) in \(file)")
        }
    }
}

extension PackageTests.InitializationTests {
    @Suite(.slow)
    struct SlowTests {
        @Test func preparesTargetsOneByOne() throws {
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

            // The package has no tests yet, so the error names `init`.
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

        /// Expects that `init` for a second target uses the test setup of the first.
        private func expectNextTarget(_ package: FixturePackage) throws {
            let second = try package.initialize("Other")
            #expect(second.status == 0, "\(second)")
            #expect(try package.text(of: "Sources/Other/FirstTests.swift").contains("testAddition"))
            let both = try package.build()
            #expect(both.status == 0, "\(both)")
            #expect(package.built("OtherTested.swift").count == 1)
            #expect(try package.initialize("Other").text.contains("nothing to do"))

            // A program is added after the first test has been moved. `init` must not create another first test.
            try package.write("import Other\n", to: "Sources/app/main.swift")
            try package.write(package.text(of: "Sources/Other/FirstTests.swift"), to: "Sources/Other/Other.swift")
            try package.remove("Sources/Other/FirstTests.swift")
            try package.replace(
                ".target(name: \"Tested\"",
                with: ".executableTarget(name: \"app\", dependencies: [\"Other\"]), .target(name: \"Tested\"",
                in: "Package.swift")
            let late = try package.initialize("Other")
            #expect(late.output.contains("its tests run in the build of 'app'\n"), "\(late)")
            #expect(!package.exists("Sources/Other/FirstTests.swift"))
            let run = try package.swift("run", "app")
            #expect(run.status == 0, "\(run)")
        }

        /// Targets that use a tested target wait for its tests: all programs, or a library if no program uses the
        /// target.
        @Test func dependentTargetsWaitForTests() throws {
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

        /// The native build system can't delay a program until its own tests have passed. `init` reports this.
        @Test func reportsThatProgramsDoNotWait() throws {
            // The dependency has a name of its own in this manifest.
            let dependency = try FixturePackage.dependency.replacing("\"InClassTesting\"", with: "\"Tester\"")
            let package = try FixturePackage(
                named: "Alone",
                files: [
                    "Package.swift": """
                    // swift-tools-version: 6.2
                    import PackageDescription

                    let package = Package(
                        name: "Alone", platforms: [.macOS(.v15)], products: [.executable(name: "alone", targets: ["Alone"])],
                        dependencies: [\(dependency)], targets: [.executableTarget(name: "Alone")])

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
        }

        /// A library's tests run in its own checkout and in the build of a package that depends on the library's path.
        /// A client that depends on the library's URL neither fetches nor compiles anything for the tests.
        @Test(arguments: BuildSystem.allCases) func testsLibrariesInTheirOwnCheckout(_ system: BuildSystem) throws {
            let library = try LibraryPackage(named: "Library-\(system)")
            let green = try library.package.build(system, "-v")
            #expect(green.status == 0 && library.package.built("ShelfTested.swift").count == 1, "\(green)")
            try library.package.replace("Shelf(4) }", with: "Shelf(5) }", in: "Sources/Shelf/Shelf.swift")
            let red = try library.package.build(system)
            #expect(red.status != 0 && red.text.contains("got 5 instead of expected 4 for books"), "\(red)")
            for configuration in ["debug", "release"] {
                let client = try FixturePackage(
                    named: "Client-\(system)-\(configuration)",
                    files: [
                        "Package.swift": """
                        // swift-tools-version: 6.2
                        import PackageDescription

                        let package = Package(
                            name: "Client", dependencies: [.package(url: \(library.address), from: "1.0.0")],
                            targets: [
                                .executableTarget(name: "client", dependencies: [.product(name: "Shelf", package: "Shelf")])
                            ])

                        """,
                        "Sources/client/main.swift": "import Shelf\n\nprint(Shelf(3).count)\n",
                    ])
                let words = ["--cache-path", client.file("cache").path, "--scratch-path", client.file("built").path]
                let result = try RunningPrograms.swift(
                    ["build", "-c", configuration] + system.options + words, in: client.folder)
                #expect(result.status == 0, "\(result)")
                let paths = try FileManager.default.subpathsOfDirectory(atPath: client.file("built").path)
                #expect(!paths.contains { $0.contains("InClassTest") || $0.contains("testlogger") })
                let programs = paths.filter { $0.hasSuffix("/client") && !$0.contains("Intermediates") }
                for name in ["14InClassTesting", "testFixture"] {
                    try LibraryPackage.expectNothing(of: name, in: programs.map { client.file("built/\($0)").path })
                }
            }
            try library.package.replace("Shelf(5) }", with: "Shelf(4) }", in: "Sources/Shelf/Shelf.swift")
            let neighbor = try FixturePackage(
                named: "Neighbor-\(system)",
                files: [
                    "Package.swift": """
                    // swift-tools-version: 6.2
                    import PackageDescription

                    let package = Package(
                        name: "Neighbor", platforms: [.macOS(.v15)],
                        dependencies: [.package(path: "../Library-\(system)"), \(try FixturePackage.dependency)],
                        targets: [
                            .executableTarget(
                                name: "neighbor", dependencies: [.product(name: "Shelf", package: "Library-\(system)")],
                                plugins: [.plugin(name: "InClassTests", package: "InClassTesting")])
                        ])

                    """,
                    "Sources/neighbor/main.swift": "import Shelf\n\nprint(Shelf(3).count)\n",
                ])
            let built = try neighbor.build(system)
            #expect(built.status == 0 && neighbor.built("ShelfTested.swift").count == 1, "\(built)")
        }

        /// Prepares packages with unusual folders and manifests. If a package can't be prepared, it stays unchanged.
        @Test func preparesUnusualPackages() throws {
            let wide = try package("Wide", ".target(name: \"Wide\", path: \"Sources\")", source: "Sources/Wide.swift")
            let result = try wide.initialize()
            #expect(result.status == 0 && wide.exists("Tested/Tested.swift"), "\(result)")
            let green = try wide.build()
            #expect(green.status == 0 && wide.built("WideTested.swift").count == 1, "\(green)")

            let rows = [
                ("Listed", ".target(name: \"Listed\", sources: [\"Listed.swift\"])", "target 'Listed' doesn't compile"),
                ("Made", "make(\"Made\")", "Package.swift:10:20: error: target 'Made' isn't declared by a literal"),
                ("Whole", ".target(name: \"Whole\", path: \".\")", "overlapping sources"),
            ]
            for (name, target, message) in rows {
                let package = try package(name, target, source: name == "Whole" ? "Whole.swift" : nil)
                let manifest = try package.text(of: "Package.swift")
                let paths = try FileManager.default.subpathsOfDirectory(atPath: package.folder.path)
                let result = try package.initialize()
                #expect(result.status != 0 && result.text.contains(message), "\(result)")
                #expect(try package.text(of: "Package.swift") == manifest)
                let left = try FileManager.default.subpathsOfDirectory(atPath: package.folder.path)
                #expect(left.filter { !$0.hasPrefix(".") } == paths, "files")
            }

            let both = try package("Both", ".target(name: \"Both\")")
            let newer = try both.text(of: "Package.swift")
            try both.write(newer, to: "Package@swift-6.0.swift")
            let older = newer.replacing("6.2", with: "5.9").replacing(try FixturePackage.dependency, with: "")
            try both.write(older, to: "Package.swift")
            let chosen = try both.initialize()
            #expect(chosen.status == 0 && chosen.output.contains("+++ b/Package@swift-6.0.swift\n"), "\(chosen)")
            #expect(try both.text(of: "Package.swift") == older)
        }

        private func package(_ name: String, _ target: String, source: String? = nil) throws -> FixturePackage {
            try FixturePackage(
                named: name,
                files: [
                    "Package.swift": """
                    // swift-tools-version: 6.2
                    import PackageDescription

                    func make(_ name: String) -> Target { .target(name: name) }

                    let package = Package(
                        name: "\(name)",
                        platforms: [.macOS(.v15)],
                        dependencies: [\(try FixturePackage.dependency)],
                        targets: [\(target)]
                    )

                    """,
                    source ?? "Sources/\(name)/\(name).swift": "public struct A {}\n",
                ])
        }

        /// If a package depends on a checkout or a fork with another name, `init` uses that name in the manifest.
        @Test func usesOtherNamesOfTheDependency() throws {
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
