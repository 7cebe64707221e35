// Defines the kinds of targets ("layouts") that packages can have. Each layout has a test that fails if a file `red` is
// next to the manifest.

import Foundation

/// A tested target of a package.
struct PackageLayout {
    /// The name of the target.
    var name: String
    var kind = "target"
    /// The dependencies in addition to InClassTesting and `c-check.1`.
    var dependencies: [String] = []
    var settings: [String] = []
    /// Further arguments of the declaration, with a trailing comma.
    var more = ""
    /// A Boolean value that indicates whether the target depends on InClassTesting only through another target.
    var isIndirect = false
    /// The source with the test, or nil for `usual`. `CHECK` is replaced by the expectation.
    var source: String?
    /// The texts of further files, keyed by their paths in the target's folder.
    var files: [String: String] = [:]
    var folder: String?

    /// The module name that SwiftPM derives from the target's name.
    var module: String {
        let text = name.map { $0.isLetter || $0.isNumber ? $0 : "_" }
        return String(text.first?.isNumber == true ? ["_"] + text.dropFirst() : text)
    }

    var sourcePath: String { "\(folder ?? "Sources/\(name)")/Shape.swift" }

    func declaration(hasSettings: Bool = true) -> String {
        let own = (isIndirect ? [] : ["tests"]) + ["\"c-check.1\""] + dependencies
        let settings = settings.isEmpty ? "" : ", swiftSettings: [\(settings.joined(separator: ", "))]"
        return ".\(kind)(name: \"\(name)\", dependencies: [\(own.joined(separator: ", "))], \(more)"
            .trimmingCharacters(in: [",", " "]) + settings + "),"
    }

    /// The texts of the target's files, keyed by their paths in the package.
    var contents: [String: String] {
        let check = "expectEqual(shape_value(#filePath, \"\(name)\"), 1, \"\(name)\")"
        var contents = [sourcePath: "import c_check_1\n" + (source ?? Self.usual)]
        for (path, text) in files { contents["\(folder ?? "Sources/\(name)")/\(path)"] = text }
        return contents.mapValues { $0.replacing("CHECK", with: check) }
    }

    static let usual = """
        import InClassTesting

        struct Shape {}

        extension Shape: SelfTesting {
            static var testSelectors: TestSelectors { ["testShape": testShape] }
            static func testShape() { CHECK }
        }

        """

    /// A source with a test for the targets `alone` and `stand-in`.
    static let own =
        "import c_check_1\n" + usual.replacing("CHECK", with: "expectEqual(shape_value(#filePath, \"alone\"), 1)")

    /// The C target that all layouts depend on. It records which tests run, and makes them fail if a file `red` exists.
    static let check = [
        "Sources/c-check.1/include/check.h": """
        #ifdef __cplusplus
        extern "C"
        #endif
        int shape_value(const char *file, const char *name);

        """,
        "Sources/c-check.1/check.c": """
        #include "check.h"
        #include <stdio.h>
        #include <string.h>
        #include <unistd.h>

        int shape_value(const char *file, const char *name) {
            char path[4096];
            const char *end = strstr(file, "/Sources/");
            snprintf(path, sizeof path, "%.*s/ran", (int)(end - file), file);
            FILE *ran = fopen(path, "a");
            fprintf(ran, "%s\\n", name);
            fclose(ran);
            snprintf(path, sizeof path, "%.*s/red", (int)(end - file), file);
            return access(path, F_OK) == 0 ? 2 : 1;
        }

        """,
    ]
}

extension PackageLayout {
    /// Returns the files of a package with a target for each layout and a program that depends on all of them.
    static func files(_ layouts: [PackageLayout], dependency: String, tools: String = "6.2") -> [String: String] {
        let parts = [
            ("cpp-part", ".target(name: \"cpp-part\")"), ("sys-math", ".systemLibrary(name: \"sys-math\")"),
            ("Copying", ".plugin(name: \"Copying\", capability: .buildTool())"),
        ].filter { part in layouts.contains { $0.files.keys.contains { $0.contains("/\(part.0)/") } } }
        let declarations = parts.map { "\($0.1)," } + layouts.map { $0.declaration() }
        let names = (layouts.map(\.name) + ["stand-in"]).map { "\"\($0)\"" }.joined(separator: ", ")
        let manifest = """
            // swift-tools-version: \(tools)
            import CompilerPluginSupport
            import PackageDescription

            let tests: Target.Dependency = .product(name: "InClassTesting", package: "InClassTesting")
            let plugin: Target.PluginUsage = .plugin(name: "InClassTests", package: "InClassTesting")

            let package = Package(
                name: "Layouts",
                products: [.executable(name: "the-tool", targets: ["tool-x"])],
                dependencies: [\(dependency)],
                targets: [
                    .target(name: "c-check.1"),
                    \(declarations.joined(separator: "\n            "))
                    .macro(name: "stand-in", dependencies: [tests, "c-check.1"]),
                    .executableTarget(name: "alone", dependencies: [tests, "c-check.1"], plugins: [plugin]),
                    .executableTarget(name: "app", dependencies: [\(names)], plugins: [plugin]),
                ])

            """
        var files = PackageLayout.check.merging(["Package.swift": manifest]) { $1 }
        for layout in layouts { files.merge(layout.contents) { $1 } }
        files["Sources/app/main.swift"] = "print(\"app\")\n"
        files["Sources/alone/main.swift"] = "print(\"alone\")\n"
        files["Sources/stand-in/StandIn.swift"] = "@main struct StandIn { static func main() {} }\n"
        return files
    }

    private static let main = ["main.swift": "print(\"a program\")\n"]

    private static let names: [PackageLayout] = [
        PackageLayout(name: "my-kernel"),
        PackageLayout(name: "dotted.name"),
        PackageLayout(name: "with space"),
        PackageLayout(name: "9lives"),
        PackageLayout(name: "placed", more: "path: \"Sources/odd place/é\",", folder: "Sources/odd place/é"),
        // `Sources/linked` is a symbolic link to this target's folder.
        PackageLayout(name: "linked", folder: "Sources/.elsewhere/linked"),
    ]

    private static let programs: [PackageLayout] = [
        PackageLayout(name: "tool", kind: "executableTarget", files: main),
        // The product has a different name, and the target's name begins with that of the target `tool`.
        PackageLayout(
            name: "tool-x", kind: "executableTarget",
            files: ["Tool.swift": "@main struct Tool { static func main() { print(\"a tool\") } }\n"]),
    ]

    private static let dependencies: [PackageLayout] = [
        PackageLayout(
            name: "foreign", dependencies: ["\"cpp-part\"", "\"sys-math\""],
            source: "import cpp_part\nimport sys_math\n"
                + usual.replacing("CHECK", with: "CHECK\n        expectEqual(square_root(cpp_cube(4)), 8.0)"),
            files: [
                "../cpp-part/include/part.h": """
                #ifdef __cplusplus
                extern "C"
                #endif
                double cpp_cube(double x);
                #ifdef __cplusplus
                struct CppPair { int first, second; int sum() const { return first + second; } };
                #endif

                """,
                "../cpp-part/part.cpp": """
                #include "part.h"
                #include <vector>
                double cpp_cube(double x) { std::vector<double> v{x, x, x}; return v[0] * v[1] * v[2]; }

                """,
                "../sys-math/module.modulemap": "module sys_math { header \"math-shim.h\" link \"m\" }\n",
                "../sys-math/math-shim.h": """
                #include <math.h>
                static inline double square_root(double x) { return sqrt(x); }

                """,
            ]),
        // A library that re-exports InClassTesting and provides a test list for all types that conform to its protocol.
        PackageLayout(
            name: "test-kit", isIndirect: false,
            source: """
                @_exported import InClassTesting

                public protocol KitTesting: SelfTesting { static func check() }
                extension KitTesting {
                    public static var testSelectors: TestSelectors { ["testShape": { check() }] }
                }
                public func check(_ value: Int32, _ name: String) { expectEqual(value, 1, name) }

                """),
        PackageLayout(
            name: "uses-kit", dependencies: ["\"test-kit\""], isIndirect: true,
            source:
                "import test_kit\n\nenum Shape {}\n\nextension Shape: KitTesting {\n    static func check() { CHECK }\n}\n"
        ),
        PackageLayout(
            name: "feature", dependencies: ["\"my-kernel\""], isIndirect: true),
        PackageLayout(
            name: "with-resources", more: "resources: [.copy(\"a text.txt\")],",
            source: usual.replacing(
                "CHECK",
                with: "CHECK\n        expectNotNil(Bundle.module.url(forResource: \"a text\", withExtension: \"txt\"))"
            ).replacing("import InClassTesting", with: "import Foundation\nimport InClassTesting"),
            files: ["a text.txt": "text\n"]),
        PackageLayout(
            name: "generated", more: "exclude: [\"made.txt\"], plugins: [\"Copying\"],",
            source: usual.replacing("CHECK", with: "CHECK\n        expectEqual(made, 3)"),
            files: [
                "made.txt": "let made = 3\n",
                "../../Plugins/Copying/Copying.swift": """
                import Foundation
                import PackagePlugin

                @main
                struct Copying: BuildToolPlugin {
                    func createBuildCommands(context: PluginContext, target: any Target) -> [Command] {
                        let source = target.directoryURL.appending(path: "made.txt")
                        let made = context.pluginWorkDirectoryURL.appending(path: "made.swift")
                        return [
                            .buildCommand(
                                displayName: "Copying", executable: URL(filePath: "/bin/cp"),
                                arguments: [source.path, made.path], inputFiles: [source], outputFiles: [made])
                        ]
                    }
                }

                """,
            ]),
    ]

    private static let languages: [PackageLayout] = [
        PackageLayout(name: "swift5", settings: [".swiftLanguageMode(.v5)"]),
        PackageLayout(
            name: "internal-imports", settings: [feature("InternalImportsByDefault")],
            source: """
                public import InClassTesting

                public struct Shape {}

                extension Shape: FixtureTesting {
                    public static var testSelectors: TestSelectors { ["testShape": fixture { $0.testShape() }] }
                    public static func testFixture() -> Shape { Shape() }
                    private func testShape() { CHECK }
                }

                """,
            files: ["Internal.swift": usual.replacing("Shape", with: "Internal").replacing("CHECK", with: "")]),
        PackageLayout(name: "member-imports", settings: [feature("MemberImportVisibility")]),
        PackageLayout(
            name: "existential-any", settings: [feature("ExistentialAny"), ".treatAllWarnings(as: .error)"]),
        PackageLayout(
            name: "main-actor", settings: [".defaultIsolation(MainActor.self)"], source: fixture("struct Shape {}")),
        PackageLayout(
            name: "isolated-conformances", settings: [feature("InferIsolatedConformances")],
            source: fixture("@MainActor final class Shape {}")),
        // Root packages may use unsafe flags. The module interface isn't verified, because SwiftPM doesn't tell the
        // compiler where the interface's C modules are.
        PackageLayout(
            name: "evolution",
            settings: [".unsafeFlags([\"-enable-library-evolution\", \"-no-verify-emitted-module-interface\"])"],
            source: usual.replacing("struct", with: "public struct").replacing("static", with: "public static")),
        PackageLayout(
            name: "cpp-interoperability", dependencies: ["\"cpp-part\""], settings: [".interoperabilityMode(.Cxx)"],
            source: "import cpp_part\n"
                + usual.replacing("CHECK", with: "CHECK\n        expectEqual(CppPair(first: 1, second: 2).sum(), 3)")),
        PackageLayout(
            name: "same-names", source: usual.replacing("struct", with: "private struct"),
            files: ["Other.swift": "import c_check_1\n" + usual.replacing("struct", with: "private struct")]),
        PackageLayout(
            name: "raw-names",
            source: usual.replacing("\"testShape\"", with: "\"test raw layout\"")
                .replacing("testShape", with: "`test raw layout`").replacing("Shape", with: "`Raw Shape`")),
    ]

    /// Returns a source with a type that conforms to `FixtureTesting`.
    private static func fixture(_ declaration: String) -> String {
        """
        import InClassTesting

        \(declaration)

        extension Shape: FixtureTesting {
            static var testSelectors: TestSelectors { ["testShape": fixture { $0.testShape() }] }
            static func testFixture() -> Shape { Shape() }
            private func testShape() { CHECK }
        }

        """
    }

    private static func feature(_ name: String) -> String { ".enableUpcomingFeature(\"\(name)\")" }

    /// The layouts for the newest tools version.
    static let current = names + programs + dependencies + languages

    /// The layouts for earlier tools versions.
    static let earlier = names + programs
}
